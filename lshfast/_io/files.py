"""Common code of all readers: input files, their rows, and errors with positions."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, get_args

from lshfast._common.choices import MAX_COLUMNS as MAX_COLUMNS
from lshfast._common.choices import MAX_ROW_BYTES as MAX_ROW_BYTES
from lshfast._common.choices import Format as Format
from lshfast._common.choices import Kind as Kind
from lshfast._common.choices import OnError as OnError
from lshfast._common.column_paths import (
    ColumnNames,
    checked_columns,
    is_joined,
    names_of,
    shown_columns,
)
from lshfast._common.errors import DataError as DataError
from lshfast._common.exact_keys import column_of_keys
from lshfast._common.nearest import nearest_file, no_column
from lshfast._common.types import Int64Array, PathLike
from lshfast._io.cells import CellType
from lshfast._io.encodings import checked_encoding
from lshfast._io.sources import ByteRange, RemoteFile, Source
from lshfast._io.zstd_windows import checked_window

Paths: TypeAlias = PathLike | Iterable[PathLike]
Rows: TypeAlias = Int64Array

COLUMNAR: tuple[Format, ...] = "parquet", "arrow", "npy"


# The most rows of a block: an object takes much more than the few bytes of a short row.
BLOCK_ROWS = 1 << 15

# The most cells that are Python objects at a time; a row takes as much as ROW_CELLS of them.
MOST_CELLS = 1 << 17
ROW_CELLS = 8

# The most characters of the error of a library in a message.
MOST_REASON = 200

# Suffixes of compressed files, by their codecs.
CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}

_MAGIC = {
    rb"\x1f\x8b\x08": "gzip",
    rb"\x28\xb5\x2f\xfd": "zstd",
    rb"BZh[1-9](\x31\x41\x59\x26\x53\x59|\x17\x72\x45\x38\x50\x90)": "bzip2",
    rb"\xfd7zXZ\x00": "xz",
}
_FORMATS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npy": "npy",
    ".npz": "npy",
    ".txt": "text",
    ".docx": "text",
    ".pdf": "text",
}
_KINDS = {
    "NoneType": "null",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "str": "a string",
    "list": "an array",
    "dict": "an object",
}


class Reject(NamedTuple):
    """A bad row that was skipped: its file, its line or row from 1, and the reason.

    The line is None if the whole file is bad.
    """

    path: str
    line: int | None
    reason: str

    def moved(self, lines_before: Mapping[str, int]) -> Reject:
        """Return the row with its line in the file, given the lines before what was read of it."""
        if self.line is None:
            return self
        return self._replace(line=lines_before.get(self.path, 0) + self.line)

    @classmethod
    def of(cls, fault: DataError, on_error: OnError) -> Reject:
        """Return a fault as a row that is skipped; raise it if bad rows stop the run."""
        if on_error == "stop":
            raise fault
        return cls(fault.path, fault.line, fault.reason)


@dataclass(frozen=True)
class Layout:
    """The columns and options of reading; see `open_corpus` for the fields.

    `remedy` is the advice about rows that are too long.
    """

    column: ColumnNames = "text"
    id_column: str | None = None
    order_column: str | None = None
    glob: str | None = None
    on_error: OnError = "stop"
    batch_bytes: int = 8 << 20
    unique_ids: bool = True
    encoding: str = "utf-8"
    format: Format | None = None
    max_row_bytes: int = MAX_ROW_BYTES
    output: Format | None = None
    delimiter: str | None = None
    max_columns: int = MAX_COLUMNS
    added: tuple[str, ...] = ()
    remedy: str = "max_row_bytes (--max-row-bytes) raises this limit"
    by: str | None = None
    exact_key: str | None = None
    kind: Kind = "text"
    weights: bool = False
    zstd_window: int | str | None = None

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            raise ValueError(
                f"on_error must be 'stop' or 'skip', not {self.on_error!r}"
            )
        for name in ("batch_bytes", "max_row_bytes", "max_columns"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} must be at least 1, not {getattr(self, name)}"
                )
        for name in ("format", "output"):
            value = getattr(self, name)
            if value is not None and value not in get_args(Format):
                raise ValueError(
                    f"{name} must be one of {', '.join(get_args(Format))}, not {value!r}"
                )
        if self.key_column == "":
            raise ValueError(
                f"exact_key must name a column, COLUMN or url:COLUMN, not {self.exact_key!r}"
            )
        object.__setattr__(self, "column", checked_columns(self.column))
        object.__setattr__(self, "zstd_window", checked_window(self.zstd_window))
        object.__setattr__(self, "added", tuple(self.added))
        object.__setattr__(self, "encoding", checked_encoding(self.encoding))
        object.__setattr__(self, "delimiter", checked_delimiter(self.delimiter))

    @property
    def window_bytes(self) -> int:
        """Return the largest window of Zstandard data that is decompressed."""
        return checked_window(self.zstd_window)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns of the texts, mostly one."""
        return names_of(self.column)

    @cached_property
    def column_name(self) -> str:
        """Return the names of the columns of the texts as one, for messages."""
        return shown_columns(self.column)

    @cached_property
    def joins(self) -> bool:
        """Return whether texts are joined from several columns, or from elements of lists."""
        return self.kind == "text" and is_joined(self.column)

    @cached_property
    def keys(self) -> list[str]:
        """Return the names of the id column and the order column, if any."""
        names = []
        if self.id_column is not None:
            names.append(self.id_column)
        if self.order_column is not None:
            names.append(self.order_column)
        return names

    @cached_property
    def recorded(self) -> list[str]:
        """Return the columns whose values are recorded: `keys`, `by`, and that of exact keys."""
        others = (self.by, self.key_column)
        return [*self.keys, *(name for name in others if name is not None)]

    @property
    def key_column(self) -> str | None:
        """Return the column of exact keys, None without one."""
        return None if self.exact_key is None else column_of_keys(self.exact_key)

    @property
    def of_blocks(self) -> tuple[str | None, ...]:
        """Return the columns of ids, order values, values of `by` and exact keys of a `Block`."""
        return self.id_column, self.order_column, self.by, self.key_column

    @property
    def columns_of_options(self) -> dict[str, str]:
        """Return the columns of `of_blocks` by the options that name them."""
        names = "id_column", "weight" if self.weights else "keep", "by", "exact_key"
        return {
            name: column
            for name, column in zip(names, self.of_blocks, strict=True)
            if column is not None
        }

    @property
    def of_texts(self) -> Layout:
        """Return this layout without columns whose values are recorded."""
        return replace(self, id_column=None, order_column=None, by=None, exact_key=None)

    @property
    def judged(self) -> bool:
        """Return whether there are rows of JSONL that the output cannot hold."""
        return self.output in ("csv", "tsv", "parquet") or (
            self.output is not None and bool(self.added)
        )

    @property
    def typed(self) -> bool:
        """Return whether the output has types, so that CSV cells are converted."""
        return self.output in ("jsonl", "parquet")


