"""The exact similarity of pairs of rows; pairs with rows in common are computed together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, cast, get_args

import numpy as np

from lshfast._common.checks import check_number
from lshfast._common.choices import PairMeasure
from lshfast._common.rows import parts_of_rows, runs_of
from lshfast._common.threads import ordered_map, pieces, thread_count
from lshfast._common.types import Int64Array, PairArray
from lshfast.join.pair_arrays import as_pairs, order_of_pairs
from lshfast.kernels import sets as kernels
from lshfast.tokens import TokenSets

# The largest number of tokens, and of pairs, in a piece of work, unless the rows of a single pair
# have more.
PIECE = 1 << 21


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
