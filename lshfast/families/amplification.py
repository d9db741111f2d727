"""`Amplified`: AND and OR of the functions of a family, which are a family again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, cast, overload

import numpy as np
import numpy.typing as npt

from lshfast.common.checks import check_int
from lshfast.common.types import BoolArray, Float64Array, UInt64Array
from lshfast.families.cascade import Cascade
from lshfast.families.family import Family, Items, check_bands


@dataclass(frozen=True)
class Amplified(Family[Items], Generic[Items]):
    """A family whose functions are groups of functions of another family.

    `Family.and_` and `Family.or_` create it. Steps of one function are omitted, neighbouring steps of one kind are
    joined, and the steps of an amplified base come first, so equal constructions are equal.

    Parameters
    ----------
    base : Family
        The family that is amplified.
    steps : tuple of (str, int)
        "and" or "or", and the number of functions in a group, in 1..2**53; the innermost step first.

    Raises
    ------
    TypeError
        If `base` is not a family, or the steps are not pairs of a str and an int.
    ValueError
        If a step is neither "and" nor "or", or its number is out of range.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.6.3.
    """

    name: ClassVar[str] = "amplified"

    base: Family[Items]
    steps: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.base, Family):
            raise TypeError(f"base must be a family, not {self.base!r}")
        cascade = Cascade(self.steps)
        if isinstance(self.base, Amplified):
            cascade = Cascade((*self.base.steps, *cascade.steps))
            object.__setattr__(self, "base", self.base.base)
        object.__setattr__(self, "steps", cascade.steps)

    @cached_property
    def cascade(self) -> Cascade:
        """The steps as a function of the probability that two items collide under one function of the base."""
        return Cascade(self.steps)

    @property
    def max_distance(self) -> float:
        """Largest distance of two items; inf if there is none."""
        return self.base.max_distance

    @property
    def half_point(self) -> float:
        """Collision probability of the base at which that of this family is 1/2."""
        return self.cascade.half_point

    def hash(self, items: Items, count: int, *, threads: int | None = None) -> UInt64Array:
        """Return the values under the first `count` functions, uint64 (n, count).

        Raises
        ------
        ValueError
            If a step is OR. A function then has several values: use `collide`, or the buckets of the family before OR.
        """
        return self.buckets(items, count, 1, threads=threads)

    def buckets(self, items: Items, bands: int, rows: int, *, threads: int | None = None) -> UInt64Array:
        """Return one value for each `rows` functions, uint64 (n, bands); items collide if they do under all of these.

        Raises
        ------
        ValueError
            If a step is OR.
        """
        if any(step == "or" for step, _ in self.steps):
            raise ValueError("the functions of a family with OR have several values each: use collide")
        bands, rows = check_bands(bands, rows)
        return self.base.buckets(items, bands, rows * self.cascade.functions, threads=threads)

    def distance(self, a: Items, b: Items) -> Float64Array:
        """Return the exact distances under the family that is amplified, float64 (n,)."""
        return self.base.distance(a, b)

    def collide(self, a: Items, b: Items, count: int) -> BoolArray:
        """Return which of n pairs of items collide under which of the first `count` functions, bool (n, count)."""
        found = self.base.collide(a, b, check_int("count", count, 1) * self.cascade.functions)
        for step, size in self.steps:
            groups = found.reshape(len(found), -1, size)
            found = cast(BoolArray, groups.all(axis=2) if step == "and" else groups.any(axis=2))
        return found

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Return the probability that two items at these distances collide; float64, with the shape of `distance`."""
        return np.asarray(self.cascade.curve(self.base.collision_probability(distance)))

    @overload
    def curve(self, p: float) -> np.float64: ...
    @overload
    def curve(self, p: npt.ArrayLike) -> Float64Array: ...
    def curve(self, p: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the probability of a collision, given the probability p in [0, 1] of one under the base."""
        return self.cascade.curve(p)

    def fixed_point(self) -> float:
        """Return the probability between 0 and 1 that the steps do not change: smaller ones fall, larger ones rise.

        Raises
        ------
        ValueError
            If there is no such point, or not only one: with AND alone, OR alone, or without steps.
        """
        return self.cascade.fixed_point()

    def steepest(self) -> tuple[float, float]:
        """Return (p, slope) at the steepest point of the curve, where p is the collision probability of the base."""
        return self.cascade.steepest()

    def _amplified(self, step: str, count: int) -> Amplified[Items]:
        return Amplified(self.base, (*self.steps, (step, count)))
