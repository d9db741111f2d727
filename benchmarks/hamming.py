"""Exact Hamming search beside faiss: scan, radius, all pairs, and the removal of near copies.

    python benchmarks/hamming.py [--n 10000000] [--queries 100000] [--pairs 1000000] [--wide 1000000 10000000]
                                 [--dedup 1000000 10000000] [--repeat 3] [--only scan radius ...]

All run in one process, on one CPU, with one thread each; lshfast and faiss take turns, and medians count. Rates are
those of processor time. Codes have 64 bits. "random" codes are independent; a tenth of them is within three bits of
another. "clustered" codes are centres, of which some are very frequent, with bits flipped at different rates, as in
fingerprints of images. "wide" codes have 256 bits, as PDQ hashes of images; a tenth is at a distance of exactly 31 from
another, which is the usual limit of PDQ. Their pairs are found by all CPUs.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

import numpy as np
from contest import SEED, keep_to_one_cpu

from lshfast.index.hamming.dedup import dedup_codes
from lshfast.index.hamming.hamming_index import HammingIndex
from lshfast.index.hamming.join import hamming_pairs
from lshfast.index.hamming.plan import choose_blocks, plan_of
from lshfast.kernels.hamming import Blocks, scan_within

RADIUS, WIDE_RADIUS = 3, 31
SCANNED, SCAN_QUERIES, NEAREST = 1_000_000, 512, 10


def random_codes(n: int) -> np.ndarray:
    """Return codes of which a tenth is planted: up to three bits from another code."""
    rng = np.random.default_rng(SEED)
    codes = rng.integers(0, 2**64, (n, 1), np.uint64)
    planted = n // 10
    codes[:planted] = codes[planted : 2 * planted]
    for _ in range(3):
        codes[:planted, 0] ^= np.uint64(1) << rng.integers(0, 64, planted).astype(
            np.uint64
        )
    return codes[rng.permutation(n)]


def clustered_codes(n: int) -> np.ndarray:
    """Return skewed codes: the largest of n / 20 clusters has 0.1 % of 10 M codes; up to eight bits are flipped."""
    rng = np.random.default_rng(SEED)
    centres = rng.integers(0, 2**64, n // 20 + 1, np.uint64)
    centres &= rng.integers(
        0, 2**64, len(centres), np.uint64
    )  # a quarter of the bits are ones
    codes = centres[(len(centres) * rng.random(n) ** 2).astype(np.int64)]
    for _ in range(8):
        flips = rng.random(n) < rng.random(n)
        codes[flips] ^= np.uint64(1) << rng.integers(
            0, 64, np.count_nonzero(flips)
        ).astype(np.uint64)
    return codes[:, None]


DATA = {"random": random_codes, "clustered": clustered_codes}


def seconds(call: Callable[[], object]) -> float:
    """Return the processor time of a call, which other programs disturb less than the time of the clock."""
    before = time.process_time()
    call()
    return time.process_time() - before


def compare(
    what: str,
    unit: str,
    repeat: int,
    calls: dict[str, tuple[float, Callable[[], object]]],
) -> None:
    """Let the calls take turns, and print for each how many units a second it does, and the ratio to the last one."""
    rates: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeat):
        for name, (count, call) in calls.items():
            rates[name].append(count / seconds(call))
    base = [*rates][-1]
    for name, rate in rates.items():
        ratio = median(a / b for a, b in zip(rate, rates[base], strict=True))
        print(
            f"{what:<36} {name:<34} {median(rate):>14,.0f} {unit}   {ratio:6.2f}",
            flush=True,
        )


def faiss_module():  # type: ignore[no-untyped-def]
    import faiss

    faiss.omp_set_num_threads(1)
    return faiss


def scan(args: argparse.Namespace) -> None:
    faiss = faiss_module()
    codes = random_codes(SCANNED)
    queries = np.ascontiguousarray(codes[:SCAN_QUERIES] ^ np.uint64(0xFFFF0000FF))
    flat = faiss.IndexBinaryFlat(64)
    flat.add(codes.view(np.uint8).reshape(-1, 8))
    index = HammingIndex(64, radius=64)  # such a radius is scanned
    index.insert(np.arange(len(codes)), codes)
    distances = flat.search(queries.view(np.uint8).reshape(-1, 8), NEAREST)[0]
    found = index.query(queries, NEAREST, threads=1)
    assert (found.distance.reshape(distances.shape) == np.sort(distances)).all()
    asked, count = queries.view(np.uint8).reshape(-1, 8), SCANNED * SCAN_QUERIES
    calls = {
        "lshfast scan, 10 nearest": (
            count,
            partial(index.query, queries, NEAREST, threads=1),
        ),
        "lshfast scan, radius 3": (
            count,
            partial(index.within, queries, RADIUS, threads=1),
        ),
        "faiss IndexBinaryFlat, 10 nearest": (
            count,
            partial(flat.search, asked, NEAREST),
        ),
    }
    compare(f"scan of {SCANNED:,} codes", "codes/s", args.repeat, calls)


def queries_of(codes: np.ndarray, m: int) -> np.ndarray:
    """Return codes with up to three bits flipped."""
    rng = np.random.default_rng(SEED + 1)
    queries = codes[rng.integers(0, len(codes), m)]
    for _ in range(RADIUS):
        queries[:, 0] ^= np.uint64(1) << rng.integers(0, 64, m).astype(np.uint64)
    return np.ascontiguousarray(queries)


def radius(args: argparse.Namespace) -> None:
    faiss = faiss_module()
    for name, make in DATA.items():
        codes = make(args.n)
        queries = queries_of(
            codes, args.queries if name == "random" else args.queries // 20
        )
        index = HammingIndex(64, radius=RADIUS)
        build = seconds(partial(index.insert, np.arange(len(codes)), codes))
        beside = index.nbytes / len(codes) - 8
        print(
            f"{name}: {index.describe()}; built in {build:.1f} s; {beside:.0f} bytes a code beside the code"
        )
        multi = faiss.IndexBinaryMultiHash(64, 2, 32)
        multi.nflip = 1
        multi.add(codes.view(np.uint8).reshape(-1, 8))
        asked = queries.view(np.uint8).reshape(-1, 8)
        theirs = int(
            multi.range_search(asked, RADIUS + 1)[0][-1]
        )  # faiss' radius is exclusive
        ours = len(index.within(queries, threads=1).keys)
        assert ours == theirs, (ours, theirs)
        calls = {
            "lshfast, radius 3": (
                len(queries),
                partial(index.within, queries, threads=1),
            ),
            "faiss MultiHash 2 x 32, one flip": (
                len(queries),
                partial(multi.range_search, asked, RADIUS + 1),
            ),
        }
        compare(f"{args.n:,} {name} codes", "queries/s", args.repeat, calls)


def crossover(args: argparse.Namespace) -> None:
    """Print queries per second by blocks and by a scan for growing numbers of codes."""
    queries = random_codes(1 << 14)
    for r, widths in (
        (3, (16, 16, 16, 16)),
        (6, (16, 16, 16, 16)),
        (10, (13, 13, 13, 13, 12)),
    ):
        for n in (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000):
            codes = random_codes(n)
            plan = plan_of(
                n, 64, r, tuple(min(width, n.bit_length() + 1) for width in widths)
            )
            masks = [
                [2**width - 1 << sum(plan.block_bits[:i])]
                for i, width in enumerate(plan.block_bits)
            ]
            blocks = Blocks(codes, np.array(masks, np.uint64))
            for i in range(blocks.m):
                blocks.fill(i)
            few = queries[: max(min(len(queries), 2**27 // n), 64)]
            calls = {
                "blocks": (
                    len(queries),
                    partial(blocks.within, queries, r, np.array(plan.levels, np.uint8)),
                ),
                "scan": (len(few), partial(scan_within, codes, few, r)),
            }
            chosen = choose_blocks(n, 64, r).method
            compare(
                f"{n:,} codes, radius {r} ({chosen})", "queries/s", args.repeat, calls
            )


def pairs(args: argparse.Namespace) -> None:
    faiss = faiss_module()
    codes = random_codes(args.pairs)
    asked = codes.view(np.uint8).reshape(-1, 8)

    def theirs() -> int:
        multi = faiss.IndexBinaryMultiHash(64, 2, 32)
        multi.nflip = 1
        multi.add(asked)
        return (int(multi.range_search(asked, RADIUS + 1)[0][-1]) - len(codes)) // 2

    ours = len(hamming_pairs(codes, RADIUS, threads=1))
    assert ours == theirs()
    calls = {
        f"lshfast, {ours:,} pairs": (
            args.pairs,
            partial(hamming_pairs, codes, RADIUS, threads=1),
        ),
        "faiss MultiHash 2 x 32, one flip": (args.pairs, theirs),
    }
    compare(f"all pairs of {args.pairs:,} random codes", "codes/s", args.repeat, calls)


def wide_codes(n: int) -> np.ndarray:
    """Return codes of 256 bits; a tenth is at a distance of exactly WIDE_RADIUS from another."""
    rng = np.random.default_rng(SEED)
    codes, planted = rng.integers(0, 2**64, (n, 4), np.uint64), n // 10
    codes[:planted] = codes[planted : 2 * planted]
    for start in range(0, planted, 1 << 16):
        part = codes[start : min(start + (1 << 16), planted)]
        places = np.argpartition(
            rng.random((len(part), 256), np.float32), WIDE_RADIUS, axis=1
        )
        for place in places[:, :WIDE_RADIUS].T:
            part[np.arange(len(part)), place // 64] ^= np.uint64(1) << (
                place % 64
            ).astype(np.uint64)
    return codes[rng.permutation(n)]


def wide(args: argparse.Namespace) -> None:
    """Find all pairs of wide codes: the complete answer for the first number of codes, recall .99 for each."""
    for n in args.wide:
        codes = wide_codes(n)
        for recall in (1.0, 0.99) if n == args.wide[0] else (0.99,):
            before, cpu = time.perf_counter(), time.process_time()
            found = hamming_pairs(codes, WIDE_RADIUS, recall=recall)
            taken, cpu = time.perf_counter() - before, time.process_time() - cpu
            share = len(found) / (n // 10)
            print(
                f"pairs of {n:,} codes of 256 bits, recall {recall}: {share:.4f} of those planted in {taken:.1f} s, "
                f"{cpu:.1f} s of CPU",
                flush=True,
            )


def flips(args: argparse.Namespace) -> None:
    """Compare searches of 256 bits within 31: a scan, and faiss' hash tables with all flips that are needed."""
    faiss = faiss_module()
    codes = wide_codes(args.wide[0])
    queries = np.ascontiguousarray(codes[:200])
    multi = faiss.IndexBinaryMultiHash(256, 8, 32)
    multi.nflip = 3  # 31 different bits are at most 3 in one of 8 tables
    multi.add(codes.view(np.uint8).reshape(-1, 32))
    asked = queries.view(np.uint8).reshape(-1, 32)
    index = HammingIndex(256, radius=WIDE_RADIUS)
    index.insert(np.arange(len(codes)), codes)
    assert len(index.within(queries).keys) == int(
        multi.range_search(asked, WIDE_RADIUS + 1)[0][-1]
    )
    calls = {
        f"lshfast, {index.describe()}": (
            len(queries),
            partial(index.within, queries, threads=1),
        ),
        "faiss MultiHash 8 x 32, three flips": (
            len(queries),
            partial(multi.range_search, asked, WIDE_RADIUS + 1),
        ),
    }
    compare(
        f"within {WIDE_RADIUS} of {len(codes):,} wide codes",
        "queries/s",
        args.repeat,
        calls,
    )


