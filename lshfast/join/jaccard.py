"""How rows are compared: by their exact similarity, or by the estimate of their signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, lgamma, log
from typing import Protocol, cast, get_args

import numpy as np

from lshfast._common.checks import check_number
from lshfast._common.choices import PairMeasure as PairMeasure
from lshfast._common.rows import parts_of_rows, runs_of
from lshfast._common.threads import ordered_map, pieces, thread_count
from lshfast._common.types import (
    BoolArray,
    Float64Array,
    Int64Array,
    PairArray,
    UInt64Array,
)
from lshfast.join.pair_arrays import as_pairs, order_of_pairs
from lshfast.kernels import sets as kernels
from lshfast.tokens import TokenSets

# The similarity of two sets of a and b tokens that share o: o / (a + b - o), or o / min(a, b).

# The largest number of tokens, and of pairs, in a piece of work, unless the rows of a single pair
# have more.
PIECE = 1 << 21

# The largest probability with which `screen` drops a pair at the threshold.
SCREEN_CHANCE = 1e-6

# See `WalkLimits.crowd`; also for crowds of short rows.
CROWD = 64

# See `WalkLimits.screened`: comparing all pairs of fewer rows takes little time.
SCREENED = 1024


class Rows(Protocol):
    """A source of token sets of chosen rows: TokenSets, or texts that are shingled on request."""

    @property
    def sizes(self) -> Int64Array:
        """The approximate number of tokens of each row."""

    def take(self, rows: Int64Array) -> TokenSets:
        """Return the token sets of the rows."""


def verify(
    sets: Rows,
    i: Int64Array,
    j: Int64Array,
    threshold: float,
    *,
    measure: PairMeasure = "jaccard",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PairArray:
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
    i = _row_numbers("i", i)
    j = _row_numbers("j", j)
    if len(i) != len(j):
        raise ValueError(f"i and j must be of one length, not {len(i)} and {len(j)}")
    if not 0 <= check_number("threshold", threshold) <= 1:
        raise ValueError(f"threshold must be in [0, 1], not {threshold}")
    check_measure(measure)
    similarity = np.empty(len(i), np.float64)

    def work(numbers: Int64Array) -> int:
        rows, places = np.unique(
            np.concatenate([i[numbers], j[numbers]]), return_inverse=True
        )
        part = sets.take(rows).distinct()
        left_places, right_places = np.split(places.reshape(-1).astype(np.int64), 2)
        similarity[numbers] = kernels.similarities(
            part.offsets,
            part.tokens,
            left_places,
            right_places,
            threshold,
            measure == "containment",
        )
        return len(numbers)

    def is_large(numbers: Int64Array) -> bool:
        """Return whether some pair has more tokens than a piece; such pairs are compared alone."""
        return int(sizes[i[numbers]].max() + sizes[j[numbers]].max()) > PIECE

    sizes = sets.sizes
    pairs_done = 0
    for count in ordered_map(
        work, _pieces(sizes, i, j), thread_count(threads), is_large
    ):
        pairs_done += count
        if progress:
            progress(pairs_done, len(i))
    is_similar = similarity >= threshold
    return as_pairs(i[is_similar], j[is_similar], similarity[is_similar])


def _row_numbers(name: str, rows: Int64Array) -> Int64Array:
    """Return the rows of pairs as int64; none at all may be of any type, as those of [] are."""
    kind = np.asarray(rows).dtype
    if not len(rows):
        return np.zeros(0, np.int64)
    if kind.kind not in "iu":
        raise TypeError(f"{name} must be row numbers, not {kind}")
    return np.ascontiguousarray(rows, np.int64)


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
    in_pairs[i] = True
    in_pairs[j] = True
    rows = np.flatnonzero(in_pairs)
    weight = np.bincount(np.searchsorted(rows, components[rows]), sizes[rows])
    starts, stops = runs_of(label)
    component_weight = weight[np.searchsorted(rows, label[starts])]
    whole_components: list[Int64Array] = []
    filled = 0.0
    pairs = 0
    components_to_cut = zip(
        starts.tolist(), stops.tolist(), component_weight.tolist(), strict=True
    )
    for start, stop, tokens in components_to_cut:
        if whole_components and (
            filled + tokens > PIECE or pairs + stop - start > PIECE
        ):
            yield np.concatenate(whole_components)
            whole_components = []
            filled = 0.0
            pairs = 0
        if tokens > PIECE and stop - start > 1:
            yield from _cut(sizes, i, j, order[start:stop])
        elif stop - start > PIECE:
            yield from _at_most_a_piece(order[start:stop])
        else:
            whole_components.append(order[start:stop])
            filled += tokens
            pairs += stop - start
    if whole_components:
        yield np.concatenate(whole_components)


def _cut(
    sizes: Int64Array, i: Int64Array, j: Int64Array, numbers: Int64Array
) -> Iterator[Int64Array]:
    """Yield the pairs of one large component in pieces whose distinct rows have about PIECE tokens.

    Rows are divided into blocks of half a piece, and pairs are sorted by their blocks. With n
    blocks, a row is fetched at most n times.
    """
    rows = np.unique(np.concatenate([i[numbers], j[numbers]]))
    block = _blocks(sizes[rows], PIECE // 2)
    left_blocks = block[np.searchsorted(rows, i[numbers])]
    right_blocks = block[np.searchsorted(rows, j[numbers])]
    order = order_of_pairs(left_blocks, right_blocks)
    numbers = numbers[order]
    left_blocks = left_blocks[order]
    right_blocks = right_blocks[order]
    starts, stops = runs_of(left_blocks, right_blocks)
    pair_sizes = sizes[i[numbers]] + sizes[j[numbers]]
    run_sizes = np.minimum(np.add.reduceat(pair_sizes, starts), PIECE)
    filled = 0
    first = 0
    for start, stop, tokens in zip(
        starts.tolist(), stops.tolist(), run_sizes.tolist(), strict=True
    ):
        if start > first and (filled + tokens > PIECE or stop - first > PIECE):
            yield from _at_most_a_piece(numbers[first:start])
            filled = 0
            first = start
        filled += tokens
    yield from _at_most_a_piece(numbers[first:])


def _at_most_a_piece(numbers: Int64Array) -> Iterator[Int64Array]:
    return (numbers[part] for part in parts_of_rows(len(numbers), PIECE))


def _blocks(sizes: Int64Array, most: int) -> Int64Array:
    """Return the block of each row: rows of at most `most` tokens together, or one longer row."""
    blocks = np.empty(len(sizes), np.int64)
    for number, rows in enumerate(pieces(sizes, most)):
        blocks[rows] = number
    return blocks


def estimate(signatures: UInt64Array, i: Int64Array, j: Int64Array) -> Float64Array:
    """Return the fraction of equal slots of each pair of signatures, float64 (m,)."""
    return np.asarray(kernels.agreements(signatures, i, j) / signatures.shape[1])


def screen(
    signatures: UInt64Array, i: Int64Array, j: Int64Array, threshold: float
) -> BoolArray:
    """Return a bool per candidate: whether at least `least_agreement` of its slots are equal.

    A pair at the threshold is dropped with probability at most 10**-6 (the binomial tail; `fast`
    signatures vary less). Most pairs of dissimilar texts that share a bucket by chance are dropped.
    """
    k = signatures.shape[1]
    return np.asarray(
        kernels.agreements(signatures, i, j) >= least_agreement(k, threshold)
    )


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


@dataclass(frozen=True)
class WalkLimits:
    """How the pass over the rows is divided.

    Attributes
    ----------
    piece_tokens : int
        The number of tokens of earlier rows that are in memory at once.
    run_tokens : int
        The number of tokens that are computed at once for consecutive rows. More of them need
        memory that the allocator returns to the system each time, and a fifth more time.
    crowd : int
        If a row shares buckets with more kept rows than this, and none is similar, its component is
        a crowd.
    few : int
        A component of more rows than this is processed by itself, so that a crowd in it is
        detected.
    screened : int
        The rows of larger components are screened by the slots that they share.
    """

    piece_tokens: int = PIECE
    run_tokens: int = 1 << 18
    crowd: int = CROWD
    few: int = 256
    screened: int = SCREENED


@dataclass(frozen=True)
class Comparison:
    """How rows are compared, and for which kind of groups.

    Attributes
    ----------
    threshold : float
        In [0, 1].
    exact : bool
        If true, rows are screened by their signatures and then compared by their tokens; otherwise
        they are compared by their signatures only.
    chains : bool
        If true, the groups are connected components instead of stars.
    threads : int
    measure : {"jaccard", "containment"}
        With containment, `exact` must be true, and the preference of rows must follow the sizes of
        their sets, the largest first. Signatures tell little about the containment of sets of
        different sizes, so there is no screen. Chains climb: each row that is similar to a
        preferred one is paired with the most preferred of these.
    capped : bool
        Whether memory is limited, so that long rows are compared one at a time.
    join_short : bool
        Whether a large component of short rows is joined. It is not if a join of all rows has ended
        before.
    limits : WalkLimits
    """

    threshold: float
    exact: bool = True
    chains: bool = False
    threads: int = 1
    measure: PairMeasure = "jaccard"
    capped: bool = False
    join_short: bool = True
    limits: WalkLimits = WalkLimits()

    def least_slots(self, k: int) -> int:
        """Return the smallest number of equal slots of k for which two rows are compared."""
        if self.exact and self.measure == "jaccard":
            return least_agreement(k, self.threshold)
        return 0

    def least_shared(self, k: int) -> int:
        """Return the smallest number of its k slots that a row shares with each similar row."""
        if self.exact:
            return self.least_slots(k)
        return next(slots for slots in range(k + 1) if slots / k >= self.threshold)
