"""Sets of tokens as sets of ranks: the rarest token is 0, and copies of a set count once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast.common.threads import ordered_map, pieces
from lshfast.common.types import Int64Array
from lshfast.join.banded import find_copies
from lshfast.kernels import bands, setjoin
from lshfast.kernels import sets as kernels
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
        Each row holds different tokens.
    copies : ndarray of int64, shape (n,)
        The first copy of each row.
    rows : ndarray of int64, shape (m,)
        The first copies that are not empty, by ascending size, and those of one size by row.
    """

    sets: TokenSets
    copies: Int64Array
    rows: Int64Array

    @classmethod
    def of(cls, sets: TokenSets, threads: int) -> Collection:
        """Prepare sets that may repeat tokens."""
        return cls.of_distinct(distinct_sets(sets, threads))

    @classmethod
    def of_distinct(cls, sets: TokenSets) -> Collection:
        """Prepare sets in which no row repeats a token."""
        sizes = sets.counts
        if len(sizes) and sizes.max() > setjoin.MOST_TOKENS:
            row = int(np.argmax(sizes))
            raise ValueError(f"a set may have at most {setjoin.MOST_TOKENS} tokens; row {row} has {sizes[row]}")
        copies = find_copies(sets)
        rows = np.flatnonzero((copies == np.arange(len(copies), dtype=np.int64)) & (sizes > 0)).astype(np.int64)
        return cls(sets, copies, rows[bands.order(sizes[rows].view(np.uint64))])

    @property
    def sizes(self) -> UInt32Array:
        """The sizes of `rows`, ascending."""
        return self.sets.counts[self.rows].astype(np.uint32)

    @property
    def classes(self) -> UInt32Array:
        """The different sizes, ascending."""
        return np.unique(self.sizes)


def distinct_sets(sets: TokenSets, threads: int) -> TokenSets:
    """Return the sets without repeated tokens, computed in several threads."""
    if threads == 1 or len(sets.tokens) <= PIECE:
        return sets.distinct()

    def work(part: slice) -> TokenSets:
        return TokenSets(*kernels.distinct(sets.offsets[part.start : part.stop + 1], sets.tokens))

    return TokenSets.concatenate(ordered_map(work, pieces(sets.counts, PIECE), threads))


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
    """The tokens of collections by frequency, the rarest first, and those of one frequency by value.

    Parameters
    ----------
    collections : sequence of Collection
    every : bool
        Whether tokens in one set only have ranks as well. They are of no use to a join of these collections.

    Attributes
    ----------
    small : bool
        Whether there are at most SMALL different tokens; then each of them has a rank.
    most : int
        The number of ranks.
    """

    def __init__(self, collections: Sequence[Collection], every: bool = False) -> None:
        ascending = [np.sort(each.rows) for each in collections]
        table = setjoin.TokenRanks()
        self.small = all(
            table.count(each.sets.offsets, each.sets.tokens, rows, SMALL)
            for each, rows in zip(collections, ascending, strict=True)
        )
        if not self.small:
            table = setjoin.TokenRanks(0 if every else sum(len(each.sets.tokens) for each in collections))
            for counting in [True] if every else [False, True]:
                for each, rows in zip(collections, ascending, strict=True):
                    if counting:
                        table.count(each.sets.offsets, each.sets.tokens, rows)
                    else:
                        table.note(each.sets.offsets, each.sets.tokens, rows)
        tokens, counts, places = table.entries(1 if every or self.small else 2)
        order = bands.order(tokens)
        table.assign(places[order[bands.order(counts[order])]])
        self._table, self.most = table, len(tokens)

    def ranked(self, collection: Collection, prefixes: UInt32Array, threads: int) -> RankedSets:
        """Return the sets of ranks of a collection, given the length of the prefix of each row."""
        sets, rows = collection.sets, collection.rows

        def work(part: slice) -> tuple[UInt32Array, UInt32Array]:
            return self._table.number(sets.offsets, sets.tokens, rows[part], prefixes[part])

        sizes = collection.sizes
        parts = list(ordered_map(work, pieces(sizes.astype(np.int64), PIECE), threads))
        counts = np.concatenate([np.empty(0, np.uint32), *(part[0] for part in parts)])
        ranks = np.concatenate([np.empty(0, np.uint32), *(part[1] for part in parts)])
        del parts
        kept = np.flatnonzero(counts)
        return RankedSets(setjoin.SetRecords(sizes[kept], counts[kept], ranks, self.most), rows[kept])


def prefix_of_rows(collection: Collection, of_classes: UInt32Array) -> UInt32Array:
    """Return the length of the prefix of each row, given those of the different sizes."""
    return of_classes[np.searchsorted(collection.classes, collection.sizes)]


def slices(n: int, most: int) -> Iterator[slice]:
    """Yield consecutive slices of at most `most` rows."""
    return (slice(first, min(first + most, n)) for first in range(0, n, most))
