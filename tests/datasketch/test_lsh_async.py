"""AsyncMinHashLSH: beside a model and beside datasketch on the same server, concurrent calls, protocols, errors."""

from __future__ import annotations

import asyncio
import itertools
import pickle
from unittest.mock import patch

import fakeredis
import numpy as np
import pytest

from lshfast import FormatError
from lshfast.datasketch import AsyncMinHashLSH, LeanMinHash, MinHash, MinHashLSH
from lshfast.datasketch.aio.storage import (
    async_ordered_storage,
    async_unordered_storage,
)
from tests.datasketch.test_lsh import HOSTILE_KEYS, near
from tests.index.redis_server import needs_redis, redis_server

__all__ = ["redis_server"]  # a fixture

fresh = itertools.count()


@pytest.fixture
def config(redis_server):
    name = b"async-%d" % next(fresh)
    return {
        "type": "aioredis",
        "basename": name,
        "redis": {"host": "127.0.0.1", "port": redis_server.port},
    }


def opened(config, **options):
    return AsyncMinHashLSH(threshold=0.5, num_perm=64, storage_config=config, **options)


async def filled(index, keys):
    for n in keys:
        await index.insert(n, near(n))


@pytest.mark.slow
@needs_redis
def test_beside_an_index_in_memory(config):
    async def main():
        model, rng, alive = MinHashLSH(0.5, 64), np.random.default_rng(3), set()
        async with opened(config) as index:
            for step in range(120):
                n = int(rng.integers(0, 60))
                if n in alive:
                    await index.remove(n)
                    model.remove(n)
                else:
                    await index.insert(n, near(n))
                    model.insert(n, near(n))
                alive ^= {n}
                assert sorted(await index.query(near(n))) == sorted(
                    model.query(near(n))
                )
                if step % 20 == 0:
                    assert await index.get_counts() == model.get_counts()
                    assert await index.get_subset_counts(
                        n, 7
                    ) == model.get_subset_counts(n, 7)
            for n in alive:
                await index.remove(n)
            assert await index.is_empty()
            assert [await table.size() for table in index.hashtables] == [0] * index.b

    asyncio.run(main())


@needs_redis
def test_queries_refuse_keys_that_take_time_or_memory(redis_server, config):
    async def main():
        async with opened(config) as index:
            await index.insert("good", near(40))
            with redis_server.client() as client:
                for name in client.scan_iter(config["basename"] + b"*", count=1000):
                    if client.type(name) == b"set":
                        client.sadd(name, HOSTILE_KEYS["a tuple of pairs of pairs"])
            with pytest.raises(FormatError, match="the stored key b'"):
                await index.query(near(40))

    asyncio.run(main())


@pytest.mark.slow
@needs_redis
def test_many_calls_at_once(config):
    async def main():
        async with opened(config) as index:
            await asyncio.gather(*(index.insert(n, near(n)) for n in range(100)))
            answers = await asyncio.gather(*(index.query(near(n)) for n in range(100)))
            assert all(n in found for n, found in enumerate(answers))
            results = await asyncio.gather(
                *(index.insert("x", near(1)) for _ in range(20)), return_exceptions=True
            )
            # One of twenty inserted the key.
            assert sum(result is None for result in results) == 1
            assert all(isinstance(result, ValueError | None) for result in results)
            await asyncio.gather(*(index.remove(n) for n in [*range(100), "x"]))
            assert await index.is_empty()
            assert [await table.size() for table in index.hashtables] == [0] * index.b

    asyncio.run(main())


@needs_redis
def test_sessions(config):
    async def main():
        async with opened(config) as index, opened(config) as other:
            async with index.insertion_session(batch_size=4) as session:
                for n in range(6):
                    await session.insert(n, near(n))
                with pytest.raises(ValueError, match="already exists: 5"):
                    await session.insert(5, near(5))
                assert await other.keys.size() == 4
            assert await other.keys.size() == 6
            async with index.delete_session(batch_size=100) as session:
                for n in range(5):
                    await session.remove(n)
                with pytest.raises(ValueError, match="does not exist: 4"):
                    await session.remove(4)
                assert await other.has_key(4)
            assert not await other.has_key(4)
            assert [await table.size() for table in index.hashtables] == [1] * index.b
            async with index.insertion_session() as session:
                await session.insert("new", near(7))
                await index.remove("new")
            assert not await other.has_key("new")

    asyncio.run(main())


@needs_redis
def test_keys_of_another_protocol(config):
    async def main():
        async with opened(config, prepickle=False) as raw, opened(config) as index:
            for protocol in (3, 4, 5):
                await raw.insert(pickle.dumps("a", protocol), near(40))
            assert await index.query(near(40)) == ["a"]
            with pytest.raises(ValueError, match="already exists: 'a'"):
                await index.insert("a", near(40))
            await index.remove("a")
            assert await index.is_empty()

    asyncio.run(main())


