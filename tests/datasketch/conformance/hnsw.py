"""Calls of HNSW. The points are numbers, and so few that both libraries find the nearest ones."""

from __future__ import annotations

import copy
import pickle

import numpy as np

from tests.datasketch.conformance.kit import attempt, each, given


def far(x, y):
    return abs(x - y)


def new(ds):
    return ds.HNSW(far, m=4, ef_construction=20, seed=1)


def filled(ds):
    i = new(ds)
    i.update({f"k{n}": n * n / 4 for n in range(12)})
    return i


def removed(ds):
    i = filled(ds)
    i.remove("k3")
    i.remove("k7")
    return i


def state(i):
    return list(i), len(i), list(i.items()), "k3" in i, i.query(5.1, 4)


def put(i, **points):
    """Set points one by one."""
    for key, point in points.items():
        i[key] = point


ON_EMPTY = {
    "popitem()": lambda i: i.popitem(),
    "pop('a')": lambda i: i.pop("a"),
    "remove('a')": lambda i: i.remove("a"),
    "remove('a', True)": lambda i: i.remove("a", True),
    "__getitem__('a')": lambda i: i["a"],
    "query(1, 0)": lambda i: i.query(1, 0),
}
ARGUMENTS = (
    *(
        ("m", 0),
        ("m", 1),
        ("m", 2.5),
        ("m", "a"),
        ("ef_construction", 0),
        ("ef_construction", 2.5),
        ("m0", 0),
    ),
    *(
        ("m0", 2.5),
        ("seed", -1),
        ("seed", "a"),
        ("seed", 2.0),
        ("reversed_edges", 5),
        ("seed", None),
    ),
)


ON_NEW = {
    "by name": lambda i: (
        i.insert(key="a", new_point=1.0, ef=5, level=2),
        i.query(query_point=1.5, k=1, ef=3),
    ),
    **each("empty, {}", ON_EMPTY)(lambda i, call: call(i)),
    "hash": lambda i: hash(i),
    "a key without a hash": lambda i: i.insert([], 1.0),
    "a distance of an int": lambda i: (put(i, one=1, five=5), i.query(2)),
    "pairs": lambda i: (i.update([("a", 1.0)]), i["a"]),
}
ON_FILLED = {
    "the usual": state,
    "without a key": lambda i: [
        attempt(call, "q") for call in (i.remove, i.pop, i.__getitem__, i.__delitem__)
    ],
    "order": lambda i: (
        put(i, k3=4.4),
        list(i),
        list(i.keys()),
        list(i.reversed()),
        i.query(4.4, 1),
    ),
    "iterators": lambda i: (
        next(i.keys()),
        next(i.values()),
        next(i.items()),
        next(iter(i)),
        next(i.reversed()),
    ),
    "reversed": lambda i: reversed(i),
    "replaced": lambda i: (put(i, **{f"k{n}": 50.0 - n for n in range(12)}), state(i)),
    "removed, hard": lambda i: (
        i.remove("k3", hard=True),
        i.remove("k7", hard=True, ef=5),
        state(i),
    ),
    "all removed, hard": lambda i: (
        [i.remove(f"k{n}", hard=True) for n in range(12)],
        len(i),
        attempt(i.query, 1.0),
    ),
    "pop": lambda i: (
        i.pop("k3"),
        i.pop("k4", hard=True),
        i.pop("k3", 5),
        attempt(i.pop, "k3", None),
        state(i),
    ),
    "popitem": lambda i: (
        i.popitem(),
        i.popitem(last=False),
        i.popitem(hard=True),
        i.popitem(False, True),
        state(i),
    ),
    "setdefault": lambda i: (
        i.setdefault("k3", 9.0),
        attempt(i.setdefault, "q", None),
        state(i),
    ),
    "setdefault of a new key": lambda i: i.setdefault("new", 9.0),
    "clear": lambda i: (
        i.clear(),
        len(i),
        attempt(i.query, 1.0),
        put(i, a=2.0),
        i.query(1.0),
    ),
    "a distance that fails": lambda i: i.insert("q", None),
    "a distance of NaN": lambda i: (i.insert("q", float("nan")), "q" in i),
    "k": lambda i: (
        [i.query(5, k) for k in (0, 1)]
        + [len(found) for found in (i.query(5, 100), i.query(5))]
    ),
    "k of None": lambda i: len(i.query(5, k=None, ef=1)),
    "k of a float": lambda i: i.query(5.1, 2.0),
    "k above ef": lambda i: len(i.query(5.1, k=10, ef=5)),
    "k of -1": lambda i: i.query(5.1, -1),
    "ef 0": lambda i: i.query(5.1, 1, 0),
    **each("ef {}, inserted", (0, 2.5))(lambda i, ef: i.insert("q", 1.0, ef=ef)),
    **each("level {}", (-1, 2.5))(lambda i, level: i.insert("q", 1.0, level=level)),
    "level": lambda i: (
        [i.insert(f"q{n}", 20.0 + n, level=n) for n in (0, 1, 9)],
        i.query(24.0, 3),
    ),
    "copy.copy": lambda i: (put(copy.copy(i), q=1.0), "q" in i),
}
ON_REMOVED = {
    "removed, added again": lambda i: (put(i, k3=77.0), state(i)),
    "removed, then hard": lambda i: (
        i.remove("k3", hard=True),
        attempt(i.remove, "k3"),
        state(i),
    ),
    "cleaned": lambda i: (i.clean(), attempt(i.remove, "k3"), state(i)),
    "cleaned, ef": lambda i: (i.clean(ef=3), state(i)),
}
CONSTRUCTED = {
    "defaults": lambda ds: (
        i := ds.HNSW(far),
        i.insert("a", 1.0),
        put(i, c=9.0),
        i.query(2.5),
    ),
    "by place": lambda ds: (
        i := ds.HNSW(far, 4, 20, 8, 3, True),
        put(i, a=1.0),
        i.query(0.5, 1, 5),
    ),
    **each("{0[0]} {0[1]!r}", ARGUMENTS)(
        lambda ds, named: (
            i := ds.HNSW(far, **{"seed": 1, named[0]: named[1]}),
            put(i, a=1.0, b=2.0),
            i.query(0),
        )
    ),
    "a distance that cannot be called": lambda ds: ds.HNSW(5),
    "copy of a subclass": lambda ds: (
        type(type("Mine", (ds.HNSW,), {})(far).copy()).__name__
    ),
}


