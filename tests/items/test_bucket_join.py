"""Joins of points by buckets: stars and components are those of all pairs, for any batches and threads."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import dedup
from lshfast import pairs as pairs_of
from lshfast._items.bucket_join import SIZES, BucketJoin, JoinSizes
from lshfast._items.buckets import choose_buckets, one_bucket
from lshfast._items.held_points import HeldPoints
from lshfast._items.items import PointReader
from lshfast._items.measures import make_point_plan
from lshfast.join import component_groups, star_groups
from lshfast.join.pair_arrays import joined_pairs, sort_pairs


def crowds(n, dim, spread, seed=1):
    """Return n points around a few centres, so that some are similar to many, and chains connect others."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((7, dim))[
        rng.integers(0, 7, n)
    ] + spread * rng.standard_normal((n, dim))


def joins(vectors, order=None, threads=1, exact=False, crowded=None, **options):
    """Return a function that makes the join of vectors again, and the number of rows."""
    plan = make_point_plan("vector", threads=threads, **options)
    reader = PointReader("vector", plan.measure)
    points = reader.read(vectors)[0].words
    rows = np.arange(len(points), dtype=np.int64)
    order = rows if order is None else order
    buckets = (
        one_bucket(len(points))
        if exact
        else choose_buckets(points, reader.format, plan, rows)
    )
    if crowded is not None:
        buckets = replace(buckets, crowded=crowded)
    return lambda sizes=SIZES: BucketJoin(
        HeldPoints(points, reader.format.measure),
        order,
        plan.value_of(reader.format),
        buckets,
        threads,
        sizes=sizes,
    )


