"""Gaussian numbers by the Box-Muller transform, Gaussian vectors, and uniform points of a sphere.

These use the logarithms and cosines of numpy, whose last bit may depend on the machine.
`GaussianLines` of `lshfast.families` has numbers that are the same everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import Seed, array_of, check_int, check_seed
from lshfast._common.types import Float64Array
from lshfast.kernels import hashing as kernels

# The domain of the numbers that are transformed.
BOX_MULLER = 68

# A covariance matrix may differ from its transpose by rounding.
ASYMMETRY = 1e-12

# More numbers than memory can hold; products of sizes below it do not overflow.
MOST_NUMBERS = 1 << 56


def box_muller(u: npt.ArrayLike, v: npt.ArrayLike) -> tuple[Float64Array, Float64Array]:
    """Return two independent standard Gaussian numbers for each two independent uniform numbers.

    The point (x, y) has the distance R = sqrt(-2 ln(1 - u)) from the origin, whose distribution
    function is 1 - exp(-r**2 / 2), and the angle 2 pi v.

    Parameters
    ----------
    u, v : array_like of numbers
        In 0..1 without 1, of one shape or shapes that numpy broadcasts.

    Returns
    -------
    x, y : ndarray of float64

    Raises
    ------
    TypeError
        If these are not numbers.
    ValueError
        If a number is out of range or NaN, or the shapes do not fit.

    See Also
    --------
    lshfast.hashing.gaussian_vectors : Draw vectors of a Gaussian distribution.

    References
    ----------
    G. E. P. Box, M. E. Muller, "A Note on the Generation of Random Normal Deviates", Ann. Math.
    Statist. 29, 1958.

    Examples
    --------
    >>> from lshfast.hashing import box_muller
    >>> x, y = box_muller(0.5, 0)
    >>> round(float(x), 5), float(y)
    (1.17741, 0.0)
    """
    u = _unit_numbers(u, "u")
    v = _unit_numbers(v, "v")
    try:
        np.broadcast_shapes(u.shape, v.shape)
    except ValueError:
        raise ValueError(
            f"u and v must have shapes that can be broadcast, not {u.shape} and {v.shape}"
        ) from None
    radius = np.sqrt(-2 * np.log1p(-u))
    angle = 2 * np.pi * v
    return radius * np.cos(angle), radius * np.sin(angle)


def _unit_numbers(values: npt.ArrayLike, name: str) -> Float64Array:
    numbers = _numbers(values, name)
    wrong = numbers[~((numbers >= 0) & (numbers < 1))]
    if wrong.size:
        raise ValueError(f"{name} must be at least 0 and below 1, not {wrong[0]}")
    return numbers


def gaussian_vectors(
    count: int,
    mean: npt.ArrayLike,
    covariance: npt.ArrayLike | None = None,
    *,
    seed: Seed = 1,
) -> Float64Array:
    """Draw vectors of a Gaussian distribution.

    They are mean + A g, with A A^T = covariance (Cholesky) and a vector g of independent numbers of
    `box_muller`.

    Parameters
    ----------
    count : int
        Number of vectors, at least 0.
    mean : array_like of numbers, shape (dim,)
        Finite; dim is at least 1.
    covariance : array_like of numbers, shape (dim, dim), optional
        Finite, symmetric and positive definite. The default is the identity.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number.

    Returns
    -------
    ndarray of float64, shape (count, dim)

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If an argument is out of range or has the wrong shape.

    See Also
    --------
    lshfast.hashing.box_muller : Gaussian numbers from uniform ones.
    lshfast.hashing.sphere_points : Draw uniform points of the unit sphere.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.hashing import gaussian_vectors
    >>> drawn = gaussian_vectors(100_000, [1, 2], [[2, 1], [1, 1]], seed=3)
    >>> bool(np.allclose(np.cov(drawn.T), [[2, 1], [1, 1]], atol=0.03))
    True
    """
    count = check_int("count", count, 0)
    centre = _finite_numbers(mean, "mean")
    if centre.ndim != 1 or not len(centre):
        raise ValueError(
            f"mean must have shape (dim,) with dim at least 1, not {centre.shape}"
        )
    numbers = _standard(count, len(centre), check_seed(seed))
    if covariance is None:
        return centre + numbers
    return np.asarray(centre + numbers @ _cholesky_factor(covariance, len(centre)).T)


def _cholesky_factor(covariance: npt.ArrayLike, dim: int) -> Float64Array:
    matrix = _finite_numbers(covariance, "covariance")
    if matrix.shape != (dim, dim):
        raise ValueError(
            f"covariance must have shape ({dim}, {dim}), not {matrix.shape}"
        )
    if np.abs(matrix - matrix.T).max() > ASYMMETRY * np.abs(matrix).max():
        raise ValueError("covariance must be symmetric")
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        raise ValueError("covariance must be positive definite") from None


def sphere_points(count: int, dim: int, *, seed: Seed = 1) -> Float64Array:
    """Draw uniform points of the unit sphere of R^dim: Gaussian vectors divided by their lengths.

    The density of a vector of independent standard Gaussian numbers depends on its length only, so
    that its direction is uniform. A uniform latitude and longitude would not do: their points crowd
    at the poles.

    Parameters
    ----------
    count : int
        Number of points, at least 0.
    dim : int
        Coordinates, at least 1.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number.

    Returns
    -------
    ndarray of float64, shape (count, dim)

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.hashing.gaussian_vectors : Draw vectors of a Gaussian distribution.

    Examples
    --------
    One minus sin 60 degrees, .134, of the sphere is above 60 degrees of latitude, north and south.
    Uniform latitudes put a third of the points there:

    >>> import numpy as np
    >>> from lshfast.hashing import sphere_points
    >>> latitude = np.degrees(np.arcsin(sphere_points(100_000, 3, seed=7)[:, 2]))
    >>> uniform = np.random.default_rng(7).uniform(-90, 90, 100_000)
    >>> (
    ...     bool(abs((abs(latitude) > 60).mean() - 0.134) < 0.005),
    ...     bool(abs((abs(uniform) > 60).mean() - 1 / 3) < 0.005),
    ... )
    (True, True)
    """
    numbers = _standard(
        check_int("count", count, 0), check_int("dim", dim, 1), check_seed(seed)
    )
    return np.asarray(numbers / np.linalg.norm(numbers, axis=1, keepdims=True))


def _standard(count: int, dim: int, seed: int) -> Float64Array:
    """Return independent standard Gaussian numbers, float64 (count, dim), none of them 0."""
    if count * dim > MOST_NUMBERS:
        raise MemoryError(f"{count} vectors of {dim} numbers do not fit into memory")
    pairs = (count * dim + 1) // 2
    words: Any = kernels.words(seed, BOX_MULLER, 0, 2 * pairs).reshape(2, pairs)
    x, y = box_muller(*(((words >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52))
    return np.stack([x, y], axis=1).reshape(-1)[: count * dim].reshape(count, dim)


def _finite_numbers(values: npt.ArrayLike, name: str) -> Float64Array:
    numbers = _numbers(values, name)
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} must be finite, not {numbers[~np.isfinite(numbers)][0]}"
        )
    return numbers


def _numbers(values: npt.ArrayLike, name: str) -> Float64Array:
    array = array_of(values, name)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be numbers, not {array.dtype}")
    return array.astype(np.float64)