# Where the number of the lines of a text is remembered, in `File.detected`.
LINES = "lines"


@dataclass(frozen=True)
class File:
    """One input file: its name in messages and keys, its format, and its state when listed."""

    path: str
    name: str
    format: Format
    codec: str | None
    source: Source
    size: int  # bytes
    version: object  # changes with the content, like the size
    layout: Layout
    # Of columns whose cells are converted, in CSV.
    types: Mapping[str, CellType] = field(default_factory=dict)
    # What was detected while it was read, such as its delimiter; copies share it.
    detected: dict[str, str] = field(default_factory=dict, compare=False)
    beside: Mapping[str, int] = field(
        default_factory=dict, compare=False
    )  # see `left_out_of`
    # The row groups of Parquet that are read; None for all.
    row_groups: tuple[int, int] | None = None
    # The lines before those of a range of bytes; None if they are not known yet.
    lines_before: int | None = 0

    @property
    def location(self) -> str:
        """The path, or the URL of a file of another file system."""
        source = (
            self.source.whole if isinstance(self.source, ByteRange) else self.source
        )
        return source.url if isinstance(source, RemoteFile) else self.path

    def fault(self, line: int | None, reason: str) -> DataError:
        """Return an error that names this file, and a line of what is read of it.

        Where bad rows are skipped, and the lines before a range of bytes are not known yet, the
        line is counted from its beginning; `Corpus.restore` adds those before it.
        """
        is_later_known = self.layout.on_error == "skip" and self.lines_before is None
        if line is None or is_later_known:
            return DataError(self.name, line, reason, self.columnar)
        return self.fault_in_file(line, reason)

    def fault_in_file(self, line: int, reason: str) -> DataError:
        """Return an error that names a line of what is read by its number in the file.

        If the lines before a range of bytes cannot be read, the reason says where it begins.
        """
        try:
            number = self.line_in_file(line)
        except OSError as error:
            assert isinstance(self.source, ByteRange)
            place = f"line {line} from byte {self.source.start} on"
            cause = f"the lines before were not counted: {reason_of(error)}"
            return DataError(
                self.name, None, f"{reason} ({place}; {cause})", self.columnar
            )
        return DataError(self.name, number, reason, self.columnar)

    def line_in_file(self, line: int) -> int:
        """Return the number in the file of a line of what is read of it."""
        before = self.lines_before
        if before is None:
            assert isinstance(self.source, ByteRange)
            before = self.source.lines_before
        return before + line

    def changed(self) -> DataError:
        """Return the error for a file whose content is not the one that was listed or read."""
        return self.fault(None, "changed while it was in use")

    def check_unchanged(self) -> None:
        """Raise DataError if the content is not the one that was listed."""
        try:
            now = self.source.state()
        except OSError as error:
            raise self.fault(None, f"cannot be read: {reason_of(error)}") from error
        if now != (self.size, self.version):
            raise self.changed()

    @property
    def delimited(self) -> bool:
        """Return whether the file is CSV or TSV."""
        return self.format in ("csv", "tsv")

    @property
    def columnar(self) -> bool:
        """Return whether the file has record batches of Arrow: Parquet, or Arrow's own formats."""
        return self.format in COLUMNAR


