"""Families of packed bits for the Hamming distance: bit sampling, and covering."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_int, numbers_of
from lshfast._common.threads import for_each_piece
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.families.codes import BitCodes, BitFamily
from lshfast.families.draws import draw, scaled
from lshfast.families.family import Family, check_pairs
from lshfast.families.packed import batch_of_codes
from lshfast.kernels import sampling as kernels

# Domains of draws.
BIT_SAMPLING = 40
COVERING = 41
MAX_BITS = 2**24
MAX_COVERED_BITS = 2**16
MAX_RADIUS = 10

# Values, or words that are read, in one piece of work.
PIECE_STEPS = 2**21


@dataclass(frozen=True)
class BitSampling(BitFamily[UInt64Array]):
    """Bit sampling: a function is a bit at a random position; p is 1 - d / bits.

    The distance d is the Hamming distance, and p is the probability that two codes collide.
    Positions are drawn independently, so `and_` and `or_` have their exact curves. There are only
    `bits` different functions: of many functions, some have the same position.

    Parameters
    ----------
    bits : int
        Bits of a code, in 1..2**24. Bit i is bit i % 64 of word i // 64, counted from the lowest.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.Covering : Functions that miss no code within a radius.
    lshfast.hamming_pairs : Find all pairs of codes within a radius.

    References
    ----------
    P. Indyk, R. Motwani, "Approximate Nearest Neighbors: Towards Removing the Curse of
    Dimensionality", STOC 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.families import BitSampling
    >>> family = BitSampling(bits=96, seed=7)
    >>> a, b = np.array([[2**64 - 1, 0], [2**64 - 1, 2**32 - 1]], np.uint64)
    >>> (
    ...     family.distance(a, b).tolist(),
    ...     family.collision_probability(32).round(4).tolist(),
    ... )
    ([32.0], 0.6667)
    >>> bool(abs(family.collide(a, b, 4096).mean() - 2 / 3) < 0.03)
    True
    >>> family.sensitivity(32, 64)
    Sensitivity(d1=32.0, d2=64.0, p1=0.6666666666666667, p2=0.33333333333333337)
    """

    name: ClassVar[str] = "bit-sampling"

    bits: int
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", check_int("bits", self.bits, 1, MAX_BITS))

    @property
    def max_distance(self) -> float:
        """The largest Hamming distance: `bits`."""
        return self.bits

    def positions(self, count: int) -> Int64Array:
        """Return the positions of the first `count` functions, int64 (count,), in 0..bits - 1."""
        words = draw(self.seed, BIT_SAMPLING, check_int("count", count, 1))
        return scaled(words, self.bits).astype(np.int64)

    def codes(
        self, items: UInt64Array, count: int, *, threads: int | None = None
    ) -> BitCodes:
        """Compute the values of packed codes under the first `count` functions, packed.

        Parameters
        ----------
        items : ndarray of uint64, shape (n, ceil(bits / 64))
            Packed codes. Bits after the last one must be zeros.
        count : int
            Number of functions, at least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        BitCodes
            All items have values.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type, shape or range.
        """
        codes = batch_of_codes(items, self.bits)
        count = check_int("count", count, 1)
        positions = self.positions(count).astype(np.uint64)
        words = np.empty((len(codes), -(-count // 64)), np.uint64)
        costs = np.full(len(codes), count + codes.shape[1], np.int64)
        for_each_piece(
            lambda rows: kernels.bits(codes[rows], positions, words[rows]),
            costs,
            PIECE_STEPS,
            threads,
        )
        return BitCodes(words, None)

    def distance(self, a: UInt64Array, b: UInt64Array) -> Float64Array:
        """Compute the Hamming distances of pairs of codes.

        Parameters
        ----------
        a, b : ndarray of uint64, shape (n, ceil(bits / 64))
            n codes each; one of them may be a single code.

        Returns
        -------
        ndarray of float64, shape (n,)
            Whole numbers in 0..bits.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or shape.
        """
        return hamming_distances(a, b, self.bits)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute 1 - d / bits.

        Parameters
        ----------
        distance : array_like of float
            Hamming distances d, in [0, bits].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        return np.asarray(
            1 - numbers_of(distance, "distance", 0, self.max_distance) / self.bits
        )


@dataclass(frozen=True)
class Covering(Family[UInt64Array]):
    """Covering: codes within a Hamming radius always collide under one of a set of functions.

    There are 2**(r + 1) - 1 functions for the radius r. An index with all of them as its bands,
    each of one row, has no false negatives within the radius. A random vector of r + 1 bits is
    drawn for each bit of a code. Function v, one for each of these vectors except zero, keeps the
    bits of the code whose vector has an odd number of ones in common with v. The value is a hash of
    the bits that it keeps. If two codes differ in at most r bits, some v has an even number of ones
    in common with the vectors of all of these bits, and under it the codes are equal.

    Codes at distance d collide under one function with probability 2**-d over the choice of the
    vectors, for d > r too. The functions of a family are not independent, as the curve of ``or_``
    assumes: with all of them, the true curve is 1 up to the radius. The number of functions limits
    the radius.

    Parameters
    ----------
    bits : int
        Bits of a code, in 1..2**16. Bit i is bit i % 64 of word i // 64, counted from the lowest.
    radius : int
        r, in 0..10.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Attributes
    ----------
    tables : int
        The number of functions, 2**(radius + 1) - 1.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.families.BitSampling : Bits at random positions.
    lshfast.HammingIndex : An exact index of packed codes.

    References
    ----------
    R. Pagh, "CoveringLSH: Locality-Sensitive Hashing without False Negatives", ACM Transactions on
    Algorithms 14(3), 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.families import Covering
    >>> family = Covering(bits=64, radius=2)
    >>> codes = np.array([[2**63 + 1], [2**63 + 2], [2**40 - 1]], np.uint64)
    >>> family.tables, family.distance(codes[0], codes).tolist()
    (7, [0.0, 2.0, 40.0])
    >>> family.collide(codes[0], codes, family.tables).any(axis=1).tolist()
    [True, True, False]
    """

    name: ClassVar[str] = "covering"

    bits: int
    radius: int
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "bits", check_int("bits", self.bits, 1, MAX_COVERED_BITS)
        )
        object.__setattr__(
            self, "radius", check_int("radius", self.radius, 0, MAX_RADIUS)
        )

    @property
    def max_distance(self) -> float:
        """The largest Hamming distance: `bits`."""
        return self.bits

    @property
    def tables(self) -> int:
        """The number of functions, 2**(radius + 1) - 1."""
        return int(2 ** (self.radius + 1)) - 1

    def hash(
        self, items: UInt64Array, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the values of packed codes under the first `count` functions.

        Parameters
        ----------
        items : ndarray of uint64, shape (n, ceil(bits / 64))
            Packed codes. Bits after the last one must be zeros.
        count : int
            In 1..tables. The guarantee needs all of them.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            Hashes of 64 bits. Codes that differ under a function have equal values with probability
            2**-64 at most.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type, shape or range.
        """
        codes = batch_of_codes(items, self.bits)
        count = check_int("count", count, 1)
        if count > self.tables:
            raise ValueError(
                f"a covering of radius {self.radius} has {self.tables} functions, fewer than "
                f"{count}"
            )
        masks = _covering_masks(self.bits, self.radius, self.seed)[:count]
        values = np.empty((len(codes), count), np.uint64)
        costs = np.full(len(codes), count * codes.shape[1], np.int64)
        for_each_piece(
            lambda rows: kernels.masked(codes[rows], masks, values[rows]),
            costs,
            PIECE_STEPS,
            threads,
        )
        return values

    def distance(self, a: UInt64Array, b: UInt64Array) -> Float64Array:
        """Compute the Hamming distances of pairs of codes.

        Parameters
        ----------
        a, b : ndarray of uint64, shape (n, ceil(bits / 64))
            n codes each; one of them may be a single code.

        Returns
        -------
        ndarray of float64, shape (n,)
            Whole numbers in 0..bits.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or shape.
        """
        return hamming_distances(a, b, self.bits)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute 2**-d.

        Parameters
        ----------
        distance : array_like of float
            Hamming distances d, in [0, bits].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        return np.asarray(
            np.exp2(-numbers_of(distance, "distance", 0, self.max_distance))
        )


