"""Fingerprints as sets of grid squares: rates and speed of the matcher on simulated prints, with a fixed seed.

    python benchmarks/minutiae.py [--prints 10000] [--grid 400] [--functions 1024] [--groups 2]

A print has a minutia in each square with probability .2. Another print of the finger has each of them with probability
.8, and others with .05, so that it has as many. All of the first prints are matched with all of the others, one print
with all others, and all of the first prints with each other. The rates are printed beside those of the formula, which
hold for large grids, and the seconds beside those of comparing all pairs of sets in numpy, by products of matrices of 0
and 1. The result of those is not the same: they count the squares that prints have in common.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from contest import SEED, keep_to_one_cpu

from lshfast import TokenSets
from lshfast.families import GridSquares
from lshfast.fingerprints import FingerprintMatcher

PIECE = 1000  # prints that numpy compares at a time


def prints(count: int, grid: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two prints of each finger, as matrices of squares."""
    rng = np.random.default_rng(SEED)
    first = rng.random((count, grid)) < 0.2
    return first, np.where(
        first, rng.random(first.shape) < 0.8, rng.random(first.shape) < 0.05
    )


def sets_of(squares: np.ndarray) -> TokenSets:
    rows, tokens = np.nonzero(squares)
    return TokenSets(
        np.searchsorted(rows, np.arange(len(squares) + 1)), tokens.astype(np.uint64)
    )


def timed(what: str, call: Callable[[], Any]) -> Any:
    clock, cpu = time.perf_counter(), time.process_time()
    found = call()
    print(
        f"{what:<44}{time.perf_counter() - clock:>8.2f} s {time.process_time() - cpu:>8.2f} s of CPU",
        flush=True,
    )
    return found


def common_squares(a: np.ndarray, b: np.ndarray) -> int:
    """Compare all pairs of prints, and return the largest number of squares that two have in common."""
    left, right = a.astype(np.float32), b.astype(np.float32).T.copy()
    return int(
        max((left[at : at + PIECE] @ right).max() for at in range(0, len(left), PIECE))
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prints", type=int, default=10_000)
    parser.add_argument("--grid", type=int, default=400)
    parser.add_argument("--functions", type=int, default=1024)
    parser.add_argument("--groups", type=int, default=2)
    given = parser.parse_args()
    keep_to_one_cpu()
    first, other = prints(given.prints, given.grid)
    a, b = sets_of(first), sets_of(other)
    matcher = FingerprintMatcher(GridSquares(given.grid), given.functions, given.groups)
    n = given.prints
    found = timed(f"many to many, {n:,} x {n:,} prints", lambda: matcher.match(a, b))
    timed(f"one to many, 1 x {n:,}", lambda: matcher.match(a.take([0]), b))
    within = timed(
        f"within, {n * (n - 1) // 2:,} pairs of fingers", lambda: matcher.match(a)
    )
    timed("numpy, common squares of all pairs", lambda: common_squares(first, other))
    same = int((found["i"] == found["j"]).sum())
    expected = matcher.rates()
    print(f"{'':<44}{'measured':>10}{'formula':>10}")
    print(
        f"{'matches of two prints of one finger':<44}{same / n:>10.4f}{expected.found:>10.4f}"
    )
    print(
        f"{'matches of different fingers':<44}{len(within) / (n * (n - 1) / 2):>10.4f}{expected.false:>10.4f}"
    )


if __name__ == "__main__":
    main()
