"""The index of vectors or codes in a file, and in a run over files: near entries, and what is added to it.

Vectors are in the file of a `NearNeighbors`, codes in that of a `HammingIndex` or `TanimotoIndex`. All store the items,
so distances to entries are exact. An index is written after the outputs; until then its file keeps its old state.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from lshfast.common.choices import ItemMeasure, Kind
from lshfast.common.progress import Progress
from lshfast.common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.drivers.indexes import KINDS, Indexes, naming
from lshfast.engine.against import Earlier
from lshfast.index.hamming import HammingIndex, TanimotoIndex
from lshfast.index.index_file import any_index
from lshfast.index.keys import Column, DuplicateKeyError, as_column, kind_of, listed
from lshfast.index.lsh_index import LSHIndex
from lshfast.index.neighbors import NearNeighbors
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.stores.values import OnDuplicate
from lshfast.kinds.held_points import release
from lshfast.kinds.items import PointReader
from lshfast.kinds.measures import PointKind, PointPlan, is_distance, make_point_plan
from lshfast.readers import Corpus

if TYPE_CHECKING:
    from lshfast.engine.points import PointRows

IndexOfPoints: TypeAlias = NearNeighbors | HammingIndex | TanimotoIndex

# Points that are looked up, or inserted, at once.
BATCH_ROWS = 1 << 14

# Entries that a new index is planned for, as a multiple of the first ones.
GROWTH = 4

# A search by the cosine goes a little beyond the angle at the threshold, which is rounded.
BEYOND = 1e-7


class PointAnswers(NamedTuple):
    """The entries near to some points; those near to point i have the numbers ``offsets[i]:offsets[i + 1]``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    keys : list
    values : ndarray of float64
        Their similarities, or distances.
    """

    offsets: Int64Array
    keys: list[Any]
    values: Float64Array


@dataclass
class PointIndex:
    """An index of points, or a new one.

    Attributes
    ----------
    name : str
        Its file, in messages.
    index : NearNeighbors, HammingIndex, TanimotoIndex or None
        None for a new one, until the format of the points is known.
    on_duplicate : {"error", "skip", "replace"}
    """

    name: str
    index: IndexOfPoints | None
    on_duplicate: OnDuplicate
    known_kind: str | None = None  # that of the keys of codes

    def __len__(self) -> int:
        return 0 if self.index is None else len(self.index)

    @property
    def kind(self) -> str | None:
        """The type of the keys, "int" or "str"; None if there are none."""
        if isinstance(self.index, NearNeighbors):
            return self.index.store.kind
        if self.known_kind is None and self.index is not None and len(self.index):
            self.known_kind = kind_of(self.index.items()[0])
        return self.known_kind

    @property
    def format(self) -> PointFormat:
        """The format of the entries."""
        if isinstance(self.index, NearNeighbors):
            return self.index.plan.points
        return PointFormat("hamming", self._made.bits, "float32", None)

    @property
    def of(self) -> PointKind:
        """What the entries are, "vector" or "code"."""
        return "code" if self.format.metric == "hamming" else "vector"

    @property
    def measures(self) -> tuple[ItemMeasure, ...]:
        """The measures of a query, the default first."""
        if isinstance(self.index, TanimotoIndex):
            return ("tanimoto",)
        metric = cast(ItemMeasure, self.format.metric)
        return (metric, "angle") if metric == "cosine" else (metric,)

    @property
    def _made(self) -> Any:
        """The index, which is not None."""
        assert self.index is not None
        return self.index

    # ---- plans ----

    def plan(
        self,
        kind: Kind | None = None,
        measure: ItemMeasure | None = None,
        threshold: float | None = None,
        radius: float | None = None,
        *,
        unbounded: bool = False,
        threads: int | None = None,
    ) -> PointPlan:
        """Return the plan of rows of a kind that are looked up in the index: those within a threshold, or a radius.

        By default these are the kind and the bound of the index; if it is unbounded, all entries are near enough.
        """
        with naming(self.name):
            self._check_kind(kind)
            if measure is not None and measure not in self.measures:
                raise ValueError(f"measure must be {' or '.join(self.measures)} for this index, not {measure!r}")
            measure = measure or self.measures[0]
            given = threshold is not None or radius is not None
            if not given and is_distance(measure):
                radius = 1.0  # replaced below
            plan = make_point_plan(self.of, measure=measure, threshold=threshold, radius=radius, threads=threads)
            return plan if given else replace(plan, bound=self._bound(measure, unbounded))

    def reader(self, plan: PointPlan) -> PointReader:
        """Return a reader of points that have the format of the entries."""
        return PointReader(plan.kind, plan.measure, self.format)

    def _check_kind(self, kind: Kind | None) -> None:
        """Raise ValueError if the user says that rows are of another kind than the entries."""
        if kind not in (None, self.of):
            raise ValueError(f"this is an index of {self.of}s, not of {kind}s")

    def _bound(self, measure: ItemMeasure, unbounded: bool) -> float:
        """Return the bound of the index, or one that all entries keep."""
        if unbounded:
            return math.inf if is_distance(measure) else -1.0
        if isinstance(self.index, TanimotoIndex):
            return self.index.similarity
        if isinstance(self.index, NearNeighbors):
            return _cosine_at(self.index.plan.radius) if measure == "cosine" else self.index.plan.radius
        return float(self._made.radius)

    def recall(self, plan: PointPlan) -> float:
        """Return the probability that an entry at the bound is found."""
        if not isinstance(self.index, NearNeighbors):
            return 1.0
        return float(self.index.plan.recall_at(plan.distance_of(self.format)))

    # ---- searching ----

    def answers(self, words: UInt64Array, format: PointFormat, plan: PointPlan, k: int | None = None) -> PointAnswers:
        """Return the entries within the bound of each point, or the k nearest of them, the nearest first."""
        points, index = format.points_of(words), self._made
        if k is not None:
            found: Any = index.query(points, k=k, threads=plan.threads)
        elif isinstance(index, NearNeighbors):
            beyond = BEYOND if plan.measure == "cosine" else 0.0
            found = index.within(points, min(format.longest, plan.distance_of(format) + beyond), threads=plan.threads)
        elif isinstance(index, HammingIndex):
            found = index.within(points, int(min(plan.bound, index.bits)), threads=plan.threads)
        else:
            found = index.within(points, plan.bound, threads=plan.threads)
        values = plan.of_distances(found.values.astype(np.float64))
        within: BoolArray = values <= plan.bound if is_distance(plan.measure) else values >= plan.bound
        keys = listed(found.keys)
        if not within.all():
            keys = [keys[place] for place in np.flatnonzero(within).tolist()]
        offsets = np.concatenate([[0], np.cumsum(within, dtype=np.int64)])[found.offsets]
        return PointAnswers(offsets, keys, values[within])

    def earlier(self, items: PointRows, plan: PointPlan) -> Earlier:
        """Return the rows that are near to an entry, each with its nearest entry."""
        words, format = items.words, items.format
        assert format is not None
        with naming(self.name):
            self._check(format, plan)
        rows, keys, values = list[Int64Array](), list[Any](), list[Float64Array]()
        for start in range(0, len(words), BATCH_ROWS):
            found = self.answers(words[start : start + BATCH_ROWS], format, plan, k=1)
            release(words)
            rows.append(start + np.flatnonzero(np.diff(found.offsets)))
            keys += found.keys
            values.append(found.values)
        empty = np.empty(0)
        return Earlier(np.concatenate([np.empty(0, np.int64), *rows]), keys, np.concatenate([empty, *values]))

    def _check(self, format: PointFormat, plan: PointPlan) -> None:
        """Raise ValueError if the index holds other points, or does not promise to find those within the radius."""
        own, unit = self.format, "bits" if plan.kind == "code" else "coordinates"
        self._check_kind(plan.kind)
        if plan.measure not in self.measures:
            raise ValueError(f"the measure of this index is {self.measures[0]}, not {plan.measure}")
        if own.dim != format.dim:
            raise ValueError(f"the {unit} of this index are {own.dim}, not {format.dim}")
        index = self.index
        if isinstance(index, NearNeighbors) and plan.distance_of(format) > index.plan.radius * (1 + 1e-12):
            raise ValueError(
                f"this index promises to find points within distance {index.plan.radius:g}, and the bound of this run "
                f"is {plan.distance_of(format):g}"
            )

    # ---- changing ----

    def add(
        self, numbers: Int64Array, places: Int64Array, words: UInt64Array, format: PointFormat, plan: PointPlan,
        corpus: Corpus,
    ) -> int:  # fmt: skip
        """Insert points under the keys of their rows, and return the number of entries that are new or replaced.

        The point at place p of the words is that of row numbers[p].
        """
        if self.index is None:
            self.index = self.new(format, plan, len(places))
        added, kind = 0, self.kind
        for start in range(0, len(places), BATCH_ROWS):
            own = places[start : start + BATCH_ROWS]
            some = numbers[own].tolist()
            keys = [corpus.key(row) for row in some]
            if kind is not None and kind != type(keys[0]).__name__:
                raise corpus.fault(some[0], f"key {keys[0]!r}: the keys of {self.name} are {KINDS[kind]}")
            column = as_column(keys)
            points = format.points_of(words[own])
            try:
                if isinstance(self.index, NearNeighbors):
                    added += self.index.insert(column, points, threads=plan.threads)
                else:
                    added += self.index.insert(column, points)
            except DuplicateKeyError as error:
                reason = f"key {error.key!r} is in {self.name} already (on-duplicate skip or replace allows that)"
                raise corpus.fault(some[error.position], reason) from None
            release(words)
        return added

    def add_rows(self, items: PointRows, places: Int64Array, plan: PointPlan, corpus: Corpus) -> int:
        """Insert rows of a run under their keys, and return the number of entries that are new or replaced."""
        assert items.format is not None
        return self.add(items.numbers, places, items.words, items.format, plan, corpus)

    def new(self, format: PointFormat, plan: PointPlan, rows: int) -> IndexOfPoints:
        """Return a new index for points of a format, of which there are so many at first."""
        kind = class_for(plan)
        if kind is TanimotoIndex:
            return TanimotoIndex(format.dim, similarity=plan.bound, on_duplicate=self.on_duplicate)
        if kind is HammingIndex:
            return HammingIndex(format.dim, radius=int(plan.distance_of(format)), on_duplicate=self.on_duplicate)
        dtype: Any = format.dtype
        return NearNeighbors(
            cast(Any, format.metric), plan.distance_of(format), dim=format.dim, n=max(1000, GROWTH * rows),
            recall=0.95 if plan.complete else plan.recall, dtype=dtype, seed=plan.seed, on_duplicate=self.on_duplicate,
        )  # fmt: skip

    def contains(self, keys: Column) -> BoolArray:
        """Return which keys are in the index."""
        if isinstance(self.index, NearNeighbors):
            return self.index.store.contains(keys)
        return np.fromiter((key in self._made for key in listed(keys)), np.bool_, len(keys))

    def remove(self, keys: Column) -> None:
        """Remove the entries of some keys, which are in the index."""
        self._made.remove(keys)

    # ---- files ----

    def save(self, path: str, *, overwrite: bool = False, progress: Progress | None = None) -> None:
        """Write the index; the file gets its name when it is complete."""
        if self.index is not None:
            self.index.save(path, overwrite=overwrite, progress=progress)

    def commit(self, *, progress: Progress | None = None) -> None:
        """Write the changes to the file that was opened."""
        if isinstance(self.index, NearNeighbors):
            self.index.commit(progress=progress)
        else:
            self.save(self.name, overwrite=True, progress=progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        """Rewrite the file that was opened without removed entries; a file of codes never has any."""
        if isinstance(self.index, NearNeighbors):
            self.index.compact(progress=progress)

    def verify(self) -> None:
        """Check the whole index; an error names what is damaged."""
        self._made.verify()

    def stats(self) -> Any:
        """Return the figures of the index."""
        return self._made.stats()

    def describe(self) -> str:
        """Return how the index searches, and its figures, as lines of text."""
        index = self._made
        head = "" if isinstance(index, NearNeighbors) else f"{index}\n"
        return f"{head}{index.describe()}\n{index.stats()}"


def class_for(plan: PointPlan) -> type[IndexOfPoints]:
    """Return the class of a new index."""
    if plan.kind == "vector":
        return NearNeighbors
    return TanimotoIndex if plan.measure == "tanimoto" else HammingIndex


@contextmanager
def index_of_run(indexes: Indexes, plan: PointPlan) -> Iterator[PointIndex]:
    """Open the index of earlier rows, or prepare a new one; the end of the block writes nothing."""
    if indexes.against is None:
        yield PointIndex(indexes.name, None, indexes.on_duplicate)
        return
    with any_index(indexes.against, "c", indexes.on_duplicate) as index:
        if isinstance(index, LSHIndex):
            raise ValueError(f"{indexes.against}: this is an index of texts or sets, not of {plan.kind}s")
        yield PointIndex(indexes.against, index, indexes.on_duplicate)


def _cosine_at(angle: float) -> float:
    """Return the cosine of an angle: the shortest number that has this angle, if one has it."""
    value = math.cos(angle)
    rounded = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    return next((number for number in rounded if abs(number) <= 1 and math.acos(number) == angle), value)
