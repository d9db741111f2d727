"""The job over files on a cluster: Parquet and JSON Lines in, folders of these formats out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
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
from lshfast._common.errors import TooManyRemovedError
from lshfast._common.extras import optional
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.account.report import Summary
from lshfast._engine.clock import Stage
from lshfast._engine.indexes.run_indexes import (
    COLUMNS_OF_EARLIER_FILES,
    Against,
    check_one_index,
    columns_of_earlier,
    refuse_index_with_texts,
)
from lshfast._engine.inputs import Inputs
from lshfast._engine.options.stored import OF_FOLDER, StoredOptions
from lshfast._engine.pages.dedup import page_of
from lshfast._engine.pages.evidence import Evidence, compared_form
from lshfast._engine.pages.run_pages import (
    PageOutput,
    check_page_output,
    named,
    refusal_of,
)
from lshfast._engine.parts.removals import EARLIER_TEXT, SAME_KEY
from lshfast._engine.plan import plan_of_options
from lshfast._io import DataError
from lshfast._io.pages.page import write_page
from lshfast.index.index_file import is_index
from lshfast.spark.api import (
    OPTIONS,
    OPTIONS_OF_PAIRS,
    RowChoice,
    dedup_frame,
    earlier_of,
    entries_of,
    kind_of_column,
    plan_of,
    run_of,
    source_of,
)
from lshfast.spark.by_value import Guard
from lshfast.spark.earlier import EarlierFrame
from lshfast.spark.exact_keys import KEY, NamedKeys, as_json
from lshfast.spark.page import ShownTexts, evidence_of_removed, evidence_of_similar
from lshfast.spark.places import check_places, exists, names_of_files, write_text
from lshfast.spark.session import session_of
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

# The options of a run that name earlier files and their columns.
OPTIONS_OF_EARLIER = "against", *COLUMNS_OF_EARLIER_FILES.values()


@dataclass(frozen=True)
class SparkOutputs:
    """Folders that a run writes, and a page, which is a file of the driver; None for none."""

    rows: str | None = None
    removed: str | None = None
    overwrite: bool = False
    pairs: str | None = None
    page: PageOutput | None = None

    @property
    def paths(self) -> list[str]:
        """The folders."""
        return [
            path for path in (self.rows, self.removed, self.pairs) if path is not None
        ]


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
        from pyspark.sql import functions as F

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
        frame, names, _ = _read(session, self.paths, columns)
        return earlier_of(frame, names["text"], names["id"], shown=True)


def run_files(
    inputs: Sequence[str],
    outputs: SparkOutputs,
    *,
    column: ColumnNames,
    id_column: str | None,
    keep: str,
    by: str | None = None,
    exact_key: str | None = None,
    max_removed: float | None = None,
    master: str | None,
    **options: Any,
) -> Summary:
    """Read files, write the kept rows and a table of removed ones, and return the figures.

    Parameters
    ----------
    inputs : sequence of str
        Files, folders or patterns of Parquet, and files or patterns of JSON Lines, in any file
        system that Spark reads. If there are both, rows of Parquet are written as lines of JSON.
    outputs : SparkOutputs
        Each is a folder that Spark writes, with the suffix .parquet or .jsonl. Lines of JSON are
        written as they are. The folder of removed rows also has the options of the run. The page is
        written last, also if nothing else is written because too many rows would be removed.
    column : str or tuple of str
        Column of the texts, or several, whose texts are joined; ``a.b`` and ``a[].b`` are paths.
    id_column : str
        Column of the ids.
    keep : str
        first, last, longest, shortest or max:COLUMN.
    by : str, optional
        The column by whose values rows are counted.
    exact_key : str, optional
        As for `lshfast.spark.dedup`.
    max_removed : float, optional
        As for `lshfast.spark.dedup`; nothing is written if more rows are removed.
    master : str, optional
        The cluster, as for spark-submit. By default, Spark's configuration decides.
    **options
        The other parameters of `lshfast.spark.dedup`; `against` has the paths of earlier files.

    Raises
    ------
    DataError
        If an input is missing, or a line or a text of it cannot be used.
    ValueError
        If an option is invalid, a column has other types in Parquet than in JSON Lines, an output
        holds an input, or the outputs are not apart.
    FileExistsError
        If an output exists and is not to be replaced.
    """
    policy, _, order = keep.partition(":")
    if bool(order) != (policy == "max"):
        raise ValueError(
            f"keep must be first, last, longest, shortest or max:COLUMN on Spark, not {keep!r}"
        )
    of_earlier = {name: options.pop(name, None) for name in OPTIONS_OF_EARLIER}
    index, of_earlier["against"] = _index_and_files(of_earlier["against"] or ())
    earlier = EarlierFiles.of(of_earlier, column, id_column)
    arguments = plan_of("dedup", OPTIONS, options).arguments
    entries = None if index is None else entries_of(index, options)
    if entries is not None:
        arguments = entries.plan.arguments
    columns = _columns(column, id_column)
    if order:
        columns["value"] = order
    if by is not None:
        columns["by"] = by
    if exact_key is not None:
        columns[KEY] = NamedKeys.of(exact_key).column
    with _opened(inputs, outputs, columns, master, earlier) as source:
        frame = source.frame
        names = source.names
        policy_or_column: Any = (
            optional("pyspark.sql.functions", "spark").col(names["value"])
            if order
            else policy
        )
        source_of_rows = Inputs(inputs, column=column, id_column=id_column)
        stored = StoredOptions.of(arguments | {"keep": keep}, source_of_rows)
        paged = outputs.page is not None
        refused = (
            partial(_write_page_of_removed, source, outputs, stored.options)
            if paged
            else None
        )
        guard = Guard(names.get("by"), max_removed, by or "", refused)
        result, summary = dedup_frame(
            frame,
            names["text"],
            names["id"],
            RowChoice(
                policy_or_column, source.keys(exact_key), source.earlier, entries
            ),
            guard,
            None,
            arguments,
            files=paged,
            kinds=("text",),
        )
        start = time.perf_counter()
        _write(source, result, outputs, summary, stored)
        _write_page_of_removed(source, outputs, stored.options, result, summary)
    return _finished(result, summary, start)


def _index_and_files(against: str | Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the index among paths of earlier rows, if there is one, and the files."""
    paths = [against] if isinstance(against, str) else list(against)
    indexes = [path for path in paths if is_index(path)]
    files = [path for path in paths if path not in indexes]
    check_one_index(indexes)
    index = indexes[0] if indexes else None
    texts = Inputs(files) if files else None
    refuse_index_with_texts(Against(index, texts), "a run on Spark")
    return index, files


