"""The metrics of `NearNeighbors` and the bound of an index, a radius or a threshold."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias, cast

from lshfast._common.checks import check_least, check_most, check_number
from lshfast._common.choices import usual_measure
from lshfast.index.apart import IsApart, distant_at_least
from lshfast.index.neighbors.points import (
    METRICS,
    FormatMetric,
    PointFormat,
    angle_of,
    check_radius,
)

Metric: TypeAlias = Literal[
    "angle", "cosine", "euclidean", "l2", "manhattan", "l1", "hamming"
]

# Names of the inner product in other libraries, in small letters.
INNER_PRODUCTS = (
    "ip",
    "inner_product",
    "inner-product",
    "innerproduct",
    "dot",
    "dotproduct",
    "mips",
)


class Bound(NamedTuple):
    """The bound of entries that are near enough.

    Attributes
    ----------
    radius : float
        The greatest distance of the format; for angles and cosines, in radians.
    threshold : float or None
        The least cosine, of an index by cosine.
    """

    radius: float
    threshold: float | None

    def value_of(self, points: PointFormat) -> float:
        """Return the greatest value of the measure of an entry that is near enough."""
        if self.threshold is not None:
            return points.value_at_cosine(self.threshold)
        return points.value_at(self.radius)


def format_metric(metric: str) -> FormatMetric:
    """Return the metric of the format for the metric of a user, or raise ValueError."""
    usual = usual_measure(metric)
    if usual == "cosine":
        return "angle"
    if usual in METRICS:
        return cast(FormatMetric, usual)
    if isinstance(metric, str) and metric.lower() in INNER_PRODUCTS:
        raise ValueError(
            f"metric {metric!r} is not a distance, but the greatest inner products are the least "
            "angles if one coordinate is added: sqrt(M**2 - x @ x) to each entry x, where M is the "
            "length of the longest entry, and 0 to each query. Then use the metric 'angle' with "
            "dim + 1; docs/how-to/near-neighbors.md has the code"
        )
    names = ("angle", "cosine", "euclidean (or l2)", "manhattan (or l1)", "hamming")
    raise ValueError(f"metric must be one of {', '.join(names)}, not {metric!r}")


def check_bound(
    by_cosine: bool, radius: float | None, threshold: float | None, points: PointFormat
) -> Bound | None:
    """Return the bound that the user gives, or None; errors name the right argument."""
    if by_cosine and radius is not None:
        angle = check_radius("radius", radius, points)
        raise ValueError(
            "radius is for distances, and cosine is a similarity: pass "
            f"threshold={math.cos(angle):.6g} instead of radius={radius}, or use the metric "
            "'angle', whose radius is in radians"
        )
    if threshold is not None and not by_cosine:
        if points.metric != "angle":
            raise ValueError(
                f"threshold is for the metric cosine, and {points.metric} is a distance: pass a "
                "radius"
            )
        raise ValueError(
            "threshold is for the metric cosine, and angle is a distance: pass "
            f"radius={angle_of(threshold):.6g} instead of threshold={threshold}"
        )
    if threshold is not None:
        return Bound(angle_of(threshold), float(threshold))
    return (
        None if radius is None else Bound(check_radius("radius", radius, points), None)
    )


def check_apart(
    by_cosine: bool,
    most: float | None,
    least: float | None,
    bound: Bound | None,
    points: PointFormat,
) -> IsApart | None:
    """Return which distances of answers are at most a cosine, or at least a distance.

    The error of a wrong argument names the right one.
    """
    if by_cosine and least is not None:
        raise ValueError(
            "least is for distances, and cosine is a similarity: pass "
            f"most={1 - check_number('least', least):g}"
        )
    if not by_cosine and most is not None:
        raise ValueError(
            f"most is an upper bound of similarities, and {points.metric} is a distance: pass "
            "least, the least distance"
        )
    if by_cosine:
        lowest = -1.0 if bound is None or bound.threshold is None else bound.threshold
        cosine = check_most(most, lowest)
        return None if cosine is None else lambda distances: 1 - distances <= cosine
    return distant_at_least(
        check_least(least, points.longest if bound is None else bound.radius)
    )


def cosine_at(angle: float) -> float:
    """Return the cosine of an angle: the shortest number that has this angle, if one has it."""
    value = math.cos(angle)
    rounded = (float(f"{value:.{digits}g}") for digits in range(1, 17))
    return next(
        (
            number
            for number in rounded
            if abs(number) <= 1 and math.acos(number) == angle
        ),
        value,
    )
