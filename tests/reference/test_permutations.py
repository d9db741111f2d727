"""Written-out permutations and the algorithm row by row: the numbers that the texts print, and what is refused.

Tests are named after the rows of the coverage checklist; where a text is wrong, the corrected value is asserted and the
printed one is quoted.
"""

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.examples.permutations import Linear, by_groups, by_order, by_ranks, columns_of, similarity, trace
from tests.reference import sets, textbook

MATRIX = ["0110", "0011", "1000", "0101", "0001", "1100", "0010"]
RANKS = [(1, 2, 3, 4, 5, 6, 7), (7, 6, 5, 4, 3, 2, 1), (6, 3, 1, 7, 2, 5, 4)]


def test_d5_signatures_of_given_permutations():
    columns = columns_of(MATRIX)
    rows = [by_ranks(columns, ranks) for ranks in RANKS]
    assert rows == [[3, 1, 1, 2], [2, 2, 1, 3], [1, 5, 3, 2]]
    for ranks, row in zip(RANKS, rows, strict=True):  # the same as orders of the rows
        order = sorted(range(7), key=lambda x, ranks=ranks: ranks[x])
        assert [ranks[first] for first in by_order(columns, order)] == row
        assert by_ranks(columns, [rank - 1 for rank in ranks]) == [slot - 1 for slot in row]


def test_d6_similarity_of_signatures():
    columns = columns_of(MATRIX)
    signatures = list(zip(*(by_ranks(columns, ranks) for ranks in RANKS), strict=True))
    expected = {
        (1, 2): (Fraction(1, 4), Fraction(1, 3)),
        (1, 3): (0, 0),
        (1, 4): (0, 0),
        (2, 3): (Fraction(1, 5), Fraction(1, 3)),
        (2, 4): (Fraction(1, 5), 0),
        (3, 4): (Fraction(1, 5), 0),
    }
    for (i, j), (true, estimate) in expected.items():
        assert sets.jaccard(columns[i - 1], columns[j - 1]) == true
        assert similarity(signatures[i - 1], signatures[j - 1]) == estimate


def test_d7_row_algorithm():
    found = trace([{1, 3, 4}, {2, 3, 5}], [Linear(1, 0, 5), Linear(2, 1, 5)], range(1, 6))
    assert found.signature(0) == (1, 2)
    assert found.signature(1) == (0, 0)
    assert [step.row for step in found] == [1, 2, 3, 4, 5]
    assert [step.values for step in found] == [(1, 3), (2, 0), (3, 2), (4, 4), (0, 1)]


def test_linear_functions_are_shown():
    shown = [str(Linear(a, b, 5)) for a, b in ((1, 0), (1, 1), (3, -1), (-1, 2))]
    assert shown == ["x mod 5", "x + 1 mod 5", "3x - 1 mod 5", "-1x + 2 mod 5"]
    assert Linear(1, -1, 5)(0) == 4


def test_d8_columns_without_a_value_are_not_similar():
    assert similarity([None], [None]) == 0
    assert by_groups([{4}, {5}], (1, 2, 3, 4), 8) == [[None, None], [1, 2]]
    assert similarity([None, 1], [None, 2]) == 0


def test_f6_the_order_beadc():
    assert by_order([set("ad"), set("c"), set("bde"), set("acd")], "beadc") == ["a", "c", "b", "a"]


def test_f7_row_algorithm_row_by_row():
    columns = [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}]
    found = trace(columns, [Linear(1, 1, 5), Linear(3, 1, 5)], range(5))
    states = [[tuple(column) for column in zip(*step.signatures, strict=True)] for step in found]
    none = (None, None)
    assert states[0] == [(1, 1), none, none, (1, 1)]
    assert states[1] == [(1, 1), none, (2, 4), (1, 1)]  # one version of the text prints "row 2"
    assert states[2] == [(1, 1), (3, 2), (2, 4), (1, 1)]
    assert states[3] == [(1, 0), (3, 2), (2, 0), (1, 0)]  # the text already calls this one final
    assert states[4] == [(1, 0), (3, 2), (0, 0), (1, 0)]
    assert found.signatures == ((1, 3, 0, 1), (0, 2, 0, 0))
    expected = {
        (1, 4): (Fraction(2, 3), 1),
        (1, 3): (Fraction(1, 4), Fraction(1, 2)),
        (1, 2): (0, 0),
        (3, 4): (Fraction(1, 5), Fraction(1, 2)),
        (2, 4): (Fraction(1, 3), 0),
    }
    for (i, j), (true, estimate) in expected.items():
        assert sets.jaccard(columns[i - 1], columns[j - 1]) == true
        assert similarity(found.signature(i - 1), found.signature(j - 1)) == estimate


def test_f7_the_tables_of_the_text():
    found = trace([{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}], [Linear(1, 1, 5), Linear(3, 1, 5)], range(5))
    tables = str(found).split("\n\n")
    assert len(found) == len(tables) - 1 == 5
    assert tables[0].splitlines() == [
        "row  S1  S2  S3  S4  x + 1 mod 5  3x + 1 mod 5",
        "  0   1   0   0   1            1             1",
        "  1   0   0   1   0            2             4",
        "  2   0   1   0   1            3             2",
        "  3   1   0   1   1            4             0",
        "  4   0   0   1   0            0             3",
    ]
    assert tables[2].splitlines() == ["after row 1", "    S1  S2  S3  S4", "h1   1   ∞   2   1", "h2   1   ∞   4   1"]
    assert str(found.steps[4]).splitlines() == ["    S1  S2  S3  S4", "h1   1   3   0   1", "h2   0   2   0   0"]


