"""Matches and strangers: a mixture of two classes, fitted to how many of all pairs have each
agreement pattern.

Nothing is known beforehand of how many matches there are; a table without any ends with a share
near zero. Strangers are what is left of all pairs without the matches, so what they agree in by
chance is measured. Fields that agree together among strangers, such as a full name and its parts,
or a street and a town, depend on each other: both classes are Bayesian networks, in which the level
of a field depends on those of its parents. Matches differ in a field in half of the pairs at most:
without this limit, their class drifts to namesakes and households.

I. P. Fellegi, A. B. Sunter, "A theory for record linkage", JASA 1969. W. E. Winkler, "Improved
decision rules in the Fellegi-Sunter model of record linkage", 1993. Y. Thibaudeau, "The
discrimination power of dependency structures in record linkage", 1993.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.comparison.nearness import EXACT_LEVEL, MISSING_LEVEL
from lshfast.records.distinct import distinct_rows
from lshfast.records.weights.dependence import (
    CLOSE,
    DIFFERENT,
    MOST_DIFFERENT,
    MOST_ONE_BY_ONE,
    TINY,
    Edge,
    agreeing_levels,
    dependent_pairs,
    independent_fields,
    independent_of,
    order_of,
    parents_of,
    states_of_levels,
    sums_by,
    telling_fields,
)
from lshfast.records.weights.patterns import PairPatterns
from lshfast.records.weights.relatives import (
    AgreementStates,
    changed_by_moves,
    equal_addresses,
    shared_by_relatives,
)
from lshfast.records.weights.roles import FieldRoles

MOST_STEPS = 500
TOLERANCE = 1e-5  # of the matches, that change from step to step
FIRST_MATCHES = 10.0  # before anything is known
EXPECTED_EQUAL = 0.85  # of the values of matches
EXPECTED_CLOSE = 0.1
PRIOR_MATCHES = 4.0  # that count for the expected levels
PRIOR_GIVEN = 4.0  # matches that count for the levels without the parents
PRIOR_STRANGERS = 1.0  # pairs that count for the levels without the parents
SMOOTHING = 0.5  # pairs of strangers that are added to each level

Levels = npt.NDArray[np.uint8]


@dataclass
class FieldModel:
    """How often the levels of a field occur among matches and strangers, given the states of its
    parents.

    Attributes
    ----------
    field : int
    parents : tuple of int
        Fields that come before it.
    parent_states : tuple of ndarray of uint8
        The state of each level of each parent: equal, close, different or absent.
    of_pattern : ndarray of int64, shape (patterns,)
        The joint level of each pattern: the states of the parents, and the level of the field.
    given : ndarray of int64, shape (joint levels,)
        The number of the states of the parents.
    level : ndarray of uint8, shape (joint levels,)
        The level of the field.
    different : ndarray of bool, shape (joint levels,)
        Whether the level means different values.
    changed : ndarray of bool, shape (joint levels,)
        Whether a parent differs.
    expected : ndarray of float64, shape (levels,)
        The distribution among matches before anything is known; 0 for missing values.
    pairs : ndarray of float64, shape (joint levels,)
        How many pairs have the joint level.
    sampled_weight : ndarray of float64, shape (joint levels,)
        How many pairs each pair that was drawn stands for, on average; at least 1.
    m, u : ndarray of float64, shape (joint levels,)
        The distributions among matches and strangers that have both values, given the parents; 1
        for missing values.
    most : ndarray of float64, shape (levels,)
        The greatest part of the strangers that has each level.
    of_namesakes : float
        The greatest part of strangers whose parents agree that has equal values, if it is more than
        that of all strangers.
    """

    field: int
    parents: tuple[int, ...]
    parent_states: tuple[Levels, ...]
    of_pattern: Int64Array
    given: Int64Array
    level: Levels
    different: BoolArray
    changed: BoolArray
    expected: Float64Array
    pairs: Float64Array
    sampled_weight: Float64Array
    m: Float64Array
    u: Float64Array
    most: Float64Array
    of_namesakes: float

    @classmethod
    def of(
        cls,
        patterns: PairPatterns,
        close: Sequence[BoolArray],
        expected: Float64Array,
        field: int,
        parents: tuple[int, ...],
        *,
        most: Float64Array | None = None,
        of_namesakes: float = 1.0,
    ) -> FieldModel:
        """Return the model of a field before anything is known."""
        parent_states = tuple(states_of_levels(close[parent]) for parent in parents)
        columns = [
            states[patterns.levels[:, parent]]
            for parent, states in zip(parents, parent_states, strict=True)
        ]
        first, of_pattern = distinct_rows([*columns, patterns.levels[:, field]])
        level = patterns.levels[first, field]
        states_of_parents = [column[first] for column in columns]
        parent_number = (
            distinct_rows(states_of_parents)[1]
            if parents
            else np.zeros(len(first), np.int64)
        )
        different = ~close[field][level] & (level != MISSING_LEVEL)
        changed = np.logical_or.reduce(
            [states == DIFFERENT for states in states_of_parents]
        )
        changed = np.broadcast_to(changed, len(first))
        start = np.where(level == MISSING_LEVEL, 1.0, expected[level])
        pairs = sums_by(of_pattern, patterns.counts, len(first))
        variance = np.bincount(
            parent_number, sums_by(of_pattern, patterns.variances, len(first))
        )
        sampled_weight = np.maximum(
            1.0, variance / np.maximum(np.bincount(parent_number, pairs), TINY)
        )[parent_number]
        return cls(
            field,
            parents,
            parent_states,
            of_pattern,
            parent_number,
            level,
            different,
            changed,
            expected,
            pairs,
            sampled_weight,
            start,
            start,
            np.ones(len(expected)) if most is None else most,
            of_namesakes,
        )

    def distribution(
        self, sums: Float64Array, prior: Float64Array, weight: Float64Array
    ) -> Float64Array:
        """Return the distribution of the levels given the parents, from counts and a prior of each
        joint level.
        """
        present = self.level != MISSING_LEVEL
        weights = np.where(present, sums + weight * prior, 0.0)
        totals = (
            np.bincount(self.given, np.where(present, sums, 0.0))[self.given] + weight
        )
        return np.asarray(np.where(present, weights / totals, 1.0))

    def marginal(
        self, sums: Float64Array, prior: Float64Array, weight: float
    ) -> Float64Array:
        """Return the distribution of the levels without the parents; 0 for missing values."""
        totals = np.bincount(self.level, sums, minlength=len(prior)) + weight * prior
        totals[MISSING_LEVEL] = 0.0
        return np.asarray(totals / max(totals.sum(), TINY))

    def joint_sums(self, pairs: Float64Array) -> Float64Array:
        """Return how many pairs have each joint level, from how many have each pattern."""
        return sums_by(self.of_pattern, pairs, len(self.level))

    def stranger_levels(self, matches: Float64Array) -> Float64Array:
        """Return the distribution of the levels among strangers, from the number of matches of each
        joint level.
        """
        strangers = np.maximum(self.pairs - matches, 0.0)
        return self.marginal(
            strangers, np.full(len(self.expected), SMOOTHING, np.float64), 1.0
        )

    def match_levels(self, matches: Float64Array) -> Float64Array:
        """Return the distribution of the levels among matches, from the number of matches of each
        joint level.
        """
        return self.marginal(matches, self.expected, PRIOR_MATCHES)

    def estimate_strangers(self, matches: Float64Array) -> None:
        """Set u from the number of matches of each joint level."""
        strangers = np.maximum(self.pairs - matches, 0.0)
        prior = self.stranger_levels(matches)[self.level]
        self.u = self.distribution(
            strangers, prior, PRIOR_STRANGERS * self.sampled_weight
        )
        most = self.most[self.level]
        of_namesakes = np.maximum(prior, self.of_namesakes)
        equal = self.level == EXACT_LEVEL
        most = np.where(equal, np.minimum(most, of_namesakes), most)
        self.u = np.minimum(self.u, most)

    def estimate_matches(self, matches: Float64Array, weighted: Float64Array) -> None:
        """Set m from the number of matches of each joint level: at most half of them differ.

        If a parent differs, the field is as likely to differ as not, before anything is known: the
        parts of an address change together. Matches that few sampled pairs stand for tell as much
        as these few: `weighted` are their numbers times the pairs that a sampled pair stands for.
        """
        unrelated = self.stranger_levels(matches)
        marginal = self.match_levels(matches)
        differ = np.bincount(self.level, self.different, minlength=len(marginal)) > 0
        share = marginal[differ].sum()
        if share > MOST_DIFFERENT:
            factor = np.where(
                differ,
                MOST_DIFFERENT / share,
                (1 - MOST_DIFFERENT) / max(1 - share, TINY),
            )
            marginal = marginal * factor
            matches = matches * factor[self.level]
        changed = (1 - MOST_DIFFERENT) * marginal + MOST_DIFFERENT * unrelated
        prior = np.where(self.changed, changed[self.level], marginal[self.level])
        numbers = np.bincount(self.given, matches)
        weight = np.maximum(
            1.0, np.bincount(self.given, weighted) / np.maximum(numbers, TINY)
        )
        self.m = self.distribution(matches, prior, PRIOR_GIVEN * weight[self.given])

    @property
    def logarithm(self) -> Float64Array:
        """The logarithm of the likelihood ratio of each joint level."""
        return np.asarray(
            np.log(np.maximum(self.m, TINY)) - np.log(np.maximum(self.u, TINY))
        )


def expected_levels(close: BoolArray) -> Float64Array:
    """Return how often matches are expected to have each level of a field, some of which are close;
    0 for missing.
    """
    size = len(close)
    number = np.arange(size, dtype=np.int64)
    near_levels = np.flatnonzero(close & (number > EXACT_LEVEL))
    far_levels = np.flatnonzero(~close & (number > EXACT_LEVEL))
    levels = np.zeros(size)
    levels[EXACT_LEVEL] = EXPECTED_EQUAL
    if len(near_levels):
        steps = 0.5 ** np.arange(len(near_levels), dtype=np.int64)
        levels[near_levels] = EXPECTED_CLOSE * steps / steps.sum()
    levels[far_levels] = (1 - levels.sum()) / max(1, len(far_levels))
    return levels


@dataclass
class Mixture:
    """A fitted mixture.

    Attributes
    ----------
    models : list of FieldModel
        In an order in which parents come first.
    share : float
        Of matches among all pairs.
    steps : int
    converged : bool
    probabilities : ndarray of float64, shape (patterns,)
        Of a match, for each pattern.
    edges : set of (int, int)
        Fields that agree together among strangers.
    searched : list of int
        Fields among which dependence of three and more was sought.
    differing : set of int
        Fields that differ in nearly all matches.
    of_most : float
        The matches of the last step, as times the most that there may be.
    """

    models: list[FieldModel]
    share: float
    steps: int
    converged: bool
    probabilities: Float64Array
    edges: set[Edge] = dataclasses.field(default_factory=set)
    searched: list[int] = dataclasses.field(default_factory=list)
    differing: set[int] = dataclasses.field(default_factory=set)
    of_most: float = 0.0


def fit_mixture(
    patterns: PairPatterns,
    roles: FieldRoles,
    edges: set[Edge],
    most_matches: float,
) -> Mixture:
    """Fit the mixture, and which fields agree together among strangers.

    Parameters
    ----------
    patterns : PairPatterns
    roles : FieldRoles
    edges : set of (int, int)
        Fields that are known to depend on each other, the smaller number first.
    most_matches : float
    """
    expected = [expected_levels(levels) for levels in roles.close]
    votes = without_doubtful(patterns, roles)
    close = [
        agreeing_levels(patterns, field, levels)
        for field, levels in enumerate(roles.close)
    ]
    of_names = {edge for edge in edges if not roles.issued.isdisjoint(edge)}
    edges = dependent_pairs(votes, close, edges)
    searched = searched_fields(votes, close, edges)
    states = AgreementStates.of(votes, close, searched)
    telling = [
        field
        for field in telling_fields(patterns, len(close), edges)
        if field in searched
    ]
    equal_shares = equal_addresses(states, roles.issued, telling, of_names)
    connected = changed_by_moves(
        states, telling, shared_by_relatives(states, telling, roles.full_names, edges)
    )
    if connected != edges:
        edges = dependent_pairs(votes, close, connected)
    if len(searched) < len(close):
        states = AgreementStates.of(votes, close, range(len(close)))
    # An address that is shared with a telephone or a town is a household's.
    issued = {
        field: share
        for field, share in equal_shares.items()
        if {edge for edge in edges if field in edge} <= of_names
    }
    models = network(patterns, close, expected, edges, roles.decisive, issued)
    telling = telling_fields(patterns, len(close), edges)
    # Addresses that are made of names are similar together with them, not equal.
    apart = {edge for edge in of_names if any(field in issued for field in edge)}
    possible = possible_matches(
        votes.levels.T, close, telling, edges - apart, roles.decisive
    )
    # Where strangers outnumber all matches that there can be, and nothing else shows, no match is
    # seen.
    strangers = states.expected(edges)
    is_seen = (strangers <= MOST_DIFFERENT * most_matches) | states.surpass(strangers)
    is_seen |= states.equal[:, sorted(issued)].any(axis=1)
    is_seen |= (states.states[:, roles.measured] <= CLOSE).any(axis=1)
    possible &= is_seen[states.of_pattern]
    mixture = maximise(patterns, models, possible, most_matches)
    mixture.edges = edges
    mixture.searched = searched
    return mixture


def searched_fields(
    patterns: PairPatterns, close: Sequence[BoolArray], edges: set[Edge]
) -> list[int]:
    """Return the fields among which dependence of three and more is sought: of many, those that
    tell most.

    Fields of which one depends on the other come after all others.
    """
    fields = list(range(len(close)))
    if len(fields) <= MOST_ONE_BY_ONE:
        return fields
    chance = {}
    for field in fields:
        levels = patterns.levels[:, field]
        present = patterns.counts[levels != MISSING_LEVEL].sum()
        chance[field] = (
            patterns.counts[levels == EXACT_LEVEL].sum() / present if present else 1.0
        )
    ordered = sorted(fields, key=lambda field: (chance[field], field))
    independent = independent_of(ordered, edges)
    dependent = [field for field in ordered if field not in independent]
    return sorted([*independent, *dependent][:MOST_ONE_BY_ONE])


def without_doubtful(patterns: PairPatterns, roles: FieldRoles) -> PairPatterns:
    """Return patterns in which levels that are neither agreement nor difference are those of
    missing values, as are all of fields that the tables write in different ways.
    """
    levels = patterns.levels.copy()
    for field, doubtful_levels in enumerate(roles.doubtful):
        if doubtful_levels.any():
            known = roles.close[field] | doubtful_levels
            rare = agreeing_levels(patterns, field, known)
            levels[(doubtful_levels & rare)[levels[:, field]], field] = MISSING_LEVEL
    levels[:, sorted(roles.coded_otherwise)] = MISSING_LEVEL
    return dataclasses.replace(patterns, levels=levels)


def network(
    patterns: PairPatterns,
    close: Sequence[BoolArray],
    expected: Sequence[Float64Array],
    edges: set[Edge],
    decisive: Mapping[int, Float64Array],
    issued: Mapping[int, float],
) -> list[FieldModel]:
    """Return the models of the fields: each depends on the fields before it that agree together
    with it. Addresses, `issued` with the share of namesakes that have equal ones, come last.
    """
    equal = [
        float(patterns.counts[patterns.levels[:, field] == EXACT_LEVEL].sum())
        for field in range(len(close))
    ]
    order = sorted(order_of(equal), key=issued.__contains__)
    return [
        FieldModel.of(
            patterns,
            close,
            expected[field],
            field,
            parents_of(order, place, edges),
            most=decisive.get(field),
            of_namesakes=issued.get(field, 1.0),
        )
        for place, field in enumerate(order)
    ]


def possible_matches(
    levels: Levels,
    close: Sequence[BoolArray],
    telling: Sequence[int],
    edges: Collection[Edge],
    decisive: Collection[int],
) -> BoolArray:
    """Return which pairs may be those from which matches are learnt.

    They agree in more independent fields that tell records apart than they differ in, or in a
    decisive field. Without fields that tell records apart, they agree in any field.

    Parameters
    ----------
    levels : ndarray of uint8, shape (fields, pairs)
    close : sequence of ndarray of bool
        The levels of each field that mean agreement.
    telling : sequence of int
        The fields that tell records apart.
    edges : set of (int, int)
        Fields that depend on each other; of those that agree, or differ, such fields count once.
    decisive : collection of int
    """
    agrees = [close[field][level] for field, level in enumerate(levels)]
    present = levels != MISSING_LEVEL
    if not telling:
        return np.asarray(
            np.logical_or.reduce(agrees)
            if len(agrees)
            else np.zeros(levels.shape[1], bool)
        )
    agreeing = independent_fields(
        [agrees[field] & present[field] for field in telling], telling, edges
    )
    differing = independent_fields(
        [~agrees[field] & present[field] for field in telling], telling, edges
    )
    possible = agreeing > differing
    for field in decisive:
        possible |= levels[field] == EXACT_LEVEL
    return np.asarray(possible)


def maximise(
    patterns: PairPatterns,
    models: list[FieldModel],
    possible: BoolArray,
    most_matches: float,
) -> Mixture:
    """Estimate the distributions and the share of matches by expectation maximisation."""
    total = max(1.0, patterns.total)
    share = min(0.5, FIRST_MATCHES / total)
    part_patterns = np.flatnonzero(possible | (patterns.same > 0))
    part = patterns.part(part_patterns)
    may_match = possible[part_patterns]
    sampled_weight = part.variances / np.maximum(part.counts, TINY)
    places = [model.of_pattern[part_patterns] for model in models]
    probabilities = np.zeros(len(part_patterns))
    converged = False
    step = 0
    while step < MOST_STEPS and not converged:
        step += 1
        odds = np.full(len(part_patterns), np.log(share / (1 - share)), np.float64)
        matches = part.matches(probabilities)
        for model, place in zip(models, places, strict=True):
            model.estimate_strangers(sums_by(place, matches, len(model.level)))
            odds += model.logarithm[place]
        previous = probabilities
        probabilities = np.where(
            may_match, 1 / (1 + np.exp(-np.clip(odds, -700, 700))), 0.0
        )
        matches = part.matches(probabilities)
        for model, place in zip(models, places, strict=True):
            sums = sums_by(place, matches, len(model.level))
            model.estimate_matches(
                sums, sums_by(place, matches * sampled_weight, len(model.level))
            )
        share = min(0.5, max(min(matches.sum(), most_matches), 1e-6) / total)
        change = (part.counts * np.abs(probabilities - previous)).sum()
        converged = change <= TOLERANCE * max(matches.sum(), 1.0)
    all_probabilities = np.zeros(len(patterns.counts))
    all_probabilities[part_patterns] = probabilities
    of_most = float(matches.sum()) / max(most_matches, 1.0)
    return Mixture(models, share, step, converged, all_probabilities, of_most=of_most)
