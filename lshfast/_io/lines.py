"""Read plain or compressed files as bytes, or as blocks of lines in one buffer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from lshfast._common.extras import optional
from lshfast._common.rows import parts_of_rows
from lshfast._io.encodings import Utf8Stream, actual_encoding
from lshfast._io.files import (
    DataError,
    File,
    Rows,
    codec_of_bytes,
    content_reason,
    long_row,
    steady,
)
from lshfast._io.sources import LocalFile, Spool
from lshfast._io.zstd_windows import (
    HEADER_BYTES,
    WINDOW_BYTES,
    WideStream,
    window_fault,
)
from lshfast.kernels.json import PADDING

BOM = b"\xef\xbb\xbf"
_LEAST = 64  # bytes of a buffer

# What libzstd says of a frame whose window is larger than it may be.
_TOO_WIDE = "too much memory"


class Lines:
    """The lines of a file as UTF-8; `encoding`, the original one, is known after a block.

    Iteration yields complete lines, about `size` bytes at a time: a buffer, start and end in it,
    position in the file. The buffer has `PADDING` more bytes, and is reused for the next lines. It
    grows to hold the longest line, up to `Layout.max_row_bytes`. A longer line is an error; if bad
    rows are skipped, it is yielded in pieces, and `unfinished` is true for all but its last.
    """

    encoding: str

    def __init__(self, file: File, size: int) -> None:
        self.encoding = file.layout.encoding
        self.count = (
            0  # lines that were read, for errors; set by the caller that counts them
        )
        self.unfinished: bool = False
        self.base: int | None = (
            None  # where the buffer begins in a local file of UTF-8; None for other files
        )
        self._file = file
        self._size = size

    def __iter__(self) -> Iterator[tuple[bytearray, int, int, int]]:
        file = self._file
        most = self._file.layout.max_row_bytes
        room = max(_LEAST, min(self._size, most, (1 << 16) + 4 * file.size)) + 1
        buffer = bytearray(room + PADDING)
        begun = False
        with opened(file) as (stream, raw):
            stream, head, self.encoding = _as_utf8(stream, self.encoding)
            in_place = stream is raw and has_places(file)
            buffer[: len(head)] = head
            have = len(head)
            searched = 0
            got = 1
            while got:
                if have == room:
                    if have <= most:
                        room += min(have, max(most, _LEAST) + 1 - have)
                        buffer = _grown(buffer, room + PADDING)
                    elif file.layout.on_error == "stop":
                        raise too_long(file, self.count + 1)
                    else:
                        self.unfinished = begun = True
                        yield buffer, 0, have, raw.tell()
                        self.unfinished = False
                        have = searched = 0
                got = stream.readinto(memoryview(buffer)[have:room])
                have += got
                end = buffer.rfind(b"\n", searched, have) + 1 if got else have
                searched = have
                if end:
                    start = 3 if not begun and buffer.startswith(BOM) else 0
                    begun = True
                    position = raw.tell()
                    self.base = position - have if in_place else None
                    yield buffer, start, end, position
                    buffer[: have - end] = buffer[end:have]
                    have -= end
                    searched = have


def has_places(file: File) -> bool:
    """Return whether bytes at an offset can be read without those before, by the file's name."""
    return file.codec is None and isinstance(file.source, (LocalFile, Spool))


def is_plain(file: File) -> bool:
    """Return whether a file is uncompressed UTF-8, judged by its first bytes."""
    with opened(file) as (stream, raw):
        return _as_utf8(stream, file.layout.encoding)[0] is raw


def whole_lines(lines: Lines) -> Iterator[tuple[bytearray, int, int, int]]:
    """Yield the blocks of `Lines`; a line that exceeds `max_row_bytes` becomes an empty range."""
    inside = False
    for buffer, start, end, position in lines:
        if lines.unfinished:
            if not inside:
                yield buffer, 0, 0, position
            inside = True
            continue
        if inside:
            inside = False
            start = buffer.find(b"\n", start, end) + 1 or end
        yield buffer, start, end, position


def _grown(buffer: bytearray, size: int) -> bytearray:
    """Copy a buffer into a larger one; the old buffer may be in use."""
    grown = bytearray(size)
    grown[: len(buffer)] = buffer
    return grown


