"""A screen for many rows that share buckets, by the slots that a row shares with any other.

Similar rows share a least number of slots. A row that shares fewer slots with all others together
is similar to none of them, and this takes no comparison of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lshfast._common.threads import ordered_map
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._common.types import UInt32Array as UInt32Array
from lshfast.kernels import grouping as kernels

# If more than this share of the rows seem to share enough, none is left out.
MOST_SHARING = 0.9

# Counts of two bits for a row, in bytes: 3 to 6 in a hundred of the slots that no other row shares
# count as shared.
COUNT_BYTES = 4
MOST_COUNT_BYTES = 1 << 30


def share_slots(
    signatures: UInt64Array, rows: Int64Array, least: int, threads: int
) -> BoolArray:
    """Return which rows share at least `least` slots with all others together.

    It is also true for some rows that share fewer.
    """
    k = signatures.shape[1]

    def shared_from(first: int) -> tuple[UInt32Array, int]:
        slots = min(kernels.SLOTS_AT_ONCE, k - first)
        columns = kernels.slot_hashes(signatures, rows, first, 1, slots)
        return shared_slots(columns, len(rows)), slots

    counts = ordered_map(shared_from, range(0, k, kernels.SLOTS_AT_ONCE), threads)
    return sharing_rows(counts, len(rows), k, least)


def shared_slots(columns: Iterable[UInt32Array], n: int) -> UInt32Array:
    """Return the number of slots in which each of n rows shares its hash with another row.

    Each slot is a column of hashes. They are counted by their first bits, so all shared slots
    count, and some slots that are not shared.
    """
    shared = np.zeros(n, np.uint32)
    hash_counts = np.empty(
        min(1 << (COUNT_BYTES * n).bit_length(), MOST_COUNT_BYTES), np.uint8
    )
    for column in columns:
        hash_counts.fill(0)
        kernels.count_hashes(column, hash_counts)
        kernels.add_shared(column, hash_counts, shared)
    return shared


def sharing_rows(
    counts: Iterable[tuple[UInt32Array, int]],
    n: int,
    k: int,
    least: int,
    most: float = MOST_SHARING,
) -> BoolArray:
    """Return which of n rows may share at least `least` of their k slots with the others.

    Parameters
    ----------
    counts : iterable of (ndarray of uint32, shape (n,), int)
        For some slots at a time: in how many of them each row shares its value, and their number.
        Slots that are not counted may be shared.
    n, k, least : int
    most : float
        If the first slots show that more than this share of the rows would not be left out, none
        is, and the other slots are not needed.
    """
    shared = np.zeros(n, np.uint32)
    counted = 0
    for slot_counts, slots in counts:
        shared += slot_counts
        counted += slots
        seem_to_share = shared.astype(np.int64) * k >= least * counted
        if np.count_nonzero(seem_to_share) > most * n:
            return np.ones(n, np.bool_)
    return np.asarray(shared + np.uint32(k - counted) >= least)
