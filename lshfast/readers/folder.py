"""Files of one text each; a text's path is its id, and the column "path" of its row."""

from __future__ import annotations

from collections.abc import Iterator

from lshfast.readers.encodings import decode_whole
from lshfast.readers.files import Block, File, Rows
from lshfast.readers.lines import read_whole


def columns(file: File) -> list[str]:
    """Name the columns of a text as a row."""
    return list(record(file, ""))


def record(file: File, text: str) -> dict[str, str]:
    """Make a row of a text, which stands in the column that holds the text of the other inputs."""
    return {"path": file.name, file.layout.column: text}


def blocks(file: File) -> Iterator[Block]:
    """Read a text: pass one."""
    data = read_whole(file)
    block = Block([""], [1], len(data), file.size, {}, [file.name], [None])
    try:
        block.texts = [_text(file, data)]
    except ValueError as error:
        block.bad[0] = str(error)
    yield block


def again(file: File, wanted: Rows) -> Iterator[tuple[list[str], int]]:
    """Read it once more: pass two."""
    yield [_text(file, read_whole(file))], file.size


def _text(file: File, data: bytes) -> str:
    return decode_whole(data, file.layout.encoding, "the file")
