"""The command of ``lshfast fingerprints``: what it takes, and what it runs."""

from __future__ import annotations

from lshfast._engine.options.command import (
    QUIET,
    Argument,
    Command,
    CommandGroup,
    Console,
    daily_option,
    file_option,
    options_named,
    output_option,
)
from lshfast._engine.options.declaration import Options
from lshfast._engine.options.declared import TABLES

MINUTIAE = Argument(
    "minutiae",
    "MINUTIAE",
    "The columns id, x and y: .csv, .tsv (also .gz, .zst, .bz2, .xz), folders, 'patterns*'.",
)
MATCH_OPTIONS = (
    output_option(f"id, match, common, similarity: {TABLES}."),
    daily_option(
        "square",
        None,
        "Side of a square of the grid, in the unit of x and y.",
        float,
        required=True,
    ),
    *options_named("output_format", "defuse_formulas"),
    daily_option("grid_columns", 20, "Squares side by side.", int),
    daily_option("grid_rows", 20, "Squares on top of each other.", int),
    daily_option(
        "normalize",
        False,
        "Move, turn and scale prints by their minutiae: to the middle of the grid, a fourth of it "
        "in size.",
        bool,
    ),
    file_option(
        "against",
        "Match with the prints of this file, not with each other.",
        group="input",
    ),
    daily_option(
        "squares", 3, "Squares of a function; it says yes if both prints have all.", int
    ),
    daily_option(
        "functions", 1024, "Functions of a group, of which one must say yes.", int
    ),
    daily_option("groups", 2, "Groups, of which each must say yes.", int),
    daily_option(
        "minutia",
        0.2,
        "Share of squares with a minutia, for the expected rates.",
        float,
    ),
    daily_option(
        "match", 0.8, "Share of them in another print of the finger, as well.", float
    ),
    *options_named("encoding", "delimiter", "seed", "on_error", "overwrite"),
    QUIET,
)


def match_prints(options: Options, console: Console) -> None:
    """Find the prints of the same finger.

    Prints match if they have equal minutiae in the squares of some function of each group.
    """
    from lshfast._engine.inputs import Inputs
    from lshfast.families.grid import GridSquares
    from lshfast.fingerprints import FingerprintGrid, FingerprintMatcher
    from lshfast.fingerprints.job import match_fingerprints

    grid = FingerprintGrid(options.square, options.grid_columns, options.grid_rows)
    squares = GridSquares(
        grid.size, options.squares, options.minutia, options.match, options.seed
    )
    matcher = FingerprintMatcher(squares, options.functions, options.groups)
    source = Inputs.of(options.minutiae, options)
    with console.watching(options.output, source) as watch:
        summary = match_fingerprints(
            source,
            source.table(options),
            grid,
            matcher,
            against=options.against,
            normalize=options.normalize,
            overwrite=options.overwrite,
            progress=watch,
        )
    console.finish(summary)


COMMANDS = (
    CommandGroup(
        "fingerprints",
        "Match fingerprints, given as minutiae.",
        (
            Command(
                "match",
                match_prints,
                MATCH_OPTIONS,
                (MINUTIAE,),
                examples=(
                    "lshfast fingerprints match prints.csv --square 25 -o pairs.csv",
                    "lshfast fingerprints match new.csv --against all.csv --square 25 -o p.csv",
                    "lshfast fingerprints match prints.csv --square 25 --normalize -o p.csv",
                ),
            ),
        ),
    ),
)
