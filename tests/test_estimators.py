"""`LSHNeighbors`: scikit-learn's own checks of estimators, and its neighbors beside scikit-learn's exact ones."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.manifold import TSNE
from sklearn.neighbors import (
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsTransformer,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from lshfast import NearNeighbors
from lshfast.estimators import LSHNeighbors

CHECKS = [
    pytest.param(
        own,
        check,
        id=f"{own.graph}-{getattr(check, 'func', check).__name__}-{number}",
        marks=marks,
    )
    for chosen, marks in [
        (LSHNeighbors(), []),
        (LSHNeighbors(graph="radius", mode="connectivity"), pytest.mark.slow),
    ]
    for number, (own, check) in enumerate(estimator_checks_generator(chosen))
]


@pytest.mark.some_cases
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def clusters(n=300, dim=8):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(10, dim)) * 5
    return centres[rng.integers(0, 10, n)] + rng.normal(size=(n, dim)) * 0.3


def angles(a, b):
    cosines = (
        (a @ b.T) / np.linalg.norm(a, axis=1)[:, np.newaxis] / np.linalg.norm(b, axis=1)
    )
    return np.arccos(np.clip(cosines, -1, 1))


@pytest.mark.parametrize(
    "metric", ["euclidean", "l2", "manhattan", "l1", "cosine", "angle"]
)
def test_neighbors_are_those_of_scikit_learn(metric):
    points, queries = np.split(clusters(140), [120])
    if metric == "angle":
        exact = NearestNeighbors(
            n_neighbors=4,
            metric=lambda a, b: angles(a[np.newaxis], b[np.newaxis])[0, 0],
        )
    else:
        exact = NearestNeighbors(n_neighbors=4, metric=metric)
    exact.fit(points)
    ours = LSHNeighbors(metric, n_neighbors=4, recall=0.999).fit(points)
    for x in (None, queries):
        distances, places = ours.kneighbors(x)
        wanted, at = exact.kneighbors(x)
        assert (places == at).mean() > 0.97
        np.testing.assert_allclose(
            distances[places == at], wanted[places == at], rtol=1e-6, atol=1e-7
        )
        assert (np.diff(distances, axis=1) >= 0).all()


def test_neighbors_within_a_radius():
    points, queries = np.split(clusters(340), [300])
    ours = LSHNeighbors(radius=1.5, recall=0.99).fit(points)
    exact = NearestNeighbors(radius=1.5).fit(points)
    for x in (None, queries):
        distances, places = ours.radius_neighbors(x)
        wanted = exact.radius_neighbors(x, return_distance=False)
        assert all(
            set(mine.tolist()) <= set(all_of_them.tolist())
            for mine, all_of_them in zip(places, wanted, strict=True)
        )
        assert sum(map(len, places)) > 0.98 * sum(map(len, wanted))
        assert all((np.diff(each) >= 0).all() for each in distances)
        assert [
            each.tolist() for each in ours.radius_neighbors(x, return_distance=False)
        ] == [each.tolist() for each in places]


def test_a_query_always_has_as_many_neighbors_as_asked():
    """Beyond the radius hashing finds few: all distances are computed then."""
    points = clusters()
    ours = LSHNeighbors(n_neighbors=40, radius=0.01).fit(points)
    distances, places = ours.kneighbors()
    wanted, at = NearestNeighbors(n_neighbors=40).fit(points).kneighbors()
    assert (places == at).mean() > 0.999
    np.testing.assert_allclose(distances, wanted)


@pytest.mark.slow
def test_graphs():
    points, queries = np.split(clusters(340), [300])
    for mode in ("distance", "connectivity"):
        ours = LSHNeighbors(n_neighbors=4, mode=mode, recall=0.9999).fit(points)
        theirs = KNeighborsTransformer(n_neighbors=4, mode=mode).fit(points)
        for x in (points, queries):
            difference = abs(ours.transform(x) - theirs.transform(x))
            assert (difference.data > 1e-9).sum() < 40
        ours = LSHNeighbors(radius=1.0, graph="radius", mode=mode, recall=0.9999).fit(
            points
        )
        theirs = RadiusNeighborsTransformer(radius=1.0, mode=mode).fit(points)
        assert ours.transform(queries).nnz > 0.999 * theirs.transform(queries).nnz
    assert ours.kneighbors_graph(n_neighbors=2).toarray().sum() == 600
    assert (ours.kneighbors_graph(n_neighbors=2).diagonal() == 0).all()
    assert (ours.radius_neighbors_graph().diagonal() == 0).all()


def test_clusters_of_a_pipeline():
    points = clusters()
    pipeline = make_pipeline(
        LSHNeighbors(radius=1.5, graph="radius", recall=0.999),
        DBSCAN(eps=1.5, min_samples=3, metric="precomputed"),
    )
    assert (
        pipeline.fit_predict(points)
        == DBSCAN(eps=1.5, min_samples=3).fit_predict(points)
    ).all()


@pytest.mark.weekly
def test_an_embedding_of_a_pipeline():
    points = clusters(120)
    embedding = TSNE(
        metric="precomputed", init="random", perplexity=10, random_state=1, max_iter=250
    )
    assert make_pipeline(LSHNeighbors(n_neighbors=40), embedding).fit_transform(
        points
    ).shape == (120, 2)


@pytest.mark.slow
def test_sparse_points():
    points = clusters()
    points[np.abs(points) < 2] = 0
    points[:, 0] += 1
    matrix = scipy.sparse.csr_matrix(points)
    for metric in ("euclidean", "cosine", "angle", "manhattan"):
        dense, sparse = (
            LSHNeighbors(metric, n_neighbors=3, recall=0.9999).fit(each)
            for each in (points, matrix)
        )
        for x in (None, matrix[:20]):
            np.testing.assert_allclose(
                sparse.kneighbors(x)[0],
                dense.kneighbors(None if x is None else points[:20])[0],
                atol=1e-6,
            )


def test_copies_are_neighbors():
    ours = LSHNeighbors(n_neighbors=2).fit(np.ones((10, 3)))
    distances, places = ours.kneighbors()
    assert (distances == 0).all()
    assert (places != np.arange(10)[:, np.newaxis]).all()


@pytest.mark.weekly
def test_equal_seeds_and_pickles_answer_alike():
    points = clusters()
    ours = LSHNeighbors(n_neighbors=3, random_state=7).fit(points)
    for other in (pickle.loads(pickle.dumps(ours)), clone(ours).fit(points)):
        for mine, theirs in zip(ours.kneighbors(), other.kneighbors(), strict=True):
            assert (mine == theirs).all()
    LSHNeighbors(random_state=np.random.RandomState(3), n_jobs=-1).fit(
        points
    ).kneighbors(points[:2])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"metric": "hamming"},
            ValueError,
            "metric must be one of euclidean, cosine, manhattan",
        ),
        ({"graph": "all"}, ValueError, "graph must be one of kneighbors, radius"),
        ({"mode": "weights"}, ValueError, "mode must be one of distance, connectivity"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors must be an int"),
        ({"recall": 1.0}, ValueError, r"recall must be in \(0, 1\)"),
        ({"radius": -1.0}, ValueError, "radius must be"),
    ],
)
def test_parameters_that_cannot_be(parameters, error, message):
    with pytest.raises(error, match=message):
        LSHNeighbors(**parameters).fit(clusters(20))


def test_what_cannot_be_asked():
    ours = LSHNeighbors(n_neighbors=5).fit(clusters(20))
    with pytest.raises(
        ValueError,
        match="Expected n_neighbors <= n_samples_fit - 1, but n_neighbors = 20",
    ):
        ours.kneighbors(n_neighbors=20)
    with pytest.raises(
        ValueError, match="Expected n_neighbors <= n_samples_fit, but n_neighbors = 21"
    ):
        ours.kneighbors(clusters(2), n_neighbors=21)
    with pytest.raises(ValueError, match="mode must be 'connectivity' or 'distance'"):
        ours.kneighbors_graph(mode="ones")
    with pytest.raises(ValueError, match="zero vector"):
        LSHNeighbors("cosine").fit(np.zeros((5, 2)))


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("metric", "points"),
    [
        ("manhattan", np.repeat([[1.7e12], [1.8e12]], 10, 0)),
        ("euclidean", np.repeat([[1.7e18], [1.8e18]], 10, 0)),
        ("angle", np.array([[1.0], [-1.0], [2.0], [-3.0]])),
        ("cosine", np.array([[1.0], [-1.0], [2.0], [-3.0]])),
    ],
)
def test_a_typical_radius_that_cannot_be_planned_is_changed(metric, points):
    """Most points have copies far from the origin, or their neighbours are opposite."""
    ours = LSHNeighbors(metric, n_neighbors=3).fit(points)
    assert ours.kneighbors(return_distance=False).shape == (len(points), 3)


def test_a_graph_of_distances_needs_one_more_point():
    ours = LSHNeighbors(n_neighbors=2).fit([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(
        ValueError,
        match="n_neighbors must be less than n_samples_fit = 2 with mode='distance'",
    ):
        ours.transform([[1.0, 2.0]])


@pytest.mark.slow
@pytest.mark.one_case
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "angle", "cosine"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_typical_radius_is_that_of_the_index(metric, as_sparse):
    """The same rule chooses it: by a sample of all points, for as many neighbors."""
    points = np.random.default_rng(2).standard_normal((400, 8))
    given = scipy.sparse.csr_matrix(points) if as_sparse else points
    ours = LSHNeighbors(metric, n_neighbors=4, random_state=3).fit(given)
    index = NearNeighbors(
        metric, dim=8, n=400, sample=points, k=4, dtype="float64", seed=3
    )
    expected = (
        index.plan.radius if index.plan.threshold is None else 1 - index.plan.threshold
    )
    assert ours.radius_ == pytest.approx(expected, rel=1e-12)
    assert (
        0.9 < np.mean(ours.kneighbors(n_neighbors=4)[0][:, -1] <= ours.radius_) < 0.99
    )
