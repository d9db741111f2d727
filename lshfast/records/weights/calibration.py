"""How much each field counts, learnt from pairs that are very probably matches.

Seeds are pairs of records that are each other's nearest by far, as whole texts. They show how
matches agree in each field. The other candidates of a seed's records, its rivals, are hardly ever
matches: they show what alike records that are different have in common. A logistic regression tells
seeds from rivals by the weights of Fellegi and Sunter and by the similarity of whole records, in
normal form and, between two tables, as they are written. It gives each of them a factor: fields
that say the same, such as a full name and its parts, share their weight, and words that all
products of a brand have hardly count.

Two tables are calibrated so. Within one table, records have many matches that are nobody's nearest,
and weights from all candidates are better; seeds replace them where the links of these weights
contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.records.candidates.record_texts import RecordComparer
from lshfast.records.candidates.union import CandidatePairs
from lshfast.records.choices import Assignment
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.comparison.nearness import MISSING_LEVEL
from lshfast.records.linkage import Linkage
from lshfast.records.links.labels import PairLabels
from lshfast.records.links.scoring import FieldScorer, RecordScorer, WeightScorer
from lshfast.records.weights.fellegi_sunter import (
    FieldWeights,
    LinkWeights,
    distribution,
    levels_by_chance,
    share_of,
    weights_of,
    without_matches,
)
from lshfast.records.weights.rivals import PairsBetween, PairsWithin, pairs_of_records

# Tables and candidates up to these numbers are calibrated: every candidate is compared in every
# field.
MOST_ROWS = 200_000
MOST_CANDIDATES = 3_000_000

FEWEST_SEEDS = 20
FEWEST_BETWEEN = 5  # of two tables: lists of 20 products are linked from as few
# Links of one table that are the kind of pairs that seeds are: the least part of the seeds that are
# links, the most records that have links, as times the records of seeds, and the least information
# of the fields, as part of the information of seeds.
LEAST_LINKED = 0.5
MOST_RECORDS = 5.0
LEAST_INFORMATION = 0.5
ROUNDS = 2  # of the regression; the links of one round are the seeds of the next
# Of candidates that only keys brought. F1 of people with relatives and many errors is .950, but
# .943 with two rounds, and .927 at .4; F1 of 30,000 people, 5 % of whom are in both tables, is
# .994, but .73 at 0.
LEAST_ALONE = 0.25
ROUNDS_ALONE = 4
PENALTY = 1.0  # of the square of a factor
# The most steps of Newton's method, and the change below which it ends.
STEPS = 50
TOLERANCE = 1e-6
PIECE = 4096  # pairs of which products are added at a time
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
    """

    scorers: list[FieldScorer]
    weights: LinkWeights
    scores: Float64Array


@dataclass(frozen=True)
class FoundSeeds:
    """Candidates that are very probably matches, and their rivals.

    Attributes
    ----------
    i, j : ndarray of int64, shape (candidates,)
    similarities : ndarray of float64, shape (candidates, 3)
        Of whole records: by trigrams, words and numbers.
    pairs : PairsBetween or PairsWithin
    seeds, rivals : ndarray of bool, shape (candidates,)
    rounds : int
        Of the regression.
    marked : ndarray of bool, shape (candidates,), or None
        Whether people marked a pair; those that are no seeds are different.
    """

    i: Int64Array
    j: Int64Array
    similarities: Float64Array
    pairs: PairsBetween | PairsWithin
    seeds: BoolArray
    rivals: BoolArray
    rounds: int
    marked: BoolArray | None = None

    def __len__(self) -> int:
        return int(self.seeds.sum())

    def with_marks(
        self, places: UInt64Array, labels: PairLabels, width: int
    ) -> FoundSeeds:
        """Add pairs marked the same to the seeds, and pairs marked different to the rivals."""
        marked_places = labels.places(width)
        marked = np.isin(places, marked_places)
        same = np.isin(places, marked_places[labels.same])
        return replace(self, seeds=(self.seeds & ~marked) | same, marked=marked)

    def support(
        self,
        i: Int64Array,
        j: Int64Array,
        comparers: Sequence[FieldComparer],
        weights: LinkWeights,
    ) -> bool:
        """Return whether links of one table are the kind of pairs that the seeds are.

        They are not if most seeds are no links, if the fields of links agree by far less than the
        fields of seeds, or if far more records have links than seeds.
        """
        seed_i = self.i[self.seeds]
        seed_j = self.j[self.seeds]
        if (
            np.isin(pair_numbers(seed_i, seed_j), pair_numbers(i, j)).mean()
            < LEAST_LINKED
        ):
            return False
        linked_records = len(np.unique(np.append(i, j)))
        if linked_records > MOST_RECORDS * len(np.unique(np.append(seed_i, seed_j))):
            return False
        of_seeds = information(comparers, weights, (seed_i, seed_j))
        return information(comparers, weights, (i, j)) >= LEAST_INFORMATION * of_seeds


