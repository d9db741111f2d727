"""Grid squares: their values, distances, collisions, the numbers of the text, and errors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lshfast import TokenSets
from lshfast.families import GridSquares
from tests.conftest import csr
from tests.families.laws import check_description, check_law
from tests.reference import families_bits as reference
from tests.reference.hashing import EMPTY, MASK64


def sets_of(rows):
    return TokenSets(*csr(rows))


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.integers(0, 6)), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(0, MASK64),
)
def test_values(rows, squares, seed):
    family = GridSquares(7, squares, seed=seed)
    expected = [
        [reference.grid_squares(row, 7, squares, seed, j) for j in range(9)]
        for row in rows
    ]
    found = family.hash(sets_of(rows), 9)
    assert found.tolist() == [
        [EMPTY if value is None else value for value in row] for row in expected
    ]
    for row, buckets in zip(
        expected, family.buckets(sets_of(rows), 3, 3).tolist(), strict=True
    ):
        assert [bucket == EMPTY for bucket in buckets] == [
            None in row[i : i + 3] for i in (0, 3, 6)
        ]


def test_items_that_lack_a_square_do_not_collide_even_with_themselves():
    family = GridSquares(50)
    rows = sets_of([[], [1, 2], list(range(50))])
    assert family.collide(rows, rows, 200).any(axis=1).tolist() == [False, False, True]
    assert family.collide(rows, rows, 200)[2].all()


def test_distances():
    family = GridSquares(10)
    a = sets_of([[1, 2, 2, 3], [], [1], list(range(10))])
    b = sets_of([[2, 3, 3, 9], [1], [2], list(range(10))])
    assert family.distance(a, b).tolist() == [0.8, 1, 1, 0]
    part = TokenSets([2, 5], [0, 11, 1, 2, 3])  # tokens of no row are not looked at
    assert family.distance(part, b).tolist() == family.distance(a.take([0]), b).tolist()
    assert (family.hash(part, 50) == family.hash(a, 50)[:1]).all()
    assert family.distance(a.take([0]), b).tolist() == [0.8, 0.9, 0.9, 0.7]


def test_collisions():
    a = sets_of([list(range(90))])
    b = sets_of([list(range(start, 100)) for start in (0, 10, 40, 60, 80, 90)])
    for squares in (1, 2, 3):
        check_law(GridSquares(100, squares, seed=5), a, b, 8192)


def test_prints_of_the_model():
    """Prints drawn by the model of the text: two fingers share .2**2 of the squares, two prints of one .2 * .8."""
    generator, family, n = np.random.default_rng(3), GridSquares(400), 300
    first = generator.random((n, 400)) < 0.2
    other = np.where(
        first, generator.random((n, 400)) < 0.8, generator.random((n, 400)) < 0.05
    )
    prints = [
        sets_of([np.flatnonzero(row).tolist() for row in rows])
        for rows in (first, other)
    ]
    for a, b, expected in (
        (prints[0], prints[1], family.same),
        (prints[0].take(range(1, n)), prints[0].take(range(n - 1)), family.different),
    ):
        distances = family.distance(a, b)
        assert abs(distances.mean() - expected) < 4 * distances.std() / math.sqrt(
            len(distances)
        )
        shares = family.collide(a, b, 512).mean(axis=1)
        chances = family.collision_probability(distances)
        deviations = shares - chances
        assert abs(deviations.mean()) < 4 * math.sqrt(
            chances.mean() / 512 / len(shares)
        ) + 4 * deviations.std() / math.sqrt(512)


def test_f31_numbers_of_the_text():
    """MMDS 3.8.5; its .985, .063, .970 and 1/250 are from rounded numbers: the last is .0040242, 1 in 248.5."""
    family = GridSquares(1000)
    both = [family.same, family.different]
    assert family.collision_probability(both) == pytest.approx([0.008 * 0.512, 0.2**6])
    assert family.collision_probability(both) == pytest.approx([0.004096, 6.4e-5])
    assert family.or_(1024).collision_probability(both) == pytest.approx(
        [0.98505, 0.06344], abs=5e-6
    )
    found, false = family.or_(1024).and_(2).collision_probability(both)
    assert found == pytest.approx(0.97032, abs=5e-6)
    assert false == pytest.approx(0.0040242, abs=5e-8)
    assert 1 / false == pytest.approx(248.5, abs=0.05)


def test_f32_exercises():
    """Of all numbers of functions, 1030 make the sum of false negatives and false positives least."""
    family = GridSquares(1000)
    both = [family.same, family.different]
    found, false = family.or_(2048).collision_probability(both)
    assert 1 - found == pytest.approx(2.2356e-4, abs=5e-9)
    assert false == pytest.approx(0.122849, abs=5e-7)
    numbers = range(900, 1200)
    sums = [
        1 - same + different
        for same, different in (
            family.or_(n).collision_probability(both) for n in numbers
        )
    ]
    assert numbers[int(np.argmin(sums))] == 1030
    assert min(sums) == pytest.approx(0.0783844, abs=5e-8)
    two = GridSquares(1000, squares=2)
    assert two.collision_probability([two.same, two.different]) == pytest.approx(
        [0.0256, 0.0016]
    )
    closed = [1 - (1 - 0.0256) ** 500, 1 - (1 - 0.0016) ** 500]
    assert two.or_(500).collision_probability(
        [two.same, two.different]
    ) == pytest.approx(closed)


def test_large_grids_cost_what_their_functions_use():
    rng = np.random.default_rng(1)
    family = GridSquares(2**24, squares=2)
    rows = [rng.integers(0, 2**24, 50).tolist() for _ in range(40)]
    rows[7] = sorted({*family.functions(3).ravel().tolist()[:4], 5})
    assert family.hash(sets_of(rows), 3).tolist() == [
        [
            0 if set(squares) <= set(row) else EMPTY
            for squares in family.functions(3).tolist()
        ]
        for row in rows
    ]


def test_description():
    family = GridSquares(400, 2, minutia=0.25)
    assert check_description(family) == (
        '{"family":"grid-squares","grid":400,"match":0.8,"minutia":0.25,"seed":1,"squares":2}'
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: GridSquares(0), ValueError, "grid must be in"),
        (
            lambda: GridSquares(10, 0),
            ValueError,
            r"squares must be in 1\.\.1024, not 0",
        ),
        (
            lambda: GridSquares(10, 10**9),
            ValueError,
            r"squares must be in 1\.\.1024, not 1000000000",
        ),
        (
            lambda: GridSquares(10, minutia=1.5),
            ValueError,
            r"minutia must be in \[0, 1\], not 1.5",
        ),
        (lambda: GridSquares(10, match=math.nan), ValueError, "match must be in"),
        (lambda: GridSquares(10, match="a"), TypeError, "match must be a number"),
        (
            lambda: GridSquares(10).hash(sets_of([[0], [], [3, 10]]), 3),
            ValueError,
            "in 0..9, and row 2 has 10",
        ),
        (lambda: GridSquares(10).hash([[1]], 3), TypeError, "must be TokenSets"),
        (lambda: GridSquares(10).hash(sets_of([[1]]), 0), ValueError, "count must be"),
        (
            lambda: GridSquares(10).distance(sets_of([[1]]), sets_of([[11]])),
            ValueError,
            "b must be squares in 0..9",
        ),
        (
            lambda: GridSquares(10).collision_probability(2),
            ValueError,
            "distance must be in 0..1",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
