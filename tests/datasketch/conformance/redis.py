"""Calls of MinHashLSH and AsyncMinHashLSH on a Redis server.

`config` is the storage, under a name of its own for each run.
"""

from __future__ import annotations

NEAR = "def near(n, **o):\n    return sketch(count(40 - n, 80 - n), **{'num_perm': 64, **o})\n"
NEW = NEAR + "index = MinHashLSH(0.5, 64, storage_config=config)\n"
INDEX = NEW + "for n in (40, 38, 35, 20, 0): index.insert(f'n{n}', near(n))\n"

ENSEMBLE = (
    "entries = [(f's{n}', sketch(count(0, n), num_perm=64), n) for n in (5, 6, 20, 21, 80, 90, 320)]\n"
    "e = MinHashLSHEnsemble(0.5, 64, 3, 4, storage_config=config); e.index(list(entries))\n"
)

ASYNC = NEAR + (
    "import asyncio\nconfig['type'] = 'aioredis'\nNew = AsyncMinHashLSH\n"
    "async def filled(**options):\n"
    "    index = await AsyncMinHashLSH(threshold=0.5, num_perm=64, storage_config=config, **options)\n"
    "    for n in (40, 38, 35, 20, 0): await index.insert(b'n%d' % n, near(n))\n"
    "    return index\n"
    "async def failed(coroutine):\n"
    "    try: return await coroutine\n"
    "    except Exception as error: return type(error).__name__\n"
)


def asynchronous(*lines: str) -> str:
    """Return a case that awaits these expressions one after the other, on an index that holds some keys."""
    calls = ", ".join(lines)
    body = f"    index = await filled()\n    try: return [{calls}]\n    finally: await index.close()\n"
    return f"{ASYNC}async def main():\n{body}asyncio.run(main())"


ASYNC_CASES = {
    "the usual": asynchronous("index.b", "index.r", "index.h", "index.prepickle", "index.batch_size"),
    "query": asynchronous(
        *(f"sorted(await index.query(near({n})))" for n in (40, 38, 20, 0, 7)), "await index.close()"
    ),
    "in": asynchronous("await index.has_key(b'n40')", "await index.has_key('n40')", "await index.is_empty()"),
    "remove": asynchronous(
        "await index.remove(b'n40')", "await failed(index.remove(b'n40'))", "sorted(await index.query(near(40)))"
    ),
    "all removed": asynchronous(
        "[await index.remove(b'n%d' % n) for n in (40, 38, 35, 20, 0)]",
        "await index.is_empty()",
        "[await table.size() for table in index.hashtables]",
        "await index.get_counts()",
    ),
    "a key twice": asynchronous(
        "await failed(index.insert(b'n40', near(0)))", "await index.insert(b'n40', near(0), check_duplication=False)"
    ),
    "counts": asynchronous("await index.get_counts()", "await index.get_subset_counts(b'n40', b'n38')"),
    "keys and tables": asynchronous(
        "sorted(await index.keys.keys())",
        "await index.keys.size()",
        "[sorted(await index.hashtables[i].get(name)) for i, name in enumerate(await index.keys.get((await "
        "index.keys.keys())[0]))]",
        "await index.hashtables[0].itemcounts()",
        "await index.keys.getmany(b'none')",
        "len(await index.hashtables[0].getmany(*await index.hashtables[0].keys()))",
        "await index.keys.has_key(b'none')",
    ),
    "wrong sketches": asynchronous(
        "await failed(index.query(MinHash(63)))", "await failed(index.insert(b'a', near(40, scheme='legacy')))"
    ),
    "opened twice": asynchronous("await index.init_storages()", "await index.close()", "await index.has_key(b'n40')"),
    "sessions": ASYNC
    + (
        "async def main():\n"
        "    async with New(threshold=0.5, num_perm=64, storage_config=config, prepickle=False) as index:\n"
        "        async with index.insertion_session(batch_size=3) as session:\n"
        "            for n in range(10): await session.insert(b'%d' % n, near(n))\n"
        "        found = sorted(await index.query(near(5)))\n"
        "        async with index.delete_session(batch_size=4) as session:\n"
        "            for n in range(8): await session.remove(b'%d' % n)\n"
        "        return index.batch_size, found, sorted(await index.query(near(9))), sorted(await index.keys.keys())\n"
        "asyncio.run(main())"
    ),
    "without prepickle": ASYNC
    + (
        "async def main():\n"
        "    async with New(threshold=0.5, num_perm=64, storage_config=config, prepickle=False) as index:\n"
        "        await index.insert(b'a', near(40))\n"
        "        return [await index.query(near(40)), await failed(index.insert('b', near(40)))]\n"
        "asyncio.run(main())"
    ),
    "pickle": ASYNC
    + (
        "async def main():\n"
        "    index = await filled()\n"
        "    await index.close()\n"
        "    async with pickle.loads(pickle.dumps(index)) as again:\n"
        "        return sorted(await again.query(near(40)))\n"
        "asyncio.run(main())"
    ),
    "by place": ASYNC + "index = New(0.8, 64, (0.2, 0.8), None, config, False); index.b; index.r; index.prepickle",
}

