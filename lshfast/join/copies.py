"""Pairs of exact copies, added to the pairs of different rows."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from lshfast.common.types import Int64Array
from lshfast.join.banded import order_of_pairs
from lshfast.join.jaccard import PAIR, as_pairs


def copy_pairs(copies: Int64Array) -> npt.NDArray[np.void]:
    """Return (first copy, copy, 1) for each copy."""
    rows = np.flatnonzero(copies != np.arange(len(copies), dtype=np.int64))
    return as_pairs(copies[rows], rows, 1.0)


def with_copies(
    similar: npt.NDArray[np.void], copies: Int64Array, expand: Literal["first", "all"] = "first"
) -> npt.NDArray[np.void]:
    """Add the pairs of exact copies to the pairs of different texts.

    "first" pairs each copy with its first copy. "all" adds all pairs of copies, and repeats each pair of different
    texts for all their copies.
    """
    added = [similar, copy_pairs(copies)]
    if expand == "all":
        added = [_spread(similar, copies), _all_of_a_kind(copies)]
    pairs = np.concatenate(added)
    return pairs[order_of_pairs(pairs["i"], pairs["j"])]


def _members(copies: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return (start, count) of each set of copies, indexed by its first row, and all rows ordered by first copy."""
    count = np.bincount(copies, minlength=len(copies))
    order = np.argsort(copies, kind="stable").astype(np.int64)
    return np.cumsum(count, dtype=np.int64) - count, count, order


def _spread(similar: npt.NDArray[np.void], copies: Int64Array) -> npt.NDArray[np.void]:
    """Return each pair for all copies of its left row and of its right row."""
    pairs = spread_across(similar, copies, copies)
    i, j = pairs["i"].copy(), pairs["j"]
    pairs["i"], pairs["j"] = np.minimum(i, j), np.maximum(i, j)
    return pairs


def spread_across(
    similar: npt.NDArray[np.void], left_copies: Int64Array, right_copies: Int64Array
) -> npt.NDArray[np.void]:
    """Return each pair of a row of one collection and a row of another for all copies of both; they are not sorted."""
    left_start, left_count, left_order = _members(left_copies)
    right_start, right_count, right_order = _members(right_copies)
    i, j = similar["i"], similar["j"]
    times = left_count[i] * right_count[j]
    pair = np.repeat(np.arange(len(similar), dtype=np.int64), times)
    within = np.arange(len(pair), dtype=np.int64) - np.repeat(np.cumsum(times, dtype=np.int64) - times, times)
    left = left_order[left_start[i][pair] + within // right_count[j][pair]]
    right = right_order[right_start[j][pair] + within % right_count[j][pair]]
    return as_pairs(left, right, similar["similarity"][pair])


def _all_of_a_kind(copies: Int64Array) -> npt.NDArray[np.void]:
    """Return all pairs of rows that are copies of each other."""
    start, count, order = _members(copies)
    parts = [np.empty(0, PAIR)]
    for kind in np.flatnonzero(count > 1).tolist():
        rows = order[start[kind] : start[kind] + count[kind]]
        left, right = np.triu_indices(len(rows), 1)
        parts.append(as_pairs(rows[left], rows[right], 1.0))
    return np.concatenate(parts)
