"""Hash functions with proven guarantees, from 64-bit keys into buckets.

A guarantee is a statement about the random choice of the function for keys that are fixed before.
Each class draws its function from the seed. Anyone who knows the seed can find keys that collide.
`seed="random"` lets the operating system draw the seed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_int
from lshfast._common.types import UInt64Array
from lshfast.hashing.keys import words_of
from lshfast.kernels import hashing as kernels

P = 2**61 - 1
SMALL_PRIMES = 2**32
MOST_INDEPENDENT = 64

# Domains of draws.
WEAK = 60
POLYNOMIAL = 61
SHIFT = 62
ADD_SHIFT = 63
TABULATION = 64


class HashFunction(ABC):
    """Base class of functions from 64-bit keys into buckets.

    See Also
    --------
    lshfast.hashing.MultiplyAddShift : Multiplication and addition; strongly universal.
    lshfast.hashing.StronglyUniversal : The strongly universal family mod p.
    lshfast.hashing.PolynomialHash : A k-wise independent family.
    lshfast.hashing.MixedTabulation : Tables of random words.
    """

    def hash(self, keys: npt.ArrayLike) -> UInt64Array:
        """Compute the buckets of keys.

        Parameters
        ----------
        keys : array_like of integers, shape (n,)
            In 0..2**64 - 1, or below the prime for polynomials over a prime field.

        Returns
        -------
        ndarray of uint64, shape (n,)
            In 0..buckets - 1.

        Raises
        ------
        TypeError
            If the keys are not integers.
        ValueError
            If there is not one dimension, or a key is out of range.
        """
        words = words_of(keys)
        out = np.empty(len(words), np.uint64)
        self._hash(words, out)
        return out

    @abstractmethod
    def _hash(self, keys: UInt64Array, out: UInt64Array) -> None:
        """Write the buckets of keys to out."""


def check_prime(prime: int) -> int:
    """Return the prime, 2**61 - 1 or below 2**32, or raise an error that names the argument."""
    prime = check_int("prime", prime, 2, P)
    if prime == P:
        return prime
    if prime >= SMALL_PRIMES:
        raise ValueError(f"prime must be 2**61 - 1 or below 2**32, not {prime}")
    divisor = 2
    while divisor * divisor <= prime:
        if prime % divisor == 0:
            raise ValueError(
                f"prime must be a prime, not {prime}, a multiple of {divisor}"
            )
        divisor += 1
    return prime


class _PrimeField(HashFunction):
    """Polynomials over a prime field, followed by the remainder modulo the number of buckets."""

    buckets: int
    prime: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "prime", check_prime(self.prime))
        object.__setattr__(
            self, "buckets", check_int("buckets", self.buckets, 1, self.prime)
        )

    @property
    @abstractmethod
    def coefficients(self) -> tuple[int, ...]:
        """The coefficients, the highest power first, each in 0..prime - 1."""

    def _hash(self, keys: UInt64Array, out: UInt64Array) -> None:
        coefficients = np.array(self.coefficients, np.uint64)
        place = kernels.polynomial(keys, coefficients, self.prime, self.buckets, out)
        if place >= 0:
            raise ValueError(
                f"keys must be below the prime, {self.prime}, and key {place} is {keys[place]}"
            )


def _drawn(seed: int, domain: int, count: int) -> list[int]:
    words: list[int] = kernels.words(seed, domain, 0, count).tolist()
    return words


@dataclass(frozen=True)
class WeaklyUniversal(_PrimeField):
    """The weakly universal family ((a x + b) mod p) mod M, with a in 1..p - 1 and b in 0..p - 1.

    Guarantee: two different keys collide with probability at most 1 / M. The map a x + b mod p
    itself has no collisions, since a is not 0; all of them come from the remainder modulo M. The
    family says nothing about three keys, nor about the minimum of a set: see `LinearPermutation`.

    Parameters
    ----------
    buckets : int
        M, in 1..prime.
    prime : int, default 2**61 - 1
        p: 2**61 - 1, or a prime below 2**32. Keys are below it. (2**64 - 57 is not a prime; the
        largest prime below 2**64 is 2**64 - 59.)
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.hashing.StronglyUniversal : The strongly universal family mod p.
    lshfast.hashing.MultiplyShift : One multiplication; universal.

    References
    ----------
    J. L. Carter, M. N. Wegman, "Universal Classes of Hash Functions", JCSS 18, 1979.

    Examples
    --------
    >>> from lshfast.hashing import WeaklyUniversal
    >>> f = WeaklyUniversal(buckets=10, prime=31, seed=7)
    >>> a, b = f.coefficients
    >>> f.hash([0, 1, 30]).tolist() == [(a * x + b) % 31 % 10 for x in (0, 1, 30)]
    True
    """

    buckets: int
    prime: int = P
    seed: SeedField = SEED

    @property
    def coefficients(self) -> tuple[int, ...]:
        """(a, b)."""
        a, b = _drawn(self.seed, WEAK, 2)
        return 1 + a % (self.prime - 1), b % self.prime


@dataclass(frozen=True)
class PolynomialHash(_PrimeField):
    """A k-wise independent family: polynomials of degree k - 1 mod p, mod M.

    Guarantee: for any k different keys, the values before the remainder modulo M are independent
    and uniform in 0..p - 1. So k buckets y1, .., yk (equal or not) are met with probability
    c(y1) .. c(yk) / p**k, where c(y) is the number of values in 0..p - 1 with remainder y: p / M,
    rounded up or down. Each factor c(y) / p differs from 1 / M by less than 1 / p. The family is
    (1 + e)-min-wise for k of the order of log(1 / e), and a lower order does not suffice for all
    such families. On 0..100, minima are uniform within some percent from k = 3 on, and 2.1 times
    too frequent at an end of the range with k = 2.

    Parameters
    ----------
    k : int
        Coefficients, in 1..64. With k = 2, the family is `StronglyUniversal`.
    buckets : int
        M, in 1..prime.
    prime : int, default 2**61 - 1
        p: 2**61 - 1, or a prime below 2**32. Keys are below it.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.hashing.StronglyUniversal : The strongly universal family mod p.
    lshfast.hashing.MixedTabulation : Tables of random words.

    References
    ----------
    M. N. Wegman, J. L. Carter, "New hash functions and their use in authentication and set
    equality", JCSS 22, 1981. P. Indyk, "A Small Approximately Min-Wise Independent Family of Hash
    Functions", SODA 1999. M. Patrascu, M. Thorup, "On the k-Independence Required by Linear Probing
    and Minwise Independence", ICALP 2010.

    Examples
    --------
    >>> from lshfast.hashing import PolynomialHash
    >>> f = PolynomialHash(k=4, buckets=1000, seed=7)
    >>> value = 0
    >>> for coefficient in f.coefficients:
    ...     value = (value * 12345 + coefficient) % (2**61 - 1)
    >>> f.hash([12345]).tolist() == [value % 1000]
    True
    """

    k: int
    buckets: int
    prime: int = P
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_int("k", self.k, 1, MOST_INDEPENDENT))
        super().__post_init__()

    @property
    def coefficients(self) -> tuple[int, ...]:
        """The k coefficients, the highest power first, each in 0..prime - 1."""
        return tuple(
            word % self.prime for word in _drawn(self.seed, POLYNOMIAL, self.k)
        )


@dataclass(frozen=True)
class StronglyUniversal(_PrimeField):
    """The strongly (2-)universal family ((a x + b) mod p) mod M, with a and b in 0..p - 1.

    Guarantee: for two different keys and any two values y1 and y2 below p, equal or not, the
    probability that a x1 + b = y1 and a x2 + b = y2 mod p is 1 / p**2. With buckets it is c(y1)
    c(y2) / p**2, where c(y) is the number of values in 0..p - 1 with remainder y modulo M. So it is
    1 / M**2 up to a factor within (1 +- M / p)**2. Unlike in `WeaklyUniversal`, a may be 0: only
    then do keys collide mod p.

    Parameters
    ----------
    buckets : int
        M, in 1..prime.
    prime : int, default 2**61 - 1
        p: 2**61 - 1, or a prime below 2**32. Keys are below it.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.hashing.WeaklyUniversal : The weakly universal family mod p.
    lshfast.hashing.PolynomialHash : A k-wise independent family.
    lshfast.hashing.MultiplyAddShift : Multiplication and addition; strongly universal.

    References
    ----------
    M. N. Wegman, J. L. Carter, "New hash functions and their use in authentication and set
    equality", JCSS 22, 1981.

    Examples
    --------
    >>> from lshfast.hashing import PolynomialHash, StronglyUniversal
    >>> f = StronglyUniversal(buckets=1000, seed=7)
    >>> f.coefficients == PolynomialHash(k=2, buckets=1000, seed=7).coefficients
    True
    """

    buckets: int
    prime: int = P
    seed: SeedField = SEED

    @property
    def coefficients(self) -> tuple[int, ...]:
        """(a, b)."""
        return PolynomialHash(2, self.buckets, self.prime, self.seed).coefficients
