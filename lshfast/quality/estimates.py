"""Estimates from the pairs of a sample: the number of pairs, and the share that bands find."""

from __future__ import annotations

from math import nan
from typing import NamedTuple

import numpy as np

from lshfast.quality.intervals import Estimate, share_of, total_of, variance_of
from lshfast.quality.near_pairs import Tally
from lshfast.quality.sampling import RowSample


class Measured(NamedTuple):
    """Estimates of some pairs: their number, the recall of a plan, the recall by the S-curve."""

    pairs: Estimate
    recall: Estimate
    promised: float


def measured(tally: Tally, sample: RowSample, bins: slice, plan: int = 0) -> Measured:
    """Estimate the pairs of some bins of similarities, and the recall of a plan among them."""
    rates = sample.rates[sample.rows]
    row_weights = tally.weights[:, bins].sum(axis=1)
    part = tally.found[:, bins, plan].sum(axis=1)
    total = float(row_weights.sum())
    variance = variance_of(row_weights, rates)
    pairs = total_of(total, variance, sample.unit, sample.complete)
    recall = share_of(
        part, row_weights, rates, int(tally.seen[bins].sum()), sample.complete
    )
    promised = tally.promised(bins, plan) / total if total else nan
    return Measured(pairs, recall, promised)


def rows_with_pairs(
    tally: Tally, sample: RowSample, bins: slice
) -> tuple[Estimate, Estimate]:
    """Estimate the rows with a pair in some bins, and the share with a pair that is found.

    The first plan is the one that finds pairs.
    """
    rates = sample.rates[sample.rows]
    row_weights = (tally.weights[:, bins].sum(axis=1) > 0) / rates
    part = (tally.found[:, bins, 0].sum(axis=1) > 0) / rates
    total = float(row_weights.sum())
    variance = variance_of(row_weights, rates)
    count = int(np.count_nonzero(row_weights))
    rows = total_of(total, variance, 2 * sample.unit, sample.complete)
    return rows, share_of(part, row_weights, rates, count, sample.complete)
