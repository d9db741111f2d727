"""Which of the similar pairs of a run are listed: all, those below an upper bound, or the most
similar of each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Int64Array
from lshfast.join.jaccard import PAIR, sort_pairs

PairArray: TypeAlias = npt.NDArray[np.void]


class Listing(Protocol):
    """What the plan of a run says of the pairs that are listed."""

    @property
    def top(self) -> int | None:
        """Of the pairs of a row, only so many of the most similar ones."""

    @property
    def most(self) -> float | None:
        """Only pairs that are not more similar."""


# Pairs that are held before those that no row needs are dropped.
HELD_PAIRS = 1 << 18


def check_listing(pairs: object, top: int | None, most: float | None) -> None:
    """Raise ValueError if pairs are chosen and not written."""
    if pairs is None and (top is not None or most is not None):
        raise ValueError("top and most need pairs: they choose among the pairs that are written")


def lists_copies(plan: Listing) -> bool:
    """Return whether the pairs of exact copies are listed, which have similarity 1."""
    return plan.most is None or plan.most >= 1


def not_above(pairs: PairArray, plan: Listing) -> PairArray:
    """Return the pairs that are not more similar than the bound of the plan."""
    return pairs if plan.most is None else pairs[pairs["similarity"] <= plan.most]


def renumbered(pairs: PairArray, numbers: Int64Array) -> PairArray:
    """Return pairs of rows of a part with other numbers, which need not ascend."""
    i = numbers[pairs["i"]]
    j = numbers[pairs["j"]]
    found = pairs.copy()
    found["i"], found["j"] = np.minimum(i, j), np.maximum(i, j)
    return found


def listed(
    batches: Iterable[PairArray], plan: Listing, held: int = HELD_PAIRS
) -> Iterator[PairArray]:
    """Yield those of the similar pairs of different rows that are listed.

    With `top`, a pair is listed if it is one of so many of either row: of the pairs of a row those
    of greater similarity, and of equal ones those with smaller numbers of the other row. All are in
    one batch then, sorted. At most `top` pairs of each row and `held` others are in memory.
    """
    if plan.top is None:
        for pairs in batches:
            yield not_above(pairs, plan)
        return
    best = np.empty(0, PAIR)
    waiting = [np.empty(0, PAIR)]
    room = held
    for pairs in batches:
        waiting.append(not_above(pairs, plan))
        room -= len(waiting[-1])
        if room <= 0:
            best = most_similar(np.concatenate([best, *waiting]), plan.top)
            waiting = [np.empty(0, PAIR)]
            room = max(held, len(best))
    best = most_similar(np.concatenate([best, *waiting]), plan.top)
    sort_pairs(best)
    yield best


def most_similar(pairs: PairArray, k: int) -> PairArray:
    """Return the pairs that are among the k most similar of one of their rows."""
    m = len(pairs)
    rows = np.concatenate([pairs["i"], pairs["j"]])
    others = np.concatenate([pairs["j"], pairs["i"]])
    order = np.lexsort((others, np.tile(-pairs["similarity"], 2), rows))
    rows = rows[order]
    rank = np.arange(2 * m, dtype=np.int64) - np.searchsorted(rows, rows)
    chosen = np.zeros(m, np.bool_)
    chosen[order[rank < k] % max(m, 1)] = True
    return pairs[chosen]
