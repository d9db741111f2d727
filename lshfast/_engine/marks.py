"""The marks of each row: its length, whether it has shingles, and two keyed hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._engine.columns import PackedSets, ShingledTexts
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import Sketched
from lshfast.join.copies import equal_rows
from lshfast.kernels.text import HashKey, Texts, two_tokens_of_texts
from lshfast.sketch.minhash import EMPTY

if TYPE_CHECKING:
    from typing_extensions import Self

# Numbers of a row.
WIDTH = 3

# The two keys by which equal texts are recognized.
Secret: TypeAlias = tuple[HashKey, HashKey]


def draw_secret() -> Secret:
    """Draw the keys of a run."""
    return draw_hash_key(), draw_hash_key()


@dataclass(frozen=True)
class RowMarks:
    """The marks of some rows.

    Attributes
    ----------
    words : ndarray of uint64, shape (n, 3)
        Twice the bytes of the text, and 1 more if it has shingles; and two hashes of the text.
        Different texts of n bytes have equal hashes with probability at most (n / 2**63)**2,
        whoever writes them.
    """

    words: UInt64Array

    @classmethod
    def of(cls, piece: Sketched, secret: Secret) -> Self:
        """Return the marks of texts that were sketched, and are still held."""
        words = np.empty((len(piece.signatures), WIDTH), np.uint64)
        texts = _texts_of(piece)
        words[:, 0] = texts.lengths * 2 + (piece.signatures[:, 0] != EMPTY)
        words[:, 1:] = two_tokens_of_texts(texts, *secret)
        return cls(words)

    @classmethod
    def concatenated(cls, parts: Sequence[RowMarks]) -> Self:
        """Return the marks of all rows of several parts."""
        return cls(
            np.concatenate(
                [np.empty((0, WIDTH), np.uint64), *(part.words for part in parts)]
            )
        )

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: Int64Array) -> RowMarks:
        return RowMarks(self.words[rows])

    @property
    def nbytes(self) -> Int64Array:
        """The bytes of each text."""
        return (self.words[:, 0] >> np.uint64(1)).astype(np.int64)

    @property
    def empty(self) -> BoolArray:
        """Whether each row has no shingles."""
        return np.asarray(self.words[:, 0] % np.uint64(2) == 0)

    def first(self) -> Int64Array:
        """Return the first row with the same bytes as each row; itself without shingles."""
        empty = np.flatnonzero(self.empty)
        before = self.words[empty, 0]
        self.words[empty, 0] = 0  # in place: there may be very many rows
        first = equal_rows(self.words)
        self.words[empty, 0] = before
        return first


class MarkedRows(NamedTuple):
    """The marks and bucket keys, (m, b), of rows after the first reading of a run in parts."""

    marks: RowMarks
    keys: UInt64Array

    @classmethod
    def of(cls, piece: Sketched, plan: Plan, secret: Secret) -> Self:
        """Return the marks and keys of sketched texts that are still in memory."""
        return cls(RowMarks.of(piece, secret), plan.bands.keys(piece.signatures))


def _texts_of(piece: Sketched) -> Texts:
    column = piece.column
    assert isinstance(column, (ShingledTexts, PackedSets))  # files hold these
    assert isinstance(column.texts, Texts)  # which are held while they are sketched
    return column.texts
