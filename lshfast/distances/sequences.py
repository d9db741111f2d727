"""Distances of sets, and of sequences of equal length."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast.common.checks import array_of
from lshfast.common.types import Float64Array, Int64Array
from lshfast.distances.batches import listed, paired, strings_of
from lshfast.families.family import check_pairs
from lshfast.families.set_distances import jaccard as jaccard_similarities
from lshfast.tokens import TokenSets


def jaccard(a: Any, b: Any) -> Float64Array:
    """Return the Jaccard distances 1 - |A n B| / |A u B| of pairs of sets; 0 if both are empty.

    Parameters
    ----------
    a, b : TokenSets, set, or sequence of sets
        n sets each, both TokenSets or neither; one of them may be a single set.

    Returns
    -------
    ndarray of float64, shape (n,)
        In 0..1.

    Raises
    ------
    TypeError
        If these are not sets.
    ValueError
        If the numbers of sets differ.

    See Also
    --------
    lshfast.verify : Compute the exact similarities of candidate pairs.
    lshfast.distances.hamming : Hamming distances.

    Examples
    --------
    >>> from lshfast.distances import jaccard
    >>> jaccard({1, 2, 3, 4}, [{2, 3, 4, 5}, {4, 5, 6}]).tolist()
    [0.4, 0.8333333333333334]
    """
    if isinstance(a, TokenSets) and isinstance(b, TokenSets):
        n = check_pairs(len(a), len(b))
        empty = np.broadcast_to(a.counts == 0, n) & np.broadcast_to(b.counts == 0, n)
        return np.asarray(np.where(empty, 0.0, 1 - jaccard_similarities(a, b)))
    left, right = _sets(a, "a"), _sets(b, "b")
    pairs = paired(left, right)
    return np.array([len(x ^ y) / (len(x | y) or 1) for x, y in pairs], np.float64)


def hamming(a: Any, b: Any) -> Int64Array:
    """Return the numbers of places at which pairs of sequences of equal length differ.

    `lshfast.families.BitSampling.distance` does this for packed codes.

    Parameters
    ----------
    a, b : array_like, shape (n, length) or (length,), or str, bytes, or sequence of these
        One of them may be a single item. Elements must equal themselves, so NaN and NaT are refused.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError
        If strings are compared with other items.
    ValueError
        If lengths or numbers of items differ, or an element differs from itself.

    See Also
    --------
    lshfast.hamming_pairs : Find all pairs of codes within a Hamming distance.
    lshfast.distances.jaccard : Distances of sets.

    Examples
    --------
    >>> from lshfast.distances import hamming
    >>> hamming("10101", ["11110", "10101"]).tolist(), hamming([1, 0, 1], [[1, 1, 1]]).tolist()
    ([3, 0], [1])
    """
    if _is_text(a) or _is_text(b):
        pairs = paired(strings_of(a, "a"), strings_of(b, "b"))
        for i, (x, y) in enumerate(pairs):
            if len(x) != len(y):
                raise ValueError(f"a and b must have equal lengths, and pair {i} has {len(x)} and {len(y)}")
        return np.array([sum(p != q for p, q in zip(x, y, strict=True)) for x, y in pairs], np.int64)
    rows = _rows(a, "a"), _rows(b, "b")
    if rows[0].shape[1] != rows[1].shape[1]:
        raise ValueError(f"a and b must have equal lengths, not {rows[0].shape[1]} and {rows[1].shape[1]}")
    check_pairs(len(rows[0]), len(rows[1]))
    return np.asarray(np.count_nonzero(rows[0] != rows[1], axis=1), np.int64)


def _is_text(items: Any) -> bool:
    """Return whether the items are one string or a sequence that begins with one."""
    if isinstance(items, np.ndarray):
        return items.dtype.kind in "US"
    return isinstance(items, (str, bytes)) or (
        isinstance(items, Sequence) and len(items) > 0 and isinstance(items[0], (str, bytes))
    )


def _sets(items: Any, name: str) -> list[AbstractSet[Any]]:
    found = [items] if isinstance(items, AbstractSet) else listed(items, name, "sets, or both TokenSets")
    for item in found:
        if not isinstance(item, AbstractSet):
            raise TypeError(f"{name} must be sets, or both TokenSets, not {type(item).__name__}")
    return found


def _rows(items: Any, name: str) -> npt.NDArray[Any]:
    if isinstance(items, TokenSets):
        raise TypeError(f"{name} must be sequences of equal length, not TokenSets")
    array = array_of(items, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have one dimension or two, not {array.ndim}")
    if np.asarray(array != array).any():
        raise ValueError(f"{name} must not have elements that differ from themselves, such as NaN")
    return np.atleast_2d(array)
