"""Exact joins: all pairs of sets that are similar at least to a threshold, without signatures and without misses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from queue import Empty, SimpleQueue
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.common.progress import Progress
from lshfast.common.threads import ordered_map, thread_count
from lshfast.common.types import Int64Array
from lshfast.join.banded import order_of_pairs
from lshfast.join.copies import with_copies
from lshfast.join.jaccard import PAIR, as_pairs
from lshfast.join.set_ranks import Collection, RankedSets, RankedTokens, slices
from lshfast.join.thresholds import Measure, Rule, rule_of
from lshfast.kernels import setjoin
from lshfast.tokens import TokenSets

Threshold: TypeAlias = float | Fraction | tuple[int, int]
Method: TypeAlias = Literal["auto", "prefix", "bitmap"]
Searcher: TypeAlias = setjoin.Search | setjoin.BitSearch

# Probing sets in a piece of work, and sets that are tried to choose the method.
ROWS, TRIED = 1 << 12, 1 << 8


@dataclass(frozen=True)
class JoinResult:
    """The pairs that `join` found, and how.

    Attributes
    ----------
    pairs : structured ndarray of i, j (int64) and similarity (float64)
        Sorted by (i, j).
    method : {"prefix", "bitmap"}
    candidates : int
        The number of pairs of different sets that were compared.
    """

    pairs: npt.NDArray[np.void]
    method: str
    candidates: int


def join(
    left: Any,
    right: Any = None,
    *,
    threshold: Threshold = 0.8,
    measure: Measure = "jaccard",
    copies: Literal["first", "all"] = "all",
    method: Method = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
) -> JoinResult:
    threads = thread_count(threads)
    collections = [Collection.of(token_sets(left, "left"))]
    if right is not None:
        collections.append(Collection.of(token_sets(right, "right")))
    return joined(collections, threshold, measure, copies, method, threads, progress)


def token_sets(sets: Any, name: str) -> TokenSets:
    """Return sets of a caller as TokenSets."""
    return sets if isinstance(sets, TokenSets) else TokenSets.from_sets(sets)


def joined(collections, threshold, measure, copies, method, threads, progress) -> JoinResult:
    own = len(collections) == 1
    first, last = collections[0], collections[-1]
    most = max(each.most for each in collections)
    rule = rule_of(measure, threshold, most, "smaller" if own else "indexed")
    tokens = RankedTokens(collections)
    indexed = tokens.ranked(first, rule, False, threads)
    probes = indexed if own else tokens.ranked(last, rule, True, threads)
    index = setjoin.Prefixes(rule.of_kernels, indexed.records, own)
    found, count = _search(lambda: setjoin.Search(index, probes.records), len(probes.rows), threads, progress)
    sizes = indexed.records.sizes[found[:, 0]], probes.records.sizes[found[:, 1]]
    i, j = indexed.rows[found[:, 0]], probes.rows[found[:, 1]]
    similarity = rule.similarity(found[:, 2], *sizes)
    if own:
        i, j = np.minimum(i, j), np.maximum(i, j)
    pairs = as_pairs(i, j, similarity)
    return JoinResult(with_copies(pairs, first.copies, "all"), "prefix", count)


def _search(make, n, threads, progress):
    pool: SimpleQueue[Searcher] = SimpleQueue()
    searchers = []

    def work(part: slice):
        try:
            search = pool.get_nowait()
        except Empty:
            search = make()
            searchers.append(search)
        found = search.run(part.start, part.stop)
        pool.put(search)
        return found

    parts, done = [np.empty((0, 3), np.uint32)], 0
    for found in ordered_map(work, slices(n, ROWS), threads):
        parts.append(found)
        done = min(n, done + ROWS)
        if progress:
            progress("join", done, n)
    return np.concatenate(parts), sum(search.candidates for search in searchers)
