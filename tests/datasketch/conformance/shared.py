"""Calls that several classes share, and rare uses."""

from __future__ import annotations

import copy
import pickle
import tempfile

import numpy as np

from tests.datasketch.conformance.kit import attempt, each, given, half


def again(made):
    return pickle.loads(pickle.dumps(made))


def kind(made):
    return type(made).__name__


def having(made, **attributes):
    """Set attributes of an object, and return it."""
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def small(ds, **options):
    return ds.MinHashLSH(0.5, 16, **options)


def one(ds):
    """Return an index that holds a sketch under the key a."""
    i = small(ds)
    i.insert("a", ds.sketch("a", 16))
    return i


def own(ds):
    """Return a MinHash of a class of the user's own, and a LeanMinHash of another."""
    m = type("Mine", (ds.MinHash,), {})(8)
    m.update(b"a")
    return m, type("Lean", (ds.LeanMinHash,), {})(m)


OWN = {
    "copy": lambda m, lean: kind(m.copy()),
    "bulk": lambda m, lean: [
        kind(found) for found in type(m).bulk([[b"a"], [b"b"]], num_perm=8)
    ],
    "generator": lambda m, lean: [
        kind(found) for found in type(m).generator([[b"a"]], num_perm=8)
    ],
    "attributes": lambda m, lean: having(m, label="x").copy().label,
    "lean copy": lambda m, lean: kind(lean.copy()),
    "lean union": lambda m, lean: kind(type(lean).union(lean, lean)),
    "lean deserialize": lambda m, lean: (
        data := bytearray(lean.bytesize()),
        lean.serialize(data),
        kind(type(lean).deserialize(data)),
    ),
}


class OwnAlike:
    @given(own)
    def union(m, lean):
        return kind(type(m).union(m, m))

    def with_a_constructor_of_its_own(ds):
        class Named(ds.MinHashLSH):
            def __init__(self, name, **options):
                super().__init__(**options)
                self.name = name

        i = Named("x", threshold=0.5, num_perm=16)
        return i.b, i.name, copy.deepcopy(i).name

    def in_an_index(ds):
        m, i = type("Banded", (ds.MinHash,), {"b": 3})(16), small(ds)
        return m.update(b"a"), i.insert("a", m), i.query(m)


OBJECTS = {
    "MinHash": lambda ds: ds.MinHash(4),
    "LeanMinHash": lambda ds: ds.LeanMinHash(ds.MinHash(4)),
    "WeightedMinHash": lambda ds: ds.WeightedMinHash(1, np.array([[1, 2]])),
    "WeightedMinHashGenerator": lambda ds: ds.WeightedMinHashGenerator(2, 2),
    "MinHashLSH": lambda ds: ds.MinHashLSH(0.5, 16),
    "MinHashLSHForest": lambda ds: ds.MinHashLSHForest(16),
    "MinHashLSHEnsemble": lambda ds: ds.MinHashLSHEnsemble(0.8, 16, 2, 2),
    "MinHashLSHBloom": lambda ds: ds.MinHashLSHBloom(0.5, 16, 10, 0.1),
    "HyperLogLog": lambda ds: ds.HyperLogLog(4),
}
ATTRIBUTES = {
    **each("{}", OBJECTS)(
        lambda ds, make: [
            copied(having(make(ds), label="x")).label
            for copied in (again, copy.deepcopy)
        ]
    ),
    "HyperLogLogPlusPlus": lambda ds: (
        having(ds.HyperLogLogPlusPlus(4), label="x").label
    ),
}
COPIED = {
    "index": lambda ds: (i := one(ds), copy.copy(i).remove("a"), "a" in i),
    "forest": lambda ds: (
        f := ds.MinHashLSHForest(16),
        copy.copy(f).add("a", ds.MinHash(16)),
        "a" in f,
    ),
    "ensemble": lambda ds: (
        e := ds.MinHashLSHEnsemble(0.8, 16, 2, 2),
        copy.copy(e).index([("a", ds.MinHash(16), 1)]),
        "a" in e,
    ),
}


# ---- parts ----
def ensemble(ds):
    return ds.MinHashLSHEnsemble(0.8, 16, 2, 2)


def forest(ds):
    f = ds.MinHashLSHForest(16)
    f.add("a", ds.sketch("a", 16))
    return f