def test_f8_the_first_rows_only():
    """With the first m of k rows a column may have no value; two of these neither agree nor disagree."""
    columns = [{0}, {0, 1}, {3, 4}, {4}, set()]
    orders = [(0, 1, 2, 3, 4), (3, 4, 0, 1, 2), (1, 2, 0, 3, 4)]
    signatures = list(zip(*(by_order(columns, order, first=3) for order in orders), strict=True))
    assert signatures == [(0, 0, 0), (0, 0, 1), (None, 3, None), (None, 4, None), (None, None, None)]
    assert similarity(signatures[0], signatures[1]) == Fraction(2, 3)  # no slot is without a value
    assert similarity(signatures[0], signatures[2]) == 0  # one of two is, in the first and last slot
    assert similarity(signatures[2], signatures[3]) == 0  # only the second slot counts
    assert similarity((None, 4, None, 2), (None, 4, 3, 2)) == Fraction(2, 3)
    assert similarity(signatures[4], signatures[4]) == 0
    ranks = (1, 2, 3, 4, 5)
    assert by_ranks(columns, ranks, first=3) == [1, 1, None, None, None]


def test_f9_groups_of_rows():
    """The mean estimate over all permutations of the four rows of a group, the same in both groups."""
    columns = [{4, 5, 6}, {3, 4, 5}, {2, 3, 4}]
    expected = {
        (0, 1): (Fraction(1, 2), Fraction(1, 3)),
        (0, 2): (Fraction(1, 5), Fraction(1, 6)),
        (1, 2): (Fraction(1, 2), Fraction(1, 2)),
    }
    slots = [list(zip(*by_groups(columns, ranks, 8), strict=True)) for ranks in permutations(range(4))]
    for (i, j), (true, mean) in expected.items():
        assert sets.jaccard(columns[i], columns[j]) == true
        assert sum(similarity(each[i], each[j]) for each in slots) / len(slots) == mean
    assert by_groups(columns, (1, 2, 3, 4), 8) == [[None, 4, 3], [1, 1, 1]]


# Against the reference


@given(
    columns=st.lists(st.sets(st.integers(0, 6), min_size=1), min_size=1, max_size=5),
    ranks=st.permutations(range(7)),
    functions=st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=4),
    rows=st.permutations(range(7)),
)
def test_permutations_and_traces(columns, ranks, functions, rows):
    assert by_ranks(columns, ranks) == textbook.minhash_by_rank(columns, ranks)
    assert by_order(columns, rows) == textbook.minhash_by_order(columns, rows)
    assert by_groups(columns, ranks, 7) == [by_ranks(columns, ranks)]
    linear = [Linear(a, b, 7) for a, b in functions]
    expected = textbook.row_algorithm(columns, linear, rows)
    found = trace(columns, linear, rows)
    assert [step.row for step in found] == rows
    for step in found:
        shown = [[textbook.NO_VALUE if slot is None else slot for slot in slots] for slots in step.signatures]
        assert [*zip(*shown, strict=True)] == expected[step.row]
    for i, h in enumerate(linear):
        if h.a % 7:
            assert list(found.signatures[i]) == by_ranks(columns, [h(row) for row in range(7)])


def test_empty_columns_and_no_rows():
    assert by_order([set()], "ab") == [None]
    assert by_ranks([set(), {0}], (0,)) == [None, 0]
    assert columns_of([]) == []
    assert columns_of([[0, 1], [1, 1]]) == [{1}, {0, 1}]
    nothing = trace([set(), set()], [Linear(1, 1, 5)], [])
    assert nothing.signatures == ((None, None),)
    assert nothing.signature(1) == (None,)
    assert str(nothing) == "row  S1  S2  x + 1 mod 5"
    assert similarity([], []) == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: columns_of(["01", "011"]), ValueError, "row 1 has 3 columns, row 0 has 2"),
        (lambda: columns_of(["01", "0x"]), ValueError, "row 1 must be of zeros and ones, not '0x'"),
        (lambda: by_order([{1}], [1, 1]), ValueError, "order must have each row once"),
        (lambda: by_order([{1}, {2}], [1]), ValueError, "column 1 has rows that are not in the order"),
        (lambda: by_order([{1}], [1], first=0), ValueError, r"first must be in 1\.\.1, the number of rows, not 0"),
        (lambda: by_order([{1}], [1], first=2), ValueError, r"first must be in 1\.\.1, the number of rows, not 2"),
        (lambda: by_ranks([{0}], (0, 2)), ValueError, r"ranks must be 0\.\.n - 1 or 1\.\.n, each once, not \(0, 2\)"),
        (lambda: by_ranks([{0}], (2, 3)), ValueError, "ranks must be"),
        (lambda: by_ranks([{2}], (0, 1)), ValueError, "column 0 has rows that are not in the order"),
        (lambda: by_groups([{0}], (), 8), ValueError, "rows must be a multiple of 0"),
        (lambda: by_groups([{0}], (0, 1, 2), 8), ValueError, "rows must be a multiple of 3, .* not 8"),
        (lambda: by_groups([{0}], (0, 1), 0), ValueError, "rows must be a multiple of 2, .* not 0"),
        (lambda: by_groups([{0}, {8}], (0, 1), 8), ValueError, r"column 1 has rows outside 0\.\.7: \[8\]"),
        (lambda: similarity([1], [1, 2]), ValueError, "as many slots as each other, not 1 and 2"),
        (lambda: Linear(1, 1, 0), ValueError, "p must be at least 1, not 0"),
        (lambda: Linear(1.5, 1, 5), TypeError, r"a must be an int, not 1\.5"),
        (lambda: Linear(1, True, 5), TypeError, "b must be an int, not True"),
        (lambda: trace([{0}], [], [0]), ValueError, "at least one function"),
        (lambda: trace([{0}, {3}], [Linear(1, 0, 5)], [0]), ValueError, r"column 1 has rows .* the rows: \[3\]"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
