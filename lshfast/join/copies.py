"""Pairs of exact copies, added to the pairs of different rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.threads import pieces
from lshfast._common.types import Int64Array, PairArray
from lshfast.join.jaccard import as_pairs, joined_pairs, sort_pairs

# Pairs that one array holds at most.
PIECE_PAIRS = 1 << 16


def copy_pairs(copies: Int64Array) -> PairArray:
    """Return (first copy, copy, 1) for each copy."""
    rows = np.flatnonzero(copies != int64_range(len(copies)))
    return as_pairs(copies[rows], rows, 1.0)


def with_copies(
    similar: PairArray, copies: Int64Array, expand: Literal["first", "all"] = "first"
) -> PairArray:
    """Add the pairs of exact copies to the pairs of different texts.

    "first" pairs each copy with its first copy. "all" adds all pairs of copies, and repeats each
    pair of different texts for all their copies.
    """
    if expand == "all":
        kinds = _Kinds.of(copies)
        different_pairs = map(_ascending, _spread(similar, kinds, kinds))
        pairs = joined_pairs(chain(different_pairs, kinds.pairs()), len(similar))
    else:
        pairs = np.concatenate([similar, copy_pairs(copies)])
    sort_pairs(pairs)
    return pairs


def spread_across(
    similar: PairArray, left_copies: Int64Array, right_copies: Int64Array
) -> PairArray:
    """Repeat pairs of rows of two collections for all copies of both rows, unsorted."""
    left_kinds = _Kinds.of(left_copies)
    right_kinds = _Kinds.of(right_copies)
    return joined_pairs(_spread(similar, left_kinds, right_kinds), len(similar))


@dataclass(frozen=True)
class _Kinds:
    """Rows by their first copy f: `order[start[f] : start[f] + count[f]]`, ascending."""

    start: Int64Array
    count: Int64Array
    order: Int64Array

    @classmethod
    def of(cls, copies: Int64Array) -> _Kinds:
        count = np.bincount(copies, minlength=len(copies))
        order = np.argsort(copies, kind="stable").astype(np.int64)
        return cls(np.cumsum(count, dtype=np.int64) - count, count, order)

    def pairs(self) -> Iterator[PairArray]:
        """Yield all pairs of copies of one row, in parts."""
        counts = self.count[self.count > 0]
        ends = np.repeat(np.cumsum(counts, dtype=np.int64), counts)
        later = ends - int64_range(1, len(ends) + 1)
        for rows in pieces(later, PIECE_PAIRS):
            first = np.repeat(int64_range(rows.start, rows.stop), later[rows])
            second = first + 1 + _numbers_within(later[rows])
            yield as_pairs(self.order[first], self.order[second], 1.0)


def _spread(
    similar: PairArray, left_kinds: _Kinds, right_kinds: _Kinds
) -> Iterator[PairArray]:
    """Yield each pair for all copies of its left row and of its right row, in parts."""
    times = left_kinds.count[similar["i"]] * right_kinds.count[similar["j"]]
    for rows in pieces(times, PIECE_PAIRS):
        copied_pairs = np.repeat(similar[rows], times[rows])
        i = copied_pairs["i"]
        j = copied_pairs["j"]
        number = _numbers_within(times[rows])
        copy_of_i, copy_of_j = np.divmod(number, right_kinds.count[j])
        copied_pairs["i"] = left_kinds.order[left_kinds.start[i] + copy_of_i]
        copied_pairs["j"] = right_kinds.order[right_kinds.start[j] + copy_of_j]
        yield copied_pairs


def _ascending(pairs: PairArray) -> PairArray:
    """Return pairs with the smaller row first."""
    low = np.minimum(pairs["i"], pairs["j"])
    high = np.maximum(pairs["i"], pairs["j"])
    return as_pairs(low, high, pairs["similarity"])


def _numbers_within(counts: Int64Array) -> Int64Array:
    """Return 0..count - 1 for each count."""
    starts = np.cumsum(counts, dtype=np.int64) - counts
    return int64_range(int(counts.sum())) - np.repeat(starts, counts)