def every_pair(join):
    found = joined_pairs(join.rows_of(meeting) for meeting in join.pairs())
    sort_pairs(found)
    keys = list(zip(found["i"].tolist(), found["j"].tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    return found


def in_order(pairs, order):
    """Return pairs with the places of rows in the order instead of rows."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    found = pairs.copy()
    i, j = places[pairs["i"]], places[pairs["j"]]
    found["i"], found["j"] = np.minimum(i, j), np.maximum(i, j)
    sort_pairs(found)
    return found


def small_batches(first, least=1, most=None):
    return JoinSizes(candidates=600, first_batch=first, least_batch=least, pairs=most)


@pytest.mark.slow
@settings(max_examples=10)
@given(
    n=st.integers(1, 100),
    spread=st.sampled_from([0.02, 0.2, 0.35]),
    first=st.sampled_from([1, 7, 50, 4096]),
    least=st.sampled_from([1, 2, 9]),
    threads=st.sampled_from([1, 3]),
    seed=st.integers(0, 1000),
)
def test_stars_and_forests_are_those_of_all_pairs(
    n, spread, first, least, threads, seed
):
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    made = joins(crowds(n, 6, spread, seed), order, threads, threshold=0.95)
    pairs = in_order(every_pair(made()), order)
    sizes = small_batches(first, least)
    stars, forest = made(sizes).stars(), made(sizes).forest()
    groups = star_groups(n, pairs)
    keeper = np.arange(n)
    keeper[stars.right] = stars.left
    assert keeper.tolist() == groups.keeper.tolist()
    assert stars.value.tolist() == [
        groups.similarity[row] for row in stars.right.tolist()
    ]
    linked = component_groups(n, in_order(made().rows_of(forest), order))
    assert linked.labels.tolist() == component_groups(n, pairs).labels.tolist()
    assert len(forest.left) <= len(pairs)


@pytest.mark.slow
@settings(max_examples=10)
@given(
    n=st.integers(1, 300),
    spread=st.sampled_from([0.02, 0.2, 0.35, 1.0]),
    part=st.sampled_from([1, 60, 2048]),
    first=st.sampled_from([7, 4096]),
    seed=st.integers(0, 1000),
)
def test_a_crowd_is_compared_once_with_the_same_answers(n, spread, part, first, seed):
    """Pairs that share no bucket are left out, as if each band were searched."""
    points = crowds(n, 24, spread, seed)
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    sizes = JoinSizes(candidates=600, first_batch=first, least_batch=2, part=part)
    by_bands, at_once = (
        joins(points, order, 2, crowded=crowded, threshold=0.95)
        for crowded in (False, True)
    )
    assert every_pair(by_bands(sizes)).tolist() == every_pair(at_once(sizes)).tolist()
    for groups in ("stars", "forest"):
        found = [getattr(join(sizes), groups)() for join in (by_bands, at_once)]
        for name in ("left", "right", "value"):
            assert getattr(found[0], name).tolist() == getattr(found[1], name).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_just_below_the_threshold_are_compared_once(dtype):
    n, dim = 1500, 64
    rng = np.random.default_rng(0)
    points = rng.standard_normal(dim) + 0.25 * rng.standard_normal((n, dim))
    points[:40] = points[40:80] + 0.03 * rng.standard_normal((40, dim))
    given = points.astype(dtype)
    exact = pairs_of(given, kind="vector", threshold=0.96, exact=True)
    found = pairs_of(given, kind="vector", threshold=0.96)
    assert set(zip(found["i"].tolist(), found["j"].tolist(), strict=True)) <= set(
        zip(exact["i"].tolist(), exact["j"].tolist(), strict=True)
    )
    assert len(found) >= 0.95 * len(exact)
    groups = dedup(given, kind="vector", threshold=0.96)
    assert groups.summary.removed >= 40
    assert groups.summary.candidates <= n * (n - 1) // 2


@pytest.mark.one_case
@pytest.mark.parametrize("groups", ["stars", "forest", "pairs"])
def test_nothing_depends_on_the_threads(groups):
    sizes = small_batches(64, 16)
    points, found = crowds(700, 8, 0.25), []
    for threads in (1, 2, 5):
        join = joins(points, threads=threads, threshold=0.95)(sizes)
        result = (
            every_pair(join).tolist() if groups == "pairs" else getattr(join, groups)()
        )
        if groups != "pairs":
            result = [
                column.tolist() for column in (result.left, result.right, result.value)
            ]
        found.append((result, join.compared))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("n", [255, 256, 257, 600])
def test_a_crowd_at_the_smallest_batch(n, exact):
    """A batch of the smallest size is not halved, whatever it holds."""
    points = 1e-3 * np.random.default_rng(2).standard_normal((n, 5)) + 1
    join = joins(points, exact=exact)()
    assert len(join.stars().right) == n - 1
    assert join.stars().left.max() == 0


def similar_to_all(kept, others, dim):
    """Return `kept` vectors that are not similar to each other, but to all of the others."""
    rng = np.random.default_rng(3)
    cosine, angle = 0.96, np.zeros((kept + others, dim))
    angle[:kept, 1:] = rng.standard_normal((kept, dim - 1))
    angle[:kept] *= np.sqrt(1 - cosine**2) / np.linalg.norm(
        angle[:kept], axis=1, keepdims=True
    )
    angle[:, 0] = cosine
    angle[kept:] += 1e-4 * rng.standard_normal((others, dim))
    return angle


@pytest.mark.slow
def test_rows_that_are_similar_to_many_kept_rows_take_one_comparison_a_band():
    kept, others = 1500, 3000
    join = joins(similar_to_all(kept, others, 300), threshold=0.945, exact=True)()
    stars = join.stars()
    assert (
        len(join) - len(stars.right) >= kept * 0.9
    )  # these are not similar to each other
    assert join.compared < (kept + others) ** 2 / 4
    assert np.isin(np.arange(kept, kept + others), stars.right).all()


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["stars", "forest"])
def test_a_crowd_takes_linear_time(groups):
    """Comparisons are bounded: some hundred a row, not n / 2."""
    n = 8_000
    points = 1e-3 * np.random.default_rng(2).standard_normal((n, 16)) + 1
    join = joins(points, threads=2)()
    assert len(getattr(join, groups)().right) >= n - 1
    assert join.compared < 1000 * n


@pytest.mark.slow
def test_crowds_one_after_the_other():
    """Batches are halved again and again, and what each row costs stays bounded."""
    rng = np.random.default_rng(4)
    points = np.repeat(
        rng.standard_normal((12, 64)), 500, axis=0
    ) + 1e-3 * rng.standard_normal((6000, 64))
    join = joins(points, threads=2)()
    assert len(join.stars().right) == 6000 - 12
    assert join.compared < 2000 * 6000