PARTS = {
    "forest": lambda ds: (
        f := ds.MinHashLSHForest(16),
        len(f.hashtables),
        len(f.sorted_hashtables),
    ),
    "forest's keys": lambda ds: forest(ds).keys,
    "ensemble": lambda ds: (
        e := ensemble(ds),
        len(e.indexes),
        len(e.lowers),
        len(e.uppers),
    ),
    "ensemble's bands": lambda ds: (e := ensemble(ds), len(e.params), len(e.xqs)),
}


class PartsAlike:
    def tables_of_a_filter(ds):
        b = ds.MinHashLSHBloom(0.5, 16, 10, 0.1)
        return b.hashtables[0].query(np.arange(b.r))

    @given(forest)
    def keys_of_a_forest(f):
        return list(f.keys), len(f.keys), "a" in f.keys

    @given(one)
    def tables_of_an_index(i):
        yield [[sorted(t.get(name)) for name in t.keys()] for t in i.hashtables]  # noqa: SIM118
        yield [[sorted(t[n]) for n in t] for t in i.hashtables]
        yield (
            [name in t for name, t in zip(i.keys["a"], i.hashtables, strict=True)],
            i.hashtables[0].get(b"z"),
        )


VIEWED = {
    "keys": lambda i: (i.keys, "b"),
    "hashtables[0]": lambda i: (i.hashtables[0], b"x"),
}
VIEW_CALLS = {
    "insert": lambda view, key: view.insert(key, b"y"),
    "status": lambda view, key: view.status(),
    "empty_buffer": lambda view, key: view.empty_buffer(),
    "collect_select_buffer": lambda view, key: view.collect_select_buffer(),
}
VIEWS = {
    **each("{}.{}", VIEWED, VIEW_CALLS)(lambda i, part, call: call(*part(i))),
    "a key removed": lambda i: (i.keys.remove("a"), "a" in i),
    "a key deleted": lambda i: (i.keys.__delitem__("a"), "a" in i),
    "buffer size": lambda i: having(i.keys, buffer_size=5).buffer_size,
}


# ---- attributes that are set ----
def valued(dtype):
    """Return a function that makes a MinHash whose values are set to some of a type, and one of other values."""

    def make(ds):
        m = having(ds.MinHash(4), hashvalues=np.array([1, 2, 3, 4], dtype))
        return ds, m, ds.MinHash(hashvalues=[1, 2, 3, 5], scheme="affine32")

    return make


VALUES_SET = {
    "compared": lambda ds, m, n: (
        m.jaccard(n),
        n.jaccard(m),
        m.count(),
        m.is_empty(),
        ds.LeanMinHash(m).jaccard(n),
    ),
    "updated": lambda ds, m, n: (
        m.update(b"a"),
        m.update_batch([b"b"]),
        m.hashvalues.tolist(),
    ),
    "merged": lambda ds, m, n: (
        m.merge(n),
        n.merge(m),
        m.hashvalues.tolist(),
        n.hashvalues.tolist(),
    ),
    "pickled": lambda ds, m, n: again(m).hashvalues.tolist(),
}
VALUES_SET_ALIKE = {
    f"{how}, np.{dtype.__name__}": given(valued(dtype))(call)
    for dtype in (np.int64, np.uint64, np.int32)
    for how, call in VALUES_SET.items()
}
FLOATS_SET = given(valued(np.float64))(
    {name: VALUES_SET[name] for name in ("updated", "pickled")}
)


class ValuesSet:
    @given(valued(np.uint64))
    def index(ds, m, n):
        m.hashvalues[3] = 5
        i = ds.MinHashLSH(0.5, 4)
        return i.insert("m", m), i.query(n), i.query(m)


class AttributesSet:
    def hashfunc(ds):
        m = having(ds.MinHash(4), hashfunc=half)
        return m.update(b"a"), m.update_batch([b"b"]), m, m.copy().hashfunc(b"c")

    def permutations(ds):
        m = having(ds.MinHash(4), permutations=ds.MinHash(4, 2).permutations)
        return m.update(b"a"), m, m.permutations

    def tables_of_a_generator(ds):
        g, h = ds.WeightedMinHashGenerator(4, 8), ds.WeightedMinHashGenerator(4, 8, 5)
        return having(g, rs=h.rs, ln_cs=h.ln_cs, betas=h.betas).minhash([1, 2, 3, 4])


