"""Fields that differ in nearly all matches, such as the number of a price list, a version or a
price.

Such a field says nothing about a pair, but it outvotes a title or a code that is equal. It is seen
in the pairs that agree in two other fields although such agreement is rare by chance, and agree in
the names and titles as well: the members of a household do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from lshfast._common.types import BoolArray
from lshfast.records.dependence import (
    FEWEST_ALIKE,
    MOST_BY_CHANCE,
    Edge,
    agreeing_levels,
    telling_fields,
)
from lshfast.records.mixture import FieldModel, Mixture, expected_levels, fit_mixture
from lshfast.records.nearness import MISSING_LEVEL
from lshfast.records.patterns import PairPatterns

MOST_AGREEING = 0.25  # of the pairs that agree in two other fields
LEAST_AGREEING = 0.5  # of the same, in a name or text: the members of a household differ in it
# matches that are found without a field, and as times those with it
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
    """Fit a mixture as `fit_mixture` does, but without fields that differ in matches if far more
    are found so.
    """
    mixture = fit_mixture(patterns, close, doubtful, edges, decisive, most_matches)
    differing = differing_fields(patterns, may_differ, close, edges)
    kept = [field for field in range(len(close)) if field not in differing]
    if not differing:
        return mixture
    place = {field: number for number, field in enumerate(kept)}
    other = fit_mixture(
        replace(patterns, levels=patterns.levels[:, kept]),
        [close[field] for field in kept],
        [doubtful[field] for field in kept],
        {(place[f], place[g]) for f, g in edges if f in place and g in place},
        [place[field] for field in decisive if field in place],
        most_matches,
    )
    matches, more = (float(patterns.matches(fit.probabilities).sum()) for fit in (mixture, other))
    mixture.differing = differing
    other.differing = differing
    if more < max(FEWEST_MORE, TIMES_MORE * matches):
        return mixture
    for model in other.models:
        model.field = kept[model.field]
        model.parents = tuple(kept[parent] for parent in model.parents)
    for field in sorted(differing):
        model = FieldModel.of(patterns, close, expected_levels(close[field]), field, ())
        found = model.joint_sums(patterns.matches(other.probabilities))
        model.expected = model.stranger_levels(found)  # until matches say more
        other.models.append(model)
    other.edges = {(kept[f], kept[g]) for f, g in other.edges}
    other.searched = sorted({*differing, *(kept[field] for field in other.searched)})
    return other


def differing_fields(
    patterns: PairPatterns, may_differ: Sequence[bool], close: Sequence[BoolArray], edges: set[Edge]
) -> set[int]:
    """Return the fields that may differ, and do in most of the pairs that agree in two other
    fields.

    They do for each two fields that tell records apart and agree together far more often than by
    chance.
    """
    counts = patterns.counts

    def share_of(part: BoolArray, whole: BoolArray) -> float:
        total = counts[whole].sum()
        return float(counts[part].sum() / total) if total >= FEWEST_ALIKE else 1.0

    agrees = [
        agreeing_levels(patterns, field, levels)[patterns.levels[:, field]]
        for field, levels in enumerate(close)
    ]
    present = [patterns.levels[:, field] != MISSING_LEVEL for field in range(len(close))]
    chance = [
        counts[agree].sum() / max(counts[known].sum(), 1.0)
        for agree, known in zip(agrees, present, strict=True)
    ]
    telling = telling_fields(patterns, len(close), edges)
    alike: list[tuple[int, int, BoolArray]] = []
    for f, g in combinations(sorted(telling), 2):
        both = agrees[f] & agrees[g]
        by_chance = counts[present[f] & present[g]].sum() * chance[f] * chance[g]
        if (f, g) in edges or by_chance > MOST_BY_CHANCE * counts[both].sum():
            continue
        names = [field for field in telling if field not in (f, g) and not may_differ[field]]
        if all(
            share_of(both & agrees[name], both & present[name]) >= LEAST_AGREEING for name in names
        ):
            alike.append((f, g, both))
    differing = set()
    for field in telling:
        if not may_differ[field]:
            continue
        shares = [
            share_of(both & agrees[field], both & present[field])
            for f, g, both in alike
            if field not in (f, g)
        ]
        if shares and max(shares) <= MOST_AGREEING:
            differing.add(field)
    return differing
