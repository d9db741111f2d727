"""Which kind of items a column holds: texts, sets, vectors or codes; and the values of columns of lists."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from lshfast.common.choices import Kind
from lshfast.common.extras import optional
from lshfast.kernels.text import Texts


def kind_of_arrow(kind: Any) -> Kind | None:
    """Return the kind of items of a type of Arrow; None if it can be several, or is none of them."""
    types = optional("pyarrow").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_fixed_size_binary(kind):
        return "code"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        value = kind.value_type
        if types.is_floating(value):
            return "vector"
        small = types.is_integer(value) and value.bit_width == 8
        listed = types.is_integer(value) or types.is_string(value) or types.is_large_string(value)
        return "set" if listed and not small and not types.is_fixed_size_list(kind) else None
    texts = types.is_null(kind) or "string" in str(kind) or "binary" in str(kind)
    return "text" if texts and not types.is_nested(kind) else None


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
    if isinstance(value, (list, tuple)) and value:
        if all(isinstance(part, (int, float, np.number)) and not isinstance(part, bool) for part in value):
            return "vector" if any(isinstance(part, (float, np.floating)) for part in value) else "set"
        return "set" if all(isinstance(part, (str, bytes)) for part in value) else None
    return None


def kind_of(items: Any) -> Kind:
    """Return the kind of items of a collection in memory: vectors where it holds floats, else texts or sets.

    Examples
    --------
    >>> kind_of([[0.5, 1.0]]), kind_of([{"a", "b"}]), kind_of(["a text"])
    ('vector', 'text', 'text')
    """
    if isinstance(items, np.ndarray) and items.ndim == 2 and items.dtype.kind == "f":
        return "vector"
    if _is_arrow(items):
        pa = optional("pyarrow")
        return "vector" if kind_of_arrow(pa.chunked_array(items).type) == "vector" else "text"
    if isinstance(items, (list, tuple)) or getattr(getattr(items, "dtype", None), "kind", "") == "O":
        first = next((item for item in items if item is not None), None)
        if kind_of_value(first) == "vector":
            return "vector"
    return "text"


def _is_arrow(items: Any) -> bool:
    """Return whether a column has Arrow's interface and lists of numbers in it, so that pyarrow is worth importing."""
    if not (hasattr(items, "__arrow_c_stream__") or hasattr(items, "__arrow_c_array__")):
        return False
    kind = str(getattr(items, "type", getattr(items, "dtype", "")))
    return any(name in kind.lower() for name in ("list", "array"))


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
