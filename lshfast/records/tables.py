"""Tables of records: columns of any library, ids, and the fields of two tables with a code for each
value.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import objects_of
from lshfast._common.nearest import no_column
from lshfast._common.types import Float64Array, Int64Array
from lshfast._common.visible import visible
from lshfast.records.distinct_values import MISSING as MISSING
from lshfast.records.distinct_values import Int32Array as Int32Array
from lshfast.records.distinct_values import as_text as as_text
from lshfast.records.distinct_values import distinct_texts
from lshfast.records.distinct_values import encoded as encoded
from lshfast.records.distinct_values import is_missing as is_missing
from lshfast.records.fields import Field, Kind, guess_kind, kind_by_dates
from lshfast.records.forms import Reader, latin_texts, numbers_of, readers_of
from lshfast.records.missing import (
    Marker,
    MissingValues,
    are_given,
    marked_digits,
    marked_numbers,
    marked_words,
)
from lshfast.records.sources import columns_of

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
        self.columns = (
            source.columns if isinstance(source, RecordTable) else columns_of(source, name)
        )
        lengths = {column: len(values) for column, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            shown = visible(", ".join(f"{column}: {size}" for column, size in lengths.items()))
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
            self.ids = range(self._rows) if id_column is None else self._checked_ids(id_column)

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
        """Return a table with further columns and the same ids; raise ValueError if it has a column
        of the name.
        """
        for name in columns:
            if name in self.columns:
                raise ValueError(f"{self.name}: there is a column {name!r} already")
        found = RecordTable({**self.columns, **columns}, None, self.name, self.ids)
        found.id_column = self.id_column
        return found

    def _checked_ids(self, column: str) -> list[Any]:
        ids = objects_of(self.column(column), f"{self.name}: column {column!r}")
        kinds = set(map(type, ids))
        if (
            kinds <= {int, str}
            and len(set(ids)) == len(ids)
            and (kinds == {int} or "" not in map(_stripped, ids))
        ):
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
        first, second = (float((codes >= 0).mean()) if len(codes) else 0.0 for codes in self.codes)
        return first, second


def written_values(
    field: Field, a: RecordTable, b: RecordTable | None
) -> tuple[list[Int64Array], list[str]]:
    """Return the number of each row's value in two tables, or in one, and the values as they are
    written.

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
    """Return a field with the values as they are written instead of their normal forms; the same
    ones are missing.
    """
    codes, strings = written_values(coded.field, a, b)
    parts = [
        np.where(own < 0, MISSING, part).astype(np.int32)
        for own, part in zip(coded.codes, codes, strict=False)
    ]
    return replace(coded, codes=(parts[0], parts[-1]), values=strings, numbers=None)


def part_changed(written: CodedField, coded: CodedField) -> float:
    """Return which part of the rows of two tables has a value that is not written in its normal
    form.
    """
    codes, forms = (np.concatenate(own.codes) for own in (written, coded))
    present = codes >= 0
    form_of = np.full(len(written.values), MISSING, np.int64)
    form_of[codes[present]] = forms[present]
    pairs = zip(written.values, form_of.tolist(), strict=True)
    changed = np.fromiter(
        (form >= 0 and text != coded.values[form] for text, form in pairs), bool, len(form_of)
    )
    return float(np.append(changed, False)[codes].mean()) if len(codes) else 0.0


