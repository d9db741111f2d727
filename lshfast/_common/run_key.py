"""Secret keys of a run, for the hashes that decide whether rows are similar or copies.

Each run draws its keys from the operating system. Tokens under a seed are the same in every run, so
anyone who knows the seed can write texts whose tokens collide. With a key that is drawn for the run
this is not possible. No result depends on the key. docs/understand/security.md has the bounds.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from lshfast.kernels.text import HashKey

P = 2**61 - 1


def _drawn_below(n: int) -> int:
    """Draw a number in 0..n - 1, for n up to 2**64.

    The import of `secrets` would take 10 ms.
    """
    bits = (n - 1).bit_length()
    while True:
        number = int.from_bytes(os.urandom(8), "little") >> (64 - bits)
        if number < n:
            return number


def draw_fingerprint_key() -> tuple[int, int]:
    """Draw a secret key for `sets.fingerprints`: two numbers in 2**32..2**61 - 2."""
    return 2**32 + _drawn_below(P - 2**32), 2**32 + _drawn_below(P - 2**32)


def draw_hash_key() -> HashKey:
    """Draw a secret key for tokens; its four numbers are independent."""
    return HashKey(*draw_hash_numbers())


def draw_hash_numbers() -> tuple[int, int, int, int]:
    """Draw the numbers of a `HashKey`, for a run of several processes."""
    return (
        1 + _drawn_below(P - 1),
        1 + _drawn_below(P - 1),
        1 + _drawn_below(P - 1),
        _drawn_below(2**64),
    )


@dataclass(frozen=True, repr=False, eq=False)
class RunKey:
    """The keys of one run; they are never printed, stored or used in another run."""

    tokens: HashKey
    fingerprints: tuple[int, int]

    @classmethod
    def draw(cls) -> RunKey:
        """Draw new keys."""
        return cls(draw_hash_key(), draw_fingerprint_key())
