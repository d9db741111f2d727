"""The pairs of blocks: of rows with equal keys in two tables, or in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.kernels import pairs as kernels
from lshfast.kernels.bands import sorted_numbers
from lshfast.records.linkage import Linkage, RulePairs, SkippedBlock
from lshfast.records.tables.record_table import CodedField

MOST_PAIRS = (
    1 << 27
)  # pairs of one rule; each takes 8 bytes, and more while they are sorted
SHOWN_BLOCKS = 3  # of the blocks that are left out, the largest are named
NO_KEY = 2**64 - 1  # the key of a record that is in no block


def combined_keys(coded: list[CodedField]) -> tuple[UInt64Array, UInt64Array]:
    """Return a key for the values of several fields in each row of two tables.

    Keys are equal where all values are; NO_KEY is that of a row without one of them.
    """
    sizes = [len(codes) for codes in coded[0].codes]
    keys = np.zeros(sum(sizes), np.uint64)
    missing = np.zeros(sum(sizes), bool)
    size = 1
    for field in coded:
        codes = np.concatenate(field.codes)
        count = max(1, len(field.values))
        if size * count >= NO_KEY:  # the combinations that occur are fewer
            distinct, places = np.unique(keys, return_inverse=True)
            keys = places.reshape(-1).astype(np.uint64)
            size = len(distinct)
        size *= count
        missing |= codes < 0
        keys = keys * np.uint64(count) + np.maximum(codes, 0).astype(np.uint64)
    keys[missing] = NO_KEY
    return keys[: sizes[0]], keys[sizes[0] :]


def distinct_places(parts: list[UInt64Array]) -> UInt64Array:
    """Return the places of several arrays, ascending, each once."""
    places = sorted_numbers(np.concatenate([np.empty(0, np.uint64), *parts]))
    return (
        places[np.concatenate([[True], places[1:] != places[:-1]])]
        if len(places)
        else places
    )


def check_total(pairs: int) -> None:
    """Raise OverflowError if a rule brings too many pairs."""
    if pairs > MOST_PAIRS:
        raise OverflowError(
            f"a blocking rule brings more than {MOST_PAIRS:,} pairs: name more fields in its key, "
            "or lower max_block or the window"
        )


@dataclass(frozen=True)
class KeyGroups:
    """The rows of two tables, or of one, by the codes of their keys.

    Attributes
    ----------
    codes : ndarray of int64
        Of the rows of the first table; -1 for a row without a key, or with one that the second
        table does not have.
    rows, starts : ndarray of int64
        The rows of the second table with code c are ``rows[starts[c]:starts[c + 1]]``, ascending.
    single : bool
        Whether there is one table, whose pairs are counted once.
    """

    codes: Int64Array
    rows: Int64Array
    starts: Int64Array
    single: bool

    @classmethod
    def of(cls, keys_a: UInt64Array, keys_b: UInt64Array | None) -> KeyGroups:
        """Group the rows of two tables, or of one, by equal keys."""
        if keys_b is None:
            codes, _, firsts = kernels.codes_of_keys(keys_a, keys_a[:0], NO_KEY)
            return cls(codes, *kernels.rows_by_code(codes, len(firsts)), True)
        second, codes, firsts = kernels.codes_of_keys(keys_b, keys_a, NO_KEY)
        return cls(codes, *kernels.rows_by_code(second, len(firsts)), False)

    @cached_property
    def pairs(self) -> Int64Array:
        """Pairs of each key."""
        counts = np.diff(self.starts)
        if self.single:
            return np.asarray(counts * (counts - 1) // 2)
        return np.asarray(
            counts * np.bincount(self.codes[self.codes >= 0], minlength=len(counts))
        )

    def places(self, chosen: BoolArray, columns: int) -> UInt64Array:
        """Return the places i * columns + j of all pairs of the chosen keys, ascending."""
        i = np.flatnonzero(self.codes >= 0)
        i = i[chosen[self.codes[i]]]
        begin = self.starts[self.codes[i]]
        end = self.starts[self.codes[i] + 1]
        if self.single:  # each row with those behind it
            place_of = np.empty(len(self.codes), np.int64)
            place_of[self.rows] = np.arange(len(self.rows), dtype=np.int64)
            begin = place_of[i] + 1
        return _places_of_runs(i * columns, begin, end - begin, self.rows)

    def skipped(
        self, chosen: BoolArray, label: Callable[[int], str]
    ) -> list[SkippedBlock]:
        """Return the blocks of keys that are left out; `label` names the key of a row."""
        codes = np.flatnonzero(chosen)
        if not len(codes):
            return []
        first = np.empty(len(chosen), np.int64)
        rows = np.flatnonzero(self.codes >= 0)[::-1]
        first[self.codes[rows]] = rows  # of repeated assignments the last stays
        sizes = self.pairs[codes].tolist()
        return [
            SkippedBlock(label(row), size)
            for row, size in zip(first[codes].tolist(), sizes, strict=True)
        ]


def joined(
    linkage: Linkage,
    keys: tuple[UInt64Array, UInt64Array],
    max_block: int,
    label: Callable[[int], str],
) -> RulePairs:
    """Return the pairs of rows with equal keys, without the blocks that exceed the cap."""
    blocks = KeyGroups.of(keys[0], keys[1] if linkage.b is not None else None)
    fits = blocks.pairs <= max_block
    check_total(int(blocks.pairs[fits].sum()))
    return with_skipped(
        RulePairs(blocks.places(fits, linkage.sizes[1])), blocks.skipped(~fits, label)
    )


def pairs_of_values(
    linkage: Linkage,
    places: list[Int64Array],
    pairs: tuple[Int64Array, Int64Array],
    max_block: int,
    texts: list[str],
) -> RulePairs:
    """Return the pairs of rows that have the values of some pairs of values.

    Parameters
    ----------
    linkage : Linkage
    places : two ndarrays of int64
        The value of each row of the two tables, -1 for none.
    pairs : (ndarray of int64, ndarray of int64)
        Values of the first and the second table; within one table, each pair of values once, in any
        order.
    max_block : int
        The largest number of pairs of rows for a pair of values.
    texts : list of str
        The values.
    """
    runs = [_rows_of_values(place, len(texts)) for place in places]
    rows, starts, counts = zip(*runs, strict=True)
    pairs_of_rows: list[UInt64Array] = []
    skipped: list[SkippedBlock] = []
    equal = pairs[0] == pairs[1]
    for same in (True, False):
        first = pairs[0][equal == same]
        second = pairs[1][equal == same]
        single = same and linkage.b is None
        blocks = SharedKeys(
            rows[0],
            rows[1],
            starts[0][first],
            starts[1][second],
            counts[0][first],
            counts[1][second],
            single,
        )
        fits = blocks.pairs <= max_block
        check_total(
            int(blocks.pairs[fits].sum()) + sum(len(part) for part in pairs_of_rows)
        )
        row_pairs = pairs_of_blocks(blocks, fits, linkage.sizes[1])
        if linkage.b is None and not same:  # rows of one table, the smaller one first
            i, j = linkage.rows_of(row_pairs)
            row_pairs = np.minimum(i, j) * linkage.sizes[1] + np.maximum(i, j)
            row_pairs = row_pairs.astype(np.uint64)
        pairs_of_rows.append(row_pairs)
        skipped += skipped_blocks(blocks, ~fits, lambda row: texts[places[0][row]])
    return with_skipped(RulePairs(distinct_places(pairs_of_rows)), skipped)


def _rows_of_values(
    place: Int64Array, values: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the rows in the order of their values, and the run of each value."""
    rows, starts = kernels.rows_by_code(place, values)
    return rows, starts[:-1], np.diff(starts)


