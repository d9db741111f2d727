"""Bounds of near-neighbour search: radii, thresholds, those of a sample, and the warning of one too small for k."""

import json
import math
import warnings

import numpy as np
import pytest

import lshfast
from lshfast import FewNeighborsWarning, NearNeighbors
from lshfast.index.stores.memory import MemoryStore
from tests.index.neighbors_kit import assert_distance, exact, packed, random_points

DIM = 16
METRICS = ["angle", "cosine", "euclidean", "l2", "manhattan", "l1", "hamming"]
USUAL = {"l2": "euclidean", "l1": "manhattan"}


def index_of(metric, points, **options):
    n = len(points)
    index = NearNeighbors(metric, **{"dim": DIM, "n": n} | options)
    index.insert(range(n), points)
    return index


def clusters(n, dim=DIM, size=20, seed=1):
    """Return n vectors in clusters of `size`."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((-(-n // size), dim))
    points = np.repeat(centers, size, axis=0)[:n] + 0.2 * rng.standard_normal((n, dim))
    return rng.permutation(points).astype(np.float32)


def points_of(metric, n, seed=1):
    if metric == "hamming":
        return packed((clusters(n, seed=seed) > 0).astype(np.uint8))
    return clusters(n, seed=seed)


def bound_of(metric, radius):
    return {"threshold": math.cos(radius)} if metric == "cosine" else {"radius": radius}


# ---- angles and cosines ----


@pytest.mark.few_cases
@pytest.mark.parametrize("method", ["codes", "tables"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_cosine_finds_what_the_angle_finds(tmp_path, method, dtype):
    points = clusters(300)
    options = {"method": method, "dtype": dtype, "recall": 0.9}
    by_angle = index_of("angle", points, radius=0.5, **options)
    by_cosine = index_of("cosine", points, threshold=math.cos(0.5), **options)
    by_cosine.save(tmp_path / "cosine.lsh")
    with NearNeighbors.open(tmp_path / "cosine.lsh") as saved:
        for index in (by_cosine, saved):
            assert index.plan.threshold == math.cos(0.5)
            for mine, theirs in (
                (index.query(points[:20], 5), by_angle.query(points[:20], 5)),
                (index.scan(points[:20], 5), by_angle.scan(points[:20], 5)),
                (index.within(points[:20]), by_angle.within(points[:20])),
                (
                    index.within(points[:20], threshold=0.95),
                    by_angle.within(points[:20], math.acos(0.95)),
                ),
                (index.near(points[:20]), by_angle.near(points[:20])),
            ):
                assert np.array_equal(mine.offsets, theirs.offsets)
                assert np.array_equal(mine.keys, theirs.keys)
                np.testing.assert_allclose(
                    mine.distance, 1 - np.cos(theirs.distance), atol=1e-12
                )
            mine, theirs = index.pairs(threshold=0.9), by_angle.pairs(math.acos(0.9))
            assert mine.left.tolist() == theirs.left.tolist()
            assert (1 - mine.distance >= 0.9).all()


def test_a_pair_exactly_at_the_threshold_is_within_it():
    index = index_of(
        "cosine", [[3, 4], [4, -3], [-3, -4]], dim=2, n=3, threshold=0.6, recall=0.999
    )
    assert [neighbor.key for neighbor in index.within([1, 0])] == [1, 0]
    assert [round(neighbor.distance, 12) for neighbor in index.scan([3, 4], 3)] == [
        0,
        1,
        2,
    ]


def test_distances_in_answers_have_the_unit_of_the_metric():
    points = clusters(200)
    for metric in ("angle", "euclidean", "l2", "manhattan", "l1"):
        index = index_of(metric, points, radius=1.0, recall=0.9)
        for neighbor in index.scan(points[3], 4):
            usual = USUAL.get(metric, metric)
            assert_distance(
                usual, neighbor.distance, exact(usual, points[3], points[neighbor.key])
            )


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
def test_metrics_have_the_names_of_norms(metric):
    points = clusters(300)
    norm = {"manhattan": "l1", "euclidean": "l2"}[metric]
    one, other = (index_of(name, points, radius=2.0) for name in (metric, norm))
    assert one.plan == other.plan
    assert list(one.query(points[:9], 3)) == list(other.query(points[:9], 3))
    assert (
        lshfast.pairs(points, measure=norm, radius=1).tolist()
        == lshfast.pairs(points, measure=metric, radius=1).tolist()
    )
    assert lshfast.dedup(points, measure=norm, radius=1).summary.measure == metric


@pytest.mark.parametrize(
    ("metric", "bound", "message"),
    [
        ("cosine", {"radius": 0.5}, "pass threshold=0.877583 instead of radius=0.5, or use the metric 'angle'"),
        ("angle", {"threshold": 0.9}, "angle is a distance: pass radius=0.451027 instead of threshold=0.9"),
        ("l2", {"threshold": 0.9}, "threshold is for the metric cosine, and euclidean is a distance: pass a radius"),
        ("hamming", {"threshold": 0.9}, "hamming is a distance: pass a radius"),
        ("cosine", {"threshold": 1.0}, "threshold must be a cosine of at least -1 and below 1, not 1.0"),
        ("cosine", {"threshold": -1.1}, "threshold must be a cosine of at least -1 and below 1, not -1.1"),
        ("cosine", {"threshold": math.nan}, "threshold must be a cosine"),
        ("cosine", {}, "threshold is needed: pass one, or a sample of points"),
        ("cosine", {"k": 10}, "threshold is needed: pass one, or a sample of points"),
        ("angle", {}, "radius is needed: pass one, or a sample of points"),
        ("angle", {"sample": [0.1, 0.2], "k": 3}, "radius is needed: pass one, or a sample of points"),
        ("angle", {"sample": np.eye(16)}, "radius is needed: pass one, or a sample of points"),
        ("angle", {"radius": 0.5, "sample": np.eye(16), "k": 3}, "leave out k or the bound"),
        ("angle", {"sample": np.eye(16)[:1], "k": 3}, "sample must have at least 2 points, not 1"),
        ("angle", {"sample": np.eye(16), "k": 20, "n": 16}, "needs the 20 nearest other points"),
        ("angle", {"sample": np.eye(15), "k": 3}, "sample must"),
        ("chebyshev", {"radius": 1}, "metric must be one of angle, cosine, euclidean .or l2., manhattan"),
    ],
)  # fmt: skip
def test_wrong_bounds_are_refused(metric, bound, message):
    with pytest.raises(ValueError, match=message):
        NearNeighbors(metric, **{"dim": DIM, "n": 100} | bound)


def test_bounds_of_queries_are_those_of_the_metric():
    points = clusters(50)
    with pytest.raises(
        ValueError, match=r"pass threshold=0\.955336 instead of radius=0.3"
    ):
        index_of("cosine", points, threshold=0.9).within(points[0], 0.3)
    with pytest.raises(
        ValueError, match=r"pass radius=0\.451027 instead of threshold=0\.9"
    ):
        index_of("angle", points, radius=0.5).pairs(threshold=0.9)


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["ip", "dot", "inner_product", "IP"])
def test_the_error_for_inner_products_names_an_exact_transformation(name):
    with pytest.raises(
        ValueError,
        match=r"sqrt\(M\*\*2 - x @ x\) to each entry x.*0 to each query.*dim \+ 1",
    ):
        NearNeighbors(name, radius=1, dim=DIM, n=100)
    items = clusters(200).astype(np.float64)
    squares = (items**2).sum(axis=1)
    entries = np.hstack([items, np.sqrt(squares.max() - squares)[:, np.newaxis]])
    index = NearNeighbors("angle", radius=1.5, dim=DIM + 1, n=200, dtype="float64")
    index.insert(range(200), entries)
    for query in clusters(5, seed=2).astype(np.float64):
        order = [neighbor.key for neighbor in index.scan(np.append(query, 0), 200)]
        assert order == np.argsort(-(items @ query)).tolist()


def test_files_are_those_of_earlier_versions():
    """The plan of an index by angle is stored under the name that it had; only a threshold adds a parameter."""
    stored = json.loads(
        NearNeighbors("angle", radius=math.acos(0.9), dim=DIM, n=100).parameters.family
    )
    assert stored["metric"] == "cosine"
    assert "threshold" not in stored
    by_cosine = json.loads(
        NearNeighbors("cosine", threshold=0.9, dim=DIM, n=100).parameters.family
    )
    assert by_cosine == stored | {"threshold": 0.9}


def test_an_index_by_cosine_is_no_index_by_angle():
    store = MemoryStore()
    NearNeighbors("cosine", threshold=0.9, dim=DIM, n=100, store=store)
    with pytest.raises(
        ValueError,
        match=r"threshold of near-neighbors(-codes)? is 0\.9 in this index, not None",
    ):
        NearNeighbors("angle", radius=math.acos(0.9), dim=DIM, n=100, store=store)


# ---- a radius for k neighbors ----


@pytest.mark.one_case
@pytest.mark.parametrize("metric", METRICS)
def test_a_sample_chooses_a_radius_for_k_neighbors(metric):
    """Other points have k entries within the radius as often as the sample says; with a smaller sample, more often."""
    k, n = 9, 800
    points = points_of(metric, n + 200)
    queries, entries = points[n:], points[:n]
    options = {"method": "codes"} if metric in ("angle", "cosine") else {}
    shares = []
    for sample in (entries, entries[:200]):
        index = index_of(metric, entries, sample=sample, k=k, recall=0.9, **options)
        nearest = index.by_angle().scan(queries, k)
        kth = nearest.distance.reshape(200, k)[:, -1]
        shares.append((kth <= index.plan.radius).mean())
    assert 0.88 <= shares[0] <= (1 if metric == "hamming" else 0.99)
    assert shares[1] >= shares[0]
    if metric == "cosine":
        assert index.plan.radius == math.acos(index.plan.threshold)
    found = index.query(queries, k)
    assert len(found.keys) >= 0.9 * 200 * k


@pytest.mark.parametrize("metric", ["angle", "euclidean", "hamming"])
def test_a_radius_of_equal_points_can_be_planned(metric):
    points = np.repeat(random_points(metric, 10, DIM), 10, axis=0)
    index = index_of(metric, points, sample=points, k=3)
    assert index.plan.radius > 0
    assert len(index.query(points[0], 3)) == 3


@pytest.mark.slow
def test_a_small_sample_gives_a_larger_radius():
    """With less than one neighbor in the sample, its nearest one is taken, which is farther away."""
    points = clusters(2000)
    radii = [
        NearNeighbors("euclidean", dim=DIM, n=2000, sample=points[:m], k=5).plan.radius
        for m in (2000, 400, 60)
    ]
    assert radii[2] > radii[1] > 0.8 * radii[0]


# ---- the promise of one index ----


def patches(n, seed=1):
    """Return n patches of 8 x 8 pixels of smooth random images: the mean brightness is most of each."""
    rng = np.random.default_rng(seed)
    rows, columns = np.meshgrid(np.fft.fftfreq(256), np.fft.fftfreq(256), indexing="ij")
    frequencies = np.hypot(rows, columns)
    frequencies[0, 0] = 1
    image = np.fft.ifft2(
        np.fft.fft2(rng.standard_normal((256, 256))) / frequencies**2
    ).real
    image = 128 + 40 * image / image.std()
    windows = np.lib.stride_tricks.sliding_window_view(image, (8, 8)).reshape(-1, 64)
    return windows[rng.choice(len(windows), n, replace=False)].astype(np.float32)


def recalls_of_indexes(seeds, **options):
    """Return the recalls of indexes of patches near the radius, without a sample and with one."""
    points = patches(3000)
    sample, queries, entries = points[:1000], points[1000:1300], points[1300:]
    angles = angles_between(queries, entries)
    radius = float(np.quantile(np.sort(angles, axis=1)[:, 9], 0.2))
    near = (angles <= radius) & (angles > 0.9 * radius)
    recalls = []
    for given in (None, sample):
        row = []
        for seed in seeds:
            index = index_of(
                "angle",
                entries,
                dim=64,
                radius=radius,
                seed=seed,
                recall=0.95,
                sample=given,
                **options,
            )
            found = index.within(queries)
            rows = np.repeat(np.arange(len(queries)), np.diff(found.offsets))
            row.append(near[rows, found.keys].sum() / near.sum())
        recalls.append(row)
    return recalls


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"method": "codes"}, {"probes": 1}], ids=["codes", "tables"]
)
def test_an_index_keeps_the_promise_with_a_sample(options):
    """Without one, some indexes are far below it, since few hyperplanes part the patches; these seeds have them."""
    without, sampled = recalls_of_indexes([2, 3, 9], **options)
    assert min(without) < 0.945
    assert min(sampled) >= 0.93
    assert min(sampled) > min(without)


@pytest.mark.weekly
@pytest.mark.parametrize(
    "options", [{"method": "codes"}, {"probes": 1}, {"method": "tables"}]
)
def test_each_of_many_indexes_keeps_the_promise_with_a_sample(options):
    without, sampled = recalls_of_indexes(range(20), **options)
    assert min(sampled) >= 0.92
    assert np.std(sampled) < np.std(without)


def angles_between(a, b):
    a, b = (
        x.astype(np.float64)
        / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True)
        for x in (a, b)
    )
    return 2 * np.arcsin(
        np.clip(np.linalg.norm(a[:, np.newaxis] - b, axis=2) / 2, 0, 1)
    )


# ---- the warning ----

# A radius that is far too small for ten neighbors.
SMALL = {
    "angle": 0.05,
    "cosine": 0.05,
    "euclidean": 0.1,
    "l2": 0.1,
    "manhattan": 0.2,
    "l1": 0.2,
    "hamming": 1,
}


@pytest.mark.few_cases
@pytest.mark.parametrize("method", ["codes", "tables"])
@pytest.mark.parametrize("metric", METRICS)
def test_a_radius_too_small_for_k_warns_once_and_names_one_that_does(metric, method):
    options = {"bands": 2, "rows_per_band": 8, "probes": 1}
    if metric in ("angle", "cosine"):
        options = {"method": "codes"} if method == "codes" else {"probes": 1}
    points = points_of(metric, 400)
    index = index_of(metric, points, **bound_of(metric, SMALL[metric]), **options)
    with pytest.warns(
        FewNeighborsWarning, match=r"queries found fewer than k=10 entries"
    ) as caught:
        index.query(points[:100], k=10)
    index.query(points[:100], k=10)  # a second warning would be an error
    assert len(caught) == 1
    assert caught[0].filename == __file__
    argument, value = str(caught[0].message).split("With ")[1].split(",")[0].split("=")
    assert argument == ("threshold" if metric == "cosine" else "radius")
    options = {"method": "codes"} if metric in ("angle", "cosine") else {}
    larger = index_of(metric, points, **{argument: float(value)}, **options)
    found = larger.query(points[:100], k=10)  # a warning would be an error
    assert (np.diff(found.offsets) == 10).mean() > 0.8


DATA = {
    "uniform": lambda n, rng: rng.random((n, DIM)),
    "clusters": lambda n, rng: (
        CENTERS[rng.integers(len(CENTERS), size=n)]
        + 0.1 * rng.standard_normal((n, DIM))
    ),
    "low-dimensional": lambda n, rng: rng.standard_normal((n, 2)) @ CENTERS[:2],
    "heavy": lambda n, rng: rng.standard_t(1.5, (n, DIM)),
    "unit": lambda n, rng: normalized(rng.standard_normal((n, DIM))),
}
CENTERS = np.random.default_rng(4).standard_normal((20, DIM))


def normalized(points):
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def exact_distances(metric, queries, points):
    if metric == "manhattan":
        return np.abs(queries[:, None] - points).sum(axis=2)
    if metric == "angle":
        queries, points = normalized(queries), normalized(points)
    lengths = np.linalg.norm(queries[:, None] - points, axis=2)
    return 2 * np.arcsin(np.minimum(lengths / 2, 1)) if metric == "angle" else lengths


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("metric", ["angle", "euclidean", "manhattan"])
def test_the_warning_comes_if_the_recall_of_the_k_nearest_is_low(metric, data):
    """Also if all queries have k answers, which then lie beyond the radius; not if the radius is chosen by a sample."""
    rng = np.random.default_rng(7)
    points, queries, sample = (DATA[data](n, rng) for n in (1500, 200, 1500))
    exact = exact_distances(metric, queries, points)
    kth = np.partition(exact, 9, axis=1)[:, 9]
    for radius in (0.5 * np.quantile(kth, 0.1), None):
        choice = {"sample": sample, "k": 10} if radius is None else {"radius": radius}
        index = NearNeighbors(metric, dim=DIM, n=1500, dtype="float64", **choice)
        index.insert(range(1500), points)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = index.query(queries, k=10)
            for query in queries[:40]:
                index.query(query, k=10)
        rows = np.repeat(np.arange(200), np.diff(found.offsets))
        near = exact[rows, np.asarray(found.keys)] <= kth[rows] * (1 + 1e-9)
        recall = near.sum() / 2000
        assert recall < 0.945 if radius is not None else recall > 0.95
        assert [each.category for each in caught] == [FewNeighborsWarning] * (
            radius is not None
        )


@pytest.mark.slow
def test_queries_with_k_answers_beyond_the_radius_warn():
    """All queries have k answers, which are not the nearest entries; the warning says so, and names a radius."""
    rng = np.random.default_rng(2)
    points, queries = rng.random((3000, 24)), rng.random((100, 24))
    index = NearNeighbors("euclidean", radius=0.9, dim=24, n=3000)
    index.insert(range(3000), points)
    with pytest.warns(
        FewNeighborsWarning, match=r"100 queries found \d\d% of their k nearest entries"
    ) as caught:
        found = index.query(queries, k=10)
    assert (np.diff(found.offsets) == 10).all()
    radius = float(str(caught[0].message).split("With radius=")[1].split(",")[0])
    index = NearNeighbors("euclidean", radius=radius, dim=24, n=3000)
    index.insert(range(3000), points)
    assert len(index.query(queries, k=10)) == 100  # a warning would be an error


def test_later_queries_warn_if_the_first_ones_find_what_is_promised():
    points = clusters(300)
    index = index_of("angle", points, radius=0.3, method="codes")
    rng = np.random.default_rng(1)
    index.query(points[:20], k=5)  # a warning would be an error
    counts = []
    for _ in range(10):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            index.query(rng.standard_normal((40, DIM)), k=5)
        counts.append(len(caught))
    assert sum(counts) == 1


def test_single_queries_warn_after_some():
    points = clusters(300)
    index = index_of("angle", points, radius=0.01, method="codes")
    for point in points[:9]:
        index.query(point, k=10)
    with pytest.warns(FewNeighborsWarning, match="10 of 10 queries"):
        index.query(points[9], k=10)
    index.query(points[10], k=10)


def test_queries_that_say_so_do_not_warn():
    points = clusters(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        enough = index_of("angle", points, radius=1.3)
        enough.query(points, k=10)
        index = index_of("angle", points, radius=0.01, method="codes")
        index.query(points, k=1)
        index.query(points, k=300)  # all entries
        index.query(points, k=5, examine=3)
        index.within(points)
        index.query(points[:9], k=10)
        index.warns = False
        index.query(points, k=10)
        empty = NearNeighbors("angle", radius=0.1, dim=DIM, n=10)
        empty.query(points, k=10)
