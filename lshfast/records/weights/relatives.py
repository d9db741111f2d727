"""Fields that relatives share, and fields that change together.

People of one household agree in street, number, postcode and surname at once, as articles of one
maker do in what describes the maker. Such values are common one by one, so two of these fields
agree together hardly more often than by chance, while all of them do so a thousand times as often.
Agreement states that are far more frequent than the network of strangers predicts are either
matches or relatives. They are relatives if they outnumber the pairs that also agree in the other
fields, or if many of their records have another pair, which agrees in the other fields too; then
the fields in which they agree depend on each other. People who moved are the opposite: a few of
the pairs that agree in identifying fields and differ in the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.distinct import distinct_rows
from lshfast.records.weights.dependence import (
    ABSENT,
    CLOSE,
    DIFFERENT,
    EQUAL,
    LEAST_LIFT,
    SIGNIFICANT,
    TINY,
    Edge,
    independent_of,
    order_of,
    parents_of,
    states_of_levels,
    sums_by,
)
from lshfast.records.weights.patterns import PairPatterns, RowCandidates

MOST_STATES = 100  # that are more frequent than expected
FEWEST_PAIRS = 10.0  # of a state
MOST_RELATIVES = 0.5  # of the pairs that agree in the shared fields
MOST_OTHER_NAMES = 0.25  # the same, if their full names differ
# Of the records of pairs that agree in the shared fields and differ in others: those that also have
# a pair that agrees in all. 0 of people who moved, .35 to .8 of households of whose people two
# thirds are in both tables, or twice in one.
MANY_MATCHED = 0.2
# Of the pairs that agree in all fields: those that are the only one of their record. .9 where some
# relatives have equal given names; fewer if records match several others.
LEAST_SINGLE = 0.85
MANY_NAMESAKES = 0.1  # of namesakes who have equal e-mail addresses
LEAST_CHANGED = 0.01  # of the matches, for a change of several fields
MORE_CHANGED = 2.0  # times the changes that independent fields would have in common


@dataclass(frozen=True)
class AgreementStates:
    """How many pairs are equal, close, different or without a value in each of some fields.

    Attributes
    ----------
    states : ndarray of uint8, shape (states, fields)
    counts, variances : ndarray of float64, shape (states,)
        How many pairs have the state, and the variance of this number.
    of_pattern : ndarray of int64, shape (patterns,)
        The state of each pattern.
    of_rows : RowCandidates or None
        With states instead of patterns.
    """

    states: npt.NDArray[np.uint8]
    counts: Float64Array
    variances: Float64Array
    of_pattern: Int64Array
    of_rows: RowCandidates | None

    @classmethod
    def of(
        cls, patterns: PairPatterns, close: Sequence[BoolArray], fields: Sequence[int]
    ) -> AgreementStates:
        """Count the states of some fields; the other fields count as missing."""
        columns = [
            states_of_levels(close[field])[patterns.levels[:, field]]
            for field in range(len(close))
        ]
        for field in set(range(len(close))) - set(fields):
            columns[field][:] = ABSENT
        first, of_pattern = distinct_rows(columns)
        counts = sums_by(of_pattern, patterns.counts, len(first))
        variances = sums_by(of_pattern, patterns.variances, len(first))
        of_rows = patterns.of_rows
        if of_rows is not None:
            of_rows = of_rows.with_patterns(of_pattern)
        return cls(
            np.stack(columns, axis=1)[first], counts, variances, of_pattern, of_rows
        )

    @cached_property
    def equal(self) -> BoolArray:
        return np.asarray(self.states == EQUAL)

    @cached_property
    def different(self) -> BoolArray:
        return np.asarray(self.states == DIFFERENT)

    @cached_property
    def present(self) -> BoolArray:
        return np.asarray(self.states != ABSENT)

    @cached_property
    def chance(self) -> Float64Array:
        """How often values of each field are equal."""
        return np.asarray(
            (self.counts @ self.equal) / np.maximum(self.counts @ self.present, TINY)
        )

    @cached_property
    def bits(self) -> Float64Array:
        """The information of equal values of each field, at most half of log2(pairs)."""
        most = 0.5 * np.log2(max(self.counts.sum(), 2.0))
        return np.asarray(np.minimum(-np.log2(np.maximum(self.chance, TINY)), most))

    def expected(self, edges: set[Edge]) -> Float64Array:
        """Return the expected pairs of each state if only these edges connected fields."""
        order = order_of((self.counts @ self.equal).tolist())
        expected = np.full(len(self.counts), self.counts.sum(), np.float64)
        for place, field in enumerate(order):
            parents = parents_of(order, place, edges)
            parent_state = np.zeros(len(self.counts), np.int64)
            if parents:
                parent_state = distinct_rows(
                    [self.states[:, parent] for parent in parents]
                )[1]
            joint = distinct_rows([parent_state, self.states[:, field]])[1]
            joint_pairs = np.bincount(joint, self.counts)[joint]
            parent_pairs = np.bincount(parent_state, self.counts)[parent_state]
            expected *= joint_pairs / parent_pairs
        return expected

    def surpass(self, expected: Float64Array) -> BoolArray:
        """Return which states are clearly more frequent than expected."""
        error = np.sqrt(expected + self.variances)
        surplus = self.counts - expected
        return np.asarray(
            (self.counts >= LEAST_LIFT * expected) & (surplus > SIGNIFICANT * error)
        )

    def frequent(self, expected: Float64Array) -> Int64Array:
        """Return the unexpectedly frequent states of FEWEST_PAIRS pairs, greatest surplus first."""
        rows = np.flatnonzero(self.surpass(expected) & (self.counts >= FEWEST_PAIRS))
        surplus = self.counts[rows] - expected[rows]
        return np.asarray(rows[np.argsort(-surplus, kind="stable")][:MOST_STATES])

    def all_equal(self, fields: Sequence[int]) -> BoolArray:
        """Return which states are equal in all of some fields."""
        return np.asarray(self.equal[:, list(fields)].all(axis=1))

    def all_different(self, fields: Sequence[int]) -> BoolArray:
        """Return which states differ in all of some fields."""
        return np.asarray(self.different[:, list(fields)].all(axis=1))

    def number(self, states: BoolArray) -> float:
        """Return the number of pairs that have some states."""
        return float(self.counts @ states)


def equal_addresses(
    states: AgreementStates,
    issued: Collection[int],
    telling: Sequence[int],
    edges: set[Edge],
) -> dict[int, float]:
    """Return how many namesakes have equal e-mail addresses, for the fields in which few have.

    They are namesakes if they differ in most of the other fields that tell records apart. Without
    such fields nobody is known to be a namesake, and equal addresses are believed: the share is 0.
    """
    shares = {}
    for field in issued:
        names = [
            other for edge in edges if field in edge for other in edge if other != field
        ]
        others = [other for other in telling if other not in (field, *names)]
        if not others or not names:
            shares[field] = 0.0
            continue
        differing = states.different[:, others].sum(axis=1)
        namesakes = states.all_equal(names) & (2 * differing > len(others))
        number = states.number(namesakes & states.present[:, field])
        equal = states.number(namesakes & states.equal[:, field])
        share = equal / max(number, 1.0)
        if share < MANY_NAMESAKES or equal < FEWEST_PAIRS:
            shares[field] = share
    return shares


def edges_among(fields: Sequence[int]) -> set[Edge]:
    """Return the edges that connect each two of some fields."""
    return set(combinations(sorted(fields), 2))


def shared_by_relatives(
    states: AgreementStates,
    telling: Sequence[int],
    full_names: Collection[int],
    edges: set[Edge],
) -> set[Edge]:
    """Add to the edges those between fields that relatives share.

    `telling` are the fields that identify, and `full_names` those of given names with surnames.
    """
    edges = set(edges)
    while shared := next_shared(states, telling, full_names, edges):
        edges |= edges_among(shared)
    return edges


def next_shared(
    states: AgreementStates,
    telling: Sequence[int],
    full_names: Collection[int],
    edges: set[Edge],
) -> list[int] | None:
    """Return the fields that the clearest relatives share, or None."""
    expected = states.expected(edges)
    candidates = list(shared_fields(states, telling, edges, expected))
    for shared, different in candidates:
        if are_relatives(states, shared, different, full_names, edges, expected):
            return shared
    for shared, different in candidates:
        if match_others(states, shared, different, expected):
            return shared
    return None


def shared_fields(
    states: AgreementStates,
    telling: Sequence[int],
    edges: set[Edge],
    expected: Float64Array,
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the fields in which a frequent state agrees beyond chance, and those that differ."""
    for row in states.frequent(expected).tolist():
        equal = np.flatnonzero(states.equal[row]).tolist()
        different = [field for field in telling if states.different[row, field]]
        if not different or edges_among(equal) <= edges:
            continue
        shared = [
            field
            for field in equal
            if agrees_beyond_chance(states, field, equal, different)
        ]
        if edges_among(shared) <= edges:
            continue
        if tells_matches(telling, edges | edges_among(shared)):
            yield shared, different


