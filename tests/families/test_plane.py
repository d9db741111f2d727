"""Lines in the plane: their values, distances, collisions, range of validity and errors."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast.families import PlaneLines
from lshfast.families.plane import bucket_numbers, unit_line_probability
from tests.families.laws import check_description, check_law
from tests.reference import families_plane as reference
from tests.reference.hashing import MASK64

COORDINATE = st.floats(-1e12, 1e12)


# Values and distances


@settings(max_examples=40)
@given(
    st.lists(st.tuples(COORDINATE, COORDINATE), min_size=1, max_size=4),
    st.floats(1e-3, 1e6),
    st.integers(0, MASK64),
)
def test_values(points, width, seed):
    expected = [
        [reference.bucket(point, width, seed, j) for j in range(9)] for point in points
    ]
    assert PlaneLines(width, seed).hash(points, 9).tolist() == expected


@pytest.mark.slow
def test_lines_have_unit_directions_that_are_uniform():
    directions, starts = PlaneLines(1, 3).lines(20_000)
    assert np.hypot(*directions.T) == pytest.approx(np.ones(20_000), abs=1e-15)
    quadrants = np.histogram(
        np.arctan2(directions[:, 1], directions[:, 0]), 16, (-math.pi, math.pi)
    )[0]
    assert np.abs(quadrants - 1250).max() < 4 * math.sqrt(1250)
    assert np.abs(np.histogram(starts, 16, (0, 1))[0] - 1250).max() < 4 * math.sqrt(
        1250
    )


def test_buckets_left_of_the_origin_are_as_wide_as_others():
    points = np.array([[x, 0.0] for x in (-2.5, -0.5, 0.5)])
    assert bucket_numbers(
        points, np.array([[1.0, 0]]), np.zeros(1), 1.0
    ).ravel().tolist() == [-3, -1, 0]


def test_float32_points_and_sparse_ones():
    from scipy.sparse import csr_matrix

    points = np.random.default_rng(1).normal(0, 9, (50, 2)).astype(np.float32)
    expected = PlaneLines(0.5).hash(points.astype(np.float64), 12)
    for items in (points, csr_matrix(points), points.tolist()):
        assert (PlaneLines(0.5).hash(items, 12) == expected).all()
    assert (PlaneLines(0.5).hash(points, 12, threads=2) == expected).all()


def test_distances():
    family = PlaneLines(1)
    assert family.distance([[0, 0], [1, 1]], [[3, 4], [1, 1]]).tolist() == [5, 0]
    assert family.distance([[1e200, 0]], [[0, 1e200]]) == pytest.approx(
        math.sqrt(2) * 1e200
    )


# Collisions


def test_e3_collisions_in_the_plane():
    distances = np.array([0, 0.1, 0.5, 0.9, 1, 1.1, 2, 5, 30])
    points = np.stack([distances * 0.6, distances * 0.8], axis=1) * 7 + 100
    check_law(PlaneLines(7, 2), np.array([[100.0, 100]]), points, 8192)


def test_a22_the_texts_sensitivity_is_true_in_the_plane():
    """Texts say (a / 2, 2 a, 1/2, 1/3); exactly it is .6817 and .1627..., cut to four digits."""
    near, far = PlaneLines(3).sensitivity(1.5, 6)[2:]
    assert near == pytest.approx(1 - 1 / math.pi)
    assert near == pytest.approx(0.6817, abs=5e-5)
    assert far == pytest.approx(
        2 / math.pi * (math.pi / 6 - 2 * (1 - math.sqrt(3) / 2))
    )
    assert 0.1627 <= far < 0.1628
    assert near >= 1 / 2
    assert far <= 1 / 3


def test_e18_distances_that_the_texts_sensitivity_needs():
    """With width 2 d1, it holds for 4 d1 <= d2. Texts print d1 < 4 d2, for which no width gives 1/2 and 1/3."""
    for d1, d2 in ((1, 4), (1, 4.5), (3, 100)):
        near, far = PlaneLines(2 * d1).sensitivity(d1, d2)[2:]
        assert near >= 1 / 2
        assert far <= 1 / 3
    curves = np.array(
        [
            PlaneLines(width).collision_probability([1, 1.01])
            for width in np.geomspace(0.01, 1000, 200)
        ]
    )
    assert not ((curves[:, 0] >= 1 / 2) & (curves[:, 1] <= 1 / 3)).any()


@pytest.mark.parametrize(
    ("dim", "twice"),
    [
        (2, 0.163),
        (3, 0.25),
        (4, 0.312),
        (5, 0.359),
        (8, 0.460),
        (16, 0.60),
        (100, 0.84),
    ],
)
def test_e3_unit_lines_in_more_dimensions(dim, twice):
    """In five dimensions and more, the texts' 1/3 at twice the width is wrong."""
    probability = float(unit_line_probability(2, 1, dim))
    assert probability == pytest.approx(
        twice, abs=0.0051 if twice in (0.60, 0.84) else 5e-4
    )
    assert (probability <= 1 / 3) == (dim <= 4)
    for x in (0.5, 1, 1.5, 2, 7):
        assert float(unit_line_probability(3 * x, 3, dim)) == pytest.approx(
            reference.unit_line_probability(x, dim, 5000), abs=1e-4
        )


