"""Records that are sorted and paired, against Python's sort and brute force."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshfast.kernels import runs
from tests.reference.hashing import EMPTY, mix64

WORD = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 3),
    st.sampled_from([2**64 - 1, 1 << 63, 1 << 8, 255]),
)
RECORDS = st.lists(st.tuples(WORD, WORD), max_size=300)


def as_records(rows):
    return np.array(rows, np.uint64).reshape(-1, 2)


@given(RECORDS, st.integers(1, 40))
@example([(7, 3)] * 100, 1)
@example([(7, i % 64) for i in range(200)], 1)
@example([(i << 56, 0) for i in range(41)], 1)
def test_sorting(rows, repeat):
    rows = rows * repeat
    records, scratch = as_records(rows), np.empty((len(rows), 2), np.uint64)
    assert runs.are_sorted(records) == (rows == sorted(rows))
    runs.sort_records(records, scratch)
    assert list(map(tuple, records.tolist())) == sorted(rows)
    assert runs.are_sorted(records)


@given(RECORDS, st.tuples(WORD, WORD))
def test_counting_until_a_record(rows, last):
    assert runs.count_until(as_records(sorted(rows)), *last) == sum(
        row <= last for row in rows
    )


@given(
    st.lists(
        st.tuples(st.one_of(WORD, st.just(EMPTY)), WORD, st.booleans()), max_size=50
    ),
    st.booleans(),
)
def test_records_of_a_band(rows, choose):
    keys = np.array([[first, second] for first, second, _ in rows], np.uint64).reshape(
        -1, 2
    )
    chosen = np.array([mark for *_, mark in rows], np.uint8) if choose else None
    out = np.zeros((len(rows), 2), np.uint64)
    made = runs.records_of_band(keys, 0, 1000, out, chosen)
    wanted = [
        [mix64(key), 1000 + row]
        for row, (key, _, mark) in enumerate(rows)
        if key != EMPTY and (mark or not choose)
    ]
    assert out[:made].tolist() == wanted


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=60),
    st.integers(1, 30),
)
def test_pairs_of_records(rows, capacity):
    rows = sorted(rows)
    records, found, i, j = as_records(rows), [], 0, 1
    while i < len(rows):
        out = np.zeros((capacity, 2), np.uint64)
        made, i, j = runs.pairs_of_records(records, i, j, out)
        found += map(tuple, out[:made].tolist())
    assert found == [
        (a[1], b[1]) for a, b in combinations(rows, 2) if a[0] == b[0] and a[1] != b[1]
    ]


def test_bad_arguments():
    records, other = np.zeros((4, 2), np.uint64), np.zeros((3, 2), np.uint64)
    with pytest.raises(ValueError, match="scratch must hold 4 records, not 3"):
        runs.sort_records(records, other)
    with pytest.raises(ValueError, match="overlap"):
        runs.sort_records(records[:2], records[1:])
    with pytest.raises(ValueError, match=r"records must be \(n, 2\)"):
        runs.are_sorted(np.zeros((4, 3), np.uint64))
    with pytest.raises(ValueError, match="band must be below 2"):
        runs.records_of_band(records, 2, 0, records.copy())
    with pytest.raises(ValueError, match="out must hold 4 records, not 3"):
        runs.records_of_band(records, 0, 0, other)
    with pytest.raises(ValueError, match="chosen must be 4 bytes, not 3"):
        runs.records_of_band(records, 0, 0, records.copy(), np.zeros(3, np.uint8))
    with pytest.raises(ValueError, match="j must be above i"):
        runs.pairs_of_records(records, 1, 1, other)
    with pytest.raises(ValueError, match="room"):
        runs.pairs_of_records(records, 0, 1, np.zeros((0, 2), np.uint64))
    unaligned = np.zeros(65, np.uint8)[1:].view(np.uint64).reshape(4, 2)
    assert runs.are_sorted(unaligned)
    with pytest.raises(ValueError, match="aligned"):
        runs.sort_records(unaligned, records)
