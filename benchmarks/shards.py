"""The time and memory of an index of shards: its build by tasks and processes, and queries from a cold cache.

    python benchmarks/shards.py FOLDER [--rows 2000000] [--slots 128] [--shards 4] [--processes 2]

The signatures are random, and half of the queries are entries. Tasks of a million rows are spooled by as many
processes as shards are built by. Before the queries, the operating system is told to forget the pages of the shards;
each reader is a process of its own, whose peak memory counts. The folder needs about 17 bytes a row and slot, and 15 a
row and band.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from lshfast import LSHIndex
from lshfast.index import RangeStore, ShardBuild

TASK_ROWS = 1_000_000
BATCH_ROWS = 1 << 16


def signatures(start: int, count: int, slots: int) -> np.ndarray:
    """Return the signatures of a batch of rows, which are the same in each process."""
    return np.random.default_rng(start).integers(
        0, 2**63, (count, slots), dtype=np.uint64
    )


def put(path: str, task: int, rows: int, slots: int) -> None:
    """Insert the rows of a task."""
    with ShardBuild(path).task(task) as index:
        for start in range(
            task * TASK_ROWS, min((task + 1) * TASK_ROWS, rows), BATCH_ROWS
        ):
            end = min(start + BATCH_ROWS, (task + 1) * TASK_ROWS, rows)
            keys = np.arange(start, end)
            index.insert(keys, signatures(start, end - start, slots), copy=False)


def forget(folder: Path) -> None:
    """Tell the operating system that the pages of all shards are not needed."""
    for path in folder.glob("*.lsh"):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(way: str, path: str, rows: int, slots: int, queries: int) -> None:
    """Query the index, and print the seconds and the peak memory."""
    tasks = range(0, rows, TASK_ROWS)  # whose first rows are known
    rng = np.random.default_rng(7)
    entries = [
        signatures(int(rng.choice(tasks)), 64, slots) for _ in range(queries // 128)
    ]
    others = rng.integers(
        0, 2**63, (queries - 64 * len(entries), slots), dtype=np.uint64
    )
    items = rng.permutation(np.concatenate([*entries, others]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    index = (
        LSHIndex.on(RangeStore(f"file://{path}"))
        if way == "ranges"
        else LSHIndex.open(path)
    )
    opened = time.perf_counter()
    matches = index.query(items)
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(matches.keys) >= 64 * len(entries)
    print(
        f"{way} | open {opened - start:.3f} s | {len(items):,} queries {end - opened:.2f} s | "
        f"peak {peak / 1e3:,.0f} MB, {(peak - before) / 1e3:,.0f} MB above the start",
        flush=True,
    )


def build(folder: Path, rows: int, slots: int, shards: int, processes: int) -> None:
    """Build the index, and print the seconds of both steps."""
    shutil.rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    shard_build = ShardBuild.start(folder, LSHIndex(0.8, slots), shards)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        tasks = range(-(-rows // TASK_ROWS))
        list(
            pool.map(
                put,
                [str(folder)] * len(tasks),
                tasks,
                [rows] * len(tasks),
                [slots] * len(tasks),
            )
        )
    spooled = time.perf_counter()
    shard_build.build_all(processes)
    end = time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    nbytes = sum(path.stat().st_size for path in folder.glob("*.lsh"))
    print(
        f"{rows:,} rows of {slots} slots in {shards} shards, {processes} processes | rows {spooled - start:.1f} s | "
        f"shards {end - spooled:.1f} s | in all {end - start:.1f} s, "
        f"{used.ru_utime + used.ru_stime:.1f} s of CPU | {nbytes / 1e9:.2f} GB | "
        f"peak of a process, with mapped pages {used.ru_maxrss / 1e3:,.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--slots", type=int, default=128)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--read", choices=("maps", "ranges"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.read:
        read(options.read, str(folder), options.rows, options.slots, options.queries)
        return
    build(folder, options.rows, options.slots, options.shards, options.processes)
    for way in ("maps", "ranges"):
        forget(folder)
        for cache in ("cold", "warm"):
            print(cache, end=" | ", flush=True)
            subprocess.run([sys.executable, *sys.argv, "--read", way], check=True)


if __name__ == "__main__":
    main()
