"""Permutations that are min-wise independent for sets of at most k elements."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import Seed, check_int
from lshfast._common.rows import int64_range, inverse
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.hashing.keys import words_of
from lshfast.hashing.minwise import MOST_HALVED, HalvingFamily
from lshfast.hashing.permutation_draws import SizedFamily

MOST_ELEMENTS = 2**32
# Elements of a permutation that is written out.
MOST_WRITTEN = 2**24
# The most elements of a set for which half-spaces are enough.
MOST_OF_HALF_SPACES = 4


@dataclass(frozen=True)
class RestrictedFamily(SizedFamily):
    """A k-restricted min-wise family: for sets of at most k elements, each is first equally often.

    For k = 2, it is the order of the numbers and its reverse. For k = 3 and 4, elements are binary
    numbers, and a first draw chooses which half-space of them comes first: the numbers of which
    some bits have an even sum, or an odd one. Each three elements lie in equally many half-spaces,
    so the elements of a set of at most four are alike: each has the same chance to be in the first
    half, alone or with one, two or three of the others. A second draw does the same within both
    halves, and so on. With m bits, this takes 2 (2**m - 1) 2 (2**(m - 1) - 1) .. 2 permutations:
    168 for 8 elements, where `HalvingFamily` takes 840, and m**2 / 2 + 3 m / 2 random bits at most
    for any number of elements. For greater k, it is `HalvingFamily`. The size of each k-restricted
    family is a multiple of lcm(1, .., k).

    Parameters
    ----------
    n : int
        The elements are 0..n - 1, with n in 1..2**32; at most 32 for k above 4.
    k : int
        The most elements of a set, in 1..n.

    Attributes
    ----------
    size : int
        The number of permutations.
    bits : int
        The random bits that name a permutation: log2 of the size, rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not an int, or out of range.

    See Also
    --------
    lshfast.hashing.HalvingFamily : The family for sets of any size.
    lshfast.hashing.minwise_error : How far permutations are from min-wise independence.

    References
    ----------
    A. Z. Broder, M. Charikar, A. M. Frieze, M. Mitzenmacher, "Min-Wise Independent Permutations",
    JCSS 60, 2000, for the least size. The half-spaces of binary numbers are the blocks of a
    3-design: F. J. MacWilliams, N. J. A. Sloane, "The Theory of Error-Correcting Codes", 1977.

    Examples
    --------
    >>> from lshfast.hashing import RestrictedFamily, minwise_error
    >>> family = RestrictedFamily(n=8, k=4)
    >>> family.size, family.bits
    (168, 8)
    >>> every = [family.permutation(i) for i in range(family.size)]
    >>> [round(minwise_error(every, k), 2) for k in (2, 3, 4, 5)]
    [0.0, 0.0, 0.0, 0.07]

    Of a million elements, a permutation takes 229 bits to name; one of all permutations would take
    19 million:

    >>> large = RestrictedFamily(n=2**20, k=4)
    >>> large.bits, [draw.bits for draw in large.draw_numbers(3)]
    (229, [229, 458, 458])
    """

    n: int
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_int("n", self.n, 1, MOST_ELEMENTS))
        object.__setattr__(self, "k", check_int("k", self.k, 1, self.n))
        if self.k > MOST_OF_HALF_SPACES and self.n > MOST_HALVED:
            raise ValueError(
                f"n must be at most {MOST_HALVED} for k above {MOST_OF_HALF_SPACES}, not {self.n}"
            )

    @property
    def _levels(self) -> int:
        """The number of bits of an element."""
        return (self.n - 1).bit_length()

    @property
    def _halving(self) -> HalvingFamily:
        return HalvingFamily(1 << self._levels)

    @property
    def size(self) -> int:
        """The number of permutations."""
        if self.k <= 2:
            return self.k
        if self.k > MOST_OF_HALF_SPACES:
            return self._halving.size
        return prod(2 * (2**bits - 1) for bits in range(1, self._levels + 1))

    def images(self, i: int, elements: npt.ArrayLike) -> UInt64Array:
        """Return the images of elements under one of the permutations, without writing it down.

        Parameters
        ----------
        i : int
            In 0..size - 1.
        elements : array_like of integers, shape (m,)
            In 0..n - 1.

        Returns
        -------
        ndarray of uint64, shape (m,)
            Different elements have different images, below the least power of two that is at least
            n.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or is out of range.
        """
        i = check_int("i", i, 0, self.size - 1)
        positions = words_of(elements, "elements")
        if len(positions) and positions.max() >= self.n:
            raise ValueError(
                f"elements must be in 0..{self.n - 1}, not {positions.max()}"
            )
        if self.k <= 2:
            return np.uint64(self.n - 1) - positions if i else positions.copy()
        if self.k > MOST_OF_HALF_SPACES:
            return self._halving.permutation(i).astype(np.uint64)[positions]
        images = np.zeros(len(positions), np.uint64)
        one = np.uint64(1)
        for bits in range(self._levels, 0, -1):
            i, choice = divmod(i, 2 * (2**bits - 1))
            mask = choice // 2 + 1
            half = _parities(positions & np.uint64(mask)) ^ np.uint64(choice % 2)
            images = images << one | half
            # An element of a half is known by its other bits.
            place = np.uint64((mask & -mask).bit_length() - 1)
            low = positions & ((one << place) - one)
            positions = (positions >> (place + one)) << place | low
        return images

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
            If `i` is not an int, or out of range, or n is above 2**24 (see `images`).
        """
        if self.n > MOST_WRITTEN:
            raise ValueError(
                f"n must be at most 2**24 for a permutation that is written out, not {self.n}: "
                "use images"
            )
        elements = int64_range(self.n)
        return inverse(np.argsort(self.images(i, elements), kind="stable"))

    def draw(self, count: int, seed: Seed = 1) -> Int64Array:
        """Draw permutations uniformly.

        Parameters
        ----------
        count, seed
            As for `draw_numbers`, which says how many random bits it takes.

        Returns
        -------
        ndarray of int64, shape (count, n)
            A row has the images of 0..n - 1.

        Raises
        ------
        TypeError, ValueError
            As for `draw_numbers` and `permutation`.
        """
        draws = self.draw_numbers(count, seed)
        rows = [self.permutation(draw.number) for draw in draws]
        return np.array(rows, np.int64).reshape(len(draws), self.n)


def _parities(numbers: UInt64Array) -> UInt64Array:
    """Return whether numbers below 2**32 have an odd number of bits, 0 or 1."""
    for shift in (16, 8, 4, 2, 1):
        numbers = numbers ^ numbers >> np.uint64(shift)
    return np.asarray(numbers & np.uint64(1))
