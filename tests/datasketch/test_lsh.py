"""MinHashLSH beside a plain dict of sets and beside the installed datasketch: choices, answers, sessions, pickles."""

from __future__ import annotations

import base64
import contextlib
import copy
import importlib
import pickle
import pickletools
import re
import threading
import uuid
from datetime import date, datetime, timedelta, timezone
from datetime import time as clock
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from lshfast import FormatError
from lshfast.datasketch import (
    LeanMinHash,
    MinHash,
    MinHashLSH,
    MinHashLSHBloom,
    MinHashLSHEnsemble,
    MinHashLSHForest,
    WeightedMinHashLSH,
    bBitMinHash,
)
from lshfast.datasketch.key_pickles import plain_loads
from lshfast.datasketch.lsh_parameters import bands_and_rows
from lshfast.datasketch.slots import PAIRS, Form, rows_of
from lshfast.datasketch.storage import OrderedStorage, UnorderedStorage

# (num_perm, weights) and what datasketch 2.0 chooses for each of THRESHOLDS.
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
CHOICES = {
    (2, (0.5, 0.5)): "2x1 2x1 2x1 2x1 1x1 1x2 1x2 1x2 1x2 1x2 1x2 1x2",
    (16, (0.5, 0.5)): "15x1 7x1 8x2 6x2 5x3 4x4 3x5 2x6 2x8 2x8 1x15 1x16",
    (16, (0.4, 0.6)): "16x1 8x1 8x2 8x2 5x3 4x4 3x5 3x5 2x7 2x8 1x12 1x16",
    (16, (0.9, 0.1)): "8x2 6x2 5x3 4x4 3x5 2x7 2x8 1x13 1x16 1x16 1x16 1x16",
    (64, (0.5, 0.5)): "15x1 28x2 21x3 16x4 14x4 10x6 8x8 7x9 5x11 4x15 3x21 2x32",
    (64, (0.4, 0.6)): "18x1 32x2 21x3 19x3 16x4 12x5 9x7 8x8 6x10 5x12 4x16 2x32",
    (64, (0.9, 0.1)): "28x2 21x3 16x4 12x5 9x7 7x9 5x12 4x15 3x19 2x25 2x32 1x64",
    (100, (0.5, 0.5)): "50x2 28x2 33x3 25x4 20x5 16x6 11x9 10x10 8x12 6x16 4x23 3x33",
    (128, (0.5, 0.5)): "64x2 28x2 37x3 32x4 25x5 18x7 14x9 11x11 9x13 8x16 5x25 3x42",
    (128, (0.4, 0.6)): "64x2 35x2 42x3 32x4 25x5 21x6 16x8 12x10 10x12 8x16 6x21 3x38",
    (128, (0.9, 0.1)): "28x2 27x3 25x5 21x6 16x8 12x10 9x14 8x16 6x21 5x25 3x42 2x64",
}

EMPTY_32 = 2**32 - 1


def lean(values, scheme="affine32", seed=1):
    return LeanMinHash(seed=seed, hashvalues=values, scheme=scheme)


def near(n, num_perm=64, **options):
    """Return a sketch that shares about n of 40 tokens with `near(40)`."""
    sketch = MinHash(num_perm, **options)
    sketch.update_batch([b"%d" % token for token in range(40 - n, 80 - n)])
    return sketch


def held(keys=(40, 38, 35, 20, 0), **options):
    index = MinHashLSH(0.5, 64, **options)
    for n in keys:
        index.insert(n, near(n))
    return index


class Weighted:
    """A sketch of pairs (k, t), as weighted ones are."""

    def __init__(self, hashvalues, seed=1):
        self.seed, self.hashvalues = seed, np.array(hashvalues, np.int64)

    def __len__(self):
        return len(self.hashvalues)

    def jaccard(self, other):
        return float(np.mean((self.hashvalues == other.hashvalues).all(axis=1)))


# The choice of bands


@pytest.mark.one_case
@pytest.mark.parametrize(("num_perm", "weights"), CHOICES)
def test_bands_and_rows_are_those_that_datasketch_chooses(num_perm, weights):
    chosen = [
        bands_and_rows(threshold, num_perm, weights, None) for threshold in THRESHOLDS
    ]
    assert " ".join(f"{b}x{r}" for b, r in chosen) == CHOICES[num_perm, weights]


@pytest.mark.one_case
@pytest.mark.parametrize("num_perm", [3, 20, 37, 50, 128, 200])
def test_bands_and_rows_beside_datasketch(num_perm):
    peer = pytest.importorskip("datasketch").lsh
    for threshold in np.linspace(0, 1, 9 if num_perm < 100 else 3):
        for weights in ((0.5, 0.5), (0.3, 0.7), (0.95, 0.05)):
            expected = peer._optimal_param(threshold, num_perm, *weights)
            assert bands_and_rows(threshold, num_perm, weights, None) == expected


@pytest.mark.parametrize("threshold", [0.97, 0.99, 1, 1.0])
def test_high_thresholds_work(threshold):
    index = MinHashLSH(threshold, 64)
    index.insert("a", near(40))
    assert index.query(near(40)) == ["a"]
    assert index.query(near(30)) == []


# Answers


def test_scores_are_the_share_of_equal_slots_best_first():
    index = held()
    found = index.query(near(40), with_scores=True)
    assert found[0] == (40, 1.0)
    assert found == sorted(found, key=lambda match: (-match[1], match[0]))
    assert dict(found) == {
        key: near(40).jaccard(near(key)) for key in index.query(near(40))
    }


def test_scores_of_keys_that_do_not_compare():
    index = MinHashLSH(0.5, 16)
    for key in ("a", 1, ("b",)):
        index.insert(key, near(40, 16))
    assert index.query(near(40, 16), with_scores=True) == [
        ("a", 1.0),
        (1, 1.0),
        (("b",), 1.0),
    ]


