"""Assignment: which of the pairs that score enough become links.

One-to-one links have the greatest sum of scores above the threshold in every component, that is, a
set of records that chains of pairs connect. In components that are too large for that they are
chosen greedily, the best first; their sum is at least half of the greatest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.extras import optional
from lshfast._common.types import Float64Array, Int64Array
from lshfast.kernels.sets import components
from lshfast.records.choices import Assignment

# Rounds of the greedy choice before pairs are taken one by one, and of settling sure pairs.
MOST_ROUNDS = 40
FEW_ROWS = 12  # of a component that is searched without scipy, at most
TIE = 1e-9  # sums that differ by less are equal; the greedy choice stays
NEARLY_AS_GOOD = 0.75  # of the value of the best match of a record
# Matches of a record on average, if records have several, or one; of at least FEWEST_RECORDS.
# Publications of two libraries have 1.0 and 2.1 to 2.2 where one lists each several times, and 1.0
# to 1.1 elsewhere.
SEVERAL = 1.25
ONE = 1.1
FEWEST_RECORDS = 20
SAME = 1e-6  # scores of pairs that differ by less are equal


def check_assignment(assign: str) -> None:
    """Raise ValueError unless this is the name of an assignment."""
    if assign not in get_args(Assignment):
        raise ValueError(
            f"assign must be one of {', '.join(get_args(Assignment))}, not {assign!r}"
        )


def likely_assignment(
    i: Int64Array, j: Int64Array, values: Float64Array, sizes: tuple[int, int]
) -> Assignment:
    """Return the assignment that pairs suggest: one-to-one, unless records have several matches.

    A record has several matches if it is the best candidate of several records of the other table,
    which are nearly as good as its own best one.

    Parameters
    ----------
    i, j : ndarray of int64, shape (n,)
        Rows of pairs that probably match.
    values : ndarray of float64, shape (n,)
        How well they match, above 0.
    sizes : (int, int)

    Examples
    --------
    >>> import numpy as np
    >>> i, j = np.repeat(np.arange(30), 2), np.arange(60)
    >>> (
    ...     likely_assignment(i, j, np.ones(60), (30, 60)),
    ...     likely_assignment(i[::2], j[::2], np.ones(30), (30, 60)),
    ... )
    ('one-to-many', 'one-to-one')
    """
    counts = [
        matches_of_records(i, j, values, sizes),
        matches_of_records(j, i, values, (sizes[1], sizes[0])),
    ]
    if min(map(len, counts)) < FEWEST_RECORDS:
        return "one-to-one"
    of_a, of_b = (float(count.mean()) for count in counts)
    if of_a >= SEVERAL and of_b <= ONE:
        return "one-to-many"
    return "many-to-one" if of_b >= SEVERAL and of_a <= ONE else "one-to-one"


def matches_of_records(
    i: Int64Array, j: Int64Array, values: Float64Array, sizes: tuple[int, int]
) -> Int64Array:
    """Return the number of probable matches of the rows of the first table that have any."""
    best = [np.zeros(size, np.float64) for size in sizes]
    np.maximum.at(best[0], i, values)
    np.maximum.at(best[1], j, values)
    matches = (values >= best[1][j]) & (values >= NEARLY_AS_GOOD * best[0][i])
    counts = np.bincount(i[matches], minlength=sizes[0])
    return counts[counts > 0]


def assigned(
    i: Int64Array,
    j: Int64Array,
    scores: Float64Array,
    assign: Assignment,
    *,
    least: float = 0.0,
    single: bool = False,
) -> Int64Array:
    """Return the pairs that become links, by their index, ascending.

    Parameters
    ----------
    i, j : ndarray of int64, shape (n,)
        Rows of the first and the second table, at least 0; each pair once.
    scores : ndarray of float64, shape (n,)
        Finite. Of pairs with equal scores, the one with the smaller i, then the smaller j, comes
        first.
    assign : {"one-to-one", "many-to-one", "one-to-many", "many-to-many"}
        many-to-one: each row of the first table has at most one link, the best; one-to-many: each
        row of the second. one-to-one: both, with the greatest sum of scores above `least` in each
        component of up to 1,000 rows on each side, and larger ones of few pairs; the best first in
        others; see `one_to_one`. many-to-many: all pairs.
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

    See Also
    --------
    lshfast.records.match_records : Link the records of two tables.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.records import assigned
    >>> i, j, scores = (
    ...     np.array([0, 0, 1]),
    ...     np.array([0, 1, 0]),
    ...     np.array([9.0, 8.0, 7.0]),
    ... )
    >>> (
    ...     assigned(i, j, scores, "one-to-one").tolist(),
    ...     assigned(i, j, scores, "many-to-one").tolist(),
    ... )
    ([1, 2], [0, 2])
    """
    check_assignment(assign)
    i = np.asarray(i)
    j = np.asarray(j)
    scores = np.asarray(scores)
    if i.ndim != 1 or not i.shape == j.shape == scores.shape:
        raise ValueError(
            f"i, j and scores must have one shape (n,), not {i.shape}, {j.shape} and {scores.shape}"
        )
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
    return one_to_one(i, j, scores - least, single=single).links


class OneToOne(NamedTuple):
    """Links of which each record has at most one.

    Attributes
    ----------
    links : ndarray of int64
        The chosen pairs, by their index, ascending.
    greedy : int
        Links of components in which they were chosen greedily.
    """

    links: Int64Array
    greedy: int


@dataclass(frozen=True)
class ExactWork:
    """The components that are solved exactly: their pairs x rows of the smaller side, at most.

    The sparse matching takes at most about 12 ns for each unit, with scores i j for row i and
    column j; with random scores, it takes a tenth of that. 1,000 x 1,000 records take 6 s or 1 s.

    Attributes
    ----------
    component, every : int
        Of one component, and of all of them together.
    """

    component: int = 2**30
    every: int = 2**31


WORK = ExactWork()


def one_to_one(
    i: Int64Array,
    j: Int64Array,
    gains: Float64Array,
    *,
    single: bool,
    work: ExactWork = WORK,
) -> OneToOne:
    """Choose pairs so that each row has at most one: exactly in small components, else greedily.

    Parameters
    ----------
    i, j : ndarray of int64, shape (n,)
        Rows of the first and the second table, or, if `single`, of the same table.
    gains : ndarray of float64, shape (n,)
        Finite, at least 0.
    single : bool
    work : ExactWork, default WORK

    Returns
    -------
    OneToOne
        Their gains have the greatest sum in each component of at most 12 rows, and in larger ones
        of which the product of pairs and rows of the smaller side is within `work`, the smallest
        first. A larger component of one table that has no two sides, as it has an odd circle, is
        greedy.
    """
    if not len(i):
        return OneToOne(np.zeros(0, np.int64), 0)
    i = i.astype(np.int64, copy=False)
    j = j.astype(np.int64, copy=False)
    # Rows of the first table come before the rows of the second.
    first = 0 if single else int(i.max()) + 1
    j = j + first
    rows = int(max(i.max(), j.max())) + 1
    counts = np.bincount(np.concatenate([i, j]), minlength=rows)
    has_rivals = (counts[i] > 1) | (counts[j] > 1)
    if not has_rivals.all():
        places = np.flatnonzero(has_rivals)
        matching = one_to_one(
            i[places], j[places] - first, gains[places], single=single, work=work
        )
        is_chosen = ~has_rivals
        is_chosen[places[matching.links]] = True
        return OneToOne(np.flatnonzero(is_chosen), matching.greedy)
    order = np.lexsort((j, i, -gains))
    greedy_links = _greedy(i, j, order, rows)
    labels = components(i, j, rows)
    label = labels[i]
    sizes = np.bincount(label, minlength=rows)  # pairs of each component
    nodes = np.bincount(labels, minlength=rows)  # its rows
    # Of two pairs in a component, the better one is the answer.
    few = (sizes > 2) & (nodes <= FEW_ROWS)
    if single:
        sides = _sides(i, j, rows)
    else:
        sides = (np.arange(rows, dtype=np.int64) >= first).astype(np.int8)
    large, tried = _tractable(sides, labels, sizes, nodes, work)
    exact = few | large
    greedy = int((tried & ~large)[label[greedy_links]].sum())
    if not exact.any():
        return OneToOne(greedy_links, greedy)
    exact_order = order[exact[label[order]]]
    settled, open_pairs = _best_in_rounds(i, j, exact_order, rows, gains)
    links = [greedy_links[~exact[label[greedy_links]]], settled]
    is_chosen = np.zeros(len(i), bool)
    is_chosen[greedy_links] = True
    for part in _parts_of_components(i, j, open_pairs, rows):
        ends = i[part].tolist(), j[part].tolist()
        if len({*ends[0], *ends[1]}) <= FEW_ROWS:
            links.append(part[_best_matching(*ends, gains[part].tolist())])
        else:
            links.append(
                _sparse_matching(i, j, gains, part, sides, part[is_chosen[part]])
            )
    return OneToOne(np.sort(np.concatenate(links)), greedy)


def _parts_of_components(
    i: Int64Array, j: Int64Array, pairs: Int64Array, rows: int
) -> list[Int64Array]:
    """Return the pairs of each component, in their order."""
    if not len(pairs):
        return []
    label = components(i[pairs], j[pairs], rows)[i[pairs]]
    by_label = np.argsort(label, kind="stable")
    return np.split(pairs[by_label], np.flatnonzero(np.diff(label[by_label])) + 1)


def _best_in_rounds(
    i: Int64Array,
    j: Int64Array,
    order: Int64Array,
    rows: int,
    gains: Float64Array | None = None,
) -> tuple[Int64Array, Int64Array]:
    """Take pairs that are the first of both rows, in rounds; return them, and pairs of other rows.

    With gains, a pair must also gain as much as both seconds together: then it belongs to a
    matching with the greatest sum. Pairs are given and returned the best first.
    """
    taken_pairs = [order[:0]]
    open_pairs = order
    for _ in range(MOST_ROUNDS):
        ends = i[open_pairs], j[open_pairs]
        place = np.arange(len(open_pairs), dtype=np.int64)
        first = _first_places(ends, rows)
        best = (first[ends[0]] == place) & (first[ends[1]] == place)
        if gains is not None:
            seconds = np.zeros(rows)
            for side in ends:
                later = first[side] != place
                np.maximum.at(seconds, side[later], gains[open_pairs[later]])
            best &= gains[open_pairs] >= seconds[ends[0]] + seconds[ends[1]]
        if not best.any():  # also if no pair is left
            break
        taken_pairs.append(open_pairs[best])
        is_taken = np.zeros(rows, bool)
        for side in ends:
            is_taken[side[best]] = True
        open_pairs = open_pairs[~(is_taken[ends[0]] | is_taken[ends[1]])]
    return np.concatenate(taken_pairs), open_pairs


def _first_places(ends: tuple[Int64Array, Int64Array], rows: int) -> Int64Array:
    """Return for each row the place of its first pair; any number for rows of no pair."""
    first = np.empty(rows, np.int64)
    place = np.arange(len(ends[0]), dtype=np.int64)[::-1]
    # Of repeated assignments the last stays.
    first[np.stack(ends, axis=1)[::-1].reshape(-1)] = np.repeat(place, 2)
    return first


def _sides(i: Int64Array, j: Int64Array, rows: int) -> npt.NDArray[np.int8]:
    """Return a side, 0 or 1, for each row such that pairs connect both; -1 where there are none.

    Each row stands for two nodes, 2 row and 2 row + 1, and each pair connects nodes of different
    parity. Where these components have two sides, they are twins of two components.
    """
    both = components(
        np.concatenate([2 * i, 2 * i + 1]), np.concatenate([2 * j + 1, 2 * j]), 2 * rows
    )
    return np.where(both[::2] == both[1::2], -1, both[::2] & 1).astype(np.int8)


def _tractable(
    sides: npt.NDArray[np.int8],
    labels: Int64Array,
    sizes: Int64Array,
    nodes: Int64Array,
    work: ExactWork,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which components are large and solved exactly, and which are large, by label."""
    large = nodes > FEW_ROWS
    first = np.bincount(labels[sides == 0], minlength=len(nodes))
    smaller = np.minimum(first, nodes - first)
    # A star has a smaller side of one row, and its best pair is the answer.
    is_able = large & (sides[labels] >= 0) & (smaller > 1)
    able = np.flatnonzero(is_able & (sizes * smaller <= work.component))
    products = sizes[able] * smaller[able]
    order = np.argsort(products, kind="stable")
    exact = np.zeros(len(nodes), bool)
    exact[able[order[np.cumsum(products[order], dtype=np.int64) <= work.every]]] = True
    return exact, large & (smaller != 1)


