"""The kind of items of a column: texts, sets, weighted sets, vectors or codes.

One rule, `kinds_of_numbers`, says what lists of numbers can be, in whatever form they come: arrays
of numpy, Arrow columns of any library, Python values, or columns of files.
"""

from __future__ import annotations

import json
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Sized,
)
from itertools import chain
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import checked_column
from lshfast._common.choices import Kind
from lshfast._common.extras import pa
from lshfast._common.types import AnyArray, Int64Array
from lshfast._common.visible import shortened
from lshfast.kernels.arrow import checked_source, is_arrow
from lshfast.kernels.text import Texts

# Examples of each kind, for messages on columns that can be several kinds.
_MEANINGS: dict[Kind, str] = {
    "set": "sets of numbers",
    "vector": "such as quantized embeddings",
    "code": "such as the packed bits of binary embeddings",
}

# The names of the types of lists of Arrow whose rows may differ in length.
_LISTS = "list", "large_list", "list_view", "large_list_view"


def kinds_of_numbers(dtype: npt.DTypeLike, one_length: bool) -> list[Kind]:
    """Return the kinds of items that lists of numbers can be; several if the user has to say it.

    Parameters
    ----------
    dtype : dtype
        The type of the numbers.
    one_length : bool
        Whether the type of the column says that all lists have one length, as of an array of two
        dimensions.

    Examples
    --------
    >>> (
    ...     kinds_of_numbers("float16", False),
    ...     kinds_of_numbers("int32", False),
    ...     kinds_of_numbers("int32", True),
    ... )
    (['vector'], ['set'], ['set', 'vector'])
    >>> kinds_of_numbers("int8", False), kinds_of_numbers("uint64", True)
    (['set', 'vector', 'code'], ['set', 'vector', 'code'])
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return ["vector"]
    if dtype.kind not in "iu":
        return []
    if dtype.itemsize == 1 or (one_length and dtype == np.uint64):
        return ["set", "vector", "code"]
    return ["set", "vector"] if one_length else ["set"]


def choice_of_kind(column: str, kinds: Sequence[Kind], option: str = "") -> str:
    """Return the message that a column can be several kinds, and how to say which it is.

    Parameters
    ----------
    column : str
    kinds : sequence of str
    option : str
        The command-line option for the argument `kind`, if there is one.
    """
    choices = [
        f'kind="{kind}"{option and f" or {option} {kind}"} ({_MEANINGS[kind]})'
        for kind in kinds
    ]
    reason = (
        "can mean several things"
        if len(kinds) > 1
        else "is read only if its kind is given"
    )
    return f"{column}, which {reason}; say {', '.join(choices)}"


def kind_of_arrow(kind: Any) -> Kind | None:
    """Return the kind of items of an Arrow type; None if it can be several or none of them."""
    types = pa.types
    kind = _stored_type(kind)
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_fixed_size_binary(kind):
        return "code"
    if types.is_map(kind):
        return "weighted" if _is_weighted(kind.key_type, kind.item_type) else None
    if _is_list(kind) or types.is_fixed_size_list(kind):
        return _kind_of_lists(kind)
    texts = types.is_null(kind) or "string" in str(kind) or "binary" in str(kind)
    return "text" if texts and not types.is_nested(kind) else None


def _kind_of_lists(kind: Any) -> Kind | None:
    """Return the kind of items of an Arrow type of lists, as `kind_of_arrow` does."""
    types = pa.types
    value = kind.value_type
    if _is_number(value):
        kinds = _kinds_of_lists(kind)
        return kinds[0] if len(kinds) == 1 else None
    if types.is_fixed_size_list(kind):
        return None
    if types.is_struct(value) and value.num_fields == 2:
        return (
            "weighted"
            if _is_weighted(value.field(0).type, value.field(1).type)
            else None
        )
    return "set" if str(value) in ("string", "large_string") else None


def _stored_type(kind: Any) -> Any:
    """Return the storage type of an Arrow extension type; other types unchanged."""
    return getattr(kind, "storage_type", kind)


def _is_list(kind: Any) -> bool:
    """Return whether this is a type of Arrow of lists that may differ in length."""
    return str(kind).partition("<")[0] in _LISTS


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind))


def _kinds_of_lists(kind: Any) -> list[Kind]:
    """Return the kinds of items that lists of numbers of a type of Arrow can be."""
    return kinds_of_numbers(
        kind.value_type.to_pandas_dtype(),
        pa.types.is_fixed_size_list(kind),
    )


def _is_weighted(element: Any, weight: Any) -> bool:
    """Return whether two Arrow types suit an element of a weighted set and its weight."""
    types = pa.types
    if types.is_dictionary(element):
        element = element.value_type
    is_element = types.is_integer(element) or str(element) in (
        "string",
        "large_string",
        "string_view",
    )
    return is_element and (
        types.is_integer(weight)
        or types.is_floating(weight)
        or types.is_decimal(weight)
    )


def ambiguous(kind: Any) -> list[Kind]:
    """Return the kinds that a type of Arrow can be if the user has to say which; often none."""
    types = pa.types
    kind = _stored_type(kind)
    if types.is_uint64(kind):
        return ["code"]
    if (_is_list(kind) or types.is_fixed_size_list(kind)) and _is_number(
        kind.value_type
    ):
        kinds = _kinds_of_lists(kind)
        return kinds if len(kinds) > 1 else []
    return []


def kind_of_value(value: Any) -> Kind | None:
    """Return the kind of items of a Python value; None if it can be several or none of them."""
    kinds = _kinds_of_value(value)
    return kinds[0] if len(kinds) == 1 and kinds != ["code"] else None


def _kinds_of_value(value: Any) -> list[Kind]:
    """Return the kinds of items that a Python value can stand for."""
    if isinstance(value, str):
        return ["text"]
    if isinstance(value, Mapping):
        numbers = all(_is_python_number(part) for part in value.values())
        return ["weighted"] if value and numbers else []
    array = _row_array(value)
    if array is not None and array.dtype.kind != "O":
        if array.ndim != 1:
            return []
        if array.dtype.kind == "b":
            return ["code"]
        return kinds_of_numbers(array.dtype, False)
    parts = value if array is None else array.tolist()
    return _kinds_of_parts(parts) if isinstance(parts, (list, tuple)) and parts else []


def _kinds_of_parts(parts: Sequence[Any]) -> list[Kind]:
    """Return the kinds of items that a list of Python values can be."""
    if all(map(_is_python_number, parts)):
        if any(isinstance(part, (float, np.floating)) for part in parts):
            return ["vector"]
        small = next(
            (part for part in parts if isinstance(part, (np.int8, np.uint8))), None
        )
        return ["set"] if small is None else kinds_of_numbers(small.dtype, False)
    return ["set"] if all(isinstance(part, (str, bytes)) for part in parts) else []


def _is_python_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _row_array(value: Any) -> AnyArray | None:
    """Return a row that is an array or a buffer as an array of numpy; None for other values."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, bytes) or not isinstance(value, Sized):
        return None
    checked_column(value, "texts")
    try:
        # A column of pandas, polars or pyarrow, or a tensor.
        if hasattr(value, "__array__"):
            return np.asarray(value)
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except (
        TypeError,
        ValueError,
        RuntimeError,
    ):  # no buffer, or a tensor that is not in memory
        return None


