"""What benchmarks/public_methods.py measures of MinHashLSH and AsyncMinHashLSH on a Redis server, if there is one."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import pickle
import shutil
from collections.abc import Callable
from functools import cache
from typing import Any

from contest import PERMUTATIONS, THRESHOLD
from datasketch_lsh import server
from public_methods import Call, Method
from public_methods_lsh import sketches

ENTRIES = 500
fresh = itertools.count()


@cache
def port() -> int:
    running = server()
    found = running.__enter__()
    atexit.register(running.__exit__, None, None, None)
    return found


def config(kind: str) -> dict[str, Any]:
    name = b"public-%d" % next(fresh)
    return {
        "type": kind,
        "basename": name,
        "redis": {"host": "127.0.0.1", "port": port()},
    }


def new(library: Any) -> Any:
    return library.MinHashLSH(
        threshold=THRESHOLD, num_perm=PERMUTATIONS, storage_config=config("redis")
    )


def filled(library: Any) -> Any:
    lsh = new(library)
    with lsh.insertion_session() as session:
        for number, sketch in enumerate(sketches(library, ENTRIES)):
            session.insert(f"key {number}", sketch)
    return lsh


index = cache(filled)


def on(call: Callable[[Any, Any], object]) -> Callable[[Any], Call]:
    """Prepare a call on an index that it leaves as it was, and one of the sketches."""

    def prepare(library: Any) -> Call:
        lsh, sketch = index(library), sketches(library, ENTRIES)[7]
        return lambda: call(lsh, sketch)

    return prepare


def replaced(lsh: Any, sketch: Any) -> None:
    lsh.remove("key 7")
    lsh.insert("key 7", sketch)


def in_session(library: Any) -> Call:
    lsh, made = new(library), sketches(library, ENTRIES)

    def call() -> None:
        with lsh.insertion_session() as session:
            for key, sketch in enumerate(made):
                session.insert(key, sketch)

    return call


def removed_in_session(library: Any) -> Call:
    lsh = filled(library)

    def call() -> None:
        with lsh.deletion_session() as session:
            for number in range(ENTRIES):
                session.remove(f"key {number}")

    return call


def merged(library: Any) -> Call:
    lsh = new(library)
    other = library.MinHashLSH(
        threshold=THRESHOLD, num_perm=PERMUTATIONS, prepickle=True
    )
    for number, sketch in enumerate(sketches(library, ENTRIES)):
        other.insert(f"key {number}", sketch)
    return lambda: lsh.merge(other)


def asynchronous(call: Callable[[Any, Any, list[Any]], Any]) -> Callable[[Any], Call]:
    """Prepare a call of a coroutine function on an index, an event loop's run and one of the sketches."""

    def prepare(library: Any) -> Call:
        made = sketches(library, ENTRIES)
        loop = asyncio.new_event_loop()
        lsh = library.AsyncMinHashLSH(
            THRESHOLD, PERMUTATIONS, storage_config=config("aioredis")
        )
        loop.run_until_complete(lsh.init_storages())
        loop.run_until_complete(fill(lsh, made))
        return lambda: loop.run_until_complete(call(lsh, made[7], made))

    return prepare


async def fill(lsh: Any, made: list[Any]) -> None:
    async with lsh.insertion_session() as session:
        for number, sketch in enumerate(made):
            await session.insert(f"key {number}", sketch)


async def replace(lsh: Any, sketch: Any, made: list[Any]) -> None:
    await lsh.remove("key 7")
    await lsh.insert("key 7", sketch)


async def ask_together(lsh: Any, sketch: Any, made: list[Any]) -> None:
    await asyncio.gather(*map(lsh.query, made[:32]))


def methods() -> list[Method]:
    if not shutil.which("redis-server"):
        return []
    key = pickle.dumps("key 7")
    return [
        Method("Redis: remove and insert", on(replaced)),
        Method("Redis: query", on(lambda lsh, sketch: lsh.query(sketch))),
        Method("Redis: in", on(lambda lsh, sketch: "key 7" in lsh)),
        Method("Redis: is_empty", on(lambda lsh, sketch: lsh.is_empty())),
        Method("Redis: get_counts", on(lambda lsh, sketch: lsh.get_counts())),
        Method(
            "Redis: get_subset_counts",
            on(lambda lsh, sketch: lsh.get_subset_counts("key 1", "key 7")),
        ),
        Method("Redis: keys[key]", on(lambda lsh, sketch: lsh.keys[key])),
        Method("Redis: key in keys", on(lambda lsh, sketch: key in lsh.keys)),
        Method("Redis: list(keys)", on(lambda lsh, sketch: list(lsh.keys))),
        Method(
            "Redis: keys.getmany", on(lambda lsh, sketch: lsh.keys.getmany(key, key))
        ),
        Method(
            "Redis: hashtables[0].itemcounts",
            on(lambda lsh, sketch: lsh.hashtables[0].itemcounts()),
        ),
        Method(
            "Redis: hashtables[0].size",
            on(lambda lsh, sketch: lsh.hashtables[0].size()),
        ),
        Method("Redis: insertion_session", in_session, once=True),
        Method("Redis: deletion_session", removed_in_session, once=True),
        Method("Redis: merge of an index in memory", merged, once=True),
        Method("AsyncMinHashLSH.insert and remove", asynchronous(replace)),
        Method(
            "AsyncMinHashLSH.query",
            asynchronous(lambda lsh, sketch, made: lsh.query(sketch)),
        ),
        Method("AsyncMinHashLSH.query, 32 at once", asynchronous(ask_together)),
        Method(
            "AsyncMinHashLSH.has_key",
            asynchronous(lambda lsh, sketch, made: lsh.has_key("key 7")),
        ),
        Method(
            "AsyncMinHashLSH.get_counts",
            asynchronous(lambda lsh, sketch, made: lsh.get_counts()),
        ),
        Method(
            "AsyncMinHashLSH.get_subset_counts",
            asynchronous(lambda lsh, _, made: lsh.get_subset_counts("key 7")),
        ),
    ]
