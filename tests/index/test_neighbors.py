"""NearNeighbors: its answers beside brute force, what they cost, its stores, and what it refuses."""

import dataclasses
import math
import re
from functools import partial
from importlib.util import find_spec

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse

from lshfast import LSHIndex
from lshfast.families import CrossPolytope, Hyperplanes, family_of
from lshfast.index import DuplicateKeyError
from lshfast.index.neighbors.answers import Neighbor
from lshfast.index.neighbors.codes import CodesPlan
from lshfast.index.neighbors.near_neighbors import NearNeighbors
from lshfast.index.stores.lmdb import LmdbStore
from lshfast.index.stores.memory import MemoryStore
from lshfast.index.stores.redis import RedisStore
from tests.index.neighbors_kit import (
    SMALL,
    assert_distance,
    exact,
    planted,
    random_points,
    sparse_points,
)
from tests.index.redis_server import needs_redis, redis_server

# Most radii here are too small for k: the tests are about other things.
pytestmark = pytest.mark.filterwarnings("ignore::lshfast.FewNeighborsWarning")

__all__ = ["redis_server"]  # a fixture

METRICS = [*SMALL]


def small(metric, **options):
    return NearNeighbors(metric, **{"n": 100} | SMALL[metric] | options)


def clustered(metric, n=60, seed=0):
    """Return points, a third of which are near each other."""
    dim = SMALL[metric]["dim"]
    points = random_points(metric, n, dim, seed)
    third = n // 3
    distances = np.linspace(0, SMALL[metric]["radius"], third).round()
    points[:third] = planted(
        metric, np.repeat(points[:1], third, axis=0), distances, dim, seed
    )
    return points


# Answers


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_exact_and_ordered(metric):
    points = clustered(metric)
    index = small(metric)
    assert index.insert(range(len(points)), points) == len(points) == len(index)
    found = index.query(points[:20], k=60)
    assert found.examined.tolist() == [len(answer) for answer in found]
    for place, answer in enumerate(found):
        assert answer[0].distance == 0  # a point is in its own buckets
        assert [neighbor.distance for neighbor in answer] == sorted(
            neighbor.distance for neighbor in answer
        )
        assert len({neighbor.key for neighbor in answer}) == len(answer)
        for neighbor in answer:
            assert_distance(
                metric,
                neighbor.distance,
                exact(metric, points[place], points[neighbor.key]),
            )
        assert index.query(points[place], k=60) == answer
        assert index.query(points[place], k=3) == answer[:3]
        near = [
            neighbor
            for neighbor in answer
            if neighbor.distance <= SMALL[metric]["radius"]
        ]
        assert index.within(points[place]) == near
    assert any(len(answer) > 5 for answer in found)


@pytest.mark.parametrize("metric", METRICS)
def test_a_radius_that_is_a_distance_includes_it(metric):
    points = clustered(metric)
    index = small(metric)
    index.insert(range(len(points)), points)
    for neighbor in index.query(points[0], k=50):
        assert neighbor in index.within(points[0], neighbor.distance)
        below = np.nextafter(neighbor.distance, -1) if neighbor.distance else 0.0
        assert neighbor.distance == 0 or neighbor not in index.within(points[0], below)


@pytest.mark.parametrize("metric", METRICS)
def test_pairs(metric):
    points = clustered(metric)
    index = small(metric, bands=12)
    index.insert([f"key {i:02}" for i in range(len(points))], points)
    pairs = list(index.pairs())
    right = {
        (f"key {i:02}", f"key {j:02}")
        for i in range(len(points))
        for j in range(i + 1, len(points))
        if exact(metric, points[i], points[j]) <= SMALL[metric]["radius"]
    }
    found = {(left, other) for left, other, _ in pairs}
    assert [pair[:2] for pair in pairs] == sorted(found)
    assert found <= right
    assert len(found) >= 0.9 * len(right) > 20
    for left, other, distance in pairs:
        assert_distance(
            metric,
            distance,
            exact(metric, points[int(left[4:])], points[int(other[4:])]),
        )
    assert {(a, b) for a, b, _ in index.pairs(0)} == {
        (a, b) for a, b, distance in pairs if distance == 0
    }


def test_keys_that_cannot_be_compared():
    index = small("euclidean")
    index.insert(["b", 1, (2, 3)], np.zeros((3, 3)))
    assert [pair[:2] for pair in index.pairs()] == [
        ("b", 1),
        ("b", (2, 3)),
        (1, (2, 3)),
    ]
    assert {neighbor.key for neighbor in index.query(np.zeros(3))} == {"b", 1, (2, 3)}