@pytest.mark.parametrize(
    "scheme", ["affine32", "affine64", "legacy", "classic", "fast"]
)
def test_schemes(scheme):
    index = MinHashLSH(0.5, 64)
    for n in (40, 38, 0):
        index.insert(n, near(n, scheme=scheme))
    index.insert("empty", MinHash(64, scheme=scheme))
    assert index.query(near(40, scheme=scheme)) == [40, 38]
    assert index.query(MinHash(64, scheme=scheme)) == ["empty"]
    assert index.query(LeanMinHash(near(39, scheme=scheme))) == [40, 38]
    again = pickle.loads(pickle.dumps(index))
    assert again.query(near(40, scheme=scheme)) == [40, 38]
    assert again.query(MinHash(64, scheme=scheme)) == ["empty"]
    assert "empty" in again


@pytest.mark.parametrize(
    "other",
    [
        near(40, scheme="affine64"),
        near(40, scheme="fast"),
        near(40, seed=2),
        Weighted([[1, 2]] * 64),
    ],
)
def test_what_cannot_be_compared_is_refused(other):
    index = held()
    for call in (
        index.query,
        index.add_to_query_buffer,
        lambda sketch: index.insert("new", sketch),
    ):
        with pytest.raises(ValueError, match="compared"):
            call(other)
    foreign = MinHashLSH(0.5, 64)
    foreign.insert("new", other)
    with pytest.raises(ValueError, match="compared"):
        index.merge(foreign)
    assert "new" not in index


@pytest.mark.parametrize(
    "given",
    [None, "x" * 64, [1] * 64, np.zeros(64, np.uint32), bBitMinHash(near(40), 8), 5],
)
def test_what_is_no_sketch_is_refused(given):
    index = held()
    for call in (
        index.query,
        index.add_to_query_buffer,
        lambda sketch: index.insert("new", sketch),
    ):
        with pytest.raises(TypeError, match="WeightedMinHash is needed, not"):
            call(given)


def test_hash_values_of_other_kinds_are_refused():
    sketch = near(40)
    sketch.hashvalues = sketch.hashvalues.astype(np.float64)
    with pytest.raises(TypeError, match="hashvalues must be integers, not float64"):
        MinHashLSH(0.5, 64).insert("a", sketch)


@pytest.mark.parametrize("n", [1, 63, 65])
def test_other_lengths_are_refused(n):
    index = held()
    for call in (index.query, lambda sketch: index.insert("new", sketch)):
        with pytest.raises(ValueError, match=f"must have 64 slots, not {n}"):
            call(near(40, n))


def test_sketches_of_datasketch_are_taken():
    peer = pytest.importorskip("datasketch")
    theirs = peer.MinHash(64)
    theirs.update_batch([b"%d" % token for token in range(40)])
    index = held()
    assert index.query(theirs) == index.query(near(40))
    index.insert("theirs", peer.LeanMinHash(theirs))
    assert "theirs" in index.query(near(40))


def test_a_failed_insertion_leaves_no_trace():
    index = MinHashLSH(0.5, 64)
    with pytest.raises(TypeError):
        index.insert([], near(4, scheme="legacy"))
    index.insert("a", near(4))
    with pytest.raises(ValueError, match="already exists: 'a'"):
        index.insert("a", near(40))
    with pytest.raises(ValueError, match="does not exist: 'b'"):
        index.remove("b")
    assert index.query(near(4)) == ["a"]
    assert index.query(near(40)) == []


def test_weighted_sketches():
    rng = np.random.default_rng(4)
    values = np.stack(
        [rng.integers(0, 2**31, (3, 16)), rng.integers(-(2**31), 2**31, (3, 16))],
        axis=2,
    )
    values[1, :12] = values[0, :12]
    index = WeightedMinHashLSH(num_perm=16, params=(4, 4))
    for key, one in enumerate(values):
        index.insert(key, Weighted(one))
    assert index.query(Weighted(values[0]), with_scores=True) == [(0, 1.0), (1, 0.75)]
    again = pickle.loads(pickle.dumps(index))
    assert again.query(Weighted(values[1]), with_scores=True) == [(1, 1.0), (0, 0.75)]
    assert again.get_counts() == index.get_counts()
    with pytest.raises(ValueError, match="must be k in"):
        index.query(Weighted([[2**31, 0]] * 16))
    with pytest.raises(ValueError, match="seed 1, not 2"):
        index.query(Weighted(values[0], seed=2))


@given(
    st.lists(
        st.tuples(st.integers(0, 2**31 - 1), st.integers(-(2**31), 2**31 - 1)),
        min_size=4,
        max_size=4,
    )
)
def test_rows_of_pairs_come_back(pairs):
    form = Form(None, 1, PAIRS)
    values = np.array(pairs, np.int64)
    row = rows_of(values, form)
    assert len(set(pairs)) == len(set(row.tolist()))
    assert form.values_of(row).tolist() == values.tolist()
    assert form.row_of(form.buckets_of(row, 2, 2)).tolist() == row.tolist()


# Two sketches of one key


def test_a_key_inserted_unchecked_is_found_by_either_sketch():
    index = held([40])
    index.insert(40, near(0), check_duplication=False)
    index.insert(40, near(0), check_duplication=False)
    assert index.query(near(40)) == index.query(near(0)) == [40]
    assert index.query(near(0), with_scores=True) == [(40, 1.0)]
    assert len(index.keys) == 1
    assert len(index.keys.get(40)) == 2 * index.b
    index = pickle.loads(pickle.dumps(index))
    assert index.query(near(40)) == index.query(near(0)) == [40]
    index.remove(40)
    assert index.query(near(40)) == index.query(near(0)) == []
    assert index.is_empty()


