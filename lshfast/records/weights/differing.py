"""Fields that differ in nearly all matches, such as the number of a price list or a version.

Such a field says nothing about a pair, but it outvotes a title or a code that is equal. It shows in
pairs that agree in two other fields although such agreement is rare by chance, and that agree in
names and titles as well: the members of a household do not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from lshfast._common.types import BoolArray, Float64Array
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
    differing = differing_fields(patterns, roles.may_differ, close, edges)
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
    may_differ: Collection[int],
    close: Sequence[BoolArray],
    edges: set[Edge],
) -> set[int]:
    """Return the fields that may differ, and do in most pairs that agree in any two other fields.

    These two fields identify, and agree together far more often than by chance.
    """
    agreement = PatternAgreement.of(patterns, close)
    telling = sorted(telling_fields(patterns, len(close), edges))
    names = [field for field in telling if field not in may_differ]
    identifying_pairs = [
        edge
        for edge in combinations(telling, 2)
        if edge not in edges
        and agreement.is_rare_by_chance(edge)
        and min(agreement.shares(edge, names), default=1.0) >= LEAST_AGREEING
    ]
    differing = set()
    for field in telling:
        if field not in may_differ:
            continue
        shares = [
            share
            for edge in identifying_pairs
            for share in agreement.shares(edge, [field])
        ]
        if shares and max(shares) <= MOST_AGREEING:
            differing.add(field)
    return differing


@dataclass(frozen=True)
class PatternAgreement:
    """In which fields the pairs of each pattern agree, and have both values.

    Attributes
    ----------
    counts : ndarray of float64, shape (patterns,)
    agrees, present : list of ndarray of bool, shape (patterns,)
        One for each field.
    """

    counts: Float64Array
    agrees: list[BoolArray]
    present: list[BoolArray]

    @classmethod
    def of(cls, patterns: PairPatterns, close: Sequence[BoolArray]) -> PatternAgreement:
        """Return the agreement of patterns, of which some levels are close."""
        agrees = []
        present = []
        for field, levels in enumerate(patterns.levels.T):
            agrees.append(agreeing_levels(patterns, field, close[field])[levels])
            present.append(levels != MISSING_LEVEL)
        return cls(patterns.counts, agrees, present)

    def number(self, pairs: BoolArray) -> float:
        """Return how many pairs have some patterns."""
        return float(self.counts[pairs].sum())

    def is_rare_by_chance(self, edge: Edge) -> bool:
        """Return whether few of the pairs that agree in two fields do so by chance."""
        f, g = edge
        by_chance = self.number(self.present[f] & self.present[g])
        for field in edge:
            present = max(self.number(self.present[field]), 1.0)
            by_chance *= self.number(self.agrees[field]) / present
        together = self.number(self.agrees[f] & self.agrees[g])
        return by_chance <= MOST_BY_CHANCE * together

    def shares(self, edge: Edge, fields: Sequence[int]) -> list[float]:
        """Return for each other field the share of the pairs that agree in it, of those that agree
        in both fields of an edge; 1 of few pairs.
        """
        alike = self.agrees[edge[0]] & self.agrees[edge[1]]
        shares = []
        for field in fields:
            if field in edge:
                continue
            total = self.number(alike & self.present[field])
            agreeing = self.number(alike & self.agrees[field])
            shares.append(agreeing / total if total >= FEWEST_ALIKE else 1.0)
        return shares
