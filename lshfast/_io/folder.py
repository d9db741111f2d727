"""Files of one text each, or one document. The path of a text is its id, in the column "path"."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from lshfast._io.documents import kind_of_document, text_of_document
from lshfast._io.encodings import decode_whole
from lshfast._io.files import LINES, Block, File, Rows, long_row
from lshfast._io.lines import read_whole


def columns(file: File) -> list[str]:
    """Return the names of the columns of a text's row."""
    return list(record(file, ""))


def record(file: File, text: str) -> dict[str, str]:
    """Return the row of a text; its text column has the same name as in the other inputs."""
    return {"path": file.name, file.layout.column_name: text}


def blocks(file: File) -> Generator[Block, None, None]:
    """Read a text: pass one."""
    block = Block([""], [1], 0, file.size, {}, [file.name], [None], [None], [None])
    try:
        data = read_whole(file)
        if data is None:
            raise ValueError(long_row(file))
        block.size = len(data)
        text = _text(file, data)
        if kind_of_document(file.path) is None:
            file.detected[LINES] = str(len(data.splitlines()))
        elif len(text.encode()) > file.layout.max_row_bytes:
            raise ValueError(long_row(file))
        block.texts = [text]
    except ValueError as error:
        block.bad[0] = str(error)
    yield block


def again(file: File, numbers: Rows) -> Iterator[tuple[list[str], int]]:
    """Read the text again: pass two."""
    yield [_text(file, read_whole(file) or b"")], file.size


def texts_of(file: File, numbers: Rows) -> Iterator[tuple[list[str], int]]:
    """Read the text again, and yield it with the position in the file."""
    yield from again(file, numbers)


def _text(file: File, data: bytes) -> str:
    kind = kind_of_document(file.path)
    if kind is not None:
        return text_of_document(data, kind)
    return decode_whole(data, file.layout.encoding, "the file")
