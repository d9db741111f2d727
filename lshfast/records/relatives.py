"""Fields that relatives share, and fields that change together: dependence of three and more
fields.

People of one household agree in street, number, postcode and surname at once, as articles of one
maker do in what describes the maker. Such values are common one by one, so two of these fields
agree together hardly more often than by chance, while all of them do so a thousand times as often.
Agreement states that are far more frequent than the network of strangers leads to expect are either
matches or relatives. Relatives outnumber the pairs that agree in these fields and in others as
well, or they differ in more than they agree in. The fields in which such a state agrees depend on
each other. People who moved are the opposite: a few of the pairs that agree in what identifies, and
differ in the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.dependence import (
    ABSENT,
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
from lshfast.records.distinct import distinct_rows
from lshfast.records.patterns import PairPatterns

MOST_STATES = 100  # that are more frequent than expected
FEWEST_PAIRS = 10.0  # of a state
# The part of the pairs that agree in some fields, for those that differ in others: relatives.
MOST_RELATIVES = 0.5
NEARLY_ALL = 0.9  # the same, if they differ in one field only
# The same for pairs that differ in so many independent fields, which tell more than those in which
# they agree.
FEW_RELATIVES = 0.1
FEWEST_DIFFERENT = 3
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
    """

    states: npt.NDArray[np.uint8]
    counts: Float64Array
    variances: Float64Array
    of_pattern: Int64Array

    @classmethod
    def of(
        cls, patterns: PairPatterns, close: Sequence[BoolArray], fields: Sequence[int]
    ) -> AgreementStates:
        """Return the states of some fields; the others are taken for missing."""
        columns = [
            states_of_levels(close[field])[patterns.levels[:, field]] for field in range(len(close))
        ]
        for field in set(range(len(close))) - set(fields):
            columns[field][:] = ABSENT
        first, of_pattern = distinct_rows(columns)
        counts = sums_by(of_pattern, patterns.counts, len(first))
        variances = sums_by(of_pattern, patterns.variances, len(first))
        return cls(np.stack(columns, axis=1)[first], counts, variances, of_pattern)

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
        return np.asarray((self.counts @ self.equal) / np.maximum(self.counts @ self.present, TINY))

    @cached_property
    def bits(self) -> Float64Array:
        """What equal values of each field tell: at most what tells a record from all others of a
        table.
        """
        most = 0.5 * np.log2(max(self.counts.sum(), 2.0))
        return np.asarray(np.minimum(-np.log2(np.maximum(self.chance, TINY)), most))

    def expected(self, edges: set[Edge]) -> Float64Array:
        """Return how many pairs would have each state if fields depended on those only to which
        edges lead.
        """
        order = order_of((self.counts @ self.equal).tolist())
        expected = np.full(len(self.counts), self.counts.sum(), np.float64)
        for place, field in enumerate(order):
            parents = parents_of(order, place, edges)
            given = np.zeros(len(self.counts), np.int64)
            if parents:
                given = distinct_rows([self.states[:, parent] for parent in parents])[1]
            joint = distinct_rows([given, self.states[:, field]])[1]
            expected *= (
                np.bincount(joint, self.counts)[joint] / np.bincount(given, self.counts)[given]
            )
        return expected

    def surpass(self, expected: Float64Array) -> BoolArray:
        """Return which states are clearly more frequent than expected."""
        error = np.sqrt(expected + self.variances)
        surplus = self.counts - expected
        return np.asarray((self.counts >= LEAST_LIFT * expected) & (surplus > SIGNIFICANT * error))

    def frequent(self, expected: Float64Array) -> Int64Array:
        """Return such states of FEWEST_PAIRS pairs and more, those with the greatest
        surplus first.
        """
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


def edges_among(fields: Sequence[int]) -> set[Edge]:
    """Return the edges that connect each two of some fields."""
    return set(combinations(sorted(fields), 2))


def shared_by_relatives(
    states: AgreementStates, telling: Sequence[int], edges: set[Edge]
) -> set[Edge]:
    """Return pairs of fields that relatives share, and those that are known; `telling` are fields
    that identify.
    """
    edges = set(edges)
    while True:
        expected = states.expected(edges)
        candidates = list(shared_fields(states, telling, edges, expected))
        shared = next(
            (
                fields
                for outnumbered in (False, True)
                for fields, different in candidates
                if are_relatives(
                    states, fields, different, telling, edges, expected, outnumbered=outnumbered
                )
            ),
            None,
        )
        if shared is None:
            return edges
        edges |= edges_among(shared)