@lru_cache(maxsize=8)
def _covering_masks(bits: int, radius: int, seed: int) -> UInt64Array:
    """Return the bits that each function keeps, uint64 (tables, words)."""
    vectors = (draw(seed, COVERING, bits) >> np.uint64(63 - radius)).astype(np.int64)
    octets = np.zeros((2 ** (radius + 1) - 1, -(-bits // 64) * 8), np.uint8)
    for function in range(1, 2 ** (radius + 1)):
        common = vectors & function
        for half in (8, 4, 2, 1):
            common ^= common >> half
        kept_bits = np.packbits(common & 1 == 1, bitorder="little")
        octets[function - 1, : len(kept_bits)] = kept_bits
    masks = octets.view("<u8").astype(np.uint64)
    masks.flags.writeable = False
    return masks


def hamming_distances(a: Any, b: Any, bits: int) -> Float64Array:
    """Return the Hamming distances of n pairs of packed codes, float64 (n,).

    One side may be a single code.
    """
    a = batch_of_codes(a, bits, "a")
    b = batch_of_codes(b, bits, "b")
    distances = np.empty(check_pairs(len(a), len(b)), np.int64)
    if len(b) == 1:
        a, b = b, a
    kernels.distances(a, b, distances)
    return distances.astype(np.float64)