def run_pairs(
    inputs: Sequence[str],
    output: str,
    *,
    column: ColumnNames,
    id_column: str | None,
    master: str | None,
    overwrite: bool = False,
    page: PageOutput | None = None,
    **options: Any,
) -> Summary:
    """Read files, write a table of all similar pairs, and return the figures.

    Parameters
    ----------
    inputs, column, id_column, master
        As for `run_files`.
    output : str
        A folder that Spark writes, with the suffix .parquet or .jsonl. Its columns are key_i,
        key_j, and similarity or containment.
    overwrite : bool, default False
        Replace an output that exists.
    page : PageOutput, optional
        A page, which is written last.
    **options
        The other parameters of `lshfast.spark.pairs`.

    Raises
    ------
    DataError, ValueError, FileExistsError
        As for `run_files`.
    """
    outputs = SparkOutputs(pairs=output, overwrite=overwrite, page=page)
    plan = plan_of("pairs", OPTIONS_OF_PAIRS, options)
    columns = _columns(column, id_column)
    with _opened(inputs, outputs, columns, master) as source:
        arguments = {
            name: value
            for name, value in plan.arguments.items()
            if name in OPTIONS_OF_PAIRS
        }
        kind = kind_of_column(source.frame, source.names["text"], ("text",))
        rows = source_of(
            source.frame,
            source.names["text"],
            source.names["id"],
            RowChoice(),
            page is not None,
        )
        run = run_of(kind, rows, plan, None)
        similar_pairs, summary = run.pairs()
        start = time.perf_counter()
        names = {
            "id_i": "key_i",
            "id_j": "key_j",
            "similarity": SIMILARITY_NAMES[summary.measure],
        }
        _save(similar_pairs.withColumnsRenamed(names), output, outputs)
        if page is not None:
            evidence = evidence_of_similar(
                similar_pairs,
                source.shown(page),
                run.read_of_files,
                source.files,
                compared_form(plan),
            )
            title = f"Similar pairs in {named(inputs)}"
            _write_page(
                page,
                outputs.overwrite,
                title,
                evidence,
                summary,
                arguments,
                removing=False,
            )
    return _finished(similar_pairs, summary, start)


