"""Link the records of two tables, or the duplicates within one: blocking, scores, assignment."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast._common.visible import visible
from lshfast.records.addresses import with_address_parts
from lshfast.records.assignment import likely_assignment
from lshfast.records.blocking import EveryPair
from lshfast.records.calibration import (
    FEWEST_SEEDS,
    MOST_ROWS,
    Calibration,
    FoundSeeds,
    calibrate,
    find_seeds,
    seeds_are_sought,
)
from lshfast.records.candidates import CandidatePairs, candidate_pairs, links_by_rule
from lshfast.records.choices import Assignment, Scoring
from lshfast.records.coding import code_fields, value_warnings
from lshfast.records.comparison import FieldComparer, connect_exchanged
from lshfast.records.content import shared_content
from lshfast.records.copies import (
    NearPairsOfRecords,
    RecordWords,
    contradict_often,
    copies_of,
    join_families,
)
from lshfast.records.default_rules import compares_all, default_rules, mixture_rules
from lshfast.records.dependent import DependentField, dependent_fields
from lshfast.records.distinct import distinct_rows
from lshfast.records.fields import Field, checked_fields
from lshfast.records.given_rules import weights_of_rules
from lshfast.records.keys import LeftOut, keys_left_out
from lshfast.records.labels import PairLabels, labels_of
from lshfast.records.linkage import BlockingRule, Linkage
from lshfast.records.links import (
    PROBABILITY,
    CandidateScores,
    ChosenLinks,
    least_scores,
    links_above,
    links_of,
    scores_of,
    steps_of,
)
from lshfast.records.missing import MissingValues
from lshfast.records.nearest import NearestBlocks
from lshfast.records.network import Network, information_of, learn_network, suits_mixture
from lshfast.records.options import LinkOptions
from lshfast.records.outlook import expected_precision, warnings_of
from lshfast.records.patterns import PairPatterns
from lshfast.records.rates import LEAST_SURE, RateTable, rate_table
from lshfast.records.reach import ChosenRules, Reach, is_whole, with_reach
from lshfast.records.result import LinkResult
from lshfast.records.rule_names import named_fields
from lshfast.records.scoring import PairScorer
from lshfast.records.summary import LinkSummary
from lshfast.records.synonyms import Synonyms
from lshfast.records.tables import CodedField, RecordTable, code_field
from lshfast.records.weights import LinkWeights, estimate_weights, random_rows

STAGES = ("code", "block", "estimate", "compare", "assign", "rates")
# above the threshold, or of all points, for pairs that are taken for matches
SURE_BITS = 10.0
SURE_POINTS = 0.95
# The part of the expected matches, of so many at least, that keys should bring without the nearest
# records.
LEAST_REACHED = 0.95
FEWEST_EXPECTED = 20.0
# Of the rows: the ranks of texts are not trusted if patterns show fewer matches.
FEW_TEXT_MATCHES = 0.005
MOST_COUNTED = 50_000  # candidates of one table of texts, of which patterns are counted
MOST_TELLING = 8  # fields whose patterns are counted, for the same
FEW_SAMPLED = 0.2  # of the usual samples, for the same
FEWEST_ROWS = 100  # of a table of texts, of which patterns show whether it has duplicates
VERY_PROBABLE = 0.9  # of a match: such pairs show how many matches records have
ALIKE = 0.5  # similarity of whole records, for the same
LARGE_GROUP = 50  # records
UNLIKELY = 0.001  # probability of the largest group
MOST_IN_GROUPS = 0.9  # of the records in large groups
# Candidates, and random pairs, from which the rate of true matches is estimated.
RATE_PAIRS = 500_000


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


def match_records(
    a: Any,
    b: Any,
    *,
    id_column: str | tuple[str, str] | None = None,
    fields: Sequence[str | Field] | None = None,
    ignore: Sequence[str] = (),
    rules: Sequence[BlockingRule | str] | None = None,
    scoring: Scoring = "weights",
    threshold: float | None = None,
    assign: Assignment | None = None,
    synonyms: Synonyms | None = None,
    frequencies: bool = True,
    held_out: str | Field | None = None,
    labels: Any = None,
    seed: int | Literal["random"] = 1,
    threads: int | None = None,
    missing: Any = None,
    progress: Progress | None = None,
) -> LinkResult:
    """Link the records of two tables that describe the same thing.

    Blocking rules choose pairs of records. Each pair is scored field by field. Pairs that score
    enough are assigned.

    Parameters
    ----------
    a, b : mapping of str to columns, data frame, Arrow table, sequence of mappings, or RecordTable
        The tables; see `RecordTable`.
    id_column : str or (str, str), optional
        Column of the ids, or the columns of the two tables; the default ids are row numbers.
    fields : sequence of Field or str, optional
        What is compared: ``name``, ``name:kind`` or ``name=other:kind``; see `Field`. By default,
        the columns that both tables have, without row numbers and codes that say nothing about the
        other table (`LinkResult.left_out`), and without those that follow from others, as a full
        name from its parts (`LinkResult.dependent`; only blocking rules use them). A kind that is
        not given is guessed from the values.
    ignore : sequence of str
        Columns that are not compared.
    rules : sequence of KeyBlocks, SortBlocks, LshBlocks, EveryPair or str, optional
        Which pairs are compared; strings as for `parse_rule`. By default, rules are chosen by the
        values of the fields. All pairs are compared if they are at most 20,000, or 1,000,000 within
        one table. If nothing tells matches from other pairs, keys of given rules that name one
        record each, such as those of accounts, link records alone.
    scoring : {"weights", "points"}
        weights: log2 of likelihood ratios, whose distributions are estimated from the data without
        labels. points: the points of each field, less a penalty that grows with the square of the
        edits; a missing value has half of the points.
    threshold : float, optional
        The least score of a link. For weights, the probability of a match, in (0, 1), by default
        0.5. For points, by default three quarters of all points.
    assign : {"one-to-one", "many-to-one", "one-to-many", "many-to-many"}, optional
        By default one-to-one, unless many pairs that score enough are lost by it: then one-to-many
        or many-to-one, or many-to-many, as these pairs show; a warning of the summary says so.
        many-to-one: each record of `a` has at most one link, the best; one-to-many: each record of
        `b`. one-to-one: both, with the greatest sum of scores above the threshold among records
        that chains of pairs connect, or, if these are too many, chosen greedily, the best first
        (`LinkSummary.greedy`). many-to-many: all pairs that score enough.
    synonyms : Synonyms, optional
        Words that count as nearly equal; by default those of `Synonyms.english`.
    frequencies : bool, default True
        Whether agreement on a rare value weighs more than on a frequent one, with scoring by
        weights.
    held_out : str or Field, optional
        A field that takes no part in blocking and scoring, from which the rate of true matches at
        each score is estimated (`LinkResult.rates`).
    labels : table, or sequence of (id_a, id_b, answer), optional
        Pairs that a person has marked: a table with the columns id_a, id_b and answer, as
        `LinkResult.review` returns, or tuples of them. A pair that is marked "same" is a link,
        whatever its score is and whether a rule brought it. A pair that is marked "different" is no
        link, and within one table its records are in different groups. Marked pairs also improve
        the weights, except those of one table that all candidates decide. "unsure" and missing
        answers do not count.
    seed : int or "random", default 1
        In 0..2**64 - 1. It chooses samples and hash functions.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    missing : sequence of str, or mapping of str to sequence of str, optional
        Values that count as missing, such as ``"9999"``, or ``"phone=0"`` for one column, besides
        those that are recognised: words such as N/A, NULL and unknown, and numbers and dates such
        as 9999999999 and 1900-01-01, by their form and by how often they occur
        (`CodedField.markers`). ``"none"`` among them ends the recognition, and ``"=none"`` is this
        value.
    progress : callable, optional
        Called with (stage, steps done, all steps).

    Returns
    -------
    LinkResult

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or value, there is no such column, or an id is missing or
        occurs twice.
    DataError
        If labels name an unknown id, have another answer, or contradict each other; the message
        names the row.
    OverflowError
        If a rule brings more than 2**27 pairs.
    ImportError
        If rapidfuzz is not installed.

    See Also
    --------
    lshfast.records.dedup_records : Find duplicate records of one table.
    lshfast.records.parse_rule : Read a blocking rule from a string.
    lshfast.records.assigned : Choose the pairs that become links.

    References
    ----------
    I. P. Fellegi, A. B. Sunter, "A theory for record linkage", JASA 1969. J. Leskovec, A.
    Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.8.

    Examples
    --------
    >>> from lshfast.records import match_records
    >>> a = {
    ...     "name": ["William Jones", "Ann Lee", "Eve Stone"],
    ...     "phone": ["555 0123", "555 0199", "555 0100"],
    ... }
    >>> b = {"name": ["Ann Lee", "Bill Jones"], "phone": ["555-0198", "555-0123"]}
    >>> match_records(a, b, scoring="points").pairs()
    [(0, 1), (1, 0)]
    """
    options = LinkOptions(
        fields,
        ignore,
        rules,
        scoring,
        threshold,
        assign,
        synonyms,
        frequencies,
        held_out,
        seed,
        threads,
        labels,
        missing,
    )
    if id_column is not None and not isinstance(id_column, (str, tuple)):
        raise TypeError(f"id_column must be a name or two names, not {id_column!r}")
    if isinstance(id_column, tuple) and len(id_column) != 2:
        raise ValueError(f"id_column must be a name or two names, not {len(id_column)} names")
    first, second = id_column if isinstance(id_column, tuple) else (id_column, id_column)
    return link_tables(as_table(a, first, "a"), as_table(b, second, "b"), options, progress)


def dedup_records(
    a: Any,
    *,
    id_column: str | None = None,
    fields: Sequence[str | Field] | None = None,
    ignore: Sequence[str] = (),
    rules: Sequence[BlockingRule | str] | None = None,
    scoring: Scoring = "weights",
    threshold: float | None = None,
    assign: Assignment | None = None,
    synonyms: Synonyms | None = None,
    frequencies: bool = True,
    held_out: str | Field | None = None,
    labels: Any = None,
    seed: int | Literal["random"] = 1,
    threads: int | None = None,
    missing: Any = None,
    progress: Progress | None = None,
) -> LinkResult:
    """Link the records of one table that describe the same thing.

    The parameters are those of `match_records`. With ``assign="one-to-one"``, a record has at most
    one duplicate; the default is many-to-many.

    Returns
    -------
    LinkResult
        Its `groups` gives each record the first record of its group. Links that other pairs of a
        group contradict do not join groups.

    See Also
    --------
    lshfast.records.match_records : Link the records of two tables.
    lshfast.records.parse_rule : Read a blocking rule from a string.

    Examples
    --------
    >>> from lshfast.records import dedup_records
    >>> people = {
    ...     "name": ["Ann Lee", "Eve Stone", "Anne Lee"],
    ...     "born": ["1980-05-01", "1971-11-30", "1980-05-01"],
    ... }
    >>> result = dedup_records(people, scoring="points")
    >>> result.pairs(), result.groups().tolist()
    ([(0, 2)], [0, 1, 0])
    """
    options = LinkOptions(
        fields,
        ignore,
        rules,
        scoring,
        threshold,
        assign,
        synonyms,
        frequencies,
        held_out,
        seed,
        threads,
        labels,
        missing,
    )
    if assign in ("many-to-one", "one-to-many"):
        raise ValueError(
            f"assign must be 'one-to-one' or 'many-to-many' within one table, not {assign!r}"
        )
    return link_tables(as_table(a, id_column, "a"), None, options, progress)


def as_table(source: Any, id_column: str | None, name: str) -> RecordTable:
    """Return a RecordTable of a source."""
    if isinstance(source, RecordTable) and id_column in (None, source.id_column):
        return source
    return RecordTable(source, id_column, name)


def link_tables(
    a: RecordTable, b: RecordTable | None, options: LinkOptions, progress: Progress | None = None
) -> LinkResult:
    """Link two tables, or one with itself; see `match_records` and `dedup_records`."""
    times = StageTimes(progress)
    labels = labels_of(options.labels, a, b)
    with times.stage("code"):
        task = coded_task(a, b, options)
    linkage = task.linkage
    with times.stage("block"):
        candidates = blocked_pairs(task, options)
    with times.stage("estimate"):
        model = learn(task, candidates, options, labels)
    if misses_many(model, linkage, options):
        with times.stage("block"):
            candidates = with_nearest(task, candidates)
        with times.stage("estimate"):
            model = learn(task, candidates, options, labels)
    with times.stage("compare"):
        scores = model.scores(linkage, candidates, options)
    given = options
    if options.assign is None and isinstance(model.learnt, Network) and b is not None:
        options = replace(options, assign=probable_assignment(scores, candidates.compared, linkage))
    elif options.assign is None:
        options = replace(options, assign=model.assign)
    with times.stage("assign"):
        links = links_of(linkage, candidates.compared, scores, options, labels)
    relearnt = 0
    if (
        model.seeds is not None
        and b is None
        and not supported(task, candidates, scores, model.seeds)
    ):
        relearnt = len(model.seeds)
        with times.stage("estimate"):
            learnt = calibrate(
                linkage, task.comparers, model.seeds, frequencies=options.frequencies
            )
            model = replace(model, learnt=learnt)
        with times.stage("compare"):
            scores = model.scores(linkage, candidates, options)
        with times.stage("assign"):
            links = links_of(linkage, candidates.compared, scores, options, labels)
    if not len(links.i) and options.rules is not None and scores.weights is not None:
        with times.stage("estimate"):
            by_rules = weights_of_rules(
                linkage, task.comparers, candidates.chosen.rules, candidates.compared
            )
        if by_rules is not None:
            model = LearntModel(by_rules, task.comparers, assign=model.assign, by_rules=True)
            task = replace(task, doubts=[*task.doubts, RULES_ALONE])
            with times.stage("compare"):
                scores = model.scores(linkage, candidates, options)
            with times.stage("assign"):
                links = links_of(linkage, candidates.compared, scores, options, labels)
    words = (
        RecordWords(linkage, model.differing)
        if may_have_copies(task, links, scores, given)
        else None
    )
    if words is not None and (not len(links.i) or contradict_often(words, links, not task.mixed)):
        with times.stage("block"):
            nearest = candidate_pairs(linkage, [NearestBlocks()])
        with times.stage("estimate"):
            near = near_records(linkage, nearest)
            families = bool(len(links.i)) and join_families(words, near, links)
            copies = copies_of(linkage, words, near) if families or not len(links.i) else None
        if copies is not None:
            relearnt = 0
            with times.stage("estimate"):
                learnt = calibrate(
                    linkage, task.comparers, copies.seeds, frequencies=options.frequencies
                )
                model = replace(
                    model,
                    learnt=copies.calibrated(learnt),
                    comparers=task.comparers,
                    seeds=copies.seeds,
                )
            candidates = some_pairs(nearest, copies.index)
            scores = model.scores(linkage, candidates, options)
        elif families:
            task = replace(task, doubts=[*task.doubts, no_copies_text(task.scored)])
            scores = without_pairs(scores)
        if copies is not None or families:
            with times.stage("assign"):
                links = links_of(linkage, candidates.compared, scores, options, labels)
    if links.clusters is not None and scores.weights is not None:
        check_groups(links.clusters.labels, task.scored)
    rates = None
    if task.held_out is not None:
        with times.stage("rates"):
            rates = held_out_rates(task, candidates.compared, scores)
    summary = summary_of(
        task, candidates, model, scores, links, labels, times.seconds, relearnt, given, options
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
        summary,
        options,
        linkage,
        scores.scorers,
        candidates.compared,
        task.left_out,
        tuple(task.dependent),
        labels,
    )


@dataclass(frozen=True)
class LinkTask:
    """The fields of the tables that are linked.

    Attributes
    ----------
    linkage : Linkage
    scored : list of CodedField
        The fields that are scored.
    held_out : CodedField or None
    left_out : list of LeftOut
    dependent : list of DependentField
    edges : set of (int, int)
        Numbers of scored fields that share their content.
    mixed : bool
        Whether agreement patterns tell matches from strangers; if not, the ranks of whole records
        do.
    synonyms : Synonyms
    markers : dict of str to dict of str to tuple of int
        Values of each field that mean that there is none, and their rows.
    doubts : list of str
        Warnings of values.
    comparers : list of FieldComparer
        Of the scored fields.
    """

    linkage: Linkage
    scored: list[CodedField]
    held_out: CodedField | None
    left_out: list[LeftOut]
    dependent: list[DependentField]
    edges: set[tuple[int, int]]
    mixed: bool
    synonyms: Synonyms
    markers: dict[str, dict[str, tuple[int, ...]]]
    doubts: list[str]

    @cached_property
    def comparers(self) -> list[FieldComparer]:
        """The comparers of the scored fields."""
        make = partial(FieldComparer, synonyms=self.synonyms, threads=self.linkage.threads)
        comparers = list(ordered_map(make, self.scored, self.linkage.threads))
        if self.mixed:
            connect_exchanged(comparers)
        return comparers


def coded_task(a: RecordTable, b: RecordTable | None, options: LinkOptions) -> LinkTask:
    """Read the fields of the tables, and choose those that are scored."""
    chosen, held_out = chosen_fields(a, b, options)
    threads = thread_count(options.threads)
    seed = int(options.seed)
    a, b, chosen = with_address_parts(a, b, chosen)
    missing = MissingValues.of(options.missing, [*a.columns, *([] if b is None else b.columns)])
    coded = {field.field.name: field for field in code_fields(a, b, chosen, missing, threads)}
    held_out_field = None if held_out is None else code_field(held_out, a, b, missing)
    markers = {
        name: {marker.value: marker.rows for marker in field.markers}
        for name, field in coded.items()
        if field.markers
    }
    read = [*coded.values(), *([] if held_out_field is None else [held_out_field])]
    doubts = value_warnings(read, "a" if b is None else "ab")
    left_out: list[LeftOut] = []
    if options.fields is None:
        left_out = keys_left_out(Linkage(a, b, coded), named_fields(options.rules or ()))
    for column in left_out:
        del coded[column.name]
    linkage = Linkage(a, b, coded, seed, threads)
    edges = shared_content(list(coded.values()), seed)
    mixed = options.scoring == "weights" and suits_mixture(linkage, edges)
    # Fields that the user names are always scored. Blocking rules use all.
    dependent: list[DependentField] = []
    if options.fields is None and not mixed:
        dependent = dependent_fields([a] if b is None else [a, b], [*coded], seed)
    names = {field.name for field in dependent}
    scored = [field for name, field in coded.items() if name not in names]
    if dependent:
        edges = shared_content(scored, seed)
    synonyms = Synonyms.english() if options.synonyms is None else options.synonyms
    return LinkTask(
        linkage,
        scored,
        held_out_field,
        left_out,
        dependent,
        edges,
        mixed,
        synonyms,
        markers,
        doubts,
    )


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


def blocked_pairs(task: LinkTask, options: LinkOptions) -> BlockedPairs:
    """Choose blocking rules, unless they are given, and return their pairs."""
    linkage = task.linkage
    if options.rules is not None:
        chosen = ChosenRules.given(linkage, options.rules)
    else:
        chosen = mixture_rules(linkage) if task.mixed else default_rules(linkage)
    training, reach = with_reach(
        candidate_pairs(linkage, chosen.rules, chosen.found), chosen.rules, chosen.seeds
    )
    compared = training
    if options.rules is None and not task.mixed and compares_all(linkage):
        compared = candidate_pairs(linkage, [*chosen.rules, EveryPair()], chosen.found)
        reach = None
    return BlockedPairs(compared, training, reach, chosen)


def misses_many(model: LearntModel, linkage: Linkage, options: LinkOptions) -> bool:
    """Return whether the keys that were chosen bring too few of the matches that are expected among
    all pairs.
    """
    rows = sum(linkage.sizes[: 1 if linkage.b is None else 2])
    network = model.learnt
    if not isinstance(network, Network) or options.rules is not None or rows > MOST_ROWS:
        return False
    return network.weights.matches >= FEWEST_EXPECTED and network.reached < LEAST_REACHED


def with_nearest(task: LinkTask, candidates: BlockedPairs) -> BlockedPairs:
    """Return the pairs of the nearest whole records as well: they agree in no key if they have many
    errors.
    """
    rules = [*candidates.chosen.rules, NearestBlocks()]
    chosen = ChosenRules(rules)
    compared = candidate_pairs(task.linkage, rules)
    return BlockedPairs(compared, compared, None, chosen)


@dataclass(frozen=True)
class LearntModel:
    """What was learnt from the candidates.

    Attributes
    ----------
    learnt : Calibration, LinkWeights, Network or None
        None for points.
    comparers : list of FieldComparer
    patterns : PairPatterns or None
        Those of the candidates, for a Network.
    seeds : FoundSeeds or None
    assign : str
        How links are assigned unless it is said.
    by_rules : bool
        Whether the rules that the user gave are all the evidence.
    differing : tuple of str
        Fields that differ in nearly all matches, as agreement patterns show.
    """

    learnt: Calibration | LinkWeights | Network | None
    comparers: list[FieldComparer]
    patterns: PairPatterns | None = None
    seeds: FoundSeeds | None = None
    assign: Assignment = "one-to-one"
    by_rules: bool = False
    differing: tuple[str, ...] = ()

    def scores(
        self, linkage: Linkage, candidates: BlockedPairs, options: LinkOptions
    ) -> CandidateScores:
        """Score the candidates."""
        if not isinstance(self.learnt, Network):
            return scores_of(
                linkage,
                self.comparers,
                candidates.training,
                candidates.compared,
                self.learnt,
                options,
            )
        network = self.learnt
        places = candidates.compared.places
        least, lowest = least_scores(options, network.weights, network)
        if self.patterns is None:
            found = network.above(linkage, places, lowest)
        else:
            found = network.of_patterns(linkage, places, self.patterns, lowest)
        return CandidateScores(network.weights, network, least, *found)


def learn(
    task: LinkTask, candidates: BlockedPairs, options: LinkOptions, labels: PairLabels
) -> LearntModel:
    """Learn weights from the candidates, as the fields suggest.

    Of one table of texts, weights are learnt from all candidates only if agreement patterns show
    more than a few matches, or if the rules are given: the most similar texts of a table without
    duplicates look like its duplicates.
    """
    linkage = task.linkage
    comparers = task.comparers
    if options.scoring != "weights":
        return LearntModel(None, comparers, assign=options.assignment(linkage.b is None))
    if task.mixed:
        network, patterns = learn_network(
            linkage,
            comparers,
            candidates.compared.places,
            edges=task.edges,
            frequencies=options.frequencies,
            labels=labels,
        )
        assign = options.assignment(linkage.b is None)
        return LearntModel(network, comparers, patterns, assign=assign, differing=network.differing)
    assign = options.assignment(linkage.b is None)
    if (
        options.assign is None
        and linkage.b is not None
        and seeds_are_sought(linkage, candidates.training, assign)
    ):
        assign = alike_assignment(linkage, candidates.training)
    seeds = find_seeds(linkage, candidates.training, assign, alone=candidates.chosen.alone)
    if seeds is not None and len(labels):
        seeds = seeds.with_marks(candidates.training.places, labels, linkage.sizes[1])
    if linkage.b is not None and seeds is not None:
        learnt = calibrate(linkage, comparers, seeds, frequencies=options.frequencies)
        return LearntModel(learnt, comparers, seeds=seeds, assign=assign)
    differing: tuple[str, ...] = ()
    if linkage.b is None and options.rules is None and len(linkage.a) >= FEWEST_ROWS:
        places = candidates.training.places
        # The others are among those that are sampled.
        few = places[:: len(places) // MOST_COUNTED + 1]
        information = [-information_of(linkage, comparer.coded) for comparer in comparers]
        telling = [
            comparers[place]
            for place in sorted(np.argsort(information, kind="stable")[:MOST_TELLING])
        ]
        edges = shared_content([comparer.coded for comparer in telling], linkage.seed)
        network, _ = learn_network(
            linkage, telling, few, edges=edges, frequencies=options.frequencies, sampled=FEW_SAMPLED
        )
        if network.weights.matches < max(1.0, FEW_TEXT_MATCHES * len(linkage.a)):
            return LearntModel(network, telling, assign=assign)
        differing = network.differing
    weights = estimate_weights(
        linkage, comparers, candidates.training, frequencies=options.frequencies
    )
    return LearntModel(weights, comparers, seeds=seeds, assign=assign, differing=differing)


def may_have_copies(
    task: LinkTask, links: ChosenLinks, scores: CandidateScores, options: LinkOptions
) -> bool:
    """Return whether words should show which records of one table are copies: it has free texts,
    and no rules.
    """
    linkage = task.linkage
    if linkage.b is not None or scores.weights is None or options.rules is not None:
        return False
    texts = any(field.kind == "text" for field in linkage.fields.values())
    usual = FEWEST_ROWS <= len(linkage.a) <= MOST_ROWS
    return texts and usual and (bool(len(links.i)) or not task.mixed)


def near_records(linkage: Linkage, candidates: CandidatePairs) -> NearPairsOfRecords:
    """Return candidates with the similarities of their whole records."""
    i, j = linkage.rows_of(candidates.places)
    return NearPairsOfRecords(i, j, linkage.record_texts.compared(i, j)[1], len(linkage.a))


def some_pairs(candidates: CandidatePairs, index: Int64Array) -> BlockedPairs:
    """Return some candidates, by their index, as those that are compared."""
    order = np.sort(index)
    compared = replace(candidates, places=candidates.places[order], masks=candidates.masks[order])
    return BlockedPairs(compared, compared, None, ChosenRules([NearestBlocks()]))


def without_pairs(scores: CandidateScores) -> CandidateScores:
    """Return scores of no pairs, from which no matches are expected."""
    assert scores.weights is not None
    weights = replace(scores.weights, matches=0.0)
    return replace(scores, weights=weights, index=scores.index[:0], scores=scores.scores[:0])


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


def probable_assignment(
    scores: CandidateScores, candidates: CandidatePairs, linkage: Linkage
) -> Assignment:
    """Return the assignment that the scores of two tables suggest."""
    assert scores.weights is not None
    probable = scores.weights.probability(scores.scores) >= VERY_PROBABLE
    i, j = linkage.rows_of(candidates.places[scores.index[probable]])
    gains = scores.scores[probable] - scores.weights.bits_of(PROBABILITY)
    return likely_assignment(i, j, gains, linkage.sizes)


def alike_assignment(linkage: Linkage, candidates: CandidatePairs) -> Assignment:
    """Return the assignment that the similarities of whole records of two tables suggest."""
    i, j = linkage.rows_of(candidates.places)
    similarities = linkage.record_texts.compared(i, j)[1]
    alike = similarities >= ALIKE
    return likely_assignment(i[alike], j[alike], similarities[alike], linkage.sizes)


def check_groups(labels: Int64Array, scored: Sequence[CodedField]) -> None:
    """Raise ValueError if a group is far larger than the other groups lead to expect; equal records
    count once.

    The sizes of real groups fall off like a power (Hill, Annals of Statistics 1975): the largest of
    n groups is beyond s with a probability of n times the share that is expected beyond s.
    """
    if not len(labels) or np.bincount(labels).max() < LARGE_GROUP:
        return
    first, _ = distinct_rows([labels, *(field.codes[0] for field in scored)])
    sizes = np.sort(np.bincount(labels[first]))
    sizes = sizes[sizes > 1]
    if not len(sizes) or sizes[-1] < LARGE_GROUP:
        return
    smaller = sizes[:-1]
    slope = 1 / max(float(np.log(smaller / 1.5).mean()), 0.1) if len(smaller) else np.inf
    expected = len(sizes) * (sizes[-1] / 1.5) ** -slope
    everything = (
        sizes[sizes >= LARGE_GROUP].sum() > MOST_IN_GROUPS * len(labels)
        and len(sizes) < len(labels) ** 0.5
    )
    if expected < UNLIKELY or everything:
        names = visible(", ".join(field.field.name for field in scored))
        raise ValueError(
            f"the links join {sizes[-1]:,} different records of {len(labels):,} in one group, so "
            "the fields compared "
            f"({names}) do not tell records apart: name fields that do (--field), leave out others "
            "(--ignore), or set a higher threshold"
        )


def held_out_rates(
    task: LinkTask, candidates: CandidatePairs, scores: CandidateScores
) -> RateTable:
    """Estimate the rate of true matches from the field that is held out."""
    assert task.held_out is not None
    comparer = FieldComparer(task.held_out, task.synonyms, task.linkage.threads)
    sure = scores.least + SURE_BITS
    if scores.weights is None:
        sure = SURE_POINTS * sum(scorer.comparer.coded.field.points for scorer in scores.scorers)
    return rates_of(task.linkage, candidates.places, scores.scorers, comparer, sure)


def summary_of(
    task: LinkTask,
    candidates: BlockedPairs,
    model: LearntModel,
    scores: CandidateScores,
    links: ChosenLinks,
    labels: PairLabels,
    seconds: dict[str, float],
    relearnt: int,
    asked: LinkOptions,
    options: LinkOptions,
) -> LinkSummary:
    """Return the figures of a run with the options that were asked for, and those that were
    chosen.
    """
    assign = options.assignment(task.linkage.b is None)
    linkage = task.linkage
    compared = candidates.compared
    counts = links_by_rule(links.masks, len(compared.reports)).tolist()
    if linkage.b is None:
        linked = distinct(np.append(links.i, links.j), len(linkage.a)), 0
    else:
        linked = distinct(links.i, len(linkage.a)), distinct(links.j, len(linkage.b))
    no_seeds = False
    if not isinstance(model.learnt, Network) and model.seeds is None and not model.by_rules:
        no_seeds = seeds_are_sought(linkage, candidates.training, options.assignment(False))
        no_seeds = no_seeds and (linkage.b is not None or len(links.i) >= FEWEST_SEEDS)
    given = options.rules is not None
    by_twos = model.learnt.by_twos if isinstance(model.learnt, Network) else ()
    warnings = warnings_of(
        task.scored,
        linkage.sizes,
        scores.weights,
        no_seeds,
        links.scores[~labels.mark(links.i, links.j)],
        scores.least,
        cut=0 if links.clusters is None else links.clusters.cut,
        seeds=relearnt,
        reach=None if given and any(map(is_whole, candidates.chosen.rules)) else candidates.reach,
        nearest=not given,
        several=assign
        if asked.assign is None and assign in ("one-to-many", "many-to-one")
        else None,
        by_twos=by_twos,
    )
    return LinkSummary(
        records=(len(linkage.a), 0 if linkage.b is None else len(linkage.b)),
        linked=linked,
        all_pairs=linkage.all_pairs,
        compared=len(compared),
        above=int((scores.scores >= scores.least).sum()),
        links=len(links.i),
        rules=[
            replace(report, links=count)
            for report, count in zip(compared.reports, counts, strict=True)
        ],
        threshold=scores.least,
        seconds=seconds,
        clusters=links.clusters,
        reach=candidates.reach,
        ambiguous=links.ambiguous,
        greedy=links.greedy,
        marked=(int(labels.same.sum()), int((~labels.same).sum())),
        missing=task.markers,
        warnings=(*task.doubts, *warnings),
        precision=None
        if scores.weights is None or links.probabilities is None or not len(links.i)
        else expected_precision(links.probabilities, scores.weights),
        steps=[]
        if scores.weights is None
        else steps_of(linkage, compared, scores, scores.weights, assign, labels),
    )


def supported(
    task: LinkTask, candidates: BlockedPairs, scores: CandidateScores, seeds: FoundSeeds
) -> bool:
    """Return whether seeds support the weights of one table: the links that these give with the
    default threshold.
    """
    assert scores.weights is not None
    least = scores.weights.bits_of(PROBABILITY)
    links = links_above(task.linkage, candidates.compared, scores, "many-to-many", least)
    return seeds.support(links.i, links.j, task.comparers, scores.weights)


def distinct(rows: Int64Array, size: int) -> int:
    """Return the number of distinct rows; all are below `size`."""
    seen = np.zeros(size, bool)
    seen[rows] = True
    return int(seen.sum())


def chosen_fields(
    a: RecordTable, b: RecordTable | None, options: LinkOptions
) -> tuple[list[Field], Field | None]:
    """Return the fields to compare and the field that is held out, after checking that their
    columns exist.
    """
    held_out = None if options.held_out is None else checked_fields([options.held_out])[0]
    if options.fields is None:
        both = [name for name in a.names if b is None or name in b.names]
        chosen = [Field(name) for name in both]
    else:
        chosen = checked_fields(options.fields)
    if held_out is not None and held_out.kind == "address":
        raise ValueError(
            "an address is compared by its parts, so it cannot be held out; hold out another column"
        )
    left_out = {*options.ignore, *([] if held_out is None else [held_out.name])}
    for name in options.ignore:
        if name not in a.columns and (b is None or name not in b.columns):
            a.column(name)
    chosen = [one for one in chosen if one.name not in left_out]
    for one in [*chosen, *([] if held_out is None else [held_out])]:
        a.column(one.name)
        if b is not None:
            b.column(one.column_of(1))
    if not chosen:
        shown = visible(
            " and ".join(", ".join(table.names) or "none" for table in (a, b) if table is not None)
        )
        raise ValueError(
            f"there is no field to compare; columns are: {shown}; fields (--field A=B) pairs others"
        )
    return chosen, held_out


def rates_of(
    linkage: Linkage, places: UInt64Array, scorers: PairScorer, comparer: FieldComparer, sure: float
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
    found = [differences(comparer, pair) for pair in ((i, j), rows)]
    certain = found[0][(scores >= sure) & np.isfinite(found[0])]
    h0 = float(certain.mean()) if len(certain) >= LEAST_SURE else None
    return rate_table(scores, found[0], random=found[1], h0=h0, field=name)


def differences(comparer: FieldComparer, rows: tuple[Int64Array, Int64Array]) -> Float64Array:
    """Return how much a field differs: numbers and dates by value, categories by 0 or 1, others by
    edits.
    """
    coded = comparer.coded
    a = coded.codes[0][rows[0]]
    b = coded.codes[1][rows[1]]
    if coded.kind == "category":
        return np.where((a < 0) | (b < 0), np.nan, (a != b).astype(np.float64))
    return comparer.edits(a, b, 1.0)
