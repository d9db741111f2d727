"""Arrays of pairs of rows: made, joined and sorted."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from lshfast._common.growing import GrowingArray
from lshfast._common.types import Float64Array, Int64Array, PairArray, UInt64Array
from lshfast.kernels import bands as kernels

PAIR = np.dtype([("i", np.int64), ("j", np.int64), ("similarity", np.float64)])

# Pairs passed to numpy at a time, because a numpy call cannot be interrupted.
PAIRS_AT_ONCE = 1 << 20


def as_pairs(i: Int64Array, j: Int64Array, similarity: npt.ArrayLike) -> PairArray:
    """Return pairs as one structured array."""
    pairs = np.empty(len(i), PAIR)
    pairs["i"] = i
    pairs["j"] = j
    pairs["similarity"] = similarity
    return pairs


def joined_pairs(parts: Iterable[PairArray], room: int = 0) -> PairArray:
    """Return pairs that come in parts as one array; `room` is about their number."""
    pairs = GrowingArray(PAIR, room=room)
    for part in parts:
        pairs.extend(part)
    return pairs.finished()


def sort_pairs(pairs: PairArray) -> None:
    """Sort pairs in place by (i, j), one field at a time: faster than moving whole pairs."""
    order = order_of_pairs(pairs["i"], pairs["j"])
    for name in pairs.dtype.names or ():
        pairs[name] = pairs[name][order]


def sorted_pairs(i: Int64Array, j: Int64Array, similarity: Float64Array) -> PairArray:
    """Return pairs whose rows are in any order as sorted pairs with i < j."""
    low = np.minimum(i, j)
    high = np.maximum(i, j)
    order = order_of_pairs(low, high)
    return as_pairs(low[order], high[order], similarity[order])


def order_of_pairs(i: Int64Array, j: Int64Array) -> Int64Array:
    """Return the stable order that sorts pairs of non-negative numbers by (i, j)."""
    width = number_width(i, j)
    return kernels.order(as_numbers(i, j, width)) if width <= 32 else np.lexsort((j, i))


def number_width(i: Int64Array, j: Int64Array) -> int:
    """Return the number of bits that the largest number of the pairs takes."""
    return int(max(i.max(), j.max())).bit_length() if len(i) else 0


def as_numbers(i: Int64Array, j: Int64Array, width: int) -> UInt64Array:
    """Return each pair as one number, which sorts several times faster than two keys."""
    return i.view(np.uint64) << np.uint64(width) | j.view(np.uint64)
