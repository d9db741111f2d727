"""Calls of MinHashLSH, MinHashLSHForest, MinHashLSHEnsemble and MinHashLSHBloom."""

from __future__ import annotations

import copy
import math
import os
import pickle
import tempfile

import numpy as np

from tests.datasketch.conformance.kit import attempt, each, given

NAN = float("nan")
SCHEMES = ("affine32", "affine64", "legacy")
THRESHOLDS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
WEIGHTS = (
    (0.5, 0.6),
    (-0.5, 1.5),
    (1.0,),
    (0.2, 0.3, 0.5),
    None,
    0.5,
    ("a", "b"),
    (NAN, 0.5),
)
PARAMS = (
    (8, 3),
    (1, 16),
    (0, 0),
    (-2, 3),
    (2, 0),
    (2, -1),
    (2,),
    (2, 3, 4),
    5,
    "ab",
    (2.0, 3.0),
    (2, 2.5),
)
KEYS = (
    1,
    "a",
    b"a",
    ("a", 2),
    None,
    1.5,
    2**70,
    -1,
    frozenset("a"),
    True,
    "",
    "\ud800",
)
DICT = {"type": "dict"}
NAMED = {"type": "dict", "basename": b"x"}
STORAGES = {
    "with a name of text": {"type": "dict", "basename": "x"},
    "without a type": {"basename": b"x"},
    "unknown": {"type": "paper"},
    "of text": "dict",
}
SKETCHES = {
    "another length": lambda ds: ds.MinHash(65),
    "fewer slots": lambda ds: ds.MinHash(16),
    "another scheme": lambda ds: ds.near(40, scheme="affine64"),
    "another seed": lambda ds: ds.near(40, seed=2),
    "text": lambda ds: "abc",
    "text of the length": lambda ds: "x" * 64,
    "None": lambda ds: None,
    "an array": lambda ds: ds.near(40).hashvalues,
    "a list": lambda ds: [1] * 64,
    "a lean one": lambda ds: ds.LeanMinHash(ds.near(40)),
    "a b-bit one": lambda ds: ds.bBitMinHash(ds.near(40), 8),
}
SEVERAL = {
    "schemes": lambda ds: [("a", ds.near(1), 5), ("b", ds.near(2, scheme="legacy"), 5)],
    "seeds": lambda ds: [("a", ds.near(1), 5), ("b", ds.near(2, seed=2), 5)],
}


def wrong(name, **options):
    """Return calls of a class with arguments that it may refuse."""

    def call(ds, *args, **more):
        return getattr(ds, name)(*args, **more, **options)

    return {
        **each("threshold {!r}", (1.1, -0.1, "0.5", None, NAN, True))(
            lambda ds, t: call(ds, threshold=t, num_perm=16)
        ),
        **each("num_perm {!r}", (1, 0, -1, "16", None, 16.0, 2.5))(
            lambda ds, n: call(ds, num_perm=n)
        ),
        **each("weights {!r}", WEIGHTS)(
            lambda ds, weights: call(ds, 0.5, 16, weights=weights)
        ),
    }


def wrong_params(name, **options):
    return each("params {!r}", PARAMS)(
        lambda ds, params: getattr(ds, name)(num_perm=16, params=params, **options)
    )


def bands(made):
    return made.b, made.r


def ranges(made):
    return made.b, made.r, made.h, made.hashranges


def found(index, minhash):
    return sorted(index.query(minhash))


def again(made):
    return pickle.loads(pickle.dumps(made))


# ---- MinHashLSH ----
def empty(ds):
    return ds.empty, ds.near


def filled(ds):
    return ds.index, ds.near


def two(ds):
    """Return an index with keys, an empty one with the same bands, and `near`."""
    return ds.index, ds.MinHashLSH(threshold=0.5, num_perm=64), ds.near


