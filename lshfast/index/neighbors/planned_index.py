"""`PlannedIndex`: an index of points whose plan is stored with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lshfast.common.display import counted
from lshfast.common.threads import thread_count
from lshfast.common.types import UInt64Array
from lshfast.families.family import family_of
from lshfast.index.entries import check_on_duplicate
from lshfast.index.keys import as_column, listed
from lshfast.index.neighbors.answers import Neighbor, NeighborLists, NeighborStats
from lshfast.index.neighbors.plan import NeighborsPlan
from lshfast.index.neighbors.points import PointFormat, check_radius
from lshfast.index.stored import StoredIndex, check_store
from lshfast.index.stores.base import Limit, Neighbors, OnDuplicate, Store, joined

# Words of buckets that are searched at once, which bounds the memory of a batch of queries.
BLOCK_WORDS = 1 << 21


class PlannedIndex(StoredIndex):
    """Base class of `NearNeighbors`: what does not depend on the kind of the query.

    Attributes
    ----------
    plan : NeighborsPlan
        Family, tables, and what to expect of a query.
    on_duplicate : {"error", "replace", "skip"}
    """

    plan: NeighborsPlan
    on_duplicate: OnDuplicate
    _points: PointFormat

    def _use_store(self, store: Store, on_duplicate: OnDuplicate) -> None:
        check_on_duplicate(on_duplicate)
        parameters = check_store(store).parameters
        if parameters is None:
            raise ValueError("the store has no parameters: pass it to NearNeighbors(..., store=store) first")
        plan = family_of(parameters.family) if parameters.family else None
        if not isinstance(plan, NeighborsPlan):
            raise ValueError("the store does not contain an index of near neighbors: open it with LSHIndex")
        self.store = store
        self.plan = plan
        self.on_duplicate = on_duplicate
        self.parameters = parameters
        self._points = plan.points

    def points_of(self, keys: Any) -> Any:
        """Return the stored points of a batch of keys: an array, (n, dim), packed codes, or `SparsePoints`.

        Raises
        ------
        KeyError
            With the first key that is not in the index.
        """
        wanted = as_column(keys)
        found, rows = self.store.entries_of(wanted)
        places = {key: place for place, key in enumerate(listed(found))}
        order = []
        for key in listed(wanted):
            if key not in places:
                raise KeyError(key)
            order.append(places[key])
        words = rows[np.array(order, np.int64)][:, self.parameters.num_perm :]
        return self._points.points_of(np.ascontiguousarray(words))

    def _radius(self, radius: float | None) -> float:
        return self.plan.radius if radius is None else check_radius("radius", radius, self._points)

    def _search(self, points: Any, threads: int | None, **options: Any) -> list[Neighbor] | NeighborLists:
        items, words, single = self._points.check(points)
        found = self._found(items, words, thread_count(threads), **options)
        return found[0] if single else found

    def _found(
        self,
        items: Any,
        words: UInt64Array,
        threads: int,
        *,
        most: int | None = None,
        within: float | None = None,
        limit: Limit | None = None,
    ) -> NeighborLists:
        """Search for checked points."""
        value = None if within is None else self._points.value_at(within)
        step = max(1, BLOCK_WORDS // (self.plan.searched * self.plan.rows))
        parts: list[Neighbors] = []
        for start in range(0, max(len(words), 1), step):
            block = slice(start, start + step)
            buckets = self.plan.probe(items[block], threads)
            parts.append(
                self.store.search(buckets, words[block], most=most, within=value, limit=limit, threads=threads)
            )
        found = joined(parts)
        return NeighborLists(found.offsets, found.keys, self._points.distances(found.distances), found.examined)

    def describe(self) -> str:
        """Return the plan as text: tables, recall, expected candidates, work and memory."""
        return str(self.plan)

    def stats(self) -> NeighborStats:
        """Return the figures of the index, such as bucket sizes and memory."""
        figures, entries, plan = self.store.stats(), len(self), self.plan
        sizes, largest, squares = self.store.bucket_sizes()
        return NeighborStats(
            entries=entries,
            bands=plan.bands,
            rows=plan.rows,
            probes=plan.probes,
            bucket_sizes={1 << i: int(count) for i, count in enumerate(sizes) if count},
            largest_bucket=largest,
            expected_candidates=max(0.0, squares / entries - plan.bands) if entries else 0.0,
            nbytes=sum(size for name, size in figures.items() if name.endswith("bytes")),
            store=figures,
        )

    def __repr__(self) -> str:
        try:
            size = counted(len(self), "entry", "entries")
        except (OSError, ValueError):
            size = "closed"
        return f"NearNeighbors({size}; {self.plan})"
