"""Columns of texts: one or several names, each of which may be a path into nested values.

``a.b`` is b inside the object a, and ``a[].b`` is b inside each element of the list a. A column
that has the whole name comes first. The texts of several columns, and of the elements of a list,
are joined with SEPARATOR; nulls are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from lshfast._common.extras import optional, pa

# One column, or several whose texts are joined.
ColumnNames: TypeAlias = str | tuple[str, ...]

# What joins the texts of several columns, and of the elements of a list.
SEPARATOR = "\n"

# The mark of a list in a path, and the step into each of its elements.
EACH = "[]"


def checked_columns(
    column: str | Sequence[str], argument: str = "column"
) -> ColumnNames:
    """Return one name as a str and several as a tuple; raise TypeError or ValueError for others.

    `argument` is what an error calls them.

    Examples
    --------
    >>> (
    ...     checked_columns("text"),
    ...     checked_columns(["text"]),
    ...     checked_columns(["ask", "answer"]),
    ... )
    ('text', 'text', ('ask', 'answer'))
    """
    if isinstance(column, str):
        return column
    if not isinstance(column, (list, tuple)) or not all(
        isinstance(name, str) for name in column
    ):
        raise TypeError(f"{argument} must be a name or a list of names, not {column!r}")
    if not column:
        raise ValueError(f"{argument} must have at least one name, not []")
    for place, name in enumerate(column):
        if name in column[:place]:
            raise ValueError(
                f"{argument} must have different names, not {name!r} twice"
            )
    return column[0] if len(column) == 1 else tuple(column)


def names_of(column: ColumnNames) -> tuple[str, ...]:
    """Return the names of one or several columns."""
    return (column,) if isinstance(column, str) else column


def shown_columns(column: ColumnNames) -> str:
    """Return the names of one or several columns as a message shows them."""
    return ", ".join(names_of(column))


def is_joined(column: ColumnNames) -> bool:
    """Return whether a text can be made of several values: of columns, or elements of lists.

    Examples
    --------
    >>> is_joined("a.b"), is_joined("a[].b"), is_joined(("a", "b"))
    (False, True, True)
    """
    return not isinstance(column, str) or EACH in column


def check_written_back(option: str, column: ColumnNames) -> None:
    """Raise ValueError if changed texts cannot be written to their column, because of an option."""
    if is_joined(column):
        raise ValueError(
            f"{option} needs one column of strings, not {shown_columns(column)}: texts that are "
            "joined cannot be written back"
        )


@lru_cache(256)
def steps_of(path: str) -> tuple[str, ...]:
    """Return the names of a path, with EACH where it enters the elements of a list.

    Examples
    --------
    >>> steps_of("data.messages[].content")
    ('data', 'messages', '[]', 'content')
    """
    steps: list[str] = []
    for part in path.split("."):
        name = part
        depth = 0
        while name.endswith(EACH):
            name = name.removesuffix(EACH)
            depth += 1
        if name or not depth:
            steps.append(name)
        steps += [EACH] * depth
    return tuple(steps)


def path_fault(path: str) -> str:
    """Return what is wrong with the brackets of a path, or "".

    Examples
    --------
    >>> path_fault("a["), path_fault("a[0].b"), path_fault("a[].b")
    ('unclosed bracket', 'a step into a list is []', '')
    """
    other_steps = path.replace(EACH, "")
    if other_steps.count("[") > other_steps.count("]"):
        return "unclosed bracket"
    if other_steps.count("[") < other_steps.count("]"):
        return "unopened bracket"
    return "a step into a list is []" if "[" in other_steps else ""


def stored_name(path: str) -> str:
    """Return the part of a path that names a column or a field of structs, up to the first list.

    Examples
    --------
    >>> stored_name("data.messages[].content"), stored_name("a.b")
    ('data.messages', 'a.b')
    """
    return path.partition(EACH)[0]


def value_at(record: Any, path: str) -> Any:
    """Return the value at a path of an object: a list if the path enters lists; None inside null.

    Nulls in lists are left out, and so are elements without the member, unless all are.

    Raises
    ------
    LookupError, TypeError
        If there is no such member.

    Examples
    --------
    >>> value_at({"a": [{"b": 1}, {"b": None}, {}]}, "a[].b")
    [1]
    """
    if path in record or ("." not in path and EACH not in path):
        return record[path]
    return _value_at(record, steps_of(path))


def _value_at(value: Any, steps: tuple[str, ...]) -> Any:
    for place, step in enumerate(steps):
        if value is None:
            return None
        if step == EACH:
            return _values_of_elements(value, steps[place + 1 :])
        value = value[step]
    return value


def _values_of_elements(elements: Any, steps: tuple[str, ...]) -> list[Any]:
    if not isinstance(elements, list):
        raise TypeError("not a list")
    values: list[Any] = []
    missing_count = 0
    for element in elements:
        try:
            value = _value_at(element, steps)
        except (LookupError, TypeError):
            missing_count += 1
            continue
        if value is not None:
            values += value if EACH in steps else [value]
    if missing_count and missing_count == len(elements):
        raise LookupError(steps)
    return values


def joined_text(values: Iterable[Any]) -> str | None:
    """Join the strings among values and lists of values; None if one is neither string nor null.

    Examples
    --------
    >>> joined_text(["a", None, ["b", "c"]]), joined_text([1])
    ('a\\nb\\nc', None)
    """
    strings = list(_leaf_values(values))
    if all(isinstance(value, str) for value in strings):
        return SEPARATOR.join(strings)
    return None


def _leaf_values(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values that are no nulls, of lists their elements."""
    for value in values:
        if isinstance(value, list):
            yield from _leaf_values(value)
        elif value is not None:
            yield value


