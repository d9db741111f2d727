"""Distances of strings by edits, which rapidfuzz computes; and longest common subsequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.types import Int64Array
from lshfast.distances.batches import are_strings, in_form, paired, strings_of


@overload
def indel(a: str | bytes, b: str | bytes) -> np.int64: ...
@overload
def indel(a: Any, b: Any) -> Int64Array: ...
def indel(a: Any, b: Any) -> np.int64 | Int64Array:
    """Return the least numbers of insertions and deletions that change one string into the other.

    It is len(a) + len(b) - 2 len(LCS), with a longest common subsequence.

    Parameters
    ----------
    a, b : str, bytes, or sequence of these
        n strings each; one of them may be a single string.

    Returns
    -------
    ndarray of int64, shape (n,)
        For two single strings one number, an int64.

    Raises
    ------
    TypeError
        If the items are not strings, or str is compared with bytes.
    ValueError
        If the numbers of strings differ.
    ImportError
        If rapidfuzz is not installed.

    See Also
    --------
    lshfast.distances.longest_common_subsequences : All longest common subsequences of two strings.
    lshfast.distances.levenshtein : Distances by insertions, deletions and substitutions.

    Examples
    --------
    >>> from lshfast.distances import indel
    >>> indel("abcde", ["acfdeg", "abcde"]).tolist()
    [3, 0]
    >>> int(indel("abcde", "acfdeg"))
    3
    """
    return _edits("Indel", a, b)


def longest_common_subsequences(a: str, b: str) -> Iterator[str]:
    """Yield all longest common subsequences of two strings, once, in the order of symbols.

    Their length is (len(a) + len(b) - indel(a, b)) / 2. There may be exponentially many. The memory
    and the time before the first are of the order of len(a) len(b).

    Parameters
    ----------
    a, b : str

    Yields
    ------
    str

    Raises
    ------
    TypeError
        If an argument is not a str.

    See Also
    --------
    lshfast.distances.indel : Distances by insertions and deletions.

    Examples
    --------
    >>> from lshfast.distances import longest_common_subsequences
    >>> (
    ...     list(longest_common_subsequences("aba", "bab")),
    ...     list(longest_common_subsequences("abcde", "acfdeg")),
    ... )
    (['ab', 'ba'], ['acde'])
    """
    for name, value in (("a", a), ("b", b)):
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a str, not {value!r}")
    # The lengths for the strings from i and from j on.
    lengths = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            if a[i] == b[j]:
                lengths[i, j] = lengths[i + 1, j + 1] + 1
            else:
                lengths[i, j] = max(lengths[i + 1, j], lengths[i, j + 1])
    symbols = sorted({*a} & {*b}, reverse=True)
    open_prefixes = [(0, 0, "")]
    while open_prefixes:
        i, j, prefix = open_prefixes.pop()
        if not lengths[i, j]:
            yield prefix
            continue
        for (
            symbol
        ) in symbols:  # each at its first places, so that each subsequence occurs once
            x = a.find(symbol, i)
            y = b.find(symbol, j)
            if min(x, y) >= 0 and lengths[x + 1, y + 1] + 1 == lengths[i, j]:
                open_prefixes.append((x + 1, y + 1, prefix + symbol))


@overload
def levenshtein(a: str | bytes, b: str | bytes) -> np.int64: ...
@overload
def levenshtein(a: Any, b: Any) -> Int64Array: ...
def levenshtein(a: Any, b: Any) -> np.int64 | Int64Array:
    """Return the least numbers of insertions, deletions and substitutions between strings.

    Parameters
    ----------
    a, b : str, bytes, or sequence of these
        n strings each; one of them may be a single string.

    Returns
    -------
    ndarray of int64, shape (n,)
        For two single strings one number, an int64.

    Raises
    ------
    TypeError
        If the items are not strings, or str is compared with bytes.
    ValueError
        If the numbers of strings differ.
    ImportError
        If rapidfuzz is not installed.

    See Also
    --------
    lshfast.distances.damerau : Distances with transpositions of neighbours, too.
    lshfast.distances.osa : Optimal string alignment distances.
    lshfast.distances.indel : Distances by insertions and deletions.

    Examples
    --------
    >>> from lshfast.distances import levenshtein
    >>> int(levenshtein("abcdef", "bdaefc"))
    4
    """
    return _edits("Levenshtein", a, b)


@overload
def damerau(a: str | bytes, b: str | bytes) -> np.int64: ...
@overload
def damerau(a: Any, b: Any) -> Int64Array: ...
def damerau(a: Any, b: Any) -> np.int64 | Int64Array:
    """Return the least numbers of insertions, deletions, substitutions and transpositions.

    A transposition exchanges two neighbours.

    Parameters
    ----------
    a, b : str, bytes, or sequence of these
        n strings each; one of them may be a single string.

    Returns
    -------
    ndarray of int64, shape (n,)
        For two single strings one number, an int64.

    Raises
    ------
    TypeError
        If the items are not strings, or str is compared with bytes.
    ValueError
        If the numbers of strings differ.
    ImportError
        If rapidfuzz is not installed.

    See Also
    --------
    lshfast.distances.levenshtein : Distances by insertions, deletions and substitutions.
    lshfast.distances.osa : Optimal string alignment distances.

    Examples
    --------
    >>> from lshfast.distances import damerau
    >>> damerau("ca", ["ac", "abc"]).tolist()
    [1, 2]
    """
    return _edits("DamerauLevenshtein", a, b)


@overload
def osa(a: str | bytes, b: str | bytes) -> np.int64: ...
@overload
def osa(a: Any, b: Any) -> Int64Array: ...
def osa(a: Any, b: Any) -> np.int64 | Int64Array:
    """Return the optimal string alignment distances of strings.

    They are as for `damerau`, but no part of a string is edited twice.

    It is not a metric: ca, ac and abc have the distances 1 and 1, and 3 from the first to the last.

    Parameters
    ----------
    a, b : str, bytes, or sequence of these
        n strings each; one of them may be a single string.

    Returns
    -------
    ndarray of int64, shape (n,)
        For two single strings one number, an int64.

    Raises
    ------
    TypeError
        If the items are not strings, or str is compared with bytes.
    ValueError
        If the numbers of strings differ.
    ImportError
        If rapidfuzz is not installed.

    See Also
    --------
    lshfast.distances.damerau : Distances with transpositions of neighbours, too.
    lshfast.distances.levenshtein : Distances by insertions, deletions and substitutions.

    Examples
    --------
    >>> from lshfast.distances import osa
    >>> osa(["ca", "ac", "ca"], ["ac", "abc", "abc"]).tolist()
    [1, 1, 3]
    """
    return _edits("OSA", a, b)


def _edits(kind: str, a: Any, b: Any) -> np.int64 | Int64Array:
    distance = getattr(optional("rapidfuzz.distance", "records"), kind).distance
    pairs = paired(strings_of(a, "a"), strings_of(b, "b"))
    return in_form(
        np.array([distance(x, y) for x, y in pairs], np.int64), are_strings(a, b)
    )
