"""The promise of near-neighbour search, and the number of candidates, against the theory on planted points."""

import math

import numpy as np
import pytest

from lshfast.index.neighbors.near_neighbors import NearNeighbors
from tests.index.neighbors_kit import packed, planted, random_points
from tests.reference import families_bits

DIM = {"angle": 64, "euclidean": 64, "manhattan": 64, "hamming": 256}
RADIUS = {"angle": 0.5, "euclidean": 4.0, "manhattan": 20.0, "hamming": 24}
METRICS = [*DIM]


def found_share(index, metric, distances, n, seed):
    """Return the share of queries, planted at these distances from some of n points, that find the point of theirs."""
    points = random_points(metric, n, DIM[metric], seed)
    index.insert(range(n), points)
    queries = planted(
        metric, points[: len(distances)], distances, DIM[metric], seed + 1
    )
    found = index.query(queries, k=n)
    own = np.repeat(np.arange(len(queries)), np.diff(found.offsets)) == found.keys
    return own.sum() / len(queries)


def check_promise(metric, recall, n, queries, seed, **options):
    rng = np.random.default_rng(seed)
    distances = rng.uniform(0, RADIUS[metric], queries)
    distances = np.floor(distances) if metric == "hamming" else distances
    index = NearNeighbors(
        metric,
        RADIUS[metric],
        dim=DIM[metric],
        n=n,
        recall=recall,
        seed=seed,
        **options,
    )
    share = found_share(index, metric, distances, n, seed)
    assert share - 2.576 * math.sqrt(share * (1 - share) / queries) >= recall


@pytest.mark.parametrize("metric", METRICS)
def test_recall_within_the_radius(metric):
    """The lower end of the 99 % interval is at least the promise."""
    check_promise(metric, 0.9, 1000, 1000, 1, probes=1)


@pytest.mark.parametrize("recall", [0.8, 0.9, 0.95])
def test_recall_of_codes_within_the_radius(recall):
    check_promise("angle", recall, 1000, 1000, 1, method="codes")


