"""The points of a run, held in memory, or in a file that is mapped: then only what is in use takes memory."""

from __future__ import annotations

import mmap
import os
from typing import IO

import numpy as np

from lshfast.common.growing import GrowingArray
from lshfast.common.types import UInt64Array


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
        """Return the rows, mapped; the file is removed, and its space is free when nothing refers to the rows."""
        with self._file as file:
            file.flush()
            size = file.tell()
        with open(self._path, "rb") as file:
            os.unlink(self._path)
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, np.uint64).reshape(-1, self._width)


def release(points: UInt64Array) -> None:
    """Let go of the memory of what was read of points in a file; those in memory stay as they are."""
    base = points
    while isinstance(base, np.ndarray):
        base = base.base  # type: ignore[assignment]
    held = base.obj if isinstance(base, memoryview) else base
    if isinstance(held, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        held.madvise(mmap.MADV_DONTNEED)


def holder(path: str | None, width: int) -> GrowingArray | PointFile:
    """Return what rows of so many words are added to: an array, or a file."""
    return GrowingArray(np.uint64, width) if path is None else PointFile(path)