CASES = {
    "AsyncMinHashLSH": ASYNC_CASES,
    "MinHashLSH on Redis": {
        "the usual": NEW + "index.prepickle; index.b; index.r; index.is_empty(); index.query(near(40)); 'a' in index",
        "query": INDEX + "[sorted(index.query(near(n))) for n in (40, 39, 30, 20, 0)]; index.is_empty()",
        "in and remove": INDEX + "'n40' in index; index.remove('n40'); 'n40' in index; sorted(index.query(near(40)))",
        "remove what is not there": INDEX + "index.remove('q')",
        "a key twice": INDEX + "index.insert('n40', near(0))",
        "keys of several kinds": (
            NEW + "for key in (1, 'a', b'b', ('c', 2), None): index.insert(key, near(40))\n"
            "sorted(map(repr, index.query(near(40)))); 1 in index; ('c', 2) in index; '1' in index"
        ),
        "not prepickled": (
            NEAR + "i = MinHashLSH(0.5, 64, storage_config=config, prepickle=False)\n"
            "i.insert(b'a', near(40)); i.query(near(40)); b'a' in i; i.remove(b'a'); i.query(near(40))"
        ),
        "not prepickled, key of text": (
            "MinHashLSH(0.5, 64, storage_config=config, prepickle=False).insert('a', MinHash(64))"
        ),
        "wrong length": INDEX + "index.query(MinHash(63))",
        "wrong scheme": INDEX + "index.query(near(40, scheme='legacy'))",
        "insertion session": NEW + "with index.insertion_session(buffer_size=2) as s:\n"
        "    for n in range(9): s.insert(n, near(n))\nsorted(index.query(near(4)))",
        "deletion session": INDEX + "with index.deletion_session() as s: s.remove('n40'); s.remove('n38')\n"
        "sorted(index.query(near(40)))",
        "insertion session, key twice": NEW
        + "with index.insertion_session() as s: s.insert(1, near(4)); s.insert(1, near(4))",
        "deletion session, key twice": INDEX + "with index.deletion_session() as s: s.remove('n40'); s.remove('n40')",
        "not prepickled, asked for text": (
            NEAR + "i = MinHashLSH(0.5, 64, storage_config=config, prepickle=False); i.insert(b'a', near(40)); 'a' in i"
        ),
        "merged into memory, with a hashfunc": (
            NEAR + "i = MinHashLSH(0.5, 64, storage_config=config, prepickle=False, hashfunc=lambda name: name[:4])\n"
            "i.insert(b'a', near(40)); j = MinHashLSH(0.5, 64); j.merge(i)"
        ),
        "query buffer": INDEX + "index.add_to_query_buffer(near(40)); sorted(index.collect_query_buffer())",
        "query buffer of two": INDEX + "index.add_to_query_buffer(near(40)); index.add_to_query_buffer(near(38)); "
        "sorted(index.collect_query_buffer())",
        "counts": INDEX + "[sorted(c.values()) for c in index.get_counts()]",
        "subset counts": INDEX + "[sorted(c.values()) for c in index.get_subset_counts('n40', 'n0')]",
        "pickle": INDEX + "i = pickle.loads(pickle.dumps(index)); sorted(i.query(near(40))); "
        "i.insert('new', near(0)); 'new' in index",
        "opened again": INDEX
        + "i = MinHashLSH(0.5, 64, storage_config=config); sorted(i.query(near(40))); 'n40' in i; "
        "i.remove('n40'); 'n40' in index",
        "merge of one in memory": INDEX
        + "o = MinHashLSH(0.5, 64, prepickle=True); o.insert('o', near(39)); index.merge(o); "
        "sorted(index.query(near(40)))",
        "without a server's address": "MinHashLSH(0.5, 16, storage_config={'type': 'redis'})",
        "an address where nobody is": (
            "from redis import backoff, retry\nonce = retry.Retry(backoff.NoBackoff(), 0)\n"
            "away = {'type': 'redis', 'redis': {'host': '127.0.0.1', 'port': 1, 'retry': once}}\n"
            "MinHashLSH(0.5, 16, storage_config=away).query(MinHash(16))"
        ),
        "ensemble": ENSEMBLE
        + "'s5' in e; 'q' in e; e.is_empty(); e.lowers; e.uppers; [[(i.b, i.r, i.prepickle) for i in "
        "part.values()] for part in e.indexes]; [sorted(e.query(m, size)) for _, m, size in entries]",
        "ensemble indexed twice": ENSEMBLE + "e.index(entries)",
        "ensemble without entries": (
            "e = MinHashLSHEnsemble(0.8, 16, 2, 2, storage_config=config)\n"
            "e.is_empty(); 'a' in e; list(e.query(MinHash(16), 2)); e.index([])"
        ),
        "ensemble pickled": ENSEMBLE + "f = pickle.loads(pickle.dumps(e)); 's5' in f; f.uppers; "
        "[sorted(f.query(m, size)) for _, m, size in entries]",
        "ensemble not prepickled": (
            "e = MinHashLSHEnsemble(0.8, 16, 2, 2, storage_config=config, prepickle=False)\n"
            "e.index([(b'a', sketch('a b', num_perm=16), 2)]); b'a' in e; list(e.query(sketch('a b', num_perm=16), 2))"
        ),
        "ensemble opened again": ENSEMBLE + "f = MinHashLSHEnsemble(0.5, 64, 3, 4, storage_config=config); 's5' in f; "
        "f.is_empty(); [sorted(f.query(m, size)) for _, m, size in entries]",
    },
}
