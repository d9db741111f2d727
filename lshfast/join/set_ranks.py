"""Sets of tokens as sets of ranks: the rarest token is 0, and copies of a set count once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lshfast.common.growing import GrowingArray
from lshfast.common.threads import ordered_map, pieces
from lshfast.common.types import Int64Array, UInt64Array
from lshfast.join.banded import find_copies
from lshfast.join.thresholds import Rule
from lshfast.kernels import bands, setjoin
from lshfast.tokens import TokenSets

UInt32Array = npt.NDArray[np.uint32]

# Tokens in a piece of work.
PIECE = 1 << 21

# Universes of at most this many tokens are small.
SMALL = 64 * setjoin.MOST_WORDS


@dataclass(frozen=True)
class Collection:
    """Sets, and those of them that are joined.

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
            raise ValueError(f"a set may have at most {setjoin.MOST_TOKENS} tokens; row {row} has {sizes[row]}")
        joined = (copies == np.arange(len(copies), dtype=np.int64)) & (sizes > 0)
        return cls(sets, copies, np.flatnonzero(joined).astype(np.int64))


@dataclass(frozen=True)
class RankedSets:
    """Sets of ranks by ascending size, and the row of each.

    Attributes
    ----------
    records : SetRecords
    rows : ndarray of int64, shape (m,)
        Sets that cannot have a similar one, because no token of their prefix is in another set, are left out.
    """

    records: setjoin.SetRecords
    rows: Int64Array


class RankedTokens:
    """The tokens of collections by their number of occurrences, the rarest first; among equal numbers, by value.

    Parameters
    ----------
    collections : sequence of Collection
    every : bool
        Whether tokens that occur once have ranks as well. They are of no use to a join of these collections.

    Attributes
    ----------
    small : bool
        Whether there are at most SMALL different tokens; then each of them has a rank.
    most : int
        The number of ranks.
    """

    def __init__(self, collections: Sequence[Collection], every: bool = False) -> None:
        self._table = setjoin.TokenRanks()
        self._marks: dict[int, UInt64Array] = {}
        self.small = all(
            self._table.count(each.sets.offsets, each.sets.tokens, each.rows, None, SMALL) for each in collections
        )
        if not self.small:
            self._count(collections, every)
        tokens = by_frequency(*self._table.entries(1 if every or self.small else 2))
        self._table.assign(tokens)
        self.most = len(tokens)

    def _count(self, collections: Sequence[Collection], every: bool) -> None:
        """Count the tokens; unless `every`, note them first, and mark those that may occur twice."""
        self._table = setjoin.TokenRanks(0 if every else sum(len(each.sets.tokens) for each in collections))
        if not every:
            for each in collections:
                self._table.note(each.sets.offsets, each.sets.tokens, each.rows)
        for each in collections:
            marks = None if every else np.zeros(len(each.sets.tokens) // 64 + 1, np.uint64)
            self._table.count(each.sets.offsets, each.sets.tokens, each.rows, marks)
            if marks is not None:
                self._marks[id(each)] = marks

    def ranked(self, collection: Collection, rule: Rule, probing: bool, threads: int) -> RankedSets:
        """Return the sets of ranks of a collection; `probing`: they will probe an index.

        The rows of a collection that was not counted must not repeat tokens.
        """
        sets, rows, marks = collection.sets, collection.rows, self._marks.get(id(collection))

        def work(part: slice) -> tuple[UInt32Array, UInt32Array, UInt32Array]:
            return self._table.number(sets.offsets, sets.tokens, rows[part], rule.of_kernels, probing, marks)

        columns = [GrowingArray(np.uint32) for _ in range(3)]
        for parts in ordered_map(work, pieces(sets.counts[rows], PIECE), threads):
            for column, part in zip(columns, parts, strict=True):
                column.extend(part)
        sizes, counts, ranks = (column.finished() for column in columns)
        starts = np.cumsum(counts, dtype=np.uint64) - counts
        kept = np.flatnonzero(counts)
        kept = kept[bands.order(sizes[kept].astype(np.uint64))]
        return RankedSets(setjoin.SetRecords(sizes[kept], counts[kept], starts[kept], ranks, self.most), rows[kept])


# Numbers of occurrences up to this are sorted as 16-bit numbers.
OFTEN = 2**16 - 1


def by_frequency(tokens: UInt64Array, counts: UInt64Array) -> UInt64Array:
    """Return tokens sorted by (count, token). Most counts are small, so the tokens of each are sorted by themselves."""
    clipped = np.minimum(counts, OFTEN).astype(np.uint16)
    order = np.argsort(clipped, kind="stable")
    often = counts[order[len(order) - np.count_nonzero(clipped == OFTEN) :]]
    tokens, clipped = tokens[order], clipped[order]
    del order
    starts = np.flatnonzero(np.diff(clipped, prepend=np.uint16(0))).tolist()
    for start, stop in pairwise([*starts, len(tokens)]):
        if clipped[start] == OFTEN:
            tokens[start:] = tokens[start:][np.lexsort((tokens[start:], often))]
        elif stop - start > 1:
            tokens[start:stop] = bands.sorted_numbers(tokens[start:stop])
    return tokens
