"""Where a MinHashLSH keeps its entries: in this process, or on a Redis server in datasketch's own layout.

That layout, for the basename NAME, in which i is a band's number, two bytes, high byte first:

    NAME_keys           hash: of each key the name of its list
    NAME_keysKEY        list, a key's: the buckets that it is in, a band after the other
    NAME_bucket_i       hash: of each bucket the name of its set
    NAME_bucket_iBUCKET set, a bucket: the keys in it

A bucket is named after the hash values of its band, high bytes first, or what `hashfunc` makes of them. KEY is the key
pickled, or the key itself if it is bytes and nothing is pickled.
"""

from __future__ import annotations

import datetime
import io
import os
import pickle
import random
import re
import string
import struct
import sys
import threading
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from lshfast.datasketch.slots import EMPTY_32, Form
from lshfast.kernels.gate import Gate
from lshfast.kernels.tables import BandTables
from lshfast.readers.files import optional
from lshfast.sketch.minhash import EMPTY
from lshfast.tokens import Int64Array, UInt64Array

# How keys are pickled, whatever the version of Python, so that a number or a text becomes the same bytes everywhere.
# Equal tuples may become different ones: a pickle says of a member that it is the same object as one before.
PROTOCOL = 4

# Entries that are read from the tables at once.
PIECE = 1 << 13

# Commands that a session keeps until they are sent.
BUFFER_SIZE = 50_000

_ABSENT = object()

# What the server does at once, so that an entry is there with all of its buckets or not at all.
_INSERT = """
local names, key, list, check, put = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if check == '1' and redis.call('HEXISTS', names, key) == 1 then return 0 end
redis.call('HSET', names, key, list)
for i = 5, #ARGV do
  redis.call('RPUSH', list, ARGV[i])
  if put == '1' then
    local bucket = KEYS[i - 3] .. ARGV[i]
    redis.call('HSET', KEYS[i - 3], ARGV[i], bucket)
    redis.call('SADD', bucket, key)
  end
end
return 1
"""
_REMOVE = """
local names, key, list = KEYS[1], ARGV[1], ARGV[2]
for j, bucket in ipairs(redis.call('LRANGE', list, 0, -1)) do
  local table = KEYS[(j - 1) % (#KEYS - 1) + 2]
  redis.call('SREM', table .. bucket, key)
  if redis.call('EXISTS', table .. bucket) == 0 then redis.call('HDEL', table, bucket) end
end
redis.call('DEL', list)
return redis.call('HDEL', names, key)
"""
_FIND = """
local found, met = {}, {}
for i = 1, #ARGV do
  for _, key in ipairs(redis.call('SMEMBERS', KEYS[i + 1] .. ARGV[i])) do
    if not met[key] then
      met[key] = true
      if redis.call('HEXISTS', KEYS[1], key) == 1 then found[#found + 1] = key end
    end
  end
end
return found
"""


