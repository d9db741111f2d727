"""Exact joins against brute force: every measure, awkward thresholds, both methods, all CPU levels, some threads."""

import math
import threading
import tracemalloc
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lshfast
from lshfast import MinHasher, TokenSets, exact
from lshfast.join import copies as copies_of_pairs
from lshfast.join import exact_join
from lshfast.join.thresholds import MEASURES, least_fraction, plain_threshold, rule_of
from lshfast.kernels import setjoin
from tests.reference.set_strings import similar_pairs

F = Fraction
THRESHOLDS = [
    0.8,
    0.9,
    8 / 9,
    11 / 15,
    F(8, 9),
    F(11, 15),
    (2, 3),
    1 / 3,
    0.1,
    1.0,
    math.nextafter(0.8, 1.0),
]
SETS = st.lists(st.lists(st.integers(0, 12), max_size=16), max_size=14)
WIDE = st.lists(st.sets(st.integers(0, 40), max_size=40), max_size=10)
# Elements that push a universe over the limit of bitmaps, in a set that is like no other.
MANY = list(range(10_000, 10_600))


def similarity(measure, a, b, two):
    """Return the similarity of two sets that are not empty as a double, by the definition."""
    shared = len(a & b)
    if measure == "jaccard":
        return shared / len(a | b)
    if measure == "dice":
        return 2 * shared / (len(a) + len(b))
    if measure == "cosine":
        return shared / math.sqrt(len(a) * len(b))
    if measure == "containment":
        return shared / (len(a) if two else min(len(a), len(b)))
    return float(shared)


def brute_force(rows, right, threshold, measure):
    """Return all similar pairs by comparing each with each."""
    sets, others = [set(row) for row in rows], [set(row) for row in right or []]
    numbers = (
        product(range(len(sets)), range(len(others)))
        if right is not None
        else combinations(range(len(sets)), 2)
    )
    least = F(*threshold) if isinstance(threshold, tuple) else threshold
    found = []
    for i, j in numbers:
        a, b = sets[i], (sets if right is None else others)[j]
        if a and b and similarity(measure, a, b, right is not None) >= float(least):
            found.append((i, j, similarity(measure, a, b, right is not None)))
    return found


def with_near_copies(rows, data):
    """Add rows that differ in few elements from others, and rows that are equal in another order, with repeats."""
    for row in data.draw(st.lists(st.sampled_from(rows), max_size=6)) if rows else []:
        more = data.draw(st.lists(st.integers(0, 40), max_size=2))
        rows = [*rows, [*reversed(list(row)), *more, *list(row)[:1]]]
    return rows


@contextmanager
def dividing(always):
    """Let small collections be ranked like those with more tokens than the table takes."""
    with pytest.MonkeyPatch.context() as patch:
        if always:
            patch.setattr(exact_join, "TABLE", 0)
        yield


@pytest.mark.few_cases
@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=30)
@given(
    rows=SETS | WIDE,
    right=st.none() | SETS,
    threshold=st.sampled_from(THRESHOLDS),
    data=st.data(),
)
def test_pairs_are_those_of_brute_force(level, measure, rows, right, threshold, data):
    if measure == "overlap":
        threshold = data.draw(st.integers(1, 6))
    rows = with_near_copies(rows, data)
    method = data.draw(
        st.sampled_from(["auto", "prefix", "bitmap", "large", "divided"])
    )
    if method == "large":
        rows, method = [*rows, MANY], "auto"
    with dividing(method == "divided"):
        method = "auto" if method == "divided" else method
        found = exact.join(
            rows, right, threshold=threshold, measure=measure, method=method, suffixes=data.draw(st.booleans()),
            threads=data.draw(st.sampled_from([1, 2])),
        )  # fmt: skip
    assert found.pairs.tolist() == brute_force(rows, right, threshold, measure)
    assert (
        found.method in ("prefix", "bitmap")
        if method == "auto"
        else found.method == method
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["prefix", "bitmap", "divided"])
def test_a_larger_join_in_several_threads(level, method, monkeypatch):
    if method == "divided":
        monkeypatch.setattr(exact_join, "TABLE", 0)
        method = "prefix"
    rng = np.random.default_rng(1)
    rows = [
        rng.choice(300, rng.integers(1, 60), replace=False).tolist() for _ in range(400)
    ]
    rows += [row[rng.integers(0, 4) :] for row in rows for _ in range(3)]
    sets = TokenSets.from_sets(
        rows
    )  # with the same tokens in both joins: they decide ties of the order
    for threshold in (F(8, 9), 0.7):
        expected = exact.join(sets, threshold=threshold, method=method, threads=1)
        found = exact.join(sets, threshold=threshold, method=method, threads=3)
        assert (found.method, found.candidates) == (method, expected.candidates)
        assert np.array_equal(found.pairs, expected.pairs)
    small = rows[:100] + rows[400:500]
    assert {
        (i, j) for i, j, _ in exact.pairs(small, threshold=0.7, method=method).tolist()
    } == similar_pairs(small, F(7, 10))