@pytest.mark.one_case
@pytest.mark.parametrize("radius", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("dim", [3, 64, 300])
def test_recall_of_codes_at_the_radius(dim, radius):
    """Bits of one rotation vary no more than independent ones: the share is not below what is computed for these.

    Both without an end, and where the search for the nearest one ends early.
    """
    shares, n = [], 300
    for seed in range(20):
        index = NearNeighbors(
            "angle", radius, dim=dim, n=n, recall=0.9, seed=seed, method="codes"
        )
        points = random_points("angle", n, dim, seed)
        index.insert(range(n), points)
        queries = planted(
            "angle", points, np.full(n, radius * (1 - 1e-4)), dim, seed + 1
        )
        angles = np.arccos(np.clip(unit(queries) @ unit(points).T, -1, 1))
        nearest = angles.argmin(axis=1)
        within, one = index.within(queries), index.query(queries, 1)
        found = {
            *zip(
                np.repeat(range(n), np.diff(within.offsets)).tolist(),
                within.keys.tolist(),
                strict=True,
            )
        }
        first = {
            *zip(
                np.repeat(range(n), np.diff(one.offsets)).tolist(),
                one.keys.tolist(),
                strict=True,
            )
        }
        shares.append(
            [
                sum((i, i) in found for i in range(n)),
                sum((i, j) in first for i, j in enumerate(nearest)),
            ]
        )
    mean = np.mean(shares, axis=0) / n
    error = np.std(shares, axis=0) / n / math.sqrt(len(shares) - 1)
    theory = float(index.plan.recall_at(radius))
    assert theory >= 0.9
    assert mean[0] >= theory - 4 * error[0]
    assert mean[1] >= 0.9 - 4 * error[1]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("metric", METRICS)
def test_recall_within_the_radius_of_any_plan(metric, recall):
    check_promise(metric, recall, 5000, 4000, 1)


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_recall_at_the_radius(metric):
    """Points at the radius itself: over the functions of 20 indexes, within four standard errors of what is planned."""
    shares = []
    for seed in range(20):
        index = NearNeighbors(
            metric, RADIUS[metric], dim=DIM[metric], n=500, recall=0.9, seed=seed
        )
        shares.append(
            found_share(index, metric, np.full(500, RADIUS[metric]), 500, seed)
        )
    mean, error = np.mean(shares), np.std(shares) / math.sqrt(len(shares) - 1)
    assert mean >= 0.9 - 4 * error
    assert mean <= index.plan.recall + 0.02 + 4 * error


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("factor", [0.6, 1.0, 1.3])
@pytest.mark.parametrize(
    ("metric", "probes"),
    [("angle", 4), ("euclidean", 4), ("manhattan", 1), ("hamming", 1)],
)
def test_share_of_candidates(metric, probes, factor):
    """The share of planted points that become candidates is within 10 % of the theory, over several indexes."""
    distance = (
        round(RADIUS[metric] * factor)
        if metric == "hamming"
        else RADIUS[metric] * factor
    )
    rows, bands = {
        "angle": (2, 2),
        "euclidean": (6, 3),
        "manhattan": (6, 3),
        "hamming": (8, 3),
    }[metric]
    seeds, n = 12, 600
    options = {
        "dim": DIM[metric],
        "n": n,
        "bands": bands,
        "rows_per_band": rows,
        "probes": probes,
    }
    shares = []
    for seed in range(seeds):
        index = NearNeighbors(metric, RADIUS[metric], **options, seed=seed)
        shares.append(found_share(index, metric, np.full(n, distance), n, seed))
    theory = float(index.plan.recall_at(distance))
    assert abs(np.mean(shares) / theory - 1) < 0.1, (
        np.mean(shares),
        theory,
        np.std(shares),
    )


@pytest.mark.one_case
@pytest.mark.parametrize("metric", METRICS)
def test_number_of_far_candidates(metric):
    """Random points: the number that a query examines is within 10 % of what their distances let expect."""
    counts, theory = [], []
    seeds, n = 6, 1500
    for seed in range(seeds):
        points = random_points(metric, n, DIM[metric], seed)
        sample = distances_between(metric, points[:40], points[40:])
        rows, bands = {"angle": (1, 4), "manhattan": (4, 4)}.get(metric, (5, 4))
        options = {
            "dim": DIM[metric],
            "n": n - 40,
            "bands": bands,
            "rows_per_band": rows,
            "probes": 1,
            "sample": sample,
        }
        index = NearNeighbors(metric, RADIUS[metric], **options, seed=seed)
        index.insert(range(n - 40), points[40:])
        counts.append(index.query(points[:40], k=1).examined.mean())
        theory.append(index.plan.expected_candidates(sample))
        assert index.plan.candidates == pytest.approx(theory[-1], rel=0.05)
    assert abs(np.mean(counts) / np.mean(theory) - 1) < 0.1, (
        np.mean(counts),
        np.mean(theory),
    )


def distances_between(metric, a, b):
    if metric == "hamming":
        return (
            np.unpackbits((a[:, np.newaxis] ^ b).view(np.uint8), axis=2)
            .sum(axis=2)
            .ravel()
        )
    if metric == "angle":
        a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
        return np.arccos(np.clip(a @ b.T, -1, 1)).ravel()
    return np.linalg.norm(
        a[:, np.newaxis] - b, ord=1 if metric == "manhattan" else 2, axis=2
    ).ravel()


# The search with a limit (the theory's proof), in a Hamming space where p1 = 2/3 and p2 = 31/96

BITS, ROWS, TABLES = 96, 6, 12  # 12 is 729**rho, rounded up
FAR = 3**ROWS - 1


def crowded_points(rng):
    """Return a query, far points at distance 65 in crowds of equal ones, and a near point at distance 32, as bits."""
    query = rng.integers(0, 2, BITS)
    sizes = rng.integers(10, 50, FAR // 10)
    flips = rng.permuted(np.tile(np.arange(BITS) < 65, (len(sizes), 1)), axis=1)
    near = rng.permutation(np.arange(BITS) < 32)
    return query, query ^ np.vstack([flips.repeat(sizes, axis=0)[:FAR], near])


def definition(tables, query, points, limit):
    """Return whether a search of the tables, given by their bits, finds the last point among the first `limit`."""
    seen = set()
    for bits in tables:
        for row in np.flatnonzero(
            (points[:, bits] == query[bits]).all(axis=1)
        ).tolist():
            if row == FAR:
                return True
            seen.add(row)
            if len(seen) == limit:
                return False
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "limit"),
    [("closest", 3), pytest.param("first", 2, marks=pytest.mark.slow)],
)
def test_a19_c9_searches_with_a_limit(mode, limit):
    """Over the functions of 300 seeds, a search succeeds if the definition does, and so more often than the bound.

    It is 1/2 - 1/e for a limit of 2 L points beyond c r (E4: one text counts all points), and 2/3 - 1/e for 3 L points.
    """
    trials, rng = 300, np.random.default_rng(19)
    found = without = 0
    for seed in range(trials):
        query, points = crowded_points(rng)
        index = NearNeighbors(
            "hamming",
            32,
            dim=BITS,
            n=FAR + 1,
            c=2.0,
            bands=TABLES,
            rows_per_band=ROWS,
            probes=1,
            seed=seed,
        )
        index.insert(range(FAR + 1), packed(points))
        answer = index.near(packed(query[np.newaxis])[0], mode=mode)
        words = [
            families_bits.draw(seed, families_bits.BIT_SAMPLING, j)
            for j in range(TABLES * ROWS)
        ]
        tables = np.array([families_bits.scaled(word, BITS) for word in words]).reshape(
            TABLES, ROWS
        )
        assert answer == (
            (FAR, 32) if definition(tables, query, points, limit * TABLES) else None
        )
        found += answer is not None
        without += definition(tables, query, points, FAR + 1)
    assert (
        found / trials - 4 * math.sqrt(found * (trials - found) / trials) / trials
        >= 1 - 1 / limit - 1 / math.e
    )
    assert found < without - 5  # the limit ended some searches
    hits = 1 - (1 - (2 / 3) ** ROWS) ** TABLES
    assert abs(without / trials - hits) < 4 * math.sqrt(hits * (1 - hits) / trials)
