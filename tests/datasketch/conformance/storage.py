"""Calls of datasketch.storage, of an index's keys and hashtables, of BloomTable, and of an index on fakeredis."""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
import uuid
from unittest.mock import patch

import numpy as np

from tests.datasketch.conformance.kit import given

DICT = {"type": "dict"}
REDIS = ("ListStorage", "SetStorage", "Buffer", "Nothing")


# ---- storages ----
def ordered(ds):
    return ds, ds.storage.ordered_storage(DICT)


def unordered(ds):
    return ds, ds.storage.unordered_storage(DICT)


class Calls:
    def insert_and_get(ds, s):
        return (
            s.insert("a", 1, 2, 2),
            s["a"],
            s.get("a"),
            s.get("none"),
            s["none"],
            s.getmany("a", "none"),
        )

    def keys(ds, s):
        return (
            s.insert("a", 1),
            s.insert("b", 2),
            list(s),
            list(s.keys()),
            len(s),
            s.size(),
            "a" in s,
            s.has_key("c"),
        )

    def insert_twice(ds, s):
        return s.insert("a", 1), s.insert("a", 1, 3), s["a"], s.itemcounts()

    def insert_nothing(ds, s):
        return s.insert("a"), s["a"], len(s)

    def remove(ds, s):
        yield s.insert("a", 1), s.insert("b", 1), s.insert("c", 1), s.remove("a", "b")
        del s["c"]
        yield len(s)

    def remove_what_is_not_there(ds, s):
        return s.remove("a")

    def remove_val(ds, s):
        yield s.insert("a", 1, 2), s.remove_val("a", 1), s["a"]
        yield s.remove_val("a", 2), s["a"], s.itemcounts()

    def remove_val_of_a_stranger(ds, s):
        yield s.insert("a", 1)
        yield s.remove_val("a", 5)

    def remove_val_of_a_strange_key(ds, s):
        return s.remove_val("a", 5)

    def reports(ds, s):
        yield s.insert("a", 1), s.status(), s.buffer_size, s.empty_buffer()
        s.buffer_size = 3
        yield s.buffer_size

    def select_buffer(ds, s):
        return (
            s.insert("a", 1),
            s.add_to_select_buffer(["a", "b"]),
            s.collect_select_buffer(),
        )

    def values_are_the_storages_own(ds, s):
        return s.insert("a", 1), s["a"] is s.get("a")

    def kinds(ds, s):
        yield (
            isinstance(s, ds.storage.Storage),
            isinstance(s, ds.storage.OrderedStorage),
        )
        yield (
            isinstance(s, ds.storage.UnorderedStorage),
            isinstance(s, ds.storage.DictListStorage),
        )

    def pickle(ds, s):
        return (
            s.insert("a", 1),
            pickle.loads(pickle.dumps(s))["a"],
            copy.deepcopy(s)["a"],
        )


MAKING = {
    "by class": lambda ds: (
        ds.storage.DictListStorage(DICT).size(),
        ds.storage.DictSetStorage(None).get("a"),
    ),
    "with a name": lambda ds: len(ds.storage.ordered_storage(DICT, name=b"x")),
    "another type": lambda ds: ds.storage.ordered_storage({"type": "paper"}),
    "no type": lambda ds: ds.storage.unordered_storage({}),
    "abstract": lambda ds: ds.storage.Storage(),
    "names": lambda ds: (
        [hasattr(ds.storage, f"Redis{name}") for name in REDIS]
        + [hasattr(ds.lsh, "WeightedMinHash")]
    ),
    "names of lsh": lambda ds: (
        ds.lsh.MinHash is ds.MinHash,
        ds.lsh.MinHashLSH is ds.MinHashLSH,
    ),
    "storages of lsh": lambda ds: ds.lsh.ordered_storage is ds.storage.ordered_storage,
    "optimal params": lambda ds: [
        ds.lsh._optimal_param(t, 64, 0.5, 0.5) for t in (0.2, 0.5, 0.9)
    ],
}


# ---- an index changed through its storages ----
def bare(ds, **options):
    return ds.MinHashLSH(num_perm=16, params=(4, 4), **options)