class TablesWritten:
    def rs(ds):
        g = ds.WeightedMinHashGenerator(4, 8)
        yield g.minhash([1, 2, 3, 4])
        g.rs[0, 0] = 1.0
        yield g.rs[0, 0]


class TablesWrittenAlike:
    def before_they_are_used(ds):
        g = ds.WeightedMinHashGenerator(4, 8)
        g.rs[:, 2] = 1.0
        return g.minhash([1, 2, 3, 4])


def overwritten(counter):
    counter.reg[:] = -1
    return counter.count()


REGISTERS = {
    "set to a list": lambda ds: having(ds.HyperLogLog(4), reg=[0] * 16).is_empty(),
    "written over": lambda ds: overwritten(ds.HyperLogLog(4)),
    "written over, ++": lambda ds: overwritten(ds.HyperLogLogPlusPlus(4)),
}


# ---- given permutations ----
def permuted(ds):
    """Return a sketch with its own permutations, and one with those of the seed, of the same set."""
    permutations = ([2 * i + 1 for i in range(16)], list(range(16)))
    a, b = ds.MinHash(16, permutations=permutations, scheme="affine32"), ds.MinHash(16)
    a.update(b"x")
    b.update(b"x")
    return ds, a, b


GIVEN = {
    "LeanMinHash": lambda ds, a, b: ds.LeanMinHash(b).jaccard(ds.LeanMinHash(a)),
    "LeanMinHash, merged": lambda ds, a, b: ds.LeanMinHash(b).merge(ds.LeanMinHash(a)),
    "bBitMinHash": lambda ds, a, b: ds.bBitMinHash(b, 8).jaccard(ds.bBitMinHash(a, 8)),
}
GIVEN_ALIKE = {
    "LeanMinHash": lambda ds, a, b: (
        lean := ds.LeanMinHash(a),
        lean.jaccard(ds.LeanMinHash(a)),
    ),
    "in an index": lambda ds, a, b: (i := small(ds), i.insert("a", a), i.query(a)),
}


class Given:
    @given(permuted)
    @each(
        "in {}",
        {
            "an index": lambda ds: small(ds).insert,
            "a forest": lambda ds: ds.MinHashLSHForest(16).add,
        },
    )
    def entered(ds, a, b, method):
        enter = method(ds)
        yield enter("a", a)
        yield enter("b", b)


class GivenAlike:
    @given(permuted)
    def those_of_the_seed(ds, a, b):
        c = ds.MinHash(16, permutations=b.permutations, scheme="affine32")
        return (
            c.update(b"x"),
            b.jaccard(c),
            ds.LeanMinHash(b).jaccard(ds.LeanMinHash(c)),
        )


# ---- rare uses ----
def of_values(ds, values):
    return ds.MinHash(hashvalues=values, scheme="affine32")


LEAN = {"seed": 1, "hashvalues": [1], "scheme": "affine32"}
FOLDERS = {
    "other bands": ((0.3, 16, 100, 1e-6), "affine32"),
    "another number of sets": ((0.5, 16, 99, 1e-6), "affine32"),
    "another scheme": ((0.5, 16, 100, 1e-6), "legacy"),
}
RARE = {
    "buffer size of text": lambda ds: (
        small(ds).insertion_session(buffer_size="a").lsh.b
    ),
    "buffer size of None": lambda ds: small(ds).deletion_session(None).lsh.b,
    "weights of nearly 1": lambda ds: small(ds, weights=(0.3, 0.7 + 1e-12)).b,
    "bands, all against misses": lambda ds: (
        i := ds.MinHashLSH(0.917493, 20, (0, 1)),
        i.b,
        i.r,
    ),
    "bulk of lean ones": lambda ds: ds.LeanMinHash.bulk(
        [[b"a"]], minhash=ds.MinHash(4)
    ),
    "generator of lean ones": lambda ds: list(
        ds.LeanMinHash.generator([[b"a"]], **LEAN)
    ),
    "union, a lean one first": lambda ds: ds.MinHash.union(
        ds.lean("a", 8), ds.sketch("b", 8)
    ),
    "an array of two dimensions": lambda ds: of_values(ds, np.ones((2, 2), np.uint32)),
    **each("objects that are {}", {"floats": [1.5, 2.7], "integers": [1, 2]})(
        lambda ds, values: of_values(ds, np.array(values, object))
    ),
    **each(
        "vector of {}",
        {"two dimensions": np.ones((4, 1)), "lists": [[1], [2], [3], [4]]},
    )(lambda ds, vector: ds.WeightedMinHashGenerator(4, 8).minhash(vector)),
}


