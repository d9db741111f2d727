"""Crowds of short rows: similar pairs by an exact join, and the pairs that groups need.

The rarest tokens of a short row are in many other rows, so the lists of a crowd are nearly as long
as the component. An exact join orders rows by their sizes, and looks at a small part of these
lists.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.progress import without_stage
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.join.comparison import Comparison
from lshfast.join.jaccard import Rows, verify
from lshfast.join.set_ranks import PIECE, Collection, tokens_of
from lshfast.kernels.bands import sorted_numbers
from lshfast.kernels.grouping import Grouping

# Rows are short if they have at most this many tokens on average.
SHORT_TOKENS = 32

# The similar pairs of a row, on average, above which the join ends. They take 8 bytes each.
MOST_PAIRS = 64


def are_short(sizes: Int64Array) -> bool:
    """Return whether rows of these sizes are short, and none is longer than a piece of work."""
    return bool(sizes.sum() <= SHORT_TOKENS * len(sizes) and sizes.max() <= PIECE)


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
