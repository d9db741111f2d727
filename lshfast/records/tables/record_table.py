"""Tables of records: columns of any library, and ids."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from lshfast._common.arrow_columns import objects_of
from lshfast._common.nearest import no_column
from lshfast._common.types import Int64Array
from lshfast._common.visible import visible, without_secrets
from lshfast.records.tables.distinct_values import is_missing
from lshfast.records.tables.fields import Field
from lshfast.records.tables.sources import columns_of


class RecordTable:
    """A table of records.

    Parameters
    ----------
    source : mapping of str to columns, data frame, Arrow table, or sequence of mappings
        A column is a sequence of values: strings, numbers, dates. None, NaN, NA and empty strings
        are missing values. Data frames are those of pandas and polars, and what else exports an
        Arrow stream.
    id_column : str, optional
        The column of the ids, which must be unique and not missing. The default ids are the row
        numbers.
    name : str, default "records"
        The name of the table in error messages.
    ids : sequence, optional
        The ids, one for each row, known to be different, instead of a column.

    Raises
    ------
    TypeError
        If `source` is not a table.
    ValueError
        If columns differ in length, there is no such column, or an id is missing or occurs twice.

    See Also
    --------
    lshfast.records.match_records : Link the records of two tables.
    lshfast.records.dedup_records : Find the records of one table that are the same.

    Examples
    --------
    >>> from lshfast.records import RecordTable
    >>> table = RecordTable({"id": ["x", "y"], "name": ["Ann", None]}, id_column="id")
    >>> len(table), table.names, table.ids
    (2, ['name'], ['x', 'y'])
    """

    columns: dict[str, Any]
    ids: Sequence[Any]
    id_column: str | None
    name: str

    def __init__(
        self,
        source: Any,
        id_column: str | None = None,
        name: str = "records",
        ids: Sequence[Any] | None = None,
    ) -> None:
        is_table = isinstance(source, RecordTable)
        self.columns = source.columns if is_table else columns_of(source, name)
        lengths = {column: len(values) for column, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            shown = visible(
                ", ".join(f"{column}: {size}" for column, size in lengths.items())
            )
            raise ValueError(f"{name}: columns must be of one length, not {shown}")
        self._rows = next(iter(lengths.values()), 0)
        self.id_column = id_column
        self.name = name
        if ids is not None and len(ids) != self._rows:
            raise ValueError(
                f"{name}: there must be one id for each of {self._rows} rows, not {len(ids)}"
            )
        if ids is not None:
            self.ids = ids
        else:
            self.ids = (
                range(self._rows) if id_column is None else self._checked_ids(id_column)
            )

    def __len__(self) -> int:
        return self._rows

    @property
    def names(self) -> list[str]:
        """Names of the columns, without that of the ids."""
        return [name for name in self.columns if name != self.id_column]

    def column(self, name: str) -> Any:
        """Return a column, or raise ValueError that names the columns."""
        if name not in self.columns:
            raise ValueError(f"{self.name}: {visible(no_column(name, self.columns))}")
        return self.columns[name]

    def record(self, row: int) -> dict[str, Any]:
        """Return one record as a dict."""
        return {name: plain_value(values[row]) for name, values in self.columns.items()}

    def with_columns(self, columns: Mapping[str, Any]) -> RecordTable:
        """Return a table with further columns and the same ids; ValueError if a name is taken."""
        for name in columns:
            if name in self.columns:
                raise ValueError(f"{self.name}: there is a column {name!r} already")
        table = RecordTable({**self.columns, **columns}, None, self.name, self.ids)
        table.id_column = self.id_column
        return table

    def _checked_ids(self, column: str) -> list[Any]:
        ids = objects_of(self.column(column), f"{self.name}: column {column!r}")
        kinds = set(map(type, ids))
        are_different = kinds <= {int, str} and len(set(ids)) == len(ids)
        if are_different and (kinds == {int} or "" not in map(_stripped, ids)):
            return ids
        for row, key in enumerate(ids):
            if not isinstance(key, Hashable):
                raise TypeError(
                    f"{self.name}: the id of row {row} must be a string or number, not {key!r}"
                )
        first: dict[Any, int] = {}
        for row, key in enumerate(ids):
            if is_missing(key):
                raise ValueError(
                    f"{self.name}: the id of row {row} is missing in column {column!r}"
                )
            if first.setdefault(key, row) != row:
                raise ValueError(
                    f"{self.name}: the id {key!r} of row {row} is taken by row {first[key]}"
                )
        return ids


def names_of(tables: Sequence[RecordTable]) -> list[str]:
    """Return short names of tables: file names without folders, if these are different."""
    names = [visible(without_secrets(table.name)) for table in tables]
    files = [os.path.basename(name) or name for name in names]
    return files if len(set(files)) == len(set(names)) else names


class RecordIds:
    """The rows of a table by their ids.

    A string is also the id that is written so, such as "7" for the integer 7, and may begin with
    the apostrophe that keeps a spreadsheet from running it as a formula.

    Examples
    --------
    >>> from lshfast.records import RecordTable
    >>> from lshfast.records.tables.record_table import RecordIds
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
            row = self._written.get(key, self._written.get(key.removeprefix("'")))
        if row is None:
            raise ValueError(
                visible(f"{self._table_name}: no record has the id {key!r}")
            )
        return row


class PairIds:
    """The rows of two ids in two tables, or in one."""

    def __init__(self, tables: Sequence[RecordTable]) -> None:
        self._tables = tables
        self._ids = list(map(RecordIds, tables))

    def rows_of(self, id_a: Any, id_b: Any) -> tuple[int, int]:
        """Return the rows, of one table the smaller first.

        Raises
        ------
        ValueError
            If no record has one of the ids, or both are the same record.
        """
        first = self._ids[0].row_of(id_a)
        second = self._ids[-1].row_of(id_b)
        if len(self._ids) > 1:
            return first, second
        if first == second:
            name = self._tables[0].name
            raise ValueError(
                visible(f"{name}: {id_a!r} and {id_b!r} are the same record")
            )
        return min(first, second), max(first, second)


def field_columns(field: Field, tables: Sequence[RecordTable]) -> list[Any]:
    """Return the column of a field in each table."""
    return [table.column(field.column_of(side)) for side, table in enumerate(tables)]


def plain_value(value: Any) -> Any:
    """Return a value of a column as a Python object."""
    return value.as_py() if hasattr(value, "as_py") else value


def values_at(column: Any, rows: Int64Array) -> list[Any]:
    """Return the values of a column in some rows as Python objects."""
    if hasattr(column, "to_pylist"):  # an array of pyarrow
        return list(column.take(rows).to_pylist())
    return [plain_value(column[row]) for row in rows.tolist()]


def _stripped(value: Any) -> Any:
    return value.strip() if type(value) is str else value
