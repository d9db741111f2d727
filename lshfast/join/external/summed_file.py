"""A file of pieces whose checksums are in the memory of the process that writes it."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lshfast._common.atomic_files import naming
from lshfast._common.container import write_all
from lshfast._common.errors import FormatError
from lshfast._common.private_files import private
from lshfast._common.rows import parts_of_rows
from lshfast._common.types import UInt8Array
from lshfast._common.visible import printable
from lshfast.kernels.checksum import checksum


class SummedFile:
    """A file that is written once, in pieces of one size, and then read.

    Parameters
    ----------
    path : str
        A new file, which exists once a byte was written to it.
    piece_bytes : int
        At least 1: bytes of a piece. They are buffered until the piece is full; each piece has a
        checksum.
    nbytes : int, default 0
        The bytes of a file that was written before.
    sums : iterable of int
        The checksums of its pieces.

    Attributes
    ----------
    nbytes : int
        The bytes that were written.
    sums : array of int
        The checksum of each piece.

    Raises
    ------
    OSError
        If the file cannot be written or read; the message names it.
    FormatError
        If the file was changed or damaged after it was written; the message names it and the place.
    """

    path: str
    piece_bytes: int
    nbytes: int
    sums: array[int]

    def __init__(
        self, path: str, piece_bytes: int, nbytes: int = 0, sums: Iterable[int] = ()
    ) -> None:
        self.path = path
        self.piece_bytes = piece_bytes
        self.nbytes = nbytes
        self.sums = array("Q", sums)
        self._mode = "ab" if nbytes else "xb"
        self._held: list[bytes | memoryview] = []
        self._size = 0

    def write(self, data: bytes | memoryview) -> None:
        """Write bytes at the end; they must not change until their piece is complete."""
        self._held.append(data)
        self._size += len(data)
        if self._size >= self.piece_bytes:
            self._append(self._size // self.piece_bytes * self.piece_bytes)

    def finish(self) -> None:
        """Write the bytes of the incomplete piece; nothing may be written after this."""
        self._append(self._size)

    def _append(self, end: int) -> None:
        """Write the first `end` bytes that are buffered."""
        data = memoryview(b"".join(self._held))
        self._held = [bytes(data[end:])]
        self._size = len(data) - end
        for part in parts_of_rows(end, self.piece_bytes):
            self.sums.append(checksum(data[part]))
        with self._opened(self._mode) as file:
            self._mode = "ab"
            write_all(file, data[:end])
        self.nbytes += end

    def mapped(self) -> UInt8Array:
        """Return all bytes; the file is mapped as long as they exist."""
        with self._opened("rb") as stream:
            if os.fstat(stream.fileno()).st_size != self.nbytes:
                raise FormatError(
                    f"{printable(self.path)}: damaged: it has not the size that was written"
                )
            data = (
                np.memmap(stream, np.uint8, "r")
                if self.nbytes
                else np.empty(0, np.uint8)
            )
        for piece in range(len(self.sums)):
            at = piece * self.piece_bytes
            self._check(piece, data[at : at + self.piece_bytes])
        return data

    def pieces(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """Yield some pieces."""
        with self._opened("rb") as stream:
            for number in numbers:
                stream.seek(number * self.piece_bytes)
                data = stream.read(self.piece_bytes)
                self._check(number, data)
                yield data

    @contextmanager
    def _opened(self, mode: str) -> Iterator[Any]:
        """Open the file; errors of the system name it."""
        with (
            naming(self.path),
            open(self.path, mode, buffering=0, opener=private) as file,
        ):
            yield file

    def _check(self, piece: int, data: UInt8Array | bytes) -> None:
        if checksum(data) != self.sums[piece]:
            raise FormatError(
                f"{printable(self.path)}: damaged at byte {piece * self.piece_bytes}"
            )