@pytest.mark.parametrize("metric", METRICS)
def test_c5_points_are_removed_and_replaced(metric):
    points = clustered(metric)
    index = small(metric)
    index.insert(range(60), points)
    index.remove(range(0, 60, 2))
    assert sorted(index) == list(range(1, 60, 2))
    assert all(
        neighbor.key % 2 for answer in index.query(points, k=60) for neighbor in answer
    )
    with pytest.raises(KeyError):
        index.remove([1, 2])
    assert 1 in index
    assert index.update([1, 2], points[[40, 41]]) == 2
    assert Neighbor(1, 0.0) in index.query(points[40])
    assert Neighbor(1, 0.0) not in index.query(points[1])
    assert np.array_equal(index.points_of([2, 1]), points[[41, 40]])
    with pytest.raises(KeyError, match="77"):
        index.points_of([1, 77])


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_there(metric):
    index = small(metric)
    points = clustered(metric)
    assert index.query(points[0]) == index.within(points[0]) == []
    assert index.near(points[0]) is None
    assert list(index.pairs()) == []
    assert len(index.query(points[:0])) == 0
    assert [*index.query(points[:2])] == [[], []]
    assert index.insert([], points[:0]) == 0
    index.insert(5, points[0])
    assert index.query(points[0], k=100) == [Neighbor(5, 0.0)]


def test_equal_vectors_have_no_angle_and_opposite_ones_pi():
    # All buckets of a cross-polytope.
    index = NearNeighbors("angle", 3.0, dim=3, n=10, bands=1, rows_per_band=1, probes=6)
    index.insert(
        ["a", "b", "c"],
        np.array([[1e-30, 2e-30, 3e-30], [2e20, 4e20, 6e20], [-1, -2, -3]], np.float32),
    )
    answer = {
        neighbor.key: neighbor.distance
        for neighbor in index.query(np.array([1, 2, 3], np.float32))
    }
    assert answer["c"] == pytest.approx(math.pi, abs=3e-8)
    assert answer["a"] == pytest.approx(0, abs=1e-7)  # denormal components are rounded
    assert answer["b"] == pytest.approx(0, abs=1e-7)
    assert index.within([1, 2, 3], math.pi)[-1].key == "c"


def test_float64_points_are_not_rounded():
    index = NearNeighbors(
        "euclidean", 1.0, dim=2, n=10, dtype="float64", bands=1, rows_per_band=1
    )
    index.insert("a", [1 + 1e-12, 1e9])
    assert index.query([1, 1e9]) == [Neighbor("a", (1 + 1e-12) - 1)]
    assert index.points_of(["a"]).tolist() == [[1 + 1e-12, 1e9]]


