"""How processor time and memory grow for rows that their author can choose so that many meet and few are similar.

    python benchmarks/growth.py [CASE ...] [--sizes 2000 4000 8000]

Each line is a case and a size: processor seconds, how many times those of the size before, and the memory that the
run added in MB. Each runs in a process of its own. Twice the rows take twice the time where a crowd is looked up; where
each row is compared with each other one, they take four times as long.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import lshfast


def sets_at_a_low_threshold(n: int) -> Callable[[], object]:
    """Sets of few elements, of which most pairs are similar."""
    rng = np.random.default_rng(1)
    sets = [
        set(rng.choice(40, rng.integers(2, 14), replace=False).tolist())
        for _ in range(n)
    ]
    return lambda: lshfast.dedup(sets, threshold=0.05, exact=True, threads=1)


def nested_texts(n: int) -> Callable[[], object]:
    """Texts that each contain all shorter ones."""
    words = [f"w{number}" for number in range(n + 10)]
    texts = [" ".join(words[: 10 + number]) for number in range(n)]
    return lambda: lshfast.dedup(texts, measure="containment", threshold=0.9, threads=1)


def weighted_sets_below_the_threshold(n: int) -> Callable[[], object]:
    """Weighted sets that share 30 of their 35 elements, at a threshold just above their similarity of .75."""
    core = {f"core{number}": 1.0 for number in range(30)}
    sets = [
        core | {f"own{row}-{number}": 1.0 for number in range(5)} for row in range(n)
    ]
    return lambda: lshfast.dedup(sets, kind="weighted", threshold=0.8, threads=1)


def around_one_direction(n: int) -> np.ndarray:
    """Return vectors with cosines of about .92 and distances of .42."""
    rng = np.random.default_rng(1)
    center = rng.standard_normal(128)
    center /= np.linalg.norm(center)
    noise = rng.standard_normal((n, 128))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    return (center + 0.295 * noise).astype(np.float32)


def vectors_below_the_threshold(n: int) -> Callable[[], object]:
    """Vectors around one direction, with cosines of about .92, at a threshold of .95."""
    vectors = around_one_direction(n)
    return lambda: lshfast.dedup(vectors, threshold=0.95, threads=1)


def vectors_with_a_limit(n: int) -> Callable[[], object]:
    """The same vectors with at most 1,000 candidates each."""
    vectors = around_one_direction(n)
    return lambda: lshfast.dedup(
        vectors, threshold=0.95, threads=1, max_candidates=1000
    )


def pairs_with_a_limit(n: int) -> Callable[[], object]:
    """The pairs of the same vectors, with at most 1,000 candidates each."""
    vectors = around_one_direction(n)
    return lambda: lshfast.pairs(
        vectors, threshold=0.95, threads=1, max_candidates=1000
    )


def points_beyond_the_radius(n: int) -> Callable[[], object]:
    """The same vectors by their distances of about .42, at a radius of .31."""
    vectors = around_one_direction(n)
    return lambda: lshfast.dedup(vectors, measure="euclidean", radius=0.31, threads=1)


def points_with_a_limit(n: int) -> Callable[[], object]:
    """The same points with at most 1,000 candidates each."""
    vectors = around_one_direction(n)
    return lambda: lshfast.dedup(
        vectors, measure="euclidean", radius=0.31, threads=1, max_candidates=1000
    )


def crowds_with_a_limit(n: int) -> Callable[[], object]:
    """Half of the vectors in crowds of 1/4, 1/8, 1/16... of all, and half unlike others; at most 1,000 candidates."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((n, 64))
    start, size = 0, n // 4
    while size > 1:
        vectors[start : start + size] = 0.25 * vectors[
            start : start + size
        ] + rng.standard_normal(64)
        start, size = start + size, size // 2
    return lambda: lshfast.dedup(
        vectors, threshold=0.96, threads=1, max_candidates=1000
    )


def codes_with_a_limit(n: int) -> Callable[[], object]:
    """Codes of 256 bits of which 20 differ from one code, at a radius of 26, with at most 1,000 candidates each."""
    rng = np.random.default_rng(1)
    bits = np.argsort(rng.random((n, 256)), axis=1) < 20
    codes = np.packbits(bits, axis=1).view(np.uint64)
    return lambda: lshfast.dedup(
        codes, kind="code", radius=26, recall=0.95, threads=1, max_candidates=1000
    )


def equal_points(n: int) -> Callable[[], object]:
    """An index of equal points, of which half are also queries."""
    points = np.repeat(np.random.default_rng(1).standard_normal((1, 32)), n, axis=0)
    index = lshfast.NearNeighbors("angle", radius=0.5, dim=32, n=n)
    index.insert(np.arange(n), points)
    return lambda: index.query(points[: n // 2], k=10, threads=1)


def pages_with_shared_links(n: int) -> Callable[[], object]:
    """Pages that link to 40 of 400 pages."""
    from lshfast import web

    rng = np.random.default_rng(1)
    source = np.repeat(np.arange(n), 40)
    target = n + np.concatenate([rng.choice(400, 40, replace=False) for _ in range(n)])
    return lambda: web.contract(source, target, threshold=0.5)


CASES = {
    function.__name__: function
    for function in (
        sets_at_a_low_threshold,
        nested_texts,
        weighted_sets_below_the_threshold,
        vectors_below_the_threshold,
        vectors_with_a_limit,
        pairs_with_a_limit,
        points_beyond_the_radius,
        points_with_a_limit,
        crowds_with_a_limit,
        codes_with_a_limit,
        equal_points,
        pages_with_shared_links,
    )
}


def measure(case: str, n: int) -> None:
    """Print the processor seconds of a run and the memory that it adds, in MB."""
    run = CASES[case](n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    run()
    seconds = time.process_time() - start
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(seconds, added / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="How time and memory grow for rows in crowds."
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 4000, 8000])
    parser.add_argument(
        "--one",
        action="store_true",
        help="measure one case and one size in this process",
    )
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.cases[0], arguments.sizes[0])
        return
    print("case | rows | CPU s | times the size before | MB added")
    for case in arguments.cases or CASES:
        last = None
        for n in arguments.sizes:
            command = [sys.executable, __file__, case, "--one", "--sizes", str(n)]
            printed = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, text=True
            ).stdout
            seconds, megabytes = map(float, printed.split())
            growth = "" if last is None else f"{seconds / last:.1f}"
            print(
                f"{case} | {n:,} | {seconds:.2f} | {growth} | {megabytes:.0f}",
                flush=True,
            )
            last = seconds


if __name__ == "__main__":
    main()
