"""Files of one text each. The path of a text is its id, and the column "path" of its row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lshfast._io.encodings import decode_whole
from lshfast._io.files import Block, File, Rows, long_row
from lshfast._io.lines import read_whole

# Where the number of the lines of a text is remembered, in `File.found`.
LINES = "lines"

# The lines of a text that may be a list of texts.
MANY_LINES = 1_000


def files_of_lines(files: Sequence[File]) -> dict[str, int]:
    """Return the files of one text that may have one text a line, and their numbers of lines.

    That is a file that is the only input and has several lines, or one that has very many.
    """
    least = 2 if len(files) == 1 else MANY_LINES
    lines = {
        file.name: int(file.found[LINES])
        for file in files
        if file.format == "text" and LINES in file.found
    }
    return {name: count for name, count in lines.items() if count >= least}


def columns(file: File) -> list[str]:
    """Return the names of the columns of a text's row."""
    return list(record(file, ""))


def record(file: File, text: str) -> dict[str, str]:
    """Return the row of a text; its text column has the same name as in the other inputs."""
    return {"path": file.name, file.layout.column: text}


def blocks(file: File) -> Iterator[Block]:
    """Read a text: pass one."""
    block = Block([""], [1], 0, file.size, {}, [file.name], [None], [None])
    try:
        data = read_whole(file)
        if data is None:
            raise ValueError(long_row(file))
        block.size = len(data)
        file.found[LINES] = str(len(data.splitlines()))
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
