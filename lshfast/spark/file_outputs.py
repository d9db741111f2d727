"""What a run over files writes on Spark: rows, the table of removed rows, pairs, and a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lshfast._common.errors import TooManyRemovedError
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.account.report import Summary
from lshfast._engine.options.stored import OF_FOLDER, StoredOptions
from lshfast._engine.pages.dedup import page_of
from lshfast._engine.pages.evidence import Evidence, compared_form
from lshfast._engine.pages.run_pages import PageOutput, named, refusal_of
from lshfast._engine.parts.removals import EARLIER_TEXT, SAME_KEY
from lshfast._engine.plan import plan_of_options
from lshfast._io.pages.page import write_page
from lshfast.spark.file_inputs import LINE, SparkInputs
from lshfast.spark.page import evidence_of_removed
from lshfast.spark.places import exists, write_text
from lshfast.spark.sql import F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


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


def check_formats(outputs: SparkOutputs, lines: bool) -> None:
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


def check_new(session: SparkSession, outputs: SparkOutputs) -> None:
    """Raise FileExistsError if an output exists and is not to be replaced."""
    if outputs.overwrite:
        return
    for path in outputs.paths:
        if exists(session, path):
            raise FileExistsError(
                f"{path}: the output exists already; overwrite=True replaces it"
            )


def write_folders(
    source: SparkInputs,
    result: DataFrame,
    outputs: SparkOutputs,
    summary: Summary,
    stored: StoredOptions,
) -> None:
    """Write the kept rows, and a table of the removed rows, unless there is no folder for them."""
    if outputs.rows is not None:
        _write_kept_rows(source, result, outputs, outputs.rows)
    if outputs.removed is not None:
        table = _table_of_removed(source, result, summary)
        save_frame(table, outputs.removed, outputs, with_nulls=True)
        session = source.frame.sparkSession
        write_text(session, f"{outputs.removed}/{OF_FOLDER}", stored.as_json())


def _write_kept_rows(
    source: SparkInputs, result: DataFrame, outputs: SparkOutputs, path: str
) -> None:
    """Write the kept rows; lines as they are."""
    kept = result.where("keep").select(_key_of(result).alias("kept_key"))
    has_kept_key = source.frame[source.names["id"]] == kept["kept_key"]
    kept_rows = source.frame.join(kept, has_kept_key, "left_semi")
    if source.lines:
        kept_rows.select(LINE).write.mode(_mode(outputs)).text(path)
    else:
        save_frame(kept_rows, path, outputs)


def _table_of_removed(
    source: SparkInputs, result: DataFrame, summary: Summary
) -> DataFrame:
    """Return the table of removed rows: what is kept in their place, and why."""
    columns: list[Any] = [
        _key_of(result).alias("key"),
        "kept_key",
        F.col("similarity").alias(SIMILARITY_NAMES[summary.measure]),
    ]
    removed = result.where("not keep")
    has_same_key = SAME_KEY in result.columns
    if "earlier" in result.columns:
        is_estimate = F.lit(summary.verify != "exact")
        if source.earlier is None:
            is_estimate = is_estimate | F.col("earlier")  # for an entry
        same_key = F.col(SAME_KEY) if has_same_key else F.lit(False)
        columns += ["earlier", (is_estimate & ~same_key).alias("estimated")]
    if has_same_key:
        columns.append(SAME_KEY)
    if source.earlier is not None:
        removed = source.earlier.with_texts(removed, EARLIER_TEXT)
        columns.append(EARLIER_TEXT)
    return removed.select(*columns)


def _key_of(result: DataFrame) -> Column:
    """Return the column of ids, whose name is that of the inputs."""
    return F.col(result.columns[0])


def write_page_of_removed(
    source: SparkInputs,
    outputs: SparkOutputs,
    options: Mapping[str, Any],
    result: DataFrame,
    summary: Summary,
    error: TooManyRemovedError | None = None,
) -> None:
    """Write the page of removed rows if there is one; `error` explains the missing outputs."""
    if outputs.page is None:
        return
    evidence = evidence_of_removed(
        result,
        source.shown(outputs.page),
        source.files,
        compared_form(plan_of_options(options)),
    )
    write_page_of_run(
        outputs.page,
        outputs.overwrite,
        f"Near-duplicates in {named(source.paths)}",
        evidence,
        summary,
        options,
        removing=True,
        refusal=refusal_of(error),
    )


def write_page_of_run(
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


def save_frame(
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
