"""NearNeighbors: add and remove points, and find those near a query, with a promised recall."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import Seed, check_int, check_number, check_seed
from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.display import counted
from lshfast._common.threads import thread_count
from lshfast._common.types import AnyShape, Matrix, UInt64Array, Vector
from lshfast.families.family import family_of
from lshfast.index.apart import IsApart, answers_apart, nearest_apart, pairs_apart
from lshfast.index.index_stats import stats_of
from lshfast.index.key_pairs import pairs_once, pairs_with_others
from lshfast.index.keys import Column, as_column, column_for, listed
from lshfast.index.neighbors.answers import (
    Neighbor,
    NeighborLists,
    NeighborPairs,
    NeighborStats,
)
from lshfast.index.neighbors.bounds import (
    Bound,
    Metric,
    check_apart,
    check_bound,
    cosine_at,
    format_metric,
)
from lshfast.index.neighbors.families import families_of
from lshfast.index.neighbors.few_neighbors import (
    FewNeighborsWarning,
    NeighborCounts,
    advice_of,
)
from lshfast.index.neighbors.plan import NeighborsPlan
from lshfast.index.neighbors.planner import FAR, PlanRequest, plan_neighbors
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.neighbors.samples import (
    PointSample,
    bound_for_neighbors,
    plan_for_sample,
    sample_of,
)
from lshfast.index.neighbors.search import NeighborSearch
from lshfast.index.protocol import PointsToIndex
from lshfast.index.stored import StoredIndex, check_store
from lshfast.index.stores.base import MOST_NEAREST, Store
from lshfast.index.stores.memory import MemoryStore
from lshfast.index.stores.values import (
    Limit,
    OnDuplicate,
    Parameters,
    check_on_duplicate,
)

# The recall that is promised by default. An opened index promises no more, since the recall that
# was requested is not stored.
DEFAULT_RECALL = 0.95

# A search by the cosine goes a little beyond the angle at the threshold, which is rounded.
BEYOND = 1e-7

# The types of queries of unknown number, of one query, and of several queries.
SomePoints: TypeAlias = (
    AnyShape[np.float32] | AnyShape[np.float64] | AnyShape[np.uint64]
)
OnePoint: TypeAlias = Vector[np.float32] | Vector[np.float64] | Vector[np.uint64]
NearMode: TypeAlias = Literal["first", "closest"]
ManyPoints: TypeAlias = Matrix[np.float32] | Matrix[np.float64] | Matrix[np.uint64]


class NearNeighbors(StoredIndex):
    """Index points, and find the points near a query with a promised recall.

    A query finds each entry within `radius` with a probability of at least `recall`.

    An entry is a key and a point. Locality-sensitive hash functions put it into a bucket of each of
    several tables. A query computes its exact distance to the entries of the buckets that it
    searches, and returns the nearest. Up to about a million vectors with "angle" or "cosine", it
    scans codes instead: the sides of random hyperplanes on which the vectors lie. Then it computes
    its distance to the entries with near codes. It may miss an entry, but every distance is exact.
    The plan of the tables or codes is made before anything is inserted. It is the plan that has the
    smallest product of query time and memory and reaches the recall: see `describe`.

    Parameters
    ----------
    metric : {"angle", "cosine", "euclidean", "manhattan", "hamming"}
        "angle" is the angle between vectors in radians, in [0, pi]. "cosine" is its cosine: the
        bound is a `threshold`, and the distances in answers are 1 - the cosine, in [0, 2].
        "hamming" is the number of different bits. "l2" is "euclidean", and "l1" is "manhattan".
    radius : float, optional
        Distance up to which the recall is promised, above 0: for "angle" in radians, for "hamming"
        in bits. With k, it must be as large as the distance of the k-th nearest entry: entries
        beyond it are found with a lower recall, or not at all. Without it, `sample` and `k` choose
        it.
    threshold : float, optional
        With "cosine", the bound instead of `radius`: the least cosine at which the recall is
        promised, in [-1, 1).
    dim : int
        Coordinates of a vector, or bits of a code.
    n : int
        Expected number of entries. More entries are possible; queries then examine more of them.
    recall : float, default 0.95
        Least probability, in (0, 1), that a query finds an entry at distance `radius`. Nearer
        entries are found with a higher probability. It is over the choice of the hash functions,
        which the seed determines. With a `sample` of points, the functions of this seed are checked
        too.
    c : float, optional
        Approximation factor, above 1, for which the plan keeps the promise of `near`.
    dtype : {"float32", "float64"}, default "float32"
        Type of the stored coordinates. Points of another type are rounded to it when they are
        inserted or queried.
    nonzeros : int, optional
        The most coordinates of a point that are not zero, for sparse points: CSR matrices are then
        stored as such. Without it, points are stored dense, and rows of CSR matrices are converted.
    sample : array_like, optional
        Points like the entries, (m, dim) and at least 2, as for `insert`: the plan is for their
        distances and, if `radius` is not given, for the radius of their neighbors; and it has the
        recall with the functions of this seed among them. Or distances between some queries and
        entries, in one dimension (in radians for angles and cosines), for the plan only. Without
        it, the plan is for entries at twice the radius (or c times, if c is given): one in 100 of
        them with angles and bits, where the others are at right angles or half of the bits, and
        otherwise all.
    k : int, optional
        The neighbors that queries are for, at least 1. It chooses the radius by a `sample` of
        points: 95 % of the points of the sample have k entries within it, as far as the sample
        tells. See the notes.
    memory : int, optional
        The most bytes that `n` entries may need.
    bands, rows_per_band, probes : int, optional
        Tables, hash functions of a table, and searched buckets of a table, instead of a choice.
        With `bands`, `describe` shows the recall.
    method : {"tables", "codes"}, optional
        With "codes", which are for "angle" and "cosine", a query scans the codes of all entries,
        and computes its distance to those with near codes. With "tables", it reads buckets of hash
        tables. By default, the one that is expected to cost less; tables if `bands`,
        `rows_per_band` or `probes` is given, or with a `RedisStore`.
    seed : int or "random", default 1
        Seed of the hash functions, in 0..2**64 - 1.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        The action of `insert` for a key that is in the index, or twice in a batch, as for
        `LSHIndex`.
    store : Store, optional
        The store of the entries, such as `LmdbStore` or `RedisStore`. The default is memory.

    Attributes
    ----------
    plan : NeighborsPlan
        Family, tables, and the expected results of a query.
    warns : bool
        Whether `query` warns with `FewNeighborsWarning`; true at first. Set it to false if you
        expect fewer than k neighbors.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range, no plan keeps the promise, or `store` contains entries with
        other parameters.

    See Also
    --------
    lshfast.HammingIndex : An exact index of binary codes.
    lshfast.LSHForest : Find the entries that are most similar, without a threshold.
    lshfast.LSHIndex : An index of signatures, in memory or in a file.

    Notes
    -----
    A key is any hashable object except None and NaN, as for `LSHIndex`. Points are arrays of
    numbers, (n, dim), or one point, (dim,); CSR matrices; with "hamming", packed codes, uint64 (n,
    ceil(dim / 64)), where bit i is bit i % 64 of word i // 64. Coordinates must be finite, and with
    "float64" at most 1e75 in magnitude. With "angle" and "cosine", zero vectors raise ValueError.

    Distances are computed in double precision. Their relative error is about 1e-15; the error of an
    angle near 0 is at most 3e-8 radians.

    Threads, interrupts and batches are as for `LSHIndex`.

    The radius for `k` neighbors is computed from m points of a `sample` as follows. There are n / m
    entries for a point of the sample, so the k-th nearest of the entries is about as far away as
    the j-th nearest of the sample, where j is k m / n, rounded up to 1 or more. The distance of the
    j-th nearest other point is computed for at most 256 points of the sample, and the radius is the
    one that 95 % of these distances do not exceed. Queries like the sample have k entries within it
    in 92 % to 98 % of the cases, for 19 of 20 samples, if j is not rounded. Rounding makes the
    radius larger: queries take longer then, and the recall is not lower.

    References
    ----------
    P. Indyk, R. Motwani, "Approximate nearest neighbors: towards removing the curse of
    dimensionality", STOC 1998; Q. Lv et al., "Multi-probe LSH: efficient indexing for
    high-dimensional similarity search", VLDB 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import NearNeighbors
    >>> points = np.array([[0, 0], [1, 0], [5, 5]])
    >>> index = NearNeighbors("euclidean", radius=2, dim=2, n=3, recall=0.99)
    >>> index.insert(["a", "b", "c"], points)
    3
    >>> index.query([1, 0.5], k=2)
    [Neighbor(key='b', distance=0.5), Neighbor(key='a', distance=1.118033988749895)]
    >>> index.remove("b")
    >>> index.within([1, 0.5])
    [Neighbor(key='a', distance=1.118033988749895)]
    """

    plan: NeighborsPlan
    warns: bool
    on_duplicate: OnDuplicate
    _points: PointFormat
    _search: NeighborSearch

    def __init__(
        self,
        metric: Metric,
        radius: float | None = None,
        *,
        threshold: float | None = None,
        dim: int,
        n: int,
        recall: float = DEFAULT_RECALL,
        c: float | None = None,
        dtype: Literal["float32", "float64"] = "float32",
        nonzeros: int | None = None,
        sample: Any = None,
        k: int | None = None,
        memory: int | None = None,
        bands: int | None = None,
        rows_per_band: int | None = None,
        probes: int | None = None,
        method: Literal["tables", "codes"] | None = None,
        seed: Seed = 1,
        on_duplicate: OnDuplicate = "error",
        store: Store | None = None,
    ) -> None:
        points = PointFormat(format_metric(metric), dim, dtype, nonzeros)
        bound = check_bound(metric == "cosine", radius, threshold, points)
        store = MemoryStore() if store is None else check_store(store)
        if method is None and not store.scans:
            method = "tables"
        seed = check_seed(seed)
        sampled = sample_of(points, sample, seed)
        if bound is None:
            bound = bound_for_neighbors(sampled, n, k, metric == "cosine")
        elif k is not None:
            raise ValueError(
                "k is for a radius that is chosen by a sample: leave out k or the bound"
            )
        distances = sampled.distances if isinstance(sampled, PointSample) else sampled
        request = PlanRequest(
            points,
            bound.radius,
            recall,
            n,
            c,
            distances,
            memory,
            bands,
            rows_per_band,
            probes,
            method,
        )
        families = families_of(points, request.radius, seed)
        if isinstance(sampled, PointSample):
            plan = plan_for_sample(request, families, sampled)
        else:
            plan = plan_neighbors(request, families)
        plan = replace(plan, threshold=bound.threshold)
        measure = points.measure
        store.bind(
            Parameters(
                plan.slots,
                plan.bands,
                1,
                "",
                0,
                None,
                family=plan.describe(),
                payload=measure.words,
                measure=measure.text,
            )
        )
        self._use_store(store, on_duplicate)
        self._promised = recall

    def _use_store(self, store: Store, on_duplicate: OnDuplicate) -> None:
        check_on_duplicate(on_duplicate)
        parameters = check_store(store).parameters
        if parameters is None:
            raise ValueError(
                "the store has no parameters: pass it to NearNeighbors(..., store=store) first"
            )
        plan = family_of(parameters.family) if parameters.family else None
        if not isinstance(plan, NeighborsPlan):
            raise ValueError(
                "the store does not contain an index of near neighbors: open it with LSHIndex"
            )
        self.store = store
        self.plan = plan
        self.on_duplicate = on_duplicate
        self.parameters = parameters
        self._points = plan.points
        self.warns = True
        self._promised = min(DEFAULT_RECALL, plan.recall)
        self._counts = NeighborCounts()
        self._search = NeighborSearch.of(store, parameters, plan)

    # ---- writing ----

    def insert(self, keys: Any, points: Any, *, threads: int | None = None) -> int:
        """Insert one entry, or a batch of entries: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of n hashable objects
            One key for one point; a batch for several.
        points : array_like, shape (dim,) or (n, dim), a column of lists, or CSR matrix
            With "hamming", uint64 (ceil(dim / 64),) or (n, ceil(dim / 64)).
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use.

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        TypeError
            If a key cannot be stored, or the points are not numbers.
        DuplicateKeyError
            If a key is a duplicate and `on_duplicate` is "error"; the error names the first one.
        ValueError
            If the numbers of keys and points differ, or a point has a wrong dimension, NaN,
            infinite or too large coordinates, or no direction.
        """
        return self._insert(keys, points, self.on_duplicate, threads)

    def update(self, keys: Any, points: Any, *, threads: int | None = None) -> int:
        """Insert entries, and replace the points of keys that are in the index; see `insert`."""
        return self._insert(keys, points, "replace", threads)

    def _insert(
        self, keys: Any, points: Any, on_duplicate: OnDuplicate, threads: int | None
    ) -> int:
        items, words, single = self._points.check(points)
        column = column_for(keys, single)
        if len(column) != len(words):
            raise ValueError(
                f"there must be a key for each point, not {len(column)} for {len(words)}"
            )
        slots = self.plan.slots
        rows = np.empty((len(words), slots + words.shape[1]), np.uint64)
        rows[:, :slots] = self.plan.row_slots(items, threads=threads)
        rows[:, slots:] = words
        return self.store.insert(column, rows, on_duplicate, copy=False)

    # ---- reading ----

    def points_of(self, keys: Any) -> Any:
        """Return the stored points of a batch of keys.

        They are an array, (n, dim), packed codes, or `SparsePoints`.

        Raises
        ------
        KeyError
            With the first key that is not in the index.
        """
        column = as_column(keys)
        stored_keys, rows = self.store.entries_of(column)
        places = {key: place for place, key in enumerate(listed(stored_keys))}
        order = []
        for key in listed(column):
            if key not in places:
                raise KeyError(key)
            order.append(places[key])
        words = rows[np.array(order, np.int64)][:, self.parameters.num_perm :]
        return self._points.points_of(np.ascontiguousarray(words))

    @overload
    def query(
        self,
        points: SomePoints,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        examine: int | None = None,
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def query(
        self,
        points: OnePoint,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        examine: int | None = None,
        threads: int | None = None,
    ) -> list[Neighbor]: ...
    @overload
    def query(
        self,
        points: ManyPoints,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        examine: int | None = None,
        threads: int | None = None,
    ) -> NeighborLists: ...
    @overload
    def query(
        self,
        points: npt.ArrayLike,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        examine: int | None = None,
        threads: int | None = None,
    ) -> Any: ...
    def query(
        self,
        points: Any,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        examine: int | None = None,
        threads: int | None = None,
    ) -> list[Neighbor] | NeighborLists:
        """Find the k nearest entries of the searched buckets, or with near codes, for each query.

        With codes, a query ends when nearer entries would have nearer codes than the remaining
        ones. Each of the k nearest within the radius of the index is found with the recall of the
        plan. Beyond the radius, entries are found less often: `plan.recall_at` returns the
        probability at a distance. So choose a radius within which queries have k entries, by a
        `sample` for example.

        Parameters
        ----------
        points : array_like or CSR matrix
            One query or m queries, as for `insert`.
        k : int, default 10
            In 1..2**62. Fewer are returned if fewer are found.
        most : float, optional
            With "cosine", the greatest cosine of answers, in [-1, 1]: entries that are close, but
            no copies. `k` counts these only.
        least : float, optional
            With other metrics, the least distance of answers instead of `most`, at least 0.
        examine : int, optional
            The most entries, at least 1, whose distance is computed for a query. It bounds the time
            where many entries are in the same buckets or have near codes, and the recall is then
            not promised. Entries in the most promising buckets, or with the nearest codes, are
            examined first, and among equals the entries that were inserted first. With codes, it
            also bounds the entries that are kept for a query, by twice as many and a few thousand;
            the first 128 bits of all codes are read in any case. By default, all candidates are
            examined, as the recall needs.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        list of Neighbor, or NeighborLists of m such lists
            The nearest first, and equally near ones in the order of their keys. Distances are as
            for `Neighbor`.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or is out of range, or a query is not valid, as for
            `insert`.

        Warns
        -----
        FewNeighborsWarning
            Once for each index, if the radius is too small for k: at least ten queries, and a
            twentieth of all, have fewer than k answers within it, and the last of them found a
            smaller share of their k nearest entries than the promised recall. It names a radius
            that would do. Not for k = 1, and not with `most`, `least` or
            `examine`.
        """
        k = check_int("k", k, 1, MOST_NEAREST)
        if most is None and least is None and examine is None:
            neighbors = self._nearest_to_point(points, k, threads)
            if neighbors is not None:
                return neighbors
        limit = (
            None
            if examine is None
            else Limit("closest", check_int("examine", examine, 1))
        )
        is_apart = self._apart(most, least)
        items, words, single = self._points.check(points)
        count = thread_count(threads)
        if is_apart is not None:
            answers = self._search.near_apart(words, k, is_apart, count, limit)
            return answers[0] if single else answers
        answers = self._search.near(items, words, count, most=k, limit=limit)
        may_warn = self.warns and limit is None
        if may_warn and self._counts.are_outside(
            words, answers, k, self._search.bound_distance, self.__len__
        ):
            self._warn(3)
        return answers[0] if single else answers

    def _nearest_to_point(
        self, point: Any, k: int, threads: int | None
    ) -> list[Neighbor] | None:
        """Return the answer of `query` to one point, or None, as `near_point` does."""
        answer = self._search.near_point(point, threads, k, None)
        if answer is None:
            return None
        keys, distances, words = answer
        if (
            self.warns
            and self._counts.are_for(k)
            and self._counts.is_outside(
                words, distances, self._search.bound_distance, self.__len__
            )
        ):
            self._warn(4)
        return list(map(Neighbor, keys, distances.tolist()))

    def _warn(self, level: int) -> None:
        """Warn if the last queries miss nearest entries, `level` frames above."""
        advice = advice_of(self._counts, self._search, self._promised)
        if advice:
            warnings.warn(advice, FewNeighborsWarning, stacklevel=level)

    @overload
    def scan(
        self,
        points: SomePoints,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def scan(
        self,
        points: OnePoint,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> list[Neighbor]: ...
    @overload
    def scan(
        self,
        points: ManyPoints,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> NeighborLists: ...
    @overload
    def scan(
        self,
        points: npt.ArrayLike,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    def scan(
        self,
        points: Any,
        k: int = 10,
        *,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> list[Neighbor] | NeighborLists:
        """Find the k nearest of all entries, by computing all distances.

        Parameters
        ----------
        points, k, most, least, threads
            As for `query`.

        Returns
        -------
        list of Neighbor, or NeighborLists of m such lists
            As for `query`. Fewer than k only if the index has no more such entries.

        Examples
        --------
        >>> from lshfast import NearNeighbors
        >>> index = NearNeighbors("euclidean", radius=1, dim=2, n=2)
        >>> index.insert([7, 8], [[0, 0], [30, 40]])
        2
        >>> index.scan([0, 0], k=2)
        [Neighbor(key=7, distance=0.0), Neighbor(key=8, distance=50.0)]
        """
        k = check_int("k", k, 1, MOST_NEAREST)
        is_apart = self._apart(most, least)
        _, words, single = self._points.check(points)
        count = thread_count(threads)

        def nearest(queries: UInt64Array, k: int) -> NeighborLists:
            return self._search.nearest_of_all(queries, k, count)

        lists = nearest_apart(nearest, words, k, len(self), is_apart)
        return lists[0] if single else lists

    @overload
    def within(
        self,
        points: SomePoints,
        radius: float | None = None,
        *,
        threshold: float | None = None,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def within(
        self,
        points: OnePoint,
        radius: float | None = None,
        *,
        threshold: float | None = None,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> list[Neighbor]: ...
    @overload
    def within(
        self,
        points: ManyPoints,
        radius: float | None = None,
        *,
        threshold: float | None = None,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> NeighborLists: ...
    @overload
    def within(
        self,
        points: npt.ArrayLike,
        radius: float | None = None,
        *,
        threshold: float | None = None,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    def within(
        self,
        points: Any,
        radius: float | None = None,
        *,
        threshold: float | None = None,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> list[Neighbor] | NeighborLists:
        """Find the entries within a radius in the searched buckets, or with near codes.

        Parameters
        ----------
        points
            As for `query`.
        radius : float, optional
            At least 0; for "angle", in radians. The default is the radius of the index; beyond it,
            the recall falls to ``index.plan.recall_at(radius)``.
        threshold : float, optional
            With "cosine", instead of a radius: the least cosine, in [-1, 1). The default is the
            threshold of the index.
        most, least : float, optional
            As for `query`: a greatest cosine from the threshold on, or a least distance up to the
            radius.
        threads : int, optional
            As for `query`.

        Returns
        -------
        list of Neighbor, or NeighborLists of m such lists
            As for `query`.
        """
        bound = self._bound_or(radius, threshold)
        is_apart = self._apart(most, least, bound)
        within = self._search.bound_value
        if radius is not None or threshold is not None:
            within = bound.value_of(self._points)
        if is_apart is None:
            answer = self._search.near_point(points, threads, None, within)
            if answer is not None:
                keys, distances, _ = answer
                return list(map(Neighbor, keys, distances.tolist()))
        items, words, single = self._points.check(points)
        neighbors = self._search.near(
            items, words, thread_count(threads), within=within
        )
        answers = answers_apart(neighbors, is_apart)
        return answers[0] if single else answers

    @overload
    def near(
        self,
        points: SomePoints,
        *,
        c: float | None = None,
        mode: NearMode = "first",
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def near(
        self,
        points: OnePoint,
        *,
        c: float | None = None,
        mode: NearMode = "first",
        threads: int | None = None,
    ) -> Neighbor | None: ...
    @overload
    def near(
        self,
        points: ManyPoints,
        *,
        c: float | None = None,
        mode: NearMode = "first",
        threads: int | None = None,
    ) -> NeighborLists: ...
    @overload
    def near(
        self,
        points: npt.ArrayLike,
        *,
        c: float | None = None,
        mode: NearMode = "first",
        threads: int | None = None,
    ) -> Any: ...
    def near(
        self,
        points: Any,
        *,
        c: float | None = None,
        mode: NearMode = "first",
        threads: int | None = None,
    ) -> Neighbor | NeighborLists | None:
        """Find an entry within c * radius of each query, after a bounded number of distances.

        Let L be the number of searched buckets, ``plan.searched``. With codes, L is the expected
        number of entries with near codes, if all are c * radius away. "first" returns the first
        entry within c * radius, and gives up after 2 L entries beyond it; nearer ones do not count.
        "closest" returns the closest of the first 3 L entries, if it is within c * radius. An entry
        counts once, in however many buckets it is.

        If there is an entry within `radius`, and a searched bucket contains at most one entry from
        beyond c * radius on average, then "first" succeeds with a probability of at least recall -
        1/2, and "closest" with recall - 1/3. An index that was made with c keeps this. These are
        the bounds of the theory; most queries succeed.

        Parameters
        ----------
        points
            As for `query`.
        c : float, optional
            Above 1. The default is the c of the index, or 2.
        mode : {"first", "closest"}, default "first"
        threads : int, optional
            As for `query`.

        Returns
        -------
        Neighbor or None, or NeighborLists of m lists with at most one Neighbor

        References
        ----------
        A. Gionis, P. Indyk, R. Motwani, "Similarity Search in High Dimensions via Hashing", VLDB
        1999; S. Har-Peled, P. Indyk, R. Motwani, "Approximate Nearest Neighbor: Towards Removing
        the Curse of Dimensionality", 2012. Some texts end "first" after 2 L entries of any
        distance; then entries between radius and c * radius could use up the budget.
        """
        factor = check_number("c", (self.plan.c or FAR) if c is None else c)
        if not 1 < factor < np.inf:
            raise ValueError(f"c must be a finite number above 1, not {factor}")
        if mode not in ("first", "closest"):
            raise ValueError(f"mode must be 'first' or 'closest', not {mode!r}")
        limit = Limit(mode, (2 if mode == "first" else 3) * self.plan.searched)
        within = self._points.value_at(
            min(factor * self.plan.radius, self._points.longest)
        )
        items, words, single = self._points.check(points)
        answers = self._search.near(
            items, words, thread_count(threads), most=1, within=within, limit=limit
        )
        if not single:
            return answers
        return answers[0][0] if answers[0] else None

    def pairs(
        self,
        radius: float | None = None,
        *,
        threshold: float | None = None,
        most: float | None = None,
        least: float | None = None,
        threads: int | None = None,
    ) -> NeighborPairs:
        """Find the pairs of entries within a radius, each at least as probably as `within` does.

        Parameters
        ----------
        radius, threshold, most, least : float, optional
            As for `within`.
        threads : int, optional
            As for `query`.

        Returns
        -------
        NeighborPairs
            Sorted by (left, right), with left < right. Keys that cannot be compared are in the
            order of iteration.
        """
        bound = self._bound_or(radius, threshold)
        is_apart = self._apart(most, least, bound)
        within = bound.value_of(self._points)
        batches = []
        for keys, rows in self.store.items():
            words = np.ascontiguousarray(rows[:, self.parameters.num_perm :])
            points = self._points.points_of(words)
            answers = self._search.near(
                points, words, thread_count(threads), within=within
            )
            batches.append(pairs_with_others(keys, answers))
        return pairs_apart(NeighborPairs(*pairs_once(batches)), is_apart)

    def _bound_or(self, radius: float | None, threshold: float | None) -> Bound:
        """Return a checked bound, by default that of the plan."""
        by_cosine = self.plan.threshold is not None
        bound = check_bound(by_cosine, radius, threshold, self._points)
        return self._search.bound if bound is None else bound

    def _apart(
        self, most: float | None, least: float | None, bound: Bound | None = None
    ) -> IsApart | None:
        """Return which distances of answers are those of entries that are no copies."""
        return check_apart(
            self.plan.threshold is not None, most, least, bound, self._points
        )

    def by_angle(self) -> NearNeighbors:
        """Return this index, or for a cosine one on the same entries by angles."""
        if self.plan.threshold is None:
            return self
        index = copy.copy(self)
        index.plan = replace(self.plan, threshold=None)
        index._search = replace(self._search, plan=index.plan)
        return index

    # ---- for runs: see `IndexOfPoints` ----

    @property
    def holds(self) -> Kind:
        return "code" if self._points.metric == "hamming" else "vector"

    @property
    def point_format(self) -> PointFormat:
        """The format of the entries."""
        return self._points

    @property
    def measures(self) -> tuple[ItemMeasure, ...]:
        """The measures of a query, the default first."""
        metric = cast(ItemMeasure, self._points.metric)
        return ("cosine", "angle") if metric == "angle" else (metric,)

    @classmethod
    def made_for(cls, points: PointsToIndex) -> NearNeighbors:
        """Return an empty index for points."""
        format = points.format
        dtype: Any = format.dtype
        metric: Any = format.metric
        return cls(
            metric,
            points.bound,
            dim=format.dim,
            n=points.entries,
            recall=points.recall,
            dtype=dtype,
            seed=points.seed,
            on_duplicate=points.on_duplicate,
            sample=None if points.sample is None else format.points_of(points.sample),
        )

    def insert_points(self, keys: Column, points: Any, threads: int) -> int:
        """Insert a batch of entries; see `insert`."""
        return self.insert(keys, points, threads=threads)

    def about(self) -> str:
        """Return how the index searches, as text."""
        return self.describe()

    def bound_by(self, measure: ItemMeasure) -> float:
        """Return the bound of the index, by one of its measures."""
        if measure != "cosine":
            return self.plan.radius
        threshold = self.plan.threshold
        return cosine_at(self.plan.radius) if threshold is None else threshold

    def recall_at(self, distance: float) -> float:
        """Return the probability that an entry at a distance of the format is found."""
        return float(self.plan.recall_at(distance))

    def check_promise(self, distance: float) -> None:
        """Raise ValueError if the index promises no entries at a distance of the format."""
        radius = self.plan.radius
        if distance > radius * (1 + 1e-12):
            raise ValueError(
                f"this index promises to find points within distance {radius:g}, and the bound "
                f"of this run is {distance:g}"
            )

    def search_bound(
        self, points: Any, measure: ItemMeasure, bound: float, threads: int
    ) -> NeighborLists:
        """Return the entries within a bound by a measure, and perhaps some a little beyond it."""
        radius = math.acos(bound) + BEYOND if measure == "cosine" else bound
        index = self.by_angle()
        answers: NeighborLists = index.within(
            points, min(self._points.longest, radius), threads=threads
        )
        return answers

    def search_nearest(
        self,
        points: Any,
        k: int,
        is_apart: IsApart | None,
        unbounded: bool,
        threads: int,
    ) -> NeighborLists:
        """Return the k nearest entries, of those that are apart; see `IndexOfPoints`."""
        index = self.by_angle()
        index.warns = unbounded  # otherwise fewer than k are as expected
        if is_apart is None:
            answers: NeighborLists = index.query(points, k, threads=threads)
            return answers
        _, words, _ = self._points.check(points)
        return index._search.near_apart(words, k, is_apart, threads)

    def describe(self) -> str:
        """Return the plan as text: tables, recall, expected candidates, work and memory."""
        return str(self.plan)

    def stats(self) -> NeighborStats:
        """Return the figures of the index, such as bucket sizes and memory."""
        plan = self.plan
        return NeighborStats(
            **vars(stats_of(self.store, plan.bands, plan.rows_per_band)),
            probes=plan.probes,
        )

    def __repr__(self) -> str:
        try:
            size = counted(len(self), "entry", "entries")
        except (OSError, ValueError):
            size = "closed"
        return f"NearNeighbors({size}; {self.plan})"
