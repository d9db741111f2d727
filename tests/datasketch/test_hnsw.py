"""HNSW: recall and calls of the distance function, beside datasketch; changes beside a dict; errors."""

import pickle
import random

import numpy as np
import pytest

from lshfast.datasketch import HNSW, MinHash


def far(x, y):
    return abs(x - y)


class Counted:
    """A distance function of rows, read from a matrix, and the number of its calls."""

    def __init__(self, distances):
        self.distances, self.calls = distances.tolist(), 0

    def __call__(self, x, y):
        self.calls += 1
        return self.distances[x][y]


def filled(library, distances, queries, seed=1, **options):
    """Return an index of all but the last rows, and its distance function."""
    distance = Counted(distances)
    index = library(distance, seed=seed, **options)
    for row in range(len(distances) - queries):
        index.insert(row, row)
    return index, distance


def recalls(index, distance, queries, ef):
    """Return for each query the fraction of the ten nearest points that are found."""
    fractions, n, points = [], len(distance.distances), list(index.values())
    for query in range(n - queries, n):
        most = np.partition(np.array(distance.distances[query])[points], 9)[9]
        fractions.append(
            sum(apart <= most for _, apart in index.query(query, 10, ef)) / 10
        )
    return np.array(fractions)


def euclidean(points):
    squares = (points**2).sum(1)
    return np.sqrt(
        np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0)
    ).round(9)


def uniform(n, seed=4):
    return euclidean(np.random.default_rng(seed).random((n, 16)))