class Entries(ABC):
    """Keys, as they are stored, and rows of slots; those of one key may be several."""

    buffer_size = BUFFER_SIZE

    @abstractmethod
    def insert(self, key: Any, row: UInt64Array, form: Form, *, check: bool, buffer: bool) -> None:
        """Store an entry; with `check`, ValueError if the key has one."""

    @abstractmethod
    def remove(self, key: Any, *, buffer: bool) -> None:
        """Remove all entries of a key; ValueError if it has none."""

    @abstractmethod
    def find(self, row: UInt64Array, form: Form) -> list[Any]:
        """Return the keys that meet a row in a band, each once."""

    @abstractmethod
    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        """Return the keys that meet a row in a band, and the share of slots in which each equals it, at most."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __contains__(self, key: Any) -> bool: ...

    @abstractmethod
    def keys(self) -> list[Any]:
        """Return all keys."""

    @abstractmethod
    def buckets_of(self, key: Any, form: Form | None) -> list[bytes]:
        """Return the buckets of a key, band after band, for each of its entries; none for a key that has none."""

    @abstractmethod
    def counts(self, band: int, form: Form | None) -> dict[bytes, int]:
        """Return how many keys each bucket of a band holds."""

    @abstractmethod
    def bucket(self, band: int, name: bytes, form: Form | None) -> set[Any]:
        """Return the keys in a bucket."""

    @abstractmethod
    def rows(self, form: Form) -> Iterator[tuple[Any, UInt64Array]]:
        """Give all entries: their keys and rows."""

    def flush(self) -> None:  # noqa: B027 (where nothing waits)
        """Send what sessions have kept back."""


class MemoryEntries(Entries):
    """Entries in the tables behind LSHIndex, named by numbers; the keys that were given stand beside them.

    So any hashable object is a key, and the very objects that were inserted are given back. Any number of threads may
    call anything.
    """

    def __init__(self, length: int, bands: int, rows: int, hashfunc: Callable[[bytes], bytes] | None) -> None:
        self.length, self.bands, self.depth, self.hashfunc = length, bands, rows, hashfunc
        self._lock = threading.Lock()
        self._gate = Gate()
        self._tables = BandTables(length, bands, rows, "int")
        self._numbers: dict[Any, int | tuple[int, ...]] = {}  # of each key
        self._names: dict[int, Any] = {}
        self._next = 0
        self._several = False  # whether there ever was a key with more than one entry
        self._looked: tuple[Any, dict[int, dict[bytes, set[Any]]]] = None, {}  # the buckets of bands, by what is held

    def insert(self, key: Any, row: UInt64Array, form: Form, *, check: bool, buffer: bool) -> None:
        with self._lock:
            known = self._numbers.get(key)
            if known is not None:
                if check:
                    raise ValueError(f"The given key already exists: {key!r}")
                if any(np.array_equal(row, other) for other in self._rows_of(known)):
                    return
            number = self._next
            self._next = number + 1
            self._several |= known is not None
            self._names[number] = key
            try:
                with self._gate.writing():
                    self._tables.insert_one(number, row)
                    self._numbers[key] = number if known is None else (*_numbers(known), number)
            except BaseException:
                del self._names[number]
                raise

    def remove(self, key: Any, *, buffer: bool) -> None:
        with self._lock:
            known = self._numbers.pop(key, None)
            if known is None:
                raise ValueError(f"The given key does not exist: {key!r}")
            with self._gate.writing():
                for number in _numbers(known):
                    self._tables.discard_one(number)
            for number in _numbers(known):
                del self._names[number]

    def find(self, row: UInt64Array, form: Form) -> list[Any]:
        numbers = self._tables.query_one(row, None, self._gate)[0]
        if not numbers:
            return numbers
        names = self._names
        try:
            found = [names[numbers[0]]] if len(numbers) == 1 else [names[number] for number in sorted(numbers)]
        except KeyError:  # removed since
            found = [name for name in (names.get(number, _ABSENT) for number in sorted(numbers)) if name is not _ABSENT]
        return list(dict.fromkeys(found)) if self._several else found

    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        numbers, counts = self._tables.query_one(row, 0, self._gate)
        best: dict[Any, int] = {}
        for number, count in sorted(zip(numbers, counts or (), strict=True)):
            name = self._names.get(number, _ABSENT)
            if name is not _ABSENT:
                best[name] = max(best.get(name, 0), count)
        return [(name, count / self.length) for name, count in best.items()]

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: Any) -> bool:
        return key in self._numbers

    def keys(self) -> list[Any]:
        return list(self._numbers)

    def _rows_of(self, known: int | tuple[int, ...]) -> UInt64Array:
        with self._gate.reading():
            return self._tables.signatures_of(self._tables.find(np.array(_numbers(known), np.int64)))

    def buckets_of(self, key: Any, form: Form | None) -> list[bytes]:
        with self._lock:
            known = self._numbers.get(key)
            rows = () if known is None or form is None else self._rows_of(known)
        return [name for row in rows for name in self._hashed(row, form)]

    def _hashed(self, row: UInt64Array, form: Form | None) -> list[bytes]:
        assert form is not None
        names = form.buckets_of(row, self.bands, self.depth)
        return names if self.hashfunc is None else [self.hashfunc(name) for name in names]

    def _buckets(self, band: int, form: Form | None) -> dict[bytes, set[Any]]:
        found: dict[bytes, set[Any]] = {}
        if form is None:
            return found
        for numbers, rows in self._items():
            numbers, rows = numbers[rows[:, 0] != EMPTY], rows[rows[:, 0] != EMPTY]
            slots = rows[:, band * self.depth : (band + 1) * self.depth].ravel()
            for number, own in zip(numbers.tolist(), form.buckets_of(slots, len(rows), self.depth), strict=True):
                key = self._names.get(number, _ABSENT)
                if key is not _ABSENT:
                    found.setdefault(own if self.hashfunc is None else self.hashfunc(own), set()).add(key)
        return found

    def counts(self, band: int, form: Form | None) -> dict[bytes, int]:
        return {name: len(keys) for name, keys in self._buckets(band, form).items()}

    def bucket(self, band: int, name: bytes, form: Form | None) -> set[Any]:
        with self._lock:
            held = self._next, len(self._names)  # others after each insertion and each removal
            if self._looked[0] != held:
                self._looked = held, {}
            bands = self._looked[1]
            if band not in bands:
                bands[band] = self._buckets(band, form)
            return set(bands[band].get(name, ()))

    def rows(self, form: Form) -> Iterator[tuple[Any, UInt64Array]]:
        for numbers, rows in self._items():
            for number, row in zip(numbers.tolist(), rows, strict=True):
                key = self._names.get(number, _ABSENT)
                if key is not _ABSENT:
                    yield key, row

    def _items(self) -> Iterator[tuple[Int64Array, UInt64Array]]:
        """Give the numbers and rows of all entries that are there now, unless they are removed before their turn."""
        with self._gate.reading():
            held = np.sort(self._tables.names_of(self._tables.rows_in_use()))
        for start in range(0, len(held), PIECE):
            numbers = held[start : start + PIECE]
            with self._gate.reading():
                rows = self._tables.find(numbers)
                numbers, rows = numbers[rows >= 0], rows[rows >= 0]
                signatures = self._tables.signatures_of(rows)
            yield numbers, signatures

    def dump(self) -> dict[str, Any]:
        """Return all entries as plain objects and bytes, which mean the same to each version of Python and numpy."""
        with self._lock:
            parts = list(self._items())
            keys = [self._names[number] for numbers, _ in parts for number in numbers.tolist()]
        joined = np.concatenate([np.empty((0, self.length), np.uint64), *(rows for _, rows in parts)])
        narrow = bool(((joined < EMPTY_32) | (joined == EMPTY)).all())
        return {"keys": keys, "rows": joined.astype("<u4" if narrow else "<u8").tobytes(), "narrow": narrow}

    def load(self, dumped: dict[str, Any]) -> None:
        """Take what `dump` returned; there must be nothing yet."""
        keys = dumped["keys"]
        rows = np.frombuffer(dumped["rows"], "<u4" if dumped["narrow"] else "<u8").astype(np.uint64)
        if dumped["narrow"]:
            rows[rows == EMPTY_32] = EMPTY
        places, _ = self._tables.admit(np.arange(len(keys)))
        self._tables.write(places, rows.reshape(-1, self.length))
        for number, key in enumerate(keys):
            known = self._numbers.get(key)
            self._numbers[key] = number if known is None else (*_numbers(known), number)
            self._several |= known is not None
        self._names, self._next = dict(enumerate(keys)), len(keys)


def _numbers(known: int | tuple[int, ...]) -> tuple[int, ...]:
    return known if isinstance(known, tuple) else (known,)


class RedisEntries(Entries):
    """Entries on a Redis server in datasketch's layout, beside whatever datasketch writes there itself.

    Each insertion, removal and query is one script of the server: whole or not at all, and one wait for an answer.
    """

    def __init__(
        self,
        config: dict[str, Any],
        basename: bytes,
        bands: int,
        rows: int,
        hashfunc: Callable[[bytes], bytes] | None,
    ) -> None:
        self.bands, self.depth, self.hashfunc = bands, rows, hashfunc
        if "redis" not in config:
            raise KeyError('storage_config needs "redis": {"host": ..., "port": ...}')
        self._lock = threading.RLock()
        self._client: Any = optional("redis", "redis").Redis(**_resolved(config["redis"]))
        weakref.finalize(self, self._client.close)
        self._transaction = bool(_resolved(config.get("redis_buffer", {})).get("transaction", True))
        self._names = basename + b"_keys"
        self._tables = [basename + b"_bucket_" + struct.pack(">H", band) for band in range(bands)]
        self._all = [self._names, *self._tables]
        self._insert, self._remove, self._find = map(self._client.register_script, (_INSERT, _REMOVE, _FIND))
        self._pipe: Any = None
        self._waiting: dict[bytes, bool] = {}  # keys that a session has inserted, or removed

    def _hashed(self, row: UInt64Array, form: Form) -> list[bytes]:
        names = form.buckets_of(row, self.bands, self.depth)
        return names if self.hashfunc is None else [self.hashfunc(name) for name in names]

    def insert(self, key: Any, row: UInt64Array, form: Form, *, check: bool, buffer: bool) -> None:
        put = b"0" if row[0] == EMPTY else b"1"
        arguments = [key, self._names + key, b"1" if check and not buffer else b"0", put, *self._hashed(row, form)]
        if not buffer:
            if not self._insert(keys=self._all, args=arguments):
                raise ValueError(f"The given key already exists: {key!r}")
            return
        with self._lock:
            if check and self._stands(key):
                raise ValueError(f"The given key already exists: {key!r}")
            self._wait(self._insert, key, True, arguments)

    def remove(self, key: Any, *, buffer: bool) -> None:
        arguments = [key, self._names + key]
        if not buffer:
            if not self._remove(keys=self._all, args=arguments):
                raise ValueError(f"The given key does not exist: {key!r}")
            return
        with self._lock:
            if not self._stands(key):
                raise ValueError(f"The given key does not exist: {key!r}")
            self._wait(self._remove, key, False, arguments)

    def _stands(self, key: bytes) -> bool:
        """Tell whether a key has an entry, or will have one when all that waits is sent."""
        stays = self._waiting.get(key)
        return key in self if stays is None else stays

    def _wait(self, script: Any, key: bytes, stays: bool, arguments: list[bytes]) -> None:
        if self._pipe is None:
            self._pipe = self._client.pipeline(transaction=self._transaction)
        script(keys=self._all, args=arguments, client=self._pipe)
        self._waiting[key] = stays
        if len(self._pipe) >= self.buffer_size:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            pipe, self._pipe = self._pipe, None
            self._waiting.clear()
            if pipe is not None:
                pipe.execute()

    def find(self, row: UInt64Array, form: Form) -> list[Any]:
        if row[0] == EMPTY:
            return []
        return sorted(self._find(keys=self._all, args=self._hashed(row, form)))

    def scored(self, row: UInt64Array, form: Form) -> list[tuple[Any, float]]:
        if self.hashfunc is not None:
            raise ValueError("with_scores needs the slots of entries, and with a hashfunc the server holds none")
        keys = self.find(row, form)
        wanted, slots, scores = form.values_of(row), self.bands * self.depth, []
        for key, names in zip(keys, self._lists(keys), strict=True):
            whole = range(0, len(names) - self.bands + 1, self.bands)
            held = [form.values_of(form.row_of(names[at : at + self.bands])) for at in whole]
            equal = [values == wanted[:slots] for values in held]
            counts = [int((each.all(axis=1) if each.ndim == 2 else each).sum()) for each in equal]
            scores.append((key, max(counts, default=0) / slots))
        return scores

    def _lists(self, keys: list[Any]) -> list[list[bytes]]:
        with self._client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.lrange(self._names + key, 0, -1)
            lists: list[list[bytes]] = pipe.execute()
        return lists

    def __len__(self) -> int:
        return int(self._client.hlen(self._names))

    def __contains__(self, key: Any) -> bool:
        return bool(self._client.hexists(self._names, key))

    def keys(self) -> list[Any]:
        return list(self._client.hkeys(self._names))

    def width(self) -> int | None:
        """Return the bytes of a slot of what is stored; None where there is nothing to tell them from."""
        met = None if self.hashfunc else next(iter(self._client.hscan_iter(self._tables[0], count=10)), None)
        return None if met is None else len(met[0]) // self.depth

    def buckets_of(self, key: Any, form: Form | None) -> list[bytes]:
        return self._lists([key])[0]

    def counts(self, band: int, form: Form | None) -> dict[bytes, int]:
        names = self._client.hkeys(self._tables[band])
        with self._client.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.scard(self._tables[band] + name)
            counts = dict(zip(names, pipe.execute(), strict=True))
        return {name: count for name, count in counts.items() if count}

    def bucket(self, band: int, name: bytes, form: Form | None) -> set[Any]:
        return set(self._client.smembers(self._tables[band] + name))

    def rows(self, form: Form) -> Iterator[tuple[Any, UInt64Array]]:
        keys = self.keys()
        for start in range(0, len(keys), 1000):
            part = keys[start : start + 1000]
            for key, names in zip(part, self._lists(part), strict=True):
                for at in range(0, len(names) - self.bands + 1, self.bands):
                    row = form.row_of(names[at : at + self.bands])
                    if form.width != 16 and (row == form.empty).all():
                        row = np.full_like(row, EMPTY)
                    yield key, row


def check_storage(config: Any) -> dict[str, Any]:
    """Return a storage_config, {"type": "dict"} for None, or say why it cannot be used."""
    if not config:
        return {"type": "dict"}
    if not isinstance(config, dict):
        raise TypeError(f"storage_config must be a dict, not {type(config).__name__}")
    kind = config["type"]
    if kind not in ("dict", "redis"):
        known = kind in ("cassandra", "mongo", "aiomongo", "aioredis")
        advice = "; LSHIndex keeps entries in files by save, in LmdbStore and in RedisStore" if known else ""
        raise ValueError(f"Unknown storage type: {kind} (it must be 'dict' or 'redis'{advice})")
    return config


def random_name(length: int = 11) -> bytes:
    """Return a name of small letters for an index that was given none."""
    return "".join(random.choices(string.ascii_lowercase, k=length)).encode()


def _resolved(config: dict[str, Any]) -> dict[str, Any]:
    """Return options, where {"env": NAME, "default": VALUE} is what the environment has under NAME."""
    return {
        name: os.getenv(value["env"], value.get("default")) if isinstance(value, dict) and "env" in value else value
        for name, value in config.items()
    }


class _Maker:
    """What a pickle names in place of a class or function: it can be called, and nothing in it can be changed."""

    __slots__ = ("_make",)

    _make: Callable[..., Any]

    def __init__(self, make: Callable[..., Any]) -> None:
        object.__setattr__(self, "_make", make)

    def __call__(self, *arguments: Any) -> Any:
        return self._make(*arguments)

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError("a stored key would change how keys are read")

    def __setstate__(self, state: Any) -> None:
        raise ValueError("a stored key would change how keys are read")


class _Sealed(type):
    """The type of classes that a pickle cannot change."""

    def __setattr__(cls, name: str, value: Any) -> None:
        raise ValueError("a stored key would change how keys are read")


class _UUID(metaclass=_Sealed):
    """What a pickle makes a UUID with: one that has no number yet, as UUIDs are pickled."""

    def __new__(cls) -> Any:
        return object.__new__(uuid.UUID)


class _PlainType:
    """The dtype of a numpy scalar: a number, or a text or bytes of so many places. A pickle sets its byte order."""

    __slots__ = ("kind", "order", "size")

    kind: str
    order: Literal["<", ">", "|", "="]
    size: int

    def __init__(self, name: Any, align: Any = False, copy: Any = False) -> None:
        known = isinstance(name, str) and re.fullmatch("b1|[iu][1248]|f[248]|c(?:8|16)|[SU][0-9]{1,9}", name)
        if not known:
            raise ValueError(f"a stored key is a numpy scalar of dtype {name!r}, {NOT_READ}")
        put = partial(object.__setattr__, self)
        put("kind", name[0])
        put("order", "=")
        put("size", int(name[1:]) * (4 if name[0] == "U" else 1))

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError("a stored key would change how keys are read")

    def __setstate__(self, state: Any) -> None:
        """Take the byte order of a dtype's state, which names no fields, no shape and no names."""
        known = isinstance(state, tuple) and len(state) == 8 and state[2:5] == (None,) * 3
        if not known or state[1] not in ("<", ">", "|", "="):
            raise ValueError(f"a stored key is a numpy scalar of a dtype of several parts, {NOT_READ}")
        object.__setattr__(self, "order", state[1])


