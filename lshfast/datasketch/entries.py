"""The interface of the entries of a MinHashLSH, and entries in storages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lshfast._common.types import UInt64Array
from lshfast.datasketch.slots import Form

# The number of keys whose names are read from a server at a time.
PIECE = 1000

# Options of changes of a storage. Storages of the user may not support the option `buffer`.
AT_ONCE: dict[str, bool] = {}
BUFFERED = {"buffer": True}

HashFunction = Callable[[bytes], bytes]


class LSHEntries(ABC):
    """Keys, as they are stored, and rows of slots. A key may have several rows.

    Attributes
    ----------
    keys : OrderedStorage
        The buckets of each key, in the order of the bands.
    tables : list of UnorderedStorage
        The keys in each bucket, a storage for each band.

    Notes
    -----
    `other_forms` are further stored forms of the same key: on a server it may have been pickled
    with another protocol.
    """

    keys: Any
    tables: Sequence[Any]

    @property
    def sends_batches(self) -> bool:
        """Whether many insertions are faster if they are sent together."""
        return False

    @property
    def has_rows(self) -> bool:
        """Whether `rows` yields all slots, instead of only the slots in names of buckets."""
        return False

    @abstractmethod
    def insert(
        self,
        key: Any,
        row: UInt64Array,
        form: Form,
        *,
        check: bool,
        buffer: bool,
        other_forms: tuple[Any, ...] = (),
    ) -> bool:
        """Store an entry and return True; with `check`, return False if the key has an entry."""

    def insert_many(self, keys: list[Any], rows: UInt64Array, form: Form) -> None:
        """Store entries; existing keys get further entries."""
        for key, row in zip(keys, rows, strict=True):
            self.insert(key, row, form, check=False, buffer=self.sends_batches)

    @abstractmethod
    def remove(
        self, key: Any, *, buffer: bool, other_forms: tuple[Any, ...] = ()
    ) -> bool:
        """Remove all entries of a key; return False if it has none."""

    @abstractmethod
    def find(self, row: UInt64Array, form: Form) -> list[Any]:
        """Return the keys that share a band with a row, each once."""

    @abstractmethod
    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        """Return keys that share a band with a row, and their greatest fraction of equal slots."""

    @abstractmethod
    def holds(self, key: Any, other_forms: tuple[Any, ...] = ()) -> bool:
        """Return whether a key has an entry."""

    @abstractmethod
    def rows(self, form: Form) -> Iterator[tuple[list[Any], UInt64Array]]:
        """Yield all entries in batches: their keys, and their rows, uint64 (n, slots)."""

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

    def release(self) -> None:  # noqa: B027 (other entries are in storages already)
        """Keep the entries in storages from now on, so that the user may change these."""

    def flush(self) -> None:  # noqa: B027 (in memory nothing is pending)
        """Send the pending changes of sessions."""

    def width(self) -> int | None:
        """Return the bytes of a stored slot; None if there is no entry."""
        return None


class StoredEntries(LSHEntries):
    """Entries in storages: the names of the buckets of each key, and the keys of each bucket.

    Parameters
    ----------
    keys : OrderedStorage
    tables : list of UnorderedStorage
    depth : int
        Slots of a band.
    hashfunc : callable, optional
        Returns the name of a bucket for the bytes of its slots.
    """

    keys: Any
    tables: Sequence[Any]
    bands: int
    depth: int
    hashfunc: HashFunction | None

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
        self._waiting: dict[
            Any, bool
        ] = {}  # keys that a session has inserted (True) or removed (False)
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
        key: Any,
        row: UInt64Array,
        form: Form,
        *,
        check: bool,
        buffer: bool,
        other_forms: tuple[Any, ...] = (),
    ) -> bool:
        if check and any(map(self._is_there, (key, *other_forms))):
            return False
        names = self.names_of(row, form)
        options = BUFFERED if buffer else AT_ONCE
        self.keys.insert(key, *names, **options)
        for table, name in zip(self.tables, names, strict=True):
            table.insert(name, key, **options)
        if buffer:
            self._waiting[key] = True
        return True

    def remove(
        self, key: Any, *, buffer: bool, other_forms: tuple[Any, ...] = ()
    ) -> bool:
        present_forms = [form for form in (key, *other_forms) if self._is_there(form)]
        if any(self._waiting.get(form) for form in present_forms):
            self.flush()
        for form in present_forms:
            for place, name in enumerate(self.keys.get(form)):
                self._take_out(place % self.bands, name, form, buffer)
            self.keys.remove(form, **(BUFFERED if buffer else AT_ONCE))
            if buffer:
                self._waiting[form] = False
        return bool(present_forms)

    def _take_out(self, band: int, name: bytes, key: Any, buffer: bool) -> None:
        table = self.tables[band]
        bucket = table.get(name)
        if key in bucket:
            table.remove_val(name, key, **(BUFFERED if buffer else AT_ONCE))
            if buffer:
                self._left[band].add(name)
            elif not table.get(name):
                table.remove(name)

    def holds(self, key: Any, other_forms: tuple[Any, ...] = ()) -> bool:
        return key in self.keys or any(other in self.keys for other in other_forms)

    def _is_there(self, key: Any) -> bool:
        """Return whether a key has an entry, or will have one when all pending changes are sent."""
        stays = self._waiting.get(key)
        return key in self.keys if stays is None else stays

    def flush(self) -> None:
        if not self._waiting:
            return
        for storage in (self.keys, *self.tables):
            storage.empty_buffer()
        self._waiting.clear()
        for table, names in zip(self.tables, self._left, strict=True):
            bucket_names = list(names)
            empty = [
                name
                for name, bucket in zip(
                    bucket_names, table.getmany(*bucket_names), strict=True
                )
                if not bucket
            ]
            names.clear()
            if empty:
                table.remove(*empty)

    def find(self, row: UInt64Array, form: Form) -> list[Any]:
        return self.find_in(row, form, self.bands)

    def find_in(self, row: UInt64Array, form: Form, bands: int) -> list[Any]:
        """Return the keys that share one of the first `bands` bands with a row, each once."""
        keys: dict[Any, None] = {}
        for table, name in zip(
            self.tables[:bands], self.names_of(row, form)[:bands], strict=True
        ):
            keys.update(dict.fromkeys(table.get(name)))
        return list(keys)

    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        if self.hashfunc is not None:
            raise ValueError(
                "with_scores needs the slots of entries; with a hashfunc, buckets do not hold them"
            )
        keys = self.find(row, form)
        query_values = form.values_of(row)
        slots = self.bands * self.depth
        scores = []
        for key, names in zip(keys, self.keys.getmany(*keys), strict=True):
            entry_values = [form.values_of(one) for one in self._rows_of(names, form)]
            equal = [values == query_values[:slots] for values in entry_values]
            counts = [
                int((each.all(axis=1) if each.ndim == 2 else each).sum())
                for each in equal
            ]
            scores.append((key, max(counts, default=0) / slots))
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


class UnmadePart:
    """A placeholder for a part of an index whose subclass has its own constructor."""

    __slots__ = ("_lsh", "_part")

    def __init__(self, lsh: Any, part: str) -> None:
        object.__setattr__(self, "_lsh", lsh)
        object.__setattr__(self, "_part", part)

    def _made(self) -> Any:
        if not {"h", "b", "r", "keys", "hashtables"} <= vars(self._lsh).keys():
            raise AttributeError(
                f"the constructor of {type(self._lsh).__name__} was not run, or set no storages"
            )
        self._lsh._use_storages()
        return getattr(self._lsh, self._part)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._made(), name, value)
