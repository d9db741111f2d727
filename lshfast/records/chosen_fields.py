"""Which columns are compared, and which are not because their names differ."""

from __future__ import annotations

from collections.abc import Sequence

from lshfast._common.visible import visible
from lshfast.records.options import LinkOptions
from lshfast.records.tables.alike_columns import (
    alike_columns,
    can_be_typed,
    fields_to_give,
)
from lshfast.records.tables.fields import Field, as_field, checked_fields
from lshfast.records.tables.record_table import RecordTable, field_columns


def chosen_fields(
    tables: Sequence[RecordTable], options: LinkOptions
) -> tuple[list[Field], list[Field]]:
    """Return the fields to compare and the field that is held out, if any; check their columns."""
    held_out: list[Field] = []
    if options.held_out is not None:
        held_out = checked_fields([options.held_out])
    compared = shared_fields(tables)
    if options.fields is not None:
        compared = checked_fields(options.fields)
    if any(field.kind == "address" for field in held_out):
        raise ValueError(
            "an address is compared by its parts, so it cannot be held out; hold out another column"
        )
    for name in options.ignore:
        if name not in tables[-1].columns:
            tables[0].column(name)
    left_out = {*options.ignore, *(field.name for field in held_out)}
    compared = [field for field in compared if field.name not in left_out]
    for field in [*compared, *held_out]:
        field_columns(field, tables)
    if not compared:
        raise ValueError(no_field_text(tables, options))
    return compared, held_out


def shared_fields(tables: Sequence[RecordTable]) -> list[Field]:
    """Return the columns of a table, or those that two tables have in common, as fields."""
    others = set(tables[-1].names)
    return [Field(name) for name in tables[0].names if name in others]


def unpaired_columns(
    tables: Sequence[RecordTable], options: LinkOptions
) -> tuple[list[str], list[str]]:
    """Return the columns of each table that are not compared because the other has none of their
    name. There are none if the fields are given, or within one table.
    """
    if len(tables) < 2 or options.fields is not None:
        return [], []
    first, second = tables
    chosen = set(options.ignore)
    if options.held_out is not None:
        held_out = as_field(options.held_out)
        chosen |= {held_out.name, held_out.column_of(1)}
    left_out = (chosen.union(second.names), chosen.union(first.names))
    names = [
        [name for name in table.names if name not in others]
        for table, others in zip(tables, left_out, strict=True)
    ]
    return names[0], names[1]


def overlooked_columns(
    tables: Sequence[RecordTable], options: LinkOptions
) -> list[tuple[str, str]]:
    """Return the pairs of unpaired columns of two tables that are alike."""
    unpaired = unpaired_columns(tables, options)
    if not all(unpaired):
        return []
    first, second = (
        [(name, table.columns[name]) for name in names]
        for table, names in zip(tables, unpaired, strict=True)
    )
    return alike_columns(first, second)


def overlooked_text(
    compared: Sequence[str], overlooked: Sequence[tuple[str, str]]
) -> str:
    """Return a warning of alike columns; fields that are given replace those compared now."""
    compared_now = [(name, name) for name in compared]
    advice = f": {fields_to_give([*compared_now, *overlooked])}"
    if not all(map(can_be_typed, compared)):
        pairs = " and ".join(f"{name!r} as {other!r}" for name, other in overlooked)
        advice = f", give them one name: {pairs}"
    return (
        "columns of other names have the same values or words, and were not compared; if they "
        f"mean the same{advice}"
    )


def no_field_text(tables: Sequence[RecordTable], options: LinkOptions) -> str:
    """Return the error of tables that have no field to compare."""
    columns = " and ".join(", ".join(table.names) or "none" for table in tables)
    text = (
        f"there is no field to compare; columns are: {visible(columns)}; "
        "fields (--field A=B) pairs others"
    )
    overlooked = overlooked_columns(tables, options)
    if overlooked:
        text += f"; these have the same values or words: {fields_to_give(overlooked)}"
    return text
