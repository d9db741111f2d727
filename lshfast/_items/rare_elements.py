"""The rare elements of weighted sets: similar sets share one of them.

This is the prefix filter of exact joins (Chaudhuri, Ganti and Kaushik, ICDE 2006), with weights
instead of numbers of tokens. The elements of each set are sorted, the rarest first. Let A not weigh
more than B, and let their similarity be at least t. Then they have in common at least the share 2 t
/ (1 + t) of the weight of A, and the share t of the weight of B. So the first common element is not
among the last elements of A that weigh less than this share, nor among the last elements of B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lshfast._common.rows import int64_range, offsets_of, parts_of_rows
from lshfast._common.threads import pieces
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.tokens import places_of_rows

# Bits of the hashes by which elements are counted. Any order of elements is right, if it is the
# same for all sets.
COUNTED_BITS = 20

# Shares of a weight are sums of rounded numbers. Elements whose place is within this of the bound
# count as rare.
SLACK = 1e-6

# An odd number, by which the numbers of sets and keys of buckets are mixed with hashes of elements.
MIXER = np.uint64(0x9E3779B97F4A7C15)

# Elements that are sorted at once.
PIECE_ELEMENTS = 1 << 18

# If more than one of LARGE_SHARE sets is looked up at once, the rare elements of all sets are kept.
LARGE_SHARE = 8

# Elements of the sets that are looked up at once; and if the sets are in a file, because memory is
# limited.
BLOCK_ELEMENTS = 1 << 23
FILE_ELEMENTS = 1 << 18


@dataclass(frozen=True)
class RareElements:
    """The rare elements of sets; set i has hashes offsets[i] to offsets[i + 1], the rarest first.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    hashes : ndarray of uint64, shape (m,)
        Public hashes.
    as_lighter : ndarray of bool, shape (m,)
        Which elements are looked up if the set is the lighter one of a pair; for the heavier one,
        all are.
    """

    offsets: Int64Array
    hashes: UInt64Array
    as_lighter: BoolArray

    @property
    def owners(self) -> Int64Array:
        """The set of each element."""
        return np.repeat(int64_range(len(self.offsets) - 1), np.diff(self.offsets))

    def take(self, rows: Int64Array) -> RareElements:
        """Return the rare elements of some of the sets."""
        offsets, places = places_of_rows(self.offsets, rows)
        return RareElements(offsets, self.hashes[places], self.as_lighter[places])


class RareElementsOf:
    """Finds the rare elements of weighted sets, by the number of sets that have each element.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    elements : ndarray of uint64, shape (m, 3)
        As for `HeldSets`.
    threshold : float
    in_file : bool
    release : callable
        Releases the pages of elements that were read from a file.
    """

    def __init__(
        self,
        offsets: Int64Array,
        elements: UInt64Array,
        threshold: float,
        in_file: bool,
        release: Callable[[UInt64Array], None],
    ) -> None:
        self._offsets = offsets
        self._elements = elements
        self._release = release
        self._in_file = in_file
        self._most = FILE_ELEMENTS if in_file else BLOCK_ELEMENTS
        self._as_heavier = threshold
        self._as_lighter = 2 * threshold / (1 + threshold)

    @cached_property
    def _counts(self) -> Int64Array:
        counts = np.zeros(1 << COUNTED_BITS, np.int64)
        for part in parts_of_rows(len(self._elements), PIECE_ELEMENTS):
            hashes = self._elements[part, 0]
            counts += np.bincount(_counted(hashes), minlength=len(counts))
            self._release(self._elements)
        return counts

    def blocks(self, rows: Int64Array) -> Iterator[slice]:
        """Yield the places of rows that are looked up at once."""
        yield from pieces(self._offsets[rows + 1] - self._offsets[rows], self._most)

    def of(self, rows: Int64Array) -> RareElements:
        """Return the rare elements of some sets."""
        if not self._in_file and LARGE_SHARE * len(rows) > len(self._offsets):
            return self._of_all.take(rows)
        return self._found(rows)

    @cached_property
    def _of_all(self) -> RareElements:
        return self._found(int64_range(len(self._offsets) - 1))

    def _found(self, rows: Int64Array) -> RareElements:
        lengths = self._offsets[rows + 1] - self._offsets[rows]
        parts = [
            self._of_piece(rows[piece]) for piece in pieces(lengths, PIECE_ELEMENTS)
        ] or [self._of_piece(rows)]
        counts = np.concatenate([np.diff(part.offsets) for part in parts])
        return RareElements(
            offsets_of(counts),
            np.concatenate([part.hashes for part in parts]),
            np.concatenate([part.as_lighter for part in parts]),
        )

    def _of_piece(self, rows: Int64Array) -> RareElements:
        offsets, places = places_of_rows(self._offsets, rows)
        elements = self._elements[places]
        self._release(self._elements)
        owners = np.repeat(int64_range(len(rows)), np.diff(offsets))
        hashes = elements[:, 0]
        order = np.lexsort((hashes, self._counts[_counted(hashes)], owners))
        hashes = hashes[order]
        weights = elements[:, 2].copy().view(np.float64)[order]
        totals = np.bincount(owners, weights, minlength=len(rows))
        shares = weights / totals[owners]
        before = np.concatenate([[0.0], np.cumsum(shares, dtype=np.float64)])
        # The share of an element and of those after it.
        remaining_shares = 1 - (before[:-1] - before[offsets[:-1]][owners])
        is_rare = remaining_shares >= self._as_heavier - SLACK
        counts = np.bincount(owners[is_rare], minlength=len(rows))
        return RareElements(
            offsets_of(counts),
            hashes[is_rare],
            remaining_shares[is_rare] >= self._as_lighter - SLACK,
        )

    def are_shared(self, left_rows: Int64Array, right_rows: Int64Array) -> BoolArray:
        """Return which pairs of sets have a common rare element; pairs without are not similar."""
        shared = np.zeros(len(left_rows), np.bool_)
        lists = [self.of(rows) for rows in (left_rows, right_rows)]
        mixed = [rare.hashes ^ rare.owners.astype(np.uint64) * MIXER for rare in lists]
        for lighter, heavier in ((0, 1), (1, 0)):
            lighter_places = np.flatnonzero(lists[lighter].as_lighter)
            common = lighter_places[
                np.isin(mixed[lighter][lighter_places], mixed[heavier])
            ]
            shared[lists[lighter].owners[common]] = True
        return shared


def _counted(hashes: UInt64Array) -> Int64Array:
    return (hashes >> np.uint64(64 - COUNTED_BITS)).astype(np.int64)
