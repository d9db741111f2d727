"""Sets from outside, checked, and packed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, TypeAlias

import numpy as np

from lshfast._common.arrow_columns import python_values, stored_lists, undecodable_rows
from lshfast._common.elements import words_of_array, words_of_integers
from lshfast._common.extras import optional
from lshfast._common.rows import offsets_of
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._common.visible import is_writable, shortened
from lshfast._items.kind import flat_rows
from lshfast._items.packed_sets import pack
from lshfast.kernels.text import Texts, arrow_column
from lshfast.tokens import places_of_rows

Elements: TypeAlias = Texts | UInt64Array

# The offsets and the elements of sets, and the reasons of bad rows.
Read: TypeAlias = tuple[tuple[Int64Array, Elements], dict[int, str]]


# Bytes of rows of sets that are read at a time; in memory, rows are lists of Python objects.
SET_BYTES = 1 << 20


class SetReader:
    """Converts columns of lists to packed sets; all elements are strings or all are integers."""

    batch_bytes: ClassVar[int] = SET_BYTES
    format: ClassVar[None] = None
    advice: ClassVar[str] = ""

    def __init__(self) -> None:
        self._kind: type | None = None

    @property
    def elements(self) -> str | None:
        """The name of the type of the elements that were read: "str" or "int"."""
        return None if self._kind is None else self._kind.__name__

    def read(self, column: Any) -> tuple[Texts, dict[int, str]]:
        """Return the sets of a column, and the reasons of its bad rows, which are empty sets."""
        (offsets, elements), bad = read_sets(column, self._kind)
        if len(elements):
            self._kind = str if isinstance(elements, Texts) else int
        return pack(offsets, elements), bad


def read_sets(column: Any, kind: type | None = None) -> Read:
    """Return sets as (offsets, elements) of Arrow lists, and the reasons of bad rows.

    A set is a list of strings or integers, also as a text of JSON; None is an empty set. Bad rows
    are empty. `kind` is str or int, the type of the elements of earlier rows.
    """
    values = column
    undecodable = dict[int, str]()
    if hasattr(column, "buffers"):
        arrow_sets = _read_arrow(column, kind)
        if arrow_sets is not None:
            return arrow_sets
        values, undecodable = python_values(column)
    _, offsets, elements, kind, bad = flat_rows(values, kind, (), _fault_of_set)
    bad |= undecodable
    if kind is int:
        return (offsets, words_of_integers(elements)), bad
    return (offsets, Texts(elements)), bad


def _fault_of_set(parts: Any, kind: type | None) -> str:
    """Return why a value is not a set with elements of a kind, or ""."""
    reason = _reason(parts, kind)
    return f"{reason}: {shortened(parts)}" if reason else ""


def _reason(parts: Any, kind: type | None) -> str:
    if not isinstance(parts, (list, tuple)):
        return f"not a list of {named(kind)}, as sets are"
    if not parts:
        return ""
    element_type = type(parts[0]) if isinstance(parts, list) else None
    if element_type not in (str, int) or kind not in (None, element_type):
        return f"not a list of {named(kind)}, as sets are"
    if not all(type(part) is element_type for part in parts):
        return "not a list of one type"
    if element_type is str and not all(map(is_writable, parts)):
        return "a string has a lone surrogate"
    if element_type is int and not all(-(2**63) <= part < 2**64 for part in parts):
        return "an integer is not in -2**63..2**64 - 1"
    return ""


def _read_arrow(column: Any, kind: type | None) -> Read | None:
    """Return the sets of an Arrow column of lists in bulk; None if some may be bad."""
    column = stored_lists(column)
    types = optional("pyarrow").types
    list_type = column.type
    is_variable = types.is_list(list_type) or types.is_large_list(list_type)
    if not (is_variable or types.is_fixed_size_list(list_type)):
        return None
    value = list_type.value_type
    element_type: type
    if types.is_integer(value):
        element_type = int
    elif types.is_string(value) or types.is_large_string(value):
        element_type = str
    else:
        return None
    if kind not in (None, element_type):
        return None
    try:
        lists = arrow_column(column, one_length=True)
    except TypeError:  # a null in a list
        return None
    assert isinstance(lists, tuple)
    offsets, elements = lists
    if not isinstance(elements, Texts):
        return (offsets, words_of_array(elements)), {}
    bad = undecodable_rows(offsets, column.flatten())
    return without_rows(offsets, elements, bad)[:2], bad


def without_rows(
    offsets: Int64Array, elements: Elements, bad: Collection[int]
) -> tuple[Int64Array, Elements, Int64Array | slice]:
    """Return sets whose bad rows are empty, and the places of the remaining elements."""
    if not bad:
        return offsets, elements, slice(None)
    counts = np.diff(offsets)
    good: BoolArray = np.ones(len(counts), np.bool_)
    good[list(bad)] = False
    places = places_of_rows(offsets, np.flatnonzero(good))[1]
    counts[~good] = 0
    good_elements = (
        elements.take(places) if isinstance(elements, Texts) else elements[places]
    )
    return (
        offsets_of(counts),
        good_elements,
        places,
    )


def named(kind: type | None) -> str:
    """Return the words for the type of elements, "strings or integers" for None."""
    return (
        "strings or integers"
        if kind is None
        else "strings"
        if kind is str
        else "integers"
    )
