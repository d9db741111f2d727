"""Angles between vectors, and the base class of families whose distance is the angle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lshfast._common.rows import parts_of_rows
from lshfast._common.types import Float64Array
from lshfast.families.family import Family, check_pairs
from lshfast.families.points import Points, dense_points, scaled

# Coordinates of pairs whose angles are computed at once: they stay in the cache.
ANGLE_COORDINATES = 2**15


class AngleFamily(Family[Any]):
    """Base class of families of vectors with `dim` coordinates whose distance is the angle."""

    dim: int

    @property
    def max_distance(self) -> float:
        """The largest angle, pi."""
        return math.pi

    def distance(self, a: Any, b: Any) -> Float64Array:
        """Compute the exact angles between pairs of vectors.

        Parameters
        ----------
        a, b : array_like or CSR matrix of numbers, shape (n, dim) or (dim,)
            Finite. One of them may be a single vector.

        Returns
        -------
        ndarray of float64, shape (n,)
            In radians, in [0, pi]; pi / 2 if either vector is zero.

        Raises
        ------
        TypeError
            If the coordinates are not integers or floats.
        ValueError
            If the vectors have a different dim, a coordinate is NaN or infinite, or the numbers of
            vectors differ.
        """
        return angles(a, b, self.dim)


def angles(a: Any, b: Any, dim: int) -> Float64Array:
    """Return the angles of pairs of vectors in radians, float64 (n,); pi / 2 for a zero vector.

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
    first = dense_points(a, dim, "a")
    second = dense_points(b, dim, "b")
    out = np.empty(check_pairs(len(first), len(second)))
    step = max(1, ANGLE_COORDINATES // dim)
    for rows in parts_of_rows(len(out), step):
        x = _directions(first, rows)
        y = _directions(second, rows)
        difference_norms = np.sqrt(((x - y) ** 2).sum(axis=1))
        sum_norms = np.sqrt(((x + y) ** 2).sum(axis=1))
        zero = ~(x.any(axis=1) & y.any(axis=1))
        # Exact also for small angles.
        out[rows] = np.where(
            zero, np.pi / 2, 2 * np.arctan2(difference_norms, sum_norms)
        )
    return out


def _directions(points: Points, rows: slice) -> Float64Array:
    """Return some rows, or the only one, with a norm of 1 or 0."""
    vectors = scaled(points[slice(0, 1) if len(points) == 1 else rows])
    norms = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(norms == 0, 1, norms))
