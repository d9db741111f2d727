"""`lshfast.textbook`: the numbers that the texts print, brute force beside it, and docs/textbook_numbers.tsv.

Where a text is wrong, the corrected value is asserted and the printed one is quoted.
"""

import random
import re
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, factorial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import TokenSets
from lshfast.sketch import SignSketcher
from lshfast.textbook import (
    StringIndex,
    axis_buckets,
    candidates,
    collisions,
    columns_of,
    minhash,
    minhash_groups,
    minhash_ranks,
    rarest_first,
    similarity,
    sizes,
    string_of,
    trace,
)
from tests.reference import set_strings, sets, textbook

MATRIX = ["0110", "0011", "1000", "0101", "0001", "1100", "0010"]
RANKS = [(1, 2, 3, 4, 5, 6, 7), (7, 6, 5, 4, 3, 2, 1), (6, 3, 1, 7, 2, 5, 4)]
FIGURE = [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]
FUNCTIONS = [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5]
THRESHOLDS = [
    Fraction(9, 10),
    Fraction(8, 10),
    Fraction(8, 9),
    Fraction(11, 15),
    Fraction(1, 2),
]


def estimates(signature_matrix):
    """Return the estimate for each pair of columns, numbered from 1."""
    columns = list(enumerate(zip(*signature_matrix, strict=True), 1))
    return {(i, j): similarity(a, b) for (i, a), (j, b) in combinations(columns, 2)}


# Permutations


