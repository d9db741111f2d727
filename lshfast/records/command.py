"""The commands of ``lshfast records``: what they take, and what they run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lshfast._common.visible import visible
from lshfast._engine.options.command import (
    QUIET,
    READING,
    Argument,
    Command,
    CommandGroup,
    Console,
    options_named,
    output_option,
)
from lshfast._engine.options.declaration import Option, Options
from lshfast._engine.options.declared import OPTIONS, TABLES
from lshfast.records.choices import MAX_BLOCK, REVIEWED, Assignment, Scoring

if TYPE_CHECKING:
    from lshfast._io.output import Output
    from lshfast.records.job import RecordInputs, RecordOutputs
    from lshfast.records.options import LinkOptions

TABLE_A = Argument(
    "a",
    "A",
    ".jsonl, .csv, .tsv (also .gz, .zst, .bz2, .xz), .parquet, .arrow, a folder, a 'pattern*' or "
    "a URL.",
    str,
)
TABLE_B = Argument("b", "B", "The other table.", str)

LINKS = output_option(f"Ids, score, probability, score of each field: {TABLES}.")
ID_COLUMN = replace(
    OPTIONS["id_column"], help="Column of the ids; without it a record is FILE:LINE."
)
ID_COLUMN_B = Option(
    "id_column_b",
    None,
    "The same in B, if it has another name there.",
    names_column=True,
    daily=True,
)
GROUPS = Option(
    "groups",
    None,
    f"Also write the group of each record: {TABLES}.",
    metavar="FILE",
    daily=True,
)
ASSIGN = Option(
    "assign",
    None,
    "How many links a record of A and of B may have; by default as the scores show.",
    Assignment,
    daily=True,
)
ONE_TO_ONE = Option(
    "one_to_one", False, "A record has at most one duplicate.", bool, daily=True
)
CLUSTERS_OF_NEW = replace(
    OPTIONS["clusters"],
    help="The records of A are new: add them to the groups of the records of B, which this file "
    "names; .parquet.",
)
ENCODING_B = Option("encoding_b", None, "The encoding of B, if it is another one.")

HOW_TABLES_ARE_WRITTEN = (
    *options_named("output_format", "defuse_formulas"),
    Option(
        "output_delimiter",
        None,
        "What is between the cells of outputs named .csv; Excel wants ';' where the comma is the "
        "decimal sign.",
        metavar="CHARACTER",
    ),
    Option(
        "bom",
        False,
        "Begin CSV and TSV outputs with a mark by which Excel sees that they are UTF-8.",
        bool,
    ),
)
HOW_RECORDS_ARE_COMPARED = (
    Option(
        "field",
        None,
        "Compare this column, and only those given; OTHER is its name in B. KIND: name, text, "
        "code, number, date, "
        "category, phone or "
        "address. Then :order=dmy, mdy or ymd of dates, :region=US of phones, :latin=yes for "
        "letters of other scripts; "
        "for points also :points=N, :penalty=N, :unit=N. phone, address and latin need the extra "
        "contacts. "
        "Default: all columns that A and B have, but for row numbers.",
        list[str],
        metavar="NAME[=OTHER][:KIND]",
        names_column=True,
        daily=True,
    ),
    Option(
        "ignore",
        None,
        "Do not compare this column.",
        list[str],
        metavar="NAME",
        names_column=True,
        daily=True,
    ),
    Option(
        "missing",
        None,
        "This value is missing, in one column or in all (=VALUE if it has an equals sign), "
        "besides those that are "
        "recognised by form and frequency, such as N/A, 9999999999, 1900-01-01. none: recognise "
        "no others.",
        list[str],
        metavar="[NAME=]VALUE",
        daily=True,
    ),
    Option(
        "block",
        None,
        "Compare records that agree: key:NAME+NAME, sort:NAME:window=5, lsh:NAME:threshold=0.5. "
        "nearest, "
        "nearest:NAME: each record and the 10 with the nearest texts. all: compare all pairs, "
        "which misses none and "
        "suits up to some 5,000 records: a million pairs (1,000 x 1,000) take about 5 s and 60 "
        "MB; at most 2**27. "
        "Default: chosen by the values.",
        list[str],
        metavar="RULE",
        daily=True,
    ),
    Option(
        "max_block",
        MAX_BLOCK,
        "Most pairs of a block of --block; larger blocks are left out and shown.",
        int,
    ),
    Option(
        "scoring",
        "weights",
        "weights: likelihood ratios, estimated without labels. points: those of --field.",
        Scoring,
    ),
    Option(
        "threshold",
        None,
        "Least probability of a link (0.5), or least points (three quarters).",
        float,
        daily=True,
    ),
)
WHAT_ELSE_IS_KNOWN = (
    Option("synonyms", None, "CSV of related words, one group a line.", metavar="FILE"),
    Option(
        "nicknames",
        False,
        "Also use the nicknames of the package nicknames (extra contacts).",
        bool,
    ),
    Option(
        "hold_out",
        None,
        "Do not compare this column; estimate true matches by it.",
        metavar="NAME[:KIND]",
    ),
    Option(
        "hold_out_window",
        None,
        "Estimate by pairs that differ by at most this in the column of --hold-out, such as days.",
        float,
    ),
    Option(
        "rates",
        None,
        f"The rate of true matches by score, with --hold-out: {TABLES}.",
        metavar="FILE",
    ),
    Option("plot", None, "The same as a plot: .png, .svg, .pdf.", metavar="FILE"),
    Option(
        "review",
        None,
        f"Also write the links and pairs nearest to the threshold, for lshfast label: {TABLES}.",
        metavar="FILE",
        daily=True,
    ),
    Option(
        "review_pairs",
        REVIEWED,
        "Most links, and most other pairs, of --review.",
        int,
        metavar="N",
    ),
    Option(
        "labels",
        None,
        "Pairs that people marked same or different, which decides them: a file of --review with "
        "answers, or one of "
        "lshfast label. May be repeated.",
        list[str],
        metavar="FILE",
        daily=True,
    ),
    Option(
        "merged",
        None,
        "Also write one list of all records, a row for each entity, with the ids and all "
        f"columns: {TABLES}.",
        metavar="FILE",
        daily=True,
    ),
    Option(
        "keep_record",
        None,
        "Which of several records of an entity --merged has: most-complete (default), "
        "newest:COLUMN or first.",
        metavar="RULE",
    ),
)
WHAT_IS_SHOWN = (
    *options_named("changes", "html", "html_texts"),
    Option(
        "explain",
        None,
        "Also print why these two records were linked or not: of A and of B, or both of A.",
        tuple[str, str],
        metavar="ID ID",
        daily=True,
    ),
)
HOW_IT_RUNS = (
    *options_named("max_columns", "on_error", "threads", "seed", "overwrite"),
    Option(
        "verbose",
        False,
        "Also print the fields, the weights, and what each blocking rule brought.",
        bool,
        letter="v",
        daily=True,
    ),
    QUIET,
)
MATCH_OPTIONS = (
    LINKS,
    *HOW_TABLES_ARE_WRITTEN,
    ID_COLUMN,
    ID_COLUMN_B,
    *HOW_RECORDS_ARE_COMPARED,
    ASSIGN,
    *WHAT_ELSE_IS_KNOWN,
    CLUSTERS_OF_NEW,
    *WHAT_IS_SHOWN,
    *READING,
    ENCODING_B,
    *HOW_IT_RUNS,
)
DEDUP_OPTIONS = (
    LINKS,
    *HOW_TABLES_ARE_WRITTEN,
    GROUPS,
    ID_COLUMN,
    *HOW_RECORDS_ARE_COMPARED,
    ONE_TO_ONE,
    *WHAT_ELSE_IS_KNOWN,
    *options_named("clusters"),
    *WHAT_IS_SHOWN,
    *READING,
    *HOW_IT_RUNS,
)


def match(options: Options, console: Console) -> None:
    """Link the records of two tables.

    Each link has its score and the scores of its fields. The table after the run has the counts,
    other thresholds, and some doubtful pairs; with --verbose also how columns were compared, the
    weights, and the blocking rules.
    """
    _link(options, options.assign, console)


def dedup(options: Options, console: Console) -> None:
    """Link the records of one table that are the same.

    Writes the links, as match does, and with --groups the group of each record: records that links
    connect, unless the scores of the other pairs among them contradict.
    """
    _link(options, "one-to-one" if options.one_to_one else "many-to-many", console)


def _inputs_of(options: Options) -> RecordInputs:
    """Return the tables of either command, and the labels."""
    from lshfast._engine.inputs import Inputs
    from lshfast.records.job import RecordInputs

    tables = [Inputs.of([options.a], options)]
    if "b" in options:
        second = replace(
            tables[0],
            paths=[options.b],
            id_column=options.id_column_b or options.id_column,
            encoding=options.encoding_b or options.encoding,
        )
        tables.append(second)
    return RecordInputs(tables, options.labels or [])


def _outputs_of(
    options: Options, inputs: RecordInputs, console: Console
) -> RecordOutputs:
    """Return the outputs of either command."""
    from lshfast._engine.clusters.file import cluster_output
    from lshfast._io.output import Output
    from lshfast.records.job import RecordOutputs

    def table(name: str) -> Output | None:
        output = inputs.tables[0].table(options, name)
        if output is None:
            return None
        defuse = options.defuse_formulas or name == "review"
        delimiter = options.output_delimiter
        return Output(output, output.kind, defuse, delimiter, options.bom)

    return RecordOutputs(
        links=table("output"),
        groups=None if "b" in options else table("groups"),
        rates=table("rates"),
        plot=options.plot,
        overwrite=options.overwrite,
        review=table("review"),
        page=console.page(options),
        reviewed=options.review_pairs,
        clusters=cluster_output(options.clusters, table("changes")),
        merged=table("merged"),
        keep_record=options.keep_record,
    )


def _link_options_of(options: Options, assign: Assignment | None) -> LinkOptions:
    """Return the options of linking in Python."""
    from lshfast.records import LinkOptions, parse_rule
    from lshfast.records.job import read_synonyms

    rules = [parse_rule(rule, options.max_block) for rule in options.block or ()]
    synonyms = None
    if options.synonyms or options.nicknames:
        synonyms = read_synonyms(options.synonyms, options.nicknames)
    return LinkOptions(
        fields=options.field or None,
        ignore=options.ignore or [],
        rules=rules or None,
        assign=assign,
        synonyms=synonyms,
        held_out=options.hold_out,
        held_out_window=options.hold_out_window,
        missing=options.missing or None,
        **options.picked(("scoring", "threshold", "seed", "threads")),
    )


def _link(options: Options, assign: Assignment | None, console: Console) -> None:
    """Link the records of files, and print the tables of the run on standard error."""
    from lshfast.records.job import link_files

    inputs = _inputs_of(options)
    outputs = _outputs_of(options, inputs, console)
    how = _link_options_of(options, assign)
    with console.watching(options.output) as watch:
        result, account = link_files(inputs, outputs, how, watch, options.explain)
    if options.verbose and not options.quiet:
        console.note(result.describe() + "\n")
    if not options.quiet:
        if result.rates is not None:
            console.note(f"{result.rates}\n")
        console.note(result.overview(console.width) + "\n")
    console.finish(account, None if options.verbose else account.counts())
    for text in result.summary.warnings:
        console.note(f"warning: {visible(text)}")
    if options.explain is not None:
        console.note(result.explain_pair(*options.explain))


COMMANDS = (
    CommandGroup(
        "records",
        "Find records that describe the same thing.",
        (
            Command(
                "match",
                match,
                MATCH_OPTIONS,
                (TABLE_A, TABLE_B),
                examples=(
                    "lshfast records match ours.csv theirs.csv --id-column id -o links.csv",
                    "lshfast records match ours.csv theirs.csv -o links.csv --html links.html",
                    "lshfast records match ours.csv theirs.csv -o links.csv --merged one-list.csv",
                ),
            ),
            Command(
                "dedup",
                dedup,
                DEDUP_OPTIONS,
                (TABLE_A,),
                examples=(
                    "lshfast records dedup customers.csv --id-column id -o links.csv",
                    "lshfast records dedup customers.csv -o links.csv --groups groups.csv",
                    "lshfast records dedup customers.csv -o links.csv --merged once.csv",
                ),
            ),
        ),
    ),
)
