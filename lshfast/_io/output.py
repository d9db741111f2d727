"""Outputs: checks of their paths, and compression by their names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from lshfast._common.atomic_files import atomic_file, printable
from lshfast._common.choices import OutputFormat as OutputFormat
from lshfast._common.extras import optional
from lshfast._common.types import PathLike
from lshfast._io.files import Format, checked_delimiter, codec_of, file_format
from lshfast._io.remote_output import check_remote, local_path, location_of, open_remote
from lshfast._io.sources import is_url
from lshfast._io.streams import (
    STANDARD_ERROR,
    is_stream,
    is_terminal,
    open_stream,
    standard,
)

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


class Output(str):
    """The path of an output, with options of writing it.

    Attributes
    ----------
    kind : {"jsonl", "csv", "tsv", "parquet"} or None
        The format, whatever the name says.
    defuse : bool
        Whether cells of CSV and TSV that a spreadsheet would run as formulas begin with an
        apostrophe.
    delimiter : str or None
        What is between the cells of CSV; None for a comma. TSV has tabs in any case.
    bom : bool
        Whether CSV and TSV begin with a byte order mark, by which Excel knows that they are UTF-8.
    """

    kind: OutputFormat | None
    defuse: bool
    delimiter: str | None
    bom: bool
    _format: tuple[Format, str | None] | None = None

    def __new__(
        cls,
        path: str,
        kind: OutputFormat | None = None,
        defuse: bool = False,
        delimiter: str | None = None,
        bom: bool = False,
    ) -> Output:
        output = super().__new__(cls, path)
        output.kind = kind
        output.defuse = defuse
        output.delimiter = checked_delimiter(delimiter)
        output.bom = bom
        return output

    def styled(self, delimiter: str | None, bom: bool) -> Output:
        """Return this output with another delimiter, and with a byte order mark or without."""
        return Output(self, self.kind, self.defuse, delimiter, bom)


class CsvStyle(NamedTuple):
    """How CSV or TSV is written: delimiter, escaped formulas, byte order mark."""

    delimiter: str = ","
    defuse: bool = False
    bom: bool = False


def csv_style(path: PathLike) -> CsvStyle:
    """Return how an output is written if it is CSV or TSV."""
    output = path if isinstance(path, Output) else Output(os.fspath(path))
    delimiter = "\t" if output_format(path)[0] == "tsv" else output.delimiter or ","
    return CsvStyle(delimiter, output.defuse, output.bom)


def rejects_beside(path: str | None) -> str | None:
    """Return the path for the rejected rows of a run: beside its output, or standard error."""
    if path is None or not standard(path):
        return path and f"{path}.rejects.jsonl"
    return Output(STANDARD_ERROR, "jsonl")


def check_output(
    path: PathLike,
    inputs: Iterable[PathLike] = (),
    overwrite: bool = False,
) -> None:
    """Check that an output can be written, before the work that produces it.

    Parameters
    ----------
    path : path
        The output: .jsonl, .csv, .tsv (each also with .gz, .zst, .bz2 or .xz) or .parquet; or an
        `Output` with a format. ``-`` is standard output; it and a named pipe need a format. It may
        be a URL, if fsspec can write there.
    inputs : paths
        Files that must never be overwritten, even if `overwrite` is true.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    ValueError
        If the name has no known suffix, or the output is one of the inputs.
    FileExistsError
        If the file exists and `overwrite` is false.
    OSError
        If the folder does not exist or is not writable, or `path` is neither a regular file nor a
        named pipe.
    """
    if output_format(path)[0] == "parquet" and is_terminal(path):
        raise ValueError(
            "Parquet is not for a terminal; output_format (--output-format) chooses another format"
        )
    if not is_stream(path):
        check_file(path, inputs, overwrite)


def check_outputs(
    paths: Iterable[str | None],
    inputs: Iterable[PathLike] = (),
    overwrite: bool = False,
) -> list[str]:
    """Check several outputs, which must be different; return those that are not None."""
    files = list(inputs)
    outputs = [path for path in paths if path is not None]
    for path in outputs:
        check_output(path, files, overwrite)
    check_different(outputs)
    return outputs


def check_different(paths: Sequence[str]) -> None:
    """Raise ValueError if two outputs are one file."""
    real = [standard(path) or location_of(path) for path in paths]
    for number, path in enumerate(paths):
        if real[number] in real[:number]:
            raise ValueError(f"{path}: two outputs of one name")


def check_file(
    path: PathLike,
    inputs: Iterable[PathLike] = (),
    overwrite: bool = False,
) -> None:
    """Check that a file or a URL can be written, as `check_output` does, but for any suffix."""
    place = os.fspath(path)
    local = local_path(place) if is_url(place) else place
    if local is not None:
        check_place(local, inputs, overwrite)
        return
    _check_no_input(place, inputs)
    check_remote(place, overwrite)


def check_place(
    path: PathLike,
    inputs: Iterable[PathLike] = (),
    overwrite: bool = False,
) -> None:
    """Check that a local file can be written, as `check_output` does, but for any suffix."""
    name = printable(os.fspath(path))
    real = os.path.realpath(path)
    if is_url(os.fspath(path)):
        raise ValueError(f"{name}: this output must be a local file, not a URL")
    folder = os.path.dirname(real)
    _check_no_input(os.fspath(path), inputs)
    if os.path.isdir(real):
        raise IsADirectoryError(is_folder(name))
    if os.path.exists(real) and not os.path.isfile(real):
        raise OSError(f"{name}: the output is a device, pipe or socket, not a file")
    if os.path.lexists(real) and not overwrite:
        raise FileExistsError(
            f"{name}: the output exists already; overwrite replaces it"
        )
    if not os.path.exists(folder):
        raise FileNotFoundError(
            f"{name}: the folder of the output does not exist; make it first"
        )
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"{name}: the folder of the output is a file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{name}: the folder of the output may not be written to")


def is_folder(name: str) -> str:
    """Return the message for an output that is a folder."""
    return f"{name}: the output is a folder; name a file in it"


def _check_no_input(path: str, inputs: Iterable[PathLike]) -> None:
    """Raise ValueError if an output is one of the inputs."""
    place = location_of(path)
    if any(location_of(os.fspath(input_path)) == place for input_path in inputs):
        raise ValueError(
            f"{printable(path)}: the output is one of the inputs; give it another name"
        )


def output_format(path: PathLike) -> tuple[Format, str | None]:
    """Return format and compression by an output's name; an `Output` remembers them."""
    if not isinstance(path, Output):
        return _format_by_name(path)
    if path._format is None:
        path._format = _format_by_name(path)
    return path._format


