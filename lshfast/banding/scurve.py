"""S-curves: the probability that a pair becomes a candidate, as a function of its similarity."""

from __future__ import annotations

from functools import cache
from typing import overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int
from lshfast._common.types import Float64Array


@overload
def scurve(
    similarity: float, bands: int, rows: int, buckets: int | None = None
) -> np.float64: ...
@overload
def scurve(
    similarity: npt.ArrayLike, bands: int, rows: int, buckets: int | None = None
) -> Float64Array: ...
def scurve(
    similarity: npt.ArrayLike, bands: int, rows: int, buckets: int | None = None
) -> np.float64 | Float64Array:
    """Return the probability that a pair becomes a candidate, 1 - (1 - s**r)**b.

    If each band is hashed to m buckets, different bands share one with probability 1 / m, and a
    pair becomes a candidate with probability 1 - ((1 - s**r) (1 - 1 / m))**b.

    Parameters
    ----------
    similarity : array_like of float
        s, in [0, 1].
    bands, rows : int
        b and r, each at least 1.
    buckets : int, optional
        m, at least 1. By default, only equal bands share a bucket.

    Examples
    --------
    >>> from lshfast.banding.scurve import scurve
    >>> scurve([0.2, 0.5, 0.8], bands=20, rows=5).round(6).tolist()
    [0.006381, 0.470051, 0.999644]
    """
    s = np.asarray(similarity, np.float64)
    outside = ~((s >= 0) & (s <= 1))
    if np.any(outside):
        raise ValueError(
            f"similarity must be in [0, 1], not {s[outside].flat[0] if s.ndim else s}"
        )
    if bands < 1 or rows < 1:
        raise ValueError(f"bands and rows must be at least 1, not {bands} and {rows}")
    with np.errstate(divide="ignore"):  # log 0 = -inf, and exp(-inf) = 0 is correct
        missed = np.log1p(-(s**rows))
        if buckets is not None:
            missed = missed + np.log1p(-1 / check_int("buckets", buckets, 1))
        return np.asarray(-np.expm1(bands * missed))[()]


def half_point(bands: int, rows: int) -> float:
    """Return the similarity of probability 1/2 to be a candidate: (1 - 2**(-1/b))**(1/r)."""
    return float((1 - 2 ** (-1 / bands)) ** (1 / rows))


def approximate_threshold(bands: int, rows: int) -> float:
    """Return (1/b)**(1/r), an approximation; the probability there is about 63 %."""
    return float((1 / bands) ** (1 / rows))


def steepest(bands: int, rows: int) -> tuple[float, float]:
    """Return (similarity, slope) at the steepest point: s = ((r - 1) / (r b - 1))**(1/r)."""
    if bands * rows == 1:
        return 0.0, 1.0
    s = ((rows - 1) / (rows * bands - 1)) ** (1 / rows)
    slope = bands * rows * s ** (rows - 1) * (1 - s**rows) ** (bands - 1)
    return float(s), float(slope)


def false_rates(threshold: float, bands: int, rows: int) -> tuple[float, float]:
    """Return the area under the S-curve below the threshold, and over it above the threshold.

    Other libraries call them the rates of false positives and false negatives. They are computed by
    Gauss-Legendre quadrature with 64 nodes on each side.
    """
    nodes, weights = _quadrature()
    below = threshold * (nodes + 1) / 2
    above = threshold + (1 - threshold) * (nodes + 1) / 2
    positive = threshold / 2 * float(weights @ scurve(below, bands, rows))
    negative = (1 - threshold) / 2 * float(weights @ (1 - scurve(above, bands, rows)))
    return positive, negative


@cache
def _quadrature() -> tuple[Float64Array, Float64Array]:
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return nodes, weights
