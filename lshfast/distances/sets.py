"""Distances and similarities of sets, from the sizes of two sets and of their intersection."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, overload

import numpy as np

from lshfast._common.types import Float64Array, Int64Array
from lshfast.distances.batches import in_form, listed, paired
from lshfast.families.family import check_pairs
from lshfast.families.set_distances import jaccard as jaccard_of_tokens
from lshfast.families.set_distances import overlaps
from lshfast.sketch.weighted import WeightedSets
from lshfast.tokens import TokenSets

SETS = "sets, or both TokenSets"


@overload
def jaccard(a: AbstractSet[Any], b: AbstractSet[Any]) -> np.float64: ...
@overload
def jaccard(a: Any, b: Any) -> Float64Array: ...
def jaccard(a: Any, b: Any) -> np.float64 | Float64Array:
    """Return the Jaccard distances 1 - |A n B| / |A u B| of pairs of sets; 0 if both are empty.

    Parameters
    ----------
    a, b : TokenSets, set, or sequence of sets
        n sets each, both TokenSets or neither; one of them may be a single set.

    Returns
    -------
    ndarray of float64, shape (n,)
        In 0..1. For two single sets one number, a float64.

    Raises
    ------
    TypeError
        If these are not sets.
    ValueError
        If the numbers of sets differ.

    See Also
    --------
    lshfast.distances.jaccard_similarity : Jaccard similarities.
    lshfast.verify : Compute the exact similarities of candidate pairs.
    lshfast.distances.hamming : Hamming distances.

    Examples
    --------
    >>> from lshfast.distances import jaccard
    >>> jaccard({1, 2, 3, 4}, [{2, 3, 4, 5}, {4, 5, 6}]).tolist()
    [0.4, 0.8333333333333334]
    >>> round(jaccard({"a", "b"}, {"b", "c"}), 2).item()
    0.67
    """
    if isinstance(a, TokenSets) and isinstance(b, TokenSets):
        n = check_pairs(len(a), len(b))
        empty = np.broadcast_to(a.counts == 0, n) & np.broadcast_to(b.counts == 0, n)
        return np.asarray(np.where(empty, 0.0, 1 - jaccard_of_tokens(a, b)))
    sizes = _sizes_of(a, b)
    distances = (sizes.union - sizes.shared) / np.maximum(sizes.union, 1)
    return in_form(distances, sizes.single)


@overload
def jaccard_similarity(a: AbstractSet[Any], b: AbstractSet[Any]) -> float: ...
@overload
def jaccard_similarity(a: Any, b: Any) -> Float64Array: ...
def jaccard_similarity(a: Any, b: Any) -> float | Float64Array:
    """Return the Jaccard similarities |A n B| / |A u B| of pairs of sets; 1 if both are empty.

    Elements count once, however often a set of TokenSets repeats them.

    Parameters
    ----------
    a, b : TokenSets, set, or sequence of sets
        As for `jaccard`.

    Returns
    -------
    ndarray of float64, shape (n,)
        In 0..1. For two single sets one number, a float.

    Raises
    ------
    TypeError, ValueError
        As for `jaccard`.

    See Also
    --------
    lshfast.distances.jaccard : Jaccard distances, one minus these.
    lshfast.distances.containment : Shares of one set that another one contains.
    lshfast.textbook.similarity : Estimate the similarity from signatures.

    Examples
    --------
    >>> from lshfast.distances import jaccard_similarity
    >>> jaccard_similarity({1, 2, 3, 4}, {1, 2, 3, 5})
    0.6
    >>> jaccard_similarity({"a", "b"}, [{"b"}, {"c"}]).tolist()
    [0.5, 0.0]
    """
    sizes = _sizes_of(a, b)
    similarities = np.where(
        sizes.union > 0, sizes.shared / np.maximum(sizes.union, 1), 1.0
    )
    return similarities[0].item() if sizes.single else similarities


@overload
def containment(a: AbstractSet[Any], b: AbstractSet[Any]) -> float: ...
@overload
def containment(a: Any, b: Any) -> Float64Array: ...
def containment(a: Any, b: Any) -> float | Float64Array:
    """Return the shares |A n B| / |A| of sets that other sets contain; 1 if A is empty.

    `lshfast.dedup` with ``measure="containment"`` compares the smaller set of a pair with the
    larger one. This is the greater one of ``containment(a, b)`` and ``containment(b, a)``.

    Parameters
    ----------
    a, b : TokenSets, set, or sequence of sets
        As for `jaccard`.

    Returns
    -------
    ndarray of float64, shape (n,)
        In 0..1. For two single sets one number, a float.

    Raises
    ------
    TypeError, ValueError
        As for `jaccard`.

    See Also
    --------
    lshfast.distances.overlap : Numbers of elements that sets share.
    lshfast.LSHEnsemble : An index of sets that contain a query.

    References
    ----------
    A. Z. Broder, "On the resemblance and containment of documents", 1997.

    Examples
    --------
    >>> from lshfast.distances import containment
    >>> containment({1, 2}, {1, 2, 3, 4}), containment({1, 2, 3, 4}, {1, 2})
    (1.0, 0.5)
    """
    sizes = _sizes_of(a, b)
    shares = np.where(sizes.first > 0, sizes.shared / np.maximum(sizes.first, 1), 1.0)
    return shares[0].item() if sizes.single else shares


@overload
def overlap(a: AbstractSet[Any], b: AbstractSet[Any]) -> int: ...
@overload
def overlap(a: Any, b: Any) -> Int64Array: ...
def overlap(a: Any, b: Any) -> int | Int64Array:
    """Return the numbers |A n B| of elements that pairs of sets share.

    `lshfast.exact` has the same measure, of which a threshold is a number of elements.

    Parameters
    ----------
    a, b : TokenSets, set, or sequence of sets
        As for `jaccard`.

    Returns
    -------
    ndarray of int64, shape (n,)
        For two single sets one number, an int.

    Raises
    ------
    TypeError, ValueError
        As for `jaccard`.

    See Also
    --------
    lshfast.distances.containment : Shares of one set that another one contains.
    lshfast.exact.pairs : Find all similar pairs of sets, exactly.

    Examples
    --------
    >>> from lshfast.distances import overlap
    >>> overlap({1, 2, 3, 4}, {1, 2, 3, 5})
    3
    """
    sizes = _sizes_of(a, b)
    return sizes.shared[0].item() if sizes.single else sizes.shared


class _Sizes(NamedTuple):
    """The sizes of pairs of sets, int64 (n,) each, and whether they are two single sets."""

    first: Int64Array
    second: Int64Array
    shared: Int64Array
    single: bool

    @property
    def union(self) -> Int64Array:
        return self.first + self.second - self.shared


def _sizes_of(a: Any, b: Any) -> _Sizes:
    """Return the sizes of pairs of sets, or raise an error that names the argument."""
    if isinstance(a, TokenSets) and isinstance(b, TokenSets):
        shared = overlaps(a, b)[0]
        sides = [
            np.broadcast_to(sets.distinct().counts, len(shared)) for sets in (a, b)
        ]
        return _Sizes(sides[0], sides[1], shared, False)
    pairs = paired(_sets(a, "a"), _sets(b, "b"))
    counts = np.array(
        [(len(x), len(y), len(x & y)) for x, y in pairs], np.int64
    ).reshape(-1, 3)
    are_single = isinstance(a, AbstractSet) and isinstance(b, AbstractSet)
    return _Sizes(counts[:, 0], counts[:, 1], counts[:, 2], are_single)


def _sets(items: Any, name: str) -> list[AbstractSet[Any]]:
    """Return one set as a list, or a sequence of sets; errors name the next step."""
    if isinstance(items, AbstractSet):
        return [items]
    if isinstance(items, (Mapping, WeightedSets)):
        step = "families.WeightedMinHashFamily().distance compares weighted sets"
        raise TypeError(f"{name} must be {SETS}, not {type(items).__name__}: {step}")
    sets = listed(items, name, SETS)
    for item in sets:
        if not isinstance(item, AbstractSet):
            of_elements = isinstance(item, Hashable) and not isinstance(
                items, (str, bytes)
            )
            step = f": set({name}) makes one set of elements" if of_elements else ""
            raise TypeError(f"{name} must be {SETS}, not {type(item).__name__}{step}")
    return sets
