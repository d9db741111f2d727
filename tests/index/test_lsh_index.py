"""LSHIndex in memory, beside a brute-force model: answers, batches that are whole or refused, keys of all kinds."""

import math
import re
import threading
import tracemalloc
from itertools import combinations, count, pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import (
    Bands,
    LSHEnsemble,
    LSHIndex,
    MinHasher,
    NearNeighbors,
    TokenSets,
    exact,
    shingle,
    verify,
)
from lshfast.index.matches import Match
from lshfast.index.stores import segments
from tests.index.index_machine import SMALL, STRS, Stage, array_of, run
from tests.index.index_model import EMPTY, IndexModel
from tests.sketch.test_accuracy import planted

MOST = 2**63 - 1


def small(**options):
    return LSHIndex(**SMALL, **options)


def some(n, num_perm=8, seed=0):
    """Return random signatures, of which no two share a slot."""
    return (
        np.random.default_rng(seed).integers(0, 2**62, (n, num_perm)).astype(np.uint64)
    )


def shared(n, values=3, num_perm=8, seed=0):
    """Return signatures of few values: each shares buckets with many others."""
    return (
        np.random.default_rng(seed).integers(0, values, (n, num_perm)).astype(np.uint64)
    )


# Beside the model


@pytest.mark.parametrize("examples", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_beside_the_model(examples):
    run(Stage(), examples=examples)


@given(st.integers(1, 130), st.integers(0, 130), st.floats(0, 1))
def test_thresholds_are_those_of_doubles(num_perm, equal, threshold):
    """An entry counts where equal / num_perm, as doubles divide, is at least the threshold."""
    equal = min(max(equal, 1), num_perm)
    index = LSHIndex(num_perm=num_perm, bands=num_perm, rows_per_band=1)
    entry, query = np.zeros(num_perm, np.uint64), np.ones(num_perm, np.uint64)
    query[:equal] = 0
    index.insert("entry", entry)
    for wanted in (
        threshold,
        equal / num_perm,
        math.nextafter(equal / num_perm, 2),
        equal / num_perm + 1e-9,
    ):
        if wanted <= 1:
            expected = (
                [Match("entry", equal / num_perm)] if equal / num_perm >= wanted else []
            )
            assert index.query(query, threshold=wanted) == expected
            assert index.query(query[np.newaxis], threshold=wanted)[0] == expected


@pytest.mark.one_case
@pytest.mark.parametrize(("bands", "rows"), [(1, 1), (8, 1), (1, 8), (2, 3), (4, 2)])
def test_shapes_of_bands(bands, rows):
    index = LSHIndex(num_perm=8, bands=bands, rows_per_band=rows)
    model = IndexModel(8, bands, rows)
    entries = shared(200)
    index.insert(range(200), entries)
    model.insert(range(200), entries.tolist(), "error")
    for query in shared(40, seed=1):
        assert index.query(query) == model.query(query)
        assert index.query(query, k=5) == model.query(query, 5)


def test_many_slots_and_bands():
    index = LSHIndex(num_perm=4096, bands=4096, rows_per_band=1)
    entries = some(3, 4096)
    entries[1, 4095] = entries[0, 4095]
    index.insert(["a", "b", "c"], entries)
    assert index.query(entries[0]) == ["a", "b"]
    assert index.query(entries[0], threshold=1 / 4096) == [("a", 1.0), ("b", 1 / 4096)]
    index.remove("a")
    assert index.query(entries[0]) == ["b"]


def test_slots_outside_of_all_bands_count_for_similarity_only():
    index = small()  # slots 6 and 7 are in no band
    row = np.arange(8, dtype=np.uint64)
    index.insert("a", row)
    apart, close = row + np.uint64(100), row.copy()
    apart[6:], close[6:] = row[6:], 100
    assert index.query(apart) == []
    assert index.query(close, k=1) == [("a", 0.75)]


# Statistics


@pytest.mark.one_case
@pytest.mark.parametrize(("bands", "rows"), [(18, 7), (42, 3), (5, 25)])
def test_candidates_follow_the_s_curve(bands, rows):
    """Slots that agree independently with probability s: the share of pairs that meet is 1 - (1 - s^r)^b."""
    n, rng = 4000, np.random.default_rng(bands)
    index = LSHIndex(num_perm=128, bands=bands, rows_per_band=rows)
    entries = some(n, 128, seed=rows)
    index.insert(np.arange(n), entries)
    for s in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95):
        queries = np.where(
            rng.random(entries.shape) < s, entries, entries ^ np.uint64(1 << 63)
        )
        found = index.query(queries)
        met = [i in answer for i, answer in enumerate(found)]
        expected = float(Bands(bands, rows).probability(s))
        assert abs(np.mean(met) - expected) <= 4 * math.sqrt(
            expected * (1 - expected) / n
        )
        assert len(found.keys) == sum(met)  # and nobody else


