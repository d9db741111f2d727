"""The greedy choice of keepers among codes: near copies are removed, each for a kept code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of, check_int
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import BoolArray, Int64Array, UInt32Array, UInt64Array
from lshfast.families.packed import codes_of
from lshfast.index.hamming.plan import fit_blocks
from lshfast.kernels import hamming as kernels

Keep: TypeAlias = Literal["first", "last"] | npt.ArrayLike

# Codes that are compared with those kept before them in one batch: a share of all, within these
# numbers.
BATCHES = 32
LEAST_BATCH = 1 << 16
MOST_BATCH = 1 << 20

# Finding a bucket costs more than in a search, since each code also looks for the codes kept in its
# own batch.
LOOKUP_COST = 1000

# Pieces of work of one block in one batch for each thread.
PIECES = 4


class CodeRemoval(NamedTuple):
    """Describe a removed code.

    Attributes
    ----------
    key : object
        Key of the removed code.
    kept_key : object
        Key of the code that is kept instead of it.
    distance : int
        Number of bits in which the two differ.
    """

    key: Any
    kept_key: Any
    distance: int


@dataclass(frozen=True, eq=False, repr=False)
class CodeDedup:
    """Hold the result of `dedup_codes` for n codes.

    ``len(result)`` is n.

    Attributes
    ----------
    keep : ndarray of bool, shape (n,)
        True for the codes that are kept.
    keeper : ndarray of int64, shape (n,)
        The row that is kept instead of each row; the row itself if it is kept.
    distance : ndarray of int64, shape (n,)
        Distance of each code to its keeper; 0 if it is kept.
    radius : int
    copies : int
        Codes that are equal to another one that was preferred to them.
    method : {"scan", "blocks"}
        How the different codes were compared.
    keys : sequence or None
        Keys of the codes; None if the row numbers are the keys.
    """

    keep: BoolArray
    keeper: Int64Array
    distance: Int64Array
    radius: int
    copies: int
    method: Literal["scan", "blocks"]
    keys: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.keep)

    def __repr__(self) -> str:
        kept_count = int(np.count_nonzero(self.keep))
        removed_count = len(self) - kept_count
        return (
            f"CodeDedup({len(self):,} codes: {kept_count:,} kept, {removed_count:,} removed within "
            f"distance {self.radius}, {self.copies:,} of them copies)"
        )

    @property
    def removed(self) -> list[CodeRemoval]:
        """One `CodeRemoval` for each removed code, in row order."""
        return list(self.iter_removed())

    def iter_removed(self) -> Iterator[CodeRemoval]:
        """Yield one `CodeRemoval` for each removed code, in row order.

        Yields
        ------
        CodeRemoval
        """
        for row in np.flatnonzero(~self.keep).tolist():
            keeper = int(self.keeper[row])
            key, kept_key = (
                (row, keeper)
                if self.keys is None
                else (self.keys[row], self.keys[keeper])
            )
            yield CodeRemoval(key, kept_key, int(self.distance[row]))


def dedup_codes(
    codes: npt.ArrayLike,
    radius: int,
    *,
    keep: Keep = "first",
    keys: Sequence[Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CodeDedup:
    """Choose the codes to keep, so that each other code is within `radius` of a kept one.

    Codes are processed in the order of preference. A code is removed if a code that was kept before
    it is within the radius; of several, the one preferred most is its keeper. Otherwise it is kept.
    So no two kept codes are within the radius of each other. The answer is exact.

    Parameters
    ----------
    codes : array_like
        n codes of up to 4,096 bits, such as fingerprints of images or audio, or SimHash codes.
        Words: uint64, or int64 of the same bits, shape (n, words), the lowest word first; an array
        of one dimension is codes of 64 bits. Or hexadecimal strings, such as ``str`` of a hash of
        imagehash; bytes objects, or uint8 of shape (n, bytes); ints; booleans of shape (n, ...).
        These begin with the highest bit.
    radius : int
        The greatest distance, in 0..64 * words.
    keep : {"first", "last"} or array_like of numbers, shape (n,), default "first"
        The order of preference: the first codes, the last ones, or those with the greatest weights,
        such as the sizes of images. Of codes with equal weights, the first is preferred.
    keys : sequence, optional
        Keys of the codes, such as file names; the row numbers by default.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    progress : callable, optional
        Called from time to time with ("dedup", codes done, codes in total), where copies are not
        counted.

    Returns
    -------
    CodeDedup

    Raises
    ------
    TypeError
        If the codes have none of these forms, the weights are not numbers, or an argument has the
        wrong type.
    ValueError
        If an argument has the wrong shape or is out of range, or a weight is NaN.

    Warns
    -----
    DecimalCodesWarning
        If all codes are texts of decimal digits, which are read as hexadecimal.

    See Also
    --------
    lshfast.hamming_pairs : Find all pairs of codes within a Hamming distance.
    lshfast.HammingIndex : An exact index of binary codes.
    lshfast.dedup : Remove near-duplicates from texts in memory.

    Notes
    -----
    Equal codes are collapsed first. The others are sorted by blocks of bits, as in multi-index
    hashing, and each bucket contains the codes kept so far. No list of pairs is made, so time and
    memory do not depend on the number of similar pairs. For 64-bit codes and radius 3 the memory is
    about 70 bytes per code, besides the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import dedup_codes
    >>> codes = np.array([0b0000, 0b0001, 0b0011, 0b1111_0000], np.uint64)
    >>> result = dedup_codes(codes, 1, keys=["a.jpg", "b.jpg", "c.jpg", "d.jpg"])
    >>> result.keep.tolist()
    [True, False, True, True]
    >>> result.removed
    [CodeRemoval(key='b.jpg', kept_key='a.jpg', distance=1)]
    """
    array = codes_of(codes, None)
    n, words = array.shape
    radius = check_int("radius", radius, 0, 64 * words)
    threads = thread_count(threads)
    if n >= kernels.MAX_ROWS:
        raise OverflowError(
            f"there can be at most {kernels.MAX_ROWS - 1} codes, not {n}"
        )
    if keys is not None and len(keys) != n:
        raise ValueError(
            f"keys must have {n} elements, one for each code, not {len(keys)}"
        )
    order = _order(keep, n)
    ranked = array if order is None else array[order]
    first = kernels.copies(ranked)
    distinct = np.flatnonzero(first == np.arange(n, dtype=np.uint32))
    unique = ranked if len(distinct) == n else ranked[distinct]
    keeper_of, method = _keepers(unique, radius, threads, progress)
    number = np.zeros(n, np.uint32)  # of each first copy among the distinct codes
    number[distinct] = np.arange(len(distinct), dtype=np.uint32)
    keeper = distinct[keeper_of[number[first]]]  # still by rank
    if order is not None:
        by_rank = keeper
        keeper = np.empty(n, np.int64)
        keeper[order] = order[by_rank]
    rows = int64_range(n)
    keep_mask: BoolArray = keeper == rows
    distance = np.zeros(n, np.int64)
    removed = np.flatnonzero(~keep_mask)
    pairs = removed.astype(np.uint64) << np.uint64(32) | keeper[removed].astype(
        np.uint64
    )
    distance[removed] = kernels.distances(array, pairs)
    return CodeDedup(
        keep_mask,
        keeper.astype(np.int64, copy=False),
        distance,
        radius,
        n - len(distinct),
        method,
        keys,
    )


def _order(keep: Any, n: int) -> Int64Array | None:
    """Return the rows in the order of preference, or None for the order that they have."""
    if isinstance(keep, str):
        if keep not in ("first", "last"):
            raise ValueError(
                f"keep must be 'first', 'last' or an array of weights, not {keep!r}"
            )
        return None if keep == "first" else int64_range(n - 1, -1, -1)
    weights = array_of(keep, "keep")
    if weights.dtype.kind not in "iufb":
        raise TypeError(
            f"keep must be 'first', 'last' or an array of numbers, not {weights.dtype}"
        )
    if weights.shape != (n,):
        raise ValueError(
            f"keep must have {n} weights, one for each code, not shape {weights.shape}"
        )
    if weights.dtype.kind == "f" and np.isnan(weights).any():
        raise ValueError(
            f"keep must not be NaN, and weight {int(np.argmax(np.isnan(weights)))} is"
        )
    return np.asarray(n - 1 - np.argsort(weights[::-1], kind="stable")[::-1], np.int64)


def _keepers(
    codes: UInt64Array, radius: int, threads: int, progress: Progress | None
) -> tuple[UInt32Array, Literal["scan", "blocks"]]:
    """Return the keeper of each code, in the order of preference, and the method of comparison."""
    n, words = codes.shape
    keeper_of = np.full(n, kernels.NO_ROW, np.uint32)
    if radius == 0 or n < 2:
        return np.arange(n, dtype=np.uint32), "blocks"
    plan, masks = fit_blocks(codes, 64 * words, radius, lookup_cost=LOOKUP_COST)
    levels = np.minimum(plan.levels, 255).astype(np.uint8)
    if plan.method == "scan":
        # All codes are in one bucket.
        masks = np.zeros((1, words), np.uint64)
        levels = np.ones(1, np.uint8)
    widths = plan.block_bits or (0,)
    blocks = kernels.Blocks(codes, masks)
    for _ in ordered_map(blocks.fill, range(blocks.m), threads):
        pass
    keepers = kernels.Keepers(blocks, radius, levels)
    parts = [
        part for i, width in enumerate(widths) for part in _parts(i, width, threads)
    ]
    batch = min(max(n // BATCHES, LEAST_BATCH), MOST_BATCH)
    for low in range(0, n, batch):
        high = min(low + batch, n)
        matches = np.full((blocks.m, high - low), kernels.NO_ROW, np.uint32)

        match = partial(_match, keepers, low, high, matches)
        for _ in ordered_map(match, parts, threads):
            pass
        batch_keepers = keeper_of[low:high]
        np.minimum.reduce(matches, axis=0, out=batch_keepers)
        keepers.settle(low, high, batch_keepers)
        if progress:
            progress("dedup", high, n)
    return keeper_of, plan.method


def _match(
    keepers: kernels.Keepers,
    low: int,
    high: int,
    keepers_of_blocks: UInt32Array,
    part: tuple[int, int, int],
) -> None:
    """Find the keepers of the rows low..high - 1 with some values of one block."""
    keepers.match(*part, low, high, keepers_of_blocks[part[0]])


def _parts(i: int, width: int, threads: int) -> list[tuple[int, int, int]]:
    """Return (block, first value, end) of pieces of work."""
    edges = np.unique(
        np.linspace(0, 2**width, PIECES * threads + 1).astype(np.int64)
    ).tolist()
    return [(i, low, high) for low, high in pairwise(edges)]
