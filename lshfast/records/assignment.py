"""Assignment: which of the pairs that score enough become links.

One-to-one links have the greatest sum of scores above the threshold in every small component, that is, a set of
records that chains of pairs connect. In large components they are chosen greedily, the best first; their sum is at
least half of the greatest.
"""

from __future__ import annotations

from typing import get_args

import numpy as np

from lshfast.common.types import Float64Array, Int64Array
from lshfast.kernels.sets import components
from lshfast.records.choices import Assignment

MOST_ROUNDS = 40  # of the greedy choice, before pairs are taken one by one
EXACT_ROWS = 12  # rows of a component that is solved exactly, at most
TIE = 1e-9  # sums that differ by less are equal; the greedy choice stays
SAME = 1e-6  # scores of pairs that differ by less are equal


def check_assignment(assign: str) -> None:
    """Raise ValueError unless this is the name of an assignment."""
    if assign not in get_args(Assignment):
        raise ValueError(f"assign must be one of {', '.join(get_args(Assignment))}, not {assign!r}")


def assigned(
    i: Int64Array, j: Int64Array, scores: Float64Array, assign: Assignment, *, least: float = 0.0, single: bool = False
) -> Int64Array:
    """Return the pairs that become links, by their index, ascending.

    Parameters
    ----------
    i, j : ndarray of int64, shape (n,)
        Rows of the first and the second table, at least 0; each pair once.
    scores : ndarray of float64, shape (n,)
        Finite. Of pairs with equal scores, the one with the smaller i, then the smaller j, comes first.
    assign : {"one-to-one", "many-to-one", "one-to-many", "many-to-many"}
        many-to-one: each row of the first table has at most one link, the best; one-to-many: each row of the second.
        one-to-one: both, with the greatest sum of scores above `least` in each component of up to 12 rows, and the best
        first in larger ones. many-to-many: all pairs.
    least : float
        The least score of a link; no score is below it.
    single : bool
        Whether i and j are rows of the same table.

    Returns
    -------
    ndarray of int64

    Raises
    ------
    TypeError
        If rows are not integers.
    ValueError
        If there is no such assignment, the arrays differ in shape, or a score is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.records import assigned
    >>> i, j, scores = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([9.0, 8.0, 7.0])
    >>> assigned(i, j, scores, "one-to-one").tolist(), assigned(i, j, scores, "many-to-one").tolist()
    ([1, 2], [0, 2])
    """
    check_assignment(assign)
    i, j, scores = np.asarray(i), np.asarray(j), np.asarray(scores)
    if i.ndim != 1 or not i.shape == j.shape == scores.shape:
        raise ValueError(f"i, j and scores must have one shape (n,), not {i.shape}, {j.shape} and {scores.shape}")
    if len(i) and not (i.dtype.kind in "iu" and j.dtype.kind in "iu"):
        raise TypeError(f"i and j must be integers, not {i.dtype} and {j.dtype}")
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    if assign == "many-to-many" or not len(i):
        return np.arange(len(i), dtype=np.int64)
    if assign != "one-to-one":
        side = i if assign == "many-to-one" else j
        order = np.lexsort((j, i, -scores))
        _, first = np.unique(side[order], return_index=True)
        return np.sort(order[first])
    gains = scores - least
    if single:
        return _one_to_one(i, j, gains, int(max(i.max(), j.max())) + 1)
    return _one_to_one(i, j + int(i.max()) + 1, gains, int(i.max()) + int(j.max()) + 2)


def _one_to_one(i: Int64Array, j: Int64Array, gains: Float64Array, rows: int) -> Int64Array:
    """Choose pairs so that each row has at most one: exactly in small components, greedily in large ones."""
    order = np.lexsort((j, i, -gains))
    chosen = _greedy(i, j, order, rows)
    labels = components(i, j, rows)
    label = labels[i]
    sizes = np.bincount(label, minlength=rows)  # pairs of each component
    nodes = np.bincount(labels, minlength=rows)  # its rows
    small = (sizes > 2) & (nodes <= EXACT_ROWS)  # of two pairs in a component, the better one is the answer
    if not small.any():
        return chosen
    kept = [chosen[~small[label[chosen]]]]
    open_pairs = order[small[label[order]]]
    open_pairs = open_pairs[np.argsort(label[open_pairs], kind="stable")]
    for part in np.split(open_pairs, np.flatnonzero(np.diff(label[open_pairs])) + 1):
        kept.append(part[_best_matching(i[part].tolist(), j[part].tolist(), gains[part].tolist())])
    return np.sort(np.concatenate(kept))


