"""Output files: written under a hidden name in their folder, synced and renamed.

Under its own name a file is whole or not there.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, BinaryIO

from lshfast.readers.files import file_format, optional, printable


def check_output(
    path: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> None:
    """Check that an output can be written, before the work whose result it is to hold.

    Parameters
    ----------
    path : path
        The output: .jsonl, .csv, .tsv (each also with .gz, .zst, .bz2 or .xz) or .parquet.
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
    OSError
        If there is no such folder, `path` is a folder itself, or no file, or the folder may not be written to.
    """
    output_format(path)
    check_place(path, inputs, overwrite)


def check_place(
    path: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> None:
    """Check that a file of any name can be written: `check_output` without its kinds."""
    name, real = printable(os.fspath(path)), os.path.realpath(path)
    folder = os.path.dirname(real)
    if any(os.path.realpath(given) == real for given in inputs):
        raise ValueError(f"{name}: the output is one of the inputs")
    if os.path.isdir(real):
        raise IsADirectoryError(f"{name}: the output is a folder")
    if os.path.exists(real) and not os.path.isfile(real):
        raise OSError(f"{name}: the output is a device, pipe or socket, not a file")
    if os.path.lexists(real) and not overwrite:
        raise FileExistsError(f"{name}: the output exists already; overwrite replaces it")
    if not os.path.exists(folder):
        raise FileNotFoundError(f"{name}: the folder of the output does not exist")
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"{name}: the folder of the output is a file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{name}: the folder of the output may not be written to")


def output_format(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Tell format and compression from an output's name."""
    known = file_format(path)
    if known is None or known[0] == "text":
        name = printable(os.fspath(path))
        kinds = ".jsonl, .csv, .tsv (also .gz, .zst, .bz2, .xz) or .parquet"
        raise ValueError(f"{name}: unknown kind of output: not {kinds}")
    return known


@contextmanager
def open_output(path: str | os.PathLike[str], overwrite: bool) -> Iterator[Any]:
    """Open an output as `atomic_file` does, compressed as its name says."""
    _, codec = output_format(path)
    with atomic_file(path, overwrite) as raw, _compressed(raw, codec) as stream:
        yield stream


@contextmanager
def write_behind(stream: Any) -> Iterator[Any]:
    """Write to a stream in a thread of its own, one block behind: reading goes on while it compresses and writes."""
    with ThreadPoolExecutor(1) as pool:
        behind = _Behind(stream, pool)
        yield behind
        behind.wait()


class _Behind:
    """The face of `write_behind`: what fails in the thread is raised by the next call."""

    def __init__(self, stream: Any, pool: ThreadPoolExecutor) -> None:
        self._stream, self._pool = stream, pool
        self._pending: Future[Any] | None = None

    def write(self, data: bytes) -> int:
        self.wait()
        self._pending = self._pool.submit(self._stream.write, data)
        return len(data)

    def wait(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()


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
        publish = partial(_publish, hidden, real, overwrite, name)
        waiting = _waiting.get()
        if waiting is None:
            publish()
        else:
            waiting[hidden] = publish
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(hidden)
        raise


_waiting: ContextVar[dict[str, Callable[[], None]] | None] = ContextVar("_waiting", default=None)


@contextmanager
def all_or_none() -> Iterator[None]:
    """Give the files that `atomic_file` writes in the block their names when it has ended, and none if it raises."""
    waiting: dict[str, Callable[[], None]] = {}
    token = _waiting.set(waiting)
    try:
        yield
        for publish in waiting.values():
            publish()
    finally:
        _waiting.reset(token)
        for hidden in waiting:
            with suppress(FileNotFoundError):  # it has its name
                os.unlink(hidden)


def _publish(hidden: str, real: str, overwrite: bool, name: str) -> None:
    with _named(name):
        _rename(hidden, real, overwrite)


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
    elif codec == "bzip2":
        with bz2.BZ2File(raw, "wb") as stream:
            yield stream
    elif codec == "xz":
        with lzma.LZMAFile(raw, "wb") as stream:
            yield stream
    elif codec == "zstd":
        with optional("pyarrow").CompressedOutputStream(_Unclosed(raw), "zstd") as stream:
            yield stream
    else:
        yield raw
