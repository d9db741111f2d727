"""Matches and strangers: a mixture of two classes, fitted to how many of all pairs have each agreement pattern.

Nothing is known beforehand of how many matches there are; a table without any ends with a share near zero. Strangers
are what is left of all pairs without the matches, so what they agree in by chance is measured. Fields that agree
together among strangers, such as a full name and its parts, or a street and a town, depend on each other: both
classes are Bayesian networks, in which the level of a field depends on those of its parents. Matches differ in a field
in half of the pairs at most: without this limit, their class drifts to namesakes and households.

I. P. Fellegi, A. B. Sunter, "A theory for record linkage", JASA 1969. W. E. Winkler, "Improved decision rules in the
Fellegi-Sunter model of record linkage", 1993. Y. Thibaudeau, "The discrimination power of dependency structures in
record linkage", 1993.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.distinct import distinct_rows
from lshfast.records.nearness import EXACT_LEVEL, MISSING_LEVEL
from lshfast.records.patterns import PairPatterns

MOST_STEPS = 500
TOLERANCE = 1e-5  # of the matches, that change from step to step
ROUGH_TOLERANCE = 1e-3  # the same, while fields that depend on each other are sought
MOST_COMMON = 0.05  # of all pairs agree in a field that tells records apart
FIRST_MATCHES = 10.0  # before anything is known
EXPECTED_EQUAL = 0.85  # of the values of matches
EXPECTED_CLOSE = 0.1
MOST_DIFFERENT = 0.5  # of the matches may differ in a field
PRIOR_MATCHES = 4.0  # that count for the expected levels
PRIOR_GIVEN = 4.0  # matches that count for the levels without the parents
PRIOR_STRANGERS = 1.0  # pairs that count for the levels without the parents
LEAST_LIFT = 1.2  # of the agreements of strangers in two fields, over those of independent ones
LEAST_SHARE = 0.5  # of all agreements in two fields, for those of strangers
# Independent fields that agree in pairs that probably match, such pairs, and the part of them that is due to chance.
FEWEST_AGREEING, FEWEST_ALIKE, MOST_BY_CHANCE = 2, 20.0, 0.1
SIGNIFICANT = 4.0  # standard errors
FEWEST_TOGETHER = 5.0  # agreements of strangers in two fields
SMOOTHING = 0.5  # pairs of strangers that are added to each level
TINY = 1e-300

Levels = npt.NDArray[np.uint8]
Edge = tuple[int, int]


def sums_by(places: Int64Array, weights: Float64Array, size: int) -> Float64Array:
    """Return the sums of the weights at each place."""
    return np.asarray(np.bincount(places, weights, minlength=size), np.float64)


@dataclass
class FieldModel:
    """How often the levels of a field occur among matches and strangers, given the levels of its parents.

    Attributes
    ----------
    field : int
    parents : tuple of int
        Fields that come before it.
    of_pattern : ndarray of int64, shape (patterns,)
        The joint level of each pattern.
    given : ndarray of int64, shape (joint levels,)
        The number of the levels of the parents.
    level : ndarray of uint8, shape (joint levels,)
        The level of the field.
    different : ndarray of bool, shape (joint levels,)
        Whether the level means different values.
    expected : ndarray of float64, shape (levels,)
        The distribution among matches before anything is known; 0 for missing values.
    m, u : ndarray of float64, shape (joint levels,)
        The distributions among matches and strangers that have both values, given the parents; 1 for missing values.
    """

    field: int
    parents: tuple[int, ...]
    of_pattern: Int64Array
    given: Int64Array
    level: Levels
    different: BoolArray
    expected: Float64Array
    m: Float64Array
    u: Float64Array

    @classmethod
    def of(
        cls,
        patterns: PairPatterns,
        close: Sequence[BoolArray],
        expected: Float64Array,
        field: int,
        parents: tuple[int, ...],
    ) -> FieldModel:
        """Return the model of a field before anything is known."""
        columns = [patterns.levels[:, number] for number in (*parents, field)]
        first, of_pattern = distinct_rows(columns)
        level = columns[-1][first]
        given = (
            distinct_rows([column[first] for column in columns[:-1]])[1] if parents else np.zeros(len(first), np.int64)
        )
        different = ~close[field][level] & (level != MISSING_LEVEL)
        parents_differ = np.zeros(len(first), bool)
        for parent, column in zip(parents, columns, strict=False):
            parents_differ |= ~close[parent][column[first]] & (column[first] != MISSING_LEVEL)
        changed = MOST_DIFFERENT / max(1, int((~close[field][1:]).sum()))
        start = np.where(parents_differ & different, np.maximum(changed, expected[level]), expected[level])
        start[level == MISSING_LEVEL] = 1.0
        return cls(field, parents, of_pattern, given, level, different, expected, start, start)

    def distribution(self, sums: Float64Array, prior: Float64Array, weight: float) -> Float64Array:
        """Return the distribution of the levels given the parents, from counts and a prior distribution of levels."""
        present = self.level != MISSING_LEVEL
        weights = np.where(present, sums + weight * prior[self.level], 0.0)
        totals = np.bincount(self.given, np.where(present, sums, 0.0)) + weight
        return np.asarray(np.where(present, weights / totals[self.given], 1.0))

    def marginal(self, sums: Float64Array, prior: Float64Array, weight: float) -> Float64Array:
        """Return the distribution of the levels without the parents; 0 for missing values."""
        totals = np.bincount(self.level, sums, minlength=len(prior)) + weight * prior
        totals[MISSING_LEVEL] = 0.0
        return np.asarray(totals / max(totals.sum(), TINY))

    def stranger_levels(self, strangers: Float64Array) -> Float64Array:
        """Return the distribution of the levels among strangers, from the number of strangers of each pattern."""
        sums = sums_by(self.of_pattern, strangers, len(self.level))
        return self.marginal(sums, np.full(len(self.expected), SMOOTHING, np.float64), 1.0)

    def match_levels(self, matches: Float64Array) -> Float64Array:
        """Return the distribution of the levels among matches, from the number of matches of each pattern."""
        sums = sums_by(self.of_pattern, matches, len(self.level))
        return self.marginal(sums, self.expected, PRIOR_MATCHES)

    def estimate_strangers(self, strangers: Float64Array) -> None:
        """Set u from the number of strangers of each pattern."""
        sums = sums_by(self.of_pattern, strangers, len(self.level))
        self.u = self.distribution(sums, self.stranger_levels(strangers), PRIOR_STRANGERS)

    def estimate_matches(self, matches: Float64Array) -> None:
        """Set m from the number of matches of each pattern: at most half of them differ."""
        sums = sums_by(self.of_pattern, matches, len(self.level))
        marginal = self.match_levels(matches)
        differ = np.bincount(self.level, self.different, minlength=len(marginal)) > 0
        share = marginal[differ].sum()
        if share > MOST_DIFFERENT:
            factor = np.where(differ, MOST_DIFFERENT / share, (1 - MOST_DIFFERENT) / max(1 - share, TINY))
            marginal = marginal * factor
            sums = sums * factor[self.level]
        self.m = self.distribution(sums, marginal, PRIOR_GIVEN)

    @property
    def logarithm(self) -> Float64Array:
        """The logarithm of the likelihood ratio of each joint level."""
        return np.asarray(np.log(np.maximum(self.m, TINY)) - np.log(np.maximum(self.u, TINY)))


def expected_levels(close: BoolArray) -> Float64Array:
    """Return how often matches are expected to have each level of a field, some of which are close; 0 for missing."""
    size = len(close)
    number = np.arange(size, dtype=np.int64)
    near = np.flatnonzero(close & (number > EXACT_LEVEL))
    far = np.flatnonzero(~close & (number > EXACT_LEVEL))
    levels = np.zeros(size)
    levels[EXACT_LEVEL] = EXPECTED_EQUAL
    if len(near):
        steps = 0.5 ** np.arange(len(near), dtype=np.int64)
        levels[near] = EXPECTED_CLOSE * steps / steps.sum()
    levels[far] = (1 - levels.sum()) / max(1, len(far))
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
    """

    models: list[FieldModel]
    share: float
    steps: int
    converged: bool
    probabilities: Float64Array
    edges: set[Edge] = dataclasses.field(default_factory=set)


