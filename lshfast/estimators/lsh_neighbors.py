"""`LSHNeighbors`: near-neighbour search as an estimator of scikit-learn."""

# mypy: allow-subclassing-any
# scikit-learn has no types.
from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_number
from lshfast._common.choices import MEASURE_SYNONYMS
from lshfast._common.extras import optional
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import Float64Array, Int64Array
from lshfast.index.keys import lists_of
from lshfast.index.neighbors.bounds import format_metric
from lshfast.index.neighbors.near_neighbors import NearNeighbors
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.neighbors.samples import (
    PointSample,
    bound_for_neighbors,
    without_own,
)

base: Any = optional("sklearn.base", "sklearn")
validation: Any = optional("sklearn.utils.validation", "sklearn")
sparse: Any = optional("scipy.sparse", "sklearn")

# Sparse points of queries may have this many times the nonzeros of the longest fitted point.
SPARSE_ROOM = 2

METRICS = ("euclidean", "cosine", "manhattan", "angle")


class LSHNeighbors(
    base.ClassNamePrefixFeaturesOutMixin, base.TransformerMixin, base.BaseEstimator
):
    """Find near neighbors by locality-sensitive hashing, as ``sklearn.neighbors`` does.

    `fit` builds a `NearNeighbors` index. `transform` returns a sparse graph of neighbors, as
    ``KNeighborsTransformer`` and ``RadiusNeighborsTransformer`` do. Estimators with
    ``metric="precomputed"``, such as DBSCAN and TSNE, accept it.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "angle", "manhattan"}, default "euclidean"
        "cosine" is 1 - the cosine, in [0, 2], as in scikit-learn; "angle" is the angle in radians,
        in [0, pi]. "l2" is "euclidean", and "l1" is "manhattan".
    n_neighbors : int, default 5
        Neighbors that `kneighbors` and `transform` return.
    radius : float, optional
        Distance up to which the recall is promised, also in `radius_neighbors`. By default, a
        distance within which 95 % of a sample of the fitted points have `n_neighbors` other points;
        at most 3/4 pi with "angle", the same with "cosine", and otherwise at least 2**-40 of the
        largest coordinate.
    recall : float, default 0.95
        Least probability, in (0, 1), of finding a point at the distance `radius`; nearer ones are
        found with a higher probability.
    graph : {"kneighbors", "radius"}, default "kneighbors"
        The graph that `transform` returns.
    mode : {"distance", "connectivity"}, default "distance"
        Whether the entries of the graph of `transform` are distances or ones. As in scikit-learn, a
        graph of distances of nearest neighbors has one more neighbor in each row, since a fitted
        point finds itself.
    n_jobs : int, optional
        Threads; None is 1, and -1 is the number of CPUs that this process may use. The result does
        not depend on it.
    random_state : int, RandomState or None, default 1
        Seed of the hash functions.

    Attributes
    ----------
    index_ : NearNeighbors
        The index; its keys are the row numbers of the fitted points.
    radius_ : float
        The radius of the index.
    n_samples_fit_, n_features_in_ : int
    feature_names_in_ : ndarray of str
        Defined if the fitted data has columns with names.

    See Also
    --------
    lshfast.NearNeighbors : An index of points or sets that finds near neighbours.

    Notes
    -----
    All distances are exact. If hashing finds fewer than `n_neighbors` neighbors of a query, its
    distances to all points are computed, so `kneighbors` always returns as many as asked.

    If sparse points are fitted, a point of a query may have at most twice as many coordinates that
    are not zero as the longest of them.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.estimators import LSHNeighbors
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0]])
    >>> neighbors = LSHNeighbors(n_neighbors=1, radius=2.0).fit(points)
    >>> distances, places = neighbors.kneighbors([[0.9, 0.0], [5.0, 5.5]])
    >>> places.tolist()
    [[1], [2]]
    >>> neighbors.fit_transform(points).toarray().tolist()[0]
    [0.0, 1.0, 0.0, 0.0]
    """

    index_: NearNeighbors
    radius_: float
    n_samples_fit_: int
    n_features_in_: int

    def __init__(
        self,
        metric: Literal[
            "euclidean", "l2", "cosine", "angle", "manhattan", "l1"
        ] = "euclidean",
        *,
        n_neighbors: int = 5,
        radius: float | None = None,
        recall: float = 0.95,
        graph: Literal["kneighbors", "radius"] = "kneighbors",
        mode: Literal["distance", "connectivity"] = "distance",
        n_jobs: int | None = None,
        random_state: Any = 1,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.recall = recall
        self.graph = graph
        self.mode = mode
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> LSHNeighbors:
        """Index the points.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        LSHNeighbors
            This estimator.

        Raises
        ------
        TypeError, ValueError
            If a parameter has the wrong type or is out of range, or X is not valid.
        """
        choices_by_name = {
            "metric": (*METRICS, *MEASURE_SYNONYMS),
            "graph": ("kneighbors", "radius"),
            "mode": ("distance", "connectivity"),
        }
        for name, choices in choices_by_name.items():
            value = getattr(self, name)
            if value not in choices:
                raise ValueError(
                    f"{name} must be one of {', '.join(choices)}, not {value!r}"
                )
        points = self._points(X, reset=True)
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = (
                optional("sklearn.utils", "sklearn")
                .check_random_state(seed)
                .randint(2**31 - 1)
            )
        self._fit_X = points
        self._seed = int(seed)
        self.n_samples_fit_ = points.shape[0]
        format = self._format(points)
        sample = PointSample(format, format.check(points)[1], self._seed % 2**32)
        self.radius_ = (
            self._typical_radius(sample) if self.radius is None else self.radius
        )
        self._sample = sample.distances if len(sample) > 1 else np.zeros(1)
        self.index_ = self._made(points)
        return self

    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """Find the nearest neighbors of each point.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n_queries, n_features), optional
            By default, the fitted points, none of which is its own neighbor.
        n_neighbors : int, optional
            By default, as for the estimator.
        return_distance : bool, default True

        Returns
        -------
        distances : ndarray of float64, shape (n_queries, n_neighbors)
            Ascending. Only returned if `return_distance` is true.
        places : ndarray of int64, shape (n_queries, n_neighbors)
            Row numbers of the fitted points.

        Raises
        ------
        ValueError
            If there are fewer than `n_neighbors` points.
        """
        validation.check_is_fitted(self)
        k = self._count(n_neighbors)
        of_fitted = X is None
        if k + of_fitted > self.n_samples_fit_:
            less_one = " - 1" if of_fitted else ""
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit{less_one}, but n_neighbors = {k} and "
                f"n_samples_fit = {self.n_samples_fit_}"
            )
        points = self._fit_X if of_fitted else self._points(X)
        places, distances = self._nearest(points, k + of_fitted)
        if of_fitted:
            places, distances = _without_own(places, distances)
        return (distances, places) if return_distance else places

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Find the neighbors within a radius of each point.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n_queries, n_features), optional
            As for `kneighbors`.
        radius : float, optional
            By default, `radius_`. Beyond it, the recall falls.
        return_distance : bool, default True
        sort_results : bool, default False
            Results are always sorted by distance.

        Returns
        -------
        distances : ndarray of object, shape (n_queries,)
            Arrays of float64. Only returned if `return_distance` is true.
        places : ndarray of object, shape (n_queries,)
            Arrays of int64.
        """
        validation.check_is_fitted(self)
        offsets, places, distances = self._within(X, radius)
        lists = [
            _as_objects(np.split(part, offsets[1:-1])) for part in (distances, places)
        ]
        return (lists[0], lists[1]) if return_distance else lists[1]

    def kneighbors_graph(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> Any:
        """Return the graph of nearest neighbors as a CSR matrix, (n_queries, n_samples_fit).

        Parameters
        ----------
        X, n_neighbors
            As for `kneighbors`.
        mode : {"connectivity", "distance"}, default "connectivity"
            Whether the entries are ones or distances.
        """
        distances, places = self.kneighbors(X, n_neighbors)
        offsets = int64_range(0, places.size + 1, places.shape[1])
        return self._graph(offsets, places.reshape(-1), distances.reshape(-1), mode)

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
        sort_results: bool = False,
    ) -> Any:
        """Return the graph of neighbors within a radius as a CSR matrix.

        Its shape is (n_queries, n_samples_fit).

        Parameters
        ----------
        X, radius, sort_results
            As for `radius_neighbors`.
        mode : {"connectivity", "distance"}, default "connectivity"
        """
        validation.check_is_fitted(self)
        return self._graph(*self._within(X, radius), mode)

    def transform(self, X: Any) -> Any:
        """Return the graph of the neighbors of points among the fitted ones as a CSR matrix.

        Its shape is (n_queries, n_samples_fit).

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n_queries, n_features)
        """
        validation.check_is_fitted(self)
        if self.graph == "radius":
            return self.radius_neighbors_graph(X, mode=self.mode)
        with_itself = self.mode == "distance"
        if with_itself and self._count(None) >= self.n_samples_fit_:
            raise ValueError(
                f"n_neighbors must be less than n_samples_fit = {self.n_samples_fit_} with "
                f"mode='distance', which returns one more, not {self._count(None)}"
            )
        return self.kneighbors_graph(X, self._count(None) + with_itself, mode=self.mode)

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    # ---- parts ----

    def _points(self, X: Any, *, reset: bool = False) -> Any:
        return validation.validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
        )

    def _count(self, n_neighbors: int | None) -> int:
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, (int, np.integer)):
            raise TypeError(f"n_neighbors must be an int, not {k!r}")
        if k < 1:
            raise ValueError(f"n_neighbors must be at least 1, not {k}")
        return int(k)

    def _threads(self) -> int | None:
        if self.n_jobs is None:
            return 1
        return None if self.n_jobs == -1 else self.n_jobs

    def _format(self, points: Any) -> PointFormat:
        """Return the format in which an index stores some points."""
        nonzeros = None
        if sparse.issparse(points):
            longest = int(np.diff(points.indptr).max(initial=1))
            nonzeros = min(points.shape[1], SPARSE_ROOM * longest)
        metric = format_metric(self.metric)
        return PointFormat(metric, points.shape[1], points.dtype.name, nonzeros)

    def _made(self, points: Any) -> NearNeighbors:
        """Return the index of the fitted points."""
        format = self._format(points)
        dtype: Any = format.dtype
        index = NearNeighbors(
            self.metric,
            dim=format.dim,
            n=points.shape[0],
            recall=self.recall,
            dtype=dtype,
            nonzeros=format.nonzeros,
            seed=self._seed,
            sample=self._sample,
            **self._bound(self.radius_),
        )
        index.warns = False  # all distances are computed if fewer than k are found
        index.insert(int64_range(points.shape[0]), points, threads=self._threads())
        return index

    def _bound(self, radius: float) -> dict[str, Any]:
        """Return the arguments of `NearNeighbors` for a radius, which may be 1 - the cosine."""
        if self.metric != "cosine":
            return {"radius": radius}
        if not 0 <= check_number("radius", radius) <= 2:
            raise ValueError(
                "radius must be in [0, 2] with the metric cosine, where it is 1 - cosine, not "
                f"{radius}"
            )
        return {"threshold": 1 - radius}

    def _typical_radius(self, sample: PointSample) -> float:
        """Return a distance within which most of the fitted points have `n_neighbors` others."""
        n = len(sample)
        k = min(self._count(None), n - 1)
        if k == 0:
            return 1.0
        bound = bound_for_neighbors(sample, n, k, self.metric == "cosine")
        return bound.radius if bound.threshold is None else 1 - bound.threshold

    def _nearest(self, points: Any, k: int) -> tuple[Int64Array, Float64Array]:
        """Return the places and distances of the k nearest points of each query, (m, k)."""
        threads = self._threads()
        answers: Any = self.index_.query(points, k, threads=threads)
        counts = np.diff(answers.offsets)
        places = np.empty((len(counts), k), np.int64)
        distances = np.empty((len(counts), k))
        complete = np.flatnonzero(counts == k)
        is_complete = np.repeat(counts == k, counts)
        places[complete] = np.asarray(answers.keys)[is_complete].reshape(-1, k)
        distances[complete] = answers.distance[is_complete].reshape(-1, k)
        incomplete = np.flatnonzero(counts < k)
        if len(incomplete):
            answers = self.index_.scan(points[incomplete], k, threads=threads)
            places[incomplete] = np.asarray(answers.keys).reshape(-1, k)
            distances[incomplete] = answers.distance.reshape(-1, k)
        return places, distances

    def _within(
        self, X: Any, radius: float | None
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return offsets, places and distances of the neighbors within a radius."""
        points = self._fit_X if X is None else self._points(X)
        bound = self._bound(self.radius_ if radius is None else radius)
        answers: Any = self.index_.within(points, **bound, threads=self._threads())
        offsets = answers.offsets
        places = np.asarray(answers.keys, np.int64)
        distances = answers.distance
        if X is None:
            query = lists_of(offsets)
            is_other = places != query
            counts = np.bincount(query[is_other], minlength=len(answers))
            offsets = offsets_of(counts)
            places = places[is_other]
            distances = distances[is_other]
        return offsets, places, distances

    def _graph(
        self,
        offsets: Int64Array,
        places: Int64Array,
        distances: Float64Array,
        mode: str,
    ) -> Any:
        if mode not in ("connectivity", "distance"):
            raise ValueError(f"mode must be 'connectivity' or 'distance', not {mode!r}")
        values = np.ones(len(distances)) if mode == "connectivity" else distances
        shape = (len(offsets) - 1, self.n_samples_fit_)
        return sparse.csr_matrix((values, places, offsets), shape=shape)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("index_", None)
        return state

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if "_fit_X" in self.__dict__:
            self.index_ = self._made(self._fit_X)


def _without_own(
    places: Int64Array, distances: Float64Array
) -> tuple[Int64Array, Float64Array]:
    """Leave out each fitted point from its k + 1 neighbors, or else the last neighbor."""
    n, k = places.shape
    is_other = without_own(places, int64_range(n))
    return places[is_other].reshape(n, k - 1), distances[is_other].reshape(n, k - 1)


def _as_objects(parts: list[npt.NDArray[Any]]) -> npt.NDArray[np.object_]:
    array = np.empty(len(parts), object)
    for place, part in enumerate(parts):
        array[place] = part
    return array