def tells_matches(telling: Sequence[int], edges: set[Edge]) -> bool:
    """Return whether fields tell matches from strangers: two of them at least are independent.

    If all depend on each other, strangers explain every pattern, and no match is seen.
    """
    return len(independent_of(telling, edges)) >= min(2, len(telling))


def agrees_beyond_chance(
    states: AgreementStates, field: int, equal: Sequence[int], different: Sequence[int]
) -> bool:
    """Return whether agreement in the other fields makes agreement in this one more likely."""
    other_fields = [other for other in equal if other != field]
    alike = states.all_equal(other_fields) & states.all_different(different)
    agreeing = states.number(alike & states.equal[:, field])
    present = states.number(alike & states.present[:, field])
    return bool(agreeing / max(present, TINY) > LEAST_LIFT * states.chance[field])


def are_relatives(
    states: AgreementStates,
    shared: Sequence[int],
    different: Sequence[int],
    full_names: Collection[int],
    edges: set[Edge],
    expected: Float64Array,
) -> bool:
    """Return whether pairs that agree in some fields and differ in others are relatives.

    They are most of the pairs that agree so, and differ in two independent fields or more. A full
    name is two fields, and hardly any record of a person has another one, so fewer pairs suffice:
    colleagues with one telephone, or a family with one mailbox.
    """
    differing = independent_of(different, edges | edges_among(shared))
    have_other_name = not set(full_names).isdisjoint(differing)
    if len(differing) + have_other_name < 2:
        return False
    if not are_beyond_chance(states, shared, different, expected):
        return False
    alike = states.all_equal(shared)
    number = states.number(alike & states.all_different(different))
    comparable = comparable_pairs(states, alike, different)
    most = MOST_OTHER_NAMES if have_other_name else MOST_RELATIVES
    least = most * comparable + SIGNIFICANT / 2 * comparable**0.5
    return bool(number >= least)


