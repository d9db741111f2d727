"""Ids and order values, which are stored with the positions of the rows."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from typing import Any

from lshfast.readers.files import Layout, is_int64, kind_of, shortened


class RowKeys:
    """The ids and order values of the rows read so far; `place` returns the position of one of these rows."""

    def __init__(self, layout: Layout, place: Callable[[int], tuple[str, int | None]]) -> None:
        self.ids: list[str | int] = []
        self.orders: array[int] | array[float] | list[str] = array("q")
        self._layout, self._place = layout, place
        self._row_of: dict[str | int, int] = {}

    def close(self) -> None:
        """Release the data that is only needed to add more rows."""
        self._row_of.clear()

    def restore(self, ids: list[str | int], orders: array[int] | array[float] | list[str]) -> None:
        """Take over the ids and order values of all rows."""
        self.ids, self.orders = ids, orders

    def take(self, identity: Any, order: Any, untyped: bool) -> str | None:
        """Record the next row's id and order value, or return the reason to reject the row."""
        if self._layout.id_column is not None:
            reason = self._refused(identity)
            if reason:
                return reason
        if self._layout.order_column is not None:
            reason = self._take_order(order, untyped)
            if reason:
                return f"order column {self._layout.order_column!r} {reason}"
        if self._layout.id_column is not None:
            if self._layout.unique_ids:
                self._row_of[identity] = len(self.ids)
            self.ids.append(identity)
        return None

    def _refused(self, identity: Any) -> str | None:
        if identity is None or identity == "":
            return f"id column {self._layout.id_column!r} is missing, null or empty"
        if type(identity) is not str and not is_int64(identity):
            return f"id {shortened(identity)} is neither a string nor a 64-bit integer"
        if isinstance(identity, str) and not _writable(identity):
            return f"id {shortened(identity)} holds a lone surrogate, which is no character"
        if self.ids and type(identity) is not type(self.ids[0]):
            return f"id {shortened(identity)} is {kind_of(identity)}, the ids before it are not"
        if identity in self._row_of:  # empty if ids may repeat
            name, line = self._place(self._row_of[identity])
            return f"id {shortened(identity)} is taken by {name}" + ("" if line is None else f":{line}")
        return None

    def _take_order(self, value: Any, untyped: bool) -> str | None:
        if value is None or value == "" or value != value:
            return "is missing or null"
        if untyped and isinstance(value, str) and not isinstance(self.orders, list):
            value = _number(value)
        if type(value) not in (str, float) and not is_int64(value):
            return f"holds {shortened(value)}, neither a string nor a 64-bit number"
        if isinstance(value, str) and not self.orders:
            self.orders = []
        if isinstance(value, str) != isinstance(self.orders, list):
            return f"holds {shortened(value)}, {kind_of(value)}, but those before it are not"
        if isinstance(value, float) and isinstance(self.orders, array) and self.orders.typecode == "q":
            self.orders = array("d", self.orders)
        self.orders.append(value)
        return None


def _writable(text: str) -> bool:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def _number(text: str) -> str | int | float:
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        return int(text)
    return float(text) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) else text