def skipped_blocks(
    blocks: SharedKeys, chosen: BoolArray, label: Callable[[int], str]
) -> list[SkippedBlock]:
    """Return the blocks that are left out; `label` names the key of a row of the first table."""
    places = np.flatnonzero(chosen)
    sizes = blocks.pairs[places]
    first = blocks.rows_a[blocks.starts_a[places]]
    return [
        SkippedBlock(label(row), size)
        for row, size in zip(first.tolist(), sizes.tolist(), strict=True)
    ]


def with_skipped(pairs: RulePairs, blocks: list[SkippedBlock]) -> RulePairs:
    """Return the pairs of a rule with further blocks that were left out."""
    skipped = [*pairs.largest_skipped, *blocks]
    skipped.sort(key=lambda block: (-block.pairs, block.key))
    skipped_pairs = pairs.skipped_pairs + sum(block.pairs for block in blocks)
    return RulePairs(
        pairs.places,
        pairs.skipped + len(blocks),
        skipped_pairs,
        tuple(skipped[:SHOWN_BLOCKS]),
    )


@dataclass(frozen=True)
class SharedKeys:
    """The keys of both tables: for each, its rows as runs of `rows_a` and `rows_b`."""

    rows_a: Int64Array
    rows_b: Int64Array
    starts_a: Int64Array
    starts_b: Int64Array
    counts_a: Int64Array
    counts_b: Int64Array
    single: bool  # one table, whose pairs are counted once

    @property
    def pairs(self) -> Int64Array:
        """Pairs of each key."""
        if self.single:
            return self.counts_a * (self.counts_a - 1) // 2
        return self.counts_a * self.counts_b


def pairs_of_blocks(blocks: SharedKeys, chosen: BoolArray, columns: int) -> UInt64Array:
    """Return the places i * columns + j of all pairs of the chosen blocks."""
    starts_a = blocks.starts_a[chosen]
    starts_b = blocks.starts_b[chosen]
    counts_a = blocks.counts_a[chosen]
    counts_b = blocks.counts_b[chosen]
    # The rows of the first table, each with the run of the rows of the second in its block.
    many = np.repeat(np.arange(len(counts_a), dtype=np.int64), counts_a)
    firsts = np.cumsum(counts_a, dtype=np.int64) - counts_a
    within = np.arange(len(many), dtype=np.int64) - np.repeat(firsts, counts_a)
    first = blocks.rows_a[starts_a[many] + within]
    begin = starts_b[many]
    length = counts_b[many]
    if blocks.single:  # each row with those behind it in its block; a run is ascending
        begin = begin + within + 1
        length = length - within - 1
    return _places_of_runs(first * columns, begin, length, blocks.rows_b)


def _places_of_runs(
    first: Int64Array, begin: Int64Array, length: Int64Array, rows: Int64Array
) -> UInt64Array:
    """Return the sums of each number and the rows of its run."""
    ends = np.cumsum(length, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    at = np.arange(total, dtype=np.int64) + np.repeat(begin - (ends - length), length)
    return np.asarray((np.repeat(first, length) + rows[at]).astype(np.uint64))
