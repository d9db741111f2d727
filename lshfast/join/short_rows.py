"""Crowds of short rows: similar pairs by an exact join, and the pairs that groups need.

The rarest tokens of a short row are in many other rows, so the lists of a crowd are nearly as long
as the component. An exact join orders rows by their sizes, and looks at a small part of these
lists.

A large component of short rows is placed by such a join. If a sample shows that nearly all rows are
a crowd, the join comes before they are sketched, and only the rows in similar pairs are, two in
five of 100,000 tiny texts. The pairs are those that the walk would find.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lshfast._common.growing import GrowingArray
from lshfast._common.progress import without_stage
from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.types import Int64Array, PairArray, UInt64Array
from lshfast.banding.bands import Bands
from lshfast.join.banded import number_buckets
from lshfast.join.comparison import CROWD, Comparison
from lshfast.join.copies import find_copies
from lshfast.join.groups import by_preference
from lshfast.join.jaccard import Rows, verify
from lshfast.join.pair_arrays import PAIRS_AT_ONCE, sorted_pairs
from lshfast.kernels import grouping as kernels
from lshfast.kernels.bands import sorted_numbers
from lshfast.kernels.grouping import Grouping
from lshfast.sketch.minhash import MinHasher
from lshfast.tokens import TokenSets

if TYPE_CHECKING:
    from lshfast.join.set_ranks import Collection

# Rows are short if they have at most this many tokens on average.
SHORT_TOKENS = 32

# The similar pairs of a row, on average, above which the join ends. They take 8 bytes each.
MOST_PAIRS = 64

# The rows of the sample, and the number of rows for each of them below which no sample is taken:
# then the rows take no noticeable time.
SAMPLE_ROWS = 1024
LEAST_SHARE = 8


def are_short(sizes: Int64Array) -> bool:
    """Return whether rows of these sizes are short, and none is longer than a piece of work."""
    return bool(sizes.sum() <= SHORT_TOKENS * len(sizes)) and not has_long_row(sizes)


def has_long_row(sizes: Int64Array) -> bool:
    """Return whether a row of these sizes is longer than a piece of work."""
    from lshfast.join.set_ranks import PIECE

    return bool(sizes.max(initial=0) > PIECE)


def similar_rows(
    collection: Collection,
    comparison: Comparison,
    report: Callable[[int, int], None] | None = None,
    screen: Callable[[UInt64Array], UInt64Array] | None = None,
) -> tuple[UInt64Array, int] | None:
    """Return the similar pairs as numbers, and how many were compared; None if too many.

    A pair is the number j << 32 | i, with i < j. `screen` returns the pairs to keep.
    """
    from lshfast.join.exact_join import Join, MorePairsError
    from lshfast.join.thresholds import rule_of

    rule = rule_of(comparison.measure, comparison.threshold)
    join = Join.of([collection], rule, "auto", comparison.threads)
    pair_numbers = GrowingArray(np.uint64)
    try:
        for part in join.parts(
            without_stage(report), most=MOST_PAIRS * len(collection.rows)
        ):
            i, j = (part[name].astype(np.uint64) for name in "ij")
            numbers = j << np.uint64(32) | i
            pair_numbers.extend(screen(numbers) if screen else numbers)
    except MorePairsError:
        return None
    return pair_numbers.finished(), join.candidates


def place_short_rows(
    state: Grouping,
    rows: Rows,
    walked: Int64Array,
    begin: int,
    comparison: Comparison,
    progress: Callable[[int, int], None] | None = None,
) -> int | None:
    """Place the rows of a component as the walk does; return the number of compared pairs.

    Parameters
    ----------
    state : Grouping
    rows : Rows
    walked : ndarray of int64, shape (m,)
        The rows of the component in the order of the walk; the first of them is row `begin` of the
        state.
    begin : int
    comparison : Comparison
    progress : callable, optional
        Called with (rows done, rows).

    Returns
    -------
    int or None
        None if there are too many similar pairs; then the rows should be walked.
    """
    from lshfast.join.set_ranks import Collection, tokens_of

    sets = tokens_of(rows, walked, comparison.threads)
    numbers = int64_range(len(walked))
    collection = Collection(sets, numbers, numbers)
    first = np.uint64(begin << 32 | begin)
    result = similar_rows(
        collection,
        comparison,
        progress,
        lambda similar: state.meeting(similar + first),
    )
    if result is None:
        return None
    pairs, compared = result
    placed = state.place_pairs(begin, begin + len(walked), sorted_numbers(pairs))
    placed_rows = slice(begin, begin + placed)
    i, j = (
        column[placed_rows].astype(np.int64) - begin
        for column in (state.left, state.right)
    )
    state.similarity[placed_rows] = verify(
        sets, i, j, 0.0, measure=comparison.measure, threads=comparison.threads
    )["similarity"]
    return compared


def are_crowd(
    sample: TokenSets, n: int, hasher: MinHasher, bands: Bands, threshold: float
) -> bool:
    """Return whether a random row shares buckets with more than CROWD dissimilar rows.

    This is estimated from a sample of the n rows.
    """
    signatures = hasher.sketch(sample, threads=1)
    numbers = int64_range(len(sample))
    rows = numbers[find_copies(sample) == numbers]
    buckets, counts = number_buckets(bands.keys(signatures), rows, 1)
    pairs = kernels.RowPairs(
        buckets, counts, signatures, rows, math.ceil(threshold * hasher.num_perm)
    )
    similar = len(pairs.batch(len(sample) ** 2)[0])
    return 2 * (pairs.met - similar) * n > CROWD * len(sample) ** 2


def pairs_of_short_crowd(
    collection: Collection,
    sketch: Callable[[Int64Array], UInt64Array],
    bands: Bands,
    comparison: Comparison,
    *,
    preference: npt.ArrayLike | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[PairArray, int] | None:
    """Return the result of `pairs_for_groups`; None if there are too many similar pairs.

    Parameters
    ----------
    collection : Collection
        The rows as sets of tokens; they are compared by Jaccard similarity.
    sketch : callable
        Returns the signatures of some rows, uint64 (m, k).
    bands : Bands
    comparison : Comparison
        `exact` is true, and the measure is "jaccard".
    preference
        As for `pairs_for_groups`.
    progress : callable, optional
        Called with (rows done, rows).
    """
    threads = comparison.threads
    result = similar_rows(collection, comparison, progress)
    if result is None:
        return None
    similar, compared = result
    walked, similar = _placed(similar, collection.copies, preference)
    signatures = sketch(walked)
    least = comparison.least_slots(signatures.shape[1])
    pairs = kernels.find_banded_pairs(
        similar, signatures, bands.bands, bands.rows_per_band, least, comparison.chains
    )
    i, j = (walked[places] for places in _ends(pairs))
    similarity = verify(collection.sets, i, j, 0.0, threads=threads)["similarity"]
    return sorted_pairs(i, j, similarity), compared


def _placed(
    similar: UInt64Array, copies: Int64Array, preference: npt.ArrayLike | None
) -> tuple[Int64Array, UInt64Array]:
    """Return the rows in similar pairs by preference, and the sorted pairs of their places."""
    n = len(copies)
    parts = [similar[part] for part in parts_of_rows(len(similar), PAIRS_AT_ONCE)]
    paired = np.zeros(n, np.bool_)
    for part in parts:
        for rows in _ends(part):
            paired[rows] = True
    paired_rows = by_preference(np.flatnonzero(paired), copies, preference)
    places = np.empty(n, np.uint64)
    places[paired_rows] = np.arange(len(paired_rows), dtype=np.uint64)
    for part in parts:  # in place, in little memory
        left_places, right_places = (places[rows] for rows in _ends(part))
        part[:] = np.maximum(left_places, right_places) << np.uint64(32) | np.minimum(
            left_places, right_places
        )
    return paired_rows, sorted_numbers(similar)


def _ends(pairs: UInt64Array) -> tuple[Int64Array, Int64Array]:
    """Return the two rows of pairs that are numbers."""
    low = pairs & np.uint64(2**32 - 1)
    high = pairs >> np.uint64(32)
    return low.astype(np.int64), high.astype(np.int64)