def pair_numbers(i: Int64Array, j: Int64Array) -> UInt64Array:
    """Return one number for each pair of rows."""
    return i.astype(np.uint64) << np.uint64(32) | j.astype(np.uint64)


def information(
    comparers: Sequence[FieldComparer],
    weights: LinkWeights,
    pairs: tuple[Int64Array, Int64Array],
) -> float:
    """Return the sum over the fields of the relative entropy of levels to chance, in bits."""
    total = 0.0
    for comparer, field in zip(comparers, weights.fields, strict=True):
        codes = comparer.coded.codes
        levels = comparer.levels(codes[0][pairs[0]], codes[1][pairs[1]])
        m = distribution(levels, len(field.u))
        present = float((levels != MISSING_LEVEL).mean())
        possible = field.u > 0
        total += present * float(
            (m[possible] * np.log2(m[possible] / field.u[possible])).sum()
        )
    return total


def find_seeds(
    linkage: Linkage,
    candidates: CandidatePairs,
    assign: Assignment,
    *,
    alone: bool = False,
) -> FoundSeeds | None:
    """Find seeds: in tables that are not very large, and if a record of two tables has one link.

    Parameters
    ----------
    linkage : Linkage
    candidates : CandidatePairs
    assign : {"one-to-one", "many-to-one", "one-to-many", "many-to-many"}
        Of two tables, see `PairsBetween`.
    alone : bool
        Whether only keys brought the candidates of two tables. Then a seed also has at least a
        similarity of `LEAST_ALONE`, since its rivals may be missing, and the links of each of more
        rounds correct the choice.

    Returns
    -------
    FoundSeeds or None
        None if there are too few, or none are sought.
    """
    if not seeds_are_sought(linkage, candidates, assign):
        return None
    i, j = linkage.rows_of(candidates.places)
    cosines, similarity = linkage.record_texts.compared(i, j)
    pairs = pairs_of_records(i, j, linkage.sizes, linkage.b is None, assign)
    seeds, rivals = pairs.seeds(similarity)
    if alone:
        seeds &= similarity >= LEAST_ALONE
        rivals = pairs.rivals(seeds)
    rounds = ROUNDS_ALONE if alone else ROUNDS
    found_seeds = FoundSeeds(i, j, cosines, pairs, seeds, rivals, rounds)
    fewest = FEWEST_SEEDS if linkage.b is None else FEWEST_BETWEEN
    return found_seeds if len(found_seeds) >= fewest else None


def seeds_are_sought(
    linkage: Linkage, candidates: CandidatePairs, assign: Assignment
) -> bool:
    """Return whether seeds make sense: a moderate number of candidates, and of links a record."""
    few = linkage.rows <= MOST_ROWS and 0 < len(candidates) <= MOST_CANDIDATES
    return few and (linkage.b is None or assign != "many-to-many")


