"""The banding S-curve 1 - (1 - s^r)^b in closed form, and the choice of bands for a recall.

Mining of Massive Datasets, chapter 3.4; `b` bands of `r` rows, `s` and `t` similarities in [0, 1].
"""

import math


def probability(s: float, bands: int, rows: int) -> float:
    """Return the probability that a pair of similarity s agrees in at least one band."""
    return 1 - (1 - s**rows) ** bands


def half_point(bands: int, rows: int) -> float:
    """Return the similarity that is found with probability one half."""
    return math.pow(1 - math.pow(2, -1 / bands), 1 / rows)


def approximate_threshold(bands: int, rows: int) -> float:
    """Return the textbook's approximation of where the curve rises, (1/b)^(1/r).

    The curve is 1 - (1 - 1/b)^b there, which is above 0.63, not one half.
    """
    return math.pow(1 / bands, 1 / rows)


def slope(s: float, bands: int, rows: int) -> float:
    """Return the derivative of the probability at s."""
    return bands * rows * s ** (rows - 1) * (1 - s**rows) ** (bands - 1)


def steepest(bands: int, rows: int) -> tuple[float, float]:
    """Return the similarity at which the curve is steepest, and its slope there.

    The second derivative vanishes at s^r = (r - 1) / (r b - 1); with r = 1 the slope only falls.
    """
    point = 0.0 if rows == 1 else ((rows - 1) / (rows * bands - 1)) ** (1 / rows)
    return point, slope(point, bands, rows)


def choose(threshold: float, num_perm: int, recall: float) -> tuple[int, int]:
    """Return (bands, rows) with the most rows that find a pair at the threshold with `recall`."""
    for rows in range(num_perm, 0, -1):
        bands = num_perm // rows
        if probability(threshold, bands, rows) >= recall:
            return bands, rows
    raise ValueError(
        f"no banding of {num_perm} slots finds similarity {threshold} with {recall}"
    )
