"""Columns of texts in data frames and in lines of JSON: names and paths, as for files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from lshfast._common.column_paths import (
    EACH,
    SEPARATOR,
    ColumnNames,
    is_joined,
    names_of,
    steps_of,
)
from lshfast.spark.sql import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The types of a text, or of the texts of elements of a list.
JOINED_TYPES = "string", "array<string>"

# The fields of a schema by name, or its type.
SchemaTree: TypeAlias = "dict[str, SchemaTree] | str"


def text_column(df: DataFrame, text: ColumnNames) -> Column:
    """Return the texts of a data frame; those of several columns, and of lists, are joined.

    Raises
    ------
    ValueError
        If there is no such column.
    TypeError
        If a column that is joined has no strings.
    """
    from pyspark.errors import AnalysisException

    if isinstance(text, str) and not is_joined(text):
        return F.col(text)
    columns = []
    for name in names_of(text):
        outer, *inner = (name,) if name in df.columns else steps_of(name)
        column = value_at_steps(F.col(f"`{outer}`"), inner)
        try:
            type_name = df.select(column).schema[0].dataType.simpleString()
        except AnalysisException:
            raise ValueError(
                f"text: there is no column {name!r} among {', '.join(df.columns)}"
            ) from None
        if type_name not in JOINED_TYPES:
            allowed = " or ".join(JOINED_TYPES)
            raise TypeError(
                f"text: column {name!r} must be of type {allowed}, not {type_name}"
            )
        columns.append(column)
    return F.concat_ws(SEPARATOR, *columns)


def value_at_steps(column: Column, steps: Sequence[str]) -> Column:
    """Return what is at the steps of a path into a column: an array if the path enters lists."""
    for place, step in enumerate(steps):
        if step != EACH:
            column = column.getField(step)
            continue
        inner_steps = steps[place + 1 :]
        values = _values_of_elements(column, inner_steps)
        if EACH not in inner_steps:
            return values
        return F.flatten(F.filter(values, lambda value: value.isNotNull()))
    return column


def _values_of_elements(column: Column, steps: Sequence[str]) -> Column:
    """Return the array of what is at the steps of a path into each element of an array."""

    def value_of(element: Column) -> Column:
        return value_at_steps(element, steps)

    return F.transform(column, value_of)


def schema_of_paths(types: Iterable[tuple[Sequence[str], str]]) -> str:
    """Return the schema of objects that have values of some types at the steps of some paths.

    Raises
    ------
    ValueError
        If a path leads through the value of another.

    Examples
    --------
    >>> schema_of_paths([(("a", "[]", "b"), "string"), (("id",), "bigint")])
    '`a` array<struct<`b`: string>>, `id` bigint'
    """
    tree: dict[str, SchemaTree] = {}
    for steps, type_name in types:
        node = tree
        for step in steps[:-1]:
            inner = node.setdefault(step, {})
            if isinstance(inner, str):
                raise ValueError(f"column {step!r} is both a value and an object")
            node = inner
        if isinstance(node.setdefault(steps[-1], type_name), dict):
            raise ValueError(f"column {steps[-1]!r} is both a value and an object")
    return ", ".join(f"`{name}` {_type_of(node)}" for name, node in tree.items())


def _type_of(node: Any) -> str:
    if isinstance(node, str):
        return node
    if EACH in node:
        return f"array<{_type_of(node[EACH])}>"
    fields = ", ".join(f"`{name}`: {_type_of(inner)}" for name, inner in node.items())
    return f"struct<{fields}>"