def collected(items: Any) -> Any:
    """Return a collection that can be read several times; masked values raise ValueError."""
    if isinstance(items, Iterator) and not is_arrow(items):
        return list(items)
    if isinstance(items, np.ndarray) and np.any(getattr(items, "mask", False)):
        row = int(np.argwhere(items.mask)[0][0])  # type: ignore[attr-defined]
        raise ValueError(
            f"texts[{row}] has a masked value: replace it, such as by texts.filled(0), or leave "
            "out the row"
        )
    return items


def kind_of(items: Any) -> Kind:
    """Return the kind of items of a collection in memory: vectors for floats, else texts or sets.

    Raises
    ------
    ValueError
        If the items can be several kinds.

    Examples
    --------
    >>> (
    ...     kind_of([[0.5, 1.0]]),
    ...     kind_of([{"a": 2}]),
    ...     kind_of([{"a", "b"}]),
    ...     kind_of(["a text"]),
    ... )
    ('vector', 'weighted', 'text', 'text')
    """
    if _are_weighted(items):
        return "weighted"
    kinds = _kinds_in_memory(items)
    if len(kinds) > 1 or kinds == ["code"]:
        raise ValueError(choice_of_kind(_description_of(items), kinds))
    return kinds[0] if kinds and kinds[0] != "set" else "text"


def _kinds_in_memory(items: Any) -> list[Kind]:
    """Return the possible kinds of the items of a collection; none for texts."""
    if isinstance(items, np.ndarray) and items.dtype.kind != "O":
        return _kinds_of_array(items)
    if _holds_lists(items):
        arrow_type = _arrow_type(items)
        kind = kind_of_arrow(arrow_type)
        return [kind] if kind in ("vector", "weighted") else ambiguous(arrow_type)
    holds_objects = getattr(getattr(items, "dtype", None), "kind", "") == "O"
    if isinstance(items, (list, tuple)) or holds_objects:
        for item in items:
            if not is_empty(item):
                return _kinds_of_value(item)
    return []