@dataclass
class Block:
    """Some consecutive rows of one file, good and bad, before they are numbered."""

    # The values of bad rows are ignored. Of other kinds than texts, a column or Python values.
    texts: Any
    lines: Sequence[int] | Rows
    size: int = 0  # approximate bytes of text
    position: int = 0  # bytes of the file on disk read so far
    bad: dict[int, str] = field(default_factory=dict)  # index in the block: reason
    # Empty, like the next three, if no column is recorded.
    ids: list[Any] = field(default_factory=list)
    orders: list[Any] = field(default_factory=list)
    values: list[Any] = field(
        default_factory=list
    )  # in the column of `by`; None for a missing one
    exact_keys: list[Any] = field(default_factory=list)
    spans: tuple[Rows, Rows] | None = (
        None  # where each line begins and ends; None if it cannot be read there
    )
    raw: Iterable[
        bytes | memoryview
    ] = ()  # the lines of JSONL, valid until the next block


def checked_delimiter(name: str | None) -> str | None:
    """Return the delimiter with this name; raise ValueError if it cannot separate cells."""
    character = "\t" if name in ("tab", "\\t") else name
    if character is None or (
        len(character) == 1 and character.isascii() and character not in '"\r\n\0'
    ):
        return character
    raise ValueError(
        f"delimiter must be one ASCII character (no quote, line end or NUL) or 'tab', not {name!r}"
    )


@contextmanager
def steady(file: File) -> Iterator[None]:
    """Check before and after the block that a file has not changed since it was listed."""

    file.check_unchanged()
    yield
    file.check_unchanged()


def file_format(path: PathLike) -> tuple[Format, str | None] | None:
    """Return format and compression by a file's name; None for an unknown suffix."""
    codec = codec_of(path)
    stem = os.path.splitext(os.fspath(path))[0] if codec else os.fspath(path)
    kind = _FORMATS.get(os.path.splitext(stem)[1].lower())
    return None if kind is None or (codec and kind in COLUMNAR) else (kind, codec)


def codec_of(path: PathLike) -> str | None:
    """Return the compression by a file's name."""
    return CODECS.get(os.path.splitext(os.fspath(path))[1].lower())


def codec_of_bytes(head: bytes) -> str | None:
    """Return the compression by the first ten bytes of a file."""
    for start, codec in _MAGIC.items():
        if re.match(start, head, re.DOTALL):
            return codec
    return None


def reason_of(error: OSError) -> str:
    """Return a short reason for the error; errors of remote file systems often have no message."""
    if isinstance(error, FileNotFoundError):
        return os.strerror(errno.ENOENT) + nearest_file(error)
    if (
        error.errno == errno.EACCES
        and error.filename is not None
        and error.strerror == os.strerror(errno.EACCES)
    ):
        return f"{error.strerror}: its owner decides who may read it (chmod)"
    return error.strerror or str(error) or type(error).__name__


def long_row(file: File) -> str:
    """Return the message for a row of more than `Layout.max_row_bytes`."""
    return (
        f"a row of more than {file.layout.max_row_bytes:,} bytes; {file.layout.remedy}"
    )


@contextmanager
def content_faults(file: File, what: str) -> Iterator[None]:
    """Raise any error of the libraries that read the bytes of a file as one that names the file.

    Which errors damaged bytes raise is not documented: of numpy they are tokenize.TokenError and
    SyntaxError, too.
    """
    try:
        yield
    except (DataError, ImportError):
        raise
    except MemoryError as error:
        if str(error):
            raise
        raise MemoryError(
            f"{file.name}: its rows, or lengths in a damaged file"
        ) from error
    except Exception as error:
        raise file.fault(
            None, f"cannot be read as {what}: {content_reason(error)}"
        ) from error


def content_reason(error: Exception) -> str:
    """Return the first line of an error of a library, shortened: some quote their input."""
    reason = reason_of(error) if isinstance(error, OSError) else str(error)
    line = reason.strip().partition("\n")[0] or type(error).__name__
    return line if len(line) <= MOST_REASON else f"{line[:MOST_REASON]}..."


def kind_of(value: Any) -> str:
    """Return the name of a value's JSON type, with its article."""
    return _KINDS.get(type(value).__name__, type(value).__name__)


def is_int64(value: Any) -> bool:
    """Return whether a value is an int (not a bool) that fits 64 bits."""
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def is_id(value: Any) -> bool:
    """Return whether a value is a str, or an int (not a bool) that fits 64 bits, signed or not."""
    return type(value) is str or (type(value) is int and -(1 << 63) <= value < 1 << 64)


def column_index(file: File, names: Sequence[str], name: str) -> int:
    """Return the index of the column with this name; it must be unique."""
    if list(names).count(name) != 1:
        fault = "more than one column" if name in names else "no column"
        raise file.fault(None, no_column(name, names, fault))
    return list(names).index(name)
