"""Write rows as Parquet: batches of Parquet are copied, other rows are converted to columns of one schema."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lshfast.common.extras import optional
from lshfast.readers.corpus import Corpus
from lshfast.readers.files import DataError, File, Rows
from lshfast.readers.parquet import iso_times, schema_of, type_of
from lshfast.readers.selection import Misfit, Selection, plain

_GROUP_BYTES = 32 << 20  # of a row group, before compression
_MOST_LEVELS = 96  # of nested types; a list takes two


def check(selection: Selection) -> Any:
    """Return a schema for the rows of all inputs, or raise `DataError` if there is none."""
    pa = optional("pyarrow")
    schema = pa.schema([])
    for file, rows, chunk in selection.ahead():
        records, misfit = [], selection.misfit(rows)
        if chunk is not None:
            records = selection.records(file, rows, chunk, iso_times)
            names = selection.record_names(file, records)
            part = pa.schema([(n, array_of([r.get(n) for r in records], None, n, misfit).type) for n in names])
        else:
            known = {name: pa.type_for_alias(kind.name) for name, kind in selection.types.items() if file.delimited}
            part = pa.schema([(name, known.get(name, pa.string())) for name in selection.names(file)])
            part = schema_of(file) if file.columnar else part
        try:
            schema = pa.unify_schemas([schema, part], promote_options="permissive") if len(schema) else part
        except pa.ArrowException:
            name, reason = _clash(schema, part)
            holders = (i for i, record in enumerate(records) if record.get(name) is not None)
            raise misfit(next(holders), reason) if records else file.fault(None, reason) from None
    return schema


def write(selection: Selection, stream: Any) -> None:
    """Write all rows."""
    pa = optional("pyarrow")
    schema = whole = check(selection)
    for name in selection.annotations:
        whole = whole.append(pa.field(name, _annotation_type(selection, name)))
    batches: list[Any] = []
    size = 0
    with parquet_writer(stream, whole, selection.out) as writer:
        for file, rows, chunk in selection.chunks():
            arrays = _fitted(selection, file, rows, chunk, schema)
            for name, values in selection.added_columns(rows).items():
                arrays.append(array_of(values, whole.field(name).type, name, selection.misfit(rows)))
            batches.append(pa.RecordBatch.from_arrays(arrays, schema=whole))
            size += batches[-1].nbytes
            if size >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(batches))
                batches, size = [], 0
        if batches:
            writer.write_table(pa.Table.from_batches(batches))


def _annotation_type(selection: Selection, name: str) -> Any:
    """Return the Arrow type of an annotation: a given one, or one inferred from all values."""
    kind = selection.kinds.get(name)
    if kind is not None:
        return optional("pyarrow").type_for_alias(kind)
    return typed_array(selection.annotations[name], None, name, selection.corpus.fault).type


@contextmanager
def parquet_writer(stream: Any, schema: Any, name: str) -> Iterator[Any]:
    """Open a Parquet file for writing; `name` is its name in messages."""
    try:
        with optional("pyarrow.parquet").ParquetWriter(stream, schema, compression="zstd") as writer:
            yield writer
    except MemoryError:
        raise
    except optional("pyarrow").ArrowException as error:
        raise DataError(name, None, str(error)) from error


def id_kind(corpus: Corpus) -> str:
    """Return Arrow's name for the type of the keys of a corpus: "int64" or "string"."""
    name = corpus.layout.id_column
    if name is None:
        return "string"
    if corpus.ids:
        return "int64" if isinstance(corpus.ids[0], int) else "string"
    kinds = (type_of(file, schema_of(file), name) for file in corpus.files if file.columnar)
    return "int64" if any(optional("pyarrow").types.is_integer(kind) for kind in kinds) else "string"


def typed_array(values: Any, kind: str | None, name: str, misfit: Misfit) -> Any:
    """Return an Arrow array of the named type, else of the values' dtype, else of a type inferred from the values."""
    pa = optional("pyarrow")
    if kind is not None:
        return array_of(plain(values), pa.type_for_alias(kind), name, misfit)
    typed = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    return array_of(plain(values), pa.from_numpy_dtype(values.dtype) if typed else None, name, misfit)


def array_of(values: list[Any], kind: Any, name: str, misfit: Misfit) -> Any:
    """Return an Arrow array, or raise an error that names the first value that is not compatible with the others."""
    pa = optional("pyarrow")

    def fault(many: int) -> str:
        try:
            check_depth(pa.array(values[:many], kind))
        except OverflowError:
            return "an integer is beyond 64 bits"
        except (pa.ArrowException, TypeError, ValueError, RecursionError) as error:
            return str(error)
        return ""

    def check_depth(array: Any) -> Any:
        if _levels(array.type) > _MOST_LEVELS:
            raise ValueError(f"nested deeper than the {_MOST_LEVELS} levels that Parquet's readers take")
        return array

    try:
        return check_depth(pa.array(values, kind))
    except MemoryError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError, RecursionError) as error:
        many = bisect_left(range(len(values)), True, key=lambda n: bool(fault(n)))
        raise misfit(many - 1, f"column {name!r}: {fault(many)}") from error


def _levels(kind: Any) -> int:
    """Return the number of levels of Parquet's schema that a type takes."""
    types, levels, left = optional("pyarrow").types, 0, [(kind, 1)]
    while left:
        kind, level = left.pop()
        levels = max(levels, level)
        down = level + (1 if types.is_struct(kind) else 2)
        left += [(kind.field(i).type, down) for i in range(kind.num_fields)]
    return levels


def _clash(schema: Any, part: Any) -> tuple[str, str]:
    """Return the column whose two types are not compatible, and the reason."""
    pa = optional("pyarrow")
    for field in part:
        before = schema.field(field.name) if field.name in schema.names else field
        try:
            pa.unify_schemas([pa.schema([before]), pa.schema([field])], promote_options="permissive")
        except pa.ArrowException:
            clash = f"column {field.name!r} is {field.type}, but {before.type} in the rows before"
            return field.name, f"{clash}; a .jsonl output holds both"
    return "", "columns do not fit those of the inputs before"


def _fitted(selection: Selection, file: File, rows: Rows, chunk: Any, schema: Any) -> list[Any]:
    """Convert rows to the columns of the schema."""
    pa, misfit = optional("pyarrow"), selection.misfit(rows)
    if not file.columnar:
        records = selection.records(file, rows, chunk, iso_times)
        return [array_of([r.get(f.name) for r in records], f.type, f.name, misfit) for f in schema]
    columns, arrays = dict(zip(selection.names(file), chunk.columns, strict=True)), []
    for field in schema:
        column = columns.get(field.name, pa.nulls(len(rows)))
        try:
            arrays.append(column if column.type == field.type else column.cast(field.type))
        except MemoryError:
            raise
        except pa.ArrowException as error:
            raise misfit(0, f"column {field.name!r}, in this row or soon after: {error}") from error
    return arrays
