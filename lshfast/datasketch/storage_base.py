"""The common base of all storages: their interface, and the reading of options."""

from __future__ import annotations

import os
import random
import string
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

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
