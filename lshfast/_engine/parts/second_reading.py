"""The second reading of a run in parts: texts that are compared, and short ones of a sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.types import BoolArray, Int64Array
from lshfast._engine.account.short_texts import (
    Lengths,
    are_read,
    lengths_of_sample,
)
from lshfast._engine.inputs import ReadableRows, texts_again
from lshfast.kernels.text import Texts


class SecondReading:
    """The second reading of a corpus.

    Parameters
    ----------
    corpus : ReadableRows
    is_compared : ndarray of bool, shape (n,)
        Whether the text of each row is compared.
    sample : ndarray of int64
        Rows that are measured, ascending.
    nbytes : ndarray of int64, shape (n,)
        The bytes of each text.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        The rows that are read, ascending.
    nbytes : ndarray of int64, shape (m,)
        The bytes of their texts.
    """

    def __init__(
        self,
        corpus: ReadableRows,
        is_compared: BoolArray,
        sample: Int64Array,
        nbytes: Int64Array,
    ) -> None:
        self._corpus = corpus
        self._nbytes_of_all = nbytes
        self._sample = sample
        self._measured_rows = sample[are_read(nbytes[sample])]
        self._measured_texts: list[Texts] = []
        is_read = is_compared.copy()
        is_read[self._measured_rows] = True
        self.rows: Int64Array = np.flatnonzero(is_read)
        self.nbytes: Int64Array = nbytes[self.rows]

    def texts(
        self, progress: Progress | None = None
    ) -> Iterator[tuple[Int64Array, Texts]]:
        """Yield some of the rows with their texts, in the order of the rows."""
        for rows, texts in texts_again(
            self._corpus, self.rows, self._nbytes_of_all, progress
        ):
            measured = texts.take(np.isin(rows, self._measured_rows))
            # Copies, which do not keep the memory of all texts.
            copies = [measured[row] for row in range(len(measured))]
            self._measured_texts.append(Texts(copies))
            yield rows, texts

    def lengths(self) -> Lengths:
        """Return the lengths of the texts of the sample; all texts have been read."""
        return lengths_of_sample(
            self._sample,
            self._nbytes_of_all[self._sample],
            Texts.concatenate(self._measured_texts),
        )