def read_whole(file: File) -> bytes | None:
    """Read a file of one row; return None if it has more than `Layout.max_row_bytes`."""
    most = file.layout.max_row_bytes
    parts = []
    size = 0
    with opened(file) as (stream, _):
        while part := stream.read(min(1 << 20, most + 1 - size)):
            parts.append(part)
            size += len(part)
            if size > most:
                return None
    return b"".join(parts)


def beginning(file: File, size: int) -> tuple[bytes, bool]:
    """Return the first `size` bytes of a file as UTF-8, and whether these are the whole file."""
    with opened(file) as (stream, _):
        stream, head, _ = _as_utf8(stream, file.layout.encoding)
        buffer = bytearray(head.ljust(size + 1))
        have = len(head)
        got = 1
        while got and have <= size:
            got = stream.readinto(memoryview(buffer)[have:])
            have += got
    return bytes(buffer[: min(have, size)]).removeprefix(BOM), have <= size


def too_long(file: File, line: int | None, hint: str = "") -> DataError:
    """Return the error for a row of more than `Layout.max_row_bytes`."""
    return file.fault(line, f"{long_row(file)}; {hint}" if hint else long_row(file))


@contextmanager
def opened(file: File) -> Iterator[tuple[Any, Any]]:
    """Open a file and check that it does not change while it is read.

    Returns the decompressed stream, and the stream whose position is the position on disk.
    Compression is also recognised by the first bytes if the name has no suffix for it, for example
    on standard input.
    """
    codec = file.codec
    try:
        with steady(file), ExitStack() as stack:
            raw = stack.enter_context(file.source.open())
            stream: Any = raw
            if codec is None:
                codec = codec_of_bytes(raw.read(10))
                raw.seek(0)
            if codec == "gzip":
                import gzip

                stream = stack.enter_context(gzip.GzipFile(fileobj=raw))
            elif codec == "bzip2":
                import bz2

                stream = stack.enter_context(bz2.BZ2File(raw))
            elif codec == "xz":
                import lzma

                stream = stack.enter_context(lzma.LZMAFile(raw))
            elif codec == "zstd":
                stream = _decompressed_zstd(file, raw)
            yield stream, raw
    except UnicodeError as error:
        raise file.fault(
            None, f"cannot be decoded as {file.layout.encoding}: {error}"
        ) from error
    except (DataError, MemoryError, ImportError):
        raise
    except Exception as error:
        if _TOO_WIDE in str(error):  # the window of a later frame
            what = "zstd_window (--zstd-window) allows larger windows"
            raise file.fault(None, f"{content_reason(error)}: {what}") from error
        what = f"damaged or cut off {codec} data" if codec else "cannot be read"
        other = _other_content(file, codec) if codec else ""
        raise file.fault(None, other or f"{what}: {content_reason(error)}") from error


def _decompressed_zstd(file: File, raw: Any) -> Any:
    """Return a stream of Zstandard data; raise DataError if its first window is too large."""
    head = raw.read(HEADER_BYTES)
    raw.seek(0)
    reason = window_fault(head, max(file.layout.window_bytes, WINDOW_BYTES))
    if reason:
        raise file.fault(None, reason)
    if file.layout.window_bytes > WINDOW_BYTES:
        return WideStream(raw, file.layout.window_bytes)
    return optional("pyarrow").CompressedInputStream(raw, "zstd")


def _other_content(file: File, codec: str) -> str:
    """Return the content of a file that is not compressed as its name says; else ""."""
    from lshfast._io.contents import HEAD_BYTES, not_compressed

    with suppress(OSError), file.source.open() as raw:
        return not_compressed(codec, raw.read(HEAD_BYTES))
    return ""


def line_numbers(numbers: Rows) -> Iterator[int]:
    """Yield line numbers as Python integers, without creating all of them at once."""
    for part in parts_of_rows(len(numbers), 1 << 16):
        yield from numbers[part].tolist()


def _as_utf8(stream: Any, expected: str) -> tuple[Any, bytes, str]:
    """Return a stream as one of UTF-8, bytes to use before those it gives, and its encoding.

    These bytes were read to find a byte order mark: four, or fewer at the end of the stream.
    """
    head = b""
    while len(head) < 4 and (chunk := stream.read(4 - len(head))):
        head += chunk
    encoding = actual_encoding(head, expected)
    if encoding == "utf-8":
        return stream, head, encoding
    return Utf8Stream(stream, head, encoding), b"", encoding
