"""`ItemFilter`, a Bloom filter of items: which items are certainly new, at a few bits an item."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from lshfast._common.checks import check_int, check_number
from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import BoolArray, UInt64Array
from lshfast.kernels import bands as kernels
from lshfast.kernels.text import Texts, tokens_of_texts

LEAST_ERROR = 1e-18
MOST_ITEMS = 2**40


class ItemFilter:
    """Find the items of a stream that are certainly new, in one pass and a few bits an item.

    Each item sets `hashes` bits of the filter. An item whose bits are not all set was certainly not
    added before. If they are, it was added before, or it is new and its bits were set by others.
    Items are hashed under a secret key that is drawn for each filter, so nobody can write items
    that the filter takes for others.

    Parameters
    ----------
    expected : int
        The expected number of different items, in 1..2**40.
    error : float, default 0.01
        Probability, in [1e-18, 1), that a new item is taken for one that was added before, when the
        filter holds the expected number of items; it is smaller before, and greater after. The
        filter has 1.44 log2(1 / error) bits an item: 9.6 for 0.01.

    Attributes
    ----------
    bits, hashes : int
        The bits of the filter, and the number of bits that an item sets.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.join.find_identical : Find identical items exactly, and group them.
    lshfast.join.find_identical_in_batches : The same in bounded memory.

    Notes
    -----
    One thread at a time adds items; others wait.

    References
    ----------
    B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970; A. Kirsch, M.
    Mitzenmacher, "Less hashing, same performance", 2006.

    Examples
    --------
    >>> from lshfast.join import ItemFilter
    >>> seen = ItemFilter(expected=1000)
    >>> seen.add(["rain", "sun", "rain"]).tolist()
    [True, True, False]
    >>> seen.contains(["sun", "fog"]).tolist(), len(seen)
    ([True, False], 2)
    """

    def __init__(self, expected: int, error: float = 0.01) -> None:
        self.expected: int = check_int("expected", expected, 1, MOST_ITEMS)
        self.error: float = check_number("error", error)
        if not LEAST_ERROR <= self.error < 1:
            raise ValueError(f"error must be in [{LEAST_ERROR:g}, 1), not {error}")
        hashes = -math.log2(self.error)
        self.bits: int = max(64, math.ceil(self.expected * hashes / math.log(2)))
        self.hashes: int = min(max(1, round(hashes)), kernels.MOST_HASHES_OF_KEYS)
        self._filter = np.zeros(-(-self.bits // 8), np.uint8)
        self._key = draw_hash_key()
        self._lock = threading.Lock()
        self._count = 0

    def add(self, items: Any) -> BoolArray:
        """Add items, one after the other, and return which of them certainly were not added before.

        Parameters
        ----------
        items : sequence of str or bytes, or Arrow column
            As for `find_identical`.

        Returns
        -------
        ndarray of bool, shape (n,)
            False for items that were added before, in this call too, and with probability `error`
            for new ones.

        Raises
        ------
        TypeError, ValueError
            If an item is neither str nor bytes, or has a lone surrogate; then nothing is added.
        """
        return self.add_hashes(tokens_of_texts(Texts(items), self._key))

    def contains(self, items: Any) -> BoolArray:
        """Return which items perhaps were added; the others certainly were not.

        Parameters
        ----------
        items : sequence of str or bytes, or Arrow column
            As for `find_identical`.

        Returns
        -------
        ndarray of bool, shape (n,)

        Raises
        ------
        TypeError, ValueError
            If an item is neither str nor bytes, or has a lone surrogate.
        """
        hashes = tokens_of_texts(Texts(items), self._key)
        with self._lock:
            return kernels.hold_keys(self._filter, hashes, self.bits, self.hashes)

    def add_hashes(self, hashes: UInt64Array) -> BoolArray:
        """Add hashes under a secret key; return which were certainly not added before."""
        with self._lock:
            new = ~kernels.add_keys(self._filter, hashes, self.bits, self.hashes)
            self._count += int(new.sum())
        return new

    def __len__(self) -> int:
        """Return the number of items that were new when they were added."""
        return self._count

    def __repr__(self) -> str:
        return f"ItemFilter(expected={self.expected}, error={self.error:g})"

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._filter.nbytes

    @property
    def current_error(self) -> float:
        """Probability that a new item is taken for an added one.

        It is the share of set bits to the power `hashes`.
        """
        parts = np.array_split(self._filter, -(-self.nbytes // 2**20))
        ones = sum(int(np.unpackbits(part).sum()) for part in parts)
        return float((ones / self.bits) ** self.hashes)

    def __reduce__(self) -> Any:
        raise TypeError("an ItemFilter cannot be pickled: its key is secret")