def _finished(result: DataFrame, summary: Summary, start: float) -> Summary:
    """Release a result that was written since `start`, and return the figures with this stage."""
    stages = {**summary.stages, "write": Stage(time.perf_counter() - start, 0)}
    result.unpersist()
    return replace(summary, stages=stages)


def _columns(column: ColumnNames, id_column: str | None) -> dict[str, ColumnNames]:
    """Return the columns of ids and texts in the inputs."""
    if id_column is None:
        raise ValueError(
            "id_column is needed, because rows in files of Spark have no number"
        )
    return {"id": id_column, "text": checked_columns(column)}


@contextmanager
def _opened(
    inputs: Sequence[str],
    outputs: SparkOutputs,
    columns: dict[str, ColumnNames],
    master: str | None,
    earlier: EarlierFiles | None = None,
) -> Iterator[SparkInputs]:
    """Check outputs and inputs, and read some columns of the inputs, and earlier rows."""
    paths = [*inputs, *(() if earlier is None else earlier.paths)]
    formats = {_format(path) for path in inputs}
    _check_formats(outputs, "lines" in formats)
    if outputs.page is not None:
        check_page_output(outputs.page, paths, outputs.overwrite)
    session = session_of(master)
    _check_new(session, outputs)
    with _errors_of_data(paths):
        frame, names, lines = _read(session, inputs, columns)
        check_places(session, frame, outputs.paths)
        earlier_rows = None
        if earlier is not None:
            earlier_rows = earlier.rows(session)
            check_places(session, earlier_rows.frame, outputs.paths)
        yield SparkInputs(inputs, frame, names, lines, earlier_rows)


def _read(
    session: SparkSession, paths: Sequence[str], columns: dict[str, ColumnNames]
) -> tuple[DataFrame, dict[str, Any], bool]:
    """Return the rows of files, the names of some columns there, and whether they are lines."""
    formats = {path: _format(path) for path in paths}
    paths_of_lines = [path for path in paths if formats[path] == "lines"]
    tables = [path for path in paths if formats[path] == "parquet"]
    if not paths_of_lines:
        return session.read.parquet(*paths), dict(columns), False
    frame = _lines(session, paths_of_lines, columns)
    if tables:
        rows = session.read.parquet(*tables)
        frame = frame.unionByName(_as_lines(rows, columns, frame))
    return frame, {name: name for name in columns}, True


def _check_formats(outputs: SparkOutputs, lines: bool) -> None:
    """Raise ValueError for outputs that are not written, or not of JSON Lines."""
    for path in outputs.paths:
        if not path.endswith((".parquet", ".jsonl")):
            raise ValueError(
                f"{path}: an output of Spark is a folder NAME.parquet or NAME.jsonl"
            )
    if outputs.rows is not None and lines and not outputs.rows.endswith(".jsonl"):
        raise ValueError(
            f"{outputs.rows}: rows of JSON Lines are written as JSON Lines, to a folder NAME.jsonl"
        )