NEW = {
    "the usual": lambda ds: (
        i := ds.MinHashLSH(),
        *ranges(i),
        i.buffer_size,
        i.prepickle,
        i.is_empty(),
        i.hashfunc,
    ),
    "by place": lambda ds: ranges(ds.MinHashLSH(0.8, 32, (0.4, 0.6))),
    **each(
        "bands for {}, {} slots, weights {}",
        THRESHOLDS,
        (16, 64),
        ((0.5, 0.5), (0.1, 0.9)),
    )(
        lambda ds, threshold, num_perm, weights: bands(
            ds.MinHashLSH(threshold, num_perm, weights)
        )
    ),
    **each(
        "bands for {}, all against {}", (0.3, 0.8), {"misses": (0, 1), "extras": (1, 0)}
    )(lambda ds, threshold, weights: bands(ds.MinHashLSH(threshold, 32, weights))),
    **each("threshold {}", {"1.0": (1.0, 16), "1": (1, 128)})(
        lambda ds, sizes: math.prod(bands(ds.MinHashLSH(*sizes)))
    ),
    **wrong("MinHashLSH"),
    **wrong_params("MinHashLSH"),
    **each(
        "params{}",
        {"": (4, 3), " of a list": [4, 4], " of numpy": (np.int64(4), np.int64(3))},
    )(lambda ds, params: ranges(ds.MinHashLSH(num_perm=16, params=params))),
    "storage, empty": lambda ds: ds.MinHashLSH(0.5, 16, storage_config={}).is_empty(),
    "storage, dict": lambda ds: (
        i := ds.MinHashLSH(0.5, 16, storage_config=DICT),
        i.prepickle,
        i.is_empty(),
    ),
    "storage, dict with a name": lambda ds: ds.MinHashLSH(
        0.5, 16, storage_config=NAMED
    ).is_empty(),
    **each("storage {}", STORAGES)(
        lambda ds, config: ds.MinHashLSH(0.5, 16, storage_config=config)
    ),
    "hashfunc no function": lambda ds: ds.MinHashLSH(0.5, 16, hashfunc=5).insert(
        "a", ds.MinHash(16)
    ),
    "unknown argument": lambda ds: ds.MinHashLSH(colour=1),
    "aliases": lambda ds: (
        ds.WeightedMinHashLSH is ds.MinHashLSH,
        ds.WeightedMinHashLSHForest is ds.MinHashLSHForest,
    ),
}


class New:
    @each("{}", {"prepickle": True, "not prepickled": False})
    def prepickle(ds, prepickle):
        i, a = ds.MinHashLSH(0.5, 16, prepickle=prepickle), ds.sketch("a", 16)
        return i.prepickle, i.insert(("a", 1), a), ("a", 1) in i, i.query(a)

    def hashfunc(ds):
        i = ds.MinHashLSH(0.5, 64, hashfunc=lambda data: data[:2])
        yield (
            i.insert("a", ds.near(40)),
            i.insert("b", ds.near(38)),
            found(i, ds.near(40)),
        )
        yield i.query(ds.sketch("q", 64)), i.remove("a"), i.query(ds.near(40))


ON_EMPTY = {
    "query of an empty index": lambda i, near: i.query(near(40)),
    "insert returns nothing": lambda i, near: i.insert("a", near(40)),
    "insert by name": lambda i, near: (
        i.insert(key="a", minhash=near(40), check_duplication=True),
        "a" in i,
    ),
    "insert without a sketch": lambda i, near: i.insert("a"),
    "a key without a hash": lambda i, near: i.insert(["a"], near(40)),
    **each("key {!r}", KEYS)(
        lambda i, near, key: (
            i.insert(key, near(40)),
            key in i,
            i.query(near(40)),
            i.remove(key),
            i.query(near(40)),
        )
    ),
    "equal sets": lambda i, near: (
        [i.insert(n, near(40)) for n in range(50)],
        found(i, near(40)),
    ),
}
ON_INDEX = {
    "query": lambda i, near: (
        [found(i, near(n)) for n in (40, 39, 30, 20, 0)],
        type(i.query(near(40))).__name__,
    ),
    "query finds nothing": lambda i, near: i.query(near(-99)),
    "in": lambda i, near: ("n40" in i, "n41" in i, 40 in i, None in i),
    "in, of what has no hash": lambda i, near: [] in i,
    "is_empty": lambda i, near: (
        i.is_empty(),
        [i.remove(key) for key in list(i.keys)],
        i.is_empty(),
    ),
    "a key twice": lambda i, near: i.insert("n40", near(0)),
    "a key twice, unchecked": lambda i, near: (
        i.insert("n40", near(40), check_duplication=False),
        found(i, near(40)),
    ),
    "remove returns nothing": lambda i, near: i.remove("n40"),
    "remove twice": lambda i, near: (i.remove("n40") for _ in range(2)),
    "remove what is not there": lambda i, near: i.remove("q"),
    "remove what has no hash": lambda i, near: i.remove([]),
    "scores": lambda i, near: i.query(near(40), with_scores=True)[0],
}


