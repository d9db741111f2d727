"""Verification of candidates by their exact similarity, or by the estimate of their signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import exp, lgamma, log
from typing import Protocol, cast, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_number
from lshfast._common.choices import PairMeasure as PairMeasure
from lshfast._common.growing import GrowingArray
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.join.banded import order_of_pairs
from lshfast.kernels import sets as kernels
from lshfast.tokens import TokenSets

PAIR = np.dtype([("i", np.int64), ("j", np.int64), ("similarity", np.float64)])

# The similarity of two sets of a and b tokens that share o: o / (a + b - o), or o / min(a, b).

# The largest number of tokens, and of pairs, in a piece of work, unless the rows of a single pair
# have more.
PIECE = 1 << 21

# The largest probability with which `screen` drops a pair at the threshold.
SCREEN_CHANCE = 1e-6


class Rows(Protocol):
    """A source of token sets of chosen rows: TokenSets, or texts that are shingled on request."""

    @property
    def sizes(self) -> Int64Array:
        """The approximate number of tokens of each row."""

    def take(self, rows: Int64Array) -> TokenSets:
        """Return the token sets of the rows."""


def as_pairs(i: Int64Array, j: Int64Array, similarity: npt.ArrayLike) -> npt.NDArray[np.void]:
    """Return pairs as one structured array."""
    pairs = np.empty(len(i), PAIR)
    pairs["i"], pairs["j"], pairs["similarity"] = i, j, similarity
    return pairs


def joined_pairs(parts: Iterable[npt.NDArray[np.void]], room: int = 0) -> npt.NDArray[np.void]:
    """Return pairs that come in parts as one array; `room` is about their number."""
    whole = GrowingArray(PAIR, room=room)
    for part in parts:
        whole.extend(part)
    return whole.finished()


def sort_pairs(pairs: npt.NDArray[np.void]) -> None:
    """Sort pairs in place by (i, j), a field at a time: that is faster than to move whole pairs,
    and takes no copy.
    """
    order = order_of_pairs(pairs["i"], pairs["j"])
    for name in pairs.dtype.names or ():
        pairs[name] = pairs[name][order]


def verify(
    sets: Rows,
    i: Int64Array,
    j: Int64Array,
    threshold: float,
    *,
    measure: PairMeasure = "jaccard",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> npt.NDArray[np.void]:
    """Return the pairs whose exact similarity reaches the threshold.

    Parameters
    ----------
    sets : TokenSets
        Repeated tokens count once.
    i, j : ndarray of int64, shape (m,)
        Candidates.
    threshold : float
        In [0, 1]. A pair is returned if its similarity, divided as doubles, is at least this.
    measure : {"jaccard", "containment"}, default "jaccard"
        The similarity of sets of a and b tokens that share o: o / (a + b - o), or o / min(a, b).
    threads : int, optional
        At least 1. By default the number of CPUs that this process may use.
    progress : callable, optional
        Called with (pairs done, pairs) after each piece of work.

    Returns
    -------
    structured ndarray with fields i, j (int64) and similarity (float64)
        In the order of the candidates.

    See Also
    --------
    lshfast.candidates : Find the pairs of rows that share a bucket.
    lshfast.star_groups : Group pairs around rows that are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import TokenSets, verify
    >>> sets = TokenSets.from_sets([range(10), range(9), range(5, 15)])
    >>> verify(sets, np.array([0, 0, 1]), np.array([1, 2, 2]), 0.5).tolist()
    [(0, 1, 0.9)]
    """
    for name, rows in (("i", i), ("j", j)):
        if np.asarray(rows).dtype.kind not in "iu" and len(rows):
            raise TypeError(f"{name} must be row numbers, not {np.asarray(rows).dtype}")
    if len(i) != len(j):
        raise ValueError(f"i and j must be of one length, not {len(i)} and {len(j)}")
    i = np.ascontiguousarray(i, np.int64)
    j = np.ascontiguousarray(j, np.int64)
    if not 0 <= check_number("threshold", threshold) <= 1:
        raise ValueError(f"threshold must be in [0, 1], not {threshold}")
    check_measure(measure)
    similarity = np.empty(len(i), np.float64)

    def work(chosen: Int64Array) -> int:
        rows, places = np.unique(np.concatenate([i[chosen], j[chosen]]), return_inverse=True)
        part = sets.take(rows).distinct()
        left, right = np.split(places.reshape(-1).astype(np.int64), 2)
        similarity[chosen] = kernels.similarities(
            part.offsets, part.tokens, left, right, threshold, measure == "containment"
        )
        return len(chosen)

    def is_large(chosen: Int64Array) -> bool:
        """Return whether two rows together have more tokens than a piece; they are compared
        alone.
        """
        return int(sizes[i[chosen]].max() + sizes[j[chosen]].max()) > PIECE

    sizes = sets.sizes
    done = 0
    for count in ordered_map(work, _pieces(sizes, i, j), thread_count(threads), is_large):
        done += count
        if progress:
            progress(done, len(i))
    kept = similarity >= threshold
    return as_pairs(i[kept], j[kept], similarity[kept])


def check_measure(measure: str) -> PairMeasure:
    """Return the measure, or raise an error that names the allowed values."""
    if measure not in get_args(PairMeasure):
        raise ValueError(f"measure must be 'jaccard' or 'containment', not {measure!r}")
    return cast(PairMeasure, measure)


def equal_jaccard(measure: PairMeasure, threshold: float) -> float:
    """Return the Jaccard similarity of two sets of one size that are exactly at the threshold.

    Sets of n tokens that share o have the containment c = o / n and the Jaccard similarity o / (2 n
    - o) = c / (2 - c).
    """
    return threshold / (2 - threshold) if measure == "containment" else threshold


def _pieces(sizes: Int64Array, i: Int64Array, j: Int64Array) -> Iterator[Int64Array]:
    """Yield the numbers of the pairs in pieces of about PIECE tokens and at most PIECE pairs each.

    Rows connected by pairs stay in one piece, so that each row is fetched once. A component that is
    too large is cut.
    """
    if len(i) == 0:
        return
    components = kernels.components(i, j, len(sizes))
    label = components[i]
    order = order_of_pairs(label, i)
    label = label[order]
    in_pairs = np.zeros(len(sizes), bool)
    in_pairs[i] = in_pairs[j] = True
    rows = np.flatnonzero(in_pairs)
    weight = np.bincount(np.searchsorted(rows, components[rows]), sizes[rows])
    starts = np.flatnonzero(np.concatenate([[True], label[1:] != label[:-1]]))
    stops = np.append(starts[1:], len(order))
    component_weight = weight[np.searchsorted(rows, label[starts])]
    held: list[Int64Array] = []
    filled = 0.0
    pairs = 0
    for start, stop, more in zip(
        starts.tolist(), stops.tolist(), component_weight.tolist(), strict=True
    ):
        if held and (filled + more > PIECE or pairs + stop - start > PIECE):
            yield np.concatenate(held)
            held = []
            filled = 0.0
            pairs = 0
        if more > PIECE and stop - start > 1:
            yield from _cut(sizes, i, j, order[start:stop])
        elif stop - start > PIECE:
            yield from (
                order[first : min(first + PIECE, stop)] for first in range(start, stop, PIECE)
            )
        else:
            held.append(order[start:stop])
            filled += more
            pairs += stop - start
    if held:
        yield np.concatenate(held)


def _cut(
    sizes: Int64Array, i: Int64Array, j: Int64Array, chosen: Int64Array
) -> Iterator[Int64Array]:
    """Yield the pairs of one large component in pieces whose distinct rows have about PIECE tokens.

    Rows are divided into blocks of half a piece, and pairs are sorted by their blocks. With n
    blocks, a row is fetched at most n times.
    """
    rows = np.unique(np.concatenate([i[chosen], j[chosen]]))
    block = _blocks(sizes[rows], PIECE // 2)
    left = block[np.searchsorted(rows, i[chosen])]
    right = block[np.searchsorted(rows, j[chosen])]
    order = order_of_pairs(left, right)
    chosen = chosen[order]
    left = left[order]
    right = right[order]
    starts = np.flatnonzero((np.diff(left, prepend=-1) != 0) | (np.diff(right, prepend=-1) != 0))
    of_pairs = np.minimum(np.add.reduceat(sizes[i[chosen]] + sizes[j[chosen]], starts), PIECE)
    filled = 0
    first = 0
    for start, stop, more in zip(
        starts.tolist(), [*starts[1:].tolist(), len(chosen)], of_pairs.tolist(), strict=True
    ):
        if start > first and (filled + more > PIECE or stop - first > PIECE):
            yield from (chosen[at : min(at + PIECE, start)] for at in range(first, start, PIECE))
            filled = 0
            first = start
        filled += more
    yield from (chosen[at : at + PIECE] for at in range(first, len(chosen), PIECE))


def _blocks(sizes: Int64Array, most: int) -> Int64Array:
    """Return the block of each row: consecutive rows of at most `most` tokens, or a single row of
    more.
    """
    ends = np.cumsum(sizes, dtype=np.int64)
    begins = np.zeros(len(sizes) + 1, np.int64)
    start = 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        start = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        begins[start] = 1
    return np.cumsum(begins[:-1], dtype=np.int64)


def estimate(signatures: UInt64Array, i: Int64Array, j: Int64Array) -> Float64Array:
    """Return the fraction of equal slots of each pair of signatures, float64 (m,)."""
    return np.asarray(kernels.agreements(signatures, i, j) / signatures.shape[1])


def screen(
    signatures: UInt64Array, i: Int64Array, j: Int64Array, threshold: float
) -> npt.NDArray[np.bool_]:
    """Return which candidates to verify exactly, bool: those with at least `least_agreement` equal
    slots.

    A pair at the threshold is dropped with probability at most 10**-6 (the binomial tail; `fast`
    signatures vary less). Most pairs of dissimilar texts that share a bucket by chance are dropped.
    """
    k = signatures.shape[1]
    return np.asarray(kernels.agreements(signatures, i, j) >= least_agreement(k, threshold))


def least_agreement(k: int, threshold: float) -> int:
    """Return the largest c with P[Binomial(k, threshold) < c] <= SCREEN_CHANCE."""
    if threshold <= 0 or threshold >= 1:
        return k if threshold >= 1 else 0
    tail = 0.0
    for count in range(k + 1):
        choose = lgamma(k + 1) - lgamma(count + 1) - lgamma(k - count + 1)
        tail += exp(choose + count * log(threshold) + (k - count) * log(1 - threshold))
        if tail > SCREEN_CHANCE:
            return count
    return k
