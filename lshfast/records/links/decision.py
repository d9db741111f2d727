"""From weights to links: scores of candidates, the least score, assignment, and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.records.candidates.union import CandidatePairs
from lshfast.records.choices import Assignment
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.distinct import places_among
from lshfast.records.linkage import Linkage
from lshfast.records.links.assignment import assigned, equally_good, one_to_one
from lshfast.records.links.clusters import Clusters, cluster_rows
from lshfast.records.links.labels import NO_LABELS, PairLabels
from lshfast.records.links.scoring import (
    IndependentFields,
    PairScorer,
    PointsOfField,
    PointsScorer,
    WeightScorer,
)
from lshfast.records.options import LinkOptions
from lshfast.records.results.outlook import THRESHOLDS, ThresholdStep, threshold_steps
from lshfast.records.weights.calibration import Calibration
from lshfast.records.weights.fellegi_sunter import LinkWeights, with_prior
from lshfast.records.weights.prior import MARGIN_BITS, prior_of_scores

PROBABILITY = 0.5  # of a match, for a link
POINTS_SHARE = 0.75  # of all points, for a link
POINTS_BITS = 40.0  # that all points count as, in the evidence for groups
TINY = 1e-6  # rounding errors of probabilities stay below


@dataclass(frozen=True)
class CandidateScores:
    """The candidates that may be links.

    Attributes
    ----------
    weights : LinkWeights or None
        None for points.
    scorers : PairScorer
    least : float
        The least score of a link.
    index : ndarray of int64, shape (n,)
        The candidates; with weights, also some that score less than a link.
    scores : ndarray of float64, shape (n,)
    """

    weights: LinkWeights | None
    scorers: PairScorer
    least: float
    index: Int64Array
    scores: Float64Array


def scores_of(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    training: CandidatePairs,
    candidates: CandidatePairs,
    learnt: Calibration | LinkWeights | None,
    options: LinkOptions,
) -> CandidateScores:
    """Score the candidates by what was learnt from training pairs, or by points."""
    if isinstance(learnt, LinkWeights) and candidates is not training:
        return all_scores(linkage, candidates.places, comparers, learnt, options)
    if not isinstance(learnt, Calibration):
        scorers = scorers_of(comparers, learnt)
        least, lowest = least_scores(options, learnt, scorers)
        index, scores = scorers.above(linkage, candidates.places, lowest)
        return CandidateScores(learnt, scorers, least, index, scores)
    scorers = IndependentFields(learnt.scorers)
    least, lowest = least_scores(options, learnt.weights, scorers)
    if candidates is training:
        index = np.flatnonzero(learnt.scores >= lowest)
        scores = learnt.scores[index]
    else:
        index, scores = scorers.above(linkage, candidates.places, lowest)
    return CandidateScores(learnt.weights, scorers, least, index, scores)


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
    linkage: Linkage,
    candidates: CandidatePairs,
    candidate_scores: CandidateScores,
    options: LinkOptions,
    labels: PairLabels = NO_LABELS,
) -> ChosenLinks:
    """Choose links that score enough and agree with the marks, and group records of one table."""
    assign = options.assignment(linkage.b is None)
    links = links_above(
        linkage, candidates, candidate_scores, assign, candidate_scores.least, labels
    )
    if linkage.b is not None:
        return links
    clusters = grouped(len(linkage.a), links, candidate_scores)
    groups = labels.bind_groups(clusters.labels, links.i, links.j, links.scores)
    return replace(
        links,
        clusters=Clusters(groups, int((groups[links.i] != groups[links.j]).sum())),
    )


def links_above(
    linkage: Linkage,
    candidates: CandidatePairs,
    candidate_scores: CandidateScores,
    assign: Assignment,
    least: float,
    labels: PairLabels = NO_LABELS,
) -> ChosenLinks:
    """Choose links that score at least `least`, and add the pairs that are marked the same.

    If k pairs of a record of a one-to-one link are equally good, at most one of them is a match:
    the probability of the link is at most 1 / k.
    """
    is_above = candidate_scores.scores >= least
    index = candidate_scores.index[is_above]
    scores = candidate_scores.scores[is_above]
    i, j = linkage.rows_of(candidates.places[index])
    if len(labels):
        free = labels.leave_open(i, j, assign, linkage.b is None)
        index = index[free]
        scores = scores[free]
        i = i[free]
        j = j[free]
    greedy = 0
    if assign == "one-to-one":
        links, greedy = one_to_one(i, j, scores - least, single=linkage.b is None)
    else:
        links = assigned(i, j, scores, assign)
    probabilities = (
        None
        if candidate_scores.weights is None
        else candidate_scores.weights.probability(scores[links])
    )
    is_kept = np.ones(len(links), bool)
    if (
        candidate_scores.weights is not None
        and probabilities is not None
        and assign == "one-to-one"
        and linkage.b is not None
    ):
        most = 1 / equally_good(i, j, scores, links, linkage.sizes)
        is_kept = most >= candidate_scores.weights.probability(least) - TINY
        probabilities = np.minimum(probabilities, most)[is_kept]
    links = links[is_kept]
    masks = candidates.masks[index[links]]
    chosen_links = ChosenLinks(
        i[links],
        j[links],
        scores[links],
        probabilities,
        masks,
        int((~is_kept).sum()),
        greedy,
    )
    return with_marked(
        chosen_links, linkage, candidates, candidate_scores.scorers, labels
    )


def with_marked(
    links: ChosenLinks,
    linkage: Linkage,
    candidates: CandidatePairs,
    scorers: PairScorer,
    labels: PairLabels,
) -> ChosenLinks:
    """Return links with those that are marked the same, whose probability is 1."""
    i, j = labels.pairs(True)
    if not len(i):
        return links
    marked = (i * linkage.sizes[1] + j).astype(np.uint64)
    places, is_candidate = places_among(marked, candidates.places)
    masks = np.zeros(len(i), np.uint32)
    masks[is_candidate] = candidates.masks[places[is_candidate]]
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
        scores=np.concatenate([links.scores, scorers.parts((i, j)).sum(axis=1)])[order],
        probabilities=probabilities,
        masks=np.concatenate([links.masks, masks])[order],
    )


def steps_of(
    linkage: Linkage,
    candidates: CandidatePairs,
    candidate_scores: CandidateScores,
    assign: Assignment,
    labels: PairLabels = NO_LABELS,
) -> list[ThresholdStep]:
    """Return what other thresholds would give; nothing for points."""
    if candidate_scores.weights is None:
        return []
    least = candidate_scores.weights.bits_of(THRESHOLDS[0])
    links = links_above(linkage, candidates, candidate_scores, assign, least, labels)
    assert links.probabilities is not None
    return threshold_steps(links.probabilities)


def all_scores(
    linkage: Linkage,
    places: UInt64Array,
    comparers: Sequence[FieldComparer],
    weights: LinkWeights,
    options: LinkOptions,
) -> CandidateScores:
    """Score all pairs, and again if they show clearly more matches than the weights expect."""
    while True:
        scorers = scorers_of(comparers, weights)
        least, lowest = least_scores(options, weights, scorers)
        margin = min(lowest, weights.bits_of(PROBABILITY)) - MARGIN_BITS
        index, scores = scorers.above(linkage, places, margin)
        prior = prior_of_scores(scores, weights.prior, linkage.all_pairs)
        if prior == weights.prior:
            break
        weights = with_prior(weights, comparers, linkage, prior, options.frequencies)
    is_above = scores >= lowest
    return CandidateScores(weights, scorers, least, index[is_above], scores[is_above])


def grouped(
    size: int, links: ChosenLinks, candidate_scores: CandidateScores
) -> Clusters:
    """Return the groups of one table of `size` rows, from its links and the scores of other
    pairs.
    """
    scorers = candidate_scores.scorers
    least = candidate_scores.least
    unit = 1.0
    if candidate_scores.weights is None:
        unit = POINTS_BITS / all_points(scorers)

    def evidence(first: Int64Array, second: Int64Array) -> Float64Array:
        return np.asarray((scorers.parts((first, second)).sum(axis=1) - least) * unit)

    gains = (links.scores - least) * unit
    return cluster_rows(size, links.i, links.j, gains, evidence)


def all_points(scorers: PairScorer) -> float:
    """Return the points of equal records."""
    return sum(scorer.comparer.coded.field.points for scorer in scorers)


def scorers_of(
    comparers: Sequence[FieldComparer], weights: LinkWeights | None
) -> IndependentFields:
    """Return the scorers of the fields, by estimated weights or by points."""
    if weights is None:
        points = [
            PointsOfField.of_field(comparer.coded.field) for comparer in comparers
        ]
        return IndependentFields([*map(PointsScorer, comparers, points)])
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
