"""Lines in the plane of definitions.md on plain Python numbers, and collision probabilities by numerical sums."""

import math

from tests.reference.hashing import GOLDEN, MASK64, draw, mix64

PLANE = 44  # domain


def line(seed: int, j: int) -> tuple[float, float, float]:
    """Return the direction (x, y) of line j and the start of its buckets, in widths."""
    p = draw(seed, PLANE, j)

    def word(s: int) -> int:
        return mix64((p + GOLDEN * s) & MASK64) >> 11

    n = 1
    while True:
        x, y = word(2 * n) * 2.0**-52 - 1, word(2 * n + 1) * 2.0**-52 - 1
        square = x * x + y * y
        if 0 < square <= 1:
            length = math.sqrt(square)
            return x / length, y / length, word(1) * 2.0**-53
        n += 1


def bucket(point: tuple[float, float], width: float, seed: int, j: int) -> int:
    """Return the value of a point under function j."""
    x, y, start = line(seed, j)
    return math.floor((point[0] * x + point[1] * y) / width + start) + 2**63


def unit_line_probability(x: float, dim: int, steps: int = 100_000) -> float:
    """Return the probability that two points at x widths share a bucket on a random line in `dim` dimensions.

    The angle between the line and the normal of the pair has the density cos(t)**(dim - 2), up to a factor. Buckets
    with a uniform start separate points whose projections are y widths apart with probability min(1, y).
    """
    total = hits = 0.0
    for step in range(steps):
        t = (step + 0.5) / steps * math.pi / 2
        density = math.cos(t) ** (dim - 2)
        total += density
        hits += density * max(0.0, 1 - x * math.sin(t))
    return hits / total