@pytest.mark.parametrize("scheme", ["fast", "classic"])
def test_recall_at_the_threshold_is_as_promised(scheme):
    trials = 2000
    sets, similarity = planted(90, 80, 10, trials)
    assert similarity == 0.8
    index = LSHIndex(threshold=0.8, scheme=scheme)
    signatures = MinHasher(scheme=scheme).sketch(sets)
    index.insert(range(trials), signatures[0::2])
    found = index.query(signatures[1::2])
    recall = np.mean([i in answer for i, answer in enumerate(found)])
    assert recall >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / trials)
    best = index.query(signatures[1::2], k=1)
    errors = np.array([answer[0].similarity - 0.8 for answer in best if answer])
    assert (
        abs(errors.mean()) < 0.02
    )  # of those that were found, which are the luckier ones


def test_a1_the_ten_most_similar_pages_of_each_page():
    """Beside the comparison of one page with all."""
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(60)])
    pages = np.repeat(rng.choice(words, (8, 60)), 12, axis=0)
    changed = rng.random(pages.shape) < np.tile(np.arange(12) * 0.08, 8)[:, np.newaxis]
    texts = [*map(" ".join, np.where(changed, rng.choice(words, pages.shape), pages))]
    index = LSHIndex(threshold=0.1, recall=0.999, shingles="word:1")
    index.insert(range(len(texts)), texts)
    sets = [set(text.split()) for text in texts]
    signatures = index.hasher.sketch(shingle(texts, size=1))
    equal = [(signatures == each).mean(axis=1) for each in signatures]
    for answer, own, similarity in zip(
        index.query(texts, k=10), sets, equal, strict=True
    ):
        assert [match.similarity for match in answer] == sorted(
            similarity.tolist(), reverse=True
        )[:10]
        assert len(own & sets[answer[0].key]) == len(own)


def test_b1_near_neighbours_and_all_pairs():
    """Both verbs, beside the comparison of one set with all n and of all n (n - 1) / 2 pairs."""
    rng = np.random.default_rng(1)
    rows = [set(rng.choice(500, 40, replace=False).tolist()) for _ in range(60)]
    rows += [
        row - set(rng.choice(sorted(row), 4).tolist()) for row in rows for _ in range(2)
    ]
    sets = TokenSets.from_sets(rows)
    similar = {
        (i, j)
        for i, j in combinations(range(180), 2)
        if len(rows[i] & rows[j]) >= 0.7 * len(rows[i] | rows[j])
    }
    assert {(i, j) for i, j, _ in exact.pairs(sets, threshold=0.7).tolist()} == similar
    assert len(similar) > 120
    index = LSHIndex(threshold=0.5, recall=0.999)
    signatures = index.hasher.sketch(sets)
    index.insert(range(180), signatures)
    i, j = zip(
        *(
            (i, j)
            for i, answer in enumerate(index.query(signatures))
            for j in answer
            if i < j
        ),
        strict=True,
    )
    queried = verify(sets, np.array(i), np.array(j), 0.7)
    joined = index.pairs(threshold=0)
    scanned = verify(sets, np.asarray(joined.left), np.asarray(joined.right), 0.7)
    assert (
        {(i, j) for i, j, _ in queried.tolist()}
        == {(i, j) for i, j, _ in scanned.tolist()}
        == similar
    )
    for query in range(0, 180, 45):
        near = {
            match.key for match in index.query(signatures[query], k=3, threshold=0.3)
        }
        assert {*near} >= {other for pair in similar for other in pair if query in pair}


def test_expected_candidates_are_what_queries_meet():
    index = small()
    entries = shared(500)
    index.insert(range(500), entries)
    meetings = sum(len(index.query(entry, threshold=0)) for entry in entries) / 500
    figures = index.stats()
    in_bands = sum((entries[:, 2 * j : 2 * j + 2] == entry[2 * j : 2 * j + 2]).all(1).sum() for entry in entries
                   for j in range(3)) / 500  # fmt: skip
    assert figures.expected_candidates == pytest.approx(in_bands - 3)
    assert figures.expected_candidates >= meetings - 1


# Keys

COLUMNS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "numpy": np.array,
    "arrow": pa.array,
    "chunked arrow": lambda keys: pa.chunked_array([keys[:2], keys[2:]]),
    "pandas": pd.Series,
    "pandas index": pd.Index,
    "polars": lambda keys: pl.Series("key", keys),
    "dict": dict.fromkeys,
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    "keys", [[5, -1, MOST, 0], ["b", "", "ä", "a"]], ids=["int", "str"]
)
def test_columns_of_keys(column, keys):
    index, entries = small(), some(4)
    assert index.insert(COLUMNS[column](keys), entries) == 4
    assert [index.query(entry) for entry in entries] == [[key] for key in keys]
    assert all(type(key) is type(keys[0]) for key in index)
    assert list(index.query(entries)) == [[key] for key in keys]
    if column not in ("tuple", "generator", "dict"):  # a tuple is one key
        index.remove(COLUMNS[column](keys[1:]))
        assert list(index) == keys[:1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, ">i8"])
