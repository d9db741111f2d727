"""One segment of an index: tables of entries, growing in memory, or fixed in a file or LMDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from lshfast._common.types import (
    BoolArray,
    Float64Array,
    Int64Array,
    UInt8Array,
    UInt64Array,
)
from lshfast.index.keys import INTEGERS, Column, converted, kind_of, matched, refusal
from lshfast.index.stores.values import OnDuplicate, Parameters, SearchRequest
from lshfast.kernels.keys import KeyTable
from lshfast.kernels.tables import BandTables

PIECE_ROWS = 1 << 13  # rows in a batch of items

# Called with the number of further bytes that are done.
Tell: TypeAlias = Callable[[int], None]


@dataclass(eq=False)
class Segment:
    """Tables, and the names (keys) of their rows.

    Attributes
    ----------
    tables : BandTables
    kind : str
        "int", "uint" or "str" if the tables store the names of their rows, otherwise "object".
    names : KeyTable
        The names of rows, if the kind is "object".
    deleted : ndarray of uint8 or None
        For fixed tables: 1 if a row is deleted.
    deleted_when_written : int
        The number of deleted rows in the stored segment.
    where : object
        For fixed tables: the record that says where they are stored.
    reuses : int
        The number of calls that freed rows. Freed rows may have other names now.
    """

    tables: BandTables
    kind: str
    names: KeyTable = field(default_factory=KeyTable)
    deleted: UInt8Array | None = None
    deleted_when_written: int = 0
    where: Any = None
    reuses: int = 0

    def __len__(self) -> int:
        return len(self.tables)

    def find(self, keys: Column) -> Int64Array:
        """Return the row of each key, or -1 if it has none."""
        if self.kind == "object":
            return self.names.find(keys)
        if kind_of(keys) == self.kind:
            return self.tables.find(keys)
        names, is_name = matched(keys, self.kind)
        return np.where(is_name, self.tables.find(names), -1)

    def is_either(self) -> bool:
        """Return whether all keys are in 0..2**63 - 1, and so of both kinds of integers."""
        return self.kind in INTEGERS and self.tables.is_either()

    def fits(self, kind: str) -> bool:
        """Return whether all keys are keys of a kind."""
        return self.kind == kind or (kind in INTEGERS and self.is_either())

    def read_as(self, kind: str) -> None:
        """Read keys that are `is_either` as keys of another kind of integers."""
        self.tables.read_as(kind)
        self.kind = kind

    def admit(self, keys: Column) -> tuple[Int64Array, BoolArray]:
        """Assign rows to keys without one; return the rows of all keys, and which rows are new."""
        return self.tables.admit(keys, self._table)

    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        on_duplicate: OnDuplicate,
        in_fixed: BoolArray,
        copy: bool,
        fixed_rows: list[tuple[Segment, Int64Array]],
    ) -> int:
        """Insert entries and mark rows of fixed segments as deleted, all or nothing."""
        self.reuses += on_duplicate == "replace"
        return self.tables.insert(
            keys,
            signatures,
            on_duplicate,
            in_fixed,
            copy,
            marks_of(fixed_rows),
            self._table,
        )

    def discard(
        self, rows: Int64Array, fixed_rows: list[tuple[Segment, Int64Array]]
    ) -> None:
        """Free rows, and mark rows of fixed segments as deleted, all or nothing."""
        self.reuses += 1
        self.tables.discard(rows, marks_of(fixed_rows), self._table)

    @property
    def _table(self) -> KeyTable | None:
        return self.names if self.kind == "object" else None

    def names_of(self, rows: Int64Array) -> Column:
        """Return the keys of rows."""
        names: Column = (
            self.names.take(rows)
            if self.kind == "object"
            else self.tables.names_of(rows)
        )
        return names

    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        """Yield the keys and signatures of all rows in use, in batches."""
        rows = self.tables.rows_in_use()
        for start in range(0, len(rows), PIECE_ROWS):
            batch = rows[start : start + PIECE_ROWS]
            yield self.names_of(batch), self.tables.signatures_of(batch)

    def search(
        self, search: SearchRequest, part: slice, progress: Int64Array, room: int | None
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return (offsets, rows, distances) of the neighbors of some queries in this segment.

        `progress` and `room` are as for `BandTables.search`.
        """
        limit = (
            None if search.limit is None else (search.limit.kind, search.limit.count)
        )
        return self.tables.search(
            search.buckets[part],
            search.points[part],
            search.measure.kernel,
            search.most,
            search.within,
            limit,
            progress,
            room,
        )


def marks_of(
    places: list[tuple[Segment, Int64Array]],
) -> list[tuple[UInt8Array, Int64Array]]:
    """Return, for each fixed segment and some of its rows, its deletion marks and these rows."""
    return [
        (segment.deleted, rows)
        for segment, rows in places
        if segment.deleted is not None
    ]


def empty_segment(parameters: Parameters, kind: str) -> Segment:
    """Return a segment in memory without any rows."""
    names = kind if kind != "object" else None
    p = parameters
    tables = BandTables(
        p.num_perm,
        p.bands,
        p.rows_per_band,
        names,
        payload=p.payload,
        apart=p.apart,
        bits=p.bits,
        head=p.head,
    )
    return Segment(tables, kind)


def built(
    parameters: Parameters,
    kind: str,
    segments: Iterable[Segment],
    tell: Tell = lambda _: None,
    batch: int = PIECE_ROWS,
) -> Segment:
    """Build one segment in memory from several segments without common keys.

    `tell` is called with the bytes of the signatures of each piece. Tables grow as if each row of a
    batch had its own bucket, so smaller batches make smaller tables, and take more time.
    """
    segments = list(segments)
    rows_done = 0
    new_segment = empty_segment(parameters, kind)
    signatures = np.empty((sum(map(len, segments)), parameters.words), np.uint64)
    for segment in segments:
        rows_in_use = segment.tables.rows_in_use()
        for start in range(0, len(rows_in_use), PIECE_ROWS):
            rows = rows_in_use[start : start + PIECE_ROWS]
            piece = segment.tables.signatures_of(
                rows, signatures[rows_done : rows_done + len(rows)]
            )
            names = segment.names_of(rows)
            column = names if kind == "object" else converted(names, kind)
            if column is None:
                raise refusal(names, kind)
            places, _ = new_segment.admit(column)
            for first in range(0, len(rows), batch):
                new_segment.tables.write(
                    places[first : first + batch],
                    piece[first : first + batch],
                    copy=False,
                )
            rows_done += len(rows)
            tell(piece.nbytes)
    new_segment.tables.tidy()
    return new_segment
