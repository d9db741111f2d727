"""Records of words in a file, in the order in which they were added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from lshfast._common.rows import parts_of_rows
from lshfast._common.types import AnyArray, UInt64Array
from lshfast.join.external.records import WORD_BYTES
from lshfast.join.external.summed_file import SummedFile

# Records that are written, and read, at once.
PIECE_RECORDS = 1 << 16


class RecordSpool:
    """Records that are written once to a new file, and then read in the same order.

    Parameters
    ----------
    path : str
    words : int
        The words of a record.
    """

    def __init__(self, path: str, words: int) -> None:
        self._words = words
        self._count = 0
        self._file = SummedFile(path, PIECE_RECORDS * WORD_BYTES * words)

    def __len__(self) -> int:
        return self._count

    def add(self, *columns: AnyArray) -> None:
        """Add records, given an array of numbers of 64 bits for each word."""
        words = [column.view(np.uint64) for column in columns]
        records = np.stack(words, axis=1)
        self._count += len(records)
        self._file.write(records.data.cast("B") if records.size else b"")

    def pieces(self) -> Iterator[UInt64Array]:
        """Yield all records, (m, words) in each piece; nothing may be added after this."""
        self._file.finish()
        for piece in self._file.pieces(range(len(self._file.sums))):
            yield np.frombuffer(piece, np.uint64).reshape(-1, self._words)

    def reader(self) -> RecordReader:
        """Return a reader of all records; nothing may be added after this."""
        return RecordReader(self.pieces(), self._words)


class RecordReader:
    """Read records in any portions.

    Parameters
    ----------
    pieces : iterator of ndarray of uint64, shape (m, words)
    words : int
    """

    def __init__(self, pieces: Iterator[UInt64Array], words: int) -> None:
        self._pieces = pieces
        self._piece = np.empty((0, words), np.uint64)

    def take(self, count: int) -> UInt64Array:
        """Return the next records, fewer at the end."""
        portions = [self._next(count)]
        missing = count - len(portions[0])
        while missing and self._fill():
            portions.append(self._next(missing))
            missing -= len(portions[-1])
        return np.concatenate(portions)

    def until(self, bound: int) -> UInt64Array:
        """Return the next records whose first word is below a bound, if first words ascend."""
        portions = []
        while True:
            firsts = self._piece[:, 0]
            portions.append(self._next(int(np.searchsorted(firsts, np.uint64(bound)))))
            if len(self._piece) or not self._fill():
                return np.concatenate(portions)

    def _next(self, count: int) -> UInt64Array:
        """Return up to `count` records of the piece that was read."""
        portion = self._piece[:count]
        self._piece = self._piece[count:]
        return portion

    def _fill(self) -> bool:
        """Read the next piece when all records of one were returned; False at the end."""
        piece = next(self._pieces, None)
        if piece is not None:
            self._piece = piece
        return piece is not None


def pieces_of(batches: Iterable[UInt64Array], count: int) -> Iterator[UInt64Array]:
    """Yield arrays of at most `count` records."""
    return (
        batch[part] for batch in batches for part in parts_of_rows(len(batch), count)
    )
