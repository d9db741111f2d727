"""Readers: JSONL, Parquet, CSV and folders of text files, in two passes.

Pass one hands out texts and keeps of a row its line number (8 bytes) and, where asked for, its id and order
value. Pass two reads the inputs again and hands out the rows that stay: no payload waits in memory between.
Lines are found in blocks and parsed as slices of the block: 0.48 s for 466 MB of source files, all told;
line-wise iteration and parsing alone take 0.65 s.
Order of the file: what callers see, then `Corpus`, then one section for each format, which knows no corpus.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import json
import os
import re
import stat
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Batch", "Corpus", "DataError", "File", "Layout", "Reject", "open_corpus"]

Rows: TypeAlias = npt.NDArray[np.int64]

_BOM = b"\xef\xbb\xbf"
_CODECS = {".gz": "gzip", ".zst": "zstd"}
_FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_KINDS = {"NoneType": "null", "bool": "true or false", "int": "a number", "float": "a number",
          "str": "a string", "list": "an array", "dict": "an object"}  # fmt: skip


class DataError(ValueError):
    """Report a fault in the data in one line: ``FILE:LINE: reason`` (or ``FILE: row N:``, or ``FILE:``).

    `path` is the file as it was named, `line` the line or Parquet row from 1 (None: the whole file).
    """

    def __init__(self, path: str, line: int | None, reason: str, rows: bool = False) -> None:
        super().__init__(path, line, reason, rows)
        self.path, self.line, self.reason, self._rows = path, line, " ".join(reason.split()), rows

    def __str__(self) -> str:
        where = "" if self.line is None else f" row {self.line}:" if self._rows else f"{self.line}:"
        return f"{self.path}:{where} {self.reason}"


class Reject(NamedTuple):
    """A bad row that was passed over: its file, its line or row from 1 (None: the whole file), the reason."""

    path: str
    line: int | None
    reason: str


class Batch(NamedTuple):
    """Texts of consecutive rows, and the bytes on disk that were read for them.

    `texts` is a list of str, or a pyarrow.Array of string or large_string where the input is Parquet.
    `source_bytes` sums to `Corpus.total_bytes` over all batches.
    """

    texts: Any
    source_bytes: int


@dataclass(frozen=True)
class Layout:
    """What to read from the inputs, and how; see `open_corpus` for the fields."""

    column: str = "text"
    id_column: str | None = None
    order_column: str | None = None
    glob: str = "**/*.txt"
    on_error: str = "stop"
    batch_bytes: int = 8 << 20

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise ValueError(f"on_error must be 'stop' or 'skip', not {self.on_error!r}")
        if self.batch_bytes < 1:
            raise ValueError(f"batch_bytes must be at least 1, not {self.batch_bytes}")

    @property
    def keyed(self) -> bool:
        return self.id_column is not None or self.order_column is not None


@dataclass(frozen=True)
class File:
    """One input file: where it is, its name in messages and keys, and its state when it was listed."""

    path: str
    name: str
    format: str  # "jsonl", "csv", "parquet", or "text" for a file of a folder
    codec: str | None
    size: int
    mtime_ns: int

    def fault(self, line: int | None, reason: str) -> DataError:
        """Make the error that names this file."""
        return DataError(self.name, line, reason, self.format == "parquet")


@dataclass
class Block:
    """Some consecutive rows of one file, good and bad, before they are numbered."""

    texts: Any  # anything in the place of a bad row
    lines: Sequence[int]
    size: int = 0  # bytes of text, about
    position: int = 0  # bytes of the file on disk read so far
    bad: dict[int, str] = field(default_factory=dict)  # index in the block: reason
    ids: list[Any] = field(default_factory=list)  # empty if there is neither an id nor an order column
    orders: list[Any] = field(default_factory=list)


def open_corpus(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    column: str = "text",
    id_column: str | None = None,
    order_column: str | None = None,
    glob: str = "**/*.txt",
    on_error: str = "stop",
    batch_bytes: int = 8 << 20,
) -> Corpus:
    """List the inputs, without reading them.

    Parameters
    ----------
    inputs : path or paths
        Files (.jsonl, .ndjson, .json with one object a line; .csv; each also with .gz or .zst; .parquet) and
        folders, mixed. Rows keep the order of the inputs.
    column : str
        Column of the text. In a folder each file is a text.
    id_column : str, optional
        Column of the ids: all strings or all 64-bit integers, none twice. For a folder's file it is its path.
    order_column : str, optional
        Column of values to rank rows by: all numbers or all strings. In CSV they are numbers if the first is
        one; dates and times of Parquet are ISO 8601 strings. Integers become doubles if there are fractions.
    glob : str
        Which files of a folder are texts; they are sorted by path.
    on_error : {"stop", "skip"}
        Whether a bad row raises `DataError` or is put on `Corpus.rejected`.
    batch_bytes : int
        Bytes of text in a batch, about.

    Returns
    -------
    Corpus

    Raises
    ------
    DataError
        If an input is missing, of an unknown kind, named twice, or a folder without a matching file.
    ValueError
        If there are no inputs, or an option is not as above.
    """
    layout = Layout(column, id_column, order_column, glob, on_error, batch_bytes)
    files: list[File] = []
    seen: dict[str, str] = {}
    for given in [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs:
        for file, real in _listed(os.fspath(given), layout):
            if real in seen:
                also = "" if seen[real] == file.name else f" (first as {seen[real]})"
                raise file.fault(None, f"input named twice{also}")
            seen[real] = file.name
            files.append(file)
    if not files:
        raise ValueError("no inputs")
    return Corpus(layout, files)


class Corpus:
    """The rows of several inputs, numbered from 0 in input order; bad rows have no number.

    `batches` is pass one; all else speaks of the rows it has read so far. For one thread at a time.

    Attributes
    ----------
    layout : Layout
        What to read.
    files : list of File
        All input files, those of folders one by one.
    total_bytes : int
        Their size on disk.
    rejected : list of Reject
        Bad rows passed over (``on_error="skip"``).
    complete : bool
        Whether `batches` has come to the end of the inputs.
    """

    def __init__(self, layout: Layout, files: list[File]) -> None:
        self.layout, self.files = layout, files
        self.total_bytes = sum(file.size for file in files)
        self._reset()

    def _reset(self) -> None:
        self.complete = False
        self.rejected: list[Reject] = []
        self._lines = array("q")
        self._first: list[int] = []  # by file: the number of its first row
        self._ids: list[str | int] = []
        self._row_of: dict[str | int, int] = {}
        self._order: array[int] | array[float] | list[str] = array("q")

    @property
    def accepted(self) -> int:
        """Count the rows that have a number."""
        return len(self._lines)

    @property
    def read(self) -> int:
        """Count all rows met, the rejected ones too."""
        return self.accepted + len(self.rejected)

    @property
    def ids(self) -> list[str | int] | None:
        """Give the id of each row; None without an id column."""
        return self._ids if self.layout.id_column is not None else None

    @property
    def order(self) -> npt.NDArray[Any] | list[str] | None:
        """Give each row's order value: an int64 or float64 array or list of str; None without a column."""
        if self.layout.order_column is None:
            return None
        return self._order if isinstance(self._order, list) else np.array(self._order)

    def place(self, row: int) -> tuple[str, int | None]:
        """Give a row's file and its line or Parquet row, from 1 (None for a file of a folder)."""
        if not 0 <= row < self.accepted:
            raise IndexError(f"row must be in [0, {self.accepted}), not {row}")
        file = self.files[bisect_right(self._first, row) - 1]
        return file.name, None if file.format == "text" else self._lines[row]

    def key(self, row: int) -> str | int:
        """Give the name of a row for the user: its id, else ``PATH:LINE``, or PATH for a file of a folder."""
        if self.layout.id_column is not None:
            return self._ids[row]
        name, line = self.place(row)
        return name if line is None else f"{name}:{line}"

    def span(self, index: int) -> tuple[int, int]:
        """Give the half-open range of the rows of ``files[index]``."""
        return self._first[index], self._first[index + 1] if index + 1 < len(self._first) else self.accepted

    def batches(self) -> Iterator[Batch]:
        """Read all inputs once, and record where each row is.

        Yields
        ------
        Batch
            About ``batch_bytes`` of text, in input order.

        Raises
        ------
        DataError
            At the first bad row if ``on_error="stop"``; in any case if a file cannot be read to its end,
            lacks a column, or changed since it was listed.
        ImportError
            If an input needs orjson or pyarrow and it is not installed.
        """
        self._reset()
        pending: Any = []
        size = source = 0
        for file in self.files:
            self._first.append(self.accepted)
            done = 0
            for block in _BLOCKS[file.format](file, self.layout):
                texts = self._admit(file, block)
                joins = isinstance(texts, list) and isinstance(pending, list)
                if len(texts) and joins and size + block.size <= self.layout.batch_bytes:
                    pending.extend(texts)
                    size += block.size
                elif len(texts):
                    if len(pending):
                        yield Batch(pending, source)
                        source = 0
                    pending, size = texts, block.size
                source += block.position - done
                done = block.position
            source += file.size - done
        self._row_of.clear()
        self.complete = True
        if len(pending) or source:
            yield Batch(pending, source)

    def again(self, index: int, rows: Rows) -> Iterator[tuple[Any, int]]:
        """Read some rows of one file once more, as they stand there: pass two.

        Parameters
        ----------
        index : int
            Which of `files`.
        rows : int64 array of shape (m,)
            Rows of that file, ascending.

        Yields
        ------
        rows : list or pyarrow.RecordBatch
            JSONL: list of bytes, a line without its end. CSV: list of list of str. Parquet: a record batch of
            all columns. Folder: a list of one str.
        position : int
            Bytes of the file on disk read so far.

        Raises
        ------
        DataError
            If the file changed since it was listed, or cannot be read.
        """
        if len(rows):
            wanted = np.frombuffer(self._lines, np.int64)[rows]
            yield from _AGAIN[self.files[index].format](self.files[index], wanted, self.layout.batch_bytes)

    def _admit(self, file: File, block: Block) -> Any:
        """Number the good rows of a block and give their texts; reject the others."""
        if not block.bad and not self.layout.keyed:
            self._lines.extend(block.lines)
            return block.texts
        good = []
        for i, line in enumerate(block.lines):
            reason = block.bad.get(i)
            if reason is None and self.layout.keyed:
                reason = self._take(block.ids[i], block.orders[i], file.format == "csv")
            if reason is None:
                self._lines.append(line)
                good.append(i)
                continue
            fault = file.fault(None if file.format == "text" else line, reason)
            if self.layout.on_error == "stop":
                raise fault
            self.rejected.append(Reject(fault.path, fault.line, fault.reason))
        if isinstance(block.texts, list):
            return [block.texts[i] for i in good]
        return block.texts.take(optional("pyarrow").array(good, "int64"))

    def _take(self, identity: Any, order: Any, untyped: bool) -> str | None:
        """Record the next row's id and order value, or give the reason to reject the row."""
        if self.layout.id_column is not None:
            if identity is None or identity == "":
                return f"id column {self.layout.id_column!r} is missing, null or empty"
            if type(identity) is not str and not is_int64(identity):
                return f"id {_short(identity)} is neither a string nor a 64-bit integer"
            if self._ids and type(identity) is not type(self._ids[0]):
                return f"id {_short(identity)} is {kind_of(identity)}, the ids before it are not"
            if identity in self._row_of:
                name, line = self.place(self._row_of[identity])
                return f"id {_short(identity)} is taken by {name}" + ("" if line is None else f":{line}")
        if self.layout.order_column is not None:
            reason = self._take_order(order, untyped)
            if reason:
                return f"order column {self.layout.order_column!r} {reason}"
        if self.layout.id_column is not None:
            self._ids.append(identity)
            self._row_of[identity] = self.accepted
        return None

    def _take_order(self, value: Any, untyped: bool) -> str | None:
        if value is None or value == "" or value != value:
            return "is missing or null"
        if untyped and (not self.accepted or not isinstance(self._order, list)):
            value = _number(value)
        if type(value) not in (str, float) and not is_int64(value):
            return f"holds {_short(value)}, neither a string nor a 64-bit number"
        if not self.accepted:
            self._order = [] if isinstance(value, str) else array("q")
        if isinstance(value, str) != isinstance(self._order, list):
            return f"holds {_short(value)}, {kind_of(value)}, but those before it are not"
        if isinstance(value, float) and isinstance(self._order, array) and self._order.typecode == "q":
            self._order = array("d", self._order)
        self._order.append(value)
        return None


