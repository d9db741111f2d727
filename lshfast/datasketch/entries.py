"""The entries of a MinHashLSH, in storages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lshfast._common.types import UInt64Array
from lshfast.datasketch.slots import Form

# The number of keys whose names are read from a server at a time.
PIECE = 1000

HashFunction = Callable[[bytes], bytes]
Spellings = tuple[Any, ...]


class LSHEntries:
    """Entries in storages: the names of the buckets of each key, and the keys of each bucket.

    A subclass may keep them elsewhere, and show them as storages. A key may have several rows.

    Parameters
    ----------
    keys : OrderedStorage
        The buckets of each key, in the order of the bands.
    tables : list of UnorderedStorage
        The keys in each bucket, a storage for each band.
    depth : int
        Slots of a band.
    hashfunc : callable, optional
        Returns the name of a bucket for the bytes of its slots.

    Attributes
    ----------
    has_rows : bool
        Whether `rows` yields all slots, instead of only the slots in names of buckets.
    sends_batches : bool
        Whether many insertions are faster if they are sent together.

    Notes
    -----
    `spellings` are the forms in which one key may be stored, the form of new entries first: on a
    server it may have been pickled with another protocol.
    """

    has_rows = False
    sends_batches = False

    keys: Any
    tables: Sequence[Any]

    def __init__(
        self,
        keys: Any,
        tables: Sequence[Any],
        depth: int,
        hashfunc: HashFunction | None,
    ) -> None:
        self.keys = keys
        self.tables = tables
        self.bands = len(tables)
        self.depth = depth
        self.hashfunc = hashfunc
        # Keys that a session has inserted (True) or removed (False).
        self._waiting: dict[Any, bool] = {}
        # Buckets that a session has removed keys from.
        self._left: list[set[bytes]] = [set() for _ in tables]

    def names_of(self, row: UInt64Array, form: Form) -> list[bytes]:
        """Return the names of the buckets of a row."""
        names = form.buckets_of(row, self.bands, self.depth)
        return (
            names if self.hashfunc is None else [self.hashfunc(name) for name in names]
        )

    def insert(
        self,
        spellings: Spellings,
        row: UInt64Array,
        form: Form,
        *,
        check: bool,
        buffer: bool = False,
    ) -> bool:
        """Store an entry and return True; with `check`, return False if the key has an entry."""
        if check and any(map(self._is_there, spellings)):
            return False
        key = spellings[0]
        names = self.names_of(row, form)
        self.keys.insert(key, *names, **_options(buffer))
        for table, name in zip(self.tables, names, strict=True):
            table.insert(name, key, **_options(buffer))
        if buffer:
            self._waiting[key] = True
        return True

    def insert_many(self, keys: list[Any], rows: UInt64Array, form: Form) -> None:
        """Store entries; existing keys get further entries."""
        for key, row in zip(keys, rows, strict=True):
            self.insert((key,), row, form, check=False, buffer=self.sends_batches)

    def remove(self, spellings: Spellings, *, buffer: bool = False) -> bool:
        """Remove all entries of a key; return False if it has none."""
        stored_keys = [key for key in spellings if self._is_there(key)]
        if any(self._waiting.get(key) for key in stored_keys):
            self.flush()
        for key in stored_keys:
            for place, name in enumerate(self.keys.get(key)):
                self._take_out(place % self.bands, name, key, buffer)
            self.keys.remove(key, **_options(buffer))
            if buffer:
                self._waiting[key] = False
        return bool(stored_keys)

    def _take_out(self, band: int, name: bytes, key: Any, buffer: bool) -> None:
        table = self.tables[band]
        if key not in table.get(name):
            return
        table.remove_val(name, key, **_options(buffer))
        if buffer:
            self._left[band].add(name)
        elif not table.get(name):
            table.remove(name)

    def holds(self, spellings: Spellings) -> bool:
        """Return whether a key has an entry."""
        return any(key in self.keys for key in spellings)

    def _is_there(self, key: Any) -> bool:
        """Return whether a key has an entry, or will have one when all pending changes are sent."""
        stays = self._waiting.get(key)
        return key in self.keys if stays is None else stays

    def flush(self) -> None:
        """Send the pending changes of sessions."""
        if not self._waiting:
            return
        for storage in (self.keys, *self.tables):
            storage.empty_buffer()
        self._waiting.clear()
        for table, names in zip(self.tables, self._left, strict=True):
            buckets = zip(list(names), table.getmany(*names), strict=True)
            empty = [name for name, bucket in buckets if not bucket]
            names.clear()
            if empty:
                table.remove(*empty)

    def find(self, row: UInt64Array, form: Form, bands: int | None = None) -> list[Any]:
        """Return the keys that share a band, or one of the first `bands`, with a row, each once."""
        keys: dict[Any, None] = {}
        names = self.names_of(row, form)[:bands]
        for table, name in zip(self.tables[:bands], names, strict=True):
            keys.update(dict.fromkeys(table.get(name)))
        return list(keys)

    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        """Return keys that share a band with a row, and their greatest fraction of equal slots."""
        if self.hashfunc is not None:
            raise ValueError(
                "with_scores needs the slots of entries; with a hashfunc, buckets do not hold them"
            )
        keys = self.find(row, form)
        slots = self.bands * self.depth
        query_values = form.values_of(row)[:slots]
        scores = []
        for key, names in zip(keys, self.keys.getmany(*keys), strict=True):
            most = 0
            for entry_row in self._rows_of(names, form):
                equal = form.values_of(entry_row) == query_values
                most = max(most, int(equal.reshape(slots, -1).all(axis=1).sum()))
            scores.append((key, most / slots))
        return scores

    def _rows_of(self, names: Sequence[bytes], form: Form) -> list[UInt64Array]:
        """Return the rows from which these buckets are named; names of another form are omitted."""
        size = self.depth * form.width
        rows = []
        for start in range(0, len(names) - self.bands + 1, self.bands):
            row_names = list(names[start : start + self.bands])
            if all(isinstance(name, bytes) and len(name) == size for name in row_names):
                rows.append(form.row_of(row_names))
        return rows

    def rows(self, form: Form) -> Iterator[tuple[list[Any], UInt64Array]]:
        """Yield all entries in batches: their keys, and their rows, uint64 (n, slots)."""
        stored = list(self.keys.keys())
        for start in range(0, len(stored), PIECE):
            piece = stored[start : start + PIECE]
            keys = []
            rows = []
            for key, names in zip(piece, self.keys.getmany(*piece), strict=True):
                entry_rows = self._rows_of(names, form)
                keys += [key] * len(entry_rows)
                rows += entry_rows
            if keys:
                yield keys, np.stack(rows)

    def is_empty(self) -> bool:
        """Return whether there is no entry."""
        return len(self.keys) == 0

    @property
    def buffer_size(self) -> int:
        """The number of pending entries at which a session sends them."""
        return int(self.keys.buffer_size)

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        for storage in (self.keys, *self.tables):
            storage.buffer_size = value

    def release(self) -> None:
        """Keep the entries in storages from now on, so that the user may change these."""

    def width(self) -> int | None:
        """Return the bytes of a stored slot; None if it is not known."""
        return None


def _options(buffer: bool) -> dict[str, bool]:
    """Return the options of a change; storages of the user may not support the option `buffer`."""
    return {"buffer": True} if buffer else {}
