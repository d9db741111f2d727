"""JSONL: one object per line, parsed from slices of a block.

orjson parses the lines. A line that it refuses is parsed by the standard library, which accepts more values and reports
the reason.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from lshfast.common.extras import optional
from lshfast.readers.cells import OTHER, CellType
from lshfast.readers.encodings import undecodable
from lshfast.readers.files import Block, File, Rows, is_int64, kind_of
from lshfast.readers.lines import Lines, line_numbers, long_row, whole_lines

TYPED_ROWS = 1000  # rows that determine the types of columns
_PIECE = 1 << 16  # bytes of these rows that are read at a time
_TYPES = {int: "int64", float: "double", bool: "bool"}


def blocks(file: File) -> Iterator[Block]:
    """Read a file in blocks: pass one."""
    layout, keyed, loads, line = file.layout, file.layout.keyed, optional("orjson").loads, 0
    column, nested, read = layout.column, "." in layout.column, Lines(file, layout.batch_bytes)
    for buffer, start, end, position in whole_lines(read):
        if not end:
            line += 1
            yield Block([""], [line], 0, position, {0: long_row(file)}, [None], [None])
            continue
        texts: list[str] = []
        lines: list[int] = []
        block = Block(texts, lines, end - start, position)
        for line, piece in enumerate(_pieces(buffer, start, end), line + 1):  # noqa: B020
            try:
                record = loads(piece)
                text = value_at(record, column) if nested else record[column]
                if type(text) is not str:
                    if text is not None:
                        raise TypeError
                    text = ""
            except (ValueError, LookupError, TypeError):
                raw = bytes(piece)
                if not raw.strip():
                    continue
                record, text = {}, ""
                try:
                    record = json_object(raw, encoding=read.encoding)
                    text = _text_of(record, column)
                except ValueError as error:
                    block.bad[len(texts)] = str(error)
            texts.append(text)
            lines.append(line)
            if keyed:
                block.ids.append(_key_of(record, layout.id_column))
                block.orders.append(_key_of(record, layout.order_column))
        read.count = line
        yield block


def column_types(file: File) -> Iterator[tuple[str, CellType]]:
    """Yield the columns and the types of their values in the first rows, for CSV cells; a null has no type."""
    loads, nested = optional("orjson").loads, [name for name in file.layout.keys if "." in name]
    read = whole_lines(Lines(file, _PIECE))
    lines = (piece for buffer, start, end, _ in read for piece in _pieces(buffer, start, end))
    for line in islice(lines, TYPED_ROWS):
        try:
            record = loads(line)
            found = list(record.items())
        except (ValueError, AttributeError):  # a bad row, or a row that orjson refuses
            continue
        found += [(name, _key_of(record, name)) for name in nested if name not in record]
        for name, value in found:
            if value is not None:
                kind = _TYPES.get(type(value), OTHER)
                yield name, CellType(kind if kind != "int64" or is_int64(value) else OTHER, file.name)


def again(file: File, wanted: Rows) -> Iterator[tuple[list[bytes], int]]:
    """Read the rows on these lines again, and yield them with the position in the file: pass two."""
    line, left = 0, line_numbers(wanted)
    target = next(left, None)
    for buffer, start, end, position in whole_lines(Lines(file, file.layout.batch_bytes)):
        found = []
        line += not end
        while start < end and target is not None:
            stop = buffer.find(b"\n", start, end)
            stop = stop if stop >= 0 else end
            line += 1
            if line == target:
                found.append(bytes(buffer[start : stop - (buffer[stop - 1] == 13)]))
                target = next(left, None)
            start = stop + 1
        yield found, position
        if target is None:
            return


def _pieces(buffer: bytearray, start: int, end: int) -> Iterator[bytes | memoryview]:
    """Split a buffer into lines, with or without line ends. Short lines are copied, which saves 0.3 us each."""
    view = memoryview(buffer)
    sample = min(end, start + (1 << 16))
    if sample - start < 2000 * buffer.count(b"\n", start, sample):
        yield from io.BytesIO(view[start:end])
        return
    while start < end:
        stop = buffer.find(b"\n", start, end)
        yield view[start : stop if stop >= 0 else end]
        start = stop + 1 if stop >= 0 else end


def value_at(record: Any, name: str) -> Any:
    """Return the member `name`, or the member of nested objects if the name has dots; None inside null.

    Raises LookupError or TypeError if there is no such member.
    """
    if "." not in name or name in record:
        return record[name]
    for part in name.split("."):
        if record is None:
            return None
        record = record[part]
    return record


def _text_of(record: dict[str, Any], column: str) -> str:
    try:
        text = value_at(record, column)
    except (LookupError, TypeError):
        raise ValueError(f"no column {column!r}; columns are: {', '.join(_names(record)[:12])}") from None
    if text is None:
        return ""
    if not isinstance(text, str):
        inside = list(islice(_strings(text, column), 12))
        hint = f"; strings inside it are: {', '.join(inside)}" if inside else ""
        raise ValueError(f"column {column!r} is {kind_of(text)}, not a string{hint}")
    lone = _LONE.search(text)
    if lone:
        raise ValueError(f"column {column!r} holds the lone surrogate \\u{ord(lone[0]):04x}, which is no character")
    return text


def _strings(value: Any, name: str) -> Iterator[str]:
    """Yield the names of the strings in nested objects, joined with dots."""
    left = [(name, value)]
    while left:
        name, value = left.pop()
        if isinstance(value, str):
            yield name
        elif isinstance(value, dict):
            left += [(f"{name}.{inner}", member) for inner, member in reversed(value.items())]


def _key_of(record: dict[str, Any], name: str | None) -> Any:
    try:
        return None if name is None else value_at(record, name)
    except (LookupError, TypeError):
        return None


def _names(record: dict[str, Any]) -> list[str]:
    """Return the column names of a row; names in nested objects are joined with dots."""
    return [
        name
        for outer, value in record.items()
        for name in ([f"{outer}.{inner}" for inner in value] if isinstance(value, dict) and value else [outer])
    ]


def json_object(line: bytes, exact: bool = False, encoding: str = "utf-8") -> dict[str, Any]:
    """Parse one JSON object with the standard library, which is slower than orjson but reports a reason for errors.

    NaN, infinities and lone surrogates, which orjson refuses, are accepted. Numbers outside the range of a double
    become infinities, or errors if `exact`. `encoding` is the encoding of the file and is used in the reason.
    """
    try:
        value = (_EXACT if exact else _JSON).decode(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(undecodable(error, "the line", encoding)) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise ValueError("JSON is nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError(f"the line is {kind_of(value)}, not a JSON object")
    return value


def _finite(digits: str) -> float:
    if abs(float(digits)) == float("inf"):
        raise ValueError(f"the number {digits[:30]} does not fit a double")
    return float(digits)


_JSON = json.JSONDecoder()
_EXACT = json.JSONDecoder(parse_float=_finite)
_LONE = re.compile("[\ud800-\udfff]")


def exact_object(line: bytes) -> dict[str, Any]:
    """Parse a line for output in another format: integers are not rounded, and lone surrogates become U+FFFD."""
    try:
        record: dict[str, Any] = optional("orjson").loads(line)
    except ValueError:
        return cast("dict[str, Any]", _without_surrogates(json_object(line, exact=True)))
    return json_object(line, exact=True) if _has_huge(record) else record


def _has_huge(record: dict[str, Any]) -> bool:
    """Return whether there is a double, at any depth, that may have been an integer."""
    left: list[Any] = [record]
    while left:
        value = left.pop()
        if isinstance(value, float):
            if abs(value) >= 1 << 63:
                return True
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
    return False


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(item) for name, item in value.items()}
    return value
