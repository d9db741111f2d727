"""Candidate pairs: rows that share a bucket, each pair once; exact copies count as one row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.run_key import draw_fingerprint_key
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import BoolArray, Int32Array, Int64Array, UInt64Array
from lshfast.kernels import bands as kernels
from lshfast.kernels import sets
from lshfast.kernels.hamming import copies as first_equal
from lshfast.tokens import TokenSets

# The largest number of candidates (16 bytes each). More mean that the parameters do not fit the
# data.
MOST_PAIRS = 1 << 28

# Pairs passed to numpy at a time, because a numpy call cannot be interrupted.
PIECE = 1 << 20


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


def candidates(
    keys: UInt64Array,
    *,
    copies: Int64Array | None = None,
    screen: Callable[[Int64Array, Int64Array], BoolArray] | None = None,
    most: int = MOST_PAIRS,
    threads: int | None = None,
) -> tuple[Int64Array, Int64Array]:
    """Return the pairs of rows that share a bucket key in the same band.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n, b)
        Bucket keys, as returned by `Bands.keys` or by `buckets` of a family. 2**64 - 1 is the key
        of no bucket and matches nothing. An empty row has it in all bands; other rows may have it
        in some.
    copies : ndarray of int64, shape (n,), optional
        The first copy of each row (see `find_copies`). Only first copies become candidates, so that
        a bucket of a million equal rows takes a million steps instead of 10**12.
    screen : callable, optional
        Called with (i, j) of some pairs at a time, from several threads. Returns a bool array of
        the pairs to keep; the others take no memory.
    most : int, default 2**28
        The largest number of pairs to keep. More raise OverflowError.
    threads : int, optional
        At least 1. By default the number of CPUs that this process may use.

    Returns
    -------
    i, j : ndarray of int64
        i < j, each pair once, sorted by (i, j).

    See Also
    --------
    lshfast.verify : Compute the exact similarities of candidate pairs.
    lshfast.pairs : Find all pairs of similar items.
    lshfast.MinHasher : Compute MinHash signatures of sets.
    lshfast.choose_bands : Choose bands and rows for a threshold and a recall.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import candidates
    >>> i, j = candidates(np.array([[7, 1], [7, 2], [8, 2], [7, 2]], np.uint64))
    >>> list(zip(i.tolist(), j.tolist()))
    [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    keys = np.ascontiguousarray(keys)
    if keys.ndim != 2 or keys.dtype != np.uint64:
        raise TypeError(f"keys must be uint64 (n, b), not {keys.dtype} {keys.shape}")
    if keys.shape[1] == 0:
        raise ValueError("keys must have at least one band")
    rows = int64_range(len(keys))
    members = rows if copies is None else rows[check_copies(len(keys), copies) == rows]

    def of_band(band: int) -> tuple[Int64Array, Int64Array]:
        i, j = kernels.pairs_of_band(keys, band, members, most, screen)
        return i, j

    band_pairs = []
    total = 0
    for i, j in ordered_map(of_band, range(keys.shape[1]), thread_count(threads)):
        band_pairs.append((i, j))
        total += len(i)
        if total > most:
            raise OverflowError(
                f"more than {most} candidate pairs: raise the threshold or the number of rows a "
                "band"
            )
    return sorted_pairs(band_pairs)


def number_buckets(
    keys: UInt64Array, members: Int64Array, threads: int
) -> tuple[Int32Array, Int64Array]:
    """Number the buckets of each band that hold at least two members.

    Returns
    -------
    buckets : ndarray of int32, shape (members, b)
        The number of each member's bucket in each band; -1 if the bucket holds one member only.
    counts : ndarray of int64, shape (b,)
        The number of numbered buckets of each band.
    """
    bands = keys.shape[1]
    buckets = np.full((len(members), bands), -1, np.int32)

    def of_band(band: int) -> int:
        return kernels.number_buckets(keys, band, members, buckets)

    return buckets, np.fromiter(
        ordered_map(of_band, range(bands), threads), np.int64, bands
    )


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


def sorted_pairs(
    parts: list[tuple[Int64Array, Int64Array]],
) -> tuple[Int64Array, Int64Array]:
    """Return the pairs of several (i, j) sorted by (i, j), in steps that can be interrupted."""
    width = max((_width(i, j) for i, j in parts), default=0)
    total = sum(len(i) for i, _ in parts)
    if width > 32:
        i, j = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((j, i))
        return i[order], j[order]
    numbers = np.empty(total, np.uint64)
    at = 0
    for i, j in parts:
        for part in parts_of_rows(len(i), PIECE):
            piece = _as_numbers(i[part], j[part], width)
            numbers[at : at + len(piece)] = piece
            at += len(piece)
    numbers = kernels.sorted_numbers(numbers)
    first = np.empty(total, np.int64)
    second = np.empty(total, np.int64)
    for part in parts_of_rows(total, PIECE):
        first[part] = numbers[part] >> np.uint64(width)
        second[part] = numbers[part] & np.uint64(2**width - 1)
    return first, second


def order_of_pairs(i: Int64Array, j: Int64Array) -> Int64Array:
    """Return the stable order that sorts pairs of non-negative numbers by (i, j)."""
    width = _width(i, j)
    return (
        kernels.order(_as_numbers(i, j, width)) if width <= 32 else np.lexsort((j, i))
    )


def _width(i: Int64Array, j: Int64Array) -> int:
    """Return the number of bits that the largest number of the pairs takes."""
    return int(max(i.max(), j.max())).bit_length() if len(i) else 0


def _as_numbers(i: Int64Array, j: Int64Array, width: int) -> UInt64Array:
    """Return each pair as one number, which sorts several times faster than two keys."""
    return i.view(np.uint64) << np.uint64(width) | j.view(np.uint64)
