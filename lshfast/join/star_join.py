"""Stars from an exact join, also with a greatest similarity, without a list of all pairs.

The join yields the pairs of each row with later rows, in the order of preference. When it comes to
a row, all rows before it have been placed, so it is known whether the row is kept, and its pairs
are needed only now.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lshfast._common.progress import without_stage
from lshfast._common.rows import int64_range, run_begins
from lshfast._common.types import Int64Array, PairArray
from lshfast.join.exact_join import Join
from lshfast.join.pair_arrays import sorted_pairs
from lshfast.join.set_ranks import Collection
from lshfast.join.thresholds import Rule
from lshfast.tokens import TokenSets


def star_pairs(
    sets: TokenSets,
    order: Int64Array,
    rule: Rule,
    *,
    most: float | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[PairArray, int]:
    """Return the pair of each row that has a keeper with its keeper, and the pairs compared.

    A row has a keeper if it is similar to a row before it that has none; the first such row is
    its keeper.

    Parameters
    ----------
    sets : TokenSets
    order : ndarray of int64, shape (m,)
        Rows that are not empty, and no copies of each other, the most preferred first.
    rule : Rule
        What similar rows share at least.
    most : float, optional
        The greatest similarity of a pair: more similar rows are not paired.
    threads : int
    progress : callable, optional
        Called with (rows done, rows).

    Returns
    -------
    pairs : structured ndarray with fields i, j, similarity
        Sorted by (i, j).
    compared : int
    """
    join = Join.of([Collection.of(sets.take(order))], rule, "auto", threads)
    keeper = int64_range(len(order))
    similarity = np.ones(len(order))
    for part in join.sorted_parts(without_stage(progress)):
        close = part if most is None else part[part["similarity"] <= most]
        if not len(close):
            continue
        starts = np.flatnonzero(run_begins(close["i"]))
        stops = np.append(starts[1:], len(close))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            row = int(close["i"][start])
            if keeper[row] != row:
                continue
            later = close["j"][start:stop]
            is_free = keeper[later] == later
            keeper[later[is_free]] = row
            similarity[later[is_free]] = close["similarity"][start:stop][is_free]
    placed = np.flatnonzero(keeper != int64_range(len(order)))
    pairs = sorted_pairs(order[keeper[placed]], order[placed], similarity[placed])
    return pairs, join.candidates
