"""JSONL: one object per line.

A scanner extracts the texts of all lines of a block at once. A line that it does not decide is
parsed by `json_text.loads`; a line that this refuses is parsed by `json_object`, which accepts more
and reports the reason.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Any

from lshfast._common.column_paths import value_at
from lshfast._io.cells import OTHER, CellType
from lshfast._io.files import BLOCK_ROWS, Block, File, Layout, is_int64, long_row
from lshfast._io.json_records import (
    json_object,
    member_or_none,
    parsed_value,
    record_of,
)
from lshfast._io.json_text import loads
from lshfast._io.jsonl_again import again, scannable, texts_of, with_texts
from lshfast._io.line_buffers import are_short_lines, line_pieces, slices, without_cr
from lshfast._io.lines import Lines, whole_lines
from lshfast.kernels.json import ScannedLines, line_ends, scan
from lshfast.kernels.text import Texts

__all__ = [
    "again",
    "blocks",
    "column_types",
    "columns",
    "first_value",
    "records",
    "texts_of",
]

COUNTED_BYTES = 1 << 18  # whose lines are counted at a time
TYPED_ROWS = 1000  # rows that determine the types of columns
_PIECE = 1 << 16  # bytes of these rows that are read at a time
_TYPES = {int: "int64", float: "double", bool: "bool"}


def blocks(file: File) -> Generator[Block, None, int]:
    """Read a file in blocks: pass one. Returns the number of lines."""
    layout = file.layout
    line = 0
    lines = Lines(file, file.layout.batch_bytes)
    names = scannable(layout)
    for buffer, start, end, position in whole_lines(lines):
        if not end:
            line += 1
            yield Block(
                [""],
                [line],
                0,
                position,
                {0: long_row(file)},
                [None],
                [None],
                [None],
                raw=[b""],
            )
        for block, count in _blocks_of(buffer, start, end, line, names, layout, lines):
            block.position = position
            line += count
            lines.count = line
            yield block
    return line


def _blocks_of(
    buffer: bytearray,
    start: int,
    end: int,
    before: int,
    names: tuple[bytes, ...],
    layout: Layout,
    source: Lines,
) -> Iterator[tuple[Block, int]]:
    """Yield blocks of at most `BLOCK_ROWS` lines, and the number of lines of each.

    `before` is the number of lines before the first one.
    """
    if not names:
        for at, stop in _ranges(buffer, start, end):
            block = Block([], [], stop - at)
            pieces = line_pieces(buffer, at, stop)
            count = _parse(block, before, pieces, layout, source.encoding)
            yield block, count
            before += count
        return
    while start < end:
        scanned = scan(buffer, start, end, names[0], names[1:], BLOCK_ROWS)
        block = Block([], [], scanned.end - start)
        _fill(block, before, (buffer, start, scanned.end), scanned, layout, source)
        yield block, scanned.count
        before += scanned.count
        start = scanned.end


def _ranges(buffer: bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split lines into ranges of `BLOCK_ROWS` lines, and the rest."""
    first = start
    count = 0
    for at in range(
        start, end, COUNTED_BYTES
    ):  # bytearray.count reads one byte at a time
        ends = line_ends(buffer, at, min(at + COUNTED_BYTES, end))
        while count + len(ends) >= BLOCK_ROWS:
            stop = int(ends[BLOCK_ROWS - count - 1]) + 1
            yield first, stop
            first = stop
            ends = ends[BLOCK_ROWS - count :]
            count = 0
        count += len(ends)
    if end > first:
        yield first, end


def records(file: File) -> Iterator[tuple[int, dict[str, Any], str | None, int]]:
    """Yield all objects: line, members, the reason if the line is bad, and the position."""
    line = 0
    lines = Lines(file, file.layout.batch_bytes)
    for buffer, start, end, position in whole_lines(lines):
        if not end:
            line += 1
            yield line, {}, long_row(file), position
            continue
        for line, piece in enumerate(line_pieces(buffer, start, end), line + 1):  # noqa: B020
            record = {}
            reason = None
            # An exception for each would take 1 us.
            if not bytes(piece[:4]).strip() and not bytes(piece).strip():
                continue
            try:
                record = loads(piece)
                if type(record) is not dict:
                    raise ValueError
            except ValueError:
                try:
                    record = json_object(bytes(piece), encoding=lines.encoding)
                except ValueError as error:
                    record = {}
                    reason = str(error)
            yield line, record, reason, position
        lines.count = line


