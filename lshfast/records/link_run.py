"""A run of linking, step by step: blocking, weights, scores, links."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.visible import visible
from lshfast.records.candidates.given import weights_of_rules
from lshfast.records.candidates.nearest import NearestBlocks
from lshfast.records.candidates.reach import is_whole
from lshfast.records.candidates.union import (
    CandidatePairs,
    candidate_pairs,
    links_by_rule,
)
from lshfast.records.choices import Assignment
from lshfast.records.link_model import (
    FEW_TEXT_MATCHES,
    FEWEST_BY_PATTERNS,
    FEWEST_ROWS,
    HARDLY_ANY_BY_PATTERNS,
    BlockedPairs,
    LearntModel,
    blocked_pairs,
    learn,
    learn_by_some_patterns,
    misses_many,
    some_pairs,
    with_nearest,
)
from lshfast.records.link_task import LinkTask, coded_task
from lshfast.records.linkage import Linkage
from lshfast.records.links.assignment import likely_assignment
from lshfast.records.links.clusters import check_groups
from lshfast.records.links.decision import (
    PROBABILITY,
    CandidateScores,
    ChosenLinks,
    links_above,
    links_of,
    steps_of,
)
from lshfast.records.links.labels import PairLabels
from lshfast.records.options import LinkOptions
from lshfast.records.results.equal_records import EqualLinks
from lshfast.records.results.outlook import (
    MANY_IN_DOUBT,
    NO_SEEDS,
    assignment_warning,
    bound_warnings,
    equal_links_text,
    expected_precision,
    field_warnings,
    link_warnings,
    match_warnings,
    pattern_warnings,
    reach_warnings,
)
from lshfast.records.results.result import LinkResult
from lshfast.records.results.summary import LinkSummary
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.record_table import RecordTable
from lshfast.records.weights.calibration import (
    FEWEST_SEEDS,
    MOST_ROWS,
    Calibration,
    FoundSeeds,
    calibrate,
    seeds_are_sought,
)
from lshfast.records.weights.chance_seeds import ChanceSeeds
from lshfast.records.weights.copies import (
    NearPairsOfRecords,
    RecordWords,
    contradict_often,
    copies_of,
    differ_mostly,
    join_families,
    seeds_alike,
    spread,
)
from lshfast.records.weights.held_out import held_out_rates
from lshfast.records.weights.network import Network, free_texts

STAGES = ("code", "block", "estimate", "compare", "assign", "rates")
# Of the links: 1.0 of a catalogue of products, at most .22 of people, places and schools.
MANY_BY_TEXTS = 0.5
# Of the seeds of two tables: from this part on, which is expected by chance, the links need
# agreement patterns of which at least SURE_BY_PATTERNS are matches. .52 to 1 of tables that share
# nothing, at most .44 of tables that share many records.
LEAST_BY_CHANCE = 0.45
SURE_BY_PATTERNS = 0.95
# If patterns see hardly any match among the links, they are believed only if all seeds but a few
# are expected by chance (1.0 where catalogues of products share nothing, .7 where a sixteenth is in
# both), or if links are many times the seeds (2.5 to 6 of three tables that share nothing, 1.3 of
# catalogues that share a third).
LEAST_SEEN = 0.05
MOSTLY_BY_CHANCE = 0.8
TIMES_SEEDS = 2.0
# Of the records of the smaller table, more of which are never linked by chance: at most .22 are
# where nothing matches.
MOST_BY_CHANCE = 0.5
# Of the seeds of two tables, for ranks to decide although patterns show no match: with errors of
# the counts, less than half may be expected by chance.
MOST_OF_HIDDEN = 0.5
# Rows of two tables, whose matches are sought so: it takes 5 s for so many people.
MOST_ROWS_SEARCHED = 40_000
VERY_PROBABLE = 0.9  # of a match: such pairs show how many matches records have
RULES_ALONE = (
    "no field tells matches from other pairs, so records are linked by the keys of the given "
    "rules alone: "
    "check some links"
)


class StageTimes:
    """The seconds of the stages of a run."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the time of a block, and report the stage when it ends."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        if self._progress:
            self._progress("link", STAGES.index(name) + 1, len(STAGES))


