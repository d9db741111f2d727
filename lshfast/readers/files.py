"""What all readers share: an input file and its rows, faults with their place, and small helpers."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Rows: TypeAlias = npt.NDArray[np.int64]

_CODECS = {".gz": "gzip", ".zst": "zstd"}
_FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_KINDS = {
    "NoneType": "null",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "str": "a string",
    "list": "an array",
    "dict": "an object",
}


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


@dataclass(frozen=True)
class Layout:
    """What to read from the inputs, and how; see `open_corpus` for the fields."""

    column: str = "text"
    id_column: str | None = None
    order_column: str | None = None
    glob: str = "**/*.txt"
    on_error: str = "stop"
    batch_bytes: int = 8 << 20
    unique_ids: bool = True

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


@contextmanager
def steady(file: File) -> Iterator[None]:
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


@cache
def optional(module: str, extra: str = "cli") -> Any:
    """Import a module of an extra, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{module.partition('.')[0]} is missing: install lshfast[{extra}]") from error


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


def not_utf8(error: UnicodeDecodeError, where: str) -> str:
    """Say where bytes are not UTF-8."""
    return f"not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start} of {where}"


def column_index(file: File, names: Sequence[str], name: str) -> int:
    """Find the one column of that name."""
    if list(names).count(name) != 1:
        fault = "more than one column" if name in names else "no column"
        raise file.fault(None, f"{fault} {name!r}; columns are: {', '.join(names)}")
    return list(names).index(name)
