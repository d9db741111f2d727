"""Probabilities of the pairs of two tables of which each record has one match at most.

Two records are less likely to match if one of them has rivals, that is, other likely pairs, and
more likely if few records are left without a match. Sets of pairs in which no record stands twice
are matchings. The weight of a matching is the product of the odds of its pairs, and the probability
of a pair is the share of the weights of the matchings that it is in. Belief propagation estimates
it: each record tells its partners how likely its other pairs are, until nothing changes.

M. Bayati, D. Gamarnik, D. Katz, C. Nair, P. Tetali, "Simple deterministic approximation algorithms
for counting matchings", STOC 2007. M. Sadinle, "Bayesian estimation of bipartite matchings for
record linkage", JASA 2017.
"""

from __future__ import annotations

import numpy as np

from lshfast._common.types import Float64Array, Int64Array

MOST_STEPS = 300
FEWEST_STEPS = 20
MOST_WORK = 2**28  # pairs times steps
TOLERANCE = 1e-4  # of the probabilities, that change from step to step
LARGEST_BITS = 50.0  # of the odds: sums of them stay exact


def unmatched_bits(matches: float, sizes: tuple[int, int]) -> float:
    """Return how much greater the odds of two records without another match are than those of any
    two, in bits.

    Of n and m records, k of which have matches, (n - k)(m - k) pairs are left for a further match.
    The number k has an error of about its root, so that many records at least count as left.

    Parameters
    ----------
    matches : float
        The expected number of matches, at least 0.
    sizes : (int, int)

    Examples
    --------
    If nine tenths of two tables match, a hundredth of the pairs is left:

    >>> round(unmatched_bits(9e9, (10**10, 10**10)), 2)
    6.64
    """
    matches = min(matches, float(min(sizes)))
    error = matches**0.5
    return sum(
        float(np.log2(size + error) - np.log2(size - matches + error))
        for size in sizes
        if size
    )


def matching_probabilities(
    i: Int64Array, j: Int64Array, bits: Float64Array, sizes: tuple[int, int]
) -> Float64Array:
    """Return the probability of each pair if each record has one match at most.

    Parameters
    ----------
    i, j : ndarray of int64, shape (n,)
        Rows of the two tables.
    bits : ndarray of float64, shape (n,)
        The log2 odds of each pair without rivals.
    sizes : (int, int)

    Returns
    -------
    ndarray of float64, shape (n,)

    Examples
    --------
    A record with two partners that are equally good, and one without rivals:

    >>> import numpy as np
    >>> i, j = np.array([0, 0, 1]), np.array([0, 1, 2])
    >>> matching_probabilities(i, j, np.array([10.0, 10.0, 10.0]), (2, 3)).round(3)
    array([0.5  , 0.5  , 0.999])
    """
    odds = np.exp2(np.clip(bits, -LARGEST_BITS, LARGEST_BITS))
    probabilities: Float64Array = odds / (1 + odds)
    has_rivals = np.bincount(i, minlength=sizes[0])[i] > 1
    has_rivals |= np.bincount(j, minlength=sizes[1])[j] > 1
    rivals = np.flatnonzero(has_rivals)
    if len(rivals):
        first = np.unique(i[rivals], return_inverse=True)[1]
        second = np.unique(j[rivals], return_inverse=True)[1]
        probabilities[rivals] = rival_probabilities(first, second, odds[rivals])
    return probabilities


def rival_probabilities(
    first: Int64Array, second: Int64Array, odds: Float64Array
) -> Float64Array:
    """Return the same of pairs with rivals, from their rows and odds.

    Without damping, the messages of odd and even steps would stay above and below the solution.
    """
    steps = min(MOST_STEPS, max(FEWEST_STEPS, MOST_WORK // len(odds)))
    of_first = odds
    of_second = odds
    probabilities = odds / (1 + odds)
    for _ in range(steps):
        answer_of_first = odds / (1 + sums_of_others(first, of_second))
        answer_of_second = odds / (1 + sums_of_others(second, of_first))
        of_first = np.sqrt(of_first * answer_of_first)
        of_second = np.sqrt(of_second * answer_of_second)
        total = of_first * (of_second / odds)
        previous = probabilities
        probabilities = total / (1 + total)
        if np.abs(probabilities - previous).max() <= TOLERANCE:
            break
    return probabilities


def sums_of_others(rows: Int64Array, messages: Float64Array) -> Float64Array:
    """Return for each pair the sum of the messages of the other pairs of its row."""
    sums = np.bincount(rows, messages)[rows] - messages
    return np.asarray(np.maximum(sums, 0.0))
