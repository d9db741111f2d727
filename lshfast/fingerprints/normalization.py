"""Normalised prints: the same place, direction and size on the grid for all prints of a finger."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int, check_number, numbers_of
from lshfast._common.types import Float64Array
from lshfast.fingerprints.matching import owners_of

# Coordinates are at most MOST, so that their squares are finite, and sizes at least LEAST.
MOST = 1e100
LEAST = 1e-100


def normalize_prints(
    owners: npt.ArrayLike,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    count: int,
    *,
    center: tuple[float, float] = (0.0, 0.0),
    size: float = 1.0,
    cores: npt.ArrayLike | None = None,
    directions: npt.ArrayLike | None = None,
    scales: npt.ArrayLike | None = None,
) -> tuple[Float64Array, Float64Array]:
    """Move, turn and scale the minutiae of prints, so that prints of one finger agree.

    The core of each print comes to the center, its direction points to greater y, and its scale
    becomes `size`. What is not given is estimated from the minutiae of the print: the core is their
    mean, the scale the root of the mean squared distance from the core, and the direction their
    principal axis, of the two ways along it the one with the longer tail (the greater third
    moment). An estimate is the same for each image of the same minutiae, however it was moved,
    turned and scaled. It is not as good if a print lacks minutiae of another one: of 100 minutiae
    of which a tenth are replaced, the direction has a median error of some 10 degrees. So give the
    core and the direction of the finger if they are known from the image.

    Parameters
    ----------
    owners : array_like of int, shape (n,)
        The print of each minutia, in 0..count - 1.
    x, y : array_like of float, shape (n,)
        Coordinates of the minutiae, in -1e100..1e100.
    count : int
        Number of prints.
    center : tuple of two floats, default (0, 0)
        Where the cores are put, such as the middle of a grid.
    size : float, default 1
        The scale of all prints afterwards, in 1e-100..1e100.
    cores : array_like of float, shape (count, 2), optional
        The core of each print, in the coordinates of its minutiae.
    directions : array_like of float, shape (count,), optional
        The direction of each finger in its image, in radians from the axis of x to that of y.
    scales : array_like of float, shape (count,), optional
        The scale of each print, such as the distance of two ridges, in 1e-100..1e100.

    Returns
    -------
    x, y : ndarray of float64, shape (n,)
        The coordinates of the minutiae afterwards. Some may be off a grid, see
        `FingerprintGrid.contains`.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape, or is out of range.

    See Also
    --------
    lshfast.fingerprints.FingerprintGrid : Lay a grid over a fingerprint.

    Examples
    --------
    A print, and the same print turned by a right angle, twice as large, and elsewhere:

    >>> import numpy as np
    >>> from lshfast.fingerprints import normalize_prints
    >>> x, y = np.array([0, 1, 5, 2.0]), np.array([0, 2, 4, 1.0])
    >>> both_x, both_y = normalize_prints(
    ...     np.arange(2).repeat(4), [*x, *(70 - 2 * y)], [*y, *(2 * x + 30)], count=2
    ... )
    >>> bool(
    ...     np.allclose(both_x[:4], both_x[4:]) and np.allclose(both_y[:4], both_y[4:])
    ... )
    True
    """
    count = check_int("count", count, 0)
    x = _points(x, "x")
    y = _points(y, "y")
    rows = owners_of(owners, len(x), count)
    if len(x) != len(y):
        raise ValueError(
            f"x and y must have the same length, not {len(x)} and {len(y)}"
        )
    middle = _points(center, "center")
    if middle.shape != (2,):
        raise ValueError(f"center must be two numbers (x, y), not {center!r}")
    size = check_number("size", size)
    if not LEAST <= size <= MOST:
        raise ValueError(f"size must be in {LEAST}..{MOST}, not {size}")
    numbers = np.maximum(np.bincount(rows, minlength=count), 1)

    def mean_of(values: Float64Array) -> Float64Array:
        return np.asarray(np.bincount(rows, values, minlength=count) / numbers)

    if cores is None:
        core_x, core_y = mean_of(x), mean_of(y)
    else:
        core_x, core_y = _of_prints(cores, "cores", (count, 2)).T
    x = x - core_x[rows]
    y = y - core_y[rows]
    if scales is None:
        spread = np.sqrt(mean_of(x * x + y * y))
        scale = np.where(spread > 0, spread, 1.0)
    else:
        scale = _of_prints(scales, "scales", (count,), LEAST)
    x = x * (size / scale)[rows]
    y = y * (size / scale)[rows]
    if directions is None:
        direction = np.arctan2(2 * mean_of(x * y), mean_of(x * x - y * y)) / 2
        along = x * np.cos(direction)[rows] + y * np.sin(direction)[rows]
        direction = direction + np.pi * (mean_of(along**3) < 0)
    else:
        direction = _of_prints(directions, "directions", (count,))
    cosine = np.cos(direction)[rows]
    sine = np.sin(direction)[rows]
    return sine * x - cosine * y + middle[0], cosine * x + sine * y + middle[1]


def _points(values: npt.ArrayLike, name: str) -> Float64Array:
    """Return numbers of one dimension as float64, or raise an error that names the argument."""
    numbers = numbers_of(values, name, -MOST, MOST)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {numbers.ndim}")
    return numbers


def _of_prints(
    values: npt.ArrayLike, name: str, shape: tuple[int, ...], least: float = -MOST
) -> Float64Array:
    """Return numbers of each print, or raise an error that names the argument."""
    numbers = numbers_of(values, name, least, MOST)
    if numbers.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, not {numbers.shape}")
    return numbers
