"""Write rows as Parquet: batches of Parquet are copied, other rows are converted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lshfast._common.extras import optional, pa
from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.visible import printable
from lshfast._io.corpus import Corpus
from lshfast._io.files import DataError, File, Rows
from lshfast._io.parquet import iso_times, schema_of, type_of
from lshfast._io.row_types import MOST_LEVELS, clash, columns_with_types
from lshfast._io.selection import Misfit, Selection, plain

_GROUP_BYTES = 32 << 20  # of a row group, before compression
_CELLS = 4 << 20  # of rows that are converted at a time


def check(selection: Selection) -> Any:
    """Return a schema for the rows of all inputs, or raise `DataError` if there is none."""
    schema = pa.schema([])
    unsigned: set[str] = set()  # columns of JSON with an integer above 2**63 - 1
    selection.check_width()
    for file, rows, chunk in selection.ahead():
        records = []
        misfit = selection.misfit(rows)
        if chunk is not None:
            records = selection.records(file, rows, chunk, iso_times)
            selection.record_names(file, records)
            part = pa.schema(
                [
                    (name, values.array(None, misfit).type)
                    for name, values in _sparse(records).items()
                ]
            )
            unsigned.update(
                column.name for column in part if column.type == pa.uint64()
            )
        else:
            part = columns_with_types(file, selection.names(file), selection.types)
        try:
            if len(schema):
                schema = pa.unify_schemas([schema, part], promote_options="permissive")
            else:
                schema = part
        except pa.ArrowException:
            name, reason = _clash(schema, part)
            holders = (
                i for i, record in enumerate(records) if record.get(name) is not None
            )
            raise (
                misfit(next(holders), reason) if records else file.fault(None, reason)
            ) from None
    schema = _with_unsigned(schema, unsigned)
    return pa.schema(
        [column.with_type(_with_members(column.type)) for column in schema],
        schema.metadata,
    )


def _with_unsigned(schema: Any, names: set[str]) -> Any:
    """Return a schema in which columns of integers with these names are unsigned."""
    for place, column in enumerate(schema):
        if column.name in names and column.type == pa.int64():
            schema = schema.set(place, column.with_type(pa.uint64()))
    return schema


def _with_members(kind: Any) -> Any:
    """Return the type of a column for Parquet; structs without members get one of nulls."""
    if pa.types.is_struct(kind):
        members = [kind.field(i) for i in range(kind.num_fields)] or [
            pa.field("", pa.null())
        ]
        return pa.struct(
            [member.with_type(_with_members(member.type)) for member in members]
        )
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_members(kind.value_type)))
    return kind


@dataclass
class _Sparse:
    """The values that some of the rows have in a column."""

    name: str
    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def array(self, kind: Any, misfit: Misfit) -> Any:
        """Return the values as an Arrow array."""
        return array_of(
            self.values, kind, self.name, lambda i, reason: misfit(self.rows[i], reason)
        )

    def column(self, kind: Any, count: int, misfit: Misfit) -> Any:
        """Return an Arrow array of all rows, null for those without a value."""
        array = self.array(kind, misfit)
        if len(array) == count:
            return array
        places = np.full(count, -1, np.int64)
        places[self.rows] = int64_range(len(array))
        return array.take(pa.array(places, mask=places < 0))


def _sparse(records: list[dict[str, Any]]) -> dict[str, _Sparse]:
    """Return the columns of some rows, in order of first occurrence."""
    columns: dict[str, _Sparse] = {}
    for row, record in enumerate(records):
        for name, value in record.items():
            if name not in columns:
                columns[name] = _Sparse(name)
            columns[name].rows.append(row)
            columns[name].values.append(value)
    return columns


def write(selection: Selection, stream: Any) -> None:
    """Write all rows."""
    schema = full_schema = check(selection)
    for name in selection.annotations:
        full_schema = full_schema.append(
            pa.field(name, _annotation_type(selection, name))
        )
    batches: list[Any] = []
    size = 0
    with parquet_writer(stream, full_schema, printable(selection.output)) as writer:
        for file, rows, chunk in _pieces(selection, len(full_schema)):
            present = _fitted(selection, file, rows, chunk, schema)
            for name, values in selection.added_columns(rows).items():
                present[name] = array_of(
                    values, full_schema.field(name).type, name, selection.misfit(rows)
                )
            nulls = {
                kind: pa.nulls(len(rows), kind)
                for kind in {f.type for f in full_schema if f.name not in present}
            }
            arrays = [
                present[f.name] if f.name in present else nulls[f.type]
                for f in full_schema
            ]
            batches.append(pa.RecordBatch.from_arrays(arrays, schema=full_schema))
            size += sum(array.nbytes for array in present.values())
            if size >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(batches))
                batches = []
                size = 0
        if batches:
            writer.write_table(pa.Table.from_batches(batches))


def _annotation_type(selection: Selection, name: str) -> Any:
    """Return the Arrow type of an annotation: a given one, or one inferred from all values."""
    kind = selection.kinds.get(name)
    if kind is not None:
        return pa.type_for_alias(kind)
    return typed_array(
        selection.annotations[name], None, name, selection.corpus.fault
    ).type


@contextmanager
def parquet_writer(stream: Any, schema: Any, name: str) -> Iterator[Any]:
    """Open a Parquet file for writing; `name` is its name in messages."""
    try:
        writer = optional("pyarrow.parquet").ParquetWriter(
            stream, schema, compression="zstd"
        )
        try:
            yield writer
        except BaseException:
            # The file is not kept, and its stream may be closed: pyarrow must not write its end.
            writer.is_open = False
            raise
        writer.close()
    except MemoryError:
        raise
    except pa.ArrowException as error:
        raise DataError(name, None, str(error)) from error


def id_kind(corpus: Corpus) -> str:
    """Return Arrow's name for the type of the keys of a corpus: "int64", "uint64" or "string"."""
    name = corpus.layout.id_column
    if name is None:
        return "string"
    if corpus.ids:
        if isinstance(corpus.ids[0], str):
            return "string"
        return "uint64" if corpus.has_unsigned_ids else "int64"
    kinds = (
        type_of(file, schema_of(file), name) for file in corpus.files if file.columnar
    )
    return "int64" if any(pa.types.is_integer(kind) for kind in kinds) else "string"


