"""The index of vectors or codes in a file, and in a run over files: near entries, and what is added
to it.

Vectors are in the file of a `NearNeighbors`, codes in a file of a `HammingIndex` or
`TanimotoIndex`.
All store the items, so distances to entries are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lshfast._common.choices import ItemMeasure, Kind, PointKind, usual_measure
from lshfast._common.image_hashes import ImageHash, check_same_hash
from lshfast._common.rows import offsets_of
from lshfast._common.threads import thread_count
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._engine.indexes.items import (
    BATCH_ROWS,
    NOT_APART,
    Apart,
    ItemAnswers,
    ItemIndex,
)
from lshfast._engine.indexes.run_indexes import POINTS, Indexes, naming
from lshfast._items.held_points import release
from lshfast._items.items import PointReader
from lshfast._items.measures import PointPlan, is_distance, make_point_plan
from lshfast.index.hamming import HammingIndex, TanimotoIndex
from lshfast.index.index_file import any_index
from lshfast.index.keys import Column, listed
from lshfast.index.neighbors import NearNeighbors
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.neighbors.samples import PointSample
from lshfast.index.protocol import IndexOfPoints, PointsToIndex

if TYPE_CHECKING:
    from lshfast._engine.inputs import AnyReader
    from lshfast._engine.points import PointRows
    from lshfast.index.stores.values import OnDuplicate

# Entries that a new index is planned for, as a multiple of the first ones.
GROWTH = 4

# The most vectors by which a bound for k neighbors is chosen: 256 times as many distances take
# about a second.
SAMPLE_POINTS = 1 << 14

# The bounds that all entries keep.
LARGEST_DISTANCE = math.inf
LEAST_SIMILARITY = -1.0
UNBOUNDED = (LARGEST_DISTANCE, LEAST_SIMILARITY)


@dataclass
class PointIndex(ItemIndex["IndexOfPoints | None"]):
    """An index of points; None stands for a new one until the format of the points is known."""

    index_class: type[IndexOfPoints]
    sample: PointSample | None = None  # by which a new index of vectors is planned
    known_key_kind: str | None = None

    @property
    def key_kind(self) -> str | None:
        if self.known_key_kind is None and self.index is not None:
            self.known_key_kind = self.index.key_kind
        return self.known_key_kind

    @property
    def format(self) -> PointFormat:
        """The format of the entries."""
        format: PointFormat = self._made.point_format
        return format

    @property
    def measures(self) -> tuple[ItemMeasure, ...]:
        """The measures of a query, the default first."""
        measures: tuple[ItemMeasure, ...] = self._made.measures
        return measures

    def new(self, format: PointFormat, plan: PointPlan, rows: int) -> IndexOfPoints:
        """Return a new index for points of a format, of which `rows` come first."""
        return self.index_class.made_for(
            PointsToIndex(
                format,
                plan.distance_of(format),
                0.95 if plan.complete else plan.recall,
                max(1000, GROWTH * rows),
                plan.seed,
                None if self.sample is None else self.sample.words,
                self.on_duplicate,
            )
        )

    @property
    def of(self) -> PointKind:
        """What the entries are, "vector" or "code"."""
        return "code" if self.format.metric == "hamming" else "vector"

    def begin(self, format: PointFormat | None, plan: PointPlan, rows: int) -> None:
        if self.index is None:
            assert format is not None
            self.index = self.new(format, plan, rows)

    def choose_bound(
        self, words: Sequence[UInt64Array], format: PointFormat, plan: PointPlan, k: int
    ) -> PointPlan:
        count = sum(map(len, words))
        if k >= count:
            raise ValueError(
                f"k must be less than the number of vectors, {count:,}, not {k}"
            )
        all_words = np.concatenate(words)
        if count > SAMPLE_POINTS:
            all_words = all_words[
                np.random.default_rng(plan.seed).choice(
                    count, SAMPLE_POINTS, replace=False
                )
            ]
        self.sample = PointSample(format, all_words, plan.seed)
        radius = self.sample.radius_for(k, count)
        return replace(
            plan, bound=math.cos(radius) if plan.measure == "cosine" else radius
        )

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
        with naming(self.name):
            self._check_kind(kind)
            measure = usual_measure(measure)
            if measure is not None and measure not in self.measures:
                raise ValueError(
                    f"measure must be {' or '.join(self.measures)} for this index, not {measure!r}"
                )
            measure = measure or self.measures[0]
            has_bound = threshold is not None or radius is not None
            if not has_bound and is_distance(measure):
                radius = 1.0  # replaced below
            plan = make_point_plan(
                self.of,
                measure=measure,
                threshold=threshold,
                radius=radius,
                threads=threads,
            )
            return (
                plan
                if has_bound
                else replace(plan, bound=self._bound(measure, unbounded))
            )

    def check_reader(self, reader: AnyReader) -> None:
        with naming(self.name):
            self._check_hash(getattr(reader, "image_hash", None))

    def _check_hash(self, hash: ImageHash | None) -> None:
        """Raise ValueError if codes and entries are known to be hashes of images of two kinds."""
        if len(self):
            check_same_hash(self.format.image_hash, hash)

    def reader(self, plan: PointPlan) -> PointReader:
        return PointReader(plan.kind, plan.measure, self.format)

    def _check_kind(self, kind: Kind | None) -> None:
        """Raise ValueError if the user says that rows are of another kind than the entries."""
        if kind not in (None, self.of):
            raise ValueError(f"this is an index of {self.of}s, not of {kind}s")

    def _bound(self, measure: ItemMeasure, unbounded: bool) -> float:
        """Return the bound of the index, or one that all entries keep."""
        if unbounded:
            return LARGEST_DISTANCE if is_distance(measure) else LEAST_SIMILARITY
        return float(self._made.bound_by(measure))

    def recall(self, plan: PointPlan) -> float:
        return float(self._made.recall_at(plan.distance_of(self.format)))

    # ---- searching ----

    def points_of(self, words: UInt64Array) -> Any:
        return self.format.points_of(words)

    def answers(
        self,
        points: Any,
        plan: PointPlan,
        k: int | None = None,
        copy_bound: Apart = NOT_APART,
    ) -> ItemAnswers:
        is_apart = None
        if copy_bound != NOT_APART:

            def is_apart(values: Any) -> BoolArray:
                return copy_bound.marks(self._reported(plan, values))

        if k is None:
            entries = self._made.search_bound(
                points, plan.measure, plan.bound, plan.threads
            )
        else:
            unbounded = plan.bound in UNBOUNDED
            entries = self._made.search_nearest(
                points, k, is_apart, unbounded, plan.threads
            )
        values = self._reported(plan, entries.values)
        within: BoolArray = (
            values <= plan.bound if is_distance(plan.measure) else values >= plan.bound
        )
        if k is None:
            within &= copy_bound.marks(values)
        keys = listed(entries.keys)
        if not within.all():
            keys = [keys[place] for place in np.flatnonzero(within).tolist()]
        offsets = offsets_of(within)[entries.offsets]
        return ItemAnswers(offsets, keys, values[within])

    def _reported(self, plan: PointPlan, values: Any) -> Float64Array:
        """Return the similarities or distances by the measure of a plan for values of answers."""
        return plan.of_distances(np.asarray(values, np.float64))

    def pieces_of(
        self, items: PointRows, places: Int64Array, plan: PointPlan
    ) -> Iterator[tuple[Int64Array, Any]]:
        assert items.format is not None
        for start in range(0, len(places), BATCH_ROWS):
            piece = places[start : start + BATCH_ROWS]
            yield piece, items.format.points_of(items.words[piece])
            release(items.words)

    def check_run(self, items: PointRows, plan: PointPlan) -> None:
        assert items.format is not None
        with naming(self.name):
            self._check(items.format, plan)

    def _check(self, format: PointFormat, plan: PointPlan) -> None:
        """Raise ValueError if the entries are other points, or the promised radius is smaller."""
        entry_format = self.format
        unit = "bits" if plan.kind == "code" else "coordinates"
        self._check_kind(plan.kind)
        if plan.measure not in self.measures:
            raise ValueError(
                f"the measure of this index is {self.measures[0]}, not {plan.measure}"
            )
        if entry_format.dim != format.dim:
            raise ValueError(
                f"the {unit} of this index are {entry_format.dim}, not {format.dim}"
            )
        self._check_hash(format.image_hash)
        self._made.check_promise(plan.distance_of(format))

    def insert(self, keys: Column, points: Any, *, threads: int | None = None) -> int:
        added: int = self._made.insert_points(keys, points, thread_count(threads))
        return added

    def describe(self) -> str:
        """Return how the index searches, and its figures, as lines of text."""
        return f"{self._made.about()}\n{self._made.stats()}"


def point_index(
    name: str, index: IndexOfPoints, on_duplicate: OnDuplicate
) -> PointIndex:
    """Return an index of points that was opened, as runs and commands use it."""
    return PointIndex(name, index, on_duplicate, type(index))


def new_point_index(
    name: str, plan: PointPlan, on_duplicate: OnDuplicate
) -> PointIndex:
    """Return an index that is made when the format of its points is known."""
    return PointIndex(name, None, on_duplicate, class_for(plan))


def class_for(plan: PointPlan) -> type[IndexOfPoints]:
    """Return the class of a new index."""
    if plan.kind == "vector":
        return NearNeighbors
    return TanimotoIndex if plan.measure == "tanimoto" else HammingIndex


@contextmanager
def index_of_run(indexes: Indexes, plan: PointPlan) -> Iterator[PointIndex]:
    """Open the index of earlier rows, or prepare a new one; the end of the block writes nothing."""
    if indexes.against is None:
        yield new_point_index(indexes.name, plan, indexes.on_duplicate)
        return
    mode = indexes.mode_of_points
    with any_index(indexes.against, mode, indexes.on_duplicate) as index:
        if index.holds not in POINTS:
            raise ValueError(
                f"{indexes.against}: this is an index of texts or sets, not of {plan.kind}s"
            )
        yield point_index(indexes.against, cast(Any, index), indexes.on_duplicate)
