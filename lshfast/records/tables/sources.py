"""Tables of any library as columns; Arrow streams are preferred, so that all give the same values.

A column is an array of pyarrow, without dictionaries and run-end encoding, or a sequence of Python
objects: if Arrow does not hold its types together, or pyarrow is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lshfast._common.arrow_columns import checked_column, chunks_of
from lshfast._common.extras import optional


def columns_of(source: Any, name: str) -> dict[str, Any]:
    """Return the columns of a table; `name` is that of the table in errors.

    Raises
    ------
    TypeError
        If `source` is not a table, or a name or a column of it has a wrong type.
    ValueError
        If two columns have the same name, or a column of Arrow is damaged.
    """
    if isinstance(source, Mapping):
        return {
            _named(column, name): _sized(values, column, name)
            for column, values in source.items()
        }
    if hasattr(source, "iloc"):  # of pandas, whose stream has columns for the index
        return _columns_of_frame(source, name)
    table = _arrow_table(source)
    if table is not None:
        names = _different(table.column_names, name)
        frame = None if table is source else source
        return {
            column: as_column(_stored(table, frame, column), _place(name, column))
            for column in names
        }
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):
        raise TypeError(
            f"{name} is a lazy frame; pass what its method collect() returns"
        )
    if _is_frame(source):
        return _columns_of_frame(source, name)
    if _are_records(source):
        keys = dict.fromkeys(column for record in source for column in record)
        return {
            _named(column, name): [record.get(column) for record in source]
            for column in keys
        }
    raise TypeError(
        f"{name} must be a table: a mapping of columns, a data frame or records, not "
        f"{type(source).__name__}"
    )


def _is_frame(source: Any) -> bool:
    """Return whether an object has columns by their names, as the frames of all libraries do."""
    return hasattr(source, "columns") and hasattr(source, "__getitem__")


def _columns_of_frame(source: Any, name: str) -> dict[str, Any]:
    names = _different([_named(column, name) for column in source.columns], name)
    return {column: as_column(source[column], _place(name, column)) for column in names}


def _are_records(source: Any) -> bool:
    if not isinstance(source, Sequence) or isinstance(source, (str, bytes)):
        return False
    return all(isinstance(record, Mapping) for record in source)


def as_column(values: Any, what: str) -> Any:
    """Return a column as an array of pyarrow if Arrow holds it, otherwise as Python objects.

    `what` is the column in errors.
    """
    values = checked_column(values, what)
    if any(
        hasattr(values, method)
        for method in ("__arrow_c_stream__", "__arrow_c_array__")
    ):
        array = _arrow_array(values)
        is_binary = str(getattr(array, "type", "")).startswith("fixed_size_binary")
        # Polars gives the addresses of Python objects.
        are_addresses = is_binary and hasattr(values, "to_list")
        if array is not None and not are_addresses:
            return _plain(checked_column(array, what))
    if hasattr(values, "iloc"):  # of pandas, whose values are found by label
        return values.to_numpy(dtype=object)
    return values.to_list() if hasattr(values, "to_list") else values


def _arrow_table(source: Any) -> Any:
    """Return a table or stream of Arrow as a table of pyarrow; None for another object."""
    # A table or record batch of pyarrow.
    if hasattr(source, "column_names") and hasattr(source, "column"):
        return source
    if not hasattr(source, "__arrow_c_stream__"):
        return None
    try:
        return optional("pyarrow", "cli").table(source)
    except ImportError:
        # Such as a frame of polars.
        if _is_frame(source):
            return None
        raise
    except Exception as error:
        # Of frames with columns of Python objects; the error is one of the library.
        if _is_frame(source):
            return None
        raise TypeError(f"a stream of Arrow cannot be read: {error}") from error


def _stored(table: Any, frame: Any, column: str) -> Any:
    """Return a column of an Arrow table; Python objects of a polars frame, not their addresses."""
    values = table.column(column)
    if str(values.type).startswith("fixed_size_binary") and hasattr(
        frame, "get_column"
    ):
        return frame.get_column(column)
    return values


def _arrow_array(values: Any) -> Any:
    """Return a column as an array of pyarrow; None without pyarrow or for several types."""
    try:
        pa = optional("pyarrow")
    except ImportError:
        return None
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    try:
        is_stream = hasattr(values, "__arrow_c_stream__")
        return pa.chunked_array(values) if is_stream else pa.array(values)
    except Exception:  # each library has its own errors for what Arrow cannot hold
        return None


def _plain(array: Any) -> Any:
    """Return an array of pyarrow without dictionaries, run-end encoding and single precision."""
    pa = optional("pyarrow")
    kind = array.type
    if pa.types.is_dictionary(kind):
        chunks = [_decoded(chunk) for chunk in chunks_of(array)]
        return _plain(pa.chunked_array(chunks, _wide(kind.value_type)))
    if str(kind).startswith("run_end_encoded"):
        return _plain(optional("pyarrow.compute").run_end_decode(array))
    # The shortest decimal, which is what was written: 1.1, not 1.10000002.
    if pa.types.is_float32(kind):
        return array.cast(pa.string()).cast(pa.float64())
    # Python has no type for nanoseconds.
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return array.cast(pa.timestamp("us", kind.tz), safe=False)
    return array.cast(_wide(kind))


def _decoded(chunk: Any) -> Any:
    """Return an array of a dictionary as an array of its values."""
    pa = optional("pyarrow")
    values = chunk.dictionary.cast(_wide(chunk.type.value_type))
    return pa.DictionaryArray.from_arrays(chunk.indices, values).dictionary_decode()


def _wide(kind: Any) -> Any:
    """Return large strings instead of views of strings, which not all functions take."""
    return optional("pyarrow").large_string() if str(kind) == "string_view" else kind


def _different(names: Sequence[str], name: str) -> Sequence[str]:
    """Return names of columns, or raise ValueError if two are equal."""
    distinct_names = set[str]()
    for column in names:
        if column in distinct_names:
            raise ValueError(f"{name}: two columns have the name {column!r}")
        distinct_names.add(column)
    return names


def _place(name: str, column: str) -> str:
    return f"{name}: column {column!r}"


def _named(column: Any, name: str) -> str:
    if not isinstance(column, str):
        raise TypeError(f"{name}: the names of columns must be strings, not {column!r}")
    return column


def _sized(values: Any, column: str, name: str) -> Any:
    is_sized = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    is_sequence = is_sized and not isinstance(values, (str, bytes, Mapping))
    if not is_sequence or getattr(values, "ndim", 1) != 1:
        raise TypeError(
            f"{name}: column {column!r} must be a sequence of values, not {type(values).__name__}"
        )
    if isinstance(values, np.ndarray) and values.dtype == np.float32:
        values = np.array([float(str(value)) for value in values], np.float64)
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    return as_column(values, _place(name, column))
