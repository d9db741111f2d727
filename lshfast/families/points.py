"""Checks of vectors from outside: dense arrays are used in place, sparse matrices by their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lshfast._common.checks import array_of
from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.types import AnyArray, Float64Array, Int64Array, Matrix

DensePoints: TypeAlias = Matrix[np.float32] | Matrix[np.float64]

# Coordinates that are checked at once: they stay in the cache.
CHECKED_COORDINATES = 2**16


@dataclass(frozen=True, eq=False)
class SparsePoints:
    """Vectors by their coordinates other than zero: the rows of a CSR matrix.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        The coordinates of row i are at offsets[i] to offsets[i + 1] of `columns` and `values`.
    columns : ndarray of int64, shape (m,)
        In 0..dim - 1. Values of equal columns in a row are added.
    values : ndarray of float32 or float64, shape (m,)
    dim : int
    """

    offsets: Int64Array
    columns: Int64Array
    values: AnyArray
    dim: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and `dim`."""
        return len(self), self.dim

    def __getitem__(self, rows: slice) -> SparsePoints:
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(f"rows must be consecutive, not {rows}")
        offsets = self.offsets[start : max(start, stop) + 1]
        return SparsePoints(offsets, self.columns, self.values, self.dim)

    def dense(self) -> DensePoints:
        """Return the rows as an array, (n, dim); raise ValueError if a sum of values overflows."""
        first, last = self.offsets[[0, -1]]
        dense = np.zeros(self.shape, self.dtype)
        rows = np.repeat(int64_range(len(self)), np.diff(self.offsets))
        with np.errstate(over="ignore"):
            np.add.at(dense, (rows, self.columns[first:last]), self.values[first:last])
        refuse_infinite(dense, "vectors")
        return dense


Points: TypeAlias = DensePoints | SparsePoints


def dense_points(
    items: Any, dim: int, name: str = "items", *, finite: bool = True
) -> Points:
    """Return vectors as an array of float32 or float64, or as `SparsePoints`.

    Parameters
    ----------
    items : array_like of numbers, CSR matrix or SparsePoints, shape (n, dim) or (dim,)
        C-contiguous float32 and float64 are not copied, also as the values of a CSR matrix.
        Integers of up to 16 bits and float16 become float32, other numbers float64. A column of
        lists, of pandas, polars or pyarrow, is copied. A CSR matrix has the attributes `indptr`,
        `indices`, `data` and `shape`; a sparse matrix with `tocsr` is converted.
    dim : int
        Coordinates of a vector.
    name : str
        Name of the argument in errors.
    finite : bool, default True
        Whether to check that the coordinates are finite. Kernels that check this themselves call
        `refuse_infinite`.

    Returns
    -------
    ndarray of float32 or float64, shape (n, dim), C-contiguous, or SparsePoints

    Raises
    ------
    TypeError
        If the coordinates are not integers or floats.
    ValueError
        If the vectors have a different shape, a coordinate is NaN or infinite, or the CSR matrix is
        damaged.
    """
    points: Points
    if isinstance(items, SparsePoints) and items.dim == dim:
        points = items
    elif hasattr(items, "indptr") or hasattr(items, "tocsr"):
        points = _sparse(items, dim, name)
    else:
        points = _dense(items, dim, name)
    if finite:
        refuse_infinite(points, name)
    return points


