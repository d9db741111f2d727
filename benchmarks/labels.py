r"""Links within one table by dedupe, which learns from labels, and by lshfast, which has none.

    python benchmarks/labels.py DATA_DIR --dedupe PYTHON [--labels 50] [--only febrl-1,restaurants] [--markdown]

PYTHON is an interpreter with `pip install dedupe==3.0.3 BTrees==6.1` (issue 1230 of dedupe). DATA_DIR is that of
linkage.py. dedupe asks for the labels of the pairs of which it is least certain, and the truth answers, as a person
would who never errs. Both compare all columns as text; dedupe's have `has_missing`. Its groups are those of `partition`
at its default threshold of .5, and lshfast's those of `dedup_records`. F1 is that of the pairs within groups. Each runs
as a process; CPU seconds are those of the user and the system.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from itertools import combinations
from pathlib import Path

from contest import ONE_THREAD, print_table
from linkage import DataSet, febrl, figures, restaurants, sorted_pairs

SETS = {"febrl-1": lambda folder: febrl(folder, 1), "restaurants": restaurants}

DEDUPE = """
import json, random, sys
import numpy as np
import dedupe
given = json.load(sys.stdin)
random.seed(1); np.random.seed(1)
rows = {row: {name: (value.strip().lower() or None) for name, value in record.items()}
        for row, record in enumerate(given["records"])}
entity = given["entities"]
fields = [dedupe.variables.String(name, has_missing=True) for name in rows[0]]
matcher = dedupe.Dedupe(fields, num_cores=0)
place = {id(record): row for row, record in rows.items()}
key = {tuple(record.items()): row for row, record in rows.items()}
matcher.prepare_training(rows)
for _ in range(given["labels"]):
    [pair] = matcher.uncertain_pairs()
    a, b = (entity[key[tuple(record.items())]] for record in pair)
    same = a is not None and a == b
    matcher.mark_pairs({"match": [pair] if same else [], "distinct": [] if same else [pair]})
matcher.train()
print(json.dumps([list(map(int, group)) for group, _ in matcher.partition(rows)]))
"""

LSHFAST = """
import json, sys
from lshfast.records import dedup_records
given = json.load(sys.stdin)
columns = {name: [record[name] for record in given["records"]] for name in given["records"][0]}
groups = {}
for row, group in enumerate(dedup_records(columns, threads=1).groups().tolist()):
    groups.setdefault(group, []).append(row)
print(json.dumps(list(groups.values())))
"""


def entities(data: DataSet) -> list[int | None]:
    """Return a number for the entity of each row that has a match."""
    found: list[int | None] = [None] * data.sizes[0]
    for i, j in data.true_pairs.tolist():
        found[i] = found[j] = min(i, j) if found[i] is None else found[i]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dedupe", metavar="PYTHON", required=True)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    table = []
    for name in given.only.split(","):
        data = SETS[name](given.folder)
        columns = {
            key: values for key, values in data.a.items() if key != data.id_column
        }
        records = [
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]
        sent = json.dumps(
            {"records": records, "entities": entities(data), "labels": given.labels}
        )
        for who, python, script in (
            ("lshfast", sys.executable, LSHFAST),
            ("dedupe", given.dedupe, DEDUPE),
        ):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                [python, "-c", script],
                input=sent,
                capture_output=True,
                text=True,
                env=os.environ | ONE_THREAD,
            )
            if done.returncode:
                sys.exit(f"{who} failed:\n{done.stderr[-4000:]}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = (
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            )
            groups = json.loads(done.stdout.splitlines()[-1])
            found = sorted_pairs(
                pair for group in groups for pair in combinations(sorted(group), 2)
            )
            f1, precision, recall = figures(found, data.true_pairs)
            labels = str(given.labels) if who == "dedupe" else "0"
            table.append(
                [
                    f"{data.name}: {who}",
                    labels,
                    f"{seconds:.1f}",
                    f"{recall:.3f}",
                    f"{precision:.3f}",
                    f"{f1:.3f}",
                ]
            )
    print_table(
        ["", "labels", "CPU s", "recall", "precision", "F1"], table, given.markdown
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
