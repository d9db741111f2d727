"""Entries of a MinHashLSH in memory: numbered rows in a `MemoryStore`, and their keys."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from lshfast._common.types import Int64Array, UInt64Array
from lshfast.datasketch.entries import HashFunction, LSHEntries, StoredEntries
from lshfast.datasketch.memory_views import BucketView, Dicts, KeyView, storage_of
from lshfast.datasketch.slots import EMPTY_32, Form
from lshfast.datasketch.storage import DictListStorage, DictSetStorage
from lshfast.datasketch.storage_base import BUFFER_SIZE
from lshfast.index.stores.memory import MemoryStore
from lshfast.index.stores.values import Parameters

# The number of entries that are read from the store at a time.
PIECE_ROWS = 1 << 13

# The dicts are discarded after this many changes without a read, and one more for this many keys.
FEW = 8

_ABSENT = object()


class MemoryEntries(LSHEntries):
    """Entries in a `MemoryStore`, whose keys are numbers, and the user's keys by number.

    Keys are any hashable objects, and queries return the objects that were inserted. Any number of
    threads may call any method.

    The views `keys` and `tables` read dicts in datasketch's form. These are built when a view is
    first read, and each later change updates them. When a view is changed, the dicts replace the
    store: it is deleted, and queries use the dicts from then on.

    Parameters
    ----------
    length, bands, depth : int
        Slots of a row, bands, and slots per band.
    hashfunc : callable, optional
        Returns the name of a bucket for the bytes of its slots.

    Attributes
    ----------
    numbers : dict
        From each key to the number of its entry, or to a tuple of several numbers. If the dicts
        have replaced the store, from each key to the names of its buckets.
    dicts : list of defaultdict, or None
        From each key to the names of its buckets; then for each band from each bucket to the set of
        its keys. None before a view is read, after many changes without a read, and while entries
        change: if an error or an interrupt ends the change, the dicts are built again.
    unread_changes : int
        The number of changes since a view read the dicts.
    stored : StoredEntries or None
        The entries in the dicts after a view was changed.
    lock : RLock
        Locked while the entries or the dicts change.
    """

    buffer_size = BUFFER_SIZE

    length: int
    bands: int
    depth: int
    hashfunc: HashFunction | None
    lock: AbstractContextManager[Any]
    dicts: Dicts | None

    def __init__(
        self, length: int, bands: int, depth: int, hashfunc: HashFunction | None
    ) -> None:
        self.length = length
        self.bands = bands
        self.depth = depth
        self.hashfunc = hashfunc
        self.lock = threading.RLock()
        # None before the first entry, and after a view was changed.
        self._store: MemoryStore | None = None
        self.stored: StoredEntries | None = None
        self._form: Form | None = None
        self._names: dict[int, Any] = {}
        self._next = 0
        self._several = False  # whether a key ever had more than one entry
        self.numbers: dict[Any, Any] = {}
        self.dicts = None
        self.unread_changes = 0

    @property
    def keys(self) -> KeyView:
        return KeyView(self)

    @property
    def tables(self) -> list[BucketView]:  # type: ignore[override]
        return [BucketView(self, band) for band in range(self.bands)]

    # ---- entries ----

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
        with self.lock:
            if self.stored is not None:
                return self.stored.insert(key, row, form, check=check, buffer=False)
            numbers = self.numbers.get(key)
            if numbers is not None:
                if check:
                    return False
                if any(np.array_equal(row, other) for other in self._rows_of(numbers)):
                    return True
            number = self._next
            self._next = number + 1
            self._several |= numbers is not None
            self._form = form
            dicts = None if self.dicts is None else self._take_dicts()
            bucket_names = [] if dicts is None else self._bucket_names(row[np.newaxis])
            store = self._store
            if store is None:
                store = self._open()
            self._names[number] = key
            try:
                store.insert_one(number, row, "error")
                self.numbers[key] = (
                    number if numbers is None else (*_tuple_of(numbers), number)
                )
            except BaseException:
                del self._names[number]
                raise
            if dicts is not None:
                _add_one_to_dicts(dicts, key, bucket_names)
                self.dicts = dicts
        return True

    def insert_many(self, keys: list[Any], rows: UInt64Array, form: Form) -> None:
        with self.lock:
            new_keys = dict.fromkeys(keys)
            are_new = len(new_keys) == len(keys) and new_keys.keys().isdisjoint(
                self.numbers
            )
            if self.stored is not None or not are_new:
                super().insert_many(keys, rows, form)
                return
            numbers = range(self._next, self._next + len(keys))
            self._next = numbers.stop
            self._form = form
            dicts = None if self.dicts is None else self._take_dicts()
            bucket_names = [] if dicts is None else self._bucket_names(rows)
            names = dict(zip(numbers, keys, strict=True))
            numbers_of_keys = dict(zip(keys, numbers, strict=True))
            row_numbers = np.arange(numbers.start, numbers.stop, dtype=np.int64)
            self._open().insert(row_numbers, rows, "error")
            self._names |= names  # no call between these lines, therefore no interrupt
            self.numbers |= numbers_of_keys
            if dicts is not None:
                _add_to_dicts(dicts, keys, bucket_names)
                self.dicts = dicts

    def remove(
        self, key: Any, *, buffer: bool, other_forms: tuple[Any, ...] = ()
    ) -> bool:
        with self.lock:
            if self.stored is not None:
                return self.stored.remove(key, buffer=False)
            numbers = self.numbers.get(key)
            if numbers is None:
                return False
            dicts = None if self.dicts is None else self._take_dicts()
            store = self._store
            assert store is not None
            if isinstance(numbers, int):
                number = numbers
                del self._names[
                    number
                ]  # no call before the next line, therefore no interrupt
            else:
                for number in numbers:
                    self._names.pop(number, None)
            del self.numbers[key]
            for number in _tuple_of(numbers):
                # An interrupt leaves rows without a name, which are not found.
                store.remove_one(number)
            if dicts is not None:
                _remove_from_dicts(dicts, key)
                self.dicts = dicts
        return True

    def find(self, row: UInt64Array, form: Form) -> list[Any]:
        # in this order, because `release` replaces them in the opposite order
        names = self._names
        store = self._store
        if store is None:
            return [] if self.stored is None else self.stored.find(row, form)
        numbers = store.query_one(row, None)[0]
        if not numbers:
            return numbers
        try:
            if len(numbers) == 1:
                return [names[numbers[0]]]
            numbers.sort()
            keys = [names[number] for number in numbers]
        except KeyError:  # removed by another thread
            keys = [names[number] for number in numbers if number in names]
        return list(dict.fromkeys(keys)) if self._several else keys

    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        names = self._names
        store = self._store
        if store is None:
            return [] if self.stored is None else self.stored.scored(row, form)
        numbers, counts = store.query_one(row, 0)
        best: dict[Any, int] = {}
        for number, count in sorted(zip(numbers, counts or (), strict=True)):
            name = names.get(number, _ABSENT)
            if name is not _ABSENT:
                best[name] = max(best.get(name, 0), count)
        return [(name, count / self.length) for name, count in best.items()]

    def holds(self, key: Any, other_forms: tuple[Any, ...] = ()) -> bool:
        return key in self.numbers

    def is_empty(self) -> bool:
        if not self.numbers:
            return True
        return self.stored is not None and not all(self.show()[1:])

    def _open(self) -> MemoryStore:
        if self._store is None:
            self._store = MemoryStore()
            self._store.bind(
                Parameters(
                    self.length,
                    self.bands,
                    self.depth,
                    scheme="",
                    seed=0,
                    threshold=None,
                )
            )
        return self._store

    def _rows_of(self, numbers: int | tuple[int, ...]) -> UInt64Array:
        return self._open().entries_of(np.array(_tuple_of(numbers), np.int64))[1]

    def rows(self, form: Form) -> Iterator[tuple[list[Any], UInt64Array]]:
        if self.stored is not None:
            yield from self.stored.rows(form)
            return
        names = self._names
        store = self._store
        if store is None:
            return
        numbers = np.sort(np.concatenate([np.empty(0, np.int64), *store.all_keys()]))
        for start in range(0, len(numbers), PIECE_ROWS):
            yield _read(numbers[start : start + PIECE_ROWS], names, store)

    @property
    def has_rows(self) -> bool:
        return self.stored is None

    # ---- the dicts ----

    def show(self) -> Dicts:
        with self.lock:
            if self.dicts is None:
                dicts = _new_dicts(self.bands)
                for keys, rows in [] if self._form is None else self.rows(self._form):
                    _add_to_dicts(dicts, keys, self._bucket_names(rows))
                self.dicts = dicts
            return self.dicts

    def _take_dicts(self) -> Dicts | None:
        """Take the dicts away from the views for a change; None after many changes without a read.

        Updating them takes ten times as long as the change.
        """
        dicts = self.dicts
        self.dicts = None
        self.unread_changes += 1
        most_changes = FEW + len(self.numbers) // FEW
        return dicts if self.unread_changes <= most_changes else None

    def _bucket_names(self, rows: UInt64Array) -> list[bytes]:
        """Return the names of the buckets of all bands of the first row, then of the next."""
        assert self._form is not None
        slots = rows[:, : self.bands * self.depth].ravel()
        names = self._form.buckets_of(slots, self.bands * len(rows), self.depth)
        return names if self.hashfunc is None else list(map(self.hashfunc, names))

    def release(self) -> None:
        with self.lock:
            if self.stored is None:
                dicts = self.show()
                keys = storage_of(DictListStorage, dicts[0])
                tables = [storage_of(DictSetStorage, buckets) for buckets in dicts[1:]]
                self.stored = StoredEntries(keys, tables, self.depth, self.hashfunc)
                self._store = None
                self.numbers = dicts[0]
                self._names = {}

    # ---- pickles ----

    def dump(self) -> dict[str, Any]:
        """Return all entries as plain objects and bytes, which any Python and numpy can read."""
        with self.lock:
            if self.stored is not None:
                lists, *sets = self.show()
                return {"lists": dict(lists), "sets": list(map(dict, sets))}
            batches = list(self.rows(self._form)) if self._form is not None else []
        keys = [key for batch_keys, _ in batches for key in batch_keys]
        rows = np.concatenate(
            [np.empty((0, self.length), np.uint64), *(r for _, r in batches)]
        )
        narrow = bool((rows <= EMPTY_32).all())
        return {
            "keys": keys,
            "rows": rows.astype("<u4" if narrow else "<u8").tobytes(),
            "narrow": narrow,
        }

    def load(
        self,
        dumped: dict[str, Any],
        form: Form | None,
        key_of: Callable[[Any], Any] | None = None,
    ) -> None:
        """Load the result of `dump` into empty entries, applying `key_of` to each key."""
        self._form = form
        if "lists" in dumped:
            dicts = _new_dicts(self.bands)
            for target, content in zip(
                dicts, (dumped["lists"], *dumped["sets"]), strict=True
            ):
                target.update(content)
            self.dicts = dicts
            self.release()
            return
        keys = dumped["keys"] if key_of is None else list(map(key_of, dumped["keys"]))
        rows = np.frombuffer(
            dumped["rows"], "<u4" if dumped["narrow"] else "<u8"
        ).astype(np.uint64)
        row_numbers = np.arange(len(keys), dtype=np.int64)
        self._open().insert(
            row_numbers, rows.reshape(-1, self.length), "error", copy=False
        )
        self._names = dict(enumerate(keys))
        self._next = len(keys)
        for number, key in enumerate(keys):
            numbers = self.numbers.get(key)
            self._several |= numbers is not None
            self.numbers[key] = (
                number if numbers is None else (*_tuple_of(numbers), number)
            )


def _new_dicts(bands: int) -> Dicts:
    return [defaultdict(list), *(defaultdict(set) for _ in range(bands))]


def _add_to_dicts(dicts: Dicts, keys: list[Any], bucket_names: list[bytes]) -> None:
    """Add keys and the names of their buckets, those of all bands of the first key first."""
    lists, *sets = dicts
    bands = len(sets)
    for place, key in enumerate(keys):
        lists[key] += bucket_names[place * bands : (place + 1) * bands]
    for band, table in enumerate(sets):
        for key, name in zip(keys, bucket_names[band::bands], strict=True):
            table[name].add(key)


def _add_one_to_dicts(dicts: Dicts, key: Any, bucket_names: list[bytes]) -> None:
    """Add a key and the names of its buckets, one a band."""
    lists, *sets = dicts
    lists[key] += bucket_names
    for table, name in zip(sets, bucket_names, strict=True):
        table[name].add(key)


def _remove_from_dicts(dicts: Dicts, key: Any) -> None:
    lists, *sets = dicts
    for place, name in enumerate(lists.pop(key, ())):
        table = sets[place % len(sets)]
        bucket = table.get(name)
        if bucket is not None:
            bucket.discard(key)
            if not bucket:
                del table[name]


def _tuple_of(numbers: int | tuple[int, ...]) -> tuple[int, ...]:
    return numbers if isinstance(numbers, tuple) else (numbers,)


def _read(
    numbers: Int64Array, names: dict[int, Any], store: MemoryStore
) -> tuple[list[Any], UInt64Array]:
    """Return the keys and rows of the entries with these numbers that were not removed since."""
    row_numbers, rows = store.entries_of(numbers)
    keys = [names.get(number, _ABSENT) for number in np.asarray(row_numbers).tolist()]
    if any(key is _ABSENT for key in keys):
        present = np.array([key is not _ABSENT for key in keys], bool)
        return [key for key in keys if key is not _ABSENT], rows[present]
    return keys, rows
