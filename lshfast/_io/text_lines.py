"""Files with one text a line, format "lines"; each line is a row, blank ones too."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._io.encodings import undecodable
from lshfast._io.files import Block, File, Rows, column_index, long_row
from lshfast._io.lines import Lines, whole_lines
from lshfast.kernels.text import Texts


def columns(file: File) -> list[str]:
    """Return the names of the columns of a row."""
    return [file.layout.column_name]


def record(file: File, text: str) -> dict[str, str]:
    """Return the row of a text; its text column has the same name as in the other inputs."""
    return {file.layout.column_name: text}


_PIECE = (
    1 << 16
)  # bytes that are divided at a time: 64 KB of line ends take 1 MB as texts


class _TextLines(NamedTuple):
    """Consecutive lines: the first number, the texts, reasons of bad ones, the position."""

    first: int
    texts: Texts
    bad: dict[int, str]
    position: int


def blocks(file: File) -> Generator[Block, None, int]:
    """Read a file in blocks: pass one. Returns the number of lines."""
    layout = file.layout
    for name in layout.recorded:
        column_index(file, columns(file), name)
    is_column = [name is not None for name in layout.of_blocks]
    line = 0
    for first, texts, bad, position in _parts(file):
        line = first - 1 + len(texts)
        size = texts.nbytes + 8 * len(texts)
        block = Block(texts, range(first, first + len(texts)), size, position, bad)
        if layout.recorded:
            none = [None] * len(texts)
            block.ids, block.orders, block.values, block.exact_keys = (
                _strings(texts) if is_text else none for is_text in is_column
            )
        yield block
    return line


def again(file: File, numbers: Rows) -> Iterator[tuple[list[str], int]]:
    """Read the rows on these lines again for output, with the position in the file."""
    for texts, position in texts_of(file, numbers):
        yield _strings(texts), position


def texts_of(file: File, numbers: Rows) -> Iterator[tuple[Texts, int]]:
    """Read the texts of rows again, and yield them with the position in the file."""
    for first, texts, _, position in _parts(file):
        low, high = np.searchsorted(numbers, (first, first + len(texts)))
        if high > low:
            yield texts.take(numbers[low:high] - first), position
        if high == len(numbers):
            return


def _strings(texts: Texts) -> list[str]:
    """Return texts as strings; those of bad rows are not used."""
    return [texts[row].decode("utf-8", "replace") for row in range(len(texts))]


def _parts(file: File) -> Iterator[_TextLines]:
    lines = Lines(file, file.layout.batch_bytes)
    line = 1
    for buffer, start, end, position in whole_lines(lines):
        if not end:
            yield _TextLines(line, Texts([b""]), {0: long_row(file)}, position)
            line += 1
        while start < end:
            stop = buffer.find(b"\n", min(start + _PIECE, end) - 1, end) + 1 or end
            texts, bad = _divided(bytes(memoryview(buffer)[start:stop]), lines.encoding)
            yield _TextLines(line, texts, bad, position)
            start = stop
            line = line + len(texts)
        lines.count = line - 1


def _divided(data: bytes, encoding: str) -> tuple[Texts, dict[int, str]]:
    """Return lines as texts, and the reasons of lines that do not decode."""
    data = data.removesuffix(b"\n").removesuffix(b"\r").replace(b"\r\n", b"\n")
    ends = np.append(
        np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")), len(data)
    )
    offsets = np.append(0, ends - int64_range(len(ends)))
    texts = Texts.of_buffer(data.replace(b"\n", b""), offsets.astype(np.int64))
    bad = dict[int, str]()
    try:
        data.decode()
    except UnicodeDecodeError:
        for row in range(len(texts)):
            try:
                texts[row].decode()
            except UnicodeDecodeError as error:
                bad[row] = undecodable(error, "the line", encoding)
    return texts, bad
