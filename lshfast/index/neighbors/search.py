"""The searches of an index of near neighbours, for points that are checked already."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lshfast._common.checks import array_of
from lshfast._common.types import Float64Array, UInt64Array
from lshfast.index.apart import IsApart, nearest_apart
from lshfast.index.neighbors.answers import NeighborLists
from lshfast.index.neighbors.bounds import Bound
from lshfast.index.neighbors.codes import CodesPlan
from lshfast.index.neighbors.equal_queries import find_equal_queries
from lshfast.index.neighbors.plan import NeighborsPlan
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.neighbors.scan import scan
from lshfast.index.stores.base import Store
from lshfast.index.stores.values import Limit, Neighbors, Parameters, joined
from lshfast.kernels.tables_codes import CodeSearcher

# Words of buckets that are searched at once, which bounds the memory of a batch of queries.
BLOCK_WORDS = 1 << 21


@dataclass(frozen=True)
class NeighborSearch:
    """The entries of a store, searched by a plan, or all of them.

    Points are in the form of the plan and, as `words`, in the form in which they are stored, uint64
    (m, words). The distances of answers are those of the format; if the plan has a threshold, they
    are 1 - the cosine.
    """

    store: Store
    parameters: Parameters
    plan: NeighborsPlan
    searcher: CodeSearcher | None

    @classmethod
    def of(
        cls, store: Store, parameters: Parameters, plan: NeighborsPlan
    ) -> NeighborSearch:
        """Return the search of the entries of a store."""
        searcher = plan.searcher() if isinstance(plan, CodesPlan) else None
        return cls(store, parameters, plan, searcher)

    @property
    def format(self) -> PointFormat:
        """The format of the points."""
        return self.plan.points

    @property
    def bound(self) -> Bound:
        """The bound of the plan."""
        return Bound(self.plan.radius, self.plan.threshold)

    @cached_property
    def bound_value(self) -> float:
        """The greatest value of the measure within the bound of the plan."""
        return self.bound.value_of(self.format)

    @cached_property
    def bound_distance(self) -> float:
        """The greatest distance in answers within the bound of the plan."""
        return float(self.distances(np.array(self.bound_value, np.float64)))

    def distances(self, values: Float64Array) -> Float64Array:
        """Return the distances of answers that values of the measure stand for."""
        if self.plan.threshold is not None:
            return values
        return self.format.distances(values)

    def distances_of_format(self, distances: Float64Array) -> Float64Array:
        """Return distances of answers, infinite for missing ones, as those of the format."""
        if self.plan.threshold is None:
            return distances
        missing = np.isinf(distances)
        angles = self.format.distances(np.where(missing, 0.0, distances))
        return np.where(missing, np.inf, angles)

    def near_point(
        self, point: Any, threads: int | None, most: int | None, within: float | None
    ) -> tuple[list[Any], Float64Array, UInt64Array] | None:
        """Return keys, distances and words of one point, or None: then search a batch of it.

        It is None unless codes are searched, and the point is a plain array or a list of floats.
        A batch of one point takes about four times as long, most of it for arrays of one row.
        """
        if self.searcher is None:
            return None
        if threads is not None and not (type(threads) is int and threads > 0):
            return None
        if type(point) is list and point and type(point[0]) is float:
            point = array_of(point, "points")
        answer = self.store.search_point(self.searcher, point, most, within)
        if answer is None:
            return None
        keys, values, words = answer
        return keys, self.distances(np.array(values, np.float64)), words

    def near(
        self,
        points: Any,
        words: UInt64Array,
        threads: int,
        *,
        most: int | None = None,
        within: float | None = None,
        limit: Limit | None = None,
    ) -> NeighborLists:
        """Return the entries that the plan finds near m points; equal points are searched once.

        The ends of a search are those of `Store.search`.
        """
        ends = {"most": most, "within": within, "limit": limit, "threads": threads}
        equal = find_equal_queries(words)
        if equal is None:
            return self._near_each(points, words, ends)
        words = words[equal.first]
        return equal.repeat(self._near_each(self.format.points_of(words), words, ends))

    def _near_each(
        self, points: Any, words: UInt64Array, ends: dict[str, Any]
    ) -> NeighborLists:
        """Search a block of points at a time."""
        plan = self.plan
        words_of_query = plan.searched * plan.rows_per_band
        if isinstance(plan, CodesPlan):
            words_of_query = plan.slots
        step = max(1, BLOCK_WORDS // words_of_query)
        parts = []
        for start in range(0, max(len(words), 1), step):
            block = slice(start, start + step)
            parts.append(self._near_block(points[block], words[block], ends))
        return self._lists(joined(parts))

    def _near_block(
        self, points: Any, words: UInt64Array, ends: dict[str, Any]
    ) -> Neighbors:
        plan = self.plan
        threads = ends["threads"]
        if isinstance(plan, CodesPlan):
            codes = plan.row_slots(points, threads=threads)
            levels = (plan.near, plan.enough)
            return self.store.search_codes(codes, words, levels, **ends)
        return self.store.search(plan.probe(points, threads), words, **ends)

    def near_apart(
        self,
        words: UInt64Array,
        k: int,
        is_apart: IsApart,
        threads: int,
        limit: Limit | None = None,
    ) -> NeighborLists:
        """Return the k nearest entries of those that are apart from m points."""

        def search(queries: UInt64Array, count: int) -> NeighborLists:
            points = self.format.points_of(queries)
            return self.near(points, queries, threads, most=count, limit=limit)

        return nearest_apart(search, words, k, len(self.store), is_apart)

    def nearest_of_all(self, words: UInt64Array, k: int, threads: int) -> NeighborLists:
        """Return the k nearest of all entries to m points."""
        measure = self.format.measure
        return self._lists(
            scan(self.store, self.parameters, measure, words, k, threads)
        )

    def _lists(self, neighbors: Neighbors) -> NeighborLists:
        distances = self.distances(neighbors.distances)
        return NeighborLists(
            neighbors.offsets, neighbors.keys, distances, neighbors.examined
        )
