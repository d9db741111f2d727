"""The job over files on a cluster: Parquet and JSON Lines in, folders of these formats out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lshfast._common.column_paths import ColumnNames, checked_columns
from lshfast._common.extras import optional
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.account.report import Summary
from lshfast._engine.clock import Stage
from lshfast._engine.indexes.run_indexes import (
    COLUMNS_OF_EARLIER_FILES,
    Against,
    check_one_index,
    refuse_index_with_texts,
)
from lshfast._engine.inputs import Inputs
from lshfast._engine.options.stored import StoredOptions
from lshfast._engine.pages.evidence import compared_form
from lshfast._engine.pages.run_pages import PageOutput, check_page_output, named
from lshfast.index.index_file import is_index
from lshfast.spark.api import (
    OPTIONS,
    OPTIONS_OF_PAIRS,
    RowChoice,
    dedup_frame,
    entries_of,
    kind_of_column,
    plan_of,
    run_of,
    source_of,
)
from lshfast.spark.by_value import Guard
from lshfast.spark.exact_keys import KEY, NamedKeys
from lshfast.spark.file_inputs import (
    EarlierFiles,
    SparkInputs,
    errors_of_data,
    format_of,
    read_frame,
)
from lshfast.spark.file_outputs import (
    SparkOutputs,
    check_formats,
    check_new,
    save_frame,
    write_folders,
    write_page_of_removed,
    write_page_of_run,
)
from lshfast.spark.page import evidence_of_similar
from lshfast.spark.places import check_places
from lshfast.spark.session import session_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The options of a run that name earlier files and their columns.
OPTIONS_OF_EARLIER = "against", *COLUMNS_OF_EARLIER_FILES.values()


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
            partial(write_page_of_removed, source, outputs, stored.options)
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
        write_folders(source, result, outputs, summary, stored)
        write_page_of_removed(source, outputs, stored.options, result, summary)
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
        save_frame(similar_pairs.withColumnsRenamed(names), output, outputs)
        if page is not None:
            evidence = evidence_of_similar(
                similar_pairs,
                source.shown(page),
                run.read_of_files,
                source.files,
                compared_form(plan),
            )
            title = f"Similar pairs in {named(inputs)}"
            write_page_of_run(
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
    formats = {format_of(path) for path in inputs}
    check_formats(outputs, "lines" in formats)
    if outputs.page is not None:
        check_page_output(outputs.page, paths, outputs.overwrite)
    session = session_of(master)
    check_new(session, outputs)
    with errors_of_data(paths):
        frame, names, lines = read_frame(session, inputs, columns)
        check_places(session, frame, outputs.paths)
        earlier_rows = None
        if earlier is not None:
            earlier_rows = earlier.rows(session)
            check_places(session, earlier_rows.frame, outputs.paths)
        yield SparkInputs(inputs, frame, names, lines, earlier_rows)
