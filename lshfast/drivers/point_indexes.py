"""The index of earlier vectors or codes in a run over files: near entries, and what is added to it.

Vectors are in the file of a `NearNeighbors`, codes in that of a `HammingIndex`. Both store the items, so distances to
entries are exact. An index is written after the outputs; until then its file keeps its old state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from lshfast.common.progress import Progress
from lshfast.common.types import Int64Array, UInt64Array
from lshfast.drivers.indexes import KINDS, Indexes, naming
from lshfast.engine.against import Earlier
from lshfast.index.hamming import HammingIndex
from lshfast.index.keys import as_column, kind_of
from lshfast.index.neighbors import NearNeighbors
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.stores.values import OnDuplicate
from lshfast.kinds.held_points import release
from lshfast.kinds.measures import PointPlan
from lshfast.readers import Corpus

# Points that are looked up, or inserted, at once.
BATCH_ROWS = 1 << 14

# Entries that a new index is planned for, as a multiple of the first ones.
GROWTH = 4


@dataclass
class PointIndex:
    """An index of earlier points, or a new one.

    Attributes
    ----------
    name : str
        Its file, in messages.
    index : NearNeighbors, HammingIndex or None
        None for a new one, until the format of the points is known.
    """

    name: str
    index: NearNeighbors | HammingIndex | None
    on_duplicate: OnDuplicate

    @classmethod
    def opened(cls, indexes: Indexes, plan: PointPlan) -> PointIndex:
        """Open the index of earlier rows, or prepare a new one; use it as a context manager, which writes nothing."""
        if indexes.against is None:
            return cls(indexes.name, None, indexes.on_duplicate)
        with naming(indexes.against):
            if plan.kind == "code":
                index: NearNeighbors | HammingIndex = HammingIndex.open(
                    indexes.against, on_duplicate=indexes.on_duplicate
                )
            else:
                index = NearNeighbors.open(indexes.against, "c", on_duplicate=indexes.on_duplicate)
        return cls(indexes.against, index, indexes.on_duplicate)

    @property
    def kind(self) -> str | None:
        """The type of the keys, "int" or "str"; None if there are none."""
        if isinstance(self.index, NearNeighbors):
            return self.index.store.kind
        return None if self.index is None or not len(self.index) else kind_of(self.index.items()[0])

    def earlier(self, words: UInt64Array, format: PointFormat, plan: PointPlan) -> Earlier:
        """Return the rows that are near to an entry, each with its nearest entry."""
        index = self.index
        assert index is not None
        with naming(self.name):
            self._check(format, plan)
        distance = plan.distance_of(format)
        rows, keys, values = list[Int64Array](), list[Any](), list[Any]()
        for start in range(0, len(words), BATCH_ROWS):
            best: Any = index.query(format.points_of(words[start : start + BATCH_ROWS]), k=1, threads=plan.threads)
            release(words)
            near = np.flatnonzero(np.diff(best.offsets))
            found = best.distances if isinstance(index, NearNeighbors) else best.distance.astype(np.float64)
            reported = np.cos(found) if plan.measure == "cosine" else found
            within = reported >= plan.bound if plan.measure == "cosine" else found <= distance
            rows.append(start + near[within])
            listed = best.keys.tolist() if isinstance(best.keys, np.ndarray) else best.keys
            keys += [listed[place] for place in np.flatnonzero(within).tolist()]
            values.append(reported[within])
        empty = np.empty(0)
        return Earlier(np.concatenate([np.empty(0, np.int64), *rows]), keys, np.concatenate([empty, *values]))

    def _check(self, format: PointFormat, plan: PointPlan) -> None:
        """Raise ValueError if the index holds other points, or does not promise to find those within the radius."""
        if isinstance(self.index, HammingIndex):
            if self.index.bits != format.dim:
                raise ValueError(f"codes have {self.index.bits} bits in this index, not {format.dim}")
            return
        own = cast(NearNeighbors, self.index).plan
        for name, theirs, ours in (("metric", own.metric, format.metric), ("coordinates", own.dim, format.dim)):
            if theirs != ours:
                raise ValueError(f"the {name} of this index are {theirs}, not {ours}")
        if plan.distance_of(format) > own.radius * (1 + 1e-12):
            raise ValueError(
                f"this index promises to find points within distance {own.radius:g}, and the bound of this run is "
                f"{plan.distance_of(format):g}"
            )

    def add(
        self, keys: Sequence[Any], numbers: Int64Array, places: Int64Array, words: UInt64Array, format: PointFormat,
        plan: PointPlan, corpus: Corpus,
    ) -> int:  # fmt: skip
        """Insert points under their keys, and return the number of entries that are new or replaced.

        The point at place p of the words is that of row numbers[p].
        """
        if self.index is None:
            self.index = self._new(format, plan, len(places))
        added, kind = 0, self.kind
        for start in range(0, len(places), BATCH_ROWS):
            own = places[start : start + BATCH_ROWS]
            some = numbers[own]
            listed = [keys[row] for row in some.tolist()]
            if kind is not None and kind != type(listed[0]).__name__:
                raise corpus.fault(int(some[0]), f"key {listed[0]!r}: the keys of {self.name} are {KINDS[kind]}")
            if self.on_duplicate == "error":
                known = next((place for place, key in enumerate(listed) if key in self.index), None)
                if known is not None:
                    reason = f"key {listed[known]!r} is in {self.name} already"
                    raise corpus.fault(int(some[known]), f"{reason} (on-duplicate skip or replace allows that)")
            points = format.points_of(words[own])
            column = as_column(listed)
            if isinstance(self.index, NearNeighbors):
                added += self.index.insert(column, points, threads=plan.threads)
            else:
                added += self.index.insert(column, points)
            release(words)
        return added

    def _new(self, format: PointFormat, plan: PointPlan, rows: int) -> NearNeighbors | HammingIndex:
        if plan.kind == "code":
            return HammingIndex(format.dim, radius=int(plan.bound), on_duplicate=self.on_duplicate)
        recall = 0.95 if plan.complete else plan.recall
        dtype: Any = format.dtype
        return NearNeighbors(
            cast(Any, format.metric), plan.distance_of(format), dim=format.dim, n=max(1000, GROWTH * rows),
            recall=recall, dtype=dtype, seed=plan.seed, on_duplicate=self.on_duplicate,
        )  # fmt: skip

    def __enter__(self) -> PointIndex:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self.index, NearNeighbors):
            self.index.close()

    def save(self, path: str, overwrite: bool, progress: Progress | None) -> None:
        """Write the index; the file gets its name when it is complete."""
        if self.index is not None:
            self.index.save(path, overwrite=overwrite, progress=progress)
