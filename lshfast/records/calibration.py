"""How much each field counts, learnt from pairs that are very probably matches.

Seeds are pairs of records that are each other's nearest by far, as whole texts. They show how matches agree in each
field. The other candidates of a seed's records, its rivals, are hardly ever matches: they show what alike records that
are different have in common. A logistic regression tells seeds from rivals by the weights of Fellegi and Sunter and by
the similarity of whole records. It gives each of them a factor: fields that say the same, such as a full name and its
parts, share their weight, and words that all products of a brand have hardly count.

Two tables are calibrated so. Within one table, records have many matches that are nobody's nearest, and weights from
all candidates are better; seeds replace them where the links of these weights contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import ordered_map
from lshfast.common.types import Float64Array
from lshfast.records.candidates import CandidatePairs
from lshfast.records.choices import Assignment
from lshfast.records.comparison import MISSING_LEVEL, FieldComparer
from lshfast.records.linkage import Linkage
from lshfast.records.record_texts import RecordComparer
from lshfast.records.rivals import PairsBetween, PairsWithin
from lshfast.records.scoring import FieldScorer, RecordScorer, WeightScorer, parts_of
from lshfast.records.weights import (
    FieldWeights,
    LinkWeights,
    chance_levels,
    pairs_for_chance,
    share_of,
    weights_of,
    without_matches,
)

# Tables and candidates up to these numbers are calibrated: every candidate is compared in every field.
MOST_ROWS, MOST_CANDIDATES = 200_000, 3_000_000

FEWEST_SEEDS = 20
ROUNDS = 2  # of the regression; the links of one round are the seeds of the next
PENALTY = 1.0  # of the square of a factor
STEPS, TOLERANCE = 50, 1e-6  # of Newton's method
RECORD_SCALE = 10.0  # of cosines, so that their factors are of the size of the others
MOST_GAP = 20.0  # between the last link and the threshold, twice, in log odds
TINY = 1e-6  # penalty of the base


@dataclass(frozen=True)
class Calibration:
    """Scorers of the fields and of whole records, and the scores of all candidates.

    Attributes
    ----------
    scorers : list of FieldScorer
        One for each field, and the last for whole records.
    weights : LinkWeights
    scores : ndarray of float64, shape (candidates,)
    seeds : int
        Pairs of records that are each other's nearest by far.
    records : int
        Records that have a seed.
    """

    scorers: list[FieldScorer]
    weights: LinkWeights
    scores: Float64Array
    seeds: int
    records: int


def can_be_calibrated(linkage: Linkage, candidates: CandidatePairs, assign: Assignment) -> bool:
    """Return whether seeds can be sought: in tables that are not very large, and if a record of two has one link."""
    few = sum(linkage.sizes) <= MOST_ROWS and 0 < len(candidates) <= MOST_CANDIDATES
    return few and (linkage.b is None or assign != "many-to-many")


def calibrate(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    candidates: CandidatePairs,
    assign: Assignment,
    *,
    frequencies: bool = True,
) -> Calibration | None:
    """Calibrate the scores of candidates.

    Parameters
    ----------
    linkage : Linkage
    comparers : sequence of FieldComparer
    candidates : CandidatePairs
    assign : {"one-to-one", "many-to-one", "one-to-many", "many-to-many"}
        Of two tables, see `PairsBetween`.
    frequencies : bool
        As for `estimate_weights`.

    Returns
    -------
    Calibration or None
        None if there are too few seeds.

    References
    ----------
    I. P. Fellegi, A. B. Sunter, "A theory for record linkage", JASA 1969. J. D. Storey, "A direct approach to false
    discovery rates", JRSS B 2002 (the share of matches from the scores of different records).
    """
    i, j = linkage.rows_of(candidates.places)
    whole, similarity = linkage.record_texts.compared(i, j)
    pairs: PairsBetween | PairsWithin = PairsWithin(i, j, linkage.sizes[0])
    if linkage.b is not None:
        pairs = PairsBetween(i, j, linkage.sizes, assign)
    seeds, rivals = pairs.seeds(similarity)
    first = int(seeds.sum())
    records = len(np.unique(i[seeds])) + len(np.unique(j[seeds]))
    if linkage.b is None:
        records = len(np.unique(np.append(i[seeds], j[seeds])))
    if first < FEWEST_SEEDS:
        return None
    rows = pairs_for_chance(linkage)
    chance = list(ordered_map(lambda own: chance_levels(linkage, own, rows), comparers, linkage.threads))
    levels = [own.levels(own.coded.codes[0][i], own.coded.codes[1][j]) for own in comparers]
    counts: list[int] = []
    for _ in range(ROUNDS):
        prior = share_of(float(seeds.sum()), linkage)
        fields = [
            _weights(comparer, level[seeds], u, prior, frequencies)
            for comparer, level, u in zip(comparers, levels, chance, strict=True)
        ]
        by_field = parts_of([WeightScorer(*each) for each in zip(comparers, fields, strict=True)], (i, j))
        features = np.column_stack([by_field, RECORD_SCALE * whole])
        chosen = seeds | rivals
        factors, base = logistic(features[chosen], seeds[chosen])
        scores = features @ factors + base
        counts.append(pairs.matches(scores, seeds))
        best = pairs.best(scores, max(1, round(float(np.mean(counts)))))
        seeds = np.zeros(len(scores), bool)
        seeds[best] = True
        rivals = pairs.rivals(seeds)
    # Halfway to the next candidate: the same links, and tables without errors are not near the threshold.
    last = scores[best[-1]]
    least = float(last + np.max(scores[scores < last], initial=last - MOST_GAP)) / 2
    bits = 1 / np.log(2)
    fields = [own.scaled(factor * bits) for own, factor in zip(fields, factors, strict=False)]
    scorers: list[FieldScorer] = [WeightScorer(comparer, own) for comparer, own in zip(comparers, fields, strict=True)]
    whole_records = RecordComparer(linkage.record_texts, linkage.fields)
    scorers.append(RecordScorer(whole_records, factors[len(fields) :] * RECORD_SCALE * bits))
    prior = float(1 / (1 + np.exp(np.clip(least - base, -700, 700))))
    prior = min(max(prior, np.finfo(np.float64).tiny), 1 - 1e-12)
    weights = LinkWeights(fields, prior, float(len(best)), ROUNDS)
    return Calibration(scorers, weights, (scores - base) * bits, first, records)


def _weights(
    comparer: FieldComparer, levels: npt.NDArray[np.uint8], u: Float64Array, prior: float, frequencies: bool
) -> FieldWeights:
    """Return the weights of a field from the levels of matches."""
    counts = np.bincount(levels, minlength=len(u)) + 0.5
    counts[MISSING_LEVEL] = 0
    m = np.asarray(counts / counts.sum(), np.float64)
    return weights_of(comparer, m, without_matches(u, m, prior), prior, frequencies, graded=True)


def logistic(features: Float64Array, matches: npt.NDArray[Any]) -> tuple[Float64Array, float]:
    """Fit a logistic regression with factors of at least 0, by Newton's method.

    Parameters
    ----------
    features : ndarray of float64, shape (n, k)
    matches : ndarray of bool, shape (n,)

    Returns
    -------
    factors : ndarray of float64, shape (k,)
        A feature whose factor would be negative has the factor 0.
    base : float

    Examples
    --------
    >>> import numpy as np
    >>> factors, base = logistic(np.array([[0.0, 1], [1, 0], [2, 1], [3, 0]]), np.array([False, False, True, True]))
    >>> bool(factors[0] > 0), bool(factors[1] >= 0), bool(base < 0)
    (True, True, True)
    """
    used = np.arange(features.shape[1], dtype=np.int64)
    while True:
        some = np.column_stack([features[:, used], np.ones(len(features))])
        penalty = np.full(len(used) + 1, PENALTY, np.float64)
        penalty[-1] = TINY
        fitted = np.zeros(len(used) + 1)
        for _ in range(STEPS):
            chance = 1 / (1 + np.exp(-np.clip(some @ fitted, -30, 30)))
            slope = some.T @ (matches - chance) - penalty * fitted
            curvature = (some * (chance * (1 - chance))[:, None]).T @ some + np.diag(penalty)
            step = np.linalg.solve(curvature, slope)
            fitted += step
            if np.abs(step).max() < TOLERANCE:
                break
        if (fitted[:-1] >= 0).all():
            factors = np.zeros(features.shape[1])
            factors[used] = fitted[:-1]
            return factors, float(fitted[-1])
        used = used[fitted[:-1] >= 0]