def typed_array(values: Any, kind: str | None, name: str, misfit: Misfit) -> Any:
    """Return an Arrow array of the named type, of the values' dtype, or of an inferred type."""
    if kind is not None:
        return array_of(plain(values), pa.type_for_alias(kind), name, misfit)
    typed = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    return array_of(
        plain(values),
        pa.from_numpy_dtype(values.dtype) if typed else None,
        name,
        misfit,
    )


def array_of(values: list[Any], kind: Any, name: str, misfit: Misfit) -> Any:
    """Return an Arrow array, or raise an error that names the first incompatible value.

    Integers above 2**63 - 1 have the type uint64, if no type is given.
    """

    def convert(values: list[Any]) -> Any:
        try:
            return pa.array(values, kind)
        except OverflowError:
            if kind is None:
                with suppress(OverflowError, TypeError, pa.ArrowException):
                    return pa.array(values, pa.uint64())
            raise

    def fault(many: int) -> str:
        try:
            check_depth(convert(values[:many]))
        except OverflowError:
            return "an integer is beyond 64 bits"
        except (pa.ArrowException, TypeError, ValueError, RecursionError) as error:
            return str(error)
        return ""

    def check_depth(array: Any) -> Any:
        if _levels(array.type) > MOST_LEVELS:
            raise ValueError(
                f"nested deeper than the {MOST_LEVELS} levels that Parquet's readers take"
            )
        return array

    try:
        return check_depth(convert(values))
    except MemoryError:
        raise
    except (
        pa.ArrowException,
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:
        many = bisect_left(range(len(values)), True, key=lambda n: bool(fault(n)))
        raise misfit(many - 1, f"column {name!r}: {fault(many)}") from error


def _levels(kind: Any) -> int:
    """Return the number of levels of Parquet's schema that a type takes."""
    types = pa.types
    levels = 0
    pending = [(kind, 1)]
    while pending:
        kind, level = pending.pop()
        levels = max(levels, level)
        down = level + (1 if types.is_struct(kind) else 2)
        pending += [(kind.field(i).type, down) for i in range(kind.num_fields)]
    return levels


def _clash(schema: Any, part: Any) -> tuple[str, str]:
    """Return the column whose two types are not compatible, and the reason."""
    for new in part:
        before = schema.field(new.name) if new.name in schema.names else new
        try:
            pa.unify_schemas(
                [pa.schema([before]), pa.schema([new])], promote_options="permissive"
            )
        except pa.ArrowException:
            return new.name, clash(new.name, new.type, before.type)
    return "", "columns do not fit those of the inputs before"


def _pieces(selection: Selection, width: int) -> Iterator[tuple[File, Rows, Any]]:
    """Read the rows to keep; rows to convert come in pieces of a limited number of cells."""
    for file, rows, chunk in selection.chunks():
        step = max(1, len(rows) if file.columnar else _CELLS // max(1, width))
        for part in parts_of_rows(len(rows), step):
            yield file, rows[part], chunk[part]


def _fitted(
    selection: Selection, file: File, rows: Rows, chunk: Any, schema: Any
) -> dict[str, Any]:
    """Convert rows to columns of the schema; the columns that they lack are left out."""
    misfit = selection.misfit(rows)
    if not file.columnar:
        columns = _sparse(selection.records(file, rows, chunk, iso_times))
        return {
            name: values.column(schema.field(name).type, len(rows), misfit)
            for name, values in columns.items()
        }
    arrays = {}
    for name, column in zip(selection.names(file), chunk.columns, strict=True):
        kind = schema.field(name).type
        try:
            arrays[name] = column if column.type == kind else column.cast(kind)
        except MemoryError:
            raise
        except pa.ArrowException as error:
            raise misfit(
                0, f"column {name!r}, in this row or soon after: {error}"
            ) from error
    return arrays
