"""`ItemIndex`: what runs and jobs do with an index of weighted sets, vectors or codes, in a file or
a new one.

Items are words of uint64: points, or the signatures of weighted sets. An index is written after the
outputs; until then its file keeps its old state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._engine.against import Earlier
from lshfast._engine.indexes.run_indexes import add_entries
from lshfast._io import Corpus
from lshfast._items.measures import PointPlan
from lshfast.index.keys import Column
from lshfast.index.stores.values import OnDuplicate

if TYPE_CHECKING:
    from lshfast._engine.inputs import AnyReader
    from lshfast._engine.points import PointRows
    from lshfast.index.neighbors.points import PointFormat

Made = TypeVar("Made")

# Items that are inserted at once.
BATCH_ROWS = 1 << 14


class ItemAnswers(NamedTuple):
    """The entries near to items; those of item i are at ``offsets[i]:offsets[i + 1]``.

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


class Apart(NamedTuple):
    """The greatest similarity, or the least distance, of entries that are no copies, if any."""

    most: float | None = None
    least: float | None = None

    def marks(self, values: Float64Array) -> BoolArray:
        """Return which similarities, or distances, are within the bound."""
        if self.most is not None:
            return values <= self.most
        return values >= (-np.inf if self.least is None else self.least)


# Without such a bound.
NOT_APART = Apart()


@dataclass
class ItemIndex(ABC, Generic[Made]):
    """An index of items, or a new one.

    Attributes
    ----------
    name : str
        Its file, in messages.
    index : LSHIndex, NearNeighbors, HammingIndex, TanimotoIndex or None
        None for a new one, until the format of the items is known.
    on_duplicate : {"error", "skip", "replace"}
    """

    name: str
    index: Made
    on_duplicate: OnDuplicate

    def __len__(self) -> int:
        return 0 if self.index is None else len(self._made)

    @property
    def holds(self) -> Kind:
        """What the entries are."""
        kind: Kind = self._made.holds
        return kind

    @property
    def key_kind(self) -> str | None:
        """The kind of the keys, "int", "uint" or "str"; None if there are none."""
        kind: str | None = self._made.key_kind
        return kind

    @property
    @abstractmethod
    def format(self) -> Any:
        """The format of the entries: the format of points, or the hasher of signatures."""

    @property
    def _made(self) -> Any:
        """The index, which is not None."""
        assert self.index is not None
        return self.index

    def begin(self, format: PointFormat | None, plan: PointPlan, rows: int) -> None:
        """Make the index, if there is none, for `rows` items of a format."""

    def choose_bound(
        self, words: Sequence[UInt64Array], format: PointFormat, plan: PointPlan, k: int
    ) -> PointPlan:
        """Return a plan with a bound within which 95 % of the vectors have k others."""
        raise NotImplementedError

    # ---- plans ----

    @abstractmethod
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
        """Return the plan of rows of a kind that are looked up within a threshold or radius.

        By default these are the kind and the bound of the index; if it is unbounded, all entries
        are near enough.
        """

    @abstractmethod
    def reader(self, plan: PointPlan) -> AnyReader:
        """Return a reader of items that have the format of the entries."""

    def check_reader(self, reader: AnyReader) -> None:
        """Raise ValueError if opened inputs are known to have other items than the entries."""

    @abstractmethod
    def recall(self, plan: PointPlan) -> float:
        """Return the probability that an entry at the bound is found."""

    # ---- searching ----

    @abstractmethod
    def points_of(self, words: UInt64Array) -> Any:
        """Return words in the format of the entries as the index takes them."""

    @abstractmethod
    def answers(
        self,
        points: Any,
        plan: PointPlan,
        k: int | None = None,
        copy_bound: Apart = NOT_APART,
    ) -> ItemAnswers:
        """Return the entries within the bound of each item, or the k nearest, the nearest first."""

    @abstractmethod
    def check_run(self, items: PointRows, plan: PointPlan) -> None:
        """Raise ValueError if the index may miss entries near to the rows of a run."""

    @abstractmethod
    def pieces_of(
        self, items: PointRows, places: Int64Array, plan: PointPlan
    ) -> Iterator[tuple[Int64Array, Any]]:
        """Yield the places of rows of a run in pieces, and the rows as the index takes them."""

    def earlier(self, items: PointRows, plan: PointPlan) -> Earlier:
        """Return the rows that are near to an entry, each with its nearest entry."""
        self.check_run(items, plan)
        rows = [np.empty(0, np.int64)]
        keys = list[Any]()
        values = [np.empty(0)]
        for places, points in self.pieces_of(items, int64_range(len(items)), plan):
            nearest = self.answers(points, plan, k=1)
            rows.append(places[np.flatnonzero(np.diff(nearest.offsets))])
            keys += nearest.keys
            values.append(nearest.values)
        return Earlier(np.concatenate(rows), keys, np.concatenate(values))

    # ---- changing ----

    def add(
        self, numbers: Int64Array, words: UInt64Array, plan: PointPlan, corpus: Corpus
    ) -> int:
        """Insert items under the keys of their rows; return the number that are new or replaced."""
        added = 0
        for start in range(0, len(numbers), BATCH_ROWS):
            piece = slice(start, start + BATCH_ROWS)
            added += self._add(
                numbers[piece], self.points_of(words[piece]), plan, corpus
            )
        return added

    def _add(
        self, numbers: Int64Array, points: Any, plan: PointPlan, corpus: Corpus
    ) -> int:
        return add_entries(
            partial(self.insert, threads=plan.threads),
            self._made,
            self.key_kind,
            self.name,
            corpus,
            numbers,
            points,
        )

    def insert(self, keys: Column, points: Any, *, threads: int | None = None) -> int:
        """Insert items, and return the number of entries that are new or replaced."""
        added: int = self._made.insert(keys, points)
        return added

    def add_rows(
        self, items: PointRows, places: Int64Array, plan: PointPlan, corpus: Corpus
    ) -> int:
        """Insert rows of a run under their keys; return the number of new or replaced entries."""
        self.begin(items.format, plan, len(places))
        pieces = self.pieces_of(items, places, plan)
        return sum(
            self._add(items.numbers[piece], points, plan, corpus)
            for piece, points in pieces
        )

    def contains(self, keys: Column) -> BoolArray:
        """Return which keys are in the index."""
        is_present: BoolArray = self._made.contains(keys)
        return is_present

    def remove(self, keys: Column) -> None:
        """Remove the entries of some keys, which are in the index."""
        self._made.remove(keys)

    # ---- files ----

    def save(
        self, path: str, *, overwrite: bool = False, progress: Progress | None = None
    ) -> None:
        """Write the index; the file gets its name when it is complete."""
        if self.index is not None:
            self._made.save(path, overwrite=overwrite, progress=progress)

    def commit(self, *, progress: Progress | None = None) -> None:
        """Write the changes to the file that was opened."""
        self._made.write_back(self.name, progress=progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        """Rewrite the file that was opened without removed entries."""
        self._made.compact(progress=progress)

    def verify(self) -> None:
        """Check the whole index; an error names what is damaged."""
        self._made.verify()

    def stats(self) -> Any:
        """Return the figures of the index."""
        return self._made.stats()
