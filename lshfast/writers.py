"""Writers: pass two of a corpus, and small tables.

A file is written under a hidden name in its folder, synced and renamed, so that under its own name it is
whole or not there. Rows are copied as they stand where input and output have one format. Only a change of
format goes through values, and then a value that the output cannot hold is an error that names its place.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import secrets
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from lshfast.readers import (
    Corpus,
    DataError,
    File,
    Reject,
    Rows,
    csv_header,
    file_format,
    is_int64,
    iso_times,
    json_object,
    kind_of,
    no_constant,
    optional,
    parquet_file,
    printable,
)

__all__ = ["atomic_file", "check_output", "write_rejects", "write_rows", "write_table"]

Columns = Mapping[str, Sequence[Any] | npt.NDArray[Any]]
Misfit = Callable[[int, str], DataError]  # makes the error for a value of the i-th row at hand

_GROUP_BYTES = 64 << 20  # of a Parquet row group, before compression


def check_output(
    path: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> None:
    """Check that an output can be written, before the work whose result it is to hold.

    Parameters
    ----------
    path : path
        The output: .jsonl, .csv (each also with .gz or .zst) or .parquet.
    inputs : paths
        Files that must not be written over, whatever `overwrite` says.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    ValueError
        If the name is of no known format, or the output is one of the inputs.
    FileExistsError
        If the file exists and `overwrite` is false.
    FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError
        If there is no such folder, `path` is a folder itself, or the folder may not be written to.
    """
    name, real = printable(os.fspath(path)), os.path.realpath(path)
    folder = os.path.dirname(real)
    _format_of(path)
    if any(os.path.realpath(given) == real for given in inputs):
        raise ValueError(f"{name}: the output is one of the inputs")
    if os.path.isdir(real):
        raise IsADirectoryError(f"{name}: the output is a folder")
    if os.path.lexists(real) and not overwrite:
        raise FileExistsError(f"{name}: the output exists already; overwrite replaces it")
    if not os.path.exists(folder):
        raise FileNotFoundError(f"{name}: the folder of the output does not exist")
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"{name}: the folder of the output is a file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{name}: the folder of the output may not be written to")


def write_rows(
    corpus: Corpus,
    out: str | os.PathLike[str],
    *,
    keep: npt.NDArray[np.bool_],
    annotations: Columns | None = None,
    overwrite: bool = False,
    progress: Callable[[int], object] | None = None,
) -> None:
    """Read a corpus again and write the rows to keep, in input order, with all their columns.

    JSONL to JSONL copies lines byte for byte, except a byte order mark and line ends, which become LF.
    Parquet to Parquet keeps schema and metadata. CSV to CSV keeps all fields. A file of a folder is the row
    ``{"id": path, "text": text}``. Where Parquet becomes JSONL or CSV, dates and times become ISO 8601
    strings; where it becomes JSONL, which has no NaN and no infinity, those become null.

    Parameters
    ----------
    corpus : Corpus
        Read to its end by `Corpus.batches`.
    out : path
        The output; its name says format and compression.
    keep : bool array of shape (corpus.accepted,)
        Which rows to write.
    annotations : mapping of str to sequences of length corpus.accepted, optional
        Columns to add: a value or None for each row, kept or not.
    overwrite : bool
        Whether an existing file is replaced; never an input.
    progress : callable, optional
        Called with the bytes on disk passed since the last call; they sum to ``corpus.total_bytes``.

    Raises
    ------
    DataError
        If an input changed, a column has the name of an annotation, or columns do not fit with those of
        another input or into the output's format.
    ValueError
        If the corpus was not read to its end, `keep` or an annotation has the wrong length or type, or the
        output is an input.
    OSError
        As `check_output` and `atomic_file` say.
    """
    if not corpus.complete:
        raise ValueError("the corpus has not been read to its end")
    keep, extra = np.asarray(keep), dict(annotations or {})
    if keep.dtype != np.bool_ or keep.shape != (corpus.accepted,):
        raise ValueError(f"keep must be bool of shape ({corpus.accepted},), not {keep.dtype} {keep.shape}")
    for name, values in extra.items():
        if len(values) != corpus.accepted:
            raise ValueError(f"annotation {name!r} has {len(values)} values for {corpus.accepted} rows")
    check_output(out, (file.path for file in corpus.files), overwrite)
    kind, codec = _format_of(out)
    copy = _Copy(corpus, keep, extra, progress or (lambda size: None), printable(os.fspath(out)))
    write = {"jsonl": _write_jsonl, "csv": _write_csv, "parquet": _write_parquet}[kind]
    with atomic_file(out, overwrite) as raw, _compressed(raw, codec) as stream:
        write(copy, stream)


def write_table(path: str | os.PathLike[str], columns: Columns, overwrite: bool = False) -> None:
    """Write a small table as .csv, .jsonl (each also .gz, .zst) or .parquet.

    Parameters
    ----------
    path : path
        The output.
    columns : mapping of str to arrays or sequences of one length
        Strings, integers, floats (NaN is null in JSONL), bools; None where there is no value.
    overwrite : bool
        Whether an existing file is replaced.

    Raises
    ------
    ValueError
        If columns differ in length, or hold what the format cannot.
    OSError
        As `check_output` and `atomic_file` say.
    """
    check_output(path, overwrite=overwrite)
    (kind, codec), name = _format_of(path), printable(os.fspath(path))
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise ValueError(f"columns must be of one length, not {sorted(lengths)}")

    def misfit(i: int, reason: str) -> DataError:
        return DataError(name, i + 1, reason, True)

    with atomic_file(path, overwrite) as raw, _compressed(raw, codec) as stream:
        if kind == "parquet":
            pa = optional("pyarrow")
            arrays = {key: _array(_plain(values), None, key, misfit) for key, values in columns.items()}
            with _parquet_writer(stream, pa.table(arrays).schema, name) as writer:
                writer.write_table(pa.table(arrays))
            return
        starts = range(0, max(lengths, default=0), 4096)
        parts = ([_plain(values[at : at + 4096]) for values in columns.values()] for at in starts)
        rows = (dict(zip(columns, row, strict=True)) for part in parts for row in zip(*part, strict=True))
        if kind == "csv":
            stream.write(_csv_line(columns))
            _write_lines(stream, _each(_csv_row, rows, misfit))
        else:
            _write_lines(stream, _each(lambda row: _json_line(row) + b"\n", rows, misfit))


def write_rejects(path: str | os.PathLike[str], rejected: Iterable[Reject], overwrite: bool = False) -> None:
    """Write rejected rows as JSONL of file, line (or null) and reason; raise as `write_table` does."""
    if _format_of(path)[0] != "jsonl":
        raise ValueError(f"{printable(os.fspath(path))}: rejected rows are written as .jsonl")
    rows = list(rejected)
    names = {"file": "path", "line": "line", "reason": "reason"}
    write_table(path, {name: [getattr(r, part) for r in rows] for name, part in names.items()}, overwrite)


# Files


@contextmanager
def atomic_file(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a file that stands under its name, whole, when the block has ended, and is not there before.

    Parameters
    ----------
    path : path
        The final name. A symbolic link is followed.
    overwrite : bool
        Whether a file of that name is replaced.

    Yields
    ------
    BinaryIO
        A binary stream. If the block raises (KeyboardInterrupt included), what it wrote is removed.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is false, also if it came into being meanwhile.
    OSError
        If it cannot be written (disk full, say); the message names the final path.
    """
    name, real = printable(os.fspath(path)), os.path.realpath(path)
    folder, base = os.path.split(real)
    hidden = os.path.join(folder, f".{base[:40]}.{secrets.token_hex(8)}.part")
    with _named(name):
        raw = _NamedFile(hidden, name)
    try:
        stream = io.BufferedWriter(raw, 1 << 20)
        try:
            yield stream
            stream.flush()
            with _named(name):
                os.fsync(raw.fileno())
        finally:
            with suppress(OSError):
                stream.close()
        with _named(name):
            _rename(hidden, real, overwrite)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(hidden)
        raise


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Let a failing system call speak of the file that the user named."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from error


