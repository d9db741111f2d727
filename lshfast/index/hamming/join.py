"""All pairs of codes within a Hamming distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import Seed, check_int, check_seed
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range, run_begins
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.families.packed import codes_of
from lshfast.index.hamming.hits import LOW32, query_of, rows_of
from lshfast.index.hamming.plan import fit_blocks
from lshfast.index.hamming.sampled import (
    TablePlan,
    check_join_recall,
    choose_tables,
    masks_of,
)
from lshfast.index.key_pairs import Pairs
from lshfast.kernels import hamming as kernels

# Codes of two buckets together, above which their pairs are found by blocks of the other bits.
CROWD = 1 << 13

# Pieces of work of one block, and queries of a piece of a scan.
PIECES = 64
PIECE_QUERIES = 512

# The most tables of sampled bits at a time; each takes 12 bytes per code.
TABLES = 16


@dataclass(frozen=True, eq=False)
class CodePairs(Pairs[int]):
    """Pairs of codes and their distances as columns; iteration yields tuples of three.

    Attributes
    ----------
    left, right : ndarray of int64 or uint64, shape (n,), or list
        Rows or keys.
    distance : ndarray of int64, shape (n,)
        Numbers of different bits.
    """

    distance: Int64Array


def hamming_pairs(
    codes: npt.ArrayLike,
    radius: int,
    *,
    recall: float = 1.0,
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CodePairs:
    """Find all pairs of codes that differ in at most `radius` bits.

    The answer is complete, unless a `recall` below 1 is enough. Codes are compared if they have few
    different bits in one of several blocks of bits, as in multi-index hashing. Where many codes are
    alike in a block, they are divided by blocks of the other bits. If the radius is too large for
    blocks, all codes are compared with each other.

    Parameters
    ----------
    codes : array_like
        n codes of up to 4,096 bits, in a form of `dedup_codes`.
    radius : int
        The greatest distance, in 0..64 * words.
    recall : float, default 1
        The least probability with which each pair is found, above 0 and at most 1. Below 1, codes
        are compared if they are equal in all bits of a random sample; there are as many samples as
        this probability needs, if these take less time than the complete answer. All pairs that are
        returned are within the radius.
    seed : int or "random", default 1
        Draws the samples, in 0..2**64 - 1. The promise holds for codes that do not depend on it.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
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

    Warns
    -----
    DecimalCodesWarning
        If all codes are texts of decimal digits, which are read as hexadecimal.

    See Also
    --------
    lshfast.HammingIndex : An exact index of binary codes.
    lshfast.dedup_codes : Remove near-duplicates from binary codes.
    lshfast.tanimoto_pairs : Find all pairs of codes by Tanimoto similarity.

    Notes
    -----
    The pairs are in memory, at least 40 bytes each: n equal codes are n (n - 1) / 2 pairs.
    `dedup_codes` does not list pairs.

    References
    ----------
    G. S. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007; M.
    Norouzi, A. Punjani, D. J. Fleet, "Fast search in Hamming space with multi-index hashing", CVPR
    2012; P. Indyk, R. Motwani, "Approximate Nearest Neighbors: Towards Removing the Curse of
    Dimensionality", STOC 1998.

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
    recall = check_join_recall(recall)
    seed = check_seed(seed)
    threads = thread_count(threads)
    tables = choose_tables(array, radius, recall, seed)
    if tables is None:
        row_pairs = pairs_within(array, radius, threads, progress)
    else:
        row_pairs = _sampled(array, radius, *tables, seed, threads, progress)
    distances = kernels.distances(array, row_pairs).astype(np.int64)
    left_rows, right_rows = rows_of(row_pairs)
    return CodePairs(left_rows, right_rows, distances)


def pairs_within(
    codes: UInt64Array, radius: int, threads: int, progress: Progress | None = None
) -> UInt64Array:
    """Return all pairs within the radius, (lower row << 32 | greater row), sorted."""
    if len(codes) >= kernels.MAX_ROWS:
        raise OverflowError(
            f"there can be at most {kernels.MAX_ROWS - 1} codes, not {len(codes)}"
        )
    free = int64_range(64 * codes.shape[1])
    # Pairs of crowded buckets may be found in several.
    return _once(_pairs(codes, radius, free, threads, progress))


def _once(pairs: UInt64Array) -> UInt64Array:
    """Return each of some pairs once, sorted. `np.unique` hashes, which takes ten times as long."""
    pairs = np.sort(pairs)
    is_first = run_begins(pairs)
    return pairs if is_first.all() else pairs[is_first]