def calibrate(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    found_seeds: FoundSeeds,
    *,
    frequencies: bool = True,
) -> Calibration:
    """Calibrate the scores of the candidates of which some are seeds.

    Parameters
    ----------
    linkage : Linkage
    comparers : sequence of FieldComparer
    found_seeds : FoundSeeds
    frequencies : bool
        As for `estimate_weights`.

    References
    ----------
    I. P. Fellegi, A. B. Sunter, "A theory for record linkage", JASA 1969. J. D. Storey, "A direct
    approach to false discovery rates", JRSS B 2002 (the share of matches from the scores of
    different records).
    """
    i = found_seeds.i
    j = found_seeds.j
    pairs = found_seeds.pairs
    seeds = found_seeds.seeds
    rivals = found_seeds.rivals
    chance = levels_by_chance(linkage, comparers)
    codes = [comparer.coded.codes for comparer in comparers]
    agreements = [
        comparer.agreement(first[i], second[j])
        for comparer, (first, second) in zip(comparers, codes, strict=True)
    ]
    # Different records of one table may be written alike, by the same hand: F1 of discs is .47 with
    # it, .52 without.
    written_texts = None if linkage.b is None else linkage.written_texts
    record_cosines = found_seeds.similarities
    if written_texts is not None:
        record_cosines = np.column_stack([record_cosines, written_texts.compared(i, j)])
    counts: list[int] = []
    marked = (
        np.zeros(len(i), bool) if found_seeds.marked is None else found_seeds.marked
    )
    same = marked & found_seeds.seeds
    different = marked & ~found_seeds.seeds
    for _ in range(found_seeds.rounds):
        prior = share_of(float(seeds.sum()), linkage)
        fields = [
            _weights(comparer, agreement.levels[seeds], u, prior, frequencies)
            for comparer, agreement, u in zip(
                comparers, agreements, chance, strict=True
            )
        ]
        by_field = [
            WeightScorer(comparer, field).of_agreement(first[i], agreement)
            for comparer, field, (first, _), agreement in zip(
                comparers, fields, codes, agreements, strict=True
            )
        ]
        features = np.column_stack([*by_field, RECORD_SCALE * record_cosines])
        seeds = (seeds | same) & ~different
        rivals = (rivals | different) & ~same
        in_training = seeds | rivals
        factors, base = logistic(features[in_training], seeds[in_training])
        scores = np.einsum("ij,j->i", features, factors) + base
        counts.append(pairs.matches(scores, seeds))
        best = pairs.best(scores, max(1, round(float(np.mean(counts)))))
        seeds = np.zeros(len(scores), bool)
        seeds[best] = True
        rivals = pairs.rivals(seeds)
    # Halfway to the next candidate: the same links, and tables without errors are not near the
    # threshold.
    last = scores[best[-1]]
    least = float(last + np.max(scores[scores < last], initial=last - MOST_GAP)) / 2
    bits = 1 / np.log(2)
    fields = [
        field.scaled(factor * bits)
        for field, factor in zip(fields, factors, strict=False)
    ]
    scorers: list[FieldScorer] = [*map(WeightScorer, comparers, fields)]
    whole_records = RecordComparer(linkage.record_texts, written_texts, linkage.fields)
    scorers.append(
        RecordScorer(whole_records, factors[len(fields) :] * RECORD_SCALE * bits)
    )
    prior = float(1 / (1 + np.exp(np.clip(least - base, -700, 700))))
    prior = min(max(prior, np.finfo(np.float64).tiny), 1 - 1e-12)
    weights = LinkWeights(fields, prior, float(len(best)), found_seeds.rounds)
    return Calibration(scorers, weights, (scores - base) * bits)


def _weights(
    comparer: FieldComparer,
    levels: npt.NDArray[np.uint8],
    u: Float64Array,
    prior: float,
    frequencies: bool,
) -> FieldWeights:
    """Return the weights of a field from the levels of matches."""
    m = distribution(levels, len(u))
    return weights_of(
        comparer, m, without_matches(u, m, prior), prior, frequencies, graded=True
    )


def logistic(
    features: Float64Array, matches: npt.NDArray[Any]
) -> tuple[Float64Array, float]:
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
    >>> factors, base = logistic(
    ...     np.array([[0.0, 1], [1, 0], [2, 1], [3, 0]]),
    ...     np.array([False, False, True, True]),
    ... )
    >>> bool(factors[0] > 0), bool(factors[1] >= 0), bool(base < 0)
    (True, True, True)
    """
    # Sums by einsum: BLAS starts threads for matrices as narrow as these, which takes longer than
    # the products do, and its sums differ between processors.
    columns = np.arange(features.shape[1], dtype=np.int64)
    while True:
        rows = np.vstack([features.T[columns], np.ones(len(features))])
        penalty = np.full(len(columns) + 1, PENALTY, np.float64)
        penalty[-1] = TINY
        fitted = np.zeros(len(columns) + 1)
        for _ in range(STEPS):
            chance = 1 / (
                1 + np.exp(-np.clip(np.einsum("ij,i->j", rows, fitted), -30, 30))
            )
            slope = np.einsum("ij,j->i", rows, matches - chance) - penalty * fitted
            curvature = _weighted_products(rows, chance * (1 - chance)) + np.diag(
                penalty
            )
            step = np.linalg.solve(curvature, slope)
            fitted += step
            if np.abs(step).max() < TOLERANCE:
                break
        if (fitted[:-1] >= 0).all():
            factors = np.zeros(features.shape[1])
            factors[columns] = fitted[:-1]
            return factors, float(fitted[-1])
        columns = columns[fitted[:-1] >= 0]


def _weighted_products(rows: Float64Array, weights: Float64Array) -> Float64Array:
    """Return the products of all pairs of rows, the sums of r[i] * r[k] * weights."""
    count, size = rows.shape
    products = np.zeros((count, count))
    for start in range(0, size, PIECE):  # which stays in the cache
        part = rows[:, start : start + PIECE]
        weighted = part * weights[start : start + PIECE]
        for i in range(count):
            products[i, i:] += np.einsum("ij,j->i", part[i:], weighted[i])
    return products + np.triu(products, 1).T
