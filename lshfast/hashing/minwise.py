"""Min-wise independent permutations: an exact family for small n, and the bias of other families.

A family F of permutations of 0..n - 1 is min-wise independent if for each set X and each x in X, x
has the least image of X with probability 1 / |X|. It is epsilon-approximately so if each
probability differs by at most epsilon / |X|.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, islice
from math import comb, fsum

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import (
    SEED,
    Seed,
    SeedField,
    array_of,
    check_int,
    check_seed,
)
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.hashing.functions import P, WeaklyUniversal, check_prime
from lshfast.hashing.permutation_draws import MOST_DRAWN, SizedFamily
from lshfast.kernels import hashing as kernels

HALVING = 67  # domain
MOST_HALVED = 32
MOST_IN_ORDER = 10_000
MOST_STEPS = 500_000_000
# Images that are computed at once: a few MB of memory.
BATCH_IMAGES = 1 << 18


@dataclass(frozen=True)
class HalvingFamily(SizedFamily):
    """The min-wise independent family by recursive halving, for n = 2, 4, 8, 16 or 32.

    A first draw chooses which n / 2 elements come first, a second one which n / 4 positions of each
    half come first, the same in both halves, and so on. So the family has comb(n, n / 2) comb(n /
    2, n / 4) .. comb(2, 1) permutations, less than 4**n: 12 for n = 4, 840 for n = 8 and 10,810,800
    for n = 16. Guarantee: it is exactly min-wise independent. Each such family has a multiple of
    lcm(1, .., n) permutations: 12, 840 and 720,720, so that none is smaller for n = 4 and n = 8.

    Parameters
    ----------
    n : int
        2, 4, 8, 16 or 32.

    Attributes
    ----------
    size : int
        The number of permutations.
    bits : int
        The random bits that name a permutation: log2 of the size, rounded up.

    Raises
    ------
    TypeError, ValueError
        If n is not one of these.

    See Also
    --------
    lshfast.hashing.RestrictedFamily : A smaller family, for sets of a few elements.
    lshfast.hashing.LinearPermutation : A random linear permutation.
    lshfast.hashing.minwise_error : How far permutations are from min-wise independence.

    References
    ----------
    A. Z. Broder, M. Charikar, A. M. Frieze, M. Mitzenmacher, "Min-Wise Independent Permutations",
    JCSS 60, 2000.

    Examples
    --------
    >>> from lshfast.hashing import HalvingFamily
    >>> family = HalvingFamily(8)
    >>> family.size, family.permutation(0).tolist(), family.permutation(839).tolist()
    (840, [0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1, 0])
    >>> firsts = [family.permutation(i)[[2, 3, 6]].argmin() for i in range(840)]
    >>> [firsts.count(x) for x in range(3)]
    [280, 280, 280]
    """

    n: int

    def __post_init__(self) -> None:
        n = check_int("n", self.n, 2, MOST_HALVED)
        if n & (n - 1):
            raise ValueError(f"n must be a power of two, not {n}")
        object.__setattr__(self, "n", n)

    @property
    def size(self) -> int:
        """The number of permutations."""
        size = 1
        half = self.n
        while half > 1:
            size *= comb(half, half // 2)
            half //= 2
        return size

    def permutation(self, i: int) -> Int64Array:
        """Return one of the permutations as the images of 0..n - 1.

        Parameters
        ----------
        i : int
            In 0..size - 1.

        Returns
        -------
        ndarray of int64, shape (n,)

        Raises
        ------
        TypeError, ValueError
            If `i` is not an int, or out of range.
        """
        i = check_int("i", i, 0, self.size - 1)
        # The elements by their images.
        order = int64_range(self.n)
        block = self.n
        while block > 1:
            i, choice = divmod(i, comb(block, block // 2))
            first = _subset(block, block // 2, choice)
            second = [place for place in range(block) if place not in first]
            order = order.reshape(-1, block)[:, [*first, *second]].reshape(-1)
            block //= 2
        images = np.empty(self.n, np.int64)
        images[order] = int64_range(self.n)
        return images

    def draw(self, count: int, seed: Seed = 1) -> Int64Array:
        """Draw permutations, each uniformly up to a bias of size / 2**128, which is below 2**-74.

        Parameters
        ----------
        count : int
            In 0..2**24.
        seed : int or "random", default 1
            In 0..2**64 - 1. With "random", the operating system draws the number.

        Returns
        -------
        ndarray of int64, shape (count, n)
            A row has the images of 0..n - 1.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or is out of range.
        """
        count = check_int("count", count, 0, MOST_DRAWN)
        words = kernels.words(check_seed(seed), HALVING, 0, 2 * count)
        numbers = words.reshape(-1, 2).tolist()
        rows = [
            self.permutation((high << 64 | low) % self.size) for high, low in numbers
        ]
        return np.array(rows, np.int64).reshape(count, self.n)


@dataclass(frozen=True)
class LinearPermutation:
    """A random linear permutation a x + b mod p of 0..p - 1, with a in 1..p - 1 and b in 0..p - 1.

    It is cheap and not min-wise independent. What is known of its bias:

    - For a set X of k elements, each comes first with probability at least 1 / (2 (k - 1));
      `linear_first_range` gives the least and the greatest over all X and x. The least for p = 31
      is .258 for k = 3, .168 for k = 5 and .091 for k = 8.
    - In 0..k, the element 0 comes first with the probability that `linear_first_probability`
      returns: 1.45, 1.73, 2.07, 2.39 and 2.75 times 1 / (k + 1) for k = 10, 30, 100, 300 and 1000.
      The ratio grows as 3 / pi**2 ln k.
    - For most sets the bias is small: over random X of k elements, the mean of the greatest
      probability is 1 / k + O(log(k)**3 / k**1.5).

    So use it for keys that were mixed before, or take `PolynomialHash` with k >= 3 or
    `MixedTabulation`.

    Parameters
    ----------
    prime : int, default 2**61 - 1
        p: 2**61 - 1, or a prime below 2**32.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.hashing.HalvingFamily : The min-wise independent family by halving.
    lshfast.hashing.linear_first_range : The range over the elements of a set.
    lshfast.hashing.minwise_error : How far permutations are from min-wise independence.

    References
    ----------
    A. Z. Broder, M. Charikar, A. M. Frieze, M. Mitzenmacher, "Min-Wise Independent Permutations",
    JCSS 60, 2000. T. Bohman, C. Cooper, A. Frieze, "Min-Wise Independent Linear Permutations",
    Electronic J. Combinatorics 7, 2000.

    Examples
    --------
    >>> from lshfast.hashing import LinearPermutation
    >>> sorted(LinearPermutation(prime=7, seed=3).hash(range(7)).tolist())
    [0, 1, 2, 3, 4, 5, 6]
    """

    prime: int = P
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(self, "prime", check_prime(self.prime))

    def hash(self, keys: npt.ArrayLike) -> UInt64Array:
        """Compute the images of keys.

        Parameters
        ----------
        keys : array_like of integers, shape (n,)
            In 0..prime - 1.

        Returns
        -------
        ndarray of uint64, shape (n,)
            In 0..prime - 1.

        Raises
        ------
        TypeError
            If the keys are not integers.
        ValueError
            If there is not one dimension, or a key is out of range.
        """
        return WeaklyUniversal(self.prime, self.prime, self.seed).hash(keys)


def linear_first_probability(k: int) -> float:
    """Return the probability that 0 is first of 0..k under a random linear permutation.

    This is the limit as p tends to infinity.

    It is the sum of 1 / (2 b d**2) over adjacent fractions a / b < c / d of the Farey sequence of
    order k: for u = a / p between them, the least of the fractional parts of u, 2 u, .., k u is
    that of b u, and it is uniform in 0..1 / d.

    Parameters
    ----------
    k : int
        In 1..10,000. The time is of the order of k**2.

    Returns
    -------
    float
        In (0, 1/2].

    Raises
    ------
    TypeError, ValueError
        If `k` is not an int, or out of range.

    See Also
    --------
    lshfast.hashing.linear_first_range : The range over the elements of a set.
    lshfast.hashing.LinearPermutation : A random linear permutation.

    Examples
    --------
    >>> from lshfast.hashing import linear_first_probability
    >>> [round(linear_first_probability(k), 7) for k in (1, 2, 10, 100)]
    [0.5, 0.375, 0.1319444, 0.0204894]
    """
    k = check_int("k", k, 1, MOST_IN_ORDER)

    def terms() -> Iterator[float]:
        # The denominators of 0 / 1 and 1 / k.
        b = 1
        d = k
        while True:
            yield 1 / (2 * b * d * d)
            if d == 1:
                return
            b, d = d, (k + b) // d * d - b

    return fsum(terms())


def linear_first_range(prime: int, k: int) -> tuple[Fraction, Fraction]:
    """Return the least and greatest probability of an element of a set of k to be first.

    The permutations are a x + b mod p.

    They are exact, over all sets and elements. Linear permutations map each two elements to 0 and
    1, so only the element 0 in the sets with 0 and 1 is examined. For one a, it comes first if b is
    below p minus the greatest a y mod p of the other elements y. For sets of k, the family is
    epsilon-approximately min-wise independent with epsilon = max(k * greatest - 1, 1 - k * least).

    Parameters
    ----------
    prime : int
        p, a prime below 2**15.
    k : int
        In 2..p, with p k comb(p - 2, k - 2) at most 500,000,000, to which the time is proportional.

    Returns
    -------
    (Fraction, Fraction)
        The least is at least 1 / (2 (k - 1)).

    Raises
    ------
    TypeError, ValueError
        If an argument is not an int, out of range, or not a prime.

    See Also
    --------
    lshfast.hashing.linear_first_probability : The limit for 0 among 0..k.
    lshfast.hashing.LinearPermutation : A random linear permutation.

    Examples
    --------
    >>> from lshfast.hashing import linear_first_range
    >>> [round(float(p), 4) for p in linear_first_range(31, 5)], 1 / (2 * (5 - 1))
    ([0.1677, 0.2527], 0.125)
    """
    p = check_prime(check_int("prime", prime, 2, 2**15))
    k = check_int("k", k, 2, prime)
    _check_steps(k, "prime * k * comb(prime - 2, k - 2)", p * k * comb(p - 2, k - 2))
    functions = p * (p - 1)
    least = functions
    greatest = 0
    for columns in _subsets(range(2, p), k - 2):
        # Functions under which 0 comes first.
        firsts = np.zeros(columns.shape[1], np.int64)
        for a in range(1, p):
            firsts += p - (columns * a % p).max(axis=0, initial=a)
        least = min(least, int(firsts.min()))
        greatest = max(greatest, int(firsts.max()))
    return Fraction(least, functions), Fraction(greatest, functions)


def minwise_error(permutations: npt.ArrayLike, k: int) -> float:
    """Return the least epsilon of the min-wise independence of permutations on sets of k.

    It is the greatest abs(k Pr - 1), where Pr is the share of the permutations under which x comes
    first of X, over all sets X of k elements and x in X. Some family of O(n**2 / epsilon**2)
    permutations reaches epsilon for all sets.

    Parameters
    ----------
    permutations : array_like of integers, shape (m, n)
        The images of 0..n - 1 under each of m permutations, such as from `HalvingFamily`.
    k : int
        In 1..n, with m k comb(n, k) at most 500,000,000, to which the time is proportional.

    Returns
    -------
    float
        In [0, k - 1]; 0 if the family is min-wise independent on sets of k.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or shape, or is out of range, or a row is not a
        permutation of 0..n - 1.

    See Also
    --------
    lshfast.hashing.HalvingFamily : The min-wise independent family by halving.
    lshfast.hashing.LinearPermutation : A random linear permutation.

    References
    ----------
    A. Z. Broder, M. Charikar, A. M. Frieze, M. Mitzenmacher, "Min-Wise Independent Permutations",
    JCSS 60, 2000.

    Examples
    --------
    >>> from lshfast.hashing import HalvingFamily, minwise_error
    >>> family = HalvingFamily(4)
    >>> minwise_error([family.permutation(i) for i in range(family.size)], 3)
    0.0
    >>> minwise_error([[0, 1, 2, 3], [3, 2, 1, 0]], 3)
    1.0
    """
    images = array_of(permutations, "permutations")
    if images.dtype.kind not in "iu":
        raise TypeError(f"permutations must be integers, not {images.dtype}")
    if images.ndim != 2 or not images.size:
        raise ValueError(
            f"permutations must have shape (m, n) with m and n at least 1, not {images.shape}"
        )
    m, n = images.shape
    k = check_int("k", k, 1, n)
    wrong = (np.sort(images, axis=1) != int64_range(n)).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"permutations[{row}] must have each of 0..{n - 1} once, not "
            f"{str(images[row].tolist())[:60]}"
        )
    _check_steps(k, "m * k * comb(n, k)", m * k * comb(n, k))
    worst = 0
    for columns in _subsets(range(n), k):
        # Permutations under which each element comes first of its set.
        firsts = np.zeros(columns.shape, np.int64)
        step = max(1, BATCH_IMAGES // columns.size)
        for start in range(0, m, step):
            subset_images = images[start : start + step, columns]
            is_least = subset_images == subset_images.min(axis=1, keepdims=True)
            firsts += is_least.sum(axis=0)
        worst = max(worst, int(np.abs(k * firsts - m).max()))
    return float(worst / m)


def _check_steps(k: int, formula: str, steps: int) -> None:
    if steps > MOST_STEPS:
        raise ValueError(
            f"k must be such that {formula} is at most {MOST_STEPS:,}, not {k}"
        )


def _subsets(elements: Sequence[int], k: int) -> Iterator[Int64Array]:
    """Yield the subsets of k elements as the columns of arrays, (k, at most BATCH_IMAGES / k)."""
    subsets = combinations(elements, k)
    left = comb(len(elements), k)
    while left:
        size = min(left, max(1, BATCH_IMAGES // max(k, 1)))
        flat = np.fromiter(
            chain.from_iterable(islice(subsets, size)), np.int64, size * k
        )
        yield flat.reshape(size, k).T.copy()
        left -= size


def _subset(n: int, k: int, number: int) -> list[int]:
    """Return the subset of k of 0..n - 1 with a number in 0..comb(n, k) - 1, lexicographically."""
    elements: list[int] = []
    for element in range(n):
        if len(elements) == k:
            break
        with_it = comb(n - element - 1, k - len(elements) - 1)
        if number < with_it:
            elements.append(element)
        else:
            number -= with_it
    return elements
