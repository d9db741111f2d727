"""Storages with the interface of ``datasketch.storage``, in memory or on a Redis server.

The classes for Redis are in `redis_storage`, which imports the client. They are imported at their
first use.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import KeysView
from typing import Any

from lshfast.datasketch.storage_base import OrderedStorage as OrderedStorage
from lshfast.datasketch.storage_base import Storage as Storage
from lshfast.datasketch.storage_base import UnorderedStorage as UnorderedStorage
from lshfast.datasketch.storage_base import random_name

ON_REDIS = ("RedisBuffer", "RedisListStorage", "RedisSetStorage", "RedisStorage")

_random_name = (
    random_name  # datasketch's name, which programs with their own storages import
)


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
    kind = check_type(config)
    storage: OrderedStorage = (
        DictListStorage(config)
        if kind == "dict"
        else _on_redis("RedisListStorage")(config, name)
    )
    return storage


def unordered_storage(
    config: dict[str, Any], name: bytes | None = None
) -> UnorderedStorage:
    """Return a storage of sets. Parameters and errors are those of `ordered_storage`.

    Examples
    --------
    >>> from lshfast.datasketch.storage import unordered_storage
    >>> storage = unordered_storage({"type": "dict"})
    >>> storage.insert("key", 1, 2, 2)
    >>> storage["key"], storage["none"]
    ({1, 2}, set())
    """
    kind = check_type(config)
    storage: UnorderedStorage = (
        DictSetStorage(config)
        if kind == "dict"
        else _on_redis("RedisSetStorage")(config, name)
    )
    return storage


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


def _on_redis(name: str) -> Any:
    return getattr(importlib.import_module("lshfast.datasketch.redis_storage"), name)


def __getattr__(name: str) -> Any:
    if name in ON_REDIS or name == "redis":
        return _on_redis(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
