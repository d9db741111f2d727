"""Corpora in which rows have much in common, beside unrelated rows of the same bytes: processor seconds and memory.

    python benchmarks/skews.py [--rows 20000] [--ways memory capped stages spark] [--kinds chain ...] [--folder DIR]

Rows have 100 words. "copies" are equal; of "tenth", every tenth row is a copy of one page; of "template", every second
row has 60 words of one text; of "bucket", every third row has the shingles that make it share a bucket; of "chain",
each row has 92 of the words of the row before, so all are connected. All other words are random. "memory" is `lshfast
dedup`, "capped" is that with `--memory`, "stages" is `lshfast stage run` in one process, in 4 shards and tasks, and
"spark" is `lshfast dedup --engine spark` on one machine. A line has the processor seconds, those divided by the seconds
of unrelated rows, and the most memory of all processes. A million rows need `--rows 1000000`, and some hours.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from processes import Taken, measured
from scale import shingles_of_a_band

WORDS = [f"word{number}" for number in range(50_000)]
LENGTH = 100
STEP = 8  # words by which a row of a chain differs from the row before
KINDS = "unrelated", "copies", "tenth", "template", "bucket", "chain"
WAYS = "memory", "capped", "stages", "spark"
LSHFAST = [sys.executable, "-m", "lshfast"]


def texts(kind: str, rows: int) -> Iterator[str]:
    """Yield the texts of a corpus."""
    rng = random.Random(1)

    def words(count: int) -> list[str]:
        return rng.choices(WORDS, k=count)

    page = words(LENGTH)
    bucket = " ".join(
        shingles_of_a_band(np.array(WORDS), np.random.default_rng(1))
    ).split()
    chain = words(LENGTH)
    for row in range(rows):
        if kind == "chain":
            chain = chain[STEP:] + words(STEP)
            yield " ".join(chain)
        elif kind == "copies" or (kind == "tenth" and row % 10 == 0):
            yield " ".join(page)
        elif kind == "template" and row % 2 == 0:
            yield " ".join(page[:60] + words(LENGTH - 60))
        elif kind == "bucket" and row % 3 == 0:
            yield " ".join(bucket + words(LENGTH - len(bucket)))
        else:
            yield " ".join(words(LENGTH))


def run(way: str, rows: Path, folder: Path) -> Taken:
    """Deduplicate a corpus in a new folder, and return what it took."""
    kept = str(folder / "kept.jsonl")
    work = str(folder / "work")
    if way == "memory":
        return measured([*LSHFAST, "dedup", str(rows), "-o", kept, "--quiet"])
    if way == "capped":
        return measured(
            [
                *LSHFAST,
                "dedup",
                str(rows),
                "-o",
                kept,
                "--memory",
                "1G",
                "--work",
                work,
                "--quiet",
            ]
        )
    if way == "spark":
        options = [
            "--engine",
            "spark",
            "--master",
            "local[2]",
            "--id-column",
            "id",
            "--quiet",
        ]
        return measured([*LSHFAST, "dedup", str(rows), "-o", kept, *options])
    options = ["--shards", "4", "--tasks", "4", "--quiet"]
    planned = measured(
        [
            *LSHFAST,
            "stage",
            "plan",
            str(rows),
            "--work",
            work,
            "-o",
            str(folder / "kept"),
            *options,
        ]
    )
    if planned.status:
        return planned
    return measured([*LSHFAST, "stage", "run", work, "--executor", "inline", "--quiet"])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--kinds", nargs="+", choices=KINDS[1:], default=KINDS[1:])
    parser.add_argument("--folder", help="where a temporary folder is made")
    options = parser.parse_args()
    print(f"{options.rows:,} rows; unrelated rows in the same run are 1")
    print("| way | kind | CPU s | times unrelated | MB |")
    print("|---|---|--:|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        corpora = {}
        for kind in ("unrelated", *options.kinds):
            corpora[kind] = Path(folder, f"{kind}.jsonl")
            with open(corpora[kind], "w", encoding="utf-8") as lines:
                for row, text in enumerate(texts(kind, options.rows)):
                    lines.write(json.dumps({"id": row, "text": text}) + "\n")
        for way in options.ways:
            unrelated = None
            for kind, rows in corpora.items():
                outputs = Path(folder, "outputs")
                outputs.mkdir()
                taken = run(way, rows, outputs)
                shutil.rmtree(outputs)
                if taken.status:
                    sys.exit(
                        f"{way}, {kind}: the run failed with status {taken.status}"
                    )
                unrelated = unrelated or taken.seconds
                ratio = taken.seconds / unrelated
                memory = taken.nbytes / 1e6
                print(
                    f"| {way} | {kind} | {taken.seconds:.1f} | {ratio:.2f} | {memory:,.0f} |",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
