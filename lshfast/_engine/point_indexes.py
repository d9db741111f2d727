"""The index of vectors or codes in a file, and in a run over files: near entries, and what is added
to it.

Vectors are in the file of a `NearNeighbors`, codes in that of a `HammingIndex` or `TanimotoIndex`.
All store the items, so distances to entries are exact.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from lshfast._common.choices import ItemMeasure, Kind, PointKind, usual_measure
from lshfast._common.image_hashes import ImageHash, check_same_hash, hash_named
from lshfast._common.progress import Progress
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._engine.indexes import Indexes, naming
from lshfast._engine.item_indexes import BATCH_ROWS, ItemAnswers, ItemIndex
from lshfast._items.held_points import release
from lshfast._items.items import PointReader
from lshfast._items.measures import PointPlan, is_distance, make_point_plan
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
    from lshfast.index.stores.values import OnDuplicate

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
    known. `VectorAdapter`, `CodeAdapter` and `TanimotoAdapter` say what differs.
    """

    sample: PointSample | None = None  # by which a new index of vectors is planned

    @property
    @abstractmethod
    def kind(self) -> str | None:
        """The type of the keys, "int" or "str"; None if there are none."""

    @property
    @abstractmethod
    def format(self) -> PointFormat:
        """The format of the entries."""

    @property
    @abstractmethod
    def measures(self) -> tuple[ItemMeasure, ...]:
        """The measures of a query, the default first."""

    @abstractmethod
    def new(self, format: PointFormat, plan: PointPlan, rows: int) -> IndexOfPoints:
        """Return a new index for points of a format, of which `rows` come first."""

    @abstractmethod
    def own_bound(self, measure: ItemMeasure) -> float:
        """Return the bound for which the index was made."""

    @abstractmethod
    def within(self, points: Any, plan: PointPlan) -> Any:
        """Return the entries within the bound of a plan, and perhaps some a little beyond it."""

    def nearest(self, points: Any, k: int, plan: PointPlan) -> Any:
        """Return the k nearest entries."""
        return self._made.query(points, k=k, threads=plan.threads)

    def check_bound(self, format: PointFormat, plan: PointPlan) -> None:
        """Raise ValueError if the index does not promise to find points within the bound."""

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
        return self.own_bound(measure)

    def recall(self, plan: PointPlan) -> float:
        return 1.0

    # ---- searching ----

    def points_of(self, words: UInt64Array) -> Any:
        return self.format.points_of(words)

    def answers(self, points: Any, plan: PointPlan, k: int | None = None) -> ItemAnswers:
        found = self.within(points, plan) if k is None else self.nearest(points, k, plan)
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
        self.check_bound(format, plan)

    def describe(self) -> str:
        """Return how the index searches, and its figures, as lines of text."""
        return f"{self._made}\n{self._made.describe()}\n{self._made.stats()}"


@dataclass
class VectorAdapter(PointIndex):
    """Vectors, in a `NearNeighbors`."""

    @property
    def kind(self) -> str | None:
        return None if self.index is None else self._vectors.store.kind

    @property
    def format(self) -> PointFormat:
        return self._vectors.plan.points

    @property
    def measures(self) -> tuple[ItemMeasure, ...]:
        metric = cast(ItemMeasure, self.format.metric)
        return ("cosine", "angle") if metric == "angle" else (metric,)

    @property
    def _vectors(self) -> NearNeighbors:
        return cast(NearNeighbors, self._made)

    def new(self, format: PointFormat, plan: PointPlan, rows: int) -> NearNeighbors:
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

    def own_bound(self, measure: ItemMeasure) -> float:
        plan = self._vectors.plan
        if measure != "cosine":
            return plan.radius
        return _cosine_at(plan.radius) if plan.threshold is None else plan.threshold

    def recall(self, plan: PointPlan) -> float:
        return float(self._vectors.plan.recall_at(plan.distance_of(self.format)))

    def _searched(self, plan: PointPlan) -> NearNeighbors:
        index = self._vectors.by_angle()
        index.warns = plan.bound in UNBOUNDED  # otherwise fewer than k are as expected
        return index

    def within(self, points: Any, plan: PointPlan) -> Any:
        format = self.format
        beyond = BEYOND if plan.measure == "cosine" else 0.0
        radius = min(format.longest, plan.distance_of(format) + beyond)
        return self._searched(plan).within(points, radius, threads=plan.threads)

    def nearest(self, points: Any, k: int, plan: PointPlan) -> Any:
        return self._searched(plan).query(points, k=k, threads=plan.threads)

    def check_bound(self, format: PointFormat, plan: PointPlan) -> None:
        radius = self._vectors.plan.radius
        distance = plan.distance_of(format)
        if distance > radius * (1 + 1e-12):
            raise ValueError(
                f"this index promises to find points within distance {radius:g}, and the bound "
                f"of this run is {distance:g}"
            )

    def insert(self, keys: Column, points: Any, *, threads: int | None = None) -> int:
        return self._vectors.insert(keys, points, threads=threads)

    def describe(self) -> str:
        return f"{self._vectors.describe()}\n{self._vectors.stats()}"


