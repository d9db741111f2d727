"""The families that near-neighbour search chooses from."""

from __future__ import annotations

from typing import Any

from lshfast.families.bits import BitSampling
from lshfast.families.cross_polytope import CrossPolytope
from lshfast.families.family import Family
from lshfast.families.lines import CauchyLines, GaussianLines
from lshfast.families.vectors import Hyperplanes
from lshfast.index.neighbors_points import PointFormat

# Widths of the cells of a line, as multiples of the radius.
WIDTHS = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)


def families_of(points: PointFormat, radius: float, seed: int) -> list[list[Family[Any]]]:
    """Return the families for a metric in groups, whose members differ in one parameter."""
    if points.metric == "hamming":
        return [[BitSampling(points.dim, seed)]]
    if points.metric == "cosine":
        return [[CrossPolytope(points.dim, seed=seed)], [Hyperplanes(points.dim, seed)]]
    lines = GaussianLines if points.metric == "euclidean" else CauchyLines
    return [[lines(points.dim, factor * radius, seed) for factor in WIDTHS]]
