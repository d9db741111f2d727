"""Distinct numbers and rows, against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshfast.records.distinct import distinct_hashes, distinct_numbers, distinct_rows


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@given(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**63 - 1))))
def test_distinct_numbers(kind, numbers):
    expected, place = np.unique(np.array(numbers, kind), return_inverse=True)
    found, places = distinct_numbers(np.array(numbers, kind))
    assert (found.dtype, found.tolist(), places.tolist()) == (
        kind,
        expected.tolist(),
        place.tolist(),
    )


@pytest.mark.parametrize("size", [8, 2**20])
@given(hashes=st.lists(st.one_of(st.integers(0, 30), st.integers(0, 2**64 - 1))))
def test_distinct_hashes(size, hashes):
    """Also where hashes share a slot of the table, and in pieces."""
    array = np.array(hashes, np.uint64)
    found, places = distinct_hashes(array, size, size)
    expected, place = np.unique(array, return_inverse=True)
    assert (found.tolist(), places.tolist()) == (
        expected.tolist(),
        place.reshape(-1).tolist(),
    )


@pytest.mark.parametrize("most", [2**62, 10])
@given(st.lists(st.lists(st.integers(-1, 3), min_size=3, max_size=3)))
def test_distinct_rows(most, rows):
    matrix = np.array(rows, np.int64).reshape(-1, 3)
    expected, place = np.unique(matrix, axis=0, return_inverse=True)
    where, places = distinct_rows([*matrix.T[:2], matrix.T[2].astype(np.int8)], most)
    assert matrix[where].tolist() == expected.tolist()
    assert places.tolist() == place.reshape(-1).tolist()


def test_columns_may_be_bytes():
    where, places = distinct_rows([np.array([255, 0, 255], np.uint8)])
    assert (where[1] in (0, 2), places.tolist()) == (True, [1, 0, 1])
