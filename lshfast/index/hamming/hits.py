"""The fields of hits (query number, distance, row; `src/hamming/hamming.h`) and of pairs."""

from __future__ import annotations

import numpy as np

from lshfast._common.types import Int64Array, UInt64Array
from lshfast.kernels.hamming import DISTANCE_BITS, ROW_BITS

LOW32 = np.uint64(2**32 - 1)


def query_of(hits: UInt64Array) -> Int64Array:
    """Return the number of the query of each hit."""
    return (hits >> np.uint64(ROW_BITS + DISTANCE_BITS)).astype(np.int64, copy=False)


def distance_of(hits: UInt64Array) -> Int64Array:
    """Return the distance of each hit."""
    return (hits >> np.uint64(ROW_BITS) & np.uint64(2**DISTANCE_BITS - 1)).astype(
        np.int64, copy=False
    )


def row_of(hits: UInt64Array) -> Int64Array:
    """Return the row of each hit."""
    return (hits & LOW32).astype(np.int64, copy=False)


def rows_of(pairs: UInt64Array) -> tuple[Int64Array, Int64Array]:
    """Return the two rows of each pair, left row << 32 | right row."""
    return (pairs >> np.uint64(32)).astype(np.int64), (pairs & LOW32).astype(np.int64)
