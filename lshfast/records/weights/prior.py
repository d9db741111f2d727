"""The share of matches among all pairs, from the scores of all pairs.

Blocking rules bring the pairs from which weights are estimated, since matches are frequent among
them. Matches that the rules miss are not counted there. If all pairs are scored, the share of
matches is the mean of their probabilities, which in turn depend on it. The distributions among
matches stay as they are: estimated again from all pairs, they describe pairs that are alike by
chance (F1 of restaurants .76 instead of .94).
"""

from __future__ import annotations

import numpy as np

from lshfast._common.types import Float64Array

MARGIN_BITS = 10.0  # pairs whose score is lower than the threshold by more are left out of the mean
MOST_STEPS = 100
TOLERANCE = 1e-4
# Times the share that is known; a smaller difference is within the error of both.
LEAST_MISSED = 1.5
MOST_PRIOR = 0.5


def prior_of_scores(scores: Float64Array, prior: float, all_pairs: int) -> float:
    """Return the share of matches at which it is the mean probability of all pairs.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        The scores of the pairs that may be matches, in bits.
    prior : float
        The share that is known so far, in (0, 1). It is returned unless the new one is clearly
        greater.
    all_pairs : int
        At least n.

    Returns
    -------
    float

    Examples
    --------
    Of a thousand pairs, fifty score 20 bits; matches are one in a hundred by the pairs of the
    rules.

    >>> import numpy as np
    >>> round(prior_of_scores(np.full(50, 20.0), 0.01, 1000), 4)
    0.05
    >>> prior_of_scores(np.full(12, 20.0), 0.01, 1000)
    0.01
    """
    share = prior
    for _ in range(MOST_STEPS):
        odds = scores + np.log2(share) - np.log2(1 - share)
        total = float((1 / (1 + np.exp2(-np.clip(odds, -1000, 1000)))).sum())
        before = share
        share = min(MOST_PRIOR, max(prior, total / max(1, all_pairs)))
        if abs(share - before) <= TOLERANCE * before:
            break
    return share if share >= LEAST_MISSED * prior else prior