def match_others(
    states: AgreementStates,
    shared: Sequence[int],
    different: Sequence[int],
    expected: Float64Array,
) -> bool:
    """Return whether pairs that agree in some fields, but not in others, match other records.

    Then they are relatives: the records of people who moved match no others. Pairs that are
    expected by chance do not count: as many of their records match others as of all records.
    Nothing is known if a record may match several: then several pairs of a record agree in all of
    these fields.
    """
    candidates = states.of_rows
    if candidates is None:
        return False
    all_fields = [*shared, *different]
    agree = np.asarray(states.states[:, all_fields] <= CLOSE).all(axis=1)
    matches = np.asarray(agree, bool)[candidates.pattern]
    number = int(matches.sum())
    matched = np.unique(candidates.row[matches])
    partners = np.unique(candidates.partner[matches])
    if min(len(matched), len(partners)) < LEAST_SINGLE * number:
        return False
    differ = states.all_equal(shared) & states.all_different(different)
    is_different = differ[candidates.pattern]
    matched_share = len(matched) / candidates.rows
    by_chance = min(1.0, float(expected @ differ) / max(states.number(differ), TINY))
    by_chance *= int(is_different.sum())
    relatives = int(np.isin(candidates.row[is_different], matched).sum())
    relatives_beyond_chance = relatives - by_chance * matched_share
    beyond_chance = int(is_different.sum()) - by_chance
    least = max(MANY_MATCHED, MOST_RELATIVES * matched_share) * beyond_chance
    return bool(relatives_beyond_chance >= max(FEWEST_PAIRS, least))


def are_beyond_chance(
    states: AgreementStates,
    shared: Sequence[int],
    different: Sequence[int],
    expected: Float64Array,
) -> bool:
    """Return whether pairs agree and differ in these fields clearly more often than expected."""
    pairs = states.all_equal(shared) & states.all_different(different)
    by_chance = float(expected @ pairs)
    error = (by_chance + float(states.variances @ pairs)) ** 0.5
    least = max(FEWEST_PAIRS, LEAST_LIFT * by_chance, by_chance + SIGNIFICANT * error)
    return bool(states.number(pairs) > least)


def comparable_pairs(
    states: AgreementStates, alike: BoolArray, different: Sequence[int]
) -> float:
    """Return the pairs of some states that have values in all of some fields."""
    return states.number(alike & states.present[:, list(different)].all(axis=1))


def changed_by_moves(
    states: AgreementStates, telling: Sequence[int], edges: set[Edge]
) -> set[Edge]:
    """Add to the edges those between fields that change together in some of the matches.

    The fields in which a frequent state agrees identify more than those in which it differs.
    """
    edges = set(edges)
    expected = states.expected(edges)
    for row in states.frequent(expected).tolist():
        equal = [field for field in telling if states.equal[row, field]]
        different = [field for field in telling if states.different[row, field]]
        if edges_among(different) <= edges:
            continue
        identifying = independent_of(equal, edges)
        changing = independent_of(different, edges)
        if (
            len(identifying) < 2
            or states.bits[identifying].sum() <= states.bits[changing].sum()
        ):
            continue
        alike = states.all_equal(equal) & states.present[:, different].all(axis=1)
        surplus = states.counts - expected
        matches = float(surplus @ alike)
        changed = float(surplus @ (alike & states.all_different(different)))
        rates = [
            states.number(alike & states.different[:, field]) / states.number(alike)
            for field in changing
        ]
        one_by_one = max(matches, 0.0) * float(np.prod(rates))
        least = max(
            FEWEST_PAIRS,
            LEAST_CHANGED * matches,
            MORE_CHANGED * one_by_one,
            one_by_one + SIGNIFICANT * one_by_one**0.5,
        )
        if least < changed <= MOST_RELATIVES * matches:
            edges |= edges_among(different)
    return edges
