"""The rate of true matches by score, from a field that is held out."""

from __future__ import annotations

import numpy as np

from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.records.candidates.union import CandidatePairs
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.link_task import LinkTask
from lshfast.records.linkage import Linkage
from lshfast.records.links.decision import (
    CandidateScores,
)
from lshfast.records.links.scoring import PairScorer
from lshfast.records.results.rates import LEAST_SURE, RateTable, rate_table
from lshfast.records.weights.fellegi_sunter import random_rows

# Pairs are taken for matches this far above the threshold, or with this part of all points.
SURE_BITS = 10.0
SURE_POINTS = 0.95
# Candidates, and random pairs, from which the rate of true matches is estimated.
RATE_PAIRS = 500_000


def held_out_rates(
    task: LinkTask,
    candidates: CandidatePairs,
    scores: CandidateScores,
    window: float | None = None,
) -> RateTable:
    """Estimate the rate of true matches from the field that is held out.

    With a window, only pairs that differ by at most this count, random ones too.
    """
    assert task.held_out is not None
    comparer = FieldComparer(task.held_out, task.synonyms, task.linkage.threads)
    sure = scores.least + SURE_BITS
    if scores.weights is None:
        sure = SURE_POINTS * sum(
            scorer.comparer.coded.field.points for scorer in scores.scorers
        )
    return rates_of(
        task.linkage, candidates.places, scores.scorers, comparer, sure, window
    )


def rates_of(
    linkage: Linkage,
    places: UInt64Array,
    scorers: PairScorer,
    comparer: FieldComparer,
    sure: float,
    window: float | None = None,
) -> RateTable:
    """Estimate the rate of true matches by score from a field that is held out; pairs that score
    `sure` are matches.
    """
    if len(places) > RATE_PAIRS:
        rng = np.random.default_rng([linkage.seed, 4])
        places = places[np.sort(rng.choice(len(places), RATE_PAIRS, replace=False))]
    i, j = linkage.rows_of(places)
    scores = scorers.parts((i, j)).sum(axis=1)
    rows = (
        random_rows(linkage, min(RATE_PAIRS, 4 * linkage.all_pairs))
        if linkage.all_pairs
        else (i, j)
    )
    name = comparer.coded.field.name
    field_differences = [differences(comparer, pair) for pair in ((i, j), rows)]
    most = np.inf if window is None else window
    is_counted = np.isfinite(field_differences[0]) & (field_differences[0] <= most)
    certain = field_differences[0][(scores >= sure) & is_counted]
    h0 = float(certain.mean()) if len(certain) >= LEAST_SURE else None
    return rate_table(
        scores,
        field_differences[0],
        random=field_differences[1],
        h0=h0,
        window=window,
        field=name,
    )


def differences(
    comparer: FieldComparer, rows: tuple[Int64Array, Int64Array]
) -> Float64Array:
    """Return how much a field differs: numbers and dates by value, categories by 0 or 1, others by
    edits.
    """
    coded = comparer.coded
    a = coded.codes[0][rows[0]]
    b = coded.codes[1][rows[1]]
    if coded.kind == "category":
        return np.where((a < 0) | (b < 0), np.nan, (a != b).astype(np.float64))
    return comparer.edits(a, b, 1.0)