@pytest.mark.slow
def test_the_pairs_equal_those_of_verification():
    """The rule of a float is that of `verify`: overlap / union, as doubles, at least the threshold."""
    rng = np.random.default_rng(2)
    rows = [
        rng.choice(30, rng.integers(1, 25), replace=False).tolist() for _ in range(120)
    ]
    i, j = np.triu_indices(len(rows), 1)
    sets = TokenSets.from_sets(rows)
    for threshold in {a / b for b in range(1, 12) for a in range(1, b + 1)}:
        for near in (
            math.nextafter(threshold, 0),
            threshold,
            math.nextafter(threshold, 1),
        ):
            if near <= 1:
                assert np.array_equal(
                    exact.pairs(sets, threshold=near), lshfast.verify(sets, i, j, near)
                )


def test_thresholds_of_fractions():
    """A float and the fraction that it prints as are one threshold; the next float is another."""
    for p, q in [(8, 9), (11, 15), (4, 5), (9, 10), (1, 3)]:
        assert (
            rule_of("jaccard", p / q)
            == rule_of("jaccard", F(p, q))
            == rule_of("jaccard", (p, q))
        )
        assert rule_of("jaccard", p / q).of_kernels[:3] == (
            0,
            *F(p, p + q).as_integer_ratio(),
        )
        assert rule_of("jaccard", math.nextafter(p / q, 1)) != rule_of(
            "jaccard", F(p, q)
        )
    long = F(8 * 10**30 + 1, 9 * 10**30)
    assert (
        plain_threshold("dice", long)
        == least_fraction(long, 2 * setjoin.MOST_TOKENS)
        > F(8, 9)
    )
    assert exact.pairs([range(17), range(16)], threshold=F(16, 17)).tolist() == [
        (0, 1, 16 / 17)
    ]
    assert not len(
        exact.pairs([range(17), range(16)], threshold=F(16, 17) + F(1, 10**30))
    )


@given(st.fractions(F(1, 200), 1), st.integers(1, 60))
@example(F(1), 1)
def test_least_fraction(x, most):
    assert least_fraction(x, most) == min(
        F(math.ceil(x * q), q) for q in range(1, most + 1)
    )


@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.sampled_from(THRESHOLDS),
    st.sampled_from(MEASURES),
)
def test_needed_overlap(a, b, threshold, measure):
    """`need` is the least overlap that reaches the threshold, or more than either size has."""
    if measure == "overlap":
        threshold = 7
    rule = rule_of(measure, threshold)
    least = float(F(*threshold)) if isinstance(threshold, tuple) else float(threshold)
    enough = [o for o in range(1, min(a, b) + 1) if rule.similarity(o, a, b) >= least]
    need = setjoin.need(rule.of_kernels, a, b)
    assert need == min(enough) if enough else need > min(a, b)


