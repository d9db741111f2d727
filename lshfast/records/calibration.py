"""How much each field counts when two tables are linked, learnt from pairs that are very probably matches.

Seeds are pairs of records that are each other's nearest by far, as whole texts. They show how matches agree in each
field. The other candidates of a seed's records, its rivals, are hardly ever matches: they show what alike records that
are different have in common. A logistic regression tells seeds from rivals by the weights of Fellegi and Sunter and by
the similarity of whole records. It gives each of them a factor: fields that say the same, such as a full name and its
parts, share their weight, and words that all products of a brand have hardly count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import ordered_map
from lshfast.common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.candidates import CandidatePairs
from lshfast.records.choices import Assignment
from lshfast.records.comparison import MISSING_LEVEL, FieldComparer
from lshfast.records.linkage import Linkage
from lshfast.records.record_texts import RecordComparer
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

MARGIN = 0.75  # of the similarity of a seed, which those of its rivals are below
FEWEST_SEEDS = 20
ROUNDS = 2  # of the regression; the links of one round are the seeds of the next
PENALTY = 1.0  # of the square of a factor
STEPS, TOLERANCE = 50, 1e-6  # of Newton's method
RECORD_SCALE = 10.0  # of cosines, so that their factors are of the size of the others
QUANTILES = (0.3, 0.5, 0.7)  # of the best scores of different records, at which the share of matches is read
MOST_GAP = 20.0  # between the last link and the threshold, twice, in log odds
TINY = 1e-6


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
    """

    scorers: list[FieldScorer]
    weights: LinkWeights
    scores: Float64Array
    seeds: int


def can_be_calibrated(linkage: Linkage, candidates: CandidatePairs, assign: Assignment) -> bool:
    """Return whether seeds are sought: in two tables that are not very large, and if a record has one link."""
    few = sum(linkage.sizes) <= MOST_ROWS and 0 < len(candidates) <= MOST_CANDIDATES
    return linkage.b is not None and assign != "many-to-many" and few


