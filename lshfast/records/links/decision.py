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
from lshfast.records.linkage import Linkage
from lshfast.records.links.assignment import assigned, equally_good, one_to_one
from lshfast.records.links.clusters import Clusters, cluster_rows
from lshfast.records.links.labels import NO_LABELS, PairLabels
from lshfast.records.links.scoring import (
    IndependentFields,
    PairScorer,
    PointsScorer,
    WeightScorer,
)
from lshfast.records.options import LinkOptions
from lshfast.records.results.outlook import THRESHOLDS, ThresholdStep, threshold_steps
from lshfast.records.weights.calibration import Calibration
from lshfast.records.weights.fellegi_sunter import LinkWeights, with_prior
from lshfast.records.weights.points import PointsOfField
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
    """Score the candidates by what was learnt from those of training, or by points."""
    weights = learnt.weights if isinstance(learnt, Calibration) else learnt
    scorers: PairScorer = scorers_of(comparers, weights)
    if isinstance(learnt, Calibration):
        scorers = IndependentFields(learnt.scorers)
    if isinstance(learnt, LinkWeights) and candidates is not training:
        weights, scorers, index, scores = all_scores(
            linkage, candidates.places, comparers, learnt, options
        )
    least, lowest = least_scores(options, weights, scorers)
    if candidates is training and isinstance(learnt, Calibration):
        index = np.arange(len(learnt.scores), dtype=np.int64)
        scores = learnt.scores
    elif candidates is training or not isinstance(learnt, LinkWeights):
        index, scores = scorers.above(linkage, candidates.places, lowest)
    is_above = scores >= lowest
    return CandidateScores(weights, scorers, least, index[is_above], scores[is_above])


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
    found: CandidateScores,
    options: LinkOptions,
    labels: PairLabels = NO_LABELS,
) -> ChosenLinks:
    """Choose links that score enough and agree with the marks, and group records of one table."""
    assign = options.assignment(linkage.b is None)
    links = links_above(linkage, candidates, found, assign, found.least, labels)
    if linkage.b is not None:
        return links
    size = len(linkage.a)
    clusters = grouped(
        size, links.i, links.j, links.scores, found.scorers, found.least, found.weights
    )
    groups = labels.bind_groups(clusters.labels, links.i, links.j, links.scores)
    return replace(
        links,
        clusters=Clusters(groups, int((groups[links.i] != groups[links.j]).sum())),
    )


def links_above(
    linkage: Linkage,
    candidates: CandidatePairs,
    found: CandidateScores,
    assign: Assignment,
    least: float,
    labels: PairLabels = NO_LABELS,
) -> ChosenLinks:
    """Choose links that score at least `least`, and add the pairs that are marked the same.

    If k pairs of a record of a one-to-one link are equally good, at most one of them is a match:
    the probability of the link is at most 1 / k.
    """
    is_above = found.scores >= least
    index = found.index[is_above]
    scores = found.scores[is_above]
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
        None if found.weights is None else found.weights.probability(scores[links])
    )
    kept = np.ones(len(links), bool)
    if (
        found.weights is not None
        and probabilities is not None
        and assign == "one-to-one"
        and linkage.b is not None
    ):
        most = 1 / equally_good(i, j, scores, links, linkage.sizes)
        kept = most >= found.weights.probability(least) - TINY
        probabilities = np.minimum(probabilities, most)[kept]
    links = links[kept]
    masks = candidates.masks[index[links]]
    chosen = ChosenLinks(
        i[links],
        j[links],
        scores[links],
        probabilities,
        masks,
        int((~kept).sum()),
        greedy,
    )
    return with_marked(chosen, linkage, candidates, found.scorers, labels)


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
    places = i.astype(np.uint64) * np.uint64(linkage.sizes[1]) + j.astype(np.uint64)
    candidate = np.minimum(
        np.searchsorted(candidates.places, places), max(len(candidates) - 1, 0)
    )
    masks = np.zeros(len(i), np.uint32)
    if len(candidates):
        brought = candidates.places[candidate] == places
        masks[brought] = candidates.masks[candidate[brought]]
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
    found: CandidateScores,
    weights: LinkWeights,
    assign: Assignment,
    labels: PairLabels = NO_LABELS,
) -> list[ThresholdStep]:
    """Return what other thresholds would give."""
    least = weights.bits_of(THRESHOLDS[0])
    probabilities = links_above(
        linkage, candidates, found, assign, least, labels
    ).probabilities
    assert probabilities is not None
    return threshold_steps(probabilities)


def all_scores(
    linkage: Linkage,
    places: UInt64Array,
    comparers: Sequence[FieldComparer],
    weights: LinkWeights,
    options: LinkOptions,
) -> tuple[LinkWeights, PairScorer, Int64Array, Float64Array]:
    """Score all pairs, and again if they show clearly more matches than the weights expect.

    Return the weights and scorers, the pairs that may be links by their index in `places`, and
    their scores.
    """
    while True:
        scorers = scorers_of(comparers, weights)
        least = (
            min(
                least_scores(options, weights, scorers)[1], weights.bits_of(PROBABILITY)
            )
            - MARGIN_BITS
        )
        index, scores = scorers.above(linkage, places, least)
        prior = prior_of_scores(scores, weights.prior, linkage.all_pairs)
        if prior == weights.prior:
            return weights, scorers, index, scores
        weights = with_prior(weights, comparers, linkage, prior, options.frequencies)


def grouped(
    n: int,
    i: Int64Array,
    j: Int64Array,
    scores: Float64Array,
    scorers: PairScorer,
    least: float,
    weights: LinkWeights | None,
) -> Clusters:
    """Return the groups of one table, from its links and the scores of other pairs."""
    points = sum(own.comparer.coded.field.points for own in scorers)
    unit = 1.0 if weights is not None else POINTS_BITS / points

    def evidence(first: Int64Array, second: Int64Array) -> Float64Array:
        return np.asarray((scorers.parts((first, second)).sum(axis=1) - least) * unit)

    return cluster_rows(n, i, j, (scores - least) * unit, evidence)


def scorers_of(
    comparers: Sequence[FieldComparer], weights: LinkWeights | None
) -> IndependentFields:
    """Return the scorers of the fields, by estimated weights or by points."""
    if weights is None:
        return IndependentFields(
            [
                PointsScorer(own, PointsOfField.of_field(own.coded.field))
                for own in comparers
            ]
        )
    pairs = zip(comparers, weights.fields, strict=True)
    return IndependentFields(
        [WeightScorer(comparer, weight) for comparer, weight in pairs]
    )


def least_scores(
    options: LinkOptions, weights: LinkWeights | None, scorers: PairScorer
) -> tuple[float, float]:
    """Return the least score of a link, and the least one that is of interest."""
    if weights is not None:
        least = weights.bits_of(
            PROBABILITY if options.threshold is None else options.threshold
        )
        return least, min(least, weights.bits_of(THRESHOLDS[0]))
    least = POINTS_SHARE * sum(own.comparer.coded.field.points for own in scorers)
    return (
        (least, least)
        if options.threshold is None
        else (options.threshold, options.threshold)
    )