def shared_fields(
    states: AgreementStates, telling: Sequence[int], edges: set[Edge], expected: Float64Array
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the fields in which frequent states agree more often than by chance, and those in which
    they differ.
    """
    for row in states.frequent(expected).tolist():
        equal = np.flatnonzero(states.equal[row]).tolist()
        different = [field for field in telling if states.different[row, field]]
        if not different or edges_among(equal) <= edges:
            continue
        shared = [field for field in equal if agrees_beyond_chance(states, field, equal, different)]
        if not edges_among(shared) <= edges:
            yield shared, different


def agrees_beyond_chance(
    states: AgreementStates, field: int, equal: Sequence[int], different: Sequence[int]
) -> bool:
    """Return whether pairs that agree in the other fields agree in this one more often than all
    pairs.
    """
    alike = states.all_equal([other for other in equal if other != field]) & states.all_different(
        different
    )
    rate = states.number(alike & states.equal[:, field]) / max(
        states.number(alike & states.present[:, field]), TINY
    )
    return bool(rate > LEAST_LIFT * states.chance[field])


def are_relatives(
    states: AgreementStates,
    shared: Sequence[int],
    different: Sequence[int],
    telling: Sequence[int],
    edges: set[Edge],
    expected: Float64Array,
    *,
    outnumbered: bool,
) -> bool:
    """Return whether pairs that agree in some fields and differ in others are relatives rather than
    matches.

    They are most of the pairs that agree so, or, if matches may outnumber them, they differ in more
    than they agree in. If they differ in one field only, matches must show beside them: else this
    field may differ in all matches.
    """
    alike = states.all_equal(shared)
    relatives = alike & states.all_different(different)
    number = states.number(relatives)
    by_chance = float(expected @ relatives)
    error = (by_chance + float(states.variances @ relatives)) ** 0.5
    if number <= max(FEWEST_PAIRS, LEAST_LIFT * by_chance, by_chance + SIGNIFICANT * error):
        return False
    comparable = states.number(alike & states.present[:, list(different)].all(axis=1))
    apart = independent_of(different, edges | edges_among(shared))
    if outnumbered:
        together = independent_of([field for field in telling if field in shared], edges)
        differ_in_more = states.bits[apart].sum() > states.bits[together].sum()
        return bool(
            len(apart) >= FEWEST_DIFFERENT
            and differ_in_more
            and number >= FEW_RELATIVES * comparable
        )
    if len(apart) > 1:
        return bool(number >= MOST_RELATIVES * comparable + SIGNIFICANT / 2 * comparable**0.5)
    if number < NEARLY_ALL * comparable:
        return False
    matches = states.number(alike & states.all_equal(different))
    by_chance = comparable * float(states.chance[list(different)].prod())
    return bool(matches > LEAST_LIFT * by_chance + SIGNIFICANT * (by_chance + 1) ** 0.5)


def changed_by_moves(
    states: AgreementStates, telling: Sequence[int], edges: set[Edge]
) -> set[Edge]:
    """Return pairs of fields that change together in some of the matches, and those that are known.

    The fields in which a frequent state agrees tell more than those in which it differs: they
    identify.
    """
    edges = set(edges)
    expected = states.expected(edges)
    for row in states.frequent(expected).tolist():
        equal = [field for field in telling if states.equal[row, field]]
        different = [field for field in telling if states.different[row, field]]
        if edges_among(different) <= edges:
            continue
        identifying = independent_of(equal, edges)
        apart = independent_of(different, edges)
        if len(identifying) < 2 or states.bits[identifying].sum() <= states.bits[apart].sum():
            continue
        alike = states.all_equal(equal) & states.present[:, different].all(axis=1)
        surplus = states.counts - expected
        matches = float(surplus @ alike)
        changed = float(surplus @ (alike & states.all_different(different)))
        rates = [
            states.number(alike & states.different[:, field]) / states.number(alike)
            for field in apart
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
