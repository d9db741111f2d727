"""Exact joins: all pairs of sets whose similarity reaches a threshold, without signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.rows import evenly_spaced
from lshfast._common.run_key import draw_hash_key
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import Int64Array, PairArray, UInt32Array
from lshfast.join.copies import spread_across, with_copies
from lshfast.join.pair_arrays import as_pairs, joined_pairs, sort_pairs
from lshfast.join.set_ranks import (
    SMALL,
    TABLE,
    Collection,
    RankedSets,
    RankedTokens,
    ranked_for_join,
)
from lshfast.join.thresholds import Measure, Rule, Threshold, rule_of
from lshfast.kernels import setjoin
from lshfast.tokens import TokenSets, hash_rows

Method: TypeAlias = Literal["auto", "prefix", "bitmap"]
Copies: TypeAlias = Literal["first", "all"]
Searcher: TypeAlias = "setjoin.Search | setjoin.BitSearch"
Result = TypeVar("Result")
Piece = TypeVar("Piece")

# Probing sets in a piece of work.
ROWS = 1 << 11

# Pairs that a piece of work of `Join.sorted_parts` may find, unless a single set has more.
PIECE_PAIRS = 1 << 16

# Probing sets by which the method for a small universe is chosen, and the costs of looking at a
# posting and of comparing a candidate, in the time that a word of a bitmap takes.
TRIED = 64
POSTING_COST = 4
CANDIDATE_COST = 60


@dataclass(frozen=True, eq=False)
class JoinResult:
    """The result of `join`.

    Attributes
    ----------
    pairs : ndarray of shape (m,) with fields i, j (int64) and similarity (float64)
        Sorted by (i, j).
    method : {"prefix", "bitmap"}
        The method that found them.
    candidates : int
        The number of pairs of different sets that were compared.

    See Also
    --------
    lshfast.exact.join : Find all pairs of two collections exactly.
    """

    pairs: PairArray
    method: str
    candidates: int


def pairs(
    sets: Any,
    right: Any = None,
    *,
    threshold: Threshold = 0.8,
    measure: Measure = "jaccard",
    copies: Copies = "all",
    method: Method = "auto",
    suffixes: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PairArray:
    """Find all pairs of sets whose similarity is at least the threshold.

    Parameters
    ----------
    sets, right, threshold, measure, copies, method, suffixes, threads, progress
        As for `join`.

    Returns
    -------
    ndarray of shape (m,) with fields i, j (int64) and similarity (float64)
        The pairs, sorted by (i, j).

    Raises
    ------
    TypeError, ValueError
        As for `join`.

    See Also
    --------
    lshfast.exact.join : Find all similar pairs, and report the method.
    lshfast.pairs : Find all pairs of similar items.

    Examples
    --------
    >>> from lshfast import exact
    >>> exact.pairs(
    ...     [{"a", "b", "c", "d"}, {"a", "b", "c", "d", "e"}, {"x"}], threshold=0.8
    ... ).tolist()
    [(0, 1, 0.8)]
    >>> exact.pairs(
    ...     [{"b", "c"}], [{"a", "b", "c", "d"}], threshold=1, measure="containment"
    ... ).tolist()
    [(0, 0, 1.0)]
    """
    result = join(
        sets,
        right,
        threshold=threshold,
        measure=measure,
        copies=copies,
        method=method,
        suffixes=suffixes,
        threads=threads,
        progress=progress,
    )
    return result.pairs


def join(
    sets: Any,
    right: Any = None,
    *,
    threshold: Threshold = 0.8,
    measure: Measure = "jaccard",
    copies: Copies = "all",
    method: Method = "auto",
    suffixes: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> JoinResult:
    """Find all pairs of sets with at least the threshold's similarity, and report the method.

    The result is exact: it has all pairs that reach the threshold, and no others. Tokens are
    ordered by their number of occurrences, the rarest first. In this order similar sets share one
    of their first tokens, so only sets that share one are compared.

    Parameters
    ----------
    sets : TokenSets or iterable of iterables
        The sets. Elements are str, bytes or int (see `TokenSets.from_sets`). Tokens of TokenSets
        are the elements themselves: hash them with a secret seed if others choose the elements.
        Repeated elements count once. A set has at most 2**29 of them, repeats included. An empty
        set is in no pair.
    right : TokenSets or iterable of iterables, optional
        Other sets. Then pairs of one of `sets` and one of `right` are found; by default, pairs
        within `sets`. Both are TokenSets, with tokens of the same seed, or neither.
    threshold : float, Fraction or tuple of two ints (p, q), default 0.8
        The least similarity, in (0, 1]. A float is compared with the similarity as a float64, as
        `verify` does it; a fraction p / q is compared exactly. For the cosine, a fraction is
        rounded to a float64. For "overlap", a number of elements, at least 1.
    measure : {"jaccard", "dice", "cosine", "containment", "overlap"}, default "jaccard"
        For sets of a and b elements that share o: o / (a + b - o); 2 o / (a + b); o / sqrt(a b);
        containment within `sets` is o / min(a, b), how much of the smaller set the larger one
        contains; containment with `right` is o / a, how much of the set of `sets` the one of
        `right` contains; overlap is o.
    copies : {"first", "all"}, default "all"
        With "all", equal sets are paired like others; a thousand copies of a set are half a million
        pairs. With "first", a copy is paired with the first equal set only. `right` needs "all".
    method : {"auto", "prefix", "bitmap"}, default "auto"
        "bitmap" compares all sets whose sizes allow the threshold, as bits; there may be at most
        512 different elements. "auto" uses it if there are no more, and a sample of the sets shows
        that it takes fewer steps.
    suffixes : bool, default False
        For prefixes: order the sets of one size that have a token by the number of their tokens
        after it. A search then skips sets with too few of them at once, without a look at each.
        The result is the same. This saves up to a fifth of the time where many sets of few sizes
        share their rarest tokens, and costs time elsewhere.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    progress : callable, optional
        Called from time to time with ("join", sets done, sets).

    Returns
    -------
    JoinResult

    Raises
    ------
    TypeError
        If an argument or an element has the wrong type.
    ValueError
        If an argument is out of range; the error names the value and the range.

    See Also
    --------
    lshfast.exact.pairs : Find all similar pairs of sets, exactly.
    lshfast.pairs : Find all pairs of similar items.

    Notes
    -----
    For m tokens, of which o are in at least two sets (each occurrence counts), n sets and p pairs,
    memory grows by at most 5 MB + 2 m + 20 o + 120 n + 4 n threads + 110 p bytes. It does not
    depend on the number of candidates. The result takes 24 p bytes of it.

    References
    ----------
    R. J. Bayardo, Y. Ma, R. Srikant, "Scaling up all pairs similarity search", 2007; C. Xiao, W.
    Wang, X. Lin, J. X. Yu, "Efficient similarity joins for near duplicate detection", 2008; W.
    Mann, N. Augsten, P. Bouros, "An empirical evaluation of set similarity join techniques", 2016;
    E. F. O. Sandes, G. L. M. Teodoro, A. C. M. A. Melo, "Bitmap filter: speeding up exact set
    similarity joins with bitwise operations", 2017.

    Examples
    --------
    >>> from lshfast import exact
    >>> found = exact.join(
    ...     [{1, 2, 3}, {1, 2, 3, 4}, {9}], threshold=(3, 4), method="prefix"
    ... )
    >>> found.pairs.tolist(), found.method
    ([(0, 1, 0.75)], 'prefix')
    """
    if copies not in ("first", "all") or (right is not None and copies == "first"):
        raise ValueError(
            f"copies must be 'first' or 'all', and 'all' with two collections, not {copies!r}"
        )
    if method not in ("auto", "prefix", "bitmap"):
        raise ValueError(f"method must be 'auto', 'prefix' or 'bitmap', not {method!r}")
    if not isinstance(suffixes, (bool, np.bool_)):
        raise TypeError(f"suffixes must be a bool, not {suffixes!r}")
    rule = rule_of(measure, threshold, "smaller" if right is None else "indexed")
    threads = thread_count(threads)
    collections = [Collection.of(rows) for rows in token_sets(sets, right)]
    searched = Join.of(collections, rule, method, threads, suffixes)
    similar_pairs = joined_pairs(searched.parts(progress))
    if right is None:
        similar_pairs = with_copies(similar_pairs, collections[0].copies, copies)
        if measure == "overlap":
            similar_pairs = _with_sizes(similar_pairs, collections[0], rule)
    else:
        similar_pairs = spread_across(
            similar_pairs, collections[0].copies, collections[1].copies
        )
        sort_pairs(similar_pairs)
    return JoinResult(similar_pairs, searched.method, searched.candidates)


def token_sets(sets: Any, right: Any = None) -> list[TokenSets]:
    """Return one or two collections as TokenSets; others are hashed with a secret key."""
    collections = [sets] if right is None else [sets, right]
    if all(isinstance(rows, TokenSets) for rows in collections):
        return collections
    key = draw_hash_key()
    for name, rows in zip(("sets", "right"), collections, strict=False):
        if isinstance(rows, TokenSets):
            raise TypeError(
                "sets and right must both be TokenSets, or neither: others are hashed in another "
                "way"
            )
        check_rows(name, rows)
    return [hash_rows(rows, key) for rows in collections]


def check_rows(name: str, rows: Any) -> None:
    """Raise an error unless an argument may be an iterable of sets."""
    is_iterable = hasattr(rows, "__iter__") or hasattr(rows, "__getitem__")
    if isinstance(rows, (str, bytes)) or not is_iterable:
        raise TypeError(
            f"{name} must be TokenSets or an iterable of sets, not {rows!r}"
        )


def _with_sizes(
    similar_pairs: PairArray, collection: Collection, rule: Rule
) -> PairArray:
    """Set the overlap of copies to their size, and drop the copies below the threshold."""
    first = collection.copies[similar_pairs["i"]]
    copy_pairs = np.flatnonzero(first == collection.copies[similar_pairs["j"]])
    rows, places = np.unique(first[copy_pairs], return_inverse=True)
    similar_pairs["similarity"][copy_pairs] = (
        collection.sets.take(rows).distinct().counts[places]
    )
    return similar_pairs[similar_pairs["similarity"] >= rule.p]


class MorePairsError(Exception):
    """A join has more similar pairs than its caller allows."""


class Searchers:
    """The searches of the threads of a join, which are made once and used again."""

    def __init__(self, search: Callable[[], Searcher]) -> None:
        self._search = search
        self._idle: SimpleQueue[Searcher] = SimpleQueue()
        self._all: list[Searcher] = []

    @property
    def candidates(self) -> int:
        """The number of sets that all of them compared."""
        return sum(searcher.candidates for searcher in self._all)

    def results(
        self,
        search: Callable[[Searcher, Piece], Result],
        pieces: Iterable[Piece],
        threads: int,
    ) -> Iterator[Result]:
        """Yield the result of each piece of work, in their order."""

        def work(piece: Piece) -> Result:
            try:
                searcher = self._idle.get_nowait()
            except Empty:
                searcher = self._search()
                self._all.append(searcher)
            result = search(searcher, piece)
            if not searcher.under_way:
                self._idle.put(searcher)
            return result

        yield from ordered_map(work, pieces, threads)


@dataclass
class Join:
    """A join that is ready to search: the sets of both sides by size, and a search for each thread.

    Attributes
    ----------
    rule : Rule
    indexed, probes : RankedSets
        One object for pairs within one collection.
    method : {"prefix", "bitmap"}
    search : callable
        Returns a new search.
    threads : int
    candidates : int
        The number of pairs that were compared so far.
    """

    rule: Rule
    indexed: RankedSets
    probes: RankedSets
    method: str
    search: Callable[[], Searcher]
    threads: int
    candidates: int = 0

    @classmethod
    def of(
        cls,
        collections: Sequence[Collection],
        rule: Rule,
        method: Method,
        threads: int,
        suffixes: bool = False,
    ) -> Join:
        """Rank the tokens of one or two collections, choose the method, and build its index."""
        within_one = len(collections) == 1
        tokens = RankedTokens(collections, TABLE)
        small = tokens.complete and tokens.most <= SMALL
        if method == "bitmap" and not small:
            raise ValueError(
                f"method 'bitmap' needs at most {SMALL} different elements"
            )
        if tokens.complete:
            ranked = [
                tokens.ranked(each, rule, number == 1, threads)
                for number, each in enumerate(collections)
            ]
        else:
            ranked = ranked_for_join(collections, rule, threads)
        del tokens
        indexed = ranked[0]
        probes = ranked[-1]
        searches: dict[str, Callable[[], Searcher]] = {}
        if method != "bitmap":
            searches["prefix"] = prefix_search(
                rule, indexed, probes, within_one, suffixes
            )
        if method != "prefix" and small:
            searches["bitmap"] = bitmap_search(rule, indexed, probes, within_one)
        if len(searches) == 1:
            cheapest = next(iter(searches))
        else:
            cheapest = _cheapest(searches, len(probes.rows))
        return cls(rule, indexed, probes, cheapest, searches[cheapest], threads)

    def parts(
        self, progress: Progress | None = None, most: int | None = None
    ) -> Iterator[PairArray]:
        """Yield the pairs of different sets in parts: i, j and similarity.

        Within one collection, i < j.

        If there are more pairs than `most`, MorePairsError is raised as soon as this is known.
        """
        n = len(self.probes.rows)
        sets_done = 0
        total = 0
        for part in self._searched(n, most):
            total += len(part)
            if most is not None and total > most:
                raise MorePairsError
            sets_done = min(n, sets_done + ROWS)
            if progress:
                progress("join", sets_done, n)
            if len(part):
                yield self._as_pairs(part)

    def sorted_parts(self) -> Iterator[PairArray]:
        """Yield the pairs within one collection in parts, sorted by (i, j).

        Memory grows with the sets only. Each set searches sets of all sizes, so this takes about
        twice as many steps as `parts`.
        """
        searchers = self.searchers_of_all()
        n = len(self.indexed.rows)
        piece = max(1, min(ROWS, PIECE_PAIRS // max(1, n)))
        rows = np.sort(self.indexed.rows)
        pieces = (rows[first : first + piece] for first in range(0, n, piece))
        for pairs in self.pairs_with_later(searchers, pieces):
            if len(pairs):
                yield pairs
        # Each set met itself once, and each pair from both sides.
        self.candidates = (searchers.candidates - n) // 2

    def searchers_of_all(self) -> Searchers:
        """Return what searches sets of all sizes among those of one collection."""
        if self.method == "bitmap":
            return Searchers(
                bitmap_search(self.rule, self.indexed, self.indexed, False)
            )
        return Searchers(
            prefix_search(self.rule, self.indexed, self.indexed, False, False)
        )

    def pairs_with_later(
        self, searchers: Searchers, pieces: Iterable[Int64Array]
    ) -> Iterator[PairArray]:
        """Yield the pairs of rows with later rows, sorted, for each of several pieces of rows."""
        probes = np.argsort(self.indexed.rows)
        ranks = self.indexed.rows[probes]

        def pairs_of(searcher: Searcher, rows: Int64Array) -> PairArray:
            places = probes[np.searchsorted(ranks, rows)].tolist()
            parts = [searcher.run(place, place + 1) for place in places]
            row, probe, overlap = np.concatenate(parts).T
            later = self.indexed.rows[row] > self.indexed.rows[probe]
            pairs = self._as_pairs(
                np.column_stack([row[later], probe[later], overlap[later]])
            )
            sort_pairs(pairs)
            return pairs

        return searchers.results(pairs_of, pieces, self.threads)

    def _searched(self, n: int, most: int | None) -> Iterator[UInt32Array]:
        """Yield the pairs of the probing sets as (row, probe, overlap), some sets at a time.

        A part with more pairs than `most` is not complete.
        """

        def pairs_of(searcher: Searcher, first: int) -> UInt32Array:
            last = min(n, first + ROWS)
            return (
                searcher.run(first, last)
                if most is None
                else searcher.run(first, last, most)
            )

        searchers = Searchers(self.search)
        yield from searchers.results(pairs_of, range(0, n, ROWS), self.threads)
        self.candidates = searchers.candidates

    def _as_pairs(self, overlaps: UInt32Array) -> PairArray:
        row, probe, overlap = overlaps.T
        indexed_sizes = self.indexed.records.sizes[row]
        probe_sizes = self.probes.records.sizes[probe]
        similarity = self.rule.similarity(overlap, indexed_sizes, probe_sizes)
        i = self.indexed.rows[row]
        j = self.probes.rows[probe]
        if self.indexed is not self.probes:
            return as_pairs(i, j, similarity)
        return as_pairs(np.minimum(i, j), np.maximum(i, j), similarity)


def prefix_search(
    rule: Rule,
    indexed: RankedSets,
    probes: RankedSets,
    within_one: bool,
    suffixes: bool,
) -> Callable[[], setjoin.Search]:
    """Index the prefixes of sets, and return a factory of searches in them."""
    index = setjoin.Prefixes(rule.of_kernels, indexed.records, within_one, suffixes)
    return lambda: setjoin.Search(index, probes.records)


def bitmap_search(
    rule: Rule, indexed: RankedSets, probes: RankedSets, within_one: bool
) -> Callable[[], setjoin.BitSearch]:
    """Return a factory of bitmap searches for small universes."""
    classes = setjoin.SizeClasses(rule.of_kernels, indexed.records)
    words = indexed.records.bitmaps(True)
    probe_words = probes.records.bitmaps(False)
    return lambda: setjoin.BitSearch(
        classes, words, probes.records, probe_words, within_one
    )


def _cheapest(searches: dict[str, Callable[[], Searcher]], n: int) -> str:
    """Return the method that takes the fewest steps for a sample of the probing sets."""
    probes = evenly_spaced(n, TRIED).tolist()
    costs = {}
    for method, new_search in searches.items():
        search = new_search()
        for probe in probes:
            search.run(probe, probe + 1)
        costs[method] = search.steps(POSTING_COST, CANDIDATE_COST)
    return min(costs, key=costs.__getitem__)
