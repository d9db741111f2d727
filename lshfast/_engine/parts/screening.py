"""Rows of crowds whose slots show that they are similar to no other row.

Their texts need not be read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Int64Array
from lshfast._engine.clock import Clock
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import Sketched, sketched
from lshfast.join.comparison import SCREENED
from lshfast.join.external.slot_file import SlotFile
from lshfast.join.shared_slots import UInt32Array
from lshfast.kernels.text import Texts

# Screen a crowd if at least MOST_HELD of its rows have hashes of slots, and at least MOST_UNLIKE of
# those share too few slots with each other.
MOST_HELD = 3 / 4
MOST_UNLIKE = 1 / 2


def alone_in_crowds(
    labels: Int64Array,
    first: Int64Array,
    slots: SlotFile,
    plan: Plan,
    read_again: Callable[[Int64Array], Iterable[Texts]],
) -> BoolArray:
    """Return which rows of large components share too few slots with any other to be similar.

    Rows with the same bytes count as one. A component is screened if most of its rows have hashes
    of slots, and many of those share too few slots with each other. Its other rows are read again
    for their slots.

    Parameters
    ----------
    labels, first : ndarray of int64, shape (n,)
        The smallest row of each row's component, and the first row with the same bytes.
    slots : SlotFile
        Hashes of the slots of rows in crowded buckets; rows that are read again are added.
    plan : Plan
    read_again : callable
        Returns the texts of some rows, in batches.
    """
    is_searched = first == int64_range(len(first))
    size = np.bincount(labels[is_searched], minlength=1)
    if size.max() <= SCREENED:
        return np.zeros(len(is_searched), np.bool_)
    has_slots = slots.held(len(is_searched)) & is_searched & (size > SCREENED)[labels]
    slot_counts = np.bincount(labels[has_slots], minlength=len(size))
    has_slots &= (slot_counts >= MOST_HELD * size)[labels]
    unlike = np.bincount(labels[slots.unlike(has_slots)], minlength=len(size))
    is_searched &= ((unlike > 0) & (unlike >= MOST_UNLIKE * slot_counts))[labels]
    missing = np.flatnonzero(is_searched & ~has_slots)
    if len(missing):

        def hashes(piece: Sketched) -> UInt32Array:
            return slots.hashes(piece.signatures, int64_range(len(piece.signatures)))

        start = 0
        for slot_hashes in sketched(read_again(missing), plan, Clock(), hashes):
            slots.add(missing[start : start + slot_hashes.shape[1]], slot_hashes)
            start += slot_hashes.shape[1]
    is_alone = np.zeros(len(is_searched), np.bool_)
    is_alone[slots.unlike(is_searched)] = True
    return is_alone[first]
