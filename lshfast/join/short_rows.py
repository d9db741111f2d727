"""Large components of short rows: all their similar pairs by an exact join, and of these the pairs that groups need.

The rarest tokens of a short row are in many other rows, so the lists of a crowd are nearly as long as the component. An
exact join orders rows by their sizes, and looks at a small part of these lists.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lshfast.common.growing import GrowingArray
from lshfast.common.types import Int64Array
from lshfast.join.exact_join import Join
from lshfast.join.jaccard import PairMeasure, Rows, verify
from lshfast.join.set_ranks import PIECE, Collection, tokens_of
from lshfast.join.thresholds import rule_of
from lshfast.kernels.bands import sorted_numbers
from lshfast.kernels.grouping import Grouping

# Rows are short if they have at most this many tokens on average.
SHORT_TOKENS = 32

# The similar pairs of a row, on average, above which the join ends. They take 8 bytes each.
MOST_PAIRS = 64


def are_short(sizes: Int64Array) -> bool:
    """Return whether rows of these sizes are short; none of them is so long that it takes memory of its own."""
    return bool(sizes.sum() <= SHORT_TOKENS * len(sizes) and sizes.max() <= PIECE)


def place_short_rows(
    state: Grouping,
    rows: Rows,
    walked: Int64Array,
    begin: int,
    *,
    threshold: float,
    measure: PairMeasure,
    threads: int,
    progress: Callable[[int, int], None] | None = None,
) -> int | None:
    """Place the rows of a component as the walk does, and return the number of pairs that were compared.

    Parameters
    ----------
    state : Grouping
    rows : Rows
    walked : ndarray of int64, shape (m,)
        The rows of the component in the order of the walk; the first of them is row `begin` of the state.
    begin : int
    threshold, measure, threads
        As for `Comparison`.
    progress : callable, optional
        Called with (rows done, rows).

    Returns
    -------
    int or None
        None if there are so many similar pairs that the rows should be walked.
    """
    sets = tokens_of(rows, walked, threads)
    numbers = np.arange(len(walked), dtype=np.int64)
    join = Join.of([Collection(sets, numbers, numbers)], rule_of(measure, threshold), "auto", threads)
    report = (lambda stage, done, total: progress(done, total or 0)) if progress else None
    meeting, similar = GrowingArray(np.uint64), 0
    for part in join.parts(report):
        similar += len(part)
        if similar > MOST_PAIRS * len(walked):
            return None
        left, right = ((part[name] + begin).astype(np.uint64) for name in "ij")
        meeting.extend(state.meeting(right << np.uint64(32) | left))
    found = state.place_pairs(begin, begin + len(walked), sorted_numbers(meeting.finished()))
    some = slice(begin, begin + found)
    i, j = (column[some].astype(np.int64) - begin for column in (state.left, state.right))
    state.similarity[some] = verify(sets, i, j, 0.0, measure=measure, threads=threads)["similarity"]
    return join.candidates
