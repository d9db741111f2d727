"""Parquet, and record batches of Arrow, whose texts stay in Arrow memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np

from lshfast._common.arrow_columns import as_binary, python_values, undecodable_strings
from lshfast._common.column_paths import (
    EACH,
    arrow_value,
    joined_strings,
    steps_of,
    stored_name,
)
from lshfast._common.extras import optional, pa
from lshfast._common.nearest import no_column
from lshfast._io import arrow_files, npy_files
from lshfast._io.cells import OTHER, CellType
from lshfast._io.encodings import undecodable
from lshfast._io.files import Block, File, Layout, Rows, content_faults, steady
from lshfast._io.row_groups import bounded_batches, dictionary_columns
from lshfast._io.sources import LocalFile
from lshfast._io.views import selectable, without_views


def blocks(file: File) -> Generator[Block, None, None]:
    """Read a file in blocks: pass one."""
    layout = file.layout
    names = [*layout.columns, *layout.recorded]
    schema = schema_of(file)
    kinds = {name: type_of(file, schema, name) for name in names}
    if layout.kind == "text":
        for name in layout.columns:
            _check_texts(file, schema, name, kinds[name])
    carried = _carried_texts(layout, schema)
    for first, batch, position in _batches_of(
        file, _stored_names(schema, [*names, *carried])
    ):
        texts = _values_of_layout(batch, layout)
        block = Block(texts, range(first, first + len(texts)), texts.nbytes, position)
        if layout.kind == "text":
            if texts.null_count:
                block.texts = texts = texts.fill_null("")
            block.bad.update(_undecodable(texts, "the text"))
        if layout.recorded:
            block.ids = _key_values(block, batch, layout.id_column)
            block.orders = _key_values(block, batch, layout.order_column)
            block.values = _by_values(batch, layout.by)
            block.exact_keys = exact_keys_of(batch, layout.key_column)
        for name in carried:
            block.bad = dict(undecodable_values(batch.column(name), name)) | block.bad
        yield block


def _check_texts(file: File, schema: Any, name: str, kind: Any) -> None:
    """Raise DataError if a column holds neither texts, nor lists of texts at a path into lists."""
    if EACH in name and hasattr(kind, "value_type"):
        kind = kind.value_type
    if _holds_text(kind):
        return
    text_columns = [name for name, kind in _leaves(schema) if _holds_text(kind)]
    if text_columns:
        hint = f"columns of strings are: {', '.join(text_columns)}"
    else:
        hint = "there is no column of strings"
    raise file.fault(None, f"column {name!r} is {kind}, not strings; {hint}")


def _stored_names(schema: Any, names: Sequence[str]) -> list[str]:
    """Return the columns, or the fields of structs, that hold the columns of some names."""
    return list(
        dict.fromkeys(
            name if name in schema.names else stored_name(name) for name in names
        )
    )


def _values_of_layout(batch: Any, layout: Layout) -> Any:
    """Return the texts of a batch, which may be joined, or its values of another kind."""
    columns = [column_of(batch, name) for name in layout.columns]
    if layout.kind != "text":
        return columns[0]
    if layout.joins:
        return joined_strings([_strings_or_lists(column) for column in columns])
    return _as_strings(columns[0])


def _strings_or_lists(column: Any) -> Any:
    """Return a column of text, or of lists of text, as strings or lists of strings."""
    if not pa.types.is_large_list(column.type):
        return _as_strings(column)
    first = column.offsets[0]
    offsets = optional("pyarrow.compute").subtract(column.offsets, first)
    return pa.LargeListArray.from_arrays(offsets, _as_strings(column.flatten()))


def _carried_texts(layout: Layout, schema: Any) -> list[str]:
    """Return columns to read in pass one too, so that their bad values are rejected early."""
    # Parquet accepts any bytes.
    if layout.on_error == "stop" or layout.output not in (
        "jsonl",
        "csv",
        "tsv",
    ):
        return []
    texts = [
        field.name
        for field in schema
        if re.search("string|binary", str(field.type)) or _holds_times(field.type)
    ]
    read_columns = (
        [*layout.columns, *layout.keys] if layout.kind == "text" else layout.keys
    )
    return [name for name in texts if name not in read_columns]


def texts_of(file: File, numbers: Rows) -> Iterator[tuple[Any, int]]:
    """Read the texts of accepted rows again, and yield them with the position in the file."""
    names = _stored_names(schema_of(file), file.layout.columns)
    for batch, position in again(file, numbers, names):
        texts = _values_of_layout(batch, file.layout)
        if file.layout.kind == "text":
            texts = texts.fill_null("") if texts.null_count else texts
        yield texts, position


def again(
    file: File, numbers: Rows, names: list[str] | None = None
) -> Iterator[tuple[Any, int]]:
    """Read these rows, or some of their columns, again for output; yield batch and position."""
    for first, batch, position in _batches_of(file, names, numbers):
        low, high = np.searchsorted(numbers, (first, first + len(batch)))
        if high - low == len(batch):
            yield batch, position
        elif high > low:
            with _faults_of(file):
                part = batch.take(pa.array(numbers[low:high] - first))
            yield part, position


def batches(file: File) -> Iterator[tuple[int, Any, int]]:
    """Yield record batches of all columns: the first row from 1, the batch, the position."""
    yield from _batches_of(file, None)


def _batches_of(
    file: File, names: list[str] | None, numbers: Rows | None = None
) -> Iterator[tuple[int, Any, int]]:
    """Read record batches of a file in either format, as `_record_batches` does."""
    if file.format == "arrow":
        return arrow_files.record_batches(file, names)
    if file.format == "npy":
        return npy_files.record_batches(file, names)
    return _record_batches(file, names, numbers)


def columns(file: File) -> list[str]:
    """Return the column names of a file."""
    return list(schema_of(file).names)


def schema_of(file: File) -> Any:
    """Return the Arrow schema of a file."""
    if file.format == "arrow":
        return arrow_files.schema_of(file)
    if file.format == "npy":
        return npy_files.schema_of(file)
    with _opened(file) as source:
        schema = source.schema_arrow
        if len(schema.names) != len(schema.types):
            raise file.fault(None, "cannot be read as Parquet: its schema is damaged")
        return pa.schema([without_views(field) for field in schema], schema.metadata)


def bytes_of_row_groups(file: File) -> list[int]:
    """Return the bytes that each row group of a Parquet file takes when it is decompressed."""
    with _opened(file) as source:
        metadata = source.metadata
        return [
            metadata.row_group(group).total_byte_size
            for group in range(metadata.num_row_groups)
        ]


def column_types(file: File) -> Iterator[tuple[str, CellType]]:
    """Yield the columns and their types, for CSV cells; a column of nulls has no type."""
    types = pa.types
    schema = schema_of(file)
    kinds = {field.name: field.type for field in schema}
    kinds |= {
        name: kind
        for name, kind in _leaves(schema)
        if name in file.layout.keys and name not in kinds
    }
    for name, kind in kinds.items():
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_integer(kind) or types.is_boolean(kind):
            yield name, CellType(str(kind), file.name)
        elif not types.is_null(kind):
            yield (
                name,
                CellType("double" if types.is_floating(kind) else OTHER, file.name),
            )


def plain_values(column: Any) -> Any:
    """Convert dates, times and bytes to strings, so that any output can hold the values.

    Times with a time zone are converted to UTC. Bytes that are not UTF-8 raise an Arrow error.
    """
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_binary(column.type):
        column = _as_strings(column)
        column.validate(full=True)
    return iso_times(column)


def undecodable_values(column: Any, name: str) -> Iterator[tuple[int, str]]:
    """Yield (row, reason) for rows with values, at any depth, that Python cannot decode."""
    what = f"column {name!r} is {column.type}"
    if _holds_text(column.type):
        yield from (
            (i, f"{what}: {reason}")
            for i, reason in _undecodable(_as_strings(column), "the value")
        )
    elif not _decodes(column):
        bad = (i for i in range(len(column)) if not _decodes(column.slice(i, 1)))
        yield from ((i, f"{what}: a value inside it is not UTF-8") for i in bad)
    elif _holds_times(column.type) and not _has_values(column):
        bad = (i for i in range(len(column)) if not _has_values(column.slice(i, 1)))
        yield from (
            (i, f"{what}: a date or time inside it is out of range") for i in bad
        )


def _holds_times(kind: Any) -> bool:
    """Return whether nested values have dates or times, which become objects of Python."""
    return pa.types.is_nested(kind) and re.search("date|time", str(kind)) is not None


def _has_values(column: Any) -> bool:
    try:
        column.to_pylist()
    except (OverflowError, ValueError):
        return False
    return True


def _decodes(column: Any) -> bool:
    """Return whether all strings and bytes in a column, at any depth, are UTF-8."""
    if pa.types.is_struct(column.type):
        return all(map(_decodes, column.flatten()))
    if pa.types.is_map(column.type):
        entries = pa.struct([column.type.key_field, column.type.item_field])
        return _decodes(column.cast(pa.list_(entries)).flatten())
    if pa.types.is_nested(column.type) and hasattr(column, "flatten"):
        return _decodes(column.flatten())
    if _is_string(column.type) or _is_binary(column.type):
        try:
            _as_strings(column).validate(full=True)
        except pa.ArrowInvalid:
            return False
    return True


def iso_times(column: Any) -> Any:
    """Convert dates or times to ISO strings; those with a time zone become UTC, with a Z."""
    if pa.types.is_timestamp(column.type) and column.type.tz:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    if (
        pa.types.is_date(column.type)
        or pa.types.is_time(column.type)
        or pa.types.is_timestamp(column.type)
    ):
        column = column.cast(pa.string())
    return column


@contextmanager
def _opened(file: File, dictionaries: Sequence[str] = ()) -> Iterator[Any]:
    """Open a file; any error of pyarrow is raised as an error that names the file.

    The columns in `dictionaries` are read as dictionaries of strings or bytes.
    """
    pq = optional("pyarrow.parquet")
    with _faults_of(file), steady(file), ExitStack() as stack:
        local = isinstance(file.source, LocalFile)
        source = file.path if local else stack.enter_context(file.source.open())
        # Remote files are read ahead: that takes more memory, and fewer requests.
        ahead = not (local or dictionaries)
        parquet_file = pq.ParquetFile(
            source, buffer_size=1 << 20, pre_buffer=ahead, read_dictionary=dictionaries
        )
        yield stack.enter_context(parquet_file)


def _faults_of(file: File) -> AbstractContextManager[None]:
    """Convert any error of pyarrow to an error that names the file."""
    return content_faults(file, file.format.capitalize())


def _record_batches(
    file: File, names: list[str] | None, numbers: Rows | None = None
) -> Iterator[tuple[int, Any, int]]:
    """Read batches of about `batch_bytes`: yield the first row from 1, the batch, the position.

    With `numbers`, row groups without any of these rows are skipped.
    """
    with (
        _opened(file) as source,
        _opened(file, dictionary_columns(source)) as dictionaries,
    ):
        row = 1
        rows = max(1, source.metadata.num_rows)
        count = source.metadata.num_row_groups
        first_group, end_group = file.row_groups or (0, count)
        for group in range(min(end_group, count)):
            many = source.metadata.row_group(group).num_rows
            is_skipped = numbers is not None and not np.any(
                (numbers >= row) & (numbers < row + many)
            )
            if is_skipped or group < first_group:
                row += many
                continue
            for batch in bounded_batches(
                source, dictionaries, group, names, file.layout.batch_bytes
            ):
                row += len(batch)
                yield row - len(batch), selectable(batch), file.size * (row - 1) // rows


def _leaves(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield the paths to columns and their types, into structs and lists of structs."""
    types = pa.types
    fields = [(field.name, field.type) for field in reversed(schema)]
    while fields:
        name, kind = fields.pop()
        if _is_list(kind) and not types.is_struct(kind.value_type):
            yield name, kind
            if _holds_text(kind.value_type):
                yield f"{name}{EACH}", kind.value_type
            continue
        if _is_list(kind):
            yield name, kind
            name = f"{name}{EACH}"
            kind = kind.value_type
        if types.is_struct(kind) and kind.num_fields:
            inner = (kind.field(i) for i in reversed(range(kind.num_fields)))
            fields += [(f"{name}.{field.name}", field.type) for field in inner]
        else:
            yield name, kind


