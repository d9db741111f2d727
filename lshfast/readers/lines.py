"""Lines of a file, plain or compressed, in blocks: slices of one buffer, not line by line."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import Any

from lshfast.readers.files import File, Rows, optional, steady

_BOM = b"\xef\xbb\xbf"


def read_lines(file: File, size: int) -> Iterator[tuple[bytearray, int, int, int]]:
    """Read whole lines, about `size` bytes at once: a buffer, start and end in it, position in the file.

    The buffer is used again for the next lines, and grows to hold the longest one.
    """
    have, begun = 0, False
    buffer = bytearray(min(size, (1 << 16) + 4 * file.size) + 1)
    with steady(file):
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


def line_numbers(wanted: Rows) -> Iterator[int]:
    """Give line numbers as Python integers, without making all of them at once."""
    for at in range(0, len(wanted), 1 << 16):
        yield from wanted[at : at + (1 << 16)].tolist()
