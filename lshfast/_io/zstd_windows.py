"""Zstandard data whose window is larger than pyarrow decompresses, as of ``zstd --long=31``.

The window is the part of the decompressed data that a decompressor holds in memory.
"""

from __future__ import annotations

import io
from typing import Any

from lshfast._common.checks import check_bytes
from lshfast._common.extras import optional

# The largest window that pyarrow decompresses, and the largest of `zstd`.
WINDOW_BYTES = 1 << 27
MOST_WINDOW_BYTES = 1 << 31

# Bytes of a frame that `window_of` looks at.
HEADER_BYTES = 18

# Compressed bytes that are read, and that are decompressed at a time: a block of four bytes can
# stand for 128 KiB, so these take at most 32 MiB.
READ_BYTES = 1 << 16
PIECE_BYTES = 1 << 10

_MAGIC = b"\x28\xb5\x2f\xfd"
_IS_SINGLE_SEGMENT = 1 << 5


def checked_window(value: int | str | None) -> int:
    """Return the largest window as a number of bytes, or raise ValueError."""
    if value is None:
        return WINDOW_BYTES
    window_bytes = check_bytes("zstd_window", value)
    if not 1 <= window_bytes <= MOST_WINDOW_BYTES:
        raise ValueError(
            f"zstd_window must be in 1..{MOST_WINDOW_BYTES} bytes (2G), not {value!r}"
        )
    return window_bytes


def window_of(head: bytes) -> int:
    """Return the bytes of the window of a frame, by its first 18 bytes; 0 if these are no header.

    The format is that of RFC 8878, section 3.1.1.1.
    """
    if len(head) < 6 or not head.startswith(_MAGIC):
        return 0
    descriptor = head[4]
    if not descriptor & _IS_SINGLE_SEGMENT:
        exponent = 10 + (head[5] >> 3)
        return (1 << exponent) + (1 << exponent >> 3) * (head[5] & 7)
    start = 5 + (0, 1, 2, 4)[descriptor & 3]
    size = (1, 2, 4, 8)[descriptor >> 6]
    content_bytes = int.from_bytes(head[start : start + size], "little")
    return content_bytes + 256 if size == 2 else content_bytes


def window_fault(head: bytes, window_bytes: int) -> str:
    """Return why a frame is not decompressed, by its first bytes; "" if its window is allowed."""
    needed = window_of(head)
    if needed <= window_bytes:
        return ""
    if needed > MOST_WINDOW_BYTES:
        return f"its zstd window has {needed:,} bytes, and at most 2G are read"
    size = f"{-(-needed // (1 << 20))}M"
    return (
        f"its zstd window takes {needed:,} bytes of memory, more than {window_bytes:,}: "
        f"zstd_window={size!r} (--zstd-window {size}) reads it"
    )


class WideStream(io.RawIOBase):
    """The decompressed bytes of Zstandard data with windows up to a size.

    Parameters
    ----------
    raw : binary stream
    window_bytes : int
    """

    def __init__(self, raw: Any, window_bytes: int) -> None:
        module = optional("zstandard", "zstd")
        self._decompressor = module.ZstdDecompressor(max_window_size=window_bytes)
        self._raw = raw
        self._compressed = memoryview(b"")
        self._frame: Any = None
        self._content = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any, /) -> int:
        while not self._content:
            if not self._compressed:
                self._compressed = memoryview(self._raw.read(READ_BYTES))
                if not self._compressed:
                    if self._frame is not None:
                        raise OSError("the data end inside a frame")
                    return 0
            self._decompress_piece()
        count = min(len(target), len(self._content))
        memoryview(target).cast("B")[:count] = self._content[:count]
        self._content = self._content[count:]
        return count

    def _decompress_piece(self) -> None:
        if self._frame is None:
            self._frame = self._decompressor.decompressobj()
        piece = self._compressed[:PIECE_BYTES]
        self._content = memoryview(self._frame.decompress(piece))
        unused_bytes = len(self._frame.unused_data) if self._frame.eof else 0
        self._compressed = self._compressed[len(piece) - unused_bytes :]
        if self._frame.eof:
            self._frame = None
