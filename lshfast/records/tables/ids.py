"""The rows of records by their ids."""

from __future__ import annotations

from typing import Any

from lshfast._common.visible import visible
from lshfast.records.tables.record_table import RecordTable


class RecordIds:
    """The rows of a table by their ids.

    A string is also the id that is written so, such as "7" for the integer 7, and may begin with
    the apostrophe that keeps a spreadsheet from running it as a formula.

    Examples
    --------
    >>> from lshfast.records import RecordTable
    >>> from lshfast.records.tables.ids import RecordIds
    >>> ids = RecordIds(RecordTable({"id": [5, 7], "name": ["Ann", "Bob"]}, "id"))
    >>> ids.row_of(7), ids.row_of("7")
    (1, 1)
    """

    def __init__(self, table: RecordTable) -> None:
        self._table_name = table.name
        self._rows = {key: row for row, key in enumerate(table.ids)}
        self._written: dict[str, int] = {}
        for key, row in self._rows.items():
            self._written.setdefault(str(key), row)

    def row_of(self, key: Any) -> int:
        """Return the row of an id; raise ValueError if no record has it."""
        row = self._rows.get(key)
        if row is None and isinstance(key, str):
            row = self._written.get(key)
        if row is None and isinstance(key, str) and key.startswith("'"):
            row = self._written.get(key[1:])
        if row is None:
            raise ValueError(
                visible(f"{self._table_name}: no record has the id {key!r}")
            )
        return row
