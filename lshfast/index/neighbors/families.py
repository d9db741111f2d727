"""The families that near-neighbour search chooses from."""

from __future__ import annotations

from typing import Any

from lshfast.families.bits import BitSampling
from lshfast.families.coordinates import CoordinateCells
from lshfast.families.cross_polytope import CrossPolytope
from lshfast.families.family import Family
from lshfast.families.lines import CauchyLines, GaussianLines
from lshfast.families.vectors import Hyperplanes
from lshfast.index.neighbors.points import PointFormat

# Widths of the cells of a line, as multiples of the radius.
WIDTHS = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)

# Widths of the cells of a coordinate, as multiples of the mean difference of the coordinates at the
# radius.
CELLS = (4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)


def families_of(
    points: PointFormat, radius: float, seed: int
) -> list[list[Family[Any]]]:
    """Return the families for a metric in groups, whose members differ in one parameter."""
    if points.metric == "hamming":
        return [[BitSampling(points.dim, seed)]]
    if points.metric == "angle":
        return [[CrossPolytope(points.dim, seed=seed)], [Hyperplanes(points.dim, seed)]]
    if points.metric == "euclidean":
        return [[GaussianLines(points.dim, factor * radius, seed) for factor in WIDTHS]]
    # Sparse vectors are equal in most coordinates, so a single coordinate says little.
    if points.nonzeros is not None:
        return [[CauchyLines(points.dim, factor * radius, seed) for factor in WIDTHS]]
    return [
        [
            CoordinateCells(points.dim, factor * radius / points.dim, seed)
            for factor in CELLS
        ]
    ]
