"""The family of the L1 distance between vectors of whole numbers, by unary codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, array_of, check_int, numbers_of
from lshfast._common.rows import parts_of_rows
from lshfast._common.threads import for_each_piece
from lshfast._common.types import Float64Array, Int64Array
from lshfast.families.codes import BitCodes, BitFamily
from lshfast.families.draws import draw, scaled
from lshfast.families.family import check_pairs

# Domains of draws.
UNARY_COORDINATE = 42
UNARY_CUT = 43
MAX_LIMIT = 2**53

# Comparisons, or differences, in one piece of work: their bytes stay in the cache.
PIECE_STEPS = 2**18


@dataclass(frozen=True)
class UnaryBits(BitFamily[npt.NDArray[np.integer[Any]]]):
    """Unary bit sampling, for the L1 distance of whole numbers: p is 1 - d / (limit * dim).

    The unary code of a number x in 0..C has C bits, of which the first x are ones. The Hamming
    distance of two such codes is the difference of the numbers. So the Hamming distance d of the
    codes of vectors, with C * dim bits, is their L1 distance. A function is a random bit of this
    code. It is drawn as a coordinate i and a cut c in 1..C, and its value is 1 if x[i] >= c; the
    codes are never written out.

    Parameters
    ----------
    limit : int
        C, the greatest value of a coordinate, in 1..2**53.
    dim : int
        Coordinates of a vector, at least 1; limit * dim is at most 2**53.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.CoordinateCells : Cells of a random coordinate, for Manhattan distance.
    lshfast.families.CauchyLines : Random lines for Manhattan distance.

    References
    ----------
    A. Gionis, P. Indyk, R. Motwani, "Similarity Search in High Dimensions via Hashing", VLDB 1999.

    Examples
    --------
    >>> from lshfast.families import UnaryBits
    >>> family = UnaryBits(limit=7, dim=3)
    >>> (
    ...     family.distance([[3, 0, 5]], [[1, 2, 5]]).tolist(),
    ...     family.collision_probability(4).round(4).tolist(),
    ... )
    ([4.0], 0.8095)
    >>> bool(
    ...     abs(family.collide([[3, 0, 5]], [[1, 2, 5]], 4096).mean() - 17 / 21) < 0.03
    ... )
    True
    """

    name: ClassVar[str] = "unary"

    limit: int
    dim: int
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", check_int("limit", self.limit, 1, MAX_LIMIT))
        object.__setattr__(self, "dim", check_int("dim", self.dim, 1))
        if self.limit * self.dim > MAX_LIMIT:
            raise ValueError(
                f"limit * dim must be at most 2**53, not {self.limit} * {self.dim}"
            )

    @property
    def max_distance(self) -> float:
        """The largest L1 distance: limit * dim."""
        return self.limit * self.dim

    def samples(self, count: int) -> tuple[Int64Array, Int64Array]:
        """Return the coordinates and the cuts, in 1..limit, of the first `count` functions."""
        check_int("count", count, 1)
        coordinates = scaled(draw(self.seed, UNARY_COORDINATE, count), self.dim)
        cuts = scaled(draw(self.seed, UNARY_CUT, count), self.limit)
        return coordinates.astype(np.int64), cuts.astype(np.int64) + 1

    def codes(
        self, items: npt.ArrayLike, count: int, *, threads: int | None = None
    ) -> BitCodes:
        """Compute the values of vectors under the first `count` functions, packed.

        Parameters
        ----------
        items : array_like of integers, shape (n, dim)
            In 0..limit.
        count : int
            Number of functions, at least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        BitCodes
            All items have values.

        Raises
        ------
        TypeError
            If the coordinates are not integers.
        ValueError
            If a coordinate or an argument is out of range, or the vectors have a different shape.
        """
        points = whole_points(items, self.dim, self.limit)
        count = check_int("count", count, 1)
        coordinates, cuts = self.samples(count)
        most = min(self.limit, np.iinfo(points.dtype).max)
        reached = cuts <= most
        cuts_in_dtype = np.minimum(cuts, most).astype(points.dtype)
        octets = np.zeros((len(points), -(-count // 64) * 8), np.uint8)

        def work(rows: slice) -> None:
            ones = (points[rows][:, coordinates] >= cuts_in_dtype) & reached
            packed = np.packbits(ones, axis=1, bitorder="little")
            octets[rows, : packed.shape[1]] = packed

        for_each_piece(
            work, np.full(len(points), count, np.int64), PIECE_STEPS, threads
        )
        return BitCodes(octets.view("<u8").astype(np.uint64, copy=False), None)

    def distance(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Float64Array:
        """Compute the L1 distances of pairs of vectors.

        Parameters
        ----------
        a, b : array_like of integers, shape (n, dim)
            n vectors each, of numbers in 0..limit; one of them may be a single vector.

        Returns
        -------
        ndarray of float64, shape (n,)
            Whole numbers in 0..limit * dim.

        Raises
        ------
        TypeError, ValueError
            As for `codes`.
        """
        a = whole_points(a, self.dim, self.limit, "a")
        b = whole_points(b, self.dim, self.limit, "b")
        n = check_pairs(len(a), len(b))
        distances = np.empty(n)
        step = max(1, PIECE_STEPS // self.dim)
        for rows in parts_of_rows(n, step):
            left_points = a[rows] if len(a) == n else a
            right_points = b[rows] if len(b) == n else b
            differences = left_points.astype(np.int64) - right_points.astype(np.int64)
            distances[rows] = np.abs(differences).sum(axis=1)
        return distances

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute 1 - d / (limit * dim).

        Parameters
        ----------
        distance : array_like of float
            L1 distances d, in [0, limit * dim].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        distances = numbers_of(distance, "distance", 0, self.max_distance)
        return np.asarray(1 - distances / self.max_distance)


def whole_points(
    items: npt.ArrayLike, dim: int, limit: int, name: str = "items"
) -> npt.NDArray[np.integer[Any]]:
    """Return vectors of whole numbers, (n, dim); errors name row and column.

    Parameters
    ----------
    items : array_like of integers, shape (n, dim) or (dim,)
    dim : int
        Coordinates of a vector.
    limit : int
        The greatest value of a coordinate; the least is 0.
    name : str
        Name of the argument in errors.

    Returns
    -------
    ndarray of integers, shape (n, dim)

    Raises
    ------
    TypeError
        If the coordinates are not integers.
    ValueError
        If a coordinate is out of range, or the vectors have a different shape.
    """
    array = array_of(items, name)
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must be whole numbers of an integer dtype, not {array.dtype}"
        )
    if array.ndim not in (1, 2) or array.shape[-1] != dim:
        raise ValueError(
            f"{name} must have shape (n, {dim}) or ({dim},), not {array.shape}"
        )
    points = array.reshape(-1, dim)
    if points.size and (points.min() < 0 or points.max() > limit):
        row, column = np.argwhere((points < 0) | (points > limit))[0].tolist()
        raise ValueError(
            f"{name} must be in 0..{limit}, and row {row}, column {column} is {points[row, column]}"
        )
    return points