def _best_matching(i: list[int], j: list[int], gains: list[float]) -> list[int]:
    """Return the pairs of a matching with the greatest sum of gains, by their index; pairs are given the best first.

    The sets of rows that pairs can still use are the states of a dynamic program.
    """
    bit = {row: 1 << place for place, row in enumerate(dict.fromkeys([*i, *j]))}
    masks = [bit[first] | bit[second] for first, second in zip(i, j, strict=True)]
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for place, (mask, gain) in enumerate(zip(masks, gains, strict=True)):
        for used, (total, pairs) in list(best.items()):
            if not used & mask:
                known = best.get(used | mask)
                if known is None or total + gain > known[0] + TIE:
                    best[used | mask] = (total + gain, [*pairs, place])
    found = max(best.values(), key=lambda state: state[0])
    return found[1]


def _greedy(i: Int64Array, j: Int64Array, order: Int64Array, rows: int) -> Int64Array:
    """Take the pairs in an order, each unless one of its rows is taken.

    In each round, the pairs that are the first of both of their rows are taken at once, and pairs with a taken row are
    left out. These are the pairs that a walk through the order would take. Long chains of pairs would need many rounds;
    what they leave is walked through.
    """
    left = order
    taken = np.zeros(rows, bool)
    links = []
    for _ in range(MOST_ROUNDS):
        if not len(left):
            break
        place, first = np.arange(len(left), dtype=np.int64), np.empty(rows, np.int64)
        rows_of_pairs = np.stack([i[left], j[left]], axis=1)[::-1].reshape(-1)
        first[rows_of_pairs] = np.repeat(place[::-1], 2)  # of repeated assignments the last stays: the first pair's
        best = (first[i[left]] == place) & (first[j[left]] == place)
        links.append(left[best])
        taken[i[left[best]]] = taken[j[left[best]]] = True
        left = left[~(taken[i[left]] | taken[j[left]])]
    rest = []
    for pair in left.tolist():
        if not (taken[i[pair]] or taken[j[pair]]):
            taken[i[pair]] = taken[j[pair]] = True
            rest.append(pair)
    return np.sort(np.concatenate([*links, np.array(rest, np.int64)]))


def equally_good(
    i: Int64Array, j: Int64Array, scores: Float64Array, links: Int64Array, sizes: tuple[int, int]
) -> Int64Array:
    """Return for each one-to-one link how many pairs of one of its records are as good, with the link itself.

    Pairs of records that have better links do not count. If it is k, no more than one link of k can be right.

    Parameters
    ----------
    i, j : ndarray of int64, shape (n,)
        Rows of the two tables.
    scores : ndarray of float64, shape (n,)
    links : ndarray of int64, shape (links,)
        The pairs that are links, by their index.
    sizes : (int, int)
        Rows of the two tables.

    Returns
    -------
    ndarray of int64, shape (links,)
        The greater number of the two records, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> i, j, scores = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 2]), np.array([5.0, 5.0, 5.0, 5.0, 4.0])
    >>> equally_good(i, j, scores, np.array([0, 3, 4]), (3, 3)).tolist()
    [2, 2, 1]
    """
    own = [np.full(size, np.inf, np.float64) for size in sizes]  # a record without a link has no rivals
    best = [np.full(size, -np.inf, np.float64) for size in sizes]
    for side, rows in enumerate((i, j)):
        own[side][rows[links]] = best[side][rows[links]] = scores[links]
    others = np.ones(len(scores), bool)
    others[links] = False
    found = np.ones(len(links), np.int64)
    for side, (rows, partners) in enumerate(((i, j), (j, i))):
        least = own[side][rows]
        rivals = others & (scores >= least - SAME) & (best[1 - side][partners] <= least + SAME)
        counts = np.bincount(rows[rivals], minlength=sizes[side])
        found = np.maximum(found, 1 + counts[rows[links]])
    return found
