"""Cells of coordinates: their law beside collisions, against the reference, and what they refuse."""

import math
import re

import numpy as np
import pytest
import scipy.sparse

from lshfast.families import CoordinateCells
from tests.families.laws import check_description, check_law
from tests.reference import families_coordinates as reference


def test_the_law_over_its_range():
    """Differences of up to one width, spread over the coordinates in different ways."""
    family = CoordinateCells(dim=5, width=1.5, seed=3)
    spreads = [
        [1, 1, 1, 1, 1],
        [1, 0, 0, 0, 0],
        [0.5, 0.1, 0, -1, 0.2],
        [0, 0, 0, 0, 0],
        [-1, 1, -1, 1, 0],
    ]
    b = np.array(
        [
            [1.5 * share * x for x in spread]
            for spread in spreads
            for share in (0.01, 0.3, 0.7, 1.0)
        ]
    )
    check_law(family, np.full((1, 5), 17.3), b + 17.3, 4000)


def test_greater_differences_collide_at_least_as_often():
    family = CoordinateCells(dim=4, width=1.0)
    a, b = np.zeros((1, 4)), np.array([[5.0, 0, 0, 0]])
    assert family.collision_probability(5) == 0
    assert abs(family.collide(a, b, 4000).mean() - 0.75) < 4 * math.sqrt(
        0.75 * 0.25 / 4000
    )


@pytest.mark.parametrize("distance", [20.0, 72.0, 300.0])
def test_the_law_of_normal_differences(distance):
    rng = np.random.default_rng(4)
    family = CoordinateCells(dim=64, width=1.3)
    a = rng.standard_normal((500, 64))
    b = a + rng.standard_normal((500, 64)) * (distance / 64 * math.sqrt(math.pi / 2))
    right = float(family.normal_probability(distance))
    share = family.collide(a, b, 512).mean()
    assert abs(share - right) <= 4 * math.sqrt(right * (1 - right) / 512)
    assert family.normal_probability([0.0, math.inf]).tolist() == pytest.approx([1, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_those_of_the_reference(dtype):
    points = np.random.default_rng(5).standard_normal((20, 7)).astype(dtype) * 100
    family = CoordinateCells(dim=7, width=0.37, seed=11)
    right = [reference.values(point, 0.37, 11, 50) for point in points.tolist()]
    assert family.hash(points, 50).tolist() == right
    assert family.hash(scipy.sparse.csr_matrix(points), 50).tolist() == right
    assert family.hash(points, 20, threads=2).tolist() == [row[:20] for row in right]
    assert family.distance(points[:1], points).tolist() == pytest.approx(
        [
            math.fsum(
                abs(x - y) for x, y in zip(points[0].tolist(), point, strict=True)
            )
            for point in points.tolist()
        ]
    )


def test_description_and_what_is_refused():
    family = CoordinateCells(dim=3, width=2.5, seed=9)
    assert (
        check_description(family)
        == '{"dim":3,"family":"coordinate-cells","seed":9,"width":2.5}'
    )
    for width in (0, -1, math.nan, math.inf):
        with pytest.raises(ValueError, match="width must be finite and above 0"):
            CoordinateCells(3, width)
    with pytest.raises(ValueError, match=re.escape("shape (n, 3)")):
        family.hash(np.zeros((2, 4)), 5)
    with pytest.raises(ValueError, match="row 1, column 2 is nan"):
        family.hash([[0, 0, 0], [0, 0, math.nan]], 5)
    with pytest.raises(ValueError, match=r"cells of at most 2\*\*52"):
        family.hash([[1e300, 0, 0]], 50)
    with pytest.raises(ValueError, match=r"distance must be in 0"):
        family.collision_probability(-1)


def test_the_type_of_coordinates_does_not_change_the_cells():
    x = (np.random.default_rng(0).random((200, 4)) * 1e6).astype(np.float32)
    family = CoordinateCells(4, 0.7)
    assert (family.hash(x, 50) == family.hash(x.astype(np.float64), 50)).all()
