"""Candidate pairs: rows that share a bucket, each pair once; exact copies count as one row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import BoolArray, Int32Array, Int64Array, UInt64Array
from lshfast.join.copies import check_copies
from lshfast.join.pair_arrays import PAIRS_AT_ONCE, as_numbers, number_width
from lshfast.kernels import bands as kernels

# The largest number of candidates (16 bytes each). More mean that the parameters do not fit the
# data.
MOST_PAIRS = 1 << 28


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
    return _sorted(band_pairs)


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


def _sorted(
    parts: list[tuple[Int64Array, Int64Array]],
) -> tuple[Int64Array, Int64Array]:
    """Return the pairs of several (i, j) sorted by (i, j), in steps that can be interrupted."""
    width = max((number_width(i, j) for i, j in parts), default=0)
    total = sum(len(i) for i, _ in parts)
    if width > 32:
        i, j = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((j, i))
        return i[order], j[order]
    numbers = np.empty(total, np.uint64)
    at = 0
    for i, j in parts:
        for part in parts_of_rows(len(i), PAIRS_AT_ONCE):
            piece = as_numbers(i[part], j[part], width)
            numbers[at : at + len(piece)] = piece
            at += len(piece)
    numbers = kernels.sorted_numbers(numbers)
    first = np.empty(total, np.int64)
    second = np.empty(total, np.int64)
    for part in parts_of_rows(total, PAIRS_AT_ONCE):
        first[part] = numbers[part] >> np.uint64(width)
        second[part] = numbers[part] & np.uint64(2**width - 1)
    return first, second