def copies(n, seed=5):
    """Return distances of points most of which are copies of 20 points."""
    rng = np.random.default_rng(seed)
    points = np.concatenate(
        [
            rng.random((20, 8))[rng.integers(0, 20, 2 * n // 3)],
            rng.random((n - 2 * n // 3, 8)),
        ]
    )
    rng.shuffle(points)
    return euclidean(points)


def sketches(n, seed=6):
    """Return Jaccard distances of MinHashes of sets in groups of ten. Many distances are equal."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 1000, (n // 10, 30)).tolist()
    rows = [
        [
            b"%d" % token
            for token in groups[i // 10] + rng.integers(0, 1000, 30).tolist()
        ]
        for i in range(n)
    ]
    slots = np.array([sketch.hashvalues for sketch in MinHash.bulk(rows)])
    return np.array([1 - (slots == row).mean(1) for row in slots])


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("points", "least"),
    [(uniform, {20: 0.9, 60: 0.98}), (copies, {20: 0.85, 60: 0.97})],
)
def test_recall(points, least):
    index, distance = filled(HNSW, points(700), 100, m=8, ef_construction=40)
    for ef, share in least.items():
        assert recalls(index, distance, 100, ef).mean() >= share


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.parametrize(
    ("points", "m", "ef_construction"),
    [
        (uniform, 4, 30),
        (copies, 16, 60),
        pytest.param(sketches, 8, 50, marks=pytest.mark.weekly),
        pytest.param(uniform, 16, 60, marks=pytest.mark.weekly),
        pytest.param(copies, 4, 30, marks=pytest.mark.weekly),
        pytest.param(sketches, 16, 200, marks=pytest.mark.weekly),
    ],
)
def test_recall_and_calls_beside_datasketch(points, m, ef_construction):
    peer = pytest.importorskip("datasketch")
    options = {"m": m, "ef_construction": ef_construction}
    both = [
        filled(library, points(1200, 1), 300, **options)
        for library in (peer.HNSW, HNSW)
    ]
    assert both[1][1].calls <= both[0][1].calls
    for ef in (10, 20, 50, 100):
        theirs, ours = (recalls(*index, 300, ef) for index in both)
        gain = ours - theirs
        assert np.mean(gain) >= -4 * np.std(gain) / len(gain) ** 0.5, ef


@pytest.mark.weekly
def test_recall_after_many_hard_removals_beside_datasketch():
    peer = pytest.importorskip("datasketch")
    both = [
        filled(library, sketches(900), 300, m=8, ef_construction=50)
        for library in (peer.HNSW, HNSW)
    ]
    for index, _ in both:
        for row in range(600):
            if row % 10 < 7:
                index.remove(row, hard=True)
    for ef in (10, 20, 50):
        theirs, ours = (recalls(*index, 300, ef) for index in both)
        assert np.mean(ours - theirs) >= -4 * np.std(ours - theirs) / 300**0.5, ef


@pytest.mark.slow
@pytest.mark.parametrize("reversed_edges", [True, False])
def test_recall_after_removals_and_replacements(reversed_edges):
    index, distance = filled(
        HNSW, uniform(600), 100, m=8, ef_construction=30, reversed_edges=reversed_edges
    )
    for row in range(0, 250, 2):
        index.remove(row, hard=True)
    for row in range(1, 250, 2):
        index.remove(row)
    assert recalls(index, distance, 100, 60).mean() >= 0.95
    index.clean()
    assert recalls(index, distance, 100, 60).mean() >= 0.95
    for row in range(250, 500):
        index.insert(row, 749 - row)
    assert all(point == 749 - key for key, point in index.items())
    assert (
        np.mean([index.query(row, 1, 60)[0][0] == 749 - row for row in range(250, 500)])
        >= 0.97
    )


def test_sketches():
    rng = np.random.default_rng(6)
    groups = [rng.integers(0, 10**6, 50).tolist() for _ in range(40)]
    rows = [groups[n % 40] + rng.integers(0, 10**6, 20).tolist() for n in range(200)]
    sketches = MinHash.bulk([[b"%d" % token for token in row] for row in rows])
    index = HNSW(lambda x, y: 1 - x.jaccard(y), m=8, ef_construction=40, seed=1)
    index.update(dict(enumerate(sketches)))
    found = [key % 40 == n for n in range(40) for key, _ in index.query(sketches[n], 5)]
    assert np.mean(found) >= 0.97
    assert pickle.loads(pickle.dumps(sketches[0])) == index[0]


class Breaks:
    """A distance function that raises an error at a chosen call."""

    left = None

    def __call__(self, x, y):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise RuntimeError
        return abs(x - y)

    def __eq__(self, other):
        return isinstance(other, Breaks)

    __hash__ = None


def change(index, model, rng):
    """Make a random change of an index and of a dict."""
    key = rng.randrange(30)
    point = float(rng.choice([rng.randrange(5), rng.random() * 10]))
    match rng.choice(["insert", "insert", "insert", "remove", "hard", "clean", "pop"]):
        case "insert":
            index.insert(key, point, level=rng.choice([None, None, 0, 3]))
            model[key] = point
        case "clean":
            index.clean()
        case "pop" if model:
            assert index.popitem() == model.popitem()
        case kind if key in model:
            index.remove(key, hard=kind == "hard")
            del model[key]


@pytest.mark.parametrize("seed", range(8))
def test_beside_a_dict(seed):
    """All points are found, and an error of the distance function changes nothing."""
    rng, distance = random.Random(seed), Breaks()
    index = HNSW(
        distance,
        rng.choice([2, 3, 8]),
        rng.choice([1, 4, 20]),
        seed=seed,
        reversed_edges=seed % 2 == 0,
    )
    model = {}
    for _ in range(120):
        before, was = index.copy(), dict(model)
        distance.left = rng.randrange(20) if rng.random() < 0.3 else None
        try:
            change(index, model, rng)
        except RuntimeError:
            assert index == before
            model = was
        distance.left = None
        # A removed key that is inserted again gets its former place.
        model = {key: model[key] for key in index}
        assert dict(index.items()) == model
        if model:
            query, k = rng.random() * 10, rng.choice([1, 5, len(model)])
            found = index.query(query, k)
            assert len(found) == min(k, len(model))
            assert [apart for _, apart in found] == sorted(
                abs(query - model[key]) for key, _ in found
            )


@pytest.mark.slow
def test_both_ways_of_removing_do_the_same():
    found = []
    for reversed_edges in (True, False):
        index, _ = filled(
            HNSW,
            uniform(300),
            50,
            m=4,
            ef_construction=20,
            reversed_edges=reversed_edges,
        )
        for row in range(0, 250, 3):
            index.remove(row, hard=True)
        found.append([index.query(row, 5, 10) for row in range(250, 300)])
    assert found[0] == found[1]


def test_a_failed_update_keeps_what_was_inserted_before():
    index = HNSW(far, seed=1)
    with pytest.raises(TypeError):
        index.update({"a": 1.0, "b": 2.0, "c": "text", "d": 3.0})
    assert list(index.items()) == [("a", 1.0), ("b", 2.0)]


def test_nan_names_the_key():
    index = HNSW(far, seed=1)
    index["a"] = 1.0
    with pytest.raises(ValueError, match="NaN for the point of key 'a'"):
        index["b"] = float("nan")
    with pytest.raises(ValueError, match="NaN for the point of key 'a'"):
        index.query(float("nan"))
    assert list(index) == ["a"]


def test_a_query_computes_no_distance_twice():
    seen = []
    index = HNSW(
        lambda x, y: seen.append((x, y)) or abs(x - y), m=2, ef_construction=5, seed=1
    )
    for n in range(60):
        index.insert(n, n + 0.5)
    index.query(7.0, 5)
    nodes = [y for x, y in seen if x == 7.0]
    assert len(nodes) == len(set(nodes)) >= 5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: HNSW(5), TypeError, "distance_func must be callable, not 5"),
        (lambda: HNSW(far, m=1), ValueError, "m must be at least 2, not 1"),
        (lambda: HNSW(far, m=2.5), TypeError, "m must be an int, not 2.5"),
        (lambda: HNSW(far, m0=0), ValueError, "m0 must be at least 1, not 0"),
        (
            lambda: HNSW(far, ef_construction=0),
            ValueError,
            "ef_construction must be at least 1, not 0",
        ),
        (lambda: HNSW(far).query(1.0), ValueError, "the index is empty"),
        (
            lambda: HNSW(far).query(1.0, k=-1),
            ValueError,
            "k must be at least 0, not -1",
        ),
        (
            lambda: HNSW(far).query(1.0, ef=0),
            ValueError,
            "ef must be at least 1, not 0",
        ),
        (
            lambda: HNSW(far).insert("a", 1.0, level=-1),
            ValueError,
            "level must be at least 0, not -1",
        ),
        (
            lambda: HNSW(far).insert("a", 1.0, ef=True),
            TypeError,
            "ef must be an int, not True",
        ),
        (lambda: HNSW(far).clean(ef=0), ValueError, "ef must be at least 1, not 0"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
