"""The exact join beside SetSimilaritySearch and beside bands, and on made-up sets: seconds, memory and pairs.

    python benchmarks/exact.py peer CORPUS.jsonl [--thresholds .8,.9] [--repeat 3]
    python benchmarks/exact.py baskets [FILE.dat] [--thresholds .5]
    python benchmarks/exact.py bands CORPUS.jsonl [--threads 2]
    python benchmarks/exact.py containment [--thresholds .5,.8,.9]
    python benchmarks/exact.py zipf [--sets 1000000] [--universe 100000]
    python benchmarks/exact.py small [--sets 1000000] [--threads 2]

"peer" joins the word 5-grams of a corpus (benchmarks/data.py makes one of licences or of a folder), and "baskets" the
lines of numbers of a FIMI file; without a file, made-up baskets with the numbers of FIMI's retail: 88,162 baskets of
16,470 items, about 10 a basket, five of them in up to 57 % of the baskets. Each contestant gets the same distinct
tokens, in a process of its own: lshfast as TokenSets, SetSimilaritySearch as lists of ints. Seconds are processor
seconds; memory is the peak above what the input takes. Exits with 1 if the pairs differ. "bands" runs `pairs` with and
without exact=True on the texts of a corpus in one process. "containment" prints which share of 2,000 pairs of sets
`pairs` finds by bands and by the exact join, for each ratio of the two sizes: the smaller set has 100 elements, of
which the larger one has a share between the threshold and 1. "zipf" has sets of 10 to 100 tokens whose ranks have
density 1 / rank, joined at .8 by one thread. "small" has random halves of 52 elements, joined at .9.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np
from contest import compared, in_own_process, label, memory, print_table, take_turns
from data import read_jsonl

import lshfast
from lshfast import TokenSets, exact

PEER, MADE_UP = "SetSimilaritySearch", "made up"
SUFFIXES = "lshfast, suffixes=True"
SHINGLE = 5
DEFAULT_THRESHOLDS = {
    "peer": [0.8, 0.9],
    "baskets": [0.5],
    "small": [0.9],
    "containment": [0.5, 0.8, 0.9],
}


def sets_of(path: str) -> TokenSets:
    """Return the word 5-grams of a corpus, or the lines of a file of numbers, without repeats and empty rows."""
    if path == MADE_UP:
        sets = baskets()
    elif path.endswith(".jsonl"):
        sets = lshfast.shingle(read_jsonl(path)[1], size=SHINGLE)
    else:
        with open(path, encoding="ascii") as lines:
            sets = TokenSets.from_sets([list(map(int, line.split())) for line in lines])
    sets = sets.distinct()
    return sets.take(sets.counts > 0)


def start_of_peak() -> float:
    """Return the memory in use in bytes, and let the peak begin there."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def run(name: str, path: str, threshold: float) -> dict[str, float]:
    """Join, and return the figures of one contestant in this process."""
    sets = sets_of(path)
    lists = (
        [row.tolist() for row in np.split(sets.tokens, sets.offsets[1:-1])]
        if name == PEER
        else []
    )
    before = start_of_peak()
    start = time.process_time()
    if name == PEER:
        from SetSimilaritySearch import all_pairs

        found = np.fromiter(
            (pair[:2] for pair in all_pairs(lists, similarity_threshold=threshold)),
            (np.int64, 2),
        )
    else:
        pairs = exact.pairs(
            sets, threshold=threshold, threads=1, suffixes=name == SUFFIXES
        )
        found = np.stack([pairs["i"], pairs["j"]], axis=1)
    figures = {
        "CPU time, s": time.process_time() - start,
        "memory, MB": (memory("VmHWM") - before) / 1e6,
    }
    codes = np.unique(found.min(axis=1) * len(sets) + found.max(axis=1))
    return figures | {"pairs": len(found), "hash of pairs": zlib.crc32(codes.tobytes())}


def beside_peer(path: str, thresholds: Sequence[float], repeat: int) -> int:
    """Print a table a threshold; return 1 if pairs differ."""
    failed = 0
    for threshold in thresholds:

        def turn(name: str, _: int, threshold: float = threshold) -> dict[str, float]:
            arguments = ["run", path, "--name", name, "--thresholds", str(threshold)]
            return in_own_process(__file__, arguments, f"{name} at {threshold}")

        took = take_turns(["lshfast", SUFFIXES, PEER], repeat, turn)
        print(f"threshold {threshold}")
        print_table(["", *map(label, took)], list(compared(took, "lshfast")), False)
        failed |= (
            len(
                {
                    (turn["pairs"], turn["hash of pairs"])
                    for turns in took.values()
                    for turn in turns
                }
            )
            > 1
        )
    if failed:
        print("FAILED: the pairs differ", file=sys.stderr)
    return failed


def beside_bands(path: str, threshold: float, threads: int, repeat: int) -> None:
    """Print the seconds of `pairs` with bands and with the exact join, in turns, and the ratio."""
    texts = read_jsonl(path)[1]
    seconds: dict[bool, list[float]] = {False: [], True: []}
    found = {}
    for turn in range(repeat):
        for exactly in (False, True) if turn % 2 else (True, False):
            start = time.process_time()
            found[exactly] = lshfast.pairs(
                texts, threshold=threshold, threads=threads, exact=exactly
            )
            seconds[exactly].append(time.process_time() - start)
    ratio = median(b / a for a, b in zip(seconds[False], seconds[True], strict=True))
    print(
        f"{len(texts):,} texts at {threshold}, {threads} threads: bands {median(seconds[False]):.2f} s of CPU, "
        f"{len(found[False]):,} pairs; exact {median(seconds[True]):.2f} s, {len(found[True]):,} pairs; "
        f"{ratio:.2f} times"
    )


