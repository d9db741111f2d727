"""Vectors from outside: what is used in place, what is converted, and blocks of rows."""

import numpy as np
import pytest

from lshfast.families.points import SparsePoints, dense_blocks, dense_points


@pytest.fixture
def sparse():
    return pytest.importorskip("scipy.sparse")


def some_rows(n=50, dim=30):
    x = np.random.default_rng(1).standard_normal((n, dim))
    return np.where(np.abs(x) < 1, 0, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_used_in_place(dtype, sparse):
    x = some_rows().astype(dtype)
    assert np.shares_memory(dense_points(x, 30), x)
    assert np.shares_memory(dense_points(x[3], 30), x)
    matrix = sparse.csr_matrix(x)
    assert np.shares_memory(dense_points(matrix, 30).values, matrix.data)


@pytest.mark.parametrize(
    ("dtype", "made"),
    [
        ("f2", "f4"),
        ("i1", "f4"),
        ("u2", "f4"),
        ("i4", "f8"),
        ("u8", "f8"),
        (">f4", "f4"),
        (">f8", "f8"),
        ("g", "f8"),
    ],
)
def test_other_numbers_are_converted(dtype, made, sparse):
    x = np.random.default_rng(1).integers(0, 100, (9, 4))
    points = dense_points(x.astype(dtype), 4)
    assert points.dtype == made
    assert (points == x).all()
    assert (dense_points(x.astype(dtype).tolist(), 4) == x).all()
    if dtype not in ("f2", "g"):
        assert (
            dense_points(
                sparse.csr_matrix(x).astype(np.dtype(dtype).newbyteorder("=")), 4
            ).dense()
            == x
        ).all()


def test_sparse_rows_are_cut_and_become_dense(sparse):
    x = some_rows()
    points = dense_points(sparse.csr_matrix(x), 30)
    assert isinstance(points, SparsePoints)
    assert points.shape == (50, 30)
    assert (points.dense() == x).all()
    assert (points[10:20].dense() == x[10:20]).all()
    assert (points[10:20][3:5].dense() == x[13:15]).all()
    assert len(points[20:10]) == 0
    with pytest.raises(ValueError, match="rows must be consecutive"):
        points[::2]


@pytest.mark.parametrize("most", [1, 30, 100, 10**6])
def test_blocks_of_rows(most, sparse):
    x = some_rows()
    for form in (x, sparse.csr_matrix(x), x[:0], sparse.csr_matrix(x)[:0]):
        points = dense_points(form, 30)
        blocks = [*dense_blocks(points, most)]
        assert sum(len(block) for _, block in blocks) == len(points)
        for rows, block in blocks:
            assert block.size <= max(most, 30)
            assert (block == x[rows]).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [[1.0, 2.0], [3.0, None]],
            r"x must be integers or floats, and row 1 is '\[3.0, None\]'",
        ),
        ([[1, 2], ["a", "b"]], r"x must be integers or floats, and row 1 is"),
        ([1, 2], "x must be integers or floats, not object"),
        (["1", "2"], "x must be integers or floats, not object"),
    ],
)
def test_objects_that_are_no_numbers(values, message):
    column = np.empty(len(values), object)
    column[:] = values
    with pytest.raises(TypeError, match=message):
        dense_points(column, 2, "x")


def test_numbers_beyond_doubles_are_refused():
    if np.finfo(np.longdouble).max > np.finfo(float).max:
        with pytest.raises(
            ValueError, match="x must be finite, and row 0, column 1 is inf"
        ):
            dense_points(np.array([[1, np.finfo(np.longdouble).max]]), 2, "x")
    with pytest.raises(ValueError, match="rows of one length"):
        dense_points([[1, 2], [3]], 2)
    with pytest.raises(TypeError, match="x must be an array or a CSR matrix, not Half"):
        dense_points(type("Half", (), {"indptr": [0]})(), 2, "x")
