"""The pairs of blocks: of rows with equal keys in two tables, or in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lshfast._common.rows import run_begins
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.kernels import pairs as kernels
from lshfast.kernels.bands import sorted_numbers
from lshfast.records.distinct import keys_of_rows
from lshfast.records.linkage import Linkage, RulePairs, SkippedBlock
from lshfast.records.tables.coded_fields import CodedField

# Pairs of one rule; each takes 8 bytes, and more while they are sorted
MOST_PAIRS = 1 << 27
SHOWN_BLOCKS = 3  # of the blocks that are left out, the largest are named
NO_KEY = 2**64 - 1  # the key of a record that is in no block


def combined_keys(coded: list[CodedField]) -> tuple[UInt64Array, UInt64Array]:
    """Return a key for the values of several fields in each row of two tables.

    Keys are equal where all values are; a row without one of them has NO_KEY.
    """
    columns = [np.concatenate(field.codes) for field in coded]
    keys = keys_of_rows(columns).astype(np.uint64)
    for codes in columns:
        keys[codes < 0] = NO_KEY
    rows_of_a = len(coded[0].codes[0])
    return keys[:rows_of_a], keys[rows_of_a:]


def distinct_places(parts: list[UInt64Array]) -> UInt64Array:
    """Return the places of several arrays, ascending, each once."""
    places = sorted_numbers(np.concatenate([np.empty(0, np.uint64), *parts]))
    return places[run_begins(places)]


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

    def places(self, is_chosen: BoolArray, columns: int) -> UInt64Array:
        """Return the places i * columns + j of all pairs of the chosen keys, ascending."""
        i = np.flatnonzero(self.codes >= 0)
        i = i[is_chosen[self.codes[i]]]
        begin = self.starts[self.codes[i]]
        end = self.starts[self.codes[i] + 1]
        if self.single:  # each row with those behind it
            place_of = np.empty(len(self.codes), np.int64)
            place_of[self.rows] = np.arange(len(self.rows), dtype=np.int64)
            begin = place_of[i] + 1
        row, run = _runs(begin, end - begin)
        return np.asarray((i[row] * columns + self.rows[run]).astype(np.uint64))

    def skipped(
        self, is_chosen: BoolArray, label: Callable[[int], str]
    ) -> list[SkippedBlock]:
        """Return the blocks of keys that are left out; `label` names the key of a row."""
        codes = np.flatnonzero(is_chosen)
        if not len(codes):
            return []
        first = np.empty(len(is_chosen), np.int64)
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
    rows, starts = zip(
        *(kernels.rows_by_code(place, len(texts)) for place in places), strict=True
    )
    first, second = pairs
    first_counts = np.diff(starts[0])[first]
    second_counts = np.diff(starts[1])[second]
    sizes = first_counts * second_counts
    if linkage.b is None:
        sizes = np.where(first == second, first_counts * (first_counts - 1) // 2, sizes)
    fits = sizes <= max_block
    check_total(int(sizes[fits].sum()))
    skipped = [
        SkippedBlock(texts[value], size)
        for value, size in zip(
            first[~fits].tolist(), sizes[~fits].tolist(), strict=True
        )
    ]
    # Each row of a first value, and for each of these the rows of the second value.
    pair, run = _runs(starts[0][first[fits]], first_counts[fits])
    i = rows[0][run]
    row, run = _runs(starts[1][second[fits]][pair], second_counts[fits][pair])
    i = i[row]
    j = rows[1][run]
    if linkage.b is None:
        i, j = np.minimum(i, j), np.maximum(i, j)
        is_pair = i < j
        i = i[is_pair]
        j = j[is_pair]
    row_places = (i * linkage.sizes[1] + j).astype(np.uint64)
    return with_skipped(RulePairs(distinct_places([row_places])), skipped)


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


def _runs(begin: Int64Array, length: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the number of the run of each place of some runs, and the place."""
    ends = np.cumsum(length, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    number = np.repeat(np.arange(len(length), dtype=np.int64), length)
    offsets = np.repeat(begin - (ends - length), length)
    return number, np.arange(total, dtype=np.int64) + offsets
