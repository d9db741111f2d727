"""JSONL: one object per line.

A scanner extracts the texts of all lines of a block at once. A line that it does not decide is
parsed by `json_text.loads`; a line that this refuses is parsed by `json_object`, which accepts more
and reports the reason.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import numpy as np

from lshfast._common.column_paths import EACH, joined_text, value_at
from lshfast._common.nearest import no_column
from lshfast._common.rows import int64_range, inverse
from lshfast._common.threads import pieces
from lshfast._common.types import UInt8Array
from lshfast._io.cells import OTHER, CellType
from lshfast._io.encodings import undecodable
from lshfast._io.files import (
    BLOCK_ROWS,
    Block,
    File,
    Layout,
    Rows,
    is_int64,
    kind_of,
    long_row,
)
from lshfast._io.json_text import loads
from lshfast._io.lines import Lines, has_places, opened, whole_lines
from lshfast.kernels.json import (
    PADDING,
    ScannedLines,
    join_lines,
    line_ends,
    read_spans,
    scan,
    scan_spans,
)
from lshfast.kernels.text import Texts

COUNTED_BYTES = 1 << 18  # whose lines are counted at a time
GAP_BYTES = 1 << 14  # reading this many bytes takes about as long as a call
# Bytes of lines that are copied at a time: caches hold them, and file systems that write larger
# ones in larger folios took twice the time for it (ext4 of Linux 6.18).
COPIED_BYTES = 1 << 18
READ_BYTES = 1 << 23  # of spans and the gaps between them that are read at once
TYPED_ROWS = 1000  # rows that determine the types of columns
LF = 10
CR = 13
_PIECE = 1 << 16  # bytes of these rows that are read at a time
_TYPES = {int: "int64", float: "double", bool: "bool"}


def blocks(file: File) -> Generator[Block, None, int]:
    """Read a file in blocks: pass one. Returns the number of lines."""
    layout = file.layout
    line = 0
    lines = Lines(file, file.layout.batch_bytes)
    names = _scannable(layout)
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
            pieces = _pieces(buffer, at, stop)
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
        for line, piece in enumerate(_pieces(buffer, start, end), line + 1):  # noqa: B020
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


def _scannable(layout: Layout) -> tuple[bytes, ...]:
    """Return the columns to read in UTF-8, the texts first; () if they must be parsed."""
    names = [*layout.columns, *layout.recorded]
    is_nested = any("." in name or EACH in name for name in names)
    if layout.kind != "text" or is_nested or len(layout.columns) > 1:
        return ()
    try:
        return tuple(name.encode() for name in names)
    except UnicodeEncodeError:
        return ()


def can_be_read_at(file: File) -> bool:
    """Return whether texts can be read again where their lines are, by name and layout."""
    return (
        has_places(file)
        and file.layout.encoding == "utf-8"
        and bool(_scannable(file.layout))
    )


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
        lf = int(_are_short(*part))
        for row in scanned.undecided.tolist():
            line = bytes(
                buffer[scanned.starts[row] : min(scanned.stops[row] + lf, end)]
            )
            parsed = _row(line, layout, source.encoding)
            text, record, reason = parsed or ("", {}, "")
            undecided.append(text)
            if reason:
                block.bad[row] = reason
            for name, values in keys.items():
                values[row] = member_or_none(record, name)
        texts = _replaced(texts, scanned.undecided, undecided)
    block.texts = texts
    block.lines = lines
    block.raw = _slices(part[0], scanned.starts, scanned.stops)
    if source.base is not None:
        stops = _without_cr(part[0], scanned.starts, scanned.stops)
        block.spans = scanned.starts + source.base, stops + source.base
    if keys:
        none = [None] * len(lines)
        block.ids, block.orders, block.values, block.exact_keys = (
            keys.get(name or "", none) for name in layout.of_blocks
        )


def _replaced(texts: Texts, rows: Rows, new_texts: list[str]) -> Texts:
    """Return texts with those of some rows replaced."""
    places = int64_range(len(texts))
    places[rows] = int64_range(len(texts), len(texts) + len(rows))
    return Texts.concatenate([texts, new_texts]).take(places)


def texts_at(file: File, starts: Rows, stops: Rows) -> Texts:
    """Read the texts of accepted lines, at ``starts[i]:stops[i]``, again, in any order."""
    order = np.argsort(starts, kind="stable")
    starts = starts[order]
    stops = stops[order]
    gaps = np.zeros(len(starts), np.int64)
    gaps[1:] = np.clip(starts[1:] - stops[:-1], 0, GAP_BYTES)
    parts = [
        _texts_of_spans(file, starts[part], stops[part])
        for part in pieces(stops - starts + gaps, READ_BYTES)
    ]
    texts = parts[0] if len(parts) == 1 else Texts.concatenate([Texts([]), *parts])
    return texts.take(inverse(order))


def _texts_of_spans(file: File, starts: Rows, stops: Rows) -> Texts:
    """Read the texts of accepted lines at ascending spans."""
    buffer, moved = _read_spans(file, starts, stops)
    (column,) = (name.encode() for name in file.layout.columns)
    scanned = scan_spans(buffer, starts - moved, stops - moved, column)
    return _accepted(file, scanned, buffer)


def _accepted(file: File, scanned: ScannedLines, data: bytearray | UInt8Array) -> Texts:
    """Return the texts of lines that were accepted before."""
    texts = Texts.of_buffer(scanned.texts, scanned.offsets)
    wrong = scanned.undecided
    spans = zip(
        scanned.starts[wrong].tolist(), scanned.stops[wrong].tolist(), strict=True
    )
    parsed_texts = [
        _accepted_text(file, bytes(data[start:stop])) for start, stop in spans
    ]
    return _replaced(texts, wrong, parsed_texts) if parsed_texts else texts


def _accepted_text(file: File, line: bytes) -> Any:
    """Return the text, or the value of another kind, of a line that was accepted before."""
    parsed = _row(line, file.layout, "utf-8")
    if parsed is None or parsed[2]:
        raise file.changed()
    return parsed[0]


def _read_spans(file: File, starts: Rows, stops: Rows) -> tuple[UInt8Array, Rows]:
    """Read ascending spans of a file; return a buffer, and by how much each span moved in it.

    Spans with at most GAP_BYTES between them are read at once, with what is between them.
    """
    reach = np.maximum.accumulate(stops)
    begins = np.flatnonzero(starts[1:] > reach[:-1] + GAP_BYTES) + 1
    begins = np.concatenate([np.zeros(min(1, len(starts)), np.int64), begins])
    ends = np.append(begins[1:], len(starts))[: len(begins)]
    first = starts[begins]
    sizes = reach[ends - 1] - starts[begins]
    targets = np.cumsum(sizes, dtype=np.int64) - sizes
    buffer = np.empty(int(sizes.sum()) + PADDING, np.uint8)
    with opened(file) as (_, raw):
        if isinstance(raw, io.FileIO):
            is_whole = read_spans(raw.fileno(), first, sizes, buffer)
        else:
            is_whole = _read_each(raw, first.tolist(), sizes.tolist(), buffer.data)
        if not is_whole:
            raise file.changed()
    buffer[len(buffer) - PADDING :] = 0
    return buffer, np.repeat(first - targets, ends - begins)


def _read_each(raw: Any, starts: list[int], sizes: list[int], out: memoryview) -> bool:
    """Read spans of a stream one behind the other, as the kernel `read_spans` does for files."""
    target = 0
    for start, size in zip(starts, sizes, strict=True):
        raw.seek(start)
        end = target + size
        while target < end and (got := raw.readinto(out[target:end])):
            target += got
        if target < end:
            return False
    return True


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
        parsed = _row(piece, layout, encoding)
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


def _row(
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


def parsed_value(data: bytes) -> Any:
    """Parse a value of a member as the line that contains it would be parsed."""
    try:
        return loads(data)
    except ValueError:
        return _JSON.decode(data.decode())


def column_types(file: File) -> Iterator[tuple[str, CellType]]:
    """Yield the columns and the types of values in the first rows; a null has no type."""
    nested = [name for name in file.layout.keys if "." in name]
    line_blocks = whole_lines(Lines(file, _PIECE))
    lines = (
        piece
        for buffer, start, end, _ in line_blocks
        for piece in _pieces(buffer, start, end)
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


def again(file: File, numbers: Rows) -> Iterator[tuple[list[bytes], int]]:
    """Read the rows on these lines again for output, with the position in the file."""
    for buffer, starts, stops, position in _lines_again(
        file, numbers, file.layout.batch_bytes
    ):
        yield list(_slices(buffer, starts, stops)), position


def _slices(buffer: bytearray, starts: Rows, stops: Rows) -> Iterator[bytes]:
    """Yield the bytes of a buffer from each start to its stop."""
    view = memoryview(buffer)
    for at, end in zip(starts.tolist(), stops.tolist(), strict=True):
        yield bytes(view[at:end])


@dataclass(frozen=True)
class JoinedLines:
    """Some lines as they are written, each with LF at its end.

    The data are a view of a buffer, which is reused for the next lines.
    """

    count: int
    data: memoryview

    def __len__(self) -> int:
        return self.count


def joined_again(file: File, numbers: Rows) -> Iterator[tuple[JoinedLines, int]]:
    """Read the rows on these lines again, joined."""
    size = min(COPIED_BYTES, file.layout.batch_bytes)
    for buffer, starts, stops, position in _lines_again(file, numbers, size):
        # The last line may have no LF. What is behind it in the buffer is of an earlier block.
        end = int(stops[-1]) if len(stops) else 0
        yield _joined(file, buffer, starts, stops, end), position


def joined_at(
    file: File, starts: Rows, stops: Rows
) -> Iterator[tuple[JoinedLines, int]]:
    """Read ascending lines at ``starts[i]:stops[i]`` again, joined, without the lines between."""
    size = min(COPIED_BYTES, file.layout.batch_bytes)
    gaps = np.zeros(len(starts), np.int64)
    gaps[1:] = starts[1:] - stops[:-1]
    gaps[gaps > GAP_BYTES] = size + 1  # a piece begins behind such a gap
    buffer = bytearray(size)
    with opened(file) as (_, raw):
        for part in pieces(stops - starts + gaps, size):
            begin = int(starts[part.start])
            end = min(int(stops[part.stop - 1]) + 1, file.size)  # with the LF
            if len(buffer) <= end - begin:
                buffer = bytearray(end - begin + 1)
            if not _read_each(raw, [begin], [end - begin], memoryview(buffer)):
                raise file.changed()
            part_starts = starts[part] - begin
            part_stops = stops[part] - begin
            yield _joined(file, buffer, part_starts, part_stops, end - begin), end


def _joined(
    file: File, buffer: bytearray, starts: Rows, stops: Rows, end: int
) -> JoinedLines:
    """Join lines of buffer[:end] at its beginning; raise DataError if one ends elsewhere."""
    size = join_lines(buffer, starts, stops, end)
    if size < 0:
        raise file.changed()
    return JoinedLines(len(starts), memoryview(buffer)[:size])


def texts_of(file: File, numbers: Rows) -> Iterator[tuple[Any, int]]:
    """Read the texts of accepted rows again, and yield them with the position in the file.

    Values of other kinds than texts are yielded as they are, in lists.
    """
    names = _scannable(file.layout.of_texts)
    for buffer, starts, stops, position in _lines_again(
        file, numbers, file.layout.batch_bytes
    ):
        if (starts >= stops).any():
            raise file.changed()
        if names:
            yield (
                _accepted(file, scan_spans(buffer, starts, stops, names[0]), buffer),
                position,
            )
        else:
            spans = zip(starts.tolist(), stops.tolist(), strict=True)
            values = [_accepted_text(file, bytes(buffer[at:end])) for at, end in spans]
            yield Texts(values) if file.layout.kind == "text" else values, position


def _lines_again(
    file: File, numbers: Rows, size: int
) -> Iterator[tuple[bytearray, Rows, Rows, int]]:
    """Read a file up to the last of these lines: yield a buffer, their places, the position.

    About `size` bytes are read at a time.
    """
    line = lines_done = 0
    for buffer, start, end, position in whole_lines(Lines(file, size)):
        data = np.frombuffer(buffer, np.uint8)
        ends = line_ends(buffer, start, max(start, end))
        if end > start and data[end - 1] != LF:
            ends = np.append(ends, end)
        count = len(ends) if end else 1  # a line that is too long
        stop = int(np.searchsorted(numbers, line + count, "right"))
        block_lines = numbers[lines_done:stop] - (line + 1)
        line = line + count
        lines_done = stop
        if not end:
            block_lines = block_lines[:0]
        starts = np.concatenate([[start], ends + 1])[block_lines]
        stops = _without_cr(buffer, starts, ends[block_lines])
        yield buffer, starts, stops, position
        if lines_done == len(numbers):
            return


def _without_cr(buffer: bytearray, starts: Rows, stops: Rows) -> Rows:
    """Return the ends of lines of a buffer without CR."""
    data = np.frombuffer(buffer, np.uint8)
    return np.asarray(stops - ((stops > starts) & (data[stops - 1] == CR)))


def _pieces(buffer: bytearray, start: int, end: int) -> Iterator[bytes | memoryview]:
    """Split a buffer into lines, with or without line ends.

    Short lines are copied, which saves 0.3 us each.
    """
    view = memoryview(buffer)
    if _are_short(buffer, start, end):
        yield from io.BytesIO(view[start:end])
        return
    while start < end:
        stop = buffer.find(b"\n", start, end)
        yield view[start : stop if stop >= 0 else end]
        start = stop + 1 if stop >= 0 else end


def _are_short(buffer: bytearray, start: int, end: int) -> bool:
    """Return whether the first lines have less than 2,000 bytes on average.

    Such lines are parsed with their LF.
    """
    sample = min(end, start + (1 << 16))
    return sample - start < 2000 * buffer.count(b"\n", start, sample)


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