def _pairs(
    codes: UInt64Array,
    radius: int,
    free: Int64Array,
    threads: int,
    progress: Progress | None = None,
) -> UInt64Array:
    """Return pairs in any order, some perhaps twice; the codes are alike outside the free bits."""
    words = codes.shape[1]
    plan, masks = fit_blocks(codes, 64 * words, radius, free)
    if plan.method == "scan":
        return _scanned(codes, radius, threads, progress)
    blocks = kernels.Blocks(codes, masks)
    parts_of_pairs = []
    levels = np.minimum(plan.levels, 255).astype(np.uint8)
    steps = blocks.m * PIECES
    for i, (width, level) in enumerate(zip(plan.block_bits, plan.levels, strict=True)):
        blocks.fill(i)
        edges = np.linspace(0, 2**width, PIECES + 1).astype(np.int64).tolist()
        parts = [(i, low, high) for low, high in pairwise(edges) if low < high]

        def search(part: tuple[int, int, int]) -> UInt64Array:
            return blocks.pairs(*part, radius, levels, CROWD)

        for parts_done, part in enumerate(ordered_map(search, parts, threads), 1):
            parts_of_pairs.append(part)
            if progress:
                progress("pairs", i * PIECES + parts_done * PIECES // len(parts), steps)
        free_rest = _outside(free, masks[i])
        for rows in _crowds(blocks, i, width, level):
            parts_of_pairs.append(_pairs_among(codes, rows, radius, free_rest, threads))
        blocks.release(i)
    return np.concatenate(parts_of_pairs)


def _outside(free: Int64Array, mask: UInt64Array) -> Int64Array:
    """Return the bits that are not in a mask."""
    inside = mask[free // 64] >> (free % 64).astype(np.uint64) & np.uint64(1)
    outside: Int64Array = free[inside == 0]
    return outside


def _pairs_among(
    codes: UInt64Array, rows: UInt64Array, radius: int, free: Int64Array, threads: int
) -> UInt64Array:
    """Return the pairs of some rows, which are alike in the bits that are not free."""
    pairs = _pairs(np.ascontiguousarray(codes[rows]), radius, free, threads)
    left_rows = rows[pairs >> np.uint64(32)]
    right_rows = rows[pairs & LOW32]
    ordered: UInt64Array = np.minimum(left_rows, right_rows) << np.uint64(
        32
    ) | np.maximum(left_rows, right_rows)
    return ordered


def _sampled(
    codes: UInt64Array,
    radius: int,
    plan: TablePlan,
    free: Int64Array,
    seed: int,
    threads: int,
    progress: Progress | None,
) -> UInt64Array:
    """Return the pairs that are together in a bucket of some table, sorted."""
    row_pairs = np.empty(0, np.uint64)
    tables_done = 0
    for masks in masks_of(plan, free, codes.shape[1], seed):
        parts = [row_pairs]
        search = partial(
            _table_pairs, codes, radius, free, kernels.Blocks(codes, masks), masks
        )
        for part in ordered_map(search, range(len(masks)), min(threads, TABLES)):
            parts.append(part)
            tables_done += 1
            if progress:
                progress("pairs", tables_done, sum(plan.tables))
        row_pairs = _once(np.concatenate(parts))
    return row_pairs


def _table_pairs(
    codes: UInt64Array,
    radius: int,
    free: Int64Array,
    blocks: kernels.Blocks,
    masks: UInt64Array,
    i: int,
) -> UInt64Array:
    """Return the pairs in the buckets of a table that no earlier table of the blocks has."""
    blocks.fill(i)
    free_rest = _outside(free, masks[i])
    width = len(free) - len(free_rest)
    parts_of_pairs = [
        blocks.pairs(i, 0, 2**width, radius, np.ones(len(masks), np.uint8), CROWD)
    ]
    parts_of_pairs += [
        _pairs_among(codes, rows, radius, free_rest, 1)
        for rows in _crowds(blocks, i, width, 1)
    ]
    blocks.release(i)
    return np.concatenate(parts_of_pairs)


def _crowds(
    blocks: kernels.Blocks, i: int, width: int, level: int
) -> Iterator[UInt64Array]:
    """Yield the rows of each crowded bucket of a block, and of buckets crowded together."""
    sizes = blocks.sizes(i).astype(np.int64)
    flips = (
        [flip for flip in range(1, 2**width) if flip.bit_count() < level]
        if level > 1
        else []
    )
    crowded = np.flatnonzero(sizes > (CROWD // 2 if flips else CROWD)).tolist()
    for value in crowded:
        if sizes[value] > CROWD:
            yield blocks.bucket(i, value).astype(np.uint64)
        for flip in flips:
            other = value ^ flip
            first = other > value or sizes[other] <= CROWD // 2
            if first and sizes[other] and sizes[value] + sizes[other] > CROWD:
                yield np.concatenate(
                    [blocks.bucket(i, value), blocks.bucket(i, other)]
                ).astype(np.uint64)


def _scanned(
    codes: UInt64Array, radius: int, threads: int, progress: Progress | None
) -> UInt64Array:
    """Return the pairs of codes that are all compared with each other."""

    def search(start: int) -> UInt64Array:
        hits = kernels.scan_within(
            codes[start:], codes[start : start + PIECE_QUERIES], radius
        )
        left_rows = query_of(hits).astype(np.uint64)
        right_rows = hits & LOW32
        later = right_rows > left_rows
        return (left_rows[later] << np.uint64(32) | right_rows[later]) + np.uint64(
            start * (2**32 + 1)
        )

    parts_of_pairs = [np.empty(0, np.uint64)]
    starts = range(0, len(codes), PIECE_QUERIES)
    for parts_done, part in enumerate(ordered_map(search, starts, threads), 1):
        parts_of_pairs.append(part)
        if progress:
            progress("pairs", parts_done, len(starts))
    return np.concatenate(parts_of_pairs)
