"""Write small tables from columns in memory, in any output format."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from typing import Any

from lshfast._common.extras import optional
from lshfast._common.rows import parts_of_rows
from lshfast._common.types import PathLike
from lshfast._common.visible import printable
from lshfast._io.files import DataError, Reject
from lshfast._io.output import (
    CsvStyle,
    Output,
    check_output,
    open_output,
    output_format,
)
from lshfast._io.selection import Columns, Misfit, each, plain, write_lines
from lshfast._io.streams import STANDARD_ERROR
from lshfast._io.to_csv import csv_header, csv_writer
from lshfast._io.to_jsonl import json_line
from lshfast._io.to_parquet import parquet_writer, typed_array

# Rows that are Python objects at a time.
AT_ONCE = 4096


def write_table(
    path: PathLike,
    columns: Columns,
    overwrite: bool = False,
    kinds: Mapping[str, str] | None = None,
) -> None:
    """Write a small table as .csv, .tsv, .jsonl (each also .gz, .zst, .bz2, .xz) or .parquet.

    Parameters
    ----------
    path : path
        The output.
    columns : mapping of str to arrays or sequences of equal length
        Strings, integers, floats (NaN is null in JSONL), bools; None for a missing value.
    overwrite : bool
        Whether an existing file is replaced.
    kinds : mapping of str to str, optional
        Arrow's names for the types of columns in Parquet, as for `write_rows`. An array has the
        type of its dtype.

    Raises
    ------
    ValueError
        If columns differ in length, or contain values that the format cannot hold.
    OSError
        As for `check_output` and `atomic_file`.
    """
    write_tables(path, [columns], overwrite, kinds)


def write_tables(
    path: PathLike,
    tables: Iterable[Columns],
    overwrite: bool = False,
    kinds: Mapping[str, str] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write one table from an iterable of one or more parts; only one part is in memory at a time.

    The first part determines the names of the columns, and their types in Parquet. `metadata` is
    stored in Parquet only. The other arguments and the errors are those of `write_table`.
    """
    output = Output.of(path)
    check_output(output, overwrite=overwrite)
    kind = output.format_and_codec[0]
    name = printable(output)
    row_count = 0

    def misfit(i: int, reason: str) -> DataError:
        return DataError(name, row_count + i + 1, reason, True)

    with open_output(output, overwrite) as stream, ExitStack() as open_writers:
        writer: Any = None
        for columns in tables:
            lengths = {len(values) for values in columns.values()}
            if len(lengths) > 1:
                raise ValueError(
                    f"columns must be of one length, not {sorted(lengths)}"
                )
            if kind == "parquet":
                column_kinds = kinds or {}
                arrays = {
                    key: typed_array(values, column_kinds.get(key), key, misfit)
                    for key, values in columns.items()
                }
                table = optional("pyarrow").table(arrays, metadata=metadata)
                if writer is None:
                    writer = open_writers.enter_context(
                        parquet_writer(stream, table.schema, name)
                    )
                writer.write_table(table)
            else:
                if writer is None:
                    writer = _line_writer(kind, stream, columns, output.csv_style)
                writer(columns, misfit)
            row_count += max(lengths, default=0)


def _line_writer(
    kind: str, stream: Any, first: Columns, style: CsvStyle
) -> Callable[[Columns, Misfit], None]:
    """Return a function that writes tables as lines; for CSV, write the header immediately."""
    line: Callable[[dict[str, Any]], bytes] = _json_row
    if kind in ("csv", "tsv"):
        stream.write(csv_header(list(first), style))
        line = csv_writer(list(first), style)

    def write(columns: Columns, misfit: Misfit) -> None:
        count = max(map(len, columns.values()), default=0)
        parts = (
            [plain(values[part]) for values in columns.values()]
            for part in parts_of_rows(count, AT_ONCE)
        )
        rows = (
            dict(zip(columns, row, strict=True))
            for part in parts
            for row in zip(*part, strict=True)
        )
        write_lines(stream, each(line, rows, misfit))

    return write


def _json_row(row: dict[str, Any]) -> bytes:
    return json_line(row) + b"\n"


def write_rejects(
    path: PathLike, rejected: Iterable[Reject], overwrite: bool = False
) -> None:
    """Write rejected rows as JSONL of file, line (or null) and reason.

    Errors are as in `write_table`.

    On standard error, they are printable ASCII, since it may be a terminal.
    """
    if os.fspath(path) == STANDARD_ERROR:
        for reject in rejected:
            row = json.dumps(
                {"file": reject.path, "line": reject.line, "reason": reject.reason}
            )
            print(row.replace("\x7f", r"\u007f"), file=sys.stderr)
        return
    if output_format(path)[0] != "jsonl":
        raise ValueError(
            f"{printable(os.fspath(path))}: rejected rows are written as .jsonl"
        )
    remaining = iter(rejected)
    names = ("file", "line", "reason")

    def tables() -> Iterator[Columns]:
        yield {name: [] for name in names}
        while part := list(islice(remaining, AT_ONCE)):
            yield dict(zip(names, zip(*part, strict=True), strict=True))

    write_tables(path, tables(), overwrite)