def _scalar(kind: Any, data: Any) -> Any:
    """Return the numpy scalar of a dtype that these bytes are."""
    if not isinstance(kind, _PlainType) or not isinstance(data, bytes) or len(data) != kind.size:
        raise ValueError("a stored key is a numpy scalar whose bytes do not fit its dtype")
    if kind.kind == "S":
        return np.bytes_(data.rstrip(b"\0"))
    if kind.kind == "U":
        big = kind.order == ">" or (kind.order != "<" and sys.byteorder == "big")
        return np.str_(data.decode("utf-32-be" if big else "utf-32-le", "surrogatepass").rstrip("\0"))
    return np.frombuffer(data, np.dtype(f"{kind.kind}{kind.size}").newbyteorder(kind.order))[0]


def _fraction(first: Any, second: Any = 1) -> Fraction:
    """Return a fraction of two ints, or of their text; any other text could be one of very many digits."""
    if isinstance(first, str) and second == 1 and re.fullmatch("-?[0-9]{1,4000}(?:/[0-9]{1,4000})?", first):
        numerator, _, denominator = first.partition("/")
        first, second = int(numerator), int(denominator or 1)
    if type(first) is not int or type(second) is not int:
        raise ValueError("a stored key is a fraction, but not of two ints")
    return Fraction(first, second)


