"""Unary bit sampling: its values, distances, collisions and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.families import UnaryBits
from lshfast.families.unary import PIECE_STEPS
from tests.families.laws import check_description, check_law
from tests.reference import families_bits as reference
from tests.reference.hashing import MASK64

DTYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64]


@settings(max_examples=30)
@given(
    points=st.lists(
        st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=4
    ),
    limit=st.integers(9, 200),
    seed=st.integers(0, MASK64),
    dtype=st.sampled_from(DTYPES),
)
def test_values(points, limit, seed, dtype):
    expected = [[reference.unary(x, limit, seed, j) for j in range(70)] for x in points]
    assert (
        UnaryBits(limit, 3, seed).hash(np.array(points, dtype), 70).tolist() == expected
    )


def test_a21_the_l1_distance_is_the_hamming_distance_of_unary_codes():
    x, y = [3, 0, 5], [1, 2, 5]
    codes = reference.unary_code(x, 7), reference.unary_code(y, 7)
    assert sum(a != b for a, b in zip(*codes, strict=True)) == 4
    assert UnaryBits(7, 3).distance([x], [y]).tolist() == [4]
    assert UnaryBits(7, 3).collision_probability(4) == 1 - 4 / 21


@given(
    st.lists(
        st.tuples(st.integers(0, 2**50), st.integers(0, 2**50)), min_size=2, max_size=2
    ),
    st.booleans(),
)
def test_distances(pairs, swapped):
    family = UnaryBits(2**50, 2)
    x, y = zip(*pairs, strict=True)
    points = np.array([x, y], np.uint64)
    expected = sum(abs(a - b) for a, b in pairs)
    assert family.distance(points[0], points).tolist() == [0, expected]
    assert family.distance(points, points[::-1]).tolist() == [expected] * 2


def test_many_distances():
    """There are several pieces of the points."""
    points = (
        np.random.default_rng(1)
        .integers(0, 256, (PIECE_STEPS // 9 * 3, 9))
        .astype(np.uint8)
    )
    expected = np.abs(points.astype(int) - points[7].astype(int)).sum(axis=1)
    assert UnaryBits(255, 9).distance(points, points[7]).tolist() == expected.tolist()
    assert UnaryBits(255, 9).distance(points[7], points).tolist() == expected.tolist()
    whole = UnaryBits(255, 9).buckets(points, 3, 5)
    for part in (
        slice(0, 1000),
        slice(PIECE_STEPS // 15 - 500, PIECE_STEPS // 15 + 500),
    ):
        assert (UnaryBits(255, 9).buckets(points[part], 3, 5) == whole[part]).all()


def test_collisions():
    limit, dim = 20, 5
    points = [
        [0] * 5,
        [1, 0, 0, 0, 0],
        [20, 0, 0, 0, 0],
        [7] * 5,
        [20, 20, 0, 10, 0],
        [13, 20, 5, 20, 20],
        [20] * 5,
    ]
    check_law(UnaryBits(limit, dim, 9), np.array(points[:1]), np.array(points), 8192)


def test_values_of_a_limit_that_is_never_written_out():
    family = UnaryBits(2**40, 1000)
    points = np.random.default_rng(2).integers(0, 2**40, (2, 1000))
    check_law(family, points[:1], points[1:], 4096)


def test_description():
    assert (
        check_description(UnaryBits(7, 3))
        == '{"dim":3,"family":"unary","limit":7,"seed":1}'
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: UnaryBits(0, 3), ValueError, "limit must be in 1.."),
        (lambda: UnaryBits(7, 0), ValueError, "dim must be at least 1"),
        (
            lambda: UnaryBits(2**50, 9),
            ValueError,
            r"limit \* dim must be at most 2\*\*53",
        ),
        (lambda: UnaryBits(7.5, 3), TypeError, "limit must be an int"),
        (
            lambda: UnaryBits(7, 3).hash([[1.0, 2, 3]], 4),
            TypeError,
            "items must be whole numbers .* not float64",
        ),
        (lambda: UnaryBits(7, 3).hash([[True, False, True]], 4), TypeError, "not bool"),
        (
            lambda: UnaryBits(7, 3).hash([[0, 0, 0], [1, -2, 3]], 4),
            ValueError,
            "in 0..7, and row 1, column 1 is -2",
        ),
        (
            lambda: UnaryBits(7, 3).hash([[1, 2, 8]], 4),
            ValueError,
            "in 0..7, and row 0, column 2 is 8",
        ),
        (
            lambda: UnaryBits(7, 3).hash([[1, 2]], 4),
            ValueError,
            r"items must have shape \(n, 3\)",
        ),
        (lambda: UnaryBits(7, 3).hash([[1, 2, 3]], 0), ValueError, "count must be"),
        (
            lambda: UnaryBits(7, 3).distance([[1, 2, 3]], [[1, 2, 9]]),
            ValueError,
            "b must be in 0..7",
        ),
        (
            lambda: UnaryBits(7, 3).distance([[1, 2, 3]] * 2, [[1, 2, 3]] * 3),
            ValueError,
            "not 2 and 3",
        ),
        (
            lambda: UnaryBits(7, 3).collision_probability(22),
            ValueError,
            "distance must be in 0..21",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