def baskets(seed: int = 1) -> TokenSets:
    """Return baskets whose sizes and whose most frequent items are about those of FIMI's retail."""
    n, items, often = 88_162, 16_470, np.array([0.57, 0.48, 0.18, 0.17, 0.17])
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.poisson(rng.gamma(1.34, 6.45, n)))])
    weights = 1 / np.arange(20, items - len(often) + 20) ** 0.95
    drawn = np.searchsorted(
        np.cumsum(weights / weights.sum()), rng.random(int(offsets[-1]))
    ) + len(often)
    rows, tokens = np.nonzero(rng.random((n, len(often))) < often)
    rows = np.concatenate([rows, np.repeat(np.arange(n), np.diff(offsets))])
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return TokenSets(starts, np.concatenate([tokens, drawn])[order].astype(np.uint64))


def zipf_sets(n: int, universe: int, seed: int = 1) -> TokenSets:
    """Return sets of 10 to 100 tokens, repeats included, whose ranks have a density of 1 / rank; one in ten is a near
    copy."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(10, 101, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    tokens = np.exp(rng.random(int(offsets[-1])) * np.log(universe)).astype(np.uint64)
    for row in rng.choice(n - 1, n // 10, replace=False).tolist():
        size = min(sizes[row], sizes[row + 1])
        tokens[offsets[row + 1] : offsets[row + 1] + size] = tokens[
            offsets[row] : offsets[row] + size
        ]
    return TokenSets(offsets, tokens)


def half_sets(n: int, universe: int, seed: int = 1) -> TokenSets:
    """Return sets that have each element with probability 1/2."""
    held = np.random.default_rng(seed).random((n, universe)) < 0.5
    return TokenSets(
        np.concatenate([[0], np.cumsum(held.sum(axis=1))]),
        np.nonzero(held)[1].astype(np.uint64),
    )


def made_up(make: Callable[[], TokenSets], threshold: float, threads: int) -> None:
    sets = make()
    before, wall, start = start_of_peak(), time.perf_counter(), time.process_time()
    found = exact.join(sets, threshold=threshold, threads=threads)
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    print(
        f"{len(sets):,} sets, {len(sets.tokens):,} tokens at {threshold}, {threads} threads: {wall:.1f} s, "
        f"{seconds:.1f} s of CPU, {(memory('VmHWM') - before) / 1e6:,.0f} MB; {found.method}, "
        f"{found.candidates:,} pairs compared, {len(found.pairs):,} found"
    )


def contained_sets(
    ratio: float, threshold: float, pairs: int = 2_000, seed: int = 1
) -> list[range]:
    """Return pairs of ranges: one of 100 elements, and one of `ratio` times as many that has at least some of them."""
    rng = np.random.default_rng(seed)
    shared = rng.integers(round(100 * threshold), 101, pairs).tolist()
    starts = range(0, 10_000 * pairs, 10_000)
    both = zip(starts, shared, strict=True)
    return [
        part
        for at, own in both
        for part in (
            range(at, at + 100),
            range(at + 100 - own, at + 100 - own + round(100 * ratio)),
        )
    ]


def by_containment(thresholds: Sequence[float]) -> None:
    ratios = 1, 1.25, 1.5, 2, 3, 5, 10, 20
    print("ratio of sizes        ", *(f"{ratio:6g}" for ratio in ratios))
    for threshold in thresholds:
        for exactly, name in (False, "bands"), (True, "exact"):
            shares = []
            for ratio in ratios:
                sets = contained_sets(ratio, threshold)
                found = lshfast.pairs(
                    sets, threshold=threshold, measure="containment", exact=exactly
                )
                shares.append(len(found) / (len(sets) / 2))
            print(
                f"threshold {threshold:g}, {name:<8}",
                *(f"{share:6.3f}" for share in shares),
            )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what",
        choices=["peer", "baskets", "bands", "containment", "zipf", "small", "run"],
    )
    parser.add_argument("path", nargs="?", default="", metavar="FILE")
    parser.add_argument(
        "--thresholds", type=lambda text: [*map(float, text.split(","))]
    )
    parser.add_argument("--sets", type=int, default=1_000_000)
    parser.add_argument("--universe", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--name", default="lshfast", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.what in ("peer", "bands", "run") and not options.path:
        parser.error("a file is needed")
    thresholds = options.thresholds or DEFAULT_THRESHOLDS.get(options.what, [0.8])
    if options.what == "run":
        import json

        print(json.dumps(run(options.name, options.path, thresholds[0])))
    elif options.what in ("peer", "baskets"):
        return beside_peer(options.path or MADE_UP, thresholds, options.repeat)
    elif options.what == "bands":
        beside_bands(options.path, thresholds[0], options.threads, options.repeat)
    elif options.what == "containment":
        by_containment(thresholds)
    elif options.what == "zipf":
        made_up(lambda: zipf_sets(options.sets, options.universe), thresholds[0], 1)
    else:
        made_up(lambda: half_sets(options.sets, 52), thresholds[0], options.threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