def _is_list(kind: Any) -> bool:
    """Return whether this is a type of lists, whose elements a path can enter."""
    return str(kind).partition("<")[0] in (
        "list",
        "large_list",
        "fixed_size_list",
        "list_view",
        "large_list_view",
    )


def type_of(file: File, schema: Any, name: str) -> Any:
    """Return the type of the column with this name or path; a path into lists gives lists."""
    types = [field.type for field in schema if field.name == name]
    if not types:
        types = _types_at(schema, steps_of(name))
        if EACH in steps_of(name):
            types = [pa.large_list(kind) for kind in types]
    if len(types) != 1:
        fault = "more than one column" if types else "no column"
        paths = [path for path, _ in _leaves(schema)]
        raise file.fault(None, no_column(name, paths, fault))
    return types[0]


def _types_at(fields: Any, steps: Sequence[str]) -> list[Any]:
    """Return the types of all fields that the steps of a path lead to."""
    is_struct = pa.types.is_struct
    step, *rest = steps
    if step == EACH:
        return []
    types = [field.type for field in fields if field.name == step]
    while rest and rest[0] == EACH:
        types = [kind.value_type for kind in types if _is_list(kind)]
        rest = rest[1:]
    if not rest:
        return types
    return [
        inner
        for kind in types
        if is_struct(kind)
        for inner in _types_at([kind.field(i) for i in range(kind.num_fields)], rest)
    ]


