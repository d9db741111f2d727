"""p-stable projections for Euclidean and for Manhattan distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lshfast._common.types import Float64Array
from lshfast.families.stable import StableLines


@dataclass(frozen=True)
class GaussianLines(StableLines):
    """Cells of points on lines of random Gaussian direction and length, for Euclidean distance.

    A function maps x to floor((a · x + b) / width), with independent standard Gaussian components
    of a, and b uniform in [0, width). Two points at distance d are in the same cell with
    probability

        p(d) = 1 - 2 Φ(-w/d) - 2 d / (√(2π) w) · (1 - exp(-w² / (2 d²)))

    in any number of dimensions, where w is the width and Φ is the Gaussian distribution function.
    p(w/2) = .60955, p(w) = .36875 and p(2 w) = .19542, so the family is (w/2, 2 w, 1/2,
    1/3)-sensitive in all dimensions. If 4 d1 <= d2, a width of d2/2 therefore makes it (d1, d2,
    1/2, 1/3)-sensitive.

    Textbooks derive this statement for lines with directions of length 1, for which it is true in
    up to four dimensions. From five dimensions on, such a line puts points at distance 2 w into one
    cell with a probability above 1/3, which approaches 1 as the dimension grows.

    Parameters
    ----------
    dim : int
        Coordinates of a point, in 1..2**31 - 1.
    width : float
        Width of a cell, finite and above 0, in the unit of the coordinates. `best_width` computes
        one.
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
    lshfast.families.PlaneLines : Lines in the plane.
    lshfast.families.Probing : Base class of families that name promising buckets.

    Notes
    -----
    The lines are float32 numbers, 4 * dim * count bytes for `count` functions. They are drawn at
    the first use and kept by the object. Sums are float64, with one order of addition on all
    machines.

    References
    ----------
    M. Datar, N. Immorlica, P. Indyk, V. S. Mirrokni, "Locality-Sensitive Hashing Scheme Based on
    p-Stable Distributions", SoCG 2004.

    Examples
    --------
    >>> from lshfast.families import GaussianLines
    >>> family = GaussianLines(dim=3, width=4)
    >>> family.distance([[0, 0, 0], [1, 2, 2]], [1, 2, 2]).tolist()
    [3.0, 0.0]
    >>> family.collision_probability([0, 2, 4, 8]).round(5).tolist()
    [1.0, 0.60955, 0.36875, 0.19542]
    >>> values = family.hash([[0, 0, 0], [0, 0, 0.001]], 100)
    >>> values.shape, bool((values[0] == values[1]).mean() > 0.99)
    ((2, 100), True)
    """

    name: ClassVar[str] = "gaussian-lines"
    _cauchy: ClassVar[bool] = False

    @staticmethod
    def _law(ratio: Float64Array) -> Float64Array:
        ratio = np.minimum(ratio, 1e100)
        small = np.minimum(ratio, 1e-6) / math.sqrt(2 * math.pi)
        large = np.maximum(ratio, 1e-6)
        crossed = math.sqrt(2 / math.pi) * np.expm1(-large * large / 2) / large
        return np.where(
            ratio < 1e-6, small, _error_function(large / math.sqrt(2)) + crossed
        )

    @staticmethod
    def _below(x: Float64Array) -> Float64Array:
        return np.asarray((1 + _error_function(x / math.sqrt(2))) / 2)

    @staticmethod
    def _norms(differences: Float64Array) -> Float64Array:
        squares: Float64Array = np.einsum("ij,ij->i", differences, differences)
        # Squares out of range, or less accurate ones.
        wrong = ~((squares > 1e-280) & (squares < np.inf))
        norms: Float64Array = np.sqrt(squares)
        for i in np.flatnonzero(wrong).tolist():
            largest = np.abs(differences[i]).max()
            norms[i] = largest
            if 0 < largest < np.inf:
                scaled = differences[i] / largest
                norms[i] = largest * math.sqrt(scaled @ scaled)
        return norms


@dataclass(frozen=True)
class CauchyLines(StableLines):
    """Cells of points on lines of random Cauchy numbers, for Manhattan distance.

    A function maps x to floor((a · x + b) / width), with independent standard Cauchy components of
    a, and b uniform in [0, width). Two points at Manhattan distance d are in the same cell with
    probability

        p(d) = 2 arctan(w/d) / π - d / (π w) · ln(1 + (w/d)²)

    in any number of dimensions, where w is the width: p(w/2) = .44868, p(w) = .27936 and p(2 w) =
    .15311.

    Parameters
    ----------
    dim : int
        Coordinates of a point, in 1..2**31 - 1.
    width : float
        Width of a cell, finite and above 0, in the unit of the coordinates. `best_width` computes
        one.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.GaussianLines : Random lines for Euclidean distance.
    lshfast.families.CoordinateCells : Cells of a random coordinate, for Manhattan distance.
    lshfast.families.UnaryBits : Unary bits of whole numbers, for Manhattan distance.

    Notes
    -----
    Here rho decreases as the width grows, towards near / far. So `best_width` returns the greatest
    width with p2 at most `far_probability`. Memory and sums are as for `GaussianLines`.

    References
    ----------
    M. Datar, N. Immorlica, P. Indyk, V. S. Mirrokni, "Locality-Sensitive Hashing Scheme Based on
    p-Stable Distributions", SoCG 2004.

    Examples
    --------
    >>> from lshfast.families import CauchyLines
    >>> family = CauchyLines(dim=3, width=4)
    >>> family.distance([[0, 0, 0], [1, 2, 2]], [1, 2, 2]).tolist()
    [5.0, 0.0]
    >>> family.collision_probability([0, 2, 4, 8]).round(5).tolist()
    [1.0, 0.44868, 0.27936, 0.15311]
    """

    name: ClassVar[str] = "cauchy-lines"
    _cauchy: ClassVar[bool] = True

    @staticmethod
    def _law(ratio: Float64Array) -> Float64Array:
        ratio = np.clip(ratio, 1e-300, 1e100)
        with np.errstate(under="ignore"):
            return np.asarray(
                (2 * np.arctan(ratio) - np.log1p(ratio * ratio) / ratio) / math.pi
            )

    @staticmethod
    def _below(x: Float64Array) -> Float64Array:
        return np.asarray(0.5 + np.arctan(x) / math.pi)

    @staticmethod
    def _norms(differences: Float64Array) -> Float64Array:
        return np.asarray(np.abs(differences).sum(axis=1))


def _error_function(x: Float64Array) -> Float64Array:
    values = [math.erf(number) for number in x.ravel().tolist()]
    return np.array(values, np.float64).reshape(x.shape)