class Use:
    @given(filled)
    def a_key_twice_changes_nothing(i, near):
        return attempt(i.insert, "n40", near(0)), found(i, near(40)), found(i, near(0))

    @given(filled)
    def a_key_twice_unchecked_another_set(i, near):
        return (
            i.insert("n40", near(0), check_duplication=False),
            found(i, near(0)),
            found(i, near(40)),
        )

    @given(filled)
    def a_key_twice_unchecked_then_removed(i, near):
        return (
            i.insert("n40", near(0), False),
            i.remove("n40"),
            found(i, near(40)),
            "n40" in i,
        )

    @given(filled)
    def after_a_removal_again(i, near):
        return (
            i.remove("n40"),
            found(i, near(40)),
            i.insert("n40", near(0)),
            found(i, near(0)),
        )

    @given(empty)
    def key_nan(i, near):
        yield i.insert(float("nan"), near(40)), float("nan") in i, *i.query(near(40))
        yield i.remove(float("nan"))

    @given(empty)
    def keys_that_are_equal(i, near):
        yield i.insert(1, near(40)), 1.0 in i, True in i
        yield i.insert(1.0, near(0))

    @given(empty)
    def keys_as_they_were_given(i, near):
        return (
            i.insert(True, near(40)),
            i.insert("1", near(40)),
            sorted(map(repr, i.query(near(40)))),
        )

    @each("insert of {}", SKETCHES)
    def insert_of(ds, other):
        return ds.index.insert("new", other(ds))

    @each("{} of {}", ("query", "add_to_query_buffer"), SKETCHES)
    def query_of(ds, method, other):
        keys = getattr(ds.index, method)(other(ds))
        return keys and sorted(keys)

    @given(empty)
    def the_first_sets_the_scheme(i, near):
        yield i.query(near(4, scheme="legacy")), i.insert("a", near(4))
        yield i.insert("b", near(4, scheme="legacy"))

    @given(empty)
    def a_refused_one_sets_no_scheme(i, near):
        return (
            attempt(i.insert, [], near(4, scheme="legacy")),
            i.insert("b", near(4, scheme="legacy")),
            "b" in i,
        )

    @given(empty)
    @each("scheme {}", ("affine64", "legacy"))
    def scheme(i, near, scheme):
        for n in (40, 38, 35, 20, 0):
            i.insert(f"n{n}", near(n, scheme=scheme))
        return [found(i, near(n, scheme=scheme)) for n in (40, 36, 20, 0)]

    def lean_ones(ds):
        yield (
            ds.empty.insert("a", ds.LeanMinHash(ds.near(40))),
            ds.empty.query(ds.near(40)),
        )
        yield ds.empty.query(ds.LeanMinHash(ds.near(39)))

    def empty_sketches(ds):
        i, m = ds.empty, ds.MinHash(64)
        return (
            i.insert("a", m),
            i.insert("b", m),
            found(i, m),
            "a" in i,
            i.remove("a"),
            "a" in i,
        )

    def empty_sketches_queried(ds):
        return ds.index.query(ds.MinHash(64))

    @given(filled)
    def the_sketch_may_change_after(i, near):
        m = near(40)
        return i.insert("m", m), m.clear(), "m" in i.query(near(40))

    def weighted(ds):
        g, i = ds.WeightedMinHashGenerator(8, 32), ds.WeightedMinHashLSH(0.5, 32)
        a, b, c = (
            g.minhash(weights)
            for weights in (range(1, 9), [8] + [0] * 7, [9] + [0] * 7)
        )
        return (
            i.insert("a", a),
            i.insert("b", b),
            i.query(a),
            i.query(c),
            i.remove("a"),
            "a" in i,
        )

    @each(
        "weighted {}",
        {
            "beside others": lambda ds: ds.sketch("b", 32),
            "of another seed": lambda ds: weighted(ds, 2),
        },
    )
    def weighted_first(ds, other):
        i = ds.MinHashLSH(0.5, 32)
        yield i.insert("a", weighted(ds, 1))
        yield i.insert("b", other(ds)), "b" in i

    def weighted_of_another_length(ds):
        return ds.empty.insert("a", weighted(ds, 1))


def weighted(ds, seed):
    return ds.WeightedMinHashGenerator(8, 32, seed).minhash([1] * 8)


def fill(index, near, keys, **options):
    """Insert keys and what they stand for in a session."""
    with index.insertion_session(**options) as session:
        for key, n in keys:
            session.insert(key, near(n))
    return session


def drop(index, *keys, **options):
    """Remove keys in a session."""
    with index.deletion_session(**options) as session:
        for key in keys:
            session.remove(key)
    return session


SESSIONS = {
    "insertion session, key twice": lambda i, near: fill(i, near, [("n40", 3)]),
    "insertion session, key twice within": lambda i, near: fill(
        i, near, [("a", 3), ("a", 3)]
    ),
    "deletion session, not there": lambda i, near: drop(i, "q"),
    "deletion session, twice": lambda i, near: drop(i, "n40", "n40"),
    **each("buffer size {}", (0, -1, 1))(
        lambda i, near, size: (
            s := i.insertion_session(buffer_size=size),
            s.insert("a", near(1)),
            s.close(),
            "a" in i,
        )
    ),
    "query buffer": lambda i, near: (
        i.add_to_query_buffer(near(40)),
        sorted(i.collect_query_buffer()),
    ),
    "query buffer of nothing": lambda i, near: i.collect_query_buffer(),
    "query buffer returns nothing": lambda i, near: i.add_to_query_buffer(near(40)),
    **each("query buffer of two{}", {"": 38, " that share nothing": 0})(
        lambda i, near, n: (
            [i.add_to_query_buffer(near(n)) for n in (40, n)],
            sorted(i.collect_query_buffer()),
        )
    ),
    "query buffer of one without answers": lambda i, near: (
        i.add_to_query_buffer(near(-99)),
        i.collect_query_buffer(),
    ),
}


