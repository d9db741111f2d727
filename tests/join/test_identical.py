"""Identical items: beside a dict, for every source, and with hashes that collide."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import dedup
from lshfast.join import (
    ItemFilter,
    count_distinct,
    find_identical,
    find_identical_in_batches,
    identical,
)
from lshfast.kernels import bands, text

METHODS = ["positions", "hash"]


def first_of(items):
    seen = {}
    return [seen.setdefault(item, row) for row, item in enumerate(items)]


# Items of more than 256 bytes are not hashed as a whole; the last two differ in one byte.
EDGES = [
    b"",
    b"\0",
    b"\0\0",
    *(b"a" * n for n in (64, 65, 256, 257, 600)),
    b"a" * 400 + b"b" + b"a" * 199,
]


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=90) | st.sampled_from(EDGES), max_size=40))
def test_items_are_those_of_a_dict(method, items):
    assert find_identical(items, method=method, threads=1).tolist() == first_of(items)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_long_items_of_many_lengths(monkeypatch, method, threads):
    """Also items that differ in one byte, so that nearly all of them agree at the places that are read."""
    monkeypatch.setattr(identical, "PIECE_ITEMS", 37)
    monkeypatch.setattr(identical, "PIECE_BYTES", 5000)
    rng = np.random.default_rng(1)
    items = []
    for length in (7, 8, 9, 63, 64, 65, 71, 72, 73, 1000, 5001):
        base = rng.integers(0, 256, length, dtype=np.uint8)
        for _ in range(40):
            other = base.copy()
            other[rng.integers(0, length)] = rng.integers(0, 4)
            items.append(other.tobytes())
    rng.shuffle(items)
    assert find_identical(items, method=method, threads=threads).tolist() == first_of(
        items
    )


def test_items_from_columns_of_all_kinds():
    items = ["rain", "Sun", "", "rain", "naïve", None, "naïve"]
    expected = [0, 1, 2, 0, 4, 2, 4]
    for method in METHODS:
        assert find_identical(items, method=method).tolist() == expected
        assert find_identical(pa.array(items), method=method).tolist() == expected
        assert find_identical([], method=method).tolist() == []
        # Bytes need not be UTF-8.
        assert find_identical([b"\xff", "ÿ", b"\xff"], method=method).tolist() == [
            0,
            1,
            0,
        ]


def test_hashes_that_collide_do_no_harm_to_positions(monkeypatch):
    """Hashes of two values only: every decision then rests on comparisons."""
    calls = itertools.count()

    def poor(texts, key, threads):
        return np.asarray(
            texts.lengths % 2 if next(calls) < 50 else real(texts, key, threads)
        ).astype(np.uint64)

    real = identical._hashes
    monkeypatch.setattr(identical, "_hashes", poor)
    monkeypatch.setattr(
        identical, "_samples", lambda texts, threads: np.zeros(len(texts), np.uint64)
    )
    items = [bytes([number % 23, number % 7]) for number in range(300)]
    assert find_identical(items).tolist() == first_of(items)


def test_f34_words_cover_short_items_and_lie_within_long_ones():
    points = np.array([0, 2**63, 2**64 - 1], np.uint64)
    rng = np.random.default_rng(2)
    for length in [*range(33), 100, 1001]:
        item = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
        found = text.words_at(text.Texts([item]), points)[0]
        if length > 24:
            places = [int(point) * (length - 7) >> 64 for point in points]
        elif length >= 8:
            places = [*range(0, length - 7, 8), *([length - 8] if length % 8 else [])]
        else:
            places = [0] if length else []
        words = [
            np.frombuffer(item[at : at + 8].ljust(8, b"\0"), np.uint64)[0]
            for at in places
        ]
        assert found.tolist() == words + [0] * (3 - len(words))
        assert places[-1:] == [length - 8] or length < 8


def test_words_need_points():
    with pytest.raises(ValueError, match="points must be at least one"):
        text.words_at(text.Texts(["a"]), np.empty(0, np.uint64))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["", "a", "b", "cc", "d" * 99, "e", "f"]), max_size=6),
        max_size=8,
    )
)
def test_items_of_a_stream_are_those_of_a_dict(batches):
    items = list(itertools.chain(*batches))
    expected = [
        [row, first] for row, first in enumerate(first_of(items)) if row != first
    ]
    for error in (
        0.99,
        0.01,
    ):  # with .99 the filter takes nearly all items for repeated ones
        found = find_identical_in_batches(
            lambda: iter(batches), 1, error=error, threads=1
        )
        assert found.tolist() == expected


def test_a_stream_that_changes_is_refused():
    passes = iter([[["a", "b"]], [["a"]]])
    with pytest.raises(
        ValueError, match="the same items each time, not 2 items and then 1"
    ):
        find_identical_in_batches(lambda: next(passes), 10)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 70),
    st.integers(1, 12),
    st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=40),
)
def test_filters_of_keys_are_those_of_a_list_of_bits(bits, hashes, keys):
    def mix(x):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    def places(key):
        x = mix(key)
        return {(x + i * (mix(x) | 1)) % 2**64 * bits >> 64 for i in range(hashes)}

    held, expected, array = set(), [], np.zeros(9, np.uint8)
    for key in keys:
        expected.append(places(key) <= held)
        held |= places(key)
    keys = np.array(keys, np.uint64)
    assert bands.add_keys(array, keys, bits, hashes).tolist() == expected
    assert np.flatnonzero(np.unpackbits(array, bitorder="little")).tolist() == sorted(
        held
    )
    assert bands.hold_keys(array, keys, bits, hashes).all()


@pytest.mark.parametrize(
    ("bits", "hashes", "message"),
    [
        (0, 1, r"bits must be in 1\.\.16"),
        (17, 1, r"bits must be in 1\.\.16, the length of the filter, not 17"),
        (16, 0, r"hashes must be in 1\.\.64, not 0"),
        (16, 65, r"hashes must be in 1\.\.64, not 65"),
    ],
)
def test_kernels_refuse_filters_of_wrong_shapes(bits, hashes, message):
    for kernel in (bands.add_keys, bands.hold_keys):
        with pytest.raises(ValueError, match=message):
            kernel(np.zeros(2, np.uint8), np.zeros(1, np.uint64), bits, hashes)


@pytest.mark.parametrize("error", [0.5, 0.1, 0.01])
def test_the_error_of_a_filter_is_what_was_asked_for(error):
    """What a filter reports as new is new; of other new items it takes the share `error` for old ones."""
    n = 20000
    seen = ItemFilter(n, error)
    items = [f"item {number}" for number in range(3 * n)]
    new = seen.add(items[:n])
    assert len(seen) == new.sum()
    assert seen.contains(items[:n]).all()
    assert not seen.add(items[:n]).any()
    wrong = seen.contains(items[n:]).mean()
    assert abs(wrong - seen.current_error) < 4 * (error / (2 * n)) ** 0.5
    assert seen.current_error < 1.2 * error
    assert seen.nbytes == pytest.approx(1.44 * -np.log2(error) * n / 8, rel=0.01)


def test_filters_differ_in_their_keys():
    """The wrong answers of one filter are not those of another, so they cannot be provoked."""
    items = [f"item {number}" for number in range(4000)]
    wrong = []
    for _ in range(2):
        seen = ItemFilter(2000, 0.3)
        seen.add(items[:2000])
        wrong.append(set(np.flatnonzero(seen.contains(items[2000:]))))
    assert wrong[0] != wrong[1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ItemFilter(0),
            ValueError,
            r"expected must be in 1\.\.1099511627776, not 0",
        ),
        (lambda: ItemFilter(1.5), TypeError, r"expected must be an int, not 1\.5"),
        (
            lambda: ItemFilter(5, 1.0),
            ValueError,
            r"error must be in \[1e-18, 1\), not 1\.0",
        ),
        (lambda: ItemFilter(5, float("nan")), ValueError, "error must be"),
        (lambda: ItemFilter(5, "a"), TypeError, "error must be"),
        (lambda: ItemFilter(5).add("abc"), TypeError, "not one str or bytes"),
        (lambda: ItemFilter(5).add([3]), TypeError, r"texts\[0\] is of type int"),
        (
            lambda: find_identical(["a"], method="md5"),
            ValueError,
            "method must be 'positions' or 'hash', not 'md5'",
        ),
        (
            lambda: find_identical([3]),
            TypeError,
            r"texts\[0\] is of type int, not str or bytes",
        ),
        (lambda: find_identical(["a", "\ud800"]), ValueError, "lone surrogate"),
        (
            lambda: find_identical(["a"], threads=0),
            ValueError,
            "threads must be at least 1",
        ),
        (
            lambda: count_distinct(["a"], p=3),
            ValueError,
            r"p must be in 4\.\.18, not 3",
        ),
    ],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_filter_is_not_pickled():
    import pickle

    with pytest.raises(TypeError, match="its key is secret"):
        pickle.dumps(ItemFilter(5))


def test_b8_what_finds_which_duplicates():
    """Exact hashing, a Bloom filter and counting tell exact copies; only a search for similar items finds near ones."""
    text = " ".join(f"w{number}" for number in range(200))
    items = [text, text, text + " and more"]
    for method in METHODS:
        assert find_identical(items, method=method).tolist() == [0, 0, 2]
    assert ItemFilter(1000, 1e-9).add(items).tolist() == [True, False, True]
    assert find_identical_in_batches(lambda: [items], 10).tolist() == [[1, 0]]
    assert round(count_distinct(items)) == 2
    assert dedup(items).keeper.tolist() == [0, 0, 0]


def test_distinct_items_are_counted():
    items = [f"item {number % 30000}" for number in range(60000)]
    expected, error = 30000, 1.04 / 2**7
    assert abs(count_distinct(items) / expected - 1) < 4 * error
    batches = (items[start : start + 7000] for start in range(0, 60000, 7000))
    assert count_distinct(batches) == count_distinct(items, threads=3)
    assert count_distinct(pa.chunked_array([items[:9], items[9:]])) == count_distinct(
        items
    )
    assert count_distinct([]) == 0
