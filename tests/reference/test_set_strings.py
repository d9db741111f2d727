"""The numbers and the errata of section 3.9 of the book, in the reference and in the library's filters."""

import random
from fractions import Fraction

import numpy as np
import pytest

from lshfast.join.thresholds import rule_of
from lshfast.kernels import setjoin
from tests.reference import set_strings as book

F = Fraction


def library_prefix(length, least):
    """Return the prefix that the library indexes for searches by sets of any size."""
    rule = rule_of("jaccard", least).of_kernels
    return int(setjoin.indexed_prefixes(rule, np.array([length], np.uint32), False)[0])


def library_lengths(length, least):
    """Return the sizes that can reach the threshold with one of this size."""
    rule = rule_of("jaccard", least).of_kernels
    return [
        other
        for other in range(1, 4 * length)
        if setjoin.need(rule, other, length) <= min(other, length)
    ]


def library_triples(length, least):
    """Return the (i, j, q) that pass the library's filter: the overlap still possible is at least that needed."""
    rule = rule_of("jaccard", least).of_kernels
    return {
        (i, j, q)
        for i in range(1, library_prefix(length, least) + 1)
        for j in range(1, 2 * length)
        for q in range(2 * length)
        if min(length - i, q) + 1 >= setjoin.need(rule, j + q, length)
    }


def test_f35_sets_as_strings():
    assert book.string_of("dab", "abcd") == "abd"
    order = "aeiou" + "zyxwvtsrqpnmlkjhgfdcb"
    assert book.string_of("qwerty", order) == "eywtrq"
    assert book.string_of("asdfghjui", order) == "aiusjhgfd"
    assert book.rarest_first(["ab", "bc", "b"]) == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("length", "least", "printed"),
    [
        (9, "9/10", range(9, 11)), (8, "9/10", range(8, 9)),
        (20, "17/20", range(17, 24)), (20, "19/20", range(19, 22)), (20, "49/50", range(20, 21)),
    ],
)  # fmt: skip
def test_f36_e19_lengths(length, least, printed):
    """J bounds the similarity from below, so Ls / Lt >= J for the longer t."""
    assert book.lengths(length, F(least)) == printed
    assert library_lengths(length, F(least)) == list(printed)


def test_f37_prefixes():
    expected = [1] * 9 + [2] * 10 + [3] * 10
    assert [book.prefix(length, F(9, 10)) for length in range(1, 30)] == expected
    assert [library_prefix(length, F(9, 10)) for length in range(1, 30)] == expected
    assert [library_prefix(length, 0.9) for length in range(1, 30)] == expected
    assert "bcdefghij"[: book.prefix(9, F(9, 10))] == "b"
    assert "abcdefghij"[: book.prefix(10, F(9, 10))] == "ab"
    assert F(8, 9) < F(9, 10)
    assert [book.prefix(15, F(least)) for least in ("17/20", "19/20")] == [3, 1]
    four = [F(n, 600) for n in range(1, 601) if library_prefix(15, F(n, 600)) == 4]
    assert min(four) == F(441, 600) > F(11, 15)
    assert max(four) == F(12, 15)


@pytest.mark.slow
def test_f37_prefixes_of_all_thresholds():
    for hundredths in range(1, 101):
        for length in range(1, 60):
            assert library_prefix(length, hundredths / 100) == book.prefix(
                length, F(hundredths, 100)
            ), hundredths


def test_f38_positions():
    nine = F(9, 10)
    assert [list(book.positions(10, i, nine)) for i in (1, 2)] == [[1, 2], [1]]
    looked_up = [
        ("acdefghijk"[i - 1], j) for i in (1, 2) for j in book.positions(10, i, nine)
    ]
    assert looked_up == [("a", 1), ("a", 2), ("c", 1)]
    union = set("acdefghijk") | set("bcdefghijk")
    assert F(len(set("acdefghijk") & set("bcdefghijk")), len(union)) == F(9, 11) < nine
    assert [(i, book.positions(12, i, F(3, 4)).stop - 1) for i in range(1, 6)] == [
        (1, 5),
        (2, 3),
        (3, 2),
        (4, 1),
        (5, 0),
    ]
    assert [book.positions(12, i, F(19, 20)).stop - 1 for i in (1, 2)] == [1, 0]


def test_f38_random_sets():
    """Example 3.9.5: of 100 symbols, two random sets of 9, and two of 10."""
    assert round(float(book.meeting(100, 9, F(9, 10))), 7) == 0.0496381
    assert round(float(book.meeting(100, 10, F(9, 10))), 7) == 0.1073341


def test_f39_e20_e21_suffixes():
    """p and q are lengths of suffixes; three quotients that the book calls above .8 are below it."""
    indexed = range(1, book.prefix(10, F(9, 10)) + 1)
    assert [("acdefghijk"[i - 1], i, 10 - i) for i in indexed] == [
        ("a", 1, 9),
        ("c", 2, 8),
    ]
    eight = F(8, 10)
    found = list(book.triples(10, eight))
    table = {
        (1, 7): [1], (1, 8): [1, 2], (1, 9): [1, 2, 3], (1, 10): [1, 2], (1, 11): [1],
        (2, 7): [1], (2, 8): [1, 2], (2, 9): [1], (3, 7): [1],
    }  # fmt: skip
    assert {
        (i, q): [j for a, j, b in found if (a, b) == (i, q)] for i, _, q in found
    } == table
    assert len(found) == 14
    assert max(F(10, 13), F(9, 12), F(7, 9 + 1)) < eight
    assert [len(list(book.triples(20, F(n, 10)))) for n in (9, 8)] == [14, 61]
    for length in (5, 10, 12, 20):
        for least in (F(9, 10), eight, F(8, 9), F(11, 15), F(1, 2)):
            assert set(book.triples(length, least)) == library_triples(length, least)


def random_sets(rng):
    """Return sets of letters, some of them with few changes from others."""
    letters = "abcdefghijklmnopqrst"
    sets = [set(rng.sample(letters, rng.randint(1, 14))) for _ in range(4)]
    for _ in range(4):
        near = set(rng.choice(sets))
        for letter in rng.sample(letters, rng.randint(0, 2)):
            near ^= {letter}
        sets.append(near)
    return sets


@pytest.mark.slow
@pytest.mark.parametrize("cases", [150, pytest.param(1000, marks=pytest.mark.weekly)])
def test_f39_the_suffix_index_loses_no_pair(cases):
    rng = random.Random(39)
    true = 0
    for _ in range(cases):
        sets = random_sets(rng)
        least = rng.choice([F(9, 10), F(8, 10), F(8, 9), F(11, 15), F(1, 2)])
        order = book.rarest_first(sets)
        pairs = book.similar_pairs(sets, least)
        strings = [book.string_of(each, order) for each in sets]
        assert pairs <= book.suffix_index_pairs(strings, order, least)
        true += len(pairs)
    assert true > cases // 2
