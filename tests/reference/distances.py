"""Distances between points, with the order of their sums, on plain Python floats."""

import math
from collections.abc import Callable, Sequence

LANES = 32

TERMS: dict[str, Callable[[float, float], float]] = {
    "cosine": lambda x, y: x * y,
    "euclidean": lambda x, y: (x - y) * (x - y),
    "manhattan": lambda x, y: abs(x - y),
}


def lane_sum(terms: Sequence[float]) -> float:
    """Return the sum of the terms in lanes, of which the upper half is added to the lower half until one is left."""
    lanes = [0.0] * LANES
    for i, term in enumerate(terms):
        lanes[i % LANES] += term
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [
            low + high for low, high in zip(lanes[:half], lanes[half:], strict=True)
        ]
    return lanes[0]


def of_dot(dot: float, norms: float) -> float:
    """Return 1 - cosine, from a dot product and the product of both sums of squares."""
    return min(max(1 - dot / math.sqrt(norms), 0.0), 2.0)


def dense(measure: str, a: Sequence[float], b: Sequence[float]) -> float:
    """Return the distance of two vectors: 1 - cosine, the squared Euclidean, or the Manhattan distance."""
    total = lane_sum([TERMS[measure](x, y) for x, y in zip(a, b, strict=True)])
    if measure == "cosine":
        return of_dot(
            total, lane_sum([x * x for x in a]) * lane_sum([y * y for y in b])
        )
    return total


def sparse(measure: str, a: dict[int, float], b: dict[int, float]) -> float:
    """Return the distance of two sparse vectors, index -> value; those without a partner come last for differences."""
    last = min(max(a, default=-1), max(b, default=-1))
    both = sorted(a.keys() | b.keys())
    order = [i for i in both if i <= last] + [i for i in both if i > last]
    total = 0.0
    for i in order:
        total += TERMS[measure](a.get(i, 0.0), b.get(i, 0.0))
    if measure == "cosine":
        squares = [0.0, 0.0]
        for place, point in enumerate((a, b)):
            for _, value in sorted(point.items()):
                squares[place] += value * value
        return of_dot(total, squares[0] * squares[1])
    return total


def hamming(a: Sequence[int], b: Sequence[int]) -> float:
    """Return the number of bits in which two lists of words differ."""
    return float(sum((x ^ y).bit_count() for x, y in zip(a, b, strict=True)))
