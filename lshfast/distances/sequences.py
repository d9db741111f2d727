"""Distances of sequences of equal length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of
from lshfast._common.types import Int64Array
from lshfast.distances.batches import are_strings, in_form, paired, strings_of
from lshfast.families.family import check_pairs
from lshfast.tokens import TokenSets


def hamming(a: Any, b: Any) -> np.int64 | Int64Array:
    """Return the numbers of places at which pairs of sequences of equal length differ.

    `lshfast.families.BitSampling.distance` does this for packed codes.

    Parameters
    ----------
    a, b : array_like, shape (n, length) or (length,), or str, bytes, or sequence of these
        One of them may be a single item. Elements must equal themselves, so NaN and NaT are
        refused.

    Returns
    -------
    ndarray of int64, shape (n,)
        For two single items one number, an int64.

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
    >>> (
    ...     hamming("10101", ["11110", "10101"]).tolist(),
    ...     hamming([1, 0, 1], [[1, 1, 1]]).tolist(),
    ... )
    ([3, 0], [1])
    >>> int(hamming("10101", "11110"))
    3
    """
    if _is_text(a) or _is_text(b):
        pairs = paired(strings_of(a, "a"), strings_of(b, "b"))
        for i, (x, y) in enumerate(pairs):
            if len(x) != len(y):
                raise ValueError(
                    f"a and b must have equal lengths, and pair {i} has {len(x)} and {len(y)}"
                )
        counts = [sum(p != q for p, q in zip(x, y, strict=True)) for x, y in pairs]
        return in_form(np.array(counts, np.int64), are_strings(a, b))
    first = _items(a, "a")
    second = _items(b, "b")
    left = np.atleast_2d(first)
    right = np.atleast_2d(second)
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"a and b must have equal lengths, not {left.shape[1]} and {right.shape[1]}"
        )
    check_pairs(len(left), len(right))
    differences = np.asarray(np.count_nonzero(left != right, axis=1), np.int64)
    return in_form(differences, first.ndim == second.ndim == 1)


def _is_text(items: Any) -> bool:
    """Return whether the items are one string or a sequence that begins with one."""
    if isinstance(items, np.ndarray):
        return items.dtype.kind in "US"
    if isinstance(items, (str, bytes)):
        return True
    return (
        isinstance(items, Sequence)
        and len(items) > 0
        and isinstance(items[0], (str, bytes))
    )


def _items(items: Any, name: str) -> npt.NDArray[Any]:
    """Return one item or several as an array of one dimension or two."""
    if isinstance(items, TokenSets):
        raise TypeError(f"{name} must be sequences of equal length, not TokenSets")
    array = array_of(items, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have one dimension or two, not {array.ndim}")
    if np.asarray(array != array).any():
        raise ValueError(
            f"{name} must not have elements that differ from themselves, such as NaN"
        )
    return array
