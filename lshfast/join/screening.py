"""The similarity of pairs as their signatures estimate it, and pairs that it excludes."""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np

from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.kernels import sets as kernels

# The largest probability with which `screen` drops a pair at the threshold.
SCREEN_CHANCE = 1e-6


def estimate(signatures: UInt64Array, i: Int64Array, j: Int64Array) -> Float64Array:
    """Return the fraction of equal slots of each pair of signatures, float64 (m,)."""
    return np.asarray(kernels.agreements(signatures, i, j) / signatures.shape[1])


def screen(
    signatures: UInt64Array, i: Int64Array, j: Int64Array, threshold: float
) -> BoolArray:
    """Return a bool per candidate: whether at least `least_agreement` of its slots are equal.

    A pair at the threshold is dropped with probability at most 10**-6 (the binomial tail; `fast`
    signatures vary less). Most pairs of dissimilar texts that share a bucket by chance are dropped.
    """
    k = signatures.shape[1]
    return np.asarray(
        kernels.agreements(signatures, i, j) >= least_agreement(k, threshold)
    )


def least_agreement(k: int, threshold: float) -> int:
    """Return the largest c with P[Binomial(k, threshold) < c] <= SCREEN_CHANCE."""
    if threshold <= 0 or threshold >= 1:
        return k if threshold >= 1 else 0
    tail = 0.0
    for count in range(k + 1):
        choose = lgamma(k + 1) - lgamma(count + 1) - lgamma(k - count + 1)
        tail += exp(choose + count * log(threshold) + (k - count) * log(1 - threshold))
        if tail > SCREEN_CHANCE:
            return count
    return k