@pytest.mark.parametrize("metric", ["angle", "euclidean", "manhattan"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sparse_points_are_answered_like_dense_ones(metric, dtype):
    points = sparse_points(80, 40, 5)
    points = scipy.sparse.vstack([points, points[:3] * 1.1], "csr")
    options = {
        "radius": 0.5,
        "dim": 40,
        "n": 83,
        "dtype": dtype,
        "bands": 6,
        "rows_per_band": 1,
        "probes": 1,
    }
    sparse = NearNeighbors(metric, **options, nonzeros=6)
    dense = NearNeighbors(metric, **options)
    for index in (sparse, dense):
        index.insert(range(83), points)
    ways = [
        sparse.query(points, k=83),
        dense.query(points, k=83),
        sparse.query(points.toarray(), k=83),
    ]
    for first, second, third in zip(*ways, strict=True):
        assert [n.key for n in first] == [n.key for n in third]
        if metric != "manhattan":  # whose families differ
            assert {n.key for n in first} == {n.key for n in second}
        right = {neighbor.key: neighbor.distance for neighbor in second}
        for neighbor in first:
            assert_distance(
                metric, neighbor.distance, right.get(neighbor.key, neighbor.distance)
            )
    assert (sparse.points_of(range(83)).dense() == points.toarray()).all()
    assert metric == "manhattan" or [pair[:2] for pair in sparse.pairs()] == [
        pair[:2] for pair in dense.pairs()
    ]


def test_csr_matrices_with_columns_in_any_order_and_repeated():
    matrix = scipy.sparse.csr_matrix(
        (np.array([1, 2, 3, 4, 0.0]), np.array([3, 0, 3, 1, 2]), np.array([0, 3, 5])),
        (2, 4),
    )
    index = NearNeighbors(
        "euclidean", 1.0, dim=4, n=2, nonzeros=2, bands=1, rows_per_band=1
    )
    index.insert(["a", "b"], matrix)
    assert index.points_of(["a", "b"]).dense().tolist() == [[2, 0, 0, 4], [0, 4, 0, 0]]
    with pytest.raises(
        ValueError, match="at most 2 nonzeros in a row, and row 1 has 3"
    ):
        index.insert(["c", "d"], [[1, 0, 0, 0], [1, 1, 1, 0]])
    assert len(index) == 2


# What a query costs


@pytest.mark.parametrize("metric", METRICS)
def test_a19_c7_near_stops_at_the_first_and_gives_up_after_2l_far_points(metric):
    """Equal points crowd a bucket: `near` examines one; far points in the buckets of a query count against 2 L."""
    point = clustered(metric)[:1]
    index = small(metric)
    index.insert(range(5000), np.repeat(point, 5000, axis=0))
    found = index.near(np.repeat(point, 2, axis=0))
    assert found.examined.tolist() == [1, 1]
    assert [answer[0].distance for answer in found] == [0, 0]
    closest = index.near(point, mode="closest")
    assert closest.examined.tolist() == [3 * index.plan.searched]
    assert closest[0][0].distance == 0
    assert index.query(point, k=5, examine=100).examined.tolist() == [100]
    assert index.query(point, k=5).examined.tolist() == [5000]


def test_e4_only_far_points_count_against_the_budget():
    """A bucket with many far points and a near one: "first" meets far ones only, as many as it may, or the near one.

    Points between radius and c * radius are answers, so they cannot use up the budget.
    """
    index = NearNeighbors("hamming", 2, dim=64, n=100, bands=1, rows_per_band=1)
    far, between = np.array([[2**10 - 1]], np.uint64), np.array([[2**4 - 2]], np.uint64)
    index.insert(range(10), np.repeat(far, 10, axis=0))
    query = np.zeros((1, 1), np.uint64)
    assert len(index.query(query, k=10)[0]) == 10, "the sampled bit is another"
    assert index.near(query).examined.tolist() == [2]
    assert index.near(query)[0] == []
    assert index.near(query, mode="closest").examined.tolist() == [3]
    assert index.near(query, c=5)[0] == [
        Neighbor(index.near(query, c=5)[0][0].key, 10.0)
    ]
    index.update(range(10), np.repeat(between, 10, axis=0))
    found = index.near(query)
    assert found.examined.tolist() == [1]
    assert found[0][0].distance == 3


@pytest.mark.parametrize("mode", ["first", "closest"])
@pytest.mark.parametrize("metric", METRICS)
def test_near_keeps_its_promise(metric, mode):
    """Each answer is within c * radius, and at least as many queries succeed as the theory promises."""
    dim = 64
    radius = {"angle": 0.4, "euclidean": 3.0, "manhattan": 15.0, "hamming": 5}[metric]
    index = NearNeighbors(metric, radius, dim=dim, n=1000, recall=0.8, c=2, probes=1)
    points = random_points(metric, 1000, dim)
    index.insert(range(1000), points)
    queries = planted(
        metric,
        points[:200],
        np.full(200, radius * 0.999 if metric != "hamming" else radius),
        dim,
    )
    found = index.near(queries, mode=mode)
    succeeded = np.diff(found.offsets)
    assert (found.distance <= 2 * radius).all()
    assert (found.examined <= 3 * index.plan.searched).all()
    assert succeeded.mean() >= 0.8 - (1 / 2 if mode == "first" else 1 / 3)


@pytest.mark.parametrize(("mode", "promise"), [("first", 0.1321), ("closest", 0.2988)])
def test_the_probabilities_of_the_textbooks(mode, promise):
    """With a recall of 1 - 1/e, they are 1/2 - 1/e and 2/3 - 1/e: Pr[too many far points] is at most 1/2 and 1/3."""
    index = NearNeighbors("hamming", 2, dim=64, n=1000, bands=1, rows_per_band=1)
    plan = dataclasses.replace(index.plan, recall=1 - 1 / math.e)
    assert plan.success(mode) == pytest.approx(promise, abs=5e-5)


# Stores


@pytest.mark.parametrize("metric", METRICS)
def test_a_saved_index(metric, tmp_path):
    points = clustered(metric)
    index = small(metric)
    index.insert(range(60), points)
    index.save(tmp_path / "index")
    with NearNeighbors.open(tmp_path / "index", "r+") as saved:
        assert saved.plan == index.plan
        assert [*saved.query(points)] == [*index.query(points)]
        saved.remove(3)
        saved.insert(100, points[3])
    with NearNeighbors.open(tmp_path / "index", verify=True) as saved:
        saved.verify()
        assert Neighbor(100, 0.0) in saved.query(points[3], k=60)
        assert 3 not in saved
        assert len(saved) == 60


@pytest.mark.one_case
@pytest.mark.parametrize("metric", METRICS)
def test_lmdb(metric, tmp_path):
    pytest.importorskip("lmdb", reason="lmdb cannot be imported: install lshfast[lmdb]")
    check_store_of(metric, LmdbStore(tmp_path / "lmdb", map_size=1 << 30, sync=False))


@pytest.mark.one_case
@needs_redis
@pytest.mark.parametrize("metric", METRICS)
def test_redis(metric, redis_server):
    check_store_of(metric, RedisStore(redis_server.url, f"neighbors {metric}"))


def check_store_of(metric, store):
    points = clustered(metric)
    stored, index = small(metric, store=store), small(metric)
    for each in (stored, index):
        each.insert(range(60), points)
        each.remove(range(0, 60, 3))
    assert NearNeighbors.on(store).plan == index.plan
    assert [*stored.query(points)] == [*index.query(points)]
    assert [*NearNeighbors.on(store).within(points)] == [*index.within(points)]
    assert list(stored.pairs()) == list(index.pairs())
    stored.close()


# Codes


def by_codes(**options):
    return NearNeighbors(
        "angle", **{"radius": 0.5, "dim": 16, "n": 100, "method": "codes"} | options
    )


def test_codes_in_stores(tmp_path):
    """The answers do not depend on the store, on the segments, nor on what was removed and compacted."""
    points = random_points("angle", 300, 16, 2)
    queries = planted("angle", points, np.linspace(0, 0.6, 300), 16)
    indexes = [by_codes()]
    if find_spec("lmdb"):
        indexes.append(
            by_codes(store=LmdbStore(tmp_path / "lmdb", map_size=1 << 30, sync=False))
        )
    by_codes().save(tmp_path / "file")
    indexes.append(NearNeighbors.open(tmp_path / "file", "r+"))
    for index in indexes:
        for start in range(0, 300, 100):
            index.insert(range(start, start + 100), points[start : start + 100])
            index.commit()
        index.insert(range(1000, 1100), points[:100] + 0.1)
        index.remove(range(1000, 1100))
        index.remove(range(0, 300, 7))
        index.insert(range(0, 300, 7), points[::7])
    answers = [
        [[*index.query(queries, 4)], [*index.within(queries)], list(index.pairs(0.6))]
        for index in indexes
    ]
    assert all(answer == answers[0] for answer in answers)
    indexes[-1].compact()
    indexes[-1].close()
    with NearNeighbors.open(tmp_path / "file", verify=True) as opened:
        opened.verify()
        assert isinstance(opened.plan, CodesPlan)
        assert [
            [*opened.query(queries, 4)],
            [*opened.within(queries)],
            list(opened.pairs(0.6)),
        ] == answers[0]


@needs_redis
def test_codes_in_redis(redis_server):
    points = random_points("angle", 50, 16, 2)
    store = RedisStore(redis_server.url, "codes")
    stored, index = by_codes(store=store), by_codes()
    for each in (stored, index):
        each.insert(range(50), points)
    assert [*stored.query(points, 3)] == [*index.query(points, 3)]
    assert [*NearNeighbors.on(store).within(points)] == [*index.within(points)]


def test_codes_of_sparse_points():
    sparse = sparse_points(100, 40, 6)
    options = {"radius": 0.5, "dim": 40}
    given, dense = by_codes(**options, nonzeros=6), by_codes(**options)
    given.insert(range(100), sparse)
    dense.insert(range(100), sparse.toarray())
    for index in (given, dense):
        assert [answer[0].key for answer in index.query(sparse, 2)] == list(range(100))


def test_codes_have_as_many_threads_as_wanted():
    points = random_points("angle", 500, 16, 3)
    index = by_codes()
    index.insert(range(500), points)
    one, four = (index.query(points, 3, threads=threads) for threads in (1, 4))
    assert [*one] == [*four]


@pytest.mark.slow
def test_many_codes_of_points_in_clusters(tmp_path):
    """The answers do not depend on the cells that codes are sorted into, nor on when entries came and went."""
    rng = np.random.default_rng(1)
    topics = rng.standard_normal((30, 8))
    points = topics[rng.integers(0, 30, 40_000)] + rng.standard_normal((40_000, 8)) / 8
    queries = topics[rng.integers(0, 30, 100)] + rng.standard_normal((100, 8)) / 8
    index = by_codes(dim=8, n=40_000, radius=0.2)
    plain = by_codes(dim=8, n=40_000, radius=0.2)
    index.insert(range(36_000), points[:36_000])
    index.remove(range(0, 36_000, 9))
    index.insert(range(36_000, 40_000), points[36_000:])
    index.insert(range(0, 36_000, 9), points[:36_000:9])
    for start in range(0, 40_000, 20_000):  # fewer at once than have cells
        part = by_codes(dim=8, n=40_000, radius=0.2)
        part.insert(range(start, start + 20_000), points[start : start + 20_000])
        part.save(tmp_path / f"{start}")
    with (
        NearNeighbors.open(tmp_path / "0") as low,
        NearNeighbors.open(tmp_path / "20000") as high,
    ):
        expected = [
            sorted([*a, *b], key=lambda found: (found.distance, found.key))
            for a, b in zip(low.within(queries), high.within(queries), strict=True)
        ]
    assert [*index.within(queries)] == expected
    assert sum(map(len, expected)) > 10_000
    index.save(tmp_path / "whole")
    plain.insert(range(40_000)[::-1], points[::-1])
    with NearNeighbors.open(tmp_path / "whole") as opened:
        assert (
            [*opened.query(queries)]
            == [*index.query(queries)]
            == [*plain.query(queries)]
        )
        assert [*opened.within(queries)] == expected
    assert index.stats().nbytes <= index.plan.entry_bytes * 40_000 * 1.6


def test_equal_points_of_codes():
    """`examine` and `near` bound the distances that are computed, and `query` finds all equal points."""
    index = by_codes(n=2000)
    index.insert(range(2000), np.ones((2000, 16)))
    assert len(index.within(np.ones(16))) == 2000
    assert index.query(np.ones((1, 16)), 3, examine=7).examined.tolist() == [7]
    assert index.near(np.ones((1, 16))).examined.tolist() == [1]
    assert [neighbor.key for neighbor in index.query(np.ones(16), 3)] == [0, 1, 2]


class CountingStore(MemoryStore):
    """A store in memory that counts the distances that its searches compute."""

    computed = 0

    def search(self, *arguments, **options):
        return self._counted(super().search(*arguments, **options))

    def search_codes(self, *arguments, **options):
        return self._counted(super().search_codes(*arguments, **options))

    def _counted(self, found):
        self.computed += int(found.examined.sum())
        return found


def crowd_of(kind, n):
    """Return n points that are equal, or different in one cell."""
    point = np.random.default_rng(1).standard_normal(16)
    return point + (0 if kind == "equal" else 1e-3) * np.random.default_rng(
        2
    ).standard_normal((n, 16))


def work_of(points, metric, method, **options):
    """Return how many distances are computed if all points of an index are queries."""
    store = CountingStore()
    n = len(points)
    chosen = {"method": method} if metric == "angle" else {}
    index = NearNeighbors(
        metric, radius=0.3, dim=16, n=n, dtype="float64", store=store, **chosen
    )
    index.insert(range(n), points)
    found = index.query(points, 3, **options)
    assert (np.diff(found.offsets) == 3).all()
    return store.computed, found


METHODS = [
    ("angle", "codes"),
    ("angle", "tables"),
    ("euclidean", None),
    ("manhattan", None),
]


@pytest.mark.one_case
@pytest.mark.parametrize(("metric", "method"), METHODS)
def test_the_work_for_equal_points_is_proportional_to_their_number(metric, method):
    """Equal queries of a batch are searched once."""
    smaller, larger = (
        work_of(crowd_of("equal", n), metric, method)[0] for n in (600, 1200)
    )
    assert 0 < smaller <= 600
    assert larger <= 2 * smaller


@pytest.mark.one_case
@pytest.mark.parametrize(("metric", "method"), METHODS)
@pytest.mark.parametrize("kind", ["equal", "one cell"])
def test_examine_bounds_the_work_for_a_crowd(metric, method, kind):
    """Different queries of a crowd compute all distances, unless `examine` bounds those of each query."""
    works = []
    for n in (600, 1200):
        work, found = work_of(crowd_of(kind, n), metric, method, examine=20)
        assert found.examined.max() <= 20
        assert work <= 20 * n
        works.append(work)
    assert works[1] <= 2.01 * works[0]


@pytest.mark.parametrize("noise", [0.0, 1e-3, 0.2])
@pytest.mark.parametrize("bound", [1, 3, 50, 4000, 9000])
def test_examine_takes_the_entries_with_the_nearest_codes(noise, bound):
    """In the order of insertion where codes are equally near; a crowd does not change which they are."""
    rng = np.random.default_rng(5)
    points = rng.standard_normal(16) + noise * rng.standard_normal((9000, 16))
    index = by_codes(n=9000, radius=0.4)
    index.insert(range(9000), points)
    queries = points[:5] + 1e-4 * rng.standard_normal((5, 16))
    found = index.query(queries, 9000, examine=bound)
    codes, own = (
        index.plan.row_slots(each.astype(np.float32)) for each in (points, queries)
    )
    for query, answers in enumerate(found):
        assert found.examined[query] <= bound
        differing = np.unpackbits((codes ^ own[query]).view(np.uint8), axis=1)
        head = differing[:, :128].sum(axis=1)
        whole = differing.sum(axis=1)
        level = np.maximum(whole, np.searchsorted(index.plan.near, head))
        near = np.flatnonzero(
            (level <= index.plan.reach) & (head <= index.plan.near[-1])
        )
        wanted = near[np.argsort(level[near], kind="stable")][:bound]
        assert sorted(answer.key for answer in answers) == sorted(wanted.tolist())


def test_no_probing_is_simulated_where_codes_cost_far_less(monkeypatch):
    """Codes cost far less than tables here; not so with c, for many points, or without codes."""

    def fail(*arguments):
        raise AssertionError("probing was simulated")

    monkeypatch.setattr(Hyperplanes, "probe_probability", fail)
    monkeypatch.setattr(CrossPolytope, "probe_probability", fail)
    plan = NearNeighbors("angle", 0.68, dim=96, n=20_000).plan
    assert isinstance(plan, CodesPlan)
    for options in ({"c": 3.0}, {"n": 10**7}, {"method": "tables"}):
        with pytest.raises(AssertionError, match="simulated"):
            NearNeighbors("angle", 0.68, **{"dim": 96, "n": 20_000} | options)


@pytest.mark.slow
def test_which_plan_is_taken():
    """Codes for angles up to many points, unless tables are wanted."""
    assert isinstance(NearNeighbors("angle", 0.5, dim=64, n=10_000).plan, CodesPlan)
    for options in (
        {"n": 10**12},
        {"n": 100, "method": "tables"},
        {"n": 100, "bands": 2},
        {"n": 100, "probes": 1},
    ):
        assert not isinstance(
            NearNeighbors("angle", 0.3, **{"dim": 16, "recall": 0.5} | options).plan,
            CodesPlan,
        )
    store = MemoryStore()
    store.scans = False  # as a RedisStore
    assert not isinstance(
        NearNeighbors("angle", 0.5, dim=64, n=10_000, store=store).plan, CodesPlan
    )
    plan = by_codes(n=1000, recall=0.97).plan
    assert plan.recall_at(0.5) >= 0.97
    assert family_of(plan.describe()) == plan
    assert f"{plan.bits} bits, which a query scans" in str(plan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "graph"}, "method must be 'tables' or 'codes', not 'graph'"),
        ({"bands": 3}, "bands is for method 'tables', not 'codes'"),
        ({"probes": 3}, "probes is for method 'tables', not 'codes'"),
        (
            {"memory": 1000},
            "memory must be at least 18,000 bytes for codes of 100 entries",
        ),
    ],
)
def test_codes_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        by_codes(**options)
    with pytest.raises(
        ValueError,
        match="method 'codes' is for the metrics 'angle' and 'cosine', not 'euclidean'",
    ):
        NearNeighbors("euclidean", 1.0, dim=2, n=10, method="codes")