# Names and small things


@cache
def optional(module: str) -> Any:
    """Import a module of the extra ``cli``, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{module.partition('.')[0]} is missing: install lshfast[cli]") from error


def file_format(path: str | os.PathLike[str]) -> tuple[str, str | None] | None:
    """Tell format and compression from a file's name; None for names of no known kind."""
    stem, suffix = os.path.splitext(os.fspath(path).lower())
    codec = _CODECS.get(suffix)
    kind = _FORMATS.get(os.path.splitext(stem)[1] if codec else suffix)
    return None if kind is None or (codec and kind == "parquet") else (kind, codec)


def kind_of(value: Any) -> str:
    """Name the JSON kind of a value, with its article."""
    return _KINDS.get(type(value).__name__, type(value).__name__)


def is_int64(value: Any) -> bool:
    """Tell whether a value is an int (and no bool) that fits 64 bits."""
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def printable(path: str) -> str:
    """Spell a path in one line of valid Unicode."""
    return os.fsencode(path).decode("utf-8", "backslashreplace").replace("\n", "\\n").replace("\r", "\\r")


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _number(text: str) -> str | int | float:
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        return int(text)
    return float(text) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text) else text


def _each_line(wanted: Rows) -> Iterator[int]:
    for at in range(0, len(wanted), 1 << 16):
        yield from wanted[at : at + (1 << 16)].tolist()


