"""The candidates of several blocking rules, each pair once, and which rules brought it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.threads import ordered_map
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.kernels import pairs as kernels
from lshfast.records.linkage import BlockingRule, Linkage, RulePairs, SkippedBlock

MOST_RULES = 32  # bits of a mask


@dataclass(frozen=True)
class RuleReport:
    """What one blocking rule brought.

    Attributes
    ----------
    rule : str
        Its name.
    pairs : int
        Pairs that it brought.
    alone : int
        Pairs that no other rule brought.
    shared : tuple of int
        Pairs that it shares with each of the rules; with itself, all.
    skipped, skipped_pairs : int
        Blocks that were left out because of the cap, and their pairs.
    largest_skipped : tuple of SkippedBlock
        The largest of these blocks.
    links : int
        Links among its pairs; 0 before links are made.
    reach : float or None
        The part of the seeds that it brings, in [0, 1]; None if it was not measured. See
        `lshfast.records.candidates.reach`.
    """

    rule: str
    pairs: int
    alone: int
    shared: tuple[int, ...]
    skipped: int
    skipped_pairs: int
    largest_skipped: tuple[SkippedBlock, ...]
    links: int = 0
    reach: float | None = None


@dataclass(frozen=True)
class CandidatePairs:
    """The pairs to compare.

    Attributes
    ----------
    places : ndarray of uint64
        See `RulePairs`.
    masks : ndarray of uint32
        For each pair, bit r is set if rule r brought it.
    reports : list of RuleReport
    """

    places: UInt64Array
    masks: npt.NDArray[np.uint32]
    reports: list[RuleReport]

    def __len__(self) -> int:
        return len(self.places)


def candidate_pairs(
    linkage: Linkage,
    rules: Sequence[BlockingRule],
    known: Sequence[RulePairs | None] = (),
) -> CandidatePairs:
    """Return the pairs of all rules, each once, in order; `known` are pairs found before."""
    if not 1 <= len(rules) <= MOST_RULES:
        raise ValueError(
            f"there must be 1 to {MOST_RULES} blocking rules, not {len(rules)}"
        )
    known_pairs = [*known, *[None] * (len(rules) - len(known))]
    pairs_of_rules = list(
        ordered_map(
            lambda r: known_pairs[r] or rules[r].pairs(linkage),
            range(len(rules)),
            linkage.threads,
        )
    )
    lists = [
        (part.places, np.full(len(part.places), 1 << rule, np.uint32))
        for rule, part in enumerate(pairs_of_rules)
    ]
    # The first two; what is merged comes last, so that all are merged about as often.
    while len(lists) > 1:
        lists.append(kernels.merged(*lists.pop(0), *lists.pop(0)))
    places, bits = lists[0]
    return CandidatePairs(places, bits, _reports(rules, pairs_of_rules, bits))


def _reports(
    rules: Sequence[BlockingRule],
    pairs_of_rules: Sequence[RulePairs],
    masks: npt.NDArray[np.uint32],
) -> list[RuleReport]:
    kinds, counts = np.unique(masks, return_counts=True)
    has = ((kinds[:, None] >> np.arange(len(rules), dtype=np.uint32)) & 1).astype(
        np.int64
    )
    shared = (has * counts[:, None]).T @ has
    counts_alone = (has * counts[:, None])[has.sum(axis=1) == 1].sum(axis=0)
    return [
        RuleReport(
            rule.name,
            int(shared[r, r]),
            int(counts_alone[r]),
            tuple(shared[r].tolist()),
            part.skipped,
            part.skipped_pairs,
            part.largest_skipped,
        )
        for r, (rule, part) in enumerate(zip(rules, pairs_of_rules, strict=True))
    ]


def rules_of(masks: npt.NDArray[np.uint32], rule: int) -> BoolArray:
    """Return whether each pair was brought by a rule."""
    return (masks >> np.uint32(rule) & np.uint32(1)).astype(bool)


def links_by_rule(masks: npt.NDArray[np.uint32], count: int) -> Int64Array:
    """Return the number of links that each rule brought."""
    return np.array([rules_of(masks, rule).sum() for rule in range(count)], np.int64)