class _NamedFile(io.FileIO):
    """A new file whose write errors name its final path."""

    def __init__(self, hidden: str, name: str) -> None:
        super().__init__(hidden, "xb")
        self.final = name

    def write(self, data: Any, /) -> int:
        with _named(self.final):
            return super().write(data)


def _rename(hidden: str, real: str, overwrite: bool) -> None:
    """Give a file its final name, reserving it first if nothing may be replaced; sync the folder."""
    if not overwrite:
        os.close(os.open(real, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    try:
        os.replace(hidden, real)
    except BaseException:
        if not overwrite:
            os.unlink(real)
        raise
    if os.name == "posix":
        folder = os.open(os.path.dirname(real), os.O_RDONLY)
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that sync no folders
                raise
        finally:
            os.close(folder)


class _Unclosed:
    """A stream that stays open when the compressor over it is closed, to be synced after."""

    def __init__(self, stream: BinaryIO) -> None:
        self.write, self.flush, self.closed = stream.write, stream.flush, False

    def close(self) -> None:
        self.flush()


@contextmanager
def _compressed(raw: BinaryIO, codec: str | None) -> Iterator[Any]:
    if codec == "gzip":
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
            yield stream
    elif codec == "zstd":
        with optional("pyarrow").CompressedOutputStream(_Unclosed(raw), "zstd") as stream:
            yield stream
    else:
        yield raw


def _format_of(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    known = file_format(path)
    if known is None:
        name = printable(os.fspath(path))
        raise ValueError(f"{name}: unknown kind of output: not .jsonl, .csv (also .gz, .zst) or .parquet")
    return known


# Rows on their way


@dataclass
class _Copy:
    """What one run of `write_rows` copies."""

    corpus: Corpus
    keep: npt.NDArray[np.bool_]
    extra: dict[str, Any]
    tick: Callable[[int], object]
    out: str

    def __post_init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def chunks(self, ahead: bool = False) -> Iterator[tuple[File, Rows, Any]]:
        """Read the rows to keep: file, row numbers, rows as `Corpus.again` gives them.

        With `ahead`, to learn the columns: only JSONL is read, other files come once with None for rows.
        """
        for index, file in enumerate(self.corpus.files):
            first, last = self.corpus.span(index)
            rows = np.flatnonzero(self.keep[first:last]) + first
            if ahead and file.format != "jsonl":
                yield file, rows, None
                continue
            at = done = 0
            for chunk, position in self.corpus.again(index, rows):
                yield file, rows[at : at + len(chunk)], chunk
                at += len(chunk)
                if not ahead:
                    self.tick(position - done)
                    done = position
            if at != len(rows):
                raise file.fault(None, "changed while it was in use")
            if not ahead:
                self.tick(file.size - done)

    def misfit(self, file: File, rows: Rows) -> Misfit:
        """Give the maker of errors for values of these rows."""
        return lambda i, reason: file.fault(self.corpus.place(int(rows[i]))[1], reason)

    def names(self, file: File) -> list[str]:
        """Give the columns of a file that is not JSONL; none if it is empty."""
        if file.path not in self._names:
            if file.format == "text":
                names = ["id", "text"]
            else:
                names = csv_header(file) if file.format == "csv" else parquet_file(file).schema_arrow.names
            if len(set(names)) < len(names):
                raise file.fault(None, "two columns have one name")
            self._names[file.path] = self.not_taken(file, names)
        return self._names[file.path]

    def record_names(self, file: File, records: list[dict[str, Any]]) -> list[str]:
        """Give the columns of JSON rows, in the order in which they come up."""
        return self.not_taken(file, list(dict.fromkeys(name for record in records for name in record)))

    def not_taken(self, file: File, names: list[str]) -> list[str]:
        for name in self.extra:
            if name in names:
                raise file.fault(None, f"there is a column {name!r} already, so none can be added")
        return names

    def added(self, rows: Rows) -> list[dict[str, Any]]:
        """Give the annotations of some rows."""
        columns = [
            _plain(values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows])
            for values in self.extra.values()
        ]
        added = [dict(zip(self.extra, row, strict=True)) for row in zip(*columns, strict=True)]
        return added or [{} for _ in rows]

    def records(self, file: File, rows: Rows, chunk: Any, cast: Callable[[Any], Any]) -> list[dict[str, Any]]:
        """Give rows as values; `cast` turns a column of Parquet into one that the output can hold."""
        if file.format == "jsonl":
            return list(_each(_exact_object, chunk, self.misfit(file, rows)))
        names = self.names(file)
        if file.format == "csv":
            return [dict(zip(names, fields, strict=True)) for fields in chunk]
        if file.format == "text":
            return [{"id": file.name, "text": text} for text in chunk]
        values = []
        for name, column in zip(names, chunk.columns, strict=True):
            try:
                values.append(cast(column).to_pylist())
            except (optional("pyarrow").ArrowException, ValueError) as error:
                raise file.fault(None, f"column {name!r} is {column.type}: {error}") from error
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _each(convert: Callable[[Any], Any], rows: Iterable[Any], misfit: Misfit) -> Iterator[Any]:
    for i, row in enumerate(rows):
        try:
            made = convert(row)
        except (TypeError, ValueError) as error:
            raise misfit(i, str(error)) from error
        yield made


def _plain(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _write_lines(stream: Any, lines: Iterator[bytes]) -> None:
    while part := b"".join(islice(lines, 4096)):
        stream.write(part)


# JSONL


def _finite(digits: str) -> float:
    if abs(float(digits)) == float("inf"):
        raise ValueError(f"the number {digits[:30]} does not fit a double")
    return float(digits)


_EXACT = json.JSONDecoder(parse_float=_finite, parse_constant=no_constant)


def _exact_object(line: bytes) -> dict[str, Any]:
    """Parse a line by orjson, and again by the standard library where orjson would round an integer."""
    try:
        record: dict[str, Any] = optional("orjson").loads(line)
    except ValueError:
        return json_object(line, _EXACT)
    return json_object(line, _EXACT) if _has_huge(record) else record


def _has_huge(value: Any) -> bool:
    if isinstance(value, float):
        return abs(value) >= 1 << 63
    if isinstance(value, (dict, list)):
        return any(map(_has_huge, value.values() if isinstance(value, dict) else value))
    return False


def _write_jsonl(copy: _Copy, stream: Any) -> None:
    for file, rows, chunk in copy.chunks():
        lines, misfit = chunk, copy.misfit(file, rows)
        if file.format != "jsonl":
            pairs = zip(copy.records(file, rows, chunk, iso_times), copy.added(rows), strict=True)
            lines = _each(_json_line, ({**record, **more} for record, more in pairs), misfit)
        elif copy.extra:
            lines = _each(_spliced, zip(chunk, copy.added(rows), strict=True), misfit)
        stream.write(b"\n".join([*lines, b""]))


def _spliced(pair: tuple[bytes, dict[str, Any]]) -> bytes:
    """Add members to the line of a JSON object that has one already, leaving all else as it stands."""
    line, more = pair
    try:
        names = optional("orjson").loads(line)
    except ValueError:
        names = json_object(line)
    for name in more:
        if name in names:
            raise ValueError(f"there is a column {name!r} already, so none can be added")
    at = line.rindex(b"}")
    return b"".join((line[:at], b",", _json_line(more)[1:-1], line[at:]))


def _json_line(record: dict[str, Any]) -> bytes:
    return bytes(optional("orjson").dumps(record))


# CSV


def _write_csv(copy: _Copy, stream: Any) -> None:
    plain = all(file.format == "csv" for file in copy.corpus.files)
    columns: list[str] = []
    for file, rows, chunk in copy.chunks(ahead=True):
        if chunk is None:
            names = copy.names(file)
            if plain and columns and names and names != columns:
                raise file.fault(1, f"the header is not that of the inputs before: {', '.join(columns)}")
        else:
            names = copy.record_names(file, copy.records(file, rows, chunk, _csv_column))
        columns = list(dict.fromkeys([*columns, *names]))
    columns += copy.extra
    if columns:
        stream.write(_csv_line(columns))
    for file, rows, chunk in copy.chunks():
        pairs = zip(copy.records(file, rows, chunk, _csv_column), copy.added(rows), strict=True)
        whole = ({name: {**record, **more}.get(name) for name in columns} for record, more in pairs)
        _write_lines(stream, _each(_csv_row, whole, copy.misfit(file, rows)))


def _csv_row(record: dict[str, Any]) -> bytes:
    return _csv_line(_cell(name, value) for name, value in record.items())


def _csv_line(cells: Iterable[str]) -> bytes:
    """Quote what needs it: the csv module of Python 3.10 fails on NUL, and before 3.13 leaves CR bare."""
    line = ",".join('"' + c.replace('"', '""') + '"' if re.search('[",\r\n]', c) else c for c in cells)
    return ((line or '""') + "\n").encode()


def _cell(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, float) or is_int64(value):
        return repr(value)
    what = "an integer beyond 64 bits" if isinstance(value, int) else kind_of(value)
    raise ValueError(f"column {name!r} holds {what}, which CSV output cannot")


def _csv_column(column: Any) -> Any:
    types = optional("pyarrow").types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_nested(column.type) or "binary" in str(column.type):
        raise ValueError("CSV output cannot hold it")
    return iso_times(column).cast("string")


# Parquet


def _write_parquet(copy: _Copy, stream: Any) -> None:
    pa = optional("pyarrow")

    def misfit(i: int, reason: str) -> DataError:
        return DataError(*copy.corpus.place(i), reason)

    mask = pa.array(copy.keep)
    extra = [(name, _array(_plain(v), None, name, misfit).filter(mask)) for name, v in copy.extra.items()]
    schema = whole = _common_schema(copy)
    for name, array in extra:
        whole = whole.append(pa.field(name, array.type))
    batches: list[Any] = []
    at = size = 0
    with _parquet_writer(stream, whole, copy.out) as writer:
        for file, rows, chunk in copy.chunks():
            arrays = _fitted(copy, file, rows, chunk, schema)
            arrays += [array.slice(at, len(rows)) for _, array in extra]
            batches.append(pa.RecordBatch.from_arrays(arrays, schema=whole))
            at += len(rows)
            size += batches[-1].nbytes
            if size >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(batches))
                batches, size = [], 0
        if batches:
            writer.write_table(pa.Table.from_batches(batches))


@contextmanager
def _parquet_writer(stream: Any, schema: Any, name: str) -> Iterator[Any]:
    try:
        with optional("pyarrow.parquet").ParquetWriter(stream, schema, compression="zstd") as writer:
            yield writer
    except optional("pyarrow").ArrowException as error:
        raise DataError(name, None, str(error)) from error


def _common_schema(copy: _Copy) -> Any:
    """Find the schema that the rows of all inputs fit; of JSONL all rows to keep are read for it."""
    pa = optional("pyarrow")
    schema = pa.schema([])
    for file, rows, chunk in copy.chunks(ahead=True):
        records, misfit = [], copy.misfit(file, rows)
        if chunk is not None:
            records = copy.records(file, rows, chunk, iso_times)
            names = copy.record_names(file, records)
            part = pa.schema([(n, _array([r.get(n) for r in records], None, n, misfit).type) for n in names])
        else:
            part = pa.schema([(name, pa.string()) for name in copy.names(file)])
            part = parquet_file(file).schema_arrow if file.format == "parquet" else part
        try:
            schema = pa.unify_schemas([schema, part], promote_options="permissive") if len(schema) else part
        except pa.ArrowException:
            raise _clash(copy, file, rows, records, schema, part) from None
    return schema


def _clash(
    copy: _Copy, file: File, rows: Rows, records: list[dict[str, Any]], schema: Any, part: Any
) -> DataError:
    """Make the error that names the column and the row where two types do not fit."""
    pa = optional("pyarrow")
    for field in part:
        before = schema.field(field.name) if field.name in schema.names else field
        try:
            pa.unify_schemas([pa.schema([before]), pa.schema([field])], promote_options="permissive")
        except pa.ArrowException:
            reason = f"column {field.name!r} is {field.type}, but {before.type} in the rows before"
            holders = (i for i, record in enumerate(records) if record.get(field.name) is not None)
            return copy.misfit(file, rows)(next(holders), reason) if records else file.fault(None, reason)
    return file.fault(None, "columns do not fit those of the inputs before")


def _fitted(copy: _Copy, file: File, rows: Rows, chunk: Any, schema: Any) -> list[Any]:
    """Bring rows into the columns of the schema."""
    pa, misfit = optional("pyarrow"), copy.misfit(file, rows)
    if file.format != "parquet":
        records = copy.records(file, rows, chunk, iso_times)
        return [_array([r.get(f.name) for r in records], f.type, f.name, misfit) for f in schema]
    columns, arrays = dict(zip(copy.names(file), chunk.columns, strict=True)), []
    for field in schema:
        column = columns.get(field.name, pa.nulls(len(rows)))
        try:
            arrays.append(column if column.type == field.type else column.cast(field.type))
        except pa.ArrowException as error:
            raise misfit(0, f"column {field.name!r}, in this row or soon after: {error}") from error
    return arrays


def _array(values: list[Any], kind: Any, name: str, misfit: Misfit) -> Any:
    """Make an Arrow array, or the error that names the first value that does not fit with the others."""
    pa = optional("pyarrow")

    def fault(many: int) -> str:
        try:
            pa.array(values[:many], kind)
        except OverflowError:
            return "an integer is beyond 64 bits"
        except (pa.ArrowException, TypeError, ValueError) as error:
            return str(error)
        return ""

    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        many = bisect_left(range(len(values)), True, key=lambda n: bool(fault(n)))
        raise misfit(many - 1, f"column {name!r}: {fault(many)}") from error