def index(ds):
    """Return an index, and the two sketches that it holds."""
    i, a, b = bare(ds), ds.sketch("a", 16), ds.sketch("b", 16)
    i.insert("a", a)
    i.insert("b", b)
    return i, a, b


def without_a(ds):
    """Return the same index without one of its keys, which is taken from its storages."""
    i, a, b = index(ds)
    for table, name in zip(i.hashtables, i.keys["a"], strict=True):
        table.remove_val(name, "a")
        if not table.get(name):
            table.remove(name)
    i.keys.remove("a")
    return i, a, b


CHANGED = {
    "one bucket": lambda i, a, b: (
        i.hashtables[0].insert(i.keys["a"][0], "d"),
        sorted(i.query(a)),
        "d" in i,
    ),
    "buckets removed": lambda i, a, b: (
        [t.remove(*list(t)) for t in i.hashtables],
        i.query(a),
        "a" in i,
        i.is_empty(),
    ),
}
WITHOUT = {
    "keys removed": lambda i, a, b: (
        i.query(a),
        i.query(b),
        "a" in i,
        i.get_counts(),
        len(i.keys),
    ),
    "query buffer": lambda i, a, b: (
        i.add_to_query_buffer(b),
        i.collect_query_buffer(),
    ),
}


class Changed:
    @given(index)
    def keys_inserted(i, a, b):
        names = i.keys["a"]
        yield (
            i.keys.insert("c", *names),
            [t.insert(n, "c") for t, n in zip(i.hashtables, names, strict=True)],
        )
        yield (
            sorted(i.query(a)),
            "c" in i,
            i.remove("c"),
            i.query(a),
            i.get_subset_counts("a"),
        )

    @given(without_a)
    def insertions_after(i, a, b):
        yield i.insert("a", b), sorted(i.query(b))
        yield i.insert("a", b)

    @given(without_a)
    def pickle(i, a, b):
        i = pickle.loads(pickle.dumps(i))
        return i.query(a), i.query(b), i.remove("b"), i.is_empty()

    @given(without_a)
    def deepcopy(i, a, b):
        c = copy.deepcopy(i)
        return c.remove("b"), i.query(b), c.query(b)

    def merge(ds):
        (i, a, b), o = without_a(ds), bare(ds)
        return o.insert("o", a), i.merge(o), i.query(a), o.merge(i), sorted(o.query(b))

    @given(without_a)
    def sessions(i, a, b):
        with i.insertion_session() as s:
            yield s.insert("a", a), s.insert("c", a)
        yield sorted(i.query(a))
        with i.deletion_session() as s:
            yield s.remove("a"), s.remove("b")
        yield i.query(a), i.query(b)

    @given(index)
    def read_changed_read(i, a, b):
        yield (
            i.get_counts(),
            i.remove("a"),
            i.get_counts(),
            i.insert("a", b),
            i.get_counts(),
            i.keys["a"],
        )
        yield (
            sorted(i.hashtables[1].get(i.keys["a"][1])),
            i.keys.itemcounts(),
            [t.size() for t in i.hashtables],
        )


# ---- BloomTable ----
def table(ds, **options):
    t = ds.lsh_bloom.BloomTable(100, 1e-6, 3, **options)
    t.insert([2, 3, 31])
    return t


ON_TABLE = {
    "insert": lambda t: t.insert([2, 3, 31]),
    "query": lambda t: (
        t.query([2, 3, 31]),
        t.query(np.array([2, 3, 30], np.uint32)),
        t.r,
        t.fname,
        t.sync(),
    ),
    "another length": lambda t: t.insert([2, 3]),
    "another length, queried": lambda t: t.query([2, 3]),
}


