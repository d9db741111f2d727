"""Texts that are read again from their files, so that stages need not keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from lshfast._common.rows import int64_range, inverse
from lshfast._common.threads import pieces
from lshfast._common.types import BoolArray
from lshfast._io import jsonl_again
from lshfast._io.files import File, Rows
from lshfast.kernels.text import Texts

# Bytes of text that `equal` reads at a time.
COMPARED_BYTES = 1 << 23


@dataclass(frozen=True)
class LinesOfFile:
    """The texts of lines of a JSONL file: line i is at ``starts[i]:stops[i]``."""

    file: File
    starts: Rows
    stops: Rows

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: Rows) -> Texts:
        """Read the texts of some lines."""
        return jsonl_again.texts_at(self.file, self.starts[rows], self.stops[rows])


class StoredTexts:
    """Texts in files, with the methods of `Texts`.

    Each text takes 24 bytes of memory. All methods raise DataError if a file has changed.
    Immutable, and safe to share between threads.

    Parameters
    ----------
    parts : sequence of LinesOfFile or Texts
        The texts, those of each part together. Texts are held in memory.
    lengths : int64 array of shape (n,)
        The bytes of each text.
    """

    def __init__(self, parts: Sequence[LinesOfFile | Texts], lengths: Rows) -> None:
        self.lengths = lengths
        self._parts = parts
        self._ends = np.cumsum(list(map(len, parts)), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def nbytes(self) -> int:
        """The bytes of all texts together."""
        return int(self.lengths.sum())

    def take(self, rows: slice | Rows | BoolArray) -> Texts:
        """Read the texts of some rows."""
        numbers = int64_range(len(self))[rows]
        part_of = np.searchsorted(self._ends, numbers, side="right")
        parts = [Texts([])]
        for part in np.flatnonzero(np.bincount(part_of)).tolist():
            part_rows = numbers[part_of == part] - (self._ends[part - 1] if part else 0)
            parts.append(self._parts[part].take(part_rows))
        if len(parts) == 2:
            return parts[1]
        order = np.argsort(part_of, kind="stable")
        return Texts.concatenate(parts).take(inverse(order))

    def equal(self, left: Rows, right: Rows) -> BoolArray:
        """Return which texts left[i] and right[i] have the same bytes, bool (m,)."""
        out = self.lengths[left] == self.lengths[right]
        candidates = np.flatnonzero(out)
        for part in pieces(2 * self.lengths[left[candidates]], COMPARED_BYTES):
            part_rows = candidates[part]
            rows, places = np.unique(
                np.concatenate([left[part_rows], right[part_rows]]), return_inverse=True
            )
            one, other = np.split(places.reshape(-1).astype(np.int64), 2)
            out[part_rows] = self.take(rows).equal(one, other)
        return np.asarray(out)

    @staticmethod
    def concatenate(several: Sequence[StoredTexts | Texts]) -> StoredTexts:
        """Return all texts of several columns as one."""
        parts: list[LinesOfFile | Texts] = []
        for column in several:
            parts += column._parts if isinstance(column, StoredTexts) else [column]
        merged_parts: list[LinesOfFile | Texts] = []
        for file, group in groupby(parts, _file_of):
            if file is None:
                merged_parts += group
                continue
            lines = [part for part in group if isinstance(part, LinesOfFile)]
            starts = np.concatenate([part.starts for part in lines])
            stops = np.concatenate([part.stops for part in lines])
            merged_parts.append(LinesOfFile(file, starts, stops))
        return StoredTexts(
            merged_parts, np.concatenate([column.lengths for column in several])
        )


class ReadTexts(Texts):
    """Texts in memory that can be read again: `stored` are the same texts."""

    def __init__(self, texts: Texts, stored: StoredTexts) -> None:
        super().__init__(texts)
        self.stored = stored


def _file_of(part: LinesOfFile | Texts) -> File | None:
    return part.file if isinstance(part, LinesOfFile) else None