@pytest.mark.few_cases
def test_d13_small_universe(level):
    """Sets of half of 52 elements are compared as bits: their prefixes are in a quarter of all sets."""
    rng, n = np.random.default_rng(52), 2000
    members = rng.random((n, 52)) < 0.5
    members[-200:] = members[:200]
    members[np.arange(n - 200, n), rng.integers(0, 52, 200)] ^= True
    rows = [np.flatnonzero(row).tolist() for row in members]
    common = members.astype(np.float32) @ members.T.astype(
        np.float32
    )  # exact: at most 52
    either = members.sum(axis=1)[:, None] + members.sum(axis=1) - common
    i, j = np.nonzero(np.triu(10 * common >= 9 * either, 1))
    found = exact.join(rows, threshold=0.9)
    assert found.method == "bitmap"
    assert found.pairs[["i", "j"]].tolist() == list(
        zip(i.tolist(), j.tolist(), strict=True)
    )
    assert len(i) > 100
    prefixes = exact.join(rows, threshold=0.9, method="prefix")
    assert np.array_equal(prefixes.pairs, found.pairs)
    assert exact.join([*rows, MANY], threshold=0.9).method == "prefix"
    apart = [[number % 500] for number in range(2000)] + [[1, 2, 3]]
    assert (
        exact.join(apart, threshold=0.9).method == "prefix"
    )  # few candidates: equal sets are one


def test_d13_a_minhash_tells_little_of_sets_from_a_small_universe():
    """Of n sets of 52 elements, n / 52 share a minhash on average (19,231 of a million); it has about 2 bits."""
    rows = [
        np.flatnonzero(row).tolist()
        for row in np.random.default_rng(52).random((10_000, 52)) < 0.5
    ]
    for column in MinHasher(8, "classic").sketch(TokenSets.from_sets(rows)).T:
        shares = np.unique(column, return_counts=True)[1] / len(rows)
        assert len(shares) <= 52
        assert -(shares * np.log2(shares)).sum() == pytest.approx(2, abs=0.05)


# Sets as strings (F36 to F39): what a wrong length, prefix or position loses


def nested(lengths):
    """Return sets of these sizes, each of which contains the smaller ones."""
    return [range(length) for length in lengths]


@pytest.mark.parametrize(
    ("length", "threshold", "first", "last"),
    [
        (9, 0.9, 9, 10),
        (8, 0.9, 8, 8),
        (20, 0.85, 17, 23),
        (20, 0.95, 19, 21),
        (20, 0.98, 20, 20),
    ],
)
@pytest.mark.parametrize("method", ["prefix", "bitmap"])
def test_f36_lengths_that_are_similar(method, length, threshold, first, last):
    found = exact.pairs(
        nested([length]), nested(range(1, 31)), threshold=threshold, method=method
    )
    assert (found["j"] + 1).tolist() == [*range(first, last + 1)]