def _sparse_matching(
    i: Int64Array,
    j: Int64Array,
    gains: Float64Array,
    part: Int64Array,
    sides: npt.NDArray[np.int8],
    greedy: Int64Array,
) -> Int64Array:
    """Return the pairs of a component with two sides with the greatest sum of gains.

    Each row of the smaller side may take a column of its own instead of a pair, without gain.
    If sums are equal, the pairs in `greedy` are the answer.
    """
    largest = float(gains[part].max())
    if largest <= 0:
        return greedy
    swapped = sides[i[part]] == 1
    first, rows = np.unique(np.where(swapped, j[part], i[part]), return_inverse=True)
    second, columns = np.unique(
        np.where(swapped, i[part], j[part]), return_inverse=True
    )
    if len(second) < len(first):
        first, rows, second, columns = second, columns, first, rows
    own_columns = np.arange(len(first), dtype=np.int64)
    costs = np.concatenate(
        [2 - gains[part] / largest, np.full(len(first), 2.0, np.float64)]
    )
    places = (
        np.concatenate([rows, own_columns]),
        np.concatenate([columns, len(second) + own_columns]),
    )
    shape = (len(first), len(first) + len(second))
    sparse: Any = optional("scipy.sparse", "records")
    graph: Any = optional("scipy.sparse.csgraph", "records")
    matched_rows, matched_columns = graph.min_weight_full_bipartite_matching(
        sparse.csr_matrix((costs, places), shape=shape)
    )
    column_of = np.full(len(first), -1, np.int64)
    column_of[matched_rows] = matched_columns
    matching = part[column_of[rows] == columns]
    is_better = gains[matching].sum() > gains[greedy].sum() + TIE * max(1.0, largest)
    return matching if is_better else greedy