def test_merge_keeps_both_sketches_of_a_key():
    index, other = held([40, 20]), held([])
    other.insert(40, near(0))
    index.merge(other)
    index.merge(other)
    assert index.query(near(0)) == [40]
    assert 40 in index.query(near(40))
    assert len(index.keys.get(40)) == 2 * index.b
    with pytest.raises(ValueError, match="40 is in both"):
        index.merge(other, check_overlap=True)
    with pytest.raises(ValueError, match="is in both"):
        index.merge(index, check_overlap=True)
    index.merge(index)
    assert sorted(index.keys) == [20, 40]


def test_merge_of_indexes_that_store_keys_differently():
    index, other = held([40]), held([38, 20], prepickle=True)
    index.merge(other)
    assert sorted(index.query(near(40))) == [38, 40]
    other.merge(index)
    assert sorted(other.query(near(40))) == [38, 40]


# Views and counts


def test_buckets_and_counts_agree():
    index = held()
    index.insert("empty", MinHash(64))
    for band, counts in enumerate(index.get_counts()):
        table = index.hashtables[band]
        assert dict(table.itemcounts()) == counts
        assert len(table) == table.size() == len(counts)
        assert sum(counts.values()) == 6
        for name in table:
            assert len(name) == 4 * index.r
            assert len(table.get(name)) == counts[name]
            assert all(index.keys.get(key)[band] == name for key in table[name])
            assert name in table
    assert b"no such" not in index.hashtables[0]
    assert index.hashtables[0].getmany(b"no such") == [set()]
    assert index.keys.itemcounts() == dict.fromkeys(
        [40, 38, 35, 20, 0, "empty"], index.b
    )
    assert index.keys.get("q") == []
    assert index.keys.getmany(40, "q") == [index.keys[40], []]
    subset = index.get_subset_counts(40, 38, "q")
    assert [sum(counts.values()) for counts in subset] == [2] * index.b


@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy"])
@pytest.mark.parametrize("hashfunc", [None, lambda data: data[:3]])
def test_counts_are_named_as_in_datasketch(scheme, hashfunc):
    peer = pytest.importorskip("datasketch")
    index = MinHashLSH(0.5, 64, hashfunc=hashfunc)
    other = peer.MinHashLSH(0.5, 64, hashfunc=hashfunc)
    for n in (40, 38, 20, 0):
        sketch = near(n, scheme=scheme)
        index.insert(n, sketch)
        other.insert(
            n, peer.LeanMinHash(seed=1, hashvalues=sketch.hashvalues, scheme=scheme)
        )
    assert index.get_counts() == other.get_counts()
    assert index.get_subset_counts(38, 0) == other.get_subset_counts(38, 0)
    assert index.keys.get(20) == other.keys.get(20)


# Pickles


def named_in(data):
    """Return all classes and functions that a pickle names."""
    strings, found = [], set()
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "STACK_GLOBAL":
            found.add(".".join(strings[-2:]))
        elif opcode.name == "GLOBAL":
            found.add(argument.replace(" ", "."))
        elif isinstance(argument, str):
            strings.append(argument)
    return found


# What `small` returns, written by Python 3.11 by protocol 5.
PICKLED = """
gAWVBgEAAAAAAACMFmxzaGZhc3QuZGF0YXNrZXRjaC5sc2iUjApNaW5IYXNoTFNIlJOUKYGUfZQojAd2ZXJzaW9ulEsBjAVzaGFwZZRLBEsCSw
KHlIwGY29uZmlnlH2UjAR0eXBllIwEZGljdJRzjAlwcmVwaWNrbGWUiYwIaGFzaGZ1bmOUTowEZm9ybZSMCGFmZmluZTMylEsBjAM8dTSUh5SM
B2VudHJpZXOUfZQojARrZXlzlF2UKIwBYZSMAWKUSwGGlE5ljARyb3dzlEMwAQAAAAIAAAADAAAABAAAAAEAAAACAAAABQAAAAYAAAD///////
//////////////lIwGbmFycm93lIh1dWIu
"""


def small():
    index = MinHashLSH(num_perm=4, params=(2, 2))
    index.insert("a", lean([1, 2, 3, 4]))
    index.insert(("b", 1), lean([1, 2, 5, 6]))
    index.insert(None, lean([EMPTY_32] * 4))
    return index


@pytest.mark.parametrize(
    "read",
    [lambda: base64.b64decode(PICKLED), lambda: pickle.dumps(small(), protocol=5)],
)
def test_pickles_of_other_versions_of_python(read):
    data = read()
    assert {name.partition(".lsh.")[0] for name in named_in(data)} <= {
        "lshfast.datasketch",
        "copyreg.__reduce_ex__",
    }
    index = pickle.loads(data)
    assert list(index.keys) == ["a", ("b", 1), None]
    assert index.query(lean([1, 2, 9, 9])) == ["a", ("b", 1)]
    assert index.query(lean([9, 9, 5, 6]), with_scores=True) == [(("b", 1), 0.5)]
    with pytest.raises(ValueError, match="scheme"):
        index.insert("c", lean([1, 2, 3, 4], scheme="legacy"))
    index.insert("c", lean([9, 9, 9, 9]))
    index.remove("a")
    assert index.query(lean([1, 2, 3, 4])) == [("b", 1)]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("keys", [[], [40], [40, 38, 0]])
def test_pickles(protocol, keys):
    index = held(keys)
    again = pickle.loads(pickle.dumps(index, protocol))
    assert again.query(near(40)) == index.query(near(40))
    again.insert("new", near(40))
    assert "new" not in index
    assert (again.h, again.b, again.r, again.prepickle) == (
        index.h,
        index.b,
        index.r,
        index.prepickle,
    )


def test_copies_are_independent():
    index = held()
    for made in (copy.copy(index), copy.deepcopy(index)):
        made.remove(40)
        assert 40 in index
        assert 40 not in made.query(near(40))