class Sessions:
    @given(empty)
    def insertion_session(i, near):
        session = fill(i, near, [("n40", 40), ("n38", 38), ("n0", 0)])
        return (
            found(i, near(40)),
            i.buffer_size,
            type(session).__name__,
            session.lsh is i,
        )

    @given(empty)
    def insertion_session_of_2(i, near):
        fill(i, near, enumerate(range(9)), buffer_size=2)
        return i.buffer_size, found(i, near(4))

    @given(empty)
    def insertion_session_closed_by_hand(i, near):
        s = i.insertion_session()
        return s.insert("a", near(4)), s.close(), i.query(near(4)), s.close()

    @given(filled)
    def insertion_session_key_twice_unchecked(i, near):
        with i.insertion_session() as s:
            s.insert("n40", near(40), check_duplication=False)
        return found(i, near(40))

    def insertion_session_wrong_length(ds):
        with ds.index.insertion_session() as s:
            s.insert("a", ds.MinHash(3))

    def insertion_session_that_fails(ds):
        sketches = {"a": ds.near(40), "b": ds.MinHash(3)}
        return (
            attempt(fill, ds.index, sketches.get, [("a", "a"), ("b", "b")]),
            "a" in ds.index,
            "a" in ds.found(40),
        )

    def buffer_size_set(ds):
        ds.empty.buffer_size = 7
        return (
            ds.empty.buffer_size,
            ds.empty.keys.buffer_size,
            [t.buffer_size for t in ds.empty.hashtables][:2],
        )

    @given(filled)
    def deletion_session(i, near):
        session = drop(i, "n40", "n38")
        return found(i, near(40)), "n40" in i, session.lsh is i

    @given(filled)
    def deletion_session_of_1(i, near):
        drop(i, "n40", buffer_size=1)
        return i.buffer_size, found(i, near(40))

    @given(filled)
    def query_buffer_collected_twice(i, near):
        return (
            i.add_to_query_buffer(near(40)),
            len(i.collect_query_buffer()),
            i.collect_query_buffer(),
        )

    def query_buffer_prepickled(ds):
        i = ds.MinHashLSH(0.5, 64, prepickle=True)
        return (
            i.insert(("a", 1), ds.near(40)),
            i.add_to_query_buffer(ds.near(40)),
            i.collect_query_buffer(),
        )


def counts(tables):
    return [sorted(table.values()) for table in tables]


OTHERS = {
    "other bands": lambda ds: ds.MinHashLSH(num_perm=64, params=(4, 4)),
    "another length": lambda ds: ds.MinHashLSH(threshold=0.5, num_perm=32),
    "text": lambda ds: "a",
    "None": lambda ds: None,
    "a forest": lambda ds: ds.MinHashLSHForest(64),
}
WHOLE = {
    "counts": lambda i, near: (counts(i.get_counts()), len(i.get_counts()) == i.b),
    "counts by bucket": lambda i, near: i.get_counts(),
    "subset counts": lambda i, near: counts(i.get_subset_counts("n40", "n0", "n40")),
    "subset counts by bucket": lambda i, near: i.get_subset_counts("n40", "n38"),
    "subset counts of none": lambda i, near: i.get_subset_counts() == [{}] * i.b,
    "subset counts of a stranger": lambda i, near: i.get_subset_counts("q"),
    "keys": lambda i, near: (
        sorted(i.keys),
        len(list(i.keys)),
        i.keys.size(),
        "n40" in i.keys,
        len(i.keys),
    ),
    "tables": lambda i, near: (len(i.hashtables) == i.b, i.hashtables[0].size() > 0),
    "bytes of a band of a key": lambda i, near: i.keys.get("n40"),
    "pickle remembers the scheme": lambda i, near: again(i).insert(
        "z", near(3, scheme="legacy")
    ),
    "no length": lambda i, near: len(i),
}
MERGED = {
    "merge of an empty one": lambda i, o, near: (i.merge(o), len(i.query(near(40)))),
    "merge with itself": lambda i, o, near: (
        attempt(i.merge, i, check_overlap=True),
        found(i, near(40)),
    ),
    **each("merge with keys of both{}", {"": 40, ", other sets": 0})(
        lambda i, o, near, n: (o.insert("n40", near(n)), i.merge(o), found(i, near(n)))
    ),
}


