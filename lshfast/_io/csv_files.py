"""CSV and TSV: the csv module parses the records, which are numbered by their first line.

The first record is the header.

The end of a record is found before the record is decoded. Quotes, delimiters and line ends are
ASCII. Bytes that are not UTF-8 are represented as lone surrogates while the csv module searches for
the end of the record; the record is then rejected.
"""

from __future__ import annotations

import csv
import io
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

from lshfast._common.column_paths import SEPARATOR
from lshfast._io.advice import advising
from lshfast._io.cells import converter
from lshfast._io.delimiters import RecordEnd, delimiter_of, states_delimiter
from lshfast._io.encodings import undecodable
from lshfast._io.files import (
    BLOCK_ROWS,
    MOST_CELLS,
    ROW_CELLS,
    Block,
    File,
    Rows,
    column_index,
    long_row,
)
from lshfast._io.lines import Lines, line_numbers, too_long
from lshfast.kernels.text import Texts

_NUL = "\ud800"  # replaces NUL if the csv module refuses it
_REFUSES_NUL = sys.version_info < (3, 11)


# First line, from 1; fields; the reason if the record is bad; bytes of the lines read so far; their
# end in the file.
_Record: TypeAlias = tuple[int, list[Any], str | None, int, int]

_UNCLOSED = "is a quote in it never closed?"
# Bytes that are decoded and split into lines at a time, so that they fit the cache.
_PIECE = 1 << 16


def blocks(file: File) -> Generator[Block, None, None]:
    """Read a file in blocks: pass one."""
    layout = file.layout
    keyed = bool(layout.recorded)
    records = _records(file, layout.batch_bytes)
    _, header, _, last_position, position = next(records, (0, None, None, 0, 0))
    if header is None:
        return
    bad_fields = [""] * len(header)
    text_of = text_getter(file, header)
    identity, order, by, key = (
        None if name is None else column_index(file, header, name)
        for name in layout.of_blocks
    )
    convert = converter(header, file.types)
    texts: list[str] = []
    lines: list[int] = []
    block = Block(texts, lines)
    for line, fields, reason, next_position, at in records:
        if next_position != last_position or len(lines) == BLOCK_ROWS:
            yield _finished(block, position)
            texts = []
            lines = []
            block = Block(texts, lines)
            last_position = next_position
        position = at
        value = None
        exact_key = None
        if reason is None:
            value = None if by is None else fields[by]  # as it is written
            exact_key = None if key is None else fields[key]
            reason = None if convert is None else _cell_fault(convert, fields)
        if reason is not None:
            block.bad[len(texts)] = reason
            fields = bad_fields
        texts.append(text_of(fields))
        lines.append(line)
        if keyed:
            block.ids.append(None if identity is None else fields[identity])
            block.orders.append(None if order is None else fields[order])
            block.values.append(value)
            block.exact_keys.append(exact_key)
    yield _finished(block, position)


def _cell_fault(
    convert: Callable[[list[Any]], object], fields: list[Any]
) -> str | None:
    """Convert the cells of a row in place, or return why one cannot be converted."""
    try:
        convert(fields)
    except ValueError as error:
        return str(error)
    return None


def _finished(block: Block, position: int) -> Block:
    """Return a block whose texts are compact: a str takes 50 bytes more than its characters."""
    block.texts = Texts(block.texts)
    block.position = position
    block.size = block.texts.nbytes + 8 * len(block.texts)
    return block


def again(file: File, numbers: Rows) -> Iterator[tuple[list[list[str]], int]]:
    """Read the rows on these lines again for output, with the position in the file."""
    next_numbers = line_numbers(numbers)
    target = next(next_numbers, None)
    rows: list[list[str]] = []
    last_position = position = cells = 0
    for line, fields, _, next_position, position in _records(
        file, file.layout.batch_bytes
    ):
        if line == target:
            if rows and (next_position != last_position or cells > MOST_CELLS):
                yield rows, position
                rows = []
                cells = 0
            rows.append(fields)
            cells += len(fields) + ROW_CELLS
            last_position = next_position
            target = next(next_numbers, None)
        if target is None:
            break
    if rows:
        yield rows, position


def records(file: File) -> Iterator[tuple[int, list[str], str | None, int]]:
    """Yield all records, the header first: first line, fields, reason if bad, position."""
    for line, fields, reason, _, position in _records(file, file.layout.batch_bytes):
        yield line, fields, reason, position


def texts_of(file: File, numbers: Rows) -> Iterator[tuple[list[str], int]]:
    """Read the texts of accepted rows again, and yield them with the position in the file."""
    text_of = text_getter(file, columns(file))
    for rows, position in again(file, numbers):
        yield list(map(text_of, rows)), position