@dataclass
class LinkRun:
    """A run of linking, with what its steps found so far.

    Attributes
    ----------
    task : LinkTask
    options : LinkOptions
        Those of the call, with the assignment that was chosen.
    times : StageTimes
    candidates : BlockedPairs
    model : LearntModel
    scores : CandidateScores
    links : ChosenLinks
    seeds_used : int
        The number of seeds of one table, if weights were learnt from them because links by other
        weights left them.
    part_alike : float
        The part of these seeds without different words, if words decide which of them are used.
    """

    task: LinkTask
    options: LinkOptions
    times: StageTimes
    candidates: BlockedPairs
    model: LearntModel = field(init=False)
    scores: CandidateScores = field(init=False)
    links: ChosenLinks = field(init=False)
    seeds_used: int = 0
    part_alike: float = 1.0

    @classmethod
    def begin(
        cls,
        tables: Sequence[RecordTable],
        options: LinkOptions,
        progress: Progress | None,
    ) -> LinkRun:
        """Read the fields of the tables, and choose the pairs that are compared."""
        times = StageTimes(progress)
        with times.stage("code"):
            task = coded_task(tables, options)
        with times.stage("block"):
            candidates = blocked_pairs(task)
        return cls(task, options, times, candidates)

    @property
    def linkage(self) -> Linkage:
        """The tables."""
        return self.task.linkage

    @property
    def labels(self) -> PairLabels:
        """The marks of people."""
        return self.task.labels

    @property
    def _assignment(self) -> Assignment:
        return self.options.assignment(self.linkage.single)

    def learn(self) -> None:
        """Learn from the candidates; from the nearest records too if keys miss many matches."""
        with self.times.stage("estimate"):
            self.model = learn(self.task, self.candidates)
        if misses_many(self.model, self.task):
            with self.times.stage("block"):
                self.candidates = with_nearest(self.task, self.candidates)
            with self.times.stage("estimate"):
                self.model = learn(self.task, self.candidates)

    def assign(self) -> None:
        """Score the candidates, and choose links and, unless it is given, how many a record has."""
        with self.times.stage("compare"):
            self.scores = self.model.scores(self.task, self.candidates)
            self._choose_assignment()
        self._link()

    def _choose_assignment(self) -> None:
        """Choose how many links a record has; if it has one, its rivals count."""
        by_patterns = isinstance(self.model.learnt, Network) and not self.linkage.single
        if self.options.assign is None:
            assign = self.model.assign
            if by_patterns:
                assign = probable_assignment(self.scores)
            self.options = replace(self.options, assign=assign)
        if by_patterns and self._assignment == "one-to-one":
            self.model = self.model.among_unmatched(self.linkage.sizes)
            self.scores = self.model.scores(self.task, self.candidates)

    def learn_from_seeds(self) -> None:
        """Learn from the seeds of one table if links by other weights leave them."""
        seeds = self.model.seeds
        if seeds is None or not self.linkage.single:
            return
        if supported(self.task, self.scores, seeds):
            return
        words = RecordWords(self.linkage, self.model.differing)
        alike = seeds_alike(words, seeds)
        if self._denied_by_patterns():
            by_weights = self.model, self.scores, self.links
            self.trust_patterns()
            if alike is None or not differ_mostly(words, self.links):
                return
            self.model, self.scores, self.links = by_weights
        self.seeds_used = len(alike or seeds)
        self._calibrate(alike or seeds)
        self._score()
        if alike is not None:
            self.part_alike = len(alike) / len(seeds)
            rows = self.linkage.rows_of(
                self.scores.candidates.places[self.scores.index]
            )
            self.scores = self.scores.without(words.compared(*rows).different)
            self.candidates = replace(self.candidates, compared=self.scores.candidates)
        self._link()

    def trust_patterns(self) -> None:
        """Link by agreement patterns if these show hardly any link to be a match."""
        network = self.model.by_patterns
        if network is not None and self._denied_by_patterns():
            self._link_by(network)

    def seek_hidden_matches(self) -> None:
        """Link two tables by ranks if patterns link hardly any record, but far more seeds are found
        than by chance.
        """
        if not self._may_hide_matches():
            return
        with self.times.stage("estimate"):
            if ChanceSeeds.of(self.linkage).greatest_share >= MOST_OF_HIDDEN:
                return
        self.task = replace(self.task, mixed=False)
        self.options = self.task.options
        with self.times.stage("block"):
            self.candidates = blocked_pairs(self.task)
        self.learn()
        self.assign()

    def _may_hide_matches(self) -> bool:
        """Return whether patterns link hardly any record of two tables of moderate size."""
        smaller = min(self.linkage.sizes)
        return (
            self.task.mixed
            and not self.linkage.single
            and self.options.rules is None
            and not len(self.labels)
            and smaller >= FEWEST_ROWS
            and self.linkage.rows <= MOST_ROWS_SEARCHED
            and len(self.links.i) < FEW_TEXT_MATCHES * smaller
        )

    def doubt_seeds(self) -> None:
        """Link two tables by agreement patterns if these deny some links, and chance brings nearly
        as many seeds.
        """
        seeds = self.model.seeds
        if seeds is None or not self._may_be_by_chance():
            return
        with self.times.stage("estimate"):
            chance = ChanceSeeds.of(self.linkage)
            if chance.share < LEAST_BY_CHANCE:
                return
            network = learn_by_some_patterns(self.task, self.candidates.training)
        model = replace(self.model, by_patterns=network)
        precision = model.precision_by_patterns(self.links.i, self.links.j)
        if precision is None or precision >= SURE_BY_PATTERNS:
            return
        # Patterns that deny all links may see nothing, as in catalogues of products.
        is_doubtful = (
            precision >= LEAST_SEEN
            or chance.share_of_all(len(seeds)) >= MOSTLY_BY_CHANCE
            or len(self.links.i) >= TIMES_SEEDS * len(seeds)
        )
        if is_doubtful:
            links = len(self.links.i)
            self._link_by(network)
            if len(self.links.i) < links:
                self._doubt(chance_text(links, len(self.links.i)))

    def _may_be_by_chance(self) -> bool:
        """Return whether seeds led to the links of two tables, and few records have links."""
        smaller = min(self.linkage.sizes)
        links = len(self.links.i)
        return (
            not self.linkage.single
            and self.options.rules is None
            and not len(self.labels)
            and smaller >= FEWEST_ROWS
            and 0 < links <= MOST_BY_CHANCE * smaller
        )

    def _link_by(self, network: Network) -> None:
        """Link by what agreement patterns show."""
        self.model = LearntModel(
            network, list(network.comparers), assign=self.model.assign
        )
        if self._assignment == "one-to-one" and not self.linkage.single:
            self.model = self.model.among_unmatched(self.linkage.sizes)
        self._score()
        self._link()

    def _denied_by_patterns(self) -> bool:
        """Return whether patterns, and words of links that seeds led to, deny most of the links."""
        precision = self.model.precision_by_patterns(self.links.i, self.links.j)
        if precision is None or precision >= FEWEST_BY_PATTERNS:
            return False
        from_seeds = isinstance(self.model.learnt, Calibration)
        if not from_seeds or precision < HARDLY_ANY_BY_PATTERNS:
            return True
        words = RecordWords(self.linkage, self.model.differing)
        return contradict_often(words, self.links)

    def link_by_rules(self) -> None:
        """Link by the keys of given rules alone if nothing else links records."""
        if (
            len(self.links.i)
            or self.options.rules is None
            or self.scores.weights is None
        ):
            return
        with self.times.stage("estimate"):
            weights = weights_of_rules(
                self.linkage,
                self.task.comparers,
                self.candidates.chosen.rules,
                self.candidates.compared,
            )
        if weights is None:
            return
        self.model = LearntModel(
            weights, self.task.comparers, assign=self.model.assign, by_rules=True
        )
        self._doubt(RULES_ALONE)
        self._score()
        self._link()

    def link_copies(self) -> None:
        """Link only the copies of one table whose alike records are a family, or else none."""
        if not may_have_copies(self.task, self.links, self.scores):
            return
        words = RecordWords(self.linkage, self.model.differing)
        has_links = bool(len(self.links.i))
        if has_links and not contradict_often(words, self.links):
            return
        with self.times.stage("block"):
            nearest = candidate_pairs(self.linkage, [NearestBlocks()])
        with self.times.stage("estimate"):
            near_pairs = near_records(self.linkage, nearest)
            families = has_links and join_families(words, near_pairs, self.links)
            copies = (
                copies_of(self.linkage, words, near_pairs)
                if families or not has_links
                else None
            )
        if copies is not None:
            self.seeds_used = 0
            self.part_alike = 1.0
            self._calibrate(copies.seeds)
            assert isinstance(self.model.learnt, Calibration)
            self.model = replace(
                self.model,
                learnt=copies.calibrated(self.model.learnt),
                comparers=self.task.comparers,
                seeds=copies.seeds,
                by_patterns=None,
            )
            self.candidates = some_pairs(nearest, copies.index)
            self.scores = self.model.scores(self.task, self.candidates)
        elif families:
            self._doubt(no_copies_text(self.task.scored))
            self.scores = without_pairs(self.scores)
        else:
            return
        self._link()

    def result(self) -> LinkResult:
        """Return the links, with all that they were chosen from."""
        links = self.links
        scores = self.scores
        if links.clusters is not None and scores.weights is not None:
            check_groups(links.clusters.labels, self.task.scored)
        rates = None
        if self.task.held_out is not None:
            with self.times.stage("rates"):
                rates = held_out_rates(
                    self.task,
                    self.candidates.compared,
                    scores,
                    self.options.held_out_window,
                )
        return LinkResult(
            links.i,
            links.j,
            links.scores,
            links.probabilities,
            scores.scorers.parts((links.i, links.j)),
            [scorer.comparer.coded for scorer in scores.scorers],
            scores.weights,
            rates,
            self._summary(),
            self.options,
            scores,
            self.task.left_out,
            tuple(self.task.dependent),
            self.labels,
        )

    def _score(self) -> None:
        with self.times.stage("compare"):
            self.scores = self.model.scores(self.task, self.candidates)

    def _link(self) -> None:
        with self.times.stage("assign"):
            self.links = links_of(self.scores, self._assignment, self.labels)

    def _calibrate(self, seeds: FoundSeeds) -> None:
        """Learn weights from seeds."""
        with self.times.stage("estimate"):
            learnt = calibrate(
                self.linkage,
                self.task.comparers,
                seeds,
                frequencies=self.options.frequencies,
            )
        self.model = replace(self.model, learnt=learnt)

    def _doubt(self, text: str) -> None:
        """Add a warning."""
        self.task = replace(self.task, doubts=[*self.task.doubts, text])

    def _summary(self) -> LinkSummary:
        """Return the figures of the run."""
        linkage = self.linkage
        links = self.links
        weights = self.scores.weights
        compared = self.candidates.compared
        counts = links_by_rule(links.masks, len(compared.reports)).tolist()
        if self.linkage.single:
            linked = len(np.unique([links.i, links.j])), 0
        else:
            linked = len(np.unique(links.i)), len(np.unique(links.j))
        precision = None
        equal = self._equal_links()
        if weights is not None and links.probabilities is not None and len(links.i):
            by_patterns = self.model.precision_by_patterns(links.i, links.j)
            by_others = [
                1.0 if by_patterns is None else by_patterns,
                self.part_alike,
                1.0 - equal.in_doubt,
            ]
            precision = expected_precision(links.probabilities, weights, min(by_others))
        return LinkSummary(
            records=(len(linkage.a), linkage.rows - len(linkage.a)),
            linked=linked,
            all_pairs=linkage.all_pairs,
            compared=len(compared),
            above=int((self.scores.scores >= self.scores.least).sum()),
            links=len(links.i),
            rules=[
                replace(report, links=count)
                for report, count in zip(compared.reports, counts, strict=True)
            ],
            threshold=self.scores.least,
            seconds=self.times.seconds,
            clusters=links.clusters,
            reach=self.candidates.reach,
            ambiguous=links.ambiguous,
            greedy=links.greedy,
            marked=(int(self.labels.same.sum()), int((~self.labels.same).sum())),
            missing=self.task.markers,
            warnings=(*self.task.doubts, *self._warnings(equal)),
            precision=precision,
            in_doubt=equal.in_doubt,
            steps=steps_of(self.scores, self._assignment, self.labels),
        )

    def _equal_links(self) -> EqualLinks:
        """Return how many links that nobody marked are between equal records."""
        links = self.links
        if not len(links.i) or self.scores.weights is None or self.model.by_rules:
            return EqualLinks()
        unmarked = ~self.labels.mark(links.i, links.j)
        return EqualLinks.among(self.task.scored, links.i, links.j, unmarked)

    def _warnings(self, equal: EqualLinks) -> Iterator[str]:
        """Yield why the links may be wrong or incomplete."""
        links = self.links
        learnt = self.model.learnt
        weights = self.scores.weights
        sizes = self.linkage.sizes
        if self.task.options.assign is None and self._assignment in (
            "one-to-many",
            "many-to-one",
        ):
            yield assignment_warning(self._assignment)
        by_twos = learnt.by_twos if isinstance(learnt, Network) else ()
        yield from field_warnings(self.task.scored, by_twos, len(links.i) > 0)
        rules_are_given = self.options.rules is not None
        has_nearest = any(map(is_whole, self.candidates.chosen.rules))
        reach = self.candidates.reach
        if reach is not None and not (rules_are_given and has_nearest):
            yield from reach_warnings(reach, rules_are_given)
        if weights is None or not min(sizes):
            return
        if max(sizes) > 1 and self._lacks_seeds():
            yield NO_SEEDS
        yield from match_warnings(weights, self.seeds_used, min(sizes))
        names = [field.field.name for field in self.task.scored]
        if equal.in_doubt > MANY_IN_DOUBT:
            yield equal_links_text(equal, len(links.i), names)
        elif self._assignment == "one-to-one":
            yield from bound_warnings(weights, names)
        unmarked_scores = links.scores[~self.labels.mark(links.i, links.j)]
        if len(unmarked_scores):
            cut = 0 if links.clusters is None else links.clusters.cut
            yield from link_warnings(weights, unmarked_scores, self.scores.least, cut)
        by_patterns = self.model.precision_by_patterns(links.i, links.j)
        if by_patterns is not None:
            expected = float(weights.probability(links.scores).mean())
            yield from pattern_warnings(len(links.i), expected, by_patterns)

    def _lacks_seeds(self) -> bool:
        """Return whether seeds were sought and not found, although there are enough links."""
        model = self.model
        if (
            isinstance(model.learnt, Network)
            or model.seeds is not None
            or model.by_rules
        ):
            return False
        if not seeds_are_sought(
            self.linkage, self.candidates.training, self.options.assignment(False)
        ):
            return False
        return not self.linkage.single or len(self.links.i) >= FEWEST_SEEDS


