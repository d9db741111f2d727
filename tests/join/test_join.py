"""Copies, candidates, verified pairs and groups, against brute force and the reference."""

import importlib
import math
import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast import (
    Bands,
    MinHasher,
    TokenSets,
    candidates,
    component_groups,
    find_copies,
    star_groups,
    verify,
)  # fmt: skip
from lshfast.join import PAIR
from lshfast.join.all_pairs import AllPairs
from lshfast.join.comparison import Comparison
from lshfast.join.pair_arrays import as_pairs
from lshfast.join.screening import estimate, screen
from lshfast.kernels import grouping as kernels
from tests.reference import minhash, sets

# The package has a function of this name.
VERIFY = importlib.import_module("lshfast.join.jaccard")
EMPTY = 2**64 - 1
ROWS = st.lists(st.lists(st.integers(0, 9), max_size=10), max_size=14)


def token_sets(rows):
    return TokenSets(
        np.cumsum([0] + [len(row) for row in rows]),
        np.array([t for row in rows for t in row], np.uint64),
    )


def zipped(columns):
    i, j = columns
    assert i.dtype == j.dtype == np.int64
    return list(zip(i.tolist(), j.tolist(), strict=True))


# Copies


def first_with(prints):
    """Return for each row the first of the same fingerprint, itself where it is empty."""
    seen = {}
    return [
        row if key[0] == 0 else seen.setdefault(tuple(key), row)
        for row, key in enumerate(prints)
    ]


@given(
    st.lists(st.tuples(*[st.sampled_from([0, 1, 2, 2**63, EMPTY])] * 3), max_size=30)
)
@example([(2, 7, 1), (2, 7, 2), (2, 7, 1), (3, 7, 1), (2, 7, 2)])  # sums that clash
@example(
    [(0, 0, 0), (2, 0, 0), (0, 0, 0), (2, 0, 0)]
)  # two tokens whose sums are those of no token
def test_copies_by_fingerprints(prints):
    prints = [
        (0, 0, 0) if count == 0 else (count, total, squares)
        for count, total, squares in prints
    ]
    assert find_copies(
        np.array(prints, np.uint64).reshape(-1, 3)
    ).tolist() == first_with(prints)


@given(st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=25))
def test_copies_are_equal_multisets(rows):
    expected = first_with([(len(row), *sorted(row)) for row in rows])
    assert find_copies(token_sets(rows)).tolist() == expected


# Candidates


@given(
    st.integers(1, 4).flatmap(
        lambda b: st.lists(
            st.lists(st.integers(0, 3), min_size=b, max_size=b), max_size=25
        )
    ),
    st.sets(st.integers(0, 24)),
    st.sampled_from([1, 3]),
)
def test_candidates_equal_the_reference(rows, empty, threads):
    keys = [[EMPTY] * len(row) if i in empty else row for i, row in enumerate(rows)]
    array = (
        np.array(keys, np.uint64).reshape(len(keys), -1)
        if keys
        else np.empty((0, 2), np.uint64)
    )
    assert zipped(candidates(array, threads=threads)) == minhash.candidate_pairs(keys)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=25))
def test_candidates_are_first_copies(rows):
    copies = [rows.index(row) for row in rows]
    keys = np.array(rows, np.uint64).reshape(-1, 2)
    among_all = minhash.candidate_pairs(keys.tolist())
    expected = [(i, j) for i, j in among_all if copies[i] == i and copies[j] == j]
    assert zipped(candidates(keys, copies=np.array(copies, np.int64))) == expected


def test_pairs_that_a_screen_drops_are_not_counted():
    """A bucket of 44,850 pairs, of which the screen keeps 300 a few at a time, fits under a limit of 300."""
    keys = np.zeros((301, 2), np.uint64)
    found = candidates(keys, screen=lambda i, j: j == i + 1, most=300, threads=2)
    assert zipped(found) == [(i, i + 1) for i in range(300)]


def test_a_bucket_of_many_pairs():
    """More pairs than the kernel writes in its first two pieces, in two bands that hold the same ones."""
    keys = np.zeros((301, 2), np.uint64)
    keys[300] = 1, 0
    assert zipped(candidates(keys)) == list(combinations(range(301), 2))