def _not_utf8(error: UnicodeDecodeError, where: str) -> str:
    return f"not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start} of {where}"


def _column(file: File, names: Sequence[str], name: str | None) -> int | None:
    if name is not None and list(names).count(name) != 1:
        fault = "more than one column" if name in names else "no column"
        raise file.fault(None, f"{fault} {name!r}; columns are: {', '.join(names)}")
    return None if name is None else list(names).index(name)


# Files


def _listed(path: str, layout: Layout) -> Iterator[tuple[File, str]]:
    """List the files of one input, each with the path that tells whether two are the same."""
    name = printable(path)
    try:
        state = os.stat(path)
    except OSError as error:
        raise DataError(name, None, f"cannot be read: {error.strerror}") from error
    if stat.S_ISREG(state.st_mode):
        known = file_format(path)
        if known is None:
            raise DataError(name, None, "unknown kind of file: not .jsonl, .csv (also .gz, .zst) or .parquet")
        yield File(path, name, *known, state.st_size, state.st_mtime_ns), os.path.realpath(path)
        return
    if not stat.S_ISDIR(state.st_mode):
        raise DataError(name, None, "is neither a file nor a folder")
    if layout.order_column is not None:
        raise DataError(name, None, f"a folder of texts has no order column {layout.order_column!r}")
    try:
        found = sorted((p for p in Path(path).glob(layout.glob) if p.is_file()), key=Path.as_posix)
    except (ValueError, NotImplementedError) as error:
        raise ValueError(f"glob {layout.glob!r}: {error}") from error
    if not found:
        raise DataError(name, None, f"no file in this folder matches {layout.glob!r}")
    real = os.path.realpath(path)
    for member in found:
        state, shown = member.stat(), printable(str(member))
        file = File(str(member), shown, "text", None, state.st_size, state.st_mtime_ns)
        yield file, os.path.join(real, member.relative_to(path))


