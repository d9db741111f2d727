"""`Cascade`: steps of AND and OR, and their effect on the probability of a collision.

AND of r functions turns the probability p into p**r. OR of b functions turns the probability q = 1
- p of no collision into q**b. All computations carry p and q side by side, so neither loses digits
where the other is close to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int, numbers_of
from lshfast._common.types import Float64Array
from lshfast.banding.scurve import steepest

# The most functions of a step: float64 holds all integers up to here.
MOST_FUNCTIONS = 2**53

# log(p / q) of the largest p that is searched for a fixed point; its exp is finite.
LARGEST_LOGIT = 700.0

# Points at which the slope of a cascade is computed, before its maximum is refined.
GRID_POINTS = 2001

# A cascade is steepest between this probability and 1 minus it.
TAIL = 1e-12


@dataclass(frozen=True)
class Cascade:
    """Steps of AND and OR, as a function of the collision probability of one function.

    Steps of one function are omitted, and neighbouring steps of one kind are joined, so equal
    constructions are equal.

    Parameters
    ----------
    steps : tuple of (str, int)
        "and" or "or", and the number of functions in a group, in 1..2**53; the innermost step
        first.

    Raises
    ------
    TypeError
        If the steps are not pairs of a str and an int.
    ValueError
        If a step is neither "and" nor "or", or its number is out of range.

    See Also
    --------
    lshfast.families.amplification_for : Choose ANDs and ORs for two probabilities.
    lshfast.families.plot_curve : Draw the S-curve.
    lshfast.families.Amplified : Groups of functions of a family.

    Notes
    -----
    log p after a step is a concave function of log p before it, and so are cascades. A cascade of
    AND and OR therefore has exactly one fixed point between 0 and 1: it lowers smaller
    probabilities and raises larger ones.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.6.3. The book
    calls the slope of 4-way AND then 4-way OR "never much higher than 2"; it reaches 2.45. Its
    example 3.20 swaps two constructions: AND, OR, OR, AND of 4 each turns .8 into .9991285 and .2
    into 4.094e-7.

    Examples
    --------
    >>> from lshfast.families import Cascade
    >>> and_or = Cascade().and_(4).or_(4)
    >>> and_or.curve([0.2, 0.8]).round(4).tolist()
    [0.0064, 0.8785]
    >>> round(and_or.fixed_point(), 7)
    0.724492
    >>> [round(number, 5) for number in and_or.steepest()]
    [0.66874, 2.44998]
    """

    steps: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _canonical(self.steps))

    def and_(self, count: int) -> Cascade:
        """Return the cascade with a further step, which takes `count` functions with AND."""
        return Cascade((*self.steps, ("and", count)))

    def or_(self, count: int) -> Cascade:
        """Return the cascade with a further step, which takes `count` functions with OR."""
        return Cascade((*self.steps, ("or", count)))

    @property
    def functions(self) -> int:
        """Number of functions in a group of the last step: the product of the steps."""
        return math.prod(count for _, count in self.steps)

    @property
    def half_point(self) -> float:
        """Probability that the cascade turns into 1/2."""
        return float(self.inverse(0.5))

    @overload
    def curve(self, p: float) -> np.float64: ...
    @overload
    def curve(self, p: npt.ArrayLike) -> Float64Array: ...
    def curve(self, p: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the probability of a collision under the cascade.

        Parameters
        ----------
        p : array_like of float
            Probability of a collision under one function, in [0, 1].

        Returns
        -------
        float64, or ndarray of float64 with the shape of `p`
        """
        p = numbers_of(p, "p", 0, 1)
        return np.asarray(self._last(p, 1 - p)[0])[()]

    @overload
    def inverse(self, probability: float) -> np.float64: ...
    @overload
    def inverse(self, probability: npt.ArrayLike) -> Float64Array: ...
    def inverse(self, probability: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the probability under one function that the cascade turns into this probability.

        Parameters
        ----------
        probability : array_like of float
            Probability of a collision under the cascade, in [0, 1].

        Returns
        -------
        float64, or ndarray of float64 with the shape of `probability`

        Examples
        --------
        >>> from lshfast.families import Cascade
        >>> round(float(Cascade().and_(5).or_(20).inverse(0.5)), 5)
        0.5087
        """
        p = numbers_of(probability, "probability", 0, 1)
        return np.asarray(self._first(p, 1 - p)[0])[()]

    @overload
    def slope(self, p: float) -> np.float64: ...
    @overload
    def slope(self, p: npt.ArrayLike) -> Float64Array: ...
    def slope(self, p: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the derivative of the curve.

        Parameters
        ----------
        p : array_like of float
            Probability of a collision under one function, in [0, 1].

        Returns
        -------
        float64, or ndarray of float64 with the shape of `p`
        """
        p = numbers_of(p, "p", 0, 1)
        return np.asarray(np.exp(self._log_slope(p, 1 - p)))[()]

    def fixed_point(self) -> float:
        """Return the probability between 0 and 1 that the cascade does not change.

        It is found by bisection of log(p / (1 - p)), to the precision of float64.

        Raises
        ------
        ValueError
            If there is no such point, or not only one: with AND alone, OR alone, or without steps.
        """
        if len(self.steps) < 2:
            raise ValueError(
                "only a cascade of both AND and OR has a fixed point between 0 and 1, not "
                f"{self.steps}"
            )

        def below(logit: float) -> bool:
            p, q = self._last(*_probabilities(logit))
            with np.errstate(divide="ignore"):
                return bool(np.log(p) - np.log(q) < logit)

        return float(_probabilities(_bisect(below, -LARGEST_LOGIT, LARGEST_LOGIT))[0])

    def steepest(self) -> tuple[float, float]:
        """Return (p, slope) at the steepest point of the curve.

        One or two steps have a closed form: ((r - 1) / (r b - 1))**(1 / r) for AND of r, then OR of
        b, and 1 minus the same with r and b exchanged for OR, then AND. Longer cascades are
        steepest where the derivative of the logarithm of the slope is zero, which bisection finds.
        """
        if len(self.steps) <= 2:
            counts = dict(self.steps)
            rows = counts.get("and", 1)
            bands = counts.get("or", 1)
            and_first = not self.steps or self.steps[0][0] == "and" or rows == 1
            p = steepest(bands, rows)[0] if and_first else 1 - steepest(rows, bands)[0]
        else:
            p = self._steepest_of_many()
        return p, float(self.slope(p))

    def _steepest_of_many(self) -> float:
        tails = np.array([TAIL, 1 - TAIL], np.float64)
        p, q = self._first(tails, tails[::-1])
        low, high = np.log(p) - np.log(q)
        logits = np.linspace(low, high, GRID_POINTS)
        best = int(self._log_slope(*_probabilities(logits)).argmax())
        before = logits[max(best - 1, 0)]
        after = logits[min(best + 1, GRID_POINTS - 1)]
        return float(_probabilities(_bisect(self._steepens, before, after))[0])

    def _steepens(self, logit: float) -> bool:
        """Return whether the slope increases at this point.

        up and down are the derivatives of log p and of -log q by the logit. After each step, one of
        them is known, and the other follows from p * up = q * down = dp.
        """
        p, q = _probabilities(logit)
        up = q
        down = p
        change = np.zeros(())
        for step, count in self.steps:
            change = change + (count - 1) * (up if step == "and" else -down)
            p, q = _after(step, count, p, q)
            if step == "and":
                up = count * up
                down = up * p / q
            else:
                down = count * down
                up = down * q / p
        return bool(change > 0)

    def _last(
        self, p: Float64Array, q: Float64Array
    ) -> tuple[Float64Array, Float64Array]:
        for step, count in self.steps:
            p, q = _after(step, count, p, q)
        return p, q

    def _first(
        self, p: Float64Array, q: Float64Array
    ) -> tuple[Float64Array, Float64Array]:
        for step, count in reversed(self.steps):
            p, q = _after(step, 1 / count, p, q)
        return p, q

    def _log_slope(self, p: Float64Array, q: Float64Array) -> Float64Array:
        total = np.zeros(np.shape(p))
        for step, count in self.steps:
            log_probability = _log(p, q) if step == "and" else _log(q, p)
            total = total + math.log(count) + (count - 1) * log_probability
            p, q = _after(step, count, p, q)
        return np.asarray(total)


def _canonical(steps: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return checked steps: neighbours differ in kind, and no step is of one function."""
    if not isinstance(steps, (tuple, list)):
        raise TypeError(
            f"steps must be a tuple of pairs such as ('and', 4), not {steps!r}"
        )
    checked = []
    for pair in steps:
        if (
            not isinstance(pair, (tuple, list))
            or len(pair) != 2
            or not isinstance(pair[0], str)
        ):
            raise TypeError(f"a step must be a pair such as ('and', 4), not {pair!r}")
        if pair[0] not in ("and", "or"):
            raise ValueError(f"a step must be 'and' or 'or', not {pair[0]!r}")
        checked.append((pair[0], check_int("count", pair[1], 1)))
    groups = groupby(
        (step for step in checked if step[1] > 1), key=lambda step: step[0]
    )
    joined_steps = tuple(
        (kind, math.prod(count for _, count in group)) for kind, group in groups
    )
    for _, count in joined_steps:
        check_int("count", count, 1, MOST_FUNCTIONS)
    return joined_steps


def _log(p: Float64Array, q: Float64Array) -> Float64Array:
    """Return log p, from the smaller one of p and q = 1 - p."""
    with np.errstate(divide="ignore"):
        return np.where(p < 0.5, np.log(p), np.log1p(-q))


def _after(
    step: str, count: float, p: Float64Array, q: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return p and q after a step; 1 / count undoes it."""
    if step == "or":
        q, p = _after("and", count, q, p)
        return p, q
    exponent = count * _log(p, q)
    return np.exp(exponent), -np.expm1(exponent)


def _probabilities(logit: Float64Array | float) -> tuple[Float64Array, Float64Array]:
    """Return p and q of log(p / q)."""
    return 1 / (1 + np.exp(-np.asarray(logit))), 1 / (1 + np.exp(np.asarray(logit)))


def _bisect(below: Callable[[float], bool], low: float, high: float) -> float:
    """Return the number where `below`, true at `low` and false at `high`, changes."""
    while low < (middle := low + (high - low) / 2) < high:
        if below(middle):
            low = middle
        else:
            high = middle
    return low