def fit_mixture(
    patterns: PairPatterns,
    close: Sequence[BoolArray],
    doubtful: Sequence[BoolArray],
    edges: set[Edge],
    decisive: Sequence[int],
    most_matches: float,
) -> Mixture:
    """Fit the mixture, and which fields agree together among strangers.

    Parameters
    ----------
    patterns : PairPatterns
    close : sequence of ndarray of bool
        Which levels of each field mean that values are equal or nearly so.
    doubtful : sequence of ndarray of bool
        Which levels of each field count neither as agreement nor as difference, if they are rare by chance.
    edges : set of (int, int)
        Fields that are known to depend on each other, the smaller number first.
    decisive : sequence of int
        Fields whose values are different in nearly all records of a table; equal ones are never outvoted.
    most_matches : float
    """
    expected = [expected_levels(levels) for levels in close]
    votes = without_doubtful(patterns, close, doubtful)
    close = [agreeing_levels(patterns, field, levels) for field, levels in enumerate(close)]
    edges = dependent_pairs(votes, close, edges, None)
    edges |= changed_together(votes, close, edges)
    while True:
        models = network(patterns, close, expected, edges)
        telling = telling_fields(patterns, len(close), edges)
        possible = possible_matches(votes.levels.T, close, telling, edges, decisive)
        mixture = maximise(patterns, models, possible, most_matches, ROUGH_TOLERANCE)
        more = dependent_pairs(votes, close, edges, mixture.probabilities)
        if more == edges:
            mixture = maximise(patterns, models, possible, most_matches, TOLERANCE, mixture)
            mixture.edges = edges
            return mixture
        edges = more


