"""NearNeighbors beside faiss's IndexLSH and hnswlib: queries a second at one recall of the ten nearest, by angle.

    python benchmarks/neighbors.py [--n 200000] [--dim 768] [--queries 500] [--recall 0.9] [--repeat 3]

The points are mixtures of topics, as averages of word vectors are: 64 topics are random vectors; the weights of a point
are gamma variates of shape 0.05, so that a few topics dominate; noise of length 0.1 is added to a mixture of length 1.
Queries are further points. All use one thread, in one process, and take turns; the medians of the turns are printed,
and the medians of the ratios in a turn.

lshfast gets a sample of distances, and the radius at which its plan expects the recall for the distances of the ten
nearest points of 200 other queries. IndexLSH scans the codes of all points; its number of bits is doubled, and then
refined, until it has the recall. hnswlib is a graph (M = 16, ef_construction = 200), whose ef is raised until it has
the recall. Pass --without hnswlib to save the minutes that it takes to build.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np
from contest import installed, keep_to_one_cpu, timed

from lshfast.index.neighbors.near_neighbors import NearNeighbors

TOPICS, SHAPE, NOISE, NEAREST = 64, 0.05, 0.1, 10
MARGIN = 0.01  # of the recall, since the queries are others than those that the plan is made with
Answers = Callable[[], Any]


def mixtures(n: int, topics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return n points of length about 1."""
    weights = rng.standard_gamma(SHAPE, (n, len(topics))).astype(np.float32) + np.float32(1e-9)
    points = weights @ topics
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    for start in range(0, n, 10_000):
        part = points[start : start + 10_000]
        part += rng.standard_normal(part.shape, np.float32) * np.float32(NOISE / np.sqrt(part.shape[1]))
    return np.ascontiguousarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def nearest(points: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places and the angles of the nearest points, and a sample of the angles of all."""
    products = queries @ points.T
    places = np.argpartition(-products, NEAREST, axis=1)[:, :NEAREST]
    angles = np.arccos(np.clip(np.take_along_axis(products, places, axis=1), -1, 1))
    return places, angles, np.arccos(np.clip(products[:50, ::3], -1, 1)).ravel()


def recall_of(found: Sequence[Sequence[int]], places: np.ndarray) -> float:
    pairs = zip(found, places.tolist(), strict=True)
    return float(np.mean([len({*mine} & {*right}) / NEAREST for mine, right in pairs]))


def with_lshfast(points: np.ndarray, queries: np.ndarray, recall: float, other: np.ndarray) -> tuple[Answers, float]:
    """Return what answers the queries, and the bytes of a point."""
    _, angles, sample = nearest(points, other)
    n, dim = points.shape
    best = None
    for share in (0.6, 0.7, 0.8, 0.9):
        radius = float(np.quantile(angles, share))
        options = {"dim": dim, "n": n, "sample": sample}
        low, high = 0.3, 0.99
        while high - low > 0.01:  # the recall at the radius with which the ten nearest have the recall together
            middle = (low + high) / 2
            plan = NearNeighbors("cosine", radius, recall=middle, **options).plan
            reached = plan.recall_at(angles.ravel()).mean() >= recall + MARGIN
            low, high = (low, middle) if reached else (middle, high)
            if reached and (best is None or plan.work < best[0]):
                best = (plan.work, radius, middle, options)
    assert best is not None
    _, radius, middle, options = best
    index = NearNeighbors("cosine", radius, recall=middle, **options)
    print(index.describe())
    seconds = timed(lambda: index.insert(range(n), points, threads=1))
    print(f"  inserted in {seconds:.1f} s, {index.stats().nbytes / n:,.0f} bytes a point\n", flush=True)

    def lists() -> list[list[int]]:
        found = index.query(queries, NEAREST, threads=1)
        return [found.keys[low:high].tolist() for low, high in zip(found.offsets[:-1], found.offsets[1:], strict=True)]

    return lists, index.stats().nbytes / n


def with_faiss(points: np.ndarray, queries: np.ndarray, recall: float, places: np.ndarray) -> tuple[Answers, float]:
    import faiss

    faiss.omp_set_num_threads(1)

    def made(bits: int) -> tuple[Answers, float]:
        index = faiss.IndexLSH(points.shape[1], bits, True, False)
        index.add(points)

        def lists() -> Any:
            return index.search(queries, NEAREST)[1].tolist()

        found = recall_of(lists(), places)
        print(f"faiss IndexLSH with {bits:,} bits: recall {found:.3f}", flush=True)
        return lists, found

    bits = 4096
    lists, found = made(bits)
    while found < recall:
        bits = bits * 3 // 2
        lists, found = made(bits)
    return lists, bits / 8


def with_hnswlib(points: np.ndarray, queries: np.ndarray, recall: float, places: np.ndarray) -> tuple[Answers, float]:
    import hnswlib

    index = hnswlib.Index("cosine", points.shape[1])
    index.init_index(len(points), ef_construction=200, M=16)
    seconds = timed(lambda: index.add_items(points, num_threads=1))

    def lists() -> Any:
        return index.knn_query(queries, NEAREST, num_threads=1)[0].tolist()

    for ef in (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320):
        index.set_ef(ef)
        found = recall_of(lists(), places)
        if found >= recall:
            break
    print(f"hnswlib with ef {ef}: recall {found:.3f}; built in {seconds:.1f} s", flush=True)
    return lists, 4 * points.shape[1] + 16 * 2 * 4 * 1.1


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="neighbors.py", description="Near neighbours by angle, beside faiss and hnswlib."
    )
    parser.add_argument("--n", type=int, default=200_000, help="points")
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--recall", type=float, default=0.9, help="of the ten nearest")
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument("--without", nargs="*", default=[], choices=["faiss", "hnswlib"])
    a = parser.parse_args(argv)
    keep_to_one_cpu()
    rng = np.random.default_rng(1)
    topics = rng.standard_normal((TOPICS, a.dim)).astype(np.float32) / np.float32(np.sqrt(a.dim))
    points, queries, other = (mixtures(n, topics, rng) for n in (a.n, a.queries, 200))
    places, _, _ = nearest(points, queries)
    made: dict[str, tuple[Answers, float]] = {"lshfast": with_lshfast(points, queries, a.recall, other)}
    for name, package, peer in (("faiss IndexLSH", "faiss", with_faiss), ("hnswlib", "hnswlib", with_hnswlib)):
        if package not in a.without and installed(package):
            made[name] = peer(points, queries, a.recall, places)
    took: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(a.repeat):
        for name, (lists, _) in made.items():
            took[name].append(timed(lists) / a.queries)
    for name, (lists, size) in made.items():
        ratio = median(theirs / own for theirs, own in zip(took[name], took["lshfast"], strict=True))
        print(
            f"{name:<16} recall {recall_of(lists(), places):.3f}  {1 / median(took[name]):9,.0f} queries/s  "
            f"{size:7,.0f} bytes a point  lshfast takes 1/{ratio:.2f} of its time"
        )


if __name__ == "__main__":
    main()