class Whole:
    @each("merge of {}", OTHERS)
    def merge_of(ds, other):
        return ds.index.merge(other(ds))

    def merge(ds):
        i, o, near = two(ds)
        yield (
            o.insert("o", near(39)),
            o.insert("p", ds.sketch("p", 64)),
            i.merge(o),
            found(i, near(40)),
        )
        yield "p" in i, "o" in o, "n40" in o, i.remove("o"), o.query(near(39))

    @given(two)
    def merge_into_an_empty_one(i, o, near):
        yield o.merge(i), found(o, near(40)) == found(i, near(40))
        yield o.insert("x", near(3, scheme="legacy"))

    @given(two)
    def merge_with_keys_of_both_checked(i, o, near):
        yield o.insert("n40", near(3))
        yield i.merge(o, check_overlap=True)

    @given(two)
    @each("merge of another {}", {"scheme": {"scheme": "legacy"}, "seed": {"seed": 2}})
    def merge_of_another(i, o, near, options):
        yield o.insert("o", near(3, **options))
        yield i.merge(o)

    def counts_of_an_empty_index(ds):
        return counts(ds.MinHashLSH(0.5, 16).get_counts())

    @given(filled)
    def pickle(i, near):
        j = again(i)
        yield (
            found(j, near(40)),
            j.insert("new", near(40)),
            "new" in j,
            "new" in i,
            j.b,
            j.r,
        )
        yield j.insert("n40", near(40))

    @given(filled)
    def deepcopy(i, near):
        j = copy.deepcopy(i)
        return j.remove("n40"), found(i, near(40)), found(j, near(40))


# ---- MinHashLSHForest ----
def forest(ds):
    return ds.forest, ds.near


def indexed_forest(ds):
    ds.forest.index()
    return ds.forest, ds.near


FOREST_SIZES = (
    *((64, 4), (16, 3), (16, 16), (16, 17), (0, 1), (16, 0), (-1, 1), (16, -1)),
    *(("a", 1), (16, "a"), (None, 1), (16, 2.0), (1, 1)),
)
FOREST_SKETCHES = {
    "fewer slots": lambda ds: ds.MinHash(63),
    "another scheme": lambda ds: ds.near(40, scheme="legacy"),
    "an index": lambda ds: ds.MinHashLSH(num_perm=64),
    **{name: SKETCHES[name] for name in ("another seed", "text", "None", "an array")},
}
FOREST_CALLS = {
    "add": lambda f, m: f.add("new", m),
    "query": lambda f, m: f.query(m, 1),
}
KINDS = {
    "lean ones": lambda ds: ds.lean("a", 16),
    "empty sketches": lambda ds: ds.MinHash(16),
    **{
        f"scheme {name}": lambda ds, name=name: ds.sketch("a b", 16, scheme=name)
        for name in SCHEMES
    },
}
NEW_FOREST = {
    "the usual": lambda ds: (f := ds.MinHashLSHForest(), f.l, f.k, f.is_empty()),
    **each("num_perm {0[0]!r}, l {0[1]!r}", FOREST_SIZES)(
        lambda ds, sizes: (f := ds.MinHashLSHForest(*sizes), f.l, f.k, f.hashranges)
    ),
    "index of nothing": lambda ds: (
        f := ds.MinHashLSHForest(16),
        f.index(),
        f.is_empty(),
        f.query(ds.MinHash(16), 3),
    ),
}
ON_FOREST = {
    "query before index": lambda f, near: (f.query(near(40), 5), f.is_empty()),
    "index returns nothing": lambda f, near: f.index(),
    "index twice": lambda f, near: (f.index(), f.index(), f.query(near(40), 1)),
    "in": lambda f, near: ("n40" in f, "q" in f),
    "in, of what has no hash": lambda f, near: [] in f,
    "a key twice": lambda f, near: f.add("n40", near(3)),
    "a key without a hash": lambda f, near: f.add([], near(3)),
    "hash values of a stranger": lambda f, near: f.get_minhash_hashvalues("q"),
}
ON_INDEXED_FOREST = {
    "query by name": lambda f, near: f.query(minhash=near(40), k=1),
    **each("k {!r}", (0, -1, "a", None))(lambda f, near, k: f.query(near(40), k)),
    **each("k {!r}", (NAN, 1.5))(lambda f, near, k: len(f.query(near(40), k))),
    "scores": lambda f, near: f.query(near(40), 2, with_scores=True)[0],
    "removal": lambda f, near: (
        f.remove("n40"),
        "n40" in f,
        "n40" in f.query(near(40), 9),
    ),
}


