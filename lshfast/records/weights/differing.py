"""Fields that differ in nearly all matches, such as the number of a price list or a version.

Such a field says nothing about a pair, but it outvotes a title or a code that is equal. It shows in
pairs that agree in two other fields although such agreement is rare by chance, and that agree in
names and titles as well: the members of a household do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from lshfast._common.types import BoolArray
from lshfast.records.comparison.nearness import MISSING_LEVEL
from lshfast.records.weights.dependence import (
    FEWEST_ALIKE,
    MOST_BY_CHANCE,
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

MOST_AGREEING = 0.25  # of the pairs that agree in two other fields
LEAST_AGREEING = (
    0.5  # of the same, in a name or text: the members of a household differ in it
)
# Matches that are found without a field: at least, and as times the matches with it.
FEWEST_MORE = 20.0
TIMES_MORE = 2.0


def fit_without_differing(
    patterns: PairPatterns,
    may_differ: Sequence[bool],
    close: Sequence[BoolArray],
    doubtful: Sequence[BoolArray],
    edges: set[Edge],
    decisive: Sequence[int],
    most_matches: float,
) -> Mixture:
    """Fit a mixture, without the fields that differ in matches if it finds far more matches so."""
    mixture = fit_mixture(patterns, close, doubtful, edges, decisive, most_matches)
    differing = differing_fields(patterns, may_differ, close, edges)
    if not differing:
        return mixture
    mixture.differing = differing
    kept_fields = [field for field in range(len(close)) if field not in differing]
    place = {field: number for number, field in enumerate(kept_fields)}
    smaller_mixture = fit_mixture(
        replace(patterns, levels=patterns.levels[:, kept_fields]),
        [close[field] for field in kept_fields],
        [doubtful[field] for field in kept_fields],
        {(place[f], place[g]) for f, g in edges if f in place and g in place},
        [place[field] for field in decisive if field in place],
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
    may_differ: Sequence[bool],
    close: Sequence[BoolArray],
    edges: set[Edge],
) -> set[int]:
    """Return the fields that may differ, and do in most pairs that agree in any two other fields.

    These two fields identify, and agree together far more often than by chance.
    """
    counts = patterns.counts
    fields = range(len(close))
    agrees = [
        agreeing_levels(patterns, field, close[field])[patterns.levels[:, field]]
        for field in fields
    ]
    present = [patterns.levels[:, field] != MISSING_LEVEL for field in fields]
    chance = [
        counts[agrees[field]].sum() / max(counts[present[field]].sum(), 1.0)
        for field in fields
    ]

    def agreeing_share(alike: BoolArray, field: int) -> float:
        total = counts[alike & present[field]].sum()
        if total < FEWEST_ALIKE:
            return 1.0
        return float(counts[alike & agrees[field]].sum() / total)

    telling = telling_fields(patterns, len(close), edges)
    alike_pairs: list[tuple[Edge, BoolArray]] = []
    for f, g in combinations(sorted(telling), 2):
        both = agrees[f] & agrees[g]
        by_chance = counts[present[f] & present[g]].sum() * chance[f] * chance[g]
        if (f, g) in edges or by_chance > MOST_BY_CHANCE * counts[both].sum():
            continue
        names = [
            field for field in telling if field not in (f, g) and not may_differ[field]
        ]
        if all(agreeing_share(both, name) >= LEAST_AGREEING for name in names):
            alike_pairs.append(((f, g), both))
    differing = set()
    for field in telling:
        if not may_differ[field]:
            continue
        shares = [
            agreeing_share(both, field)
            for edge, both in alike_pairs
            if field not in edge
        ]
        if shares and max(shares) <= MOST_AGREEING:
            differing.add(field)
    return differing
