"""HNSW beside datasketch's: vectors with a Euclidean distance in numpy, and MinHashes with their Jaccard distance.

    python benchmarks/hnsw.py [vectors minhashes] [--points 20000] [--queries 200] [--repeat 3] [--markdown]

One CPU, one thread, the same points, distance function and parameters. The queries of both libraries take turns. Times
are CPU seconds, medians over the turns; recall is that of the ten nearest points, counted by distance.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import datasketch
import numpy as np
from contest import installed, keep_to_one_cpu, label, print_table

import lshfast.datasketch as ours

WIDTHS = (10, 20, 50, 100, 200)


class Counted:
    """A distance function that counts its calls."""

    def __init__(self, distance: Callable[[Any, Any], float]) -> None:
        self.distance, self.calls = distance, 0

    def __call__(self, x: Any, y: Any) -> float:
        self.calls += 1
        return self.distance(x, y)


def vectors(count: int) -> tuple[list[Any], Callable[[Any, Any], float]]:
    """Return uniform points of 32 dimensions, and their distance."""
    return list(np.random.default_rng(1).random((count, 32))), lambda x, y: float(
        np.linalg.norm(x - y)
    )


def minhashes(count: int) -> tuple[list[Any], Callable[[Any, Any], float]]:
    """Return sketches of 128 slots of sets in groups of ten, which share half of 60 tokens, and their distance."""
    rng = np.random.default_rng(2)
    sets = [rng.integers(0, 1000, 30).tolist() for _ in range(-(-count // 10))]
    rows = [
        [b"%d" % token for token in sets[i // 10] + rng.integers(0, 1000, 30).tolist()]
        for i in range(count)
    ]
    return ours.MinHash.bulk(rows), lambda x, y: 1 - x.jaccard(y)


def contest(
    points: list[Any],
    asked: list[Any],
    distance: Callable[[Any, Any], float],
    repeat: int,
) -> list[list[str]]:
    nearest = [
        sorted(distance(query, point) for point in points)[9] + 1e-9 for query in asked
    ]
    indexes: dict[str, tuple[Any, Counted]] = {}
    rows = []
    for name, library in (("datasketch", datasketch), ("lshfast", ours)):
        counted = Counted(distance)
        index = library.HNSW(counted, seed=1)
        before = time.process_time()
        for key, point in enumerate(points):
            index.insert(key, point)
        took = time.process_time() - before
        indexes[name] = index, counted
        rows.append(
            [
                name,
                "insert",
                "",
                f"{len(points) / took:,.0f}",
                f"{counted.calls / len(points):,.0f}",
            ]
        )
    for ef in WIDTHS:
        rates: dict[str, list[float]] = {name: [] for name in indexes}
        figures = {}
        for _ in range(repeat):
            for name, (index, counted) in indexes.items():
                counted.calls, before = 0, time.process_time()
                found = [index.query(query, 10, ef) for query in asked]
                rates[name].append(len(asked) / (time.process_time() - before))
                right = sum(
                    far <= most
                    for answer, most in zip(found, nearest, strict=True)
                    for _, far in answer
                )
                figures[name] = right / len(asked) / 10, counted.calls / len(asked)
        for name, (recall, calls) in figures.items():
            rows.append(
                [
                    name,
                    f"ef {ef}",
                    f"{recall:.3f}",
                    f"{median(rates[name]):,.0f}",
                    f"{calls:,.0f}",
                ]
            )
    return rows


KINDS = {"vectors": (vectors, 20_000), "minhashes": (minhashes, 5_000)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", metavar="kind", help=", ".join(KINDS))
    parser.add_argument("--points", type=int)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    keep_to_one_cpu()
    for kind in options.kinds or KINDS:
        if kind not in KINDS:
            parser.error(f"there is no kind {kind!r}")
        make, count = KINDS[kind]
        points, distance = make((options.points or count) + options.queries)
        asked = [points.pop() for _ in range(options.queries)]
        rows = contest(points, asked, distance, options.repeat)
        print(f"{len(points):,} {kind}, {label('datasketch')}")
        print_table(
            ["library", "call", "recall@10", "a second", "distances a call"],
            rows,
            options.markdown,
        )


if __name__ == "__main__":
    if not installed("datasketch"):
        raise SystemExit("datasketch is not installed: pip install 'lshfast[bench]'")
    main()