class Rare:
    def merge_of_an_index_that_pickles(ds):
        i, j = small(ds), small(ds, prepickle=True)
        yield j.insert("a", ds.sketch("a", 16))
        yield i.merge(j), "a" in i

    def merge_into_an_index_with_a_hashfunc(ds):
        i = small(ds, hashfunc=lambda name: name[:1])
        j = small(ds)
        m = ds.sketch("a", 16)
        yield j.insert("a", m)
        yield i.merge(j), i.query(m)

    def insert_that_fails(ds):
        i = small(ds)
        yield attempt(i.insert, [], ds.sketch("a", 16, scheme="legacy"))
        yield i.insert("a", ds.sketch("a", 16))

    def index_of_an_ensemble_that_fails(ds):
        e, m = ensemble(ds), ds.sketch("a", 16)
        return attempt(e.index, [("a", m, 1), ("a", m, 1)]), "a" in e

    def twice_in_partitions_of_an_ensemble(ds):
        e, m = ds.MinHashLSHEnsemble(0.8, 16, 4, 2), ds.sketch("a", 16)
        return e.index(
            [("a", m, 1), ("b", m, 10), ("c", m, 100), ("a", m, 1000)]
        ), "a" in e

    def removal_of_a_key_inserted_twice(ds):
        i, b = one(ds), ds.sketch("b", 16)
        return i.insert("a", b, check_duplication=False), i.remove("a"), i.query(b)

    def hashfunc_that_maps_all_to_one(ds):
        i = small(ds, hashfunc=lambda name: b"")
        return i.insert("a", ds.sketch("a", 16)), i.query(ds.sketch("b", 16))

    def looks_like_a_sketch(ds):
        class Like:
            seed, hashvalues = 1, np.arange(16, dtype=np.uint32)

            def __len__(self):
                return 16

        return small(ds).insert("a", Like())

    def empty_sketches_in_buckets(ds):
        i = small(ds)
        return i.insert("a", ds.MinHash(16)), i.get_counts()[0]

    def added_to_a_forest_after_index(ds):
        f, b = forest(ds), ds.sketch("b", 16)
        return f.index(), f.add("b", b), f.query(b, 1)

    @each("folder of {}", FOLDERS)
    def folder(ds, opened):
        arguments, scheme = opened
        folder = tempfile.mkdtemp()
        b = ds.MinHashLSHBloom(0.5, 16, 100, 1e-6, folder)
        yield b.insert(ds.sketch("a", 16)), b.sync()
        b = ds.MinHashLSHBloom(*arguments, folder)
        yield b.query(ds.sketch("a", 16, scheme=scheme))

    def weighted_values_of_one_dimension(ds):
        a, b = (ds.WeightedMinHash(1, np.array([1, 2, n])) for n in (3, 4))
        return a.jaccard(b), a.jaccard(a)

    def weighted_without_samples(ds):
        a = ds.WeightedMinHash(1, np.empty((0, 2), np.int64))
        yield len(a)
        yield a.jaccard(a)


GROUPS = {
    "own classes": (given(own)(OWN),),
    "own classes, alike": (OwnAlike,),
    "attributes of one's own": (ATTRIBUTES,),
    "copy.copy": (COPIED,),
    "parts": (PARTS,),
    "parts, alike": (PartsAlike,),
    "views": (given(one)(VIEWS),),
    "values set": (ValuesSet,),
    "values set, alike": (VALUES_SET_ALIKE,),
    "values set, floats": (FLOATS_SET,),
    "attributes set": (AttributesSet,),
    "tables written to": (TablesWritten,),
    "tables written to, alike": (TablesWrittenAlike,),
    "registers": (REGISTERS,),
    "given permutations": (given(permuted)(GIVEN), Given),
    "given permutations, alike": (given(permuted)(GIVEN_ALIKE), GivenAlike),
    "rare": (RARE, Rare),
}
