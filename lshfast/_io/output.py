"""Outputs: checks of their paths, and compression by their names."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from lshfast._common.atomic_files import atomic_file
from lshfast._common.choices import OutputFormat as OutputFormat
from lshfast._common.extras import optional
from lshfast._common.types import PathLike
from lshfast._common.visible import printable
from lshfast._io.files import Format, checked_delimiter, codec_of, file_format
from lshfast._io.remote_output import check_remote, local_path, open_remote
from lshfast._io.sources import check_local, is_url, location_of
from lshfast._io.streams import (
    STANDARD_ERROR,
    is_stream,
    is_terminal,
    open_stream,
    standard,
)

# What is written in a thread goes to it in blocks of this many bytes, and waits up to as many.
BLOCK_BYTES = 1 << 20
BEHIND_BYTES = 1 << 23

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

    @classmethod
    def of(cls, path: PathLike) -> Output:
        """Return a path as an output; one that is an output already stays as it is."""
        return path if isinstance(path, Output) else cls(os.fspath(path))

    def styled(self, delimiter: str | None, bom: bool) -> Output:
        """Return this output with another delimiter, and with a byte order mark or without."""
        return Output(self, self.kind, self.defuse, delimiter, bom)

    @cached_property
    def format_and_codec(self) -> tuple[Format, str | None]:
        """The format and the compression: `kind`, or by the name; ValueError for an unknown one."""
        if self.kind is not None:
            return self.kind, None if self.kind == "parquet" else codec_of(self)
        format_and_codec = file_format(self)
        if format_and_codec is None and self.is_stream:
            raise ValueError(
                f"{printable(self)}: a pipe needs output_format (--output-format)"
            )
        if format_and_codec is None or format_and_codec[0] in ("text", "arrow", "npy"):
            name = printable(self)
            if os.path.isdir(self):
                raise IsADirectoryError(is_folder(name))
            kinds = ".jsonl, .csv, .tsv (also .gz, .zst, .bz2, .xz) or .parquet"
            step = "output_format (--output-format) says what it is"
            if format_and_codec is not None and format_and_codec[0] == "npy":
                step = (
                    ".parquet holds vectors; in Python, vectors[lshfast.dedup(vectors).keep] is "
                    "an array"
                )
            raise ValueError(f"{name}: unknown kind of output: not {kinds}; {step}")
        return format_and_codec

    @cached_property
    def is_stream(self) -> bool:
        """Whether it is a standard stream or a named pipe."""
        return is_stream(self)

    @cached_property
    def location(self) -> str:
        """The same name for all paths and URLs of a file, or for a standard stream."""
        return standard(self) or location_of(self)

    @cached_property
    def local_path(self) -> str | None:
        """The path, also of a file URL; None for another URL; OSError if it is not writable."""
        return local_path(self) if is_url(self) else self

    @property
    def csv_style(self) -> CsvStyle:
        """How it is written if it is CSV or TSV."""
        is_tsv = self.format_and_codec[0] == "tsv"
        delimiter = "\t" if is_tsv else self.delimiter or ","
        return CsvStyle(delimiter, self.defuse, self.bom)


class CsvStyle(NamedTuple):
    """How CSV or TSV is written: delimiter, escaped formulas, byte order mark."""

    delimiter: str = ","
    defuse: bool = False
    bom: bool = False


def output_format(path: PathLike) -> tuple[Format, str | None]:
    """Return format and compression of an output, by its name or as an `Output` has them."""
    return Output.of(path).format_and_codec


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
    output = Output.of(path)
    _check_output(output, _locations_of(inputs, [output]), overwrite)


def check_outputs(
    paths: Iterable[str | None],
    inputs: Iterable[PathLike] = (),
    overwrite: bool = False,
) -> list[str]:
    """Check several outputs, which must be different; return those that are not None."""
    outputs = [Output.of(path) for path in paths if path is not None]
    locations = _locations_of(inputs, outputs)
    for output in outputs:
        _check_output(output, locations, overwrite)
    check_different(outputs)
    return [*outputs]


def _check_output(output: Output, locations: Collection[str], overwrite: bool) -> None:
    """Check an output as `check_output` does, given the `locations` of the inputs."""
    if output.format_and_codec[0] == "parquet" and is_terminal(output):
        raise ValueError(
            "Parquet is not for a terminal; output_format (--output-format) chooses another format"
        )
    if not output.is_stream:
        _check_file(output, locations, overwrite)


def check_different(paths: Sequence[str]) -> None:
    """Raise ValueError if two outputs are one file."""
    locations = set()
    for path in paths:
        location = Output.of(path).location
        if location in locations:
            raise ValueError(f"{path}: two outputs of one name")
        locations.add(location)


def check_file(
    path: PathLike,
    inputs: Iterable[PathLike] = (),
    overwrite: bool = False,
) -> None:
    """Check that a file or a URL can be written, as `check_output` does, but for any suffix."""
    output = Output.of(path)
    _check_file(output, _locations_of(inputs, [output]), overwrite)


def _check_file(path: Output, locations: Collection[str], overwrite: bool) -> None:
    """Check a file or a URL as `check_file` does, given the `locations` of the inputs."""
    local = path.local_path
    _check_no_input(path, locations)
    if local is None:
        check_remote(path, overwrite)
    else:
        _check_local(local, overwrite)


def check_place(
    path: PathLike,
    inputs: Iterable[PathLike] = (),
    overwrite: bool = False,
) -> None:
    """Check that a local file can be written, as `check_output` does, but for any suffix."""
    place = os.fspath(path)
    check_local(place, "this output must be a local file")
    output = Output.of(place)
    _check_no_input(output, _locations_of(inputs, [output]))
    _check_local(place, overwrite)


def _check_local(path: str, overwrite: bool) -> None:
    """Check that a local file can be written."""
    name = printable(path)
    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    if os.path.isdir(real):
        raise IsADirectoryError(is_folder(name))
    if os.path.exists(real) and not os.path.isfile(real):
        raise OSError(f"{name}: the output is a device, pipe or socket, not a file")
    if os.path.lexists(real) and not overwrite:
        raise FileExistsError(
            f"{name}: the output exists already; overwrite=True replaces it"
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


def _locations_of(inputs: Iterable[PathLike], outputs: Iterable[Output]) -> set[str]:
    """Return the locations of the inputs, which are compared with outputs that are no streams."""
    if all(output.is_stream for output in outputs):
        return set()
    return {location_of(os.fspath(path)) for path in inputs}


def _check_no_input(path: Output, locations: Collection[str]) -> None:
    """Raise ValueError if an output is one of the inputs, which have these locations."""
    if path.location in locations:
        raise ValueError(
            f"{printable(path)}: the output is one of the inputs; give it another name"
        )


@contextmanager
def open_output(
    path: PathLike, overwrite: bool, at_once: bool = False
) -> Iterator[Any]:
    """Open an output with `open_file` or `open_stream`, compressed according to its name."""
    output = Output.of(path)
    _, codec = output.format_and_codec
    opened = (
        open_stream(output, at_once)
        if output.is_stream
        else open_file(output, overwrite)
    )
    with opened as raw, _compressed(raw, codec) as stream:
        yield stream


def open_file(path: str, overwrite: bool) -> AbstractContextManager[BinaryIO]:
    """Open a file or a URL that appears whole: with `atomic_file` or `open_remote`."""
    local = Output.of(path).local_path
    if local is None:
        return open_remote(path, overwrite)
    return atomic_file(local, overwrite)


@contextmanager
def write_behind(stream: Any) -> Iterator[Any]:
    """Write to a stream in a thread, so that reading and compression overlap."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        behind = _Behind(stream, pool)
        yield behind
        behind.finish()


class _Behind:
    """The stream of `write_behind`. What it gets is copied.

    An error in the thread is raised by a later call.
    """

    def __init__(self, stream: Any, pool: ThreadPoolExecutor) -> None:
        self._stream = stream
        self._pool = pool
        self._block = bytearray()
        self._pending: deque[tuple[Future[Any], int]] = deque()
        self._pending_bytes = 0

    def write(self, data: bytes | memoryview) -> int:
        self._block += data
        if len(self._block) >= BLOCK_BYTES:
            self._submit()
        return len(data)

    def finish(self) -> None:
        """Wait until all is written."""
        self._submit()
        while self._pending:
            self._wait()

    def _submit(self) -> None:
        block = self._block
        self._block = bytearray()
        while self._pending and self._pending_bytes + len(block) > BEHIND_BYTES:
            self._wait()
        self._pending.append((self._pool.submit(self._stream.write, block), len(block)))
        self._pending_bytes += len(block)

    def _wait(self) -> None:
        """Wait until the oldest block is written."""
        future, nbytes = self._pending.popleft()
        self._pending_bytes -= nbytes
        future.result()


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
