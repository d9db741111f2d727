"""Families of vectors whose values are signs of products: hyperplanes, and vectors of ±1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_bool, check_int, numbers_of
from lshfast._common.rows import int64_range
from lshfast._common.types import Float32Array, Float64Array, UInt64Array
from lshfast.families.angles import AngleFamily
from lshfast.families.codes import BitCodes, BitFamily
from lshfast.families.points import dense_blocks, dense_points
from lshfast.families.probing import (
    ProbeCurves,
    Probing,
    check_probes,
    found_by_probes,
    probability_of_probes,
)
from lshfast.families.rotated import MAX_DIM, Projection
from lshfast.kernels import probes as kernels
from lshfast.kernels.simhash import MAX_BITS
from lshfast.sketch.arrays import checked
from lshfast.sketch.codes import Zero
from lshfast.sketch.signs import SignSketcher

# The number of absolute values of a product over which probabilities of probes are averaged, and
# the angles of these averages.
PROJECTIONS = 2**11
ANGLES: Float64Array = np.linspace(0, np.pi, 33)
# Coordinates of vectors that are dense at once while they are multiplied by vectors of ±1.
SKETCHED_COORDINATES = 2**22


@dataclass(frozen=True)
class Hyperplanes(AngleFamily, BitFamily[Any], Probing[Any]):
    """Random hyperplanes: a function is the side on which a vector lies.

    The distance is the angle between two vectors, in radians. Two vectors collide with probability
    1 - angle / pi. The value under a function is 1 if a coordinate of the vector after a random
    rotation is above 0. A rotation consists of three rounds of random signs and a fast Hadamard
    transform, and gives at least 256 functions; more functions take more rotations. Its collision
    curve is that of a Gaussian projection, as near as measurements tell, and the values of
    functions of one rotation vary less together than values of independent functions do.

    Zero vectors have no value.

    Parameters
    ----------
    dim : int
        Coordinates of a vector, in 1..1,048,576.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.
    structured : bool, default True
        False takes the products with vectors of independent Gaussian numbers instead, which is many
        times slower; it serves for comparison.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.SignVectors : Random vectors of ±1, for angles.
    lshfast.families.CrossPolytope : The farthest coordinate after a rotation, for angles.

    References
    ----------
    M. S. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002. The
    rotations: A. Andoni, P. Indyk, T. Laarhoven, I. Razenshteyn, L. Schmidt, "Practical and Optimal
    LSH for Angular Distance", NIPS 2015.

    Examples
    --------
    >>> from lshfast.families import Hyperplanes
    >>> family = Hyperplanes(dim=3)
    >>> (
    ...     family.distance([1, 0, 0], [1, 1, 0]).round(4).tolist(),
    ...     family.collision_probability(0.7854).round(4).tolist(),
    ... )
    ([0.7854], 0.75)
    >>> bool(abs(family.collide([1, 0, 0], [1, 1, 0], 2048).mean() - 0.75) < 0.04)
    True
    """

    name: ClassVar[str] = "hyperplanes"

    dim: int
    seed: SeedField = SEED
    structured: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", check_int("dim", self.dim, 1, MAX_DIM))
        check_bool("structured", self.structured)

    def codes(self, items: Any, count: int, *, threads: int | None = None) -> BitCodes:
        """Compute the sides of the first `count` hyperplanes on which vectors lie, packed.

        Parameters
        ----------
        items : array_like or CSR matrix of numbers, shape (n, dim) or (dim,)
            Finite. C-contiguous float32 and float64 are not copied. The values of float64 are
            rounded to float32 after the row has been scaled by a power of two.
        count : int
            At least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        BitCodes
            Rows of zeros for zero vectors, which have no value.

        Raises
        ------
        TypeError
            If the coordinates are not integers or floats.
        ValueError
            If the vectors have a different dim, or a coordinate is NaN or infinite.
        """
        points = dense_points(items, self.dim, finite=False)
        words, zero = self._projection().signs(
            points, check_int("count", count, 1), threads
        )
        return BitCodes(words, zero if zero.any() else None)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute 1 - angle / pi.

        Parameters
        ----------
        distance : array_like of float
            Angles in radians, in [0, pi].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        return np.asarray(1 - numbers_of(distance, "distance", 0, np.pi) / np.pi)

    def probe(
        self,
        items: Any,
        bands: int,
        rows_per_band: int,
        probes: int,
        *,
        threads: int | None = None,
    ) -> UInt64Array:
        """Compute the values of the `probes` most promising buckets of each band, best first.

        A bucket lies on the other side of some hyperplanes. The buckets with the least sum of
        squared distances to these hyperplanes come first.

        Parameters
        ----------
        items, threads
            As for `codes`.
        bands : int
            At least 1.
        rows_per_band : int
            In 1..4,096.
        probes : int
            In 1..1,048,576.

        Returns
        -------
        ndarray of uint64, shape (n, bands, probes)
            `NO_VALUE` for zero vectors, and where there are fewer buckets than `probes`.

        Raises
        ------
        TypeError, ValueError
            As for `codes`.
        """
        bands, rows_per_band, probes = check_probes(bands, rows_per_band, probes)
        count = bands * rows_per_band

        def work(coordinates: Float32Array, buckets: UInt64Array) -> None:
            kernels.signs(coordinates, rows_per_band, buckets)

        return self._projection().probe(work, items, count, bands, probes, threads)

    def probe_probability(
        self, distance: npt.ArrayLike, rows_per_band: int, probes: int
    ) -> Float64Array:
        """Compute the probability that the first `probes` buckets of a band hold a vector.

        Parameters
        ----------
        distance : array_like of float
            Angles in radians, in [0, pi].
        rows_per_band : int
            In 1..4,096.
        probes : int
            In 1..1,048,576.

        Returns
        -------
        ndarray of float64, with the shape of `distance`
            Exact for one probe, and where the probes are all buckets; otherwise interpolated
            between averages over some bands, whose error is below 0.01.
        """
        p = self.collision_probability(distance)
        return probability_of_probes(p, rows_per_band, probes, 1, _probe_curves)

    def _projection(self) -> Projection:
        return Projection(self.dim, self.seed, self.structured)


class _Products(NamedTuple):
    """Absolute values of a query's products, and how often the other vector has another sign."""

    query: Float64Array  # (PROJECTIONS,)
    other_sign: Float64Array  # (angles, PROJECTIONS)


