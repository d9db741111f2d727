"""The command ``lshfast explain``: it converts options to arguments and contains no other logic."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from lshfast._cli.console import Watch, show
from lshfast._cli.errors import memory_advice, one_line_errors
from lshfast._cli.options import (
    Column,
    DelimiterOption,
    Encoding,
    ExactOption,
    FormatOption,
    Glob,
    IdColumn,
    MaxRowBytes,
    MeasureOption,
    Paths,
    Quiet,
    Size,
    Threshold,
    UnitOption,
    given,
)
from lshfast._common.choices import MAX_ROW_BYTES


def explain_command(
    context: typer.Context,
    key: Annotated[
        str, typer.Argument(metavar="ID", help="The id of a row, or FILE:LINE.", show_default=False)
    ],
    inputs: Paths,
    removed: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The table of removed rows that the run wrote (--removed)."
        ),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option(
            "--with", metavar="ID", help="A row to compare with, instead of the kept one."
        ),
    ] = None,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    threshold: Threshold = 0.8,
    unit: UnitOption = "word",
    size: Size = None,
    exact: ExactOption = None,
    measure: MeasureOption = "jaccard",
    quiet: Quiet = False,
) -> None:
    """Say why a row was removed or kept.

    Shows its group, the kept row, what both texts share and how they differ. INPUT are the inputs
    of the run. Its options are stored with the table of removed rows; those given here replace
    them. Without --removed, two rows are compared: --with ID.
    """
    with one_line_errors():
        from lshfast._engine.explain_files import explain, look_up, with_stored
        from lshfast._engine.inputs import Inputs
        from lshfast._engine.plans import plan_of_options
        from lshfast._engine.stored_options import read_options

        if removed is None and other is None:
            raise ValueError(
                "explain needs the table of removed rows (--removed FILE), or a second row "
                "(--with ID)"
            )
        stored = None if removed is None else read_options(removed)
        options: dict[str, Any] = dict(
            threshold=threshold, unit=unit, size=size, exact=exact, measure=measure
        )
        if stored is not None:
            options = stored.options | given(context, options)
        reading: dict[str, Any] = dict(
            column=column,
            id_column=id_column,
            glob=glob,
            encoding=encoding,
            format=format,
            max_row_bytes=max_row_bytes,
            delimiter=delimiter,
        )
        source = with_stored(Inputs(inputs, **reading), stored, list(given(context, reading)))
        with memory_advice(source), Watch(quiet, None) as watch:
            found = explain(
                key,
                source,
                plan_of_options(options),
                removed=None if removed is None else look_up(removed, key),
                other=other,
                progress=watch,
            )
        show(repr(found), sys.stdout)
