"""Estimates from the pairs of a sample: how many pairs there are, and which share of them bands
find.
"""

from __future__ import annotations

from math import nan
from typing import NamedTuple

import numpy as np

from lshfast.quality.intervals import Estimate, share_of, total_of, variance_of
from lshfast.quality.near_pairs import Tally
from lshfast.quality.sampling import RowSample


class Measured(NamedTuple):
    """Estimates of some pairs: their number, the recall of a plan among them, and the recall by the
    S-curve.
    """

    pairs: Estimate
    recall: Estimate
    promised: float


def measured(tally: Tally, sample: RowSample, bins: slice, plan: int = 0) -> Measured:
    """Estimate the pairs of some bins of similarities, and the recall of a plan among them."""
    rates = sample.rates[sample.rows]
    whole = tally.weights[:, bins].sum(axis=1)
    part = tally.found[:, bins, plan].sum(axis=1)
    total = float(whole.sum())
    pairs = total_of(total, variance_of(whole, rates), sample.unit, sample.complete)
    recall = share_of(part, whole, rates, int(tally.seen[bins].sum()), sample.complete)
    promised = tally.promised(bins, plan) / total if total else nan
    return Measured(pairs, recall, promised)


def rows_with_pairs(tally: Tally, sample: RowSample, bins: slice) -> tuple[Estimate, Estimate]:
    """Estimate the rows with a pair in some bins, and which share of them has one that the first
    plan finds.
    """
    rates = sample.rates[sample.rows]
    whole = (tally.weights[:, bins].sum(axis=1) > 0) / rates
    part = (tally.found[:, bins, 0].sum(axis=1) > 0) / rates
    rows = total_of(float(whole.sum()), variance_of(whole, rates), 2 * sample.unit, sample.complete)
    return rows, share_of(part, whole, rates, int(np.count_nonzero(whole)), sample.complete)
