"""Entries of a MinHashLSH in memory: numbered rows in a `MemoryStore`, and the keys of these
numbers.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from lshfast._common.types import Int64Array, UInt64Array
from lshfast.datasketch.entries import HashFunction, LSHEntries, StoredEntries
from lshfast.datasketch.memory_views import BucketView, DictView, KeyView, storage_of
from lshfast.datasketch.slots import EMPTY_32, Form
from lshfast.datasketch.storage import DictListStorage, DictSetStorage
from lshfast.datasketch.storage_base import BUFFER_SIZE
from lshfast.index.stores.memory import MemoryStore
from lshfast.index.stores.values import Parameters

# The number of entries that are read from the store at a time.
PIECE_ROWS = 1 << 13

# Up to this number, new entries are added to the dicts one by one, which is faster for few entries.
FEW = 8

_ABSENT = object()


class MemoryEntries(LSHEntries):
    """Entries in a `MemoryStore`, whose keys are numbers, and a dict from these numbers to the
    user's keys.

    Keys are any hashable objects, and queries return the objects that were inserted. Any number of
    threads may call any method.

    The views `keys` and `tables` read dicts in datasketch's form: `lists` and `sets`. The dicts are
    created when a view is first read, and updated when a view is read after changes. When a view is
    changed, the dicts replace the store: it is deleted, and queries use the dicts from then on.

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
        have replaced the store, it is `lists`.
    lists : dict
        From each key to the names of its buckets.
    sets : list of dict
        For each band a dict from each bucket to the set of its keys.
    released : bool
        Whether the dicts have replaced the store.
    lock : RLock
        Locked while the entries or the dicts change.
    """

    buffer_size = BUFFER_SIZE

    length: int
    bands: int
    depth: int
    hashfunc: HashFunction | None
    lock: AbstractContextManager[Any]
    released: bool

    def __init__(self, length: int, bands: int, depth: int, hashfunc: HashFunction | None) -> None:
        self.length = length
        self.bands = bands
        self.depth = depth
        self.hashfunc = hashfunc
        self.lock = threading.RLock()
        self._store: MemoryStore | None = (
            None  # None before the first entry, and after a view was changed
        )
        self._form: Form | None = None
        self._names: dict[int, Any] = {}
        self._next = 0
        self._several = False  # whether a key ever had more than one entry
        self._stored: StoredEntries | None = None  # the entries, if a view was changed
        self.released = False  # whether a view was changed
        self.numbers: dict[Any, Any] = {}
        self.lists: defaultdict[Any, list[bytes]] = defaultdict(list)
        self.sets: list[defaultdict[bytes, set[Any]]] = [defaultdict(set) for _ in range(bands)]
        self._current = False  # whether the dicts hold all entries
        self._views: list[
            weakref.ref[DictView]
        ] = []  # weak: otherwise only the cycle collector would free an index
        self._is_read = False  # whether the dicts were ever read
        self._torn = False  # whether an interrupt ended an update of the dicts
        self._shown = 0  # entries with smaller numbers are in the dicts
        self._gone: list[Any] = []  # keys that were removed since the last update
        self._fresh: list[
            tuple[int, Any, UInt64Array]
        ] = []  # the first entries inserted since the last update

    @property
    def keys(self) -> KeyView:
        made = KeyView(self, self.lists)
        self._views.append(weakref.ref(made))
        return made

    @property
    def tables(self) -> list[BucketView]:  # type: ignore[override]
        made = [BucketView(self, held) for held in self.sets]
        self._views += map(weakref.ref, made)
        return made

    # ---- entries ----

    def insert(
        self,
        key: Any,
        row: UInt64Array,
        form: Form,
        *,
        check: bool,
        buffer: bool,
        others: tuple[Any, ...] = (),
    ) -> bool:
        with self.lock:
            if self._stored is not None:
                return self._stored.insert(key, row, form, check=check, buffer=False)
            known = self.numbers.get(key)
            if known is not None:
                if check:
                    return False
                if any(np.array_equal(row, other) for other in self._rows_of(known)):
                    return True
            number = self._next
            self._next = number + 1
            self._several |= known is not None
            self._form = form
            if self._current:
                self._outdate()
            store = self._store
            if store is None:
                store = self._open()
            self._names[number] = key
            try:
                store.insert_one(number, row, "error")
                self.numbers[key] = number if known is None else (*_numbers(known), number)
            except BaseException:
                del self._names[number]
                raise
            if self._is_read and len(self._fresh) <= FEW:
                self._fresh.append((number, key, row))
        return True

    def insert_many(self, keys: list[Any], rows: UInt64Array, form: Form) -> None:
        with self.lock:
            new = dict.fromkeys(keys)
            if (
                self._stored is not None
                or len(new) < len(keys)
                or not new.keys().isdisjoint(self.numbers)
            ):
                super().insert_many(keys, rows, form)
                return
            numbers = range(self._next, self._next + len(keys))
            self._next = numbers.stop
            self._form = form
            self._outdate()
            names = dict(zip(numbers, keys, strict=True))
            own = dict(zip(keys, numbers, strict=True))
            self._open().insert(
                np.arange(numbers.start, numbers.stop, dtype=np.int64), rows, "error"
            )
            self._names |= names  # no call between these lines, therefore no interrupt
            self.numbers |= own

    def remove(self, key: Any, *, buffer: bool, others: tuple[Any, ...] = ()) -> bool:
        with self.lock:
            if self._stored is not None:
                return self._stored.remove(key, buffer=False)
            known = self.numbers.get(key)
            if known is None:
                return False
            if self._current:
                self._outdate()
            if self._is_read:
                self._gone.append(key)
            store = self._store
            assert store is not None
            if isinstance(known, int):
                number = known
                del self._names[number]  # no call before the next line, therefore no interrupt
            else:
                for number in known:
                    self._names.pop(number, None)
            del self.numbers[key]
            for number in _numbers(known):
                # An interrupt leaves rows without a name, which are not found.
                store.remove_one(number)
        return True

    def find(self, row: UInt64Array, form: Form) -> list[Any]:
        # in this order, because `release` replaces them in the opposite order
        names = self._names
        store = self._store
        if store is None:
            return [] if self._stored is None else self._stored.find(row, form)
        numbers = store.query_one(row, None)[0]
        if not numbers:
            return numbers
        try:
            found = (
                [names[numbers[0]]]
                if len(numbers) == 1
                else [names[number] for number in sorted(numbers)]
            )
        except KeyError:  # removed by another thread
            found = [
                name
                for name in (names.get(number, _ABSENT) for number in sorted(numbers))
                if name is not _ABSENT
            ]
        return list(dict.fromkeys(found)) if self._several else found

    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        names = self._names
        store = self._store
        if store is None:
            return [] if self._stored is None else self._stored.scored(row, form)
        numbers, counts = store.query_one(row, 0)
        best: dict[Any, int] = {}
        for number, count in sorted(zip(numbers, counts or (), strict=True)):
            name = names.get(number, _ABSENT)
            if name is not _ABSENT:
                best[name] = max(best.get(name, 0), count)
        return [(name, count / self.length) for name, count in best.items()]

    def holds(self, key: Any, others: tuple[Any, ...] = ()) -> bool:
        return key in self.numbers

    def is_empty(self) -> bool:
        return not self.numbers or (self._stored is not None and not all(self.sets))

    def _open(self) -> MemoryStore:
        if self._store is None:
            self._store = MemoryStore()
            self._store.bind(
                Parameters(self.length, self.bands, self.depth, scheme="", seed=0, threshold=None)
            )
        return self._store

    def _rows_of(self, known: int | tuple[int, ...]) -> UInt64Array:
        return self._open().entries_of(np.array(_numbers(known), np.int64))[1]

    def rows(self, form: Form) -> Iterator[tuple[list[Any], UInt64Array]]:
        if self._stored is not None:
            yield from self._stored.rows(form)
            return
        names = self._names
        store = self._store
        if store is None:
            return
        held = np.sort(np.concatenate([np.empty(0, np.int64), *store.all_keys()]))
        for start in range(0, len(held), PIECE_ROWS):
            yield _read(held[start : start + PIECE_ROWS], names, store)

    @property
    def has_rows(self) -> bool:
        return self._stored is None

    # ---- the dicts ----

    def show(self) -> None:
        with self.lock:
            if not self._current:
                self._update_dicts()
            for ref in self._views:
                view = ref()
                if view is not None:
                    view._dict = view.held

    def _outdate(self) -> None:
        """Detach the dicts from the views before entries change."""
        for ref in self._views:
            view = ref()
            if view is not None:
                view._dict = view.held  # set it first: `del` fails without the attribute
                del view._dict
        self._current = False

    def _update_dicts(self) -> None:
        if self._torn:
            self.lists.clear()
            for table in self.sets:
                table.clear()
            self._shown = 0
        self._torn = True
        for key in self._gone:
            known = self.numbers.get(key)
            # Otherwise an interrupt ended its removal.
            if known is None or _numbers(known)[0] >= self._shown:
                self._hide(key)
        self._gone.clear()
        fresh = self._fresh
        self._fresh = []
        if self._is_read and len(fresh) <= FEW and self._next - self._shown == len(fresh):
            for number, key, row in fresh:
                if number in self._names:
                    self._show([key], row[np.newaxis])
                self._shown = number + 1
        else:
            self._show_new()
        self._is_read = True
        self._shown = self._next
        self._current = True
        self._torn = False

    def _show_new(self) -> None:
        new: list[int] = []
        for number in reversed(self._names):
            if number < self._shown:
                break
            new.append(number)
        for start in range(len(new), 0, -PIECE_ROWS):
            piece = new[max(0, start - PIECE_ROWS) : start][::-1]
            self._show(*_read(np.array(piece, np.int64), self._names, self._open()))
            self._shown = piece[-1] + 1

    def _hide(self, key: Any) -> None:
        """Remove a key from the dicts."""
        for at, name in enumerate(self.lists.pop(key, ())):
            table = self.sets[at % self.bands]
            held = table.get(name)
            if held is not None:
                held.discard(key)
                if not held:
                    del table[name]

    def _show(self, keys: list[Any], rows: UInt64Array) -> None:
        """Add entries to the dicts."""
        assert self._form is not None
        found = self._form.buckets_of(
            rows[:, : self.bands * self.depth].ravel(), self.bands * len(rows), self.depth
        )
        if self.hashfunc is not None:
            found = [self.hashfunc(name) for name in found]
        for at, key in enumerate(keys):
            self.lists[key] += found[at * self.bands : (at + 1) * self.bands]
        for band, table in enumerate(self.sets):
            for key, name in zip(keys, found[band :: self.bands], strict=True):
                table[name].add(key)

    def release(self) -> None:
        with self.lock:
            if self._stored is None:
                self.show()
                keys = storage_of(DictListStorage, self.lists)
                tables = [storage_of(DictSetStorage, held) for held in self.sets]
                self._stored = StoredEntries(keys, tables, self.depth, self.hashfunc)
                self._store = None
                self.numbers = self.lists
                self._names = {}
                self.released = True

    # ---- pickles ----

    def dump(self) -> dict[str, Any]:
        """Return all entries as plain objects and bytes, independent of the versions of Python and
        numpy.
        """
        with self.lock:
            if self._stored is not None:
                return {"lists": dict(self.lists), "sets": list(map(dict, self.sets))}
            pieces = list(self.rows(self._form)) if self._form is not None else []
        keys = [key for own, _ in pieces for key in own]
        joined = np.concatenate(
            [np.empty((0, self.length), np.uint64), *(rows for _, rows in pieces)]
        )
        narrow = bool((joined <= EMPTY_32).all())
        return {
            "keys": keys,
            "rows": joined.astype("<u4" if narrow else "<u8").tobytes(),
            "narrow": narrow,
        }

    def load(
        self, dumped: dict[str, Any], form: Form | None, key_of: Callable[[Any], Any] | None = None
    ) -> None:
        """Load the result of `dump`, applying `key_of` to each key; there must be no
        entries yet.
        """
        self._form = form
        if "lists" in dumped:
            self.lists.update(dumped["lists"])
            for table, held in zip(self.sets, dumped["sets"], strict=True):
                table.update(held)
            self._current = True
            self.release()
            return
        keys = dumped["keys"] if key_of is None else list(map(key_of, dumped["keys"]))
        rows = np.frombuffer(dumped["rows"], "<u4" if dumped["narrow"] else "<u8").astype(np.uint64)
        self._open().insert(
            np.arange(len(keys), dtype=np.int64), rows.reshape(-1, self.length), "error", copy=False
        )
        self._names, self._next = dict(enumerate(keys)), len(keys)
        self.numbers = dict(zip(keys, range(len(keys)), strict=True))
        if len(self.numbers) < len(keys):
            self._several = True
            self.numbers = {}
            for number, key in enumerate(keys):
                known = self.numbers.get(key)
                self.numbers[key] = number if known is None else (*_numbers(known), number)


def _numbers(known: int | tuple[int, ...]) -> tuple[int, ...]:
    return known if isinstance(known, tuple) else (known,)


def _read(
    numbers: Int64Array, names: dict[int, Any], store: MemoryStore
) -> tuple[list[Any], UInt64Array]:
    """Return the keys and rows of the entries with these numbers, without those that were removed
    since.
    """
    held, rows = store.entries_of(numbers)
    keys = [names.get(number, _ABSENT) for number in np.asarray(held).tolist()]
    if any(key is _ABSENT for key in keys):
        stays = np.array([key is not _ABSENT for key in keys], bool)
        return [key for key in keys if key is not _ABSENT], rows[stays]
    return keys, rows
