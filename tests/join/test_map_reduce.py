"""The map and the reduce function against the join in memory, with any division of the work."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast import Bands, candidates
from lshfast.join.map_reduce import Buckets, Comparisons, map_buckets, reduce_buckets
from tests.reference.hashing import EMPTY

SLOT = st.integers(0, 2)


@st.composite
def signatures(draw):
    row = st.one_of(st.lists(SLOT, min_size=6, max_size=6), st.just([EMPTY] * 6))
    return np.array(draw(st.lists(row, max_size=15)), np.uint64).reshape(-1, 6)


@given(signatures(), st.integers(1, 4), st.integers(1, 4), st.randoms())
def test_f16_any_division_gives_the_candidates(rows, mappers, reducers, random):
    bands = Bands(3, 2)
    numbers = np.arange(len(rows))
    parts = [
        map_buckets(rows[part], part, bands)
        for part in np.array_split(numbers, mappers)
    ]
    random.shuffle(parts)
    partial = [Buckets.merge(parts[:2]), *parts[2:]]
    split = [part.split(reducers) for part in partial]
    found = [
        reduce_buckets(Buckets.merge([part[to] for part in split]))
        for to in range(reducers)
    ]
    random.shuffle(found)
    every = reduce(lambda a, b: Comparisons.merge([a, b]), found)
    i, j = candidates(bands.keys(rows))
    assert [column.tolist() for column in every.pairs] == [i.tolist(), j.tolist()]
    for row, low, high in zip(
        every.rows, every.offsets, every.offsets[1:], strict=False
    ):
        assert every.others[low:high].tolist() == j[i == row].tolist() != []


def test_merging_twice_changes_nothing():
    buckets = map_buckets(np.array([[1, 2], [1, 3]], np.uint64), [5, 9], Bands(2, 1))
    again = Buckets.merge([buckets, buckets])
    assert again.row.tolist() == buckets.row.tolist()
    assert len(buckets) == 4
    found = reduce_buckets(buckets)
    assert (found.rows.tolist(), found.others.tolist()) == ([5], [9])
    assert (
        len(Buckets.merge([]))
        == len(Comparisons.merge([]).rows)
        == len(reduce_buckets(Buckets.merge([])).rows)
        == 0
    )


def test_bad_arguments():
    rows, bands = np.zeros((3, 2), np.uint64), Bands(2, 1)
    with pytest.raises(ValueError, match="rows must be 3 numbers"):
        map_buckets(rows, [0, 1], bands)
    with pytest.raises(
        ValueError, match=r"rows must be in 0\.\.2\*\*63 - 1, not -1\.\.1"
    ):
        map_buckets(rows, [0, 1, -1], bands)
    with pytest.raises(TypeError, match="rows must be ints"):
        map_buckets(rows, [0.0, 1.0, 2.0], bands)
    with pytest.raises(OverflowError, match="more than 5 candidate pairs"):
        reduce_buckets(map_buckets(rows, [0, 1, 2], bands), most=5)
    buckets = map_buckets(rows, [0, 1, 2], bands)
    for call in (lambda: buckets.split(0), lambda: reduce_buckets(buckets, most=-1)):
        with pytest.raises(ValueError, match="must be"):
            call()
    for call in (lambda: buckets.split(1.5), lambda: reduce_buckets(buckets, most="5")):
        with pytest.raises(TypeError, match="must be an int"):
            call()
