"""Entries of a MinHashLSH in memory: numbered rows in a `MemoryStore`, and their keys.

`KeyView` and `BucketView` show them as datasketch's storages `keys` and `hashtables`.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, KeysView
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.datasketch.entries import (
    HashFunction,
    LSHEntries,
    Spellings,
)
from lshfast.datasketch.slots import EMPTY_32, Form
from lshfast.datasketch.storage import BUFFER_SIZE, DictListStorage, DictSetStorage
from lshfast.index.stores.memory import MemoryStore
from lshfast.index.stores.values import Parameters

# The number of entries that are read from the store at a time.
PIECE_ROWS = 1 << 13

# The dicts are discarded after this many changes without a read, and one more for this many keys.
FEW = 8

# The names of the buckets of each key, then for each band the keys of each bucket.
Dicts = list[defaultdict[Any, Any]]

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
    lock : RLock
        Locked while the entries or the dicts change.
    """

    buffer_size = BUFFER_SIZE

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
        self._store: MemoryStore | None = MemoryStore()  # None after a view was changed
        self._store.bind(Parameters(length, bands, depth, "", 0, None))
        self._waiting = {}
        self._form: Form | None = None
        self._names: dict[int, Any] = {}
        self._next = 0
        self._several = False  # whether a key ever had more than one entry
        self.numbers: dict[Any, Any] = {}
        self.dicts = None
        self.unread_changes = 0

    # Views refer to the entries: they are not kept, so that an unused index is freed at once.

    @property
    def keys(self) -> KeyView:
        return KeyView(self)

    @property
    def tables(self) -> list[BucketView]:  # type: ignore[override]
        return [BucketView(self, band) for band in range(self.bands)]

    @property
    def has_rows(self) -> bool:  # type: ignore[override]
        return self._store is not None

    # ---- entries ----

    def insert(
        self,
        spellings: Spellings,
        row: UInt64Array,
        form: Form,
        *,
        check: bool,
        buffer: bool = False,
    ) -> bool:
        (key,) = spellings
        with self.lock:
            store = self._store
            if store is None:
                return super().insert(spellings, row, form, check=check)
            numbers = self.numbers.get(key)
            if numbers is not None:
                if check:
                    return False
                rows = store.entries_of(np.array(_tuple_of(numbers), np.int64))[1]
                if (rows == row).all(axis=1).any():
                    return True
            number = self._next
            self._next = number + 1
            self._several |= numbers is not None
            self._form = form
            dicts = self.dicts and self._take_dicts()
            bucket_names = [] if dicts is None else self._bucket_names(row[np.newaxis])
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
                _add_to_dicts(dicts, [key], bucket_names)
                self.dicts = dicts
        return True

    def insert_many(self, keys: list[Any], rows: UInt64Array, form: Form) -> None:
        with self.lock:
            store = self._store
            numbers = range(self._next, self._next + len(keys))
            numbers_of_keys = dict(zip(keys, numbers, strict=True))
            are_new = len(numbers_of_keys) == len(
                keys
            ) and self.numbers.keys().isdisjoint(numbers_of_keys)
            if store is None or not are_new:
                super().insert_many(keys, rows, form)
                return
            self._next = numbers.stop
            self._form = form
            dicts = self.dicts and self._take_dicts()
            bucket_names = [] if dicts is None else self._bucket_names(rows)
            names = dict(zip(numbers, keys, strict=True))
            row_numbers = int64_range(numbers.start, numbers.stop)
            store.insert(row_numbers, rows, "error")
            self._names |= names  # no call between these lines, therefore no interrupt
            self.numbers |= numbers_of_keys
            if dicts is not None:
                _add_to_dicts(dicts, keys, bucket_names)
                self.dicts = dicts

    def remove(self, spellings: Spellings, *, buffer: bool = False) -> bool:
        (key,) = spellings
        with self.lock:
            store = self._store
            if store is None:
                return super().remove(spellings)
            numbers = self.numbers.get(key)
            if numbers is None:
                return False
            dicts = self.dicts and self._take_dicts()
            if isinstance(numbers, int):
                number = numbers
                # There is no call between these lines, so no interrupt.
                del self._names[number]
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

    def find(self, row: UInt64Array, form: Form, bands: int | None = None) -> list[Any]:
        # They are read in this order, because `release` replaces them in the opposite order.
        names = self._names
        store = self._store
        if store is None or bands is not None:
            return super().find(row, form, bands)
        numbers = store.query_one(row, None)[0]
        if not numbers:
            return numbers
        try:
            if len(numbers) == 1:
                return [names[numbers[0]]]
            numbers.sort()
            keys = [names[number] for number in numbers]
        except KeyError:  # removed by another thread, which may remove more meanwhile
            known_names = (names.get(number, _ABSENT) for number in numbers)
            keys = [name for name in known_names if name is not _ABSENT]
        return list(dict.fromkeys(keys)) if self._several else keys

    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        names = self._names
        store = self._store
        if store is None:
            return super().scored(row, form)
        numbers, counts = store.query_one(row, 0)
        best: dict[Any, int] = {}
        for number, count in sorted(zip(numbers, counts or (), strict=True)):
            name = names.get(number, _ABSENT)
            if name is not _ABSENT:
                best[name] = max(best.get(name, 0), count)
        return [(name, count / self.length) for name, count in best.items()]

    def holds(self, spellings: Spellings) -> bool:
        return spellings[0] in self.numbers

    def is_empty(self) -> bool:
        if not self.numbers:
            return True
        return self._store is None and not all(self.show()[1:])

    def rows(self, form: Form) -> Iterator[tuple[list[Any], UInt64Array]]:
        names = self._names
        store = self._store
        if store is None:
            yield from super().rows(form)
            return
        numbers = np.sort(np.concatenate([np.empty(0, np.int64), *store.all_keys()]))
        for start in range(0, len(numbers), PIECE_ROWS):
            yield _read(numbers[start : start + PIECE_ROWS], names, store)

    # ---- the dicts ----

    def show(self) -> Dicts:
        """Return the dicts; build them if necessary."""
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
        """Replace the store by the dicts, so that they may be changed."""
        with self.lock:
            if self._store is not None:
                dicts = self.show()
                self._store = None
                self.numbers = dicts[0]
                self._names = {}

    # ---- pickles ----

    def dump(self) -> dict[str, Any]:
        """Return all entries as plain objects and bytes, which any Python and numpy can read."""
        with self.lock:
            if self._store is None:
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
        assert self._store is not None
        row_numbers = int64_range(len(keys))
        shaped_rows = rows.reshape(-1, self.length)
        self._store.insert(row_numbers, shaped_rows, "error", copy=False)
        self._names = dict(enumerate(keys))
        self._next = len(keys)
        self._several = len(set(keys)) < len(keys)
        for number, key in enumerate(keys):
            earlier = _tuple_of(self.numbers.get(key, ()))
            self.numbers[key] = (*earlier, number) if earlier else number


