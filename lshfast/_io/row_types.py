"""What accepted rows of JSONL need of an output, and whether it can hold the next row.

A row is judged by itself and by the rows before it, so the decision does not depend on batches or
threads, and any selection of the accepted rows can be written. The columns of an output are those
of all rows together, and each row takes a cell in each column; so their number is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lshfast._common.extras import pa
from lshfast._common.lazy import LazyModule
from lshfast._common.visible import shortened
from lshfast._io.cells import CellType
from lshfast._io.files import File, Layout, is_id, is_int64, kind_of
from lshfast._io.json_records import exact_object, json_object
from lshfast._io.json_text import loads
from lshfast._io.readers import columns_of

if TYPE_CHECKING:
    from lshfast._io import parquet
else:
    parquet = LazyModule("lshfast._io.parquet")

MOST_LEVELS = 96  # of nested types in Parquet; a list takes two
_EXACT = 1 << 53  # doubles hold all integers up to this
_WIDE = "an integer that no double equals"
_RANGES = {
    "signed": "an integer below 0",
    "unsigned": "an integer above 2**63 - 1",
}
_CELLS = frozenset([str, float, bool, type(None)])  # values that a cell of CSV holds
_KINDS = {
    bool: "bool",
    int: "int64",
    float: "double",
    str: "string",
    list: "list",
    dict: "struct",
}


class ColumnType:
    """The type of the values of a column of Parquet; "null" until there is a value.

    `members` are those of structs, and `item` is the type of the items of lists. `wide` tells
    whether integers have occurred that no double equals, and `range` whether one below 0 has
    ("signed"), or one above 2**63 - 1 ("unsigned"), which no column holds both. `arrow` is set for
    types of Parquet inputs that JSON has not.
    """

    __slots__ = ("arrow", "item", "kind", "members", "range", "wide")

    def __init__(self, kind: str = "null", arrow: Any = None) -> None:
        self.kind: str = kind
        self.wide: bool = False
        self.range: str = ""
        self.arrow: Any = arrow
        self.members: dict[str, ColumnType] = {}
        self.item: ColumnType | None = None


def column_type(arrow: Any) -> ColumnType:
    """Return the type of a column that other inputs have, from its Arrow type."""
    types = pa.types
    for check, kind in (
        (types.is_boolean, "bool"),
        (types.is_integer, "int64"),
        (types.is_floating, "double"),
    ):
        if check(arrow):
            column = ColumnType(kind)
            # Unsigned integers of other inputs become signed ones beside those of JSON.
            column.range = "" if types.is_uint64(arrow) else "signed"
            return column
    if str(arrow) in ("null", "string", "large_string"):
        return ColumnType(str(arrow).removeprefix("large_"))
    column = ColumnType("other", arrow)
    if types.is_struct(arrow):
        column = ColumnType("struct")
        column.members = {
            field.name: column_type(field.type)
            for field in map(arrow.field, range(arrow.num_fields))
        }
    elif types.is_list(arrow) or types.is_large_list(arrow):
        column = ColumnType("list")
        column.item = column_type(arrow.value_type)
    return column


def columns_with_types(
    file: File, names: Sequence[str], types: Mapping[str, CellType]
) -> Any:
    """Return the Arrow schema of a file other than JSONL, from its columns and types of cells."""
    if file.columnar:
        return parquet.schema_of(file)
    cell_types = {
        name: pa.type_for_alias(kind.name)
        for name, kind in types.items()
        if file.delimited
    }
    return pa.schema([(name, cell_types.get(name, pa.string())) for name in names])


class RowTypes:
    """The columns and types of the accepted rows of JSONL, for the output of a layout.

    Parameters
    ----------
    layout : Layout
    other_files : sequence of File
        The inputs of other formats.
    types : mapping of str to CellType
        The types of their cells of CSV.
    """

    def __init__(
        self, layout: Layout, other_files: Sequence[File], types: Mapping[str, CellType]
    ) -> None:
        self._added = layout.added
        self._most = layout.max_columns
        self._output = layout.output
        self._columns: dict[str, ColumnType] = {}
        self._undo: list[Callable[[], object]] = []
        if layout.output == "parquet" and other_files:
            parts = [
                columns_with_types(file, columns_of(file), types)
                for file in other_files
            ]
            with suppress(
                pa.ArrowException
            ):  # the writer reports columns that have no common type
                schema = pa.unify_schemas(parts, promote_options="permissive")
                self._columns = {
                    field.name: column_type(field.type) for field in schema
                }
        elif layout.output != "jsonl":
            self._columns = {
                name: ColumnType() for file in other_files for name in columns_of(file)
            }
        self._count = len(self._columns)

    def take(self, line: bytes) -> str | None:
        """Accept a row, or return the reason to reject it."""
        self._undo.clear()
        try:
            record = _names(line) if self._output == "jsonl" else exact_object(line)
            for name in self._added:
                if name in record:
                    raise ValueError(taken(name))
            if self._output != "jsonl":
                self._take_members(self._columns, record, "", 1)
        except ValueError as error:
            self.undo()
            return str(error)
        except RecursionError:
            self.undo()
            return "objects or arrays are nested too deep"
        return None

    def undo(self) -> None:
        """Forget the row that was accepted last."""
        while self._undo:
            self._undo.pop()()

    def _take_members(
        self,
        columns: dict[str, ColumnType],
        values: dict[str, Any],
        prefix: str,
        level: int,
    ) -> None:
        for name, value in values.items():
            kind = columns.get(name)
            if kind is None:
                kind = columns[name] = self._new(columns, name)
            if self._output == "parquet":
                self._take(kind, value, f"{prefix}{name}", level)
            elif type(value) not in _CELLS:
                cell(name, value)

    def _new(self, columns: dict[str, ColumnType], name: str) -> ColumnType:
        if self._count >= self._most:
            raise ValueError(too_many(self._most))
        self._count += 1

        def undo() -> None:
            del columns[name]
            self._count -= 1

        self._undo.append(undo)
        return ColumnType()

    def _take(self, kind: ColumnType, value: Any, name: str, level: int) -> None:
        if level > MOST_LEVELS:
            raise ValueError(
                f"column {shortened(name)} is nested deeper than the {MOST_LEVELS} levels of "
                "Parquet"
            )
        if value is None:
            return
        if kind.kind == "other":
            self._set(kind, "arrow", _common_type(kind.arrow, value, name))
            return
        new = _KINDS[type(value)]
        self._widen(kind, new, name)
        if new == "int64":
            self._take_integer(kind, value, name, level)
        elif new == "struct":
            self._take_members(kind.members, value, f"{name}.", level + 1)
        elif new == "list":
            if kind.item is None:
                self._set(kind, "item", ColumnType())
            assert kind.item is not None
            for item in value or [None]:
                self._take(kind.item, item, name, level + 2)

    def _widen(self, kind: ColumnType, new: str, name: str) -> None:
        """Let a column have values of a further type: its first, or doubles beside integers."""
        if new == kind.kind or (new, kind.kind) == ("int64", "double"):
            return
        if kind.kind != "null" and (new, kind.kind) != ("double", "int64"):
            raise ValueError(clash(name, new, kind.kind))
        if kind.wide:
            raise ValueError(
                f"column {shortened(name)} holds a fraction, but {_WIDE} in the rows before"
            )
        self._set(kind, "kind", new)

    def _take_integer(
        self, kind: ColumnType, value: int, name: str, level: int
    ) -> None:
        is_unsigned = not is_int64(value)
        # Arrow infers no unsigned integers inside structs and lists.
        if is_unsigned and (level > 1 or not is_id(value)):
            raise ValueError(
                f"column {shortened(name)} holds an integer beyond 64 bits"
            )
        if value < 0 or is_unsigned:
            self._take_range(kind, "unsigned" if is_unsigned else "signed", name)
        if kind.wide or -_EXACT <= value <= _EXACT:
            return
        if kind.kind == "double":
            raise ValueError(
                f"column {shortened(name)} holds {_WIDE}, but fractions in the rows before"
            )
        self._set(kind, "wide", True)

    def _take_range(self, kind: ColumnType, range: str, name: str) -> None:
        """Let a column have signed or unsigned integers, but not both."""
        if kind.range not in ("", range):
            raise ValueError(
                f"column {shortened(name)} holds {_RANGES[range]}, but its type from other rows or "
                f"inputs is that of {kind.range} integers of 64 bits"
            )
        self._set(kind, "range", range)

    def _set(self, kind: ColumnType, name: str, value: Any) -> None:
        old = getattr(kind, name)
        if value is not old:
            setattr(kind, name, value)
            self._undo.append(lambda: setattr(kind, name, old))


def _names(line: bytes) -> dict[str, Any]:
    try:
        return dict(loads(line))
    except ValueError:
        return json_object(line)


def _common_type(arrow: Any, value: Any, name: str) -> Any:
    """Return the type that holds a type and a value; raise ValueError if there is none."""
    new = pa.array([value]).type
    try:
        fields = [pa.schema([(name, kind)]) for kind in (arrow, new)]
        common = pa.unify_schemas(fields, promote_options="permissive").field(0).type
        pa.array([value], common)
    except (pa.ArrowException, OverflowError):
        raise ValueError(clash(name, new, arrow)) from None
    return common


def clash(name: str, new: object, present: object) -> str:
    """Return the message that a column has values of two types."""
    return (
        f"column {shortened(name)} is {new}, but {present} in the rows before; a .jsonl output "
        "holds both"
    )


def taken(name: str) -> str:
    """Return the message that an annotation has the name of a column."""
    return f"there is a column {shortened(name)} already, so none can be added"


def too_many(most: int) -> str:
    """Return the message that an output would have too many columns."""
    return f"more than {most:,} columns in all rows; max_columns (--max-columns) raises this limit"


def cell(name: str, value: Any) -> str:
    """Return a value as a cell of CSV; raise ValueError for lists, objects and huge integers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, float) or is_id(value):
        return repr(value)
    what = "an integer beyond 64 bits" if isinstance(value, int) else kind_of(value)
    raise ValueError(
        f"column {shortened(name)} holds {what}: CSV output cannot hold it"
    )
