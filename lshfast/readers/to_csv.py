"""Write rows as CSV: one header for all inputs, and a cell for each value that is not a list or an object."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lshfast.common.extras import optional
from lshfast.readers.files import is_int64, kind_of
from lshfast.readers.parquet import plain_values, schema_of
from lshfast.readers.selection import Selection, each, write_lines


def check(selection: Selection) -> list[str]:
    """Return the columns of the inputs; raise `DataError` if they are not compatible with each other or with CSV."""
    only_csv = all(file.delimited for file in selection.corpus.files)
    columns: list[str] = []
    for file, rows, chunk in selection.ahead():
        if chunk is not None:
            names = selection.record_names(file, selection.records(file, rows, chunk, _as_cells))
        else:
            names = selection.names(file)
            if only_csv and columns and names and names != columns:
                raise file.fault(1, f"the header is not that of the inputs before: {', '.join(columns)}")
            for field in schema_of(file) if file.columnar else ():
                if not _fits(field.type, field.name == file.layout.column):
                    raise file.fault(None, f"column {field.name!r} is {field.type}: CSV output cannot hold it")
        columns = list(dict.fromkeys([*columns, *names]))
    return columns


def write(selection: Selection, stream: Any) -> None:
    """Write the header and all rows."""
    columns = [*check(selection), *selection.annotations]
    if columns:
        stream.write(csv_line(columns, selection.delimiter))
    for file, rows, chunk in selection.chunks():
        pairs = zip(selection.records(file, rows, chunk, _as_cells), selection.added(rows), strict=True)
        whole = ({name: {**record, **more}.get(name) for name in columns} for record, more in pairs)
        write_lines(stream, each(lambda row: csv_row(row, selection.delimiter), whole, selection.misfit(rows)))


def csv_row(record: dict[str, Any], delimiter: str) -> bytes:
    """Return the CSV line of a row of values."""
    return csv_line((_cell(name, value) for name, value in record.items()), delimiter)


def csv_line(cells: Iterable[str], delimiter: str) -> bytes:
    """Return cells as a line, quoted if needed: Python 3.10's csv fails on NUL, and CR is not quoted before 3.13."""
    special = re.compile(f'["{delimiter}\r\n]')
    line = delimiter.join('"' + c.replace('"', '""') + '"' if special.search(c) else c for c in cells)
    return ((line or '""') + "\n").encode()


def _cell(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, float) or is_int64(value):
        return repr(value)
    what = "an integer beyond 64 bits" if isinstance(value, int) else kind_of(value)
    raise ValueError(f"column {name!r} holds {what}: CSV output cannot hold it")


def _fits(kind: Any, is_text: bool) -> bool:
    types = optional("pyarrow").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return not types.is_nested(kind) and (is_text or "binary" not in str(kind))


def _as_cells(column: Any) -> Any:
    return plain_values(column).cast("string")
