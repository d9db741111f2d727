"""Calls of MinHashLSH and AsyncMinHashLSH on a Redis server."""

from __future__ import annotations

import pickle
from typing import ClassVar

from tests.datasketch.conformance.kit import each


def opened(ds, **options):
    """Return an AsyncMinHashLSH, which is to be entered or awaited."""
    return ds.AsyncMinHashLSH(
        threshold=0.5,
        num_perm=64,
        storage_config={**ds.config, "type": "aioredis"},
        **options,
    )


async def fill(ds, index):
    for n in (40, 38, 35, 20, 0):
        await index.insert(b"n%d" % n, ds.near(n))


async def failed(coroutine):
    """Return what a coroutine gives, or the name of its exception."""
    try:
        return await coroutine
    except Exception as error:
        return type(error).__name__


def on_filled(function):
    """Make a case of a function of the library and an index that holds some keys."""

    async def case(ds):
        async with opened(ds) as index:
            await fill(ds, index)
            return await function(ds, index)

    return case


class Async:
    @on_filled
    async def the_usual(ds, index):
        return index.b, index.r, index.h, index.prepickle, index.batch_size

    @on_filled
    async def query(ds, index):
        return [
            sorted(await index.query(ds.near(n))) for n in (40, 38, 20, 0, 7)
        ], await index.close()

    @on_filled
    async def contains(ds, index):
        return (
            await index.has_key(b"n40"),
            await index.has_key("n40"),
            await index.is_empty(),
        )

    @on_filled
    async def remove(ds, index):
        again = await index.remove(b"n40"), await failed(index.remove(b"n40"))
        return again, sorted(await index.query(ds.near(40)))

    @on_filled
    async def all_removed(ds, index):
        removed = (
            [await index.remove(b"n%d" % n) for n in (40, 38, 35, 20, 0)],
            await index.is_empty(),
        )
        return (
            removed,
            [await table.size() for table in index.hashtables],
            await index.get_counts(),
        )

    @on_filled
    async def a_key_twice(ds, index):
        again = await failed(index.insert(b"n40", ds.near(0)))
        return again, await index.insert(b"n40", ds.near(0), check_duplication=False)

    @on_filled
    async def counts(ds, index):
        return await index.get_counts(), await index.get_subset_counts(b"n40", b"n38")

    @on_filled
    async def keys_and_tables(ds, index):
        keys, first = await index.keys.keys(), index.hashtables[0]
        names = await index.keys.get(keys[0])
        return (
            *(sorted(keys), await index.keys.size()),
            [
                sorted(await table.get(name))
                for table, name in zip(index.hashtables, names, strict=False)
            ],
            *(await first.itemcounts(), await index.keys.getmany(b"none")),
            *(
                len(await first.getmany(*await first.keys())),
                await index.keys.has_key(b"none"),
            ),
        )

    @on_filled
    async def wrong_sketches(ds, index):
        queried = await failed(index.query(ds.MinHash(63)))
        return queried, await failed(index.insert(b"a", ds.near(40, scheme="legacy")))

    @on_filled
    async def opened_twice(ds, index):
        return (
            await index.init_storages(),
            await index.close(),
            await index.has_key(b"n40"),
        )

    async def sessions(ds):
        async with opened(ds, prepickle=False) as index:
            async with index.insertion_session(batch_size=3) as session:
                for n in range(10):
                    await session.insert(b"%d" % n, ds.near(n))
            found = sorted(await index.query(ds.near(5)))
            async with index.delete_session(batch_size=4) as session:
                for n in range(8):
                    await session.remove(b"%d" % n)
            return (
                index.batch_size,
                found,
                sorted(await index.query(ds.near(9))),
                sorted(await index.keys.keys()),
            )

    async def without_prepickle(ds):
        async with opened(ds, prepickle=False) as index:
            await index.insert(b"a", ds.near(40))
            return await index.query(ds.near(40)), await failed(
                index.insert("b", ds.near(40))
            )

    async def pickle(ds):
        index = await opened(ds)
        await fill(ds, index)
        await index.close()
        async with pickle.loads(pickle.dumps(index)) as again:
            return sorted(await again.query(ds.near(40)))

    def by_place(ds):
        index = ds.AsyncMinHashLSH(
            0.8, 64, (0.2, 0.8), None, {**ds.config, "type": "aioredis"}, False
        )
        return index.b, index.r, index.prepickle


def bare(ds, **options):
    """Return an index whose keys are bytes."""
    return ds.MinHashLSH(0.5, 64, storage_config=ds.config, prepickle=False, **options)


