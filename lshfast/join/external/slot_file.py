"""Hashes of some slots of the signatures of all rows, so that rows without a similar one are told from the others.

Rows that share buckets would be read again to be compared. In a crowd, a text that shares a bucket with many and is
similar to none, that is told from the slots alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType

import numpy as np

from lshfast.common.types import BoolArray, UInt64Array
from lshfast.join.external.summed_file import SummedFile
from lshfast.join.shared_slots import UInt32Array, shared_slots, sharing_rows
from lshfast.kernels import grouping as kernels

# Slots that unlike rows may share, as a share of all slots: the hashes tell that a row shares fewer.
MARGIN = 1 / 4

# Bytes of the rows that are written at once.
BLOCK_BYTES = 1 << 22


def slots_held(k: int, least: int) -> int:
    """Return of how many of k slots hashes are held: 0 if similar rows share too few, at least `least`."""
    margin = round(k * MARGIN)
    return k - least + margin if least > margin else 0


def slots_bytes(k: int, least: int, rows: int) -> int:
    """Return the size of the file for so many rows."""
    slots = slots_held(k, least)
    return rows // _rows_of_block(slots) * _rows_of_block(slots) * 4 * slots


def _rows_of_block(slots: int) -> int:
    return max(1, BLOCK_BYTES // (4 * max(1, slots)))


class SlotFile:
    """Hashes of slots, in blocks of columns. Use it as a context manager, which removes the file at the end.

    Parameters
    ----------
    path : str
    k : int
        The slots of a signature.
    least : int
        Similar rows share at least so many slots.

    Attributes
    ----------
    slots : int
        Slots of a row whose hashes are held, see `slots_held`.
    """

    def __init__(self, path: str, k: int, least: int) -> None:
        self.k, self.least = k, least
        self.slots = slots_held(k, least)
        self._step = k // max(1, self.slots)
        self._rows = _rows_of_block(self.slots)
        self._block, self._filled = np.empty((self.slots, self._rows), np.uint32), 0
        self._file, self._blocks = SummedFile(path, 4 * self._rows), 0

    def __enter__(self) -> SlotFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._file.path)

    def hashes(self, signatures: UInt64Array) -> UInt32Array:
        """Return the hashes of rows, uint32 (slots, m), for `add`."""
        rows = np.arange(len(signatures) if self.slots else 0, dtype=np.int64)
        return kernels.slot_hashes(signatures, rows, 0, max(1, self._step), max(1, self.slots))

    def add(self, hashes: UInt32Array) -> None:
        """Add the next rows."""
        at = 0
        while self.slots and at < hashes.shape[1]:
            some = hashes[:, at : at + self._rows - self._filled]
            at += some.shape[1]
            self._block[:, self._filled : self._filled + some.shape[1]] = some
            self._filled += some.shape[1]
            if self._filled == self._rows:
                self._file.write(self._block.data.cast("B"))
                self._blocks, self._filled = self._blocks + 1, 0

    def sharing(self, chosen: BoolArray) -> BoolArray:
        """Return which of the chosen rows may share enough slots with another one of them, in their order: bool (m,).

        All other rows are ignored.
        """
        n = int(chosen.sum())
        if not self.slots or not n:
            return np.ones(n, np.bool_)
        return sharing_rows(self._counts(chosen, n), n, self.k, self.least)

    def _counts(self, chosen: BoolArray, n: int) -> Iterator[tuple[UInt32Array, int]]:
        groups = -(-self.slots // kernels.SLOTS_AT_ONCE)
        for first in range(groups):
            slots = range(first, self.slots, groups)  # of all bands, since those of one band may all be shared
            yield shared_slots((self._column(slot, chosen) for slot in slots), n), len(slots)

    def _column(self, slot: int, chosen: BoolArray) -> UInt32Array:
        """Return the hashes of a slot of the chosen rows."""
        marks = [chosen[at : at + self._rows] for at in range(0, len(chosen), self._rows)]
        blocks = [block for block in range(self._blocks) if marks[block].any()]
        pieces = self._file.pieces(block * self.slots + slot for block in blocks) if blocks else iter(())
        found = [np.frombuffer(piece, np.uint32)[marks[block]] for block, piece in zip(blocks, pieces, strict=True)]
        if len(marks) > self._blocks:
            found.append(self._block[slot, : self._filled][marks[-1]])
        return np.concatenate(found)
