"""The levels at which values of a field agree: by its kind, or finer for crowded dates and numbers.

Dates of a single year are within a month of each other by chance, and coordinates of a country
within 1 %. There, only nearness that is rare among strangers identifies matches, so levels are
chosen by how near random pairs are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.fields import Kind

# The levels of a missing value, and of equal values; a higher level agrees less.
MISSING_LEVEL = 0
EXACT_LEVEL = 1
EQUAL = "equal"

# For each kind, the meaning of the levels from 2 on, and their limits of similarity or difference.
LEVELS: dict[Kind, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "name": (
        (
            "nickname or similarity ≥ 0.92",
            "similarity ≥ 0.85",
            "similarity ≥ 0.75",
            "other",
        ),
        (0.92, 0.85, 0.75),
    ),
    "text": (
        (
            *(f"similarity ≥ {limit}" for limit in (0.9, 0.8, 0.6, 0.45, 0.3, 0.2)),
            "other",
        ),
        (0.9, 0.8, 0.6, 0.45, 0.3, 0.2),
    ),
    "code": (("1 edit", "2 edits", "other"), (1, 2)),
    "number": (
        (*(f"within {limit} %" for limit in (1, 5, 10, 20, 40, 60)), "other"),
        (0.01, 0.05, 0.1, 0.2, 0.4, 0.6),
    ),
    "date": (
        (
            "1 edit or day and month exchanged",
            "within 31 days",
            "within 366 days",
            "other",
        ),
        (31, 366),
    ),
    "age": (
        ("within 1 year", "within 3 years", "within 10 years", "other"),
        (1, 3, 10),
    ),
    "category": (("other",), ()),
}
LEVELS["phone"] = LEVELS["code"]  # an address is compared by its parts
# The levels from 2 on that a typing error, a nickname or rounding explains; the others mean
# different values.
CLOSE: dict[Kind, int] = {
    "name": 2,
    "text": 3,
    "code": 2,
    "phone": 2,
    "number": 1,
    "date": 1,
    "age": 1,
    "category": 0,
}

EXCHANGED = "exchanged with another field"
CROWDED = 0.01  # of random pairs with different values, within a month or 1 %
FEWEST_VALUES = 50  # different ones, of a field that may be crowded
RANDOM_PAIRS = 40_000
DAYS = (1, 3, 7, 14)  # levels of crowded dates, before those of the kind
# Of random pairs, within the limits of crowded numbers.
CHANCES = (0.0005, 0.002, 0.005, 0.015, 0.05, 0.15)
WIDEST = 0.3  # of random pairs, whose difference is the unit of the limits of crowded numbers


@dataclass(frozen=True)
class FieldLevels:
    """The levels of a field.

    Attributes
    ----------
    labels : tuple of str
        What the levels mean, from that of a missing value on.
    limits : tuple of float
        Of similarity or difference, by which the levels from 2 on are assigned.
    close : ndarray of bool, shape (levels,)
        Which levels a typing error, rounding or a few days explain.
    days : tuple of int
        Differences of crowded dates that are looked at before typing errors.
    unit : float or None
        The difference of crowded numbers that is 1; None if numbers are compared relative to the
        greater one.
    exchanged : bool
        Whether the level after that of equal values means that they are exchanged with those of
        another field.
    """

    labels: tuple[str, ...]
    limits: tuple[float, ...]
    close: BoolArray
    days: tuple[int, ...] = ()
    unit: float | None = None
    exchanged: bool = False

    def with_exchanged(self) -> FieldLevels:
        """Return these levels with that of an exchange, which comes after equal values."""
        place = EXACT_LEVEL + 1
        labels = (*self.labels[:place], EXCHANGED, *self.labels[place:])
        return replace(
            self,
            labels=labels,
            close=np.insert(self.close, place, True),
            exchanged=True,
        )

    @property
    def similar(self) -> BoolArray:
        """Which levels mean values that are similar: not equal, not exchanged, and not "other"."""
        levels = np.zeros(len(self.labels), bool)
        levels[EXACT_LEVEL + 1 + self.exchanged : -1] = True
        return levels

    @property
    def doubtful(self) -> BoolArray:
        """Which levels a fee or a discount may explain: of prices and amounts, within 5 %."""
        levels = np.zeros(len(self.labels), bool)
        if self.labels == labels_of("number"):
            levels[EXACT_LEVEL + 1 + CLOSE["number"]] = True
        return levels

    @classmethod
    def of_kind(cls, kind: Kind) -> FieldLevels:
        """Return the levels of a kind."""
        names, limits = LEVELS[kind]
        return cls(labels_of(kind), limits, close_levels(len(names), CLOSE[kind]))

    @classmethod
    def of(cls, coded: CodedField) -> FieldLevels:
        """Return the levels of a field, from how near the values of random pairs are."""
        levels = cls.of_kind(coded.kind)
        may_be_crowded = (
            coded.kind in ("date", "number") and len(coded.values) >= FEWEST_VALUES
        )
        if coded.numbers is None or not may_be_crowded:
            return levels
        first, second = random_numbers(coded)
        with np.errstate(over="ignore"):
            distances = np.abs(first - second)
        limit: Any = levels.limits[0]
        if coded.kind == "number":
            limit = limit * np.maximum(np.abs(first), np.abs(second))
        if np.mean((distances > 0) & (distances <= limit)) <= CROWDED:
            return levels
        if coded.kind == "date":
            return cls._of_crowded_dates()
        return cls._of_crowded_numbers(distances)

    @classmethod
    def _of_crowded_dates(cls) -> FieldLevels:
        names = [f"within {days} day{'s' if days > 1 else ''}" for days in DAYS]
        names += LEVELS["date"][0]
        close = close_levels(len(names), len(DAYS) + CLOSE["date"])
        return cls(("missing", EQUAL, *names), LEVELS["date"][1], close, DAYS)

    @classmethod
    def _of_crowded_numbers(cls, distances: Float64Array) -> FieldLevels:
        unit = float(np.quantile(distances, WIDEST))
        limits = np.unique(np.quantile(distances, CHANCES))
        limits = limits[(limits > 0) & (limits < unit)]
        if not len(limits) or not np.isfinite(unit):
            return cls.of_kind("number")
        names = (*(f"within {limit:.3g}" for limit in limits), "other")
        return cls(
            ("missing", EQUAL, *names),
            tuple((limits / unit).tolist()),
            close_levels(len(names), len(limits)),
            (),
            unit,
        )


def labels_of(kind: Kind) -> tuple[str, ...]:
    """Return what the levels of a kind mean, from that of a missing value on."""
    return ("missing", EQUAL, *LEVELS[kind][0])


def close_levels(different: int, close: int) -> BoolArray:
    """Return which levels mean equal or close values: the first `close` of the different ones."""
    levels = np.zeros(EXACT_LEVEL + 1 + different, bool)
    levels[EXACT_LEVEL : EXACT_LEVEL + 1 + close] = True
    return levels


def random_numbers(coded: CodedField) -> tuple[Float64Array, Float64Array]:
    """Return the numbers, or dates in days, of random pairs with values; 0 if there are none."""
    assert coded.numbers is not None
    rng = np.random.default_rng(9)
    sides: list[npt.NDArray[np.int32]] = [codes[codes >= 0] for codes in coded.codes]
    if not all(map(len, sides)):
        return np.zeros(1), np.zeros(1)
    first, second = (
        coded.numbers[codes[rng.integers(0, len(codes), RANDOM_PAIRS)]]
        for codes in sides
    )
    return first, second