@contextmanager
def _steady(file: File) -> Iterator[None]:
    """Check before and after that a file is the one that was listed."""

    def check() -> None:
        try:
            now = os.stat(file.path)
        except OSError as error:
            raise file.fault(None, f"cannot be read: {error.strerror}") from error
        if (now.st_size, now.st_mtime_ns) != (file.size, file.mtime_ns):
            raise file.fault(None, "changed while it was in use")

    check()
    yield
    check()


def _read_lines(file: File, size: int) -> Iterator[tuple[bytearray, int, int, int]]:
    """Read whole lines, about `size` bytes at once: a buffer, start and end in it, position in the file.

    The buffer is used again for the next lines, and grows to hold the longest one.
    """
    have, begun = 0, False
    buffer = bytearray(min(size, (1 << 16) + 4 * file.size) + 1)
    with _steady(file):
        try:
            with io.FileIO(file.path) as raw:
                stream: Any = raw
                if file.codec == "gzip":
                    stream = gzip.GzipFile(fileobj=raw)
                elif file.codec == "zstd":
                    stream = optional("pyarrow").CompressedInputStream(raw, "zstd")
                got = 1
                while got:
                    if have == len(buffer):
                        buffer = buffer + bytearray(have)
                    got = stream.readinto(memoryview(buffer)[have:])
                    end = buffer.rfind(b"\n", have, have + got) + 1 if got else have
                    have += got
                    if end:
                        start = 3 if not begun and buffer.startswith(_BOM) else 0
                        begun = True
                        yield buffer, start, end, raw.tell()
                        buffer[: have - end] = buffer[end:have]
                        have -= end
        except (OSError, EOFError, zlib.error) as error:
            what = f"damaged or cut off {file.codec} data" if file.codec else "cannot be read"
            raise file.fault(None, f"{what}: {getattr(error, 'strerror', None) or error}") from error


