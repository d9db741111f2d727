"""Stars from an exact join, also with a greatest similarity, without a list of all pairs.

Rows search for similar ones in the order of preference. When it is the turn of a row, all rows
before it have been placed, so it is known whether the row is kept. Others need not search: in a
crowd of similar rows, only the first one does.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from lshfast._common.rows import int64_range, run_begins
from lshfast._common.types import Float64Array, Int64Array, PairArray
from lshfast.join.exact_join import Join
from lshfast.join.pair_arrays import sorted_pairs
from lshfast.join.set_ranks import Collection
from lshfast.join.thresholds import Rule
from lshfast.tokens import TokenSets

# Rows that search at a time: of these, each one that is kept at the beginning.
WAVE = 64


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
        A pair that is compared from both sides counts twice.
    """
    n = len(order)
    join = Join.of([Collection.of(sets.take(order))], rule, "auto", threads)
    searchers = join.searchers_of_all()
    keeper = int64_range(n)
    similarity = np.ones(n)
    probes = 0
    for start in range(0, n, WAVE):
        stop = min(n, start + WAVE)
        rows = int64_range(start, stop)
        kept_rows = rows[keeper[rows] == rows]
        probes += len(kept_rows)
        pieces = [part for part in np.array_split(kept_rows, threads) if len(part)]
        for pairs in join.pairs_with_later(searchers, pieces):
            _place(
                pairs if most is None else pairs[pairs["similarity"] <= most],
                keeper,
                similarity,
            )
        if progress:
            progress(stop, n)
    placed = np.flatnonzero(keeper != int64_range(len(order)))
    pairs = sorted_pairs(order[keeper[placed]], order[placed], similarity[placed])
    # Each probe met itself.
    return pairs, searchers.candidates - probes


def _place(pairs: PairArray, keeper: Int64Array, similarity: Float64Array) -> None:
    """Give rows without a keeper the first row of their sorted pairs that has none either."""
    starts = np.flatnonzero(run_begins(pairs["i"])).tolist()
    for start, stop in pairwise([*starts, len(pairs)]):
        row = int(pairs["i"][start])
        if keeper[row] != row:
            continue
        later = pairs["j"][start:stop]
        is_free = keeper[later] == later
        keeper[later[is_free]] = row
        similarity[later[is_free]] = pairs["similarity"][start:stop][is_free]
