"""The interface of a family of hash functions, under which close items collide more often than distant ones."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import fields
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast.banding import Bands
from lshfast.common.types import BoolArray, Float64Array, UInt64Array

if TYPE_CHECKING:
    from lshfast.families.amplification import Amplified

Items = TypeVar("Items")

# The value of an item that has none. It is equal to no value, not even to itself.
NO_VALUE = np.uint64(2**64 - 1)

# The families that can be opened again, by name.
_FAMILIES: dict[str, type[Family[Any]]] = {}


class Sensitivity(NamedTuple):
    """Items within distance d1 collide with probability at least p1, items beyond d2 with at most p2."""

    d1: float
    d2: float
    p1: float
    p2: float


class Family(ABC, Generic[Items]):
    """Base class of families of hash functions; a subclass is a frozen dataclass of its parameters and its seed.

    A function of the family maps an item to a value. Two items collide under it if their values are equal. The closer
    the items, the higher the probability, over the choice of the function, that they collide.

    Attributes
    ----------
    name : str
        Name of the family, by which `family_of` finds it. A class that defines it can be stored in a file of an index.
    value_bits : int
        Values are below 2**value_bits; with 64, they are any values except `NO_VALUE`.
    max_distance : float
        Largest distance of two items, up to which `collision_probability` is defined. The default is inf.
    """

    name: ClassVar[str]
    value_bits: int = 64

    @property
    def max_distance(self) -> float:
        """Largest distance of two items, up to which `collision_probability` is defined; inf if there is none."""
        return inf

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            _FAMILIES[cls.name] = cls

    @abstractmethod
    def hash(self, items: Items, count: int, *, threads: int | None = None) -> UInt64Array:
        """Return the values of n items under the first `count` functions, uint64 (n, count).

        `NO_VALUE` marks the items that have no value under a function. The values depend on the items, the parameters
        and the seed only. Those under function j may depend on `count`.
        """

    @abstractmethod
    def distance(self, a: Items, b: Items) -> Float64Array:
        """Return the exact distances of n pairs of items, float64 (n,); one of `a` and `b` may be a single item."""

    @abstractmethod
    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Return the probability that two items at these distances collide; float64, with the shape of `distance`."""

    def sensitivity(self, d1: float, d2: float) -> Sensitivity:
        """Return (d1, d2, p1, p2): the collision probabilities at two distances, d1 < d2."""
        if not 0 <= d1 < d2:
            raise ValueError(f"distances must be 0 <= d1 < d2, not {d1} and {d2}")
        p1, p2 = self.collision_probability([d1, d2]).tolist()
        return Sensitivity(d1, d2, p1, p2)

    def collide(self, a: Items, b: Items, count: int) -> BoolArray:
        """Return which of n pairs of items collide under which of the first `count` functions, bool (n, count)."""
        first, second = self.hash(a, count), self.hash(b, count)
        return np.asarray((first == second) & (first != NO_VALUE))

    def buckets(self, items: Items, bands: int, rows: int, *, threads: int | None = None) -> UInt64Array:
        """Return one value for each `rows` functions, uint64 (n, bands); items collide if they do under all of these.

        Values of at most 64 bits together are joined, others are hashed.
        """
        return joined(self.hash(items, bands * rows, threads=threads), rows, self.value_bits)

    def and_(self, count: int) -> Amplified[Items]:
        """Return the family whose functions are `count` functions each; items collide if they do under all of them."""
        return self._amplified("and", count)

    def or_(self, count: int) -> Amplified[Items]:
        """Return the family whose functions are `count` functions each; items collide if they do under any of them."""
        return self._amplified("or", count)

    def _amplified(self, step: str, count: int) -> Amplified[Items]:
        from lshfast.families.amplification import Amplified

        return Amplified(self, ((step, count),))

    def describe(self) -> str:
        """Return the name and the parameters as JSON, from which `family_of` makes an equal family."""
        return json.dumps(self._description(), sort_keys=True, separators=(",", ":"))

    def _description(self) -> dict[str, Any]:
        description: dict[str, Any] = {"family": self.name}
        for field in fields(self):  # type: ignore[arg-type]
            if field.init:
                value = getattr(self, field.name)
                description[field.name] = value._description() if isinstance(value, Family) else value
        return description


def joined(values: UInt64Array, rows: int, value_bits: int) -> UInt64Array:
    """Join each `rows` values of a row, uint64 (n, bands * rows), into one, (n, bands); NO_VALUE if one of them is."""
    n, bands = len(values), values.shape[1] // rows
    groups = values.reshape(n, bands, rows)
    if rows == 1:
        return values
    if rows * value_bits < 64:  # 64 bits could be NO_VALUE
        shifts = np.arange(rows, dtype=np.uint64) * np.uint64(value_bits)
        keys: UInt64Array = np.bitwise_or.reduce(groups << shifts, axis=2)
    else:
        keys = Bands(bands, rows).keys(np.ascontiguousarray(values))
    keys[(groups == NO_VALUE).any(axis=2)] = NO_VALUE
    return keys


def family_of(description: str) -> Family[Any]:
    """Return the family with this description.

    Raises
    ------
    ValueError
        If it is not the description of a family, the family is not known, or its parameters are not valid. A family of
        your own is known once its class is defined.
    """
    try:
        return _made(json.loads(description))
    except (TypeError, KeyError, AttributeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError(f"not the description of a family: {description[:200]!r} ({error})") from None


def _made(parameters: dict[str, Any]) -> Family[Any]:
    name = parameters["family"]
    if name not in _FAMILIES:
        raise ValueError(f"no family is called {name!r}; import the module that defines it first")
    given = {key: value for key, value in parameters.items() if key != "family"}
    return _FAMILIES[name](**{key: _made(value) if isinstance(value, dict) else value for key, value in given.items()})
