"""Measures of the similarity of sets, and thresholds of them as exact fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from lshfast._common.checks import check_number
from lshfast._common.types import AnyArray, Float64Array
from lshfast.kernels.setjoin import MOST_TOKENS

# A number, or a fraction p / q.
Threshold: TypeAlias = float | Fraction | tuple[int, int]
Measure: TypeAlias = Literal["jaccard", "dice", "cosine", "containment", "overlap"]
MEASURES: tuple[Measure, ...] = "jaccard", "dice", "cosine", "containment", "overlap"

# Which set of a pair the containment is of: the smaller one, the one in the index, or the one that
# probes the index.
Contained: TypeAlias = Literal["smaller", "indexed", "probing"]

# Numbers of the kinds of rules of the kernels.
_SUM, _SMALLER, _INDEXED, _PROBING, _COUNT, _COSINE = range(6)
_CONTAINED = {"smaller": _SMALLER, "indexed": _INDEXED, "probing": _PROBING}


@dataclass(frozen=True)
class Rule:
    """The overlap that a pair of sets must have, as the kernels take it.

    Attributes
    ----------
    measure : str
    contained : str
    kind, p, q : int
        The overlap must be at least p / q of what `kind` names, a function of both sizes.
    threshold : float
    """

    measure: Measure
    contained: Contained
    kind: int
    p: int
    q: int
    threshold: float

    @property
    def of_kernels(self) -> tuple[int, int, int, float]:
        """The rule as the kernels take it."""
        return self.kind, self.p, self.q, self.threshold

    def similarity(
        self,
        overlap: AnyArray,
        indexed: AnyArray,
        probing: AnyArray,
    ) -> Float64Array:
        """Return the similarities of pairs by overlaps and sizes, as verification computes them."""
        overlap, a, b = (
            np.asarray(values, np.float64) for values in (overlap, indexed, probing)
        )
        if self.measure == "jaccard":
            return np.asarray(overlap / (a + b - overlap))
        if self.measure == "dice":
            return np.asarray(2 * overlap / (a + b))
        if self.measure == "cosine":
            return np.asarray(overlap / np.sqrt(a * b))
        if self.measure == "containment":
            contained_sizes = {"smaller": np.minimum(a, b), "indexed": a, "probing": b}
            return np.asarray(overlap / contained_sizes[self.contained])
        return overlap


def rule_of(
    measure: Measure, threshold: Threshold, contained: Contained = "smaller"
) -> Rule:
    """Return the rule of a measure and a threshold; errors name the argument and its range.

    A float stands for all fractions that round to it or to a greater float. Among the similarities
    of sets of at most MOST_TOKENS tokens, which are fractions with bounded denominators, these are
    the ones from some fraction on. The kernels compare with this fraction, in integers. The cosine
    is a root, so it is compared as a float.
    """
    if measure not in MEASURES:
        raise ValueError(
            f"measure must be one of {', '.join(map(repr, MEASURES))}, not {measure!r}"
        )
    value = _exact(threshold)
    if measure == "overlap":
        if value < 1:
            raise ValueError(
                f"threshold must be at least 1 for measure='overlap', not {threshold}"
            )
        return Rule(
            measure, contained, _COUNT, min(math.ceil(value), 2 * MOST_TOKENS), 1, 1.0
        )
    if not 0 < value <= 1:
        raise ValueError(
            f"threshold must be in (0, 1] for measure={measure!r}, not {threshold}"
        )
    if measure == "cosine":
        return Rule(measure, contained, _COSINE, 0, 1, float(value))
    if not isinstance(threshold, (Fraction, tuple)):
        value = (value + Fraction(math.nextafter(float(value), 0.0))) / 2
    least = least_fraction(value, 2 * MOST_TOKENS)
    p = least.numerator
    q = least.denominator
    kind = _CONTAINED[contained] if measure == "containment" else _SUM
    shared = {
        "jaccard": Fraction(p, p + q),
        "dice": Fraction(p, 2 * q),
        "containment": least,
    }[measure]
    return Rule(
        measure, contained, kind, shared.numerator, shared.denominator, float(least)
    )


def plain_threshold(measure: Measure, threshold: Threshold) -> float | Fraction:
    """Return the same threshold as a float64, or a fraction with both terms below 2**31."""
    if measure == "overlap":
        return float(rule_of(measure, threshold).p)
    if measure == "cosine" or not isinstance(threshold, (Fraction, tuple)):
        return float(_exact(threshold))
    return least_fraction(_exact(threshold), 2 * MOST_TOKENS)


def _exact(threshold: Threshold) -> Fraction:
    """Return the exact value of a threshold as a fraction."""
    if isinstance(threshold, tuple):
        are_ints = all(
            isinstance(term, (int, np.integer)) and not isinstance(term, bool)
            for term in threshold
        )
        if len(threshold) != 2 or not are_ints or threshold[1] <= 0:
            raise ValueError(
                f"threshold must be a number, or two ints (p, q) with q above 0, not {threshold!r}"
            )
        return Fraction(int(threshold[0]), int(threshold[1]))
    if isinstance(threshold, Fraction):
        return threshold
    number = check_number("threshold", threshold)
    if not math.isfinite(number):
        raise ValueError(f"threshold must be finite, not {threshold}")
    return Fraction(number)


def least_fraction(x: Fraction, most: int) -> Fraction:
    """Return the least fraction of at least x, in (0, 1], with a denominator of at most `most`.

    It is found on the path to x in the Stern-Brocot tree, several steps of one direction at a time.

    Examples
    --------
    >>> from fractions import Fraction
    >>> least_fraction(Fraction(0.799), 100), least_fraction(Fraction(3, 7), 5)
    (Fraction(4, 5), Fraction(1, 2))
    """
    # low < x <= high are neighbours: each fraction between them has a greater denominator.
    low = (0, 1)
    high = (1, 1)
    while Fraction(*high) > x and low[1] + high[1] <= most:
        to_high = Fraction(high[0]) - x * high[1]
        to_low = x * low[1] - low[0]
        steps = min(math.floor(to_high / to_low), (most - high[1]) // low[1])
        if steps:
            high = high[0] + steps * low[0], high[1] + steps * low[1]
            continue
        steps = min(math.ceil(to_low / to_high) - 1, (most - low[1]) // high[1])
        low = low[0] + steps * high[0], low[1] + steps * high[1]
    return Fraction(*high)
