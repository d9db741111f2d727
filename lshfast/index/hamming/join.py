"""All pairs of codes within a Hamming distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lshfast.common.checks import check_int
from lshfast.common.progress import Progress
from lshfast.common.threads import ordered_map, thread_count
from lshfast.common.types import Int64Array, UInt64Array
from lshfast.families.packed import codes_of
from lshfast.index.hamming.hits import LOW32, query_of
from lshfast.index.hamming.plan import fit_blocks
from lshfast.index.key_pairs import Pairs
from lshfast.kernels import hamming as kernels

# Codes of two buckets together, above which their pairs are found by blocks of the other bits.
CROWD = 1 << 13

# Pieces of work of one block, and queries of a piece of a scan.
PIECES = 64
PIECE_QUERIES = 512


@dataclass(frozen=True, eq=False)
class CodePairs(Pairs[int]):
    """Pairs of codes and their distances, as columns; iteration yields tuples (left, right, distance).

    Attributes
    ----------
    left, right : ndarray of int64, shape (n,), or list
        Rows or keys.
    distance : ndarray of int64, shape (n,)
        Numbers of different bits.
    """

    distance: Int64Array


def hamming_pairs(
    codes: npt.ArrayLike, radius: int, *, threads: int | None = None, progress: Progress | None = None
) -> CodePairs:
    """Find all pairs of codes that differ in at most `radius` bits.

    The answer is exact. Codes are compared if they have few different bits in one of several blocks of bits, as in
    multi-index hashing. Where many codes are alike in a block, they are divided by blocks of the other bits. If the
    radius is too large for blocks, all codes are compared with each other.

    Parameters
    ----------
    codes : array_like
        n codes of up to 4,096 bits, in a form of `dedup_codes`.
    radius : int
        The greatest distance, in 0..64 * words.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not depend on it.
    progress : callable, optional
        Called from time to time with ("pairs", steps done, steps in total).

    Returns
    -------
    CodePairs
        Rows left < right, sorted by (left, right), and their distances.

    Raises
    ------
    TypeError
        If the codes have another form, or an argument has the wrong type.
    ValueError
        If an argument has the wrong shape or is out of range.

    Notes
    -----
    The pairs are in memory, at least 40 bytes each: n equal codes are n (n - 1) / 2 pairs. `dedup_codes` does not list
    pairs.

    References
    ----------
    G. S. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007; M. Norouzi, A. Punjani,
    D. J. Fleet, "Fast search in Hamming space with multi-index hashing", CVPR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import hamming_pairs
    >>> codes = np.array([0b1111, 0b0111, 0b1100_0000], np.uint64)
    >>> list(hamming_pairs(codes, 1))
    [(0, 1, 1)]
    """
    array = codes_of(codes, None)
    radius = check_int("radius", radius, 0, 64 * array.shape[1])
    found = pairs_within(array, radius, thread_count(threads), progress)
    distances = kernels.distances(array, found).astype(np.int64)
    left, right = (found >> np.uint64(32)).astype(np.int64), (found & LOW32).astype(np.int64)
    return CodePairs(left, right, distances)


def pairs_within(codes: UInt64Array, radius: int, threads: int, progress: Progress | None = None) -> UInt64Array:
    """Return all pairs within the radius, (lower row << 32 | greater row), sorted."""
    if len(codes) >= kernels.MAX_ROWS:
        raise OverflowError(f"there can be at most {kernels.MAX_ROWS - 1} codes, not {len(codes)}")
    free = np.arange(64 * codes.shape[1], dtype=np.int64)
    found = np.sort(_pairs(codes, radius, free, threads, progress))
    again = np.zeros(len(found), np.bool_)  # pairs of crowded buckets may be found in several
    again[1:] = found[1:] == found[:-1]
    return found[~again] if again.any() else found


def _pairs(
    codes: UInt64Array, radius: int, free: Int64Array, threads: int, progress: Progress | None = None
) -> UInt64Array:
    """Return pairs in any order, some of them perhaps twice; the codes are alike in the bits that are not free."""
    words = codes.shape[1]
    plan, masks = fit_blocks(codes, 64 * words, radius, free)
    if plan.method == "scan":
        return _scanned(codes, radius, threads, progress)
    blocks, found = kernels.Blocks(codes, masks), []
    levels = np.minimum(plan.levels, 255).astype(np.uint8)
    steps = blocks.m * PIECES
    for i, (width, level) in enumerate(zip(plan.block_bits, plan.levels, strict=True)):
        blocks.fill(i)
        edges = np.linspace(0, 2**width, PIECES + 1).astype(np.int64).tolist()
        parts = [(i, low, high) for low, high in pairwise(edges) if low < high]

        def search(part: tuple[int, int, int]) -> UInt64Array:
            return blocks.pairs(*part, radius, levels, CROWD)

        for done, part in enumerate(ordered_map(search, parts, threads), 1):
            found.append(part)
            if progress:
                progress("pairs", i * PIECES + done * PIECES // len(parts), steps)
        inside = masks[i, free // 64] >> (free % 64).astype(np.uint64) & np.uint64(1)
        rest = free[inside == 0]
        for rows in _crowds(blocks, i, width, level):
            pairs = _pairs(np.ascontiguousarray(codes[rows]), radius, rest, threads)
            left, right = rows[pairs >> np.uint64(32)], rows[pairs & LOW32]
            found.append(np.minimum(left, right) << np.uint64(32) | np.maximum(left, right))
        blocks.release(i)
    return np.concatenate(found)


def _crowds(blocks: kernels.Blocks, i: int, width: int, level: int) -> Iterator[UInt64Array]:
    """Yield the rows of each crowded bucket of a block, and of each two buckets that are crowded together."""
    sizes = blocks.sizes(i).astype(np.int64)
    flips = [flip for flip in range(1, 2**width) if flip.bit_count() < level] if level > 1 else []
    crowded = np.flatnonzero(sizes > (CROWD // 2 if flips else CROWD)).tolist()
    for value in crowded:
        if sizes[value] > CROWD:
            yield blocks.bucket(i, value).astype(np.uint64)
        for flip in flips:
            other = value ^ flip
            first = other > value or sizes[other] <= CROWD // 2
            if first and sizes[other] and sizes[value] + sizes[other] > CROWD:
                yield np.concatenate([blocks.bucket(i, value), blocks.bucket(i, other)]).astype(np.uint64)


def _scanned(codes: UInt64Array, radius: int, threads: int, progress: Progress | None) -> UInt64Array:
    """Return the pairs of codes that are all compared with each other."""

    def search(start: int) -> UInt64Array:
        hits = kernels.scan_within(codes[start:], codes[start : start + PIECE_QUERIES], radius)
        left, right = query_of(hits).astype(np.uint64), hits & LOW32
        later = right > left
        return (left[later] << np.uint64(32) | right[later]) + np.uint64(start * (2**32 + 1))

    found, starts = [np.empty(0, np.uint64)], range(0, len(codes), PIECE_QUERIES)
    for done, part in enumerate(ordered_map(search, starts, threads), 1):
        found.append(part)
        if progress:
            progress("pairs", done, len(starts))
    return np.concatenate(found)
