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
    from pyspark.sql import DataFrame, SparkSession


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
    """Write the kept rows (of lines, the lines alone), and a table of the removed rows."""
    frame = source.frame
    if outputs.rows is not None:
        keys = result.where("keep").select(F.col(result.columns[0]).alias("kept_key"))
        kept_rows = frame.join(
            keys, frame[source.names["id"]] == keys["kept_key"], "left_semi"
        )
        if source.lines:  # as they are
            kept_rows.select(LINE).write.mode(_mode(outputs)).text(outputs.rows)
        else:
            save_frame(kept_rows, outputs.rows, outputs)
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
        save_frame(table, outputs.removed, outputs, with_nulls=True)
        write_text(
            frame.sparkSession, f"{outputs.removed}/{OF_FOLDER}", stored.as_json()
        )


def write_page_of_removed(
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
        write_page_of_run(
            outputs.page,
            outputs.overwrite,
            title,
            evidence,
            summary,
            options,
            removing=True,
            refusal=refusal,
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