def test_f37_prefixes_that_doubles_make_too_short():
    """A set and its part of the least size: all but the last token of the prefix are in no other set.

    In 67 of these 2,000 cases, floor((1 - J) L) + 1 in doubles is too small, and an index by it loses the pair.
    """
    short, lengths = 0, range(1, 201)
    for percent in range(50, 100, 5):
        parts = [
            -(-percent * length // 100) - lacks
            for length in lengths
            for lacks in (0, 1)
        ]
        short += sum(
            math.floor((1 - percent / 100) * length) + 1 < length - least + 1
            for length, least in zip(lengths, parts[::2], strict=True)
        )
        whole = [range(1000 * length, 1000 * length + length) for length in lengths]
        ends = [
            row[len(row) - size :]
            for row, size in zip(
                chain(*zip(whole, whole, strict=True)), parts, strict=True
            )
        ]
        found = exact.pairs(whole, ends, threshold=percent / 100, method="prefix")
        assert found[["i", "j"]].tolist() == [(row, 2 * row) for row in range(200)]
    assert short == 67


def test_f37_f38_the_strings_of_the_text():
    strings = ["acdefghijk", "bcdefghijk", "bcdefghij", "abcdefghij"]
    for method, suffixes in (("prefix", False), ("prefix", True), ("bitmap", False)):
        found = exact.pairs(
            [*map(list, strings)], threshold=0.8, method=method, suffixes=suffixes
        )
        assert found.tolist() == [
            (0, 1, 9 / 11),
            (0, 3, 9 / 11),
            (1, 2, 0.9),
            (1, 3, 9 / 11),
            (2, 3, 0.9),
        ]
        found = exact.pairs(
            [*map(list, strings)], threshold=0.9, method=method, suffixes=suffixes
        )
        assert found.tolist() == [(1, 2, 0.9), (2, 3, 0.9)]


@pytest.mark.few_cases
@pytest.mark.parametrize("suffixes", [False, True])
@pytest.mark.parametrize("threshold", [F(9, 10), F(8, 10), F(8, 9), F(11, 15), F(1, 2)])
def test_f39_no_pair_is_lost(threshold, suffixes):
    """Strings of the text's length, of which many are similar, and symbols of very different frequencies."""
    rng, rows = np.random.default_rng(39), []
    weights = 1 / np.arange(1, 31)
    for _ in range(60):
        base = rng.choice(
            30, rng.integers(6, 22), replace=False, p=weights / weights.sum()
        )
        rows += [
            base.tolist(),
            base[1:].tolist(),
            [*base.tolist(), 40],
            [*base[2:].tolist(), 41, 42],
            base[:-2].tolist(),
        ]
    found = exact.join(rows, threshold=threshold, method="prefix", suffixes=suffixes)
    assert {(i, j) for i, j, _ in found.pairs.tolist()} == similar_pairs(
        rows, threshold
    )
    assert len(found.pairs) > 100
    assert found.candidates < math.comb(len(rows), 2)


def test_widths_of_bitmaps(level):
    """Around each number of words, and rows around the lanes and blocks of the levels."""
    rng = np.random.default_rng(3)
    for universe, n in [
        (63, 5),
        (64, 9),
        (65, 17),
        (128, 103),
        (200, 33),
        (449, 40),
        (511, 8),
        (512, 64),
    ]:
        base = rng.choice(universe, universe // 2, replace=False)
        rows = [np.setdiff1d(np.arange(universe), base)] + [
            np.delete(base, rng.integers(0, len(base))) for _ in range(n)
        ]
        rows.append(np.arange(universe))
        bits, prefixes = (
            exact.join(rows, threshold=0.9, method=method)
            for method in ("bitmap", "prefix")
        )
        assert np.array_equal(bits.pairs, prefixes.pairs)
        assert len(bits.pairs)


def test_copies():
    rows = [
        [1, 2, 3, 4],
        [4, 3, 2, 1],
        [5, 6],
        [1, 2, 3, 4, 4],
        [1, 2, 3, 4, 5],
        [],
        [6, 5],
    ]
    every = exact.pairs(rows, threshold=0.8).tolist()
    assert every == brute_force(rows, None, 0.8, "jaccard")
    first = exact.pairs(rows, threshold=0.8, copies="first").tolist()
    assert set(first) < set(every)
    assert (2, 6, 1.0) in first
    assert exact.pairs(rows, threshold=3, measure="overlap").tolist() == brute_force(
        rows, None, 3, "overlap"
    )


@pytest.mark.slow
def test_many_different_tokens():
    """More tokens than the table takes: most rows are left out, and the rest is ranked in parts."""
    rng = np.random.default_rng(5)
    rows = [rng.integers(0, 2**63, 300).tolist() for _ in range(900)]
    rows += [
        row[int(cut) :] + row[:3]
        for row, cut in zip(rows[:200], rng.integers(0, 90, 200), strict=True)
    ]
    for threads in (1, 2):
        found = exact.join(rows, threshold=F(8, 9), threads=threads).pairs
        assert [(i, j) for i, j, _ in found.tolist()] == sorted(
            similar_near(rows, F(8, 9))
        )
    found = exact.pairs(rows[:900], rows[900:], threshold=0.8, measure="containment")
    assert [(i, j) for i, j, _ in found.tolist()] == [
        (i, i) for i in range(200) if len(set(rows[900 + i])) / len(set(rows[i])) >= 0.8
    ]


def similar_near(rows, least):
    """Return the similar pairs of rows and their near copies, 900 rows later."""
    for i in range(200):
        left, right = set(rows[i]), set(rows[900 + i])
        if F(len(left & right), len(left | right)) >= least:
            yield i, 900 + i


@pytest.mark.parametrize("threshold", [0.3, F(8, 9), 1.0])
def test_suffixes(level, threshold):
    """Sets of few sizes with many common tokens, so that many postings are passed over."""
    rng = np.random.default_rng(6)
    rows = [
        rng.choice(60, rng.integers(18, 22), replace=False).tolist()
        for _ in range(1500)
    ]
    rows += [[*row[1:], 70] for row in rows[:300]]
    expected = exact.join(rows, threshold=threshold, method="prefix")
    found = exact.join(
        rows, threshold=threshold, method="prefix", suffixes=True, threads=2
    )
    assert np.array_equal(found.pairs, expected.pairs)
    some, others = rows[:400], rows[1400:]
    expected = exact.join(some, others, threshold=threshold, method="prefix")
    assert np.array_equal(
        exact.pairs(some, others, threshold=threshold, method="prefix", suffixes=True),
        expected.pairs,
    )


def test_copies_do_not_cost_pairs():
    """A hundred thousand equal sets are one set to the join."""
    sets = TokenSets(
        np.arange(100_001) * 3, np.tile(np.array([7, 8, 9], np.uint64), 100_000)
    )
    found = exact.join(sets, copies="first", threads=1)
    assert found.candidates == 0
    assert len(found.pairs) == 99_999


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_pairs_of_copies_are_made_in_pieces(piece, monkeypatch):
    monkeypatch.setattr(copies_of_pairs, "PIECE_PAIRS", piece)
    rng = np.random.default_rng(7)
    rows = [
        rng.choice(6, rng.integers(0, 4), replace=False).tolist() for _ in range(60)
    ]
    for right in (None, rows[:25]):
        for measure in ("jaccard", "containment"):
            found = exact.pairs(rows, right, threshold=0.5, measure=measure)
            assert found.tolist() == brute_force(rows, right, 0.5, measure)


def collections_of_many_kinds():
    """Yield sets and a threshold: many pairs, many shared tokens, many copies, and tokens of one set each."""
    rng = np.random.default_rng(8)
    held = rng.random((1200, 100)) < 0.5
    yield (
        TokenSets(
            np.concatenate([[0], np.cumsum(held.sum(axis=1))]),
            np.nonzero(held)[1].astype(np.uint64),
        ),
        0.1,
    )
    for rows, size, universe, threshold in (
        (100_000, 10, 2**17, 0.3),
        (50_000, 1, 5000, 1),
        (60_000, 30, 2**63, 0.8),
    ):
        yield (
            TokenSets(
                np.arange(rows + 1) * size,
                rng.integers(0, universe, rows * size, np.uint64),
            ),
            threshold,
        )


@pytest.mark.slow
def test_memory_stays_below_the_formula():
    """That of the docstring of `join`; tracemalloc sees all arrays."""
    threads = 2
    for sets, threshold in collections_of_many_kinds():
        _, where, times = np.unique(
            sets.tokens, return_inverse=True, return_counts=True
        )
        shared = np.count_nonzero(times[where] > 1)
        tracemalloc.start()
        found = exact.pairs(sets, threshold=threshold, threads=threads)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        most = (
            5e6
            + 2 * len(sets.tokens)
            + 20 * shared
            + (120 + 4 * threads) * len(sets)
            + 110 * len(found)
        )
        assert 0.2 * most < peak < most


def test_tokens_at_the_edges():
    """Token 0, the largest token, and tokens that agree in half of their bits."""
    tokens = [0, 2**64 - 1, 2**63, 2**32, 1, 2**32 - 1, 2**32 + 1]
    rows = [tokens, tokens[:-1], tokens[1:], [0], [0, 0], MANY]
    offsets = np.cumsum([0, *map(len, rows)])
    sets = TokenSets(
        offsets, np.array([token for row in rows for token in row], np.uint64)
    )
    assert exact.pairs(sets, threshold=0.7).tolist() == brute_force(
        rows, None, 0.7, "jaccard"
    )


def test_rows_that_begin_after_the_first_token():
    sets = TokenSets([2, 4, 4, 6], np.array([9, 9, 1, 2, 2, 1, 5], np.uint64))
    assert exact.pairs(sets, threshold=1).tolist() == [(0, 2, 1.0)]


def test_frequent_tokens_are_ranked_by_count():
    """More occurrences than 16 bits count: the rest is compared by count and value."""
    n = 2**16 + 10
    tokens = np.stack([np.full(n, 5), np.full(n, 3), np.arange(n) + 10], axis=1).astype(
        np.uint64
    )
    sets = TokenSets(np.arange(n + 1) * 3, tokens.ravel())
    assert len(exact.pairs(sets, threshold=0.9)) == 0
    few = TokenSets.concatenate(
        [sets, TokenSets([0, 3], np.array([5, 3, 11], np.uint64))]
    )
    assert exact.pairs(few, threshold=0.9).tolist() == [(1, n, 1.0)]


def test_progress():
    told = []
    exact.pairs(
        [[1, 2], [1, 2, 3], [4], [4, 1]],
        threshold=0.5,
        progress=lambda *args: told.append(args),
    )
    assert told[-1][0] == "join"
    assert told[-1][1] == told[-1][2]


def test_an_error_of_the_callback_ends_the_join():
    def fail(*args):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        exact.pairs([[1, 2], [1, 2, 3]], threshold=0.5, progress=fail)
    assert threading.active_count() < 20


@pytest.mark.parametrize("sets", [[], [[]], [[], []], [[1]], [[1], [2]]])
def test_nothing_to_find(sets):
    for method in ("auto", "prefix", "bitmap"):
        assert len(exact.pairs(sets, method=method)) == 0
        assert len(exact.pairs(sets, [], method=method)) == 0
        assert len(exact.pairs([], sets, method=method)) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"threshold": 0},
            ValueError,
            "threshold must be in (0, 1] for measure='jaccard', not 0",
        ),
        ({"threshold": 1.1}, ValueError, "threshold must be in (0, 1]"),
        ({"threshold": float("nan")}, ValueError, "threshold must be finite, not nan"),
        (
            {"threshold": float("inf"), "measure": "overlap"},
            ValueError,
            "threshold must be finite, not inf",
        ),
        ({"threshold": "high"}, TypeError, "threshold must be a number, not 'high'"),
        ({"threshold": True}, TypeError, "threshold must be a number, not True"),
        ({"threshold": (4, 0)}, ValueError, "two ints (p, q) with q above 0"),
        ({"threshold": (4, 5, 6)}, ValueError, "two ints (p, q)"),
        ({"threshold": (True, 1)}, ValueError, "two ints (p, q)"),
        ({"threshold": F(6, 5)}, ValueError, "threshold must be in (0, 1]"),
        (
            {"threshold": 0.5, "measure": "overlap"},
            ValueError,
            "threshold must be at least 1 for measure='overlap'",
        ),
        (
            {"measure": "hamming"},
            ValueError,
            "measure must be one of 'jaccard', 'dice'",
        ),
        ({"copies": "none"}, ValueError, "copies must be 'first' or 'all'"),
        (
            {"copies": "first", "right": [[1]]},
            ValueError,
            "copies must be 'first' or 'all'",
        ),
        ({"suffixes": 1}, TypeError, "suffixes must be a bool, not 1"),
        (
            {"method": "best"},
            ValueError,
            "method must be 'auto', 'prefix' or 'bitmap', not 'best'",
        ),
        ({"threads": 0}, ValueError, "threads must be at least 1"),
        (
            {"right": 0.8},
            TypeError,
            "right must be TokenSets or an iterable of sets, not 0.8",
        ),
        (
            {"right": "text"},
            TypeError,
            "right must be TokenSets or an iterable of sets",
        ),
        (
            {"right": TokenSets([0], [])},
            TypeError,
            "must both be TokenSets, or neither",
        ),
        ({"sets": ["text"]}, TypeError, "rows[0] is of type str"),
        ({"sets": [[1.5]]}, TypeError, "rows[0] holds an element of type float"),
        (
            {"sets": 7},
            TypeError,
            "sets must be TokenSets or an iterable of sets, not 7",
        ),
        (
            {"sets": [MANY], "method": "bitmap"},
            ValueError,
            "method 'bitmap' needs at most 512 different elements",
        ),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error) as caught:
        exact.pairs(**{"sets": [[1, 2]], **arguments})
    assert message in str(caught.value)