def test_integers_of_all_widths(dtype):
    index = small()
    index.insert(np.array([1, 2, 100], dtype), some(3))
    assert sorted(index) == [1, 2, 100]
    assert 100 in index
    assert np.array([100], dtype)[0] in index
    index.remove(np.array([100, 1], dtype))
    assert list(index) == [2]
    assert type(next(iter(index))) is int


def test_strings_of_other_classes():
    """Such as numpy's, or members of an enumeration: they equal a str, and so they are the same key."""
    names = np.array(["a", "b", "c"])
    index, entries = small(), some(3)
    index.insert(list(names[:2]), entries[:2])
    index.insert(names[2], entries[2])
    assert all(name in index for name in names)
    assert {type(key) for key in index} == {str}
    assert index.query(entries[2]) == ["c"]
    with pytest.raises(
        ValueError, match=re.escape("keys[0] = 'a' is in the index already")
    ):
        index.insert(names[0], entries[0])
    index.insert(np.int64(7), entries[0])
    index.insert([np.int64(8), "d"], entries[:2])
    assert {type(key) for key in index} == {str, int}
    index.remove(names[0])
    index.remove(list(names[1:]))
    assert set(index) == {7, 8, "d"}


def test_ranges_and_strides():
    index, entries = small(), some(6)
    index.insert(range(6), np.asfortranarray(entries))
    index.remove(np.arange(12)[::2][:2])
    assert sorted(index) == [1, 3, 4, 5]
    assert index.query(np.asfortranarray(entries)[3]) == [3]
    index.insert("strided", np.asfortranarray(entries)[0])
    assert index.query(np.repeat(entries, 2, axis=1)[:, ::2])[0] == ["strided"]


def test_read_only_and_lists_of_signatures():
    index, entries = small(), some(2)
    entries.flags.writeable = False
    index.insert(["a", "b"], entries)
    assert index.query(entries[0]) == ["a"]
    assert list(index.query(list(entries))) == [["a"], ["b"]]


def test_one_key_or_a_batch():
    index, row = small(), some(1)[0]
    for key in [(1, 2), "word", b"bytes", frozenset([1]), 2**70, 0.5, np.int64(7)]:
        assert index.insert(key, row) == 1
        assert key in index
    assert index.insert([(3, 4)], row[np.newaxis]) == 1
    assert len(index.query(row)) == 8
    for key in [(1, 2), [(3, 4)], ["word", b"bytes"], frozenset([1]), [2**70, 0.5], 7]:
        index.remove(key)
    assert len(index) == 0


def test_ints_become_mixed_keys_in_memory():
    index, entries = small(), some(5)
    index.insert([3, 1, 2**62], entries[:3])
    assert isinstance(index.query(entries[:3]).keys, np.ndarray)
    index.insert("x", entries[3])
    index.insert(2**64, entries[4])
    assert [index.query(entry) for entry in entries] == [
        [3],
        [1],
        [2**62],
        ["x"],
        [2**64],
    ]
    assert [type(key) for key in index] == [int, int, int, str, int]
    assert "3" not in index
    assert 3 in index
    index.remove([2**64, 3, "x"])
    assert sorted(index) == [1, 2**62]
    index.insert(np.array([8, 9]), entries[:2])
    assert index.query(entries[0]) == [8]