def may_have_copies(
    task: LinkTask, links: ChosenLinks, scores: CandidateScores
) -> bool:
    """Return whether words show which records are copies: one table with free texts, no rules.

    If agreement patterns tell matches from strangers, most links must rest on the texts.
    """
    linkage = task.linkage
    if not linkage.single or scores.weights is None:
        return False
    if task.options.rules is not None:
        return False
    if not FEWEST_ROWS <= len(linkage.a) <= MOST_ROWS:
        return False
    if task.mixed:
        return part_by_texts(task, links, scores) > MANY_BY_TEXTS
    return any(field.kind == "text" for field in linkage.fields.values())


def part_by_texts(task: LinkTask, links: ChosenLinks, scores: CandidateScores) -> float:
    """Return which part of the links would be none without the free texts; 0 of no links."""
    texts = free_texts(task.scored, task.edges)
    if not texts or not len(links.i):
        return 0.0
    parts = scores.scorers.parts((spread(links.i), spread(links.j)))
    other_parts = np.delete(parts, sorted(texts), axis=1)
    return float((other_parts.sum(axis=1) < scores.least).mean())


def near_records(linkage: Linkage, candidates: CandidatePairs) -> NearPairsOfRecords:
    """Return candidates with the similarities of their whole records."""
    i, j = linkage.rows_of(candidates.places)
    return NearPairsOfRecords(
        i, j, linkage.record_texts.compared(i, j)[1], len(linkage.a)
    )


