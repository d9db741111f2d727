"""Which steps the searches in sorted trees take: in what order they look into trees, and when they know enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache, reduce
from math import comb
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.tokens import Float64Array

UInt32Array: TypeAlias = npt.NDArray[np.uint32]

# What it costs to look a query up in one tree of a run, in rows compared.
LOOKUP = 4.0

# Slots up to which what is missed is counted out; of more slots it is bounded.
COUNTED = 256


def gains(num_perm: int, levels: int) -> Float64Array:
    """Return what a tree of each depth does for rows of each number of equal slots: float64 (levels + 1, num_perm + 1).

    If m of k slots are equal, any m as likely as any other, d given ones are all among them with probability
    q = m (m - 1) ... / k (k - 1) ..., d factors each; a gain is -log(1 - q). Depth 0 stands for a tree that is not
    looked into.
    """
    equal, kept = np.arange(num_perm + 1, dtype=np.int64), np.ones(num_perm + 1)
    found = np.zeros((levels + 1, num_perm + 1))
    with np.errstate(divide="ignore"):
        for depth in range(1, levels + 1):
            kept = kept * np.maximum(equal - depth + 1, 0) / (num_perm - depth + 1)
            found[depth] = -np.log1p(-kept)
    return found


@lru_cache(1 << 10)
def _ways(slots: int, depth: int, trees: int) -> Float64Array:
    """Return how many sets of 0, 1, ... equal slots so many trees of so many slots miss, each searched to this depth.

    A tree of w slots misses all sets but those that hold its first d slots; the numbers for several trees multiply as
    polynomials do. At depth 0 they miss all sets.
    """
    if depth == 0 or trees == 0:
        return np.array([comb(slots * trees, equal) for equal in range(slots * trees + 1)], np.float64)
    one = [
        comb(slots, equal) - (comb(slots - depth, equal - depth) if equal >= depth else 0) for equal in range(slots + 1)
    ]
    return np.convolve(_ways(slots, depth, trees - 1), np.array(one, np.float64))


def missed(num_perm: int, trees: int, counts: Sequence[int]) -> Float64Array:
    """Return the probability that a search misses a row of 0, 1, ... equal slots, all sets of so many as likely.

    Exact for up to COUNTED slots; a bound for more: that trees pass a row is negatively associated, so that all miss it
    with at most the product of the probabilities that each does.

    Parameters
    ----------
    num_perm, trees : int
    counts : sequence of int
        How many of the trees are searched to depth 1, 2, ...

    Returns
    -------
    ndarray of float64, shape (num_perm + 1,)
    """
    if num_perm > COUNTED:
        gain, total = gains(num_perm, len(counts)), np.zeros(num_perm + 1)
        for depth, count in enumerate(counts, 1):
            total += count * gain[depth] if count else 0
        return np.exp(-total)
    slots = num_perm // trees
    searched = [_ways(slots, depth, count) for depth, count in enumerate(counts, 1) if count]
    rest = _ways(1, 0, num_perm - slots * sum(counts))
    missing: Float64Array = reduce(np.convolve, searched, rest) / _ways(1, 0, num_perm)
    return missing


@lru_cache(64)
def choose_steps(
    num_perm: int, trees: int, recall: float, crowds: tuple[int, ...], runs: int, singles: bool = False
) -> UInt32Array:
    """Choose in which order searches look into trees, and how far.

    The list begins with what finds the closest rows for the least work, and goes on with what does most for the rows
    that were just out of reach before: look into another tree, to some depth, or go up some levels in one. It is the
    same for all queries, whatever they meet: a search may end after any step without favouring some rows.

    Parameters
    ----------
    num_perm, trees : int
    recall : float
        In (0, 1).
    crowds : tuple of int
        What a tree costs: about 2**(c / 2) - 1 rows share the first levels with a query, a number for each depth.
    runs : int
        How many runs each lookup goes through.
    singles : bool, default False
        Whether the other slots have trees of one slot, which are looked into last, one after the other.

    Returns
    -------
    ndarray of uint32, shape (s, 3)
        Tree, depth, and the least number of equal slots of rows that all steps so far miss with probability at most
        1 - recall.
    """
    gain = gains(num_perm, len(crowds)).T.tolist()
    cost = [0.0] + [LOOKUP * max(runs, 1) + 2 ** (crowd / 2) - 1 for crowd in crowds]
    at_depth = [deque(range(trees)), *(deque[int]() for _ in crowds)]
    enough, steps = num_perm + 1, []
    while len(at_depth[1]) < trees:
        own = gain[max(min(enough, num_perm) - 1, 0)]
        moves = [
            ((own[to] - own[now]) / (cost[to] - cost[now] + 1), to, now)
            for now, there in enumerate(at_depth)
            if there
            for to in range(1, now or len(cost))
        ]
        _, to, now = max(moves)
        tree = at_depth[now].popleft()
        at_depth[to].append(tree)
        out_of_reach = missed(num_perm, trees, [len(there) for there in at_depth[1:]]) > 1 - recall
        enough = min(enough, int(np.count_nonzero(out_of_reach)))
        steps.append((tree, to, enough))
    for tree in range(trees, num_perm if singles else trees):  # now all are searched to depth 1: a tree is a slot
        out_of_reach = missed(num_perm, num_perm, [tree + 1]) > 1 - recall
        enough = min(enough, int(np.count_nonzero(out_of_reach)))
        steps.append((tree, 1, enough))
    chosen = np.array(steps, np.uint32)
    chosen.flags.writeable = False
    return chosen
