"""The rows of a run within a cap, and after them the earlier rows with which they are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lshfast._common.types import Int64Array
from lshfast._io import Corpus, DataError
from lshfast._io.batches import Batch
from lshfast._io.files import File

# The beginning of the names of the files in which the ids of earlier rows are kept.
EARLIER_FILES = "earlier-"


class AllRows:
    """The rows of a corpus, numbered first, and those of an earlier one, numbered after them.

    Parameters
    ----------
    corpus : Corpus
    earlier : Corpus, optional
    """

    def __init__(self, corpus: Corpus, earlier: Corpus | None = None) -> None:
        self.corpus = corpus
        self.earlier = earlier
        self._parts = [corpus] if earlier is None else [corpus, earlier]

    @property
    def new(self) -> int:
        """The number of rows of the corpus that were read."""
        return self.corpus.accepted

    @property
    def files(self) -> list[File]:
        """All input files."""
        return [file for part in self._parts for file in part.files]

    @property
    def total_bytes(self) -> int:
        """Their size on disk."""
        return sum(part.total_bytes for part in self._parts)

    def limit_rows(self, most: int, remedy: str) -> None:
        """Reject rows of more than `most` bytes; see `Corpus.limit_rows`."""
        for part in self._parts:
            part.limit_rows(most, remedy)

    def hold_in_files(self, folder: str) -> None:
        """Keep ids, order values and rejected rows in files of a folder."""
        self.corpus.hold_in_files(folder)
        if self.earlier is not None:
            self.earlier.hold_in_files(folder, EARLIER_FILES)

    def batches(self) -> Iterator[Batch]:
        """Read all inputs once; see `Corpus.batches`."""
        for part in self._parts:
            yield from part.batches()

    def texts_of(self, rows: Int64Array) -> Iterator[tuple[Int64Array, Any, int]]:
        """Read the texts of some rows again; see `Corpus.texts_of`."""
        end = int(np.searchsorted(rows, self.new))
        yield from self.corpus.texts_of(rows[:end])
        if self.earlier is not None:
            for part_rows, texts, nbytes in self.earlier.texts_of(
                rows[end:] - self.new
            ):
                yield part_rows + self.new, texts, nbytes

    def fault(self, row: int, reason: str) -> DataError:
        """Return an error that names a row."""
        if row < self.new or self.earlier is None:
            return self.corpus.fault(row, reason)
        return self.earlier.fault(row - self.new, reason)