class Table:
    def by_name(ds):
        t = ds.lsh_bloom.BloomTable(item_count=9, fp=0.1, band_size=2, fname=None)
        return t.insert(hashvalues=[1, 2]), t.query(hashvalues=[1, 2])

    def in_a_file(ds):
        name = os.path.join(tempfile.mkdtemp(), "band")
        yield table(ds, fname=name).sync()
        t = ds.lsh_bloom.BloomTable(100, 1e-6, 3, fname=name)
        yield t.query([2, 3, 31]), t.query([1, 2, 3])

    def of_an_index(ds):
        b, m = ds.MinHashLSHBloom(0.5, 16, 10, 1e-6), ds.sketch("a", 16)
        yield (
            b.insert(m),
            [
                t.query(m.hashvalues[low:high])
                for t, (low, high) in zip(b.hashtables, b.hashranges, strict=True)
            ],
        )
        yield (
            b.hashtables[0].query(m.hashvalues[: b.r] + np.uint32(1)),
            b.hashtables[0].r == b.r,
        )

    def of_an_index_changed(ds):
        b, m = ds.MinHashLSHBloom(0.5, 16, 10, 1e-6), ds.sketch("a", 16)
        return b.hashtables[1].insert(m.hashvalues[b.r : 2 * b.r]), b.query(m)


# ---- fakeredis ----
def on_fake():
    import fakeredis

    return patch("redis.Redis", fakeredis.FakeStrictRedis)


def fake(ds):
    """Return an index on fakeredis, and the two sketches that it holds."""
    config = {
        "type": "redis",
        "redis": {"host": uuid.uuid4().hex, "port": 6379},
        "basename": b"fake",
    }
    with on_fake():
        i = bare(ds, storage_config=config)
    a, b = ds.sketch("a", 16), ds.sketch("b", 16)
    i.insert("a", a)
    i.insert("b", b)
    return i, a, b


ON_FAKE = {
    "query": lambda i, a, b: (i.query(a), i.query(b), "a" in i, "c" in i, i.is_empty()),
    "counts": lambda i, a, b: (i.get_counts(), i.get_subset_counts("a")),
    "a key twice": lambda i, a, b: i.insert("a", a),
    "another key": lambda i, a, b: i.insert("c", a),
    "remove": lambda i, a, b: (
        i.remove("a"),
        i.query(a),
        i.get_counts(),
        i.remove("b"),
        i.is_empty(),
    ),
    "tables of nothing": lambda i, a, b: (
        i.remove("a"),
        i.remove("b"),
        [len(t) for t in i.hashtables],
    ),
    "remove what is not there": lambda i, a, b: i.remove("c"),
    "query buffer": lambda i, a, b: (
        i.add_to_query_buffer(a),
        i.collect_query_buffer(),
    ),
}


class Fake:
    @given(fake)
    def sessions(i, a, b):
        with on_fake(), i.insertion_session(buffer_size=3) as s:
            yield s.insert("c", a), s.insert("d", b)
        yield sorted(i.query(a))
        with on_fake(), i.deletion_session() as s:
            yield s.remove("a"), s.remove("d")
        yield sorted(i.query(a)), i.query(b)

    @given(fake)
    def keys_and_tables(i, a, b):
        yield (
            i.keys.keys(),
            i.keys.status()["keyspace_size"],
            i.keys.redis_keys(),
            i.keys[pickle.dumps("a")],
        )
        yield (
            i.hashtables[0].itemcounts(),
            [sorted(i.hashtables[1][name]) for name in i.hashtables[1]],
        )
        yield i.keys.redis_key(b"x")

    @given(fake)
    def changed(i, a, b):
        yield (
            i.keys.insert(b"x", b"y", b"z"),
            i.keys[b"x"],
            i.keys.remove(b"x"),
            i.keys[b"x"],
        )
        yield (
            i.hashtables[0].insert(b"x", b"y"),
            i.hashtables[0].remove_val(b"x", b"y"),
            i.hashtables[0].get(b"x"),
        )

    @given(fake)
    def buffered(i, a, b):
        yield i.keys.insert(b"x", b"y", buffer=True), i.keys[b"x"]
        with on_fake():
            i.keys.empty_buffer()
        yield i.keys[b"x"]

    def merge(ds):
        (i, a, _), o = fake(ds), bare(ds, prepickle=True)
        return o.insert("o", a), i.merge(o), sorted(i.query(a))


GROUPS = {
    "ordered_storage": (given(ordered)(Calls),),
    "unordered_storage": (given(unordered)(Calls),),
    "storages": (MAKING,),
    "an index changed through its storages": (
        given(index)(CHANGED),
        given(without_a)(WITHOUT),
        Changed,
    ),
    "BloomTable": (given(table)(ON_TABLE), Table),
    "MinHashLSH on fakeredis": (given(fake)(ON_FAKE), Fake),
}
