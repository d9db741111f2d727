"""Storages on a Redis server, in datasketch's layout.

A storage NAME is a hash NAME, which gives of each key KEY the name NAMEKEY, and under each such name a list or set.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from lshfast.datasketch.redis_commands import ListCommands, SetCommands
from lshfast.datasketch.storage import BUFFER_SIZE, OrderedStorage, UnorderedStorage, random_name, resolved, server_of
from lshfast.readers.files import optional

redis: Any = optional("redis", "redis")


class RedisBuffer(redis.client.Pipeline):  # type: ignore[misc]
    """A pipeline that sends its commands whenever `buffer_size` of them are kept.

    Parameters
    ----------
    connection_pool, response_callbacks
        Those of a client.
    transaction : bool
        Whether the commands sent at once are one transaction.
    buffer_size : int
        How many commands are kept back, at most.
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
        """Keep a command; send those kept before if they are `buffer_size`."""
        if len(self.command_stack) >= self.buffer_size:
            self.execute()
        return super().execute_command(*args, **kwargs)


class RedisStorage:
    """What storages on a Redis server share.

    Parameters
    ----------
    config : dict
        ``{"redis": {"host": ..., "port": ...}}``, with the arguments of ``redis.Redis``, and optionally
        ``"redis_buffer": {"transaction": False}`` for what is sent with ``buffer=True``. Values may be
        ``{"env": NAME, "default": VALUE}``.
    name : bytes, optional
        Of the storage on the server; drawn at random by default.
    client : redis.Redis, optional
        To be used in place of one of its own.
    """

    config: dict[str, Any]

    def __init__(self, config: dict[str, Any], name: bytes | None = None, client: Any = None) -> None:
        self.config = config
        self._name = random_name() if name is None else name
        self._open(client)

    def _open(self, client: Any) -> None:
        self._redis = connect(self, self.config) if client is None else client
        options = {"transaction": True, **resolved(self.config.get("redis_buffer", {}))}
        self._buffer = RedisBuffer(
            self._redis.connection_pool, self._redis.response_callbacks, buffer_size=self._buffer_size, **options
        )

    _buffer_size = BUFFER_SIZE

    @property
    def buffer_size(self) -> int:
        """How many commands are kept back, at most, before they are sent."""
        return self._buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._buffer_size = value
        self._buffer.buffer_size = value

    def __getstate__(self) -> dict[str, Any]:
        return {"config": self.config, "name": self._name, "buffer_size": self._buffer_size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.config, self._name, self._buffer_size = state["config"], state["name"], state["buffer_size"]
        self._open(None)


class RedisListStorage(ListCommands, RedisStorage, OrderedStorage):
    """A storage on a Redis server that keeps the values of a key in a list. Keys and values are bytes.

    Parameters
    ----------
    config, name
        See `RedisStorage`.
    """

    def keys(self) -> list[bytes]:
        return list(self._redis.hkeys(self._name))

    def redis_keys(self) -> list[bytes]:
        """Return the names under which the values of all keys are."""
        return list(self._redis.hvals(self._name))

    def size(self) -> int:
        return int(self._redis.hlen(self._name))

    def has_key(self, key: bytes) -> bool:
        return bool(self._redis.hexists(self._name, key))

    def status(self) -> dict[str, Any]:
        return {**server_of(self.config), **super().status()}

    def get(self, key: bytes) -> Any:
        return self._values(self._redis, key)

    def getmany(self, *keys: bytes) -> list[Any]:
        return self._together(self._values, keys)

    def itemcounts(self, **kwargs: Any) -> dict[bytes, int]:
        keys = self.keys()
        return dict(zip(keys, self._together(self._count, keys), strict=True))

    def _together(self, command: Any, keys: Iterable[bytes]) -> list[Any]:
        """Send a command for each key at once, and return the answers."""
        pipe = self._redis.pipeline(transaction=False)
        for key in keys:
            command(pipe, key)
        return list(pipe.execute())

    def insert(self, key: bytes, *vals: Any, **kwargs: Any) -> None:
        client = self._buffer if kwargs.get("buffer", False) else self._redis
        client.hset(self._name, key, self.redis_key(key))
        if vals:
            self._add(client, key, *vals)

    def remove(self, *keys: bytes, **kwargs: Any) -> None:
        if not keys:
            return
        client = self._buffer if kwargs.get("buffer", False) else self._redis
        client.hdel(self._name, *keys)
        client.delete(*map(self.redis_key, keys))

    def remove_val(self, key: bytes, val: Any, **kwargs: Any) -> None:
        self._discard(self._buffer if kwargs.get("buffer", False) else self._redis, key, val)

    def empty_buffer(self) -> None:
        self._buffer.execute()


class RedisSetStorage(SetCommands, UnorderedStorage, RedisListStorage):
    """A storage on a Redis server that keeps the values of a key in a set. Keys and values are bytes.

    Parameters
    ----------
    config, name
        See `RedisStorage`.
    """


def connect(owner: object, config: dict[str, Any]) -> Any:
    """Return a client for the server of a storage_config, which is closed when its owner is gone."""
    client = redis.Redis(**server_of(config))
    if hasattr(client, "close"):
        weakref.finalize(owner, client.close)
    return client
