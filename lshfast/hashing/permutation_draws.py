"""Draws from families of permutations: numbers without bias, and the random bits that they took."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from lshfast._common.checks import Seed, check_int, check_seed
from lshfast.kernels import hashing as kernels

DRAWN_NUMBERS = 69  # domain
# The most numbers of a call: each is a Python object, and takes a loop.
MOST_DRAWN = 2**24


class PermutationDraw(NamedTuple):
    """A permutation that was drawn from a family.

    Attributes
    ----------
    number : int
        The number of the permutation in its family.
    bits : int
        The random bits that the draw took, those of rejected numbers included.

    See Also
    --------
    lshfast.hashing.RestrictedFamily : A family for sets of a few elements.
    lshfast.hashing.HalvingFamily : The min-wise independent family by halving.
    """

    number: int
    bits: int


class SizedFamily(Protocol):
    """A family whose permutations are numbered."""

    @property
    def size(self) -> int: ...

    @property
    def bits(self) -> int:
        """The random bits that name a permutation: log2 of the size, rounded up."""
        return (self.size - 1).bit_length()

    def draw_numbers(self, count: int, seed: Seed = 1) -> list[PermutationDraw]:
        """Draw numbers of permutations uniformly, and say how many random bits each one took.

        A draw reads `bits` random bits. If they are a number that no permutation has, it rejects
        them and reads as many again, so it takes less than twice `bits` on average.

        Parameters
        ----------
        count : int
            In 0..2**24.
        seed : int or "random", default 1
            In 0..2**64 - 1. With "random", the operating system draws the number.

        Returns
        -------
        list of PermutationDraw

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or is out of range.
        """
        count = check_int("count", count, 0, MOST_DRAWN)
        seed = check_seed(seed)
        words_of_number = -(-self.bits // 64)
        draws = []
        first = 0
        for _ in range(count):
            number = self.size
            bits = 0
            while number >= self.size:
                words = kernels.words(seed, DRAWN_NUMBERS, first, words_of_number)
                first += words_of_number
                bits += self.bits
                number = 0
                for word in words.tolist():
                    number = number << 64 | word
                number >>= 64 * words_of_number - self.bits
            draws.append(PermutationDraw(number, bits))
        return draws
