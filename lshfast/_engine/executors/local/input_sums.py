"""Checksums of whole inputs, by which a run that is resumed knows that they are the same."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np

from lshfast._io.files import File
from lshfast._io.sources import LocalFile
from lshfast.kernels.checksum import checksum

PIECE_BYTES = 1 << 20


class InputSums:
    """Checksums of the local files among the inputs; of others, their store tells when they change.

    They are made behind the run that reads the inputs, from what the system has just read for it.
    Of Parquet, the run reads some columns, and the rest is read for the checksum.

    Parameters
    ----------
    files : sequence of File
    """

    def __init__(self, files: Sequence[File]) -> None:
        self._files, self._sums, self._position = files, dict[str, int](), 0
        self._pieces = self._read()

    def follow(self, position: int) -> None:
        """Read up to a position in the bytes of all inputs."""
        while self._position < position:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._position += piece

    def finished(self) -> dict[str, int]:
        """Read what is left, and return the checksums by path."""
        for _ in self._pieces:
            pass
        return self._sums

    def _read(self) -> Iterator[int]:
        """Yield the bytes of each piece that has been read."""
        for file in self._files:
            if not isinstance(file.source, LocalFile):
                yield file.size
                continue
            sums = array("Q")
            left = file.size
            try:
                with closing(file.source.open()) as stream:
                    while piece := stream.read(
                        min(PIECE_BYTES, left)
                    ):  # a file may grow for ever
                        sums.append(checksum(piece))
                        left -= len(piece)
                        yield len(piece)
            except OSError as error:
                raise file.fault(
                    None, f"cannot be read: {error.strerror or error}"
                ) from error
            self._sums[file.path] = checksum(np.asarray(sums, "<u8"))