def dedup(args: argparse.Namespace) -> None:
    for n in args.dedup:
        for name, make in DATA.items():
            codes = make(n)
            before, cpu = time.perf_counter(), time.process_time()
            result = dedup_codes(codes, RADIUS, threads=1)
            taken, cpu = time.perf_counter() - before, time.process_time() - cpu
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            print(
                f"{name}: {result!r}: {taken:.1f} s, {cpu:.1f} s of CPU, at most {memory:.1f} GB so far",
                flush=True,
            )


PARTS = {
    "scan": scan,
    "radius": radius,
    "crossover": crossover,
    "pairs": pairs,
    "flips": flips,
    "dedup": dedup,
    "wide": wide,
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="hamming.py", description="Run exact Hamming search beside faiss."
    )
    parser.add_argument(
        "--n", type=int, default=10_000_000, help="codes that queries search"
    )
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument(
        "--pairs",
        type=int,
        default=1_000_000,
        help="codes all pairs of which are found",
    )
    parser.add_argument(
        "--wide",
        type=int,
        nargs="+",
        default=[1_000_000, 10_000_000],
        help="codes of 256 bits",
    )
    parser.add_argument(
        "--dedup",
        type=int,
        nargs="+",
        default=[1_000_000, 10_000_000],
        help="codes to deduplicate",
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=[*PARTS])
    args = parser.parse_args(argv)
    for part in sorted(
        args.only, key=[*PARTS].index, reverse=True
    ):  # "wide" uses all CPUs
        if part != "wide":
            keep_to_one_cpu()
        PARTS[part](args)


if __name__ == "__main__":
    main()
