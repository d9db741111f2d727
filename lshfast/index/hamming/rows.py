"""`CodeRows`: the keys and codes of an index, and segments that are built over them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt8Array, UInt64Array
from lshfast.index.keys import (
    INTEGER_DTYPES,
    Column,
    IntegerArray,
    check_present,
    is_either,
    joint_kind,
    kind_of,
    matched_integers,
    take,
)
from lshfast.index.stores.values import OnDuplicate, places_to_insert
from lshfast.kernels.gate import Gate
from lshfast.kernels.hamming import MAX_ROWS, IntKeys
from lshfast.kernels.keys import KeyTable

# The most rows at the end that are scanned before a segment is made of them.
TAIL_ROWS = 1 << 13

# A segment is merged with the next one if it is less than RATIO times as long. So there are few
# segments, and a row is sorted again at most about log(n) / log(RATIO) times.
RATIO = 4

# Memory of removed rows is released when they are more than one row in DEAD_SHARE.
DEAD_SHARE = 4

# Queries in one piece of work, and nearest rows of all of them.
PIECE_QUERIES = 256
PIECE_ROWS = 1 << 20


class CodeSegment(Protocol):
    """Consecutive rows that are ordered for a search."""

    @property
    def first(self) -> int:
        """The first row."""

    @property
    def end(self) -> int:
        """The row after the last one."""

    @property
    def nbytes(self) -> int:
        """Bytes besides the codes."""

    def move(self, codes: UInt64Array) -> None:
        """Refer to a copy of the codes from now on."""


ASegment = TypeVar("ASegment", bound=CodeSegment)


@dataclass(frozen=True)
class CodeView(Generic[ASegment]):
    """The state of the entries that a search uses."""

    codes: UInt64Array
    live: UInt8Array | None  # None if all rows have entries
    segments: list[ASegment]
    used: int

    def alive(self, first: int, end: int) -> UInt8Array | None:
        """Return which of some rows have entries."""
        return None if self.live is None else self.live[first:end]

    @property
    def tail(self) -> int:
        """First row after the segments."""
        return self.segments[-1].end if self.segments else 0


class CodeRows(Generic[ASegment]):
    """Keys and codes, and segments of them.

    `gate` is a read-write lock. Readers hold `gate.reading()` from the call of `view` until they
    have the keys of the rows that they found. Only one writer runs at a time. It sorts while
    readers run, and holds `gate.writing()` only while it replaces the old state.

    Parameters
    ----------
    bits : int
    make : callable
        Makes a segment of codes, whose first row is given; None if a scan of them is better.
    """

    gate: Gate

    def __init__(
        self, bits: int, make: Callable[[UInt64Array, int], ASegment | None]
    ) -> None:
        self.gate = Gate()
        # It has no readers. With a Lock, a forked child would wait for a writer of its parent.
        self._writer = Gate()
        self._make = make
        self.words: int = -(-bits // 64)
        self._keys: IntKeys | KeyTable = IntKeys()
        # The kind of the integers in IntKeys, which stores their 8 bytes.
        self._kind = "int"
        self._codes: UInt64Array = np.empty((0, self.words), np.uint64)
        self._live: UInt8Array = np.empty(0, np.uint8)
        self._used = 0  # rows from here on have never been used
        self._segments: list[ASegment] = []
        self._tried = 0  # rows at the end for which a scan was chosen

    def __len__(self) -> int:
        return len(self._keys)

    # For readers, within gate.reading():

    def view(self) -> CodeView[ASegment]:
        """Return the state that a search uses."""
        live = None if len(self._keys) == self._used else self._live[: self._used]
        return CodeView(self._codes, live, self._segments, self._used)

    def find(self, keys: Column) -> Int64Array:
        """Return the row of each key, -1 where it has none."""
        if isinstance(self._keys, KeyTable):
            return self._keys.find(keys)
        if isinstance(keys, np.ndarray) and kind_of(keys) == self._kind:
            return self._keys.find(keys.view(np.int64))
        integers, is_key = matched_integers(keys, self._kind)
        return np.where(is_key, self._keys.find(integers.view(np.int64)), -1)

    def names(self, rows: Int64Array) -> Column:
        """Return the keys of some rows."""
        if isinstance(self._keys, IntKeys):
            integers: IntegerArray = self._keys.take(rows)
            return np.asarray(integers.view(INTEGER_DTYPES[self._kind]))
        names: Column = self._keys.take(rows)
        return names

    def rows(self) -> Int64Array:
        """Return all rows that have entries."""
        return np.flatnonzero(self._live[: self._used]).astype(np.int64, copy=False)

    def columns(self, rows: Int64Array) -> list[UInt64Array]:
        """Return the codes of some rows; they are a view of all rows if there are no others."""
        return [
            self._codes[: self._used] if len(rows) == self._used else self._codes[rows]
        ]

    def figures(self) -> dict[str, int]:
        """Return figures by name; sizes are in bytes, without key objects."""
        return {
            "segments": len(self._segments),
            "scanned rows": self._used - self._tail,
            "removed rows": self._used - len(self._keys),
            "code bytes": self._codes.nbytes + self._live.nbytes,
            "block bytes": sum(segment.nbytes for segment in self._segments),
            "key bytes": self._keys.nbytes,
        }

    def unsound(self) -> str:
        """Return a description of the first disagreement with the live rows, or ""."""
        firsts = [segment.first for segment in self._segments]
        ends = [segment.end for segment in self._segments]
        are_consecutive = [*firsts, self._tail] == [0, *ends]
        if are_consecutive and self._tail <= self._used:
            return ""
        return "blocks: they do not hold each row once"

    # For writers:

    def insert(
        self, keys: Column, codes: UInt64Array, on_duplicate: OnDuplicate
    ) -> int:
        """Insert entries, all or none, and return the number of new or replaced entries."""
        with self._writer.writing():
            old_rows = self.find(keys)
            places = places_to_insert(keys, old_rows, on_duplicate)
            if len(places) < len(keys):
                keys = take(keys, places)
                codes = codes[places]
                old_rows = old_rows[places]
            if len(keys) == 0:
                return 0
            self._reserve(self._used + len(keys))
            rows = int64_range(self._used, self._used + len(keys))
            self._codes[rows[0] : rows[-1] + 1] = codes
            if isinstance(self._keys, IntKeys):
                keys = self._as_integers(keys)
            with self.gate.writing():
                # If an interrupt comes before `put`, the new rows stay unused.
                self._used += len(rows)
                self._keys.put(keys, rows, old_rows, self._live)
            self._tidy()
        return len(rows)

    def remove(self, keys: Column) -> None:
        """Remove the entries of some keys, all or none."""
        with self._writer.writing():
            found_rows = self.find(keys)
            check_present(keys, found_rows)
            with self.gate.writing():
                self._keys.drop(np.unique(found_rows), self._live)
            self._tidy()

    def _reserve(self, rows: int) -> None:
        """Allocate memory for a number of rows."""
        if rows >= MAX_ROWS:
            raise OverflowError(
                f"an index can have at most {MAX_ROWS - 1} rows, not {rows}"
            )
        if rows <= len(self._live):
            return
        room = max(rows, self._used + self._used // 2)
        codes = np.empty((room, self.words), np.uint64)
        live = np.zeros(room, np.uint8)
        codes[: self._used] = self._codes[: self._used]
        live[: self._used] = self._live[: self._used]
        with self.gate.writing():
            # One call, so no signal handler runs in between.
            vars(self).update(_codes=codes, _live=live)
            for segment in self._segments:
                segment.move(codes[segment.first : segment.end])

    def _as_integers(self, keys: Column) -> Column:
        """Return keys as IntKeys stores them, or unchanged after a change to a KeyTable."""
        kind = joint_kind(
            keys,
            self._kind,
            lambda joint: joint == self._kind or is_either(self.names(self.rows())),
        )
        if kind == "object":
            self._keep_objects()
            return keys
        if kind != self._kind:
            with self.gate.writing():
                self._kind = kind
        return np.asarray(keys).view(np.int64)

    def _keep_objects(self) -> None:
        """Replace the table of ints by one of any keys."""
        rows = self.rows()
        keys = KeyTable()
        keys.add(self.names(rows), rows)
        with self.gate.writing():
            self._keys = keys

    @property
    def _tail(self) -> int:
        """First row after the segments."""
        return self._segments[-1].end if self._segments else 0

    def _tidy(self) -> None:
        """Sort rows at the end into a segment, or all rows after many removals, within memory."""
        with suppress(MemoryError):  # then nothing changes
            self._sort()

    def _sort(self) -> None:
        dead = self._used - len(self._keys)
        if dead > TAIL_ROWS and DEAD_SHARE * dead > self._used:
            self._compact()
        segments = [*self._segments]
        first = self._tail
        if self._used - first <= max(TAIL_ROWS, 2 * self._tried):
            return
        while segments:
            last = segments[-1]
            if last.end - last.first >= RATIO * (self._used - first):
                break
            first = last.first
            segments.pop()
        segment = self._make(self._codes[first : self._used], first)
        with self.gate.writing():
            if segment is None:
                self._tried = self._used - self._tail
            else:
                vars(self).update(_segments=[*segments, segment], _tried=0)

    def _compact(self) -> None:
        """Number the rows with entries from 0, in arrays of the least possible length."""
        rows = self.rows()
        keys: IntKeys | KeyTable = (
            IntKeys() if isinstance(self._keys, IntKeys) else KeyTable()
        )
        names: Column = self._keys.take(rows)
        codes = self._codes[rows]
        live = np.zeros(len(rows), np.uint8)
        numbers = int64_range(len(rows))
        keys.put(names, numbers, np.full(len(rows), -1, np.int64), live)
        with self.gate.writing():
            vars(self).update(
                _keys=keys,
                _codes=codes,
                _live=live,
                _used=len(rows),
                _segments=[],
                _tried=0,
            )