def _new_dicts(bands: int) -> Dicts:
    return [defaultdict(list), *(defaultdict(set) for _ in range(bands))]


def _add_to_dicts(dicts: Dicts, keys: list[Any], bucket_names: list[bytes]) -> None:
    """Add keys and the names of their buckets: all bands of the first key, then of the next."""
    lists, *sets = dicts
    bands = len(sets)
    for place, key in enumerate(keys):
        lists[key] += bucket_names[place * bands : (place + 1) * bands]
    for band, table in enumerate(sets):
        for key, name in zip(keys, bucket_names[band::bands], strict=True):
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


class DictView(DictListStorage):
    """A storage whose dict is built before it is read, and replaces the store if it is changed."""

    _plain: type[DictListStorage] = DictListStorage

    def __init__(self, entries: MemoryEntries, place: int) -> None:
        self._entries = entries
        self._place = place

    @property
    def _dict(self) -> defaultdict[Any, Any]:  # type: ignore[override]
        entries = self._entries
        entries.unread_changes = 0
        dicts = entries.dicts
        if dicts is None:
            dicts = entries.show()
        return dicts[self._place]

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.keys()))  # other threads may change the dict

    def itemcounts(self, **kwargs: Any) -> dict[Any, int]:
        with self._entries.lock:
            return super().itemcounts()

    def _changeable_dict(self) -> Any:
        entries = self._entries
        if entries.has_rows:
            entries.release()
        return self._dict

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        self._changeable_dict()[key].extend(vals)

    def remove(self, *keys: Any, **kwargs: Any) -> None:
        content = self._changeable_dict()
        for key in keys:
            del content[key]

    def remove_val(self, key: Any, val: Any, **kwargs: Any) -> None:
        (self._changeable_dict().get(key) or self.get(key)).remove(val)

    @property
    def buffer_size(self) -> int:
        """The number of pending changes of the index at which they are sent."""
        return self._entries.buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._entries.buffer_size = value

    def __reduce__(self) -> Any:
        return storage_of, (self._plain, self._dict)


class KeyView(DictView):
    """The keys of a MinHashLSH in memory, as they are stored, and the names of the buckets of each.

    Methods that do not need names of buckets do not use the dict.
    """

    def __init__(self, entries: MemoryEntries) -> None:
        super().__init__(entries, 0)

    def has_key(self, key: Any) -> bool:
        return key in self._entries.numbers

    def size(self) -> int:
        return len(self._entries.numbers)

    def keys(self) -> KeysView[Any]:
        return self._entries.numbers.keys()


class BucketView(DictView, DictSetStorage):
    """The buckets of one band of a MinHashLSH in memory, each a set of keys as they are stored."""

    _plain = DictSetStorage

    def __init__(self, entries: MemoryEntries, band: int) -> None:
        super().__init__(entries, 1 + band)

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        self._changeable_dict()[key].update(vals)


def storage_of(
    kind: type[DictListStorage], content: defaultdict[Any, Any]
) -> DictListStorage:
    """Return a storage of this class with this content, to unpickle a view."""
    storage = kind(None)
    storage._dict = content
    return storage
