"""From weights to links: scores of candidates, the least score, assignment, and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.candidates.union import CandidatePairs
from lshfast.records.choices import Assignment
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.distinct import places_among
from lshfast.records.linkage import Linkage
from lshfast.records.links.assignment import assigned, equally_good, one_to_one
from lshfast.records.links.clusters import Clusters, cluster_rows
from lshfast.records.links.labels import NO_LABELS, PairLabels
from lshfast.records.links.matchings import matching_probabilities, unmatched_bits
from lshfast.records.links.scoring import (
    IndependentFields,
    PairScorer,
    PointsScorer,
    WeightScorer,
)
from lshfast.records.options import LinkOptions
from lshfast.records.results.outlook import THRESHOLDS, ThresholdStep, threshold_steps
from lshfast.records.weights.fellegi_sunter import LinkWeights, with_prior
from lshfast.records.weights.prior import MARGIN_BITS, prior_of_scores

PROBABILITY = 0.5  # of a match, for a link
POINTS_SHARE = 0.75  # of all points, for a link
TINY = 1e-6  # rounding errors of probabilities stay below
# Two pairs of a record that are equally good have a little less than a half each: this is added.
EQUAL_RIVALS = 0.02
POINTS_BITS = 40.0  # that all points count as, in the evidence for groups


@dataclass(frozen=True)
class CandidateScores:
    """The candidates that may be links.

    Attributes
    ----------
    linkage : Linkage
    candidates : CandidatePairs
    weights : LinkWeights or None
        None for points.
    scorers : PairScorer
    least : float
        The least score of a link.
    index : ndarray of int64, shape (n,)
        Their places among the candidates; with weights, also some that score less than a link.
    scores : ndarray of float64, shape (n,)
    """

    linkage: Linkage
    candidates: CandidatePairs
    weights: LinkWeights | None
    scorers: PairScorer
    least: float
    index: Int64Array
    scores: Float64Array

    def without(self, dropped: BoolArray) -> CandidateScores:
        """Return the scores without some of these pairs, which are no candidates any more."""
        stays = np.ones(len(self.candidates), bool)
        stays[self.index[dropped]] = False
        candidates = replace(
            self.candidates,
            places=self.candidates.places[stays],
            masks=self.candidates.masks[stays],
        )
        index = np.cumsum(stays, dtype=np.int64)[self.index[~dropped]] - 1
        return replace(
            self, candidates=candidates, index=index, scores=self.scores[~dropped]
        )

    def down_to(self, least: float) -> CandidateScores:
        """Score the candidates again, and keep all that score at least `least`."""
        index, scores = self.scorers.above(self.linkage, self.candidates.places, least)
        return replace(self, least=least, index=index, scores=scores)


@dataclass(frozen=True)
class ChosenLinks:
    """The links of a run, sorted by their rows.

    Attributes
    ----------
    i, j : ndarray of int64, shape (n,)
    scores : ndarray of float64, shape (n,)
    probabilities : ndarray of float64, shape (n,), or None
        None for points.
    masks : ndarray of uint32, shape (n,)
        The rules that brought each link.
    ambiguous : int
        Links that were left out because others are as good.
    greedy : int
        Links that were chosen greedily, since chains of pairs connect too many records.
    clusters : Clusters or None
        The groups of one table.
    """

    i: Int64Array
    j: Int64Array
    scores: Float64Array
    probabilities: Float64Array | None
    masks: npt.NDArray[np.uint32]
    ambiguous: int = 0
    greedy: int = 0
    clusters: Clusters | None = None


def links_of(
    scored: CandidateScores, assign: Assignment, labels: PairLabels = NO_LABELS
) -> ChosenLinks:
    """Choose links that score enough and agree with the marks, and group records of one table."""
    linkage = scored.linkage
    links = links_above(scored, assign, labels)
    if not linkage.single:
        return links
    clusters = grouped(links, scored)
    groups = labels.bind_groups(clusters.labels, links.i, links.j, links.scores)
    cut = int((groups[links.i] != groups[links.j]).sum())
    return replace(links, clusters=Clusters(groups, cut))


def links_above(
    scored: CandidateScores,
    assign: Assignment,
    labels: PairLabels = NO_LABELS,
    least: float | None = None,
) -> ChosenLinks:
    """Choose links that score enough, or at least `least`, and add the pairs marked the same.

    A one-to-one link must be as probable as the threshold says beside its rivals, too.
    """
    if least is None:
        least = scored.least
    linkage = scored.linkage
    is_above = scored.scores >= least
    index = scored.index[is_above]
    scores = scored.scores[is_above]
    i, j = linkage.rows_of(scored.candidates.places[index])
    if len(labels):
        free = labels.leave_open(i, j, assign, linkage.single)
        index = index[free]
        scores = scores[free]
        i = i[free]
        j = j[free]
    greedy = 0
    if assign == "one-to-one":
        links, greedy = one_to_one(i, j, scores - least, single=linkage.single)
    else:
        links = assigned(i, j, scores, assign)
    is_kept = np.ones(len(links), bool)
    probabilities = None
    if scored.weights is not None:
        probabilities = scored.weights.probability(scores[links])
        if assign == "one-to-one" and not linkage.single:
            most = probable_beside_rivals(
                i, j, scores, links, scored.weights, linkage.sizes
            )
            is_kept = most >= scored.weights.probability(least) - TINY
            probabilities = np.minimum(probabilities, most)[is_kept]
    links = links[is_kept]
    chosen_links = ChosenLinks(
        i[links],
        j[links],
        scores[links],
        probabilities,
        scored.candidates.masks[index[links]],
        int((~is_kept).sum()),
        greedy,
    )
    return with_marked(chosen_links, scored, labels)


def probable_beside_rivals(
    i: Int64Array,
    j: Int64Array,
    scores: Float64Array,
    links: Int64Array,
    weights: LinkWeights,
    sizes: tuple[int, int],
) -> Float64Array:
    """Return the greatest probability that one-to-one links of pairs can have beside their rivals.

    Weights that know the rivals of a record say nothing of equal ones: of k pairs of a record that
    are equally good, at most one is a match.
    """
    if weights.unmatched_bits is None:
        return np.asarray(1 / equally_good(i, j, scores, links, sizes), np.float64)
    chances = matching_probabilities(i, j, scores + weights.prior_bits, sizes)[links]
    return np.asarray(chances + EQUAL_RIVALS * 4 * chances * (1 - chances))


def among_unmatched(weights: LinkWeights, sizes: tuple[int, int]) -> LinkWeights:
    """Return weights of two tables of which each record has one match at most."""
    matches = weights.prior * sizes[0] * sizes[1]
    return replace(weights, unmatched_bits=unmatched_bits(matches, sizes))


def with_marked(
    links: ChosenLinks, scored: CandidateScores, labels: PairLabels
) -> ChosenLinks:
    """Return links with those that are marked the same, whose probability is 1."""
    i, j = labels.pairs(True)
    if not len(i):
        return links
    candidates = scored.candidates
    marked = (i * scored.linkage.sizes[1] + j).astype(np.uint64)
    places, is_candidate = places_among(marked, candidates.places)
    masks = np.zeros(len(i), np.uint32)
    masks[is_candidate] = candidates.masks[places[is_candidate]]
    scores = scored.scorers.parts((i, j)).sum(axis=1)
    all_i = np.concatenate([links.i, i])
    all_j = np.concatenate([links.j, j])
    order = np.lexsort((all_j, all_i))
    probabilities = None
    if links.probabilities is not None:
        probabilities = np.concatenate([links.probabilities, np.ones(len(i))])[order]
    return replace(
        links,
        i=all_i[order],
        j=all_j[order],
        scores=np.concatenate([links.scores, scores])[order],
        probabilities=probabilities,
        masks=np.concatenate([links.masks, masks])[order],
    )


def steps_of(
    scored: CandidateScores, assign: Assignment, labels: PairLabels = NO_LABELS
) -> list[ThresholdStep]:
    """Return what other thresholds would give; nothing for points."""
    if scored.weights is None:
        return []
    least = scored.weights.bits_of(THRESHOLDS[0])
    links = links_above(scored, assign, labels, least)
    assert links.probabilities is not None
    return threshold_steps(links.probabilities)


def all_scores(
    linkage: Linkage,
    candidates: CandidatePairs,
    comparers: Sequence[FieldComparer],
    weights: LinkWeights,
    options: LinkOptions,
) -> CandidateScores:
    """Score all pairs, and again if they show clearly more matches than the weights expect."""
    while True:
        scorers = scorers_of(comparers, weights)
        least, lowest = least_scores(options, weights, scorers)
        margin = min(lowest, weights.bits_of(PROBABILITY)) - MARGIN_BITS
        index, scores = scorers.above(linkage, candidates.places, margin)
        prior = prior_of_scores(scores, weights.prior, linkage.all_pairs)
        if prior == weights.prior:
            break
        weights = with_prior(weights, comparers, linkage, prior, options.frequencies)
    is_above = scores >= lowest
    return CandidateScores(
        linkage, candidates, weights, scorers, least, index[is_above], scores[is_above]
    )


def grouped(links: ChosenLinks, scored: CandidateScores) -> Clusters:
    """Return the groups of one table, from its links and the scores of other pairs."""
    scorers = scored.scorers
    least = scored.least
    unit = 1.0
    if scored.weights is None:
        unit = POINTS_BITS / all_points(scorers)

    def evidence(first: Int64Array, second: Int64Array) -> Float64Array:
        return np.asarray((scorers.parts((first, second)).sum(axis=1) - least) * unit)

    gains = (links.scores - least) * unit
    return cluster_rows(len(scored.linkage.a), links.i, links.j, gains, evidence)


def all_points(scorers: PairScorer) -> float:
    """Return the points of equal records."""
    return sum(scorer.comparer.coded.field.points for scorer in scorers)


def scorers_of(
    comparers: Sequence[FieldComparer], weights: LinkWeights | None
) -> IndependentFields:
    """Return the scorers of the fields, by estimated weights or by points."""
    if weights is None:
        return IndependentFields([*map(PointsScorer, comparers)])
    return IndependentFields([*map(WeightScorer, comparers, weights.fields)])


def least_scores(
    options: LinkOptions, weights: LinkWeights | None, scorers: PairScorer
) -> tuple[float, float]:
    """Return the least score of a link, and the least one that is of interest."""
    threshold = options.threshold
    if weights is not None:
        least = weights.bits_of(PROBABILITY if threshold is None else threshold)
        return least, min(least, weights.bits_of(THRESHOLDS[0]))
    if threshold is None:
        threshold = POINTS_SHARE * all_points(scorers)
    return threshold, threshold