class Forest:
    @given(indexed_forest)
    def query(f, near):
        yield (
            sorted(f.query(near(40), 5)),
            sorted(f.query(near(40), 100)),
            len(f.query(near(40), 2)),
        )
        yield f.query(near(40), 1), type(f.query(near(40), 1)).__name__

    @given(indexed_forest)
    def added_after_index(f, near):
        yield (
            f.is_empty(),
            f.add("new", near(40)),
            "new" in f,
            "new" in f.query(near(40), 9),
        )
        yield f.index(), "new" in f.query(near(40), 9)

    @each("{} of {}", FOREST_CALLS, FOREST_SKETCHES)
    def sketches(ds, call, other):
        yield ds.forest.index()
        yield call(ds.forest, other(ds))

    @each(
        "{}",
        {"more slots": (4, 40, 40, 16), "slots that no tree looks at": (3, 15, 16)},
    )
    def slots(ds, sizes):
        trees, added, *queried = sizes
        f = ds.MinHashLSHForest(16, trees)
        return (
            f.add("a", ds.sketch("a", added)),
            f.index(),
            [f.query(ds.sketch("a", n), 1) for n in queried],
        )

    @each("{}", KINDS)
    def kinds(ds, sketch):
        f, m = ds.MinHashLSHForest(16, 4), sketch(ds)
        return (
            f.add("a", m),
            f.index(),
            f.query(m, 1),
            "a" in f,
            f.get_minhash_hashvalues("a"),
        )

    @given(forest)
    def hash_values(f, near):
        v = f.get_minhash_hashvalues("n40")
        yield (
            v,
            (v == near(40).hashvalues).all(),
            f.index(),
            f.get_minhash_hashvalues("n20"),
        )
        v[:] = 0
        yield f.get_minhash_hashvalues("n40")

    def hash_values_slots_left_over(ds):
        f = ds.MinHashLSHForest(16, 3)
        return f.add("a", ds.sketch("a", 16)), f.get_minhash_hashvalues("a")

    def weighted(ds):
        g, f = ds.WeightedMinHashGenerator(8, 32), ds.WeightedMinHashLSHForest(32, 4)
        a, b, c = (
            g.minhash(weights)
            for weights in (range(1, 9), [8] + [0] * 7, [9] + [0] * 7)
        )
        return f.add("a", a), f.add("b", b), f.index(), f.query(a, 1), f.query(c, 1)

    def weighted_hash_values(ds):
        f = ds.MinHashLSHForest(8, 4)
        yield f.add("a", ds.WeightedMinHashGenerator(8, 8).minhash([1] * 8))
        yield f.get_minhash_hashvalues("a")

    @given(indexed_forest)
    def pickle(f, near):
        g = again(f)
        return (
            sorted(g.query(near(40), 9)),
            g.add("new", near(1)),
            g.index(),
            "new" in g,
            "new" in f,
        )

    @given(indexed_forest)
    def deepcopy(f, near):
        g = copy.deepcopy(f)
        return g.add("new", near(40)), "new" in f, g.query(near(0), 1)


# ---- MinHashLSHEnsemble ----
def ensemble(ds):
    return ds.ensemble, ds.entries


def indexed_ensemble(ds):
    ds.ensemble.index(ds.entries)
    return ds.ensemble, ds.entries


