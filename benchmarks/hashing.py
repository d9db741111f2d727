"""Hash functions beside numpy's own arithmetic, and perfect maps beside a dict and a sorted array: one run, one thread.

    python benchmarks/hashing.py [--n 10000000] [--repeat 5] [--markdown]

Hash functions map n random keys to 1,000,003 buckets. `numpy a * x >> 44` is a multiplication of all keys and a shift,
without any guarantee. The maps are made of n random 64-bit keys and looked up in random order, in one batch:
PerfectMap, numpy.searchsorted in the sorted keys (with the comparison that says whether a key is there), and dict,
which gets Python ints and answers one by one. Of the dict, a tenth of the keys is used. All take turns on one CPU;
medians count, in nanoseconds a key. Memory is that of the map's arrays, and of the dict's table without its ints.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from contest import SEED, Figures, in_own_process, keep_to_one_cpu, print_table, timed

BUCKETS, DICT_SHARE, P = 1_000_003, 10, 2**61 - 1


def functions(n: int) -> dict[str, Callable[[], object]]:
    """Return the hash functions as calls that map n keys."""
    from lshfast.hashing import (
        MixedTabulation,
        MultiplyAddShift,
        MultiplyShift,
        PolynomialHash,
        StronglyUniversal,
        WeaklyUniversal,
    )

    keys = np.random.default_rng(SEED).integers(0, P, n, np.uint64)
    small = keys % np.uint64(2**31 - 1)
    a = np.uint64(0x9E3779B97F4A7C15)
    made = [
        WeaklyUniversal(BUCKETS),
        StronglyUniversal(BUCKETS),
        *(PolynomialHash(k, BUCKETS) for k in (3, 4, 5, 8)),
    ]
    made += [MultiplyShift(20), MultiplyAddShift(BUCKETS), MixedTabulation(BUCKETS)]
    calls: dict[str, Callable[[], object]] = {
        "numpy a * x >> 44": lambda: keys * a >> np.uint64(44)
    }
    for f in made:
        name = type(f).__name__ + (
            f", k = {f.k}" if isinstance(f, PolynomialHash) else ""
        )
        calls[name] = lambda f=f: f.hash(keys)
    few = StronglyUniversal(BUCKETS, prime=2**31 - 1)
    calls["StronglyUniversal, prime below 2**32"] = lambda: few.hash(small)
    return calls


def maps(n: int) -> dict[str, tuple[int, Callable[[], object]]]:
    """Return the keys of a call, and the call, for each map made and looked up."""
    from lshfast.hashing import PerfectMap

    generator = np.random.default_rng(SEED)
    keys = np.unique(generator.integers(0, 2**64, n, np.uint64))
    generator.shuffle(keys)
    asked, absent = (
        generator.permutation(keys),
        generator.integers(0, 2**64, len(keys), np.uint64),
    )
    n, few = len(keys), max(1, len(keys) // DICT_SHARE)
    perfect, order = PerfectMap(keys), np.argsort(keys)
    ordered, listed, wanted = (
        keys[order],
        keys[:few].tolist(),
        generator.permutation(keys[:few]).tolist(),
    )
    table = {key: i for i, key in enumerate(listed)}

    def in_order() -> object:
        places = np.searchsorted(ordered, asked)
        return np.where(
            ordered[np.minimum(places, n - 1)] == asked,
            order[np.minimum(places, n - 1)],
            -1,
        )

    print(
        f"bytes a key: {perfect.stats.nbytes / n:.1f}, a dict {sys.getsizeof(table) / few:.1f}",
        file=sys.stderr,
    )
    return {
        "PerfectMap, made": (n, lambda: PerfectMap(keys)),
        "argsort, made": (n, lambda: keys[np.argsort(keys)]),
        "dict, made": (few, lambda: {key: i for i, key in enumerate(listed)}),
        "PerfectMap, looked up": (n, lambda: perfect.positions(asked)),
        "PerfectMap, absent keys": (n, lambda: perfect.positions(absent)),
        "searchsorted, looked up": (n, in_order),
        "dict, looked up": (few, lambda: [table.get(key) for key in wanted]),
    }


def measured(n: int, repeat: int) -> Figures:
    """Return the median nanoseconds a key of each call."""
    made = {name: (n, call) for name, call in functions(n).items()} | maps(n)
    turns = [
        {name: timed(call) / keys * 1e9 for name, (keys, call) in made.items()}
        for _ in range(repeat)
    ]
    return {name: median(turn[name] for turn in turns) for name in made}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="hashing.py", description="Run lshfast's hash functions beside others."
    )
    parser.add_argument("--n", type=int, default=10_000_000, help="keys")
    parser.add_argument(
        "--repeat", type=int, default=5, help="turns, whose medians count"
    )
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument(
        "--run",
        action="store_true",
        help="measure in this process (what the parent starts)",
    )
    a = parser.parse_args(argv)
    if min(a.n, a.repeat) < 1:
        parser.error("--n and --repeat must be at least 1")
    if a.run:
        keep_to_one_cpu()
        print(json.dumps(measured(a.n, a.repeat)))
        return
    figures = in_own_process(
        __file__, ["--run", f"--n={a.n}", f"--repeat={a.repeat}"], "hashing"
    )
    print(f"{a.n:,} keys\n")
    print_table(
        ["", "ns a key"],
        [[name, f"{value:.1f}"] for name, value in figures.items()],
        a.markdown,
    )


if __name__ == "__main__":
    main()
