"""Standard output and named pipes as outputs.

They get nothing before the run has succeeded up to the writing of rows. What is found during the
run is held in a temporary file until then. A terminal gets control characters as escapes.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from lshfast._common.atomic_files import publish_at_end
from lshfast._common.container import write_all
from lshfast._common.types import PathLike
from lshfast._common.visible import visible

STANDARD_ERROR = "/dev/stderr"
_STANDARD = {"-": "stdout", "/dev/stdout": "stdout", STANDARD_ERROR: "stderr"}


def standard(path: PathLike) -> str | None:
    """Return "stdout" or "stderr" if a path means this stream."""
    return _STANDARD.get(os.fspath(path))


def is_terminal(path: PathLike) -> bool:
    """Return whether a path means a standard stream that is a terminal."""
    stream = getattr(sys, standard(path) or "", None)
    return stream is not None and bool(stream.isatty())


def is_stream(path: PathLike) -> bool:
    """Return whether a path means a standard stream or a named pipe."""
    try:
        return standard(path) is not None or stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


@contextmanager
def open_stream(path: PathLike, at_once: bool) -> Iterator[Any]:
    """Open a standard stream or a named pipe for writing.

    With `at_once`, bytes are written immediately. Otherwise, they are written when the block, or
    the block of `all_or_none` around it, ends without an error.
    """
    if at_once:
        with _opened(path) as out:
            yield _Counted(out)
        return
    import tempfile

    copy = _Held(path, tempfile.TemporaryFile())  # noqa: SIM115
    try:
        yield copy.file
    except BaseException:
        copy.discard()
        raise
    publish_at_end(copy)


@contextmanager
def _opened(path: PathLike) -> Iterator[Any]:
    name = standard(path)
    if name is None:
        with open(path, "wb") as out:
            yield out
        return
    text = getattr(sys, name)
    if text is None:
        raise OSError(f"there is no {name}")
    text.flush()
    # With PYTHONUNBUFFERED, a standard stream has no buffer.
    stream = (
        _Whole(text.buffer) if isinstance(text.buffer, io.RawIOBase) else text.buffer
    )
    yield _Terminal(stream) if is_terminal(path) else stream
    stream.flush()


class _Whole:
    """A stream without a buffer whose writes take all bytes or fail.

    A write of a plain file may take only some.
    """

    def __init__(self, stream: io.RawIOBase) -> None:
        self._stream = stream
        self.flush = stream.flush

    def write(self, data: Any) -> int:
        write_all(self._stream, data)
        return memoryview(data).nbytes


class _Terminal:
    """A stream that shows the control characters of UTF-8 as escapes."""

    def __init__(self, stream: BinaryIO | _Whole) -> None:
        self._stream = stream
        self.flush = stream.flush
        self._decode = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode

    def write(self, data: Any) -> int:
        self._stream.write(visible(self._decode(bytes(data)), lines=True).encode())
        return memoryview(data).nbytes


class _Held:
    """The bytes for a stream, in a temporary file."""

    def __init__(self, path: PathLike, file: Any) -> None:
        self.file = file
        self._path = path

    def publish(self) -> None:
        """Write all bytes to the stream."""
        import shutil

        self.file.seek(0)
        with _opened(self._path) as out:
            shutil.copyfileobj(self.file, out, 1 << 20)

    def discard(self) -> None:
        """Remove the temporary file."""
        self.file.close()


class _Counted:
    """A stream that knows its position, which pyarrow asks for, and that its user cannot close."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._at = 0
        self.closed = False
        self.flush = stream.flush

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._stream.write(data)
        self._at += size
        return size

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        self.flush()
