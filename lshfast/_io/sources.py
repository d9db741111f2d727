"""Sources of the bytes of an input: a local file, a remote file system, standard input."""

from __future__ import annotations

import io
import os
import re
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from lshfast._common.extras import optional
from lshfast._common.visible import printable

# Bytes whose lines are counted at a time.
COUNTED_BYTES = 1 << 20

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::.*)?://")


class Source(Protocol):
    """Bytes that can be read several times. All methods raise OSError."""

    def state(self) -> tuple[int, object]:
        """Return the size in bytes, and a value that changes with the content."""
        ...

    def open(self) -> Any:
        """Return a seekable binary stream at the first byte."""
        ...


@dataclass(frozen=True)
class LocalFile:
    """A local file."""

    path: str

    def state(self) -> tuple[int, object]:
        now = os.stat(self.path)
        return now.st_size, now.st_mtime_ns

    def open(self) -> Any:
        return io.FileIO(self.path)


# What a web server answers for a file that it does not have.
MISSING_STATUSES = (404, 410)


@dataclass(frozen=True)
class RemoteFile:
    """A file of an fsspec file system."""

    system: Any
    path: str

    @property
    def url(self) -> str:
        """The URL of the file, which may omit the file system; compare `source_of`."""
        return str(self.system.unstrip_protocol(self.path))

    def state(self) -> tuple[int, object]:
        with remote_errors():
            info = self.system.info(self.path)
            if info["size"] is None:
                raise OSError("the server does not tell its size")
            return int(info["size"]), self._version_in(info)

    def _version_in(self, info: Mapping[str, Any]) -> object:
        """Return what changes with the content of a file.

        What else is in `info` depends on where it comes from: that of a listing and that of the
        file itself differ on S3.
        """
        for name in VERSION_FIELDS:
            if info.get(name) is not None:
                return f"{name} {info[name]}"
        return self.system.ukey(self.path)

    def open(self) -> Any:
        with remote_errors():
            return _RemoteStream(self.system.open(self.path, "rb"))


@dataclass(frozen=True)
class ByteRange:
    """The bytes from `start` to `stop` of another source, which has `size` bytes."""

    whole: LocalFile | RemoteFile
    start: int
    stop: int
    size: int

    def state(self) -> tuple[int, object]:
        size, version = self.whole.state()
        # If the whole has another size, so has this.
        return self.stop - self.start + size - self.size, version

    def open(self) -> Any:
        return _RangeStream(self.whole.open(), self.start, self.stop)

    @cached_property
    def lines_before(self) -> int:
        """The number of lines before the range, which are read for it."""
        stream = ByteRange(self.whole, 0, self.start, self.size).open()
        with closing(stream):
            pieces = iter(lambda: stream.read(COUNTED_BYTES), b"")
            return sum(piece.count(b"\n") for piece in pieces)


class _RangeStream(io.RawIOBase):
    """A reader of some bytes of a stream; positions are those in the range."""

    def __init__(self, stream: Any, start: int, stop: int) -> None:
        self._stream = stream
        self._start = start
        self._size = stop - start
        self._at = 0
        stream.seek(start)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, target: Any, /) -> int:
        room = memoryview(target).cast("B")[: max(0, self._size - self._at)]
        count = int(self._stream.readinto(room)) if len(room) else 0
        self._at += count
        return count

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        self._stream.seek(self._start + self._at)
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


# What file systems of fsspec tell of a file that changes with its content: S3, Azure and HTTP have
# ETags, Google a generation; others a time.
VERSION_FIELDS = (
    "ETag",
    "etag",
    "generation",
    "LastModified",
    "last_modified",
    "modified",
    "mtime",
)


def is_url(place: str) -> bool:
    """Return whether an input is a URL, and no path."""
    return _URL.match(place) is not None


def check_local(path: str, description: str) -> None:
    """Raise ValueError if a path is a URL; `description` says what must be on this machine."""
    if is_url(path):
        raise ValueError(f"{printable(path)}: {description}, not a URL")


def opened_url(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it."""
    core = optional("fsspec.core", "remote")
    try:
        system, path = core.url_to_fs(url)
    except ImportError as error:
        raise ImportError(
            f"{printable(url)}: {error}; install it beside lshfast[remote]"
        ) from error
    except ValueError as error:
        raise ValueError(f"{printable(url)}: {error}") from error
    return system, path


def source_of(place: str) -> LocalFile | RemoteFile:
    """Return the file with this path or URL."""
    if not is_url(place):
        return LocalFile(place)
    with remote_errors():
        return RemoteFile(*opened_url(place))


def location_of(path: str) -> str:
    """Return the same name for all paths and URLs of a file."""
    if not is_url(path):
        return os.path.realpath(path)
    try:
        system, inside = opened_url(path)
    except (ImportError, ValueError, OSError):  # fsspec alone cannot open it
        return path
    return (
        os.path.realpath(inside)
        if "file" in protocols_of(system)
        else RemoteFile(system, inside).url
    )


def protocols_of(system: Any) -> tuple[str, ...]:
    """Return the names of an fsspec file system, such as "file" and "local"."""
    protocol = system.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


class _RemoteStream(io.RawIOBase):
    """A stream of fsspec whose errors are all OSError."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, target: Any, /) -> int:
        with remote_errors():
            return int(self._stream.readinto(target))

    def seek(self, offset: int, whence: int = 0, /) -> int:
        with remote_errors():
            return int(self._stream.seek(offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


@contextmanager
def remote_errors() -> Iterator[None]:
    """Convert any exception of a remote file system, except ImportError, to OSError.

    fsspec calls a file of a web server missing whatever the server says, or if there is none.
    """
    try:
        yield
    except FileNotFoundError as error:
        reason = _reason_of_server(error.__cause__)
        if reason:
            raise OSError(reason) from error
        raise
    except (OSError, ImportError):
        raise
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


def _reason_of_server(cause: BaseException | None) -> str:
    """Return why a file of a server cannot be read, other than that it is missing; or ""."""
    status = getattr(cause, "status", None)
    if status in MISSING_STATUSES or isinstance(cause, FileNotFoundError):
        return ""
    if status is not None:
        return f"the server answers {status} {getattr(cause, 'message', '')}".rstrip()
    has_answered = getattr(cause, "response", None) is not None
    if isinstance(cause, (OSError, TimeoutError)) and not has_answered:
        return f"the server does not answer: {cause or type(cause).__name__}"
    return ""


class Spool:
    """A copy of a stream that can be read only once, in an unnamed temporary file.

    The file is deleted with this object, or when the process ends for any reason.
    """

    def __init__(self, stream: Any) -> None:
        import shutil
        import tempfile

        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        shutil.copyfileobj(stream, self._file, 1 << 20)
        self._file.flush()
        self._size = self._file.tell()
        self._lock = threading.Lock()

    def state(self) -> tuple[int, object]:
        return self._size, None

    def open(self) -> Any:
        return _SpoolStream(self)

    def read_at(self, offset: int, target: Any) -> int:
        """Read into a buffer from this offset on; return the number of bytes read."""
        with self._lock:
            self._file.seek(offset)
            return self._file.readinto(target)


class _SpoolStream(io.RawIOBase):
    """A reader of a spool with its own position."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, target: Any, /) -> int:
        size = self._spool.read_at(self._at, target)
        self._at += size
        return size

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._at = max(0, offset + (0, self._at, self._spool.state()[0])[whence])
        return self._at

    def tell(self) -> int:
        return self._at