def arrow_value(column: Any, steps: Sequence[str]) -> Any:
    """Return what is at the steps of a path into an Arrow array: an array of lists if it has EACH.

    A value is null inside a null, a null list has no elements, and nulls in lists are left out.
    """
    pc = optional("pyarrow.compute")
    offsets = None
    for step in steps:
        if step != EACH:
            column = pc.struct_field(column, [step])
            continue
        lengths = pc.list_value_length(column).fill_null(0).cast(pa.int64())
        ends = pc.cumulative_sum(lengths)
        inner_offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
        offsets = inner_offsets if offsets is None else inner_offsets.take(offsets)
        column = pc.list_flatten(column)
    if offsets is None:
        return column
    valid_counts = pc.cumulative_sum(column.is_valid().cast(pa.int64()))
    valid_before = pa.concat_arrays([pa.array([0], pa.int64()), valid_counts])
    return pa.LargeListArray.from_arrays(valid_before.take(offsets), column.drop_null())


def joined_strings(columns: Sequence[Any]) -> Any:
    """Join Arrow arrays of strings, or of lists of strings, to one of large strings.

    Rows without a value have an empty text.
    """
    pc = optional("pyarrow.compute")
    strings = [_large_strings(column) for column in columns]
    if len(strings) == 1:
        return strings[0].fill_null("")
    # pyarrow leaves out the rows in which all values are null.
    has_value = strings[0].is_valid()
    for column in strings[1:]:
        has_value = pc.or_(has_value, column.is_valid())
    empty_text = pa.scalar("", strings[0].type)
    strings[0] = pc.if_else(has_value, strings[0], empty_text)
    return pc.binary_join_element_wise(*strings, _separator(), null_handling="skip")


def _separator() -> Any:
    """Return the separator as a scalar of Arrow."""
    return pa.scalar(SEPARATOR, pa.large_string())


def _large_strings(column: Any) -> Any:
    """Return large strings; elements of lists are joined, and a list without any is null."""
    pc = optional("pyarrow.compute")
    if not pa.types.is_large_list(column.type):
        return column.cast(pa.large_string())
    offsets = pc.subtract(column.offsets, column.offsets[0])
    values = column.flatten().cast(pa.large_string())
    lists = pa.LargeListArray.from_arrays(offsets, values)
    is_empty = pc.equal(pc.list_value_length(lists), 0)
    texts = pc.binary_join(lists, _separator())
    return pc.if_else(is_empty, pa.scalar(None, pa.large_string()), texts)