def chance_text(alike: int, linked: int) -> str:
    """Return a warning that fewer pairs are linked than are alike."""
    return (
        f"of {alike:,} pairs of similar records, {linked:,} are linked: the halves of one table, "
        "in which nothing matches, have nearly as many; if you know further matches, mark them "
        "(--labels) or give rules (--block)"
    )


def without_pairs(scores: CandidateScores) -> CandidateScores:
    """Return scores of no pairs, from which no matches are expected."""
    assert scores.weights is not None
    weights = replace(scores.weights, matches=0.0)
    return replace(
        scores, weights=weights, index=scores.index[:0], scores=scores.scores[:0]
    )


def no_copies_text(fields: Sequence[CodedField]) -> str:
    """Return a warning that the alike records of one table are no copies."""
    names = visible(", ".join(field.field.name for field in fields))
    return (
        "the most similar records differ in numbers and words as different things do, so none are "
        "linked by the fields "
        f"compared ({names}): name fields that are equal for duplicates only, such as a code "
        "(--field), or give rules "
        "(--block)"
    )


def probable_assignment(scored: CandidateScores) -> Assignment:
    """Return the assignment that the scores of two tables suggest."""
    assert scored.weights is not None
    probable = scored.weights.probability(scored.scores) >= VERY_PROBABLE
    places = scored.candidates.places[scored.index[probable]]
    gains = scored.scores[probable] - scored.weights.bits_of(PROBABILITY)
    linkage = scored.linkage
    return likely_assignment(*linkage.rows_of(places), gains, linkage.sizes)


def supported(task: LinkTask, scored: CandidateScores, seeds: FoundSeeds) -> bool:
    """Return whether seeds support the links that the weights of one table give by default."""
    assert scored.weights is not None
    least = scored.weights.bits_of(PROBABILITY)
    links = links_above(scored, "many-to-many", least=least)
    return seeds.support(links.i, links.j, task.comparers, scored.weights)
