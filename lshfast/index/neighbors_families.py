"""The families that near-neighbour search chooses from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lshfast.common.checks import Seed, check_seed
from lshfast.families.bits import BitSampling
from lshfast.families.family import Family
from lshfast.families.lines import CauchyLines, GaussianLines
from lshfast.index.neighbors_points import PointFormat

# Widths of the cells of a line, as multiples of the radius.
WIDTHS = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0)


def families_of(points: PointFormat, radius: float, seed: Seed) -> Iterator[Family[Any]]:
    """Yield the families for a metric."""
    number = check_seed(seed)
    if points.metric == "hamming":
        yield BitSampling(points.dim, number)
    elif points.metric == "euclidean":
        yield from (GaussianLines(points.dim, factor * radius, number) for factor in WIDTHS)
    elif points.metric == "manhattan":
        yield from (CauchyLines(points.dim, factor * radius, number) for factor in WIDTHS)
