"""String and binary views of Arrow as strings and bytes, of which pyarrow can take rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lshfast._common.arrow_columns import with_leaves
from lshfast._common.extras import optional

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
    schema = optional("pyarrow").schema(fields, batch.schema.metadata)
    return optional("pyarrow").RecordBatch.from_arrays(columns, schema=schema)


def holds_dictionary(kind: Any) -> bool:
    """Return whether there are dictionaries in a type, at any depth."""
    return "dictionary<" in str(kind)


def _converted(column: Any, kind: Any) -> Any:
    """Convert the views in a column; pyarrow's cast does not convert the values of dictionaries."""
    pa = optional("pyarrow")
    types = optional("pyarrow").types
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
    if types.is_fixed_size_list(kind):
        values = column.values.slice(
            column.offset * kind.list_size, len(column) * kind.list_size
        )
        return pa.FixedSizeListArray.from_arrays(
            _converted(values, kind.value_type), type=kind, mask=column.is_null()
        )
    if types.is_map(kind):
        entries = pa.struct([kind.key_field, kind.item_field])
        stored = column.cast(
            pa.list_(pa.struct([column.type.key_field, column.type.item_field]))
        )
        pairs = _converted(stored, pa.list_(entries))
        keys = pairs.values.field(0)
        items = pairs.values.field(1)
        return pa.MapArray.from_arrays(
            pairs.offsets, keys, items, type=kind, mask=column.is_null()
        )
    lengths = (
        optional("pyarrow.compute").list_value_length(column).fill_null(0).to_numpy()
    )
    offsets = pa.array(np.append(0, np.cumsum(lengths, dtype=np.int64)))
    values = _converted(column.flatten(), kind.value_type)
    if types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(
            offsets, values, type=kind, mask=column.is_null()
        )
    return pa.ListArray.from_arrays(
        offsets.cast(pa.int32()), values, type=kind, mask=column.is_null()
    )
