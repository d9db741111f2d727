"""Storages with the interface of ``datasketch.storage``: a key and its values, in memory or on a Redis server.

The classes for Redis are in `redis_storage`, which imports the client, and are looked up there when they are asked for.
"""

from __future__ import annotations

import importlib
import os
import random
import string
from abc import ABC, abstractmethod
from collections.abc import Iterator, KeysView
from typing import Any

# Commands that a session keeps until they are sent.
BUFFER_SIZE = 50_000

ON_REDIS = ("RedisBuffer", "RedisListStorage", "RedisSetStorage", "RedisStorage")


class Storage(ABC):
    """A mapping from keys to values, several for each key.

    Options such as ``buffer=True`` mean something to storages on a server only.
    """

    _buffer_size = BUFFER_SIZE
    _selected: tuple[Any, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __delitem__(self, key: Any) -> None:
        return self.remove(key)

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __contains__(self, key: Any) -> bool:
        return self.has_key(key)

    @abstractmethod
    def keys(self) -> Any:
        """Return all keys."""

    @abstractmethod
    def get(self, key: Any) -> Any:
        """Return the values of a key: an empty list or set if there is no such key."""

    def getmany(self, *keys: Any) -> list[Any]:
        """Return the values of each of these keys."""
        return [self.get(key) for key in keys]

    @abstractmethod
    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        """Add values to those of a key."""

    @abstractmethod
    def remove(self, *keys: Any, **kwargs: Any) -> None:
        """Remove these keys and their values."""

    @abstractmethod
    def remove_val(self, key: Any, val: Any) -> None:
        """Remove one of the values of a key."""

    @abstractmethod
    def size(self) -> int:
        """Return the number of keys."""

    @abstractmethod
    def itemcounts(self, **kwargs: Any) -> dict[Any, int]:
        """Return the number of values of each key."""

    @abstractmethod
    def has_key(self, key: Any) -> bool:
        """Tell whether there is such a key."""

    def status(self) -> dict[str, Any]:
        """Return the number of keys, and on a server where they are."""
        return {"keyspace_size": len(self)}

    def empty_buffer(self) -> None:  # noqa: B027 (in memory nothing is kept back)
        """Send the changes that were made with ``buffer=True``."""

    def add_to_select_buffer(self, keys: Any) -> None:
        """Keep keys whose values `collect_select_buffer` shall return."""
        self._selected = (*self._selected, *keys)

    def collect_select_buffer(self) -> list[Any]:
        """Return the values of the keys that were kept, and forget these keys."""
        keys, self._selected = self._selected, ()
        return self.getmany(*keys)

    @property
    def buffer_size(self) -> int:
        """How many changes are kept back, at most, before they are sent."""
        return self._buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._buffer_size = value


class OrderedStorage(Storage):
    """A storage that keeps the values of a key in a list."""


class UnorderedStorage(Storage):
    """A storage that keeps the values of a key in a set."""


class DictListStorage(OrderedStorage):
    """A storage in memory: a dict of lists.

    Parameters
    ----------
    config : dict
        Not read.

    Examples
    --------
    >>> from lshfast.datasketch.storage import ordered_storage
    >>> storage = ordered_storage({"type": "dict"})
    >>> storage.insert("key", 1, 2, 2)
    >>> storage["key"], storage["none"]
    ([1, 2, 2], [])
    """

    _kind: type[Any] = list

    def __init__(self, config: Any, name: bytes | None = None) -> None:
        self._dict: dict[Any, Any] = {}

    def keys(self) -> KeysView[Any]:
        return self._dict.keys()

    def get(self, key: Any) -> Any:
        return self._dict.get(key, [])

    def __getitem__(self, key: Any) -> Any:
        found = self._dict.get(key)
        return self._kind() if found is None else found

    def __contains__(self, key: Any) -> bool:
        return key in self._dict

    def __len__(self) -> int:
        return len(self._dict)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._dict)

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        held = self._dict.get(key)
        if held is None:
            self._dict[key] = list(vals)
        else:
            held.extend(vals)

    def remove(self, *keys: Any, **kwargs: Any) -> None:
        for key in keys:
            del self._dict[key]

    def remove_val(self, key: Any, val: Any, **kwargs: Any) -> None:
        (self._dict.get(key) or self._kind()).remove(val)

    def size(self) -> int:
        return len(self._dict)

    def itemcounts(self, **kwargs: Any) -> dict[Any, int]:
        return {key: len(values) for key, values in self._dict.items()}

    def has_key(self, key: Any) -> bool:
        return key in self._dict


