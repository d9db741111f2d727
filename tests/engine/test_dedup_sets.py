"""dedup and pairs of sets: of Python objects and of tokens, judged by Python's sets."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import LSHIndex, TokenSets, dedup, pairs
from tests.reference import sets as reference

# A pair of similarity .3 is missed with odds of 10**-20.
EVERY_SLOT = {"bands": 128, "rows_per_band": 1}

RNG = np.random.default_rng(3)
BASES = [RNG.integers(0, 10**6, 40).tolist() for _ in range(20)]
ROWS = (
    [set(base) for base in BASES]
    + [{*base[:36], -1, -2} for base in BASES]
    + [set(base) for base in BASES[:5]]
)


def similar(rows, threshold):
    """Return all pairs at the threshold as (i, j, similarity)."""
    found = []
    for (i, a), (j, b) in combinations(enumerate(map(set, rows)), 2):
        similarity = len(a & b) / len(a | b) if a | b else 0.0
        if similarity >= threshold:
            found.append((i, j, similarity))
    return found


ELEMENT = st.one_of(
    st.integers(-2, 3), st.sampled_from(["", "a", "b", "é", "1", "-1"]), st.just(2**63)
)
SETS = st.lists(st.sets(ELEMENT, max_size=6), max_size=12)


KINDS = st.sampled_from([list, tuple, set, frozenset])


@given(SETS, KINDS, st.sampled_from([0.4, 0.5, 2 / 3, 1]), st.sampled_from([1, 2]))
def test_sets_equal_brute_force(rows, kind, threshold, threads):
    expected = similar(rows, threshold)
    given_rows = [kind(row) for row in rows]
    assert (
        pairs(
            given_rows, threshold=threshold, copies="all", threads=threads, **EVERY_SLOT
        ).tolist()
        == expected
    )
    result = dedup(given_rows, threshold=threshold, threads=threads, **EVERY_SLOT)
    assert result.keeper.tolist() == reference.star(
        len(rows), expected, range(len(rows))
    )
    assert result.summary.empty == sum(not row for row in rows)


@pytest.mark.parametrize(
    "kind",
    [
        lambda rows: rows,
        lambda rows: [frozenset(row) for row in rows],
        lambda rows: [sorted(row) * 2 for row in rows],
        lambda rows: [np.array(sorted(row)) for row in rows],
        lambda rows: [
            np.array(sorted(row)) if number % 2 else row
            for number, row in enumerate(rows)
        ],
        lambda rows: [map(str, row) for row in rows],
        lambda rows: [
            {str(element).encode(): None for element in row}.keys() for row in rows
        ],
        lambda rows: (row for row in rows),
        tuple,
        pd.Series,
        lambda rows: pd.Series(rows).to_numpy(),
        TokenSets.from_sets,
    ],
    ids=lambda kind: getattr(kind, "__name__", None),
)
def test_forms_of_sets(kind):
    expected = dedup(ROWS, threshold=0.7)
    found = dedup(kind(ROWS), threshold=0.7)
    assert expected.keeper.tolist() == [*range(20), *range(20), *range(5)]
    assert found.keeper.tolist() == expected.keeper.tolist()
    assert found.similarity.tolist() == expected.similarity.tolist()


def test_rows_of_an_array():
    assert dedup(np.array([[1, 2, 3], [3, 2, 1], [4, 5, 6]])).keeper.tolist() == [
        0,
        0,
        2,
    ]


def test_elements_are_equal_as_tokens_are():
    """A str equals the bytes of its UTF-8, and no number; -1 and 2**64 - 1 are two numbers."""
    rows = [["é", "1"], ["é".encode(), b"1"], ["é", 1], [-1, 5], [2**64 - 1, 5]]
    assert dedup(rows, threshold=0.9).keeper.tolist() == [0, 0, 2, 3, 4]


def in_lists(rows, dtype):
    return rows


def in_arrays(rows, dtype):
    return [np.array(row, dtype) for row in rows]


def in_arrow(rows, dtype):
    pa = pytest.importorskip("pyarrow")
    return pa.array(rows, pa.list_(pa.from_numpy_dtype(dtype)))


@pytest.mark.parametrize("column_of", [in_lists, in_arrays, in_arrow])
def test_negative_integers_are_no_large_ones(column_of):
    negative = [[-1, 5, -7], [5, 6, 7]]
    large = [[2**64 - 1, 5, 2**64 - 7], [5, 6, 7]]
    index = LSHIndex(shingles="tags")
    first = column_of(negative, np.int64)
    assert dedup(first, keys=["a", "b"], against=index, add=True).keep.all()
    again = column_of(negative, np.int64)
    assert not dedup(again, keys=["c", "d"], against=index).keep.any()
    other = column_of(large, np.uint64)
    found = dedup(other, keys=["e", "f"], against=index)
    assert found.keep.tolist() == [True, False]


def test_missing_sets_are_empty():
    result = dedup([None, {"a"}, set(), {"a"}, float("nan")])
    assert result.keeper.tolist() == [0, 1, 2, 1, 4]
    assert (result.summary.empty, result.summary.copies) == (3, 1)


def test_the_longest_set_has_most_elements():
    rows = [{"a", "b"}, {"a", "b", "c"}, ["a", "b", "b", "b"]]
    assert dedup(rows, threshold=0.5, keep="longest").keeper.tolist() == [2, 2, 2]
    assert dedup(
        TokenSets.from_sets(rows), threshold=0.5, keep="longest"
    ).keeper.tolist() == [2, 2, 2]
    assert dedup(rows, threshold=0.5, keep="shortest").keeper.tolist() == [0, 0, 0]


def test_sets_day_by_day():
    index = LSHIndex(shingles="tags", seed="random")
    first = dedup(
        ROWS[:20], keys=list(range(20)), against=index, add=True, seed=index.hasher.seed
    )
    assert first.keep.all()
    second = dedup(
        ROWS[20:], keys=list(range(20, 45)), against=index, seed=index.hasher.seed
    )
    kept = {removal.key: removal.kept_key for removal in second.removed}
    assert [kept[40 + number] for number in range(5)] == list(range(5))


def test_sets_against_texts_are_refused():
    with pytest.raises(
        ValueError, match="shingles is 'word:5' in this index, not 'set'"
    ):
        dedup(ROWS, against=LSHIndex(shingles="word:5"))


@pytest.mark.slow
def test_many_sets_in_several_pieces():
    rows = [range(start, start + 400) for start in range(0, 2_000_000, 400)]
    seen = []
    result = dedup(
        [*rows, *rows[::7]],
        threads=2,
        progress=lambda stage, done, total: seen.append((stage, done)),
    )
    assert result.keeper.tolist() == [*range(5000), *range(0, 5000, 7)]
    sketching = [done for stage, done in seen if stage == "sketch"]
    assert len(sketching) > 1
    assert sketching == sorted(sketching)


@pytest.mark.parametrize(
    ("rows", "options", "error", "message"),
    [
        ([{1}, "a"], {}, TypeError, r"texts\[1\] is of type str, not a set"),
        ([{1}, 5], {}, TypeError, r"texts\[1\] is of type int, not a set"),
        (
            [{"id": 1, "text": "a"}],
            {},
            TypeError,
            r"texts\[0\] is of type dict; pass its texts, \[row\['text'\] for",
        ),
        ([None, {1}, 2.5], {}, TypeError, r"texts\[2\] is of type float, not a set"),
        (["a", {1}], {}, TypeError, r"texts\[1\]"),
        ([{1}, {2.5}], {}, TypeError, r"rows\[1\] holds an element of type float"),
        ([{1}, {2**70}], {}, ValueError, rf"rows\[1\] holds {2**70}"),
        ([{1}, {"\ud800"}], {}, ValueError, r"rows\[1\]: lone surrogate"),
        ([{1}], {"unit": "char"}, ValueError, "unit is for texts"),
        ([{1}], {"size": 2}, ValueError, "size is for texts"),
        (TokenSets([0, 1], [7]), {"size": 2}, ValueError, "size is for texts"),
    ],
)
def test_what_is_refused(rows, options, error, message):
    for call in (dedup, pairs):
        with pytest.raises(error, match=message):
            call(rows, **options)


def test_errors_name_the_row_in_later_pieces():
    rows = [list(range(start, start + 400)) for start in range(0, 1_000_000, 400)]
    rows[2000] = [*rows[2000], 0.5]
    with pytest.raises(TypeError, match=r"rows\[2000\] holds an element of type float"):
        dedup(rows)
