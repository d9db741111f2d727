"""The search plan of sorted trees: the order and depth of their search, and its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache, reduce
from math import comb

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.types import Float64Array, UInt32Array

# Cost of looking up a query in one tree of a run, as a number of rows that can be compared in the
# same time.
LOOKUP = 4.0

# Up to COUNTED slots, the probability of a miss is computed exactly; for more slots, an upper bound
# is used.
COUNTED = 256


def gains(num_perm: int, levels: int) -> Float64Array:
    """Return the gain of a tree by depth and number of equal slots, (levels + 1, num_perm + 1).

    If a random m of k slots are equal, then d given slots are all equal with probability q = m (m -
    1) ... / k (k - 1) ..., with d factors each. The gain is -log(1 - q). Depth 0 means that the
    tree is not searched.
    """
    equal = int64_range(num_perm + 1)
    all_equal = np.ones(num_perm + 1)
    tree_gains = np.zeros((levels + 1, num_perm + 1))
    with np.errstate(divide="ignore"):
        for depth in range(1, levels + 1):
            all_equal = (
                all_equal * np.maximum(equal - depth + 1, 0) / (num_perm - depth + 1)
            )
            tree_gains[depth] = -np.log1p(-all_equal)
    return tree_gains


@lru_cache(1 << 10)
def _ways(slots: int, depth: int, trees: int) -> Float64Array:
    """Return the numbers of sets of 0, 1, ... equal slots that `trees` trees miss at `depth`.

    A tree misses all sets that do not contain its first `depth` slots; at depth 0 it misses all
    sets. The numbers for several trees are the coefficients of a product of polynomials.
    """
    if depth == 0 or trees == 0:
        return np.array(
            [comb(slots * trees, equal) for equal in range(slots * trees + 1)],
            np.float64,
        )
    ways_of_one_tree = [
        comb(slots, equal)
        - (comb(slots - depth, equal - depth) if equal >= depth else 0)
        for equal in range(slots + 1)
    ]
    return np.convolve(
        _ways(slots, depth, trees - 1), np.array(ways_of_one_tree, np.float64)
    )


def missed(
    num_perm: int, trees: int, counts: Sequence[int], *, counted: int = COUNTED
) -> Float64Array:
    """Return the probability that a search misses a random row with 0, 1, ... equal slots.

    It is exact for up to `counted` slots. For more slots it is an upper bound: the events that
    single trees miss the row are negatively associated, so the probability that all do is at most
    the product of their probabilities.

    Parameters
    ----------
    num_perm, trees : int
    counts : sequence of int
        Numbers of trees that are searched to depth 1, 2, ...
    counted : int, default 256

    Returns
    -------
    ndarray of float64, shape (num_perm + 1,)
    """
    if num_perm > counted:
        gain = gains(num_perm, len(counts))
        total = np.zeros(num_perm + 1)
        for depth, count in enumerate(counts, 1):
            total += count * gain[depth] if count else 0
        return np.exp(-total)
    slots = num_perm // trees
    searched = [
        _ways(slots, depth, count) for depth, count in enumerate(counts, 1) if count
    ]
    ways = _ways(1, 0, num_perm - slots * sum(counts))
    missing: Float64Array = reduce(np.convolve, searched, ways) / _ways(1, 0, num_perm)
    return missing


@lru_cache(64)
def choose_steps(
    num_perm: int,
    trees: int,
    recall: float,
    crowds: tuple[int, ...],
    runs: int,
    singles: bool = False,
) -> UInt32Array:
    """Choose the steps of a search: in which order trees are searched, and how deep.

    The first steps find the most similar rows for the least work. Each further step is the one with
    the greatest gain, per unit of work, for the rows that the steps before do not find with
    probability `recall`. It searches a further tree to some depth, or a tree to a smaller depth
    than before. The steps are the same for all queries and do not depend on what a search finds, so
    a search can end after any step without a bias towards some rows.

    Parameters
    ----------
    num_perm, trees : int
    recall : float
        In (0, 1).
    crowds : tuple of int
        The cost of a tree at each depth: for the value c, about 2**(c / 2) - 1 rows share the
        levels with a query.
    runs : int
        Runs that each lookup searches.
    singles : bool, default False
        Whether each of the other slots has a tree of one slot. These trees are searched last, one
        in each step.

    Returns
    -------
    ndarray of uint32, shape (s, 3)
        For each step the tree, the depth, and a number of equal slots. Rows with at least this
        number are found, by the steps up to this one, with probability at least `recall`.
    """
    gain = gains(num_perm, len(crowds)).T.tolist()
    cost = [0.0] + [LOOKUP * max(runs, 1) + 2 ** (crowd / 2) - 1 for crowd in crowds]
    at_depth = [deque(range(trees)), *(deque[int]() for _ in crowds)]
    enough = num_perm + 1
    steps = []
    while len(at_depth[1]) < trees:
        row_gain = gain[max(min(enough, num_perm) - 1, 0)]
        moves = [
            ((row_gain[to] - row_gain[now]) / (cost[to] - cost[now] + 1), to, now)
            for now, trees_there in enumerate(at_depth)
            if trees_there
            for to in range(1, now or len(cost))
        ]
        _, to, now = max(moves)
        tree = at_depth[now].popleft()
        at_depth[to].append(tree)
        out_of_reach = (
            missed(num_perm, trees, [len(trees_there) for trees_there in at_depth[1:]])
            > 1 - recall
        )
        enough = min(enough, int(np.count_nonzero(out_of_reach)))
        steps.append((tree, to, enough))
    # All trees are searched to depth 1 now, where a tree is a slot.
    for tree in range(trees, num_perm if singles else trees):
        out_of_reach = missed(num_perm, num_perm, [tree + 1]) > 1 - recall
        enough = min(enough, int(np.count_nonzero(out_of_reach)))
        steps.append((tree, 1, enough))
    step_array = np.array(steps, np.uint32)
    step_array.flags.writeable = False
    return step_array