def test_other_indexes_are_refused(tmp_path):
    store = MemoryStore()
    small("euclidean", store=store)
    with pytest.raises(
        ValueError, match=r"width of gaussian-lines is 2.0 in this index, not 4.0"
    ):
        small("euclidean", store=store, radius=2.0)
    with pytest.raises(ValueError, match="no parameters"):
        NearNeighbors.on(MemoryStore())
    LSHIndex().save(tmp_path / "index")
    with pytest.raises(ValueError, match="does not contain an index of near neighbors"):
        NearNeighbors.open(tmp_path / "index")
    with pytest.raises(TypeError, match="store must be a Store"):
        NearNeighbors.on("memory")


# What is refused


@pytest.mark.parametrize("metric", ["angle", "euclidean", "manhattan"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e39])
def test_coordinates_that_are_not_finite(metric, value):
    points = clustered(metric).astype(np.float64)
    index = small(metric)
    points[7, 2] = value
    with pytest.raises(ValueError, match=r"row 7, column 2 is"):
        index.insert(range(60), points)
    assert len(index) == 0
    with pytest.raises(ValueError, match=r"row 7, column 2 is"):
        index.query(points)
    with pytest.raises(ValueError, match=r"row 0, column 2 is"):
        index.near(points[7])


def test_vectors_without_direction():
    index = small("angle")
    points = clustered("angle")
    points[4] = 0
    with pytest.raises(
        ValueError, match="must have a direction, and row 4 is a zero vector"
    ):
        index.insert(range(60), points)
    assert len(index) == 0
    with pytest.raises(ValueError, match="row 0 is a zero vector"):
        index.within(np.zeros(5))
    wide = small("angle", dtype="float64")
    with pytest.raises(ValueError, match="length of at least 1e-75, unlike row 0"):
        wide.insert(1, [1e-80, 0, 0, 0, 0])
    with pytest.raises(
        ValueError, match=r"-1e\+75..1e\+75, and row 0, column 1 is 1e\+80"
    ):
        wide.insert(1, [1, 1e80, 0, 0, 0])