def test_views_follow_changes():
    index = held()
    keys, table, name = index.keys, index.hashtables[0], index.keys[40][0]
    untouched = table[index.keys[0][0]]
    index.remove(40)
    assert 40 not in table[name]
    assert 40 not in keys
    assert keys.get(40) == []
    index.insert(40, near(40))
    assert 40 in table[name]
    index.insert("again", near(40))
    index.remove("again")
    index.insert("again", near(40))
    assert {40, "again"} <= table[name]
    index.insert("again", near(0), check_duplication=False)
    assert "again" in table[keys["again"][index.b]]
    assert keys.itemcounts()["again"] == 2 * index.b
    index.remove("again")
    assert "again" not in set().union(
        *(bucket for table in index.hashtables for bucket in map(table.get, table))
    )
    assert table[keys[0][0]] is untouched  # and not made anew


def test_views_equal_those_of_an_index_that_was_never_read():
    index, rng = held(), np.random.default_rng(5)
    alive = {40, 38, 35, 20, 0}
    for step in range(300):
        n = int(rng.integers(0, 60))
        if n in alive:
            index.remove(n)
        else:
            index.insert(n, near(n))
        alive ^= {n}
        if step % 50:
            continue
        fresh = held(sorted(alive))
        assert index.get_counts() == fresh.get_counts()
        assert {key: index.keys[key] for key in index.keys} == {
            key: fresh.keys[key] for key in fresh.keys
        }
        for table, other in zip(index.hashtables, fresh.hashtables, strict=True):
            assert {name: table[name] for name in table} == {
                name: other[name] for name in other
            }


def test_an_index_changed_through_its_views():
    index = held()
    for band, name in enumerate(index.keys[40]):
        index.hashtables[band].remove_val(name, 40)
        if not index.hashtables[band].get(name):
            index.hashtables[band].remove(name)
    index.keys.remove(40)
    assert 40 not in index
    assert 40 not in index.query(near(40))
    with pytest.raises(ValueError, match="does not exist: 40"):
        index.remove(40)
    names = [b"bucket"] * index.b
    index.keys.insert("new", *names)
    for table, name in zip(index.hashtables, names, strict=True):
        table.insert(name, "new")
    assert index.get_counts()[0][b"bucket"] == 1
    index.insert(40, near(40))
    assert set(index.query(near(40))) == {40, 38, 35}
    assert dict(index.query(near(40), with_scores=True))[40] == 1
    with pytest.raises(ValueError, match="already exists: 'new'"):
        index.insert("new", near(1))
    again = pickle.loads(pickle.dumps(index))
    for one in (index, again):
        one.remove("new")
        assert b"bucket" not in one.hashtables[0]
        assert sorted(one.keys) == [0, 20, 35, 38, 40]
        assert set(one.query(near(40))) == {40, 38, 35}
        one.remove(40)
        assert one.query(near(40)) == [key for key in one.query(near(40)) if key != 40]
    assert 40 in copy.copy(held())


@pytest.mark.parametrize("changed", ["index", "other", "both"])
def test_merges_of_indexes_changed_through_their_views(changed):
    index, other = held([40, 20]), held([38, 0])
    for one, name in ((index, "index"), (other, "other")):
        if changed in (name, "both"):
            one.keys.insert("gone")
            one.keys.remove("gone")
    index.merge(other)
    assert set(index.query(near(40))) == {40, 38}
    assert index.get_counts() == held([40, 20, 38, 0]).get_counts()


def test_a_hashfunc_that_fails_leaves_the_views_right():
    calls = []

    def failing(name):
        calls.append(name)
        if len(calls) == 3:
            raise RuntimeError("once")
        return name

    index = held([40, 38], hashfunc=failing)
    with pytest.raises(RuntimeError, match="once"):
        index.get_counts()
    assert index.get_counts() == held([40, 38]).get_counts()
    assert index.keys.itemcounts() == dict.fromkeys([40, 38], index.b)


def test_views_are_storages_that_can_be_pickled():
    index = held([40, 38])
    assert isinstance(index.keys, OrderedStorage)
    assert all(isinstance(table, UnorderedStorage) for table in index.hashtables)
    keys, table = pickle.loads(pickle.dumps((index.keys, index.hashtables[0])))
    assert {key: keys[key] for key in keys} == {
        key: index.keys[key] for key in (40, 38)
    }
    assert table.itemcounts() == index.get_counts()[0]
    index.keys.add_to_select_buffer([40, "q"])
    assert index.keys.collect_select_buffer() == [index.keys[40], []]
    assert index.keys.collect_select_buffer() == []
    assert index.keys.status() == {"keyspace_size": 2}


@pytest.mark.filterwarnings("ignore:without save_dir")
@pytest.mark.parametrize(
    "index",
    [
        lambda: MinHashLSH(0.5, 16),
        lambda: MinHashLSHForest(16),
        lambda: MinHashLSHEnsemble(0.8, 16),
        lambda: MinHashLSHBloom(0.5, 16, 10, 0.1),
    ],
)
def test_pickles_keep_what_an_index_was_given(index):
    made = index()
    assert "attributes" not in made.__getstate__()
    made.label, made._own = "x", [1]
    again = pickle.loads(pickle.dumps(made))
    assert (again.label, again._own) == ("x", [1])
    assert again.__getstate__() == made.__getstate__()


def test_pickles_of_another_format_are_refused():
    state = held().__getstate__() | {"version": 2}
    with pytest.raises(ValueError, match="format 1"):
        MinHashLSH.__new__(MinHashLSH).__setstate__(state)


