"""The index of vectors or codes in a file, and in a run over files: near entries, and what is added
to it.

Vectors are in the file of a `NearNeighbors`, codes in that of a `HammingIndex` or `TanimotoIndex`.
All store the items, so distances to entries are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from lshfast._common.choices import ItemMeasure, Kind, usual_measure
from lshfast._common.image_hashes import ImageHash, check_same_hash, hash_named
from lshfast._common.progress import Progress
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._engine.indexes import Indexes, naming
from lshfast._engine.item_indexes import BATCH_ROWS, ItemAnswers, ItemIndex
from lshfast._items.held_points import release
from lshfast._items.items import PointReader
from lshfast._items.measures import PointKind, PointPlan, is_distance, make_point_plan
from lshfast.index.hamming import HammingIndex, TanimotoIndex
from lshfast.index.index_file import any_index
from lshfast.index.keys import Column, kind_of, listed
from lshfast.index.lsh_index import LSHIndex
from lshfast.index.neighbors import NearNeighbors
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.neighbors.samples import PointSample

if TYPE_CHECKING:
    from lshfast._engine.inputs import AnyReader
    from lshfast._engine.points import PointRows

IndexOfPoints: TypeAlias = NearNeighbors | HammingIndex | TanimotoIndex

# Entries that a new index is planned for, as a multiple of the first ones.
GROWTH = 4

# The most vectors by which a bound for k neighbors is chosen: 256 times as many distances take
# about a second.
SAMPLE_POINTS = 1 << 14

# The bounds that all entries keep.
LARGEST_DISTANCE = math.inf
LEAST_SIMILARITY = -1.0
UNBOUNDED = (LARGEST_DISTANCE, LEAST_SIMILARITY)

# A search by the cosine goes a little beyond the angle at the threshold, which is rounded.
BEYOND = 1e-7


@dataclass
class PointIndex(ItemIndex["IndexOfPoints | None"]):
    """An index of points, or a new one, whose index is None until the format of the points is
    known.
    """

    known_kind: str | None = None  # that of the keys of codes
    sample: PointSample | None = None  # by which a new index of vectors is planned

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
        name = self._made.image_hash
        return PointFormat(
            "hamming", self._made.bits, "float32", None, hash_named(name) if name else None
        )

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
        return ("cosine", "angle") if metric == "angle" else (metric,)

    def begin(self, format: PointFormat | None, plan: PointPlan, rows: int) -> None:
        if self.index is None:
            assert format is not None
            self.index = self.new(format, plan, rows)

    def choose_bound(
        self, words: Sequence[UInt64Array], format: PointFormat, plan: PointPlan, k: int
    ) -> PointPlan:
        count = sum(map(len, words))
        if k >= count:
            raise ValueError(f"k must be less than the number of vectors, {count:,}, not {k}")
        every = np.concatenate(words)
        if count > SAMPLE_POINTS:
            every = every[
                np.random.default_rng(plan.seed).choice(count, SAMPLE_POINTS, replace=False)
            ]
        self.sample = PointSample(format, every, plan.seed)
        radius = self.sample.radius_for(k, count)
        return replace(plan, bound=math.cos(radius) if plan.measure == "cosine" else radius)

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
            given = threshold is not None or radius is not None
            if not given and is_distance(measure):
                radius = 1.0  # replaced below
            plan = make_point_plan(
                self.of, measure=measure, threshold=threshold, radius=radius, threads=threads
            )
            return plan if given else replace(plan, bound=self._bound(measure, unbounded))

    def check_reader(self, reader: AnyReader) -> None:
        with naming(self.name):
            self._check_hash(getattr(reader, "image_hash", None))

    def _check_hash(self, hash: ImageHash | None) -> None:
        """Raise ValueError if codes are hashes of images of another kind than the entries are known
        to be.
        """
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
        if isinstance(self.index, TanimotoIndex):
            return self.index.similarity
        if isinstance(self.index, NearNeighbors):
            if measure != "cosine":
                return self.index.plan.radius
            threshold = self.index.plan.threshold
            return _cosine_at(self.index.plan.radius) if threshold is None else threshold
        return float(self._made.radius)

    def recall(self, plan: PointPlan) -> float:
        if not isinstance(self.index, NearNeighbors):
            return 1.0
        return float(self.index.plan.recall_at(plan.distance_of(self.format)))

    # ---- searching ----

    def points_of(self, words: UInt64Array) -> Any:
        return self.format.points_of(words)

    def answers(self, points: Any, plan: PointPlan, k: int | None = None) -> ItemAnswers:
        format = self.format
        index = self._made.by_angle() if isinstance(self.index, NearNeighbors) else self._made
        if isinstance(index, NearNeighbors):
            index.warns = plan.bound in UNBOUNDED  # otherwise fewer than k are as expected
        if k is not None:
            found: Any = index.query(points, k=k, threads=plan.threads)
        elif isinstance(index, NearNeighbors):
            beyond = BEYOND if plan.measure == "cosine" else 0.0
            found = index.within(
                points, min(format.longest, plan.distance_of(format) + beyond), threads=plan.threads
            )
        elif isinstance(index, HammingIndex):
            found = index.within(points, int(min(plan.bound, index.bits)), threads=plan.threads)
        else:
            found = index.within(points, plan.bound, threads=plan.threads)
        values = plan.of_distances(found.values.astype(np.float64))
        within: BoolArray = (
            values <= plan.bound if is_distance(plan.measure) else values >= plan.bound
        )
        keys = listed(found.keys)
        if not within.all():
            keys = [keys[place] for place in np.flatnonzero(within).tolist()]
        offsets = np.concatenate([[0], np.cumsum(within, dtype=np.int64)])[found.offsets]
        return ItemAnswers(offsets, keys, values[within])

    def pieces_of(
        self, items: PointRows, places: Int64Array, plan: PointPlan
    ) -> Iterator[tuple[Int64Array, Any]]:
        assert items.format is not None
        for start in range(0, len(places), BATCH_ROWS):
            some = places[start : start + BATCH_ROWS]
            yield some, items.format.points_of(items.words[some])
            release(items.words)

    def check_run(self, items: PointRows, plan: PointPlan) -> None:
        assert items.format is not None
        with naming(self.name):
            self._check(items.format, plan)

    def _check(self, format: PointFormat, plan: PointPlan) -> None:
        """Raise ValueError if the index holds other points, or does not promise to find those
        within the radius.
        """
        own = self.format
        unit = "bits" if plan.kind == "code" else "coordinates"
        self._check_kind(plan.kind)
        if plan.measure not in self.measures:
            raise ValueError(f"the measure of this index is {self.measures[0]}, not {plan.measure}")
        if own.dim != format.dim:
            raise ValueError(f"the {unit} of this index are {own.dim}, not {format.dim}")
        self._check_hash(format.image_hash)
        index = self.index
        if isinstance(index, NearNeighbors) and plan.distance_of(format) > index.plan.radius * (
            1 + 1e-12
        ):
            raise ValueError(
                f"this index promises to find points within distance {index.plan.radius:g}, and "
                "the bound of this run "
                f"is {plan.distance_of(format):g}"
            )

    # ---- changing ----

    def insert(self, keys: Column, points: Any, *, threads: int | None = None) -> int:
        if isinstance(self.index, NearNeighbors):
            return self.index.insert(keys, points, threads=threads)
        return super().insert(keys, points)

    def new(self, format: PointFormat, plan: PointPlan, rows: int) -> IndexOfPoints:
        """Return a new index for points of a format, of which there are so many at first."""
        kind = class_for(plan)
        if kind is not NearNeighbors:
            codes: HammingIndex | TanimotoIndex
            if kind is TanimotoIndex:
                codes = TanimotoIndex(
                    format.dim, similarity=plan.bound, on_duplicate=self.on_duplicate
                )
            else:
                codes = HammingIndex(
                    format.dim, radius=int(plan.distance_of(format)), on_duplicate=self.on_duplicate
                )
            if format.image_hash is not None:
                codes.image_hash = format.image_hash.name
            return codes
        dtype: Any = format.dtype
        sample = None if self.sample is None else format.points_of(self.sample.words)
        return NearNeighbors(
            cast(Any, format.metric),
            plan.distance_of(format),
            dim=format.dim,
            n=max(1000, GROWTH * rows),
            recall=0.95 if plan.complete else plan.recall,
            dtype=dtype,
            seed=plan.seed,
            on_duplicate=self.on_duplicate,
            sample=sample,
        )

    def contains(self, keys: Column) -> BoolArray:
        if isinstance(self.index, NearNeighbors):
            return super().contains(keys)
        return np.fromiter((key in self._made for key in listed(keys)), np.bool_, len(keys))

    # ---- files ----

    def commit(self, *, progress: Progress | None = None) -> None:
        if isinstance(self.index, NearNeighbors):
            super().commit(progress=progress)
        else:
            self.save(self.name, overwrite=True, progress=progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        if isinstance(self.index, NearNeighbors):  # a file of codes has no removed entries
            super().compact(progress=progress)

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
            raise ValueError(
                f"{indexes.against}: this is an index of texts or sets, not of {plan.kind}s"
            )
        yield PointIndex(indexes.against, index, indexes.on_duplicate)


def _cosine_at(angle: float) -> float:
    """Return the cosine of an angle: the shortest number that has this angle, if one has it."""
    value = math.cos(angle)
    rounded = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    return next(
        (number for number in rounded if abs(number) <= 1 and math.acos(number) == angle), value
    )
