"""Storages with the interface of ``datasketch.storage``, in memory or on a Redis server.

The classes for Redis are in `redis_storage`, which imports the client. They are imported at their
first use.
"""

from __future__ import annotations

import importlib
import os
import random
import string
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, KeysView
from typing import Any

ON_REDIS = (
    "RedisBuffer",
    "RedisListStorage",
    "RedisSetStorage",
    "RedisStorage",
    "redis",
)

# The number of pending commands at which a session sends them.
BUFFER_SIZE = 50_000


class Storage(ABC):
    """A mapping from keys to one or more values.

    Options such as ``buffer=True`` only have an effect for storages on a server.

    Attributes
    ----------
    buffer_size : int
        The number of pending changes at which they are sent.
    """

    buffer_size = BUFFER_SIZE
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
        """Add values to a key."""

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
        """Return whether the key exists."""

    def status(self) -> dict[str, Any]:
        """Return the number of keys, and on a server their location."""
        return {"keyspace_size": len(self)}

    def empty_buffer(self) -> None:  # noqa: B027 (in memory nothing is pending)
        """Send the changes that were made with ``buffer=True``."""

    def add_to_select_buffer(self, keys: Any) -> None:
        """Record keys whose values `collect_select_buffer` returns."""
        self._selected = (*self._selected, *keys)

    def collect_select_buffer(self) -> list[Any]:
        """Return the values of the recorded keys, and remove the record."""
        keys = self._selected
        self._selected = ()
        return self.getmany(*keys)


class OrderedStorage(Storage):
    """A storage that keeps the values of a key in a list."""


class UnorderedStorage(Storage):
    """A storage that keeps the values of a key in a set."""


class DictListStorage(OrderedStorage):
    """A storage in memory: a dict of lists.

    Parameters
    ----------
    config : dict
        Not used.

    Examples
    --------
    >>> from lshfast.datasketch.storage import ordered_storage
    >>> storage = ordered_storage({"type": "dict"})
    >>> storage.insert("key", 1, 2, 2)
    >>> storage["key"], storage["none"]
    ([1, 2, 2], [])
    """

    def __init__(self, config: Any, name: bytes | None = None) -> None:
        self._dict: defaultdict[Any, Any] = defaultdict(list)

    def keys(self) -> KeysView[Any]:
        return self._dict.keys()

    def get(self, key: Any) -> Any:
        return self._dict.get(key, [])

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        self._dict[key].extend(vals)

    def remove(self, *keys: Any, **kwargs: Any) -> None:
        for key in keys:
            del self._dict[key]

    def remove_val(self, key: Any, val: Any, **kwargs: Any) -> None:
        (self._dict.get(key) or self.get(key)).remove(val)

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
        Not used.
    """

    def __init__(self, config: Any, name: bytes | None = None) -> None:
        self._dict = defaultdict(set)

    def get(self, key: Any) -> Any:
        return self._dict.get(key, set())

    def insert(self, key: Any, *vals: Any, **kwargs: Any) -> None:
        self._dict[key].update(vals)


def ordered_storage(
    config: dict[str, Any], name: bytes | None = None
) -> OrderedStorage:
    """Return a storage of lists, in memory or on a server.

    It is in memory for ``{"type": "dict"}``, on a server for ``{"type": "redis", ...}``.

    Parameters
    ----------
    config : dict
        The storage_config of `MinHashLSH`.
    name : bytes, optional
        The name of the storage on the server; random by default.

    Raises
    ------
    KeyError
        If config has no type, or no ``"redis"`` for a server.
    ValueError
        If the type is unknown.
    """
    storage: OrderedStorage = _storage(
        config, name, DictListStorage, "RedisListStorage"
    )
    return storage


def unordered_storage(
    config: dict[str, Any], name: bytes | None = None
) -> UnorderedStorage:
    """Return a storage of sets. See `ordered_storage` for parameters and errors.

    Examples
    --------
    >>> from lshfast.datasketch.storage import unordered_storage
    >>> storage = unordered_storage({"type": "dict"})
    >>> storage.insert("key", 1, 2, 2)
    >>> storage["key"], storage["none"]
    ({1, 2}, set())
    """
    storage: UnorderedStorage = _storage(
        config, name, DictSetStorage, "RedisSetStorage"
    )
    return storage


def _storage(
    config: dict[str, Any],
    name: bytes | None,
    kind: type[DictListStorage],
    kind_on_redis: str,
) -> Any:
    if check_type(config) == "dict":
        return kind(config)
    return _on_redis(kind_on_redis)(config, name)


def check_storage(config: Any) -> dict[str, Any]:
    """Return a storage_config, {"type": "dict"} for None; raise an error if it is invalid."""
    checked = check_form(config)
    check_type(checked)
    return checked


def check_form(config: Any) -> dict[str, Any]:
    """Return a storage_config like `check_storage`, but allow any type."""
    if not config:
        return {"type": "dict"}
    if not isinstance(config, dict):
        raise TypeError(f"storage_config must be a dict, not {type(config).__name__}")
    _check_has_type(config)
    if not isinstance(config.get("basename", b""), bytes):
        raise TypeError(f"basename must be bytes, not {config['basename']!r}")
    return config


def check_type(config: dict[str, Any]) -> str:
    """Return the type in a storage_config; raise an error unless it is "dict" or "redis"."""
    _check_has_type(config)
    kind = config["type"]
    if kind not in ("dict", "redis"):
        advice = ""
        if kind in ("cassandra", "mongo", "aiomongo"):
            advice = "; LSHIndex keeps entries in files by save, in LmdbStore and in RedisStore"
        elif kind == "aioredis":
            advice = "; 'aioredis' is for lshfast.datasketch.aio.AsyncMinHashLSH"
        raise ValueError(
            f"Unknown storage type: {kind} (it must be 'dict' or 'redis'{advice})"
        )
    return str(kind)


def _check_has_type(config: dict[str, Any]) -> None:
    if "type" not in config:
        raise KeyError(
            'storage_config needs "type": "dict" or "redis"; '
            f"it has {sorted(map(str, config))} only"
        )


def random_name(length: int = 11) -> bytes:
    """Return a random name of lower-case letters for a storage without a name."""
    return "".join(random.choices(string.ascii_lowercase, k=length)).encode()


def resolved(config: dict[str, Any]) -> dict[str, Any]:
    """Return options, with {"env": NAME, "default": VALUE} replaced by the variable NAME."""
    values = dict(config)
    for name, value in config.items():
        if isinstance(value, dict) and "env" in value:
            values[name] = os.getenv(value["env"], value.get("default"))
    return values


def server_of(config: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the client from a storage_config."""
    if "redis" not in config:
        raise KeyError('storage_config needs "redis": {"host": ..., "port": ...}')
    return resolved(config["redis"])


# datasketch's name, which programs with their own storages import.
_random_name = random_name


def _on_redis(name: str) -> Any:
    return getattr(importlib.import_module("lshfast.datasketch.redis_storage"), name)


def __getattr__(name: str) -> Any:
    if name in ON_REDIS:
        return _on_redis(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
