"""Ids, order values, values of `by` and exact keys, stored with the positions of the rows."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from lshfast._common.checks import weight_fault
from lshfast._common.exact_keys import OF_URLS, ExactKeys
from lshfast._common.value_codes import ValueCodes
from lshfast._common.visible import is_writable, shortened
from lshfast._io.files import Layout, is_id, is_int64, kind_of
from lshfast._io.string_file import HashedKeys, StringFile

# The files of strings.
IDS = "ids.strings"
ORDERS = "orders.strings"

# The type code of arrays of ids with one above GREATEST_SIGNED.
UNSIGNED = "Q"
GREATEST_SIGNED = 2**63 - 1
# Doubles represent all integers up to here exactly.
GREATEST_EXACT = 2**53

Ids: TypeAlias = "list[str | int] | array[int] | StringFile"
Orders: TypeAlias = "list[str] | array[int] | array[float] | StringFile"


class RowKeys:
    """The ids, order values, values of `by` and exact keys of the rows read so far.

    `by` and `exact_keys` are None without a column for them. `place` returns the position of one of
    these rows. With a folder, strings are in files of it, whose names begin with `prefix`, and the
    rows of ids are found by hashes.
    """

    def __init__(
        self,
        layout: Layout,
        place: Callable[[int], tuple[str, int | None]],
        folder: str | None = None,
        prefix: str = "",
    ) -> None:
        self.ids: Ids = [] if folder is None else array("q")
        self.orders: Orders = array("q")
        self.by = None if layout.by is None else ValueCodes(layout.by)
        self.exact_keys: ExactKeys | None = None
        if layout.exact_key is not None:
            are_urls = layout.exact_key.startswith(OF_URLS)
            self.exact_keys = ExactKeys(are_urls=are_urls)
        self._layout = layout
        self._place = place
        self._folder = folder
        self._prefix = prefix
        self._kind: type = str
        self._has_negative_id = False
        self.has_unsigned_id = False  # above the greatest signed integer
        self._row_of: dict[
            str | int, int
        ] = {}  # with a folder: of the ids of the current block
        # Of ids in files: the rows of earlier blocks, which are those before `_hashed`.
        self._known: HashedKeys | None = None
        self._hashed = 0

    def close(self) -> None:
        """Release the data that is only needed to add more rows."""
        self._row_of.clear()
        self._known = None
        if self.by is not None:
            self.by.close()

    def columns_without_values(self) -> Iterator[str]:
        """Yield the columns of `by` and exact keys if no row has a value there."""
        if self.by is not None and not self.by.names:
            yield self.by.column
        if self.exact_keys is not None and not self.exact_keys.prints[:, 0].any():
            assert self._layout.key_column is not None
            yield self._layout.key_column

    def restore(
        self,
        ids: Ids,
        orders: Orders,
        by: ValueCodes | None = None,
        exact_keys: ExactKeys | None = None,
    ) -> None:
        """Take over the ids, order values, values of `by` and exact keys of all rows."""
        self.ids = ids
        self.orders = orders
        self.by = by
        self.exact_keys = exact_keys
        is_integer = isinstance(ids, list) and bool(ids) and type(ids[0]) is int
        self.has_unsigned_id = (
            ids.typecode == UNSIGNED
            if isinstance(ids, array)
            else is_integer and max(ids) > GREATEST_SIGNED  # type: ignore[operator]
        )

    def begin_block(self, ids: list[Any]) -> None:
        """Look up the ids of the next rows among earlier ids that are in files."""
        if (
            self._folder is None
            or self._layout.id_column is None
            or not self._layout.unique_ids
        ):
            return
        if self._known is None:
            self._known = HashedKeys()
        fresh = [(key, row) for key, row in self._row_of.items() if row >= self._hashed]
        self._known.add(
            [key for key, _ in fresh], np.array([row for _, row in fresh], np.int64)
        )
        self._hashed = len(self.ids)
        ids = [key if is_id(key) else "" for key in map(id_of, ids)]
        rows = self._known.find(ids).tolist()
        self._row_of = {}
        for key, row in zip(ids, rows, strict=True):
            if row >= 0 and self.ids[row] == key:
                self._row_of[key] = row

    def _strings(self, name: str) -> Any:
        """Return a new sequence for strings."""
        if self._folder is None:
            return []
        return StringFile(os.path.join(self._folder, self._prefix + name))

    def take(
        self,
        identity: Any,
        order: Any,
        untyped: bool,
        value: Any = None,
        exact_key: Any = None,
    ) -> str | None:
        """Record what is stored of a row, or return why it is rejected."""
        if self._layout.id_column is not None:
            if type(identity) is float:
                identity = id_of(identity)
            reason = self._refused(identity)
            if reason:
                return reason
        if self._layout.order_column is not None:
            reason = self._take_order(order, untyped)
            if reason:
                return _of_order(self._layout, reason)
        if self._layout.id_column is not None:
            if not self.ids:
                self._kind = type(identity)
                self.ids = self._strings(IDS) if self._kind is str else self.ids
            if self._kind is int and not 0 <= identity <= GREATEST_SIGNED:
                self._take_sign(identity)
            if self._layout.unique_ids:
                self._row_of[identity] = len(self.ids)
            self.ids.append(identity)
        if self.by is not None:
            self.by.add(value)
        if self.exact_keys is not None:
            self.exact_keys.add(exact_key)
        return None

    def _refused(self, identity: Any) -> str | None:
        if identity is None or identity == "" or identity != identity:
            return f"id column {self._layout.id_column!r} is missing, null or empty"
        if not is_id(identity):
            return f"id {shortened(identity)} is neither a string nor a 64-bit integer"
        if isinstance(identity, str) and not is_writable(identity):
            return f"id {shortened(identity)} holds a lone surrogate, which is no character"
        if self.ids and type(identity) is not self._kind:
            return f"id {shortened(identity)} is {kind_of(identity)}, the ids before it are not"
        if type(identity) is int and (self.has_unsigned_id or self._has_negative_id):
            reason = self._sign_fault(identity)
            if reason is not None:
                return reason
        if identity in self._row_of:  # empty if ids may repeat
            name, line = self._place(self._row_of[identity])
            place = name if line is None else f"{name}:{line}"
            return f"id {shortened(identity)} is taken by {place}"
        return None

    def _sign_fault(self, identity: int) -> str | None:
        """Return why no integer type has this id and those before it, or None."""
        if identity < 0 and self.has_unsigned_id:
            return f"id {identity} is negative, and one before it is above 2**63 - 1"
        if identity > GREATEST_SIGNED and self._has_negative_id:
            return f"id {identity} is above 2**63 - 1, and one before it is negative"
        return None

    def _take_sign(self, identity: int) -> None:
        """Record whether an integer is negative, or above the greatest signed integer."""
        if identity < 0:
            self._has_negative_id = True
        elif identity > GREATEST_SIGNED and not self.has_unsigned_id:
            self.has_unsigned_id = True
            if isinstance(self.ids, array):
                self.ids = array(UNSIGNED, self.ids)

    def _take_order(self, value: Any, untyped: bool) -> str | None:
        orders: Any = self.orders
        has_numbers = isinstance(orders, array)
        if untyped and isinstance(value, str) and (has_numbers or self._layout.weights):
            value = _number(value)
        if self._layout.weights:
            reason = weight_fault(value)
            if reason:
                return reason
            value = float(value)
        fault = _order_fault(value)
        if fault:
            return fault
        if isinstance(value, str) and has_numbers and not orders:
            orders = self._strings(ORDERS)
        elif isinstance(value, str) == has_numbers:
            return _clash(value)
        elif isinstance(value, float) and orders.typecode == "q":
            orders = array("d", orders)
        self.orders = orders
        orders.append(value)
        return None


def id_of(value: Any) -> Any:
    """Return a whole double as an int: integers with a missing value are doubles in pandas."""
    if type(value) is float and abs(value) <= GREATEST_EXACT and value.is_integer():
        return int(value)
    return value


def _order_fault(value: Any) -> str | None:
    """Return why a value is no order value, whatever those before it are; or None."""
    if value is None or value == "" or value != value:
        return "is missing or null"
    if type(value) not in (str, float) and not is_int64(value):
        return f"holds {shortened(value)}, neither a string nor a 64-bit number"
    return None


def clashing_order(layout: Layout, value: Any) -> str:
    """Return the reason to reject an order value: a string beside numbers, or the reverse."""
    return _of_order(layout, _clash(value))


def _clash(value: Any) -> str:
    return f"holds {shortened(value)}, {kind_of(value)}, but those before it are not"


def _of_order(layout: Layout, reason: str) -> str:
    return f"{'weight' if layout.weights else 'order'} column {layout.order_column!r} {reason}"


def _number(text: str) -> str | int | float:
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        return int(text)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return float(text)
    return text
