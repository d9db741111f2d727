"""Rows of crowds that are similar to no other row, as their slots show: their texts need not be
read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from lshfast._common.types import BoolArray, Int64Array
from lshfast._engine.clock import Clock
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import Sketched, sketched
from lshfast.join.external.slot_file import SlotFile
from lshfast.join.shared_slots import SCREENED, UInt32Array
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
    """Return which rows of large components share too few slots with all others to be similar to
    any of them.

    Rows with the same bytes count as one. A component is screened if most of its rows have hashes
    of slots, and many of those share too few slots with each other. Its other rows are read again
    for their slots.

    Parameters
    ----------
    labels, first : ndarray of int64, shape (n,)
        The smallest row of each row's component, and the first row with the same bytes.
    slots : SlotFile
        Hashes of the slots of rows in crowded buckets; those of rows that are read again are added.
    plan : Plan
    read_again : callable
        Returns the texts of some rows, in batches.
    """
    own = first == np.arange(len(first), dtype=np.int64)
    size = np.bincount(labels[own], minlength=1)
    if size.max() <= SCREENED:
        return np.zeros(len(own), np.bool_)
    held = slots.held(len(own)) & own & (size > SCREENED)[labels]
    known = np.bincount(labels[held], minlength=len(size))
    held &= (known >= MOST_HELD * size)[labels]
    unlike = np.bincount(labels[slots.unlike(held)], minlength=len(size))
    own &= ((unlike > 0) & (unlike >= MOST_UNLIKE * known))[labels]
    missing = np.flatnonzero(own & ~held)
    if len(missing):

        def hashes(piece: Sketched) -> UInt32Array:
            return slots.hashes(piece.signatures, np.arange(len(piece.signatures), dtype=np.int64))

        done = 0
        for found in sketched(read_again(missing), plan, Clock(), hashes):
            slots.add(missing[done : done + found.shape[1]], found)
            done += found.shape[1]
    alone = np.zeros(len(own), np.bool_)
    alone[slots.unlike(own)] = True
    return alone[first]