# Arguments


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"threshold": 1.1}, ValueError, r"threshold must be in \[0, 1\], not 1.1"),
        ({"threshold": float("nan")}, ValueError, "threshold"),
        ({"threshold": "0.5"}, TypeError, "threshold must be a number"),
        ({"num_perm": 1}, ValueError, "num_perm must be at least 2, not 1"),
        ({"num_perm": True}, TypeError, "num_perm must be an int"),
        ({"num_perm": 16.0}, TypeError, "num_perm must be an int"),
        ({"weights": (0.5, 0.6)}, ValueError, "weights"),
        ({"weights": (1.5, -0.5)}, ValueError, "weights"),
        (
            {"params": (4, 33)},
            ValueError,
            r"need b x r = 132 slots, but num_perm is 128",
        ),
        ({"params": (0, 3)}, ValueError, "b of params must be at least 1, not 0"),
        ({"params": (2, 3.0)}, TypeError, "r of params must be an int"),
        ({"hashfunc": 5}, TypeError, "hashfunc must be callable, not 5"),
        (
            {"storage_config": "dict"},
            TypeError,
            "storage_config must be a dict, not str",
        ),
        (
            {"storage_config": {"type": "paper"}},
            ValueError,
            "Unknown storage type: paper",
        ),
        (
            {"storage_config": {"type": "cassandra"}},
            ValueError,
            "Unknown storage type: cassandra .*LmdbStore",
        ),
        (
            {"storage_config": {"type": "mongo"}},
            ValueError,
            "Unknown storage type: mongo .*RedisStore",
        ),
        (
            {"storage_config": {"type": "dict", "basename": "x"}},
            TypeError,
            "basename must be bytes, not 'x'",
        ),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        MinHashLSH(**arguments)


@pytest.mark.parametrize(
    ("size", "error"),
    [(0, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)],
)
def test_bad_buffer_sizes(size, error):
    with pytest.raises(error, match="buffer_size must be"):
        MinHashLSH(num_perm=16).insertion_session(size)
    with pytest.raises(error, match="buffer_size must be"):
        MinHashLSH(num_perm=16).deletion_session(buffer_size=size)


@pytest.mark.parametrize("module", ["experimental", "experimental.aio.lsh"])
def test_a_module_that_is_not_there_says_what_to_use(module):
    with pytest.raises(ImportError, match=r"lshfast\.datasketch\.aio"):
        importlib.import_module(f"lshfast.datasketch.{module}")


# Threads


class Vanishing(dict):
    """The names of entries that another thread removes, each after it was looked for."""

    def __contains__(self, number):
        is_there = super().__contains__(number)
        self.pop(number, None)
        return is_there


def test_entries_that_are_removed_while_they_are_looked_up():
    index = MinHashLSH(0.5, 64)
    for key in "abc":
        index.insert(key, near(0))
    entries = index._entries
    names = dict(entries._names)
    del names[0]
    entries._names = Vanishing(names)
    assert index.query(near(0)) == ["b", "c"]


@pytest.mark.slow
def test_threads_insert_query_and_remove():
    index, errors = MinHashLSH(0.5, 64), []
    sketches = [near(40 * n) for n in range(120)]
    lasting = near(-40)
    index.insert("lasting", lasting)
    start = threading.Barrier(4)

    def write(mine):
        try:
            start.wait()
            for _ in range(3):
                for n in mine:
                    index.insert(n, sketches[n])
                for n in mine:
                    assert index.query(sketches[n]) == [n]
                    index.remove(n)
            for n in mine:
                index.insert(n, sketches[n])
        except BaseException as error:
            errors.append(error)

    def read():
        try:
            start.wait()
            for _ in range(200):
                assert index.query(lasting) == ["lasting"]
                assert index.query(lasting, with_scores=True) == [("lasting", 1.0)]
                again = pickle.loads(pickle.dumps(index))
                for one in (index, again):
                    assert "lasting" in set(one.keys)
                    assert sum(one.get_counts()[0].values()) > 0
                    assert len(one.keys["lasting"]) == one.b
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=write, args=(range(k, 120, 3),)) for k in range(3)
    ]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(map(str, index.keys)) == sorted(["lasting", *map(str, range(120))])
    assert [index.query(sketch) for sketch in sketches] == [[n] for n in range(120)]