def text_getter(file: File, names: list[str]) -> Callable[[list[Any]], str]:
    """Return the function that takes the text of a record, given the names of its columns."""
    places = [column_index(file, names, column) for column in file.layout.columns]
    values_of: Callable[[list[Any]], Any] = itemgetter(*places)
    if len(places) == 1:
        return values_of
    return lambda fields: SEPARATOR.join(values_of(fields))


def columns(file: File) -> list[str]:
    """Return the column names of a CSV file; an empty list if it is empty."""
    with advising(file):
        return next((fields for _, fields, _, _, _ in _records(file, 1 << 16)), [])


class _TooLong(Exception):
    """The current record has more than `Layout.max_row_bytes`."""


def _raise_too_long() -> Iterator[str]:
    """Raise the error in the csv reader that requests the next line."""
    raise _TooLong
    yield ""


class _Text:
    """The lines of a file for the csv module, which can restart at the current record.

    The lines of a record that is too long are not kept. If bad rows are skipped, reading continues
    after the record.
    """

    def __init__(self, file: File, size: int) -> None:
        self.first = 1  # line of the record
        self.seen = self.position = 0
        self.ended = self.nul = self.lone_cr = False
        self.marked = False  # whether records need `decoded`
        self.faults: dict[int, str] = {}  # by line: the reason why it does not decode
        self._file = file
        self._size = size
        self._encoding = ""
        self._delimiter = delimiter_of(file)
        self._end: RecordEnd | None = None  # of the record that is being skipped
        self._held: list[
            tuple[int, int, list[bytes]]
        ] = []  # of the current record: first line, bytes, pieces
        self._rest = self._pieces()
        self._lines: Iterator[str] = chain.from_iterable(self._rest)
        self.before: int  # lines before those that `reader` reads
        self.reader: Any
        self._begin(0, self._lines)

    def close(self) -> None:
        """Close the file. The generator refers to this object, so counting references would not."""
        self._rest.close()

    def skip(self, error: Exception) -> str | None:
        """Continue after a record that cannot be read, and return why; None if it is read again."""
        if isinstance(error, _TooLong):
            self._read_past()
            return long_row(self._file)
        if not self.ended and not self.lone_cr:
            self._read_again()
            return None
        if not self.ended:
            self._read_over()
        if self.ended:
            reason = "a quote opened in this row is never closed"
            raise self._file.fault(self.first, reason) from None
        return f"not valid CSV: {error}"

    def _read_again(self) -> None:
        """Restart at the beginning of the record; from now on, lines also end at a lone CR."""
        start = self._held[0][0]
        piece = b"".join(piece for _, _, pieces in self._held for piece in pieces)
        piece = b"\n".join(piece.split(b"\n")[self.first - start :])
        self.lone_cr = True
        self.faults = {}
        self._held = []
        self._lines = chain(
            self._cut(piece, self.first), chain.from_iterable(self._rest)
        )
        self._begin(self.first - 1, self._lines)

    def _read_over(self) -> None:
        """Continue after an invalid record, whose end the lenient rules for quotes determine."""
        last = self.before + self.reader.line_num
        lines = []
        for at, _, raws in self._held:
            part = raws[max(0, self.first - at) : last + 1 - at]
            lines += [
                self._decoded(raw, line)
                for line, raw in enumerate(part, max(self.first, at))
            ]
        self._begin(self.first - 1, chain(lines, self._lines), strict=False)
        next(self.reader, None)
        self._begin(self.before + self.reader.line_num, self._lines)

    def _read_past(self) -> None:
        """Continue after a record that is too long."""
        piece = next(self._rest, ())
        self._lines = chain(piece, chain.from_iterable(self._rest))
        self._begin(self.before, self._lines)

    def _begin(self, before: int, lines: Iterable[str], strict: bool = True) -> None:
        """Read these lines from now on; `before` is the number of lines before them."""
        self.before = before
        self.reader = csv.reader(lines, delimiter=self._delimiter, strict=strict)

    def decoded(
        self, fields: list[Any], fault: str | None, last: int
    ) -> tuple[list[Any], str | None]:
        """Return a record with its NULs, and why a line of it, up to `last`, does not decode."""
        if self.nul:
            fields = [field.replace(_NUL, "\0") for field in fields]
        for line in range(self.first, last + 1) if self.faults else ():
            if line in self.faults:
                return fields, self.faults[line]
        return fields, fault

    def _pieces(self) -> Generator[Iterable[str], None, None]:
        lines = Lines(self._file, self._size)
        for buffer, start, end, position in lines:
            self.seen = self.seen + end - start
            self.position = position
            self._encoding = lines.encoding
            if self._end is not None:
                start = self._pass_over(self._end, buffer, start, end)
            while start < end:
                lines.count = self.before + self.reader.line_num
                if self._is_too_long(lines):
                    self._end = self._begin_to_pass_over(lines.count)
                    yield _raise_too_long()
                    start = self._pass_over(self._end, buffer, start, end)
                    continue
                stop = buffer.find(b"\n", min(start + _PIECE, end), end) + 1 or end
                piece = bytes(memoryview(buffer)[start:stop])
                yield self._cut(piece, lines.count + 1)
                start = stop
            lines.count = self.before + self.reader.line_num
        if self._end is not None and self._end.state == "quoted":
            raise too_long(self._file, self.first, _UNCLOSED)
        self.ended = True

    def _is_too_long(self, lines: Lines) -> bool:
        """Return whether the current record is too long, and release the lines before it."""
        if self.first > lines.count:
            self._held = []
        else:
            self._held = self._held[
                bisect_right(self._held, self.first, key=itemgetter(0)) - 1 :
            ]
        return (
            lines.unfinished
            or sum(size for _, size, _ in self._held[1:])
            > self._file.layout.max_row_bytes
        )

    def _begin_to_pass_over(self, last: int) -> RecordEnd:
        """Search the lines of the record that were read, up to `last`, for its end."""
        if self._file.layout.on_error == "stop" or self.lone_cr:
            raise too_long(
                self._file, self.first, "" if self.first > last else _UNCLOSED
            )
        end = RecordEnd(self._delimiter.encode())
        for at, _, pieces in self._held:
            for line in io.BytesIO(b"".join(pieces)).readlines()[
                max(0, self.first - at) :
            ]:
                end.search(line, 0, len(line))
        self._held = []
        self._begin(last, ())
        return end

    def _pass_over(
        self, end: RecordEnd, buffer: bytearray, start: int, stop: int
    ) -> int:
        """Return the end of the skipped record, or `stop` if it is not in the buffer."""
        record_end = end.search(buffer, start, stop)
        behind = record_end if record_end >= 0 else stop
        self.before += buffer.count(b"\n", start, behind)
        if record_end >= 0:
            self._end = None
            self.first = self.before + 1
        return behind

    def _cut(self, piece: bytes, line: int) -> Iterable[str]:
        """Split bytes into lines and decode them; keep them while the record is being read."""
        raws: Iterable[bytes] = io.BytesIO(piece)
        if self.lone_cr:
            raws = piece.splitlines(keepends=True)
        self._hold(line, len(piece), raws if isinstance(raws, list) else [piece])
        if piece.isascii() and not (_REFUSES_NUL and 0 in piece):
            return map(bytes.decode, raws)
        return [self._decoded(raw, at) for at, raw in enumerate(raws, line)]

    def _hold(self, line: int, size: int, pieces: list[bytes]) -> None:
        """Keep lines of the current record, and release the faults of the lines before it."""
        if self.faults:
            self.faults = {
                at: reason for at, reason in self.faults.items() if at >= self.first
            }
        self._held.append((line, size, pieces))

    def _decoded(self, raw: bytes, line: int) -> str:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            self.faults[line] = undecodable(error, f"line {line}", self._encoding)
            self.marked = True
            text = raw.decode("utf-8", "surrogateescape")
        if _REFUSES_NUL and "\0" in text:
            self.nul = self.marked = True
            text = text.replace("\0", _NUL)
        return text


