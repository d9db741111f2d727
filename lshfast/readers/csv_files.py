"""CSV and TSV: records by the csv module, numbered by their first line; the first is the header.

Records are found before they are decoded. Quotes, delimiters and line ends are ASCII, so bytes that are not UTF-8 stand
for themselves as lone surrogates while the csv module looks for the end of the record, which is then rejected.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from lshfast.readers.encodings import undecodable
from lshfast.readers.files import Block, File, Rows, column_index
from lshfast.readers.lines import Lines, line_numbers, too_long

_NUL = "\ud800"  # in the place of NUL where the csv module refuses it
_REFUSES_NUL = sys.version_info < (3, 11)


class _Record(NamedTuple):
    line: int  # the first, from 1
    fields: list[str]
    reason: str | None  # why the record is bad
    seen: int  # bytes of lines in the blocks read so far
    position: int  # of these blocks' end in the file


def blocks(file: File) -> Iterator[Block]:
    """Read a file once, in blocks: pass one."""
    layout, records = file.layout, _records(file, file.layout.batch_bytes)
    header = next(records, None)
    if header is None:
        return
    width = len(header.fields)
    text = column_index(file, header.fields, layout.column)
    keys = (layout.id_column, layout.order_column)
    identity, order = (None if name is None else column_index(file, header.fields, name) for name in keys)
    texts: list[str] = []
    lines: list[int] = []
    block, done = Block(texts, lines, header.seen, header.position), header.seen
    for line, fields, reason, seen, position in records:
        if seen != done:
            yield block
            texts, lines = [], []
            block, done = Block(texts, lines, seen - done, position), seen
        if reason is not None:
            block.bad[len(texts)] = reason
            fields = [""] * width
        texts.append(fields[text])
        lines.append(line)
        if layout.keyed:
            block.ids.append(None if identity is None else fields[identity])
            block.orders.append(None if order is None else fields[order])
    yield block


def again(file: File, wanted: Rows) -> Iterator[tuple[list[list[str]], int]]:
    """Read the rows on these lines once more, and how far the file is read: pass two."""
    left = line_numbers(wanted)
    target = next(left, None)
    found: list[list[str]] = []
    done = position = 0
    for line, fields, _, seen, position in _records(file, file.layout.batch_bytes):  # noqa: B007
        if line == target:
            if found and seen != done:
                yield found, position
                found = []
            found.append(fields)
            done, target = seen, next(left, None)
        if target is None:
            break
    if found:
        yield found, position


def columns(file: File) -> list[str]:
    """Read the column names of a CSV file; none if it is empty."""
    return next((record.fields for record in _records(file, 1 << 16)), [])


class _Text:
    """The lines of a file for the csv module, and what has to be known of those of the record that is being read."""

    def __init__(self, file: File, size: int) -> None:
        self.first = 1  # line of the record
        self.seen = self.position = 0
        self.ended = self.nul = False
        self.faults: dict[int, str] = {}  # by line: why it does not decode
        self._file, self._size = file, size
        self._held: list[tuple[int, int, list[str]]] = []  # blocks: first line, bytes, lines
        self.lines = chain.from_iterable(self._blocks())

    def held(self, last: int) -> list[str]:
        """Return the lines of the record up to this one."""
        lines = []
        for at, _, block in self._held:
            lines += block[max(0, self.first - at) : last + 1 - at]
        return lines

    def fault(self, last: int) -> str | None:
        """Return why the record does not decode, if it does not."""
        found = [self.faults[line] for line in range(self.first, last + 1) if line in self.faults] if self.faults else []
        return found[0] if found else None

    def _blocks(self) -> Iterator[list[str]]:
        line, lines = 1, Lines(self._file, self._size)
        for buffer, start, end, position in lines:
            held = [(at, size, block) for at, size, block in self._held if at + len(block) > self.first]
            if sum(size for _, size, _ in held[1:]) > self._file.layout.max_row_bytes:
                raise too_long(self._file, self.first, "is a quote in it never closed?")
            self.faults = {at: reason for at, reason in self.faults.items() if at >= self.first}
            block = self._decoded(memoryview(buffer)[start:end], line, lines.encoding)
            self._held = [*held, (line, end - start, block)]
            line, self.seen, self.position = line + len(block), self.seen + end - start, position
            yield block
        self.ended = True

    def _decoded(self, data: memoryview, first: int, encoding: str) -> list[str]:
        """Decode lines and cut them apart; note those that do not decode."""
        try:
            text = str(data, "utf-8")
        except UnicodeDecodeError:
            pass
        else:
            if _REFUSES_NUL and "\0" in text:
                self.nul, text = True, text.replace("\0", _NUL)
            if "\r" not in text or text.count("\r") == text.count("\r\n"):
                *lines, rest = text.split("\n")
                return [line + "\n" for line in lines] + ([rest] if rest else [])
        decoded = []
        for line, raw in enumerate(bytes(data).splitlines(keepends=True), first):
            try:
                text = raw.decode()
            except UnicodeDecodeError as error:
                self.faults[line] = undecodable(error, f"line {line}", encoding)
                text = raw.decode("utf-8", "surrogateescape")
            if _REFUSES_NUL and "\0" in text:
                self.nul, text = True, text.replace("\0", _NUL)
            decoded.append(text)
        return decoded


def _records(file: File, size: int) -> Iterator[_Record]:
    """Read the records of a CSV file, the header first.

    Raises the limit of the csv module on the length of a field, which holds for the whole process.
    """
    csv.field_size_limit(max(csv.field_size_limit(), (1 << 31) - 1))
    delimiter = "\t" if file.format == "tsv" else ","
    text = _Text(file, size)
    reader = csv.reader(text.lines, delimiter=delimiter, strict=True)
    elsewhere = last = width = 0  # lines that `reader` has not read; the last line of the record
    while True:
        first = text.first = last + 1
        fault = None
        try:
            fields = next(reader)
            last = elsewhere + reader.line_num
        except StopIteration:
            return
        except csv.Error as error:
            fields, fault = [], f"not valid CSV: {error}"
            last = elsewhere + reader.line_num
            if not text.ended:  # go on to the end of the record
                lenient = csv.reader(chain(text.held(last), text.lines), delimiter=delimiter)
                next(lenient, None)
                last = first - 1 + lenient.line_num
                elsewhere = last - reader.line_num
            if text.ended:
                raise file.fault(first, "a quote opened in this row is never closed") from None
        fault = text.fault(last) or fault
        if text.nul:
            fields = [field.replace(_NUL, "\0") for field in fields]
        if not fields and fault is None:
            continue
        if not width:
            width = len(fields)
            twice = ", ".join(sorted({name for name in fields if fields.count(name) > 1}))
            if fault or twice:
                raise file.fault(first, fault or f"the header names a column twice: {twice}")
        elif fault is None and len(fields) != width:
            fault = f"row has {len(fields)} fields, the header {width}"
        if fault and last > first:
            fault += f" (lines {first} to {last})"
        yield _Record(first, fields, fault, text.seen, text.position)
