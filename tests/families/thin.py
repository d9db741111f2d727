"""A family as a user would write it: bits of vectors, whose collision probability is 1 minus their distance."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lshfast.families import Family


@dataclass(frozen=True)
class ThinBits(Family):
    """Random coordinates of vectors of 0 and 1; the distance is the share of coordinates that differ."""

    name: ClassVar[str] = "thin-bits"
    value_bits = 1

    dim: int
    seed: int = 1

    @property
    def max_distance(self):
        return 1.0

    def hash(self, items, count, *, threads=None):
        return items[
            :, np.random.default_rng(self.seed).integers(self.dim, size=count)
        ].astype(np.uint64)

    def distance(self, a, b):
        return (a != b).mean(axis=1)

    def collision_probability(self, distance):
        return 1 - np.asarray(distance, np.float64)


@dataclass(frozen=True)
class ThinLines(Family):
    """A collision probability of 1 / (1 + distance), at any distance; nothing is hashed."""

    name: ClassVar[str] = "thin-lines"

    def hash(self, items, count, *, threads=None):
        raise NotImplementedError

    def distance(self, a, b):
        return abs(a - b)

    def collision_probability(self, distance):
        return 1 / (1 + np.asarray(distance, np.float64))


def pairs_at(distance, pairs, dim, seed):
    """Return `pairs` pairs of vectors that differ in this share of `dim` coordinates."""
    rng = np.random.default_rng(seed)
    first = rng.integers(2, size=(pairs, dim), dtype=np.uint8)
    flips = rng.permuted(
        np.tile(np.arange(dim) < round(distance * dim), (pairs, 1)), axis=1
    )
    return first, first ^ flips.astype(np.uint8)
