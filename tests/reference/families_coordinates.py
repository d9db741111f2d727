"""Cells of coordinates, of docs/reference/definitions.md, on plain Python numbers."""

import math
from collections.abc import Sequence

from tests.reference.hashing import draw

COORDINATE, COORDINATE_OFFSET = 46, 47  # domains


def values(point: Sequence[float], width: float, seed: int, count: int) -> list[int]:
    """Return the values of a vector under the first functions: the number of its cell, 0, -1, 1, .. as 0, 1, 2, .."""
    found = []
    for j in range(count):
        i = draw(seed, COORDINATE, j) * len(point) >> 64
        cell = math.floor(
            point[i] / width + (draw(seed, COORDINATE_OFFSET, j) >> 11) / 2**53
        )
        found.append(2 * cell if cell >= 0 else -2 * cell - 1)
    return found