def _moment(kind: type[Any], *arguments: Any) -> Any:
    """Return a date or time, which its bytes alone need not be: `replace` checks the ranges."""
    return kind(*arguments).replace()


NOT_READ = 'which is not read from a server; storage_config may say "loads": pickle.loads where the server is trusted'

# What keys on a server may be, beside what pickle knows itself, and what makes them, which no pickle can change.
KINDS: dict[tuple[str, str], Any] = {
    ("builtins", "complex"): complex,
    ("builtins", "frozenset"): frozenset,
    ("datetime", "date"): _Maker(partial(_moment, datetime.date)),
    ("datetime", "datetime"): _Maker(partial(_moment, datetime.datetime)),
    ("datetime", "time"): _Maker(partial(_moment, datetime.time)),
    ("datetime", "timedelta"): _Maker(datetime.timedelta),
    ("datetime", "timezone"): _Maker(datetime.timezone),
    ("decimal", "Decimal"): _Maker(Decimal),
    ("fractions", "Fraction"): _Maker(_fraction),
    ("numpy", "dtype"): _Maker(_PlainType),
    ("numpy._core.multiarray", "scalar"): _Maker(_scalar),
    ("numpy.core.multiarray", "scalar"): _Maker(_scalar),
    ("uuid", "UUID"): _UUID,
}


