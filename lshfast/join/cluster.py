"""Groups from pairs: stars, in which each removed row is similar to the kept one, or chained components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast.kernels import sets as kernels
from lshfast.tokens import Float64Array, Int64Array


@dataclass(frozen=True)
class Groups:
    """Which row is kept in each row's place.

    Attributes
    ----------
    keeper : ndarray of int64, shape (n,)
        The kept row; the row itself where it is kept.
    similarity : ndarray of float64, shape (n,)
        Similarity to the keeper as the pairs say; 1 for a copy, NaN where no pair joins the two.
    labels : ndarray of int64, shape (n,)
        The smallest row of the group.
    """

    keeper: Int64Array
    similarity: Float64Array
    labels: Int64Array


def preferred(n: int, preference: npt.ArrayLike | None) -> Int64Array:
    """Return the rows in order of preference: the greatest value first, the smaller row first among equals."""
    if preference is None:
        return np.arange(n, dtype=np.int64)
    values = np.asarray(preference)
    if values.shape != (n,):
        raise ValueError(f"one value a row is needed to prefer rows by: {n}, not shape {values.shape}")
    strings = (isinstance(value, (str, bytes)) for value in np.asarray(preference, object))
    mixed = values.dtype.kind in "US" and not all(strings)
    if values.dtype.kind in "OV" or mixed:
        raise TypeError("values to prefer rows by must be all numbers or all strings")
    if values.dtype.kind in "fc" and np.isnan(values).any():
        raise ValueError(f"values to prefer rows by must not be NaN, as that of row {np.isnan(values).argmax()} is")
    _, ranks = np.unique(values, return_inverse=True)
    return np.argsort(-ranks.astype(np.int64), kind="stable").astype(np.int64)


def star_groups(
    n: int,
    pairs: npt.NDArray[np.void],
    *,
    copies: Int64Array | None = None,
    preference: npt.ArrayLike | None = None,
) -> Groups:
    """Group rows into stars: each row that is not kept is itself similar to the one kept in its place.

    Rows are gone through in order of preference; one that nobody keeps yet is kept, and is kept in place of all rows
    similar to it that nobody keeps yet.

    Parameters
    ----------
    n : int
        Rows.
    pairs : structured ndarray with fields i, j, similarity
        Similar rows; of copies, only the first ones.
    copies : ndarray of int64, shape (n,), optional
        Each row's first copy (see `find_copies`).
    preference : array_like, shape (n,), optional
        The greater, the rather a row is kept; by default the first.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import PAIR, star_groups
    >>> chain = np.array([(0, 1, 0.9), (1, 2, 0.8)], PAIR)
    >>> star_groups(4, chain).keeper.tolist()
    [0, 0, 2, 3]
    >>> star_groups(4, chain, preference=[1, 2, 1, 1]).keeper.tolist()
    [1, 1, 1, 3]
    """
    order, first = preferred(n, preference), _first_copies(n, copies)
    best, rank = _best_copies(order, first)
    kinds = np.argsort(rank[best[first]], kind="stable").astype(np.int64)
    offsets, neighbours, similarity = _adjacency(n, pairs)
    kept_kind, by = kernels.stars(kinds, offsets, neighbours)
    to_kind = np.where(by >= 0, similarity[by] if len(similarity) else 1.0, 1.0)
    keeper = best[kept_kind[first]]
    return Groups(keeper, to_kind[first], _smallest(keeper))


def component_groups(
    n: int,
    pairs: npt.NDArray[np.void],
    *,
    copies: Int64Array | None = None,
    preference: npt.ArrayLike | None = None,
) -> Groups:
    """Group rows that are joined by a chain of similar pairs (single linkage); parameters as for `star_groups`.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import PAIR, component_groups
    >>> component_groups(4, np.array([(0, 1, 0.9), (1, 2, 0.8)], PAIR)).keeper.tolist()
    [0, 0, 0, 3]
    """
    order, first = preferred(n, preference), _first_copies(n, copies)
    i, j = np.ascontiguousarray(pairs["i"]), np.ascontiguousarray(pairs["j"])
    labels = kernels.components(i, j, n)[first]
    best, _ = _best_copies(order, labels)
    keeper = best[labels]
    # Similarities of the pairs there are, looked up by (kind, kind of the keeper).
    a, b = np.minimum(first, first[keeper]), np.maximum(first, first[keeper])
    similarity = np.where(a == b, 1.0, np.nan)
    if len(pairs):
        sorted_keys = i * n + j
        place = np.searchsorted(sorted_keys, a * n + b)
        found = sorted_keys[np.minimum(place, len(pairs) - 1)] == a * n + b
        similarity[found] = pairs["similarity"][place[found]]
    return Groups(keeper, similarity, _smallest(keeper))


def _first_copies(n: int, copies: Int64Array | None) -> Int64Array:
    return np.arange(n, dtype=np.int64) if copies is None else np.asarray(copies, np.int64)


def _best_copies(order: Int64Array, label: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the most preferred row of each label (at the label's place), and each row's rank."""
    best = np.zeros(len(order), np.int64)
    best[label[order[::-1]]] = order[::-1]  # written last, the most preferred stays
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return best, rank


def _adjacency(n: int, pairs: npt.NDArray[np.void]) -> tuple[Int64Array, Int64Array, Float64Array]:
    """Return (offsets, neighbours, similarities) of the graph of pairs, neighbours ascending."""
    ends = np.concatenate([pairs["i"], pairs["j"]])
    others = np.concatenate([pairs["j"], pairs["i"]])
    order = np.lexsort((others, ends))
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=offsets[1:])
    return offsets, others[order], np.tile(pairs["similarity"], 2)[order]


def _smallest(keeper: Int64Array) -> Int64Array:
    """Return the smallest row of each group of rows with one keeper."""
    _, first, group = np.unique(keeper, return_index=True, return_inverse=True)
    return first.astype(np.int64)[group.reshape(-1)] if len(keeper) else keeper
