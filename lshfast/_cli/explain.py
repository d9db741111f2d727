"""The command ``lshfast explain``: what it takes, and what it runs."""

from __future__ import annotations

from lshfast._engine.options.command import (
    INPUTS,
    LEAST_SIMILARITY,
    MEASURE_OF_TEXTS,
    QUIET,
    READING,
    Argument,
    Command,
    Console,
    daily_option,
    file_option,
    options_named,
)
from lshfast._engine.options.declaration import Options

KEY = Argument("key", "ID", "The id of a row, or FILE:LINE.", str)
READING_OPTIONS = (*options_named("column", "id_column"), *READING)
PLAN_OPTIONS = (
    LEAST_SIMILARITY,
    *options_named("unit", "size", "normalize", "exact"),
    MEASURE_OF_TEXTS,
)
EXPLAIN_OPTIONS = (
    file_option(
        "removed",
        "The table of removed rows that the run wrote (--removed).",
        group="input",
    ),
    daily_option(
        "other",
        None,
        "A row to compare with, instead of the kept one.",
        spelling="with",
        metavar="ID",
    ),
    *READING_OPTIONS,
    *PLAN_OPTIONS,
    QUIET,
)


def explain(options: Options, console: Console) -> None:
    """Say why a row was removed or kept.

    Shows its group, the kept row, what both texts share and how they differ. INPUT are the inputs
    of the run. Its options are stored with the table of removed rows; those given here replace
    them. Without --removed, two rows are compared: --with ID.
    """
    from lshfast._engine.inputs import Inputs
    from lshfast._engine.options.stored import read_options
    from lshfast._engine.pages import explain_files
    from lshfast._engine.plan import plan_of_options

    removed = options.removed
    if removed is None and options.other is None:
        raise ValueError(
            "explain needs the table of removed rows (--removed FILE), or a second row (--with ID)"
        )
    stored = None if removed is None else read_options(removed)
    of_plan = options.picked(option.name for option in PLAN_OPTIONS)
    if stored is not None:
        plan_options = {
            name: value for name, value in of_plan.items() if name in options.given
        }
        of_plan = stored.options | plan_options
    reading = [
        option.name for option in READING_OPTIONS if option.name in options.given
    ]
    source = explain_files.with_stored(
        Inputs.of(options.inputs, options), stored, reading
    )
    with console.watching(None, source) as watch:
        explanation = explain_files.explain(
            options.key,
            source,
            plan_of_options(of_plan),
            removed=None
            if removed is None
            else explain_files.look_up(removed, options.key),
            other=options.other,
            progress=watch,
        )
    console.show(repr(explanation))


COMMANDS = (
    Command(
        "explain",
        explain,
        EXPLAIN_OPTIONS,
        (KEY, INPUTS),
        examples=(
            "lshfast explain crawl.jsonl:61 crawl.jsonl --removed removed.csv",
            "lshfast explain 17 crawl.jsonl --id-column id --removed removed.csv",
            "lshfast explain 17 crawl.jsonl --removed removed.csv --with 3",
        ),
    ),
)