@dataclass
class CodeAdapter(PointIndex):
    """Codes, in a `HammingIndex`."""

    known_kind: str | None = None  # the type of the keys

    @property
    def kind(self) -> str | None:
        if self.known_kind is None and self.index is not None and len(self.index):
            self.known_kind = kind_of(self._made.items()[0])
        return self.known_kind

    @property
    def format(self) -> PointFormat:
        name = self._made.image_hash
        image_hash = hash_named(name) if name else None
        return PointFormat("hamming", self._made.bits, "float32", None, image_hash)

    @property
    def measures(self) -> tuple[ItemMeasure, ...]:
        return ("hamming",)

    def new(self, format: PointFormat, plan: PointPlan, rows: int) -> IndexOfPoints:
        index = self._empty(format, plan)
        if format.image_hash is not None:
            index.image_hash = format.image_hash.name
        return index

    def _empty(self, format: PointFormat, plan: PointPlan) -> HammingIndex | TanimotoIndex:
        radius = int(plan.distance_of(format))
        return HammingIndex(format.dim, radius=radius, on_duplicate=self.on_duplicate)

    def own_bound(self, measure: ItemMeasure) -> float:
        return float(self._made.radius)

    def within(self, points: Any, plan: PointPlan) -> Any:
        radius = int(min(plan.bound, self._made.bits))
        return self._made.within(points, radius, threads=plan.threads)

    def insert(self, keys: Column, points: Any, *, threads: int | None = None) -> int:
        return super().insert(keys, points)

    def contains(self, keys: Column) -> BoolArray:
        return np.fromiter((key in self._made for key in listed(keys)), np.bool_, len(keys))

    # A file of codes is written whole, and has no removed entries.

    def commit(self, *, progress: Progress | None = None) -> None:
        self.save(self.name, overwrite=True, progress=progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        pass


@dataclass
class TanimotoAdapter(CodeAdapter):
    """Codes that are compared by their Tanimoto similarity, in a `TanimotoIndex`."""

    @property
    def measures(self) -> tuple[ItemMeasure, ...]:
        return ("tanimoto",)

    def _empty(self, format: PointFormat, plan: PointPlan) -> TanimotoIndex:
        return TanimotoIndex(format.dim, similarity=plan.bound, on_duplicate=self.on_duplicate)

    def own_bound(self, measure: ItemMeasure) -> float:
        return float(self._made.similarity)

    def within(self, points: Any, plan: PointPlan) -> Any:
        return self._made.within(points, plan.bound, threads=plan.threads)


ADAPTERS: dict[type, type[PointIndex]] = {
    NearNeighbors: VectorAdapter,
    HammingIndex: CodeAdapter,
    TanimotoIndex: TanimotoAdapter,
}


def point_index(name: str, index: IndexOfPoints, on_duplicate: OnDuplicate) -> PointIndex:
    """Return an index of points that was opened, as runs and commands use it."""
    return ADAPTERS[type(index)](name, index, on_duplicate)


def new_point_index(name: str, plan: PointPlan, on_duplicate: OnDuplicate) -> PointIndex:
    """Return an index that is made when the format of its points is known."""
    return ADAPTERS[class_for(plan)](name, None, on_duplicate)


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
    with any_index(indexes.against, "c", indexes.on_duplicate) as index:
        if isinstance(index, LSHIndex):
            raise ValueError(
                f"{indexes.against}: this is an index of texts or sets, not of {plan.kind}s"
            )
        yield point_index(indexes.against, cast(Any, index), indexes.on_duplicate)


def _cosine_at(angle: float) -> float:
    """Return the cosine of an angle: the shortest number that has this angle, if one has it."""
    value = math.cos(angle)
    rounded = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    return next(
        (number for number in rounded if abs(number) <= 1 and math.acos(number) == angle), value
    )