class DictSetStorage(UnorderedStorage, DictListStorage):
    """A storage in memory: a dict of sets.

    Parameters
    ----------
    config : dict
        Not read.
    """

    _kind = set

    def get(self, key: Any) -> Any:
        found = self._dict.get(key)
        return set() if found is None else found

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        held = self._dict.get(key)
        if held is None:
            self._dict[key] = set(vals)
        else:
            held.update(vals)


def ordered_storage(config: dict[str, Any], name: bytes | None = None) -> OrderedStorage:
    """Return a storage of lists: in memory for ``{"type": "dict"}``, on a server for ``{"type": "redis", ...}``.

    Parameters
    ----------
    config : dict
        As `MinHashLSH` takes it.
    name : bytes, optional
        Of the storage on the server; drawn at random by default.

    Raises
    ------
    KeyError
        If config has no type, or no ``"redis"`` for a server.
    ValueError
        If the type is another.
    """
    kind = check_type(config)
    made: OrderedStorage = DictListStorage(config) if kind == "dict" else _on_redis("RedisListStorage")(config, name)
    return made


def unordered_storage(config: dict[str, Any], name: bytes | None = None) -> UnorderedStorage:
    """Return a storage of sets: parameters and errors are those of `ordered_storage`.

    Examples
    --------
    >>> from lshfast.datasketch.storage import unordered_storage
    >>> storage = unordered_storage({"type": "dict"})
    >>> storage.insert("key", 1, 2, 2)
    >>> storage["key"], storage["none"]
    ({1, 2}, set())
    """
    kind = check_type(config)
    made: UnorderedStorage = DictSetStorage(config) if kind == "dict" else _on_redis("RedisSetStorage")(config, name)
    return made


def check_storage(config: Any) -> dict[str, Any]:
    """Return a storage_config, {"type": "dict"} for None, or raise an error that names what is wrong."""
    checked = check_form(config)
    check_type(checked)
    return checked


def check_form(config: Any) -> dict[str, Any]:
    """Return what `check_storage` does, for a storage_config of any type."""
    if not config:
        return {"type": "dict"}
    if not isinstance(config, dict):
        raise TypeError(f"storage_config must be a dict, not {type(config).__name__}")
    _check_has_type(config)
    if not isinstance(config.get("basename", b""), bytes):
        raise TypeError(f"basename must be bytes, not {config['basename']!r}")
    return config


def check_type(config: dict[str, Any]) -> str:
    """Return the type that a storage_config names, "dict" or "redis", or raise an error that says what there is."""
    _check_has_type(config)
    kind = config["type"]
    if kind not in ("dict", "redis"):
        advice = ""
        if kind in ("cassandra", "mongo", "aiomongo"):
            advice = "; LSHIndex keeps entries in files by save, in LmdbStore and in RedisStore"
        elif kind == "aioredis":
            advice = "; 'aioredis' is for lshfast.datasketch.aio.AsyncMinHashLSH"
        raise ValueError(f"Unknown storage type: {kind} (it must be 'dict' or 'redis'{advice})")
    return str(kind)


def _check_has_type(config: dict[str, Any]) -> None:
    if "type" not in config:
        raise KeyError(f'storage_config needs "type": "dict" or "redis"; it has {sorted(map(str, config))} only')


def random_name(length: int = 11) -> bytes:
    """Return a name of small letters for a storage that was given none."""
    return "".join(random.choices(string.ascii_lowercase, k=length)).encode()


_random_name = random_name  # datasketch's name, which programs with storages of their own import


def resolved(config: dict[str, Any]) -> dict[str, Any]:
    """Return options, where {"env": NAME, "default": VALUE} is what the environment has under NAME."""
    return {
        name: os.getenv(value["env"], value.get("default")) if isinstance(value, dict) and "env" in value else value
        for name, value in config.items()
    }


def server_of(config: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the client that a storage_config names."""
    if "redis" not in config:
        raise KeyError('storage_config needs "redis": {"host": ..., "port": ...}')
    return resolved(config["redis"])


def _on_redis(name: str) -> Any:
    return getattr(importlib.import_module("lshfast.datasketch.redis_storage"), name)


def __getattr__(name: str) -> Any:
    if name in ON_REDIS or name == "redis":
        return _on_redis(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
