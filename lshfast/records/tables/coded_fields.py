"""Coded fields: a number for the value of each row of two tables, or of one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress, count
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.types import BoolArray, Float64Array, Int32Array, Int64Array
from lshfast.records.comparison.overlap import distinct_counts
from lshfast.records.tables.distinct_values import MISSING, as_text, distinct_texts
from lshfast.records.tables.fields import (
    Field,
    Kind,
    are_mail_addresses,
    guess_kind,
    kind_by_dates,
)
from lshfast.records.tables.record_table import (
    RecordTable,
    field_columns,
    plain_value,
)
from lshfast.records.values.forms import Reader, latin_texts, numbers_of, readers_of
from lshfast.records.values.markers import (
    marked_digits,
    marked_numbers,
    marked_words,
)
from lshfast.records.values.missing import Marker, MissingValues, are_given

EXAMPLES = 3  # of values that are not of the kind of their field
RECOGNISED = MissingValues()


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
    are_mail_addresses : bool
        Whether most values are e-mail addresses as they are written.
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
    are_mail_addresses: bool = False

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
    def _readable(self) -> BoolArray:
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
            are_mail_addresses(self._used()[1]),
        )


def _fewest_last(marker: Marker) -> int:
    return -sum(marker.rows)


def without_values(
    coded: CodedField,
    dropped: BoolArray,
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
