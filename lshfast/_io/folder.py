"""Files of one text each. The path of a text is its id, and the column "path" of its row."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from lshfast._io.encodings import decode_whole
from lshfast._io.files import Block, File, Rows, long_row
from lshfast._io.lines import read_whole

# Where the number of the lines of a text is remembered, in `File.detected`.
LINES = "lines"


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
        file.detected[LINES] = str(len(data.splitlines()))
        block.texts = [_text(file, data)]
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
    return decode_whole(data, file.layout.encoding, "the file")