@pytest.mark.parametrize(
    "column",
    [
        lambda points: pyarrow.FixedSizeListArray.from_arrays(
            pyarrow.array(points.reshape(-1)), points.shape[1]
        ),
        lambda points: pyarrow.chunked_array(
            [pyarrow.array(list(points[:9])), pyarrow.array(list(points[9:]))]
        ),
        lambda points: pandas.DataFrame({"vector": list(points)})["vector"],
        lambda points: pandas.Series(points.tolist()),
        lambda points: polars.Series(points.tolist()),
    ],
    ids=["arrow fixed", "arrow lists", "pandas arrays", "pandas lists", "polars lists"],
)
def test_columns_of_lists(column):
    points, index = clustered("euclidean"), small("euclidean")
    index.insert(range(len(points)), column(points))
    assert index.query(column(points), k=1).distance.max() == 0
    rows = points.tolist()
    rows[4] = rows[4][:2]
    with pytest.raises(
        ValueError, match="must have 3 coordinates in each row, and row 4 is"
    ):
        index.query(pandas.Series(rows))
    with pytest.raises(ValueError, match="and row 4 is 'None'"):
        index.query(pyarrow.array([*rows[:4], None]))


def test_shapes_and_types_of_points():
    index = small("euclidean")
    for points in (
        np.zeros(4),
        np.zeros((2, 4)),
        np.zeros((1, 1, 3)),
        scipy.sparse.csr_matrix((2, 4)),
        5.0,
    ):
        with pytest.raises(ValueError, match=re.escape("must have shape (n, 3)")):
            index.query(points)
    with pytest.raises(TypeError, match="points must be integers or floats"):
        index.query([["a", "b", "c"]])
    codes = small("hamming")
    with pytest.raises(TypeError, match="points must be uint64, int64"):
        codes.query(np.zeros((2, 2)))
    with pytest.raises(
        ValueError, match=re.escape("must have shape (n, 2) or (2,), not (2, 1)")
    ):
        codes.query(np.zeros((2, 1), np.uint64))
    with pytest.raises(
        ValueError, match="zeros in bit 70 and above, but row 1 has not"
    ):
        codes.insert([1, 2], np.array([[0, 0], [0, 1 << 6]], np.uint64))
    with pytest.raises(ValueError, match="a key for each point, not 1 for 2"):
        index.insert([1], np.zeros((2, 3)))
    with pytest.raises(DuplicateKeyError):
        index.insert([1, 1], np.zeros((2, 3)))
    assert len(index) == 0
    assert index.insert([1, 2], np.ones((2, 3), np.int8)) == 2
    with pytest.raises(DuplicateKeyError):
        index.insert([3, 2], np.zeros((2, 3)))
    assert len(index) == 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"metric": "L2"},
            ValueError,
            "metric must be one of angle, cosine, euclidean .or l2., manhattan .or l1., hamming, not 'L2'",
        ),
        (
            {"radius": -1},
            ValueError,
            "radius must be a finite number of at least 0, not -1",
        ),
        (
            {"radius": math.nan},
            ValueError,
            "radius must be a finite number of at least 0, not nan",
        ),
        ({"radius": 0}, ValueError, "radius must be above 0"),
        ({"radius": "1"}, TypeError, "radius must be a number"),
        (
            {"metric": "angle", "radius": 4},
            ValueError,
            "at least 0 and at most 3.14159, not 4",
        ),
        (
            {"metric": "hamming", "radius": 4},
            ValueError,
            "at least 0 and at most 3, not 4",
        ),
        ({"recall": 1}, ValueError, r"recall must be in \(0, 1\), not 1"),
        ({"recall": math.nan}, ValueError, r"recall must be in \(0, 1\), not nan"),
        ({"n": 0}, ValueError, r"n must be in 1..4611686018427387904, not 0"),
        ({"n": 10.5}, TypeError, "n must be an int, not 10.5"),
        ({"dim": 0}, ValueError, "dim must be"),
        (
            {"dtype": "float16"},
            ValueError,
            "dtype must be 'float32' or 'float64', not 'float16'",
        ),
        ({"nonzeros": 4}, ValueError, "nonzeros must be in 1..3, not 4"),
        ({"metric": "hamming", "nonzeros": 1}, ValueError, "nonzeros is for vectors"),
        ({"c": 1}, ValueError, "c must be a finite number above 1, not 1"),
        ({"sample": []}, ValueError, "sample must be at least one distance"),
        (
            {"sample": [1, math.nan]},
            ValueError,
            "sample must be at least one distance, and all in",
        ),
        (
            {"memory": 100},
            ValueError,
            "memory must be at least 60,000 bytes for 1,000 entries, not 100",
        ),
        (
            {"memory": 60_000, "recall": 0.999999},
            ValueError,
            "no plan of at most 1 tables finds entries at radius 1 with",
        ),
        (
            {"metric": "hamming", "radius": 1, "probes": 2},
            ValueError,
            "probes must be 1 for bit-sampling, not 2",
        ),
        ({"bands": 0}, ValueError, "bands must be in 1..32768, not 0"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"on_duplicate": "ignore"}, ValueError, "on_duplicate must be one of"),
        ({"store": "memory"}, TypeError, "store must be a Store"),
    ],
)
def test_arguments_of_an_index(arguments, error, message):
    given = {"metric": "euclidean", "radius": 1, "dim": 3, "n": 1000} | arguments
    with pytest.raises(error, match=message):
        NearNeighbors(**given)


