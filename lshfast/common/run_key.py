"""Secret keys, drawn from the operating system for each run, for the hashes that decide what is similar or a copy.

Tokens under a seed are the same in every run, so whoever knows the seed can write texts whose tokens collide. Under a
key that is drawn for the run they cannot, and no result depends on the key. docs/security.md has the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from lshfast.kernels.text import HashKey

P = 2**61 - 1


def draw_fingerprint_key() -> tuple[int, int]:
    """Return a secret key for `lshfast.kernels.sets.fingerprints`."""
    import secrets

    return 2**32 + secrets.randbelow(P - 2**32), 2**32 + secrets.randbelow(P - 2**32)


def draw_hash_key() -> HashKey:
    """Return a secret key for tokens, whose parts are independent of each other."""
    import secrets

    a, c, e = (1 + secrets.randbelow(P - 1) for _ in range(3))
    return HashKey(a, c, e, secrets.randbits(64))


@dataclass(frozen=True, repr=False, eq=False)
class RunKey:
    """The keys of one run, which are never printed, stored or used again."""

    tokens: HashKey
    fingerprints: tuple[int, int]

    @classmethod
    def draw(cls) -> RunKey:
        return cls(draw_hash_key(), draw_fingerprint_key())
