"""Groups from pairs: stars around kept rows, or connected components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import objects_of
from lshfast._common.checks import array_of
from lshfast._common.rows import (
    int64_range,
    inverse,
    offsets_of,
    parts_of_rows,
    run_begins,
)
from lshfast._common.types import Float64Array, Int64Array, PairArray
from lshfast.join.copies import first_copies
from lshfast.join.pair_arrays import PAIRS_AT_ONCE, order_of_pairs
from lshfast.kernels import sets as kernels


@dataclass(frozen=True)
class Groups:
    """The kept row of each row's group.

    Attributes
    ----------
    keeper : ndarray of int64, shape (n,)
        The kept row; the row itself if it is kept.
    similarity : ndarray of float64, shape (n,)
        Similarity to the keeper, taken from the pairs. 1 for a copy; NaN if there is no pair of the
        two rows.
    labels : ndarray of int64, shape (n,)
        The smallest row of the group.
    """

    keeper: Int64Array
    similarity: Float64Array
    labels: Int64Array


def preferred(n: int, preference: npt.ArrayLike | None) -> Int64Array:
    """Return the rows in order of preference: by descending value, then by ascending row number."""
    if preference is None:
        return int64_range(n)
    values = array_of(preference, "the values to prefer rows by")
    if values.shape != (n,):
        raise ValueError(
            f"one value a row is needed to prefer rows by: {n}, not shape {values.shape}"
        )
    # Numpy converts a mixture of numbers and strings to strings; Python objects keep their types.
    if values.dtype.kind in "OUSV":
        values = np.fromiter(
            objects_of(preference, "the values to prefer rows by"), object, n
        )
    missing = np.asarray(values != values)  # NaN and NaT
    if missing.any():
        raise ValueError(
            f"values to prefer rows by must not be missing, as that of row {missing.argmax()} is"
        )
    try:
        _, ranks = np.unique(values, return_inverse=True)
    except TypeError:
        raise TypeError(
            "values to prefer rows by must be comparable: all numbers, or all strings"
        ) from None
    return np.argsort(-ranks.astype(np.int64), kind="stable").astype(np.int64)


def larger_first(sizes: Int64Array, preference: npt.ArrayLike | None) -> Int64Array:
    """Return a preference for larger sets, and among sets of one size for preferred rows."""
    order = preferred(len(sizes), preference)
    values = np.empty(len(sizes), np.int64)
    largest_first = order[np.argsort(-sizes[order], kind="stable")]
    values[largest_first] = int64_range(len(sizes), 0, -1)
    return values


def climbing_pairs(
    n: int,
    pairs: PairArray,
    *,
    copies: Int64Array | None = None,
    preference: npt.ArrayLike | None = None,
) -> PairArray:
    """Return, for each row in pairs with preferred rows, its pair with the most preferred of them.

    Parameters
    ----------
    n, copies, preference
        As for `star_groups`.
    pairs : structured ndarray with fields i, j, similarity
        Pairs of similar rows that are first copies, sorted by (i, j).

    Returns
    -------
    structured ndarray with fields i, j, similarity
        Sorted by (i, j). They form a forest, whose roots are similar to no preferred row.
    """
    best, rank = best_copies(preferred(n, preference), first_copies(n, copies))
    i = rank[best[pairs["i"]]]
    j = rank[best[pairs["j"]]]
    later = np.maximum(i, j)
    earlier = np.minimum(i, j)
    order = order_of_pairs(later, earlier)
    first_of_row = run_begins(later[order])
    return np.asarray(pairs[np.sort(order[first_of_row])])


def star_groups(
    n: int,
    pairs: PairArray,
    *,
    copies: Int64Array | None = None,
    preference: npt.ArrayLike | None = None,
) -> Groups:
    """Group rows into stars: each removed row is itself similar to the kept row.

    Rows are processed in order of preference. A row that has no keeper yet is kept. It becomes the
    keeper of all similar rows that have no keeper yet.

    Parameters
    ----------
    n : int
        Number of rows.
    pairs : structured ndarray with fields i, j, similarity
        Pairs of similar rows. A copy is treated as its first copy.
    copies : ndarray of int64, shape (n,), optional
        The first copy of each row (see `find_copies`).
    preference : array_like, shape (n,), optional
        Rows with greater values are kept first. By default rows are preferred in their order.

    See Also
    --------
    lshfast.component_groups : Group pairs by connected components.
    lshfast.verify : Compute the exact similarities of candidate pairs.
    lshfast.dedup : Remove near-duplicates from texts in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import star_groups
    >>> from lshfast.join import PAIR
    >>> chain = np.array([(0, 1, 0.9), (1, 2, 0.8)], PAIR)
    >>> star_groups(4, chain).keeper.tolist()
    [0, 0, 2, 3]
    >>> star_groups(4, chain, preference=[1, 2, 1, 1]).keeper.tolist()
    [1, 1, 1, 3]
    """
    order = preferred(n, preference)
    first = first_copies(n, copies)
    best, rank = best_copies(order, first)
    kinds = np.argsort(rank[best[first]], kind="stable").astype(np.int64)
    offsets, neighbours, similarity = _adjacency(n, *_between_kinds(n, pairs, first))
    kept_kind, by = kernels.stars(kinds, offsets, neighbours)
    to_kind = np.where(by >= 0, similarity[by] if len(similarity) else 1.0, 1.0)
    keeper = best[kept_kind[first]]
    return Groups(keeper, to_kind[first], smallest(keeper))


def component_groups(
    n: int,
    pairs: PairArray,
    *,
    copies: Int64Array | None = None,
    preference: npt.ArrayLike | None = None,
) -> Groups:
    """Group rows that are connected by chains of similar pairs (single linkage).

    The parameters are the same as for `star_groups`.

    See Also
    --------
    lshfast.star_groups : Group pairs around rows that are kept.
    lshfast.verify : Compute the exact similarities of candidate pairs.
    lshfast.dedup : Remove near-duplicates from texts in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import component_groups
    >>> from lshfast.join import PAIR
    >>> component_groups(4, np.array([(0, 1, 0.9), (1, 2, 0.8)], PAIR)).keeper.tolist()
    [0, 0, 0, 3]
    """
    order = preferred(n, preference)
    first = first_copies(n, copies)
    i, j, pair_similarity = _between_kinds(n, pairs, first)
    labels = kernels.components(i, j, n)[first]
    best, _ = best_copies(order, labels)
    keeper = best[labels]
    # The similarity of each pair, by (first copy, first copy of the keeper).
    keys = i * n + j
    order = order_of_pairs(i, j)
    keeper_keys = np.minimum(first, first[keeper]) * n + np.maximum(
        first, first[keeper]
    )
    similarity = np.where(first == first[keeper], 1.0, np.nan)
    if len(keys):
        places = np.searchsorted(keys, keeper_keys, sorter=order)
        pair_numbers = order[np.minimum(places, len(keys) - 1)]
        has_pair = keys[pair_numbers] == keeper_keys
        similarity[has_pair] = pair_similarity[pair_numbers[has_pair]]
    return Groups(keeper, similarity, smallest(keeper))


def _between_kinds(
    n: int, pairs: PairArray, first: Int64Array
) -> tuple[Int64Array, Int64Array, Float64Array]:
    """Return (i, j, similarity) of the pairs of different first copies."""
    if len(pairs) <= PAIRS_AT_ONCE:
        return _part_between_kinds(n, pairs, first)
    parts = [
        _part_between_kinds(n, pairs[part], first)
        for part in parts_of_rows(len(pairs), PAIRS_AT_ONCE)
    ]
    i, j, similarity = (np.concatenate(column) for column in zip(*parts, strict=True))
    return i, j, similarity


def _part_between_kinds(
    n: int, pairs: PairArray, first: Int64Array
) -> tuple[Int64Array, Int64Array, Float64Array]:
    for name in ("i", "j"):
        if len(pairs) and not 0 <= pairs[name].min() <= pairs[name].max() < n:
            raise ValueError(
                f"rows of pairs must be in 0..{n - 1}, not {pairs[name].min()}..{pairs[name].max()}"
            )
    i = first[pairs["i"]]
    j = first[pairs["j"]]
    different = i != j
    return (
        np.minimum(i, j)[different],
        np.maximum(i, j)[different],
        pairs["similarity"][different],
    )


def best_copies(order: Int64Array, label: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the most preferred row of each label (indexed by label), and the rank of each row."""
    best = np.zeros(len(order), np.int64)
    # The most preferred row is written last and stays.
    best[label[order[::-1]]] = order[::-1]
    return best, inverse(order)


def by_preference(
    rows: Int64Array, copies: Int64Array, preference: npt.ArrayLike | None
) -> Int64Array:
    """Return first copies by the rank of their most preferred copy, as groups take them.

    `copies` has the first copy of each of all rows.
    """
    best, rank = best_copies(preferred(len(copies), preference), copies)
    return rows[np.argsort(rank[best[rows]], kind="stable")].astype(np.int64)


def _adjacency(
    n: int, i: Int64Array, j: Int64Array, similarity: Float64Array
) -> tuple[Int64Array, Int64Array, Float64Array]:
    """Return (offsets, neighbours, similarities) of the graph, with ascending neighbours."""
    ends = np.concatenate([i, j])
    opposite_ends = np.concatenate([j, i])
    order = order_of_pairs(ends, opposite_ends)
    offsets = offsets_of(np.bincount(ends, minlength=n))
    return offsets, opposite_ends[order], np.tile(similarity, 2)[order]


def smallest(keeper: Int64Array) -> Int64Array:
    """Return, for each row, the smallest row with the same keeper."""
    first = np.empty_like(keeper)
    # The smallest is written last and stays.
    first[keeper[::-1]] = int64_range(len(keeper) - 1, -1, -1)
    return first[keeper]