@needs_redis
def test_entries_are_shared_with_datasketch(config):
    peer = pytest.importorskip("datasketch")

    def sketch(n):
        return peer.LeanMinHash(
            seed=1, hashvalues=near(n).hashvalues, scheme="affine32"
        )

    async def main():
        options = {"num_perm": 64, "params": (4, 16), "storage_config": config}
        async with (
            AsyncMinHashLSH(**options) as ours,
            peer.AsyncMinHashLSH(**options) as theirs,
        ):
            for n in range(0, 40, 2):
                await ours.insert(n, near(n))
                await theirs.insert(n + 1, sketch(n + 1))
            for n in (3, 20, 31):
                found = sorted(await ours.query(near(n)))
                assert found
                assert found == sorted(await theirs.query(sketch(n)))
            assert await ours.get_counts() == await theirs.get_counts()
            for n in range(40):
                await (theirs if n % 4 < 2 else ours).remove(n)
            assert await ours.is_empty()

    asyncio.run(main())


@needs_redis
def test_more_bands_than_a_byte_counts(config):
    async def main():
        async with AsyncMinHashLSH(
            num_perm=300, params=(300, 1), storage_config=config
        ) as index:
            await index.insert("a", near(40, num_perm=300))
            assert await index.query(near(40, num_perm=300)) == ["a"]
            assert [await table.size() for table in index.hashtables] == [1] * 300

    asyncio.run(main())


@needs_redis
def test_another_width_and_scheme_are_refused(config):
    async def main():
        async with opened(config) as index:
            await index.insert("a", near(40, scheme="affine64"))
        async with opened(config) as index:
            with pytest.raises(ValueError, match="bytes a slot"):
                await index.query(near(40))
            assert await index.query(near(40, scheme="affine64")) == ["a"]
            with pytest.raises(ValueError, match="scheme"):
                await index.insert("b", near(40))
        async with pickle.loads(pickle.dumps(index)) as again:
            assert await again.has_key("a")
            with pytest.raises(ValueError, match="scheme"):
                await again.query(near(40))

    asyncio.run(main())


@needs_redis
def test_empty_sets_find_each_other(config):
    async def main():
        async with opened(config) as index:
            await index.insert("empty", MinHash(64))
            assert await index.query(MinHash(64)) == ["empty"]
            assert await index.has_key("empty")
            await index.remove("empty")
            assert await index.is_empty()

    asyncio.run(main())


def test_on_a_stand_in():
    async def main():
        server = fakeredis.FakeServer()
        with patch(
            "redis.asyncio.Redis",
            lambda **options: fakeredis.FakeAsyncRedis(server=server),
        ):
            async with opened(
                {"type": "aioredis", "redis": {"host": "localhost"}}
            ) as index:
                await filled(index, [40, 38, 20])
                assert sorted(await index.query(LeanMinHash(near(40)))) == [38, 40]
                assert await index.has_key(40)
                assert not await index.has_key(41)
                await index.remove(40)
                assert await index.query(near(40)) == [38]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"storage_config": None},
            ValueError,
            r"Unknown storage type: None .*\"aioredis\"",
        ),
        (
            {"storage_config": {"type": "aiomongo"}},
            ValueError,
            r"Unknown storage type: aiomongo .*\"aioredis\"",
        ),
        (
            {"storage_config": {"type": "aioredis", "basename": "text"}},
            TypeError,
            "basename must be bytes",
        ),
        ({"num_perm": 1}, ValueError, "num_perm must be at least 2"),
        ({"threshold": 2}, ValueError, "threshold"),
        ({"params": (5, 50)}, ValueError, "need b x r = 250 slots"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        asyncio.run(
            AsyncMinHashLSH(
                **{"storage_config": {"type": "aioredis"}, **options}
            ).init_storages()
        )


def test_calls_before_it_is_open_say_so():
    index = opened({"type": "aioredis", "redis": {}})
    assert index.keys is None
    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(index.query(near(40)))
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        index.insertion_session(0)
    with pytest.raises(KeyError, match="storage_config needs"):
        asyncio.run(opened({"type": "aioredis"}).init_storages())


@needs_redis
def test_keys_that_are_not_pickled(config):
    async def main():
        async with opened(config, prepickle=False) as index:
            await index.insert(b"a", near(40))
            assert await index.query(near(40)) == [b"a"]
            assert not await index.has_key("a")
            with pytest.raises(TypeError, match="encode them, or use prepickle=True"):
                await index.insert("b", near(40))
            with pytest.raises(ValueError, match="does not exist: 'a'"):
                await index.remove("a")

    asyncio.run(main())


@needs_redis
@pytest.mark.parametrize("make", [async_ordered_storage, async_unordered_storage])
def test_storages(config, make):
    async def main():
        storage = make(config, name=b"storage-%d" % next(fresh))
        kind = list if make is async_ordered_storage else set
        await storage.insert(b"a", b"1", b"2")
        await storage.insert(b"b", b"3", buffer=True)
        assert await storage.keys() == [b"a"]
        await storage.empty_buffer()
        assert sorted(await storage.keys()) == [b"a", b"b"]
        await storage.remove_val(b"a", b"1")
        assert await storage.getmany(b"a", b"none") == [kind([b"2"]), kind()]
        assert await storage.itemcounts() == {b"a": 1, b"b": 1}
        assert (await storage.status())["keyspace_size"] == 2
        await storage.remove(b"a", b"b")
        assert await storage.size() == 0
        await storage.close()

    asyncio.run(main())