def test_a_bucket_of_a_million_copies():
    keys = np.full((10**6, 20), 7, np.uint64)
    keys[-1] = 8
    keys[-1, 19] = 7
    copies = np.zeros(10**6, np.int64)
    copies[-1] = 10**6 - 1
    assert zipped(candidates(keys, copies=copies)) == [(0, 10**6 - 1)]


@pytest.mark.parametrize(
    ("keys", "n"),
    [(np.zeros((10**5, 1), np.uint64), 10**5), (np.eye(4, dtype=np.uint64), 4)],
)
def test_too_many_candidates(keys, n):
    """In one band, or only in all of them together: rows i and j of eye(4) meet in two of four."""
    with pytest.raises(OverflowError, match="candidate pairs"):
        candidates(keys, most=5)
    if n == 4:
        assert len(candidates(keys, most=6)[0]) == 6


@pytest.mark.parametrize(
    "keys", [np.zeros((3, 2), np.int64), np.zeros((3, 2)), np.zeros(3, np.uint64)]
)
def test_impossible_keys(keys):
    with pytest.raises(
        TypeError,
        match=re.escape(f"keys must be uint64 (n, b), not {keys.dtype} {keys.shape}"),
    ):
        candidates(keys)


# Pairs


def similar(rows, threshold, pairs):
    """Return the pairs that count, by the definition: repeats do not, empty rows are like nothing."""
    found = []
    for i, j in pairs:
        a, b = set(rows[i]), set(rows[j])
        similarity = len(a & b) / len(a | b) if a | b else 0.0
        if similarity >= threshold:
            found.append((i, j, similarity))
    return found


@pytest.mark.parametrize("piece", [1, 7, 40, VERIFY.PIECE])
@given(
    rows=ROWS,
    threshold=st.sampled_from([0, 0.1, 1 / 3, 0.5, 2 / 3, 0.8, 1]),
    data=st.data(),
)
def test_verify_equals_brute_force(piece, rows, threshold, data):
    """Pieces of a few tokens cut the components that pairs form; the order of the candidates stays."""
    every = list(combinations(range(len(rows)), 2))
    pairs = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    i, j = np.array(pairs, np.int64).reshape(-1, 2).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VERIFY, "PIECE", piece)
        found = verify(
            token_sets(rows),
            i,
            j,
            threshold,
            threads=data.draw(st.sampled_from([1, 2])),
        )
    assert found.dtype == PAIR
    assert found.tolist() == similar(rows, threshold, pairs)


@pytest.mark.parametrize("piece", [100, 1000, 10**4])
def test_verify_of_a_component_that_is_too_large(piece, monkeypatch):
    """A star, a clique, a chain and sundry pairs of rows of thirty tokens: no piece holds more than it should."""
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, 60, 30).tolist() for _ in range(200)]
    pairs = [(0, j) for j in range(1, 50)]
    pairs += combinations(range(50, 80), 2)
    pairs += [(i, i + 1) for i in range(80, 149)]
    pairs += [(i, i + 1) for i in range(150, 200, 2)]
    rng.shuffle(pairs)
    i, j = np.array(pairs).T
    held = []

    class Fetched(TokenSets):
        def take(self, rows):
            part = super().take(rows)
            held.append((len(rows), int(part.offsets[-1])))
            return part

    given_sets = token_sets(rows)
    monkeypatch.setattr(VERIFY, "PIECE", piece)
    found = verify(Fetched(given_sets.offsets, given_sets.tokens), i, j, 0.3)
    assert found.tolist() == similar(rows, 0.3, map(tuple, np.array(pairs).tolist()))
    assert 0 < len(found) < len(pairs)
    assert len(held) > 1 or piece == 10**4
    assert all(tokens <= piece or fetched == 2 for fetched, tokens in held)


def test_verify_calls_progress():
    calls = []
    rows = token_sets([[1, 2], [1, 2, 3], [4], [4, 5]])
    verify(
        rows,
        np.array([0, 2]),
        np.array([1, 3]),
        0.5,
        progress=lambda *call: calls.append(call),
    )
    assert calls[-1] == (2, 2)
    assert calls == sorted(calls)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan])
