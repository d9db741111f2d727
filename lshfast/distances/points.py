"""Distances of points and of directions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of, check_number
from lshfast._common.types import Float64Array
from lshfast.distances.batches import in_form
from lshfast.families.family import check_pairs

# Numbers that are subtracted at once: they stay in the cache.
PIECE_NUMBERS = 2**17


def minkowski(
    a: npt.ArrayLike, b: npt.ArrayLike, r: float = 2
) -> np.float64 | Float64Array:
    """Return the L_r distances (sum |a_i - b_i|**r)**(1 / r) of pairs of points.

    r = inf stands for max |a_i - b_i|.

    For fixed points, the distance falls or stays as r increases; it stays if the points differ in
    one coordinate at most. For r below 1, the triangle inequality fails, so r is refused. Only a
    distance that a float64 cannot hold overflows; it is inf.

    Parameters
    ----------
    a, b : array_like of numbers, shape (n, dim) or (dim,)
        Finite; one of them may be a single point.
    r : float, default 2
        In 1..inf.

    Returns
    -------
    ndarray of float64, shape (n,)
        For two single points one number, a float64.

    Raises
    ------
    TypeError
        If the coordinates or `r` are not numbers.
    ValueError
        If a coordinate is NaN or infinite, the shapes do not fit, or `r` is out of range.

    See Also
    --------
    lshfast.distances.angles : Angles between vectors.
    lshfast.distances.one_minus_cosines : Cosine distances.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.distances import minkowski
    >>> [float(minkowski([2, 7], [6, 4], r)) for r in (1, 2, np.inf)]
    [7.0, 5.0, 4.0]
    >>> minkowski([2, 7], [[6, 4], [2, 8]]).tolist()
    [5.0, 1.0]
    """
    r = check_number("r", r)
    if not r >= 1:
        raise ValueError(f"r must be in 1..inf, not {r}")
    a, b, single = _points(a, b)
    distances = np.empty(check_pairs(len(a), len(b)))
    for rows, left, right in _pieces(a, b):
        with np.errstate(over="ignore", under="ignore"):
            differences = np.abs(left - right)
            greatest = differences.max(axis=1)
            if r == np.inf:
                distances[rows] = greatest
            else:
                is_scale = (greatest > 0) & (greatest < np.inf)
                shares = differences / np.where(is_scale, greatest, 1)[:, None]
                distances[rows] = greatest * np.maximum(1, (shares**r).sum(axis=1)) ** (
                    1 / r
                )
    return in_form(distances, single)


def angles(a: npt.ArrayLike, b: npt.ArrayLike) -> np.float64 | Float64Array:
    """Return the angles between pairs of vectors, in radians; `numpy.degrees` converts them.

    The angle is a metric of directions. One minus its cosine is not: see `one_minus_cosines`.

    Parameters
    ----------
    a, b : array_like of numbers, shape (n, dim) or (dim,)
        Finite, not all zeros; one of them may be a single vector.

    Returns
    -------
    ndarray of float64, shape (n,)
        In 0..pi, also exact for small angles (Kahan's formula). For two single vectors one number,
        a float64.

    Raises
    ------
    TypeError
        If the coordinates are not numbers.
    ValueError
        If a coordinate is NaN or infinite, a vector is all zeros, or the shapes do not fit.

    See Also
    --------
    lshfast.distances.one_minus_cosines : Cosine distances.
    lshfast.distances.minkowski : Distances of points by L_r norms.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.distances import angles
    >>> round(float(np.degrees(angles([1, 2, -1], [2, 1, 1]))), 9)
    60.0
    """
    left, right, single = _directions(a, b)
    return in_form(_angles(left, right), single)


def one_minus_cosines(a: npt.ArrayLike, b: npt.ArrayLike) -> np.float64 | Float64Array:
    """Return 1 - cos of the angles between pairs of vectors, often called the cosine distance.

    It is not a metric. Directions at 0, 45 and 90 degrees have 1 - cos 90 = 1, more than 2 (1 - cos
    45) = .586.

    Parameters
    ----------
    a, b : array_like of numbers, shape (n, dim) or (dim,)
        As for `angles`.

    Returns
    -------
    ndarray of float64, shape (n,)
        In 0..2. For two single vectors one number, a float64.

    Raises
    ------
    TypeError, ValueError
        As for `angles`.

    See Also
    --------
    lshfast.distances.angles : Angles between vectors.

    Examples
    --------
    >>> from lshfast.distances import one_minus_cosines
    >>> one_minus_cosines([[1, 0], [1, 0], [1, 1]], [[0, 1], [1, 1], [0, 1]]).round(
    ...     3
    ... ).tolist()
    [1.0, 0.293, 0.293]
    """
    left, right, single = _directions(a, b)
    return in_form(_one_minus_cosines(left, right), single)


def cosine_similarity(a: npt.ArrayLike, b: npt.ArrayLike) -> float | Float64Array:
    """Return the cosines of the angles between pairs of vectors.

    Parameters
    ----------
    a, b : array_like of numbers, shape (n, dim) or (dim,)
        As for `angles`.

    Returns
    -------
    ndarray of float64, shape (n,)
        In -1..1, and 1 for vectors of one direction. For two single vectors one number, a float.

    Raises
    ------
    TypeError, ValueError
        As for `angles`.

    See Also
    --------
    lshfast.distances.one_minus_cosines : Cosine distances.
    lshfast.distances.angles : Angles between vectors.
    lshfast.distances.jaccard_similarity : Similarities of sets.

    Examples
    --------
    >>> from lshfast.distances import cosine_similarity
    >>> f"{cosine_similarity([1, 2, -1], [2, 1, 1]):.2f}"
    '0.50'
    >>> cosine_similarity([1, 0], [[0, 1], [2, 0], [-1, 0]]).tolist()
    [0.0, 1.0, -1.0]
    """
    left, right, single = _directions(a, b)
    cosines = 1 - _one_minus_cosines(left, right)
    for rows, one, other in _pieces(left, right):
        products = (one * other).sum(axis=1)
        # At wide angles, the sum of products is exact to 1e-16 of the cosine, not of 1.
        is_wide = np.abs(products) < 0.5
        cosines[rows][is_wide] = products[is_wide]
    return cosines[0].item() if single else cosines


def _angles(a: Float64Array, b: Float64Array) -> Float64Array:
    """Return the angles between pairs of directions."""
    angles = np.empty(check_pairs(len(a), len(b)))
    for rows, left, right in _pieces(a, b):
        difference_norms = np.linalg.norm(left - right, axis=1)
        sum_norms = np.linalg.norm(left + right, axis=1)
        angles[rows] = 2 * np.arctan2(difference_norms, sum_norms)
    return angles


def _one_minus_cosines(a: Float64Array, b: Float64Array) -> Float64Array:
    """Return 1 - cos of the angles between pairs of directions."""
    return np.asarray(2 * np.sin(_angles(a, b) / 2) ** 2)


def _points(
    a: npt.ArrayLike, b: npt.ArrayLike
) -> tuple[Float64Array, Float64Array, bool]:
    """Return points as rows, and whether both arguments are single points."""
    sides = []
    dimensions = set()
    for name, items in (("a", a), ("b", b)):
        array = array_of(items, name)
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{name} must be numbers, not {array.dtype}")
        if array.ndim not in (1, 2) or not array.shape[-1]:
            raise ValueError(
                f"{name} must have shape (n, dim) or (dim,) with dim at least 1, not {array.shape}"
            )
        dimensions.add(array.ndim)
        numbers = np.atleast_2d(array.astype(np.float64))
        if not np.isfinite(numbers).all():
            raise ValueError(
                f"{name} must be finite, not {numbers[~np.isfinite(numbers)][0]}"
            )
        sides.append(numbers)
    if sides[0].shape[1] != sides[1].shape[1]:
        raise ValueError(
            f"a and b must have equally many coordinates, not {sides[0].shape[1]} and "
            f"{sides[1].shape[1]}"
        )
    return sides[0], sides[1], dimensions == {1}


def _directions(
    a: npt.ArrayLike, b: npt.ArrayLike
) -> tuple[Float64Array, Float64Array, bool]:
    """Return points divided by their lengths, and whether both arguments are single points."""
    left, right, single = _points(a, b)
    directions = []
    for name, points in (("a", left), ("b", right)):
        greatest = np.abs(points).max(axis=1, initial=0.0)
        if (greatest == 0).any():
            raise ValueError(
                f"{name} must have no vector of zeros, and row {greatest.argmin()} is one"
            )
        scaled = np.ldexp(points, -np.frexp(greatest)[1][:, None])
        directions.append(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))
    return directions[0], directions[1], single


def _pieces(
    a: Float64Array, b: Float64Array
) -> Iterator[tuple[slice, Float64Array, Float64Array]]:
    """Yield slices of pairs with the points of each side."""
    n = check_pairs(len(a), len(b))
    step = max(1, PIECE_NUMBERS // a.shape[1])
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        left = a if len(a) == 1 else a[rows]
        right = b if len(b) == 1 else b[rows]
        yield rows, left, right
