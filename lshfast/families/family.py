"""The interface of families of hash functions, and AND and OR of their functions."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from math import inf
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int, check_number
from lshfast._common.types import BoolArray, Float64Array, UInt64Array
from lshfast.banding import Bands
from lshfast.families.cascade import Cascade

Items = TypeVar("Items")

# The value of an item that has none. It is equal to no value, not even to itself.
NO_VALUE = np.uint64(2**64 - 1)

# The families that can be opened again, by name.
_FAMILIES: dict[str, type[Family[Any]]] = {}


class Sensitivity(NamedTuple):
    """Collision probabilities: at least p1 within distance d1, at most p2 beyond d2.

    See Also
    --------
    lshfast.families.rho : The exponent of the work of a family.
    lshfast.families.amplification_for : Choose ANDs and ORs for two probabilities.
    lshfast.families.distance_at : The distance of a collision probability.
    """

    d1: float
    d2: float
    p1: float
    p2: float


class Family(ABC, Generic[Items]):
    """Base class of families of hash functions: frozen dataclasses of parameters and a seed.

    A function of the family maps an item to a value. Two items collide under it if both have a
    value and the values are equal. The closer the items, the higher the probability, over the
    choice of the function, that they collide.

    A subclass defines `name`, `hash`, `distance` and `collision_probability`.

    Attributes
    ----------
    name : str
        Name of the family, by which `family_of` finds it. A class that defines it can be stored in
        a file of an index.
    stored_names : mapping of str to str
        Names of fields in `describe`, where they differ from the names in the class.
    stored_values : mapping of str to mapping of str to str
        For each field, the names in `describe` of its values, where they differ.
    value_bits : int
        Values are below 2**value_bits, or `NO_VALUE`; with 64, they are any 64-bit words.
    max_distance : float
        Largest distance of two items, up to which `collision_probability` is defined. The default
        is inf.

    See Also
    --------
    lshfast.families.Amplified : Groups of functions of a family.
    lshfast.families.BitFamily : Base class of families whose values are bits.
    lshfast.families.Probing : Base class of families that name promising buckets.
    lshfast.families.family_of : The family with a description.

    References
    ----------
    P. Indyk, R. Motwani, "Approximate Nearest Neighbors: Towards Removing the Curse of
    Dimensionality", STOC 1998; J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive
    Datasets", section 3.6.

    Examples
    --------
    >>> from lshfast import TokenSets
    >>> from lshfast.families import MinHashFamily
    >>> family = MinHashFamily()
    >>> sets = TokenSets.from_sets([range(0, 80), range(20, 100)])
    >>> (
    ...     family.hash(sets, 4).shape,
    ...     family.distance(sets.take([0]), sets.take([1])).tolist(),
    ... )
    ((2, 4), [0.4])
    >>> family.sensitivity(0.3, 0.6)
    Sensitivity(d1=0.3, d2=0.6, p1=0.7, p2=0.4)
    """

    name: ClassVar[str]
    stored_names: ClassVar[Mapping[str, str]] = {}
    stored_values: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    value_bits: int = 64

    @property
    def max_distance(self) -> float:
        """Largest distance that `collision_probability` takes; inf if there is none."""
        return inf

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            return
        namesake = _FAMILIES.get(cls.name)
        if namesake is not None and _full_name(namesake) != _full_name(cls):
            raise ValueError(
                f"a family is called {cls.name!r} already: {_full_name(namesake)}"
            )
        _FAMILIES[cls.name] = cls

    @abstractmethod
    def hash(
        self, items: Items, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the values of items under the first `count` functions.

        Parameters
        ----------
        items
            n items of the family.
        count : int
            Number of functions, at least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            `NO_VALUE` marks the items that have no value under a function. The values depend on the
            item, the parameters and the seed only. The values under function j may depend on
            `count`.
        """

    @abstractmethod
    def distance(self, a: Items, b: Items) -> Float64Array:
        """Compute the exact distances of pairs of items.

        Parameters
        ----------
        a, b
            n items each; one of them may be a single item.

        Returns
        -------
        ndarray of float64, shape (n,)
        """

    @abstractmethod
    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute the probability that two items at these distances collide.

        It is the share of the functions of the family.

        Parameters
        ----------
        distance : array_like of float

        Returns
        -------
        ndarray of float64, with the shape of `distance`
            In [0, 1].
        """

    def sensitivity(self, d1: float, d2: float) -> Sensitivity:
        """Return (d1, d2, p1, p2), with the collision probabilities at two distances.

        Parameters
        ----------
        d1, d2 : float
            Distances, 0 <= d1 < d2.

        Returns
        -------
        Sensitivity

        Raises
        ------
        TypeError, ValueError
            If a distance is not a number, or out of range.
        """
        d1 = check_number("d1", d1)
        d2 = check_number("d2", d2)
        if not 0 <= d1 < d2:
            raise ValueError(f"distances must be 0 <= d1 < d2, not {d1} and {d2}")
        p1, p2 = self.collision_probability([d1, d2]).tolist()
        return Sensitivity(d1, d2, p1, p2)

    def collide(self, a: Items, b: Items, count: int) -> BoolArray:
        """Return whether pairs of items collide under each of the first `count` functions.

        Parameters
        ----------
        a, b
            n items each; one of them may be a single item.
        count : int
            At least 1.

        Returns
        -------
        ndarray of bool, shape (n, count)
        """
        first = self.hash(a, count)
        second = self.hash(b, count)
        check_pairs(len(first), len(second))
        return np.asarray((first == second) & (first != NO_VALUE))

    def buckets(
        self,
        items: Items,
        bands: int,
        rows_per_band: int,
        *,
        threads: int | None = None,
    ) -> UInt64Array:
        """Compute the buckets: one value for each `rows_per_band` functions.

        Two items share a bucket if they collide under all of its functions.

        Parameters
        ----------
        items
            n items of the family.
        bands, rows_per_band : int
            At least 1. Band i has the functions from i * rows_per_band on, of bands * rows_per_band
            functions.
        threads : int, optional
            As for `hash`.

        Returns
        -------
        ndarray of uint64, shape (n, bands)
            `NO_VALUE` if the item has no value under one of the functions. Values of less than 64
            bits together are joined. Others are hashed, and different ones have equal buckets with
            a probability of about 2**-64.
        """
        bands, rows_per_band = check_bands(bands, rows_per_band)
        values = self.hash(items, bands * rows_per_band, threads=threads)
        return joined(values, rows_per_band, self.value_bits)

    def and_(self, count: int) -> Amplified[Items]:
        """Return the family of groups of `count` functions that must all agree to collide."""
        return self._amplified("and", count)

    def or_(self, count: int) -> Amplified[Items]:
        """Return the family of groups of `count` functions of which one must agree to collide."""
        return self._amplified("or", count)

    def _amplified(self, step: str, count: int) -> Amplified[Items]:
        return Amplified(self, ((step, count),))

    def describe(self) -> str:
        """Return the name and the parameters as JSON, which `family_of` reads."""
        return _json(self._description())

    def _description(self) -> dict[str, Any]:
        description: dict[str, Any] = {"family": self.name}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            # Keyword-only fields are newer than the first files: their defaults are not stored.
            if not field.init or (field.kw_only and value == field.default):
                continue
            name = self.stored_names.get(field.name, field.name)
            if isinstance(value, Family):
                description[name] = value._description()
            elif field.name in self.stored_values:
                description[name] = self.stored_values[field.name].get(value, value)
            else:
                description[name] = value
        return description


def _full_name(family: type[Family[Any]]) -> str:
    return f"{family.__module__}.{family.__qualname__}"


@dataclass(frozen=True)
class Amplified(Family[Items], Generic[Items]):
    """A family whose functions are groups of functions of another family.

    `Family.and_` and `Family.or_` create it. Steps of one function are omitted, neighbouring steps
    of one kind are joined, and the steps of an amplified base come first, so equal constructions
    are equal.

    Parameters
    ----------
    base : Family
        The family that is amplified.
    steps : tuple of (str, int)
        "and" or "or", and the number of functions in a group, in 1..2**53; the innermost step
        first.

    Raises
    ------
    TypeError
        If `base` is not a family, or the steps are not pairs of a str and an int.
    ValueError
        If a step is neither "and" nor "or", or its number is out of range.

    See Also
    --------
    lshfast.families.Family : Base class of families.
    lshfast.families.Cascade : Steps of AND and OR.
    lshfast.families.amplification_for : Choose ANDs and ORs for two probabilities.

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
        """The steps as a function of the collision probability of the base."""
        return Cascade(self.steps)

    @property
    def max_distance(self) -> float:
        """Largest distance of two items; inf if there is none."""
        return self.base.max_distance

    @property
    def half_point(self) -> float:
        """The collision probability of the base at which the one of this family is 1/2."""
        return self.cascade.half_point

    def hash(
        self, items: Items, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Return the values under the first `count` functions, uint64 (n, count).

        Raises
        ------
        ValueError
            If a step is OR. A function then has several values: use `collide`, or the buckets of
            the family before OR.
        """
        return self.buckets(items, count, 1, threads=threads)

    def buckets(
        self,
        items: Items,
        bands: int,
        rows_per_band: int,
        *,
        threads: int | None = None,
    ) -> UInt64Array:
        """Return one value for each `rows_per_band` functions, uint64 (n, bands).

        Two items share a bucket if they collide under all of its functions.

        Raises
        ------
        ValueError
            If a step is OR.
        """
        if any(step == "or" for step, _ in self.steps):
            raise ValueError(
                "the functions of a family with OR have several values each: use collide"
            )
        bands, rows_per_band = check_bands(bands, rows_per_band)
        rows_of_base = rows_per_band * self.cascade.functions
        return self.base.buckets(items, bands, rows_of_base, threads=threads)

    def distance(self, a: Items, b: Items) -> Float64Array:
        """Return the exact distances under the base, float64 (n,)."""
        return self.base.distance(a, b)

    def collide(self, a: Items, b: Items, count: int) -> BoolArray:
        """Return whether pairs collide under each of the first functions, bool (n, count)."""
        collisions = self.base.collide(
            a, b, check_int("count", count, 1) * self.cascade.functions
        )
        for step, size in self.steps:
            groups = collisions.reshape(len(collisions), -1, size)
            of_groups = groups.all(axis=2) if step == "and" else groups.any(axis=2)
            collisions = cast(BoolArray, of_groups)
        return collisions

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Return the probability that items at these distances collide; float64."""
        return np.asarray(self.cascade.curve(self.base.collision_probability(distance)))

    @overload
    def curve(self, p: float) -> np.float64: ...
    @overload
    def curve(self, p: npt.ArrayLike) -> Float64Array: ...
    def curve(self, p: npt.ArrayLike) -> np.float64 | Float64Array:
        """Return the collision probability, given the probability p in [0, 1] of the base."""
        return self.cascade.curve(p)

    def fixed_point(self) -> float:
        """Return the probability in (0, 1) that the steps do not change.

        Smaller probabilities fall, and larger ones rise.

        Raises
        ------
        ValueError
            If there is no such point, or not only one: with AND alone, OR alone, or without steps.
        """
        return self.cascade.fixed_point()

    def steepest(self) -> tuple[float, float]:
        """Return (p, slope) at the steepest point of the curve; p is of the base."""
        return self.cascade.steepest()

    def _amplified(self, step: str, count: int) -> Amplified[Items]:
        return Amplified(self.base, (*self.steps, (step, count)))


def check_bands(bands: int, rows_per_band: int) -> tuple[int, int]:
    """Return bands and rows as Python ints; raise an error if one is below 1."""
    return check_int("bands", bands, 1), check_int("rows_per_band", rows_per_band, 1)


def check_pairs(a: int, b: int) -> int:
    """Return the number of pairs of a and b items, of which one may be single, or raise."""
    if a != b and 1 not in (a, b):
        raise ValueError(
            f"a and b must have the same number of items, or one of them a single item, not {a} "
            f"and {b}"
        )
    return b if a == 1 else a


def joined(values: UInt64Array, rows: int, value_bits: int) -> UInt64Array:
    """Join each `rows` values of a row into one, uint64 (n, bands); NO_VALUE if one of them is."""
    if rows == 1:
        return values
    # Whole columns of all bands are faster than sums over a short axis.
    columns = [values[:, i::rows] for i in range(rows)]
    has_none = columns[0] == NO_VALUE
    for column in columns[1:]:
        has_none |= column == NO_VALUE
    if rows * value_bits < 64:  # 64 bits could be NO_VALUE
        keys: UInt64Array = columns[0].copy()
        for i, column in enumerate(columns[1:], 1):
            keys |= column << np.uint64(i * value_bits)
    else:
        first = values[:, 0] == NO_VALUE
        # Bands would take such a row for an empty set, without a key in any band.
        if first.any():
            values = values.copy()
            values[first, 0] = 0
        keys = Bands(values.shape[1] // rows, rows).keys(np.ascontiguousarray(values))
    keys[has_none] = NO_VALUE
    return keys


def family_of(description: str) -> Family[Any]:
    """Return the family with this description.

    Parameters
    ----------
    description : str
        As `Family.describe` returns it.

    Returns
    -------
    Family

    Raises
    ------
    ValueError
        If it is not the description of a family, the family is not known, or its parameters are not
        valid. A family of your own is known once its class is defined.

    See Also
    --------
    lshfast.families.Family : Base class of families.

    Examples
    --------
    >>> from lshfast.families import MinHashFamily, family_of
    >>> MinHashFamily(seed=7).describe()
    '{"family":"minhash","scheme":"fast","seed":7}'
    >>> family_of('{"family":"minhash","scheme":"fast","seed":7}')
    MinHashFamily(scheme='fast', seed=7)
    """
    try:
        parameters = json.loads(description)
        family = _family_with(parameters)
        stored_again = json.loads(family.describe())
    except (
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        json.JSONDecodeError,
    ) as error:
        raise ValueError(
            f"not the description of a family: {str(description)[:200]!r} ({error})"
        ) from None
    for key, value in parameters.items():
        if stored_again[key] != value:
            again = stored_again[key]
            raise ValueError(
                f"{key} is {value!r} in the description of a family, which makes it {again!r}"
            )
    return family


def _family_with(parameters: dict[str, Any]) -> Family[Any]:
    name = parameters["family"]
    if name not in _FAMILIES:
        raise ValueError(
            f"no family is called {name!r}; import the module that defines it first"
        )
    family = _FAMILIES[name]
    fields_of = {stored: field for field, stored in family.stored_names.items()}
    arguments: dict[str, Any] = {}
    for stored_name, value in parameters.items():
        field = fields_of.get(stored_name, stored_name)
        if isinstance(value, dict):
            arguments[field] = _family_with(value)
        elif field in family.stored_values:
            values_of = {
                stored: plain for plain, stored in family.stored_values[field].items()
            }
            arguments[field] = values_of.get(value, value)
        elif field != "family":
            arguments[field] = value
    return family(**arguments)


def _json(description: dict[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(
            f"{type(value).__name__} cannot be a parameter of a family that is described as JSON"
        )

    return json.dumps(description, sort_keys=True, separators=(",", ":"), default=plain)