# JSONL


def _pieces(buffer: bytearray, start: int, end: int) -> Iterator[bytes | memoryview]:
    """Cut lines apart, with or without their ends: short ones as copies, 0.3 us less each, long as slices."""
    view = memoryview(buffer)
    sample = min(end, start + (1 << 16))
    if sample - start < 2000 * buffer.count(b"\n", start, sample):
        yield from io.BytesIO(view[start:end])
        return
    while start < end:
        stop = buffer.find(b"\n", start, end)
        yield view[start : stop if stop >= 0 else end]
        start = stop + 1 if stop >= 0 else end


def _jsonl_blocks(file: File, layout: Layout) -> Iterator[Block]:
    loads, column, keyed, line = optional("orjson").loads, layout.column, layout.keyed, 0
    for buffer, start, end, position in _read_lines(file, layout.batch_bytes):
        texts: list[str] = []
        lines: list[int] = []
        block = Block(texts, lines, end - start, position)
        for line, piece in enumerate(_pieces(buffer, start, end), line + 1):  # noqa: B020
            try:
                record = loads(piece)
                text = record[column]
                if type(text) is not str:
                    raise TypeError
            except (ValueError, LookupError, TypeError):
                raw = bytes(piece)
                if not raw.strip():
                    continue
                record, text = {}, ""
                try:
                    record = json_object(raw)
                    text = _text_of(record, column)
                except ValueError as error:
                    block.bad[len(texts)] = str(error)
            texts.append(text)
            lines.append(line)
            if keyed:
                block.ids.append(record.get(layout.id_column))
                block.orders.append(record.get(layout.order_column))
        yield block


def json_object(line: bytes, decoder: json.JSONDecoder | None = None) -> dict[str, Any]:
    """Parse one JSON object by the standard library: slower than orjson, but with a reason for every refusal.

    Takes the numbers beyond the range of a double, which orjson refuses, as infinities.
    """
    try:
        value = (decoder or _JSON).decode(line.decode())
        lone = re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))
    except UnicodeDecodeError as error:
        raise ValueError(_not_utf8(error, "the line")) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise ValueError("JSON is nested too deep") from None
    if lone:
        raise ValueError(f"lone surrogate \\u{ord(lone[0]):04x}, which is no character")
    if not isinstance(value, dict):
        raise ValueError(f"the line is {kind_of(value)}, not a JSON object")
    return value


