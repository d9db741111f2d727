"""Fields that differ in nearly all matches, such as the number of a price list or a version.

Such a field says nothing about a pair, but it outvotes a title or a code that is equal. It shows in
pairs that agree in two other fields although such agreement is rare by chance, and that agree in
names and titles as well: the members of a household do not. A full name tells persons apart by
itself: pairs that agree in it, and in another field, may differ in names and titles too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.comparison.nearness import MISSING_LEVEL
from lshfast.records.weights.dependence import (
    Edge,
    agreeing_levels,
    telling_fields,
)
from lshfast.records.weights.mixture import (
    FieldModel,
    Mixture,
    expected_levels,
    fit_mixture,
)
from lshfast.records.weights.patterns import PairPatterns
from lshfast.records.weights.roles import FieldRoles

FEWEST_ALIKE = 20.0  # pairs that agree in two fields
MOST_BY_CHANCE = 0.1  # of these pairs
MOST_AGREEING = 0.25  # of the same, in a field that differs in matches
LEAST_AGREEING = 0.5  # of the same, in a name or text: members of a household differ
# Matches that are found without a field: at least, and as times the matches with it.
FEWEST_MORE = 20.0
TIMES_MORE = 2.0


def fit_without_differing(
    patterns: PairPatterns,
    roles: FieldRoles,
    edges: set[Edge],
    most_matches: float,
) -> Mixture:
    """Fit a mixture, without the fields that differ in matches if it finds far more matches so."""
    close = roles.close
    mixture = fit_mixture(patterns, roles, edges, most_matches)
    differing = differing_fields(patterns, roles, edges, mixture.searched)
    if not differing:
        return mixture
    mixture.differing = differing
    kept_fields = [field for field in range(len(close)) if field not in differing]
    place = {field: number for number, field in enumerate(kept_fields)}
    smaller_mixture = fit_mixture(
        replace(patterns, levels=patterns.levels[:, kept_fields]),
        roles.of_fields(kept_fields),
        {(place[f], place[g]) for f, g in edges if f in place and g in place},
        most_matches,
    )
    matches = float(patterns.matches(mixture.probabilities).sum())
    more_matches = float(patterns.matches(smaller_mixture.probabilities).sum())
    if more_matches < max(FEWEST_MORE, TIMES_MORE * matches):
        return mixture
    smaller_mixture.differing = differing
    put_fields_back(smaller_mixture, kept_fields, patterns, close)
    return smaller_mixture


def put_fields_back(
    mixture: Mixture,
    kept_fields: Sequence[int],
    patterns: PairPatterns,
    close: Sequence[BoolArray],
) -> None:
    """Number the fields of a mixture as before, and add models of its differing fields."""
    for model in mixture.models:
        model.field = kept_fields[model.field]
        model.parents = tuple(kept_fields[parent] for parent in model.parents)
    for field in sorted(mixture.differing):
        model = FieldModel.of(patterns, close, expected_levels(close[field]), field, ())
        match_sums = model.joint_sums(patterns.matches(mixture.probabilities))
        model.expected = model.stranger_levels(match_sums)  # until matches say more
        mixture.models.append(model)
    mixture.edges = {(kept_fields[f], kept_fields[g]) for f, g in mixture.edges}
    searched = [kept_fields[field] for field in mixture.searched]
    mixture.searched = sorted({*mixture.differing, *searched})


def differing_fields(
    patterns: PairPatterns,
    roles: FieldRoles,
    edges: set[Edge],
    searched: Collection[int],
) -> set[int]:
    """Return the fields that may differ, and do in most pairs that agree in any two other fields.

    These two fields identify, and agree together far more often than by chance. They are among
    those in `searched`.
    """
    close = roles.close
    telling = sorted(telling_fields(patterns, len(close), edges))
    agreement = PatternAgreement.of(patterns, close)
    names = [field for field in telling if field not in roles.may_differ]
    of_alike = DifferingShares.of(len(close))
    of_persons = DifferingShares.of(len(close))
    for edge in combinations([field for field in telling if field in searched], 2):
        if edge in edges:
            continue
        alike = np.flatnonzero(agreement.agrees[edge[0]] & agreement.agrees[edge[1]])
        if not agreement.are_rare_by_chance(edge, alike):
            continue
        shares = agreement.shares(alike)
        other_names = [field for field in names if field not in edge]
        if shares[other_names].min(initial=1.0) >= LEAST_AGREEING:
            of_alike.note(edge, shares)
        if not roles.full_names.isdisjoint(edge):
            of_persons.note(edge, shares)
    may_differ = of_alike.differing & roles.may_differ
    return set(telling) & (may_differ | of_persons.differing - roles.full_names)


@dataclass(frozen=True)
class DifferingShares:
    """The greatest share of pairs that agree in each field, of pairs that agree in two others.

    Attributes
    ----------
    most_agreeing : ndarray of float64, shape (fields,)
    is_compared : ndarray of bool, shape (fields,)
    """

    most_agreeing: Float64Array
    is_compared: BoolArray

    @classmethod
    def of(cls, fields: int) -> DifferingShares:
        """Return the shares of fields of which no pairs were compared yet."""
        return cls(np.zeros(fields), np.zeros(fields, bool))

    def note(self, edge: Edge, shares: Float64Array) -> None:
        """Note the shares of pairs that agree in two fields."""
        others = np.delete(np.arange(len(shares), dtype=np.int64), edge)
        self.most_agreeing[others] = np.maximum(
            self.most_agreeing[others], shares[others]
        )
        self.is_compared[others] = True

    @property
    def differing(self) -> set[int]:
        """The fields in which hardly any of the pairs agree."""
        is_differing = self.is_compared & (self.most_agreeing <= MOST_AGREEING)
        return set(np.flatnonzero(is_differing).tolist())


@dataclass(frozen=True)
class PatternAgreement:
    """In which fields the pairs of each pattern agree, and have both values.

    Attributes
    ----------
    counts : ndarray of float64, shape (patterns,)
    agrees, present : ndarray of bool, shape (fields, patterns)
    chances : list of float
        Which part of the pairs that have both values of each field agrees.
    """

    counts: Float64Array
    agrees: BoolArray
    present: BoolArray
    chances: list[float]

    @classmethod
    def of(cls, patterns: PairPatterns, close: Sequence[BoolArray]) -> PatternAgreement:
        """Return the agreement of patterns, of which some levels are close."""
        agrees = np.zeros(patterns.levels.T.shape, bool)
        present = np.zeros(agrees.shape, bool)
        chances = []
        for field, levels in enumerate(patterns.levels.T):
            agrees[field] = agreeing_levels(patterns, field, close[field])[levels]
            present[field] = levels != MISSING_LEVEL
            number = float(patterns.counts[present[field]].sum())
            agreeing = float(patterns.counts[agrees[field]].sum())
            chances.append(agreeing / max(number, 1.0))
        return cls(patterns.counts, agrees, present, chances)

    def are_rare_by_chance(self, edge: Edge, alike: Int64Array) -> bool:
        """Return whether few of the pairs that agree in two fields, `alike`, do so by chance."""
        first, second = edge
        both = float(self.counts[self.present[first] & self.present[second]].sum())
        by_chance = both * self.chances[first] * self.chances[second]
        return by_chance <= MOST_BY_CHANCE * float(self.counts[alike].sum())

    def shares(self, alike: Int64Array) -> Float64Array:
        """Return for each field the share of the pairs of some patterns that agree in it; 1 of few
        pairs.
        """
        counts = self.counts[alike]
        totals = (counts * self.present[:, alike]).sum(axis=1)
        agreeing = (counts * self.agrees[:, alike]).sum(axis=1)
        return np.where(
            totals >= FEWEST_ALIKE, agreeing / np.maximum(totals, FEWEST_ALIKE), 1.0
        )
