"""Hashes of slots of the rows in crowded buckets, by which rows without a similar row are found.

Rows that share buckets are read again and compared. Rows of a crowd that are similar to no other
row are not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from threading import Lock

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.rows import parts_of_rows
from lshfast._common.types import BoolArray, Int64Array, UInt32Array, UInt64Array
from lshfast.join.external.summed_file import SummedFile
from lshfast.join.shared_slots import shared_slots, sharing_rows
from lshfast.kernels import grouping as kernels
from lshfast.kernels.grouping import CrowdedBuckets

# The share of slots that dissimilar rows may have in common and still be detected by their hashes.
MARGIN = 1 / 4

# Bytes of the rows that are written at once.
BLOCK_BYTES = 1 << 22


def slots_held(k: int, least: int) -> int:
    """Return the number of the k slots whose hashes are stored; 0 if `least` is too small."""
    margin = round(k * MARGIN)
    return k - least + margin if least > margin else 0


class SlotFile:
    """Hashes of slots, in blocks of columns; a context manager, which removes the file.

    Parameters
    ----------
    path : str
    k : int
        The slots of a signature.
    least : int
        The smallest number of slots that similar rows share.
    block_bytes : int, optional
        Bytes of a block of rows.

    Attributes
    ----------
    slots : int
        Slots of a row whose hashes are held, see `slots_held`.
    """

    k: int
    least: int
    slots: int

    def __init__(
        self, path: str, k: int, least: int, block_bytes: int | None = None
    ) -> None:
        self.k = k
        self.least = least
        self.slots = slots_held(k, least)
        self._step = k // max(1, self.slots)
        row_bytes = 4 * max(1, self.slots)
        self._rows = max(1, (block_bytes or BLOCK_BYTES) // row_bytes)  # of a block
        self._block = np.empty((self.slots, self._rows), np.uint32)
        self._filled = 0
        self._file = SummedFile(path, 4 * self._rows)
        self._blocks = 0
        self._buckets = CrowdedBuckets()
        self._counting = Lock()
        self._held = GrowingArray(np.int64)

    def __enter__(self) -> SlotFile:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._file.path)

    def crowded(self, keys: UInt64Array) -> Int64Array:
        """Return the next rows that are in crowded buckets so far; thread-safe."""
        if not self.slots:
            return np.empty(0, np.int64)
        with self._counting:
            return np.flatnonzero(self._buckets.crowded(keys)).astype(np.int64)

    def hashes(self, signatures: UInt64Array, of: Int64Array) -> UInt32Array:
        """Return the hashes of the signatures at the places `of`, uint32 (slots, m)."""
        return kernels.slot_hashes(
            signatures, of, 0, max(1, self._step), max(1, self.slots)
        )

    def add(self, rows: Int64Array, hashes: UInt32Array) -> None:
        """Add rows with their hashes."""
        self._held.extend(rows)
        at = 0
        while self.slots and at < len(rows):
            block_hashes = hashes[:, at : at + self._rows - self._filled]
            at += block_hashes.shape[1]
            self._block[:, self._filled : self._filled + block_hashes.shape[1]] = (
                block_hashes
            )
            self._filled += block_hashes.shape[1]
            if self._filled == self._rows:
                self._file.write(self._block.data.cast("B"))
                self._blocks += 1
                self._filled = 0

    def held(self, n: int) -> BoolArray:
        """Return which of n rows were added: bool (n,)."""
        marks = np.zeros(n, np.bool_)
        marks[self._held.rows()] = True
        return marks

    def unlike(self, is_searched: BoolArray) -> Int64Array:
        """Return the chosen rows that share fewer than `least` slots with all other chosen rows.

        All of the chosen rows, bool (n,), must have been added, each once.
        """
        rows = self._held.rows()
        marks = is_searched[rows]
        n = int(marks.sum())
        if not self.slots or not n:
            return rows[:0]
        sharing = sharing_rows(self._counts(marks, n), n, self.k, self.least, 1)
        return np.asarray(rows[marks][~sharing])

    def _counts(
        self, is_searched: BoolArray, n: int
    ) -> Iterator[tuple[UInt32Array, int]]:
        groups = -(-self.slots // kernels.SLOTS_AT_ONCE)
        for first in range(groups):
            slots = range(first, self.slots, groups)
            yield (
                shared_slots((self._column(slot, is_searched) for slot in slots), n),
                len(slots),
            )

    def _column(self, slot: int, is_searched: BoolArray) -> UInt32Array:
        """Return the hashes of a slot of the chosen rows."""
        block_marks = [
            is_searched[part] for part in parts_of_rows(len(is_searched), self._rows)
        ]
        blocks = [block for block in range(self._blocks) if block_marks[block].any()]
        pieces: Iterator[bytes] = iter(())
        if blocks:
            pieces = self._file.pieces(block * self.slots + slot for block in blocks)
        columns = [
            np.frombuffer(piece, np.uint32)[block_marks[block]]
            for block, piece in zip(blocks, pieces, strict=True)
        ]
        if len(block_marks) > self._blocks:
            columns.append(self._block[slot, : self._filled][block_marks[-1]])
        return np.concatenate(columns)