def _best_matching(i: list[int], j: list[int], gains: list[float]) -> list[int]:
    """Return the index of the pairs of a matching with the greatest sum of gains.

    Pairs are given the best first. The sets of used rows are the states of a dynamic program.
    """
    bit = {row: 1 << place for place, row in enumerate(dict.fromkeys([*i, *j]))}
    masks = [bit[first] | bit[second] for first, second in zip(i, j, strict=True)]
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for place, (mask, gain) in enumerate(zip(masks, gains, strict=True)):
        for used_rows, (total, pairs) in list(best.items()):
            if used_rows & mask:
                continue
            other_total, _ = best.get(used_rows | mask, (-np.inf, []))
            if total + gain > other_total + TIE:
                best[used_rows | mask] = (total + gain, [*pairs, place])
    _, best_pairs = max(best.values(), key=lambda state: state[0])
    return best_pairs


def _greedy(i: Int64Array, j: Int64Array, order: Int64Array, rows: int) -> Int64Array:
    """Take the pairs in an order, each unless one of its rows is taken.

    The rest of long chains is taken one by one.
    """
    links, open_pairs = _best_in_rounds(i, j, order, rows)
    is_taken = np.zeros(rows, bool)
    last_links = []
    for pair in open_pairs.tolist():
        if not (is_taken[i[pair]] or is_taken[j[pair]]):
            is_taken[i[pair]] = True
            is_taken[j[pair]] = True
            last_links.append(pair)
    return np.sort(np.concatenate([links, np.array(last_links, np.int64)]))


