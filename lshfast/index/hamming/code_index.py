"""`CodeIndex`: what the indexes of packed codes have in common."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from lshfast.common.types import UInt64Array
from lshfast.families.packed import codes_of
from lshfast.index.hamming.rows import CodeRows
from lshfast.index.keys import Column, as_column
from lshfast.index.memory_index import MemoryIndex


class CodeIndex(MemoryIndex):
    """Base class of `HammingIndex` and `TanimotoIndex`.

    Attributes
    ----------
    bits : int
    """

    bits: int
    _entries: CodeRows[Any]

    # ---- writing ----

    def insert(self, keys: Any, codes: npt.ArrayLike) -> int:
        """Insert one entry, or a batch of entries: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of n hashable objects
            One key for one code; a batch for several.
        codes : array_like
            One code or n codes, in a form of `dedup_codes`. A list of strings, bytes or ints is a batch.

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        TypeError
            If a key cannot be stored, or the codes have another form.
        DuplicateKeyError
            If a key is a duplicate and `on_duplicate` is "error"; the error names the first one.
        ValueError
            If the numbers of keys and codes differ, or the codes have the wrong shape or bits beyond `bits`.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import HammingIndex
        >>> HammingIndex().insert(range(2), np.array([[7], [8]], np.uint64))
        2
        """
        array = codes_of(codes, self.bits)
        column = as_column([keys] if array.ndim == 1 else keys)
        array = array.reshape(-1, self._entries.words)
        if len(column) != len(array):
            raise ValueError(f"there must be a key for each code, not {len(column)} for {len(array)}")
        return self._entries.insert(column, array, self.on_duplicate)

    # ---- entries ----

    def items(self) -> tuple[Column, UInt64Array]:
        """Return the keys and codes of all entries, in the order of their insertion.

        Returns
        -------
        keys : ndarray of int64, shape (n,), or list
        codes : ndarray of uint64, shape (n, words)
            Do not write to it.
        """
        with self._entries.gate.reading():
            rows = self._entries.rows()
            return self._entries.names(rows), self._entries.columns(rows)[0]
