"""Entries of a MinHashLSH in memory, in the tables behind LSHIndex, and views of them as datasketch's dicts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, KeysView
from typing import Any

import numpy as np

from lshfast.datasketch.entries import Entries, HashFunction, StoredEntries
from lshfast.datasketch.slots import EMPTY_32, Form
from lshfast.datasketch.storage import BUFFER_SIZE, DictListStorage, DictSetStorage
from lshfast.kernels.gate import Gate
from lshfast.kernels.tables import BandTables
from lshfast.tokens import Int64Array, UInt64Array

# Entries that are read from the tables at once.
PIECE = 1 << 13

# Up to this number, new entries are added to the dicts one by one, which is faster for a few.
FEW = 8

_ABSENT = object()


class MemoryEntries(Entries):
    """Entries in the tables behind LSHIndex, named by numbers, with the keys that were given beside them.

    Any hashable object is a key, and the very objects that were inserted are returned. Any number of threads may call
    anything.

    The views `keys` and `tables` read dicts, as datasketch keeps them: `lists` and `sets`. They are made when a view is
    first read, and brought up to date when one is read after changes. If a view is changed, the dicts become the
    entries: the tables are given up, and queries use the dicts from then on.

    Parameters
    ----------
    length, bands, depth : int
        Slots of a row, bands, and slots of a band.
    hashfunc : callable, optional
        Makes the name of a bucket from the bytes of its slots.

    Attributes
    ----------
    numbers : dict
        Of each key the number of its entry, or a tuple of several numbers; `lists`, if the dicts are the entries.
    lists : dict
        Of each key the names of its buckets.
    sets : list of dict
        For each band, of each bucket the set of its keys.
    current : bool
        Whether the dicts hold all entries.
    lock : RLock
        Held while the entries or the dicts change.
    """

    def __init__(self, length: int, bands: int, depth: int, hashfunc: HashFunction | None) -> None:
        self.length, self.bands, self.depth, self.hashfunc = length, bands, depth, hashfunc
        self.lock = threading.RLock()
        self._gate = Gate()
        self._tables: BandTables | None = None  # before the first entry, and once a view was changed
        self._form: Form | None = None
        self._names: dict[int, Any] = {}
        self._next = 0
        self._several = False  # whether there ever was a key with more than one entry
        self.stored: StoredEntries | None = None  # the entries, if a view was changed
        self._buffer_size = BUFFER_SIZE
        self.numbers: dict[Any, Any] = {}
        self.lists: dict[Any, list[bytes]] = {}
        self.sets: list[dict[bytes, set[Any]]] = [{} for _ in range(bands)]
        self.current = False
        self._is_read = False  # whether the dicts were read before
        self._shown = 0  # entries with smaller numbers are in the dicts
        self._gone: list[Any] = []  # keys that were removed since
        self._fresh: list[tuple[int, Any, UInt64Array]] = []  # the first entries inserted since

    @property
    def keys(self) -> Keys:
        return Keys(self)

    @property
    def tables(self) -> list[Buckets]:  # type: ignore[override]
        return [Buckets(self, band) for band in range(self.bands)]

    @property
    def buffer_size(self) -> int:
        return self._buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._buffer_size = value

    # ---- entries ----

    def insert(
        self, key: Any, row: UInt64Array, form: Form, *, check: bool, buffer: bool, others: tuple[Any, ...] = ()
    ) -> bool:
        with self.lock:
            if self.stored is not None:
                return self.stored.insert(key, row, form, check=check, buffer=False)
            known = self.numbers.get(key)
            if known is not None:
                if check:
                    return False
                if any(np.array_equal(row, other) for other in self._rows_of(known)):
                    return True
            number = self._next
            self._next = number + 1
            self._several |= known is not None
            self._names[number] = key
            self._form, self.current = form, False
            try:
                tables = self._tables
                if tables is None:
                    tables = self._open()
                with self._gate.writing():
                    tables.insert_one(number, row)
                    self.numbers[key] = number if known is None else (*_numbers(known), number)
            except BaseException:
                del self._names[number]
                raise
            if self._is_read and len(self._fresh) <= FEW:
                self._fresh.append((number, key, row))
        return True

    def insert_many(self, keys: list[Any], rows: UInt64Array, form: Form) -> None:
        """Store entries at once; those of keys that are there already are added to these."""
        with self.lock:
            new = dict.fromkeys(keys)
            if self.stored is not None or len(new) < len(keys) or not new.keys().isdisjoint(self.numbers):
                for key, row in zip(keys, rows, strict=True):
                    self.insert(key, row, form, check=False, buffer=False)
                return
            numbers = range(self._next, self._next + len(keys))
            tables = self._open()
            with self._gate.writing():
                places, _ = tables.admit(np.arange(numbers.start, numbers.stop))
                tables.write(places, rows)
            self._names.update(zip(numbers, keys, strict=True))
            self.numbers.update(zip(keys, numbers, strict=True))
            self._next = numbers.stop
            self._form, self.current = form, False

    def remove(self, key: Any, *, buffer: bool, others: tuple[Any, ...] = ()) -> bool:
        with self.lock:
            if self.stored is not None:
                return self.stored.remove(key, buffer=False)
            known = self.numbers.pop(key, None)
            if known is None:
                return False
            self.current = False
            if self._is_read:
                self._gone.append(key)
            tables = self._tables
            assert tables is not None
            with self._gate.writing():
                for number in _numbers(known):
                    tables.discard_one(number)
            for number in _numbers(known):
                del self._names[number]
        return True

    def find(self, row: UInt64Array, form: Form) -> list[Any]:
        names, tables = self._names, self._tables  # in this order: `release` replaces them in the other
        if tables is None:
            return [] if self.stored is None else self.stored.find(row, form)
        numbers = tables.query_one(row, None, self._gate)[0]
        if not numbers:
            return numbers
        try:
            found = [names[numbers[0]]] if len(numbers) == 1 else [names[number] for number in sorted(numbers)]
        except KeyError:  # removed since
            found = [name for name in (names.get(number, _ABSENT) for number in sorted(numbers)) if name is not _ABSENT]
        return list(dict.fromkeys(found)) if self._several else found

    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        names, tables = self._names, self._tables
        if tables is None:
            return [] if self.stored is None else self.stored.scored(row, form)
        numbers, counts = tables.query_one(row, 0, self._gate)
        best: dict[Any, int] = {}
        for number, count in sorted(zip(numbers, counts or (), strict=True)):
            name = names.get(number, _ABSENT)
            if name is not _ABSENT:
                best[name] = max(best.get(name, 0), count)
        return [(name, count / self.length) for name, count in best.items()]

    def holds(self, key: Any, others: tuple[Any, ...] = ()) -> bool:
        return key in self.numbers

    def is_empty(self) -> bool:
        return not self.numbers or (self.stored is not None and not all(self.sets))

    def _open(self) -> BandTables:
        if self._tables is None:
            self._tables = BandTables(self.length, self.bands, self.depth, "int")
        return self._tables

    def _rows_of(self, known: int | tuple[int, ...]) -> UInt64Array:
        tables = self._open()
        with self._gate.reading():
            return tables.signatures_of(tables.find(np.array(_numbers(known), np.int64)))

    def rows(self, form: Form) -> Iterator[tuple[list[Any], UInt64Array]]:
        if self.stored is not None:
            yield from self.stored.rows(form)
            return
        names, tables = self._names, self._tables
        if tables is None:
            return
        with self._gate.reading():
            held = np.sort(tables.names_of(tables.rows_in_use()))
        for start in range(0, len(held), PIECE):
            yield self._read(held[start : start + PIECE], names, tables)

    def _read(self, numbers: Int64Array, names: dict[int, Any], tables: BandTables) -> tuple[list[Any], UInt64Array]:
        """Return the keys and rows of the entries with these numbers, without those that were removed since."""
        with self._gate.reading():
            places = tables.find(numbers)
            numbers, places = numbers[places >= 0], places[places >= 0]
            rows = tables.signatures_of(places)
        keys = [names.get(number, _ABSENT) for number in numbers.tolist()]
        if any(key is _ABSENT for key in keys):
            stays = np.array([key is not _ABSENT for key in keys])
            return [key for key in keys if key is not _ABSENT], rows[stays]
        return keys, rows

    @property
    def has_rows(self) -> bool:
        """Whether `rows` yields all slots of all entries, and not those of the bands of known names only."""
        return self.stored is None

    # ---- the dicts ----

    def sync(self) -> None:
        """Bring the dicts up to date."""
        with self.lock:
            if self.current:
                return
            for key in self._gone:
                self._hide(key)
            self._gone.clear()
            fresh, self._fresh = self._fresh, []
            if self._is_read and len(fresh) <= FEW and self._next - self._shown == len(fresh):
                for number, key, row in fresh:
                    if number in self._names:
                        self._show([key], row[np.newaxis])
                    self._shown = number + 1
            else:
                self._show_new()
            self._is_read = True
            self._shown, self.current = self._next, True

    def _show_new(self) -> None:
        new: list[int] = []
        for number in reversed(self._names):
            if number < self._shown:
                break
            new.append(number)
        for start in range(len(new), 0, -PIECE):
            piece = new[max(0, start - PIECE) : start][::-1]
            self._show(*self._read(np.array(piece, np.int64), self._names, self._open()))
            self._shown = piece[-1] + 1

    def _hide(self, key: Any) -> None:
        """Take a key out of the dicts."""
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
        found = self._form.buckets_of(rows[:, : self.bands * self.depth].ravel(), self.bands * len(rows), self.depth)
        if self.hashfunc is not None:
            found = [self.hashfunc(name) for name in found]
        lists = self.lists
        for at, key in enumerate(keys):
            names = found[at * self.bands : (at + 1) * self.bands]
            held = lists.get(key)
            if held is None:
                lists[key] = names
            else:
                held.extend(names)
        for band, table in enumerate(self.sets):
            for key, name in zip(keys, found[band :: self.bands], strict=True):
                bucket = table.get(name)
                if bucket is None:
                    table[name] = {key}
                else:
                    bucket.add(key)

    def release(self) -> StoredEntries:
        """Make the dicts the entries, so that they may be changed."""
        with self.lock:
            if self.stored is None:
                self.sync()
                keys = DictListStorage(None)
                keys._dict = self.lists
                tables = [DictSetStorage(None) for _ in self.sets]
                for table, own in zip(tables, self.sets, strict=True):
                    table._dict = own
                self.stored = StoredEntries(keys, tables, self.depth, self.hashfunc)
                self._tables = None
                self.numbers, self._names = self.lists, {}
            return self.stored

    # ---- pickles ----

    def dump(self) -> dict[str, Any]:
        """Return all entries as plain objects and bytes, which mean the same to each version of Python and numpy."""
        with self.lock:
            if self.stored is not None:
                return {"lists": self.lists, "sets": self.sets}
            parts = list(self.rows(self._form)) if self._form is not None else []
        keys = [key for own, _ in parts for key in own]
        joined = np.concatenate([np.empty((0, self.length), np.uint64), *(rows for _, rows in parts)])
        narrow = bool((joined <= EMPTY_32).all())
        return {"keys": keys, "rows": joined.astype("<u4" if narrow else "<u8").tobytes(), "narrow": narrow}

    def load(self, dumped: dict[str, Any], form: Form | None, key_of: Callable[[Any], Any] | None = None) -> None:
        """Take what `dump` returned, with `key_of` each key; there must be nothing yet."""
        self._form = form
        if "lists" in dumped:
            self.lists, self.sets = dumped["lists"], dumped["sets"]
            self.current = True
            self.release()
            return
        keys = dumped["keys"] if key_of is None else list(map(key_of, dumped["keys"]))
        rows = np.frombuffer(dumped["rows"], "<u4" if dumped["narrow"] else "<u8").astype(np.uint64)
        tables = self._open()
        places, _ = tables.admit(np.arange(len(keys)))
        tables.write(places, rows.reshape(-1, self.length))
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


class _View(DictListStorage):
    """What `Keys` and `Buckets` share.

    The dicts are brought up to date before they are read, and become the entries before they are changed.
    """

    _plain: type[DictListStorage]
    _held: dict[Any, Any]
    _entries: MemoryEntries

    @property
    def _dict(self) -> dict[Any, Any]:  # type: ignore[override]
        if not self._entries.current:
            self._entries.sync()
        return self._held

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._dict))  # other threads may change the dict

    def itemcounts(self, **kwargs: Any) -> dict[Any, int]:
        with self._entries.lock:
            return super().itemcounts()

    def remove(self, *keys: Any, **kwargs: Any) -> None:
        if self._entries.stored is None:
            self._entries.release()
        for key in keys:
            del self._held[key]

    def remove_val(self, key: Any, val: Any, **kwargs: Any) -> None:
        if self._entries.stored is None:
            self._entries.release()
        (self._held.get(key) or self._kind()).remove(val)

    @property
    def buffer_size(self) -> int:
        return self._entries.buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._entries.buffer_size = value

    def __reduce__(self) -> Any:
        return _storage, (self._plain, self._dict)


class Keys(_View):
    """The keys of a MinHashLSH in memory, as they are stored, and the names of the buckets of each."""

    _plain = DictListStorage

    def __init__(self, entries: MemoryEntries) -> None:
        self._entries, self._held = entries, entries.lists

    def get(self, key: Any) -> Any:
        if not self._entries.current:
            self._entries.sync()
        found = self._held.get(key)
        return [] if found is None else found

    __getitem__ = get

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        if self._entries.stored is None:
            self._entries.release()
        held = self._held.get(key)
        if held is None:
            self._held[key] = list(vals)
        else:
            held.extend(vals)

    def has_key(self, key: Any) -> bool:
        return key in self._entries.numbers

    __contains__ = has_key

    def size(self) -> int:
        return len(self._entries.numbers)

    __len__ = size

    def keys(self) -> KeysView[Any]:
        return self._entries.numbers.keys()

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._entries.numbers))


class Buckets(_View, DictSetStorage):
    """The buckets of one band of a MinHashLSH in memory, each a set of keys as they are stored."""

    _plain = DictSetStorage

    def __init__(self, entries: MemoryEntries, band: int) -> None:
        self._entries, self._held = entries, entries.sets[band]

    def get(self, key: Any) -> Any:
        if not self._entries.current:
            self._entries.sync()
        found = self._held.get(key)
        return set() if found is None else found

    __getitem__ = get

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        if self._entries.stored is None:
            self._entries.release()
        held = self._held.get(key)
        if held is None:
            self._held[key] = set(vals)
        else:
            held.update(vals)

    def size(self) -> int:
        if not self._entries.current:
            self._entries.sync()
        return len(self._held)

    __len__ = size

    def keys(self) -> KeysView[bytes]:
        if not self._entries.current:
            self._entries.sync()
        return self._held.keys()

    def has_key(self, key: Any) -> bool:
        if not self._entries.current:
            self._entries.sync()
        return key in self._held

    __contains__ = has_key


def _storage(kind: type[DictListStorage], content: dict[Any, Any]) -> DictListStorage:
    """Return a storage with this content: what a pickle of a view becomes."""
    made = kind(None)
    made._dict = content
    return made
