"""The finaliser of SplitMix64, on arrays of words."""

from __future__ import annotations

import numpy as np

from lshfast._common.types import UInt64Array


def mix64(words: UInt64Array) -> UInt64Array:
    """Return the splitmix64 finaliser of each word."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
