"""Tables of records: columns of any library, ids, and the coded fields of two tables."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import objects_of
from lshfast._common.nearest import no_column
from lshfast._common.types import Float64Array, Int64Array
from lshfast._common.visible import visible
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


def plain_value(value: Any) -> Any:
    """Return a value of a column as a Python object."""
    return value.as_py() if hasattr(value, "as_py") else value


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
    def present(self) -> tuple[float, float]:
        """The parts of the rows of the two tables that have a value."""
        first, second = (
            float((codes >= 0).mean()) if len(codes) else 0.0 for codes in self.codes
        )
        return first, second


def written_values(
    field: Field, a: RecordTable, b: RecordTable | None
) -> tuple[list[Int64Array], list[str]]:
    """Return the number of each row's value in two tables, or in one, and the values as written.


    The number is -1 for None and NaN; values may be empty strings.
    """
    columns = [a.column(field.name)]
    if b is not None:
        columns.append(b.column(field.column_of(1)))
    try:
        return distinct_texts(columns, latin_texts if field.latin else None)
    except TypeError as error:
        raise TypeError(f"{a.name}: column {field.name!r}: {error}") from None


def as_written(coded: CodedField, a: RecordTable, b: RecordTable | None) -> CodedField:
    """Return a field with its values as they are written; the same ones are missing."""
    codes, strings = written_values(coded.field, a, b)
    new_codes = [
        np.where(normal_codes < 0, MISSING, written_codes).astype(np.int32)
        for normal_codes, written_codes in zip(coded.codes, codes, strict=False)
    ]
    return replace(
        coded, codes=(new_codes[0], new_codes[-1]), values=strings, numbers=None
    )


def part_changed(written: CodedField, coded: CodedField) -> float:
    """Return the share of the rows of two tables whose value differs from its normal form."""
    codes = np.concatenate(written.codes)
    forms = np.concatenate(coded.codes)
    present = codes >= 0
    form_of = np.full(len(written.values), MISSING, np.int64)
    form_of[codes[present]] = forms[present]
    pairs = zip(written.values, form_of.tolist(), strict=True)
    changed = np.fromiter(
        (form >= 0 and text != coded.values[form] for text, form in pairs),
        bool,
        len(form_of),
    )
    return float(np.append(changed, False)[codes].mean()) if len(codes) else 0.0


def code_field(
    field: Field,
    a: RecordTable,
    b: RecordTable | None,
    missing: MissingValues = RECOGNISED,
    elsewhere: Collection[str] = (),
) -> CodedField:
    """Number the values of a field in two tables, or in one, and guess its kind if it has none.

    `elsewhere` has values that stand for missing ones in other fields.
    """
    codes, strings = written_values(field, a, b)
    has_text = np.fromiter(map(len, strings), np.int64, len(strings)) > 0
    has_text &= ~np.fromiter(map(str.isspace, strings), bool, len(strings))
    objects = np.fromiter(strings, object, len(strings))
    rows = [np.bincount(part + 1, minlength=len(strings) + 1)[1:] for part in codes]
    counts = np.sum(rows, axis=0)
    stated = missing.values_of({field.name, field.column_of(1)})
    marked = are_given(strings, stated) & has_text
    used = np.flatnonzero(has_text & ~marked & (counts > 0))
    doubtful: tuple[str, ...] = ()
    if missing.recognised:
        words = marked_words(objects[used].tolist(), counts[used], elsewhere)
        marked[used[words.sure]] = True
        doubtful = tuple(objects[used[words.doubtful]].tolist())
        used = used[~words.sure]
    if field.kind is None:
        field = replace(field, kind=_guessed_kind(objects, used, rows))
    if missing.recognised:
        is_marker = marked_digits(str(field.kind), objects[used].tolist(), counts[used])
        marked[used[is_marker]] = True
    readable = has_text & ~marked
    readers = readers_of(field, _readable_columns(field, objects, rows, readable))
    used_by = [np.flatnonzero(table_rows * readable) for table_rows in rows]
    values, places = _distinct(objects, [reader for reader, _ in readers], used_by)
    value_codes = [
        np.append(table_places, MISSING).astype(np.int32)[part]
        for table_places, part in zip(places, codes, strict=True)
    ]
    refused = [
        table_rows * readable * (table_places == MISSING)
        for table_rows, table_places in zip(rows, places, strict=True)
    ]
    refused_strings = np.flatnonzero(np.sum(refused, axis=0))
    markers = [
        Marker(strings[place], tuple(int(table_rows[place]) for table_rows in rows))
        for place in np.flatnonzero(marked)
    ]
    coded = CodedField(
        field,
        (value_codes[0], value_codes[-1]),
        values,
        numbers_of(field, values),
        (int(refused[0].sum()), int(refused[-1].sum())),
        tuple(note for _, note in readers),
        tuple(sorted(markers, key=_fewest_last)),
        tuple(strings[place] for place in refused_strings[:EXAMPLES]),
        doubtful,
    )
    dropped = np.zeros(len(values), bool)
    if stated:
        forms = {form for reader, _ in readers for form in reader([*stated])}
        dropped = np.fromiter((value in forms for value in values), bool, len(values))
    if missing.recognised and coded.numbers is not None and len(values):
        frequency = sum(
            np.bincount(part[part >= 0], minlength=len(values)) for part in value_codes
        )
        dropped |= marked_numbers(coded.kind, coded.numbers, np.asarray(frequency))
    return without_values(coded, dropped, a, b)


def _guessed_kind(
    objects: npt.NDArray[Any], used: Int64Array, rows: Sequence[npt.NDArray[Any]]
) -> Kind:
    """Guess the kind of a field from its strings and the rows of each table that have them."""
    columns = []
    for table_rows in rows:
        places = used[table_rows[used] > 0]
        columns.append((objects[places].tolist(), table_rows[places]))
    kind = kind_by_dates(columns)
    if kind is not None:
        return kind
    counts = np.sum(rows, axis=0)
    return guess_kind(objects[used].tolist(), counts[used]) if len(used) else "category"


def _readable_columns(
    field: Field,
    objects: npt.NDArray[Any],
    rows: Sequence[npt.NDArray[Any]],
    readable: npt.NDArray[np.bool_],
) -> list[list[str]]:
    """Return the distinct strings of each table; of ages, each as often as it occurs."""
    columns = []
    for table_rows in rows:
        used = np.flatnonzero(table_rows * readable)
        times = table_rows[used] if field.kind == "age" else 1
        columns.append(np.repeat(objects[used], times).tolist())
    return columns


def _fewest_last(marker: Marker) -> int:
    return -sum(marker.rows)


def without_values(
    coded: CodedField,
    dropped: npt.NDArray[np.bool_],
    a: RecordTable,
    b: RecordTable | None,
) -> CodedField:
    """Return a field of which some values count as missing and become markers."""
    if not dropped.any():
        return coded
    tables = [a] if b is None else [a, b]
    parts = coded.codes[: len(tables)]
    markers = list(coded.markers)
    for code in np.flatnonzero(dropped).tolist():
        places = [np.flatnonzero(part == code) for part in parts]
        side = next(side for side, rows in enumerate(places) if len(rows))
        value = tables[side].column(coded.field.column_of(side))[int(places[side][0])]
        markers.append(Marker(as_text(plain_value(value)), tuple(map(len, places))))
    new_codes = np.where(dropped, MISSING, np.cumsum(~dropped, dtype=np.int64) - 1)
    new_codes = np.append(new_codes, MISSING).astype(np.int32)
    codes = [new_codes[part] for part in parts]
    numbers = None if coded.numbers is None else coded.numbers[~dropped]
    values = [*compress(coded.values, (~dropped).tolist())]
    markers.sort(key=_fewest_last)
    return replace(
        coded,
        codes=(codes[0], codes[-1]),
        values=values,
        numbers=numbers,
        markers=tuple(markers),
    )


def _distinct(
    strings: npt.NDArray[Any], readers: Sequence[Reader], used_by: Sequence[Int64Array]
) -> tuple[list[str], list[Int64Array]]:
    """Return the distinct normal forms, and for each table the place of each string's form."""
    places: dict[str, int] = {}
    places_by_reader = {}
    for reader in dict.fromkeys(readers):
        used_by_reader = [
            used
            for used, other in zip(used_by, readers, strict=True)
            if other == reader
        ]
        is_used = np.zeros(len(strings), bool)
        is_used[np.concatenate(used_by_reader)] = True
        used = np.flatnonzero(is_used)
        forms = reader(strings[used].tolist())
        place_of_string = np.full(len(strings), MISSING, np.int64)
        places_by_reader[reader] = place_of_string
        distinct_forms = dict.fromkeys(forms)
        are_distinct = len(distinct_forms) == len(forms) and "" not in distinct_forms
        if are_distinct and len(used_by_reader) == len(readers):  # in their order
            place_of_string[used] = np.arange(len(used), dtype=np.int64)
            return forms, [place_of_string] * len(readers)
        new_forms = [form for form in distinct_forms if form and form not in places]
        new_places = range(len(places), len(places) + len(new_forms))
        places.update(zip(new_forms, new_places, strict=True))
        number = {**places, "": MISSING}.__getitem__
        place_of_string[used] = np.fromiter(map(number, forms), np.int64, len(used))
    return [*places], [places_by_reader[reader] for reader in readers]
