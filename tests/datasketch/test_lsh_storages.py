"""MinHashLSH over storages of a program's own, and the names that such programs use."""

from __future__ import annotations

import copy
import gc
import pickle
import struct
import weakref

import pytest

import lshfast.datasketch.lsh as lsh_module
from lshfast.datasketch import LeanMinHash, MinHash, MinHashLSH
from lshfast.datasketch.lsh import _optimal_param
from lshfast.datasketch.storage import (
    DictListStorage,
    OrderedStorage,
    UnorderedStorage,
    _random_name,
    ordered_storage,
    unordered_storage,
)
from tests.datasketch.test_lsh import near
from tests.interrupts import interrupted, places


class Plain(OrderedStorage):
    """The least that a storage needs: it keeps nothing back, whatever `buffer` says."""

    kind = list

    def __init__(self, config, name):
        self.name, self.held = name, {}

    def keys(self):
        return self.held.keys()

    def get(self, key):
        return self.held.get(key, self.kind())

    def insert(self, key, *vals, **kwargs):
        self.held[key] = self.kind([*self.get(key), *vals])

    def remove(self, *keys, **kwargs):
        for key in keys:
            del self.held[key]

    def remove_val(self, key, val, **kwargs):
        self.held[key].remove(val)

    def size(self):
        return len(self.held)

    def itemcounts(self, **kwargs):
        return {key: len(vals) for key, vals in self.held.items()}

    def has_key(self, key):
        return key in self.held


class PlainSets(UnorderedStorage, Plain):
    kind = set


class Own(MinHashLSH):
    """An index whose constructor sets the attributes itself, and does not call the one of MinHashLSH."""

    def __init__(self, threshold, num_perm, make_keys=Plain, make_table=PlainSets):
        self.h = num_perm
        self.b, self.r = _optimal_param(threshold, num_perm, 0.5, 0.5)
        self.prepickle, self.hashfunc = False, None
        self._H = self._byteswap
        self._buffer_size = 50_000
        name = _random_name(11)
        self.hashtables = [
            make_table({}, name + struct.pack(">H", band)) for band in range(self.b)
        ]
        self.hashranges = [
            (band * self.r, (band + 1) * self.r) for band in range(self.b)
        ]
        self.keys = make_keys({}, name)


def used(index):
    """Use an index in each way, and return what came out."""
    for n in (40, 38, 35, 20, 0):
        index.insert(n, near(n))
    found = [sorted(index.query(near(n))) for n in (40, 20, 7)]
    with pytest.raises(ValueError, match="already exists: 40"):
        index.insert(40, near(40))
    index.remove(38)
    with index.deletion_session() as session:
        session.remove(35)
    with index.insertion_session() as session:
        session.insert("new", near(40))
    found += [
        sorted(map(str, index.query(near(40)))),
        38 in index,
        "new" in index,
        index.is_empty(),
    ]
    found += [
        index.get_counts(),
        index.get_subset_counts(40, 0),
        sorted(map(str, index.keys)),
    ]
    return found


def test_an_index_with_a_constructor_of_its_own():
    index = Own(0.5, 64)
    assert used(index) == used(MinHashLSH(0.5, 64))
    again = pickle.loads(pickle.dumps(index))
    assert type(again) is Own
    assert set(again.query(near(40))) == {40, "new"}
    again.remove("new")
    assert set(index.query(near(40))) == {40, "new"}
    other = MinHashLSH(0.5, 64)
    other.insert("m", near(40))
    with pytest.raises(ValueError, match="Cannot merge type"):
        index.merge(other)
    third = Own(0.5, 64)
    third.insert("t", near(40))
    index.merge(third)
    assert "t" in index.query(near(40))
    with pytest.raises(AttributeError, match="'Own' object has no attribute 'nothing'"):
        index.nothing  # noqa: B018


@pytest.mark.parametrize("how", ["both", "in a constructor"])
def test_storages_that_are_assigned_are_used(how):
    """Also where the constructor of the index was run before."""
    sketch = near(0)
    first = MinHashLSH(0.5, 64)
    first.insert("a", sketch)
    second = MinHashLSH(0.5, 64)
    second.insert("lost", sketch)
    if how == "both":
        second.keys, second.hashtables = first.keys, first.hashtables
    else:
        second = MinHashLSH(0.5, 64)
        second.keys, second.hashtables = (
            Plain({}, b"k"),
            [PlainSets({}, b"%d" % band) for band in range(second.b)],
        )
        second.insert("a", sketch)
        assert list(second.keys.keys()) == ["a"]
    assert second.query(sketch) == ["a"]
    assert "a" in second
    assert "lost" not in second
    second.remove("a")
    assert second.query(sketch) == []


def test_a_type_of_storage_that_a_program_adds(monkeypatch):
    made = []

    def ordered(config, name=None):
        made.append(name)
        return (
            Plain(config, name)
            if config["type"] == "own"
            else ordered_storage(config, name)
        )

    def unordered(config, name=None):
        made.append(name)
        return (
            PlainSets(config, name)
            if config["type"] == "own"
            else unordered_storage(config, name)
        )

    with pytest.raises(ValueError, match="Unknown storage type: own"):
        MinHashLSH(0.5, 64, storage_config={"type": "own"})
    monkeypatch.setattr(lsh_module, "ordered_storage", ordered)
    monkeypatch.setattr(lsh_module, "unordered_storage", unordered)
    index = MinHashLSH(0.5, 64, storage_config={"type": "own", "basename": b"base"})
    assert sorted(made) == [
        *(b"base_bucket_" + struct.pack(">H", band) for band in range(index.b)),
        b"base_keys",
    ]
    assert index.prepickle
    index.insert("a", near(40))
    assert index.query(near(40)) == ["a"]
    assert list(index.keys) == [pickle.dumps("a")]
    again = pickle.loads(pickle.dumps(index))
    assert again.query(near(40)) == ["a"]
    assert "a" in again
    with pytest.raises(ValueError, match="Unknown storage type: other"):
        MinHashLSH(0.5, 64, storage_config={"type": "other"})


