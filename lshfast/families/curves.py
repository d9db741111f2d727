"""Values on the axis of a curve: distances of a family, or similarities, and their histograms."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_number, numbers_of
from lshfast._common.types import BoolArray, Float64Array
from lshfast.banding.bands import Bands, check_threshold
from lshfast.families.family import Family

# The counts, and either one value for each, or the edges of bins, one more, as numpy.histogram
# returns them.
Histogram: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]

# Gauss-Legendre nodes of a bin, at which curves are computed.
BIN_NODES = 8

# A distance is searched by dividing an interval into PARTS, ROUNDS times: 64**10 is 2**60.
PARTS = 64
ROUNDS = 10

# If there is no largest distance, the search begins between two of these.
POWERS: Float64Array = 2.0 ** np.arange(-1022, 1024, dtype=np.float64)


def collision_probability(
    family: Family[Any] | None, values: npt.ArrayLike
) -> Float64Array:
    """Return the collision probability of one function at distances or similarities.

    Without a family, similarities are collision probabilities.
    """
    if family is None:
        return numbers_of(values, "similarity", 0, 1)
    distances = numbers_of(values, "distance", 0, family.max_distance)
    probabilities = family.collision_probability(distances)
    return numbers_of(probabilities, f"collision_probability of {family.name}", 0, 1)


def check_value(name: str, value: float, family: Family[Any] | None) -> float:
    """Return a distance of the family or a similarity above 0; errors name the range."""
    if family is None:
        return check_threshold(value)
    if not isinstance(family, Family):
        raise TypeError(f"family must be a family, not {family!r}")
    value = check_number(name, value)
    if not (0 <= value <= family.max_distance and isfinite(value)):
        raise ValueError(
            f"{name} must be a distance in 0..{family.max_distance}, not {value}"
        )
    return value


def distance_at(family: Family[Any], probability: float) -> float:
    """Return the largest distance at which items collide with at least this probability.

    Parameters
    ----------
    family : Family
        Its collision probability must not increase with the distance.
    probability : float
        In (0, 1].

    Returns
    -------
    float
        `family.max_distance` if all distances have this probability.

    Raises
    ------
    ValueError
        If the probability is out of range, or even equal items collide with a smaller one.

    See Also
    --------
    lshfast.families.Sensitivity : Probabilities at a near and a far distance.
    lshfast.families.plot_curve : Draw the S-curve.
    """
    probability = check_number("probability", probability)
    if not 0 < probability <= 1:
        raise ValueError(f"probability must be in (0, 1], not {probability}")
    low = 0.0
    high = family.max_distance
    if collision_probability(family, low) < probability:
        raise ValueError(
            f"probability {probability} is not reached: items at distance 0 collide with a "
            "smaller one"
        )
    if high == inf:
        below = np.flatnonzero(collision_probability(family, POWERS) < probability)
        if below.size == 0:
            return inf
        low = float(POWERS[below[0] - 1]) if below[0] else 0.0
        high = float(POWERS[below[0]])
    elif collision_probability(family, high) >= probability:
        return high
    for _ in range(ROUNDS):
        points = np.linspace(low, high, PARTS + 1)
        is_below = collision_probability(family, points) < probability
        end = max(int(is_below.argmax()), 1)
        low = float(points[end - 1])
        high = float(points[end])
    return low


@dataclass(frozen=True)
class Spread:
    """A histogram as points: the number of items, their collision probability and their side."""

    counts: Float64Array
    # Of a collision under one function.
    probabilities: Float64Array
    # Whether the items are within the threshold.
    within: BoolArray

    @classmethod
    def of(
        cls,
        histogram: Histogram,
        threshold: float,
        family: Family[Any] | None,
        n: int | None = None,
    ) -> Spread:
        """Return the points of a histogram; its counts are scaled to n items, if n is given."""
        counts, places = histogram_arrays(histogram, family)
        if n is not None:
            counts = counts * (n / counts.sum())
        if len(places) > len(counts) and places[0] < threshold < places[-1]:
            counts, places = _split(counts, places, threshold)
        values, parts = (points.ravel() for points in weighted_points(counts, places))
        within = values >= threshold if family is None else values <= threshold
        return cls(parts, collision_probability(family, values), within)

    @property
    def total(self) -> float:
        """Number of items."""
        return float(self.counts.sum())

    def candidates(self, bands: Bands) -> tuple[float, float, float]:
        """Return the expected candidates, false candidates and missed items."""
        found_shares = bands.probability(self.probabilities)
        false = self.counts @ np.where(self.within, 0, found_shares)
        missed = self.counts @ np.where(self.within, 1 - found_shares, 0)
        return float(self.counts @ found_shares), float(false), float(missed)


def _split(
    counts: Float64Array, edges: Float64Array, value: float
) -> tuple[Float64Array, Float64Array]:
    """Return a histogram in which the bin around a value is divided there."""
    end = int(np.searchsorted(edges, value))
    part = (value - edges[end - 1]) / (edges[end] - edges[end - 1])
    if part == 1:
        return counts, edges
    halves = counts[end - 1] * np.array([part, 1 - part], np.float64)
    return np.concatenate([counts[: end - 1], halves, counts[end:]]), np.insert(
        edges, end, value
    )


def weighted_points(
    counts: Float64Array, places: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return values and the number of items at each, a row for each count of a histogram."""
    if len(places) == len(counts):
        return places[:, None], counts[:, None]
    nodes, weights = np.polynomial.legendre.leggauss(BIN_NODES)
    values = places[:-1, None] + np.diff(places)[:, None] * (nodes + 1) / 2
    return values, counts[:, None] * weights / 2


def histogram_arrays(
    histogram: Histogram, family: Family[Any] | None
) -> tuple[Float64Array, Float64Array]:
    """Return the counts, and the values or edges of a histogram; errors describe the fault."""
    if not isinstance(histogram, (tuple, list)) or len(histogram) != 2:
        raise TypeError("histogram must be (counts, values) or (counts, edges)")
    counts = numbers_of(
        histogram[0], "counts of the histogram", 0, np.finfo(np.float64).max
    )
    most = 1.0 if family is None else family.max_distance
    places = numbers_of(histogram[1], "values of the histogram", 0, most)
    if (
        counts.ndim != 1
        or places.ndim != 1
        or len(places) not in (len(counts), len(counts) + 1)
    ):
        shapes = f"counts {counts.shape} and values {places.shape}"
        raise ValueError(
            f"a histogram has as many values as counts, or one edge more; this one has {shapes}"
        )
    if not 0 < counts.sum() < inf:
        raise ValueError(
            f"the counts of the histogram must have a positive finite sum, not {counts.sum()}"
        )
    if len(places) > len(counts) and not (np.diff(places) > 0).all():
        raise ValueError("the edges of the histogram must increase")
    if not np.isfinite(places).all():
        raise ValueError("the values of the histogram must be finite")
    return counts, places
