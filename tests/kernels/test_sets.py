"""Comparing sets and signatures, and grouping, against brute force and the reference."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels import sets
from tests.conftest import csr, rows_of
from tests.reference import minhash
from tests.reference import sets as reference
from tests.reference.hashing import EMPTY, P

THRESHOLDS = [0.0, 0.05, 1 / 3, 0.5, 0.6, 2 / 3, 0.7, 0.8, 0.9, 0.95, 1.0]

# Few tokens, so that rows repeat and share them; token 0 is kept in no slot of the tables.
# Multiples of 2^40 differ in high bits alone.
TOKEN = st.one_of(
    st.integers(0, 12),
    st.integers(0, 12).map(lambda i: i << 40),
    st.sampled_from([1 << 63, EMPTY - 1, EMPTY]),
    st.integers(0, EMPTY),
)
ROWS = st.lists(st.lists(TOKEN, max_size=40), max_size=8)
SOME_KEY = 2**60, 2**40
KEY = st.tuples(*[st.integers(2**32, P - 1)] * 2)
STRUCTURED = {
    "multiples of 2^40": lambda i: i << 40 & EMPTY,
    "multiples of 2^61": lambda i: (i % 8) << 61,
    "numbers from 0": lambda i: i,
    "numbers from the top": lambda i: EMPTY - i,
    "inverses of the multiplier": lambda i: (
        i * pow(0x9E3779B97F4A7C15, -1, 2**64) & EMPTY
    ),  # all want one slot
}


# Different tokens and fingerprints


@given(ROWS)
@example([])
@example([[], [0], [0, 0, 1, 0, 1], [EMPTY] * 9, []])
def test_distinct(rows):
    offsets, tokens = sets.distinct(*csr(rows))
    assert rows_of(offsets, tokens) == [list(dict.fromkeys(row)) for row in rows]


@given(
    st.lists(TOKEN, max_size=20),
    st.lists(st.tuples(st.integers(0, 120), st.lists(TOKEN, max_size=20)), max_size=8),
    st.integers(60, 120),
)
@example(
    [0, 1, 0],
    [(100, [0, 5]), (100, [5, 0, 7]), (66, [0]), (100, []), (64, [12] * 19), (3, [])],
    100,
)
@example(
    [1, 2],
    [
        (100, [0, 5]),
        (100, [5, 0, 7]),
        (99, [0, 0]),
        (100, list(range(40)) * 5),
        (100, [3]),
    ],
    100,
)
def test_distinct_rows_that_begin_alike(few, ends, n):
    """What two consecutive rows share stays in the table; row 3 of the second example does not fit in it."""
    base = [few[i % len(few)] if few and i % 3 else i << 50 & EMPTY for i in range(n)]
    rows = [base[:share] + end for share, end in ends]
    offsets, tokens = sets.distinct(*csr(rows))
    assert rows_of(offsets, tokens) == [list(dict.fromkeys(row)) for row in rows]


@pytest.mark.parametrize("structure", STRUCTURED)
@pytest.mark.parametrize("n", [7, 8, 9, 16, 17, 1000, 3000])
def test_distinct_of_structured_tokens(structure, n):
    row = [STRUCTURED[structure](i) for i in range(n)]
    row = row + row[::-1] + row[: n // 2]
    offsets, tokens = sets.distinct(*csr([row, row[:3], [], row[::2]]))
    assert rows_of(offsets, tokens) == [
        list(dict.fromkeys(part)) for part in (row, row[:3], [], row[::2])
    ]


@given(ROWS, KEY)
@example([], (2**32, 2**32))
@example([[], [0], [EMPTY] * 300, list(range(1000))], (2**32, P - 1))
@example([[], [0], [EMPTY] * 300, list(range(1000))], (P - 1, P - 1))
def test_fingerprints(rows, key):
    prints = sets.fingerprints(*csr(rows), key)
    assert prints.shape == (len(rows), 3)
    assert prints.tolist() == [list(minhash.fingerprint(row, key)) for row in rows]


@pytest.mark.parametrize(
    "key", [(0, 2**40), (2**40, 2**32 - 1), (P, 2**40), (2**40, 2**64 - 1)]
)
def test_keys_of_fingerprints_have_a_range(key):
    with pytest.raises(
        ValueError, match=r"key must be two numbers in 2\*\*32\.\.2\*\*61 - 2"
    ):
        sets.fingerprints(*csr([[1]]), key)


def test_rows_may_begin_behind_the_first_token():
    offsets, tokens = csr([[9, 9, 8], [1, 2, 1], [5]])
    for read_only in (False, True):
        offsets.flags.writeable = tokens.flags.writeable = not read_only
        assert rows_of(*sets.distinct(offsets[1:], tokens)) == [[1, 2], [5]]
        found = sets.fingerprints(offsets[1:3], tokens, SOME_KEY)
        assert found[0].tolist() == list(minhash.fingerprint([1, 2, 1], SOME_KEY))
        assert sets.similarities(
            offsets[1:], tokens, np.array([1]), np.array([1]), 1.0
        ).tolist() == [1.0]


@pytest.mark.parametrize(
    "offsets", [[], [0, 2, 1], [-1, 2], [0, 4], [0, 2**62], [0, 2, -(2**63)]], ids=str
)
def test_bad_rows_are_refused(offsets):
    offsets = np.array(offsets, np.int64)
    tokens = np.arange(3, dtype=np.uint64)
    row = np.array([0])
    for call in (
        lambda: sets.distinct(offsets, tokens),
        lambda: sets.fingerprints(offsets, tokens, SOME_KEY),
        lambda: sets.similarities(offsets, tokens, row, row, 0.5),
    ):
        with pytest.raises(ValueError, match="offsets must rise from 0 to at most 3"):
            call()


# Jaccard similarity


def similarity(a, b):
    """Return |a & b| / |a | b| as a double, 0 for two empty sets."""
    either = len(set(a) | set(b))
    return len(set(a) & set(b)) / either if either else 0.0


def assert_jaccard(rows, pairs, threshold):
    left, right = (
        np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1)
    )
    found = sets.similarities(*csr(rows), left, right, threshold).tolist()
    for (i, j), value in zip(pairs, found, strict=True):
        true = similarity(rows[i], rows[j])
        if rows[i] or rows[j]:
            assert value == (true if true >= threshold else -1), (i, j)
        else:
            assert value in (
                0,
                -1,
            )  # nothing that reaches a threshold, or that 0 would refuse
            assert value == 0 or threshold > 0


@st.composite
def families(draw_from):
    """Rows of different tokens, made by a few changes to one of them, so that similarities are high."""
    base = draw_from(st.lists(TOKEN, max_size=40, unique=True))
    edits = st.lists(st.one_of(TOKEN, st.sampled_from(base or [0])), max_size=10)
    rows = [
        sorted(set(base) ^ set(edit), key=str)
        for edit in draw_from(st.lists(edits, max_size=6))
    ]
    return [base, *rows, []]


@settings(max_examples=100)
@given(st.data(), families(), st.sampled_from(THRESHOLDS))
def test_jaccard(data, rows, threshold):
    row = st.integers(0, len(rows) - 1)
    pairs = data.draw(st.lists(st.tuples(row, row), max_size=20))
    assert_jaccard(rows, pairs, threshold)
    assert_jaccard(rows, sorted(pairs), threshold)
    for i, j in pairs:
        assert similarity(rows[i], rows[j]) == float(
            reference.jaccard(rows[i], rows[j])
        )


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_every_pair_of_small_sets(threshold):
    """All overlaps of all sizes up to 17, so that every early stop after eight tokens has a chance to err."""
    rows = [list(range(n)) for n in range(18)] + [
        list(range(start, 24)) for start in range(24)
    ]
    assert_jaccard(
        rows, [(i, j) for i in range(len(rows)) for j in range(len(rows))], threshold
    )


@pytest.mark.parametrize(
    ("part", "whole", "threshold"),
    [(4, 5, 0.8), (1, 2, 0.5), (7, 10, 0.7), (1, 3, 1 / 3), (1, 1, 1.0)],
)
def test_similarity_exactly_at_the_threshold(part, whole, threshold):
    """A pair that just reaches the threshold counts, and one token less does not."""
    for times in range(1, 101):
        n = times * whole
        rows = [
            list(range(n)),
            list(range(n - part * times, n)),
            list(range(n - part * times + 1, n)),
        ]
        offsets, tokens = csr(rows)
        found = sets.similarities(
            offsets, tokens, np.array([0, 1, 0, 2]), np.array([1, 0, 2, 0]), threshold
        )
        assert found.tolist() == [threshold, threshold, -1, -1]


@pytest.mark.parametrize("structure", STRUCTURED)
def test_jaccard_of_structured_tokens(structure):
    tokens = list(dict.fromkeys(STRUCTURED[structure](i) for i in range(2000)))
    rows = [tokens, tokens[::2], tokens[len(tokens) // 4 :], tokens[::-1], tokens[:9]]
    for threshold in (0.0, 0.5, 0.8):
        assert_jaccard(rows, [(i, j) for i in range(5) for j in range(5)], threshold)


@pytest.mark.parametrize(
    ("left", "right", "threshold", "message"),
    [
        ([0], [0, 1], 0.5, "as many lefts as rights are needed, not 1 and 2"),
        ([2], [0], 0.5, "rows of pairs must be below 2"),
        ([0], [2], 0.5, "rows of pairs must be below 2"),
        ([-1], [0], 0.5, "rows of pairs must be below 2"),
        ([0], [-(2**63)], 0.5, "rows of pairs must be below 2"),
        ([0], [1], -0.1, r"threshold must be in \[0, 1\], not -0\.1"),
        ([0], [1], 1.1, r"threshold must be in \[0, 1\], not 1\.1"),
        ([0], [1], float("nan"), r"threshold must be in \[0, 1\], not nan"),
    ],
)
def test_bad_pairs_are_refused(left, right, threshold, message):
    left, right = np.array(left, np.int64), np.array(right, np.int64)
    with pytest.raises(ValueError, match=message):
        sets.similarities(*csr([[1], [2]]), left, right, threshold)
    if "threshold" not in message:
        with pytest.raises(ValueError, match=message):
            sets.agreements(np.ones((2, 3), np.uint64), left, right)
        with pytest.raises(ValueError, match=message):
            sets.components(left, right, 2)


def least_overlap(a, b, threshold):
    """Return the least overlap that reaches the threshold as doubles divide; one too many where none does."""
    reaching = (
        o
        for o in range(min(a, b) + 1)
        if a + b - o == 0 or o / (a + b - o) >= threshold
    )
    return next(reaching, min(a, b) + 1)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_least_overlap_that_reaches_the_threshold(threshold):
    """Of sets of a and b tokens, with overlaps around the least one."""
    cases = []
    for a, b in product([*range(1, 26), 40, 99, 100], repeat=2):
        least = least_overlap(a, b, threshold)
        cases += [
            (a, b, overlap)
            for overlap in range(max(0, least - 1), min(a, b, least + 1) + 1)
        ]
    rows = [
        row
        for a, b, overlap in cases
        for row in (range(a), range(a - overlap, a - overlap + b))
    ]
    left = np.arange(0, len(rows), 2)
    found = sets.similarities(*csr(rows), left, left + 1, threshold).tolist()
    wanted = [overlap / (a + b - overlap) for a, b, overlap in cases]
    assert found == [
        similarity if similarity >= threshold else -1 for similarity in wanted
    ]


# Signatures


@given(st.integers(1, 20), st.data())
def test_agreements(k, data):
    row = st.one_of(
        st.lists(st.integers(0, 2), min_size=k, max_size=k), st.just([EMPTY] * k)
    )
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    number = st.integers(0, len(rows) - 1)
    pairs = data.draw(st.lists(st.tuples(number, number), max_size=12))
    left, right = (
        np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1)
    )
    found = sets.agreements(np.array(rows, np.uint64), left, right).tolist()
    assert [count / k for count in found] == [
        minhash.similarity(rows[i], rows[j]) for i, j in pairs
    ]


def test_agreements_of_no_slots():
    with pytest.raises(ValueError, match="at least one slot"):
        sets.agreements(np.zeros((2, 0), np.uint64), np.array([0]), np.array([1]))


# Groups


@st.composite
def graphs(draw_from):
    n = draw_from(st.integers(0, 30))
    row = st.integers(0, max(n - 1, 0))
    edges = draw_from(st.lists(st.tuples(row, row), max_size=60 if n else 0))
    return n, edges, draw_from(st.permutations(range(n)))


def columns(edges):
    return np.array(edges, np.int64).reshape(-1, 2).T.copy()


@given(graphs())
def test_components(case):
    n, edges, _ = case
    assert sets.components(*columns(edges), n).tolist() == reference.components(
        n, [(i, j, 1.0) for i, j in edges]
    )


@pytest.mark.parametrize(
    "shape", ["chain", "reversed chain", "shuffled chain", "star", "binary tree"]
)
def test_components_of_large_graphs(shape):
    n = 100_000
    ends = np.arange(1, n)
    starts = {"star": ends * 0, "binary tree": ends // 2}.get(shape, ends - 1)
    order = (
        np.random.default_rng(1).permutation(n - 1)
        if shape == "shuffled chain"
        else np.arange(n - 1)
    )
    order = order[::-1] if shape == "reversed chain" else order
    assert not sets.components(starts[order], ends[order], n).any()
    if "chain" in shape:  # without the edge in the middle there are two
        kept = order[order != n // 2 - 1]
        labels = sets.components(ends[kept], starts[kept], n)
        assert labels.tolist() == [0] * (n // 2) + [n // 2] * (n // 2)


@given(graphs())
def test_stars(case):
    n, edges, order = case
    pairs = sorted({(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]})
    near = [
        sorted(rows)
        for rows in reference.neighbours(n, [(i, j, 1.0) for i, j in pairs])
    ]
    offsets = np.cumsum([0, *map(len, near)], dtype=np.int64)
    neighbours = np.array([row for rows in near for row in rows], np.int64)
    keeper, by = sets.stars(np.array(order, np.int64), offsets, neighbours)
    assert keeper.tolist() == reference.star(n, [(i, j, 1.0) for i, j in pairs], order)
    for row in range(n):
        if keeper[row] == row:
            assert by[row] == -1
        else:
            assert offsets[keeper[row]] <= by[row] < offsets[keeper[row] + 1]
            assert neighbours[by[row]] == row


@pytest.mark.parametrize(
    ("order", "offsets", "neighbours", "message"),
    [
        ([0, 1], [0, 1], [1], "offsets must be 3 and rise from 0 to at most 1"),
        ([0, 1], [0, 2, 2], [1], "offsets must be 3 and rise from 0 to at most 1"),
        ([0, 1], [0, 1, 0], [1], "offsets must be 3 and rise from 0 to at most 1"),
        ([0, 1], [-1, 1, 1], [1], "offsets must be 3 and rise from 0 to at most 1"),
        ([0, 1], [], [], "offsets must be 3"),
        ([0, 2], [0, 1, 1], [1], "rows must be below 2"),
        ([-1, 0], [0, 1, 1], [1], "rows must be below 2"),
        ([0, 1], [0, 1, 1], [2], "rows must be below 2"),
        ([0, 1], [0, 1, 1], [-1], "rows must be below 2"),
    ],
)
def test_bad_graphs_are_refused(order, offsets, neighbours, message):
    with pytest.raises(ValueError, match=message):
        sets.stars(*(np.array(part, np.int64) for part in (order, offsets, neighbours)))
