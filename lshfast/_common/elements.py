"""Integers as elements of sets: 64-bit words, from which their tokens are hashed.

A word of an integer from 0 to 2**64 - 1 is the integer. A negative one has the bits of an integer
above 2**63 in two's complement, so these bits are mixed: -1 and 2**64 - 1 are different elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.mixing import mix64
from lshfast._common.types import UInt64Array


def words_of_array(integers: npt.NDArray[Any]) -> UInt64Array:
    """Return the words of an array of integers; unsigned ones of 64 bits are not copied.

    Examples
    --------
    >>> words_of_array(np.array([3, -1])).tolist()
    [3, 13029008266876403067]
    """
    words: UInt64Array = integers.astype(np.uint64, copy=False)
    if integers.dtype.kind == "i":
        is_negative = np.asarray(integers) < 0
        if is_negative.any():
            words[is_negative] = mix64(words[is_negative])
    return words


def words_of_integers(integers: Sequence[int]) -> UInt64Array:
    """Return the words of integers in -2**63..2**64 - 1."""
    try:
        return words_of_array(np.array(integers, np.int64))
    except OverflowError:  # some are 2**63 or more
        words = np.array([integer % 2**64 for integer in integers], np.uint64)
    is_negative = np.array([integer < 0 for integer in integers], np.bool_)
    words[is_negative] = mix64(words[is_negative])
    return words
