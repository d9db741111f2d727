"""Exact copies: the first row equal to each row, and the pairs of copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.run_key import draw_fingerprint_key
from lshfast._common.threads import pieces
from lshfast._common.types import Int64Array, PairArray, UInt64Array
from lshfast.join.pair_arrays import as_pairs, joined_pairs, sort_pairs
from lshfast.kernels import sets
from lshfast.kernels.hamming import copies as first_equal
from lshfast.tokens import TokenSets

# Pairs that one array holds at most.
PIECE_PAIRS = 1 << 16


def find_copies(sets_or_fingerprints: TokenSets | UInt64Array) -> Int64Array:
    """Return, for each row, the first row with the same multiset of tokens.

    A row without an earlier copy is its own first copy. An empty row is never a copy.

    Rows are compared by fingerprints under a secret key that is drawn for each call, so that
    different rows with equal fingerprints cannot be constructed. Two different rows of n tokens
    have equal fingerprints with probability at most n / 2**121 (docs/reference/definitions.md).

    Parameters
    ----------
    sets_or_fingerprints : TokenSets, or ndarray of uint64, shape (n, m)
        The sets, or the result of `lshfast.kernels.sets.fingerprints` for them: the number of
        tokens of each row, and words that are equal for equal rows.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    TypeError
        If the argument is neither TokenSets nor such an array.

    See Also
    --------
    lshfast.join.find_identical : The same for texts and other items.
    lshfast.candidates : Find the pairs of rows that share a bucket.
    lshfast.dedup : Remove near-duplicates from texts in memory.

    Examples
    --------
    >>> from lshfast import TokenSets, find_copies
    >>> find_copies(
    ...     TokenSets.from_sets([["a", "b"], ["c"], ["b", "a"], [], []])
    ... ).tolist()
    [0, 1, 0, 3, 4]
    """
    if not isinstance(sets_or_fingerprints, TokenSets):
        prints = np.asarray(sets_or_fingerprints)
        if prints.dtype != np.uint64 or prints.ndim != 2:
            raise TypeError(
                "sets_or_fingerprints must be TokenSets or an array of uint64 (n, m), not "
                f"{prints.dtype} {prints.shape}; lshfast.join.find_identical takes texts and "
                "other items"
            )
        return equal_rows(prints)
    rows = sets_or_fingerprints
    key = draw_fingerprint_key()
    copies = equal_rows(copy_marks(rows))

    def fingerprints(doubtful_rows: Int64Array) -> UInt64Array:
        doubtful_sets = rows.take(doubtful_rows)
        return sets.fingerprints(doubtful_sets.offsets, doubtful_sets.tokens, key)

    later_copies = np.flatnonzero(copies != int64_range(len(copies)))
    return confirm_copies(copies, later_copies, fingerprints)


def copy_marks(rows: TokenSets) -> UInt64Array:
    """Return the number of tokens of each row and their sum mod 2**64, uint64 (n, 2)."""
    marks = np.zeros((len(rows), 2), np.uint64)
    marks[:, 0] = rows.counts
    full = marks[:, 0] > 0
    if full.any():
        marks[full, 1] = np.add.reduceat(
            rows.tokens[: rows.offsets[-1]], rows.offsets[:-1][full]
        )
    return marks


def equal_rows(prints: UInt64Array) -> Int64Array:
    """Return the first row equal to each row; a row whose first number is 0 equals no other."""
    first = first_equal(np.ascontiguousarray(prints)).astype(np.int64)
    zero_rows = np.flatnonzero(prints[:, 0] == 0)
    first[zero_rows] = zero_rows
    return first


def confirm_copies(
    copies: Int64Array,
    doubtful: Int64Array,
    fingerprints: Callable[[Int64Array], UInt64Array],
) -> Int64Array:
    """Return the first copy of each row, given `copies`, of which the doubtful rows are uncertain.

    `fingerprints` returns the fingerprints of the given rows: the doubtful rows and the rows they
    may be copies of.
    """
    if not len(doubtful):
        return copies
    in_doubt = np.zeros(len(copies), bool)
    in_doubt[doubtful] = True
    in_doubt[copies[doubtful]] = True
    doubtful_rows = np.flatnonzero(in_doubt)
    confirmed = copies.copy()
    confirmed[doubtful_rows] = doubtful_rows[equal_rows(fingerprints(doubtful_rows))]
    return confirmed


def without_rows(copies: Int64Array, rows: Int64Array) -> Int64Array:
    """Return the first copies if some rows are copies of none, and no row is a copy of them."""
    remaining = np.ones(len(copies), np.bool_)
    remaining[rows] = False
    kept_rows = np.flatnonzero(remaining)
    labels = copies[kept_rows]
    first = np.empty_like(copies)
    first[labels[::-1]] = kept_rows[::-1]  # the smallest is written last and stays
    changed = int64_range(len(copies))
    changed[kept_rows] = first[labels]
    return changed


def check_copies(n: int, copies: Int64Array) -> Int64Array:
    """Return `copies` as int64; raise an error unless it has one row number per row."""
    copies = np.asarray(copies)
    if copies.shape != (n,) or copies.dtype.kind not in "iu":
        raise ValueError(
            f"copies must be {n} row numbers, not {copies.dtype} {copies.shape}"
        )
    if n and not 0 <= copies.min() <= copies.max() < n:
        raise ValueError(
            f"copies must be in 0..{n - 1}, not {copies.min()}..{copies.max()}"
        )
    if np.any(copies[copies] != copies):
        raise ValueError(
            "copies must name first copies: some row's is itself a copy of another"
        )
    return copies.astype(np.int64)


def first_copies(n: int, copies: Int64Array | None) -> Int64Array:
    """Return the checked first copies of n rows; without `copies`, no row is a copy."""
    if copies is None:
        return int64_range(n)
    return check_copies(n, copies)


def compared_rows(
    m: int, copies: Int64Array | None, sketched: Int64Array | None
) -> tuple[Int64Array, Int64Array]:
    """Return the first copy of each row, and the first copies that have one of m sketches.

    `sketched` has the rows of the sketches; None if there is one for each row.
    """
    n = m if sketched is None or copies is None else len(copies)
    first = first_copies(n, copies)
    is_first = first == int64_range(n)
    if sketched is None:
        return first, np.flatnonzero(is_first).astype(np.int64)
    return first, sketched[is_first[sketched]]


def sketches_of(rows: Int64Array, sketched: Int64Array | None) -> Int64Array:
    """Return the place of the sketch of each row; `sketched` as for `compared_rows`."""
    return rows if sketched is None else np.searchsorted(sketched, rows)


def copy_pairs(copies: Int64Array) -> PairArray:
    """Return (first copy, copy, 1) for each copy."""
    rows = np.flatnonzero(copies != int64_range(len(copies)))
    return as_pairs(copies[rows], rows, 1.0)


def with_copies(
    similar: PairArray, copies: Int64Array, expand: Literal["first", "all"] = "first"
) -> PairArray:
    """Add the pairs of exact copies to the pairs of different texts.

    "first" pairs each copy with its first copy. "all" adds all pairs of copies, and repeats each
    pair of different texts for all their copies.
    """
    if expand == "all":
        kinds = _Kinds.of(copies)
        different_pairs = map(_ascending, _spread(similar, kinds, kinds))
        pairs = joined_pairs(chain(different_pairs, kinds.pairs()), len(similar))
    else:
        pairs = np.concatenate([similar, copy_pairs(copies)])
    sort_pairs(pairs)
    return pairs


def spread_across(
    similar: PairArray, left_copies: Int64Array, right_copies: Int64Array
) -> PairArray:
    """Repeat pairs of rows of two collections for all copies of both rows, unsorted."""
    left_kinds = _Kinds.of(left_copies)
    right_kinds = _Kinds.of(right_copies)
    return joined_pairs(_spread(similar, left_kinds, right_kinds), len(similar))


@dataclass(frozen=True)
class _Kinds:
    """Rows by their first copy f: `order[start[f] : start[f] + count[f]]`, ascending."""

    start: Int64Array
    count: Int64Array
    order: Int64Array

    @classmethod
    def of(cls, copies: Int64Array) -> _Kinds:
        count = np.bincount(copies, minlength=len(copies))
        order = np.argsort(copies, kind="stable").astype(np.int64)
        return cls(np.cumsum(count, dtype=np.int64) - count, count, order)

    def pairs(self) -> Iterator[PairArray]:
        """Yield all pairs of copies of one row, in parts."""
        counts = self.count[self.count > 0]
        ends = np.repeat(np.cumsum(counts, dtype=np.int64), counts)
        later = ends - int64_range(1, len(ends) + 1)
        for rows in pieces(later, PIECE_PAIRS):
            first = np.repeat(int64_range(rows.start, rows.stop), later[rows])
            second = first + 1 + _numbers_within(later[rows])
            yield as_pairs(self.order[first], self.order[second], 1.0)


def _spread(
    similar: PairArray, left_kinds: _Kinds, right_kinds: _Kinds
) -> Iterator[PairArray]:
    """Yield each pair for all copies of its left row and of its right row, in parts."""
    times = left_kinds.count[similar["i"]] * right_kinds.count[similar["j"]]
    for rows in pieces(times, PIECE_PAIRS):
        copied_pairs = np.repeat(similar[rows], times[rows])
        i = copied_pairs["i"]
        j = copied_pairs["j"]
        number = _numbers_within(times[rows])
        copy_of_i, copy_of_j = np.divmod(number, right_kinds.count[j])
        copied_pairs["i"] = left_kinds.order[left_kinds.start[i] + copy_of_i]
        copied_pairs["j"] = right_kinds.order[right_kinds.start[j] + copy_of_j]
        yield copied_pairs


def _ascending(pairs: PairArray) -> PairArray:
    """Return pairs with the smaller row first."""
    low = np.minimum(pairs["i"], pairs["j"])
    high = np.maximum(pairs["i"], pairs["j"])
    return as_pairs(low, high, pairs["similarity"])


def _numbers_within(counts: Int64Array) -> Int64Array:
    """Return 0..count - 1 for each count."""
    starts = np.cumsum(counts, dtype=np.int64) - counts
    return int64_range(int(counts.sum())) - np.repeat(starts, counts)