@pytest.mark.parametrize("hashfunc", [None, lambda name: name[:3]])
@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy"])
def test_names_of_buckets(hashfunc, scheme):
    index, sketch = MinHashLSH(0.5, 64, hashfunc=hashfunc), near(40, scheme=scheme)
    index.insert("a", sketch)
    names = [index._H(sketch.hashvalues[low:high]) for low, high in index.hashranges]
    assert names == index.keys["a"]
    assert all(
        "a" in table.get(name)
        for table, name in zip(index.hashtables, names, strict=True)
    )


def test_an_index_that_a_program_fills_by_hand():
    index = MinHashLSH(0.5, 64)
    sketches = {n: LeanMinHash(near(n)) for n in (40, 38, 0)}
    for key, sketch in sketches.items():
        names = [
            index._H(sketch.hashvalues[low:high]) for low, high in index.hashranges
        ]
        index.keys.insert(key, *names, buffer=False)
        for table, name in zip(index.hashtables, names, strict=True):
            table.insert(name, key, buffer=False)
    assert set(index.query(near(40))) == {40, 38}
    assert index.get_counts() == filled(sketches).get_counts()
    assert index.hashtables[0]._dict == filled(sketches).hashtables[0]._dict
    assert isinstance(index.keys, DictListStorage)


def test_queries_of_the_first_bands():
    index = filled({n: near(n) for n in (40, 38, 35, 20, 0)})
    assert index._query_b(near(40), index.b) == set(index.query(near(40)))
    assert index._query_b(near(40), 1) == index.hashtables[0][index.keys[40][0]]
    assert index._query_b(MinHash(64), 2) == set()
    with pytest.raises(ValueError, match="b must be at most"):
        index._query_b(near(40), index.b + 1)


def filled(sketches):
    index = MinHashLSH(0.5, 64)
    for key, sketch in sketches.items():
        index.insert(key, sketch)
    return index


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))]
)
def test_copies_of_an_index_whose_views_were_changed(copied):
    index = MinHashLSH(0.5, 64)
    index.insert("a", near(40))
    index.keys.insert("b", b"bucket")
    index.hashtables[0].insert(b"bucket", "b")
    again = copied(index)
    assert list(again.keys) == ["a", "b"]
    assert again.keys["b"] == [b"bucket"]
    assert again.keys["a"] == index.keys["a"]
    assert [list(table) for table in again.hashtables] == [
        list(table) for table in index.hashtables
    ]
    again.hashtables[0].insert(b"bucket", "c")
    assert again.hashtables[0][b"bucket"] == {"b", "c"}
    assert index.hashtables[0][b"bucket"] == {"b"}


def test_views_that_are_kept_follow_the_index():
    index = MinHashLSH(0.5, 64)
    keys, table = index.keys, index.hashtables[0]
    assert (len(keys), len(table)) == (0, 0)
    index.insert("a", near(40))
    name = keys["a"][0]
    assert table[name] == {"a"}
    index.insert("b", near(40))
    assert table[name] == {"a", "b"}
    del index
    assert table[name] == {"a", "b"}
    assert keys["b"][0] == name


def test_an_index_that_is_given_up_is_freed_at_once():
    index = MinHashLSH(0.5, 64)
    index.insert("a", near(40))
    assert len(index.hashtables[0]) == len(index.keys["a"][:1])
    keys = weakref.ref(index.keys)
    gc.disable()
    try:
        del index
        assert keys() is None
    finally:
        gc.enable()


def check_whole(index):
    """Check that `in`, queries, keys and hashtables tell the same."""
    found = index.query(near(40))
    assert [key for key in ("a", "b", "c", "d") if key in index] == sorted(found)
    assert sorted(index.keys) == sorted(found)
    for key in found:
        names = index.keys[key]
        assert len(names) == index.b
        assert all(
            key in table[name]
            for table, name in zip(index.hashtables, names, strict=True)
        )
    assert all(
        sum(table.itemcounts().values()) == len(found) for table in index.hashtables
    )


def read_views(index):
    return index.get_counts(), list(index.keys)


@pytest.mark.one_case
@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize(
    ("change", "keys"),
    [
        (lambda index, other: index.insert("c", near(40)), {"a", "b", "c"}),
        (lambda index, other: index.remove("a"), {"b"}),
        (lambda index, other: index.merge(other), {"a", "b", "c", "d"}),
        (lambda index, other: read_views(index), {"a", "b"}),
    ],
)
def test_interrupted_changes(change, keys, read):
    def made():
        index, other = MinHashLSH(0.5, 64), MinHashLSH(0.5, 64)
        for one, held in ((index, "ab"), (other, "cd")):
            for key in held:
                one.insert(key, near(40))
            if read:
                read_views(one)
        return index, other

    index, other = made()
    count, _ = interrupted(lambda: change(index, other), 0)
    for place in places(count, 60):
        index, other = made()
        _, raised = interrupted(lambda: change(index, other), place)  # noqa: B023
        assert raised
        check_whole(index)
        if set(index.keys) != keys:
            change(index, other)
        assert set(index.keys) == keys
        check_whole(index)
