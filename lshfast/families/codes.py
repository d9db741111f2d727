"""`BitFamily`, the base class of families whose values are bits, and buckets of packed bits."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.rows import parts_of_rows
from lshfast._common.types import BoolArray, UInt64Array
from lshfast.families.family import NO_VALUE, Family, Items, check_bands, joined
from lshfast.kernels import sampling as kernels

# Bits that are one word each while they are joined by hashing: they stay in the cache.
UNPACKED_BITS = 2**18


class BitCodes(NamedTuple):
    """Packed values of n items under functions whose values are bits.

    Attributes
    ----------
    words : ndarray of uint64, shape (n, ceil(count / 64))
        Bit j % 64 of word j // 64, counted from the lowest, is the value under function j. The
        other bits are zeros.
    without : ndarray of bool, shape (n,), or None
        Whether each item has no value; None if all items have one.

    See Also
    --------
    lshfast.families.BitFamily : Base class of families whose values are bits.
    """

    words: UInt64Array
    without: BoolArray | None


class BitFamily(Family[Items]):
    """Base class of families whose values are single bits, which a subclass packs into words.

    An item has a value under all functions, or under none.

    See Also
    --------
    lshfast.families.Family : Base class of families.
    lshfast.families.BitCodes : Packed values of functions whose values are bits.
    """

    value_bits = 1

    @abstractmethod
    def codes(
        self, items: Items, count: int, *, threads: int | None = None
    ) -> BitCodes:
        """Compute the values of n items under the first `count` functions, packed.

        Parameters
        ----------
        items, count, threads
            As for `hash`.

        Returns
        -------
        BitCodes
        """

    def hash(
        self, items: Items, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the values of items under the first `count` functions.

        Parameters
        ----------
        items
            n items of the family.
        count : int
            Number of functions, at least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            0 or 1, or `NO_VALUE` in the rows of items that have no value.
        """
        count = check_int("count", count, 1)
        words, without = self.codes(items, count, threads=threads)
        values = unpacked_bits(words, count)
        if without is not None:
            values[without] = NO_VALUE
        return values

    def buckets(
        self,
        items: Items,
        bands: int,
        rows_per_band: int,
        *,
        threads: int | None = None,
    ) -> UInt64Array:
        """Compute the buckets: one value for each `rows_per_band` functions.

        Two items share a bucket if they collide under all of its functions.

        Parameters
        ----------
        items
            n items of the family.
        bands, rows_per_band : int
            At least 1. Band i has the functions from i * rows_per_band on, of bands * rows_per_band
            functions.
        threads : int, optional
            As for `hash`.

        Returns
        -------
        ndarray of uint64, shape (n, bands)
            The `rows_per_band` bits of each band as a number, the first the lowest; their hash if
            there are 64 or more. `NO_VALUE` in the rows of items that have no value.
        """
        bands, rows_per_band = check_bands(bands, rows_per_band)
        words, without = self.codes(items, bands * rows_per_band, threads=threads)
        buckets = buckets_of_bits(words, bands, rows_per_band)
        if without is not None:
            buckets[without] = NO_VALUE
        return buckets


def unpacked_bits(words: UInt64Array, count: int) -> UInt64Array:
    """Return the first `count` bits of packed rows, (n, words), as words: uint64 (n, count)."""
    octets = np.ascontiguousarray(words.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=count, bitorder="little").astype(
        np.uint64
    )


def buckets_of_bits(words: UInt64Array, bands: int, rows: int) -> UInt64Array:
    """Return the buckets of packed bits, uint64 (n, bands), equal to `joined` of single bits."""
    if rows >= 64:
        step = max(1, UNPACKED_BITS // (bands * rows))
        buckets = np.empty((len(words), bands), np.uint64)
        for part in parts_of_rows(len(words), step):
            block = unpacked_bits(words[part], bands * rows)
            buckets[part] = joined(block, rows, 1)
        return buckets
    buckets = np.empty((len(words), bands), np.uint64)
    kernels.buckets(np.ascontiguousarray(words), rows, buckets)
    return buckets
