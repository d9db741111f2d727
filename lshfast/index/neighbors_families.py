"""The families that near-neighbour search chooses from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lshfast.common.checks import Seed, check_seed
from lshfast.families.bits import BitSampling
from lshfast.families.family import Family
from lshfast.index.neighbors_points import PointFormat


def families_of(points: PointFormat, radius: float, seed: Seed) -> Iterator[Family[Any]]:
    """Yield the families for a metric; those of lines with several widths, as multiples of the radius."""
    number = check_seed(seed)
    if points.metric == "hamming":
        yield BitSampling(points.dim, number)
