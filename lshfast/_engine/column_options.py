"""Columns of frames: those of the items, and options that name others: `by`, `exact_key`,
``keep="max:COLUMN"``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from lshfast._common.arrow_columns import objects_of
from lshfast._common.column_paths import (
    ColumnNames,
    arrow_value,
    checked_columns,
    joined_strings,
    names_of,
    steps_of,
)
from lshfast._common.exact_keys import OF_URLS, bytes_of_key, column_of_keys
from lshfast._common.extras import optional
from lshfast._common.nearest import no_column
from lshfast._common.types import Int64Array
from lshfast._engine.inputs import policy_of, ranks_of
from lshfast._items.kind import is_missing

# The types of strings, and of a column of nulls alone.
TYPES_OF_STRINGS = "string", "large_string", "string_view", "null"


def column_of_frame(frame: Any, name: Any, error: type[Exception] = KeyError) -> Any:
    """Return a column of a frame, or raise an error with the names of those that there are."""
    if isinstance(name, Hashable) and name not in frame.columns:
        raise error(no_column(str(name), map(str, frame.columns)))
    return frame[name]


def items_of_frame(
    frame: Any,
    column: Any,
    table_of: Callable[[Any], Any],
    error: type[Exception] = KeyError,
) -> Any:
    """Return the items of a frame: a column, or the joined texts of several or of a path.

    Parameters
    ----------
    frame : DataFrame
    column : label, or list of str
        A name that is no column can be a path into one.
    table_of : callable
        Returns a frame as a table of Arrow.
    error : type
        What is raised if there is no such column.
    """
    names = frame.columns
    is_path = (
        isinstance(column, str)
        and column not in names
        and steps_of(column)[0] in names
        and len(steps_of(column)) > 1
    )
    if not is_path and not isinstance(column, list):
        return column_of_frame(frame, column, error)
    checked = checked_columns(column)
    stored = stored_columns(list(names), checked, error)
    return column_of_table(table_of(frame[stored]), checked)


def stored_columns(
    columns: Sequence[str], column: ColumnNames, error: type[Exception] = ValueError
) -> list[str]:
    """Return the columns of a table that hold one or several columns, or paths into them."""
    stored = []
    for name in names_of(column):
        outer = name if name in columns else steps_of(name)[0]
        if outer not in columns:
            raise error(no_column(name, list(map(str, columns)), "there is no column"))
        stored.append(outer)
    return list(dict.fromkeys(stored))


def column_of_table(table: Any, column: ColumnNames) -> Any:
    """Return a column of a table of Arrow, or what is at a path; several columns are joined."""
    if isinstance(column, str) and column in table.column_names:
        return table.column(column)
    chunks = []
    for batch in table.to_batches():
        values = {name: _values_at(batch, name) for name in names_of(column)}
        if isinstance(column, str) and not _holds_strings(values[column]):
            chunks.append(values[column])
            continue
        for name, strings in values.items():
            if not _holds_strings(strings):
                raise TypeError(
                    f"column {name!r} is {strings.type}, and only strings are joined"
                )
        chunks.append(joined_strings(list(values.values())))
    pa = optional("pyarrow")
    return pa.chunked_array(chunks, None if chunks else pa.large_string())


def _values_at(batch: Any, name: str) -> Any:
    """Return the values of a batch at a name or path; raise an error if there are none."""
    if name in batch.schema.names:
        return batch.column(name)
    outer, *inner = steps_of(name)
    try:
        return arrow_value(batch.column(outer), inner)
    except (optional("pyarrow").ArrowException, KeyError, TypeError) as error:
        kind = batch.schema.field(outer).type
        raise ValueError(
            f"there is no {name!r} in {outer!r}, which is {kind}"
        ) from error


def _holds_strings(values: Any) -> bool:
    """Return whether values at a path are strings, or lists of strings."""
    return str(getattr(values.type, "value_type", values.type)) in TYPES_OF_STRINGS


def with_columns(
    frame: Any, options: Mapping[str, Any], error: type[Exception] = KeyError
) -> dict[str, Any]:
    """Return options with values of rows in place of the names of columns.

    Raises
    ------
    error
        If there is no such column.
    ValueError, TypeError
        If a value by which rows are preferred is missing, or is of another type than the others.
    """
    changed = dict(options)
    by = changed.get("by")
    if isinstance(by, str):
        changed["by"] = column_of_frame(frame, by, error)
    exact_key = changed.get("exact_key")
    if isinstance(exact_key, str):
        column_of_key = column_of_frame(frame, column_of_keys(exact_key), error)
        keys = objects_of(column_of_key, exact_key)
        are_urls = exact_key.startswith(OF_URLS)
        changed["exact_key"] = [bytes_of_key(key, are_urls) for key in keys]
    keep = changed.get("keep")
    if isinstance(keep, str):
        _, column = policy_of(keep)
        if column is not None:
            changed["keep"] = _ranks(
                column_of_frame(frame, column, error), column, keep
            )
    return changed


def _ranks(values: Any, column: str, keep: str) -> Int64Array:
    """Return the ranks by which max:COLUMN or min:COLUMN prefers the rows of a frame."""
    objects = objects_of(values, column)
    for row, value in enumerate(objects):
        if is_missing(value):
            raise ValueError(
                f"keep={keep!r}: the value of row {row} in column {column!r} is missing"
            )
    try:
        return ranks_of(objects, keep)
    except TypeError as error:
        raise TypeError(
            f"keep={keep!r}: the values of column {column!r} have no order: {error}"
        ) from None
