"""Constants that families draw from their seed, by the rule of definitions.md."""

from __future__ import annotations

import numpy as np

from lshfast._common.mixing import mix64 as mix64
from lshfast._common.types import UInt64Array

GOLDEN = 0x9E3779B97F4A7C15
LOW_HALF = np.uint64(2**32 - 1)


def following(words: UInt64Array, i: int) -> UInt64Array:
    """Return word i of the sequences that begin with these words: mix64(word + GOLDEN * i)."""
    return mix64(words + np.uint64(GOLDEN * i % 2**64))


def draw(seed: int, domain: int, count: int) -> UInt64Array:
    """Return the first `count` words that a seed gives in a domain, uint64 (count,)."""
    start = following(np.array([seed], np.uint64), domain)
    return mix64(start + np.uint64(GOLDEN) * np.arange(1, count + 1, dtype=np.uint64))


def scaled(words: UInt64Array, limit: int) -> UInt64Array:
    """Return floor(word * limit / 2**64) of each word, in 0..limit - 1; limit is at most 2**63."""
    high = words >> np.uint64(32)
    low = words & LOW_HALF
    limit_high = np.uint64(limit >> 32)
    limit_low = np.uint64(limit & 0xFFFFFFFF)
    middle = high * limit_low + (low * limit_low >> np.uint64(32))
    carry = low * limit_high + (middle & LOW_HALF) >> np.uint64(32)
    result: UInt64Array = high * limit_high + (middle >> np.uint64(32)) + carry
    return result
