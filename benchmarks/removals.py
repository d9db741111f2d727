r"""Rows that lshfast, text-dedup and datatrove remove with their defaults, and what the exact similarities say of them.

    python benchmarks/removals.py CORPUS.jsonl [--text-dedup PYTHON] [--datatrove PYTHON] [--markdown]

The peers need packages that others do not, so each has a Python of its own, which is named: PYTHON is an interpreter
with `pip install text-dedup==0.4.0`, or with `pip install datatrove==0.10.1 orjson regex nltk spacy tokenizers
"xxhash<4"`. All run as whole processes with one worker; CPU seconds are those of the user and the system, of the
children, too.

Each pair of rows of the exact join over word 5-grams counts. `missed` is the share of the pairs of .8 or more of which
both rows stay. `alone` counts the removed rows that are similar to no other row: at less than .7 and at less than .5.
lshfast runs at .8, its default.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from contest import ONE_THREAD, print_table
from data import read_jsonl

LEAST, THRESHOLD = 0.5, 0.8

DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig, MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
folder, name, work = sys.argv[1:]
config = MinhashConfig()
reader = JsonlReader(folder, glob_pattern=name)
def run(*steps, tasks=1):
    LocalPipelineExecutor(pipeline=list(steps), tasks=tasks, workers=1).run()
if __name__ == "__main__":
    run(reader, MinhashDedupSignature(f"{work}/signatures", config=config))
    run(MinhashDedupBuckets(f"{work}/signatures", f"{work}/buckets", config=config), tasks=config.num_buckets)
    run(MinhashDedupCluster(f"{work}/buckets", f"{work}/removed", config=config))
    kept = JsonlWriter(f"{work}/kept", compression=None, output_filename="${rank}.jsonl")
    run(reader, MinhashDedupFilter(f"{work}/removed"), kept)
"""


def with_lshfast(corpus: Path, work: Path, python: str) -> list[str]:
    options = [
        "--id-column",
        "id",
        "--threshold",
        str(THRESHOLD),
        "--threads",
        "1",
        "-q",
    ]
    return [
        python,
        "-m",
        "lshfast",
        "dedup",
        str(corpus),
        "-o",
        str(work / "kept.jsonl"),
        *options,
    ]


def with_text_dedup(corpus: Path, work: Path, python: str) -> list[str]:
    given = {
        "path": "json",
        "data_files": corpus,
        "split": "train",
        "cache_dir": work / "cache",
        "output": work / "kept",
    }
    options = [
        text for name, value in given.items() for text in (f"--{name}", str(value))
    ]
    return [
        python,
        "-m",
        "text_dedup.minhash",
        *options,
        "--column",
        "text",
        "--num_proc",
        "1",
        "--batch_size",
        "10000",
    ]


def with_datatrove(corpus: Path, work: Path, python: str) -> list[str]:
    script = work / "run.py"
    script.write_text(DATATROVE)
    return [python, str(script), str(corpus.parent), corpus.name, str(work)]


CONTESTANTS: dict[str, Callable[[Path, Path, str], list[str]]] = {
    "lshfast": with_lshfast, "text-dedup": with_text_dedup, "datatrove": with_datatrove,
}  # fmt: skip


def kept_ids(work: Path) -> list[str]:
    """Return the ids that a contestant wrote, as JSONL or as an Arrow data set."""
    if (work / "kept" / "dataset_info.json").exists():
        import pyarrow as pa

        tables = [
            pa.ipc.open_stream(path).read_all()
            for path in sorted((work / "kept").glob("*.arrow"))
        ]
        return pa.concat_tables(tables)["id"].to_pylist()
    files = (
        [work / "kept.jsonl"]
        if (work / "kept.jsonl").exists()
        else sorted((work / "kept").glob("*.jsonl"))
    )
    return [
        json.loads(line)["id"] for path in files for line in path.open(encoding="utf-8")
    ]


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--text-dedup", metavar="PYTHON")
    parser.add_argument("--datatrove", metavar="PYTHON")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()

    import lshfast

    corpus = given.corpus.resolve()
    ids, texts = read_jsonl(corpus)
    pairs = lshfast.exact.pairs(lshfast.shingle(texts), threshold=LEAST)
    i, j, similarity = pairs["i"], pairs["j"], pairs["similarity"]
    nearest = np.zeros(len(ids))
    for rows in (i, j):
        np.maximum.at(nearest, rows, similarity)
    true = similarity >= THRESHOLD
    print(
        f"{corpus.name}: {corpus.stat().st_size / 1e6:,.0f} MB, {len(ids):,} texts, {true.sum():,} pairs at {THRESHOLD}"
    )
    table = []
    pythons = {
        "lshfast": sys.executable,
        "text-dedup": given.text_dedup,
        "datatrove": given.datatrove,
    }
    for name, command in CONTESTANTS.items():
        python = pythons[name]
        if python is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            before = children_seconds()
            environment = (
                os.environ
                | ONE_THREAD
                | ({} if name == "lshfast" else {"PYTHONPATH": ""})
            )
            done = subprocess.run(
                command(corpus, Path(folder), python),
                capture_output=True,
                text=True,
                cwd=folder,
                env=environment,
            )
            seconds = children_seconds() - before
            if done.returncode:
                sys.exit(f"{name} failed:\n{done.stderr[-4000:]}")
            kept = np.isin(np.array(ids), np.array(kept_ids(Path(folder))))
        missed = (kept[i] & kept[j] & true).sum() / max(true.sum(), 1)
        alone = [f"{(~kept & (nearest < least)).sum():,}" for least in (0.7, 0.5)]
        table.append(
            [name, f"{seconds:.1f}", f"{(~kept).sum():,}", f"{missed:.4f}", *alone]
        )
    print_table(
        ["", "CPU s", "removed", "missed at .8", "alone below .7", "below .5"],
        table,
        given.markdown,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
