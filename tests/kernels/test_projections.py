"""Kernels of projections: every CPU level against the reference, and what they refuse."""

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshfast.kernels import projections
from tests.reference import families_lines as reference
from tests.reference.hashing import MASK64

WORD64 = st.integers(0, MASK64)
EDGES = [
    0,
    1,
    2**12 - 1,
    2**12,
    MASK64,
    MASK64 - 1,
    2**63,
    2**61,
    2**61 + 2**12,
    2**62,
    3 << 60,
    39 << 54,
    1 << 40,
]
DOMAINS = {False: reference.GAUSSIAN, True: reference.CAUCHY}

# Coordinates around the depth of a block (96), functions around registers (8) and panels (32), and
# rows around tiles of 6 and chunks of 96.
SHAPES = [
    (0, 3, 4),
    (1, 1, 1),
    (2, 2, 7),
    (5, 95, 8),
    (6, 96, 9),
    (7, 97, 31),
    (13, 193, 32),
    (12, 5, 33),
    (97, 3, 65),
]


def lines_of(seed, cauchy, dim, count):
    matrix = np.empty((dim, count), np.float32)
    projections.draw_lines(seed, cauchy, matrix)
    return matrix, projections.offsets(seed, count)


def project(vectors, lines, width=1.0):
    """Return the positions and the values of vectors, and the first row without a cell or -1."""
    shape = len(vectors), len(lines[1])
    positions, values = np.zeros(shape), np.zeros(shape, np.uint64)
    wrong = projections.dense(vectors, *lines, width, positions, None)
    assert projections.dense(vectors, *lines, width, None, values) == wrong
    return positions, values, wrong


def csr_of(vectors):
    """Return the rows of an array without their zeros: (starts, columns, data)."""
    rows, columns = np.nonzero(vectors)
    starts = np.searchsorted(rows, np.arange(len(vectors) + 1))
    return starts.astype(np.int64), columns.astype(np.int64), vectors[rows, columns]


def expected(vectors, lines, width):
    """Return the positions by the definition, from given lines."""
    matrix, offsets = lines[0].tolist(), lines[1].tolist()
    rows = []
    for x in vectors.tolist():
        totals = [0.0] * len(offsets)
        for coordinate, numbers in zip(x, matrix, strict=True):
            totals = [
                total + coordinate * a
                for total, a in zip(totals, numbers, strict=False)
            ]
        rows.append(
            [total / width + u for total, u in zip(totals, offsets, strict=True)]
        )
    return rows


# Variates


@settings(max_examples=100)
@given(word=WORD64)
def test_variates_of_any_word(word):
    assert projections.gaussian(word) == reference.gaussian(word)
    assert projections.cauchy(word) == reference.cauchy(word)


@pytest.mark.parametrize("word", EDGES)
def test_variates_are_percentage_points(word):
    """They are quantiles of their distributions, to 15 digits; tail and sign are those of the word."""
    p, sign = reference.tail(word), -1 if word & 1 else 1
    assert projections.gaussian(word) == reference.gaussian(word)
    assert projections.cauchy(word) == reference.cauchy(word)
    assert projections.gaussian(word) == pytest.approx(
        -sign * NormalDist().inv_cdf(p), rel=1e-15, abs=1e-300
    )
    assert projections.cauchy(word) == pytest.approx(
        sign * math.tan(math.pi * (0.5 - p)), rel=1e-15 / p
    )


def test_variates_decrease_with_the_word():
    """Also where the formula of a part ends and that of another begins."""
    spread = {i << 52 for i in range(2**12)}
    borders = {
        int(p * 2**65) + (i << 12)
        for p in (0.075, math.exp(-25), 0.25)
        for i in range(-20, 20)
    }
    for words in (spread, borders):
        for variate in (projections.gaussian, projections.cauchy):
            drawn = [variate(word & ~1) for word in sorted(words)]
            assert all(a >= b - 1e-15 * abs(b) for a, b in pairwise(drawn))


