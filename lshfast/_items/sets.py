"""Sets from outside, checked, and packed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from lshfast._common.arrow_columns import python_values, stored_lists, undecodable_rows
from lshfast._common.extras import optional
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._items.kind import decoded_lists, shortened
from lshfast._items.packed_sets import pack
from lshfast.kernels.text import Texts, arrow_column
from lshfast.tokens import places_of_rows

Elements: TypeAlias = Texts | UInt64Array

# The offsets and the elements of sets, and the reasons of bad rows.
Read: TypeAlias = tuple[tuple[Int64Array, Elements], dict[int, str]]


class SetReader:
    """Converts columns of lists to packed sets; the first element decides whether all are strings
    or integers.
    """

    def __init__(self) -> None:
        self._kind: type | None = None

    def read(self, column: Any) -> tuple[Texts, dict[int, str]]:
        """Return the sets of a column, and the reasons of its bad rows, which are empty sets."""
        (offsets, elements), bad = read_sets(column, self._kind)
        if len(elements):
            self._kind = str if isinstance(elements, Texts) else int
        return pack(offsets, elements), bad


def read_sets(column: Any, kind: type | None = None) -> Read:
    """Return sets as (offsets, elements) of Arrow lists, and the reasons of bad rows, which are
    empty.

    A set is a list of strings or integers, also as a text of JSON; None is an empty set. `kind`,
    str or int, is that of the elements of rows before.
    """
    values = column
    undecodable = dict[int, str]()
    if hasattr(column, "buffers"):
        found = _read_arrow(column, kind)
        if found is not None:
            return found
        values, undecodable = python_values(column)
    rows = list[Sequence[Any]]()
    bad = dict[int, str]()
    for row, item in enumerate(decoded_lists(values)):
        parts = () if item is None else item
        own = (
            {bool: None}.get(type(parts[0]), type(parts[0]))
            if isinstance(parts, list) and parts
            else None
        )
        if not isinstance(parts, (list, tuple)) or (
            parts and (own not in (str, int) or kind not in (None, own))
        ):
            bad[row] = f"not a list of {named(kind)}, as sets are: {shortened(item)}"
            parts = ()
        elif not all(type(part) is own for part in parts):
            bad[row] = f"not a list of one type: {shortened(item)}"
            parts = ()
        elif own is str and not all(map(is_writable, parts)):
            bad[row] = f"a string has a lone surrogate: {shortened(item)}"
            parts = ()
        elif own is int and not all(-(2**63) <= part < 2**64 for part in parts):
            bad[row] = f"an integer is not in -2**63..2**64 - 1: {shortened(item)}"
            parts = ()
        elif parts:
            kind = own
        rows.append(parts)
    bad |= undecodable
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    flat = list(chain.from_iterable(rows))
    if kind is int:
        return (offsets, np.array([part % 2**64 for part in flat], np.uint64)), bad
    return (offsets, Texts(flat)), bad


def _read_arrow(column: Any, kind: type | None) -> Read | None:
    """Return the sets of an Arrow column of lists without a Python object for each element; None if
    some may be bad.
    """
    column = stored_lists(column)
    types = optional("pyarrow").types
    if not (
        types.is_list(column.type)
        or types.is_large_list(column.type)
        or types.is_fixed_size_list(column.type)
    ):
        return None
    value = column.type.value_type
    own = (
        int
        if types.is_integer(value)
        else str
        if types.is_string(value) or types.is_large_string(value)
        else None
    )
    if own is None or kind not in (None, own):
        return None
    try:
        found = arrow_column(column, one_length=True)
    except TypeError:  # a null in a list
        return None
    assert isinstance(found, tuple)
    offsets, elements = found
    if not isinstance(elements, Texts):
        return (offsets, elements.astype(np.uint64, copy=False)), {}
    bad = undecodable_rows(offsets, column.flatten())
    return without_rows(offsets, elements, bad)[:2], bad


def without_rows(
    offsets: Int64Array, elements: Elements, bad: Collection[int]
) -> tuple[Int64Array, Elements, Int64Array | slice]:
    """Return sets whose bad rows are empty, and the places of the elements that are left."""
    if not bad:
        return offsets, elements, slice(None)
    counts = np.diff(offsets)
    good: BoolArray = np.ones(len(counts), np.bool_)
    good[list(bad)] = False
    places = places_of_rows(offsets, np.flatnonzero(good))[1]
    counts[~good] = 0
    taken = elements.take(places) if isinstance(elements, Texts) else elements[places]
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), taken, places


def named(kind: type | None) -> str:
    """Return what the elements of sets may be, given that of rows before."""
    return "strings or integers" if kind is None else "strings" if kind is str else "integers"


def is_writable(part: str) -> bool:
    """Return whether a string can be written as UTF-8: it has no lone surrogate."""
    try:
        part.encode()
    except UnicodeEncodeError:
        return False
    return True