def _check_header(file: File, line: int, names: list[str], fault: str | None) -> None:
    twice = ", ".join(
        sorted(name for name, times in Counter(names).items() if times > 1)
    )
    if fault or twice:
        raise file.fault(line, fault or f"the header names a column twice: {twice}")


def _records(file: File, size: int) -> Iterator[_Record]:
    """Read the records of a CSV file, the header first."""
    # The limit on the length of a field applies to the whole process.
    csv.field_size_limit(max(csv.field_size_limit(), (1 << 31) - 1))
    text = _Text(file, size)
    last = 0
    width = 0
    with closing(text):
        while True:
            first = text.first = last + 1
            fault = None
            try:
                fields = next(text.reader)
            except StopIteration:
                return
            except (_TooLong, csv.Error) as error:
                fields = []
                fault = text.skip(error)
                if fault is None:
                    continue
            last = text.before + text.reader.line_num
            if text.marked:
                fields, fault = text.decoded(fields, fault, last)
            if not fields and fault is None:
                continue
            if not width:
                if fault is None and states_delimiter(fields, delimiter_of(file)):
                    continue
                width = len(fields)
                _check_header(file, first, fields, fault)
            elif fault is None and len(fields) != width:
                fault = f"row has {len(fields)} fields, the header {width}"
            if fault and last > first:
                fault += f" (lines {first} to {last})"
            yield first, fields, fault, text.seen, text.position
