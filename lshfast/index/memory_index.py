"""`MemoryIndex`: the base class of indexes in memory that are read from a file as a whole."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from lshfast._common.container import named_format
from lshfast._common.errors import FormatError
from lshfast._common.progress import Progress
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.index.entry_file import EntryFile
from lshfast.index.index_stats import EntryStats, bytes_of
from lshfast.index.keys import Column, KeyedEntries, as_column, listed
from lshfast.index.stores.values import OnDuplicate, check_on_duplicate
from lshfast.kernels.gate import Gate

AnIndex = TypeVar("AnIndex", bound="MemoryIndex")

# Entries in a batch.
BATCH_ROWS = 1 << 13


class Entries(Protocol):
    """Keys and rows, and the structures that search them; `gate` is a read-write lock."""

    gate: Gate

    def __len__(self) -> int: ...
    def remove(self, keys: Column) -> None:
        """Remove the entries of some keys, all or none."""

    # For readers, within gate.reading():

    def find(self, keys: Column) -> Int64Array:
        """Return the row of each key, -1 where it has none."""

    def names(self, rows: Int64Array) -> Column:
        """Return the keys of some rows."""

    def rows(self) -> Int64Array:
        """Return all rows that have entries, ascending."""

    def columns(self, rows: Int64Array) -> list[UInt64Array]:
        """Return the columns of some rows, uint64 (n, words) each; they may be views."""

    def figures(self) -> dict[str, int]:
        """Return figures by name; the names of sizes in bytes end with "bytes"."""

    def unsound(self) -> str:
        """Return a description of the first disagreement with the live rows, or ""."""


class MemoryIndex(KeyedEntries):
    """Base class of `LSHForest`, `LSHEnsemble` and `CodeIndex`.

    Attributes
    ----------
    on_duplicate : {"error", "replace", "skip"}
    """

    on_duplicate: OnDuplicate
    _entries: Entries
    _file: ClassVar[EntryFile]

    @abstractmethod
    def _fields(self) -> Sequence[Any]:
        """Return the fields of a file of this index."""

    @staticmethod
    @abstractmethod
    def _widths(*fields: Any) -> Sequence[int]:
        """Check the fields of a file, and return the words of a row of each column."""

    @classmethod
    @abstractmethod
    def _made(
        cls: type[AnIndex],
        fields: Sequence[Any],
        keys: Column,
        columns: list[UInt64Array],
    ) -> AnIndex:
        """Return an index with the content of a file, or raise ValueError."""

    def _remove(self, keys: Column) -> None:
        self._entries.remove(keys)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Any) -> bool:
        with self._entries.gate.reading():
            return bool(self._entries.find(as_column([key]))[0] >= 0)

    def contains(self, keys: Any) -> BoolArray:
        column = as_column(keys)
        with self._entries.gate.reading():
            return self._entries.find(column) >= 0

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys that are in the index at the time of the call."""
        with self._entries.gate.reading():
            return iter(listed(self._entries.names(self._entries.rows())))

    def _batches(self) -> Iterator[tuple[Column, list[UInt64Array]]]:
        """Yield the keys and rows of all entries in batches; removed entries are skipped."""
        with self._entries.gate.reading():
            keys = self._entries.names(self._entries.rows())
        for start in range(0, len(keys), BATCH_ROWS):
            with self._entries.gate.reading():
                rows = self._entries.find(keys[start : start + BATCH_ROWS])
                rows = np.sort(rows[rows >= 0])
                names = self._entries.names(rows)
                columns = [column.copy() for column in self._entries.columns(rows)]
            yield names, columns

    @property
    def nbytes(self) -> int:
        """Memory of the index, in bytes; an estimate without key objects unless keys are ints."""
        with self._entries.gate.reading():
            return bytes_of(self._entries.figures())

    def stats(self) -> EntryStats:
        """Return the figures of the index, such as its memory.

        Examples
        --------
        >>> from lshfast import LSHForest
        >>> LSHForest().stats().entries
        0
        """
        with self._entries.gate.reading():
            figures = self._entries.figures()
            return EntryStats(len(self), bytes_of(figures), figures)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write the index to a file; the file appears when it is complete.

        A file of an index of the same class, or an empty file, is replaced. The file contains the
        parameters, the keys and the rows of entries; `open` builds the rest. Writers, and sometimes
        queries, wait until it is written.

        Parameters
        ----------
        path : path
        overwrite : bool, default False
            Replace also another file.
        progress : callable, optional
            Called from time to time with ("save", bytes done, bytes in total).

        Raises
        ------
        TypeError
            If the keys are neither all ints of 64 bits nor all strs.
        FileExistsError
            If the file exists and is not an index of this class, and `overwrite` is false.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from lshfast import HammingIndex
        >>> index = HammingIndex()
        >>> index.insert(["a", "b"], np.array([[7], [8]], np.uint64))
        2
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     index.save(os.path.join(folder, "codes.ham"))
        ...     list(HammingIndex.open(os.path.join(folder, "codes.ham")))
        ['a', 'b']
        """
        with self._entries.gate.reading():
            rows = self._entries.rows()
            keys = self._entries.names(rows)
            columns = self._entries.columns(rows)
            self._file.write(path, self._fields(), keys, columns, overwrite, progress)

    def write_back(self, path: str, *, progress: Progress | None = None) -> None:
        """Write the changes to the file from which the index was opened, which is written whole."""
        self.save(path, overwrite=True, progress=progress)

    def compact(self, *, progress: Progress | None = None) -> None:
        """Do nothing: the file of this index has no removed entries."""

    @classmethod
    def open(
        cls: type[AnIndex],
        path: str | os.PathLike[str],
        *,
        on_duplicate: OnDuplicate = "error",
    ) -> AnIndex:
        """Read a saved index into memory; the whole file is checked.

        Parameters
        ----------
        path : path
        on_duplicate : {"error", "replace", "skip"}, default "error"

        Returns
        -------
        An index of this class

        Raises
        ------
        OSError
            If the file cannot be read.
        FormatError
            If the file is not an index of this class, has another version, or is damaged; the error
            names the part.
        """
        check_on_duplicate(on_duplicate)
        fields, keys, columns = cls._file.read(path, cls._widths)
        with named_format(path):
            try:
                index = cls._made(fields, keys, columns)
            except FormatError:
                raise
            except ValueError as error:
                raise FormatError(f"content: {error}") from None
        index.on_duplicate = on_duplicate
        return index

    def verify(self) -> None:
        """Check that tables and trees agree with the entries.

        Files are checked when they are opened.

        Raises
        ------
        FormatError
            If something is damaged; the error names it.

        Examples
        --------
        >>> from lshfast import LSHForest
        >>> LSHForest().verify()
        """
        with self._entries.gate.reading():
            rows = self._entries.rows()
            if (self._entries.find(self._entries.names(rows)) != rows).any():
                raise FormatError("keys: one does not lead to its row")
            fault = self._entries.unsound()
            if fault:
                raise FormatError(fault)


def magic_of(kind: type[MemoryIndex]) -> bytes:
    """Return the first bytes of the files of a class of indexes."""
    return kind._file.container.magic
