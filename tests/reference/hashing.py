"""Mixing, drawing and token hashes of docs/reference/definitions.md on plain Python integers.

Python's integers do not overflow, so every product is exact and every reduction is written out.
"""

from enum import IntEnum
from typing import NamedTuple

P = 2**61 - 1
EMPTY = 2**64 - 1
MASK64 = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
LIMB_BYTES = 7


class Domain(IntEnum):
    """Number the purposes for which constants are drawn, so that no two share a stream."""

    TOKEN = 1
    NGRAM = 2
    CHARACTER = 3
    INTEGER = 4
    CLASSIC = 5
    FAST_ROUND = 6
    FAST_SLOT = 7
    BAND = 8
    GROUP = 9


def mix64(x: int) -> int:
    """Return the splitmix64 finaliser of a 64-bit word."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK64
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK64
    return x ^ x >> 31


def draw(seed: int, domain: int, i: int) -> int:
    """Return the i-th 64-bit constant of a domain."""
    start = mix64((seed + GOLDEN * domain) & MASK64)
    return mix64((start + GOLDEN * (i + 1)) & MASK64)


def multiplier(v: int) -> int:
    """Map a 64-bit word to a multiplier in [1, P - 1]."""
    return 1 + v % (P - 1)


class Key(NamedTuple):
    """What tokens are hashed under: three multipliers, and a mask of integers."""

    bytes: int
    words: int
    characters: int
    integers: int


def key_of(seed: "int | Key") -> Key:
    """Return the key that a seed gives, or the one that is given in its place."""
    if isinstance(seed, Key):
        return seed
    a, c, e = (
        multiplier(draw(seed, domain, 0))
        for domain in (Domain.TOKEN, Domain.NGRAM, Domain.CHARACTER)
    )
    return Key(a, c, e, draw(seed, Domain.INTEGER, 0))


def horner(coefficients: list[int], x: int) -> int:
    """Return the polynomial with these coefficients, highest power first, at x, modulo P."""
    value = 0
    for coefficient in coefficients:
        value = (value * x + coefficient) % P
    return value


def polynomial(data: bytes, seed: "int | Key") -> int:
    """Return H(data): the seven-byte limbs, then the length, as a polynomial modulo P."""
    limbs = [
        int.from_bytes(data[start : start + LIMB_BYTES], "little")
        for start in range(0, len(data), LIMB_BYTES)
    ]
    return horner([*limbs, len(data)], key_of(seed).bytes)


def token_of_bytes(data: bytes, seed: "int | Key") -> int:
    """Return the 64-bit token of a byte string."""
    return mix64(polynomial(data, seed))


def token_of_int(x: int, seed: "int | Key") -> int:
    """Return the 64-bit token of an integer in [-2^63, 2^64)."""
    if not -(2**63) <= x < 2**64:
        raise ValueError(f"integer {x} is outside [-2^63, 2^64)")
    word = x if x >= 0 else mix64(x & MASK64)
    return mix64(word ^ key_of(seed).integers)
