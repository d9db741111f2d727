"""Tables of records: columns of any library, ids, and the coded fields of two tables."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, count
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import objects_of
from lshfast._common.nearest import no_column
from lshfast._common.types import Float64Array, Int64Array
from lshfast._common.visible import visible, without_secrets
from lshfast.records.comparison.overlap import distinct_counts
from lshfast.records.tables.distinct_values import MISSING as MISSING
from lshfast.records.tables.distinct_values import Int32Array as Int32Array
from lshfast.records.tables.distinct_values import as_text as as_text
from lshfast.records.tables.distinct_values import distinct_texts
from lshfast.records.tables.distinct_values import encoded as encoded
from lshfast.records.tables.distinct_values import is_missing as is_missing
from lshfast.records.tables.fields import Field, Kind, guess_kind, kind_by_dates
from lshfast.records.tables.sources import columns_of
from lshfast.records.values.forms import Reader, latin_texts, numbers_of, readers_of
from lshfast.records.values.missing import (
    Marker,
    MissingValues,
    are_given,
    marked_digits,
    marked_numbers,
    marked_words,
)

EXAMPLES = 3  # of values that are not of the kind of their field
RECOGNISED = MissingValues()


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


@dataclass(frozen=True)
class CodedField:
    """A field of two tables: for each row the number of its value.

    Attributes
    ----------
    field : Field
        With its kind.
    codes : (ndarray of int32, ndarray of int32)
        For each table and row the number of its value, -1 if it is missing. For one table, both are
        the same array.
    values : list of str
        Normal forms of the values, all different. Codes have no spaces in them. Numbers are as
        Python writes them, and dates are YYYYMMDD.
    numbers : ndarray of float64 or None
        The values of numbers, and the days of dates.
    refused : tuple of (int, int)
        For each table, rows with a value that is not a number or date, or has no letter and no
        digit; they count as missing.
    notes : tuple of str
        For each table how dates or telephones are read, if its values decided it, else an empty
        string.
    markers : tuple of Marker
        The values that count as missing although they are not empty, the most frequent first.
    examples : tuple of str
        Some of the values that are refused, three at most.
    doubtful : tuple of str
        Values that would be markers if another field had them as markers.
    """

    field: Field
    codes: tuple[Int32Array, Int32Array]
    values: list[str]
    numbers: Float64Array | None
    refused: tuple[int, int]
    notes: tuple[str, ...] = ()
    markers: tuple[Marker, ...] = ()
    examples: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """How values are compared."""
        assert self.field.kind is not None
        return self.field.kind

    def codes_of(self, i: Int64Array, j: Int64Array) -> tuple[Int32Array, Int32Array]:
        """Return the codes of pairs of rows."""
        return self.codes[0][i], self.codes[1][j]

    @property
    def table_codes(self) -> tuple[Int32Array, ...]:
        """The codes of each table, once if there is one."""
        return self.codes[:1] if self.codes[0] is self.codes[1] else self.codes

    @property
    def counts(self) -> Int64Array:
        """The rows that have each value."""
        return distinct_counts(self.table_codes, len(self.values))

    @property
    def present(self) -> tuple[float, float]:
        """The parts of the rows of the two tables that have a value."""
        first, second = (
            float((codes >= 0).mean()) if len(codes) else 0.0 for codes in self.codes
        )
        return first, second


def written_values(
    field: Field, tables: Sequence[RecordTable]
) -> tuple[list[Int64Array], list[str]]:
    """Return the number of each row's value in two tables, or in one, and the values as written.

    The number is -1 for None and NaN; values may be empty strings.
    """
    columns = field_columns(field, tables)
    try:
        return distinct_texts(columns, latin_texts if field.latin else None)
    except TypeError as error:
        place = f"{tables[0].name}: column {field.name!r}"
        raise TypeError(f"{place}: {error}") from None


def as_written(coded: CodedField, tables: Sequence[RecordTable]) -> CodedField:
    """Return a field with its values as they are written; the same ones are missing."""
    codes, strings = written_values(coded.field, tables)
    new_codes = [
        np.where(normal_codes < 0, MISSING, written_codes).astype(np.int32)
        for normal_codes, written_codes in zip(coded.codes, codes, strict=False)
    ]
    return replace(
        coded, codes=(new_codes[0], new_codes[-1]), values=strings, numbers=None
    )


def part_changed(written_field: CodedField, coded: CodedField) -> float:
    """Return the share of the rows of two tables whose value differs from its normal form."""
    codes = np.concatenate(written_field.codes)
    forms = np.concatenate(coded.codes)
    present = codes >= 0
    form_of = np.full(len(written_field.values), MISSING, np.int64)
    form_of[codes[present]] = forms[present]
    pairs = zip(written_field.values, form_of.tolist(), strict=True)
    changed = np.fromiter(
        (form >= 0 and text != coded.values[form] for text, form in pairs),
        bool,
        len(form_of),
    )
    return float(np.append(changed, False)[codes].mean()) if len(codes) else 0.0


def code_field(
    field: Field,
    tables: Sequence[RecordTable],
    missing: MissingValues = RECOGNISED,
    elsewhere: Collection[str] = (),
) -> CodedField:
    """Number the values of a field in two tables, or in one, and guess its kind if it has none.

    `elsewhere` has values that stand for missing ones in other fields.
    """
    column = _WrittenColumn(field, tables)
    stated = missing.values_of({field.name, field.column_of(1)})
    column.is_marker |= are_given(column.strings, stated)
    doubtful: tuple[str, ...] = ()
    if missing.recognised:
        doubtful = column.mark_words(elsewhere)
    if field.kind is None:
        field = replace(field, kind=column.guessed_kind())
    if missing.recognised:
        column.mark_digits(str(field.kind))
    readers = readers_of(field, column.readable_texts(field.kind))
    coded = column.coded(field, readers, doubtful)
    dropped = np.zeros(len(coded.values), bool)
    if stated:
        forms = {form for reader, _ in readers for form in reader([*stated])}
        dropped |= [value in forms for value in coded.values]
    if missing.recognised and coded.numbers is not None and len(coded.values):
        dropped |= marked_numbers(coded.kind, coded.numbers, coded.counts)
    return without_values(coded, dropped, tables)


class _WrittenColumn:
    """The distinct strings of a field.

    Attributes
    ----------
    strings : list of str
    rows : list of ndarray of int64, shape (strings,)
        For each table, how many rows have each string.
    is_marker : ndarray of bool, shape (strings,)
        Which strings stand for a missing value, besides blank ones.
    """

    def __init__(self, field: Field, tables: Sequence[RecordTable]) -> None:
        self._codes, self.strings = written_values(field, tables)
        size = len(self.strings)
        self._objects = np.fromiter(self.strings, object, size)
        self._has_text = np.fromiter(map(bool, map(str.strip, self.strings)), bool)
        self.rows = [
            np.bincount(codes + 1, minlength=size + 1)[1:] for codes in self._codes
        ]
        self._counts = np.sum(self.rows, axis=0)
        self.is_marker = np.zeros(size, bool)

    @property
    def _readable(self) -> npt.NDArray[np.bool_]:
        return self._has_text & ~self.is_marker

    def _used(self) -> tuple[Int64Array, list[str], npt.NDArray[Any]]:
        """Return the places of the strings that are read, the strings, and their rows."""
        places = np.flatnonzero(self._readable & (self._counts > 0))
        return places, self._objects[places].tolist(), self._counts[places]

    def mark_words(self, elsewhere: Collection[str]) -> tuple[str, ...]:
        """Mark words for a missing value; return those that are if another field has them."""
        places, texts, counts = self._used()
        words = marked_words(texts, counts, elsewhere)
        self.is_marker[places[words.sure]] = True
        return tuple(texts[place] for place in words.doubtful.tolist())

    def mark_digits(self, kind: str) -> None:
        """Mark digits for a missing value."""
        places, texts, counts = self._used()
        self.is_marker[places[marked_digits(kind, texts, counts)]] = True

    def guessed_kind(self) -> Kind:
        """Return the kind of the values, by those that are not marked."""
        places, texts, counts = self._used()
        tables = []
        for rows in self.rows:
            places_of_table = places[rows[places] > 0]
            tables.append(
                (self._objects[places_of_table].tolist(), rows[places_of_table])
            )
        kind = kind_by_dates(tables)
        if kind is None:
            kind = guess_kind(texts, counts) if texts else "category"
        return kind

    def readable_texts(self, kind: Kind | None) -> list[list[str]]:
        """Return the strings of each table that are read; of ages, each as often as it occurs."""
        texts_of_tables = []
        for rows in self.rows:
            places = np.flatnonzero(rows * self._readable)
            times = rows[places] if kind == "age" else 1
            texts_of_tables.append(np.repeat(self._objects[places], times).tolist())
        return texts_of_tables

    def coded(
        self,
        field: Field,
        readers: Sequence[tuple[Reader, str]],
        doubtful: tuple[str, ...],
    ) -> CodedField:
        """Return the field with the normal forms that readers give, and their notes."""
        rows_read = [rows * self._readable for rows in self.rows]
        places_read = list(map(np.flatnonzero, rows_read))
        reader_of_table = [reader for reader, _ in readers]
        values, places = _distinct(self._objects, reader_of_table, places_read)
        codes = []
        refused = []
        for table_codes, rows, value_of in zip(
            self._codes, rows_read, places, strict=True
        ):
            codes.append(np.append(value_of, MISSING).astype(np.int32)[table_codes])
            refused.append(rows * (value_of == MISSING))
        examples = np.flatnonzero(np.sum(refused, axis=0))[:EXAMPLES]
        marked = np.flatnonzero(self.is_marker & self._has_text).tolist()
        markers = [
            Marker(self.strings[place], tuple(int(rows[place]) for rows in self.rows))
            for place in marked
        ]
        return CodedField(
            field,
            (codes[0], codes[-1]),
            values,
            numbers_of(field, values),
            (int(refused[0].sum()), int(refused[-1].sum())),
            tuple(note for _, note in readers),
            tuple(sorted(markers, key=_fewest_last)),
            tuple(self.strings[place] for place in examples.tolist()),
            doubtful,
        )


def _fewest_last(marker: Marker) -> int:
    return -sum(marker.rows)


def without_values(
    coded: CodedField,
    dropped: npt.NDArray[np.bool_],
    tables: Sequence[RecordTable],
) -> CodedField:
    """Return a field of which some values count as missing and become markers."""
    if not dropped.any():
        return coded
    markers = list(coded.markers)
    columns = field_columns(coded.field, tables)
    for code in np.flatnonzero(dropped).tolist():
        places = [np.flatnonzero(codes == code) for codes in coded.table_codes]
        side = 0 if len(places[0]) else 1
        value = plain_value(columns[side][int(places[side][0])])
        markers.append(Marker(as_text(value), tuple(map(len, places))))
    new_codes = np.where(dropped, MISSING, np.cumsum(~dropped, dtype=np.int64) - 1)
    new_codes = np.append(new_codes, MISSING).astype(np.int32)
    codes = [new_codes[table_codes] for table_codes in coded.table_codes]
    return replace(
        coded,
        codes=(codes[0], codes[-1]),
        values=[*compress(coded.values, (~dropped).tolist())],
        numbers=None if coded.numbers is None else coded.numbers[~dropped],
        markers=tuple(sorted(markers, key=_fewest_last)),
    )


def _distinct(
    strings: npt.NDArray[Any], readers: Sequence[Reader], used_by: Sequence[Int64Array]
) -> tuple[list[str], list[Int64Array]]:
    """Return the distinct normal forms, and for each table the place of each string's form."""
    codes: dict[str, int] = {"": MISSING}
    places_by_reader = {}
    for reader in dict.fromkeys(readers):
        is_used = np.zeros(len(strings), bool)
        for places, other in zip(used_by, readers, strict=True):
            if other == reader:
                is_used[places] = True
        used_places = np.flatnonzero(is_used)
        forms = reader(strings[used_places].tolist())
        new_forms = [form for form in dict.fromkeys(forms) if form not in codes]
        codes.update(zip(new_forms, count(len(codes) - 1)))
        value_of = np.full(len(strings), MISSING, np.int64)
        value_of[used_places] = np.fromiter(
            map(codes.__getitem__, forms), np.int64, len(used_places)
        )
        places_by_reader[reader] = value_of
    del codes[""]
    return [*codes], [places_by_reader[reader] for reader in readers]
