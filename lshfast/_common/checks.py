"""Checks of arguments: they return the checked value, or raise an error with the range."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import checked_column
from lshfast._common.extras import optional
from lshfast._common.types import AnyArray, Float64Array
from lshfast._common.visible import cut_off

Seed: TypeAlias = int | Literal["random"]

# The columns that are added to the rows of a frame or data set which are annotated.
ADDED_COLUMNS = "duplicate_of", "similarity"

INT64_RANGE = -(2**63), 2**63 - 1


def check_seed(seed: Seed) -> int:
    """Return the seed as an int; the operating system draws "random" seeds."""
    if isinstance(seed, str) and seed == "random":
        return int.from_bytes(os.urandom(8), "little")
    return check_seed_number(seed, "an int or 'random'")


def check_seed_number(seed: Any, allowed_type: str = "an int") -> int:
    """Return the seed as an int, or raise an error that names the range."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed must be {allowed_type}, not {seed!r}")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed must be in 0..2**64 - 1, not {seed}")
    return int(seed)


class SeedField:
    """The seed field of a frozen dataclass: a number, or "random"; the default is 1."""

    def __get__(self, owner: Any, kind: Any = None) -> int:
        return 1 if owner is None else int(owner.__dict__["seed"])

    def __set__(self, owner: Any, value: Seed) -> None:
        owner.__dict__["seed"] = check_seed(value)


SEED = SeedField()


def _is_number(value: object) -> bool:
    kinds = int, float, np.integer, np.floating
    return isinstance(value, kinds) and not isinstance(value, bool)


def check_number(name: str, value: float) -> float:
    """Return the value as a float, or raise an error that names the argument."""
    if not _is_number(value):
        raise TypeError(f"{name} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(
            f"{name} must be a number that a float64 can hold; this int is too large"
        ) from None


def check_most(
    most: float | None, least: float = 0.0, greatest: float = 1.0
) -> float | None:
    """Return the greatest similarity of answers, or raise an error that names its range."""
    if most is not None and not least <= check_number("most", most) <= greatest:
        raise ValueError(
            f"most must be in {least:g}..{greatest:g}, from the threshold, not {most}"
        )
    return most


def check_least(least: float | None, greatest: float) -> float | None:
    """Return the least distance of answers, or raise an error that names its range."""
    if least is not None and not 0 <= check_number("least", least) <= greatest:
        raise ValueError(
            f"least must be in 0..{greatest:g}, up to the radius, not {least}"
        )
    return least


# The largest weight of an element of a set: the weights of many elements have a sum that a float64
# can hold.
MOST_WEIGHT = 1e290


def weight_fault(value: Any) -> str:
    """Return the fault of a weight of an element as the end of a sentence, "" without one.

    Examples
    --------
    >>> weight_fault(1.5), weight_fault("1")
    ('', "must be a number, not '1'")
    """
    if not _is_number(value):
        return f"must be a number, not {cut_off(repr(value))}"
    if 0 < value <= MOST_WEIGHT:
        return ""
    absent = ": leave out an element that is absent" if value == 0 else ""
    shown = (
        f"{value:g}"
        if not isinstance(value, int) or abs(value) < 1e300
        else "a number of more than 300 digits"
    )
    return f"must be above 0 and at most {MOST_WEIGHT:g}, not {shown}{absent}"


def check_int(name: str, value: int, least: int, most: int | None = None) -> int:
    """Return the value as an int, or raise an error with the range; None is no upper end."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an int, not {value!r}")
    if value < least or (most is not None and value > most):
        allowed = f"at least {least}" if most is None else f"in {least}..{most}"
        raise ValueError(f"{name} must be {allowed}, not {value}")
    return int(value)


_UNITS = {unit: 1024**power for power, unit in enumerate(("", "K", "M", "G", "T"))}


def check_bytes(name: str, value: int | str) -> int:
    """Return a number of bytes, given as an int or as a str like "4G" (powers of 1024).

    Examples
    --------
    >>> check_bytes("memory", "1.5G")
    1610612736
    """
    if not isinstance(value, str):
        return check_int(name, value, 0)
    match = re.fullmatch(
        r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGT]?)", value.strip().upper()
    )
    if match is None:
        raise ValueError(
            f"{name} must be a number of bytes like 4G, 512M or 4294967296, not {value!r}"
        )
    return (
        int(float(match[1]) * _UNITS[match[2]])
        if "." in match[1]
        else int(match[1]) * _UNITS[match[2]]
    )


def check_bool(name: str, value: bool) -> bool:
    """Return the value as a bool, or raise an error that names the argument."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def array_of(values: npt.ArrayLike, name: str) -> AnyArray:
    """Return values as an array, or raise an error that names the argument."""
    if not isinstance(values, (np.ndarray, list, tuple)):
        checked_column(values, name)
    try:
        return np.asarray(values)
    except ValueError:
        kind = type(values).__name__
        raise ValueError(
            f"{name} must be an array with rows of one length, not a {kind} of other lengths"
        ) from None


def numbers_of(
    values: npt.ArrayLike, name: str, least: float, most: float
) -> Float64Array:
    """Return numbers as float64, or raise an error with the range and the first wrong number.

    The nearest number of a narrower type, such as float32(pi), counts as the end of the range that
    it stands for.
    """
    array = array_of(values, name)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be numbers, not {array.dtype}")
    with np.errstate(invalid="ignore", over="ignore"):  # numpy 1 warns about NaNs
        numbers = array.astype(np.float64)
        if array.dtype.kind == "f" and array.dtype.itemsize < 8:
            for end in (least, most):
                nearest = np.float64(array.dtype.type(end))
                if np.isfinite(nearest):
                    numbers[numbers == nearest] = end
        wrong = array[~((numbers >= least) & (numbers <= most))]
    if wrong.size:
        raise ValueError(f"{name} must be in {least}..{most}, not {wrong[0]}")
    return numbers


def check_annotation(columns: Iterable[Any], options: Mapping[str, Any]) -> None:
    """Raise ValueError if rows cannot be annotated, since a column or rows would be lost."""
    reserved_names = [name for name in ADDED_COLUMNS if name in columns]
    if reserved_names:
        added = " and ".join(ADDED_COLUMNS)
        raise ValueError(
            f"there is a column {reserved_names[0]!r} already; annotate adds {added}"
        )
    if options.get("against") is not None:
        raise ValueError(
            "annotate cannot be used with against, whose entries are no rows: lshfast.dedup "
            "returns their keys"
        )


def check_plot(path: str | os.PathLike[str], svg_needs_it: bool = True) -> None:
    """Raise an error if a plot cannot be saved: a wrong suffix, or no matplotlib.

    With `svg_needs_it=False`, a plot as .svg needs no matplotlib.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{os.fspath(path)}: a plot must be .png, .svg or .pdf")
    if suffix != ".svg" or svg_needs_it:
        optional("matplotlib", "plots")
