"""Write rows as CSV: one header for all inputs, and a cell for each plain value.

Lines are quoted by this code, since Python 3.10's csv fails on NUL, and CR is not quoted before
3.13.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from typing import Any

from lshfast._common.extras import optional
from lshfast._io.output import CsvStyle
from lshfast._io.parquet import plain_values, schema_of
from lshfast._io.row_types import cell
from lshfast._io.selection import Selection, each, write_lines

# The last four are full-width forms of the first four.
_FORMULA = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def check(selection: Selection) -> list[str]:
    """Return the columns of the inputs; raise `DataError` if they do not fit together or in CSV."""
    only_csv = all(file.delimited for file in selection.corpus.files)
    columns: list[str] = []
    selection.check_width()
    for file, rows, chunk in selection.ahead():
        if chunk is not None:
            names = selection.record_names(
                file, selection.records(file, rows, chunk, _as_cells)
            )
        else:
            names = selection.names(file)
            if only_csv and columns and names and names != columns:
                raise file.fault(
                    1,
                    f"the header is not that of the inputs before: {', '.join(columns)}",
                )
            for field in schema_of(file) if file.columnar else ():
                if not _fits(field.type, field.name in file.layout.columns):
                    raise file.fault(
                        None,
                        f"column {field.name!r} is {field.type}: CSV output cannot hold it",
                    )
        columns = list(dict.fromkeys([*columns, *names]))
    return columns


def write(selection: Selection, stream: Any) -> None:
    """Write the header and all rows."""
    columns = [*check(selection), *selection.annotations]
    if columns:
        stream.write(csv_header(columns, selection.style))
    line = csv_writer(columns, selection.style)
    for file, rows, chunk in selection.chunks():
        records = selection.written_records(file, rows, chunk, _as_cells)
        write_lines(stream, each(line, records, selection.misfit(rows)))


def csv_writer(
    columns: Sequence[str], style: CsvStyle
) -> Callable[[dict[str, Any]], bytes]:
    """Return a function from a row with these columns, some missing, to a line.

    If formulas are defused, strings that a spreadsheet would run begin with an apostrophe; numbers
    do not.
    """
    delimiter, defuse, _ = style
    places = {name: place for place, name in enumerate(columns)}
    special = re.compile(f'["{re.escape(delimiter)}\r\n]')

    def line(row: dict[str, Any]) -> bytes:
        cells = [""] * len(places)
        for name, value in row.items():
            text = cell(name, value)
            if (
                defuse
                and isinstance(value, str)
                and _FORMULA.match(text)
                and not _NUMBER.fullmatch(text)
            ):
                text = f"'{text}"
            cells[places[name]] = (
                '"' + text.replace('"', '""') + '"' if special.search(text) else text
            )
        return ((delimiter.join(cells) or '""') + "\n").encode()

    return line


def csv_header(columns: Sequence[str], style: CsvStyle) -> bytes:
    """Return the names of columns as a line, after the byte order mark if there is one."""
    line = csv_writer(columns, style)({name: name for name in columns})
    return codecs.BOM_UTF8 + line if style.bom else line


def _fits(kind: Any, is_text: bool) -> bool:
    types = optional("pyarrow").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return not types.is_nested(kind) and (is_text or "binary" not in str(kind))


def _as_cells(column: Any) -> Any:
    return plain_values(column).cast("string")