def test_arguments_of_queries():
    index = small("euclidean")
    index.insert(1, np.zeros(3))
    for k in (0, -1):
        with pytest.raises(ValueError, match=r"k must be in 1\.\."):
            index.query(np.zeros(3), k=k)
    with pytest.raises(TypeError, match="k must be an int"):
        index.query(np.zeros(3), k=1.5)
    with pytest.raises(ValueError, match="examine must be at least 1"):
        index.query(np.zeros(3), examine=0)
    for radius in (-1, math.nan, math.inf):
        with pytest.raises(
            ValueError, match="radius must be a finite number of at least 0"
        ):
            index.within(np.zeros(3), radius)
    for c in (1, 0.5, math.nan, math.inf):
        with pytest.raises(ValueError, match="c must be a finite number above 1"):
            index.near(np.zeros(3), c=c)
    with pytest.raises(
        ValueError, match="mode must be 'first' or 'closest', not 'any'"
    ):
        index.near(np.zeros(3), mode="any")
    with pytest.raises(ValueError, match="threads"):
        index.query(np.zeros(3), threads=0)


def test_a_closed_index():
    index = small("euclidean")
    index.close()
    assert "closed" in repr(index)
    with pytest.raises(ValueError, match="the index is closed"):
        index.query(np.zeros(3))


