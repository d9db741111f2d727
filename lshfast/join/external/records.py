"""Records of two or more words, ordered by all of their words: sorting, and searching.

Kernels do it for records of two words. Wider ones are ordered by their first word with the same
kernel, and by each further word where those before it are equal. So they are sorted fast if most
first words are different.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from lshfast._common.rows import int64_range, run_begins
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.kernels import runs as kernels

# The words of a record, as numbers.
Words: TypeAlias = tuple[int, ...]

WORD_BYTES = 8

# What the order of a wide record takes while it is computed: two pairs; or a pair, and places.
ORDER_BYTES = 72


def words_of(records: UInt64Array, place: int) -> Words:
    """Return a record as numbers, which are compared as the records are ordered."""
    return tuple(records[place].tolist())


def sorting_bytes(words: int) -> int:
    """Return the bytes that it takes to sort a record, beside the record and its scratch."""
    return 0 if words == kernels.WORDS else ORDER_BYTES


def sort_records(records: UInt64Array, scratch: UInt64Array) -> None:
    """Sort records (n, words) in place; scratch has at least as many, and overlaps them nowhere."""
    words = records.shape[1]
    if words == kernels.WORDS:
        kernels.sort_records(records, scratch)
        return
    ordered = scratch[: len(records)]
    # Without "clip", numpy writes to a buffer first.
    np.take(records, _order(records), axis=0, out=ordered, mode="clip")
    records[:] = ordered


def _order(records: UInt64Array) -> Int64Array:
    """Return the rows of records in their order."""
    order = _order_of_words(records[:, 0])
    rows = order
    places = int64_range(len(records))
    begins = run_begins(records[order, 0])
    for word in range(1, records.shape[1]):
        # Only rows that are equal to others in all words so far are looked at.
        tied = ~begins
        tied[:-1] |= tied[1:]
        places = places[tied]
        rows = rows[tied]
        begins = begins[tied]
        column = records[rows, word]
        if ((column[1:] < column[:-1]) & ~begins[1:]).any():
            by_column = _order_of_words(column)
            run = np.cumsum(begins, dtype=np.uint64)[by_column]
            by_run = by_column[_order_of_words(run)]
            rows = rows[by_run]
            column = column[by_run]
            order[places] = rows
        begins |= run_begins(column)
    return order


def _order_of_words(words: UInt64Array) -> Int64Array:
    """Return the stable order of words."""
    pairs = np.empty((2, len(words), kernels.WORDS), np.uint64)
    pairs[0, :, 0] = words
    pairs[0, :, 1] = int64_range(len(words))
    kernels.sort_records(*pairs)
    return pairs[0, :, 1].astype(np.int64)


def are_sorted(records: UInt64Array) -> bool:
    """Return whether records (n, words) are sorted."""
    if records.shape[1] == kernels.WORDS:
        return bool(kernels.are_sorted(records))
    earlier = records[:-1]
    later = records[1:]
    tied = np.ones(len(earlier), np.bool_)
    for word in range(records.shape[1]):
        if (earlier[tied, word] > later[tied, word]).any():
            return False
        tied &= earlier[:, word] == later[:, word]
    return True


def count_until(records: UInt64Array, last: Words) -> int:
    """Return how many of some sorted records do not come after `last`."""
    if len(last) == kernels.WORDS:
        return int(kernels.count_until(records, *last))
    low = 0
    high = len(records)
    for word, value in enumerate(last):
        column = records[low:high, word]
        high = low + int(np.searchsorted(column, np.uint64(value), side="right"))
        low += int(np.searchsorted(column, np.uint64(value)))
    return high
