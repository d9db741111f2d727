"""Which kind of items a column holds: texts, sets, weighted or not, vectors or codes; and the values of its lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lshfast.common.choices import Kind
from lshfast.common.extras import optional
from lshfast.kernels.text import Texts
from lshfast.sketch.weighted import WeightedSets


def kind_of_arrow(kind: Any) -> Kind | None:
    """Return the kind of items of a type of Arrow; None if it can be several, or is none of them."""
    types = optional("pyarrow").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_fixed_size_binary(kind):
        return "code"
    if types.is_map(kind):
        return "weighted" if _is_weighted(kind.key_type, kind.item_type) else None
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        value = kind.value_type
        if types.is_floating(value):
            return "vector"
        if types.is_struct(value) and value.num_fields == 2 and not types.is_fixed_size_list(kind):
            return "weighted" if _is_weighted(*(value.field(i).type for i in range(2))) else None
        small = types.is_integer(value) and value.bit_width == 8
        listed = types.is_integer(value) or types.is_string(value) or types.is_large_string(value)
        return "set" if listed and not small and not types.is_fixed_size_list(kind) else None
    texts = types.is_null(kind) or "string" in str(kind) or "binary" in str(kind)
    return "text" if texts and not types.is_nested(kind) else None


def _is_weighted(element: Any, weight: Any) -> bool:
    """Return whether types of Arrow are those of an element of a weighted set and of its weight."""
    types = optional("pyarrow").types
    if types.is_dictionary(element):
        element = element.value_type
    named = types.is_integer(element) or str(element) in ("string", "large_string", "string_view")
    return named and (types.is_integer(weight) or types.is_floating(weight) or types.is_decimal(weight))


def ambiguous(kind: Any) -> list[Kind]:
    """Return the kinds that a type of Arrow can be of beside others, so that the user has to say it; often none."""
    types = optional("pyarrow").types
    if types.is_uint64(kind):
        return ["code"]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        value = kind.value_type
        if types.is_integer(value):
            words = types.is_uint64(value) and types.is_fixed_size_list(kind)
            return ["set", "vector", "code"] if value.bit_width == 8 or words else ["set", "vector"]
    return []


def kind_of_value(value: Any) -> Kind | None:
    """Return the kind of items that a Python value stands for; None if it can be several, or is none of them."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, np.ndarray):
        return "vector" if value.ndim == 1 and value.dtype.kind == "f" else None
    if isinstance(value, Mapping):
        numbers = all(isinstance(part, (int, float, np.number)) and type(part) is not bool for part in value.values())
        return "weighted" if value and numbers else None
    if isinstance(value, (list, tuple)) and value:
        if all(isinstance(part, (int, float, np.number)) and not isinstance(part, bool) for part in value):
            return "vector" if any(isinstance(part, (float, np.floating)) for part in value) else "set"
        return "set" if all(isinstance(part, (str, bytes)) for part in value) else None
    return None


def kind_of(items: Any) -> Kind:
    """Return the kind of items of a collection in memory: vectors where it holds floats, else texts or sets.

    Examples
    --------
    >>> kind_of([[0.5, 1.0]]), kind_of([{"a": 2}]), kind_of([{"a", "b"}]), kind_of(["a text"])
    ('vector', 'weighted', 'text', 'text')
    """
    if isinstance(items, WeightedSets):
        return "weighted"
    if isinstance(items, np.ndarray) and items.ndim == 2 and items.dtype.kind == "f":
        return "vector"
    if _is_arrow(items):
        pa = optional("pyarrow")
        found = kind_of_arrow(pa.chunked_array(items).type)
        return found if found in ("vector", "weighted") else "text"
    if isinstance(items, (list, tuple)) or getattr(getattr(items, "dtype", None), "kind", "") == "O":
        first = next(
            (item for item in items if item is not None and not (isinstance(item, Mapping) and not item)), None
        )
        found = kind_of_value(first)
        if found in ("vector", "weighted"):
            return found
    return "text"


def kind_in_memory(items: Any, kind: Kind | None) -> Kind:
    """Return the kind of a collection in memory, given what the user says or None; sets may be weighted ones."""
    found = kind_of(items) if kind in (None, "set") else None
    return found if found is not None and (kind is None or found == "weighted") else kind or "text"


def _is_arrow(items: Any) -> bool:
    """Return whether a column has Arrow's interface and lists or maps in it, so that pyarrow is worth importing."""
    if not (hasattr(items, "__arrow_c_stream__") or hasattr(items, "__arrow_c_array__")):
        return False
    kind = str(getattr(items, "type", getattr(items, "dtype", "")))
    return any(name in kind.lower() for name in ("list", "array", "map"))


def decoded_lists(items: Iterable[Any]) -> Iterable[Any]:
    """Yield the values; a text that begins like a list of JSON is decoded."""
    texts = isinstance(items, Texts)
    for item in (items[row] for row in range(len(items))) if texts else items:  # type: ignore[arg-type,index]
        text = item.decode("utf-8", "replace") if isinstance(item, bytes) and texts else item
        if isinstance(text, str):
            try:
                yield json.loads(text) if text.strip() else None
            except (ValueError, RecursionError):
                yield text
        else:
            yield item


def shortened(value: Any) -> str:
    """Return the beginning of a value as Python writes it."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # a number of too many digits, or too many lists within each other
        return f"a {type(value).__name__} that is too large to be shown"
    return shown if len(shown) <= 60 else shown[:57] + "..."
