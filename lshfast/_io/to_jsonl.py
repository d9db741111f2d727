"""Write rows as JSONL: lines of JSONL are copied, other rows become objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from lshfast._common.lazy import LazyModule
from lshfast._io.files import kind_of
from lshfast._io.json_records import json_object
from lshfast._io.json_text import dumps, loads
from lshfast._io.jsonl_again import JoinedLines
from lshfast._io.row_types import taken
from lshfast._io.selection import Selection, each, write_lines

if TYPE_CHECKING:
    from lshfast._io import parquet
else:
    parquet = LazyModule("lshfast._io.parquet")


def check(selection: Selection) -> None:
    """Raise `DataError` if a column has the name of an annotation."""
    for file, _, chunk in selection.ahead():
        if chunk is None:
            selection.names(file)


def write(selection: Selection, stream: Any) -> None:
    """Write all rows."""
    splice = _splicer(selection.annotations)
    for file, rows, chunk in selection.chunks(join_lines=True):
        if isinstance(chunk, JoinedLines):
            stream.write(chunk.data)
            continue
        lines = chunk
        if file.format != "jsonl":
            records = selection.written_records(file, rows, chunk, parquet.plain_values)
            lines = each(json_line, records, selection.misfit(rows))
        elif selection.annotations:
            pairs = zip(chunk, selection.added(rows), strict=True)
            lines = each(splice, pairs, selection.misfit(rows))
        write_lines(stream, (line + b"\n" for line in lines))


def _splicer(names: Iterable[str]) -> Callable[[tuple[bytes, dict[str, Any]]], bytes]:
    """Return a function that adds members to the line of an object, otherwise unchanged."""
    # A line is parsed, to check for existing members with these names, only if it contains one of
    # the names in UTF-8 or as ASCII with escapes. A name with unnecessary escapes (``"\u0061"`` for
    # ``"a"``) is not detected.
    spelled = {
        json.dumps(name, ensure_ascii=ascii_only).encode()
        for name in names
        for ascii_only in (True, False)
    }

    def splice(pair: tuple[bytes, dict[str, Any]]) -> bytes:
        line, additions = pair
        for name in spelled:
            if name in line:
                _check_free(line, additions)
                break
        at = line.rindex(b"}")
        return b"".join((line[:at], b",", json_line(additions)[1:-1], line[at:]))

    return splice


def _check_free(line: bytes, additions: dict[str, Any]) -> None:
    try:
        names = loads(line)
    except ValueError:
        names = json_object(line)
    for name in additions:
        if name in names:
            raise ValueError(taken(name))


def json_line(record: dict[str, Any]) -> bytes:
    """Return a row as a JSON object; raise ValueError naming a column JSON cannot hold."""
    try:
        return dumps(record).encode()
    except TypeError:
        for name, value in record.items():
            try:
                dumps(value)
            except TypeError as error:
                raise ValueError(
                    f"column {name!r} holds {kind_of(value)}, which JSONL cannot: {error}"
                ) from error
        raise
