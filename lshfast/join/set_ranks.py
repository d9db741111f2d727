"""Sets of tokens as sets of ranks: the rarest token is 0, and copies of a set count once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.rows import concatenated, int64_range, offsets_of
from lshfast._common.threads import ordered_map, pieces
from lshfast._common.types import Int64Array, UInt32Array, UInt64Array
from lshfast.join.copies import find_copies
from lshfast.join.jaccard import Rows
from lshfast.join.thresholds import Rule
from lshfast.kernels import bands, ranks, setjoin
from lshfast.tokens import TokenSets

# Tokens in a piece of work.
PIECE = 1 << 18

# Universes of at most this many tokens are small.
SMALL = 64 * setjoin.MOST_WORDS

# A table of at most TABLE tokens stays in the cache, so a look-up is faster than dividing tokens.
TABLE = 1 << 17


@dataclass(frozen=True)
class Collection:
    """Sets, and the rows that are joined.

    Attributes
    ----------
    sets : TokenSets
    copies : ndarray of int64, shape (n,)
        The first copy of each row.
    rows : ndarray of int64, shape (m,)
        The first copies that are not empty, ascending.
    """

    sets: TokenSets
    copies: Int64Array
    rows: Int64Array

    @classmethod
    def of(cls, sets: TokenSets) -> Collection:
        """Find the copies among sets."""
        copies = find_copies(sets)
        sizes = sets.counts
        if len(sizes) and sizes.max() > setjoin.MOST_TOKENS:
            row = int(np.argmax(sizes))
            raise ValueError(
                f"a set may have at most {setjoin.MOST_TOKENS} tokens; row {row} has {sizes[row]}"
            )
        is_joined = (copies == int64_range(len(copies))) & (sizes > 0)
        return cls(sets, copies, np.flatnonzero(is_joined).astype(np.int64))

    def part(self, part: slice) -> tuple[Int64Array, UInt64Array, Int64Array]:
        """Return (offsets, tokens, rows) of some of the rows, at least one.

        A kernel checks all offsets that it gets, so it gets those of the part only.
        """
        rows = self.rows[part]
        first = int(rows[0])
        offsets = self.sets.offsets[first : int(rows[-1]) + 2]
        return offsets, self.sets.tokens, rows - first


def tokens_of(rows: Rows, numbers: Int64Array, threads: int) -> TokenSets:
    """Return the tokens of some rows, which are computed in pieces."""
    sizes = rows.sizes[numbers]
    counts = GrowingArray(np.int64)
    tokens = GrowingArray(np.uint64, room=int(sizes.sum()))
    for part in ordered_map(
        rows.take, (numbers[piece] for piece in pieces(sizes, PIECE)), threads
    ):
        counts.extend(part.counts)
        tokens.extend(part.tokens[part.offsets[0] : part.offsets[-1]])
    offsets = offsets_of(counts.finished())
    return TokenSets(offsets, tokens.finished())


@dataclass(frozen=True)
class RankedSets:
    """Sets of ranks by ascending size, and the row of each.

    Attributes
    ----------
    records : SetRecords
    rows : ndarray of int64, shape (m,)
        Sets that cannot have a similar one, because no token of their prefix is in another set, are
        left out.
    """

    records: setjoin.SetRecords
    rows: Int64Array


class RankedTokens:
    """The tokens of collections by their number of occurrences, rarest first, then by value.

    Parameters
    ----------
    collections : sequence of Collection
    most : int, optional
        With more different tokens than this, `complete` is false, and there are no ranks.

    Attributes
    ----------
    complete : bool
    most : int
        The number of ranks.
    """

    def __init__(
        self, collections: Sequence[Collection], most: int = 2**32 - 2
    ) -> None:
        self._table = setjoin.TokenRanks()
        self.most: int = 0
        self.complete: bool = all(
            self._table.count(
                collection.sets.offsets, collection.sets.tokens, collection.rows, most
            )
            for collection in collections
        )
        if self.complete:
            tokens = by_frequency(*self._table.entries())
            self._table.assign(tokens)
            self.most = len(tokens)

    def ranked(
        self, collection: Collection, rule: Rule, probing: bool, threads: int
    ) -> RankedSets:
        """Return the sets of ranks of a collection; `probing`: for searches in an index.

        The rows of a collection that was not counted must not repeat tokens.
        """
        sets = collection.sets
        rows = collection.rows

        def work(part: slice) -> tuple[UInt32Array, UInt32Array, UInt32Array]:
            return self._table.number(*collection.part(part), rule.of_kernels, probing)

        columns = [GrowingArray(np.uint32) for _ in range(3)]
        for parts in ordered_map(work, pieces(sets.counts[rows], PIECE), threads):
            for column, part in zip(columns, parts, strict=True):
                column.extend(part)
        sizes, counts, ranks = (column.finished() for column in columns)
        starts = np.cumsum(counts, dtype=np.uint64) - counts
        return by_size(rows, sizes, counts, starts, ranks, self.most)


@dataclass(frozen=True)
class _Picked:
    """Sets that may be in a pair.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
    once, counts : ndarray of uint32, shape (n,)
        The number of tokens that are in no other set, and the number of all other tokens, repeats
        included.
    hashes : ndarray of uint64, shape (counts.sum(),)
        The hashes of the tokens that `counts` counts.
    """

    rows: Int64Array
    once: UInt32Array
    counts: UInt32Array
    hashes: UInt64Array


def ranked_for_join(
    collections: Sequence[Collection], rule: Rule, threads: int
) -> list[RankedSets]:
    """Return the sets of ranks of one collection, or of an indexed and a probing one.

    Tokens that are in one set only have no rank. Rows that cannot be in a pair are left out as
    early as possible: most rows of texts before their tokens are counted.
    """
    tokens = _noted(collections, threads)
    picked = [
        _pick(tokens, collection, rule, number == 1, threads)
        for number, collection in enumerate(collections)
    ]
    del tokens
    rows = []
    for parts in picked:
        rows.append(concatenated(part.rows for part in parts))
    all_parts = [part for parts in picked for part in parts]
    once = np.concatenate([np.empty(0, np.uint32), *(part.once for part in all_parts)])
    divided = [(part.counts, part.hashes) for part in all_parts]
    del picked, all_parts
    more_once, counts, ranks, most = _rank(divided, threads)
    once += more_once
    starts = np.cumsum(counts, dtype=np.uint64) - counts
    ranked = []
    at = 0
    for number, first_rows in enumerate(rows):
        columns = slice(at, at + len(first_rows))
        sizes = once[columns] + counts[columns]
        longest = longest_prefixes(rule, sizes.astype(np.int64), number == 1)
        prefix_counts = counts[columns].copy()
        prefix_counts[once[columns] >= longest] = 0
        ranked.append(
            by_size(first_rows, sizes, prefix_counts, starts[columns], ranks, most)
        )
        at += len(first_rows)
    return ranked


def rows_in_pairs(collection: Collection, rule: Rule, threads: int) -> Int64Array:
    """Return the rows that may have a similar one, ascending: a superset of those that have one.

    The other rows have too many tokens that no other row has.
    """
    tokens = _noted([collection], threads)
    parts = _pick(tokens, collection, rule, False, threads)
    return concatenated(part.rows for part in parts)


def _noted(collections: Sequence[Collection], threads: int) -> ranks.TokenFilter:
    """Note the tokens of all rows; each thread fills a slice of the filter."""
    tokens = ranks.TokenFilter(
        sum(int(each.sets.counts[each.rows].sum()) for each in collections)
    )

    def note(part: int) -> None:
        for each in collections:
            tokens.note(each.sets.offsets, each.sets.tokens, each.rows, part, threads)

    for _ in ordered_map(note, range(threads), threads):
        pass
    return tokens


def _pick(
    tokens: ranks.TokenFilter,
    collection: Collection,
    rule: Rule,
    probing: bool,
    threads: int,
) -> list[_Picked]:
    """Return the sets that have a token of another one in the longest prefix that they may need.

    Repeats were noted like other tokens, so a row may seem too long; then its prefix is too long as
    well.
    """
    sets = collection.sets
    rows = collection.rows
    sizes = sets.counts[rows]
    limits = longest_prefixes(rule, sizes, probing).astype(np.uint64)

    def pick(part: slice) -> _Picked:
        places, once, counts, hashes = tokens.pick(*collection.part(part), limits[part])
        return _Picked(rows[part][places], once, counts, hashes)

    return list(ordered_map(pick, pieces(sizes, PIECE), threads))


def _rank(
    picked: list[tuple[UInt32Array, UInt64Array]], threads: int
) -> tuple[UInt32Array, UInt32Array, UInt32Array, int]:
    """Return `TokenParts.ranks` of picked sets, and empty `picked` to free its memory early."""
    parts = ranks.TokenParts(picked)
    number = len(picked)
    picked.clear()
    step = max(1, parts.parts // (4 * threads))

    def group(first: int) -> None:
        parts.group(first, min(parts.parts, first + step))

    for _ in ordered_map(parts.divide, range(number), threads):
        pass
    for _ in ordered_map(group, range(0, parts.parts, step), threads):
        pass
    return parts.ranks()


def longest_prefixes(rule: Rule, sizes: Int64Array, probing: bool) -> UInt32Array:
    """Return the longest prefix that sets of these sizes, at least 1, may need."""
    longest = int(sizes.max(initial=0))
    if longest <= len(sizes):  # a table of all sizes is quicker than sorting
        different = np.arange(1, longest + 1, dtype=np.uint32)
        which = sizes - 1
    else:
        different, which = np.unique(sizes, return_inverse=True)
        different = different.astype(np.uint32)
    return setjoin.longest_prefixes(rule.of_kernels, different, probing)[which]


def by_size(
    rows: Int64Array,
    sizes: UInt32Array,
    counts: UInt32Array,
    starts: UInt64Array,
    ranks: UInt32Array,
    most: int,
) -> RankedSets:
    """Return rows with ranks by ascending size."""
    places = np.flatnonzero(counts)
    order = places[bands.order(sizes[places].astype(np.uint64))]
    records = setjoin.SetRecords(
        sizes[order], counts[order], starts[order], ranks, most
    )
    return RankedSets(records, rows[order])


# Numbers of occurrences up to this are sorted as 16-bit numbers.
OFTEN = 2**16 - 1


def by_frequency(tokens: UInt64Array, counts: UInt64Array) -> UInt64Array:
    """Return tokens sorted by (count, token): by count, then the tokens of each count."""
    clipped = np.minimum(counts, OFTEN).astype(np.uint16)
    order = np.argsort(clipped, kind="stable")
    often = counts[order[len(order) - np.count_nonzero(clipped == OFTEN) :]]
    tokens = tokens[order]
    clipped = clipped[order]
    del order
    starts = np.flatnonzero(np.diff(clipped, prepend=np.uint16(0))).tolist()
    for start, stop in pairwise([*starts, len(tokens)]):
        if clipped[start] == OFTEN:
            tokens[start:] = tokens[start:][np.lexsort((tokens[start:], often))]
        elif stop - start > 1:
            tokens[start:stop] = bands.sorted_numbers(tokens[start:stop])
    return tokens