class Index:
    calls: ClassVar = {
        "query": lambda ds: (
            [ds.found(n) for n in (40, 39, 30, 20, 0)],
            ds.index.is_empty(),
        ),
        "remove what is not there": lambda ds: ds.index.remove("q"),
        "a key twice": lambda ds: ds.index.insert("n40", ds.near(0)),
        "not prepickled, key of text": lambda ds: bare(ds).insert("a", ds.MinHash(64)),
        "wrong length": lambda ds: ds.index.query(ds.MinHash(63)),
        "wrong scheme": lambda ds: ds.index.query(ds.near(40, scheme="legacy")),
        "query buffer": lambda ds: (
            ds.index.add_to_query_buffer(ds.near(40)),
            sorted(ds.index.collect_query_buffer()),
        ),
        "counts": lambda ds: [sorted(c.values()) for c in ds.index.get_counts()],
        "subset counts": lambda ds: [
            sorted(c.values()) for c in ds.index.get_subset_counts("n40", "n0")
        ],
        "without a server's address": lambda ds: ds.MinHashLSH(
            0.5, 16, storage_config={"type": "redis"}
        ),
    }

    def the_usual(ds):
        i = ds.empty
        return i.prepickle, i.b, i.r, i.is_empty(), i.query(ds.near(40)), "a" in i

    def contains_and_remove(ds):
        return (
            "n40" in ds.index,
            ds.index.remove("n40"),
            "n40" in ds.index,
            ds.found(40),
        )

    def keys_of_several_kinds(ds):
        i = ds.empty
        for key in (1, "a", b"b", ("c", 2), None):
            i.insert(key, ds.near(40))
        return sorted(map(repr, i.query(ds.near(40)))), 1 in i, ("c", 2) in i, "1" in i

    def not_prepickled(ds):
        i = bare(ds)
        return (
            i.insert(b"a", ds.near(40)),
            i.query(ds.near(40)),
            b"a" in i,
            i.remove(b"a"),
            i.query(ds.near(40)),
        )

    def insertion_session(ds):
        with ds.empty.insertion_session(buffer_size=2) as s:
            for n in range(9):
                s.insert(n, ds.near(n))
        return sorted(ds.empty.query(ds.near(4)))

    @each("deletion session{}", {"": ["n40", "n38"], ", key twice": ["n40", "n40"]})
    def deletion_session(ds, keys):
        with ds.index.deletion_session() as s:
            for key in keys:
                s.remove(key)
        return ds.found(40)

    def insertion_session_key_twice(ds):
        with ds.empty.insertion_session() as s:
            s.insert(1, ds.near(4))
            s.insert(1, ds.near(4))

    def not_prepickled_asked_for_text(ds):
        i = bare(ds)
        yield i.insert(b"a", ds.near(40))
        yield "a" in i

    def merged_into_memory_with_a_hashfunc(ds):
        i = bare(ds, hashfunc=lambda name: name[:4])
        yield i.insert(b"a", ds.near(40))
        yield ds.MinHashLSH(0.5, 64).merge(i)

    def query_buffer_of_two(ds):
        i = ds.index
        return (
            i.add_to_query_buffer(ds.near(40)),
            i.add_to_query_buffer(ds.near(38)),
            sorted(i.collect_query_buffer()),
        )

    def pickle(ds):
        i = pickle.loads(pickle.dumps(ds.index))
        return (
            sorted(i.query(ds.near(40))),
            i.insert("new", ds.near(0)),
            "new" in ds.index,
        )

    def opened_again(ds):
        before, i = ds.index, ds.MinHashLSH(0.5, 64, storage_config=ds.config)
        return (
            sorted(i.query(ds.near(40))),
            "n40" in i,
            i.remove("n40"),
            "n40" in before,
        )

    def merge_of_one_in_memory(ds):
        o = ds.MinHashLSH(0.5, 64, prepickle=True)
        return o.insert("o", ds.near(39)), ds.index.merge(o), ds.found(40)

    def an_address_where_nobody_is(ds):
        from redis import backoff, retry

        once = retry.Retry(backoff.NoBackoff(), 0)
        away = {
            "type": "redis",
            "redis": {"host": "127.0.0.1", "port": 1, "retry": once},
        }
        return ds.MinHashLSH(0.5, 16, storage_config=away).query(ds.MinHash(16))


def ensemble(ds):
    return ds.MinHashLSHEnsemble(0.5, 64, 3, 4, storage_config=ds.config)


def entries(ds):
    return [(f"s{n}", ds.sketch(range(n), 64), n) for n in (5, 6, 20, 21, 80, 90, 320)]


def filled(ds):
    e = ensemble(ds)
    e.index(entries(ds))
    return e


def answers(ds, e):
    return [sorted(e.query(m, size)) for _, m, size in entries(ds)]


class Ensemble:
    def ensemble(ds):
        e = filled(ds)
        yield "s5" in e, "q" in e, e.is_empty(), e.lowers, e.uppers, answers(ds, e)
        yield [[(i.b, i.r, i.prepickle) for i in part.values()] for part in e.indexes]

    def indexed_twice(ds):
        return filled(ds).index(entries(ds))

    def without_entries(ds):
        e = ensemble(ds)
        yield e.is_empty(), "a" in e, list(e.query(ds.MinHash(64), 2))
        yield e.index([])

    def pickled(ds):
        e = pickle.loads(pickle.dumps(filled(ds)))
        return "s5" in e, e.uppers, answers(ds, e)

    def not_prepickled(ds):
        e = ds.MinHashLSHEnsemble(
            0.8, 16, 2, 2, storage_config=ds.config, prepickle=False
        )
        m = ds.sketch("a b", 16)
        return e.index([(b"a", m, 2)]), b"a" in e, list(e.query(m, 2))

    def opened_again(ds):
        filled(ds)
        e = ensemble(ds)
        return "s5" in e, e.is_empty(), answers(ds, e)


GROUPS = {
    "AsyncMinHashLSH": (Async,),
    "MinHashLSH on Redis": (Index,),
    "MinHashLSHEnsemble on Redis": (Ensemble,),
}