def test_keys_that_were_refused_leave_no_trace(tmp_path):
    """A batch of mixed keys that is refused does not make an index of ints one of mixed keys, which no file holds."""
    index = small()
    index.insert([1, 2], some(2))
    with pytest.raises(
        ValueError, match=re.escape("keys[1] = 1 is in the index already")
    ):
        index.insert(["x", 1], some(2))
    index.insert("x", some(1)[0])
    index.remove("x")
    index.save(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index") as again:
        assert sorted(again) == [1, 2]


def test_strings_of_all_lengths():
    keys = (
        ["x" * length for length in range(40)]
        + ["\0" * length for length in range(1, 40)]
        + ["ä" * 10_000]
    )
    index, entries = small(), some(len(keys))
    index.insert(keys, entries)
    assert all(key in index for key in keys)
    assert "x" * 40 not in index
    assert [answer for (answer,) in index.query(entries)] == keys
    index.remove(keys[::2])
    assert sorted(index) == sorted(keys[1::2])


def test_lone_surrogates_are_refused_where_names_are_utf_8():
    index = small()
    index.insert(["a"], some(1))
    with pytest.raises(ValueError, match="has a lone surrogate"):
        index.insert(["b", "\ud800"], some(2))
    with pytest.raises(ValueError, match="has a lone surrogate"):
        index.insert("\ud800", some(1)[0])
    assert list(index) == ["a"]


def test_order_of_ties_is_that_of_the_keys():
    row = some(1)
    for keys in ([5, -3, 12, 0], ["b", "a", "", "ä"], [(2, "a"), (1, "b"), (1, "a")]):
        index = small()
        index.insert(keys, np.repeat(row, len(keys), axis=0))
        assert index.query(row[0]) == sorted(keys)
        assert index.query(row[0], k=2) == [(key, 1.0) for key in sorted(keys)[:2]]
        assert index.query(row, k=2)[0] == [(key, 1.0) for key in sorted(keys)[:2]]


def test_pairs_of_keys_that_do_not_compare():
    index, entries = small(), np.repeat(some(2), 3, axis=0)
    index.insert([2, "b", 1, "a", (1, 2), 3], entries)
    found = list(index.pairs())
    assert {frozenset(pair[:2]) for pair in found} == {
        frozenset(pair)
        for pair in [(2, "b"), (2, 1), ("b", 1), ("a", (1, 2)), ("a", 3), ((1, 2), 3)]
    }
    assert (1, 2, 1.0) in found


def test_pairs_of_sets_as_keys():
    index = small()
    keys = [frozenset([1]), frozenset([2]), frozenset([1, 2])]
    index.insert(keys, np.repeat(some(1), 3, axis=0))
    assert len(index.pairs()) == 3


# What is refused, and changes nothing


class Forbidden:
    """A key that cannot be hashed."""

    __hash__ = None


def content(index):
    """Return all that an index holds."""
    items = [
        item
        for keys, rows in index.store.items()
        for item in zip(keys, rows.tolist(), strict=True)
    ]
    assert len(items) == len(index) == len(set(index))
    return {key: tuple(row) for key, row in items}


@pytest.fixture(params=["int", "str", "mixed", "empty"])
def index(request):
    """An index, which the test must not change."""
    index = small()
    keys = {
        "int": [1, 2, 3],
        "str": ["a", "b", "c"],
        "mixed": [1, "b", (3,)],
        "empty": [],
    }[request.param]
    index.insert(keys, shared(len(keys)))
    before = content(index)
    figures = index.stats()
    answers = list(index.query(shared(20)))
    yield index
    assert content(index) == before
    assert index.stats().bucket_sizes == figures.bucket_sizes
    assert index.stats().store["segments"] == figures.store["segments"]
    assert list(index.query(shared(20))) == answers
    index.insert(["new", 77], some(2))
    index.remove(["new", 77])
    assert content(index) == before


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ([5, None], TypeError, "keys[1] is None, which cannot be a key"),
        ([5, [6]], TypeError, "keys[1] is of type list, which cannot be hashed"),
        ([{"x": 1}, 6], TypeError, "keys[0] is of type dict, which cannot be hashed"),
        (
            [5, Forbidden()],
            TypeError,
            "keys[1] is of type Forbidden, which cannot be hashed",
        ),
        (
            ["x", (1, [2])],
            TypeError,
            "keys[1] is of type tuple, which cannot be hashed",
        ),
        (pa.array([5, None]), TypeError, "keys[1] is None, which cannot be a key"),
        (pl.Series(["x", None]), TypeError, "keys[1] is None, which cannot be a key"),
        # NaN or None, as pandas has it
        (
            pd.Series(["x", None]),
            TypeError,
            f"keys[1] is {pd.Series(['x', None]).to_list()[1]}, which cannot be a key",
        ),
        ([math.nan, "x"], TypeError, "keys[0] is nan, which cannot be a key"),
        (np.array([1.5, math.nan]), TypeError, "keys[1] is nan, which cannot be a key"),
        ([5], ValueError, "there must be a key for each signature, not 1 for 2"),
        ([5, 6, 7], ValueError, "there must be a key for each signature, not 3 for 2"),
        ([], ValueError, "there must be a key for each signature, not 0 for 2"),
        ("xy", TypeError, "keys must be a batch of keys, not one str"),
        (b"xy", TypeError, "keys must be a batch of keys, not one bytes"),
        (5, TypeError, "keys must be a batch of keys, not one int"),
        (None, TypeError, "keys must be a batch of keys, not one NoneType"),
        (
            np.arange(2).reshape(1, 2),
            ValueError,
            "keys must have one dimension, not shape (1, 2)",
        ),
        (np.array(5), ValueError, "keys must have one dimension, not shape ()"),
        (
            [5, 5],
            ValueError,
            "keys[1] = 5 is in the index already, or twice in the batch",
        ),
        (
            ["x", "x"],
            ValueError,
            "keys[1] = 'x' is in the index already, or twice in the batch",
        ),
        (
            [(5, 6), (5, 6)],
            ValueError,
            "keys[1] = (5, 6) is in the index already, or twice in the batch",
        ),
        (
            np.array([9, 9]),
            ValueError,
            "keys[1] = 9 is in the index already, or twice in the batch",
        ),
        (
            [2**64, 2**64],
            ValueError,
            f"keys[1] = {2**64} is in the index already, or twice in the batch",
        ),
    ],
)
def test_batches_of_keys_that_are_refused(index, keys, error, message):
    with pytest.raises(error, match=re.escape(message)):
        index.insert(keys, some(2))


