"""Types for the cells of CSV and TSV, if other inputs of the run have columns of the same names.

A cell is text. If Parquet or JSONL inputs have integers, floats or booleans in a column, the cells
of that column are converted to the same type. A conversion is exact or fails: no digit is lost, and
`str` of an integer equals the cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INTEGER_TYPE = re.compile(r"(u?)int(8|16|32|64)")
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}
OTHER = "other"  # the type of columns whose cells stay text


@dataclass(frozen=True)
class CellType:
    """The type of a column by Arrow's name (int64, double, bool), and the file that has it."""

    name: str
    source: str

    def convert(self, cell: str) -> Any:
        """Return the value of a cell, None if empty; raise ValueError if it is not exact."""
        return _CONVERTERS[self.name](cell) if cell else None


def merged(columns: Iterable[tuple[str, CellType]]) -> dict[str, CellType]:
    """Merge the column types of several files; columns with different kinds of types stay text."""
    types: dict[str, CellType] = {}
    for column, other in columns:
        first_type = types.setdefault(column, other)
        if first_type.name != other.name:
            types[column] = CellType(
                _common(first_type.name, other.name), first_type.source
            )
    return {column: kind for column, kind in types.items() if kind.name != OTHER}


def _common(one: str, other: str) -> str:
    integers = [_INTEGER_TYPE.fullmatch(name) is not None for name in (one, other)]
    if all(integers):
        return "int64"
    return "double" if any(integers) and "double" in (one, other) else OTHER


def converter(
    names: Sequence[str], types: Mapping[str, CellType]
) -> Callable[[list[Any]], list[Any]] | None:
    """Return a function that converts a row of cells in place; None if no column has a type.

    The function raises a ValueError that names the column, the cell and the type.
    """
    typed = [
        (index, name, types[name]) for index, name in enumerate(names) if name in types
    ]

    def convert(fields: list[Any]) -> list[Any]:
        for index, name, kind in typed:
            try:
                fields[index] = kind.convert(fields[index])
            except ValueError:
                if len(fields[index]) <= 60:
                    shown = repr(fields[index])
                else:
                    shown = f"{fields[index][:57]!r}..."
                raise ValueError(
                    f"column {name!r} holds {shown}, which does not convert exactly to "
                    f"{kind.name}, the type of this "
                    f"column in {kind.source}"
                ) from None
        return fields

    return convert if typed else None


def _integer(low: int, high: int) -> Callable[[str], int]:
    def convert(cell: str) -> int:
        value = int(cell)
        if str(value) != cell or not low <= value <= high:
            raise ValueError
        return value

    return convert


def _float(cell: str) -> float:
    value = float(cell)
    if repr(value) != cell and not (
        isfinite(value) and _JSON_NUMBER.fullmatch(cell) and _same(repr(value), cell)
    ):
        raise ValueError
    return value


def _same(one: str, other: str) -> bool:
    """Return whether two decimal numbers are equal, in any notation."""
    from decimal import Decimal, InvalidOperation

    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:  # the exponent is too large
        return False


def _boolean(cell: str) -> bool:
    if cell not in _BOOLEANS:
        raise ValueError
    return _BOOLEANS[cell]


_CONVERTERS: dict[str, Callable[[str], Any]] = {
    "double": _float,
    "bool": _boolean,
    **{
        f"int{bits}": _integer(-(1 << bits - 1), (1 << bits - 1) - 1)
        for bits in (8, 16, 32, 64)
    },
    **{f"uint{bits}": _integer(0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
}