def no_constant(name: str) -> None:
    """Refuse NaN and Infinity, which the standard library would take for JSON."""
    raise ValueError(f"not valid JSON: {name}")


_JSON = json.JSONDecoder(parse_constant=no_constant)


def _text_of(record: dict[str, Any], column: str) -> str:
    if column not in record:
        raise ValueError(f"no column {column!r}")
    if not isinstance(record[column], str):
        raise ValueError(f"column {column!r} is {kind_of(record[column])}, not a string")
    return str(record[column])


def _jsonl_again(file: File, wanted: Rows, size: int) -> Iterator[tuple[list[bytes], int]]:
    line, left = 0, _each_line(wanted)
    target = next(left, None)
    for buffer, start, end, position in _read_lines(file, size):
        found = []
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


# CSV


def _csv_records(file: File, size: int) -> Iterator[tuple[int, list[str], str | None, int, int]]:
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
        for buffer, start, end, position in _read_lines(file, size):  # noqa: B007
            for raw in io.BytesIO(memoryview(buffer)[start:end]):
                line, seen = line + 1, seen + len(raw)
                try:
                    text = raw.decode()
                except UnicodeDecodeError as error:
                    fault, text = _not_utf8(error, f"line {line}"), ""
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


def csv_header(file: File) -> list[str]:
    """Read the column names of a CSV file; none if it is empty."""
    return next((fields for _, fields, _, _, _ in _csv_records(file, 1 << 16)), [])


def _csv_blocks(file: File, layout: Layout) -> Iterator[Block]:
    records = _csv_records(file, layout.batch_bytes)
    header = next((fields for _, fields, _, _, _ in records), None)
    if header is None:
        return
    wanted = (layout.column, layout.id_column, layout.order_column)
    text, identity, order = (_column(file, header, name) for name in wanted)
    texts: list[str] = []
    lines: list[int] = []
    block, done = Block(texts, lines), 0
    for line, fields, reason, seen, position in records:
        if reason is not None:
            block.bad[len(texts)] = reason
            fields = [""] * len(header)
        texts.append(fields[text or 0])
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


def _csv_again(file: File, wanted: Rows, size: int) -> Iterator[tuple[list[list[str]], int]]:
    left, done = _each_line(wanted), 0
    target = next(left, None)
    found: list[list[str]] = []
    for line, fields, _, seen, position in _csv_records(file, size):
        if line == target:
            found.append(fields)
            target = next(left, None)
            if target is None or seen - done >= size:
                yield found, position
                found, done = [], seen
        if target is None:
            return


# Parquet


def parquet_file(file: File) -> Any:
    """Open a Parquet file as a pyarrow.parquet.ParquetFile."""
    pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
    try:
        return pq.ParquetFile(file.path, buffer_size=1 << 20)
    except (pa.ArrowException, OSError) as error:
        raise file.fault(None, f"cannot be read as Parquet: {error}") from error