def test_distances_of_float32_are_exact():
    family = PlaneLines(1.0)
    a = np.array([[1e8, 1]], np.float32)
    b = np.array([[0.1, 0.3]], np.float32)
    assert family.distance(a, b) == np.hypot(*(a.astype(np.float64) - b).T)
    assert family.distance(
        np.float32([[3e38, 0]]), np.float32([[-3e38, 0]])
    ) == 2 * float(np.float32(3e38))


def test_unit_lines_drawn_in_five_dimensions():
    generator, count = np.random.default_rng(4), 20_000
    directions = generator.normal(size=(count, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = np.zeros((2, 5))
    points[1, 2] = 2
    buckets = bucket_numbers(points, directions, generator.random(count), 1.0)
    share = (buckets[0] == buckets[1]).mean()
    expected = float(unit_line_probability(2, 1, 5))
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / count)


def test_extreme_distances():
    far = unit_line_probability([0, 1e-300, 1e8, 1e200, math.inf], 1, 2)
    assert far[:2].tolist() == [1, 1]
    assert far[2] == pytest.approx(1 / math.pi * 1e-8)
    assert 0 < far[3] < 1e-90
    assert far[4] == 0
    curve = unit_line_probability(np.linspace(0, 50, 5001), 1, 3)
    assert (np.diff(curve) <= 1e-15).all()


def test_f28_axes():
    """Ex 3.7.5 of MMDS: the candidates of (1,2,3), (0,2,4), (4,3,2), with the axes as lines."""
    points = np.array([[1, 2, 3], [0, 2, 4], [4, 3, 2]])

    def candidates(width):
        buckets = bucket_numbers(points, np.eye(3), np.zeros(3), width)
        return {
            (a + 1, b + 1)
            for a, b in combinations(range(3), 2)
            if (buckets[a] == buckets[b]).any()
        }

    assert candidates(1.0) == {(1, 2)}
    assert candidates(2.0) == {(1, 2), (1, 3), (2, 3)}


# Descriptions and errors


def test_description():
    assert (
        check_description(PlaneLines(1))
        == '{"family":"plane-lines","seed":1,"width":1.0}'
    )
    check_description(PlaneLines(0.1 + 0.2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: PlaneLines(0), ValueError, "width must be finite and above 0, not 0"),
        (lambda: PlaneLines(math.inf), ValueError, "width must be finite"),
        (lambda: PlaneLines(math.nan), ValueError, "width must be finite"),
        (lambda: PlaneLines("1"), TypeError, "width must be a number"),
        (
            lambda: PlaneLines(1).hash([[1, 2, 3]], 2),
            ValueError,
            r"items must have shape \(n, 2\)",
        ),
        (
            lambda: PlaneLines(1).hash([[0, 0], [1, math.nan]], 2),
            ValueError,
            "row 1, column 1 is nan",
        ),
        (
            lambda: PlaneLines(1).hash([[-math.inf, 0]], 2),
            ValueError,
            "row 0, column 0 is -inf",
        ),
        (
            lambda: PlaneLines(1).hash([["a", "b"]], 2),
            TypeError,
            "items must be integers or floats",
        ),
        (
            lambda: PlaneLines(1).hash([[0, 0], [1e300, 0]], 2),
            ValueError,
            r"within 2\*\*52 widths .* \[1e\+300, 0.0\]",
        ),
        (
            lambda: PlaneLines(1e-300).hash([[1.7e308, 1.7e308]], 9),
            ValueError,
            "within",
        ),
        (lambda: PlaneLines(1).hash([[0, 0]], 0), ValueError, "count must be"),
        (
            lambda: PlaneLines(1).distance([[1.7e308, 0]], [[-1.7e308, 0]]),
            ValueError,
            "distance of pair 0 overflows",
        ),
        (
            lambda: PlaneLines(1).distance([[0, 0]] * 2, [[0, 0]] * 3),
            ValueError,
            "not 2 and 3",
        ),
        (
            lambda: PlaneLines(1).collision_probability(-1),
            ValueError,
            "distance must be in 0..inf",
        ),
        (lambda: unit_line_probability(1, 1, 1), ValueError, "dim must be at least 2"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
