"""Records of two or more words, ordered by all of their words: sorting, and searching.

Kernels do it for records of two words. Wider ones are ordered by their first two words, one at a
time with the same kernel (112 ns a record), and by all words where these are equal.
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

# The words by which all wide records are ordered.
LEADING_WORDS = 2

# What the order of a wide record takes while it is computed: two pairs, and two places.
ORDER_BYTES = 48


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
    order = _order(records, LEADING_WORDS)
    begins = run_begins(*(records[order, word] for word in range(LEADING_WORDS)))
    tied = ~begins
    tied[:-1] |= tied[1:]
    places = np.flatnonzero(tied)
    rows = order[places]
    order[places] = rows[_order(records[rows], words)]
    ordered = scratch[: len(records)]
    np.take(records, order, axis=0, out=ordered)
    records[:] = ordered


def _order(records: UInt64Array, words: int) -> Int64Array:
    """Return the rows of records in the order of their first words."""
    order = int64_range(len(records))
    pairs = np.empty((2, len(records), kernels.WORDS), np.uint64)
    for word in reversed(range(words)):
        pairs[0, :, 0] = records[order, word]
        pairs[0, :, 1] = int64_range(len(records))
        kernels.sort_records(*pairs)
        order = order[pairs[0, :, 1].view(np.int64)]
    return order


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
