"""Lines in a buffer: their ends and their bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np

from lshfast._io.files import Rows

LF = 10
CR = 13


def slices(buffer: bytearray, starts: Rows, stops: Rows) -> Iterator[bytes]:
    """Yield the bytes of a buffer from each start to its stop."""
    view = memoryview(buffer)
    for at, end in zip(starts.tolist(), stops.tolist(), strict=True):
        yield bytes(view[at:end])


def without_cr(buffer: bytearray, starts: Rows, stops: Rows) -> Rows:
    """Return the ends of lines of a buffer without CR."""
    data = np.frombuffer(buffer, np.uint8)
    return np.asarray(stops - ((stops > starts) & (data[stops - 1] == CR)))


def line_pieces(
    buffer: bytearray, start: int, end: int
) -> Iterator[bytes | memoryview]:
    """Split a buffer into lines, with or without line ends.

    Short lines are copied, which saves 0.3 us each.
    """
    view = memoryview(buffer)
    if are_short_lines(buffer, start, end):
        yield from io.BytesIO(view[start:end])
        return
    while start < end:
        stop = buffer.find(b"\n", start, end)
        yield view[start : stop if stop >= 0 else end]
        start = stop + 1 if stop >= 0 else end


def are_short_lines(buffer: bytearray, start: int, end: int) -> bool:
    """Return whether the first lines have less than 2,000 bytes on average.

    Such lines are parsed with their LF.
    """
    sample = min(end, start + (1 << 16))
    return sample - start < 2000 * buffer.count(b"\n", start, sample)
