"""The command ``lshfast passages``: what it takes, and what it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from lshfast._engine.options.command import (
    QUIET,
    READING,
    Command,
    Console,
    daily_option,
    file_option,
    options_named,
    output_option,
)
from lshfast._engine.options.declaration import Option, Options
from lshfast._engine.options.declared import OPTIONS, TABLES

if TYPE_CHECKING:
    from lshfast.passages.plan import PassagePlan

PASSAGES_OPTIONS = (
    output_option(
        f"The passages, a row each: {TABLES}. With --remove: rows.", required=False
    ),
    file_option(
        "against",
        "Other texts, as INPUT; may be repeated. Find what INPUT shares with these alone.",
        list[str],
        group="input",
    ),
    Option(
        "stream_against",
        False,
        "Hold INPUT in memory, not --against: for a small INPUT.",
        bool,
    ),
    *options_named("output_format", "defuse_formulas", "column", "id_column"),
    replace(OPTIONS["against_column"], daily=True, heading=""),
    replace(
        OPTIONS["against_id_column"],
        help="Column of the ids of --against; without it a row is FILE:LINE.",
        daily=True,
        heading="",
    ),
    *READING,
    *options_named("max_columns"),
    daily_option("min_words", 50, "Words of the shortest passage, 1 to 65536.", int),
    daily_option(
        "min_chars", None, "Characters of the shortest passage, instead of words.", int
    ),
    *options_named("normalize"),
    Option(
        "most_copies",
        16,
        "If a run occurs more often, pair its copies with the first only; 0: never.",
        int,
    ),
    daily_option(
        "remove",
        None,
        "Write the rows to OUT without later copies of passages (first) or without any copy (all), "
        "or only the rows without a later copy (rows); with --against, passages of the other texts "
        "count.",
        Literal["first", "all", "rows"],
    ),
    Option(
        "more_than",
        None,
        "With --remove: only of runs that occur at more than N places (boilerplate).",
        int,
        metavar="N",
    ),
    file_option("passages", "With --remove: also write the passages to FILE."),
    file_option(
        "pairs",
        "Write pairs of texts that share passages: the share of each text, and the longest "
        "passage.",
    ),
    file_option(
        "places",
        "Write all places of each passage, a row each; not with --against.",
    ),
    file_option("report", "Write the number of rows with a passage, for each file."),
    *options_named("html", "html_texts"),
    *options_named("on_error", "threads", "overwrite"),
    QUIET,
)


def find_passages(options: Options, console: Console) -> None:
    """Find the passages that texts share.

    Writes the longest equal runs of words that occur in two rows, or twice in one, with their
    places. With --against, those that a row of INPUT shares with a row of the other files: for
    benchmarks, contamination.
    """
    from lshfast._engine.inputs import Inputs
    from lshfast.passages.job import find_in_files, outputs_of

    if options.places is not None and options.against:
        raise ValueError(
            "--places is for passages within INPUT: with --against, -o FILE has all their places"
        )
    plan = _plan_of(options)
    for name in ("against_column", "against_id_column"):
        if options[name] is not None and not options.against:
            raise ValueError(f"--{name.replace('_', '-')} needs --against")
    source = Inputs.of(options.inputs, options)
    outputs = outputs_of(
        source.table(options),
        source.table(options, "passages"),
        source.table(options, "report"),
        options.remove,
        options.overwrite,
        console.page(options),
        source.table(options, "pairs"),
        source.table(options, "places"),
    )
    other = None
    if options.against:
        other = replace(
            source,
            paths=options.against,
            column=options.against_column or options.column,
            id_column=options.against_id_column,
        )
    with console.watching(options.output, source) as watch:
        summary = find_in_files(
            source,
            other,
            outputs,
            plan,
            stream_against=options.stream_against,
            progress=watch,
        )
    console.finish(summary)


def _plan_of(options: Options) -> PassagePlan:
    from lshfast._common.checks import check_int
    from lshfast.passages.plan import MOST_LENGTH, PassageUnit, make_passage_plan

    unit: PassageUnit = "word" if options.min_chars is None else "char"
    shortest = "min_words" if unit == "word" else "min_chars"
    length = check_int(
        f"--{shortest.replace('_', '-')}", options[shortest], 1, MOST_LENGTH
    )
    if options.more_than is not None:
        if options.remove is None or options.against:
            raise ValueError("--more-than needs --remove, and is not for --against")
        if "most_copies" in options.given:
            raise ValueError("--more-than takes the place of --most-copies: give one")
    return make_passage_plan(
        length,
        unit,
        options.most_copies or None,
        options.threads,
        "all" if options.remove == "all" else "first",
        options.more_than,
        options.normalize,
    )


COMMANDS = (
    Command(
        "passages",
        find_passages,
        PASSAGES_OPTIONS,
        examples=(
            "lshfast passages essays/ --min-words 12 -o shared.csv --html shared.html",
            "lshfast passages crawl.jsonl --against test.jsonl --min-words 13 -o out.csv",
            "lshfast passages crawl.jsonl --remove first -o cleaned.jsonl",
        ),
    ),
)
