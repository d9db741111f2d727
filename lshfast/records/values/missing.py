"""The values that count as missing because a user says so, such as ``phone=0``.

`markers` recognises others by their form and frequency.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.nearest import no_column
from lshfast._common.visible import visible

NO_RECOGNITION = "none"  # among the given values: only the given ones are missing


class Marker(NamedTuple):
    """A value of a field that counts as missing.

    Attributes
    ----------
    value : str
        As it is written.
    rows : tuple of int
        The number of rows that have it, for each table.
    """

    value: str
    rows: tuple[int, ...]


@dataclass(frozen=True)
class MissingValues:
    """What counts as missing: the given values, and those that are recognised.

    Parameters
    ----------
    given : tuple of (str or None, str)
        Columns, None for all, and values.
    recognised : bool
        Whether other values are recognised by their form and frequency.
    """

    given: tuple[tuple[str | None, str], ...] = ()
    recognised: bool = True
    _all: frozenset[str] = field(init=False, repr=False, default=frozenset())

    @classmethod
    def of(cls, missing: Any, columns: Collection[str]) -> MissingValues:
        """Read an argument: a mapping of columns, or ``VALUE``, ``COLUMN=VALUE``, ``=VALUE``.

        ``"none"`` among them means that no other values are recognised.

        Raises
        ------
        TypeError, ValueError
            If it is neither strings nor a mapping, or a column does not exist.
        """
        if missing is None:
            return cls()
        values: list[tuple[str | None, str]] = []
        recognised = True
        for column, value in checked_missing(missing):
            if column is None and value == NO_RECOGNITION:
                recognised = False
                continue
            if column is not None and column not in columns:
                raise ValueError(
                    f"missing: {visible(no_column(column, columns))}; =VALUE is a "
                    "value of any column"
                )
            values.append((column, _plain(value)))
        return cls(tuple(values), recognised)

    def values_of(self, names: Collection[str]) -> frozenset[str]:
        """Return the given values of a field, by the names of its columns."""
        return frozenset(
            value for column, value in self.given if column is None or column in names
        )


def checked_missing(missing: Any) -> list[tuple[str | None, str]]:
    """Return columns, None for all, and values of an argument, or raise TypeError."""
    if isinstance(missing, Mapping):
        return _missing_by_column(missing)
    if isinstance(missing, str) or not isinstance(missing, Iterable):
        missing = [missing]
    pairs: list[tuple[str | None, str]] = []
    for value in missing:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise TypeError(
                f"missing must be strings such as 'N/A' or 'phone=0', not {value!r}"
            )
        column, sign, text = str(value).partition("=")
        pairs.append((column or None, text) if sign else (None, column))
    return pairs


def _missing_by_column(missing: Mapping[Any, Any]) -> list[tuple[str | None, str]]:
    pairs: list[tuple[str | None, str]] = []
    for column, values in missing.items():
        for value in [values] if isinstance(values, str) else values:
            if not isinstance(column, str):
                raise TypeError(
                    f"missing must map names of columns to values, not {column!r}"
                )
            pairs.append((column, str(value)))
    return pairs


def _plain(text: str) -> str:
    """Return a value as given ones are compared: with single spaces and without capital letters."""
    return " ".join(text.casefold().split())


def are_given(
    texts: Sequence[str], listed_values: Collection[str]
) -> npt.NDArray[np.bool_]:
    """Return which values are among given ones."""
    if not listed_values:
        return np.zeros(len(texts), bool)
    return np.fromiter(
        (_plain(text) in listed_values for text in texts), bool, len(texts)
    )
