"""Accepted rows of JSONL files again: their lines for outputs, and their texts."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lshfast._common.column_paths import EACH
from lshfast._common.rows import int64_range, inverse
from lshfast._common.threads import pieces
from lshfast._common.types import UInt8Array
from lshfast._io.files import File, Layout, Rows
from lshfast._io.json_records import record_of
from lshfast._io.line_buffers import LF, slices, without_cr
from lshfast._io.lines import Lines, has_places, opened, whole_lines
from lshfast.kernels.json import (
    PADDING,
    ScannedLines,
    join_lines,
    line_ends,
    read_spans,
    scan_spans,
)
from lshfast.kernels.text import Texts

GAP_BYTES = 1 << 14  # reading this many bytes takes about as long as a call
# Bytes of lines that are copied at a time: caches hold them, and file systems that write larger
# ones in larger folios took twice the time for it (ext4 of Linux 6.18).
COPIED_BYTES = 1 << 18
READ_BYTES = 1 << 23  # of spans and the gaps between them that are read at once


def scannable(layout: Layout) -> tuple[bytes, ...]:
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
        and bool(scannable(file.layout))
    )


def with_texts(texts: Texts, rows: Rows, new_texts: list[str]) -> Texts:
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
    return with_texts(texts, wrong, parsed_texts) if parsed_texts else texts


def _accepted_text(file: File, line: bytes) -> Any:
    """Return the text, or the value of another kind, of a line that was accepted before."""
    parsed = record_of(line, file.layout, "utf-8")
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


def again(file: File, numbers: Rows) -> Iterator[tuple[list[bytes], int]]:
    """Read the rows on these lines again for output, with the position in the file."""
    for buffer, starts, stops, position in _lines_again(
        file, numbers, file.layout.batch_bytes
    ):
        yield list(slices(buffer, starts, stops)), position


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
    names = scannable(file.layout.of_texts)
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
        stops = without_cr(buffer, starts, ends[block_lines])
        yield buffer, starts, stops, position
        if lines_done == len(numbers):
            return
