"""Crowded buckets, whose rows are looked up by rare elements instead of compared pairwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lshfast._common.rows import concatenated, int64_range
from lshfast._common.threads import pieces
from lshfast._common.types import BoolArray, Int32Array, Int64Array, UInt64Array
from lshfast._items.rare_elements import MIXER, RareElements, RareElementsOf

_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)

# Keys of buckets, ascending, and their rows.
SortedRows: TypeAlias = tuple[UInt64Array, Int32Array]

# Buckets of fewer rows are not split: to compare these takes at most 40 microseconds a row.
CROWD_ROWS = 256

# Rows of each side by which it is estimated whether splitting a bucket helps.
SAMPLE_ROWS = 64

# A bucket is split if at most one of LEAST_GAIN pairs of its rows is left.
LEAST_GAIN = 4

# The key of no bucket.
NO_KEY = np.uint64(2**64 - 1)

# Pairs that are looked up at once, unless a single row has more.
PIECE_PAIRS = 1 << 18


@dataclass(frozen=True)
class _Side:
    """The rows of one side that are in crowded buckets, and their rare elements mixed with keys."""

    keys: UInt64Array
    rows: Int32Array
    rare: RareElements
    mixed: UInt64Array

    @classmethod
    def of(cls, keys: UInt64Array, rows: Int32Array, rare: RareElements) -> _Side:
        mixed = rare.hashes ^ keys[rare.owners] * MIXER
        return cls(keys, rows, rare, mixed)


@dataclass(frozen=True)
class _Lookup:
    """Entries of the right side, each with the range of left entries that have its element."""

    left_places: Int64Array
    entries: Int64Array
    low: Int64Array
    high: Int64Array

    @classmethod
    def of(cls, left_side: _Side, right_side: _Side, left_is_lighter: bool) -> _Lookup:
        of_left = (
            np.flatnonzero(left_side.rare.as_lighter)
            if left_is_lighter
            else int64_range(len(left_side.mixed))
        )
        entries = (
            int64_range(len(right_side.mixed))
            if left_is_lighter
            else np.flatnonzero(right_side.rare.as_lighter)
        )
        of_left = of_left[np.argsort(left_side.mixed[of_left], kind="stable")]
        mixed = left_side.mixed[of_left]
        searched = right_side.mixed[entries]
        low, high = (
            np.searchsorted(mixed, searched, side=side) for side in ("left", "right")
        )
        return cls(left_side.rare.owners[of_left], entries, low, high)


class SplitBuckets:
    """Buckets with many rows, most of which share no rare element.

    Parameters
    ----------
    left, right : pair of ndarray
        The keys of buckets, ascending, and the places of the rows in them.
    rare : RareElementsOf
    order : ndarray of int64
        The row of each place.

    Attributes
    ----------
    split : ndarray of uint64
        The keys of the buckets, ascending.
    """

    def __init__(
        self,
        left_rows: SortedRows,
        right_rows: SortedRows,
        rare: RareElementsOf,
        order: Int64Array,
    ) -> None:
        self._right = _Side.of(*right_rows, rare.of(order[right_rows[1]]))
        self._left = (
            self._right
            if left_rows is right_rows
            else _Side.of(*left_rows, rare.of(order[left_rows[1]]))
        )
        buckets = np.unique(np.concatenate([left_rows[0], right_rows[0]]))
        self._lookups = [
            _Lookup.of(self._left, self._right, lighter) for lighter in (True, False)
        ]
        numbers = [
            np.searchsorted(buckets, keys) for keys, _ in (left_rows, right_rows)
        ]
        after = np.zeros(len(buckets))
        for lookup in self._lookups:
            of_entries = numbers[1][self._right.rare.owners[lookup.entries]]
            after += np.bincount(
                of_entries, lookup.high - lookup.low, minlength=len(buckets)
            )
        before = np.bincount(numbers[0], minlength=len(buckets)) * np.bincount(
            numbers[1], minlength=len(buckets)
        )
        self.split: UInt64Array = buckets[LEAST_GAIN * after <= before]

    def pairs(
        self, limits: Int32Array, labels: Int32Array | None
    ) -> Iterator[UInt64Array]:
        """Yield the pairs of split buckets that share a rare element, as `Meetings` does."""
        owners = self._right.rare.owners
        is_split = are_in(self._right.keys, self.split)
        counts = np.zeros(len(self._right.rows), np.int64)
        for lookup in self._lookups:
            entry_counts = np.bincount(
                owners[lookup.entries], lookup.high - lookup.low, minlength=len(counts)
            )
            counts += entry_counts.astype(np.int64)
        for piece in pieces(counts, PIECE_PAIRS):
            parts = [
                self._of_rows(lookup, owners, piece, is_split)
                for lookup in self._lookups
            ]
            numbers = np.unique(np.concatenate(parts))
            left_places = (numbers & _LOW).astype(np.int64)
            right_places = (numbers >> _HALF).astype(np.int64)
            left_rows = self._left.rows[left_places]
            right_rows = self._right.rows[right_places]
            valid = (self._left.keys[left_places] == self._right.keys[right_places]) & (
                left_rows < limits[right_rows]
            )
            if labels is not None:
                valid &= labels[left_rows] != labels[right_rows]
            yield right_rows[valid].astype(np.uint64) << _HALF | left_rows[
                valid
            ].astype(np.uint64)

    def _of_rows(
        self, lookup: _Lookup, owners: Int64Array, piece: slice, is_split: BoolArray
    ) -> UInt64Array:
        """Return the pairs of places of some rows of the right side, which may repeat."""
        of_entries = owners[lookup.entries]
        start, stop = np.searchsorted(of_entries, [piece.start, piece.stop])
        split_entries = start + np.flatnonzero(is_split[of_entries[start:stop]])
        counts = lookup.high[split_entries] - lookup.low[split_entries]
        first = np.repeat(
            lookup.low[split_entries] - (np.cumsum(counts, dtype=np.int64) - counts),
            counts,
        )
        left_places = lookup.left_places[first + int64_range(len(first))]
        right_places = np.repeat(of_entries[split_entries], counts)
        return right_places.astype(np.uint64) << _HALF | left_places.astype(np.uint64)


def crowded_buckets(
    left_rows: SortedRows,
    right_rows: SortedRows,
    rare: RareElementsOf,
    order: Int64Array,
) -> UInt64Array:
    """Return the sorted keys of large buckets of the left side, if by a sample a split helps."""
    keys = left_rows[0]
    repeated = keys[CROWD_ROWS:][
        keys[CROWD_ROWS:] == keys[: max(0, len(keys) - CROWD_ROWS)]
    ]
    if not len(repeated):
        return np.asarray(repeated)
    crowded = np.unique(repeated)
    crowded = crowded[are_in(crowded, right_rows[0]) & (crowded != NO_KEY)]
    # Every second row is in the sample of one side, so that no row is compared with itself.
    samples = [
        _sample_of(side, crowded, first)
        for side, first in ((left_rows, 0), (right_rows, 1))
    ]
    return SplitBuckets(samples[0], samples[1], rare, order).split


def _sample_of(side: SortedRows, buckets: UInt64Array, first: int) -> SortedRows:
    """Return rows of each of some buckets, from its row `first` on, at regular even distances."""
    starts, ends = (
        np.searchsorted(side[0], buckets, side=end) for end in ("left", "right")
    )
    steps = np.maximum(2, (ends - starts) // (2 * SAMPLE_ROWS) * 2)
    parts = [
        int64_range(start + first, end, step)
        for start, end, step in zip(starts, ends, steps, strict=True)
    ]
    places = concatenated(parts)
    return side[0][places], side[1][places]


def of_buckets(side: SortedRows, places: BoolArray | slice) -> SortedRows:
    """Return some of the rows of a side."""
    return side[0][places], side[1][places]


def are_in(keys: UInt64Array, ascending: UInt64Array) -> BoolArray:
    """Return which keys are among others."""
    if not len(ascending):
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[places] == keys)
