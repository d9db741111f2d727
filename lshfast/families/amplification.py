"""Amplification: AND and OR of hash functions, their curves, and the choice of how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, cast

import numpy as np
import numpy.typing as npt

from lshfast.common.types import BoolArray, Float64Array, UInt64Array
from lshfast.families.family import Family, Items


@dataclass(frozen=True)
class Amplified(Family[Items], Generic[Items]):
    """A family whose functions are groups of functions of another family.

    Parameters
    ----------
    base : Family
    steps : tuple of (str, int)
        "and" or "or", and the number of functions in a group; the innermost step first.
    """

    name: ClassVar[str] = "amplified"

    base: Family[Items]
    steps: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple((step, count) for step, count in self.steps))

    def hash(self, items: Items, count: int, *, threads: int | None = None) -> UInt64Array:
        """Return the values under the first `count` functions; only a family without OR has values."""
        if any(step == "or" for step, _ in self.steps):
            raise ValueError("the functions of a family with OR have several values each: use collide")
        return self.base.buckets(items, count, int(np.prod([rows for _, rows in self.steps])), threads=threads)

    def distance(self, a: Items, b: Items) -> Float64Array:
        """Return the exact distances of the family that is amplified."""
        return self.base.distance(a, b)

    def collide(self, a: Items, b: Items, count: int) -> BoolArray:
        """Return which pairs of items collide under which of the first `count` functions, bool (n, count)."""
        found = self.base.collide(a, b, count * int(np.prod([size for _, size in self.steps])))
        for step, size in self.steps:
            groups = found.reshape(len(found), -1, size)
            found = cast(BoolArray, groups.all(axis=2) if step == "and" else groups.any(axis=2))
        return found

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Return the probability that two items at these distances collide."""
        p = self.base.collision_probability(distance)
        for step, size in self.steps:
            p = p**size if step == "and" else 1 - (1 - p) ** size
        return p

    def _amplified(self, step: str, count: int) -> Amplified[Items]:
        return Amplified(self.base, (*self.steps, (step, count)))
