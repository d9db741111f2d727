"""The command `lshfast check`: it converts options to arguments and contains no other logic."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from lshfast._cli.console import Watch, account_table, show
from lshfast._cli.errors import memory_advice, one_line_errors
from lshfast._cli.options import (
    BandsOption,
    Column,
    DelimiterOption,
    Encoding,
    FormatOption,
    Glob,
    Html,
    HtmlTexts,
    IdColumn,
    IgnoreCommon,
    ItemMeasureOption,
    KindOption,
    MaxRowBytes,
    NumPerm,
    OnErrorOption,
    Overwrite,
    Paths,
    Quiet,
    Radius,
    RecallOrDefault,
    RowsPerBand,
    SchemeOption,
    SeedOption,
    Size,
    StopWords,
    Threads,
    ThresholdOrDefault,
    UnitOption,
    page_output,
)
from lshfast._common.choices import MAX_ROW_BYTES

# Pairs that --examples shows for each step of similarities.
EXAMPLES = 3


def check_command(
    inputs: Paths,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Also write the figures to FILE, as JSON."
        ),
    ] = None,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    kind: KindOption = None,
    threshold: ThresholdOrDefault = None,
    radius: Radius = None,
    unit: UnitOption = "word",
    size: Size = None,
    stop_words: StopWords = None,
    num_perm: NumPerm = 128,
    scheme: SchemeOption = "fast",
    recall: RecallOrDefault = None,
    bands: BandsOption = None,
    rows_per_band: RowsPerBand = None,
    measure: ItemMeasureOption = None,
    ignore_common: IgnoreCommon = None,
    sample: Annotated[
        int, typer.Option(metavar="N", help="About how many rows are compared with all rows.")
    ] = 4000,
    examples: Annotated[
        bool,
        typer.Option(
            "--examples", help=f"Show up to {EXAMPLES} pairs for each step of similarities of .05."
        ),
    ] = False,
    html: Html = None,
    html_texts: HtmlTexts = True,
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    seed: SeedOption = 1,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Measure recall on your own rows.

    Some rows are compared exactly with all rows. The table says how many pairs there are, what
    share of them dedup with these options finds, and what other recalls, thresholds and shingles
    would find and cost. For the rows that dedup has kept, it says how many near-duplicates are
    left.
    """
    with one_line_errors():
        from lshfast._common.checks import check_int
        from lshfast._engine.inputs import Inputs
        from lshfast._engine.plan import RECALL
        from lshfast._items.measures import PointPlan
        from lshfast.quality.api import check_plan
        from lshfast.quality.job import check_files, check_point_files
        from lshfast.quality.run import CheckOptions

        source = Inputs(
            inputs,
            column,
            id_column,
            glob,
            on_error,
            encoding,
            format,
            max_row_bytes,
            delimiter,
            kind=kind,
        )
        known = source.kind_of_items()
        plan = check_plan(
            known,
            dict(
                threshold=threshold,
                unit=unit,
                size=size,
                stop_words=stop_words,
                num_perm=num_perm,
                scheme=scheme,
                recall=recall,
                bands=bands,
                rows_per_band=rows_per_band,
                seed=seed,
                threads=threads,
                ignore_common=ignore_common,
                radius=radius,
                measure=measure,
            ),
        )
        rows = check_int("sample", sample, 1, 2**31 - 1)
        if isinstance(plan, PointPlan):
            if html is not None or examples:
                raise ValueError(
                    f"{'examples' if examples else 'html'} is for texts and sets, not for {known}s"
                )
            with memory_advice(source, plan), Watch(quiet) as watch:
                points = check_point_files(
                    source, output, plan, rows, overwrite=overwrite, progress=watch
                )
            if not quiet:
                show(account_table(points), sys.stdout)
            return
        plan = replace(plan, sets=known == "set")
        options = CheckOptions(
            rows, RECALL if recall is None else recall, EXAMPLES if examples else 0
        )
        with memory_advice(source, plan), Watch(quiet) as watch:
            result = check_files(
                source,
                output,
                plan,
                options,
                page=page_output(html, html_texts),
                overwrite=overwrite,
                progress=watch,
            )
        if not quiet:
            show(account_table(result), sys.stdout)