def columns(file: File) -> list[str]:
    """Return the members of the first good row that has some."""
    return next((list(record) for _, record, _, _ in records(file) if record), [])


def _fill(
    block: Block,
    before: int,
    part: tuple[bytearray, int, int],
    scanned: ScannedLines,
    layout: Layout,
    source: Lines,
) -> None:
    """Add the rows of scanned lines, part of a buffer, to a block.

    `before` is the number of lines before. Lines that the scanner does not decide are parsed.
    """
    texts = Texts.of_buffer(scanned.texts, scanned.offsets)
    lines = scanned.lines + (before + 1)
    keys = {
        name: scanned.values(key, parsed_value)
        for key, name in enumerate(layout.recorded)
    }
    if len(scanned.undecided):
        buffer, _, end = part
        undecided = []
        lf = int(are_short_lines(*part))
        for row in scanned.undecided.tolist():
            line = bytes(
                buffer[scanned.starts[row] : min(scanned.stops[row] + lf, end)]
            )
            parsed = record_of(line, layout, source.encoding)
            text, record, reason = parsed or ("", {}, "")
            undecided.append(text)
            if reason:
                block.bad[row] = reason
            for name, values in keys.items():
                values[row] = member_or_none(record, name)
        texts = with_texts(texts, scanned.undecided, undecided)
    block.texts = texts
    block.lines = lines
    block.raw = slices(part[0], scanned.starts, scanned.stops)
    if source.base is not None:
        stops = without_cr(part[0], scanned.starts, scanned.stops)
        block.spans = scanned.starts + source.base, stops + source.base
    if keys:
        none = [None] * len(lines)
        block.ids, block.orders, block.values, block.exact_keys = (
            keys.get(name or "", none) for name in layout.of_blocks
        )


def _parse(
    block: Block,
    before: int,
    pieces: Iterable[bytes | memoryview],
    layout: Layout,
    encoding: str,
) -> int:
    """Add the rows of some lines to a block, and return the number of lines.

    `before` is the number of lines before.
    """
    texts: list[Any] = []
    lines: list[int] = []
    raw: list[bytes | memoryview] = []
    line = before
    for line, piece in enumerate(pieces, before + 1):
        parsed = record_of(piece, layout, encoding)
        if parsed is None:
            continue
        text, record, reason = parsed
        if reason:
            block.bad[len(texts)] = reason
        texts.append(text)
        lines.append(line)
        if layout.judged:
            raw.append(piece)
        if layout.recorded:
            block.ids.append(member_or_none(record, layout.id_column))
            block.orders.append(member_or_none(record, layout.order_column))
            block.values.append(member_or_none(record, layout.by))
            block.exact_keys.append(member_or_none(record, layout.key_column))
    block.texts = texts
    block.lines = lines
    block.raw = raw
    return line - before


def first_value(file: File) -> Any:
    """Return the first value of the column that is not null or empty; None without any.

    Bad rows are left out. After lists of whole numbers, the first list with a fraction is returned:
    some programs write 1.0 as 1.
    """
    first: Any = None
    for _, record, _, _ in islice(records(file), TYPED_ROWS):
        try:
            value = value_at(record, file.layout.columns[0])
        except (LookupError, TypeError):
            continue
        if value in (None, [], {}):
            continue
        if not isinstance(value, list) or not all(type(part) is int for part in value):
            numbers = isinstance(value, list) and all(
                type(part) in (int, float) for part in value
            )
            return value if first is None or numbers else first
        if first is None:
            first = value
    return first


def column_types(file: File) -> Iterator[tuple[str, CellType]]:
    """Yield the columns and the types of values in the first rows; a null has no type."""
    nested = [name for name in file.layout.keys if "." in name]
    line_blocks = whole_lines(Lines(file, _PIECE))
    lines = (
        piece
        for buffer, start, end, _ in line_blocks
        for piece in line_pieces(buffer, start, end)
    )
    for line in islice(lines, TYPED_ROWS):
        try:
            record = loads(line)
            members = list(record.items())
        except (ValueError, AttributeError):  # a bad row, or a row that `loads` refuses
            continue
        members += [
            (name, member_or_none(record, name))
            for name in nested
            if name not in record
        ]
        for name, value in members:
            if value is not None:
                kind = _TYPES.get(type(value), OTHER)
                if kind == "int64" and not is_int64(value):
                    kind = OTHER
                yield name, CellType(kind, file.name)
