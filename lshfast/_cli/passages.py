"""The command `lshfast passages`: it converts options to arguments and contains no other logic."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import typer

from lshfast._cli.console import Watch, finish
from lshfast._cli.errors import memory_advice, one_line_errors
from lshfast._cli.options import (
    TABLES,
    Column,
    DefuseOption,
    DelimiterOption,
    Encoding,
    FormatOption,
    Glob,
    Html,
    HtmlTexts,
    IdColumn,
    MaxColumns,
    MaxRowBytes,
    OnErrorOption,
    OutputFormatOption,
    Overwrite,
    Paths,
    Quiet,
    Threads,
    page_output,
)
from lshfast._common.choices import MAX_COLUMNS, MAX_ROW_BYTES


def passages_command(
    inputs: Paths,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Other texts, as INPUT; may be repeated. Find what INPUT shares with these alone.",
        ),
    ] = None,
    stream_against: Annotated[
        bool,
        typer.Option(
            "--stream-against", help="Hold INPUT in memory, not --against: for a small INPUT."
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help=f"The passages, a row each: {TABLES}. With --remove: rows.",
        ),
    ] = None,
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    column: Column = "text",
    id_column: IdColumn = None,
    against_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the texts of --against, if it is not --column.", show_default=False
        ),
    ] = None,
    against_id_column: Annotated[
        str | None,
        typer.Option(help="Column of the ids of --against; without it a row is FILE:LINE."),
    ] = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    max_columns: MaxColumns = MAX_COLUMNS,
    min_words: Annotated[int, typer.Option(help="Words of the shortest passage, 1 to 65536.")] = 50,
    min_chars: Annotated[
        int | None,
        typer.Option(
            help="Characters of the shortest passage, instead of words.", show_default=False
        ),
    ] = None,
    most_copies: Annotated[
        int,
        typer.Option(
            help="If a run occurs more often, pair its copies with the first only; 0: never."
        ),
    ] = 16,
    remove: Annotated[
        Literal["first"] | None,
        typer.Option(
            help="first: write the rows to OUT, without all copies of passages but the first; "
            "with --against, "
            "without all passages.",
            show_default=False,
        ),
    ] = None,
    passages: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With --remove: also write the passages to FILE."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the number of rows with a passage, for each file."
        ),
    ] = None,
    html: Html = None,
    html_texts: HtmlTexts = True,
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find the passages that texts share.

    Writes the longest equal runs of words that occur in two rows, or twice in one, with their
    places. With --against, those that a row of INPUT shares with a row of the other files: for
    benchmarks, contamination.
    """
    with one_line_errors():
        from lshfast._common.checks import check_int
        from lshfast._engine.inputs import Inputs, output_of
        from lshfast.passages.job import find_in_files, outputs_of
        from lshfast.passages.plan import MOST_LENGTH, PassageUnit, make_passage_plan

        unit: PassageUnit = "word" if min_chars is None else "char"
        name, least = (
            ("--min-words", min_words) if min_chars is None else ("--min-chars", min_chars)
        )
        plan = make_passage_plan(
            check_int(name, least, 1, MOST_LENGTH), unit, most_copies or None, threads
        )
        for option, value in (
            ("--against-column", against_column),
            ("--against-id-column", against_id_column),
        ):
            if value is not None and not against:
                raise ValueError(f"{option} needs --against")
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
            max_columns,
        )
        outputs = outputs_of(
            output_of(output, source, output_format, defuse_formulas),
            output_of(passages, source, None, defuse_formulas),
            output_of(report, source, None, defuse_formulas),
            remove,
            overwrite,
            page_output(html, html_texts),
        )
        other = None
        if against:
            other = replace(
                source, paths=against, column=against_column or column, id_column=against_id_column
            )
        with memory_advice(source), Watch(quiet, output) as watch:
            summary = find_in_files(
                source, other, outputs, plan, stream_against=stream_against, progress=watch
            )
        finish(summary, quiet)
