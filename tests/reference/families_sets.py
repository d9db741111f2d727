"""The distances of the families of sets on plain Python numbers; their values are those of the sketches' references."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tests.reference import simhash


def weighted_distance(a: Mapping[int, float], b: Mapping[int, float]) -> Fraction:
    """Return 1 - sum min / sum max of the weights exactly; 1 if either set is empty."""
    tokens = set(a) | set(b)
    most = sum((Fraction(max(a.get(t, 0), b.get(t, 0))) for t in tokens), Fraction(0))
    least = sum((Fraction(min(a.get(t, 0), b.get(t, 0))) for t in tokens), Fraction(0))
    return 1 - least / most if most else Fraction(1)


def angle(a: Sequence[int], b: Sequence[int]) -> float:
    """Return the angle between the numbers of occurrences of two rows of tokens; pi / 2 if either is empty."""
    x, y = Counter(a), Counter(b)
    dot = sum(count * y[token] for token, count in x.items())
    squares = sum(c * c for c in x.values()) * sum(c * c for c in y.values())
    return (
        math.pi / 2 if not squares else math.atan2(math.sqrt(squares - dot * dot), dot)
    )


def simhash_bits(row: Sequence[int], count: int, seed: int) -> list[int] | None:
    """Return the first bits of a row's code, or None if it has none."""
    code = simhash.code(simhash.counters(row, -(-count // 64), seed))
    return (
        None
        if simhash.is_empty(code)
        else [code[i // 64] >> i % 64 & 1 for i in range(count)]
    )
