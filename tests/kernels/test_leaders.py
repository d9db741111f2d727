"""Leaders of sets: against all pairs of sets, exact fractions, many rows, and refusals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels.leaders import leaders_of_sets
from tests.kernels.test_sampling import unaligned

U32, I64 = np.uint32, np.int64


def by_all_pairs(rows, least):
    """Return the first leader before each row with a Jaccard similarity of at least `least`, or the row itself."""
    leaders, found = [], []
    for i, row in enumerate(rows):
        for leader in leaders:
            other = rows[leader]
            if row and Fraction(len(row & other), len(row | other)) >= least:
                found.append(leader)
                break
        else:
            found.append(i)
            if row:
                leaders.append(i)
    return found


def leaders(rows, least, universe):
    offsets = np.cumsum([0, *map(len, rows)]).astype(I64)
    ranks = np.array([rank for row in rows for rank in sorted(row)], U32)
    p, q = least.numerator, least.numerator + least.denominator
    return leaders_of_sets(offsets, ranks, universe, p, q).tolist()


fractions = st.sampled_from(
    [
        Fraction(1),
        Fraction(1, 2),
        Fraction(4, 5),
        Fraction(2, 3),
        Fraction(1, 9),
        Fraction(9, 10),
    ]
)


@settings(max_examples=100)
@given(st.lists(st.frozensets(st.integers(0, 14)), unique=True, max_size=25), fractions)
@example([frozenset(range(n)) for n in range(15)], Fraction(4, 5))
@example([frozenset(range(15)) - {n} for n in range(15)], Fraction(13, 15))
@example([frozenset(range(15)) - {n} for n in range(15)], Fraction(14, 15))
def test_against_all_pairs(rows, least):
    assert leaders(rows, least, 15) == by_all_pairs(rows, least)


@pytest.mark.parametrize("least", [Fraction(1, 2), Fraction(3, 4)])
def test_many_rows(least):
    generator = np.random.default_rng(1)
    kinds = [generator.choice(300, 20, replace=False) for _ in range(30)]
    rows = {
        frozenset(
            kinds[generator.integers(30)][generator.random(20) < 0.9].tolist()
        ): None
        for _ in range(600)
    }
    assert leaders(list(rows), least, 300) == by_all_pairs(list(rows), least)


def by_products(rows, least, universe):
    """The same as by_all_pairs, from the products of all rows."""
    ones = np.zeros((len(rows), universe), np.float32)
    for row, ranks in enumerate(rows):
        ones[row, list(ranks)] = 1
    shared = (ones @ ones.T).astype(np.int64)
    sizes = ones.sum(1).astype(np.int64)
    p, q = least.numerator, least.numerator + least.denominator
    similar = shared * q >= p * (sizes[:, None] + sizes)
    is_leader = np.zeros(len(rows), bool)
    expected = []
    for row in range(len(rows)):
        first = np.flatnonzero(similar[row, :row] & is_leader[:row])[:1].tolist()
        is_leader[row] = not first
        expected += first or [row]
    return expected


@pytest.mark.some_cases
@pytest.mark.parametrize(
    ("n", "universe", "smallest", "largest", "least"),
    [
        (2300, 40, 18, 21, Fraction(9, 10)),
        (1500, 400, 40, 41, Fraction(1, 2)),
        (1500, 400, 30, 60, Fraction(1, 8)),
        (400, 3000, 5, 300, Fraction(1, 10)),
        (150, 9000, 600, 1500, Fraction(1, 9)),
        (1200, 100, 1, 30, Fraction(1, 3)),
    ],
)
def test_crowds_without_rare_ranks(n, universe, smallest, largest, least, level):
    """Sets of common ranks, some of which are nearly copies of earlier ones."""
    generator = np.random.default_rng(n)
    rows = []
    for _ in range(n):
        row = set(
            generator.choice(
                universe, generator.integers(smallest, largest), replace=False
            ).tolist()
        )
        if rows and generator.random() < 0.1:
            row = set(sorted(row)[:1]) | set(rows[generator.integers(len(rows))])
        rows.append(frozenset(row))
    rows = list(dict.fromkeys(rows))
    expected = by_products(rows, least, universe)
    assert leaders(rows, least, universe) == expected
    assert len(set(expected)) < len(rows)


def test_unaligned_and_read_only_inputs():
    offsets, ranks = np.array([0, 2, 4], I64), np.array([0, 1, 0, 2], U32)
    offsets.flags.writeable = ranks.flags.writeable = False
    expected = leaders_of_sets(offsets, ranks, 3, 1, 4).tolist()
    assert expected == [0, 0]
    assert (
        leaders_of_sets(unaligned(offsets), unaligned(ranks), 3, 1, 4).tolist()
        == expected
    )
    assert leaders_of_sets(np.zeros(1, I64), np.zeros(0, U32), 0, 1, 2).tolist() == []
    assert leaders_of_sets(np.zeros(3, I64), np.zeros(0, U32), 0, 1, 2).tolist() == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("offsets", "ranks", "universe", "p", "q", "message"),
    [
        ([], [], 0, 1, 2, "at least one number"),
        ([0, 1], [], 1, 1, 2, r"offsets must be in 0\.\.0, not 0\.\.1"),
        ([-1, 1], [0, 1], 2, 1, 2, r"not -1\.\.1"),
        ([0, 2, 1], [0, 1], 2, 1, 2, "not from 2 to 1"),
        ([0, 3, 1, 2], [0, 1], 2, 1, 2, "not from 0 to 3"),
        ([0, 2], [0, 2], 2, 1, 2, "ranks of row 0 must ascend, below 2, not be 2"),
        ([0, 2], [1, 1], 2, 1, 2, "ranks of row 0 must ascend"),
        ([0, 1], [0], 2**32, 1, 2, "there must be below"),
        ([0, 1], [0], 1, 0, 2, "p and q must be 0 < p <= q / 2"),
        ([0, 1], [0], 1, 2, 3, "p and q must be"),
        ([0, 1], [0], 1, 1, 2**32, "p and q must be"),
    ],
)
def test_refusals(offsets, ranks, universe, p, q, message):
    with pytest.raises(ValueError, match=message):
        leaders_of_sets(np.array(offsets, I64), np.array(ranks, U32), universe, p, q)