@pytest.mark.parametrize("cauchy", [False, True])
@pytest.mark.parametrize("seed", [0, 1, MASK64])
def test_lines_and_offsets(cauchy, seed):
    matrix, offsets = lines_of(seed, cauchy, 5, 7)
    assert matrix.T.tolist() == [
        reference.line(seed, DOMAINS[cauchy], f, 5) for f in range(7)
    ]
    assert offsets.tolist() == [reference.offset(seed, f) for f in range(7)]
    assert (
        lines_of(seed, cauchy, 3, 2)[0] == matrix[:3, :2]
    ).all()  # neither dim nor count matter


# Positions and cells


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_dense_and_sparse(level, shape, dtype):
    n, dim, count = shape
    generator = np.random.default_rng(n)
    vectors = (
        generator.standard_normal((n, dim)) * (generator.random((n, dim)) < 0.7)
    ).astype(dtype)
    lines = lines_of(3, bool(n % 2), dim, count + n % 3)
    lines = lines[0], lines[1][:count]  # of the matrix only the first columns are used
    right = expected(vectors, lines, 0.3)
    positions, values, wrong = project(vectors, lines, 0.3)
    assert wrong == -1
    assert positions.tolist() == right
    assert values.tolist() == [
        [reference.value(math.floor(y)) for y in row] for row in right
    ]
    positions[:], values[:] = 0, 0
    assert projections.sparse(*csr_of(vectors), *lines, 0.3, positions, None) == -1
    assert projections.sparse(*csr_of(vectors), *lines, 0.3, None, values) == -1
    assert positions.tolist() == right
    assert values.tolist() == [
        [reference.value(math.floor(y)) for y in row] for row in right
    ]


@settings(max_examples=40)
@given(
    data=st.data(),
    seed=WORD64,
    cauchy=st.booleans(),
    small=st.booleans(),
    width=st.floats(1e-300, 1e300),
)
@example(data=None, seed=1, cauchy=True, small=True, width=1.0)
def test_any_vectors(level, data, seed, cauchy, small, width):
    """Subnormal and huge coordinates, fused and separate roundings, and positions that have no cell."""
    bits, dtype = (32, np.float32) if small else (64, np.float64)
    number = st.floats(allow_nan=False, allow_infinity=False, width=bits)
    rows = (
        [[1e-45, 3.4e38]] * 3
        if data is None
        else data.draw(st.lists(st.lists(number, min_size=2, max_size=2)))
    )
    vectors = np.array(rows, dtype).reshape(-1, 2)
    right = expected(vectors, lines_of(seed, cauchy, 2, 9), width)
    fits = [all(-(2.0**63) < y < 2.0**63 for y in row) for row in right]
    first = fits.index(False) if False in fits else -1
    positions, values, wrong = project(vectors, lines_of(seed, cauchy, 2, 9), width)
    assert wrong == first
    fitting = slice(None) if first < 0 else slice(first)
    assert positions[fitting].tolist() == right[fitting]
    assert values[fitting].tolist() == [
        [reference.value(math.floor(y)) for y in row] for row in right[fitting]
    ]


def test_equal_numbers_have_equal_positions_in_both_widths(level):
    vectors = np.random.default_rng(5).standard_normal((20, 150), dtype=np.float32)
    lines = lines_of(1, False, 150, 40)
    positions = project(vectors, lines)[0]
    assert (project(vectors.astype(np.float64), lines)[0] == positions).all()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_with_infinities_have_no_cell(level, number, dtype):
    vectors = np.ones((100, 4), dtype)
    vectors[98, 3] = number
    lines = lines_of(1, False, 4, 11)
    assert project(vectors, lines)[2] == 98
    out = np.zeros((100, 11), np.uint64)
    assert projections.sparse(*csr_of(vectors), *lines, 1.0, None, out) == 98