def _check_new(session: SparkSession, outputs: SparkOutputs) -> None:
    """Raise FileExistsError if an output exists and is not to be replaced."""
    if outputs.overwrite:
        return
    for path in outputs.paths:
        if exists(session, path):
            raise FileExistsError(
                f"{path}: the output exists already; overwrite=True replaces it"
            )


@contextmanager
def _errors_of_data(inputs: Sequence[str]) -> Iterator[None]:
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


def _format(path: str) -> str:
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
    from pyspark.sql import functions as F

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
    from pyspark.sql import functions as F

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
    from pyspark.sql import functions as F

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


def _write(
    source: SparkInputs,
    result: DataFrame,
    outputs: SparkOutputs,
    summary: Summary,
    stored: StoredOptions,
) -> None:
    """Write the kept rows (of lines, the lines alone), and a table of the removed rows."""
    from pyspark.sql import functions as F

    frame = source.frame
    if outputs.rows is not None:
        keys = result.where("keep").select(F.col(result.columns[0]).alias("kept_key"))
        kept_rows = frame.join(
            keys, frame[source.names["id"]] == keys["kept_key"], "left_semi"
        )
        if source.lines:  # as they are
            kept_rows.select(LINE).write.mode(_mode(outputs)).text(outputs.rows)
        else:
            _save(kept_rows, outputs.rows, outputs)
    if outputs.removed is not None:
        columns: list[Any] = [
            F.col(result.columns[0]).alias("key"),
            "kept_key",
            F.col("similarity").alias(SIMILARITY_NAMES[summary.measure]),
        ]
        removed = result.where("not keep")
        same_key = F.lit(False)
        if SAME_KEY in result.columns:
            same_key = F.col(SAME_KEY)
        if "earlier" in result.columns:
            is_estimate = F.lit(summary.verify != "exact")
            if source.earlier is None:
                is_estimate = is_estimate | F.col("earlier")  # for an entry
            columns += ["earlier", (is_estimate & ~same_key).alias("estimated")]
        if SAME_KEY in result.columns:
            columns.append(SAME_KEY)
        if source.earlier is not None:
            removed = source.earlier.with_texts(removed, EARLIER_TEXT)
            columns.append(EARLIER_TEXT)
        table = removed.select(*columns)
        _save(table, outputs.removed, outputs, with_nulls=True)
        write_text(
            frame.sparkSession, f"{outputs.removed}/{OF_FOLDER}", stored.as_json()
        )


def _write_page_of_removed(
    source: SparkInputs,
    outputs: SparkOutputs,
    options: Mapping[str, Any],
    result: DataFrame,
    summary: Summary,
    error: TooManyRemovedError | None = None,
) -> None:
    """Write the page of removed rows if there is one; `error` explains the missing outputs."""
    if outputs.page is not None:
        evidence = evidence_of_removed(
            result,
            source.shown(outputs.page),
            source.files,
            compared_form(plan_of_options(options)),
        )
        title = f"Near-duplicates in {named(source.paths)}"
        refusal = refusal_of(error)
        _write_page(
            outputs.page,
            outputs.overwrite,
            title,
            evidence,
            summary,
            options,
            removing=True,
            refusal=refusal,
        )


def _write_page(
    output: PageOutput,
    overwrite: bool,
    title: str,
    evidence: Evidence,
    summary: Summary,
    options: Mapping[str, Any],
    **page_options: Any,
) -> None:
    page = page_of(
        summary,
        options,
        evidence,
        output,
        title=title,
        **page_options,
    )
    write_page(output.path, page, overwrite)


def _save(
    rows: DataFrame, path: str, outputs: SparkOutputs, with_nulls: bool = False
) -> None:
    """Write rows as a folder of Parquet or of JSON Lines, which may have members for nulls."""
    writer = rows.write.mode(_mode(outputs))
    if path.endswith(".parquet"):
        writer.parquet(path)
    else:
        writer.json(path, ignoreNullFields=not with_nulls)


def _mode(outputs: SparkOutputs) -> str:
    return "overwrite" if outputs.overwrite else "error"