def test_verify_threshold_out_of_range(threshold):
    with pytest.raises(
        ValueError, match=re.escape(f"threshold must be in [0, 1], not {threshold}")
    ):
        verify(token_sets([[1], [2]]), np.array([0]), np.array([1]), threshold)


@pytest.mark.parametrize(("i", "j"), [([0], [2]), ([-1], [1])])
def test_verify_rows_out_of_range(i, j):
    with pytest.raises(ValueError, match="rows of pairs must be below 2"):
        verify(token_sets([[1], [2]]), np.array(i), np.array(j), 0.5)


@pytest.mark.parametrize("dtype", ["c8", "f8", "O"])
def test_verify_takes_no_rows_of_any_type_and_rows_of_whole_numbers(dtype):
    """Complex numbers would be cast with a warning; warnings are errors here."""
    none = np.zeros(0, dtype)
    assert len(verify(token_sets([[1], [2]]), none, none, 0.5)) == 0
    one = np.ones(1, dtype)
    with pytest.raises(TypeError, match=r"^i must be row numbers, not "):
        verify(token_sets([[1], [2]]), one, one, 0.5)


# Groups


@st.composite
def grouped(draw):
    """Draw rows of which some are copies, similar pairs of first copies, and a preference for some rows."""
    kinds = draw(st.lists(st.integers(0, 9), min_size=1, max_size=16))
    copies = [kinds.index(kind) for kind in kinds]
    every = list(combinations(sorted(set(copies)), 2))
    chosen = (
        sorted(draw(st.lists(st.sampled_from(every), unique=True))) if every else []
    )
    pairs = [(i, j, draw(st.sampled_from([0.5, 0.8, 0.9]))) for i, j in chosen]
    preference = draw(
        st.none()
        | st.lists(st.integers(-2, 2), min_size=len(kinds), max_size=len(kinds))
    )
    return copies, pairs, preference


def spread(copies, pairs):
    """Return the similarity of all pairs of rows i < j, those of copies and of copies of a pair's rows included."""
    known = {(i, j): s for i, j, s in pairs}
    every = combinations(range(len(copies)), 2)
    kinds = {(i, j): tuple(sorted((copies[i], copies[j]))) for i, j in every}
    return {
        rows: 1.0 if a == b else known[a, b]
        for rows, (a, b) in kinds.items()
        if a == b or (a, b) in known
    }


@pytest.mark.parametrize("kind", ["star", "components"])
@given(grouped())
@example(([0], [], None))
@example(([0, 1, 2], [(0, 1, 0.9), (1, 2, 0.8)], [1, 2, 1]))
@example(([0, 1, 0, 1], [(0, 1, 0.5)], [0, 0, 0, 1]))
@example(
    (list(range(7)), [(i, 6, 0.9) for i in range(6)], None)
)  # the last row joins all before it
def test_groups_equal_the_reference(kind, case):
    copies, pairs, preference = case
    n, known = len(copies), spread(copies, pairs)
    order = sorted(range(n), key=lambda row: (-(preference or [0] * n)[row], row))
    everything = [(i, j, s) for (i, j), s in known.items()]
    if kind == "star":
        make, keeper = star_groups, sets.star(n, everything, order)
    else:
        labels = sets.components(n, everything)
        make = component_groups
        keeper = [
            next(row for row in order if labels[row] == label) for label in labels
        ]
    groups = make(
        n, np.array(pairs, PAIR), copies=np.array(copies), preference=preference
    )
    assert groups.keeper.tolist() == keeper
    assert groups.labels.tolist() == [keeper.index(kept) for kept in keeper]
    expected = [
        1.0 if r == k else known.get((min(r, k), max(r, k)), math.nan)
        for r, k in enumerate(keeper)
    ]
    assert np.array_equal(groups.similarity, expected, equal_nan=True)
    if kind == "star":
        assert not np.isnan(groups.similarity).any()


@pytest.mark.parametrize("make", [star_groups, component_groups])
def test_groups_without_copies_or_rows(make):
    none = np.empty(0, PAIR)
    for n in (0, 3):
        groups = make(n, none)
        assert groups.keeper.tolist() == groups.labels.tolist() == list(range(n))
        assert groups.similarity.tolist() == [1.0] * n