def agreeing_levels(patterns: PairPatterns, field: int, close: BoolArray) -> BoolArray:
    """Return which levels of a field mean agreement: that of equal values, and close ones that are rare by chance."""
    counts = np.bincount(patterns.levels[:, field], patterns.counts, minlength=len(close))
    present = max(counts[MISSING_LEVEL + 1 :].sum(), TINY)
    chance = np.cumsum(np.where(close, counts, 0.0), dtype=np.float64) / present
    rare = chance <= MOST_COMMON
    rare[: EXACT_LEVEL + 1] = True
    return np.asarray(close & rare)


def without_doubtful(patterns: PairPatterns, close: Sequence[BoolArray], doubtful: Sequence[BoolArray]) -> PairPatterns:
    """Return patterns in which levels that are neither agreement nor difference are those of missing values."""
    levels = patterns.levels.copy()
    for field, own in enumerate(doubtful):
        if own.any():
            rare = agreeing_levels(patterns, field, close[field] | own)
            levels[(own & rare)[levels[:, field]], field] = MISSING_LEVEL
    return dataclasses.replace(patterns, levels=levels)


def network(
    patterns: PairPatterns, close: Sequence[BoolArray], expected: Sequence[Float64Array], edges: set[Edge]
) -> list[FieldModel]:
    """Return the models of the fields: each depends on the fields before it that agree together with it.

    The field that agrees most often comes first: finer values, such as an address, follow from coarser ones and others.
    """
    agree = [patterns.counts[patterns.levels[:, field] == EXACT_LEVEL].sum() for field in range(len(close))]
    order = sorted(range(len(close)), key=lambda field: (-agree[field], field))
    models = []
    for place, field in enumerate(order):
        parents = tuple(other for other in order[:place] if (min(field, other), max(field, other)) in edges)
        models.append(FieldModel.of(patterns, close, expected[field], field, parents))
    return models


def telling_fields(patterns: PairPatterns, fields: int, edges: Iterable[Edge]) -> list[int]:
    """Return the fields that tell records apart: at most a twentieth of all pairs agree in them.

    Fields that fewer others depend on come first.
    """
    telling = []
    for field in range(fields):
        levels = patterns.levels[:, field]
        present = patterns.counts[levels != MISSING_LEVEL].sum()
        if present and patterns.counts[levels == EXACT_LEVEL].sum() <= MOST_COMMON * present:
            telling.append(field)
    degree = {field: sum(field in edge for edge in edges) for field in telling}
    return sorted(telling, key=lambda field: (degree[field], field))


