"""Buckets of points: pairs at the bound are found with the recall that is promised, whatever the measure."""

import math

import numpy as np
import pytest

import lshfast
from lshfast._items.buckets import (
    SCREEN_BITS,
    _missed,
    _screen_bits,
    choose_buckets,
    plan_buckets,
    sampled_distances,
)
from lshfast._items.items import PointReader
from lshfast._items.measures import make_point_plan

PAIRS = 600


def planted(rng, measure, dim, radius):
    """Return PAIRS pairs of vectors at just this distance, one after the other, far from each other."""
    scale = 1 if measure in ("cosine", "angle") else 60 * radius / math.sqrt(dim)
    first = scale * rng.standard_normal((PAIRS, dim))
    step = rng.standard_normal((PAIRS, dim))
    if measure in ("cosine", "angle"):
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        step -= (step * first).sum(axis=1, keepdims=True) * first
        step /= np.linalg.norm(step, axis=1, keepdims=True)
        second = math.cos(radius) * first + math.sin(radius) * step
    else:
        norm = 1 if measure == "manhattan" else 2
        second = first + radius * step / np.linalg.norm(
            step, norm, axis=1, keepdims=True
        )
    return np.stack([first, second], axis=1).reshape(2 * PAIRS, dim)


@pytest.mark.one_case
@pytest.mark.parametrize("dim", [3, 40])
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("recall", [0.9, 0.6])
@pytest.mark.parametrize("measure", ["cosine", "angle", "euclidean", "manhattan"])
def test_vectors_at_the_bound_are_found_with_the_recall(measure, recall, seed, dim):
    rng = np.random.default_rng(seed)
    radius = 0.3 * (1 - 1e-9)  # so that rounding leaves none out
    vectors = planted(rng, measure, dim, radius)
    bound = {"threshold": math.cos(0.3)} if measure == "cosine" else {"radius": 0.3}
    found = lshfast.pairs(
        vectors, kind="vector", measure=measure, recall=recall, seed=seed, **bound
    )
    i, j = found["i"], found["j"]
    share = np.count_nonzero((i % 2 == 0) & (j == i + 1)) / PAIRS
    assert share >= recall - 4 * math.sqrt(recall * (1 - recall) / PAIRS)


@pytest.mark.few_cases
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("words", "radius"), [(1, 3), (4, 31), (1, 0)])
def test_codes_at_the_radius_are_found_with_the_recall(words, radius, seed):
    rng = np.random.default_rng(seed)
    codes = np.repeat(rng.integers(0, 2**64, (PAIRS, words), np.uint64), 2, axis=0)
    for code in codes[1::2]:
        for bit in rng.choice(64 * words, radius, replace=False).tolist():
            code[bit // 64] ^= np.uint64(1 << bit % 64)
    found = lshfast.pairs(codes, kind="code", radius=radius, recall=0.8, seed=seed)
    share = (
        np.count_nonzero((found["i"] % 2 == 0) & (found["j"] == found["i"] + 1)) / PAIRS
    )
    assert share >= (1 if radius == 0 else 0.8 - 4 * math.sqrt(0.16 / PAIRS))


def test_the_screen_leaves_out_no_more_than_its_share():
    for share in (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0):
        for misses in (0.05, 1e-3, 1e-6):
            most = _screen_bits(share, misses)
            exact = math.fsum(
                math.comb(SCREEN_BITS, k) * share**k * (1 - share) ** (SCREEN_BITS - k)
                for k in range(most + 1, SCREEN_BITS + 1)
            )
            assert exact <= misses * (1 + 1e-9)
            assert _missed(share, most) == pytest.approx(exact, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("threshold", [1.0, 0.999999, 0.9, 0.3])
def test_the_recall_that_is_reached_is_at_least_the_promised_one(threshold):
    plan = make_point_plan("vector", threshold=threshold, recall=0.9)
    reader = PointReader("vector", "cosine")
    points = reader.read(np.random.default_rng(1).standard_normal((50, 5)))[0].words
    buckets = choose_buckets(points, reader.format, plan, np.arange(50, dtype=np.int64))
    assert 0.9 <= buckets.recall <= 1


def test_a_radius_that_bands_cannot_reach_is_refused():
    codes = np.random.default_rng(1).integers(0, 2**64, (50, 1), np.uint64)
    with pytest.raises(
        ValueError,
        match=r"take a smaller radius, a lower recall, or exact=True \(--exact\)",
    ):
        lshfast.pairs(codes, kind="code", radius=64, recall=0.9)
    assert len(lshfast.pairs(codes, kind="code", radius=64)) == 50 * 49 // 2


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("kind", "options", "distances"),
    [
        (
            "vector",
            {"measure": "cosine", "threshold": 0.9},
            [0.0, 0.2, math.acos(0.9), 1.0, 3.0],
        ),
        ("vector", {"measure": "euclidean", "radius": 1.0}, [0.0, 0.5, 1.0, 2.0, 9.0]),
        ("code", {"radius": 6}, [0, 3, 6, 12, 32]),
    ],
)
def test_the_plan_before_any_bucket_is_computed(kind, options, distances):
    plan = make_point_plan(kind, recall=0.8, **options)
    reader = PointReader(kind, options.get("measure", "hamming"))
    rng = np.random.default_rng(1)
    rows = (
        rng.standard_normal((500, 32))
        if kind == "vector"
        else rng.integers(0, 2**63, (500, 1), np.uint64)
    )
    points, every = reader.read(rows)[0].words, np.arange(500, dtype=np.int64)
    planned = plan_buckets(
        reader.format,
        plan,
        500,
        sampled_distances(points, reader.format, every, plan.seed),
    )
    buckets = choose_buckets(points, reader.format, plan, every)
    assert (planned.bands, planned.most) == (buckets.bands, buckets.most)
    assert planned.probability(distances[2]) == buckets.recall
    found = [planned.probability(distance) for distance in distances]
    assert found[0] == 1
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.1