def calibrate(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    candidates: CandidatePairs,
    assign: Assignment,
    *,
    frequencies: bool = True,
) -> Calibration | None:
    """Calibrate the scores of the candidates of two tables.

    Parameters
    ----------
    linkage : Linkage
    comparers : sequence of FieldComparer
    candidates : CandidatePairs
    assign : {"one-to-one", "many-to-one", "one-to-many"}
        Which other candidates of a seed's records are rivals: those of both records, or of the one that has one link.
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
    pairs = _Pairs(i, j, linkage.sizes, assign)
    seeds = pairs.by_far(similarity)
    first = int(seeds.sum())
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
        chosen = seeds | pairs.of_records(seeds)
        factors, base = logistic(features[chosen], seeds[chosen])
        scores = features @ factors + base
        counts.append(pairs.matches(scores, seeds))
        mutual = np.flatnonzero(pairs.rivals(scores)[1])
        best = mutual[np.argsort(-scores[mutual], kind="stable")][: max(1, round(float(np.mean(counts))))]
        seeds = np.zeros(len(scores), bool)
        seeds[best] = True
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
    return Calibration(scorers, weights, (scores - base) * bits, first)


def _weights(
    comparer: FieldComparer, levels: npt.NDArray[np.uint8], u: Float64Array, prior: float, frequencies: bool
) -> FieldWeights:
    """Return the weights of a field from the levels of matches."""
    counts = np.bincount(levels, minlength=len(u)) + 0.5
    counts[MISSING_LEVEL] = 0
    m = np.asarray(counts / counts.sum(), np.float64)
    return weights_of(comparer, m, without_matches(u, m, prior), prior, frequencies, graded=True)


class _Pairs:
    """Pairs of records of two tables, and which of them concern the same record."""

    def __init__(self, i: Int64Array, j: Int64Array, sizes: tuple[int, int], assign: Assignment) -> None:
        self._sides = [(i, sizes[0]), (j, sizes[1])]
        self._chosen = [
            side for side, one in enumerate(("many-to-one", "one-to-many")) if assign in ("one-to-one", one)
        ]
        # Of the smaller table, most records may have a match.
        self._counted = min(self._chosen, key=lambda side: sizes[side])

    def rivals(self, scores: Float64Array) -> tuple[Float64Array, BoolArray]:
        """Return for each pair the greatest score of another pair of its records, and whether it is the best of both.

        The score is -inf if there is no other pair. Only the records that have one link count. Of equal pairs, the
        first is the best.
        """
        greatest, is_best = np.full(len(scores), -np.inf, np.float64), np.ones(len(scores), bool)
        for side in self._chosen:
            rows, size = self._sides[side]
            order = np.lexsort((-scores, rows))
            ordered = rows[order]
            starts = np.flatnonzero(np.diff(ordered, prepend=-1))
            best, second, place = (
                np.full(size, -np.inf, np.float64),
                np.full(size, -np.inf, np.float64),
                np.full(size, -1, np.int64),
            )
            best[ordered[starts]], place[ordered[starts]] = scores[order[starts]], order[starts]
            more = starts[np.diff(starts, append=len(order)) > 1]
            second[ordered[more]] = scores[order[more + 1]]
            own = place[rows] == np.arange(len(rows), dtype=np.int64)
            greatest = np.maximum(greatest, np.where(own, second[rows], best[rows]))
            is_best &= own
        return greatest, is_best

    def by_far(self, similarities: Float64Array) -> BoolArray:
        """Return which pairs are the best of both records, of which all rivals are much less similar."""
        rivals, is_best = self.rivals(similarities)
        return np.asarray(is_best & (rivals < MARGIN * similarities) & (similarities > 0))

    def of_records(self, chosen: BoolArray) -> BoolArray:
        """Return which pairs have a record of a chosen pair."""
        found = np.zeros(len(chosen), bool)
        for side in self._chosen:
            rows, size = self._sides[side]
            has = np.zeros(size, bool)
            has[rows[chosen]] = True
            found |= has[rows]
        return found

    def matches(self, scores: Float64Array, seeds: BoolArray) -> int:
        """Estimate the number of matches among pairs that are the best of their records.

        The greater of two estimates, both of which are rather too low: by the scores as log odds, whose prior is found
        by expectation maximisation; and by the best scores of the rivals of seeds, which show how many records of which
        the best candidate is different have a score below some value.
        """
        rows, size = self._sides[self._counted]
        best = np.full(size, -np.inf, np.float64)
        np.maximum.at(best, rows, scores)
        rivals, is_best = self.rivals(scores)
        by_odds = int((scores[is_best] + prior_odds(best) > 0).sum())
        of_seeds = rivals[seeds & is_best & np.isfinite(rivals)]
        if not len(of_seeds):
            return by_odds
        limits = np.quantile(of_seeds, QUANTILES)
        shares = [1 - (best < limit).mean() / part for limit, part in zip(limits, QUANTILES, strict=True)]
        by_rivals = int(min(float(is_best.sum()), max(0.0, float(np.median(shares))) * size))
        return max(by_odds, by_rivals)


def nearest_by_far(
    i: Int64Array, j: Int64Array, similarities: Float64Array, sizes: tuple[int, int], single: bool
) -> BoolArray:
    """Return which pairs of records are each other's nearest by far among these pairs.

    Parameters
    ----------
    i, j : ndarray of int64, shape (n,)
    similarities : ndarray of float64, shape (n,)
        In [0, 1].
    sizes : (int, int)
        Rows of the two tables.
    single : bool
        Whether the records are those of one table: a record may then be the first or the second of its pairs.
    """
    if not single:
        return _Pairs(i, j, sizes, "one-to-one").by_far(similarities)
    both = _Pairs(np.append(i, j), np.append(j, i), sizes, "one-to-one")
    return both.by_far(np.append(similarities, similarities))[: len(i)]


def prior_odds(scores: Float64Array) -> float:
    """Return the log odds of a match before the scores are known, which are log odds of a match beside none."""
    share = 0.5
    for _ in range(200):
        odds = np.clip(scores + np.log(share / (1 - share)), -700, 700)
        found = min(max(float((1 / (1 + np.exp(-odds))).mean()), TINY), 1 - 1e-3)
        if abs(found - share) < TINY:
            break
        share = found
    return float(np.log(share / (1 - share)))


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
