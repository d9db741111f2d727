"""Tables of records: columns of any library, ids, and the fields of two tables with a code for each value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast.common.arrow_columns import checked_column, objects_of
from lshfast.common.extras import optional
from lshfast.common.nearest import no_column
from lshfast.common.run_key import draw_hash_key
from lshfast.common.types import Float64Array, Int64Array
from lshfast.common.visible import visible
from lshfast.kernels.pairs import codes_of_keys
from lshfast.kernels.text import Texts, tokens_of_texts
from lshfast.records.fields import Field, Kind, guess_kind
from lshfast.records.forms import Reader, latin_texts, numbers_of, readers_of

Int32Array: TypeAlias = npt.NDArray[np.int32]

MISSING = -1  # the code of a missing value
NO_HASH = 2**64 - 1  # of a missing value


class RecordTable:
    """A table of records.

    Parameters
    ----------
    source : mapping of str to columns, data frame, Arrow table, or sequence of mappings
        A column is a sequence of values: strings, numbers, dates. None, NaN, NA and empty strings are missing values.
        Data frames are those of pandas and polars, and what else exports an Arrow stream.
    id_column : str, optional
        The column of the ids, which must be unique and not missing. The default ids are the row numbers.
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
        self, source: Any, id_column: str | None = None, name: str = "records", ids: Sequence[Any] | None = None
    ) -> None:
        self.columns = _columns_of(source, name)
        lengths = {column: len(values) for column, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            shown = visible(", ".join(f"{column}: {size}" for column, size in lengths.items()))
            raise ValueError(f"{name}: columns must be of one length, not {shown}")
        self._rows = next(iter(lengths.values()), 0)
        self.id_column, self.name = id_column, name
        if ids is not None and len(ids) != self._rows:
            raise ValueError(f"{name}: there must be one id for each of {self._rows} rows, not {len(ids)}")
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
        """Return a table with further columns and the same ids; raise ValueError if it has a column of the name."""
        for name in columns:
            if name in self.columns:
                raise ValueError(f"{self.name}: there is a column {name!r} already")
        found = RecordTable({**self.columns, **columns}, None, self.name, self.ids)
        found.id_column = self.id_column
        return found

    def _checked_ids(self, column: str) -> list[Any]:
        ids = objects_of(self.column(column), f"{self.name}: column {column!r}")
        kinds = set(map(type, ids))
        if kinds <= {int, str} and len(set(ids)) == len(ids) and (kinds == {int} or "" not in map(_stripped, ids)):
            return ids
        for row, key in enumerate(ids):
            if not isinstance(key, Hashable):
                raise TypeError(f"{self.name}: the id of row {row} must be a string or number, not {key!r}")
        first: dict[Any, int] = {}
        for row, key in enumerate(ids):
            if is_missing(key):
                raise ValueError(f"{self.name}: the id of row {row} is missing in column {column!r}")
            if first.setdefault(key, row) != row:
                raise ValueError(f"{self.name}: the id {key!r} of row {row} is taken by row {first[key]}")
        return ids


def _columns_of(source: Any, name: str) -> dict[str, Any]:
    if isinstance(source, RecordTable):
        return source.columns
    if isinstance(source, Mapping):
        return {_named(column, name): _sized(values, column, name) for column, values in source.items()}
    if hasattr(source, "column_names") and hasattr(source, "column"):  # a table or record batch of pyarrow
        return {_named(column, name): _by_place(source.column(column), column, name) for column in source.column_names}
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):  # a data frame
        return {_named(column, name): _by_place(source[column], column, name) for column in source.columns}
    if hasattr(source, "__arrow_c_stream__"):
        return _columns_of(optional("pyarrow", "cli").table(source), name)
    if (
        isinstance(source, Sequence)
        and not isinstance(source, (str, bytes))
        and all(isinstance(record, Mapping) for record in source)
    ):
        names = dict.fromkeys(column for record in source for column in record)
        return {_named(column, name): [record.get(column) for record in source] for column in names}
    raise TypeError(
        f"{name} must be a table: a mapping of columns, a data frame or records, not {type(source).__name__}"
    )


def _named(column: Any, name: str) -> str:
    if not isinstance(column, str):
        raise TypeError(f"{name}: the names of columns must be strings, not {column!r}")
    return column


def _sized(values: Any, column: str, name: str) -> Any:
    if (
        isinstance(values, (str, bytes, Mapping))
        or not (hasattr(values, "__len__") and hasattr(values, "__getitem__"))
        or getattr(values, "ndim", 1) != 1
    ):
        raise TypeError(f"{name}: column {column!r} must be a sequence of values, not {type(values).__name__}")
    return _by_place(values, column, name)