def test_single_keys_that_are_refused(index):
    row = some(1)[0]
    with pytest.raises(
        TypeError, match=re.escape("keys[0] is None, which cannot be a key")
    ):
        index.insert(None, row)
    with pytest.raises(
        TypeError, match=re.escape("keys[0] is of type list, which cannot be hashed")
    ):
        index.insert(["x"], row)
    with pytest.raises(
        TypeError, match=re.escape("keys[0] is None, which cannot be a key")
    ):
        assert None in index
    with pytest.raises(
        TypeError, match=re.escape("keys[0] is of type dict, which cannot be hashed")
    ):
        assert {} in index
    with pytest.raises(
        TypeError, match=re.escape("keys[0] is None, which cannot be a key")
    ):
        index.remove(None)
    for key in list(index):
        with pytest.raises(
            ValueError, match=re.escape(f"keys[0] = {key!r} is in the index already")
        ):
            index.insert(key, row)


def test_removal_of_what_is_not_there(index):
    held = list(index)
    for keys, absent in [
        ([*held, 99], 99),
        (["no", *held, 99], "no"),
        ([(1, 2)], (1, 2)),
        ([2**64], 2**64),
    ]:
        with pytest.raises(KeyError) as caught:
            index.remove(keys)
        assert caught.value.args == (absent,)
    for key in (99, "no", (1, 2), 2**64, -(2**63), "1"):
        with pytest.raises(KeyError) as caught:
            index.remove(key)
        assert caught.value.args == (key,)
    index.remove([])


@pytest.mark.parametrize(
    ("signatures", "error", "message"),
    [
        (
            np.zeros((2, 7), np.uint64),
            ValueError,
            "signatures must have num_perm = 8 slots each, not shape (2, 7)",
        ),
        (
            np.zeros((2, 9), np.uint64),
            ValueError,
            "signatures must have num_perm = 8 slots each, not shape (2, 9)",
        ),
        (
            np.zeros((2, 0), np.uint64),
            ValueError,
            "signatures must have num_perm = 8 slots each, not shape (2, 0)",
        ),
        (
            np.zeros((1, 2, 8), np.uint64),
            ValueError,
            "num_perm = 8 slots each, not shape (1, 2, 8)",
        ),
        (
            np.uint64(5),
            ValueError,
            "signatures must have num_perm = 8 slots each, not shape ()",
        ),
        (np.zeros((2, 8), np.int64), TypeError, "signatures must be uint64, not int64"),
        (np.zeros((2, 8)), TypeError, "signatures must be uint64, not float64"),
        (
            np.zeros((2, 8), np.uint32),
            TypeError,
            "signatures must be uint64, not uint32",
        ),
        (np.zeros((2, 8), bool), TypeError, "signatures must be uint64, not bool"),
        (np.zeros((2, 8), ">u8"), TypeError, "signatures must be uint64, not >u8"),
        (np.zeros((2, 8), object), TypeError, "signatures must be uint64, not object"),
        ([[math.nan] * 8] * 2, TypeError, "signatures must be uint64, not float64"),
        ([], TypeError, "signatures must be uint64, not an empty list"),
        (None, TypeError, "signatures must be uint64, not None"),
        (
            "word",
            TypeError,
            "signatures must be uint64, not texts: this index has unknown shingles",
        ),
    ],
)
def test_signatures_that_are_refused(index, signatures, error, message):
    with pytest.raises(error, match=re.escape(message)):
        index.insert([5, 6], signatures)
    with pytest.raises(error, match=re.escape(message)):
        index.query(signatures)