def _description_of(items: Any) -> str:
    """Return the description of a collection that is not texts, for messages."""
    if isinstance(items, np.ndarray) and items.dtype.kind != "O":
        return f"texts is an array of {items.dtype} of shape {items.shape}"
    if _holds_lists(items):
        return f"texts is a column of {_arrow_type(items)}"
    row, item = next(
        (row, item) for row, item in enumerate(items) if not is_empty(item)
    )
    return f"texts[{row}] is {shortened(item)}"


def _arrow_type(items: Any) -> Any:
    """Return the type of a column with Arrow's interface."""
    items = checked_source(items)
    if not isinstance(items, (pa.Array, pa.ChunkedArray)):
        items = pa.chunked_array(items)
    return items.type


def _kinds_of_array(array: AnyArray) -> list[Kind]:
    """Return the possible kinds of the rows of an array; none if they are not rows of numbers."""
    if array.ndim < 2:
        return []
    if array.dtype.kind == "b":
        return ["code"]
    if array.ndim > 2:
        return []
    # numpy makes int64 of lists of ints, which are sets.
    return kinds_of_numbers(array.dtype, one_length=array.dtype != np.int64)


def _are_weighted(items: Any) -> bool:
    from lshfast.sketch.weighted import WeightedSets

    return isinstance(items, WeightedSets)


def check_kind(kind: str) -> None:
    """Raise ValueError if a name is no kind of items.

    Examples
    --------
    >>> check_kind("vectors")
    Traceback (most recent call last):
    ...
    ValueError: kind must be one of text, set, weighted, vector, code, not 'vectors'
    """
    kinds = get_args(Kind)
    if kind not in kinds:
        raise ValueError(f"kind must be one of {', '.join(kinds)}, not {kind!r}")


def kind_in_memory(items: Any, kind: Kind | None) -> Kind:
    """Return the kind of a collection, given the user's choice or None; "set" may mean weighted."""
    if kind is None:
        return kind_of(items)
    check_kind(kind)
    weighted = kind == "set" and (
        _are_weighted(items) or _kinds_in_memory(items) == ["weighted"]
    )
    return "weighted" if weighted else kind


def _holds_lists(items: Any) -> bool:
    """Return whether a column with Arrow's interface has lists or maps, which need pyarrow."""
    if not is_arrow(items) or isinstance(getattr(items, "dtype", None), np.dtype):
        return False
    kind = str(getattr(items, "type", getattr(items, "dtype", "")))
    return any(name in kind.lower() for name in ("list", "array", "map", "extension"))


def is_missing(item: Any) -> bool:
    """Return whether an item of a collection is None, NaN, or the NA of pandas."""
    return (
        item is None
        or type(item).__name__ == "NAType"
        or (isinstance(item, float) and item != item)
    )


def is_empty(item: Any) -> bool:
    """Return whether an item does not show its kind: it is missing, or an empty collection."""
    return is_missing(item) or (
        isinstance(item, Sized)
        and not isinstance(item, (str, bytes))
        and len(item) == 0
    )


def decoded_lists(items: Iterable[Any]) -> Iterable[Any]:
    """Yield the values; a text that begins like a list of JSON is decoded."""
    texts = isinstance(items, Texts)
    for item in (items[row] for row in range(len(items))) if texts else items:  # type: ignore[arg-type,index]
        text = (
            item.decode("utf-8", "replace")
            if isinstance(item, bytes) and texts
            else item
        )
        if isinstance(text, str):
            try:
                yield json.loads(text) if text.strip() else None
            except (ValueError, RecursionError):
                yield text
        else:
            yield item


def flat_rows(
    values: Iterable[Any],
    kind: type | None,
    empty: Collection[Any],
    fault_of: Callable[[Any, type | None], str],
) -> FlatRows:
    """Return sets that are Python values or texts of JSON; None and bad rows become `empty`.

    `fault_of` returns why a value is no set with elements of a kind, or "".
    """
    rows = list[Any]()
    bad = dict[int, str]()
    for row, item in enumerate(decoded_lists(values)):
        parts = empty if item is None else item
        reason = fault_of(parts, kind)
        if reason:
            bad[row] = reason
            parts = empty
        elif parts:
            kind = int if isinstance(next(iter(parts)), (int, np.integer)) else str
        rows.append(parts)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return FlatRows(rows, offsets, list(chain.from_iterable(rows)), kind, bad)


class FlatRows(NamedTuple):
    """Sets, their offsets in all elements, these, their type, and the reasons of bad sets."""

    rows: list[Any]
    offsets: Int64Array
    elements: list[Any]
    kind: type | None
    bad: dict[int, str]
