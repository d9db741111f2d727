"""The exact join of the benchmarks, which shares no code with lshfast, against brute force and against lshfast's."""

import importlib.util
import re
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast import TokenSets, exact

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
THRESHOLDS = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, Fraction(1, 3), Fraction(2, 3), 0.05]


def load(name):
    """Import a module of benchmarks/, which is no package and is not on the path."""
    spec = importlib.util.spec_from_file_location(
        f"benchmarks_{name}", BENCHMARKS / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


judge = load("judge")


def csr(rows):
    offsets = np.cumsum([0] + [len(row) for row in rows])
    return offsets, np.array([token for row in rows for token in row], dtype=np.uint64)


def brute_force(rows, threshold):
    """All pairs at the threshold, by the definition."""
    ratio = Fraction(str(threshold))
    sets = [frozenset(row) for row in rows]
    found = []
    for (i, a), (j, b) in combinations(enumerate(sets), 2):
        if a and b and Fraction(len(a & b), len(a | b)) >= ratio:
            found.append((i, j, len(a & b) / len(a | b)))
    return found


def mutate(base, edits):
    """Swap tokens of a base set in or out, so that similarities are high and often equal to a threshold."""
    return sorted(set(base) ^ set(edits))


family = st.builds(
    lambda base, edits: [mutate(base, edit) for edit in edits],
    st.lists(st.integers(0, 30), min_size=1, max_size=25, unique=True),
    st.lists(st.lists(st.integers(0, 30), max_size=4), min_size=1, max_size=8),
)
small_rows = st.lists(st.lists(st.integers(0, 12), max_size=12), max_size=15)
family_rows = st.lists(family, max_size=4).map(
    lambda families: [row for rows in families for row in rows]
)


@given(rows=st.one_of(small_rows, family_rows), threshold=st.sampled_from(THRESHOLDS))
@example(rows=[], threshold=0.8)
@example(rows=[[], []], threshold=0.8)
@example(rows=[[], [7], [], [7]], threshold=1.0)
@example(rows=[[1, 2, 3, 4, 5], [1, 2, 3, 4]], threshold=0.8)
def test_equals_brute_force(rows, threshold):
    found = judge.exact_pairs(*csr(rows), threshold)
    assert found.tolist() == brute_force(rows, threshold)
    assert np.array_equal(
        exact.pairs(TokenSets(*csr(rows)), threshold=threshold), found
    )


@given(
    rows=family_rows,
    threshold=st.sampled_from([0.5, 0.8, 0.9]),
    chunk=st.integers(1, 40),
)
def test_chunks_do_not_change_the_answer(rows, threshold, chunk):
    before, judge.CHUNK = judge.CHUNK, chunk
    try:
        found = judge.exact_pairs(*csr(rows), threshold)
    finally:
        judge.CHUNK = before
    assert found.tolist() == brute_force(rows, threshold)


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9, 0.95])
def test_a_pair_at_the_threshold_is_found(threshold):
    """floor((1 - .8) * 5) + 1 is 1 in floating point and 2 in arithmetic: such a prefix loses the pair."""
    ratio = Fraction(str(threshold))
    for size in range(1, 101):
        kept = -(
            -size * ratio.numerator // ratio.denominator
        )  # of a subset that just reaches it
        tokens = list(range(size))
        found = judge.exact_pairs(
            *csr([tokens, tokens[size - kept :], tokens[size - kept + 1 :]]), threshold
        )
        pairs = {(i, j) for i, j, _ in found.tolist()}
        assert (0, 1) in pairs, size
        assert (0, 2) not in pairs, size


def test_tokens_use_all_64_bits():
    rows = [[2**64 - 1, 2**63, 0], [2**63, 0, 2**64 - 1, 0], [2**63 - 1, 0, 1]]
    assert judge.exact_pairs(*csr(rows), 0.8).tolist() == [(0, 1, 1.0)]


def test_offsets_may_start_after_the_first_token():
    offsets, tokens = csr([[9, 9], [1, 2], [2, 1]])
    assert judge.exact_pairs(offsets[1:], tokens, 0.8).tolist() == [(0, 1, 1.0)]


def test_random_sets_of_thousands_of_tokens():
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(6):
        base = rng.integers(0, 2**64, 3000, dtype=np.uint64)
        rows += [
            base[rng.random(3000) < share].tolist()
            for share in (1, 0.95, 0.9, 0.85, 0.8)
        ]
    found = judge.exact_pairs(*csr(rows), 0.8)
    assert found.tolist() == brute_force(rows, 0.8)
    assert 6 * 2 <= len(found) < 6 * 10


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.01, float("nan")])
def test_impossible_thresholds_are_refused(threshold):
    with pytest.raises(
        ValueError, match=re.escape("(0, 1]") if threshold == threshold else "NaN|nan"
    ):
        judge.exact_pairs(*csr([[1], [1]]), threshold)


@given(
    st.lists(st.text(alphabet="aB _-é1\n", max_size=40), max_size=6), st.integers(1, 4)
)
@example(
    ["one two three four", "ONE two, three-four!", "one two", "two one", "", "..."], 3
)
def test_word_shingles_are_the_sets_of_word_tuples(texts, size):
    words = [re.findall(r"\w+", text.lower()) for text in texts]
    width = [min(size, len(row)) for row in words]
    tuples = [
        [tuple(row[at : at + w]) for at in range(len(row) - w + 1)] if w else []
        for row, w in zip(words, width, strict=True)
    ]
    offsets, tokens = judge.word_shingles(texts, size)
    rows = [tokens[low:high].tolist() for low, high in pairwise(offsets)]
    assert list(map(len, rows)) == list(map(len, tuples))
    assert len({token for row in rows for token in row}) == len(
        {gram for row in tuples for gram in row}
    )
    assert brute_force(rows, 0.05) == brute_force(tuples, 0.05)