@pytest.mark.parametrize("make", [star_groups, component_groups])
def test_preference_may_be_anything_that_sorts(make):
    pairs = np.array([(0, 1, 0.9), (1, 2, 0.8), (0, 2, 0.8)], PAIR)
    for preference in (
        ["2023", "2025", "2024"],
        [0.1, 2.5, 2.0],
        [-(2**63), 2**63 - 1, 0],
    ):
        assert make(3, pairs, preference=preference).keeper.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=re.escape("3, not shape (2,)")):
        make(3, pairs, preference=[1, 2])


def test_a_long_chain():
    n = 100_000
    chain = np.array([(i, i + 1, 0.9) for i in range(n - 1)], PAIR)
    assert component_groups(n, chain).labels.max() == 0
    assert star_groups(n, chain).keeper.tolist() == [i - i % 2 for i in range(n)]


def test_a_copy_in_a_pair_stands_for_the_first_of_its_kind():
    pairs, copies = np.array([(2, 3, 0.9), (1, 2, 1.0)], PAIR), np.array([0, 1, 1, 3])
    for group in (star_groups, component_groups):
        groups = group(4, pairs, copies=copies)
        assert groups.keeper.tolist() == [0, 1, 1, 1]
        assert groups.similarity.tolist() == [1, 1, 1, 0.9]
        with pytest.raises(ValueError, match="itself a copy of another"):
            group(3, pairs[:0], copies=np.array([1, 2, 2]))


# All pairs


def all_pairs(rows, threshold, exact, copies, batch):
    sets = token_sets(rows)
    hasher, bands = MinHasher(16), Bands(8, 1)
    signatures = hasher.sketch(sets)
    keys = bands.keys(signatures)
    found = AllPairs(
        sets, signatures, keys, Comparison(threshold, exact, threads=2), copies
    )
    batches = []
    while not found.done:
        i, j = found.next_candidates(batch)
        batches.append((len(i), found.verified(i, j)))
    i, j = candidates(keys, copies=copies)
    assert found.candidates == len(i)
    if exact:
        stay = screen(signatures, i, j, threshold)
        expected = verify(sets, i[stay], j[stay], threshold)
    else:
        similarity = estimate(signatures, i, j)
        stay = similarity >= threshold
        expected = as_pairs(i[stay], j[stay], similarity[stay])
    return batches, expected


@pytest.mark.few_cases
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("batch", [1, 7, 10**6])
@given(
    rows=ROWS, threshold=st.sampled_from([0, 0.3, 0.8, 1]), with_copies=st.booleans()
)
def test_all_pairs_are_those_of_the_candidates(
    exact, batch, rows, threshold, with_copies
):
    copies = find_copies(token_sets(rows)) if with_copies else None
    batches, expected = all_pairs(rows, threshold, exact, copies, batch)
    assert [
        pair for _, found in batches for pair in found.tolist()
    ] == expected.tolist()
    assert all(count == batch for count, _ in batches[:-1])


def test_what_row_pairs_refuse():
    rest = [np.ones(1, np.int64), np.zeros((4, 8), np.uint64), np.arange(3), 0]
    assert [
        part.tolist()
        for part in kernels.RowPairs(np.zeros((3, 1), np.int32), *rest).batch(9)
    ] == [
        [0, 0, 1],
        [1, 2, 2],
    ]
    for place, value, message in (
        (0, np.full((3, 1), 1, np.int32), "below the count"),
        (1, np.ones(2, np.int64), "one count a band"),
        (2, np.zeros((4, 0), np.uint64), "at least 1"),
        (3, np.array([0, 1, 4]), "rows below 4"),
    ):
        arguments = [np.zeros((3, 1), np.int32), *rest]
        arguments[place] = value
        with pytest.raises(ValueError, match=message):
            kernels.RowPairs(*arguments)


@pytest.mark.parametrize(
    "wrong", [["a", "b", "a"], np.zeros(3, np.uint64), np.zeros((3, 2))]
)
def test_find_copies_of_something_else(wrong):
    with pytest.raises(
        TypeError,
        match=r"must be TokenSets or an array of uint64 .*find_identical takes texts",
    ):
        find_copies(wrong)