def column_of(batch: Any, name: str) -> Any:
    """Return the values at a column's name or path; a value is null inside a null struct."""
    if name in batch.schema.names:
        return batch.column(name)
    outer, *inner = steps_of(name)
    return arrow_value(batch.column(outer), inner)


def replaced_texts(
    batch: Any, name: str, which: list[int], new_text: Callable[[int, str], str]
) -> Any:
    """Return a batch with new_text(i, text) in some rows of a column, which keeps its type."""
    strings = _as_strings(column_of(batch, name))
    texts = strings.to_pylist()
    for i in which:
        texts[i] = new_text(i, texts[i])
    outer, inner = (
        (name, [])
        if name in batch.schema.names
        else (name.split(".")[0], name.split(".")[1:])
    )
    at = batch.schema.names.index(outer)
    column = _with_texts(batch.column(at), inner, pa.array(texts, strings.type))
    return batch.set_column(at, batch.schema.field(at), column)


def _with_texts(column: Any, inner: list[str], strings: Any) -> Any:
    """Return a column of texts, or of structs with texts inside, with other texts."""
    kind = column.type
    if not inner:
        if pa.types.is_dictionary(kind):
            return strings.dictionary_encode().cast(kind)
        return strings.cast(kind)
    fields = [kind.field(i) for i in range(kind.num_fields)]
    columns = [
        _with_texts(part, inner[1:], strings) if field.name == inner[0] else part
        for field, part in zip(fields, column.flatten(), strict=True)
    ]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=column.is_null())


