"""The pairs that are compared, and what is learnt from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lshfast._common.types import Int64Array
from lshfast.records.candidates.defaults import (
    compares_all,
    default_rules,
    mixture_rules,
)
from lshfast.records.candidates.nearest import NearestBlocks
from lshfast.records.candidates.reach import ChosenRules, Reach, with_reach
from lshfast.records.candidates.rules import EveryPair
from lshfast.records.candidates.union import CandidatePairs, candidate_pairs
from lshfast.records.choices import Assignment
from lshfast.records.comparison.levels import FieldComparer
from lshfast.records.link_task import LinkTask
from lshfast.records.linkage import Linkage
from lshfast.records.links.assignment import likely_assignment
from lshfast.records.links.decision import (
    CandidateScores,
    all_scores,
    among_unmatched,
    least_scores,
    scorers_of,
)
from lshfast.records.links.scoring import IndependentFields, PairScorer
from lshfast.records.tables.content import shared_content
from lshfast.records.weights.calibration import (
    MOST_ROWS,
    Calibration,
    FoundSeeds,
    calibrate,
    find_seeds,
    seeds_are_sought,
)
from lshfast.records.weights.fellegi_sunter import LinkWeights, estimate_weights
from lshfast.records.weights.network import Network, information_of, learn_network
from lshfast.records.weights.patterns import PairPatterns

# The part of the expected matches that keys should bring without the nearest records, and the
# fewest expected matches.
LEAST_REACHED = 0.95
FEWEST_EXPECTED = 20.0
# Of the rows: the ranks of texts are not trusted if patterns show fewer matches.
FEW_TEXT_MATCHES = 0.005
MOST_COUNTED = 50_000  # candidates of one table of texts, of which patterns are counted
MOST_TELLING = 8  # fields whose patterns are counted, for the same
FEW_SAMPLED = 0.2  # of the usual samples, for the same
# Rows of a table of texts, of which patterns show whether it has duplicates
FEWEST_ROWS = 100
# Of the links of a table of texts that agreement patterns show to be matches: the precision of
# these links in ten tables is within .17 of it, most often within .1. If most links are wrong, as
# of songs of an album, those that the patterns show are better. Where values stand in other fields,
# patterns show .4 of links that are all right, so if seeds led to the links, their words must
# contradict each other too, unless hardly any link is shown to be a match.
FEWEST_BY_PATTERNS = 0.5
HARDLY_ANY_BY_PATTERNS = 0.1
ALIKE = 0.5  # similarity of whole records, for the same


@dataclass(frozen=True)
class BlockedPairs:
    """The pairs that are compared.

    Attributes
    ----------
    compared : CandidatePairs
    training : CandidatePairs
        Those from which weights are learnt.
    reach : Reach or None
    chosen : ChosenRules
    """

    compared: CandidatePairs
    training: CandidatePairs
    reach: Reach | None
    chosen: ChosenRules


def blocked_pairs(task: LinkTask) -> BlockedPairs:
    """Choose blocking rules, unless they are given, and return their pairs."""
    linkage = task.linkage
    rules = task.options.rules
    if rules is not None:
        chosen_rules = ChosenRules.given(linkage, rules)
    else:
        chosen_rules = mixture_rules(linkage) if task.mixed else default_rules(linkage)
    training, reach = with_reach(
        candidate_pairs(linkage, chosen_rules.rules, chosen_rules.pairs),
        chosen_rules.rules,
        chosen_rules.seeds,
    )
    compared = training
    if rules is None and not task.mixed and compares_all(linkage):
        compared = candidate_pairs(
            linkage, [*chosen_rules.rules, EveryPair()], chosen_rules.pairs
        )
        reach = None
    return BlockedPairs(compared, training, reach, chosen_rules)


def misses_many(model: LearntModel, task: LinkTask) -> bool:
    """Return whether the chosen keys bring too few of the expected matches."""
    network = model.learnt
    if (
        not isinstance(network, Network)
        or task.options.rules is not None
        or task.linkage.rows > MOST_ROWS
    ):
        return False
    return (
        network.weights.matches >= FEWEST_EXPECTED and network.reached < LEAST_REACHED
    )


def with_nearest(task: LinkTask, candidates: BlockedPairs) -> BlockedPairs:
    """Return also the pairs of the nearest whole records, which may agree in no key."""
    rules = [*candidates.chosen.rules, NearestBlocks()]
    chosen_rules = ChosenRules(rules)
    compared = candidate_pairs(task.linkage, rules)
    return BlockedPairs(compared, compared, None, chosen_rules)


def some_pairs(candidates: CandidatePairs, index: Int64Array) -> BlockedPairs:
    """Return some candidates, by their index, as those that are compared."""
    order = np.sort(index)
    compared = replace(
        candidates, places=candidates.places[order], masks=candidates.masks[order]
    )
    return BlockedPairs(compared, compared, None, ChosenRules([NearestBlocks()]))


@dataclass(frozen=True)
class LearntModel:
    """What was learnt from the candidates.

    Attributes
    ----------
    learnt : Calibration, LinkWeights, Network or None
        None for points.
    comparers : list of FieldComparer
    patterns : PairPatterns or None
        The patterns of the candidates, for a Network.
    seeds : FoundSeeds or None
    assign : str
        How links are assigned unless it is said.
    by_rules : bool
        Whether the rules that the user gave are all the evidence.
    by_patterns : Network or None
        What agreement patterns show of a table of texts, beside the weights.
    """

    learnt: Calibration | LinkWeights | Network | None
    comparers: list[FieldComparer]
    patterns: PairPatterns | None = None
    seeds: FoundSeeds | None = None
    assign: Assignment = "one-to-one"
    by_rules: bool = False
    by_patterns: Network | None = None

    @property
    def differing(self) -> tuple[str, ...]:
        """Fields that differ in nearly all matches, as agreement patterns show."""
        network = self.learnt if self.by_patterns is None else self.by_patterns
        return network.differing if isinstance(network, Network) else ()

    def precision_by_patterns(self, i: Int64Array, j: Int64Array) -> float | None:
        """Return which part of some links of a table of texts are matches by agreement patterns.

        None if nothing is known of the patterns.
        """
        network = self.by_patterns
        if network is None or not len(i):
            return None
        scores = network.parts((i, j)).sum(axis=1)
        return float(network.weights.probability(scores).mean())

    def among_unmatched(self, sizes: tuple[int, int]) -> LearntModel:
        """Return the model of two tables of which each record has one match at most."""
        assert isinstance(self.learnt, Network)
        weights = among_unmatched(self.learnt.weights, sizes)
        return replace(self, learnt=replace(self.learnt, weights=weights))

    def scores(self, task: LinkTask, pairs: BlockedPairs) -> CandidateScores:
        """Score the pairs that are compared."""
        linkage = task.linkage
        options = task.options
        learnt = self.learnt
        compared = pairs.compared
        is_new = compared is not pairs.training
        if isinstance(learnt, LinkWeights) and is_new:
            return all_scores(linkage, compared, self.comparers, learnt, options)
        weights, scorers = self._weights_and_scorers
        least, lowest = least_scores(options, weights, scorers)
        if isinstance(learnt, Calibration) and not is_new:
            index = np.flatnonzero(learnt.scores >= lowest)
            scores = learnt.scores[index]
        elif isinstance(learnt, Network) and self.patterns is not None:
            index, scores = learnt.of_patterns(
                linkage, compared.places, self.patterns, lowest
            )
        else:
            index, scores = scorers.above(linkage, compared.places, lowest)
        return CandidateScores(
            linkage, compared, weights, scorers, least, index, scores
        )

    @property
    def _weights_and_scorers(self) -> tuple[LinkWeights | None, PairScorer]:
        """The weights, None for points, and the scorers that they give."""
        learnt = self.learnt
        if isinstance(learnt, Network):
            return learnt.weights, learnt
        if isinstance(learnt, Calibration):
            return learnt.weights, IndependentFields(learnt.scorers)
        return learnt, scorers_of(self.comparers, learnt)


def learn(task: LinkTask, candidates: BlockedPairs) -> LearntModel:
    """Learn weights from the candidates, as the fields suggest."""
    if task.options.scoring != "weights":
        return LearntModel(None, task.comparers, assign=task.assign)
    if task.mixed:
        return learn_by_patterns(task, candidates)
    return learn_by_ranks(task, candidates)


def learn_by_patterns(task: LinkTask, candidates: BlockedPairs) -> LearntModel:
    """Learn weights from the agreement patterns of all pairs."""
    network, patterns = learn_network(
        task.linkage,
        task.comparers,
        candidates.compared.places,
        edges=task.edges,
        frequencies=task.options.frequencies,
        labels=task.labels,
    )
    return LearntModel(network, task.comparers, patterns, assign=task.assign)


def learn_by_ranks(task: LinkTask, candidates: BlockedPairs) -> LearntModel:
    """Learn weights from records that are each other's nearest, or from all candidates.

    Of one table of texts, weights are learnt from all candidates only if agreement patterns show
    more than a few matches, or if the rules are given: the most similar texts of a table without
    duplicates look like its duplicates.
    """
    linkage = task.linkage
    training = candidates.training
    assign = task.assign
    several_may_match = task.options.assign is None and not linkage.single
    if several_may_match and seeds_are_sought(linkage, training, assign):
        assign = alike_assignment(linkage, training)
    seeds = find_seeds(linkage, training, assign, alone=candidates.chosen.alone)
    if seeds is not None and len(task.labels):
        seeds = seeds.with_marks(training.places, task.labels, linkage.sizes[1])
    if not linkage.single and seeds is not None:
        learnt = calibrate(
            linkage, task.comparers, seeds, frequencies=task.options.frequencies
        )
        return LearntModel(learnt, task.comparers, seeds=seeds, assign=assign)
    network = None
    if linkage.single and task.options.rules is None and len(linkage.a) >= FEWEST_ROWS:
        network = learn_by_some_patterns(task, training)
        if network.weights.matches < max(1.0, FEW_TEXT_MATCHES * len(linkage.a)):
            return LearntModel(network, list(network.comparers), assign=assign)
    weights = estimate_weights(
        linkage, task.comparers, training, frequencies=task.options.frequencies
    )
    return LearntModel(
        weights, task.comparers, seeds=seeds, assign=assign, by_patterns=network
    )


def learn_by_some_patterns(task: LinkTask, training: CandidatePairs) -> Network:
    """Learn from the most telling fields, in samples of the candidates and of all pairs."""
    linkage = task.linkage
    sample = training.places[:: len(training.places) // MOST_COUNTED + 1]
    information = [
        -information_of(linkage, comparer.coded) for comparer in task.comparers
    ]
    telling = [
        task.comparers[place]
        for place in sorted(np.argsort(information, kind="stable")[:MOST_TELLING])
    ]
    network, _ = learn_network(
        linkage,
        telling,
        sample,
        edges=shared_content([comparer.coded for comparer in telling], linkage.seed),
        frequencies=task.options.frequencies,
        sampled=FEW_SAMPLED,
    )
    return network


def alike_assignment(linkage: Linkage, candidates: CandidatePairs) -> Assignment:
    """Return the assignment that the similarities of whole records of two tables suggest."""
    i, j = linkage.rows_of(candidates.places)
    similarities = linkage.record_texts.compared(i, j)[1]
    alike = similarities >= ALIKE
    return likely_assignment(i[alike], j[alike], similarities[alike], linkage.sizes)
