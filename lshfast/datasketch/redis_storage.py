"""Storages on a Redis server, in datasketch's layout.

A storage NAME consists of a hash NAME, which maps each key KEY to the name NAMEKEY, and a list or
set for each NAMEKEY.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from lshfast._common.extras import optional
from lshfast.datasketch.redis_commands import ListCommands, SetCommands
from lshfast.datasketch.storage import (
    BUFFER_SIZE,
    OrderedStorage,
    UnorderedStorage,
    random_name,
    resolved,
    server_of,
)

redis: Any = optional("redis", "redis")


class RedisBuffer(redis.client.Pipeline):  # type: ignore[misc]
    """A pipeline that sends its commands whenever `buffer_size` of them are pending.

    Parameters
    ----------
    connection_pool, response_callbacks
        The attributes of a client.
    transaction : bool
        Whether the commands sent together are one transaction.
    buffer_size : int
        The largest number of pending commands.
    """

    def __init__(
        self,
        connection_pool: Any,
        response_callbacks: Any,
        transaction: bool,
        buffer_size: int,
        shard_hint: str | None = None,
    ) -> None:
        self.buffer_size = buffer_size
        super().__init__(connection_pool, response_callbacks, transaction, shard_hint)

    def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        """Add a command; first send the pending commands if their number is `buffer_size`."""
        if len(self.command_stack) >= self.buffer_size:
            self.execute()
        return super().execute_command(*args, **kwargs)


class RedisStorage:
    """The common base of storages on a Redis server.

    Parameters
    ----------
    config : dict
        ``{"redis": {"host": ..., "port": ...}}``, with the arguments of ``redis.Redis``, and
        optionally ``"redis_buffer": {"transaction": False}`` for commands with ``buffer=True``.
        Values may be ``{"env": NAME, "default": VALUE}``.
    name : bytes, optional
        The name of the storage on the server; random by default.
    client : redis.Redis, optional
        The client to use. By default a new client is created.
    """

    config: dict[str, Any]

    def __init__(
        self, config: dict[str, Any], name: bytes | None = None, client: Any = None
    ) -> None:
        self.config = config
        self._name = random_name() if name is None else name
        self._open(client, BUFFER_SIZE)

    def _open(self, client: Any, buffer_size: int) -> None:
        self._redis = connect(self, self.config) if client is None else client
        options = {"transaction": True, **resolved(self.config.get("redis_buffer", {}))}
        self._buffer = RedisBuffer(
            self._redis.connection_pool,
            self._redis.response_callbacks,
            buffer_size=buffer_size,
            **options,
        )

    @property
    def buffer_size(self) -> int:
        """The number of pending commands at which they are sent."""
        return int(self._buffer.buffer_size)

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._buffer.buffer_size = value

    def __getstate__(self) -> dict[str, Any]:
        return {
            "config": self.config,
            "name": self._name,
            "buffer_size": self.buffer_size,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.config = state["config"]
        self._name = state["name"]
        self._open(None, state["buffer_size"])


class RedisListStorage(ListCommands, RedisStorage, OrderedStorage):
    """A storage on a Redis server that keeps the values of a key, bytes, in a list.

    Parameters
    ----------
    config, name
        See `RedisStorage`.
    """

    def status(self) -> dict[str, Any]:
        return {**server_of(self.config), **super().status()}

    def getmany(self, *keys: bytes) -> list[Any]:
        return self._together(self._values, keys)

    def itemcounts(self, **kwargs: Any) -> dict[bytes, int]:
        keys = self.keys()
        return dict(zip(keys, self._together(self._count, keys), strict=True))

    def _together(self, command: Any, keys: Iterable[bytes]) -> list[Any]:
        """Send a command for each key in one request, and return the answers."""
        pipe = self._redis.pipeline(transaction=False)
        for key in keys:
            command(pipe, key)
        return list(pipe.execute())

    def insert(self, key: bytes, *vals: Any, **kwargs: Any) -> None:
        self.put(self._client(kwargs), key, *vals)

    def remove(self, *keys: bytes, **kwargs: Any) -> None:
        if keys:
            self.drop(self._client(kwargs), *keys)

    def remove_val(self, key: bytes, val: Any, **kwargs: Any) -> None:
        self._discard(self._client(kwargs), key, val)

    def _client(self, options: dict[str, Any]) -> Any:
        return self._buffer if options.get("buffer", False) else self._redis

    def empty_buffer(self) -> None:
        self._buffer.execute()


class RedisSetStorage(SetCommands, UnorderedStorage, RedisListStorage):
    """A storage on a Redis server that keeps the values of a key, bytes, in a set.

    Parameters
    ----------
    config, name
        See `RedisStorage`.
    """


def connect(owner: object, config: dict[str, Any]) -> Any:
    """Return a client for a storage_config; it is closed when its owner is deleted."""
    client = redis.Redis(**server_of(config))
    if hasattr(client, "close"):
        weakref.finalize(owner, client.close)
    return client