def test_what_an_index_says_of_itself():
    alone = NearNeighbors(
        "euclidean", 1.0, dim=3, n=10, bands=3, rows_per_band=2, probes=1
    )
    alone.insert(["x"], np.zeros((1, 3)))
    assert repr(alone).startswith("NearNeighbors(1 entry; euclidean, 3 dimensions")
    assert "a query searches 1 bucket in each" in repr(alone)
    assert "  1 band of 1 row;" in str(
        NearNeighbors("euclidean", 1.0, dim=3, n=10, bands=1, rows_per_band=1).plan
    )
    index = small("euclidean")
    index.insert(range(60), clustered("euclidean"))
    text = index.describe()
    assert "radius 1" in text
    assert "3 bands of 2 rows; a query searches 3 buckets in each" in text
    assert repr(index).startswith("NearNeighbors(60 entries; euclidean, 3 dimensions")
    figures = index.stats()
    assert (figures.entries, figures.bands, figures.rows_per_band, figures.probes) == (
        60,
        3,
        2,
        3,
    )
    assert sum(figures.bucket_sizes.values()) > 0
    assert figures.nbytes > 60 * 2 * 8


def equal_points(metric, n, dim):
    """Return a batch in which most points are equal to another one."""
    points = random_points(metric, 12, dim)
    return points[np.random.default_rng(4).integers(0, 12, n)]


@pytest.mark.parametrize("metric", METRICS)
def test_equal_queries_have_the_answers_that_each_has_alone(metric):
    options = SMALL[metric]
    points = equal_points(metric, 60, options["dim"])
    index = NearNeighbors(metric, n=60, **options)
    index.insert([f"key {i}" for i in range(60)], points)
    for search in (
        index.query,
        index.within,
        index.near,
        partial(index.query, k=3, examine=5),
    ):
        together = search(points)
        alone = [search(points[i : i + 1]) for i in range(60)]
        assert [list(answer) for answer in together] == [
            list(answer[0]) for answer in alone
        ]
        assert together.examined.tolist() == [
            int(answer.examined[0]) for answer in alone
        ]
