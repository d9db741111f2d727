"""Near-duplicates among vectors in Parquet: `lshfast dedup`, and k-means with all pairs inside of clusters by faiss.

    python benchmarks/points.py make VECTORS.parquet [--rows 1000000] [--dim 384]
    python benchmarks/points.py run VECTORS.parquet [--threshold 0.95] [--memory 2G] [--clusters 1000] [--threads 2]
    python benchmarks/points.py codes [--rows 1000000] [--bits 256] [--radius 31] [--recall 0.99]
    python benchmarks/points.py sets [--rows 300000] [--weighted] [--memory 450M]

`make` writes vectors around 1,000 centres, so that those of one centre have a cosine of about a half, and a tenth of
them again with noise. `run` prints seconds, peak memory, and the recall on the pairs of 2,000 rows, which are found by
comparing them with all rows. The clusters are those of SemDeDup (Abbas et al., 2023), which needs faiss-cpu.
`codes` compares codes completely, and by buckets at a recall. `sets` prints seconds and peak memory of `lshfast dedup`
of sets of 20 strings in Parquet, a tenth of which is another set with one element changed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np

CENTRES, SHARE, NOISE = 1000, 10, 0.3
SAMPLE = 2000
ELEMENTS = 20


def make(path: Path, rows: int, dim: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    centres = rng.standard_normal((CENTRES, dim), dtype=np.float32)
    vectors = centres[rng.integers(0, CENTRES, rows)] + rng.standard_normal(
        (rows, dim), dtype=np.float32
    )
    copies = rows // SHARE
    noise = np.float32(NOISE) * rng.standard_normal((copies, dim), dtype=np.float32)
    vectors[-copies:] = vectors[rng.permutation(rows - copies)[:copies]] + noise
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dim)
    pq.write_table(pa.table({"id": np.arange(rows), "embedding": column}), path)


def read(path: Path) -> np.ndarray:
    import pyarrow.parquet as pq

    column = pq.read_table(path, columns=["embedding"])["embedding"].combine_chunks()
    return column.values.to_numpy(zero_copy_only=False).reshape(len(column), -1)


def true_pairs(unit: np.ndarray, threshold: float) -> set[tuple[int, int]]:
    rows = np.random.default_rng(2).permutation(len(unit))[:SAMPLE]
    found = set()
    for start in range(0, SAMPLE, 100):
        some = rows[start : start + 100]
        left, right = np.nonzero(unit[some] @ unit.T >= threshold)
        found |= {
            (min(a, b), max(a, b))
            for a, b in zip(some[left].tolist(), right.tolist(), strict=True)
            if a != b
        }
    return found


def report(
    name: str,
    seconds: float,
    peak: float,
    found: set[tuple[int, int]],
    truth: set[tuple[int, int]],
) -> None:
    recall = len(found & truth) / max(1, len(truth))
    print(
        f"{name:<34}{seconds:>9.1f} s{peak:>9.0f} MB   {len(found):>9,} pairs   recall {recall:.4f} of {len(truth):,}"
    )


def command(arguments: list[str]) -> tuple[float, float]:
    start = time.perf_counter()
    run = subprocess.Popen([sys.executable, "-m", "lshfast", *arguments, "--quiet"])
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        sys.exit(run.returncode)
    return time.perf_counter() - start, used.ru_maxrss / 1e3


def make_sets(path: str, rows: int, weighted: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    elements = np.random.default_rng(1).integers(0, 10**6, (rows, ELEMENTS))
    elements[-(rows // SHARE) :, 1:] = elements[: rows // SHARE, 1:]
    names = pa.array([f"element {number}" for number in elements.reshape(-1).tolist()])
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * ELEMENTS)
    column = pa.ListArray.from_arrays(offsets, names)
    if weighted:
        column = pa.MapArray.from_arrays(
            offsets, names, pa.array(1.0 + elements.reshape(-1) % 10)
        )
    pq.write_table(pa.table({"id": np.arange(rows), "elements": column}), path)


def sets(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, outputs = f"{folder}/sets.parquet", []
        # In a process of its own: the peak memory of a new process begins with that of its parent.
        making = get_context("spawn").Process(
            target=make_sets, args=(source, given.rows, given.weighted)
        )
        making.start()
        making.join()
        for more in [], ["--memory", given.memory]:
            outputs.append(Path(folder, f"kept {len(more)}.parquet"))
            seconds, peak = command(
                ["dedup", source, "--column", "elements", "-o", str(outputs[-1]), *more]
            )
            print(
                f"{' '.join(['lshfast dedup', *more]):<34}{seconds:>9.1f} s{peak:>9.0f} MB",
                flush=True,
            )
        print("the same bytes:", outputs[0].read_bytes() == outputs[1].read_bytes())


def clusters(
    vectors: np.ndarray, threshold: float, count: int, threads: int
) -> set[tuple[int, int]]:
    import faiss

    faiss.omp_set_num_threads(threads)
    faiss.normalize_L2(vectors)
    kmeans = faiss.Kmeans(vectors.shape[1], count, niter=10, spherical=True, seed=1)
    kmeans.train(vectors)
    _, nearest = kmeans.index.search(vectors, 1)
    order = np.argsort(nearest[:, 0], kind="stable")
    ends = np.cumsum(np.bincount(nearest[:, 0], minlength=count))
    found = set()
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        rows = order[start:end]
        for at in range(0, len(rows), 2000):
            own = rows[at : at + 2000]
            left, right = np.nonzero(vectors[own] @ vectors[rows].T >= threshold)
            pairs = zip(own[left].tolist(), rows[right].tolist(), strict=True)
            found |= {(a, b) for a, b in pairs if a < b}
    return found


def run(given: argparse.Namespace) -> None:
    import pyarrow.parquet as pq

    runs = []  # before this process holds the vectors: the peak memory of a new process begins with that of its parent
    options = [
        "--column",
        "embedding",
        "--id-column",
        "id",
        "--threshold",
        str(given.threshold),
    ]
    options += ["--threads", str(given.threads)]
    for name, more in [
        ("", []),
        *(
            [(f" --memory {given.memory}", ["--memory", given.memory])]
            if given.memory
            else []
        ),
    ]:
        with tempfile.TemporaryDirectory(dir=given.vectors.parent) as folder:
            kept, pairs = f"{folder}/kept.parquet", f"{folder}/pairs.parquet"
            seconds, peak = command(
                ["dedup", str(given.vectors), "-o", kept, *options, *more]
            )
            removed = (
                pq.read_metadata(given.vectors).num_rows
                - pq.read_metadata(kept).num_rows
            )
            print(
                f"{'lshfast dedup' + name:<34}{seconds:>9.1f} s{peak:>9.0f} MB   {removed:>9,} removed"
            )
            seconds, peak = command(
                ["pairs", str(given.vectors), "-o", pairs, *options, *more]
            )
            table = pq.read_table(pairs)
            found = set(
                zip(table["key_i"].to_pylist(), table["key_j"].to_pylist(), strict=True)
            )
            runs.append(("lshfast pairs" + name, seconds, peak, found))
    vectors = read(given.vectors)
    truth = true_pairs(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True), given.threshold
    )
    for one in runs:
        report(*one, truth)
    start = time.perf_counter()
    found = clusters(vectors, given.threshold, given.clusters, given.threads)
    report(
        f"{given.clusters} clusters (faiss)",
        time.perf_counter() - start,
        0,
        found,
        truth,
    )


def codes(given: argparse.Namespace) -> None:
    import lshfast

    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**64, (given.rows, given.bits // 64), np.uint64)
    copies = given.rows // SHARE
    near = words[:copies].copy()
    for _ in range(given.radius):  # at most so many bits differ
        places = rng.integers(0, given.bits, copies)
        near[np.arange(copies), places // 64] ^= np.uint64(1) << (places % 64).astype(
            np.uint64
        )
    words[-copies:] = near
    options = {"kind": "code", "radius": given.radius, "threads": given.threads}
    for name, more in (
        ("complete", {}),
        (f"recall {given.recall}", {"recall": given.recall}),
    ):
        start = time.perf_counter()
        result = lshfast.dedup(words, **options, **more)
        print(
            f"{name:<14}{time.perf_counter() - start:>9.1f} s   {result.summary.removed:,} removed of {given.rows:,}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("vectors", type=Path)
    making.add_argument("--rows", type=int, default=1_000_000)
    making.add_argument("--dim", type=int, default=384)
    running = commands.add_parser("run")
    running.add_argument("vectors", type=Path)
    running.add_argument("--threshold", type=float, default=0.95)
    running.add_argument("--memory")
    running.add_argument("--clusters", type=int, default=1000)
    coding = commands.add_parser("codes")
    coding.add_argument("--rows", type=int, default=1_000_000)
    coding.add_argument("--bits", type=int, default=256)
    coding.add_argument("--radius", type=int, default=31)
    coding.add_argument("--recall", type=float, default=0.99)
    of_sets = commands.add_parser("sets")
    of_sets.add_argument("--rows", type=int, default=300_000)
    of_sets.add_argument("--weighted", action="store_true")
    of_sets.add_argument("--memory", default="450M")
    for each in (running, coding):
        each.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    if given.command == "make":
        make(given.vectors, given.rows, given.dim)
    elif given.command == "run":
        run(given)
    elif given.command == "codes":
        codes(given)
    else:
        sets(given)


if __name__ == "__main__":
    main()
