"""Texts and signatures in temporary files: of parts, of a task, and of a large part."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lshfast._common.errors import FormatError
from lshfast._common.rows import offsets_of
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._common.visible import printable
from lshfast.join.external.summed_file import SummedFile
from lshfast.kernels.text import Texts

if TYPE_CHECKING:
    from typing_extensions import Self

# Bytes of a part that are written at a time; each such piece has a checksum. Pieces are smaller if
# there are so many parts that the pieces in memory would take more than PENDING_SHARE of the memory
# of a part.
PIECE_BYTES = 1 << 18
LEAST_PIECE_BYTES = 1 << 14
PENDING_SHARE = 1 / 4

# Bytes of signatures that are written at a time.
SIGNATURE_BYTES = 1 << 20


class PartWriter:
    """Write texts to the files of their parts, in the order in which they come.

    Parameters
    ----------
    folder : str
    parts : int
        The number of parts.
    memory : int
        The memory of a part; while the parts are written, a share of it holds what is not written
        yet.

    Attributes
    ----------
    piece_bytes : int
        Bytes that are written at a time.
    """

    def __init__(self, folder: str, parts: int, memory: int) -> None:
        share = int(memory * PENDING_SHARE) // max(parts, 1)
        self.piece_bytes: int = max(LEAST_PIECE_BYTES, min(PIECE_BYTES, share))
        self._files = [
            SummedFile(part_path(folder, number), self.piece_bytes)
            for number in range(parts)
        ]

    def add(self, numbers: npt.NDArray[np.int32], texts: Texts) -> None:
        """Add texts to the parts of these numbers."""
        order = np.argsort(numbers, kind="stable")
        bounds = np.flatnonzero(np.diff(numbers[order], prepend=-1, append=-1))
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            self._files[int(numbers[order[low]])].write(
                texts.take(order[low:high]).packed()
            )

    def finish(self) -> list[SummedFile]:
        """Write what is left, and return the files."""
        for file in self._files:
            file.finish()
        return self._files


def part_path(folder: str, number: int) -> str:
    """Return the path of the texts of a part."""
    return os.path.join(folder, f"part-{number}.texts")


def read_part(file: SummedFile, lengths: Int64Array) -> Texts:
    """Return the texts of a part with these lengths; the file is mapped while they exist.

    Raises
    ------
    FormatError
        If the file is damaged; the message names it.
    """
    if int(lengths.sum()) != file.nbytes:
        raise FormatError(
            f"{printable(file.path)}: damaged: it has not the size that was written"
        )
    return Texts.of_buffer(file.mapped(), offsets_of(lengths))


class SpooledTexts:
    """Texts of a task, in memory, or above `most` bytes in an unnamed temporary file.

    The file is mapped when the texts are used, so that the system may take their memory.

    Parameters
    ----------
    most : int, default 0
    """

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self._nbytes = 0
        self._pieces: list[npt.NDArray[np.uint8]] = []
        self._file: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, data: npt.NDArray[np.uint8]) -> None:
        """Add the bytes of some texts at the end."""
        self._nbytes += len(data)
        self._pieces.append(data)
        if self._nbytes > self._most:
            self._spill()

    def _spill(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
            for piece in self._pieces:
                self._file.write(piece.data)
        except OSError as error:
            raise OSError(
                error.errno, error.strerror, printable(tempfile.gettempdir())
            ) from error
        self._pieces = []

    def texts(self, lengths: Int64Array) -> Texts:
        """Return the texts, which have these lengths; nothing may be added after this."""
        ends = offsets_of(lengths)
        if self._file is None:
            data = np.concatenate([np.empty(0, np.uint8), *self._pieces])
            self._pieces = []
            return Texts.of_buffer(data, ends)
        try:
            self._file.flush()
            return Texts.of_buffer(
                np.memmap(self._file, np.uint8, "r", shape=self._nbytes), ends
            )
        except OSError as error:
            raise OSError(
                error.errno, error.strerror, printable(tempfile.gettempdir())
            ) from error


class StoredSignatures:
    """Signatures in a new file; use it as a context manager, which removes the file at the end.

    Parameters
    ----------
    path : str
    num_perm : int
    """

    def __init__(self, path: str, num_perm: int) -> None:
        self._file = SummedFile(path, SIGNATURE_BYTES)
        self._k = num_perm

    def __enter__(self) -> StoredSignatures:
        return self

    def __exit__(self, *_: object) -> None:
        # Windows removes no mapped file; the folder is removed later.
        with suppress(FileNotFoundError, PermissionError):
            os.unlink(self._file.path)

    def extend(self, part: UInt64Array) -> None:
        """Add rows at the end."""
        self._file.write(part.data.cast("B"))

    def finished(self) -> UInt64Array:
        """Return the rows, uint64 (n, k), which are mapped; nothing may be added after this."""
        self._file.finish()
        return self._file.mapped().view(np.uint64).reshape(-1, self._k)
