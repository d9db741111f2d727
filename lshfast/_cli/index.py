"""The commands of ``lshfast index``: what they take, and what they run."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from lshfast._cli.console import (
    MatchPrinter,
    account_table,
    index_table,
    reject_line,
    say,
    warnings_as_lines,
)
from lshfast._common.display import counted
from lshfast._common.visible import printable
from lshfast._engine.options.command import (
    INPUTS,
    QUIET,
    READING,
    Argument,
    Command,
    CommandGroup,
    Console,
    daily_option,
    options_named,
    output_option,
)
from lshfast._engine.options.declaration import Option, Options
from lshfast._engine.options.declared import OPTIONS, TABLES
from lshfast._engine.options.rules import NAMES_OF_PLAN

if TYPE_CHECKING:
    from lshfast._engine.indexes.searches import NearQuery
    from lshfast._engine.inputs import Inputs
    from lshfast._io import Output

INDEX = Argument(
    "index", "FILE.lsh", "The index: a file, a folder of shards, or a URL.", str
)
KEYS = Argument("key", "KEY", "Keys to remove.", required=False)
QUERY_INPUTS = replace(INPUTS, help="As for dedup.", required=False)

KIND_OF_INDEX = replace(
    OPTIONS["kind"], help="What the items are; default: as the index.", metavar=""
)
COLUMNS = options_named("column", "id_column")
BUILD_OPTIONS = (
    output_option("The index to write; with --shards a folder.", "FILE.lsh"),
    *COLUMNS,
    *READING,
    *options_named("kind", "threshold", "radius"),
    daily_option(
        "k",
        None,
        "Vectors, instead of --threshold or --radius: a bound within which 95 % of the rows have "
        "N others, for index query -k N.",
        int,
        metavar="N",
    ),
    daily_option(
        "shards",
        None,
        "Texts and sets: write a folder of N files that are used as one index.",
        int,
        metavar="N",
    ),
    *options_named(
        "measure",
        "unit",
        "size",
        "stop_words",
        "normalize",
        "num_perm",
        "scheme",
        "recall",
        "bands",
        "rows_per_band",
        "on_error",
        "on_duplicate",
        "threads",
        "seed",
        "overwrite",
    ),
    QUIET,
)
ADD_OPTIONS = (
    *COLUMNS,
    *READING,
    KIND_OF_INDEX,
    *options_named("on_error", "on_duplicate", "threads"),
    replace(OPTIONS["overwrite"], help="Replace FILE.lsh.rejects.jsonl."),
    QUIET,
)
REMOVE_OPTIONS = (
    daily_option(
        "keys_file",
        None,
        "Keys, one per line; - is standard input.",
        spelling="keys",
        metavar="FILE",
    ),
    daily_option(
        "on_missing",
        "error",
        "On a key that is not in the index.",
        Literal["error", "skip"],
    ),
    QUIET,
)
# The options that say which entries are near.
QUERY_NAMES = ("k", "threshold", "radius", "measure", "most", "least", "threads")
QUERY_OPTIONS = (
    daily_option(
        "text",
        None,
        "One text, instead of INPUT; or a set, vector or code, as a cell of CSV has it.",
    ),
    daily_option(
        "k",
        None,
        "Only the N most similar entries of each row. Vectors beyond the index's bound may be "
        "missed.",
        int,
        metavar="N",
    ),
    replace(
        OPTIONS["threshold"],
        help="Least similarity, 0 to 1. Default: that of the index; none with -k.",
    ),
    replace(
        OPTIONS["radius"],
        help="Greatest distance. Default: that of the index; none with -k.",
        daily=True,
    ),
    replace(
        OPTIONS["most"], help="Greatest similarity: close, but no copies.", daily=True
    ),
    Option(
        "least",
        None,
        "Least distance, of an index by distances: close, but no copies.",
        float,
        metavar="DISTANCE",
    ),
    replace(
        OPTIONS["measure"],
        help="Of an index by cosine: angle. Default: that of the index.",
        metavar="MEASURE",
    ),
    output_option(f"key, match, similarity or distance: {TABLES}.", required=False),
    *options_named("output_format", "defuse_formulas"),
    *COLUMNS,
    *READING,
    KIND_OF_INDEX,
    *options_named("on_error", "threads", "overwrite"),
    QUIET,
)


def build(options: Options, console: Console) -> None:
    """Make an index of all rows.

    An entry is the signature of a text or set, weighted or not, or a vector or code, under the
    row's id, or under FILE:LINE without --id-column.
    """
    from lshfast._engine.indexes.files import build_index, plan_of_build
    from lshfast._engine.inputs import Inputs

    source = Inputs.of(options.inputs, options)
    plan = plan_of_build(source, options.picked(NAMES_OF_PLAN), options.k)
    with console.watching(None, source, plan) as watch:
        summary = build_index(
            source,
            options.output,
            plan,
            progress=watch,
            **options.picked(("k", "shards", "on_duplicate", "overwrite")),
        )
    console.finish(summary)


def add(options: Options, console: Console) -> None:
    """Add all rows to an index.

    The index determines what they are: texts and their shingles, sets, vectors or codes.
    """
    from lshfast._engine.indexes.files import add_to_index
    from lshfast._engine.inputs import Inputs

    source = Inputs.of(options.inputs, options)
    with console.watching(None, source) as watch:
        summary = add_to_index(
            options.index,
            source,
            progress=watch,
            **options.picked(("on_duplicate", "overwrite", "threads")),
        )
    console.finish(summary)


def remove(options: Options, _: Console) -> None:
    """Remove entries from an index."""
    if not options.key and options.keys_file is None:
        raise ValueError("keys are needed: KEY... or --keys FILE")
    from lshfast._engine.indexes.files import key_lines, remove_keys

    in_file = key_lines(options.keys_file) if options.keys_file else []
    removed, remaining = remove_keys(
        options.index, [*options.key, *in_file], options.on_missing
    )
    if not options.quiet:
        print(f"{removed:,} removed, {remaining:,} left", file=sys.stderr)


def query(options: Options, console: Console) -> None:
    """Print the entries similar to each row.

    Columns, separated by tabs: the row's key (not with --text), the entry's key, and the
    similarity, which is estimated for texts and sets, or the distance.
    """
    from lshfast._engine.indexes.searches import NearQuery
    from lshfast._engine.inputs import Inputs

    near_query = NearQuery(**options.picked(QUERY_NAMES))
    if bool(options.inputs) == (options.text is not None):
        raise ValueError("either INPUT... or --text is needed")
    source = Inputs.of(options.inputs, options)
    table = source.table(options)
    if options.text is None:
        _query_rows(options, console, source, near_query, table)
    else:
        _query_text(options, near_query, table)


def _query_text(options: Options, near_query: NearQuery, table: Output | None) -> None:
    """Print the entries similar to one text."""
    from lshfast._engine.indexes.queries import query_one

    with warnings_as_lines(options.quiet):
        keys, values, name = query_one(
            options.index,
            options.text,
            near_query,
            kind=options.kind,
            output=table,
            overwrite=options.overwrite,
        )
    if table is None:
        printer = MatchPrinter()
        printer(keys, values, name=name)
        printer.close()
    if not keys and not options.quiet:
        _say_no_match(options, "the text")


def _query_rows(
    options: Options,
    console: Console,
    source: Inputs,
    near_query: NearQuery,
    table: Output | None,
) -> None:
    """Print the entries similar to each row, and the account of the run."""
    from lshfast._engine.indexes.queries import query_files

    printer = MatchPrinter()
    with (
        warnings_as_lines(options.quiet),
        console.watching(options.output, source) as watch,
    ):
        summary = query_files(
            options.index,
            source,
            lambda matches: printer(*matches[:3], name=matches.name),
            near_query,
            output=table,
            overwrite=options.overwrite,
            progress=watch,
        )
    printer.close()
    for fault in summary.faults if table is None else ():
        say(reject_line(fault), sys.stderr)
    if not options.quiet:
        console.note(account_table(summary))
        if not summary.matches:
            _say_no_match(options, "a row of INPUT")


def _say_no_match(options: Options, sought: str) -> None:
    path = printable(options.index)
    say(
        f"lshfast: no match: no entry of {path} is similar enough to {sought}",
        sys.stderr,
    )


def info(options: Options, console: Console) -> None:
    """Show the settings and the size of an index.

    For texts and sets, a histogram shows how many entries the buckets hold.
    """
    from lshfast._engine.indexes.files import opened_any

    with opened_any(options.index) as opened:
        console.show(index_table(options.index, opened, opened.key_kind))


def verify(options: Options, _: Console) -> None:
    """Check an index for damage.

    Checks all checksums, and that tables and entries match. Exit status 1 if the index is damaged.
    """
    from lshfast._engine.indexes.files import verify_index

    entries, nbytes = verify_index(options.index)
    path = printable(options.index)
    say(
        f"{path}: sound, {counted(entries, 'entry', 'entries')}, {nbytes:,} bytes",
        sys.stdout,
    )


def compact(options: Options, console: Console) -> None:
    """Rewrite an index without deleted entries."""
    from lshfast._engine.indexes.files import compact_index

    with console.watching() as watch:
        before, after = compact_index(options.index, watch)
    if not options.quiet:
        path = printable(options.index)
        say(f"{path}: {before:,} bytes before, {after:,} after", sys.stderr)


COMMANDS = (
    CommandGroup(
        "index",
        "Index rows, and look up others.",
        (
            Command(
                "build",
                build,
                BUILD_OPTIONS,
                examples=(
                    "lshfast index build january.jsonl --id-column id -o seen.lsh",
                    "lshfast index build vectors.npy --threshold 0.9 -o near.lsh",
                    "lshfast index build crawl.jsonl --shards 8 -o seen",
                ),
            ),
            Command("add", add, ADD_OPTIONS, (INDEX, INPUTS)),
            Command("remove", remove, REMOVE_OPTIONS, (INDEX, KEYS)),
            Command(
                "query",
                query,
                QUERY_OPTIONS,
                (INDEX, QUERY_INPUTS),
                examples=(
                    "lshfast index query seen.lsh february.jsonl -o matches.csv",
                    'lshfast index query seen.lsh --text "the cat sat on the mat" -k 5',
                    "lshfast index query near.lsh queries.npy -k 10 -o nearest.csv",
                ),
            ),
            Command("info", info, (), (INDEX,)),
            Command("verify", verify, (), (INDEX,)),
            Command("compact", compact, (QUIET,), (INDEX,)),
        ),
    ),
)
