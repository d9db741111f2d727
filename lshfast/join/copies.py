"""Pairs of exact copies, added to the pairs of different rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import pieces
from lshfast._common.types import Int64Array
from lshfast.join.jaccard import as_pairs, joined_pairs, sort_pairs

# Pairs that are made at once.
PIECE_PAIRS = 1 << 16


def copy_pairs(copies: Int64Array) -> npt.NDArray[np.void]:
    """Return (first copy, copy, 1) for each copy."""
    rows = np.flatnonzero(copies != np.arange(len(copies), dtype=np.int64))
    return as_pairs(copies[rows], rows, 1.0)


def with_copies(
    similar: npt.NDArray[np.void], copies: Int64Array, expand: Literal["first", "all"] = "first"
) -> npt.NDArray[np.void]:
    """Add the pairs of exact copies to the pairs of different texts.

    "first" pairs each copy with its first copy. "all" adds all pairs of copies, and repeats each
    pair of different texts for all their copies.
    """
    if expand == "all":
        kinds = _Kinds.of(copies)
        pairs = joined_pairs(
            chain(map(_ascending, _spread(similar, kinds, kinds)), kinds.pairs()), len(similar)
        )
    else:
        pairs = np.concatenate([similar, copy_pairs(copies)])
    sort_pairs(pairs)
    return pairs


def spread_across(
    similar: npt.NDArray[np.void], left_copies: Int64Array, right_copies: Int64Array
) -> npt.NDArray[np.void]:
    """Return each pair of a row of one collection and a row of another for all copies of both; they
    are not sorted.
    """
    return joined_pairs(
        _spread(similar, _Kinds.of(left_copies), _Kinds.of(right_copies)), len(similar)
    )


@dataclass(frozen=True)
class _Kinds:
    """Rows by their first copy: those of a kind are `order[start:start + count]`, ascending, for
    its first row.
    """

    start: Int64Array
    count: Int64Array
    order: Int64Array

    @classmethod
    def of(cls, copies: Int64Array) -> _Kinds:
        count = np.bincount(copies, minlength=len(copies))
        order = np.argsort(copies, kind="stable").astype(np.int64)
        return cls(np.cumsum(count, dtype=np.int64) - count, count, order)

    def pairs(self) -> Iterator[npt.NDArray[np.void]]:
        """Yield all pairs of rows of one kind in parts."""
        ends = np.repeat(
            np.cumsum(self.count[self.count > 0], dtype=np.int64), self.count[self.count > 0]
        )
        later = ends - np.arange(1, len(ends) + 1, dtype=np.int64)
        for part in pieces(later, PIECE_PAIRS):
            first = np.repeat(np.arange(part.start, part.stop, dtype=np.int64), later[part])
            yield as_pairs(
                self.order[first], self.order[first + 1 + _numbers_within(later[part])], 1.0
            )


def _spread(
    similar: npt.NDArray[np.void], left: _Kinds, right: _Kinds
) -> Iterator[npt.NDArray[np.void]]:
    """Yield each pair for all copies of its left row and of its right row, in parts."""
    times = left.count[similar["i"]] * right.count[similar["j"]]
    for part in pieces(times, PIECE_PAIRS):
        own = np.repeat(similar[part], times[part])
        i = own["i"]
        j = own["j"]
        number = _numbers_within(times[part])
        copy_of_i, copy_of_j = np.divmod(number, right.count[j])
        own["i"], own["j"] = (
            left.order[left.start[i] + copy_of_i],
            right.order[right.start[j] + copy_of_j],
        )
        yield own


def _ascending(pairs: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return pairs with the smaller row first."""
    return as_pairs(
        np.minimum(pairs["i"], pairs["j"]), np.maximum(pairs["i"], pairs["j"]), pairs["similarity"]
    )


def _numbers_within(counts: Int64Array) -> Int64Array:
    """Return 0..count - 1 for each count."""
    starts = np.cumsum(counts, dtype=np.int64) - counts
    return np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(starts, counts)