def _holds_text(kind: Any) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_null(kind) or _is_string(kind) or _is_binary(kind)


def _is_string(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _is_binary(kind: Any) -> bool:
    return "binary" in str(kind) and not pa.types.is_nested(kind)


def _as_strings(column: Any) -> Any:
    """Convert a column of text to (large) strings, without checking the encoding of bytes."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_binary(column.type):
        if not (
            pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
        ):
            column = column.cast(pa.binary())
        return column.view(
            pa.large_string() if pa.types.is_large_binary(column.type) else pa.string()
        )
    return column if pa.types.is_large_string(column.type) else column.cast(pa.string())


def _undecodable(strings: Any, what: str) -> Iterator[tuple[int, str]]:
    """Yield (row, reason) for the values that are not UTF-8."""
    return (
        (row, undecodable(error, what)) for row, error in undecodable_strings(strings)
    )


def _key_values(block: Block, batch: Any, name: str | None) -> list[Any]:
    """Return a key column as Python values; rows whose values are not UTF-8 become bad rows."""
    if name is None:
        return [None] * len(batch)
    column = column_of(batch, name)
    if pa.types.is_timestamp(
        column.type
    ):  # without the Z, so that 20 seconds sort before 20.5
        column = column.cast(pa.timestamp(column.type.unit))
    elif pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    elif _holds_text(column.type):
        column = _as_strings(column)
        bad = dict(_undecodable(column, f"column {name!r}"))
        if bad:
            block.bad = bad | block.bad
            good = np.ones(len(column), bool)
            good[list(bad)] = False
            column = optional("pyarrow.compute").if_else(
                pa.array(good), column, pa.scalar(None, column.type)
            )
    values, undecodable = python_values(iso_times(column))
    block.bad = undecodable | block.bad
    return values


def exact_keys_of(batch: Any, name: str | None) -> list[Any]:
    """Return the column of exact keys as Python values; strings are bytes."""
    if name is not None:
        column = column_of(batch, name)
        if _holds_text(column.type):
            binary = pa.large_binary()
            return list(_as_strings(column).cast(binary).to_pylist())
    return _by_values(batch, name)


def _by_values(batch: Any, name: str | None) -> list[Any]:
    """Return the column of `by` as Python values; invalid UTF-8 is replaced."""
    if name is None:
        return [None] * len(batch)
    column = column_of(batch, name)
    if _holds_text(column.type):
        column = _as_strings(column).cast(pa.large_binary())
        return [
            None if value is None else value.decode("utf-8", "replace")
            for value in column.to_pylist()
        ]
    column = iso_times(column)
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return list(as_binary(column).to_pylist())
    except (
        OverflowError,
        ValueError,
    ):  # dates that are out of range inside of other values
        return [str(value) for value in column]
