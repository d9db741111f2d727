"""A screen for many rows that share buckets: in how many slots a row has a value that another one
of them has, too.

A row that shares fewer slots with all others together than similar rows share is similar to none of
them. To see this takes no comparison of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import ordered_map
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.kernels import grouping as kernels

# Of fewer rows, all pairs are soon compared.
SCREENED = 1024

# If more than this share of the rows seem to share enough, none is left out.
MOST_SHARING = 0.9

# Counts of two bits for a row, in bytes: 3 to 6 in a hundred of the slots that nobody shares count
# as shared.
COUNT_BYTES = 4
MOST_COUNT_BYTES = 1 << 30

UInt32Array: TypeAlias = npt.NDArray[np.uint32]


def share_slots(signatures: UInt64Array, rows: Int64Array, least: int, threads: int) -> BoolArray:
    """Return whether each row shares at least so many slots with the others together; true for some
    that do not.
    """
    k = signatures.shape[1]

    def shared_from(first: int) -> tuple[UInt32Array, int]:
        slots = min(kernels.SLOTS_AT_ONCE, k - first)
        return shared_slots(
            kernels.slot_hashes(signatures, rows, first, 1, slots), len(rows)
        ), slots

    return sharing_rows(
        ordered_map(shared_from, range(0, k, kernels.SLOTS_AT_ONCE), threads), len(rows), k, least
    )


def shared_slots(columns: Iterable[UInt32Array], n: int) -> UInt32Array:
    """Return in how many slots each of n rows has a hash that another one has, too; each slot is a
    column of hashes.

    Hashes are counted by their first bits, so a slot that is not shared may count, and no shared
    slot is left out.
    """
    shared = np.zeros(n, np.uint32)
    seen = np.empty(min(1 << (COUNT_BYTES * n).bit_length(), MOST_COUNT_BYTES), np.uint8)
    for column in columns:
        seen.fill(0)
        kernels.count_hashes(column, seen)
        kernels.add_shared(column, seen, shared)
    return shared


def sharing_rows(
    counts: Iterable[tuple[UInt32Array, int]],
    n: int,
    k: int,
    least: int,
    most: float = MOST_SHARING,
) -> BoolArray:
    """Return which of n rows may share at least so many of their k slots with the others.

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
    for more, slots in counts:
        shared += more
        counted += slots
        if np.count_nonzero(shared.astype(np.int64) * k >= least * counted) > most * n:
            return np.ones(n, np.bool_)
    return np.asarray(shared + np.uint32(k - counted) >= least)