def possible_matches(
    levels: Levels,
    close: Sequence[BoolArray],
    telling: Sequence[int],
    edges: Collection[Edge],
    decisive: Sequence[int],
) -> BoolArray:
    """Return which pairs may be those from which matches are learnt.

    They agree in more independent fields that tell records apart than they differ in, or in a decisive field. Without
    fields that tell records apart, they agree in any field.

    Parameters
    ----------
    levels : ndarray of uint8, shape (fields, pairs)
    close : sequence of ndarray of bool
        The levels of each field that mean agreement.
    telling : sequence of int
        The fields that tell records apart.
    edges : set of (int, int)
        Fields that depend on each other; of those that agree, or differ, such fields count once.
    decisive : sequence of int
    """
    agrees = [known[level] for known, level in zip(close, levels, strict=True)]
    present = levels != MISSING_LEVEL
    if not telling:
        return np.asarray(np.logical_or.reduce(agrees) if len(agrees) else np.zeros(levels.shape[1], bool))
    agreeing = independent_fields([agrees[field] & present[field] for field in telling], telling, edges)
    differing = independent_fields([~agrees[field] & present[field] for field in telling], telling, edges)
    possible = agreeing > differing
    for field in decisive:
        possible |= levels[field] == EXACT_LEVEL
    return np.asarray(possible)


def independent_fields(holds: Sequence[BoolArray], fields: Sequence[int], edges: Collection[Edge]) -> Int64Array:
    """Return for each pair how many fields of which no two depend on each other have something in common."""
    chosen: list[BoolArray] = []
    for place, field in enumerate(fields):
        own = holds[place]
        for other, before in zip(fields, chosen, strict=False):
            if (min(field, other), max(field, other)) in edges:
                own = own & ~before
        chosen.append(own)
    return np.asarray(np.sum(chosen, axis=0, dtype=np.int64))


def maximise(
    patterns: PairPatterns,
    models: list[FieldModel],
    possible: BoolArray,
    most_matches: float,
    tolerance: float,
    start: Mixture | None = None,
) -> Mixture:
    """Estimate the distributions and the share of matches by expectation maximisation, from an earlier fit if any."""
    total = max(1.0, patterns.total)
    share = min(0.5, FIRST_MATCHES / total) if start is None else start.share
    probabilities = np.zeros(len(patterns.counts)) if start is None else start.probabilities
    converged = False
    step = 0 if start is None else start.steps
    while step < MOST_STEPS and not converged:
        step += 1
        strangers = patterns.counts * (1 - probabilities)
        odds = np.full(len(patterns.counts), np.log(share / (1 - share)), np.float64)
        for model in models:
            model.estimate_strangers(strangers)
            odds += model.logarithm[model.of_pattern]
        previous = probabilities
        probabilities = np.where(possible, 1 / (1 + np.exp(-np.clip(odds, -700, 700))), 0.0)
        matches = patterns.counts * probabilities
        for model in models:
            model.estimate_matches(matches)
        share = min(0.5, max(min(matches.sum(), most_matches), 1e-6) / total)
        change = (patterns.counts * np.abs(probabilities - previous)).sum()
        converged = change <= tolerance * max(matches.sum(), 1.0)
    return Mixture(models, share, step, converged, probabilities)


def dependent_pairs(
    patterns: PairPatterns, close: Sequence[BoolArray], edges: set[Edge], probabilities: Float64Array | None
) -> set[Edge]:
    """Return pairs of fields that agree together among strangers, and those that are known.

    Before a fit, strangers are the pairs that differ in at least half of their other fields, of which those that
    depend on each other count once; after it, they are what the fit leaves.
    """
    edges = set(edges)
    fields = range(len(close))
    pairs = list(combinations(fields, 2))
    while True:
        excess = {edge: excess_of(patterns, close, edge, edges, probabilities) for edge in pairs if edge not in edges}
        best = max(excess, key=lambda edge: (excess[edge], edge), default=None)
        if best is None or not excess[best]:
            return edges
        edges.add(best)


def changed_together(patterns: PairPatterns, close: Sequence[BoolArray], edges: set[Edge]) -> set[Edge]:
    """Return pairs of fields that differ together where all other fields agree, such as the parts of a home.

    People who moved differ in each of them, which is one change.
    """
    counts = patterns.counts
    agrees = np.stack([close[field][patterns.levels[:, field]] for field in range(len(close))])
    present = (patterns.levels != MISSING_LEVEL).T
    telling = telling_fields(patterns, len(close), edges)
    equal = (patterns.levels == EXACT_LEVEL).T
    chance = {field: counts[equal[field]].sum() / max(counts[present[field]].sum(), TINY) for field in telling}
    together = set()
    for f, g in combinations(sorted(telling), 2):
        bound = {other for edge in edges for other in edge if f in edge or g in edge} | {f, g}
        others = [field for field in telling if field not in bound]
        independent = independent_of(others, edges)
        if (f, g) in edges or len(independent) < FEWEST_AGREEING:
            continue
        alike = np.logical_and.reduce([equal[field] for field in others]) & present[f] & present[g]
        total = counts[alike].sum()
        by_chance = counts.sum() * float(np.prod([chance[field] for field in independent]))
        if total < FEWEST_ALIKE or by_chance > MOST_BY_CHANCE * total:
            continue
        both = counts[alike & ~agrees[f] & ~agrees[g]].sum()
        differing = [counts[alike & ~agrees[field]].sum() for field in (f, g)]
        if max(differing) > MOST_DIFFERENT * total:  # the others are a household's, whose members differ
            continue
        expected = differing[0] * differing[1] / total
        if both > max(FEWEST_TOGETHER, LEAST_LIFT * expected, expected + SIGNIFICANT * expected**0.5):
            together.add((f, g))
    return together