def test_a5_collisions_over_all_permutations():
    for n in range(1, 7):
        for union in range(1, n + 1):
            for common in range(union + 1):
                a = set(range(common + (union - common) // 2))
                b = {*range(common), *range((union + common) // 2, union)}
                if a and b:
                    equal = collisions(a, b, range(n))
                    assert equal == comb(n, union) * factorial(
                        n - union
                    ) * common * factorial(union - 1)
                    assert (
                        Fraction(equal, factorial(n))
                        == sets.jaccard(a, b)
                        == Fraction(common, union)
                    )
    assert collisions(set("abc"), set("bcd"), "abcdefg") == factorial(7) // 2
    assert collisions(set(), set(), "ab") == collisions(set(), {"a"}, "ab") == 0


def test_c1_the_greatest_rank_follows_the_same_law():
    """A talk takes the maximum, which is the minimum of the reversed ranks."""
    sets_of_rows = {0, 1, 2}, {1, 2, 3}
    drawn = list(permutations(range(5)))
    greatest = [
        [max(ranks[row] for row in each) for each in sets_of_rows] for ranks in drawn
    ]
    reverse = [
        minhash_ranks(sets_of_rows, [4 - rank for rank in ranks]) for ranks in drawn
    ]
    assert greatest == [[4 - slot for slot in slots] for slots in reverse]
    assert sum(a == b for a, b in greatest) == collisions(*sets_of_rows, range(5)) == 60


def test_d5_signatures_of_given_permutations():
    columns = columns_of(MATRIX)
    rows = [minhash_ranks(columns, ranks) for ranks in RANKS]
    assert rows == [[3, 1, 1, 2], [2, 2, 1, 3], [1, 5, 3, 2]]


def test_d6_g5_names_and_ranks_give_the_same_estimates():
    columns = columns_of(MATRIX)
    orders = [sorted(range(7), key=ranks.__getitem__) for ranks in RANKS]
    ranked = estimates(minhash_ranks(columns, ranks) for ranks in RANKS)
    assert ranked == estimates(minhash(columns, order) for order in orders)
    third, fifth = Fraction(1, 3), Fraction(1, 5)
    assert ranked == {
        (1, 2): third,
        (1, 3): 0,
        (1, 4): 0,
        (2, 3): third,
        (2, 4): 0,
        (3, 4): 0,
    }
    true = {
        (i + 1, j + 1): sets.jaccard(columns[i], columns[j])
        for i, j in combinations(range(4), 2)
    }
    assert true == {
        (1, 2): Fraction(1, 4),
        (1, 3): 0,
        (1, 4): 0,
        (2, 3): fifth,
        (2, 4): fifth,
        (3, 4): fifth,
    }


def test_f6_the_order_beadc():
    columns = [set("ad"), set("c"), set("bde"), set("acd")]
    assert minhash(columns, "beadc") == ["a", "c", "b", "a"]
    assert minhash_ranks(columns, {row: rank for rank, row in enumerate("beadc")}) == [
        2,
        4,
        0,
        2,
    ]


def test_d7_row_algorithm():
    steps = trace(
        [{1, 3, 4}, {2, 3, 5}],
        [lambda x: x % 5, lambda x: (2 * x + 1) % 5],
        range(1, 6),
    )
    assert [*zip(*steps[-1].signatures, strict=True)] == [(1, 2), (0, 0)]
    assert [step.row for step in steps] == [1, 2, 3, 4, 5]
    assert [step.values for step in steps] == [(1, 3), (2, 0), (3, 2), (4, 4), (0, 1)]


def test_f7_row_algorithm_row_by_row():
    steps = trace(FIGURE, FUNCTIONS, range(5))
    assert [step.values for step in steps] == [(1, 1), (2, 4), (3, 2), (4, 0), (0, 3)]
    states = [[*zip(*step.signatures, strict=True)] for step in steps]
    none = (None, None)
    assert states[0] == [(1, 1), none, none, (1, 1)]
    # One version of the text prints "row 2".
    assert states[1] == [(1, 1), none, (2, 4), (1, 1)]
    assert states[2] == [(1, 1), (3, 2), (2, 4), (1, 1)]
    # The text already calls this one final.
    assert states[3] == [(1, 0), (3, 2), (2, 0), (1, 0)]
    assert steps[4].signatures == ((1, 3, 0, 1), (0, 2, 0, 0))
    half = Fraction(1, 2)
    found = estimates(steps[4].signatures)
    assert found == {
        (1, 2): 0,
        (1, 3): half,
        (1, 4): 1,
        (2, 3): 0,
        (2, 4): 0,
        (3, 4): half,
    }
    true = {
        (1, 4): Fraction(2, 3),
        (1, 3): Fraction(1, 4),
        (1, 2): 0,
        (3, 4): Fraction(1, 5),
        (2, 4): Fraction(1, 3),
    }
    for (i, j), jaccard in true.items():
        assert sets.jaccard(FIGURE[i - 1], FIGURE[j - 1]) == jaccard
    assert str(steps[4]).splitlines() == [
        "    S1  S2  S3  S4",
        "h1   1   3   0   1",
        "h2   0   2   0   0",
    ]


def test_f8_the_first_rows_only():
    """With the first m of k rows a column may have no value. Two of these neither agree nor disagree."""
    columns = [{0}, {0, 1}, {3, 4}, {4}, set()]
    orders = [(0, 1, 2, 3, 4), (3, 4, 0, 1, 2), (1, 2, 0, 3, 4)]
    signatures = list(
        zip(*(minhash(columns, order, first=3) for order in orders), strict=True)
    )
    assert signatures == [
        (0, 0, 0),
        (0, 0, 1),
        (None, 3, None),
        (None, 4, None),
        (None, None, None),
    ]
    # No slot is without a value.
    assert similarity(signatures[0], signatures[1]) == Fraction(2, 3)
    # One of two is, in the first and last slot.
    assert similarity(signatures[0], signatures[2]) == 0
    assert similarity(signatures[2], signatures[3]) == 0  # only the second slot counts
    assert similarity((None, 4, None, 2), (None, 4, 3, 2)) == Fraction(2, 3)
    assert (
        similarity(np.array([1, 2]), (1, 3))
        == similarity(iter([1, 2]), [1, 3])
        == Fraction(1, 2)
    )
    assert similarity([("a", "b"), None], [("a", "b"), "c"]) == Fraction(1, 2)
    assert similarity(signatures[4], signatures[4]) == 0


def test_f9_groups_of_rows():
    """The mean estimate over all permutations of the four rows of a group, the same in both groups."""
    columns = [{4, 5, 6}, {3, 4, 5}, {2, 3, 4}]
    assert minhash_groups(columns, (1, 2, 3, 4), 8) == [[None, 4, 3], [1, 1, 1]]
    drawn = [
        estimates(minhash_groups(columns, ranks, 8)) for ranks in permutations(range(4))
    ]
    means = {pair: sum(each[pair] for each in drawn) / len(drawn) for pair in drawn[0]}
    assert means == {
        (1, 2): Fraction(1, 3),
        (1, 3): Fraction(1, 6),
        (2, 3): Fraction(1, 2),
    }
    true = [sets.jaccard(columns[i], columns[j]) for i, j in combinations(range(3), 2)]
    assert true == [Fraction(1, 2), Fraction(1, 5), Fraction(1, 2)]


def test_d8_columns_without_a_value_are_not_similar():
    assert (
        similarity([None], [None])
        == similarity([None, 1], [None, 2])
        == similarity([], [])
        == 0
    )
    assert minhash_groups([{4}, {5}], (1, 2, 3, 4), 8) == [[None, None], [1, 2]]


@given(
    columns=st.lists(st.sets(st.integers(0, 6), min_size=1), min_size=1, max_size=5),
    ranks=st.permutations(range(7)),
    factors=st.lists(
        st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=4
    ),
    rows=st.permutations(range(7)),
)
def test_signatures_equal_the_reference(columns, ranks, factors, rows):
    assert minhash_ranks(columns, ranks) == textbook.minhash_by_rank(columns, ranks)
    assert minhash(columns, rows) == textbook.minhash_by_order(columns, rows)
    assert minhash_groups(columns, ranks, 7) == [minhash_ranks(columns, ranks)]
    functions = [lambda x, a=a, b=b: (a * x + b) % 7 for a, b in factors]
    expected = textbook.row_algorithm(columns, functions, rows)
    for step in trace(columns, functions, rows):
        shown = [
            [textbook.NO_VALUE if slot is None else slot for slot in slots]
            for slots in step.signatures
        ]
        assert [*zip(*shown, strict=True)] == expected[step.row]


def test_empty_columns_and_no_rows():
    assert minhash([set()], "ab") == minhash_ranks([set()], (0,)) == [None]
    assert columns_of([]) == []
    assert columns_of([[0, 1], [1, 1]]) == [{1}, {0, 1}]
    assert trace([set()], FUNCTIONS, []) == []


# Buckets


def test_f11_candidates_of_one_band():
    assert candidates([["130"], ["021"], ["013"], ["021"], ["221"]]) == [(1, 3)]


def test_f28_axes():
    points = [(1, 2, 3), (0, 2, 4), (4, 3, 2)]
    assert candidates(axis_buckets(points, 1)) == [(0, 1)]
    assert candidates(axis_buckets(points, 2)) == [(0, 1), (0, 2), (1, 2)]
    assert axis_buckets([(-0.5, 2.5)], 2) == [[(0, -1), (1, 1)]]
    assert axis_buckets([(0.3, 0.7, Fraction(1, 3))], 0.1) == [[(0, 3), (1, 7), (2, 3)]]


def test_g9_widths_for_which_points_are_candidates():
    """Exercise 3.7.5 (d): the first two always; the others for 3/2 < a <= 2 and for a > 3, because of the y-axis."""
    points = [(1, 2, 3), (0, 2, 4), (4, 3, 2)]
    for width in (n / 16 for n in range(1, 16 * 6)):
        others = 1.5 < width <= 2 or width > 3
        assert candidates(axis_buckets(points, width)) == [(0, 1)] + others * [
            (0, 2),
            (1, 2),
        ]


def test_g9_vectors_with_a_given_sketch():
    """Exercise 3.7.4: all signs are + if each component is below the sum of the others; equal signs, equal sketches."""
    four = [[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]]
    vectors = [
        each
        for each in product(range(-3, 4), repeat=4)
        if all(sum(each) != 2 * x for x in each)
    ]
    sketcher = SignSketcher.of_vectors(four)
    codes = sketcher.sketch(np.array(vectors))
    plus = sketcher.sketch(np.array([1, 1, 1, 1]))
    signs = {}
    for code, each in zip(codes[:, 0].tolist(), vectors, strict=True):
        assert (code == plus[0]) == all(x < sum(each) - x for x in each)
        assert signs.setdefault(tuple(2 * x < sum(each) for x in each), code) == code
    assert len(set(signs.values())) == len(signs) == 16


# Sets as strings


def test_f35_sets_as_strings():
    assert string_of("dab", "abcd") == "abd"
    order = "aeiou" + "zyxwvtsrqpnmlkjhgfdcb"
    assert [string_of(each, order) for each in ("qwerty", "asdfghjui")] == [
        "eywtrq",
        "aiusjhgfd",
    ]
    assert rarest_first(["ab", "bc", "b"]) == ["a", "c", "b"]


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
def test_f36_lengths(length, threshold, first, last):
    index = StringIndex(threshold, "length")
    string = "abcdefghijklmnopqrst"[:length]
    assert index.stored(string) == [(length,)]
    assert index.searched(string) == [(other,) for other in range(first, last + 1)]


def test_f37_prefixes():
    index = StringIndex(0.9, "prefix")
    assert [index.prefix(length) for length in range(1, 30)] == [1] * 9 + [2] * 10 + [
        3
    ] * 10
    assert [index.stored(each) for each in ("bcdefghij", "abcdefghij")] == [
        [("b",)],
        [("a",), ("b",)],
    ]
    assert [StringIndex(least).prefix(15) for least in (0.85, 0.95)] == [3, 1]
    four = [n for n in range(1, 601) if StringIndex(Fraction(n, 600)).prefix(15) == 4]
    assert (four[0], four[-1]) == (441, 480)  # 11/15 < J <= 12/15
    # In doubles, (1 - .8) 5 is below 1.
    assert StringIndex(0.8).prefix(5) == StringIndex("4/5").prefix(5) == 2


def test_f38_positions():
    index = StringIndex(0.9, "position")
    assert [list(index.positions(10, i)) for i in (1, 2)] == [[1, 2], [1]]
    assert index.searched("acdefghijk") == [("a", 1), ("a", 2), ("c", 1)]
    assert (
        candidates(
            *(
                [f(s) for s in ("acdefghijk", "bcdefghijk")]
                for f in (index.stored, index.searched)
            )
        )
        == []
    )
    assert [len(StringIndex(0.75).positions(12, i)) for i in (1, 2, 3, 4, 5)] == [
        5,
        3,
        2,
        1,
        0,
    ]
    assert [len(StringIndex(0.95).positions(12, i)) for i in (1, 2)] == [1, 0]


def test_f38_random_sets():
    found = [
        float(StringIndex(0.9).meeting_probability(length, 100)) for length in (9, 10)
    ]
    assert [round(each, 7) for each in found] == [0.0496381, 0.1073341]


@pytest.mark.parametrize(
    ("length", "symbols", "threshold"),
    [(3, 7, "1/2"), (3, 6, 0.9), (4, 7, "3/5"), (2, 2, 1)],
)
def test_f38_probability_by_counting(length, symbols, threshold):
    index = StringIndex(threshold, "position")
    strings = ["".join(each) for each in combinations("abcdefg"[:symbols], length)]
    stored = [set(index.stored(each)) for each in strings]
    searched = [set(index.searched(each)) for each in strings]
    met = sum(not a.isdisjoint(b) for a in stored for b in searched)
    assert index.meeting_probability(length, symbols) == Fraction(
        met, len(strings) ** 2
    )


def test_f39_suffixes():
    assert StringIndex(0.9).stored("acdefghijk") == [("a", 1, 9), ("c", 2, 8)]
    # The text finds no solution for i = 2, p = 8, q = 9. There is one, j = 1, which its figure has.
    table = {
        "a": {7: [1], 8: [1, 2], 9: [1, 2, 3], 10: [1, 2], 11: [1]},
        "c": {7: [1], 8: [1, 2], 9: [1]},
        "d": {7: [1]},
    }
    expected = [
        (x, j, q)
        for x, of_symbol in table.items()
        for q, found in of_symbol.items()
        for j in found
    ]
    assert StringIndex(0.8).searched("acdefghijk") == expected
    assert len(expected) == 14
    twenty = "abcdefghijklmnopqrst"
    assert [len(StringIndex(least).searched(twenty)) for least in (0.9, 0.8)] == [
        14,
        61,
    ]


@pytest.mark.one_case
@pytest.mark.parametrize("by", ["length", "prefix", "position", "suffix"])
def test_f39_no_index_loses_a_pair(by):
    rng, true = random.Random(39), 0
    for _ in range(30):
        items = [
            rng.sample("abcdefghijklmnopqrst", rng.randint(1, 14)) for _ in range(4)
        ]
        items += [[*each, *rng.sample("uvw", 1)] for each in items]
        threshold = rng.choice(THRESHOLDS)
        strings = [string_of(each, rarest_first(items)) for each in items]
        index = StringIndex(threshold, by)
        found = candidates(map(index.stored, strings), map(index.searched, strings))
        pairs = set_strings.similar_pairs(items, threshold)
        assert pairs <= {*found}
        if by == "suffix":
            assert {*found} == set_strings.suffix_index_pairs(
                strings, rarest_first(items), threshold
            )
        true += len(pairs)
    assert true > 30


# Sizes


def test_f10_a_million_documents():
    found = sizes(10**6, slots=250)
    assert (found.signatures, found.pairs, round(found.days, 3)) == (
        10**9,
        499_999_500_000,
        5.787,
    )


def test_d9_hundred_thousand_columns():
    assert sizes(100_000, slots=100)[:3] == (40_000_000, 0, 4_999_950_000)


def test_c12_tables():
    assert sizes(25_000_000, tables=1).tables == 300_000_000
    assert sizes(25_000_000, tables=67).tables == 20_100_000_000


# The table docs/textbook_numbers.tsv

DOCS = Path(__file__).parent.parent / "docs"
HEADER, *LINES = [
    line.split("\t")
    for line in (DOCS / "textbook_numbers.tsv").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def imported():
    """Return the names that the page imports."""
    page = (DOCS / "understand" / "textbook.md").read_text("utf-8")
    names = {}
    exec(
        "\n".join(re.findall(r"^>>> ((?:import|from) .+)$", page, re.MULTILINE)), names
    )
    return names


@pytest.mark.parametrize(
    ("where", "what", "call", "result"),
    [line[1:] for line in LINES],
    ids=[f"{line[1]}: {line[2]}" for line in LINES],
)
def test_calls_give_the_numbers_of_the_texts(imported, where, what, call, result):
    if "distances.indel" in call or "distances.damerau" in call:
        pytest.importorskip("rapidfuzz")
    assert repr(eval(call, imported)) == result


def test_every_line_of_the_table_has_a_call():
    assert HEADER == ["text", "where", "what", "call", "result"]
    assert {len(line) for line in LINES} == {len(HEADER)}
    page = (DOCS / "understand" / "textbook.md").read_text("utf-8")
    assert f"lists {len(LINES)} calls" in page


# Errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: columns_of(["01", "011"]), ValueError, "row 1 has 3 columns, row 0 has 2"),
        (lambda: columns_of(["01", "0x"]), ValueError, "row 1 must be of zeros and ones, not '0x'"),
        (lambda: minhash([{1}], [1, 1]), ValueError, "order must have each row once"),
        (lambda: minhash([{1}, {2}], [1]), ValueError, r"column 1 has rows .* given ones: \['2'\]"),
        (lambda: minhash([{1}], [1], first=0), ValueError, r"first must be in 1\.\.1, not 0"),
        (lambda: minhash([{1}], [1], first=2), ValueError, r"first must be in 1\.\.1, not 2"),
        (lambda: minhash([{1}], [1], first="1"), TypeError, "first must be an int, not '1'"),
        (lambda: minhash_ranks([{0}], (2, 2)), ValueError, r"ranks must be different, not \(2, 2\)"),
        (lambda: minhash_ranks([{2}], (0, 1)), ValueError, "column 0 has rows"),
        (lambda: minhash_groups([{0}], (), 8), ValueError, "rows must be a multiple of 0"),
        (lambda: minhash_groups([{0}], (0, 1, 2), 8), ValueError, "rows must be a multiple of 3, .* not 8"),
        (lambda: minhash_groups([{0}], (0, 1), 0), ValueError, "rows must be at least 1, not 0"),
        (lambda: minhash_groups([{0}, {8}], (0, 1), 8), ValueError, r"column 1 has rows .*: \['8'\]"),
        (lambda: similarity([1], [1, 2]), ValueError, "equal numbers of slots, not 1 and 2"),
        (lambda: collisions({1}, {2}, [1]), ValueError, r"column 1 has rows"),
        (lambda: collisions({1}, {2}, range(9)), ValueError, r"the number of rows must be in 0\.\.8, not 9"),
        (lambda: minhash([5], "ab"), TypeError, r"columns must be sets of rows, not \[5\]"),
        (lambda: trace([{0}], [], [0]), ValueError, r"functions must be one or more .*, not \[\]"),
        (lambda: trace([{0}], [3], [0]), ValueError, r"functions must be one or more .*, not \[3\]"),
        (lambda: trace([{0}, {3}], FUNCTIONS, [0]), ValueError, "column 1 has rows"),
        (lambda: axis_buckets([(1, 2)], 0), ValueError, "width must be above 0, not 0"),
        (lambda: axis_buckets([(1, 2)], float("inf")), ValueError, "width must be a finite number, not inf"),
        (lambda: axis_buckets([(1, float("nan"))], 1), ValueError, "points must be finite, not nan"),
        (lambda: candidates([[1]], [[1], [2]]), ValueError, "equal numbers of items, not 1 and 2"),
        (lambda: string_of("abc", "ab"), ValueError, r"column 0 has rows .*: \[\"'c'\"\]"),
        (lambda: StringIndex(0), ValueError, r"threshold must be a number in \(0, 1\], not 0"),
        (lambda: StringIndex("1/0"), ValueError, r"threshold must be a number in \(0, 1\], not '1/0'"),
        (lambda: StringIndex("high"), ValueError, r"threshold must be a number in \(0, 1\], not 'high'"),
        (lambda: StringIndex(0.9, "rank"), ValueError, "by must be 'length', .* not 'rank'"),
        (lambda: StringIndex(0.9).meeting_probability(20, 100), ValueError, r"the prefix must be in 1\.\.2, not 3"),
        (lambda: StringIndex(0.9).meeting_probability(9, 8), ValueError, r"length must be in 1\.\.8, not 9"),
        (lambda: sizes(-1), ValueError, "documents must be at least 0, not -1"),
        (lambda: sizes(1, slots=2.5), TypeError, "slots must be an int"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "other",
    [
        {1, 2, 3, 4},
        frozenset("ab"),
        {1: 2, 3: 4},
        {1: 2}.keys(),
        "abcd",
        b"ab",
        TokenSets.from_sets([[1], [2]]),
        [[1, 2], [3, 4]],
        [{1}, {2}],
        np.array([[1, 2], [3, 4]]),
        5,
        None,
    ],
    ids=lambda other: type(other).__name__,
)
def test_the_similarity_of_signatures_refuses_what_is_none(other):
    named = "lshfast.distances.jaccard_similarity compares sets"
    with pytest.raises(TypeError, match=rf"^a must be .* not \w+; {named}$"):
        similarity(other, other)
    with pytest.raises((TypeError, ValueError), match=named):
        similarity([1, 2], other)
    with pytest.raises(
        ValueError, match=rf"equal numbers of slots, not 1 and 2; {named}"
    ):
        similarity([1], [1, 2])
