"""CSV: records by the csv module, numbered by their first line; the first is the header."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator

from lshfast.readers.files import Block, File, Layout, Rows, column_index, not_utf8
from lshfast.readers.lines import line_numbers, read_lines


def blocks(file: File, layout: Layout) -> Iterator[Block]:
    """Read a file once, in blocks: pass one."""
    records = _records(file, layout.batch_bytes)
    header = next((fields for _, fields, _, _, _ in records), None)
    if header is None:
        return
    text = column_index(file, header, layout.column)
    keys = (layout.id_column, layout.order_column)
    identity, order = (None if name is None else column_index(file, header, name) for name in keys)
    texts: list[str] = []
    lines: list[int] = []
    block, done = Block(texts, lines), 0
    for line, fields, reason, seen, position in records:
        if reason is not None:
            block.bad[len(texts)] = reason
            fields = [""] * len(header)
        texts.append(fields[text])
        lines.append(line)
        if layout.keyed:
            block.ids.append(None if identity is None else fields[identity])
            block.orders.append(None if order is None else fields[order])
        block.size, block.position = seen - done, position
        if block.size >= layout.batch_bytes:
            yield block
            texts, lines, done = [], [], seen
            block = Block(texts, lines, 0, position)
    yield block


def again(file: File, wanted: Rows, size: int) -> Iterator[tuple[list[list[str]], int]]:
    """Read the rows on these lines once more, and how far the file is read: pass two."""
    left, done = line_numbers(wanted), 0
    target = next(left, None)
    found: list[list[str]] = []
    for line, fields, _, seen, position in _records(file, size):
        if line == target:
            found.append(fields)
            target = next(left, None)
            if target is None or seen - done >= size:
                yield found, position
                found, done = [], seen
        if target is None:
            return


def columns(file: File) -> list[str]:
    """Read the column names of a CSV file; none if it is empty."""
    return next((fields for _, fields, _, _, _ in _records(file, 1 << 16)), [])


def _records(file: File, size: int) -> Iterator[tuple[int, list[str], str | None, int, int]]:
    """Read the records of a CSV file, the header first.

    Yields first line, fields, the reason if the record is bad, bytes of lines read, position in the file.
    Raises the limit of the csv module on the length of a field, which holds for the whole process.
    """
    csv.field_size_limit(max(csv.field_size_limit(), (1 << 31) - 1))
    line = seen = position = width = 0
    fault: str | None = None
    ended = nul = False

    def decoded() -> Iterator[str]:
        nonlocal line, seen, position, fault, ended, nul
        for buffer, start, end, position in read_lines(file, size):  # noqa: B007
            for raw in io.BytesIO(memoryview(buffer)[start:end]):
                line, seen = line + 1, seen + len(raw)
                try:
                    text = raw.decode()
                except UnicodeDecodeError as error:
                    fault, text = not_utf8(error, f"line {line}"), ""
                if sys.version_info < (3, 11) and "\0" in text:  # where the csv module refuses NUL
                    nul, text = True, text.replace("\0", "\ud800")
                yield text
        ended = True

    reader = csv.reader(decoded(), strict=True)
    while True:
        first, fault, fields = line + 1, None, []
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if ended:
                raise file.fault(first, "a quote opened in this row is never closed") from None
            fault = fault or f"not valid CSV: {error}"
        if nul:
            fields = [text.replace("\ud800", "\0") for text in fields]
        if not fields and fault is None:
            continue
        if not width:
            width = len(fields)
            twice = ", ".join(sorted({name for name in fields if fields.count(name) > 1}))
            if fault or twice:
                raise file.fault(first, fault or f"the header names a column twice: {twice}")
        elif fault is None and len(fields) != width:
            fault = f"row has {len(fields)} fields, the header {width}"
        if fault and line > first:
            fault += f" (lines {first} to {line})"
        yield first, fields, fault, seen, position