def independent_of(fields: Sequence[int], edges: set[Edge]) -> list[int]:
    """Return fields of which no two depend on each other, chosen in their order."""
    chosen: list[int] = []
    for field in fields:
        if all((min(field, other), max(field, other)) not in edges for other in chosen):
            chosen.append(field)
    return chosen


def components_of(fields: Sequence[int], edges: set[Edge]) -> list[list[int]]:
    """Return the groups of some fields that edges connect."""
    label = {field: field for field in fields}
    for first, second in sorted(edges):
        if first in label and second in label and label[first] != label[second]:
            old = label[second]
            label = {field: label[first] if own == old else own for field, own in label.items()}
    return [[field for field in fields if label[field] == own] for own in sorted(set(label.values()))]


DIFFERENT, SIMILAR, MISSING = range(3)


def state_of(patterns: PairPatterns, close: Sequence[BoolArray], fields: Sequence[int]) -> Levels:
    """Return whether each pattern differs in most of some fields, not, or has none of them."""
    levels = patterns.levels[:, list(fields)]
    present = levels != MISSING_LEVEL
    agreeing = np.stack([close[field][levels[:, k]] for k, field in enumerate(fields)], axis=1) & present
    count = present.sum(axis=1)
    state = np.where((count - agreeing.sum(axis=1)) * 2 > count, DIFFERENT, SIMILAR)
    state[count == 0] = MISSING
    return state.astype(np.uint8)


def excess_of(
    patterns: PairPatterns, close: Sequence[BoolArray], pair: Edge, edges: set[Edge], probabilities: Float64Array | None
) -> float:
    """Return by how much strangers agree in two fields more than independent ones would; 0 if not clearly.

    They are equal in both, or close in both: some values, such as numbers of a series, are close more often than equal.
    """
    levels = [patterns.levels[:, field] for field in pair]
    known = (levels[0] != MISSING_LEVEL) & (levels[1] != MISSING_LEVEL)
    strangers = patterns.counts * known
    if probabilities is None:
        strangers = strangers * differs_in_most(patterns, close, pair, edges)
    else:
        strangers = strangers * (1 - probabilities)
    total = strangers.sum()
    if not total:
        return 0.0
    best = 0.0
    for agrees in (
        [known & (level == EXACT_LEVEL) for level in levels],
        [known & close[field][level] for field, level in zip(pair, levels, strict=True)],
    ):
        both = agrees[0] & agrees[1]
        together = strangers[both].sum()
        expected = strangers[agrees[0]].sum() * strangers[agrees[1]].sum() / total
        error = (expected + patterns.variances[both].sum()) ** 0.5
        share = LEAST_SHARE * patterns.counts[both].sum()
        if together > max(FEWEST_TOGETHER, LEAST_LIFT * expected, expected + SIGNIFICANT * error, share):
            best = max(best, float(together / max(expected, 1.0)))
    return best


def differs_in_most(patterns: PairPatterns, close: Sequence[BoolArray], pair: Edge, edges: set[Edge]) -> BoolArray:
    """Return which patterns differ in half of the other fields, or more; fields that depend on each other are one."""
    others = components_of([field for field in range(len(close)) if field not in pair], edges)
    if not others:
        return np.zeros(len(patterns.counts), bool)
    states = np.stack([state_of(patterns, close, fields) for fields in others], axis=1)
    differing = (states == DIFFERENT).sum(axis=1)
    present = (states != MISSING).sum(axis=1)
    return np.asarray(differing >= np.maximum(1, 0.5 * present))