class Graph:
    @given(new)
    def empty(i):
        yield (
            len(i),
            bool(i),
            list(i),
            "a" in i,
            i.get("a"),
            i.get("a", 1),
            i.pop("a", 2),
            i.clean(),
        )
        yield i.query(1.0)

    @given(new)
    def keys_that_cannot_be_ordered(i):
        i.update(dict.fromkeys(("a", 1, None, (2,)), 1.0))
        return len(i.query(1.0)), None in i

    def vectors(ds):
        i = ds.HNSW(lambda x, y: np.linalg.norm(x - y), seed=1)
        p = np.arange(30.0).reshape(10, 3)
        i.update(dict(enumerate(p)))
        return [key for key, _ in i.query(p[4], 3)], i[4], list(i.values())[9]

    def sketches(ds):
        i = ds.HNSW(lambda x, y: 1 - x.jaccard(y), seed=1)
        i.update({n: ds.sketch(range(n, 40 + n)) for n in range(0, 50, 10)})
        return i.query(ds.sketch(range(5, 45)), 2), i[10]

    @given(removed)
    def removed(i):
        yield state(i), attempt(i.pop, "k3"), i.remove("k3")
        del i["k3"]
        yield i.get("k3"), len(i)

    @given(filled)
    def all_removed(i):
        yield (
            [i.remove(f"k{n}") for n in range(12)],
            len(i),
            attempt(i.query, 1.0),
            attempt(i.remove, "k1"),
        )
        i["a"] = 5.0
        yield list(i), i.query(1.0)

    def update(ds):
        i, j = filled(ds), ds.HNSW(far, seed=2)
        return i.update({"k1": 9.5, "q": 3.0}), list(i), j.update(i), dict(j) == dict(i)

    def merge(ds):
        i, j = removed(ds), ds.HNSW(far, seed=2)
        return (
            j.update({"k1": 70.0, "q": 80.0}),
            list(i.merge(j).items()),
            len(i),
            len(j),
        )

    @given(filled)
    def copy(i):
        j = i.copy()
        yield i == j, i.remove("k3"), "k3" in j, i == j, j.remove("k3"), i == j
        j["q"] = 1.0
        yield len(i)

    def equal(ds):
        i, j = filled(ds), filled(ds)
        yield (
            i == copy.deepcopy(i),
            i == 5,
            i != i.copy(),
            i == dict(i),
            i == ds.HNSW(far, seed=2),
        )
        j["k3"] = 8.0
        yield i == j, ds.HNSW(far, m=5, seed=1) == ds.HNSW(far, m=4, seed=1)

    @each("pickle{}", {"": (np.subtract, 1.0), " of arrays": (np.dot, np.ones(3))})
    def pickled(ds, what):
        i = ds.HNSW(what[0], seed=1)
        put(i, a=what[1])
        j = pickle.loads(pickle.dumps(i))
        return i == j, list(j), j["a"]

    @given(new)
    def attributes_of_ones_own(i):
        i.label = "x"
        return i.copy().label


GROUPS = {
    "HNSW": (
        CONSTRUCTED,
        given(new)(ON_NEW),
        given(filled)(ON_FILLED),
        given(removed)(ON_REMOVED),
        Graph,
    )
}
