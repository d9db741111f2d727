"""String and binary views of Arrow as strings and bytes, of which pyarrow can take rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lshfast._common.arrow_columns import with_leaves
from lshfast._common.extras import pa

_VIEWS = {"string_view": "string", "binary_view": "binary"}


def without_views(field: Any) -> Any:
    """Return a field with strings and bytes instead of views of them, at any depth."""
    return with_leaves(field, _VIEWS)


def selectable(batch: Any, which: Callable[[Any], bool] = bool) -> Any:
    """Return a batch whose columns, or those whose type is one of `which`, have no views."""
    fields = [
        without_views(field) if which(field.type) else field for field in batch.schema
    ]
    if [field.type for field in fields] == batch.schema.types:
        return batch
    columns = [
        _converted(column, field.type)
        for column, field in zip(batch.columns, fields, strict=True)
    ]
    schema = pa.schema(fields, batch.schema.metadata)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def holds_dictionary(kind: Any) -> bool:
    """Return whether there are dictionaries in a type, at any depth."""
    return "dictionary<" in str(kind)


def _converted(column: Any, kind: Any) -> Any:
    """Convert the views in a column; pyarrow's cast does not convert the values of dictionaries."""
    types = pa.types
    if column.type == kind:
        return column
    if not holds_dictionary(kind):
        return column.cast(kind)
    if types.is_dictionary(kind):
        values = _converted(column.dictionary, kind.value_type)
        return pa.DictionaryArray.from_arrays(
            column.indices, values, ordered=kind.ordered
        )
    if types.is_struct(kind):
        parts = [
            _converted(column.field(i), kind.field(i).type)
            for i in range(kind.num_fields)
        ]
        return pa.StructArray.from_arrays(
            parts, fields=list(kind), mask=column.is_null()
        )
    values = _converted(column.values, kind.field(0).type)
    buffer_count = 1 if types.is_fixed_size_list(kind) else 2  # validity, and offsets
    buffers = column.buffers()[:buffer_count]
    return pa.Array.from_buffers(
        kind, len(column), buffers, offset=column.offset, children=[values]
    )
