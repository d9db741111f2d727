"""AsyncMinHashLSH: a MinHashLSH on a Redis server, in datasketch's layout, for asyncio.

The layout is described in `redis_entries`, but the number of a band is one byte.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from typing import Any

from lshfast._common.types import UInt64Array
from lshfast.datasketch.aio.storage import (
    AsyncRedisListStorage,
    AsyncRedisSetStorage,
    check_type,
)
from lshfast.datasketch.key_pickles import (
    given_keys,
    plain_loads,
    spellings_of,
    storable,
)
from lshfast.datasketch.lsh_parameters import (
    bands_and_rows,
    check_num_perm,
    ranges_of,
)
from lshfast.datasketch.minhash import check_least
from lshfast.datasketch.redis_commands import HAS_ANY, script_refusals
from lshfast.datasketch.slots import Form, SketchReader, check_version
from lshfast.datasketch.storage import random_name

BATCH_SIZE = 10_000

# The largest number of concurrent requests; each takes a connection.
UNDER_WAY = 32


class AsyncMinHashLSH:
    """A `MinHashLSH` on a Redis server for asyncio, like ``datasketch.AsyncMinHashLSH``.

    The layout on the server is datasketch's, so that both libraries can use the same index. As in
    datasketch, a `MinHashLSH` cannot read the entries of an AsyncMinHashLSH, because their names of
    buckets differ.

    Parameters
    ----------
    threshold, num_perm, weights, params
        As for `MinHashLSH`.
    storage_config : dict
        ``{"type": "aioredis", "basename": b"...", "redis": {"host": ..., "port": ...}}``, with the
        arguments of ``redis.asyncio.Redis``. Required; it is checked when the index is opened.
        ``"loads"`` is the option of `MinHashLSH`.
    prepickle : bool, default True
        Whether keys are pickled before they are stored. If False, keys must be bytes.

    Attributes
    ----------
    h, b, r : int
        num_perm, bands, and slots per band.
    keys : AsyncRedisListStorage
        The keys as they are stored, and the names of the buckets of each key; None before
        `init_storages`.
    hashtables : list of AsyncRedisSetStorage
        The buckets of each band; None before `init_storages`.

    See Also
    --------
    lshfast.datasketch.MinHashLSH : Find similar sketches by bands.
    lshfast.RedisStore : Keep the entries of an index on a Redis server.

    Notes
    -----
    Use it as ``async with AsyncMinHashLSH(...) as lsh``, or ``lsh = await AsyncMinHashLSH(...)``
    and ``await lsh.close()``. An object belongs to one event loop. Sketches of empty sets find each
    other.

    Examples
    --------
    >>> import asyncio
    >>> from lshfast.datasketch import AsyncMinHashLSH, MinHash
    >>> async def main():
    ...     config = {"type": "aioredis", "redis": {"host": "localhost", "port": 6379}}
    ...     async with AsyncMinHashLSH(threshold=0.5, storage_config=config) as lsh:
    ...         sketch = MinHash()
    ...         sketch.update(b"token")
    ...         await lsh.insert("key", sketch)
    ...         return await lsh.query(sketch)
    >>> asyncio.run(main())  # doctest: +SKIP
    ['key']
    """

    h: int
    b: int
    r: int
    prepickle: bool

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
    ) -> None:
        self.h = check_num_perm(num_perm)
        self.b, self.r = bands_and_rows(threshold, num_perm, weights, params)
        self._config = {"basename": random_name(), **(storage_config or {})}
        self.prepickle = True if prepickle is None else bool(prepickle)
        self._batch_size = BATCH_SIZE
        self._make()

    def _make(self) -> None:
        self.keys: AsyncRedisListStorage | None = None
        self.hashtables: list[AsyncRedisSetStorage] | None = None
        self._loads = self._config.get("loads", plain_loads)
        self._sketches = SketchReader(self.h)
        # The script that searches several forms of a key; None without scripts.
        self._has_any: Any = None
        self._kept: Any = None  # the pipeline of a session
        # Keys that a session has inserted (True) or removed (False).
        self._waiting: dict[bytes, bool] = {}
        # Buckets that a session has removed keys from.
        self._left: set[tuple[int, bytes]] = set()

    @property
    def hashranges(self) -> list[tuple[int, int]]:
        """The first slot of each band, and the slot after its last."""
        return ranges_of(self.b, self.r)

    @property
    def batch_size(self) -> int:
        """The number of pending entries at which a session sends them."""
        return self._batch_size

    @batch_size.setter
    def batch_size(self, value: int) -> None:
        self._batch_size = check_least(value, "batch_size")

    # ---- opening and closing ----

    async def init_storages(self) -> None:
        """Connect to the server, unless already connected."""
        import asyncio  # not at start-up: only programs for asyncio need it

        check_type(self._config)
        self._turns = asyncio.Semaphore(UNDER_WAY)
        if self.keys is None:
            name = self._config["basename"]
            self.keys = AsyncRedisListStorage(self._config, name + b"_keys")
            self.hashtables = [
                AsyncRedisSetStorage(
                    self._config,
                    name + b"_bucket_" + band_number(band),
                    self.keys._redis,
                )
                for band in range(self.b)
            ]
            self._has_any = (
                self.keys._redis.register_script(HAS_ANY) if self.prepickle else None
            )

    async def close(self) -> None:
        """Send pending changes and close the connection; a later call opens it again."""
        if self.keys is not None:
            await self._flush()
            await self.keys.close()

    async def _opened(self) -> AsyncMinHashLSH:
        await self.init_storages()
        return self

    def __await__(self) -> Generator[Any, None, AsyncMinHashLSH]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncMinHashLSH:
        return await self._opened()

    async def __aexit__(self, kind: object, error: object, traceback: object) -> None:
        await self.close()

    def _storages(self) -> tuple[AsyncRedisListStorage, list[AsyncRedisSetStorage]]:
        if self.keys is None or self.hashtables is None:
            raise RuntimeError(
                "the index is not open: use `async with`, or await it or init_storages() first"
            )
        return self.keys, self.hashtables

    def __getstate__(self) -> dict[str, Any]:
        form = self._sketches.form
        return {
            "version": 1,
            "shape": (self.h, self.b, self.r),
            "config": self._config,
            "prepickle": self.prepickle,
            "batch_size": self._batch_size,
            "form": None if form is None else form.state,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_version(state, "AsyncMinHashLSH", 1)
        self.h, self.b, self.r = state["shape"]
        self._config = state["config"]
        self.prepickle = state["prepickle"]
        self._batch_size = state["batch_size"]
        self._make()
        if state["form"] is not None:
            self._sketches.form = Form.of_state(state["form"])

    # ---- writing ----

    async def insert(
        self, key: Any, minhash: Any, check_duplication: bool = True
    ) -> None:
        """Insert a key and the sketch of its set. See `MinHashLSH.insert`.

        Raises
        ------
        ValueError
            If the key is in the index already, or the sketch cannot be compared with those of the
            index.
        TypeError
            If `minhash` is not a sketch, or the key is not bytes and `prepickle` is false.
        """
        await self._insert(key, minhash, check_duplication, False)

    async def _insert(self, key: Any, minhash: Any, check: bool, buffer: bool) -> None:
        keys, _ = self._storages()
        row, form = await self._read(minhash)
        spellings = storable(key, self.prepickle)
        if check and not await self._claim(spellings, buffer):
            raise ValueError(f"The given key already exists: {key!r}")
        if self._sketches.form is not None:  # another task's insertion was the first
            self._sketches.form.check_same(form)
        self._sketches.form = form
        pipe = self._pipeline() if buffer else keys._redis.pipeline(transaction=True)
        self._put(pipe, spellings[0], row, form)
        if not buffer:
            await self._answers(pipe)
        elif len(self._waiting) >= self._batch_size:
            await self._flush()

    async def _claim(self, spellings: tuple[bytes, ...], buffer: bool) -> bool:
        """Store a key and return True; return False if it is in the index already."""
        keys, _ = self._storages()
        stored, *other_spellings = spellings
        if buffer:
            is_new = not await self._there(spellings)
            if is_new:
                self._waiting[stored] = True
            return is_new
        pipe = keys._redis.pipeline(transaction=True)
        for other in other_spellings:
            pipe.hexists(keys._name, other)
        pipe.hsetnx(keys._name, stored, keys.redis_key(stored))
        *are_there, was_new = await self._answers(pipe)
        if was_new and any(are_there):
            await keys._redis.hdel(keys._name, stored)
        return bool(was_new) and not any(are_there)

    def _put(self, pipe: Any, stored: bytes, row: UInt64Array, form: Form) -> None:
        keys, tables = self._storages()
        names = form.buckets_of(row, self.b, self.r)
        keys.put(pipe, stored, *names)
        for table, name in zip(tables, names, strict=True):
            table.put(pipe, name, stored)
        if pipe is self._kept:
            self._waiting[stored] = True

    async def remove(self, key: Any) -> None:
        """Remove a key and all sketches that it was inserted with.

        Raises
        ------
        ValueError
            If there is no such key.
        """
        await self._remove(key, False)

    async def _remove(self, key: Any, buffer: bool) -> None:
        keys, tables = self._storages()
        stored_keys = await self._there(spellings_of(key, self.prepickle))
        if not stored_keys:
            raise ValueError(f"The given key does not exist: {key!r}")
        if any(self._waiting.get(stored) for stored in stored_keys):
            await self._flush()
        self._waiting.update(dict.fromkeys(stored_keys, False))
        async with self._turns:
            lists = await keys.getmany(*stored_keys)
        # Called here, because another task may have sent the previous pipeline.
        pipe = self._pipeline()
        for stored, names in zip(stored_keys, lists, strict=True):
            for place, name in enumerate(names):
                band = place % self.b
                tables[band]._discard(pipe, name, stored)
                self._left.add((band, name))
            keys.drop(pipe, stored)
        if not buffer or len(self._waiting) >= self._batch_size:
            await self._flush()

    def _pipeline(self) -> Any:
        if self._kept is None:
            self._kept = self._storages()[0]._redis.pipeline(transaction=True)
        return self._kept

    async def _flush(self) -> None:
        """Send pending changes, then remove empty buckets."""
        keys, tables = self._storages()
        pipe = self._kept
        self._kept = None
        buckets = list(self._left)
        self._left = set()
        self._waiting.clear()
        if pipe is not None:
            await self._answers(pipe)
        if not buckets:
            return
        pipe = keys._redis.pipeline(transaction=False)
        for band, name in buckets:
            pipe.exists(tables[band].redis_key(name))
        exists = await self._answers(pipe)
        for (band, name), is_present in zip(buckets, exists, strict=True):
            if not is_present:
                tables[band].drop(pipe, name)
        await self._answers(pipe)

    async def _answers(self, pipe: Any) -> list[Any]:
        """Send a pipeline and return the answers, after waiting for its turn."""
        async with self._turns:
            return list(await pipe.execute())

    def insertion_session(
        self, batch_size: int = BATCH_SIZE
    ) -> AsyncMinHashLSHInsertionSession:
        """Return an async context manager that inserts in batches of `batch_size`."""
        return AsyncMinHashLSHInsertionSession(self, batch_size)

    def delete_session(
        self, batch_size: int = BATCH_SIZE
    ) -> AsyncMinHashLSHDeleteSession:
        """Return an async context manager that removes in batches of `batch_size`."""
        return AsyncMinHashLSHDeleteSession(self, batch_size)

    # ---- reading ----

    async def query(self, minhash: Any) -> list[Any]:
        """Return the keys that are likely to be similar, each once.

        Raises
        ------
        ValueError
            If the sketch cannot be compared with the sketches of the index.
        """
        keys, tables = self._storages()
        row, form = await self._read(minhash)
        pipe = keys._redis.pipeline(transaction=False)
        names = form.buckets_of(row, self.b, self.r)
        for table, name in zip(tables, names, strict=True):
            pipe.smembers(table.redis_key(name))
        stored_keys = sorted(set().union(*await self._answers(pipe)))
        if stored_keys and self._sketches.form is None:
            self._sketches.form = form  # the entries found have this form
        return given_keys(stored_keys, self._loads) if self.prepickle else stored_keys

    async def has_key(self, key: Any) -> bool:
        """Return whether a key is in the index."""
        keys, _ = self._storages()
        spellings = spellings_of(key, self.prepickle)
        if self._has_any is not None:
            try:
                async with self._turns:
                    return bool(await self._has_any(keys=(keys._name,), args=spellings))
            except script_refusals():
                self._has_any = None  # the server runs no scripts
        return any(await self._are_on_server(spellings))

    async def is_empty(self) -> bool:
        """Return whether the index has no keys."""
        return not await self._storages()[0].size()

    async def get_counts(self) -> list[dict[bytes, int]]:
        """Return for each band the number of keys in each bucket, by the name of the bucket."""
        return [await table.itemcounts() for table in self._storages()[1]]

    async def get_subset_counts(self, *keys: Any) -> list[dict[bytes, int]]:
        """Return the result of `get_counts`, counting only these keys.

        Keys that are not in the index are ignored.
        """
        counts: list[dict[bytes, int]] = [{} for _ in range(self.b)]
        stored_keys: dict[bytes, None] = {}
        for key in keys:
            stored_keys.update(dict.fromkeys(storable(key, self.prepickle)))
        for names in await self._storages()[0].getmany(*stored_keys):
            places = enumerate(names)
            for band, name in {(place % self.b, name) for place, name in places}:
                counts[band][name] = counts[band].get(name, 0) + 1
        return counts

    # ---- keys and sketches ----

    async def _read(self, minhash: Any) -> tuple[UInt64Array, Form]:
        row, form = self._sketches.read(minhash)
        if self._sketches.form is None:
            table = self._storages()[1][0]
            async with self._turns:
                _, buckets = await table._redis.hscan(table._name, count=1)
            for name in list(buckets)[:1]:
                form.check_width(len(name) // self.r)
        return row, form

    async def _are_on_server(self, spellings: tuple[bytes, ...]) -> list[bool]:
        """Return for each form of a key whether it is on the server."""
        if not spellings:
            return []
        keys, _ = self._storages()
        async with self._turns:
            lists = await keys._redis.hmget(keys._name, spellings)
        return [name is not None for name in lists]

    async def _there(self, spellings: tuple[bytes, ...]) -> list[bytes]:
        """Return the forms of a key that are on the server once all pending changes are sent."""
        present = zip(spellings, await self._are_on_server(spellings), strict=True)
        return [key for key, is_there in present if self._waiting.get(key, is_there)]


def band_number(band: int) -> bytes:
    """Return the number of a band in names on the server: one byte, two for 256 and more."""
    return bytes([band]) if band < 256 else struct.pack(">H", band)


class AsyncLSHSession:
    """The common base of both sessions of an AsyncMinHashLSH."""

    def __init__(self, lsh: AsyncMinHashLSH, batch_size: int) -> None:
        self.lsh = lsh
        self.lsh.batch_size = batch_size

    async def __aexit__(self, kind: object, error: object, traceback: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Send all pending changes."""
        await self.lsh._flush()


class AsyncMinHashLSHInsertionSession(AsyncLSHSession):
    """The asynchronous context manager of `AsyncMinHashLSH.insertion_session`."""

    async def __aenter__(self) -> AsyncMinHashLSHInsertionSession:
        return self

    async def insert(
        self, key: Any, minhash: Any, check_duplication: bool = True
    ) -> None:
        """Insert a key and the sketch of its set. Errors are as in ``AsyncMinHashLSH.insert``."""
        await self.lsh._insert(key, minhash, check_duplication, True)


class AsyncMinHashLSHDeleteSession(AsyncLSHSession):
    """The asynchronous context manager of `AsyncMinHashLSH.delete_session`."""

    async def __aenter__(self) -> AsyncMinHashLSHDeleteSession:
        return self

    async def remove(self, key: Any) -> None:
        """Remove a key; see ``AsyncMinHashLSH.remove`` for errors."""
        await self.lsh._remove(key, True)