def _record_batches(
    file: File, names: list[str] | None, size: int, wanted: Rows | None = None
) -> Iterator[tuple[int, Any, int]]:
    """Read record batches of about `size` bytes: number of the first row, from 1, batch, position.

    With `wanted`, row groups that hold none of those rows are passed over.
    """
    pa = optional("pyarrow")
    with _steady(file):
        source = parquet_file(file)
        row = 1
        try:
            for group in range(source.metadata.num_row_groups):
                about = source.metadata.row_group(group)
                if wanted is not None and not np.any((wanted >= row) & (wanted < row + about.num_rows)):
                    row += about.num_rows
                    continue
                parts = (about.column(i) for i in range(about.num_columns))
                parts = (part for part in parts if not names or part.path_in_schema in names)
                width = sum(part.total_uncompressed_size for part in parts)
                many = max(1, min(1 << 16, size * about.num_rows // max(1, width)))
                for batch in source.iter_batches(batch_size=many, row_groups=[group], columns=names):
                    row += len(batch)
                    yield row - len(batch), batch, file.size * (row - 1) // source.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            raise file.fault(None, f"cannot be read as Parquet: {error}") from error


def _parquet_blocks(file: File, layout: Layout) -> Iterator[Block]:
    pa, column = optional("pyarrow"), layout.column
    names = [name for name in (column, layout.id_column, layout.order_column) if name is not None]
    schema = parquet_file(file).schema_arrow
    for name in names:
        _column(file, schema.names, name)
    kind = schema.field(column).type
    if pa.types.is_dictionary(kind) or pa.types.is_null(kind):
        kind = pa.string()
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise file.fault(None, f"column {column!r} is {kind}, not strings")
    for first, batch, position in _record_batches(file, list(dict.fromkeys(names)), layout.batch_bytes):
        texts = batch.column(column).cast(kind)
        block = Block(texts, range(first, first + len(texts)), texts.nbytes, position)
        if texts.null_count:
            nulls = np.flatnonzero(texts.is_null().to_numpy(zero_copy_only=False))
            block.bad.update((int(i), f"column {column!r} is null") for i in nulls)
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:
            block.bad.update(_undecodable(texts.cast(pa.large_binary()).to_pylist()))
        if layout.keyed:
            block.ids = _plain_values(batch, layout.id_column)
            block.orders = _plain_values(batch, layout.order_column)
        yield block


def _undecodable(values: list[bytes | None]) -> Iterator[tuple[int, str]]:
    for i, value in enumerate(values):
        try:
            (value or b"").decode()
        except UnicodeDecodeError as error:
            yield i, _not_utf8(error, "the text")


def _plain_values(batch: Any, name: str | None) -> list[Any]:
    """Give a key column as Python values."""
    if name is None:
        return [None] * len(batch)
    pa, column = optional("pyarrow"), batch.column(name)
    if pa.types.is_timestamp(column.type):  # without a zone's mark, so that 20 sorts before 20.5 (seconds)
        column = column.cast(pa.timestamp(column.type.unit))
    elif pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return list(iso_times(column).to_pylist())


def iso_times(column: Any) -> Any:
    """Turn a column of dates or times into strings as in ISO 8601, in UTC if it has a time zone."""
    pa = optional("pyarrow")
    if pa.types.is_timestamp(column.type) and column.type.tz:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    if pa.types.is_date(column.type) or pa.types.is_time(column.type) or pa.types.is_timestamp(column.type):
        column = column.cast(pa.string())
    return column


def _parquet_again(file: File, wanted: Rows, size: int) -> Iterator[tuple[Any, int]]:
    for first, batch, position in _record_batches(file, None, size, wanted):
        low, high = np.searchsorted(wanted, (first, first + len(batch)))
        if high - low == len(batch):
            yield batch, position
        elif high > low:
            yield batch.take(optional("pyarrow").array(wanted[low:high] - first)), position


# Folders


def _file_text(file: File) -> str:
    with _steady(file):
        try:
            data = Path(file.path).read_bytes()
        except OSError as error:
            raise file.fault(None, f"cannot be read: {error.strerror}") from error
    return data.decode().removeprefix("\ufeff")


def _folder_blocks(file: File, layout: Layout) -> Iterator[Block]:
    block = Block([""], [1], file.size, file.size, {}, [file.name], [None])
    try:
        block.texts = [_file_text(file)]
    except UnicodeDecodeError as error:
        block.bad[0] = _not_utf8(error, "the file")
    yield block


def _folder_again(file: File, wanted: Rows, size: int) -> Iterator[tuple[list[str], int]]:
    yield [_file_text(file)], file.size


_BLOCKS = {"jsonl": _jsonl_blocks, "csv": _csv_blocks, "parquet": _parquet_blocks, "text": _folder_blocks}
_AGAIN: dict[str, Any] = {
    "jsonl": _jsonl_again, "csv": _csv_again, "parquet": _parquet_again, "text": _folder_again
}  # fmt: skip