@pytest.mark.parametrize(
    ("hasher", "message"),
    [
        (MinHasher(8, seed=2), "signatures are of seed 2; 1 is needed here"),
        (
            MinHasher(8, "classic"),
            "signatures are of scheme 'classic'; 'fast' is needed here",
        ),
        (
            MinHasher(16),
            "signatures must have num_perm = 8 slots each, not shape (1, 16)",
        ),
    ],
)
def test_signatures_of_another_hasher_are_refused(index, hasher, message):
    other = hasher.sketch(TokenSets.from_sets([["a", "b"]]))
    for signatures in (other, other[:]):
        with pytest.raises(ValueError, match=re.escape(message)):
            index.insert([5], signatures)
        with pytest.raises(ValueError, match=re.escape(message)):
            index.query(signatures)
    with pytest.raises(
        ValueError, match=re.escape(message.replace("(1, 16)", "(16,)"))
    ):
        index.query(other[0])
    with pytest.raises(
        ValueError, match=re.escape(message.replace("(1, 16)", "(16,)"))
    ):
        index.insert(5, other[0])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1, not 0"),
        ({"k": -1}, ValueError, "k must be at least 1, not -1"),
        ({"k": 1.0}, TypeError, "k must be an int, not 1.0"),
        ({"k": True}, TypeError, "k must be an int, not True"),
        ({"k": "1"}, TypeError, "k must be an int, not '1'"),
        ({"k": math.nan}, TypeError, "k must be an int, not nan"),
        ({"threshold": -0.1}, ValueError, "threshold must be in [0, 1], not -0.1"),
        ({"threshold": 1.1}, ValueError, "threshold must be in [0, 1], not 1.1"),
        ({"threshold": math.nan}, ValueError, "threshold must be in [0, 1], not nan"),
        ({"threshold": math.inf}, ValueError, "threshold must be in [0, 1], not inf"),
        ({"threshold": True}, TypeError, "threshold must be a number, not True"),
        ({"threshold": False}, TypeError, "threshold must be a number, not False"),
        ({"threshold": "0.5"}, TypeError, "threshold must be a number, not '0.5'"),
        ({"k": 1, "threshold": 2}, ValueError, "threshold must be in [0, 1], not 2"),
    ],
)
def test_questions_that_are_refused(index, options, error, message):
    for signatures in (shared(2), shared(1)[0]):
        with pytest.raises(error, match=re.escape(message)):
            index.query(signatures, **options)
    if "k" not in options:
        with pytest.raises(error, match=re.escape(message)):
            index.pairs(**options)


