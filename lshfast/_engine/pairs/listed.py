"""The similar pairs that are listed: all, pairs below a bound, or the most similar of a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array
from lshfast.join.pair_arrays import PAIR, sort_pairs

PairArray: TypeAlias = npt.NDArray[np.void]


class Listing(Protocol):
    """The options of a plan that choose the listed pairs."""

    @property
    def top(self) -> int | None:
        """List at most this number of the most similar pairs of a row."""

    @property
    def most(self) -> float | None:
        """Only pairs that are not more similar."""


# Pairs that are held before those that no row needs are dropped.
HELD_PAIRS = 1 << 18


def check_listing(pairs: object) -> None:
    """Raise ValueError if pairs are chosen by `top` or `most`, and not written."""
    if pairs is None:
        raise ValueError(
            "top and most need pairs: they choose among the pairs that are written"
        )


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
    new_pairs = pairs.copy()
    new_pairs["i"] = np.minimum(i, j)
    new_pairs["j"] = np.maximum(i, j)
    return new_pairs


def listed(
    batches: Iterable[PairArray], plan: Listing, most_waiting: int = HELD_PAIRS
) -> Iterator[PairArray]:
    """Yield the listed ones of the similar pairs of different rows.

    With `top`, these are the first `top` pairs of either row, by similarity, then row number, in
    one sorted batch. At most `top` pairs a row and `most_waiting` others are in memory.
    """
    if plan.top is None:
        for pairs in batches:
            yield not_above(pairs, plan)
        return
    best = np.empty(0, PAIR)
    waiting = [np.empty(0, PAIR)]
    room = most_waiting
    for pairs in batches:
        waiting.append(not_above(pairs, plan))
        room -= len(waiting[-1])
        if room <= 0:
            best = most_similar(np.concatenate([best, *waiting]), plan.top)
            waiting = [np.empty(0, PAIR)]
            room = max(most_waiting, len(best))
    best = most_similar(np.concatenate([best, *waiting]), plan.top)
    sort_pairs(best)
    yield best


def most_similar(pairs: PairArray, k: int) -> PairArray:
    """Return the pairs that are among the k most similar of one of their rows."""
    m = len(pairs)
    rows = np.concatenate([pairs["i"], pairs["j"]])
    other_rows = np.concatenate([pairs["j"], pairs["i"]])
    order = np.lexsort((other_rows, np.tile(-pairs["similarity"], 2), rows))
    rows = rows[order]
    rank = int64_range(2 * m) - np.searchsorted(rows, rows)
    is_listed = np.zeros(m, np.bool_)
    is_listed[order[rank < k] % max(m, 1)] = True
    return pairs[is_listed]
