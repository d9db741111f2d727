"""Batches of strings and sets, their pairs, and the form of results."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast.families.family import check_pairs
from lshfast.tokens import TokenSets


def strings_of(items: Any, name: str) -> list[Any]:
    """Return one string as a list, or a sequence of strings, all str or all bytes."""
    strings = (
        [items] if isinstance(items, (str, bytes)) else listed(items, name, "strings")
    )
    for kind in (str, bytes):
        if all(isinstance(item, kind) for item in strings):
            return strings
    for item in strings:
        if not isinstance(item, (str, bytes)):
            raise TypeError(f"{name} must be strings, not {type(item).__name__}")
    raise TypeError(f"{name} must be all str or all bytes, not some of each")


def listed(items: Any, name: str, allowed: str) -> list[Any]:
    """Return the items as a list, or raise TypeError that names the allowed items."""
    if isinstance(items, TokenSets) or not hasattr(items, "__iter__"):
        raise TypeError(f"{name} must be {allowed}, not {type(items).__name__}")
    return list(items)


Number = TypeVar("Number", bound=np.generic)


def in_form(values: npt.NDArray[Number], single: bool) -> npt.NDArray[Number] | Number:
    """Return the values of pairs as they are, or the value of two single items as a number."""
    return values[0] if single else values


def are_strings(a: Any, b: Any) -> bool:
    """Return whether both items are single strings."""
    return isinstance(a, (str, bytes)) and isinstance(b, (str, bytes))


def paired(a: list[Any], b: list[Any]) -> list[tuple[Any, Any]]:
    """Return the pairs of two batches, of which one may be a single item."""
    n = check_pairs(len(a), len(b))
    for kind in (str, bytes):
        if a and b and isinstance(a[0], kind) != isinstance(b[0], kind):
            raise TypeError("a and b must both be str or both be bytes")
    left = a * n if len(a) == 1 else a
    right = b * n if len(b) == 1 else b
    return list(zip(left, right, strict=True))
