"""What benchmarks/public_methods.py measures of MinHashLSH and MinHashLSHBloom."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from contest import PERMUTATIONS, SEED, THRESHOLD, installed
from data import planted_signatures
from public_methods import Call, Method

ENTRIES = 20_000
SMALL = 2_000


@cache
def sketches(library: Any, n: int) -> list[Any]:
    values = (planted_signatures(n, PERMUTATIONS, SEED) >> np.uint64(32)).astype(
        np.uint32
    )
    return [
        library.LeanMinHash(seed=SEED, hashvalues=row, scheme="affine32")
        for row in values
    ]


def filled(library: Any, n: int, first: int = 0) -> Any:
    lsh = library.MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    for number, sketch in enumerate(sketches(library, n)):
        lsh.insert(f"key {first + number}", sketch)
    return lsh


@cache
def index(library: Any, n: int = ENTRIES) -> Any:
    """Return an index that calls may read and change back, but not leave changed."""
    return filled(library, n)


@cache
def read(library: Any, n: int = ENTRIES) -> Any:
    """Return an index whose keys and hashtables were read before."""
    lsh = filled(library, n)
    len(lsh.keys["key 1"]), len(lsh.hashtables[0])
    return lsh


def on(
    make: Callable[..., Any], call: Callable[..., object], *arguments: Any
) -> Callable[[Any], Call]:
    """Prepare a call on an index and one of its sketches."""

    def prepare(library: Any) -> Call:
        lsh, sketch = make(library, *arguments), sketches(library, ENTRIES)[7]
        return lambda: call(lsh, sketch)

    return prepare


def bucket(library: Any) -> Call:
    lsh = read(library)
    name = lsh.keys["key 7"][0]
    return lambda: lsh.hashtables[0].get(name)


def item(library: Any) -> Call:
    lsh = read(library)
    name = lsh.keys["key 7"][0]
    return lambda: lsh.hashtables[0][name]


def contained(library: Any) -> Call:
    lsh = read(library)
    name = lsh.keys["key 7"][0]
    return lambda: name in lsh.hashtables[0]


def replaced(lsh: Any, sketch: Any) -> None:
    lsh.remove("key 7")
    lsh.insert("key 7", sketch)


def read_after_change(lsh: Any, sketch: Any) -> None:
    replaced(lsh, sketch)
    for band, name in enumerate(lsh.keys["key 7"]):
        lsh.hashtables[band].get(name)


def all_buckets(lsh: Any, sketch: Any) -> None:
    for name in lsh.hashtables[0]:
        lsh.hashtables[0][name]


def many_keys(lsh: Any, sketch: Any) -> None:
    for key in lsh.keys:
        lsh.keys[key]


def inserted(library: Any) -> Call:
    lsh = library.MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    made = list(enumerate(sketches(library, SMALL)))

    def call() -> None:
        for key, sketch in made:
            lsh.insert(key, sketch)

    return call


def inserted_and_read(library: Any) -> Call:
    lsh = library.MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    made = list(enumerate(sketches(library, SMALL)))

    def call() -> None:
        for key, sketch in made:
            lsh.insert(key, sketch)
        lsh.get_counts()

    return call


def inserted_in_session(library: Any) -> Call:
    lsh = library.MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    made = list(enumerate(sketches(library, SMALL)))

    def call() -> None:
        with lsh.insertion_session() as session:
            for key, sketch in made:
                session.insert(key, sketch)

    return call


def removed(library: Any) -> Call:
    lsh = filled(library, SMALL)

    def call() -> None:
        for number in range(SMALL):
            lsh.remove(f"key {number}")

    return call


def removed_in_session(library: Any) -> Call:
    lsh = filled(library, SMALL)

    def call() -> None:
        with lsh.deletion_session() as session:
            for number in range(SMALL):
                session.remove(f"key {number}")

    return call


def merged(library: Any) -> Call:
    lsh, other = filled(library, SMALL), filled(library, SMALL, first=SMALL)
    return lambda: lsh.merge(other)


def merged_with_check(library: Any) -> Call:
    lsh, other = filled(library, SMALL), filled(library, SMALL, first=SMALL)
    return lambda: lsh.merge(other, check_overlap=True)


def loaded(library: Any) -> Call:
    data = pickle.dumps(index(library, SMALL))
    return lambda: pickle.loads(data)


def buffered_queries(lsh: Any, sketch: Any) -> None:
    lsh.add_to_query_buffer(sketch)
    lsh.add_to_query_buffer(sketch)
    lsh.collect_query_buffer()


def changed_views(library: Any) -> Call:
    lsh = filled(library, SMALL)

    def call() -> None:
        lsh.hashtables[0].insert(b"bucket", "new")
        lsh.hashtables[0].remove_val(b"bucket", "new")
        lsh.keys.insert("new", b"bucket")
        lsh.keys.remove("new")

    return call


def changed_by_hand_query(library: Any) -> Call:
    lsh, sketch = filled(library, SMALL), sketches(library, SMALL)[7]
    lsh.keys.insert("new", b"bucket")
    return lambda: lsh.query(sketch)


def changed_by_hand_insert(library: Any) -> Call:
    lsh, sketch = filled(library, SMALL), sketches(library, SMALL)[7]
    lsh.keys.insert("new", b"bucket")

    def call() -> None:
        lsh.insert("another", sketch)
        lsh.remove("another")

    return call


def bloom(library: Any, entries: int) -> Any:
    lsh = library.MinHashLSHBloom(
        threshold=THRESHOLD, num_perm=PERMUTATIONS, n=10_000, fp=0.001
    )
    for sketch in sketches(library, SMALL)[:entries]:
        lsh.insert(sketch)
    return lsh


def bloom_call(method: str, entries: int, at: int) -> Callable[[Any], Call]:
    def prepare(library: Any) -> Call:
        lsh, sketch = bloom(library, entries), sketches(library, SMALL)[at]
        return lambda: getattr(lsh, method)(sketch)

    return prepare


def storage(name: str, call: Callable[[Any], object]) -> Callable[[Any], Call]:
    def prepare(library: Any) -> Call:
        made = getattr(library.storage, name)({"type": "dict"})
        for key in range(1000):
            made.insert(key, 1, 2, 3)
        return lambda: call(made)

    return prepare


def changed_storage(made: Any) -> None:
    made.insert("key", "a", "b")
    made.remove_val("key", "a")
    made.remove("key")


def of_index() -> list[Method]:
    return [
        Method(
            "MinHashLSH()",
            lambda library: (
                lambda: library.MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
            ),
        ),
        Method(
            "MinHashLSH(params)",
            lambda library: (
                lambda: library.MinHashLSH(num_perm=PERMUTATIONS, params=(16, 8))
            ),
        ),
        Method(f"MinHashLSH.insert, {SMALL} times", inserted, once=True),
        Method("MinHashLSH.insert and get_counts", inserted_and_read, once=True),
        Method("MinHashLSH.insertion_session", inserted_in_session, once=True),
        Method(f"MinHashLSH.remove, {SMALL} times", removed, once=True),
        Method("MinHashLSH.deletion_session", removed_in_session, once=True),
        Method("MinHashLSH.remove and insert", on(index, replaced)),
        Method("MinHashLSH.remove and insert, views read before", on(read, replaced)),
        Method("MinHashLSH.query", on(index, lambda lsh, sketch: lsh.query(sketch))),
        Method("MinHashLSH query buffer", on(index, buffered_queries)),
        Method("key in MinHashLSH", on(index, lambda lsh, sketch: "key 7" in lsh)),
        Method("MinHashLSH.is_empty", on(index, lambda lsh, sketch: lsh.is_empty())),
        Method("MinHashLSH.get_counts", on(read, lambda lsh, sketch: lsh.get_counts())),
        Method(
            "MinHashLSH.get_subset_counts",
            on(read, lambda lsh, sketch: lsh.get_subset_counts("key 1", "key 2")),
        ),
        Method("MinHashLSH.merge", merged, once=True),
        Method("MinHashLSH.merge, check_overlap", merged_with_check, once=True),
        Method(
            "pickle.dumps(MinHashLSH)",
            on(index, lambda lsh, sketch: pickle.dumps(lsh), SMALL),
        ),
        Method("pickle.loads of a MinHashLSH", loaded),
        Method(
            "copy.copy(MinHashLSH)",
            on(index, lambda lsh, sketch: copy.copy(lsh), SMALL),
        ),
        Method(
            "copy.deepcopy(MinHashLSH)",
            on(index, lambda lsh, sketch: copy.deepcopy(lsh), SMALL),
        ),
        Method(
            "MinHashLSH.b, r, h, hashranges",
            on(index, lambda lsh, sketch: (lsh.b, lsh.r, lsh.h, lsh.hashranges)),
        ),
    ]


def of_views() -> list[Method]:
    return [
        Method("keys, hashtables read after a change", on(read, read_after_change)),
        Method("keys[key]", on(read, lambda lsh, sketch: lsh.keys["key 7"])),
        Method("keys.get", on(read, lambda lsh, sketch: lsh.keys.get("key 7"))),
        Method(
            "keys.getmany",
            on(read, lambda lsh, sketch: lsh.keys.getmany("key 7", "key 8")),
        ),
        Method("key in keys", on(read, lambda lsh, sketch: "key 7" in lsh.keys)),
        Method("keys.has_key", on(read, lambda lsh, sketch: lsh.keys.has_key("key 7"))),
        Method("keys.keys", on(read, lambda lsh, sketch: lsh.keys.keys())),
        Method("keys.size", on(read, lambda lsh, sketch: lsh.keys.size())),
        Method("len(keys)", on(read, lambda lsh, sketch: len(lsh.keys))),
        Method("keys.itemcounts", on(read, lambda lsh, sketch: lsh.keys.itemcounts())),
        Method("list(keys)", on(read, lambda lsh, sketch: list(lsh.keys))),
        Method("keys[key] of all keys", on(read, many_keys)),
        Method("hashtables[0].get", bucket),
        Method("hashtables[0][name]", item),
        Method("name in hashtables[0]", contained),
        Method(
            "hashtables[0].size", on(read, lambda lsh, sketch: lsh.hashtables[0].size())
        ),
        Method(
            "hashtables[0].keys", on(read, lambda lsh, sketch: lsh.hashtables[0].keys())
        ),
        Method(
            "hashtables[0].itemcounts",
            on(read, lambda lsh, sketch: lsh.hashtables[0].itemcounts()),
        ),
        Method("hashtables[0][name] of all buckets", on(read, all_buckets)),
        Method("keys and hashtables changed", changed_views),
        Method("MinHashLSH.query, views changed by hand", changed_by_hand_query),
        Method(
            "MinHashLSH.insert and remove, views changed by hand",
            changed_by_hand_insert,
        ),
    ]


def of_storages() -> list[Method]:
    found = []
    for name in ("ordered_storage", "unordered_storage"):
        calls: dict[str, Callable[[Any], object]] = {
            "get": lambda made: made.get(7),
            "[key]": lambda made: made[7],
            "in": lambda made: 7 in made,
            "len": len,
            "list": list,
            "getmany": lambda made: made.getmany(7, 8),
            "itemcounts": lambda made: made.itemcounts(),
            "insert, remove_val, remove": changed_storage,
        }
        found += [
            Method(f"{name}, {what}", storage(name, call))
            for what, call in calls.items()
        ]
    return found


def of_bloom() -> list[Method]:
    def make(library: Any) -> Call:
        return lambda: library.MinHashLSHBloom(
            threshold=THRESHOLD, num_perm=PERMUTATIONS, n=10_000, fp=0.001
        )

    return [
        Method("MinHashLSHBloom()", make),
        Method("MinHashLSHBloom.insert", bloom_call("insert", 1000, 1)),
        Method("MinHashLSHBloom.query, with hits", bloom_call("query", 1000, 7)),
        Method("MinHashLSHBloom.query, without hits", bloom_call("query", 1000, 1001)),
    ]


def methods() -> list[Method]:
    return [
        *of_index(),
        *of_views(),
        *of_storages(),
        *(of_bloom() if installed("pybloomfilter") else []),
    ]
