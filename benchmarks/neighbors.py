"""NearNeighbors beside hnswlib, rabitqlib and faiss: queries a second at one recall of the ten nearest, by angle.

    python benchmarks/neighbors.py [--n 200000] [--dim 768] [--queries 500] [--recall 0.9 0.95 0.99] [--repeat 3]
                                   [--with codes hnswlib rabitq] [--graphs FOLDER] [--points topics] [--single]

The points are mixtures of topics, as averages of word vectors are: 64 topics are random vectors; the weights of a point
are gamma variates of shape 0.05, so that a few topics dominate; noise of length 0.1 is added to a mixture of length 1.
With --points surface, they lie near a curved surface of 12 dimensions instead, as features of images do: sums of 256
random directions, weighted by the hyperbolic tangents of random sums of 12 normal variates.
Queries are further points. With --single, each query is a call of its own, as those of a service are.
All use one thread, in one process, and take turns; the medians of the turns are printed,
and the medians of the ratios in a turn.

The setting of each one is raised until it has the recall for the queries. lshfast, by codes and by tables: the radius
is one within which 97 of 100 of the ten nearest points of 200 other queries are, with a sample of distances, and the
promised recall is raised. hnswlib is a graph (M = 16, ef_construction = 200), whose ef is raised. faiss IVF-RaBitQ has
4 sqrt(n) lists and 4 bits a coordinate, and nprobe is raised. faiss IndexLSH scans the codes of all points, and its
bits are doubled, and then refined. rabitqlib's SymqgIndex (pip install rabitqlib) is a graph with codes, of degree 32
and ef_construction = 200, whose ef is raised. "Built" is the CPU time until all points are in. Pass --with to choose
among them.
With --graphs, the graph of hnswlib and its time are kept in a folder, and the next run with the same points reads them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np
from contest import installed, keep_to_one_cpu

from lshfast.index.neighbors.near_neighbors import NearNeighbors

TOPICS, SHAPE, NOISE, NEAREST = 64, 0.05, 0.1, 10
INSIDE = 0.97  # the share of the nearest points within the radius
PROMISES = (
    0.5,
    0.6,
    0.65,
    0.7,
    0.74,
    0.78,
    0.82,
    0.85,
    0.88,
    0.9,
    0.92,
    0.94,
    0.95,
    0.96,
    0.97,
    0.98,
    0.99,
    0.995,
    0.999,
)
PIECE = 50  # queries whose products with all points are in memory at once
RABITQ_BITS = 4
MOST_BITS = 1 << 14  # of IndexLSH, whose time grows with them
GRAPHS: Path | None = None  # where graphs of hnswlib are kept
Answers = Callable[[], Any]


class World(NamedTuple):
    """Points of a kind, queries, other queries for settings, and the places of the nearest points of the queries."""

    kind: str
    points: np.ndarray
    queries: np.ndarray
    other: np.ndarray
    places: np.ndarray


class Made(NamedTuple):
    """What answers the queries with a setting, its recall, the bytes of a point, and the CPU seconds of building it.

    `lists` answers all queries by one call, `each` by one call for each.
    """

    setting: str
    lists: Answers
    each: Answers
    recall: float
    size: float
    seconds: float


Peer = Callable[[World, Sequence[float]], Iterator[Made]]


def cpu_seconds(call: Callable[[], Any]) -> float:
    """Return the CPU time of this process for a call: the machine may be busy with other things."""
    start = time.process_time()
    call()
    return time.process_time() - start


def mixtures(n: int, topics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return n points of length about 1."""
    weights = rng.standard_gamma(SHAPE, (n, len(topics))).astype(
        np.float32
    ) + np.float32(1e-9)
    points = weights @ topics
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    for start in range(0, n, 10_000):
        part = points[start : start + 10_000]
        part += rng.standard_normal(part.shape, np.float32) * np.float32(
            NOISE / np.sqrt(part.shape[1])
        )
    return np.ascontiguousarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def surface(n: int, topics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return n points of length 1 near a curved surface, which the topics determine."""
    shape = np.random.default_rng(topics.shape)
    inner = shape.standard_normal((12, 256)).astype(np.float32)
    outer = shape.standard_normal((256, topics.shape[1])).astype(np.float32)
    points = np.empty((n, topics.shape[1]), np.float32)
    for start in range(0, n, 10_000):
        part = points[start : start + 10_000]
        places = rng.standard_normal((len(part), 12)).astype(np.float32)
        part[:] = np.tanh(places @ inner * np.float32(0.3)) @ outer
    return np.ascontiguousarray(points / np.linalg.norm(points, axis=1, keepdims=True))


KINDS = {"topics": mixtures, "surface": surface}


def nearest(
    points: np.ndarray, queries: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places and the angles of the nearest points, and a sample of the angles of all."""
    places = np.empty((len(queries), NEAREST), np.int64)
    angles = np.empty((len(queries), NEAREST), np.float32)
    for start in range(0, len(queries), PIECE):
        part = slice(start, start + PIECE)
        products = queries[part] @ points.T
        places[part] = np.argpartition(-products, NEAREST, axis=1)[:, :NEAREST]
        nearest_products = np.take_along_axis(products, places[part], axis=1)
        angles[part] = np.arccos(np.clip(nearest_products, -1, 1))
    products = queries[:PIECE] @ points[::3].T
    return places, angles, np.arccos(np.clip(products, -1, 1)).ravel()


def recall_of(found: Sequence[Sequence[int]], places: np.ndarray) -> float:
    pairs = zip(found, places.tolist(), strict=True)
    return float(np.mean([len({*mine} & {*right}) / NEAREST for mine, right in pairs]))


def lists_of(index: NearNeighbors, queries: np.ndarray) -> Answers:
    def lists() -> list[list[int]]:
        found = index.query(queries, NEAREST, threads=1)
        return [
            found.keys[low:high].tolist()
            for low, high in zip(found.offsets[:-1], found.offsets[1:], strict=True)
        ]

    return lists


def with_lshfast(method: Literal["codes", "tables"]) -> Peer:
    def run(world: World, recalls: Sequence[float]) -> Iterator[Made]:
        _, angles, sample = nearest(world.points, world.other)
        n, dim = world.points.shape
        radius, promised = float(np.quantile(angles, INSIDE)), iter(PROMISES)
        for recall in recalls:
            found = 0.0
            while found < recall:
                promise = next(promised)
                options: Any = {
                    "dim": dim,
                    "n": n,
                    "sample": sample,
                    "recall": promise,
                    "method": method,
                }
                index = NearNeighbors("angle", radius, **options)
                seconds = cpu_seconds(
                    lambda index=index: index.insert(range(n), world.points, threads=1)
                )
                lists = lists_of(index, world.queries)
                found = recall_of(lists(), world.places)
            yield Made(
                f"promised {promise:g} within {radius:.3f}",
                lists,
                lambda index=index: [index.query(q, NEAREST) for q in world.queries],
                found,
                index.stats().nbytes / n,
                seconds,
            )

    return run


def with_index_lsh(world: World, recalls: Sequence[float]) -> Iterator[Made]:
    import faiss

    faiss.omp_set_num_threads(1)
    bits = 2048
    for recall in recalls:
        found = 0.0
        while found < recall:
            bits = bits * 3 // 2
            index = faiss.IndexLSH(world.points.shape[1], bits, True, False)
            seconds = cpu_seconds(lambda index=index: index.add(world.points))

            def lists(index: Any = index) -> Any:
                return index.search(world.queries, NEAREST)[1].tolist()

            found = recall_of(lists(), world.places)
            if bits > MOST_BITS:
                return
        yield Made(
            f"{bits:,} bits",
            lists,
            lambda index=index: [index.search(q[None], NEAREST) for q in world.queries],
            found,
            bits / 8,
            seconds,
        )


def with_rabitq(world: World, recalls: Sequence[float]) -> Iterator[Made]:
    import faiss

    faiss.omp_set_num_threads(1)
    n, dim = world.points.shape
    lists_count = int(4 * np.sqrt(n))
    index = faiss.index_factory(
        dim, f"IVF{lists_count},RaBitQ{RABITQ_BITS}", faiss.METRIC_INNER_PRODUCT
    )
    seconds = cpu_seconds(
        lambda: (
            index.train(world.points[:: max(1, n // (64 * lists_count))]),
            index.add(world.points),
        )
    )

    def lists() -> Any:
        return index.search(world.queries, NEAREST)[1].tolist()

    def each() -> Any:
        return [index.search(query[None], NEAREST) for query in world.queries]

    for nprobe in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256):
        index.nprobe = nprobe
        found = recall_of(lists(), world.places)
        for _ in [recall for recall in recalls if recall <= found]:
            yield Made(
                f"nprobe {nprobe}",
                at(index, "nprobe", nprobe, lists),
                at(index, "nprobe", nprobe, each),
                found,
                dim * RABITQ_BITS / 8 + 12,
                seconds,
            )
        recalls = [recall for recall in recalls if recall > found]
        if not recalls:
            break


def graph_of(points: np.ndarray, kind: str) -> tuple[Any, float]:
    """Return the graph of hnswlib for points of a kind, and the CPU seconds of building it."""
    import hnswlib

    n, dim = points.shape
    index = hnswlib.Index("cosine", dim)
    kept = None if GRAPHS is None else GRAPHS / f"hnswlib-{kind}-{n}-{dim}"
    if kept is not None and kept.with_suffix(".json").exists():
        index.load_index(str(kept.with_suffix(".bin")), max_elements=n)
        return index, json.loads(kept.with_suffix(".json").read_text())["seconds"]
    index.init_index(n, ef_construction=200, M=16)
    seconds = cpu_seconds(lambda: index.add_items(points, num_threads=1))
    if kept is not None:
        index.save_index(str(kept.with_suffix(".bin")))
        kept.with_suffix(".json").write_text(json.dumps({"seconds": seconds}))
    return index, seconds


def with_hnswlib(world: World, recalls: Sequence[float]) -> Iterator[Made]:
    dim = world.points.shape[1]
    index, seconds = graph_of(world.points, world.kind)

    def lists() -> Any:
        return index.knn_query(world.queries, NEAREST, num_threads=1)[0].tolist()

    def each() -> Any:
        return [index.knn_query(q, NEAREST, num_threads=1) for q in world.queries]

    for ef in (
        10,
        11,
        12,
        13,
        15,
        17,
        20,
        23,
        26,
        30,
        35,
        40,
        50,
        60,
        80,
        120,
        160,
        240,
        320,
    ):
        index.set_ef(ef)
        found = recall_of(lists(), world.places)
        for _ in [recall for recall in recalls if recall <= found]:
            yield Made(
                f"ef {ef}",
                lambda ef=ef: (index.set_ef(ef), lists())[1],
                lambda ef=ef: (index.set_ef(ef), each())[1],
                found,
                4 * dim + 16 * 2 * 4 * 1.1,
                seconds,
            )
        recalls = [recall for recall in recalls if recall > found]
        if not recalls:
            break


def with_symqg(world: World, recalls: Sequence[float]) -> Iterator[Made]:
    import rabitqlib

    dim = world.points.shape[1]
    index = rabitqlib.SymqgIndex(dim, 32, "l2")  # of points of length 1: by angle
    seconds = cpu_seconds(lambda: index.build(world.points, 200, 1))

    def lists(ef: int) -> Any:
        return index.search_batch(world.queries, NEAREST, ef, 1)[0].tolist()

    def each(ef: int) -> Any:
        return [index.search(query[None], NEAREST, ef, 1) for query in world.queries]

    for ef in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 120, 160, 240, 320):
        found = recall_of(lists(ef), world.places)
        for _ in [recall for recall in recalls if recall <= found]:
            yield Made(
                f"ef {ef}",
                partial(lists, ef),
                partial(each, ef),
                found,
                4 * dim + 32 * (dim / 8 + 4),
                seconds,
            )
        recalls = [recall for recall in recalls if recall > found]
        if not recalls:
            break


def at(index: Any, name: str, value: int, lists: Answers) -> Answers:
    """Return answers with a setting of an index."""

    def with_setting() -> Any:
        setattr(index, name, value)
        return lists()

    return with_setting


PEERS: dict[str, tuple[str, Peer]] = {
    "codes": ("lshfast", with_lshfast("codes")),
    "tables": ("lshfast", with_lshfast("tables")),
    "hnswlib": ("hnswlib", with_hnswlib),
    "rabitq": ("faiss", with_rabitq),
    "symqg": ("rabitqlib", with_symqg),
    "lsh": ("faiss", with_index_lsh),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="neighbors.py",
        description="Near neighbours by angle, beside hnswlib and faiss.",
    )
    parser.add_argument("--n", type=int, default=200_000, help="points")
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument(
        "--recall",
        type=float,
        nargs="+",
        default=[0.9, 0.95, 0.99],
        help="of the ten nearest",
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns")
    parser.add_argument(
        "--with",
        dest="peers",
        nargs="+",
        default=["codes", "hnswlib", "rabitq"],
        choices=[*PEERS],
    )
    parser.add_argument(
        "--graphs",
        type=Path,
        help="folder in which graphs of hnswlib are kept between runs",
    )
    parser.add_argument("--points", choices=[*KINDS], default="topics")
    parser.add_argument(
        "--single", action="store_true", help="a call for each query, not one for all"
    )
    a = parser.parse_args(argv)
    global GRAPHS
    GRAPHS = a.graphs
    keep_to_one_cpu()
    rng = np.random.default_rng(1)
    topics = rng.standard_normal((TOPICS, a.dim)).astype(np.float32) / np.float32(
        np.sqrt(a.dim)
    )
    points, queries, other = (
        KINDS[a.points](n, topics, rng) for n in (a.n, a.queries, 200)
    )
    world = World(a.points, points, queries, other, nearest(points, queries)[0])
    made: dict[str, list[Made]] = {}
    for name in a.peers:
        package, peer = PEERS[name]
        if package == "lshfast" or installed(package):
            made[name] = [*peer(world, sorted(a.recall))]
            print(f"{name}: built in {made[name][0].seconds:.2f} s", flush=True)
    for i, recall in enumerate(sorted(a.recall)):
        took: dict[str, list[float]] = {
            name: [] for name, found in made.items() if i < len(found)
        }
        for _ in range(a.repeat):
            for name in took:
                answers = made[name][i].each if a.single else made[name][i].lists
                took[name].append(cpu_seconds(answers) / a.queries)
        print(f"recall {recall:g}, {a.n:,} x {a.dim}:")
        for name in took:
            one, first = made[name][i], took[next(iter(took))]
            ratio = median(
                theirs / own for theirs, own in zip(took[name], first, strict=True)
            )
            print(
                f"  {name:<8} recall {one.recall:.3f}  {1 / median(took[name]):9,.0f} queries/s  "
                f"{ratio:5.2f} times the time of the first  {one.size:7,.0f} bytes a point  "
                f"built in {one.seconds:.2f} s  {one.setting}",
                flush=True,
            )


if __name__ == "__main__":
    main()
