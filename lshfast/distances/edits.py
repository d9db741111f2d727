"""Distances of strings by edits, which rapidfuzz computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lshfast.common.extras import optional
from lshfast.common.types import Int64Array
from lshfast.distances.batches import paired, strings_of


def indel(a: Any, b: Any) -> Int64Array:
    """Return the least numbers of insertions and deletions that change one string into the other.

    It is len(a) + len(b) - 2 len(LCS), with a longest common subsequence.

    Parameters
    ----------
    a, b : str, bytes, or sequence of these
        n strings each; one of them may be a single string.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError
        If the items are not strings, or str is compared with bytes.
    ValueError
        If the numbers of strings differ.
    ImportError
        If rapidfuzz is not installed.

    Examples
    --------
    >>> from lshfast.distances import indel
    >>> indel("abcde", ["acfdeg", "abcde"]).tolist()
    [3, 0]
    """
    return _edits("Indel", a, b)


def levenshtein(a: Any, b: Any) -> Int64Array:
    """Return the least numbers of insertions, deletions and substitutions that change one string into the other.

    Parameters
    ----------
    a, b : str, bytes, or sequence of these
        n strings each; one of them may be a single string.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError
        If the items are not strings, or str is compared with bytes.
    ValueError
        If the numbers of strings differ.
    ImportError
        If rapidfuzz is not installed.

    Examples
    --------
    >>> from lshfast.distances import levenshtein
    >>> levenshtein("abcdef", "bdaefc").tolist()
    [4]
    """
    return _edits("Levenshtein", a, b)


def damerau(a: Any, b: Any) -> Int64Array:
    """Return the least numbers of insertions, deletions, substitutions and transpositions of neighbours.

    Parameters
    ----------
    a, b : str, bytes, or sequence of these
        n strings each; one of them may be a single string.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError
        If the items are not strings, or str is compared with bytes.
    ValueError
        If the numbers of strings differ.
    ImportError
        If rapidfuzz is not installed.

    Examples
    --------
    >>> from lshfast.distances import damerau
    >>> damerau("ca", ["ac", "abc"]).tolist()
    [1, 2]
    """
    return _edits("DamerauLevenshtein", a, b)


def osa(a: Any, b: Any) -> Int64Array:
    """Return the optimal string alignment distances: those of `damerau`, but no part of a string is edited twice.

    It is not a metric: ca, ac and abc have the distances 1 and 1, and 3 from the first to the last.

    Parameters
    ----------
    a, b : str, bytes, or sequence of these
        n strings each; one of them may be a single string.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError
        If the items are not strings, or str is compared with bytes.
    ValueError
        If the numbers of strings differ.
    ImportError
        If rapidfuzz is not installed.

    Examples
    --------
    >>> from lshfast.distances import osa
    >>> osa(["ca", "ac", "ca"], ["ac", "abc", "abc"]).tolist()
    [1, 1, 3]
    """
    return _edits("OSA", a, b)


def _edits(kind: str, a: Any, b: Any) -> Int64Array:
    distance = getattr(optional("rapidfuzz.distance", "records"), kind).distance
    return np.array([distance(x, y) for x, y in paired(strings_of(a, "a"), strings_of(b, "b"))], np.int64)