def equally_good(
    i: Int64Array,
    j: Int64Array,
    scores: Float64Array,
    links: Int64Array,
    sizes: tuple[int, int],
) -> Int64Array:
    """Return for each one-to-one link how many pairs of a record are as good, with the link.

    Pairs of records that have better links do not count. If it is k, no more than one link of k can
    be right.

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
    >>> i, j, scores = (
    ...     np.array([0, 0, 1, 1, 2]),
    ...     np.array([0, 1, 0, 1, 2]),
    ...     np.array([5.0, 5.0, 5.0, 5.0, 4.0]),
    ... )
    >>> equally_good(i, j, scores, np.array([0, 3, 4]), (3, 3)).tolist()
    [2, 2, 1]
    """
    # A record without a link has no rivals.
    least_scores = [np.full(size, np.inf, np.float64) for size in sizes]
    link_scores = [np.full(size, -np.inf, np.float64) for size in sizes]
    for side, rows in enumerate((i, j)):
        least_scores[side][rows[links]] = scores[links]
        link_scores[side][rows[links]] = scores[links]
    is_no_link = np.ones(len(scores), bool)
    is_no_link[links] = False
    counts_of_links = np.ones(len(links), np.int64)
    for side, (rows, partners) in enumerate(((i, j), (j, i))):
        least = least_scores[side][rows]
        is_free = link_scores[1 - side][partners] <= least + SAME
        rivals = is_no_link & (scores >= least - SAME) & is_free
        counts = np.bincount(rows[rivals], minlength=sizes[side])
        counts_of_links = np.maximum(counts_of_links, 1 + counts[rows[links]])
    return counts_of_links
