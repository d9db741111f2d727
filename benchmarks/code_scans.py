"""Scans of wide codes beside faiss, and Tanimoto search beside RDKit.

    python benchmarks/code_scans.py [--n 100000 1000000] [--bits 64 128 ...] [--queries 32 256] [--molecules 1000000]
                                    [--many 10000000] [--repeat 3] [--only scan similar many]

All run in one process, on one CPU, with one thread each, except `many`, which uses all CPUs. The peers take turns with
lshfast, and medians count. A rate is queries times bytes of codes, divided by seconds of processor time, whether all
bytes were read or not. "Molecules" are made up: fingerprints of 2,048 bits are the union of 3 to 9 fragments, some of
which are very frequent, and have about 48 ones, as Morgan fingerprints of radius 2 have. A tenth is another fingerprint
with up to eight bits changed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial

import numpy as np
from contest import SEED, keep_to_one_cpu
from hamming import compare, faiss_module, seconds

from lshfast import HammingIndex, TanimotoIndex

BITS, FRAGMENTS, ONES, MOST = 2048, 1 << 16, 8, 9
SIMILARITY, NEAREST = 0.7, 10


def dense_codes(n: int, bits: int) -> np.ndarray:
    """Return codes whose bits are independent and balanced."""
    return np.random.default_rng(SEED).integers(0, 2**64, (n, bits // 64), np.uint64)


def molecules(n: int) -> np.ndarray:
    """Return made-up fingerprints: each is the union of 3 to 9 of 65,536 fragments of 8 bits."""
    rng = np.random.default_rng(SEED)
    places = (BITS * rng.random((FRAGMENTS, ONES)) ** 1.5).astype(
        np.int64
    )  # some bits are more frequent
    fragments = np.zeros((FRAGMENTS, BITS // 64), np.uint64)
    for column in places.T:
        fragments[np.arange(FRAGMENTS), column // 64] |= np.uint64(1) << (
            column % 64
        ).astype(np.uint64)
    codes = np.empty((n, BITS // 64), np.uint64)
    for start in range(0, n, 1 << 18):
        size = min(n - start, 1 << 18)
        part, numbers = codes[start : start + size], rng.integers(3, MOST + 1, size)
        part[:] = 0
        for i in range(MOST):
            rows = np.flatnonzero(numbers > i)
            part[rows] |= fragments[
                (FRAGMENTS * rng.random(len(rows)) ** 2).astype(np.int64)
            ]
    copies = n // 10
    codes[:copies] = codes[rng.integers(copies, n, copies)]
    for _ in range(8):
        flipped = rng.integers(0, BITS, copies)
        codes[np.arange(copies), flipped // 64] ^= np.uint64(1) << (
            flipped % 64
        ).astype(np.uint64)
    return codes


def scan(args: argparse.Namespace) -> None:
    """Compare scans for the nearest code and the 100 nearest; faiss must find the same distances."""
    faiss = faiss_module()
    for bits in args.bits:
        for n in args.n:
            codes = dense_codes(n, bits)
            flat = faiss.IndexBinaryFlat(bits)
            flat.add(codes.view(np.uint8).reshape(n, -1))
            index = HammingIndex(bits, radius=bits)  # such a radius is scanned
            index.insert(np.arange(n), codes)
            for m in args.queries:
                queries = np.random.default_rng(SEED + 1).integers(
                    0, 2**64, (m, bits // 64), np.uint64
                )
                asked, size = (
                    queries.view(np.uint8).reshape(m, -1),
                    m * codes.nbytes / 1e6,
                )
                for k in (1, 100):
                    distances = np.sort(flat.search(asked, k)[0])
                    assert (
                        index.query(queries, k, threads=1).distance.reshape(m, k)
                        == distances
                    ).all()
                    calls = {
                        f"lshfast, {k} nearest": (
                            size,
                            partial(index.query, queries, k, threads=1),
                        ),
                        f"faiss IndexBinaryFlat, {k} nearest": (
                            size,
                            partial(flat.search, asked, k),
                        ),
                    }
                    compare(
                        f"{n:,} codes of {bits} bits, {m} queries",
                        "MB/s",
                        args.repeat,
                        calls,
                    )


def similar(args: argparse.Namespace) -> None:
    """Compare the search for similarity 0.7 and the 10 best; RDKit answers a few of the queries, and agrees."""
    from rdkit import DataStructs

    codes = molecules(args.molecules)
    queries = codes[np.random.default_rng(SEED + 2).integers(0, len(codes), 1000)]
    index = TanimotoIndex(BITS)
    taken = seconds(partial(index.insert, np.arange(len(codes)), codes))
    print(f"{args.molecules:,} fingerprints: inserted in {taken:.1f} s")
    print(index.describe(SIMILARITY))
    theirs = [DataStructs.CreateFromBinaryText(code.tobytes()) for code in codes]
    few = [
        DataStructs.CreateFromBinaryText(code.tobytes())
        for code in queries[: args.repeat]
    ]
    found = index.within(queries, SIMILARITY, threads=1)
    for query, ours in zip(few, found, strict=False):
        values = np.array(DataStructs.BulkTanimotoSimilarity(query, theirs))
        rows = np.flatnonzero(values >= SIMILARITY)
        rows = rows[np.lexsort((rows, -values[rows]))]
        assert [tuple(match) for match in ours] == list(
            zip(rows.tolist(), values[rows].tolist(), strict=True)
        )
    calls = {
        f"lshfast, similarity {SIMILARITY}": (
            len(queries),
            partial(index.within, queries, SIMILARITY, threads=1),
        ),
        f"lshfast, {NEAREST} best": (
            len(queries),
            partial(index.query, queries, NEAREST, threads=1),
        ),
        "RDKit BulkTanimotoSimilarity": (
            1,
            partial(DataStructs.BulkTanimotoSimilarity, few[0], theirs),
        ),
    }
    compare(
        f"{args.molecules:,} fingerprints of {BITS} bits",
        "queries/s",
        args.repeat,
        calls,
    )


def many(args: argparse.Namespace) -> None:
    """Search as many fingerprints as fit into memory, with all CPUs."""
    codes = molecules(args.many)
    queries = codes[np.random.default_rng(SEED + 2).integers(0, len(codes), 1000)]
    index = TanimotoIndex(BITS)
    taken = seconds(partial(index.insert, np.arange(len(codes)), codes))
    del codes
    print(
        f"{args.many:,} fingerprints: inserted in {taken:.1f} s; {index.nbytes / 1e9:.2f} GB"
    )
    print(index.describe(SIMILARITY))
    for name, call in {
        "similarity 0.9, 1,000 queries": partial(index.within, queries, 0.9),
        "similarity 0.7, 1,000 queries": partial(index.within, queries, SIMILARITY),
        "10 best, 1,000 queries": partial(index.query, queries, NEAREST),
        "similarity 0.7, one query": partial(index.within, queries[0], SIMILARITY),
    }.items():
        before, cpu = time.perf_counter(), time.process_time()
        call()
        print(
            f"{name}: {time.perf_counter() - before:.2f} s, {time.process_time() - cpu:.2f} s of CPU",
            flush=True,
        )


PARTS = {"scan": scan, "similar": similar, "many": many}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="code_scans.py", description="Scan wide codes beside faiss and RDKit."
    )
    parser.add_argument(
        "--n",
        type=int,
        nargs="+",
        default=[100_000, 1_000_000],
        help="codes that are scanned",
    )
    parser.add_argument(
        "--bits", type=int, nargs="+", default=[64, 128, 256, 512, 1024, 2048, 4096]
    )
    parser.add_argument("--queries", type=int, nargs="+", default=[32, 256])
    parser.add_argument(
        "--molecules",
        type=int,
        default=1_000_000,
        help="fingerprints that RDKit searches too",
    )
    parser.add_argument(
        "--many",
        type=int,
        default=10_000_000,
        help="fingerprints that lshfast searches alone",
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=[*PARTS])
    args = parser.parse_args(argv)
    for part in sorted(args.only):  # "many", which comes first, uses all CPUs
        if part != "many":
            keep_to_one_cpu()
        PARTS[part](args)


if __name__ == "__main__":
    main()