def test_first_sketches_of_two_schemes_at_once():
    for _ in range(20):
        index, refused, start = MinHashLSH(0.5, 16), [], threading.Barrier(2)

        def insert(scheme, index=index, refused=refused, start=start):
            sketch = near(4, 16, scheme=scheme)
            start.wait()
            try:
                index.insert(scheme, sketch)
            except ValueError:
                refused.append(scheme)

        threads = [
            threading.Thread(target=insert, args=(scheme,))
            for scheme in ("affine32", "legacy")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == len(index.keys) == 1


def test_another_scheme_is_first_while_a_sketch_is_read():
    index = MinHashLSH(0.5, 16, prepickle=True)

    class Key:
        def __reduce__(self):
            index.insert("first", near(4, 16))
            return str, ()

    with pytest.raises(ValueError, match="scheme affine32, not legacy"):
        index.insert(Key(), near(4, 16, scheme="legacy"))
    assert len(index.keys) == 1


def test_queries_kept_before_the_first_sketch():
    index = MinHashLSH(0.5, 16)
    index.add_to_query_buffer(near(4, 16, scheme="legacy"))
    index.insert("a", near(4, 16))
    with pytest.raises(ValueError, match="scheme affine32, not legacy"):
        index.collect_query_buffer()
    assert index.collect_query_buffer() == []


# Beside a model

BANDS, ROWS, SLOTS = 3, 2, 7  # one slot is in no band

KEYS = st.one_of(
    st.integers(-2, 5), st.sampled_from(["a", "b", b"a", ("a", 1), None, 1.5])
)
VALUES = st.one_of(
    st.lists(st.integers(0, 2), min_size=SLOTS, max_size=SLOTS),
    st.lists(st.sampled_from([0, 1, EMPTY_32]), min_size=SLOTS, max_size=SLOTS),
    st.just([EMPTY_32] * SLOTS),
).map(tuple)


class Model:
    """Keys and the sets of their sketches."""

    def __init__(self):
        self.entries = {}

    def insert(self, key, values):
        self.entries.setdefault(key, set()).add(values)

    def found(self, query):
        def meet(values):
            bands = range(0, BANDS * ROWS, ROWS)
            return any(values[i : i + ROWS] == query[i : i + ROWS] for i in bands)

        shares = {
            key: [
                sum(map(int.__eq__, values, query))
                for values in several
                if meet(values)
            ]
            for key, several in self.entries.items()
        }
        return {key: max(counts) for key, counts in shares.items() if counts}


class Machine(RuleBasedStateMachine):
    """An index and its model: each step is done to both."""

    def make(self, **options):
        return MinHashLSH(num_perm=SLOTS, params=(BANDS, ROWS), **options)

    scored_slots = SLOTS

    @initialize(prepickle=st.booleans())
    def start(self, prepickle):
        self.options = {"prepickle": prepickle}
        self.index, self.model = self.make(**self.options), Model()

    @rule(key=KEYS, values=VALUES, check=st.booleans(), session=st.booleans())
    def insert(self, key, values, check, session):
        def call():
            if not session:
                return self.index.insert(key, lean(values), check)
            with self.index.insertion_session(2) as opened:
                opened.insert(key, lean(values), check_duplication=check)

        if check and key in self.model.entries:
            with pytest.raises(ValueError, match="already exists"):
                call()
        else:
            assert call() is None
            self.model.insert(key, values)

    @rule(key=KEYS, session=st.booleans())
    def remove(self, key, session):
        def call():
            if not session:
                return self.index.remove(key)
            with self.index.deletion_session() as opened:
                opened.remove(key)

        if key in self.model.entries:
            assert call() is None
            del self.model.entries[key]
        else:
            with pytest.raises(ValueError, match="does not exist"):
                call()

    @rule(values=VALUES)
    def query(self, values):
        found, expected = self.index.query(lean(values)), self.model.found(values)
        assert len(found) == len(expected)
        assert set(found) == set(expected)

    @rule(values=VALUES)
    def score(self, values):
        found = self.index.query(lean(values), with_scores=True)
        expected = self.model.found(values)
        assert {key: round(share * SLOTS) for key, share in found} == expected
        shares = [share for _, share in found]
        assert shares == sorted(shares, reverse=True)

    @rule(several=st.lists(VALUES, max_size=3))
    def collect(self, several):
        for values in several:
            self.index.add_to_query_buffer(lean(values))
        found = [set(self.model.found(values)) for values in several]
        expected = set.intersection(*found) if found else set()
        collected = self.index.collect_query_buffer()
        assert len(collected) == len(expected)
        assert set(collected) == expected
        assert self.index.collect_query_buffer() == []

    @rule(entries=st.dictionaries(KEYS, VALUES, max_size=4), check=st.booleans())
    def merge(self, entries, check):
        other = self.make(prepickle=not self.options["prepickle"])
        for key, values in entries.items():
            other.insert(key, lean(values))
        if check and entries.keys() & self.model.entries.keys():
            with pytest.raises(ValueError, match="overlapping"):
                self.index.merge(other, check_overlap=True)
        else:
            self.index.merge(other, check_overlap=check)
            for key, values in entries.items():
                self.model.insert(key, values)

    @rule()
    def renew(self):
        self.index = pickle.loads(pickle.dumps(self.index))

    @rule(keys=st.lists(KEYS, max_size=4))
    def count_some(self, keys):
        counts = self.index.get_subset_counts(*keys)
        for band in range(BANDS):
            buckets = {}
            for key in set(keys):
                for name in {
                    values[2 * band : 2 * band + 2]
                    for values in self.model.entries.get(key, ())
                }:
                    buckets[name] = buckets.get(name, 0) + 1
            assert sorted(counts[band].values()) == sorted(buckets.values())

    @invariant()
    def holds_the_same(self):
        assert len(self.index.keys) == len(self.model.entries)
        assert self.index.is_empty() == (not self.model.entries)
        for key in self.model.entries:
            assert key in self.index
        for band, counts in enumerate(self.index.get_counts()):
            buckets = {}
            for key, several in self.model.entries.items():
                for values in several:
                    name = b"".join(
                        value.to_bytes(4, "big")
                        for value in values[2 * band : 2 * band + 2]
                    )
                    buckets.setdefault(name, set()).add(key)
            assert counts == {name: len(keys) for name, keys in buckets.items()}


@pytest.mark.slow
def test_beside_the_model():
    run_state_machine_as_test(
        Machine, settings=settings(max_examples=40, stateful_step_count=30)
    )


# Keys from a server


class Made:
    """What is pickled as a call, and the state that is set after it."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


SCALAR = np.int64(1).__reduce__()[0]
ZONE = timezone(timedelta(hours=2))


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize(
    "key",
    [
        *(np.dtype(letter).type(1) for letter in "?bhilBHILefdFD"),
        np.str_("a\U0001f600"),
        np.str_(""),
        np.bytes_(b"ab"),
        Fraction(-1, 3),
        Decimal("1.50"),
        uuid.UUID(int=5),
        date(2020, 1, 2),
        datetime(2020, 1, 2, 3, 4, 5, 6, ZONE, fold=1),
        clock(3, 4, fold=1),
        1j,
        ("a", (b"b", frozenset([1, None]))),
    ],
)
def test_plain_keys_are_read(key, protocol):
    found = plain_loads(pickle.dumps(key, protocol))
    assert (found, type(found)) == (key, type(key))
    assert hash(found) == hash(key)


def test_plain_keys_of_other_machines_and_versions():
    swapped = Made(SCALAR, (np.dtype(">i4"), b"\0\0\1\2"))
    assert plain_loads(pickle.dumps(swapped, 4)) == 258
    assert (
        plain_loads(pickle.dumps(Made(SCALAR, (np.dtype(">U1"), b"\0\0\0a")), 4)) == "a"
    )
    assert plain_loads(pickle.dumps(Made(Fraction, ("-3/4",)), 4)) == Fraction(-3, 4)


def dtype_with(name, state):
    return Made(np.dtype, (name, False, True), state)


FIELDS = (3, "|", None, ("f",), {"f": (np.dtype("i8"), 1 << 40)}, 8, 1, 27)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (Made(SCALAR, (dtype_with("V8", FIELDS), bytes(8))), "dtype 'V8'"),
        (Made(SCALAR, (dtype_with("i8", FIELDS), bytes(8))), "several parts"),
        (
            Made(
                SCALAR,
                (
                    dtype_with("i8", (3, "<", ("i8", (9,)), None, None, -1, -1, 0)),
                    bytes(8),
                ),
            ),
            "several parts",
        ),
        (
            Made(
                SCALAR,
                (dtype_with("i8", (3, "?", None, None, None, -1, -1, 0)), bytes(8)),
            ),
            "several parts",
        ),
        (Made(SCALAR, (dtype_with("i8", 5), bytes(8))), "several parts"),
        (Made(SCALAR, (np.dtype("O"), b"\1" * 8)), "dtype 'O8'"),
        (Made(SCALAR, (np.dtype("M8[s]"), bytes(8))), "dtype 'M8'"),
        (Made(SCALAR, (np.dtype("i8"), bytes(7))), "do not fit"),
        (Made(SCALAR, (np.dtype("U2"), bytes(4))), "do not fit"),
        (Made(SCALAR, (np.dtype("i8"), "a")), "do not fit"),
        (Made(SCALAR, (1, bytes(8))), "do not fit"),
        (np.dtype("i8"), "a class, a function or a dtype"),
        (uuid.UUID, "a class, a function or a dtype"),
        (SCALAR, "a class, a function or a dtype"),
        (Made(Fraction, ("1e999999999",)), "not of two ints"),
        (Made(Fraction, (0.5,)), "not of two ints"),
        (Made(Fraction, (Decimal("1e999999999"),)), "not of two ints"),
        (Made(datetime, (b"\x07\xe4\x01\xff\xff\xff\xff\0\0\0",)), "range"),
    ],
)
def test_keys_that_are_more_than_values_are_refused(made, message):
    with pytest.raises(ValueError, match=message):
        plain_loads(pickle.dumps(made, 4))


def called(module, name, *arguments):
    """Return a pickle of a call, whose arguments are pickled already."""
    return b"".join((b"\x80\x04c", module, b"\n", name, b"\n(", *arguments, b"tR."))


def long_integer(size):
    return b"\x8b" + size.to_bytes(4, "little") + b"\x01" * size


DEEP = b")" + b"\x85" * 150_000
SHARED = b")\x94" + b"".join(b"h%ch%c\x86\x94" % (level, level) for level in range(60))
COLLIDING = b"".join(
    b"\x8a\x0b" + (n * (2**61 - 1)).to_bytes(11, "little") for n in range(1, 30_001)
)
HOSTILE_KEYS = {
    "a deep tuple": b"\x80\x04" + DEEP + b".",
    "a frozenset of a deep tuple": called(b"builtins", b"frozenset", b"(", DEEP, b"t"),
    "a tuple of pairs of pairs": b"\x80\x04" + SHARED + b".",
    "a frozenset of pairs of pairs": b"\x80\x04(" + SHARED + b"\x91.",
    "a frozenset of frozensets": b"\x80\x04(" + b"\x94(h\x00h\x00\x91" * 300 + b"\x91.",
    "many members": b"\x80\x04(" + b"N" * 100_000 + b"t.",
    "members of one hash": b"\x80\x04(" + COLLIDING + b"\x91.",
    "a list": b"\x80\x04].",
    "a dict": b"\x80\x04}.",
    "a set": b"\x80\x04\x8f.",
    "a bytearray": pickle.dumps(bytearray(b"a"), 5),
    "a tuple of a list": b"\x80\x04]\x85.",
    "a list in itself": b"\x80\x04]\x94h\x00a.",
    "a frozenset of a list": b"\x80\x04(]\x91.",
    "a memo index": b"\x80\x04K\x01r" + (200_000_000).to_bytes(4, "little") + b".",
    "a memo index as text": b"\x80\x04K\x01p999999999999\n.",
    "a value that is not stored": b"\x80\x04h\x07.",
    "bytes beyond the end": b"\x80\x04\x8e" + (2**62).to_bytes(8, "little") + b"abc.",
    "text beyond the end": b"\x80\x04\x8d" + (2**63).to_bytes(8, "little") + b"abc.",
    "a frame beyond the end": b"\x80\x04\x95" + (2**62).to_bytes(8, "little") + b"N.",
    "a long integer": b"\x80\x04" + long_integer(1_000_001) + b".",
    "a long integer as text": b"L" + b"9" * 100_000 + b"L\n.",
    "a short integer as text": b"I" + b"9" * 5_000 + b"\n.",
    "a float as text": b"F" + b"9" * 100_000 + b"\n.",
    "a fraction of long integers": called(
        b"fractions", b"Fraction", long_integer(1_000_001), long_integer(1_000_003)
    ),
    "a fraction of long texts": called(
        b"fractions", b"Fraction", b"V" + b"9" * 5000 + b"/7\n"
    ),
    "a fraction with denominator 0": called(b"fractions", b"Fraction", b"V1/0\n"),
    "a fraction of 1 and 0": called(b"fractions", b"Fraction", b"K\x01K\x00"),
    "a long decimal": called(b"decimal", b"Decimal", b"V" + b"9" * 100_000 + b"\n"),
    "a decimal that is no number": called(b"decimal", b"Decimal", b"Vabc\n"),
    "a decimal without a hash": called(b"decimal", b"Decimal", b"VsNaN\n"),
    "a timedelta out of range": called(b"datetime", b"timedelta", long_integer(200)),
    "a timezone of None": called(b"datetime", b"timezone", b"N"),
    "a date that is no date": called(b"datetime", b"date", b"C\x04\xff\xff\xff\xff"),
    "a UUID without a number": b"\x80\x04cuuid\nUUID\n)\x81.",
    "a UUID with a text": b"\x80\x04cuuid\nUUID\n)\x81}\x8c\x03int\x8c\x01xsb.",
    "a UUID out of range": b"\x80\x04cuuid\nUUID\n)\x81}\x8c\x03int"
    + long_integer(20)
    + b"sb.",
    "a UUID that is its own state": b"\x80\x04cuuid\nUUID\n)\x81\x94h\x00b.",
    "marks": b"\x80\x04" + b"(" * 1_000_000 + b"N.",
    "values that are thrown away": b"\x80\x04" + b"N0" * 100_000 + b"N.",
    "two values": b"\x80\x04NN.",
    "no value": b"\x80\x04.",
    "bytes after the value": b"\x80\x04N.N",
    "no end": b"\x80\x04N",
    "nothing": b"",
    "no pickle": b"\xff\xfe",
    "a text that is not UTF-8": b"\x80\x04\x8c\x01\xff\x94.",
    "a framed text that is not UTF-8": b"\x80\x04\x95\x05\0\0\0\0\0\0\0\x8c\x01\xff\x94.",
}


@pytest.mark.parametrize("name", HOSTILE_KEYS)
def test_keys_that_would_take_time_or_memory_are_refused(name):
    data = HOSTILE_KEYS[name]
    start = re.escape(repr(data[:20])[:-1])
    with pytest.raises(FormatError, match=f"stored key {start}") as refused:
        plain_loads(data)
    assert len(str(refused.value)) < 700


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**300), 2**300)
    | st.floats(allow_nan=False)
    | st.text(max_size=300)
    | st.binary(max_size=300)
    | st.uuids()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(ZONE))
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.complex_numbers(allow_nan=False)
    | st.integers(0, 255).map(np.uint8)
    | st.floats(width=32, allow_nan=False).map(np.float32)
)
PLAIN_KEYS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5).map(tuple) | st.frozensets(inner, max_size=5)
    ),
    max_leaves=20,
)


@given(key=PLAIN_KEYS, protocol=st.sampled_from([3, 4, 5]))
def test_any_plain_key_is_read_as_pickle_reads_it(key, protocol):
    data = pickle.dumps((key, key), protocol)
    read, expected = plain_loads(data), pickle.loads(data)
    assert (read, type(read[0])) == (expected, type(expected[0]))
    if "frozenset" not in repr(key):  # whose order is not always the same
        assert pickle.dumps(read, protocol) == pickle.dumps(expected, protocol)


@given(
    key=PLAIN_KEYS,
    protocol=st.sampled_from([0, 3, 4, 5]),
    cuts=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 6), st.binary(max_size=6)),
        max_size=4,
    ),
)
def test_damaged_keys_are_read_or_refused(key, protocol, cuts):
    data = pickle.dumps(key, protocol)
    for start, size, other in cuts:
        data = data[:start] + other + data[start + size :]
    with contextlib.suppress(FormatError):
        hash(plain_loads(data))


@given(
    data=st.lists(
        st.sampled_from([bytes([opcode]) for opcode in range(256)] + [b"\x80\x04"]),
        max_size=60,
    )
)
def test_random_bytes_are_read_or_refused(data):
    with contextlib.suppress(FormatError):
        hash(plain_loads(b"".join(data) + b"."))


@pytest.mark.parametrize(
    "name",
    [b"fractions\nFraction", b"uuid\nUUID", b"numpy\ndtype", b"decimal\nDecimal"],
)
def test_keys_change_no_classes(name):
    before = dict(vars(Fraction)), dict(vars(uuid.UUID))
    for state in (b"N}V__hash__\nNs\x86", b"}V__hash__\nNs"):
        with pytest.raises((ValueError, TypeError)):
            plain_loads(b"\x80\x04c" + name + b"\n" + state + b"b.")
    assert (dict(vars(Fraction)), dict(vars(uuid.UUID))) == before
    assert plain_loads(pickle.dumps(uuid.UUID(int=5))) == uuid.UUID(int=5)


# Permutations that were given


OTHER = ([2 * n + 1 for n in range(64)], range(64))


@pytest.mark.parametrize("make", [lambda sketch: sketch, LeanMinHash])
def test_other_permutations_are_refused(make):
    index, own = held([40]), make(near(38, permutations=OTHER, scheme="affine32"))
    for call in (lambda: index.insert("a", own), lambda: index.query(own)):
        with pytest.raises(ValueError, match="other permutations"):
            call()
    index = MinHashLSH(0.5, 64)
    index.insert("a", own)
    for one in (index, pickle.loads(pickle.dumps(index))):
        assert one.query(own) == ["a"]
        with pytest.raises(ValueError, match="other permutations"):
            one.query(near(40))
    with pytest.raises(ValueError, match="other permutations"):
        index.merge(held([40]))


def test_permutations_of_the_seed_are_not_others():
    index = held([40])
    same = near(40, permutations=near(40).permutations, scheme="affine32")
    assert index.query(same) == index.query(LeanMinHash(same)) == [40]


def test_what_an_index_shows():
    lsh = MinHashLSH(0.8, 128)
    assert repr(lsh) == "MinHashLSH(0 keys, num_perm=128, params=(9, 13))"
    lsh.insert("a", MinHash())
    assert repr(lsh) == "MinHashLSH(1 key, num_perm=128, params=(9, 13))"
    assert repr(MinHashLSH.__new__(MinHashLSH)).startswith(
        "<lshfast.datasketch"
    )  # without attributes
