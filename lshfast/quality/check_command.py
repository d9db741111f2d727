"""The command ``lshfast check``: what it takes, and what it runs."""

from __future__ import annotations

from lshfast._engine.options.command import (
    QUIET,
    Command,
    Console,
    daily_option,
    output_option,
)
from lshfast._engine.options.declaration import Options
from lshfast._engine.options.rules import taken_by_verb

# Pairs that --examples shows for each step of similarities.
EXAMPLES = 3

CHECK_OPTIONS = (
    output_option("Also write the figures to FILE, as JSON.", "FILE", required=False),
    *taken_by_verb("check"),
    daily_option(
        "sample",
        4000,
        "About how many rows are compared with all rows.",
        int,
        metavar="N",
    ),
    daily_option(
        "examples",
        False,
        f"Show up to {EXAMPLES} pairs for each step of similarities of .05.",
        bool,
    ),
    QUIET,
)


def check(options: Options, console: Console) -> None:
    """Measure recall on your own rows.

    Some rows are compared exactly with all rows. The table says how many pairs there are, what
    share of them dedup with these options finds, and what other recalls, thresholds and shingles
    would find and cost. For the rows that dedup has kept, it says how many near-duplicates are
    left.
    """
    from lshfast._common.checks import check_int
    from lshfast._engine.inputs import Inputs
    from lshfast._engine.plan import RECALL
    from lshfast.quality.api import PLAN_OPTIONS, check_plan
    from lshfast.quality.checks import CHECKS
    from lshfast.quality.job import check_files
    from lshfast.quality.run import CheckOptions

    source = Inputs.of(options.inputs, options)
    kind = source.kind_of_items()
    plan = check_plan(kind, options.picked(PLAN_OPTIONS))
    rows = check_int("sample", options.sample, 1, 2**31 - 1)
    for name in CHECKS[kind].without:
        if options[name]:
            raise ValueError(f"{name} is for texts and sets, not for {kind}s")
    recall = RECALL if options.recall is None else options.recall
    measured = CheckOptions(rows, recall, EXAMPLES if options.examples else 0)
    with console.watching(None, source, plan) as watch:
        result = check_files(
            source,
            options.output,
            plan,
            measured,
            page=console.page(options),
            overwrite=options.overwrite,
            progress=watch,
        )
    console.report(result)


COMMANDS = (
    Command(
        "check",
        check,
        CHECK_OPTIONS,
        examples=(
            "lshfast check crawl.jsonl",
            "lshfast check crawl.jsonl --threshold 0.7 --examples --html check.html",
            "lshfast check embeddings.parquet --column embedding --threshold 0.95",
        ),
    ),
)