def test_cells_at_the_ends(level):
    """The last cells with a number, and positions at and next to walls."""
    matrix, offsets = np.ones((1, 9), np.float32), np.zeros(9)
    last = 2.0**63 - 1024
    for y in (
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        -5e-324,
        1 - 2**-53,
        -1 - 2**-52,
        2.0**52 + 1,
        2.0**53,
        last,
        -last,
    ):
        positions, values, wrong = project(np.array([[y]]), (matrix, offsets))
        assert wrong == -1
        assert positions.tolist() == [[y] * 9]
        assert values.tolist() == [[reference.value(math.floor(y))] * 9]
    for y in (2.0**63, -(2.0**63), 1e300):
        assert project(np.array([[0.0], [y]]), (matrix, offsets))[2] == 1


def test_unaligned_and_read_only_vectors(level):
    lines = lines_of(1, False, 3, 4)
    vectors = np.arange(6, dtype=np.float64).reshape(2, 3)
    shifted = (
        np.frombuffer(b"x" + vectors.tobytes(), np.uint8)[1:]
        .view(np.float64)
        .reshape(2, 3)
    )
    assert not shifted.flags.aligned
    assert not shifted.flags.writeable
    assert project(shifted, lines)[0].tolist() == project(vectors, lines)[0].tolist()


# What is refused


def call(**changed):
    given = {
        "vectors": np.zeros((2, 3)),
        "matrix": np.zeros((3, 5), np.float32),
        "offsets": np.zeros(4),
        "width": 1.0,
        "positions": np.zeros((2, 4)),
        "values": np.zeros((2, 4), np.uint64),
    }
    return projections.dense(*(given | changed).values())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"vectors": np.zeros((2, 2))}, "must have 3 coordinates"),
        (
            {"vectors": np.zeros((2, 0)), "matrix": np.zeros((0, 5), np.float32)},
            "must have 0 coordinates",
        ),
        ({"offsets": np.zeros(6)}, "1..5, the columns of the matrix, not 6"),
        ({"offsets": np.zeros(0)}, "1..5, the columns of the matrix, not 0"),
        ({"width": 0.0}, "finite and above 0, not 0.0"),
        ({"width": math.inf}, "finite and above 0, not inf"),
        ({"width": math.nan}, "finite and above 0, not nan"),
        ({"positions": np.zeros((1, 4))}, r"positions must be \(2, 4\), not \(1, 4\)"),
        (
            {"values": np.zeros((2, 5), np.uint64)},
            r"values must be \(2, 4\), not \(2, 5\)",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        call(**changed)


@pytest.mark.parametrize(
    ("starts", "columns", "message"),
    [
        ([0, 3], [0, 1], "starts must rise"),
        ([1, 0], [0, 1], "starts must rise"),
        ([], [0, 1], "starts must rise"),
        ([0, 2], [1, 0], "must rise, each below 3"),
        ([0, 2], [1, 1], "must rise, each below 3"),
        ([0, 2], [1, 3], "must rise, each below 3"),
        ([0, 2], [-1, 1], "must rise, each below 3"),
    ],
)
def test_damaged_sparse_rows_are_refused(starts, columns, message):
    starts, columns = np.array(starts, np.int64), np.array(columns, np.int64)
    lines = np.zeros((3, 4), np.float32), np.zeros(4)
    with pytest.raises(ValueError, match=message):
        projections.sparse(
            starts, columns, np.zeros(2), *lines, 1.0, np.zeros((1, 4)), None
        )


def test_data_of_another_length_is_refused():
    lines = np.zeros((3, 4), np.float32), np.zeros(4)
    starts, columns = np.array([0, 2]), np.array([0, 1])
    with pytest.raises(ValueError, match="data must have 2 elements"):
        projections.sparse(
            starts, columns, np.zeros(3), *lines, 1.0, np.zeros((1, 4)), None
        )
