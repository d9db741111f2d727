"""The command of ``lshfast fingerprints``: it converts options to arguments and contains no other
logic.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lshfast._cli.console import Watch, finish
from lshfast._cli.errors import Commands, memory_advice, one_line_errors
from lshfast._cli.options import (
    TABLES,
    DefuseOption,
    DelimiterOption,
    Encoding,
    OnErrorOption,
    OutputFormatOption,
    Overwrite,
    Quiet,
    SeedOption,
)

fingerprints_app: typer.Typer = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Match fingerprints, given as minutiae.",
)


@fingerprints_app.command(name="match", no_args_is_help=True)
def match_prints(
    minutiae: Annotated[
        list[str],
        typer.Argument(
            metavar="MINUTIAE",
            help="The columns id, x and y: .csv, .tsv (also .gz, .zst, .bz2, .xz), folders, "
            "'patterns*'.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="OUT", help=f"id, match, common, similarity: {TABLES}."
        ),
    ],
    square: Annotated[
        float, typer.Option(help="Side of a square of the grid, in the unit of x and y.")
    ],
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    grid_columns: Annotated[int, typer.Option(help="Squares side by side.")] = 20,
    grid_rows: Annotated[int, typer.Option(help="Squares on top of each other.")] = 20,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Match with the prints of this file, not with each other."
        ),
    ] = None,
    squares: Annotated[
        int, typer.Option(help="Squares of a function; it says yes if both prints have all.")
    ] = 3,
    functions: Annotated[
        int, typer.Option(help="Functions of a group, of which one must say yes.")
    ] = 1024,
    groups: Annotated[int, typer.Option(help="Groups, of which each must say yes.")] = 2,
    minutia: Annotated[
        float, typer.Option(help="Share of squares with a minutia, for the expected rates.")
    ] = 0.2,
    match: Annotated[
        float, typer.Option(help="Share of them in another print of the finger, as well.")
    ] = 0.8,
    encoding: Encoding = "utf-8",
    delimiter: DelimiterOption = None,
    seed: SeedOption = 1,
    on_error: OnErrorOption = "stop",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find the prints of the same finger.

    Prints match if they have equal minutiae in the squares of some function of each group.
    """
    with one_line_errors():
        from lshfast._engine.inputs import Inputs, output_of
        from lshfast.families.grid import GridSquares
        from lshfast.fingerprints import FingerprintGrid, FingerprintMatcher
        from lshfast.fingerprints.job import match_fingerprints

        grid = FingerprintGrid(square, grid_columns, grid_rows)
        matcher = FingerprintMatcher(
            GridSquares(grid.size, squares, minutia, match, seed), functions, groups
        )
        source = Inputs(minutiae, on_error=on_error, encoding=encoding, delimiter=delimiter)
        with memory_advice(source), Watch(quiet, output) as watch:
            summary = match_fingerprints(
                source,
                output_of(output, source, output_format, defuse_formulas),
                grid,
                matcher,
                against=against,
                overwrite=overwrite,
                progress=watch,
            )
        finish(summary, quiet)
