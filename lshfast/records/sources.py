"""Tables of any library as columns. What has an Arrow stream is read by it, so that all libraries
give the same values.

A column is an array of pyarrow, without dictionaries and run-end encoding, or a sequence of Python
objects: of types that Arrow does not hold together, or if pyarrow is missing.
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
            _named(column, name): _sized(values, column, name) for column, values in source.items()
        }
    if hasattr(source, "iloc"):  # of pandas, whose stream has columns for the index
        names = _different([_named(column, name) for column in source.columns], name)
        return {column: as_column(source[column], _place(name, column)) for column in names}
    table = _arrow_table(source)
    if table is not None:
        names = _different(table.column_names, name)
        frame = None if table is source else source
        return {
            column: as_column(_stored(table, frame, column), _place(name, column))
            for column in names
        }
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):
        raise TypeError(f"{name} is a lazy frame; pass what its method collect() returns")
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):  # another data frame
        names = _different([_named(column, name) for column in source.columns], name)
        return {column: as_column(source[column], _place(name, column)) for column in names}
    if (
        isinstance(source, Sequence)
        and not isinstance(source, (str, bytes))
        and all(isinstance(record, Mapping) for record in source)
    ):
        keys = dict.fromkeys(column for record in source for column in record)
        return {_named(column, name): [record.get(column) for record in source] for column in keys}
    raise TypeError(
        f"{name} must be a table: a mapping of columns, a data frame or records, not "
        f"{type(source).__name__}"
    )


def as_column(values: Any, what: str) -> Any:
    """Return a column as an array of pyarrow if it has a stream of Arrow or is one, otherwise as
    Python objects.

    `what` is the column in errors.
    """
    values = checked_column(values, what)
    if any(hasattr(values, method) for method in ("__arrow_c_stream__", "__arrow_c_array__")):
        array = _arrow_array(values)
        is_addresses = hasattr(values, "to_list") and str(getattr(array, "type", "")).startswith(
            "fixed_size_binary"
        )
        if array is not None and not is_addresses:  # polars gives the addresses of Python objects
            return _plain(checked_column(array, what))
    if hasattr(values, "iloc"):  # of pandas, whose values are found by label
        return values.to_numpy(dtype=object)
    return values.to_list() if hasattr(values, "to_list") else values


def _arrow_table(source: Any) -> Any:
    """Return a table or stream of Arrow as a table of pyarrow; None for another object or type of
    values.
    """
    # A table or record batch of pyarrow.
    if hasattr(source, "column_names") and hasattr(source, "column"):
        return source
    if not hasattr(source, "__arrow_c_stream__"):
        return None
    try:
        return optional("pyarrow", "cli").table(source)
    except ImportError:
        # Such as a frame of polars.
        if hasattr(source, "columns") and hasattr(source, "__getitem__"):
            return None
        raise
    except Exception as error:
        # Of frames with columns of Python objects; the error is one of the library.
        if hasattr(source, "columns") and hasattr(source, "__getitem__"):
            return None
        raise TypeError(f"a stream of Arrow cannot be read: {error}") from error


def _stored(table: Any, frame: Any, column: str) -> Any:
    """Return a column of a table of Arrow; of a frame of polars, Python objects instead of their
    addresses.
    """
    values = table.column(column)
    if str(values.type).startswith("fixed_size_binary") and hasattr(frame, "get_column"):
        return frame.get_column(column)
    return values


def _arrow_array(values: Any) -> Any:
    """Return a column as an array of pyarrow; None if pyarrow is missing, or it has values of
    several types.
    """
    try:
        pa = optional("pyarrow")
    except ImportError:
        return None
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    try:
        return (
            pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else pa.array(values)
        )
    except Exception:  # each library has its own errors for what Arrow cannot hold
        return None


def _plain(array: Any) -> Any:
    """Return an array of pyarrow without dictionaries, run-end encoding and single precision."""
    pa = optional("pyarrow")
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _plain(
            pa.chunked_array(
                [_decoded(chunk) for chunk in chunks_of(array)], _wide(kind.value_type)
            )
        )
    if str(kind).startswith("run_end_encoded"):
        return _plain(optional("pyarrow.compute").run_end_decode(array))
    # The shortest decimal, which is what was written: 1.1, not 1.10000002.
    if pa.types.is_float32(kind):
        return array.cast(pa.string()).cast(pa.float64())
    if pa.types.is_timestamp(kind) and kind.unit == "ns":  # which Python has no type for
        return array.cast(pa.timestamp("us", kind.tz), safe=False)
    return array.cast(_wide(kind))


def _decoded(chunk: Any) -> Any:
    """Return an array of a dictionary as an array of its values."""
    pa = optional("pyarrow")
    values = chunk.dictionary.cast(_wide(chunk.type.value_type))
    return pa.DictionaryArray.from_arrays(chunk.indices, values).dictionary_decode()


def _wide(kind: Any) -> Any:
    """Return a type of strings that all functions of pyarrow take instead of views of strings, or
    the type.
    """
    return optional("pyarrow").large_string() if str(kind) == "string_view" else kind


def _different(names: Sequence[str], name: str) -> Sequence[str]:
    """Return names of columns, or raise ValueError if two are equal."""
    seen = set[str]()
    for column in names:
        if column in seen:
            raise ValueError(f"{name}: two columns have the name {column!r}")
        seen.add(column)
    return names


def _place(name: str, column: str) -> str:
    return f"{name}: column {column!r}"


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
        raise TypeError(
            f"{name}: column {column!r} must be a sequence of values, not {type(values).__name__}"
        )
    if isinstance(values, np.ndarray) and values.dtype == np.float32:
        values = np.array([float(str(value)) for value in values], np.float64)
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    return as_column(values, _place(name, column))
