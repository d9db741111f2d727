"""Cells of single coordinates, for the Manhattan distance of real vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_int, check_number, numbers_of
from lshfast._common.rows import parts_of_rows
from lshfast._common.threads import for_each_piece
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.families.draws import draw, scaled
from lshfast.families.family import Family, check_pairs
from lshfast.families.points import DensePoints, Points, SparsePoints, dense_points

# Domains of draws.
COORDINATE = 46
COORDINATE_OFFSET = 47
MAX_CELL = 2.0**52

# Values, or coordinates, in one piece of work: their bytes stay in the cache.
PIECE_VALUES = 2**16


@dataclass(frozen=True)
class CoordinateCells(Family[Any]):
    """Cells of a random coordinate, for the L1 distance: p is 1 - d / (dim * width).

    A function is a random coordinate i and a random offset b in [0, width): its value is
    floor((x[i] + b) / width). Two vectors collide under it with probability p, the mean of max(0, 1
    - |x[i] - y[i]| / width) over the coordinates. This equals 1 - d / (dim * width), with d the L1
    distance, if no coordinate differs by more than the width, and is more otherwise: near vectors
    never collide less often than `collision_probability` says.

    Unlike for `CauchyLines`, the values of one set of functions have no heavy tails, and a function
    costs as much in any number of dimensions. `UnaryBits` is the exact counterpart for whole
    numbers of a small range.

    Parameters
    ----------
    dim : int
        Coordinates of a vector, in 1..2**31 - 1.
    width : float
        Width of a cell, finite and above 0.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.CauchyLines : Random lines for Manhattan distance.
    lshfast.families.UnaryBits : Unary bits of whole numbers, for Manhattan distance.

    References
    ----------
    A. Andoni, P. Indyk, "Efficient algorithms for substring near neighbor problem", SODA 2006:
    grids of one coordinate.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.families import CoordinateCells
    >>> family = CoordinateCells(dim=4, width=2.0)
    >>> a, b = np.zeros((1, 4)), np.array([[0.5, 1.0, 0.0, 0.5]])
    >>> family.distance(a, b).tolist(), family.collision_probability(2).tolist()
    ([2.0], 0.75)
    >>> bool(abs(family.collide(a, b, 4096).mean() - 0.75) < 0.03)
    True
    """

    name: ClassVar[str] = "coordinate-cells"

    dim: int
    width: float
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", check_int("dim", self.dim, 1, 2**31 - 1))
        object.__setattr__(self, "width", check_number("width", self.width))
        if not 0 < self.width < math.inf:
            raise ValueError(f"width must be finite and above 0, not {self.width}")

    def samples(self, count: int) -> tuple[Int64Array, Float64Array]:
        """Return the coordinates of the first `count` functions, and their offsets in widths."""
        words = draw(self.seed, COORDINATE, check_int("count", count, 1))
        coordinates = scaled(words, self.dim).astype(np.int64)
        offset_words = draw(self.seed, COORDINATE_OFFSET, count) >> np.uint64(11)
        return coordinates, np.asarray(offset_words.astype(np.float64) * 2.0**-53)

    def hash(
        self, items: Any, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the numbers of the cells of vectors under the first `count` functions.

        Parameters
        ----------
        items : array_like of numbers or CSR matrix, shape (n, dim) or (dim,)
        count : int
            At least 1. The values under function j do not depend on it.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            Cells 0, -1, 1, -2, 2, … have the values 0, 1, 2, 3, 4, …

        Raises
        ------
        TypeError
            If the coordinates are not integers or floats.
        ValueError
            If the vectors have a different shape, a coordinate is NaN or infinite, or a cell is
            beyond 2**52.
        """
        points = dense_points(items, self.dim)
        coordinates, offsets = self.samples(count)
        values = np.empty((len(points), count), np.uint64)

        def work(rows: slice) -> None:
            block = points[rows]
            dense = block.dense() if isinstance(block, SparsePoints) else block
            chosen_coordinates = dense[:, coordinates].astype(np.float64, copy=False)
            cells = np.floor(chosen_coordinates / self.width + offsets)
            if not (np.abs(cells) <= MAX_CELL).all():
                raise ValueError(
                    f"items must have cells of at most 2**52; the width of {self.width} is too "
                    "small"
                )
            numbers = cells.astype(np.int64)
            values[rows] = np.where(numbers < 0, -2 * numbers - 1, 2 * numbers).astype(
                np.uint64
            )

        cost = count + self.dim if isinstance(points, SparsePoints) else count
        costs = np.full(len(points), cost, np.int64)
        with np.errstate(over="ignore"):
            for_each_piece(work, costs, PIECE_VALUES, threads)
        return values

    def distance(self, a: Any, b: Any) -> Float64Array:
        """Compute the L1 distances of pairs of vectors.

        Parameters
        ----------
        a, b : array_like of numbers or CSR matrix, shape (n, dim)
            n vectors each; one of them may be a single vector.

        Returns
        -------
        ndarray of float64, shape (n,)

        Raises
        ------
        TypeError, ValueError
            As for `hash`.
        """
        first = dense_points(a, self.dim, "a")
        second = dense_points(b, self.dim, "b")
        distances = np.empty(check_pairs(len(first), len(second)))
        step = max(1, PIECE_VALUES // self.dim)
        for rows in parts_of_rows(len(distances), step):
            x = _dense_rows(first, rows, len(distances))
            y = _dense_rows(second, rows, len(distances))
            distances[rows] = np.abs(x.astype(np.float64) - y).sum(axis=1)
        return distances

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute max(0, 1 - d / (dim * width)).

        This is a lower bound if a coordinate differs by more than the width.

        Parameters
        ----------
        distance : array_like of float
            L1 distances d, at least 0.

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        distances = numbers_of(distance, "distance", 0, math.inf)
        return np.asarray(np.maximum(0.0, 1 - distances / (self.dim * self.width)))

    def normal_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute the collision probability for normally distributed differences.

        This is closer than `collision_probability` for distant vectors, whose coordinates differ by
        more than a width.

        Parameters
        ----------
        distance : array_like of float
            L1 distances d, at least 0. The standard deviation of a difference is then sqrt(pi / 2)
            * d / dim.

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        distances = numbers_of(distance, "distance", 0, math.inf)
        deviations = distances / self.dim * math.sqrt(math.pi / 2)
        with np.errstate(divide="ignore", over="ignore"):
            # At infinity, both terms below are equal.
            ratios = np.maximum(self.width / np.asarray(deviations), 1e-100)
            outside = math.sqrt(2 / math.pi) / ratios * -np.expm1(-(ratios**2) / 2)
        inside = np.vectorize(math.erf, otypes=[np.float64])(ratios / math.sqrt(2))
        return np.asarray(np.clip(inside - outside, 0, 1))


def _dense_rows(points: Points, rows: slice, n: int) -> DensePoints:
    """Return some of n rows as an array; a single point stands for all rows."""
    block = points if len(points) == 1 and n > 1 else points[rows]
    return block.dense() if isinstance(block, SparsePoints) else block
