"""The reader of each format: its rows in two passes, and its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from lshfast._io import csv_files, folder, jsonl, parquet, text_lines
from lshfast._io.files import Block, File, Format, Rows, column_index


class Reader(Protocol):
    """How files of a format are read.

    `blocks` is pass one. `again` and `texts_of` read rows by their numbers, in pass two. `columns`
    are the names of the columns; none if a table is empty.
    """

    def blocks(self, file: File) -> Iterator[Block]: ...
    def again(self, file: File, numbers: Rows) -> Iterator[tuple[Any, int]]: ...
    def texts_of(self, file: File, numbers: Rows) -> Iterator[tuple[Any, int]]: ...
    def columns(self, file: File) -> list[str]: ...


READERS: dict[Format, Reader] = {
    "jsonl": jsonl,
    "csv": csv_files,
    "tsv": csv_files,
    "parquet": parquet,
    "arrow": parquet,
    "npy": parquet,
    "text": folder,
    "lines": text_lines,
}


def columns_of(file: File) -> list[str]:
    """Return the column names of a file; of JSONL, those of the first good row."""
    return READERS[file.format].columns(file)


def check_column(file: File, column: str) -> None:
    """Raise DataError if a file does not have a column; one of JSONL may have it in any row."""
    if file.columnar:
        parquet.type_of(file, parquet.schema_of(file), column)
    elif file.delimited:
        names = csv_files.columns(file)
        if names:  # not an empty file
            column_index(file, names, column)
    elif file.format != "jsonl":
        raise file.fault(
            None, f"no column {column!r}: the file is one text, or lines of text"
        )
