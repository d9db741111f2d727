"""The points of a run, in memory, or in a mapped file of which only pages in use take memory.

`HeldPoints` and `HeldSets` measure pairs of them. Nearer pairs have smaller values: the value of
points is the one of the kernel, and weighted sets have their negative similarity, which is not
rounded.

`HeldPoints` and `HeldSets` measure pairs of them. The value of a pair is less for nearer ones: that
of the kernels' measure of points, and for weighted sets the negative similarity, which needs no
rounding.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Protocol

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.rows import parts_of_rows
from lshfast._common.threads import pieces
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast._items.rare_elements import RareElementsOf
from lshfast.index.measure import Measure
from lshfast.kernels import distances as point_kernels
from lshfast.kernels import weighted as set_kernels
from lshfast.sketch.weighted import WeightedSets
from lshfast.tokens import places_of_rows

# Bytes of a mapped file that are in use at a time where its rows are read in any order, and those
# that the system maps around each of them.
TOUCHED_BYTES = 1 << 25
FAULT_BYTES = 1 << 16

# Bytes of weighted sets and their signatures that are computed at once; and of an element, whose
# words are copied.
PIECE_BYTES = 1 << 24
COPIED_BYTES = 100


class HeldItems(Protocol):
    """Points that are held."""

    def __len__(self) -> int: ...

    @property
    def row_words(self) -> int:
        """The words of a point, or of a set in the mean."""

    @property
    def points(self) -> tuple[UInt64Array, tuple[str, str, int]] | None:
        """The words of points and their measure, as `Meetings` takes them; None for sets."""

    def values(self, pairs: UInt64Array) -> Float64Array:
        """Return the values of pairs of rows, right << 32 | left."""

    def rare_elements(self, value: float) -> RareElementsOf | None:
        """Return a finder of elements that rows similar up to this value share; None for points."""


@dataclass(frozen=True)
class HeldPoints:
    """Vectors or codes, as words of a measure: uint64 (n, words)."""

    words: UInt64Array
    measure: Measure

    def __len__(self) -> int:
        return len(self.words)

    @property
    def row_words(self) -> int:
        return int(self.words.shape[1])

    @property
    def points(self) -> tuple[UInt64Array, tuple[str, str, int]]:
        return self.words, self.measure.kernel

    def values(self, pairs: UInt64Array) -> Float64Array:
        values = np.empty(len(pairs))
        point_kernels.distances_of_pairs(
            self.words, pairs, *self.measure.kernel, values
        )
        release(self.words)
        return values

    def rare_elements(self, value: float) -> None:
        return None


@dataclass(frozen=True)
class HeldSets:
    """Weighted sets: row i has elements offsets[i] to offsets[i + 1], of `ELEMENT_WORDS` words."""

    offsets: Int64Array
    elements: UInt64Array
    touched_bytes: int = TOUCHED_BYTES

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def row_words(self) -> int:
        return -(-self.elements.size // max(1, len(self)))

    @property
    def points(self) -> None:
        return None

    def values(self, pairs: UInt64Array) -> Float64Array:
        values = np.empty(len(pairs))
        most = max(1, len(pairs))
        if _map_of(self.elements) is not None:
            most = max(
                1, self.touched_bytes // (2 * (FAULT_BYTES + 8 * self.row_words))
            )
        for part in parts_of_rows(len(pairs), most):
            set_kernels.similarities(
                self.offsets, self.elements, pairs[part], values[part]
            )
            release(self.elements)
        return -values

    def rare_elements(self, value: float) -> RareElementsOf:
        return RareElementsOf(
            self.offsets,
            self.elements,
            -value,
            _map_of(self.elements) is not None,
            release,
        )

    def take(self, rows: Int64Array) -> HeldSets:
        """Return some of the sets, in memory."""
        offsets, places = places_of_rows(self.offsets, rows)
        return HeldSets(offsets, self.elements[places])

    def weighted(self, row_bytes: int) -> Iterator[tuple[slice, WeightedSets]]:
        """Yield consecutive rows with the sets of their public hashes, to be sketched.

        With `row_bytes` more bytes a row, these are about PIECE_BYTES at a time.
        """
        for piece in pieces(row_bytes + COPIED_BYTES * self.lengths, PIECE_BYTES):
            offsets = self.offsets[piece.start : piece.stop + 1]
            elements = self.elements[offsets[0] : offsets[-1]]
            weights = elements[:, 2].copy().view(np.float64)
            yield piece, WeightedSets(offsets - offsets[0], elements[:, 0], weights)
            release(self.elements)

    @property
    def lengths(self) -> Int64Array:
        """The number of elements of each set."""
        return np.diff(self.offsets)

    def hashes(self, rows: Int64Array) -> UInt64Array:
        """Return hashes of some sets under a public seed; the order of elements does not matter."""
        offsets, places = places_of_rows(self.offsets, rows)
        elements = self.elements[places]
        sums = np.zeros(len(places) + 1, np.uint64)
        np.cumsum(
            elements[:, 0] * (elements[:, 2] << np.uint64(1) | np.uint64(1)),
            out=sums[1:],
        )
        release(self.elements)
        return np.asarray(sums[offsets[1:]] - sums[offsets[:-1]])


class PointFile:
    """Words of points that are appended to a file, and read from there at the end.

    Parameters
    ----------
    path : str
        A new file in a folder that nobody else can read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: IO[bytes] = open(path, "xb")  # noqa: SIM115  closed by `finished`

    def extend(self, words: UInt64Array) -> None:
        """Append rows."""
        self._width = words.shape[1]
        words.tofile(self._file)

    def finished(self) -> UInt64Array:
        """Return the mapped rows; the file is removed, and the last reference frees its space."""
        with self._file as file:
            file.flush()
            size = file.tell()
        with open(self._path, "rb") as file:
            os.unlink(self._path)
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, np.uint64).reshape(-1, self._width)


def release(points: UInt64Array) -> None:
    """Free the pages of points that were read from a mapped file; points in memory stay."""
    map_of_file = _map_of(points)
    if map_of_file is not None and hasattr(mmap, "MADV_DONTNEED"):
        map_of_file.madvise(mmap.MADV_DONTNEED)


def _map_of(points: UInt64Array) -> mmap.mmap | None:
    """Return the map of a file whose memory points have; None if they are in memory."""
    base = points
    while isinstance(base, np.ndarray):
        base = base.base  # type: ignore[assignment]
    owner = base.obj if isinstance(base, memoryview) else base
    return owner if isinstance(owner, mmap.mmap) else None


def holder(path: str | None, width: int) -> GrowingArray | PointFile:
    """Return a growing array, or a file at `path`, for rows of `width` words."""
    return GrowingArray(np.uint64, width) if path is None else PointFile(path)