@lru_cache(maxsize=1)
def _products() -> _Products:
    """Return what the curves of all numbers of rows and probes are made of."""
    shares = (int64_range(PROJECTIONS) + 0.5) / PROJECTIONS
    normal = NormalDist()
    quantiles = [normal.inv_cdf((1 + share) / 2) for share in shares.tolist()]
    query = np.array(quantiles, np.float64)
    # The other product is cos(angle) * query + sin(angle) * z, with a normal z. It has the other
    # sign if z is beyond a limit.
    with np.errstate(divide="ignore"):
        limits = query / np.tan(ANGLES)[:, None]
    tails = [math.erfc(limit / math.sqrt(2)) / 2 for limit in limits.ravel().tolist()]
    return _Products(query, np.array(tails, np.float64).reshape(limits.shape))


@lru_cache(maxsize=64)
def _probe_curves(rows: int, probes: int) -> ProbeCurves:
    query, other_sign = _products()
    costs = np.stack([np.zeros_like(query), query**2], axis=1)
    probabilities = found_by_probes(
        costs, np.stack([1 - other_sign, other_sign], axis=2), rows, probes
    )
    return ProbeCurves((1 - ANGLES / np.pi)[::-1], probabilities[::-1], rows)


@dataclass(frozen=True)
class SignVectors(AngleFamily, BitFamily[Any]):
    """Random vectors of ±1: a function is the sign of the product with one of them.

    The functions are the bits of a `SignSketcher`. The distance is the angle between two vectors,
    in radians. Two vectors collide with a probability of about 1 - angle / pi. This is an
    approximation, which is good for vectors of many coordinates none of which has most of the
    weight: products with few coordinates are often zero, and then the rule for zeros decides. The
    share of functions under which two vectors do not collide, times pi, estimates the angle.
    Hyperplanes take less time and have no such exceptions.

    Vectors whose products are all zero have no value.

    Parameters
    ----------
    dim : int
        Coordinates of a vector, in 1..2**24.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.
    zero : {"minus", "plus", "random"}, default "minus"
        The sign of a product of zero, as for `SignSketcher`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.Hyperplanes : Random hyperplanes, for angles.
    lshfast.sketch.SignSketcher : Codes of dense vectors.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.7.3, where one
    of the products of an example, and the share that estimates the angle, are misprinted.

    Examples
    --------
    >>> from lshfast.families import SignVectors
    >>> family = SignVectors(dim=4)
    >>> angle = family.distance([3, 4, 5, 6], [4, 3, 2, 1])
    >>> angle.round(4).tolist(), family.collision_probability(angle).round(4).tolist()
    ([0.6641], [0.7886])
    """

    name: ClassVar[str] = "sign-vectors"

    dim: int
    seed: SeedField = SEED
    zero: Zero = "minus"

    def __post_init__(self) -> None:
        dim = check_int("dim", self.dim, 1)
        sketcher = SignSketcher(dim, 1, self.seed, self.zero)
        object.__setattr__(self, "dim", sketcher.dim)

    def sketcher(self, bits: int) -> SignSketcher:
        """Return the sketcher whose bits are the first functions."""
        return _sketcher(self.dim, bits, self.seed, self.zero)

    def codes(self, items: Any, count: int, *, threads: int | None = None) -> BitCodes:
        """Compute the signs of products with the first `count` vectors of ±1, packed.

        Parameters
        ----------
        items : array_like or CSR matrix of numbers, shape (n, dim) or (dim,)
            Finite, and as small as `SignSketcher.dots` requires. Or the codes, (n, words) or
            (words,), that a `SignSketcher` with the parameters of the family and `count` bits made
            of vectors.
        count : int
            In 1..4,096.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        BitCodes
            Rows of zeros for vectors whose products are all zero, which have no value.

        Raises
        ------
        TypeError
            If the coordinates are not integers or floats.
        ValueError
            If the vectors have a different dim, or a coordinate is out of range, or a different
            sketcher made codes.
        """
        sketcher = self.sketcher(check_int("count", count, 1, MAX_BITS))
        if getattr(items, "hasher", None) is not None:
            stored_codes = checked(
                items,
                "items",
                sketcher,
                np.uint64,
                sketcher.words,
                "codes of ",
                "words a code",
            )
            sketched_codes = np.array(np.atleast_2d(stored_codes))
            is_empty = np.asarray(sketcher.is_empty(sketched_codes))
            sketched_codes[is_empty] = 0
            return BitCodes(sketched_codes, is_empty if is_empty.any() else None)
        points = dense_points(items, self.dim)
        words = np.empty((len(points), sketcher.words), np.uint64)
        without = np.empty(len(points), bool)
        for rows, block in dense_blocks(points, SKETCHED_COORDINATES):
            codes = sketcher.sketch(block, threads=threads)
            words[rows] = codes
            without[rows] = sketcher.is_empty(codes)
        words[without] = 0
        return BitCodes(words, without if without.any() else None)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute 1 - angle / pi, which is approximate for vectors of ±1.

        Parameters
        ----------
        distance : array_like of float
            Angles in radians, in [0, pi].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        return np.asarray(1 - numbers_of(distance, "distance", 0, np.pi) / np.pi)


@lru_cache(maxsize=16)
def _sketcher(dim: int, bits: int, seed: int, zero: Zero) -> SignSketcher:
    return SignSketcher(dim, bits, seed, zero)
