"""Parquet: record batches, whose texts stay in Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lshfast.readers.files import Block, File, Layout, Rows, column_index, not_utf8, optional, steady


def blocks(file: File, layout: Layout) -> Iterator[Block]:
    """Read a file once, in blocks: pass one."""
    pa, column = optional("pyarrow"), layout.column
    names = [name for name in (column, layout.id_column, layout.order_column) if name is not None]
    schema = schema_of(file)
    for name in names:
        column_index(file, schema.names, name)
    kind = schema.field(column).type
    if pa.types.is_dictionary(kind) or pa.types.is_null(kind):
        kind = pa.string()
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise file.fault(None, f"column {column!r} is {kind}, not strings")
    for first, batch, position in _record_batches(file, list(dict.fromkeys(names)), layout.batch_bytes):
        texts = batch.column(column).cast(kind)
        block = Block(texts, range(first, first + len(texts)), texts.nbytes, position)
        if texts.null_count:
            nulls = np.flatnonzero(texts.is_null().to_numpy(zero_copy_only=False))
            block.bad.update((int(i), f"column {column!r} is null") for i in nulls)
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:
            block.bad.update(_undecodable(texts.cast(pa.large_binary()).to_pylist()))
        if layout.keyed:
            block.ids = _plain_values(batch, layout.id_column)
            block.orders = _plain_values(batch, layout.order_column)
        yield block


def again(file: File, wanted: Rows, size: int) -> Iterator[tuple[Any, int]]:
    """Read the rows on these lines once more, and how far the file is read: pass two."""
    for first, batch, position in _record_batches(file, None, size, wanted):
        low, high = np.searchsorted(wanted, (first, first + len(batch)))
        if high - low == len(batch):
            yield batch, position
        elif high > low:
            yield batch.take(optional("pyarrow").array(wanted[low:high] - first)), position


def columns(file: File) -> list[str]:
    """Read the column names of a Parquet file."""
    return list(schema_of(file).names)


def schema_of(file: File) -> Any:
    """Read the schema of a Parquet file, as Arrow's."""
    return _opened(file).schema_arrow


def iso_times(column: Any) -> Any:
    """Turn a column of dates or times into strings as in ISO 8601, in UTC if it has a time zone."""
    pa = optional("pyarrow")
    if pa.types.is_timestamp(column.type) and column.type.tz:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    if pa.types.is_date(column.type) or pa.types.is_time(column.type) or pa.types.is_timestamp(column.type):
        column = column.cast(pa.string())
    return column


def _opened(file: File) -> Any:
    pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
    try:
        return pq.ParquetFile(file.path, buffer_size=1 << 20)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise file.fault(None, f"cannot be read as Parquet: {error}") from error


def _record_batches(
    file: File, names: list[str] | None, size: int, wanted: Rows | None = None
) -> Iterator[tuple[int, Any, int]]:
    """Read record batches of about `size` bytes: number of the first row, from 1, batch, position.

    With `wanted`, row groups that hold none of those rows are passed over.
    """
    pa = optional("pyarrow")
    with steady(file):
        source = _opened(file)
        row = 1
        try:
            for group in range(source.metadata.num_row_groups):
                about = source.metadata.row_group(group)
                if wanted is not None and not np.any((wanted >= row) & (wanted < row + about.num_rows)):
                    row += about.num_rows
                    continue
                parts = (about.column(i) for i in range(about.num_columns))
                parts = (part for part in parts if not names or part.path_in_schema in names)
                width = sum(part.total_uncompressed_size for part in parts)
                many = max(1, min(1 << 16, size * about.num_rows // max(1, width)))
                for batch in source.iter_batches(batch_size=many, row_groups=[group], columns=names):
                    row += len(batch)
                    yield row - len(batch), batch, file.size * (row - 1) // source.metadata.num_rows
        except MemoryError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise file.fault(None, f"cannot be read as Parquet: {error}") from error


def _undecodable(values: list[bytes | None]) -> Iterator[tuple[int, str]]:
    for i, value in enumerate(values):
        try:
            (value or b"").decode()
        except UnicodeDecodeError as error:
            yield i, not_utf8(error, "the text")


def _plain_values(batch: Any, name: str | None) -> list[Any]:
    """Give a key column as Python values."""
    if name is None:
        return [None] * len(batch)
    pa, column = optional("pyarrow"), batch.column(name)
    if pa.types.is_timestamp(column.type):  # without a zone's mark, so that 20 sorts before 20.5 (seconds)
        column = column.cast(pa.timestamp(column.type.unit))
    elif pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return list(iso_times(column).to_pylist())
