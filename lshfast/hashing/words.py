"""Hash functions of whole 64-bit words, without a prime: multiply-shift and mixed tabulation."""

from __future__ import annotations

from dataclasses import dataclass

from lshfast._common.checks import SEED, SeedField, check_int
from lshfast._common.types import UInt64Array
from lshfast.hashing.functions import ADD_SHIFT, SHIFT, TABULATION, HashFunction
from lshfast.kernels import hashing as kernels

MOST_BUCKETS = 2**64


@dataclass(frozen=True)
class MultiplyShift(HashFunction):
    """The universal family of the highest bits of a x mod 2**64, with an odd a: one multiplication.

    Guarantee: two different keys collide with probability at most 2 / 2**bits. Key 0 is always in
    bucket 0, and minima of sets are far from uniform, so use it for buckets only.

    Parameters
    ----------
    bits : int
        In 1..64; there are 2**bits buckets.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.hashing.MultiplyAddShift : Multiplication and addition; strongly universal.
    lshfast.hashing.WeaklyUniversal : The weakly universal family mod p.

    References
    ----------
    M. Dietzfelbinger, T. Hagerup, J. Katajainen, M. Penttonen, "A Reliable Randomized Algorithm for
    the Closest-Pair Problem", J. Algorithms 25, 1997.

    Examples
    --------
    >>> from lshfast.hashing import MultiplyShift
    >>> f = MultiplyShift(bits=10, seed=7)
    >>> f.hash([12345]).tolist() == [f.multiplier * 12345 % 2**64 >> 54]
    True
    """

    bits: int
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", check_int("bits", self.bits, 1, 64))

    @property
    def buckets(self) -> int:
        """The number of buckets, 2**bits."""
        return 1 << self.bits

    @property
    def multiplier(self) -> int:
        """a, an odd number below 2**64."""
        return int(kernels.words(self.seed, SHIFT, 0, 1)[0]) | 1

    def _hash(self, keys: UInt64Array, out: UInt64Array) -> None:
        kernels.multiply_shift(keys, self.multiplier, self.bits, out)


@dataclass(frozen=True)
class MultiplyAddShift(HashFunction):
    """The strongly universal family of the upper word h of a x + b mod 2**128, for all keys.

    The bucket is floor(h M / 2**64). Guarantee: for two different keys, the two words h are
    independent and uniform. So any two buckets y1 and y2, equal or not, are met with probability
    c(y1) c(y2) / 2**128, where c(y) is 2**64 / M, rounded up or down: exactly 1 / M**2 if M is a
    power of two. Two keys collide with probability at most 1 / M + M / 2**130.

    Parameters
    ----------
    buckets : int
        M, in 1..2**64.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.hashing.MultiplyShift : One multiplication; universal.
    lshfast.hashing.StronglyUniversal : The strongly universal family mod p.

    References
    ----------
    M. Dietzfelbinger, "Universal Hashing and k-Wise Independent Random Variables via Integer
    Arithmetic without Primes", STACS 1996.

    Examples
    --------
    >>> from lshfast.hashing import MultiplyAddShift
    >>> f = MultiplyAddShift(buckets=1000, seed=7)
    >>> a, b = f.coefficients
    >>> f.hash([2**64 - 1]).tolist() == [
    ...     ((a * (2**64 - 1) + b) % 2**128 >> 64) * 1000 >> 64
    ... ]
    True
    """

    buckets: int
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "buckets", check_int("buckets", self.buckets, 1, MOST_BUCKETS)
        )

    @property
    def coefficients(self) -> tuple[int, int]:
        """(a, b), both below 2**128."""
        a_high, a_low, b_high, b_low = self._line().tolist()
        return a_high << 64 | a_low, b_high << 64 | b_low

    def _line(self) -> UInt64Array:
        return kernels.words(self.seed, ADD_SHIFT, 0, 4)

    def _hash(self, keys: UInt64Array, out: UInt64Array) -> None:
        kernels.lines(keys, self._line(), self.buckets % MOST_BUCKETS, out)


@dataclass(frozen=True)
class MixedTabulation(HashFunction):
    """Mixed tabulation of eight bytes and four derived bytes, in buckets floor(h M / 2**64).

    Guarantee: the words h of any three keys are independent and uniform. On a fixed set of up to
    128 keys, h is fully random with probability 1 - O(1 / 256). If some bits of h select keys of a
    larger set, such as those of a bucket, and fewer than 256 / (1 + c) of them in expectation for a
    constant c > 0, then the other bits are fully random on these keys, with the same probability.
    So structured keys cause no bias in statistics of minima and of buckets. The tables take 40 KB;
    they are drawn when the function is made.

    Parameters
    ----------
    buckets : int
        M, in 1..2**64.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.hashing.PolynomialHash : A k-wise independent family.
    lshfast.hashing.MultiplyAddShift : Multiplication and addition; strongly universal.

    References
    ----------
    S. Dahlgaard, M. B. T. Knudsen, E. Rotenberg, M. Thorup, "Hashing for Statistics over
    k-Partitions", FOCS 2015.

    Examples
    --------
    >>> from lshfast.hashing import MixedTabulation
    >>> f = MixedTabulation(buckets=1000, seed=7)
    >>> bool((f.hash(range(10_000)) < 1000).all())
    True
    """

    buckets: int
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "buckets", check_int("buckets", self.buckets, 1, MOST_BUCKETS)
        )
        tables = kernels.words(self.seed, TABULATION, 0, kernels.TABLE_WORDS)
        object.__setattr__(self, "_tables", tables)

    def _hash(self, keys: UInt64Array, out: UInt64Array) -> None:
        kernels.tabulation(keys, self._tables, self.buckets % MOST_BUCKETS, out)  # type: ignore[attr-defined]
