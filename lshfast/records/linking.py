"""Link the records of two tables, or the duplicates within one: blocking, scores, assignment."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from lshfast.common.progress import Progress
from lshfast.common.threads import ordered_map, thread_count
from lshfast.common.types import Float64Array, Int64Array, UInt64Array
from lshfast.common.visible import visible
from lshfast.records.addresses import with_address_parts
from lshfast.records.blocking import EveryPair
from lshfast.records.calibration import FEWEST_SEEDS, Calibration, FoundSeeds, calibrate, find_seeds, seeds_are_sought
from lshfast.records.candidates import CandidatePairs, candidate_pairs, links_by_rule
from lshfast.records.choices import Assignment, Scoring
from lshfast.records.coding import code_fields, value_warnings
from lshfast.records.comparison import FieldComparer
from lshfast.records.default_rules import compares_all, default_rules
from lshfast.records.dependent import dependent_fields
from lshfast.records.fields import Field, checked_fields
from lshfast.records.keys import LeftOut, keys_left_out
from lshfast.records.labels import labels_of
from lshfast.records.linkage import BlockingRule, Linkage
from lshfast.records.links import PROBABILITY, CandidateScores, links_above, links_of, scores_of, steps_of
from lshfast.records.missing import MissingValues
from lshfast.records.options import LinkOptions
from lshfast.records.outlook import warnings_of
from lshfast.records.rates import LEAST_SURE, RateTable, rate_table
from lshfast.records.reach import ChosenRules, is_whole, with_reach
from lshfast.records.result import LinkResult
from lshfast.records.rule_names import named_fields
from lshfast.records.scoring import FieldScorer, parts_of
from lshfast.records.summary import LinkSummary
from lshfast.records.synonyms import Synonyms
from lshfast.records.tables import RecordTable, code_field
from lshfast.records.weights import LinkWeights, estimate_weights, random_rows

STAGES = ("code", "block", "estimate", "compare", "assign", "rates")
SURE_BITS, SURE_POINTS = 10.0, 0.95  # above the threshold, or of all points, for pairs that are taken for matches
RATE_PAIRS = 500_000  # candidates, and random pairs, from which the rate of true matches is estimated


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
    assign: Assignment = "one-to-one",
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

    Blocking rules choose pairs of records. Each pair is scored field by field. Pairs that score enough are assigned.

    Parameters
    ----------
    a, b : mapping of str to columns, data frame, Arrow table, sequence of mappings, or RecordTable
        The tables; see `RecordTable`.
    id_column : str or (str, str), optional
        Column of the ids, or the columns of the two tables; the default ids are row numbers.
    fields : sequence of Field or str, optional
        What is compared: ``name``, ``name:kind`` or ``name=other:kind``; see `Field`. By default, the columns that both
        tables have, without row numbers and codes that say nothing about the other table (`LinkResult.left_out`), and
        without those that follow from others, as a full name from its parts (`LinkResult.dependent`; only blocking
        rules use them). A kind that is not given is guessed from the values.
    ignore : sequence of str
        Columns that are not compared.
    rules : sequence of KeyBlocks, SortBlocks, LshBlocks, EveryPair or str, optional
        Which pairs are compared; strings as for `parse_rule`. By default, rules are chosen by the values of the fields.
        All pairs are compared if they are at most 20,000, or 1,000,000 within one table.
    scoring : {"weights", "points"}
        weights: log2 of likelihood ratios, whose distributions are estimated from the data without labels. points: the
        points of each field, less a penalty that grows with the square of the edits; a missing value has half of the
        points.
    threshold : float, optional
        The least score of a link. For weights, the probability of a match, in (0, 1), by default 0.5. For points, by
        default three quarters of all points.
    assign : {"one-to-one", "many-to-one", "one-to-many", "many-to-many"}
        many-to-one: each record of `a` has at most one link, the best; one-to-many: each record of `b`. one-to-one:
        both, with the greatest sum of scores above the threshold among records that chains of pairs connect, or, if
        these are too many, chosen greedily, the best first (`LinkSummary.greedy`). many-to-many: all pairs that score
        enough.
    synonyms : Synonyms, optional
        Words that count as nearly equal; by default those of `Synonyms.english`.
    frequencies : bool, default True
        Whether agreement on a rare value weighs more than on a frequent one, with scoring by weights.
    held_out : str or Field, optional
        A field that takes no part in blocking and scoring, from which the rate of true matches at each score is
        estimated (`LinkResult.rates`).
    labels : table, or sequence of (id_a, id_b, answer), optional
        Pairs that a person has marked: a table with the columns id_a, id_b and answer, as `LinkResult.review` returns,
        or tuples of them. A pair that is marked "same" is a link, whatever its score is and whether a rule brought it.
        A pair that is marked "different" is no link, and within one table its records are in different groups.
        "unsure" and missing answers do not count.
    seed : int or "random", default 1
        In 0..2**64 - 1. It chooses samples and hash functions.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not depend on it.
    missing : sequence of str, or mapping of str to sequence of str, optional
        Values that count as missing, such as ``"9999"``, or ``"phone=0"`` for one column, besides those that are
        recognised: words such as N/A, NULL and unknown, and numbers and dates such as 9999999999 and 1900-01-01, by
        their form and by how often they occur (`CodedField.markers`). ``"none"`` among them ends the recognition, and
        ``"=none"`` is this value.
    progress : callable, optional
        Called with (stage, steps done, all steps).

    Returns
    -------
    LinkResult

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or value, there is no such column, or an id is missing or occurs twice.
    DataError
        If labels name an unknown id, have another answer, or contradict each other; the message names the row.
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
    I. P. Fellegi, A. B. Sunter, "A theory for record linkage", JASA 1969. J. Leskovec, A. Rajaraman, J. D. Ullman,
    "Mining of Massive Datasets", section 3.8.

    Examples
    --------
    >>> from lshfast.records import match_records
    >>> a = {"name": ["William Jones", "Ann Lee", "Eve Stone"], "phone": ["555 0123", "555 0199", "555 0100"]}
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
    assign: Assignment = "many-to-many",
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

    The parameters are those of `match_records`. With ``assign="one-to-one"``, a record has at most one duplicate.

    Returns
    -------
    LinkResult
        Its `groups` gives each record the first record of its group. Links that other pairs of a group contradict do
        not join groups.

    See Also
    --------
    lshfast.records.match_records : Link the records of two tables.
    lshfast.records.parse_rule : Read a blocking rule from a string.

    Examples
    --------
    >>> from lshfast.records import dedup_records
    >>> people = {"name": ["Ann Lee", "Eve Stone", "Anne Lee"], "born": ["1980-05-01", "1971-11-30", "1980-05-01"]}
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
        raise ValueError(f"assign must be 'one-to-one' or 'many-to-many' within one table, not {assign!r}")
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
        chosen, held_out = chosen_fields(a, b, options)
        threads = thread_count(options.threads)
        a, b, chosen = with_address_parts(a, b, chosen)
        missing = MissingValues.of(options.missing, [*a.columns, *([] if b is None else b.columns)])
        coded = {found.field.name: found for found in code_fields(a, b, chosen, missing, threads)}
        apart = None if held_out is None else code_field(held_out, a, b, missing)
        markers = {
            name: {marker.value: marker.rows for marker in own.markers} for name, own in coded.items() if own.markers
        }
        doubts = value_warnings([*coded.values(), *([] if apart is None else [apart])], "ab" if b is not None else "a")
        left_out: list[LeftOut] = []
        if options.fields is None:
            left_out = keys_left_out(Linkage(a, b, coded), named_fields(options.rules or ()))
        for own in left_out:
            del coded[own.name]
        # Fields that the user names are always scored. Blocking rules use all.
        tables = [a] if b is None else [a, b]
        dependent = dependent_fields(tables, [*coded], int(options.seed)) if options.fields is None else []
        scored = [coded[name] for name in coded if name not in {one.name for one in dependent}]
    linkage = Linkage(a, b, coded, int(options.seed), threads)
    with times.stage("block"):
        by = default_rules(linkage) if options.rules is None else ChosenRules.given(linkage, options.rules)
        training, reach = with_reach(candidate_pairs(linkage, by.rules, by.found), by.rules, by.seeds)
        candidates = training
        if options.rules is None and compares_all(linkage):
            candidates, reach = candidate_pairs(linkage, [*by.rules, EveryPair()], by.found), None
    synonyms = Synonyms.english() if options.synonyms is None else options.synonyms
    with times.stage("estimate"):
        make = partial(FieldComparer, synonyms=synonyms, threads=threads)
        comparers = list(ordered_map(make, scored, threads))
        seeds = None
        if options.scoring == "weights":
            seeds = find_seeds(linkage, training, options.assign, alone=by.alone)
        learnt: Calibration | LinkWeights | None = None
        if seeds is not None and b is not None:
            learnt = calibrate(linkage, comparers, seeds, frequencies=options.frequencies)
        elif options.scoring == "weights":
            learnt = estimate_weights(linkage, comparers, training, frequencies=options.frequencies)
    with times.stage("compare"):
        found = scores_of(linkage, comparers, training, candidates, learnt, options)
    with times.stage("assign"):
        links = links_of(linkage, candidates, found, options, labels)
    relearnt = 0
    if seeds is not None and b is None and not supported(linkage, comparers, candidates, found, seeds):
        relearnt = len(seeds)
        with times.stage("estimate"):
            learnt = calibrate(linkage, comparers, seeds, frequencies=options.frequencies)
        with times.stage("compare"):
            found = scores_of(linkage, comparers, training, candidates, learnt, options)
        with times.stage("assign"):
            links = links_of(linkage, candidates, found, options, labels)
    no_seeds = seeds is None and seeds_are_sought(linkage, training, options.assign)
    no_seeds = no_seeds and (b is not None or len(links.i) >= FEWEST_SEEDS)
    weights, scorers, least = found.weights, found.scorers, found.least
    i, j, scores, clusters = links.i, links.j, links.scores, links.clusters
    parts = parts_of(scorers, (i, j))
    rates = None
    if apart is not None:
        with times.stage("rates"):
            comparer = FieldComparer(apart, synonyms, linkage.threads)
            sure = least + SURE_BITS
            if weights is None:
                sure = SURE_POINTS * sum(own.comparer.coded.field.points for own in scorers)
            rates = rates_of(linkage, candidates.places, scorers, comparer, sure)
    counts = links_by_rule(links.masks, len(candidates.reports)).tolist()
    summary = LinkSummary(
        records=(len(a), 0 if b is None else len(b)),
        linked=(distinct(i, len(a)), distinct(j, len(b))) if b is not None else (distinct(np.append(i, j), len(a)), 0),
        all_pairs=linkage.all_pairs,
        compared=len(candidates),
        above=int((found.scores >= least).sum()),
        links=len(i),
        rules=[replace(report, links=links) for report, links in zip(candidates.reports, counts, strict=True)],
        threshold=least,
        seconds=times.seconds,
        clusters=clusters,
        reach=reach,
        ambiguous=links.ambiguous,
        greedy=links.greedy,
        marked=(int(labels.same.sum()), int((~labels.same).sum())),
        missing=markers,
        warnings=tuple(doubts)
        + warnings_of(
            scored,
            linkage.sizes,
            weights,
            no_seeds,
            scores[~labels.mark(i, j)],
            least,
            cut=0 if clusters is None else clusters.cut,
            seeds=relearnt,
            reach=None if options.rules is not None and any(map(is_whole, by.rules)) else reach,
            nearest=options.rules is None,
        ),
        steps=[] if weights is None else steps_of(linkage, candidates, found, weights, options.assign, labels),
    )
    return LinkResult(
        i, j, scores, links.probabilities, parts, [own.comparer.coded for own in scorers], weights, rates, summary,
        options, linkage, scorers, candidates, left_out, tuple(dependent), labels,
    )  # fmt: skip


def supported(
    linkage: Linkage,
    comparers: Sequence[FieldComparer],
    candidates: CandidatePairs,
    found: CandidateScores,
    seeds: FoundSeeds,
) -> bool:
    """Return whether seeds support the weights of one table: the links that these give with the default threshold."""
    assert found.weights is not None
    links = links_above(linkage, candidates, found, "many-to-many", found.weights.bits_of(PROBABILITY))
    return seeds.support(links.i, links.j, comparers, found.weights)


def distinct(rows: Int64Array, size: int) -> int:
    """Return the number of distinct rows; all are below `size`."""
    seen = np.zeros(size, bool)
    seen[rows] = True
    return int(seen.sum())


def chosen_fields(a: RecordTable, b: RecordTable | None, options: LinkOptions) -> tuple[list[Field], Field | None]:
    """Return the fields to compare and the field that is held out, after checking that their columns exist."""
    held_out = None if options.held_out is None else checked_fields([options.held_out])[0]
    if options.fields is None:
        both = [name for name in a.names if b is None or name in b.names]
        chosen = [Field(name) for name in both]
    else:
        chosen = checked_fields(options.fields)
    if held_out is not None and held_out.kind == "address":
        raise ValueError("an address is compared by its parts, so it cannot be held out; hold out another column")
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
        shown = visible(" and ".join(", ".join(table.names) or "none" for table in (a, b) if table is not None))
        raise ValueError(f"there is no field to compare; columns are: {shown}; fields (--field A=B) pairs others")
    return chosen, held_out


def rates_of(
    linkage: Linkage, places: UInt64Array, scorers: Sequence[FieldScorer], comparer: FieldComparer, sure: float
) -> RateTable:
    """Estimate the rate of true matches by score from a field that is held out; pairs that score `sure` are matches."""
    if len(places) > RATE_PAIRS:
        rng = np.random.default_rng([linkage.seed, 4])
        places = places[np.sort(rng.choice(len(places), RATE_PAIRS, replace=False))]
    i, j = linkage.rows_of(places)
    scores = parts_of(scorers, (i, j)).sum(axis=1)
    rows = random_rows(linkage, min(RATE_PAIRS, 4 * linkage.all_pairs)) if linkage.all_pairs else (i, j)
    name = comparer.coded.field.name
    found = [differences(comparer, pair) for pair in ((i, j), rows)]
    certain = found[0][(scores >= sure) & np.isfinite(found[0])]
    h0 = float(certain.mean()) if len(certain) >= LEAST_SURE else None
    return rate_table(scores, found[0], random=found[1], h0=h0, field=name)


def differences(comparer: FieldComparer, rows: tuple[Int64Array, Int64Array]) -> Float64Array:
    """Return how much a field differs: numbers and dates by value, categories by 0 or 1, others by edits."""
    coded = comparer.coded
    a, b = coded.codes[0][rows[0]], coded.codes[1][rows[1]]
    if coded.kind == "category":
        return np.where((a < 0) | (b < 0), np.nan, (a != b).astype(np.float64))
    return comparer.edits(a, b, 1.0)
