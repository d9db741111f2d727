"""`lshfast.hf.dedup` of a memory-mapped data set, beside `lshfast.dedup_files` on the same Parquet.

    python benchmarks/hugging_face.py [--rows 1000000] [--words 100] [--runs 3]

`dedup_files` reads the file and writes the rows that are kept. `hf.dedup` takes a data set whose cache exists, as
`load_dataset` makes it once, and selects rows; writing them as Parquet is measured with it, as "and to_parquet".
Each run is a process of its own, and the runs alternate. Both keep the same rows.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from data import synthetic

WAYS = "dedup_files", "hf.dedup", "hf.dedup and to_parquet"


def make(path: Path, rows: int, words: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    documents = synthetic(rows, words, 0.3, [0.85, 0.9, 0.95])
    schema = pa.schema({"id": pa.string(), "text": pa.string()})
    with pq.ParquetWriter(path, schema) as writer:
        while batch := [
            (key, text)
            for (key, text, _), _ in zip(documents, range(100_000), strict=False)
        ]:
            keys, texts = zip(*batch, strict=True)
            writer.write_table(pa.table({"id": keys, "text": texts}, schema))


def load(path: Path) -> object:
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    return Dataset.from_parquet(str(path), cache_dir=str(path.parent / "cache"))


def measure(way: str, path: Path) -> tuple[float, int]:
    """Return the seconds of one run, and the rows that are kept."""
    import lshfast
    import lshfast.hf

    out = path.parent / "out.parquet"
    out.unlink(missing_ok=True)
    if way == WAYS[0]:
        start = time.perf_counter()
        kept = lshfast.dedup_files(path, out).summary.kept
    else:
        dataset = load(path)
        start = time.perf_counter()
        result = lshfast.hf.dedup(dataset)
        kept = result.num_rows
        if way == WAYS[2]:
            result.to_parquet(str(out))
    return time.perf_counter() - start, kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--one", nargs=2, metavar=("WAY", "FILE"), help="one run of one way"
    )
    given = parser.parse_args()
    if given.one:
        print(*measure(given.one[0], Path(given.one[1])))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.parquet")
        make(path, given.rows, given.words)
        load(path)
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        kept = set()
        for _ in range(given.runs):
            for way in WAYS:
                command = [sys.executable, __file__, "--one", way, str(path)]
                told = subprocess.run(
                    command, check=True, capture_output=True, text=True
                ).stdout.split()
                seconds[way].append(float(told[-2]))
                kept.add(int(told[-1]))
        first = statistics.median(seconds[WAYS[0]])
        for way, each in seconds.items():
            median = statistics.median(each)
            print(f"{way:<26}{median:>8.1f} s   {median / first:.2f} of dedup_files")
        print(f"{kept} rows kept of {given.rows:,}")


if __name__ == "__main__":
    main()
