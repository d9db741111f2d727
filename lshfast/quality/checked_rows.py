"""The part of an account that every check of rows has, and its figures as values of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from math import isnan
from typing import Any, ClassVar

from lshfast._common.choices import Kind
from lshfast._common.display import Figure, counted, figure
from lshfast._common.visible import visible
from lshfast._engine.account.display import Account
from lshfast.quality.intervals import Estimate


@dataclass(frozen=True, repr=False, kw_only=True)
class CheckedRows(Account):
    """The rows of a check, and how many were compared with all others."""

    PARTS: ClassVar[tuple[str, ...]] = "accepted", "rejected"

    accepted: int
    copies: int
    empty: int
    sampled: int
    complete: bool
    items: Kind = "text"

    @property
    def distinct(self) -> int:
        """Rows that are compared: neither copies nor empty."""
        return self.accepted - self.copies - self.empty

    def rows_figures(self, empty_note: str, other_rows: str) -> Iterator[Figure]:
        """Yield the lines of the rows that were read, and of those that were compared."""
        copies = counted(self.copies, "exact copy", "exact copies")
        yield figure(
            "read",
            self.read,
            f"{copies}, always found" if self.copies else "",
            empty_note,
            f"{self.rejected:,} rejected" if self.rejected else "",
        )
        precision = f"each compared with {other_rows}; intervals: 95 %"
        if self.complete:
            precision = "all of them: the figures are exact"
        rows = f"of {counted(self.distinct, 'different row')}"
        yield figure("sampled", self.sampled, rows, precision)

    def to_json(self) -> str:
        """Return all figures as JSON; numbers that are not known are None."""
        return figures_as_json(self)


def count_of(number: Estimate) -> str:
    """Return an estimated number as it is shown."""
    return f"{number.value:,.0f}"


def range_of(number: Estimate) -> str:
    """Return the interval of an estimated number; "" if it is exact."""
    return "" if number.exact else f"{number.low:,.0f} to {number.high:,.0f}"


def share_range(share: Estimate) -> str:
    """Return the interval of an estimated share; "" if it is exact."""
    return "" if share.exact else f"{share.low:.4f} to {share.high:.4f}"


def figures_as_dict(account: Account) -> dict[str, Any]:
    """Return all figures of an account as values of JSON; numbers that are not known are None."""
    values = {each.name: getattr(account, each.name) for each in fields(account)}
    # The stages come last.
    plain: dict[str, Any] = _plain(values | {"stages": values.pop("stages")})
    return plain


def figures_as_json(account: Account) -> str:
    """Return all figures of an account as JSON."""
    return json.dumps(figures_as_dict(account), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if isnan(value) else value
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return (
        value if value is None or isinstance(value, (int, str)) else visible(str(value))
    )