QUERIES = {
    "another length": lambda ds: ds.MinHash(63),
    "another scheme": lambda ds: ds.sketch("a", 64, scheme="legacy"),
    "another seed": lambda ds: ds.sketch(range(5), 64, seed=2),
    "text": lambda ds: "a",
    "a stranger": lambda ds: ds.sketch("q r s t u", 64),
}
NEW_ENSEMBLE = {
    **wrong("MinHashLSHEnsemble", m=2, num_part=2),
    **each("num_part {!r}", (0, -1, "a", None, 2.0, 1))(
        lambda ds, n: ds.MinHashLSHEnsemble(0.8, 16, n, 2).is_empty()
    ),
    **each("m {!r}", (1, 0, 17, "a", None, 2.5))(
        lambda ds, m: ds.MinHashLSHEnsemble(0.8, 16, 2, m).is_empty()
    ),
    "storage": lambda ds: ds.MinHashLSHEnsemble(
        0.8, 16, 2, 2, storage_config=NAMED
    ).is_empty(),
    "storage unknown": lambda ds: ds.MinHashLSHEnsemble(
        0.8, 16, 2, 2, storage_config={"type": "paper"}
    ),
    **each(
        "size {!r} of {}", (0, -1, "a", None), {"a list": list, "an iterator": iter}
    )(lambda ds, size, kind: ds.ensemble.index(kind([("a", ds.MinHash(64), size)]))),
    "size 2.5": lambda ds: (
        ds.ensemble.index([("a", ds.sketch("a b", 64), 2.5)]),
        "a" in ds.ensemble,
    ),
    "a key without a hash": lambda ds: ds.ensemble.index([([], ds.MinHash(64), 5)]),
    "entries of two": lambda ds: ds.ensemble.index([("a", ds.MinHash(64))]),
    "entries of another length": lambda ds: ds.ensemble.index(
        [("a", ds.MinHash(63), 5)]
    ),
    "entries of texts": lambda ds: ds.ensemble.index([("a", "b", 5)]),
    **each("entries of several {}", SEVERAL)(
        lambda ds, entries: ds.ensemble.index(entries(ds))
    ),
}
ON_ENSEMBLE = {
    "attributes": lambda e, entries: (e.threshold, e.h, e.m, e.is_empty()),
    "index": lambda e, entries: (
        e.index(entries),
        e.is_empty(),
        "s5" in e,
        "s320" in e,
        "q" in e,
    ),
    "index of nothing": lambda e, entries: e.index([]),
    "index of nothing, lazily": lambda e, entries: e.index(iter([])),
    "index of None": lambda e, entries: e.index(None),
    "a key twice": lambda e, entries: e.index(entries + entries[:1]),
    "the list stays as it is": lambda e, entries: (
        entries.reverse(),
        e.index(entries),
        [key for key, _, _ in entries],
    ),
    "query of an empty one": lambda e, entries: list(e.query(entries[0][1], 5)),
    **each("{}", {"one entry": 1, "fewer sizes than partitions": 2})(
        lambda e, entries, n: (e.index(entries[:n]), sorted(e.query(entries[0][1], 5)))
    ),
}
ON_INDEXED = {
    "index twice": lambda e, entries: e.index(entries),
    "query is a generator": lambda e, entries: (
        type(q := e.query(entries[0][1], 5)).__name__,
        len(set(q)) > 0,
    ),
    "query by name": lambda e, entries: (
        "s320" in set(e.query(minhash=entries[-1][1], size=320))
    ),
    **each("query size {!r}", (0, -1, "a", None))(
        lambda e, entries, size: list(e.query(entries[0][1], size))
    ),
    "scores": lambda e, entries: next(
        iter(e.query(entries[-1][1], 320, with_scores=True))
    ),
}


class Ensemble:
    @each("query of {}", (5, 10, 20, 40, 80, 160, 320))
    def query(ds, size):
        return ds.ensemble.index(ds.entries), sorted(
            ds.ensemble.query(ds.sketch(range(size), 64), size)
        )

    @each("query of {}", QUERIES)
    def query_of(ds, sketch):
        yield ds.ensemble.index(ds.entries)
        answer = ds.ensemble.query(sketch(ds), 5)
        yield list(answer)

    @given(ensemble)
    def index_of_an_iterator(e, entries):
        return (
            e.index(iter(entries)),
            "s5" in e,
            "s320" in set(e.query(entries[-1][1], 320)),
        )

    def sizes_that_are_equal(ds):
        yield ds.ensemble.index(
            [(n, ds.sketch(range(n, n + 20), 64), 20) for n in range(0, 200, 40)]
        )
        yield sorted(ds.ensemble.query(ds.sketch(range(20), 64), 20))

    def empty_sketches(ds):
        return ds.ensemble.index([("a", ds.MinHash(64), 1)]), list(
            ds.ensemble.query(ds.MinHash(64), 1)
        )

    def lean_ones(ds):
        yield ds.ensemble.index(
            [(key, ds.LeanMinHash(m), size) for key, m, size in ds.entries]
        )
        yield "s320" in set(ds.ensemble.query(ds.lean(range(320), 64), 320))

    def prepickle(ds):
        e = ds.MinHashLSHEnsemble(0.8, 64, 2, 2, prepickle=True)
        yield (
            e.index([(("k", size), m, size) for _, m, size in ds.entries]),
            ("k", 5) in e,
        )
        yield ("k", 320) in set(e.query(ds.entries[-1][1], 320))

    @given(indexed_ensemble)
    def pickle(e, entries):
        f, m = again(e), entries[3][1]
        return sorted(f.query(m, 40)) == sorted(e.query(m, 40)), "s5" in f

    def many(ds):
        r = np.random.RandomState(3)
        ranges = [
            (int(r.randint(0, 200)), int(r.geometric(0.02)) + 1) for _ in range(60)
        ]
        many = [
            (n, ds.sketch(range(low, low + size), 64), size)
            for n, (low, size) in enumerate(ranges)
        ]
        return ds.ensemble.index(list(many)), [
            sorted(ds.ensemble.query(m, size)) for _, m, size in many[:20]
        ]


# ---- MinHashLSHBloom ----
def bloom(ds):
    return ds.bloom, ds.near


