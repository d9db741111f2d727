"""Cascades of AND and OR, in exact rational arithmetic, and the theory of near neighbours.

Mining of Massive Datasets, section 3.6; Indyk and Motwani, STOC 1998. A cascade is a list of ("and", r) and ("or", b).
"""

import math
from fractions import Fraction


def curve(p: Fraction, steps: list[tuple[str, int]]) -> Fraction:
    """Return the probability that two items collide under the cascade."""
    for step, count in steps:
        p = p**count if step == "and" else 1 - (1 - p) ** count
    return p


def slope(p: Fraction, steps: list[tuple[str, int]]) -> Fraction:
    """Return the derivative of the curve, by the chain rule."""
    product = Fraction(1)
    for step, count in steps:
        product *= count * (p if step == "and" else 1 - p) ** (count - 1)
        p = p**count if step == "and" else 1 - (1 - p) ** count
    return product


def rows(n: int, p2: float) -> float:
    """Return k, which is not rounded: n * p2**k is 1."""
    return math.log(n) / math.log(1 / p2)


def tables(n: int, p1: float, p2: float) -> float:
    """Return L, which is not rounded: p1**k * L is 1."""
    return (1 / p1) ** rows(n, p2)