def refuse_infinite(points: Points, name: str) -> None:
    """Raise an error that names the first coordinate that is NaN or infinite, if there is one."""
    if isinstance(points, SparsePoints):
        first, last = points.offsets[[0, -1]].tolist()
        for start in range(first, last, CHECKED_COORDINATES):
            values = points.values[start : min(last, start + CHECKED_COORDINATES)]
            is_finite = np.isfinite(values)
            if not is_finite.all():
                place = start + int(np.argmin(is_finite))
                row = int(np.searchsorted(points.offsets, place, side="right")) - 1
                raise _not_finite(
                    name, row, int(points.columns[place]), points.values[place]
                )
        return
    step = max(1, CHECKED_COORDINATES // max(1, points.shape[1]))
    for start in range(0, len(points), step):
        is_finite = np.isfinite(points[start : start + step])
        if not is_finite.all():
            row, column = np.argwhere(~is_finite)[0].tolist()
            raise _not_finite(name, start + row, column, points[start + row, column])


def dense_blocks(
    points: Points, most: int = CHECKED_COORDINATES
) -> Iterator[tuple[slice, DensePoints]]:
    """Yield slices of rows and these rows as arrays of up to `most` coordinates or one row."""
    step = max(1, most // max(1, points.shape[1]))
    for rows in parts_of_rows(len(points), step):
        block = points[rows]
        yield rows, block.dense() if isinstance(block, SparsePoints) else block


def _not_finite(name: str, row: int, column: int, value: Any) -> ValueError:
    return ValueError(
        f"{name} must be finite, and row {row}, column {column} is {value}"
    )


def _as_floats(array: AnyArray, name: str) -> AnyArray:
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be integers or floats, not {array.dtype}")
    if array.dtype.kind == "f" and array.dtype.itemsize in (4, 8):
        return array.astype(
            np.float32 if array.dtype.itemsize == 4 else np.float64, copy=False
        )
    small = array.dtype.itemsize <= 2
    with np.errstate(over="ignore"):
        return array.astype(np.float32 if small else np.float64)


def _dense(items: Any, dim: int, name: str) -> DensePoints:
    array = array_of(items, name)
    if array.dtype == object and array.ndim == 1 and not _is_one_point(array):
        array = _stacked(array, dim, name)
    array = _as_floats(array, name)
    if array.ndim not in (1, 2) or array.shape[-1] != dim:
        raise ValueError(
            f"{name} must have shape (n, {dim}) or ({dim},), not {array.shape}"
        )
    return np.ascontiguousarray(array.reshape(-1, dim))


def _is_one_point(values: AnyArray) -> bool:
    """Return whether objects are coordinates of a point: whether the first is no sequence."""
    if len(values) == 0 or values[0] is None:
        return False
    return bool(np.isscalar(values[0])) or not hasattr(values[0], "__len__")


def _stacked(rows: AnyArray, dim: int, name: str) -> AnyArray:
    """Return the rows of a column of lists, as pandas and pyarrow have them, as one array."""
    arrays = [array_of(item, f"row {row} of {name}") for row, item in enumerate(rows)]
    for row, (item, array) in enumerate(zip(rows, arrays, strict=True)):
        if array.shape != (dim,):
            text = str(item)[:60]
            raise ValueError(
                f"{name} must have {dim} coordinates in each row, and row {row} is {text!r}"
            )
        if array.dtype.kind not in "iuf":
            text = str(item)[:60]
            raise TypeError(
                f"{name} must be integers or floats, and row {row} is {text!r}"
            )
    return np.stack(arrays) if arrays else np.empty((0, dim))


def _sparse(items: Any, dim: int, name: str) -> SparsePoints:
    if getattr(items, "format", "csr") != "csr" and hasattr(items, "tocsr"):
        items = items.tocsr()
    if not all(
        hasattr(items, attribute)
        for attribute in ("indptr", "indices", "data", "shape")
    ):
        raise TypeError(
            f"{name} must be an array or a CSR matrix, not {type(items).__name__}"
        )
    shape = tuple(items.shape)
    if len(shape) != 2 or shape[1] != dim:
        raise ValueError(f"{name} must have shape (n, {dim}), not {shape}")
    offsets = np.asarray(items.indptr)
    columns = np.asarray(items.indices)
    if offsets.dtype.kind not in "iu" or columns.dtype.kind not in "iu":
        raise TypeError(
            f"indptr and indices of {name} must be integers, not {offsets.dtype} and "
            f"{columns.dtype}"
        )
    offsets = np.ascontiguousarray(offsets, np.int64)
    columns = np.ascontiguousarray(columns, np.int64)
    values = np.ascontiguousarray(_as_floats(np.asarray(items.data), name))
    fault = _csr_fault(offsets, columns, values, shape)
    if fault is not None:
        raise ValueError(f"{name} is not a CSR matrix: {fault}")
    return SparsePoints(offsets, columns, values, dim)


def _csr_fault(
    offsets: Int64Array,
    columns: Int64Array,
    values: AnyArray,
    shape: tuple[int, int],
) -> str | None:
    """Return the fault of arrays that are no CSR matrix of this shape, or None."""
    if (
        offsets.shape != (shape[0] + 1,)
        or columns.ndim != 1
        or columns.shape != values.shape
    ):
        return "indptr, indices and data do not have the right lengths"
    if (
        offsets[0] < 0
        or offsets[-1] > len(columns)
        or (offsets[1:] < offsets[:-1]).any()
    ):
        return f"indptr must rise from 0 to at most {len(columns)}"
    used_columns = columns[offsets[0] : offsets[-1]]
    if used_columns.size and (used_columns.min() < 0 or used_columns.max() >= shape[1]):
        return f"indices must be in 0..{shape[1] - 1}"
    return None


def scaled(points: Points) -> Float64Array:
    """Return points times the powers of two that bring their greatest coordinates to [1/2, 1)."""
    dense = points.dense() if isinstance(points, SparsePoints) else points
    exponents = np.frexp(np.abs(dense).max(axis=1, initial=0))[1]
    return np.asarray(np.ldexp(dense.astype(np.float64), -exponents[:, None]))
