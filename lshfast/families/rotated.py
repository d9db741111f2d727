"""Random projections of vectors by which families of angles hash: structured rotations, or Gaussian numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import for_each_piece
from lshfast.common.types import Float64Array, Int64Array, UInt64Array
from lshfast.families.family import check_pairs
from lshfast.families.points import DensePoints, Points, SparsePoints, dense_points, refuse_infinite
from lshfast.kernels import rotations as kernels

MAX_DIM = kernels.MAX_DIM

# Coordinates after rotations that one piece of work computes: some milliseconds.
PIECE_COORDINATES = 2**22
# Coordinates of pairs whose angles are computed at once: they stay in the cache.
ANGLE_COORDINATES = 2**15

Source = tuple[npt.NDArray[Any], Int64Array | None, Int64Array | None]


def padded_size(dim: int) -> int:
    """Return the number of coordinates that one rotation gives."""
    parts, block = kernels.shape(dim)
    return parts * block


def rotated_coordinates(
    points: Points, dim: int, seed: int, count: int, threads: int | None
) -> npt.NDArray[np.float32]:
    """Return the first `count` coordinates of vectors after rotations, float32 (n, count); zeros for zero vectors."""
    out = np.empty((len(points), count), np.float32)
    flips = _flips(seed, -(-count // padded_size(dim)), dim)

    def rotate(rows: slice) -> int:
        return kernels.rotate(*_source(points, rows), dim, flips, out[rows])

    _for_rows(rotate, points, count, threads)
    return out


def rotated_signs(
    points: Points, dim: int, seed: int, count: int, threads: int | None
) -> tuple[UInt64Array, npt.NDArray[np.uint8]]:
    """Return the packed signs of the first `count` coordinates, uint64 (n, words), and which vectors are zero."""
    words, zero = np.empty((len(points), -(-count // 64)), np.uint64), np.empty(len(points), np.uint8)
    flips = _flips(seed, -(-count // padded_size(dim)), dim)

    def work(rows: slice) -> int:
        return kernels.codes(*_source(points, rows), dim, flips, count, words[rows], zero[rows])

    _for_rows(work, points, count, threads)
    return words, zero


def rotated_farthest(
    points: Points, dim: int, seed: int, outputs: int, count: int, threads: int | None
) -> UInt64Array:
    """Return the place and the sign of the farthest of each `outputs` coordinates, uint64 (n, count)."""
    out = np.empty((len(points), count), np.uint64)
    flips = _flips(seed, -(-count * outputs // padded_size(dim)), dim)

    def work(rows: slice) -> int:
        return kernels.farthest(*_source(points, rows), dim, flips, outputs, out[rows])

    _for_rows(work, points, count * outputs, threads)
    return out


@lru_cache(maxsize=32)
def _flips(seed: int, rotations: int, dim: int) -> npt.NDArray[np.uint32]:
    flips = kernels.flips(seed, rotations, dim)
    flips.flags.writeable = False
    return flips


def _source(points: Points, rows: slice) -> Source:
    if isinstance(points, SparsePoints):
        return points.values, points.offsets[rows.start : rows.stop + 1], points.columns
    return points[rows].reshape(-1), None, None


def _for_rows(work: Callable[[slice], int], points: Points, count: int, threads: int | None) -> None:
    """Call work(rows) for pieces of rows; it returns the first row with a NaN or an infinity, or -1."""

    def checked(rows: slice) -> None:
        wrong = work(rows)
        if wrong >= 0:
            refuse_infinite(points, "items")
            raise ValueError(f"values of equal columns in row {rows.start + wrong} of items add up to an infinity")

    size = padded_size(points.shape[1])
    cost = size * -(-count // size)
    for_each_piece(checked, np.full(len(points), cost, np.int64), PIECE_COORDINATES, threads)


def angles(a: Any, b: Any, dim: int) -> Float64Array:
    """Return the angles between pairs of vectors in radians, float64 (n,); pi / 2 if one of them is zero.

    Parameters
    ----------
    a, b : array_like or CSR matrix, shape (n, dim)
        One of them may be a single vector.
    dim : int

    Raises
    ------
    TypeError, ValueError
        If these are not vectors of finite numbers with this dim, or the numbers of vectors differ.
    """
    first, second = dense_points(a, dim, "a"), dense_points(b, dim, "b")
    out = np.empty(check_pairs(len(first), len(second)))
    step = max(1, ANGLE_COORDINATES // dim)
    for start in range(0, len(out), step):
        rows = slice(start, min(len(out), start + step))
        x, y = _directions(first, rows), _directions(second, rows)
        apart, together = np.sqrt(((x - y) ** 2).sum(axis=1)), np.sqrt(((x + y) ** 2).sum(axis=1))
        zero = ~(x.any(axis=1) & y.any(axis=1))
        out[rows] = np.where(zero, np.pi / 2, 2 * np.arctan2(apart, together))  # exact also for small angles
    return out


def _directions(points: Points, rows: slice) -> Float64Array:
    """Return some rows, or the only one, with a norm of 1 or 0."""
    block = points[slice(0, 1) if len(points) == 1 else rows]
    dense: DensePoints = block.dense() if isinstance(block, SparsePoints) else block
    exponents = np.frexp(np.abs(dense).max(axis=1, initial=0))[1]
    scaled = np.ldexp(dense.astype(np.float64), -exponents[:, None])
    norms = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    return np.asarray(scaled / np.where(norms == 0, 1, norms))