def test_numbers_of_threads_that_are_refused(index):
    for threads, error, message in [
        (0, ValueError, "at least 1, not 0"),
        (True, TypeError, "an int or None"),
    ]:
        with pytest.raises(error, match=message):
            index.query(shared(2), threads=threads)
        with pytest.raises(error, match=message):
            small().query(shared(2), threads=threads)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"bands": 4},
            ValueError,
            "bands and rows_per_band go together: give both, or neither and a recall",
        ),
        ({"rows_per_band": 4}, ValueError, "bands and rows_per_band go together"),
        (
            {"bands": 4, "rows_per_band": 3},
            ValueError,
            "bands x rows must be at most num_perm = 8, not 4 x 3",
        ),
        (
            {"bands": 0, "rows_per_band": 3},
            ValueError,
            "bands must be at least 1, not 0",
        ),
        (
            {"bands": 2, "rows_per_band": 2.0},
            TypeError,
            "rows_per_band must be an int, not 2.0",
        ),
        (
            {"bands": True, "rows_per_band": 2},
            TypeError,
            "bands must be an int, not True",
        ),
        (
            {"threshold": 0, "bands": 2, "rows_per_band": 2},
            ValueError,
            "threshold must be in (0, 1], not 0",
        ),
        ({"threshold": math.nan}, ValueError, "threshold must be in (0, 1], not nan"),
        ({"threshold": True}, TypeError, "threshold must be a number, not True"),
        ({"recall": 1}, ValueError, "recall must be in (0, 1), not 1"),
        (
            {"threshold": 0.1},
            ValueError,
            "recall 0.95 at threshold 0.1 is out of reach of num_perm 8",
        ),
        ({"num_perm": 0}, ValueError, "num_perm must be in 1..65536, not 0"),
        ({"num_perm": 65537}, ValueError, "num_perm must be in 1..65536, not 65537"),
        ({"num_perm": 8.0}, TypeError, "num_perm must be an int, not 8.0"),
        ({"num_perm": True}, TypeError, "num_perm must be an int, not True"),
        (
            {"scheme": "slow"},
            ValueError,
            "scheme must be 'fast' or 'classic', not 'slow'",
        ),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"seed": 2**64}, ValueError, "seed must be"),
        (
            {"on_duplicate": "ignore"},
            ValueError,
            "on_duplicate must be one of error, replace, skip, not 'ignore'",
        ),
        (
            {"shingles": "x" * 17},
            ValueError,
            "shingles must be at most 16 printable ASCII characters",
        ),
        (
            {"shingles": "ä"},
            ValueError,
            "shingles must be at most 16 printable ASCII characters",
        ),
        ({"shingles": 5}, TypeError, "shingles must be a str, not 5"),
    ],
)
def test_indexes_that_are_refused(options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        LSHIndex(**{"num_perm": 8, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_perm": 9}, "num_perm is 8 in this index, not 9"),
        ({"seed": 3}, "seed is 1 in this index, not 3"),
        ({"scheme": "classic"}, "scheme is 'fast' in this index, not 'classic'"),
        ({"bands": 2}, "bands is 3 in this index, not 2"),
        ({"rows_per_band": 1}, "rows_per_band is 2 in this index, not 1"),
        ({"shingles": "word:5"}, "shingles is '' in this index, not 'word:5'"),
    ],
)
def test_indexes_that_do_not_merge(index, options, message):
    other = LSHIndex(**{**SMALL, **options})
    with pytest.raises(ValueError, match=re.escape(message)):
        index.merge(other)


def test_merging_with_oneself(index):
    if len(index):
        with pytest.raises(ValueError, match="is in both indexes"):
            index.merge(index)
    index.on_duplicate = "skip"
    assert index.merge(index) == 0
    index.on_duplicate = "replace"
    assert index.merge(index) == len(index)
    index.on_duplicate = "error"


# Empty sets, and none at all


def test_empty_sets_are_held_and_match_nothing():
    hasher = MinHasher(8)
    signatures = hasher.sketch(TokenSets.from_sets([[], ["a"], []]))
    index = small()
    index.insert(["none", "a", "nothing"], signatures)
    assert sorted(index) == ["a", "none", "nothing"]
    assert list(index.query(signatures)) == [[], ["a"], []]
    assert list(index.query(signatures, threshold=0)) == [[], [("a", 1.0)], []]
    assert index.query(signatures[0], k=3) == []
    assert len(index.pairs(0)) == 0
    index.on_duplicate = "replace"
    index.insert("a", signatures[0])
    assert index.query(signatures[1]) == []
    index.insert("none", signatures[1])
    assert index.query(signatures[1]) == ["none"]
    index.remove(["none", "nothing", "a"])
    assert index.stats().bucket_sizes == {}


def test_an_empty_index_and_empty_batches():
    index = small()
    assert [len(index.query(shared(m))) for m in (0, 1, 5)] == [0, 1, 5]
    assert list(index.query(shared(3), k=2)) == [[], [], []]
    assert (
        index.query(shared(1)[0])
        == index.query(shared(1)[0], k=1)
        == list(index)
        == list(index.pairs())
        == []
    )
    assert index.insert([], shared(0)) == 0
    assert index.insert(np.array([], np.int64), shared(0)) == 0
    index.remove([])
    assert (len(index), 5 in index, index.stats().entries) == (0, False, 0)
    index.insert([1, 2], shared(2))
    assert index.insert([], shared(0)) == 0
    assert len(index.query(shared(0))) == 0
    assert list(index.query(shared(0), k=1)) == []
    assert index.merge(small()) == 0
    assert (
        repr(index)
        == "LSHIndex(2 entries, 3 bands of 2 rows, num_perm=8, scheme='fast', seed=1)"
    )


USES = [
    len,
    list,
    lambda index: 1 in index,
    lambda index: index.insert(2, shared(1)[0]),
    lambda index: index.insert([2], shared(1)),
    lambda index: index.remove(1),
    lambda index: index.query(shared(1)[0]),
    lambda index: index.query(shared(2)),
    lambda index: index.pairs(),
    lambda index: index.stats(),
]


def test_a_closed_index():
    with small() as index:
        index.insert(1, shared(1)[0])
    for use in USES:
        with pytest.raises(ValueError, match="closed"):
            use(index)
    assert repr(index).startswith("LSHIndex(closed, 3 bands")
    index.close()


# Size


def test_copies_cost_no_more_than_others():
    """20,000 entries of one signature, which are one bucket in each band: 100 million steps if a bucket were walked."""
    n = 20_000
    index, row = small(), some(1)
    keys = np.random.default_rng(0).permutation(n)
    index.insert(keys, np.repeat(row, n, axis=0))
    assert index.query(row[0], k=3) == [(0, 1.0), (1, 1.0), (2, 1.0)]
    assert index.query(row, k=n + 1)[0] == [(key, 1.0) for key in range(n)]
    assert index.stats().largest_bucket == n
    for key in range(n // 2):
        index.remove(key)
    assert index.query(row[0], k=2) == [(n // 2, 1.0), (n // 2 + 1, 1.0)]
    index.on_duplicate = "replace"
    assert index.insert(range(n // 2, n), some(n // 2, seed=5)) == n // 2
    assert index.query(row[0]) == []
    index.remove(range(n // 2, n))
    assert index.stats().bucket_sizes == {}


@pytest.mark.slow
def test_answers_do_not_depend_on_threads():
    """More queries than one thread takes at a time."""
    index = small()
    index.insert(range(300), shared(300))
    queries = np.concatenate(
        [shared(20_000, values=6, seed=1), np.full((5, 8), EMPTY, np.uint64)]
    )
    for options in ({}, {"k": 2}, {"threshold": 0.5}):
        one, two, five = (
            index.query(queries, threads=threads, **options) for threads in (1, 2, 5)
        )
        for other in (two, five):
            assert np.array_equal(one.offsets, other.offsets)
            assert np.array_equal(one.keys, other.keys)
            assert (one.similarity is None) or np.array_equal(
                one.similarity, other.similarity
            )
        assert list(one)[8_000:8_400] == [
            index.query(query, **options) for query in queries[8_000:8_400]
        ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lsh", "neighbors", "ensemble"])
@pytest.mark.parametrize("threads", [1, 3])
def test_memory_of_the_nearest_of_many_equal_entries(kind, threads):
    """4 million pairs of a query and an equal entry, of which 4,000 are answers."""
    n, m, k = 10_000, 400, 10
    if kind == "neighbors":
        index = NearNeighbors("euclidean", 1, dim=2, n=n, bands=1, rows_per_band=1)
        given = [np.zeros((n, 2))]
    else:
        index, given = small(), [np.repeat(some(1), n, axis=0)]
    if kind == "ensemble":
        index = LSHEnsemble(0.8, num_perm=8)
        given.append(np.full(n, 50))
    index.insert(np.arange(n), *given)
    tracemalloc.start()
    found = index.query(*(array[:m] for array in given), k=k, threads=threads)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5e8
    assert found.keys.tolist() == list(range(k)) * m


@pytest.mark.parametrize(
    "keys", [range(300), list(map(str, range(300)))], ids=["int", "str"]
)
def test_answers_do_not_depend_on_the_memory_for_them(tmp_path, monkeypatch, keys):
    """Candidates of one query at a time, in several segments."""
    small().save(tmp_path / "index")
    with LSHIndex.open(tmp_path / "index", "r+") as index:
        for start in range(0, 300, 90):
            index.insert(keys[start : start + 90], shared(300)[start : start + 90])
            index.commit()
        queries = np.concatenate(
            [shared(50, values=6, seed=1), np.full((5, 8), EMPTY, np.uint64)]
        )
        expected = (
            list(index.query(queries, k=3)),
            list(index.query(queries, k=3, threshold=0.5)),
        )
        monkeypatch.setattr(segments, "ROOM", 1)
        for threads in (1, 2):
            assert list(index.query(queries, k=3, threads=threads)) == expected[0]
            assert (
                list(index.query(queries, k=3, threshold=0.5, threads=threads))
                == expected[1]
            )


def test_growth_by_single_entries_equals_one_batch():
    entries, keys = shared(3000, values=8), [f"key {i}" for i in range(3000)]
    whole, grown = small(), small()
    whole.insert(keys, entries)
    for key, entry in zip(keys, entries, strict=True):
        grown.insert(key, entry)
    queries = shared(50, values=8, seed=1)
    assert list(whole.query(queries, k=20)) == list(grown.query(queries, k=20))
    assert content(whole) == content(grown)
    for key in keys[::2]:
        grown.remove(key)
    whole.remove(keys[::2])
    assert list(whole.query(queries, k=20)) == list(grown.query(queries, k=20))
    assert whole.stats().bucket_sizes == grown.stats().bucket_sizes


def test_batches_appear_at_once():
    """While one thread writes whole batches, two others ask: each answer has all of a batch or none of it."""
    index, first, second = small(), some(1), some(1, seed=1)
    index.insert(range(100), np.repeat(first, 100, axis=0))
    seen, done = set(), threading.Event()
    wrong = []

    def ask():
        for turn in count():
            if done.is_set() and turn > 50:
                return
            found = index.query(np.concatenate([first, second]))
            seen.add((len(found[0]), len(found[1])))
            if len(index) not in (100, 150) or sum(
                index.store.contains(list(range(200, 250)))
            ) not in (0, 50):
                wrong.append(len(index))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    index.on_duplicate = "replace"
    for _ in range(100):
        index.insert(range(200, 250), np.repeat(first, 50, axis=0))
        index.insert(range(200, 250), np.repeat(second, 50, axis=0))
        index.remove(range(200, 250))
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert seen <= {(100, 0), (150, 0), (100, 50)}


def test_matches_as_arrays():
    index = small()
    entries = shared(100)
    index.insert(range(100), entries)
    found = index.query(entries[:10], k=4)
    assert (found.offsets.dtype, found.keys.dtype, found.similarity.dtype) == (
        np.int64,
        np.int64,
        np.float64,
    )
    assert found.offsets[0] == 0
    assert [
        found.keys[low:high].tolist() for low, high in pairwise(found.offsets.tolist())
    ] == [[match.key for match in answer] for answer in found]
    assert found[-1] == found[9]
    for query in (10, -11):
        with pytest.raises(
            IndexError, match=f"query {query} is out of range: there are 10 queries"
        ):
            found[query]
    assert index.query(entries[:10]).similarity is None
    assert index.query(entries[:2], k=np.int64(1))[0] == index.query(entries[0], k=1)


@given(st.lists(STRS, unique=True, min_size=1))
def test_order_of_strings_is_pythons(keys):
    index = small()
    index.insert(keys, np.repeat(array_of([[1] * 8]), len(keys), axis=0))
    assert index.query(array_of([[1] * 8])[0]) == sorted(keys)
    assert [pair[:2] for pair in index.pairs()] == [
        (a, b) for a in sorted(keys) for b in sorted(keys) if a < b
    ]