def _by_place(values: Any, column: str, name: str) -> Any:
    """Return the values of a column; those of a pandas Series are found by label, so they are copied to an array."""
    checked_column(values, f"{name}: column {column!r}")
    return values.to_numpy(dtype=object) if hasattr(values, "iloc") else values


def plain_value(value: Any) -> Any:
    """Return a value of a column as a Python object."""
    return value.as_py() if hasattr(value, "as_py") else value


def _stripped(value: Any) -> Any:
    return value.strip() if type(value) is str else value


def as_text(value: Any) -> str:
    """Return a value as a string; a missing one as an empty string."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:  # of integers with missing values
        return str(int(value))
    return "" if is_missing(value) else str(value)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NA, or an empty or blank string."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value)  # NaN
    except TypeError:  # NA of pandas
        return True


@dataclass(frozen=True)
class CodedField:
    """A field of two tables: for each row the number of its value.

    Attributes
    ----------
    field : Field
        With its kind.
    codes : (ndarray of int32, ndarray of int32)
        For each table and row the number of its value, -1 if it is missing. For one table, both are the same array.
    values : list of str
        Normal forms of the values, all different. Codes have no spaces in them. Numbers are as Python writes them, and
        dates are YYYYMMDD.
    numbers : ndarray of float64 or None
        The values of numbers, and the days of dates.
    refused : tuple of (int, int)
        For each table, rows with a value that is not a number or date, or has no letter and no digit; they count as
        missing.
    notes : tuple of str
        For each table how dates or telephones are read, if its values decided it, else an empty string.
    """

    field: Field
    codes: tuple[Int32Array, Int32Array]
    values: list[str]
    numbers: Float64Array | None
    refused: tuple[int, int]
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """How values are compared."""
        assert self.field.kind is not None
        return self.field.kind

    @property
    def present(self) -> tuple[float, float]:
        """The parts of the rows of the two tables that have a value."""
        first, second = (float((codes >= 0).mean()) if len(codes) else 0.0 for codes in self.codes)
        return first, second


def encoded(parts: Iterable[Any]) -> tuple[list[npt.NDArray[np.int64]], list[Any]]:
    """Return, for several columns, the number of each value and the distinct values, in the order of occurrence."""
    columns = list(parts)
    found = _encoded_by_arrow(columns)
    if found is not None:
        return found
    numbers: dict[Any, int] = {}
    codes = []
    for column in columns:
        values = objects_of(column, "a column")
        listed = (MISSING if is_missing(value) else numbers.setdefault(value, len(numbers)) for value in values)
        try:
            codes.append(np.fromiter(listed, np.int64, len(values)))
        except (TypeError, ValueError):  # of values that have no hash, or whose comparison is an array
            kinds = {type(value).__name__ for value in values if not isinstance(value, Hashable)} or {"arrays"}
            raise TypeError(f"values must be strings, numbers or dates, not {', '.join(sorted(kinds))}") from None
    return codes, [*numbers]


def _encoded_by_arrow(columns: list[Any]) -> tuple[list[Int64Array], list[Any]] | None:
    """Return the same from pyarrow, ten times as fast; None if it is missing or the values have several types."""
    try:
        pa = optional("pyarrow")
    except ImportError:
        return None
    try:
        arrays: list[Any] = []
        for column in columns:
            array = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column, from_pandas=True)
            arrays.append(array.cast(pa.large_string()) if pa.types.is_string(array.type) else array)
        kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
        if len(kinds) > 1 or any(pa.types.is_nested(kind) for kind in kinds):
            return None
        kind = kinds.pop() if kinds else pa.large_string()
        chunks = [chunk for array in arrays for chunk in _chunks(array.cast(kind))]
        whole = pa.chunked_array(chunks, kind)
        found = None if pa.types.is_large_string(kind) else _dictionary(whole)
    except (pa.ArrowException, TypeError, OverflowError, ValueError):
        return None
    codes, values = found or _encoded_texts(whole) or _dictionary(whole)
    return np.split(codes, np.cumsum([len(array) for array in arrays], dtype=np.int64)[:-1]), values


def _dictionary(column: Any) -> tuple[Int64Array, list[Any]]:
    """Return the codes and the distinct values of a chunked array of pyarrow."""
    encoded = column.dictionary_encode().combine_chunks()
    encoded = encoded.combine_chunks() if hasattr(encoded, "chunks") else encoded
    codes = encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, encoded.dictionary.to_pylist()


def _encoded_texts(column: Any) -> tuple[Int64Array, list[str]] | None:
    """Return the same for strings, which are told apart by hashes under a secret key: up to twice as fast.

    None if two different ones have the same hash, which is improbable.
    """
    texts = Texts(column)
    hashes = tokens_of_texts(texts, draw_hash_key())
    if column.null_count:
        hashes[column.is_null().to_numpy()] = NO_HASH
    codes, _, firsts = codes_of_keys(hashes, hashes[:0], NO_HASH)
    rows = np.flatnonzero(codes >= 0)
    if len(rows) + column.null_count < len(codes) or not texts.equal(firsts[codes[rows]], rows).all():
        return None
    return codes, column.take(firsts).to_pylist()


def _chunks(array: Any) -> list[Any]:
    return list(array.chunks) if hasattr(array, "chunks") else [array]


def written_values(field: Field, a: RecordTable, b: RecordTable | None) -> tuple[list[Int64Array], list[str]]:
    """Return the number of each row's value in two tables, or in one, and the values as they are written.

    The number is -1 for None and NaN; values may be empty strings.
    """
    columns = [a.column(field.name)]
    if b is not None:
        columns.append(b.column(field.column_of(1)))
    try:
        codes, raw = encoded(columns)
    except TypeError as error:
        raise TypeError(f"{a.name}: column {field.name!r}: {error}") from None
    strings = raw if set(map(type, raw)) <= {str} else [as_text(value) for value in raw]
    return codes, latin_texts(strings) if field.latin else strings


def as_written(coded: CodedField, a: RecordTable, b: RecordTable | None) -> CodedField:
    """Return a field with the values as they are written instead of their normal forms; the same ones are missing."""
    codes, strings = written_values(coded.field, a, b)
    first, second = (
        np.where(own < 0, MISSING, part).astype(np.int32)
        for own, part in zip(coded.codes, (codes[0], codes[-1]), strict=True)
    )
    return replace(coded, codes=(first, second), values=strings, numbers=None)


def part_changed(written: CodedField, coded: CodedField) -> float:
    """Return which part of the rows of two tables has a value that is not written in its normal form."""
    codes, forms = (np.concatenate(own.codes) for own in (written, coded))
    present = codes >= 0
    form_of = np.full(len(written.values), MISSING, np.int64)
    form_of[codes[present]] = forms[present]
    pairs = zip(written.values, form_of.tolist(), strict=True)
    changed = np.fromiter((form >= 0 and text != coded.values[form] for text, form in pairs), bool, len(form_of))
    return float(np.append(changed, False)[codes].mean()) if len(codes) else 0.0


def code_field(field: Field, a: RecordTable, b: RecordTable | None) -> CodedField:
    """Number the values of a field in two tables, or in one; the kind is guessed if the field has none."""
    codes, strings = written_values(field, a, b)
    given = np.fromiter(map(len, strings), np.int64, len(strings)) > 0
    given &= ~np.fromiter(map(str.isspace, strings), bool, len(strings))
    objects = np.fromiter(strings, object, len(strings))
    tables = [np.bincount(part + 1, minlength=len(strings) + 1)[1:] * given for part in codes]
    if field.kind is None:
        counts = tables[0] if b is None else tables[0] + tables[1]
        used = np.flatnonzero(counts)
        whole = objects[used].tolist()
        field = replace(field, kind=guess_kind(whole, counts[used]) if whole else "category")
    used_by = [np.flatnonzero(own) for own in tables]
    readers = readers_of(field, [objects[used].tolist() for used in used_by])
    values, places = _distinct(objects, [reader for reader, _ in readers], used_by)
    found = [np.append(own, MISSING).astype(np.int32)[part] for own, part in zip(places, codes, strict=True)]
    missing = np.append(given, False)
    refused = [int((missing[part] & (new == MISSING)).sum()) for part, new in zip(codes, found, strict=True)]
    second = 0 if b is None else 1
    notes = tuple(note for _, note in readers)
    numbers = numbers_of(field, values)
    return CodedField(field, (found[0], found[second]), values, numbers, (refused[0], refused[second]), notes)


def _distinct(
    strings: npt.NDArray[Any], readers: Sequence[Reader], used_by: Sequence[Int64Array]
) -> tuple[list[str], list[Int64Array]]:
    """Return the distinct normal forms of strings, and for each table the place of each string's normal form."""
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
        if forms == texts and len(own) == len(readers):  # all different, and in the order of their numbers
            found[reader][used] = np.arange(len(used), dtype=np.int64)
            return forms, [found[reader]] * len(readers)
        new = [form for form in dict.fromkeys(forms) if form and form not in places]
        places.update(zip(new, range(len(places), len(places) + len(new)), strict=True))
        number = {**places, "": MISSING}.__getitem__
        found[reader][used] = np.fromiter(map(number, forms), np.int64, len(used))
    return [*places], [found[reader] for reader in readers]
