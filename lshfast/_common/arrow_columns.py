"""Columns of Arrow from outside, checked before pyarrow or a kernel follows their offsets.

pyarrow checks nothing when it reads IPC or assembles the lists of Parquet, and its functions follow
offsets that end behind the data. So every column is checked once, where it enters: by
`checked_column` in memory, by `check_arrow` in files, and by `lshfast.kernels.arrow` if only
kernels read it, which compare the offsets between the ends themselves.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from lshfast._common.extras import pa
from lshfast._common.rows import offsets_of
from lshfast._common.types import Int64Array
from lshfast.kernels.arrow import checked_source

# The types of strings, and the types of the same layout whose bytes need not be UTF-8.
_BINARY = {
    "string": "binary",
    "large_string": "large_binary",
    "string_view": "binary_view",
}

# The functions of pyarrow that make the types of lists, by the names of the types.
_LISTS = {
    "list": "list_",
    "large_list": "large_list",
    "list_view": "list_view",
    "large_list_view": "large_list_view",
}


def check_arrow(column: Any) -> None:
    """Raise pyarrow.ArrowException unless the buffers of a column are complete, at any depth.

    Strings need not be UTF-8, except in unions and run-end encoded columns. This takes 1 ms for a
    million texts; to check UTF-8 as well would take 150.
    """
    for array in chunks_of(column):
        array.validate()
        as_binary(array).validate(full=True)


def checked_column(source: Any, name: str) -> Any:
    """Return a column from outside; one that pyarrow can read has been checked.

    The latter is an array or a table of pyarrow.

    Columns of other libraries are returned as they are, and readers of batches unread:
    `lshfast.kernels.arrow` checks their batches.

    Parameters
    ----------
    source : object
    name : str
        The argument that errors name.

    Raises
    ------
    ValueError
        If offsets, sizes or indices of the column lie outside of its buffers.
    """
    source = checked_source(source, name)
    pa = sys.modules.get("pyarrow")
    if pa is None:
        return source
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        columns = source.columns
    elif isinstance(source, (pa.Array, pa.ChunkedArray)):
        columns = [source]
    else:
        return source
    try:
        for column in columns:
            check_arrow(column)
    except pa.ArrowException as error:
        raise ValueError(f"{name}: the Arrow column is damaged: {error}") from error
    return source


def chunks_of(column: Any) -> list[Any]:
    """Return the arrays of a chunked array, or an array alone."""
    return list(column.chunks) if hasattr(column, "chunks") else [column]


def stored_lists(array: Any) -> Any:
    """Return an array of lists in consecutive storage, without views and extension types."""
    while hasattr(array.type, "storage_type"):
        array = array.storage
    if str(array.type).partition("<")[0] not in ("list_view", "large_list_view"):
        return array
    nulls = array.is_null()
    lengths = np.where(nulls.to_numpy(zero_copy_only=False), 0, array.sizes.to_numpy())
    offsets = offsets_of(lengths)
    return pa.LargeListArray.from_arrays(pa.array(offsets), array.flatten(), mask=nulls)


def as_binary(column: Any) -> Any:
    """Return an array whose strings, at any depth, are viewed as bytes."""
    kind = with_leaves(pa.field("", column.type), _BINARY, list_views=True).type
    return column if kind == column.type else column.view(kind)


def undecodable_strings(column: Any) -> Iterator[tuple[int, UnicodeDecodeError]]:
    """Yield the places in an array of strings whose bytes are not UTF-8, with the errors."""
    if _is_ascii(column):
        return
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        for place, value in enumerate(as_binary(column).to_pylist()):
            try:
                (value or b"").decode()
            except UnicodeDecodeError as error:
                yield place, error


def _is_ascii(column: Any) -> bool:
    """Return whether all bytes of a checked array of strings are ASCII; False for views.

    It takes a tenth of the time that pyarrow takes to check the strings one by one.
    """
    width = {"string": np.int32, "large_string": np.int64}.get(str(column.type))
    if width is None or not len(column):
        return False
    _, offsets, data = column.buffers()
    if data is None:
        return True
    first, last = np.frombuffer(offsets, width)[
        [column.offset, column.offset + len(column)]
    ]
    return bool(np.frombuffer(data, np.uint8)[first:last].max(initial=0) < 128)


def undecodable_rows(offsets: Int64Array, strings: Any) -> dict[int, str]:
    """Return the faults of rows whose strings are not UTF-8.

    Row i has the strings ``strings[offsets[i] : offsets[i + 1]]``.
    """
    reasons = dict[int, str]()
    for place, error in undecodable_strings(strings):
        row = int(np.searchsorted(offsets, place, side="right")) - 1
        reasons.setdefault(
            row, f"a string is not UTF-8 at byte {error.start}: {error.object!r:.60}"
        )
    return reasons


def objects_of(column: Any, name: str) -> list[Any]:
    """Return a column of any library as a list of Python objects; errors name `name`."""
    checked_column(column, name)
    # Columns of pyarrow; of polars and pandas; of numpy.
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def python_values(column: Any) -> tuple[list[Any], dict[int, str]]:
    """Return the values of a column as Python objects, and the faults of bad rows.

    The value of a bad row is None.
    """
    try:
        return column.to_pylist(), {}
    except UnicodeDecodeError:
        values = list[Any]()
        bad = dict[int, str]()
        for row in range(len(column)):
            try:
                values.extend(column.slice(row, 1).to_pylist())
            except UnicodeDecodeError as error:
                values.append(None)
                bad[row] = (
                    f"a string is not UTF-8 at byte {error.start}: {error.object!r:.60}"
                )
        return values, bad


def with_leaves(field: Any, names: Mapping[str, str], list_views: bool = False) -> Any:
    """Return a field with other types, by names, in structs, lists, maps and dictionaries.

    Lists that are views have the same elements, unless `list_views`: pyarrow does not cast them.
    """

    def inside(part: Any) -> Any:
        return with_leaves(part, names, list_views)

    kind = field.type
    if str(kind) in names:
        return field.with_type(pa.type_for_alias(names[str(kind)]))
    if not re.search(rf"\b({'|'.join(names)})\b", str(kind)):
        return field
    types = pa.types
    if types.is_dictionary(kind):
        kind = pa.dictionary(
            kind.index_type, inside(pa.field("", kind.value_type)).type, kind.ordered
        )
    elif types.is_struct(kind):
        kind = pa.struct([inside(kind.field(i)) for i in range(kind.num_fields)])
    elif types.is_map(kind):
        kind = pa.map_(
            inside(kind.key_field), inside(kind.item_field), kind.keys_sorted
        )
    elif types.is_fixed_size_list(kind):
        kind = pa.list_(inside(kind.value_field), kind.list_size)
    elif (lists := str(kind).partition("<")[0]) in _LISTS and (
        list_views or "view" not in lists
    ):
        kind = getattr(pa, _LISTS[lists])(inside(kind.value_field))
    return field.with_type(kind)
