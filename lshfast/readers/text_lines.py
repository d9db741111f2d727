"""Files with one text a line, format "lines". Each line is a row, blank lines as well; its only column is the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lshfast.readers.encodings import undecodable
from lshfast.readers.files import Block, File, Rows, column_index
from lshfast.readers.lines import Lines, long_row, whole_lines


def columns(file: File) -> list[str]:
    """Return the names of the columns of a row."""
    return [file.layout.column]


def record(file: File, text: str) -> dict[str, str]:
    """Return the row of a text; its text column has the same name as in the other inputs."""
    return {file.layout.column: text}


class _TextLines(NamedTuple):
    """Consecutive lines: the number of the first one, their texts, reasons of bad ones, bytes, position in the file."""

    first: int
    texts: list[str]
    bad: dict[int, str]
    size: int
    position: int


def blocks(file: File) -> Iterator[Block]:
    """Read a file in blocks: pass one."""
    for name in file.layout.keys:
        column_index(file, columns(file), name)
    identity, order = (name is not None for name in (file.layout.id_column, file.layout.order_column))
    for first, texts, bad, size, position in _parts(file):
        block = Block(texts, range(first, first + len(texts)), size, position, bad)
        if file.layout.keyed:
            none = [None] * len(texts)
            block.ids, block.orders = (list(texts) if wanted else none for wanted in (identity, order))
        yield block


def again(file: File, wanted: Rows) -> Iterator[tuple[list[str], int]]:
    """Read the rows on these lines again, and yield them with the position in the file: pass two."""
    for first, texts, _, _, position in _parts(file):
        low, high = np.searchsorted(wanted, (first, first + len(texts)))
        if high > low:
            yield [texts[place] for place in (wanted[low:high] - first).tolist()], position
        if high == len(wanted):
            return


def texts_of(file: File, wanted: Rows) -> Iterator[tuple[list[str], int]]:
    """Read the texts of rows again, and yield them with the position in the file."""
    yield from again(file, wanted)


def _parts(file: File) -> Iterator[_TextLines]:
    read, line = Lines(file, file.layout.batch_bytes), 1
    for buffer, start, end, position in whole_lines(read):
        if end == start > 0:  # the end of a line that was too long
            continue
        data = bytes(memoryview(buffer)[start:end])
        texts, bad = _decoded(data.removesuffix(b"\n").removesuffix(b"\r").replace(b"\r\n", b"\n"), read.encoding)
        yield _TextLines(line, texts, bad if end else {0: long_row(file)}, len(data), position)
        line += len(texts)
        read.count = line - 1


def _decoded(data: bytes, encoding: str) -> tuple[list[str], dict[int, str]]:
    """Return lines as texts, and the reasons of lines that do not decode."""
    try:
        return data.decode().split("\n"), {}
    except UnicodeDecodeError:
        texts, bad = [], dict[int, str]()
    for place, line in enumerate(data.split(b"\n")):
        try:
            texts.append(line.decode())
        except UnicodeDecodeError as error:
            texts.append("")
            bad[place] = undecodable(error, "the line", encoding)
    return texts, bad