FILTER = {"n": 100, "fp": 0.01}
FOLDED = {
    "in another order": ((1, 2, 3, 4), (1, 2, 9, 9), (2, 1, 9, 9)),
    "of an equal sum": ((1, 4, 30, 40), (2, 3, 9, 9)),
}
BLOOM_SKETCHES = {
    "another scheme": lambda ds: ds.near(40, scheme="legacy"),
    **{
        name: SKETCHES[name]
        for name in ("another length", "another seed", "text", "None")
    },
}
NEW_BLOOM = {
    **wrong("MinHashLSHBloom", **FILTER),
    **wrong_params("MinHashLSHBloom", **FILTER),
    **each("n {!r}", (None, 0, -1, "a"))(
        lambda ds, n: ds.MinHashLSHBloom(0.5, 16, n=n, fp=0.01)
    ),
    **each("fp {!r}", (None, 0.0, 1.0, -0.1, "a", NAN))(
        lambda ds, fp: ds.MinHashLSHBloom(0.5, 16, n=10, fp=fp)
    ),
    "without n and fp": lambda ds: ds.MinHashLSHBloom(),
    **each("bands for {}", (0.3, 0.5, 0.8, 0.9))(
        lambda ds, t: bands(ds.MinHashLSHBloom(t, 32, **FILTER))
    ),
    "threshold 1.0": lambda ds: math.prod(
        bands(ds.MinHashLSHBloom(threshold=1.0, num_perm=16, **FILTER))
    ),
    "params": lambda ds: bands(ds.MinHashLSHBloom(0.5, 16, params=(4, 3), **FILTER)),
}
ON_BLOOM = {
    "attributes": lambda b, near: (ranges(b), len(b.hashtables) == b.b),
    "insert twice": lambda b, near: (
        b.insert(near(40)),
        b.insert(near(40)),
        b.query(near(40)),
    ),
    "by name": lambda b, near: (b.insert(minhash=near(40)), b.query(minhash=near(40))),
    "sync in memory": lambda b, near: b.sync(),
}


class Bloom:
    @given(bloom)
    def insert_and_query(b, near):
        return (
            b.query(near(40)),
            b.insert(near(40)),
            [b.query(near(n)) for n in (40, 39, 36, 10, 0, -99)],
        )

    def lean_ones(ds):
        m = ds.LeanMinHash(ds.near(40))
        return ds.bloom.insert(m), ds.bloom.query(m), ds.bloom.query(ds.near(40))

    @each(
        "empty sketches{}",
        {"": lambda ds: ds.MinHash(64), ", queried": lambda ds: ds.near(40)},
    )
    def empty_sketches(ds, inserted):
        return ds.bloom.insert(inserted(ds)), ds.bloom.query(ds.MinHash(64))

    @each("slots {}", FOLDED)
    def slots(ds, values):
        b = ds.MinHashLSHBloom(num_perm=4, n=100, fp=1e-6, params=(2, 2))
        first, *others = (
            ds.LeanMinHash(seed=1, hashvalues=v, scheme="affine32") for v in values
        )
        return b.insert(first), [b.query(other) for other in others]

    @each("{} of {}", ("insert", "query"), BLOOM_SKETCHES)
    def wrong_sketch(ds, method, other):
        yield ds.bloom.insert(ds.near(40))
        yield getattr(ds.bloom, method)(other(ds))

    def in_a_folder(ds):
        folder = os.path.join(tempfile.mkdtemp(), "new")
        b = ds.MinHashLSHBloom(0.5, 64, 100, 1e-6, folder)
        yield b.insert(ds.near(40)), b.sync()
        c = ds.MinHashLSHBloom(0.5, 64, 100, 1e-6, folder)
        yield c.query(ds.near(40)), c.query(ds.near(0)), len(os.listdir(folder)) > 0


GROUPS = {
    "MinHashLSH()": (NEW, New),
    "MinHashLSH": (given(empty)(ON_EMPTY), given(filled)(ON_INDEX), Use),
    "MinHashLSH sessions": (given(filled)(SESSIONS), Sessions),
    "MinHashLSH as a whole": (given(filled)(WHOLE), given(two)(MERGED), Whole),
    "MinHashLSHForest": (
        NEW_FOREST,
        given(forest)(ON_FOREST),
        given(indexed_forest)(ON_INDEXED_FOREST),
        Forest,
    ),
    "MinHashLSHEnsemble": (
        NEW_ENSEMBLE,
        given(ensemble)(ON_ENSEMBLE),
        given(indexed_ensemble)(ON_INDEXED),
        Ensemble,
    ),
    "MinHashLSHBloom": (NEW_BLOOM, given(bloom)(ON_BLOOM), Bloom),
}
