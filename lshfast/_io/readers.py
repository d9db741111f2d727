"""The reader of each format: its rows in two passes, its columns, and their values as pages show
them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from lshfast._common.arrow_columns import python_values
from lshfast._common.lazy import LazyModule
from lshfast._io import jsonl
from lshfast._io.files import Block, File, Format, Rows, column_index
from lshfast._io.json_records import member_or_none, parsed_value

if TYPE_CHECKING:
    from lshfast._io import csv_files, folder, parquet, text_lines
else:
    csv_files = LazyModule("lshfast._io.csv_files")
    folder = LazyModule("lshfast._io.folder")
    parquet = LazyModule("lshfast._io.parquet")
    text_lines = LazyModule("lshfast._io.text_lines")

# Elements of a list that are shown.
MOST_SHOWN = 100


class Reader(Protocol):
    """How files of a format are read.

    `blocks` is pass one, and returns the number of lines of a file of lines. `again` and `texts_of`
    read rows by their numbers, in pass two. `columns` are the names of the columns; none if a table
    is empty.
    """

    def blocks(self, file: File) -> Generator[Block, None, int | None]: ...
    def again(self, file: File, numbers: Rows) -> Iterator[tuple[Any, int]]: ...
    def texts_of(self, file: File, numbers: Rows) -> Iterator[tuple[Any, int]]: ...
    def columns(self, file: File) -> list[str]: ...


# A module is imported when a file of its format is read.
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


def values_of(file: File, numbers: Rows, column: str) -> Iterator[list[str]]:
    """Read a column of some rows, ascending; yield its values as shown, "" for none."""
    if file.columnar:
        for batch, _ in parquet.again(file, numbers, [column]):
            yield [
                shown(value)
                for value in python_values(parquet.column_of(batch, column))[0]
            ]
    elif file.delimited:
        place = column_index(file, csv_files.columns(file), column)
        for rows, _ in csv_files.again(file, numbers):
            yield [fields[place] for fields in rows]
    else:
        for lines, _ in jsonl.again(file, numbers):
            records = map(parsed_value, lines)
            yield [shown(member_or_none(row, column)) for row in records]


def shown(value: Any) -> str:
    """Return a value as shown: bytes in hexadecimal, few elements of lists, "" for None.

    Examples
    --------
    >>> (
    ...     shown([0.25, 1 / 3]),
    ...     shown([("red", 2), ("blue", 1)]),
    ...     shown(b"ab"),
    ...     shown({"red": 2}),
    ...     shown(None),
    ... )
    ('0.25, 0.3333', 'red 2, blue 1', '6162', 'red 2', '')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        value = [f"{name} {shown(part)}" for name, part in value.items()]
    if isinstance(value, tuple):  # an entry of a map of Arrow
        return " ".join(map(shown, value))
    if isinstance(value, list):
        ellipsis = ", …" if len(value) > MOST_SHOWN else ""
        return ", ".join(map(shown, value[:MOST_SHOWN])) + ellipsis
    return str(value)
