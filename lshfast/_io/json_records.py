"""A line of JSONL: its members and its text, or the reason why it is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

from lshfast._common.column_paths import EACH, joined_text, value_at
from lshfast._common.nearest import no_column
from lshfast._io.encodings import undecodable
from lshfast._io.files import Layout, kind_of
from lshfast._io.json_text import loads


def record_of(
    line: bytes | memoryview, layout: Layout, encoding: str
) -> tuple[Any, dict[str, Any], str] | None:
    """Parse a line: return its text, its record, and the reason if bad; None for white space.

    Of other kinds than texts, the value is returned as it is.
    """
    record: dict[str, Any] = {}
    texts = layout.kind == "text"
    try:
        record = loads(line)
        value = _value_of(record, layout)
        if not texts:
            return value, record, ""
        if type(value) is str or value is None:
            return value or "", record, ""
    except (ValueError, LookupError, TypeError):
        pass
    raw = bytes(line)
    record = {}
    if not raw.strip():
        return None
    try:
        record = json_object(raw, encoding=encoding)
        for column in layout.columns:
            _member(record, column)
        value = _value_of(record, layout)
        return _text_of(value, layout) if texts else value, record, ""
    except ValueError as error:
        return "" if texts else None, record, str(error)


def _value_of(record: Any, layout: Layout) -> Any:
    """Return what the columns of a layout hold: a value, or a list if its parts do not join."""
    columns = layout.columns
    value = (
        value_at(record, columns[0])
        if len(columns) == 1
        else [value_at(record, column) for column in columns]
    )
    if layout.joins and isinstance(value, list):
        text = joined_text(value)
        return value if text is None else text
    return value


def parsed_value(data: bytes) -> Any:
    """Parse a value of a member as the line that contains it would be parsed."""
    try:
        return loads(data)
    except ValueError:
        return _JSON.decode(data.decode())


def _member(record: dict[str, Any], column: str) -> Any:
    """Return the member of a column, or raise ValueError with the columns that there are."""
    try:
        return value_at(record, column)
    except (LookupError, TypeError):
        raise ValueError(no_column(column, _names(record))) from None


def _text_of(value: Any, layout: Layout) -> str:
    """Return a value as a text, or raise ValueError with the reason why it is none."""
    if value is None:
        return ""
    if not isinstance(value, str):
        values = [value] if len(layout.columns) == 1 else value
        for name, part in zip(layout.columns, values, strict=True):
            if not layout.joins or joined_text([part]) is None:
                raise ValueError(_not_a_string(part, name))
    lone = _LONE.search(value)
    if lone:
        raise ValueError(
            f"column {layout.column_name!r} holds the lone surrogate \\u{ord(lone[0]):04x}, "
            "which is no character"
        )
    return str(value)


def _not_a_string(value: Any, column: str) -> str:
    """Return the reason that a value is no text, with the paths to the strings in it."""
    inside = list(dict.fromkeys(islice(_strings(value, column), 12)))
    hint = f"; strings inside it are: {', '.join(inside)}" if inside else ""
    what = kind_of(value)
    if EACH in column and isinstance(value, list):
        what = "an array of other values than strings"
    return f"column {column!r} is {what}, not a string{hint}"


def _strings(value: Any, name: str) -> Iterator[str]:
    """Yield the paths to the strings in nested objects and arrays of objects."""
    members = [(name, value)]
    while members:
        name, value = members.pop()
        if isinstance(value, str):
            yield name
        elif isinstance(value, list):
            path = name if name.endswith(EACH) else f"{name}{EACH}"
            members += [(path, member) for member in value[:1]]
        elif isinstance(value, dict):
            members += [
                (f"{name}.{inner}", member) for inner, member in reversed(value.items())
            ]


def member_or_none(record: Any, name: str | None) -> Any:
    """Return a member as `value_at` does; None if it is missing, or without a name."""
    try:
        return None if name is None else value_at(record, name)
    except (LookupError, TypeError):
        return None


def has_member(record: Any, name: str) -> bool:
    """Return whether there is a member, which may be null, at a path."""
    try:
        value_at(record, name)
    except (LookupError, TypeError):
        return False
    return True


def _names(record: dict[str, Any]) -> list[str]:
    """Return the column names of a row; names in nested objects are joined with dots."""
    names: list[str] = []
    for outer, value in record.items():
        elements = value if isinstance(value, list) else []
        if isinstance(value, dict) and value:
            names += [f"{outer}.{inner}" for inner in value]
        elif elements and isinstance(elements[0], dict):
            names += [f"{outer}{EACH}.{inner}" for inner in elements[0]]
        else:
            names.append(outer)
    return names


def json_object(
    line: bytes, exact: bool = False, encoding: str = "utf-8"
) -> dict[str, Any]:
    """Parse one JSON object, or report a reason.

    NaN, infinities and lone surrogates, which `loads` refuses, are accepted. Numbers outside the
    range of a double become infinities, or errors if `exact`. `encoding` is the encoding of the
    file and is used in the reason.
    """
    try:
        value = (_EXACT if exact else _JSON).decode(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(undecodable(error, "the line", encoding)) from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"not valid JSON: {error.msg.removesuffix(' at')} (column {error.colno})"
        ) from None
    except RecursionError:
        raise ValueError("JSON is nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError(f"the line is {kind_of(value)}, not a JSON object")
    return value


def _finite(digits: str) -> float:
    if abs(float(digits)) == float("inf"):
        raise ValueError(f"the number {digits[:30]} does not fit a double")
    return float(digits)


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python's own limit
        raise ValueError(
            f"an integer has {len(digits.lstrip('-')):,} digits, which are too many"
        ) from None


_JSON = json.JSONDecoder(parse_int=_integer)
_EXACT = json.JSONDecoder(parse_float=_finite, parse_int=_integer)
_BEYOND = float(1 << 63)
_LONE = re.compile("[\ud800-\udfff]")


def exact_object(line: bytes) -> dict[str, Any]:
    """Parse a line for output in another format, with exact integers.

    Lone surrogates become U+FFFD.
    """
    try:
        record: dict[str, Any] = loads(line)
    except ValueError:
        return cast(
            "dict[str, Any]", _without_surrogates(json_object(line, exact=True))
        )
    return json_object(line, exact=True) if _has_huge(record) else record


def _has_huge(record: dict[str, Any]) -> bool:
    """Return whether there is a double, at any depth, that may have been an integer."""
    containers: list[Iterable[Any]] = [record.values()]
    while containers:
        for value in containers.pop():
            kind = type(value)
            if kind is float:
                if abs(value) >= _BEYOND:
                    return True
            elif kind is dict:
                containers.append(value.values())
            elif kind is list:
                containers.append(value)
    return False


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {
            _without_surrogates(name): _without_surrogates(item)
            for name, item in value.items()
        }
    return value
