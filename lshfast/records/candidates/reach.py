"""Which part of the matches blocking rules are likely to bring, without labels.

Seeds are pairs of records that are each other's nearest by far, as whole texts. Most of them are
matches, and they are found without the rules: the part of them that a rule brings is close to the
part of the matches that it brings. The rule by which seeds are found, the nearest whole records, is
not measured by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lshfast._common.rows import evenly_spaced
from lshfast._common.types import UInt64Array
from lshfast.records.candidates.nearest import NearestBlocks
from lshfast.records.candidates.rules import EveryPair
from lshfast.records.candidates.union import CandidatePairs, rules_of
from lshfast.records.distinct import places_among
from lshfast.records.linkage import BlockingRule, Linkage, RulePairs
from lshfast.records.weights.calibration import FEWEST_SEEDS, MOST_ROWS
from lshfast.records.weights.rivals import pairs_of_records

# Texts of which seeds are sought if the nearest records are no blocking rule
SAMPLE_TEXTS = 1_000
LEAST_GAIN = 0.002  # of the seeds, which a further rule must bring
COST_POWER = 0.5  # of the pairs of a rule, by which its gain is divided in the choice


@dataclass(frozen=True)
class Reach:
    """The part of the seeds that all rules but the nearest whole records bring together.

    Attributes
    ----------
    seeds : int
        Pairs of records that are each other's nearest by far; of large tables, of a sample.
    share : float
        The part of them that the rules bring, in [0, 1].
    """

    seeds: int
    share: float


def is_whole(rule: BlockingRule) -> bool:
    """Return whether a rule brings the nearest whole records, of which seeds are a part."""
    return isinstance(rule, NearestBlocks) and not rule.fields


@dataclass(frozen=True)
class ChosenRules:
    """Blocking rules, their pairs if they are known already, and the places of the seeds.

    `alone` says that keys are chosen to bring nearly all matches without the nearest records, so
    that the rivals of some pairs are unknown; see `find_seeds`.
    """

    rules: Sequence[BlockingRule]
    pairs: Sequence[RulePairs | None] = ()
    seeds: UInt64Array | None = None
    alone: bool = False

    @classmethod
    def given(cls, linkage: Linkage, rules: Sequence[BlockingRule]) -> ChosenRules:
        """Return the rules of a user; seeds are not sought if one of them brings all pairs."""
        if any(isinstance(rule, EveryPair) for rule in rules) or not linkage.all_pairs:
            return cls(rules)
        pairs = [rule.pairs(linkage) if is_whole(rule) else None for rule in rules]
        nearest = next((part for part in pairs if part is not None), None)
        return cls(rules, pairs, seed_places(linkage, nearest))


def seed_places(
    linkage: Linkage,
    near_pairs: RulePairs | None = None,
    *,
    most_rows: int = MOST_ROWS,
    sample_texts: int = SAMPLE_TEXTS,
) -> UInt64Array | None:
    """Return the places of the seeds, ascending; None for few seeds or large tables.

    Parameters
    ----------
    linkage : Linkage
    near_pairs : RulePairs, optional
        The pairs of `NearestBlocks`; without them, seeds are sought for a sample of the texts.
    most_rows, sample_texts : int
        The rows of tables that are not large, and the texts of the sample.
    """
    if linkage.rows > most_rows:
        return None
    within_one_table = linkage.b is None
    texts = linkage.record_texts
    sample = None
    if near_pairs is None:
        numbers = texts.numbers[0]
        sample = numbers[evenly_spaced(len(numbers), sample_texts)]
        near_pairs = NearestBlocks().pairs_of(linkage, sample)
    i, j = linkage.rows_of(near_pairs.places)
    pairs = pairs_of_records(i, j, linkage.sizes, within_one_table)
    by_far, _ = pairs.seeds(texts.compared(i, j)[1])
    if sample is not None:  # of other texts, some rivals are unknown
        is_sampled = np.isin(texts.places[0][i], sample)
        if within_one_table:
            is_sampled |= np.isin(texts.places[0][j], sample)
        by_far &= is_sampled
    seeds = near_pairs.places[by_far]
    return seeds if len(seeds) >= FEWEST_SEEDS else None


def worthwhile(pairs_of_rules: Sequence[RulePairs], seeds: UInt64Array) -> list[int]:
    """Choose rules one by one until they bring no more seeds; return their numbers, ascending.

    Each time, the rule that brings most further seeds for its pairs is chosen.
    """
    brings = [places_among(seeds, pairs.places)[1] for pairs in pairs_of_rules]
    costs = [max(1, len(pairs.places)) ** COST_POWER for pairs in pairs_of_rules]
    selected: list[int] = []
    remaining = np.ones(len(seeds), bool)
    while True:
        gains = [int((is_brought & remaining).sum()) for is_brought in brings]
        enough = [
            number
            for number, gain in enumerate(gains)
            if gain >= max(1, LEAST_GAIN * len(seeds))
        ]
        if not enough:
            return sorted(selected)
        best = max(enough, key=lambda number: (gains[number] / costs[number], -number))
        selected.append(best)
        remaining &= ~brings[best]


def with_reach(
    candidates: CandidatePairs, rules: Sequence[BlockingRule], seeds: UInt64Array | None
) -> tuple[CandidatePairs, Reach | None]:
    """Return the candidates with the reach of each rule in their reports, and of all rules.

    Both are None if there are no seeds, or no rule that is measured by them.
    """
    measured = [number for number, rule in enumerate(rules) if not is_whole(rule)]
    if seeds is None or not measured:
        return candidates, None
    masks = np.zeros(len(seeds), np.uint32)
    places, is_candidate = places_among(seeds, candidates.places)
    masks[is_candidate] = candidates.masks[places[is_candidate]]
    brings = {number: rules_of(masks, number) for number in measured}
    reports = [
        replace(
            report, reach=float(brings[number].mean()) if number in brings else None
        )
        for number, report in enumerate(candidates.reports)
    ]
    share = float(np.logical_or.reduce([*brings.values()]).mean())
    return replace(candidates, reports=reports), Reach(len(seeds), share)
