"""Options of a run over a frame that name its columns: `by`, `exact_key`, ``keep="max:COLUMN"``."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from lshfast._common.arrow_columns import objects_of
from lshfast._common.exact_keys import OF_URLS, bytes_of_key, column_of_keys
from lshfast._common.nearest import no_column
from lshfast._common.types import Int64Array
from lshfast._engine.inputs import policy_of, ranks_of
from lshfast._items.kind import is_missing


def column_of_frame(frame: Any, name: Any, error: type[Exception] = KeyError) -> Any:
    """Return a column of a frame, or raise an error with the names of those that there are."""
    if isinstance(name, Hashable) and name not in frame.columns:
        raise error(no_column(str(name), map(str, frame.columns)))
    return frame[name]


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