def code_field(
    field: Field,
    a: RecordTable,
    b: RecordTable | None,
    missing: MissingValues = RECOGNISED,
    elsewhere: Collection[str] = (),
) -> CodedField:
    """Number the values of a field in two tables, or in one; the kind is guessed if the field has
    none.

    `elsewhere` has values that stand for missing ones in other fields.
    """
    codes, strings = written_values(field, a, b)
    given = np.fromiter(map(len, strings), np.int64, len(strings)) > 0
    given &= ~np.fromiter(map(str.isspace, strings), bool, len(strings))
    objects = np.fromiter(strings, object, len(strings))
    rows = [np.bincount(part + 1, minlength=len(strings) + 1)[1:] for part in codes]
    counts = np.sum(rows, axis=0)
    stated = missing.values_of({field.name, field.column_of(1)})
    marked = are_given(strings, stated) & given
    doubtful: tuple[str, ...] = ()
    if missing.recognised:
        used = np.flatnonzero(given & ~marked & (counts > 0))
        words = marked_words(objects[used].tolist(), counts[used], elsewhere)
        marked[used[words.sure]] = True
        doubtful = tuple(objects[used[words.doubtful]].tolist())
    used = np.flatnonzero(given & ~marked & (counts > 0))
    texts = objects[used].tolist()
    if field.kind is None:
        sides = [used[own[used] > 0] for own in rows]
        kind = kind_by_dates(
            [
                (objects[places].tolist(), own[places])
                for places, own in zip(sides, rows, strict=True)
            ]
        )
        field = replace(
            field, kind=kind or (guess_kind(texts, counts[used]) if texts else "category")
        )
    if missing.recognised:
        marked[used[marked_digits(str(field.kind), texts, counts[used])]] = True
    readable = given & ~marked
    used_by = [np.flatnonzero(own * readable) for own in rows]
    weights = [
        own[used] if field.kind == "age" else 1 for own, used in zip(rows, used_by, strict=True)
    ]
    columns = [
        np.repeat(objects[used], times).tolist()
        for used, times in zip(used_by, weights, strict=True)
    ]
    readers = readers_of(field, columns)
    values, places = _distinct(objects, [reader for reader, _ in readers], used_by)
    found = [
        np.append(own, MISSING).astype(np.int32)[part]
        for own, part in zip(places, codes, strict=True)
    ]
    refused = [
        (own * readable * (place == MISSING)) for own, place in zip(rows, places, strict=True)
    ]
    markers = [
        Marker(strings[place], tuple(int(own[place]) for own in rows))
        for place in np.flatnonzero(marked)
    ]
    coded = CodedField(
        field,
        (found[0], found[-1]),
        values,
        numbers_of(field, values),
        (int(refused[0].sum()), int(refused[-1].sum())),
        tuple(note for _, note in readers),
        tuple(sorted(markers, key=lambda own: -sum(own.rows))),
        tuple(strings[place] for place in np.flatnonzero(np.sum(refused, axis=0))[:EXAMPLES]),
        doubtful,
    )
    dropped = np.zeros(len(values), bool)
    if stated:
        forms = {form for reader, _ in readers for form in reader([*stated])}
        dropped = np.fromiter((value in forms for value in values), bool, len(values))
    if missing.recognised and coded.numbers is not None and len(values):
        frequency = sum(np.bincount(part[part >= 0], minlength=len(values)) for part in found)
        dropped |= marked_numbers(coded.kind, coded.numbers, np.asarray(frequency))
    return without_values(coded, dropped, a, b)


def without_values(
    coded: CodedField, dropped: npt.NDArray[np.bool_], a: RecordTable, b: RecordTable | None
) -> CodedField:
    """Return a field of which some values count as missing, and are named among its markers."""
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
    new = np.append(
        np.where(dropped, MISSING, np.cumsum(~dropped, dtype=np.int64) - 1), MISSING
    ).astype(np.int32)
    codes = [new[part] for part in parts]
    numbers = None if coded.numbers is None else coded.numbers[~dropped]
    values = [
        value
        for value, is_dropped in zip(coded.values, dropped.tolist(), strict=True)
        if not is_dropped
    ]
    markers.sort(key=lambda own: -sum(own.rows))
    return replace(
        coded, codes=(codes[0], codes[-1]), values=values, numbers=numbers, markers=tuple(markers)
    )


def _distinct(
    strings: npt.NDArray[Any], readers: Sequence[Reader], used_by: Sequence[Int64Array]
) -> tuple[list[str], list[Int64Array]]:
    """Return the distinct normal forms of strings, and for each table the place of each string's
    normal form.
    """
    places: dict[str, int] = {}
    found = {}
    for reader in dict.fromkeys(readers):
        own = [used for used, other in zip(used_by, readers, strict=True) if other == reader]
        is_used = np.zeros(len(strings), bool)
        is_used[np.concatenate(own)] = True
        used = np.flatnonzero(is_used)
        texts = strings[used].tolist()
        forms = reader(texts)
        found[reader] = np.full(len(strings), MISSING, np.int64)
        different = dict.fromkeys(forms)
        if len(different) == len(forms) and len(own) == len(readers) and "" not in different:
            # All different, and in their order.
            found[reader][used] = np.arange(len(used), dtype=np.int64)
            return forms, [found[reader]] * len(readers)
        new = [form for form in different if form and form not in places]
        places.update(zip(new, range(len(places), len(places) + len(new)), strict=True))
        number = {**places, "": MISSING}.__getitem__
        found[reader][used] = np.fromiter(map(number, forms), np.int64, len(used))
    return [*places], [found[reader] for reader in readers]
