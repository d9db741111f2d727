"""Values that are similar, but not equal: how much more they weigh if one of them is rare.

An error in a record of a match makes a value that is rare. The similar values of strangers may both
be frequent, such as two common surnames. If an error makes each similar value equally often, then
values with the frequencies f and g occur among matches in proportion to f + g, and among strangers
in proportion to f g: the odds of a match are proportional to 1 / f + 1 / g, the rarity of the pair.
But a nickname is similar and frequent. So the candidates show which power of the rarity holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Float64Array
from lshfast.records.comparison.levels import FieldComparer

# Pairs of matches, and of strangers, at which half of the power that the data show is believed.
HALF_BELIEVED = 20.0
STEPS = 20  # of a bisection
TINY = 1e-300

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class SimilarValues:
    """What the rarity of two similar values adds to the weight of their level.

    Attributes
    ----------
    rarity : ndarray of float64, shape (values,)
        The inverse frequency of each value.
    power : float
        Of the rarity, from 0 (it says nothing) to 1.
    mean_bits : ndarray of float64, shape (levels,)
        The logarithm of the mean of this power among strangers, which is in the weight of the level
        already. NaN for levels of values that are not similar.
    """

    rarity: Float64Array
    power: float
    mean_bits: Float64Array

    def bits(self, levels: npt.NDArray[np.uint8], a: Codes, b: Codes) -> Float64Array:
        """Return what is added to the weights of pairs, from their levels and codes; 0 for values
        that are not similar.
        """
        bits = np.zeros(len(levels))
        similar = np.flatnonzero(~np.isnan(self.mean_bits[levels]))
        rarity = np.log2(self.rarity[a[similar]] + self.rarity[b[similar]])
        bits[similar] = self.power * rarity - self.mean_bits[levels[similar]]
        return bits

    @property
    def most(self) -> float:
        """The greatest number of bits that is added."""
        greatest = self.power * np.log2(2 * self.rarity.max(initial=0.5))
        return float(greatest - np.nanmin(self.mean_bits))

    def scaled(self, factor: float) -> SimilarValues:
        """Return the same times a factor."""
        return SimilarValues(self.rarity, self.power * factor, self.mean_bits * factor)

    def extended(self, size: int) -> SimilarValues:
        """Return the same for more values, which are as rare as the rarest ones."""
        new = np.full(size - len(self.rarity), self.rarity.max(initial=1.0), np.float64)
        return SimilarValues(
            np.concatenate([self.rarity, new]), self.power, self.mean_bits
        )


def similar_values(
    comparer: FieldComparer,
    levels: npt.NDArray[np.uint8],
    codes: tuple[Codes, Codes],
    probabilities: Float64Array,
    unseen: float,
) -> SimilarValues | None:
    """Learn from candidates what the rarity of similar values says; None if it says nothing.

    Parameters
    ----------
    comparer : FieldComparer
    levels : ndarray of uint8, shape (candidates,)
    codes : tuple of ndarray of int32, shape (candidates,)
    probabilities : ndarray of float64, shape (candidates,)
        Of a match, by the levels of all fields.
    unseen : float
        How many records have values that no table has; see `fellegi_sunter.bits_of_values`.
    """
    is_similar = comparer.field_levels.similar
    counts = np.maximum(comparer.coded.counts, 1).astype(np.float64)
    rarity = (counts.sum() + unseen) / counts
    similar = np.flatnonzero(is_similar[levels])
    if not len(similar):
        return None
    levels = levels[similar]
    probabilities = probabilities[similar]
    bits = np.log2(sum(rarity[side[similar]] for side in codes))
    power = power_of(bits, levels, probabilities)
    if power <= 0:
        return None
    means = _means(2 ** (power * bits), levels, 1 - probabilities, len(is_similar))
    mean_bits = np.where(is_similar, np.log2(np.maximum(means, TINY)), np.nan)
    return SimilarValues(rarity, power, mean_bits)


def power_of(
    bits: Float64Array, levels: npt.NDArray[np.uint8], probabilities: Float64Array
) -> float:
    """Return the power of the rarity that tells matches from strangers best, from 0 to 1.

    Parameters
    ----------
    bits : ndarray of float64, shape (pairs,)
        The logarithm of the rarity.
    levels : ndarray of uint8, shape (pairs,)
    probabilities : ndarray of float64, shape (pairs,)
        Of a match, without the rarity.
    """
    size = int(levels.max()) + 1
    strangers = 1 - probabilities
    of_matches = _means(bits, levels, probabilities, size)
    matches = np.bincount(levels, probabilities, minlength=size)

    def is_low(power: float) -> bool:
        """Return whether strangers, weighed by this power of the rarity, have less of it than
        matches.
        """
        weights = strangers * 2 ** (power * bits)
        weights *= strangers.sum() / max(weights.sum(), TINY)
        return bool(matches @ (of_matches - _means(bits, levels, weights, size)) > 0)

    if not is_low(0.0):
        return 0.0
    low = 0.0
    step = 1.0
    for _ in range(STEPS):
        step /= 2
        if is_low(low + step):
            low += step
    observed = min(probabilities.sum(), strangers.sum())
    return float(low * observed / (observed + HALF_BELIEVED))


def _means(
    values: Float64Array,
    levels: npt.NDArray[np.uint8],
    weights: Float64Array,
    size: int,
) -> Float64Array:
    """Return the weighted mean of each level, with one observation of the mean of all levels."""
    sums = np.bincount(levels, weights * values, minlength=size)
    totals = np.bincount(levels, weights, minlength=size)
    mean = sums.sum() / max(totals.sum(), TINY)
    return np.asarray((sums + mean) / (totals + 1))
