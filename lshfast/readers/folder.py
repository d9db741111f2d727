"""Folders: each file is one text, and its path is its id."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lshfast.readers.files import Block, File, Layout, Rows, not_utf8, steady


def columns(file: File) -> list[str]:
    """Name the columns of a text as a row."""
    return ["id", "text"]


def blocks(file: File, layout: Layout) -> Iterator[Block]:
    """Read a text: pass one."""
    block = Block([""], [1], file.size, file.size, {}, [file.name], [None])
    try:
        block.texts = [_file_text(file)]
    except UnicodeDecodeError as error:
        block.bad[0] = not_utf8(error, "the file")
    yield block


def again(file: File, wanted: Rows, size: int) -> Iterator[tuple[list[str], int]]:
    """Read it once more: pass two."""
    yield [_file_text(file)], file.size


def _file_text(file: File) -> str:
    with steady(file):
        try:
            data = Path(file.path).read_bytes()
        except OSError as error:
            raise file.fault(None, f"cannot be read: {error.strerror}") from error
    return data.decode().removeprefix("\ufeff")
