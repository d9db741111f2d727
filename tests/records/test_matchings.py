"""Probabilities of pairs if each record has one match at most."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast.records import match_records
from lshfast.records.links.matchings import matching_probabilities, unmatched_bits
from tests.records.syllables import SYLLABLES

BITS = st.floats(-12, 12)


def probabilities_by_counting(pairs, bits):
    """Add up the weights of all sets of pairs in which no record stands twice."""
    total = 0.0
    weights = np.zeros(len(pairs))
    for size in range(len(pairs) + 1):
        for chosen in combinations(range(len(pairs)), size):
            rows = [{pairs[pair][side] for pair in chosen} for side in (0, 1)]
            if min(map(len, rows)) < size:
                continue
            weight = 2.0 ** sum(bits[pair] for pair in chosen)
            total += weight
            weights[list(chosen)] += weight
    return weights / total


def probabilities_of(pairs, bits):
    i, j = np.array(pairs, np.int64).reshape(-1, 2).T
    return matching_probabilities(i, j, np.array(bits, np.float64), (9, 9))


@given(st.lists(st.tuples(st.booleans(), BITS), max_size=8))
def test_chains_of_rivals_have_exact_probabilities(steps):
    """A chain goes on with another record of one table or of the other."""
    pairs = []
    row, column = 0, 0
    for is_first, _ in steps:
        row, column = (row + 1, column) if is_first else (row, column + 1)
        pairs.append((row, column))
    bits = [bit for _, bit in steps]
    expected = probabilities_by_counting(pairs, bits)
    np.testing.assert_allclose(probabilities_of(pairs, bits), expected, atol=2e-3)


@given(
    st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3)), BITS, max_size=8)
)
def test_probabilities_of_a_record_add_up_to_one_at_most(bits_of_pairs):
    pairs = list(bits_of_pairs)
    bits = list(bits_of_pairs.values())
    found = probabilities_of(pairs, bits)
    np.testing.assert_allclose(found, probabilities_by_counting(pairs, bits), atol=0.15)
    for side in (0, 1):
        rows = [pair[side] for pair in pairs]
        assert (np.bincount(rows, found, minlength=4) <= 1 + 1e-2).all()


def test_equal_rivals_share_what_one_would_have():
    for number in (1, 2, 3, 5):
        pairs = [(0, column) for column in range(number)]
        found = probabilities_of(pairs, [20.0] * number)
        np.testing.assert_allclose(found, 1 / number, atol=1e-3)


def test_extreme_odds_stay_probabilities():
    pairs = [(row, column) for row in range(3) for column in range(3)]
    for bits in (1e6, 60.0, -1e6):
        found = probabilities_of(pairs, [bits] * 8 + [-bits])
        assert np.isfinite(found).all()
        assert found.min() >= 0
        assert found.max() <= 1


@pytest.mark.parametrize(
    ("matches", "sizes", "bits"),
    [
        (0, (0, 5), 0.0),
        (0, (5, 5), 0.0),
        (1e8, (2 * 10**8, 10**12), 1.0),  # half of the smaller table
        (1e20, (4, 4), 2 * np.log2(3)),  # no more matches than records
    ],
)
def test_the_odds_of_records_that_are_left(matches, sizes, bits):
    assert unmatched_bits(matches, sizes) == pytest.approx(bits, abs=1e-3)


def people(count, seed):
    """Make two tables of the same people; mail addresses are made of names, and values err."""
    rng = np.random.default_rng(seed)
    made = ["".join(rng.choice(SYLLABLES, 3)) for _ in range(35)]
    given = rng.choice(made[:10], count)
    surname = rng.choice(made[10:], count)
    ends = zip(given, surname, rng.choice(["one.org", "two.org"], count), strict=True)
    born = np.datetime64("1940-01-01") + rng.integers(0, 23_000, count)
    a = {
        "given": given,
        "surname": surname,
        "mail": np.array([f"{first}.{last}@{host}" for first, last, host in ends]),
        "born": born.astype(str),
    }
    b = {}
    for name, values in a.items():
        wrong = np.where(rng.random(count) < 0.5, "", rng.permutation(values))
        b[name] = np.where(rng.random(count) < 0.08, wrong, values)
    return [{name: values.tolist() for name, values in side.items()} for side in (a, b)]


def test_records_whose_rivals_match_others_are_linked():
    """A pair that few fields show is likely, since nearly all other records have a match."""
    found = match_records(*people(1000, 5))
    right = int((found.i == found.j).sum())
    assert right >= 940
    assert right >= 0.99 * len(found)
    low, high = found.summary.precision[1:]
    assert low <= right / len(found) <= high
