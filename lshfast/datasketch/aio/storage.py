"""Storages on a Redis server for asyncio, like `redis_storage` with coroutines as methods.

The client is imported when the first storage is created.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from lshfast._common.extras import optional
from lshfast.datasketch.redis_commands import ListCommands, SetCommands
from lshfast.datasketch.storage import BUFFER_SIZE, random_name, server_of


class AsyncRedisListStorage(ListCommands):
    """A storage on a Redis server that keeps the values of a key, bytes, in a list.

    Parameters
    ----------
    config : dict
        ``{"redis": {"host": ..., "port": ...}}``, with the arguments of ``redis.asyncio.Redis``.
    name : bytes, optional
        The name of the storage on the server; random by default.
    client : redis.asyncio.Redis, optional
        The client to use. By default a new client is created.

    Notes
    -----
    Changes with ``buffer=True`` are pending until `empty_buffer` is called or there are
    `buffer_size` commands.
    """

    def __init__(
        self, config: dict[str, Any], name: bytes | None = None, client: Any = None
    ) -> None:
        self.config = config
        self.buffer_size = BUFFER_SIZE
        self._name = random_name() if name is None else name
        self._redis = connect(config) if client is None else client
        self._kept: Any = None

    async def status(self) -> dict[str, Any]:
        """Return the location of this storage, and its number of keys."""
        return {**server_of(self.config), "keyspace_size": await self.size()}

    async def getmany(self, *keys: bytes) -> list[Any]:
        """Return the values of each of these keys."""
        return await self._together(self._values, keys)

    async def itemcounts(self, **kwargs: Any) -> dict[bytes, int]:
        """Return the number of values of each key."""
        keys = await self.keys()
        return dict(zip(keys, await self._together(self._count, keys), strict=True))

    async def _together(self, command: Any, keys: Any) -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in keys:
                command(pipe, key)
            return list(await pipe.execute())

    async def insert(self, key: bytes, *vals: Any, **kwargs: Any) -> None:
        """Add values to a key."""
        async with self._changing(kwargs) as pipe:
            self.put(pipe, key, *vals)

    async def remove(self, *keys: bytes, **kwargs: Any) -> None:
        """Remove these keys and their values."""
        if keys:
            async with self._changing(kwargs) as pipe:
                self.drop(pipe, *keys)

    async def remove_val(self, key: bytes, val: Any, **kwargs: Any) -> None:
        """Remove one of the values of a key."""
        async with self._changing(kwargs) as pipe:
            self._discard(pipe, key, val)

    @asynccontextmanager
    async def _changing(self, options: dict[str, Any]) -> AsyncIterator[Any]:
        """Yield a pipeline for a change and send it; with ``buffer=True`` only a full one."""
        if not options.get("buffer", False):
            pipe = self._redis.pipeline(transaction=True)
            yield pipe
            await pipe.execute()
            return
        if self._kept is None:
            self._kept = self._redis.pipeline(transaction=True)
        yield self._kept
        if len(self._kept) >= self.buffer_size:
            await self.empty_buffer()

    async def empty_buffer(self) -> None:
        """Send the changes that were made with ``buffer=True``."""
        pipe = self._kept
        self._kept = None
        if pipe is not None:
            await pipe.execute()

    async def close(self) -> None:
        """Send pending changes, and close the connection; a later call opens it again."""
        await self.empty_buffer()
        await self._redis.aclose()


class AsyncRedisSetStorage(SetCommands, AsyncRedisListStorage):
    """A storage on a Redis server that keeps the values of a key, bytes, in a set.

    Parameters
    ----------
    config, name, client
        See `AsyncRedisListStorage`.
    """


def connect(config: dict[str, Any]) -> Any:
    """Return a client for the server of a storage_config."""
    return optional("redis.asyncio", "redis").Redis(**server_of(config))


def async_ordered_storage(
    config: dict[str, Any], name: bytes | None = None
) -> AsyncRedisListStorage:
    """Return a storage of lists for ``{"type": "aioredis", "redis": {...}}``."""
    check_type(config)
    return AsyncRedisListStorage(config, name)


def async_unordered_storage(
    config: dict[str, Any], name: bytes | None = None
) -> AsyncRedisSetStorage:
    """Return a storage of sets for ``{"type": "aioredis", "redis": {...}}``."""
    check_type(config)
    return AsyncRedisSetStorage(config, name)


def check_type(config: Any) -> None:
    """Raise an error that names the valid types unless a storage_config is for asyncio."""
    if not isinstance(config, dict):
        raise TypeError(f"storage_config must be a dict, not {type(config).__name__}")
    if config.get("type") != "aioredis":
        raise ValueError(
            f'Unknown storage type: {config.get("type")} (storage_config needs "type": "aioredis")'
        )
    if not isinstance(config.get("basename", b""), bytes):
        raise TypeError(f"basename must be bytes, not {config['basename']!r}")