class _Plain(pickle.Unpickler):
    """Read pickles of data, and call nothing that one names but what makes the kinds of values known here."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KINDS:
            raise ValueError(f"a stored key is a {module}.{name}, {NOT_READ}")
        return KINDS[module, name]


def plain_loads(data: bytes) -> Any:
    """Return the key that bytes from a server are the pickle of.

    That is a number, a text, bytes, None, a date or time, a UUID, a numpy scalar of a number, text or bytes, or a tuple
    or frozenset of such.

    Raises
    ------
    ValueError
        If it is an object of another kind: making it would run code that the bytes name, or read memory that is not
        its own.

    Examples
    --------
    >>> import pickle
    >>> from lshfast.datasketch.storage import plain_loads
    >>> plain_loads(pickle.dumps(("a", 1)))
    ('a', 1)
    """
    found = _Plain(io.BytesIO(data)).load()
    if isinstance(found, (type, _Maker, _PlainType)):
        raise ValueError(f"a stored key is a class, a function or a dtype, {NOT_READ}")
    return found


def dumps(key: Any) -> bytes:
    """Return a key as datasketch stores it.

    Keys are found by these bytes. Equal tuples whose members are the same object in one, and equal ones in the other,
    have different bytes, and are two keys: so with datasketch too.
    """
    return pickle.dumps(key, PROTOCOL)