def _format_by_name(path: PathLike) -> tuple[Format, str | None]:
    """Return format and compression by a name, unless an `Output` has another format."""
    if isinstance(path, Output) and path.kind is not None:
        return path.kind, None if path.kind == "parquet" else codec_of(path)
    format_and_codec = file_format(path)
    if format_and_codec is None and is_stream(path):
        raise ValueError(
            f"{printable(os.fspath(path))}: a pipe needs output_format (--output-format)"
        )
    if format_and_codec is None or format_and_codec[0] in ("text", "arrow", "npy"):
        name = printable(os.fspath(path))
        if os.path.isdir(path):
            raise IsADirectoryError(is_folder(name))
        kinds = ".jsonl, .csv, .tsv (also .gz, .zst, .bz2, .xz) or .parquet"
        raise ValueError(
            f"{name}: unknown kind of output: not {kinds}; output_format (--output-format) says "
            "what it is"
        )
    return format_and_codec


@contextmanager
def open_output(
    path: PathLike, overwrite: bool, at_once: bool = False
) -> Iterator[Any]:
    """Open an output with `open_file` or `open_stream`, compressed according to its name."""
    _, codec = output_format(path)
    opened = (
        open_stream(path, at_once)
        if is_stream(path)
        else open_file(os.fspath(path), overwrite)
    )
    with opened as raw, _compressed(raw, codec) as stream:
        yield stream


def open_file(path: str, overwrite: bool) -> AbstractContextManager[BinaryIO]:
    """Open a file or a URL that appears whole: with `atomic_file` or `open_remote`."""
    local = local_path(path) if is_url(path) else path
    return (
        open_remote(path, overwrite) if local is None else atomic_file(local, overwrite)
    )


@contextmanager
def write_behind(stream: Any) -> Iterator[Any]:
    """Write to a stream in a thread, one block behind, so that reading and compression overlap."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        behind = _Behind(stream, pool)
        yield behind
        behind.wait()


class _Behind:
    """The stream of `write_behind`. An error in the thread is raised by the next call."""

    def __init__(self, stream: Any, pool: ThreadPoolExecutor) -> None:
        self._stream = stream
        self._pool = pool
        self._pending: Future[Any] | None = None

    def write(self, data: bytes) -> int:
        self.wait()
        self._pending = self._pool.submit(self._stream.write, data)
        return len(data)

    def wait(self) -> None:
        pending = self._pending
        self._pending = None
        if pending is not None:
            pending.result()


class _Unclosed:
    """A stream that stays open when its compressor is closed, so that it can be synced."""

    def __init__(self, stream: BinaryIO) -> None:
        self.write = stream.write
        self.flush = stream.flush
        self.closed = False

    def close(self) -> None:
        self.flush()


@contextmanager
def _compressed(raw: BinaryIO, codec: str | None) -> Iterator[Any]:
    if codec == "gzip":
        import gzip

        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
            yield stream
    elif codec == "bzip2":
        import bz2

        with bz2.BZ2File(raw, "wb") as stream:
            yield stream
    elif codec == "xz":
        import lzma

        with lzma.LZMAFile(raw, "wb") as stream:
            yield stream
    elif codec == "zstd":
        with optional("pyarrow").CompressedOutputStream(
            _Unclosed(raw), "zstd"
        ) as stream:
            yield stream
    else:
        yield raw
