"""Exact distances of sets: Jaccard, weighted Jaccard, and angles between counts of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lshfast._common.rows import int64_range, run_begins
from lshfast._common.threads import pieces
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.families.family import check_pairs
from lshfast.kernels import sets as kernels
from lshfast.sketch.sketcher import check_token_sets
from lshfast.sketch.weighted import WeightedSets
from lshfast.tokens import TokenSets

# Tokens of sets that are compared at once.
PIECE_TOKENS = 2**20


def jaccard(a: Any, b: Any) -> Float64Array:
    """Return the Jaccard similarities of pairs of token sets; 0 if either is empty.

    Parameters
    ----------
    a, b : TokenSets
        n sets each; one of them may be a single set.

    Returns
    -------
    ndarray of float64, shape (n,)

    Raises
    ------
    TypeError
        If these are not TokenSets.
    ValueError
        If the numbers of sets differ.
    """
    _check_exact(a, b)
    n = check_pairs(len(a), len(b))
    a = a.distinct()
    b = b.distinct()
    pairs = int64_range(n)
    left_rows = pairs % max(len(a), 1)
    right_rows = pairs % max(len(b), 1) + len(a)
    offsets = np.concatenate([a.offsets, b.offsets[1:] + a.offsets[-1]])
    tokens = np.concatenate([a.tokens, b.tokens])
    similarity = kernels.similarities(offsets, tokens, left_rows, right_rows, 0.0)
    empty = (a.counts[left_rows] == 0) | (b.counts[right_rows - len(a)] == 0)
    return np.asarray(np.where(empty, 0.0, similarity))


def overlaps(a: TokenSets, b: TokenSets) -> tuple[Int64Array, Float64Array]:
    """Return the number of common tokens of pairs of sets, int64, and Jaccard similarities."""
    similarity = jaccard(a, b)
    sizes = a.distinct().counts + b.distinct().counts
    return np.rint(similarity / (1 + similarity) * sizes).astype(np.int64), similarity


def weighted_distances(a: Any, b: Any) -> Float64Array:
    """Return 1 - sum min / sum max of the weights of pairs of weighted sets; 1 if either is empty.

    Parameters
    ----------
    a, b : WeightedSets
        n sets each; one of them may be a single set.

    Returns
    -------
    ndarray of float64, shape (n,)

    Raises
    ------
    TypeError
        If these are not WeightedSets.
    ValueError
        If the numbers of sets differ.
    """
    for name, sets in (("a", a), ("b", b)):
        if not isinstance(sets, WeightedSets):
            raise TypeError(
                f"{name} must be WeightedSets, of which distances are exact, not "
                f"{type(sets).__name__}"
            )
    distances = np.ones(check_pairs(len(a), len(b)))
    for pairs, rows, left_weights, right_weights in _aligned(a, b):
        n = pairs.stop - pairs.start
        least_sums = np.bincount(rows, np.minimum(left_weights, right_weights), n)
        greatest_sums = np.bincount(rows, np.maximum(left_weights, right_weights), n)
        present = greatest_sums > 0
        distances[pairs][present] = 1 - least_sums[present] / greatest_sums[present]
    return distances


def angles_of_counts(a: Any, b: Any) -> Float64Array:
    """Return the angles between vectors of counts of tokens; pi / 2 if either set is empty.

    Parameters
    ----------
    a, b : TokenSets
        n rows each; one of them may be a single row.

    Returns
    -------
    ndarray of float64, shape (n,)
        In [0, pi / 2], also exact for small angles.

    Raises
    ------
    TypeError
        If these are not TokenSets.
    ValueError
        If the numbers of rows differ.
    """
    _check_exact(a, b)
    angles = np.full(check_pairs(len(a), len(b)), np.pi / 2, np.float64)
    for pairs, rows, left_weights, right_weights in _aligned(
        WeightedSets.counted(a), WeightedSets.counted(b)
    ):
        n = pairs.stop - pairs.start
        left_norms = np.sqrt(np.bincount(rows, left_weights * left_weights, n))
        right_norms = np.sqrt(np.bincount(rows, right_weights * right_weights, n))
        present = (left_norms > 0) & (right_norms > 0)
        in_angle = present[rows]
        rows = rows[in_angle]
        left_weights = left_weights[in_angle] / left_norms[rows]
        right_weights = right_weights[in_angle] / right_norms[rows]
        difference_norms = np.sqrt(
            np.bincount(rows, (left_weights - right_weights) ** 2, n)
        )
        sum_norms = np.sqrt(np.bincount(rows, (left_weights + right_weights) ** 2, n))
        angles[pairs][present] = 2 * np.arctan2(difference_norms, sum_norms)[present]
    return np.asarray(np.minimum(angles, np.pi / 2))


def _check_exact(a: Any, b: Any) -> None:
    for name, sets in (("a", a), ("b", b)):
        if isinstance(sets, np.ndarray):
            raise TypeError(
                f"{name} must be TokenSets, of which distances are exact, not sketches"
            )
        check_token_sets(sets)


def _aligned(
    a: WeightedSets, b: WeightedSets
) -> Iterator[tuple[slice, Int64Array, Float64Array, Float64Array]]:
    """Yield slices of pairs, with the pair number and both weights of each token of a pair.

    The weights of a pair are multiplied by a power of two such that the greatest is in [1/2, 1), so
    no sum overflows.
    """
    n = check_pairs(len(a), len(b))
    sizes = np.broadcast_to(a.counts, n) + np.broadcast_to(b.counts, n)
    for pairs in pieces(sizes, PIECE_TOKENS):
        columns = zip(_rows(a, pairs, 0), _rows(b, pairs, 1), strict=True)
        rows, tokens, weights, sides = (np.concatenate(column) for column in columns)
        greatest = np.zeros(pairs.stop - pairs.start)
        np.maximum.at(greatest, rows, weights)
        weights = np.ldexp(weights, -np.frexp(greatest)[1][rows])
        order = np.lexsort((tokens, rows))
        rows = rows[order]
        tokens = tokens[order]
        weights = weights[order]
        sides = sides[order]
        first = run_begins(rows, tokens)
        places = np.cumsum(first, dtype=np.int64) - 1
        both = np.zeros((2, int(first.sum())))
        both[sides, places] = weights
        yield pairs, rows[first], both[0], both[1]


def _rows(
    sets: WeightedSets, pairs: slice, side: int
) -> tuple[Int64Array, UInt64Array, Float64Array, Int64Array]:
    """Return the pair number, the token, the weight and the side of each token of some pairs."""
    n = pairs.stop - pairs.start
    if len(sets) == 1:
        first, last = sets.offsets.tolist()
        tokens = np.tile(sets.tokens[first:last], n)
        weights = np.tile(sets.weights[first:last], n)
        rows = np.repeat(int64_range(n), last - first)
    else:
        offsets = sets.offsets[pairs.start : pairs.stop + 1]
        tokens = sets.tokens[offsets[0] : offsets[-1]]
        weights = sets.weights[offsets[0] : offsets[-1]]
        rows = np.repeat(int64_range(n), np.diff(offsets))
    return rows, tokens, weights, np.full(len(rows), side, np.int64)
