"""Inputs of Spark in files: Parquet, and lines of JSON, which are kept as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lshfast._common.column_paths import (
    SEPARATOR,
    ColumnNames,
    checked_columns,
    is_joined,
    names_of,
    steps_of,
    value_at,
)
from lshfast._engine.indexes.run_indexes import columns_of_earlier
from lshfast._engine.pages.run_pages import PageOutput
from lshfast._io import DataError
from lshfast.spark.api import earlier_of
from lshfast.spark.earlier import EarlierFrame
from lshfast.spark.exact_keys import KEY, NamedKeys, as_json
from lshfast.spark.page import ShownTexts
from lshfast.spark.places import names_of_files
from lshfast.spark.sql import F
from lshfast.spark.text_columns import schema_of_paths, text_column, value_at_steps
from lshfast.spark.workers import BadTextError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


PARQUET = (".parquet",)
LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.bz2", ".jsonl.zst", ".ndjson.gz")
# What is wrong with the inputs if Spark raises an error with such a mark.
REASONS = {
    "too much memory for decoding": "the window of a .zst file is larger than Spark reads (128M)",
    "FAILED_READ_FILE": "a file cannot be read: it is damaged, cut off, or not accessible",
    "out of range of long": "a line has an integer of 2**63 or more, which Spark has not: give ids "
    "as strings",
    "MALFORMED_RECORD_IN_PARSING": "a line is not JSON, or its columns have other types than those "
    "of the first line",
    "PATH_NOT_FOUND": "no such file or folder",
    "UNABLE_TO_INFER_SCHEMA": "no Parquet file is there",
}
# The column of a line of JSON, and that of its exact key, if another name reads the same value.
LINE = "line"
ROW_OF_KEY = "row of the key"
# The types of columns of lines of JSON whose values may be missing, and have different types.
TYPES_OF_ANY = {"by": "string", KEY: "variant"}


@dataclass(frozen=True)
class SparkInputs:
    """The inputs, their rows, and their names of the columns id, text, value, by and KEY."""

    paths: Sequence[str]
    frame: DataFrame
    names: dict[str, Any]
    lines: bool  # whether they are lines of JSON
    earlier: EarlierFrame | None = None

    @property
    def files(self) -> dict[str, str]:
        """The names of all files, by the URL by which Spark calls each."""
        return names_of_files(self.frame, self.paths)

    def shown(self, page: PageOutput) -> ShownTexts | None:
        """Return the texts that a page may show, if it shows texts."""
        if not page.texts:
            return None
        id_column = F.col(self.names["id"]).alias("id")
        texts = text_column(self.frame, self.names["text"]).alias("text")
        rows = self.frame.select(id_column, texts)
        return ShownTexts(rows, None if self.earlier is None else self.earlier.frame)

    def keys(self, exact_key: str | None) -> NamedKeys | None:
        """Return the exact keys of the rows, if they have some."""
        if exact_key is None:
            return None
        named = NamedKeys.of(exact_key)
        values = replace(named.values, of_json=self.lines)
        return NamedKeys(self.names[KEY], values)


@dataclass(frozen=True)
class EarlierFiles:
    """The files of earlier rows, and the names of their columns."""

    paths: Sequence[str]
    column: ColumnNames
    id_column: str

    @classmethod
    def of(
        cls,
        options: Mapping[str, Any],
        column: ColumnNames,
        id_column: str | None,
    ) -> EarlierFiles | None:
        """Return the files that options name, None without; the columns are those of the inputs.

        Raises
        ------
        ValueError
            If columns of earlier files are named without such files.
        """
        paths = options["against"]
        columns = columns_of_earlier(options, bool(paths))
        id_column = columns.get("id_column", id_column)
        if not paths or id_column is None:  # which is an error for the inputs
            return None
        return cls(paths, columns.get("column", column), id_column)

    def rows(self, session: SparkSession) -> EarlierFrame:
        """Read the files."""
        columns = {"id": self.id_column, "text": checked_columns(self.column)}
        frame, names, _ = read_frame(session, self.paths, columns)
        return earlier_of(frame, names["text"], names["id"], shown=True)


def read_frame(
    session: SparkSession, paths: Sequence[str], columns: dict[str, ColumnNames]
) -> tuple[DataFrame, dict[str, Any], bool]:
    """Return the rows of files, the names of some columns there, and whether they are lines."""
    formats = {path: format_of(path) for path in paths}
    paths_of_lines = [path for path in paths if formats[path] == "lines"]
    tables = [path for path in paths if formats[path] == "parquet"]
    if not paths_of_lines:
        return session.read.parquet(*paths), dict(columns), False
    frame = _lines(session, paths_of_lines, columns)
    if tables:
        rows = session.read.parquet(*tables)
        frame = frame.unionByName(_as_lines(rows, columns, frame))
    return frame, {name: name for name in columns}, True


@contextmanager
def errors_of_data(inputs: Sequence[str]) -> Iterator[None]:
    """Raise DataError for missing inputs, unusable texts, and lines that are not JSON."""
    names = ", ".join(inputs)
    try:
        yield
    except BadTextError as error:
        raise DataError(names, None, str(error)) from error
    except Exception as error:  # Spark raises this one in several types
        reason = next(
            (reason for mark, reason in REASONS.items() if mark in str(error)), None
        )
        if reason is None:
            raise
        raise DataError(names, None, reason) from error


def format_of(path: str) -> str:
    """Return "parquet" or "lines" by the suffix of a path; a folder without one holds Parquet."""
    if path.endswith(PARQUET) or not path.rpartition("/")[2].count("."):
        return "parquet"
    if path.endswith(LINES):
        return "lines"
    raise ValueError(
        f"{path}: Spark reads .parquet and folders of it, and {', '.join(LINES)}"
    )


def _lines(
    session: SparkSession, inputs: Sequence[str], columns: dict[str, ColumnNames]
) -> DataFrame:
    """Return each JSON line with some columns, whose types the first line sets."""
    lines = (
        session.read.text(list(inputs))
        .select(F.col("value").alias(LINE))
        .where(f"trim({LINE}) != ''")
    )
    first = lines.first()
    try:
        row: Any = {} if first is None else json.loads(first[LINE])
    except ValueError as error:
        raise DataError(
            ", ".join(inputs), None, f"the first line is not JSON: {error}"
        ) from None
    steps_of_path: dict[str, tuple[str, ...]] = {}
    types: dict[tuple[str, ...], str] = {}
    types_of_keys: dict[tuple[str, ...], str] = {}
    for name, column in columns.items():
        for path in names_of(column):
            steps = _steps_in(row, path)
            steps_of_path[path] = steps
            if name == KEY and steps in types:
                # Keys keep the types of their values, which the other name may not.
                types_of_keys[steps] = TYPES_OF_ANY[KEY]
                continue
            if name in TYPES_OF_ANY:
                types.setdefault(steps, TYPES_OF_ANY[name])
                continue
            value = _value_in(row, path)
            kind = "string" if name == "text" else _kind(path, value)
            types.setdefault(steps, kind)  # one column can have two names
    schemas = {"row": types, ROW_OF_KEY: types_of_keys}
    parsed = lines
    for row_name, types_of_row in schemas.items():
        if types_of_row:
            schema = schema_of_paths(types_of_row.items())
            members = F.from_json(LINE, schema, {"mode": "FAILFAST"})
            parsed = parsed.withColumn(row_name, members)
    columns_of_rows = []
    for name, column in columns.items():
        is_apart = name == KEY and bool(types_of_keys)
        parsed_row = F.col(ROW_OF_KEY if is_apart else "row")
        values = [
            value_at_steps(parsed_row, steps_of_path[path]) for path in names_of(column)
        ]
        joined = is_joined(column) and name == "text"
        value = F.concat_ws(SEPARATOR, *values) if joined else values[0]
        if name == KEY:
            value = as_json(value, TYPES_OF_ANY[KEY])
        columns_of_rows.append(value.alias(name))
    rows = parsed.select(LINE, *columns_of_rows)
    for name in TYPES_OF_ANY.keys() & columns.keys():
        _check_in_lines(parsed, row, str(columns[name]), steps_of_path)
    return rows


def _check_in_lines(
    parsed: DataFrame, first_row: Any, path: str, steps: Mapping[str, tuple[str, ...]]
) -> None:
    """Raise ValueError if there are lines, and none of them has a column."""
    try:
        _value_in(first_row, path)
    except ValueError:
        value = value_at_steps(F.col("row"), steps[path])
        if parsed.where(value.isNotNull()).isEmpty():
            raise ValueError(f"no line of the inputs has the column {path!r}") from None


def _as_lines(
    rows: DataFrame, columns: dict[str, ColumnNames], lines: DataFrame
) -> DataFrame:
    """Return rows of Parquet as lines of JSON, with columns of the types that `lines` has.

    Raises
    ------
    ValueError
        If a column has strings in one format and numbers in the other.
    """
    names = [F.col(f"`{name.replace('`', '``')}`") for name in rows.columns]
    line = F.to_json(F.struct(*names), {"ignoreNullFields": "false"}).alias(LINE)
    columns_of_rows = []
    for name, column in columns.items():
        value = (
            text_column(rows, checked_columns(column))
            if name == "text"
            else F.col(str(column))
        )
        kind = lines.schema[name].dataType.simpleString()
        if name == KEY:
            value = as_json(value, rows.select(value).schema[0].dataType.simpleString())
        if name in ("id", "value"):
            actual_kind = rows.select(value).schema[0].dataType.simpleString()
            if (kind == "string") != (actual_kind == "string"):
                raise ValueError(
                    f"column {column!r} is {kind} in JSON Lines, and {actual_kind} in Parquet"
                )
        columns_of_rows.append(value.cast(kind).alias(name))
    return rows.select(line, *columns_of_rows)


def _steps_in(row: Any, path: str) -> tuple[str, ...]:
    """Return the steps of a path in objects like a row, which may have a member of this name."""
    return (path,) if isinstance(row, dict) and path in row else steps_of(path)


def _value_in(row: Any, path: str) -> Any:
    """Return what is at a path of the first row, "" if there are no rows."""
    if row == {}:
        return ""
    try:
        return value_at(row, path)
    except (LookupError, TypeError):
        raise ValueError(
            f"the first line of the inputs has no column {path!r}"
        ) from None


def _kind(column: str, value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "double" if isinstance(value, float) else "bigint"
    raise ValueError(
        f"column {column!r} of the first line must be a number or a string, not {value!r}"
    )
