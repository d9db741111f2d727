"""The commands of ``lshfast records``: they convert options to arguments and contain no other
logic.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from lshfast._cli.completion import columns
from lshfast._cli.console import Watch, finish, show, width_of
from lshfast._cli.errors import Commands, one_line_errors
from lshfast._cli.options import (
    TABLES,
    ChangesOption,
    ClustersOption,
    DefuseOption,
    DelimiterOption,
    Encoding,
    FormatOption,
    Glob,
    Html,
    HtmlTexts,
    MaxColumns,
    MaxRowBytes,
    OnErrorOption,
    OutputFormatOption,
    Overwrite,
    Quiet,
    SeedOption,
    Threads,
    page_output,
)
from lshfast._common.choices import MAX_COLUMNS, MAX_ROW_BYTES
from lshfast._common.visible import visible
from lshfast.records.choices import MAX_BLOCK, REVIEWED, Assignment, Scoring

if TYPE_CHECKING:
    from lshfast._common.choices import OutputFormat
    from lshfast._io.output import Output
    from lshfast.records import LinkOptions
    from lshfast.records.job import RecordInputs, RecordOutputs

records_app: typer.Typer = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Find records that describe the same thing.",
)

KINDS = (
    ".jsonl, .csv, .tsv (also .gz, .zst, .bz2, .xz), .parquet, .arrow, a folder, a 'pattern*' "
    "or a URL."
)
TableA = Annotated[str, typer.Argument(metavar="A", help=KINDS, show_default=False)]
TableB = Annotated[str, typer.Argument(metavar="B", help="The other table.", show_default=False)]
Links = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="OUT",
        help=f"Ids, score, probability, score of each field: {TABLES}.",
    ),
]
IdOption = Annotated[
    str | None,
    typer.Option(
        help="Column of the ids; without it a record is FILE:LINE.", autocompletion=columns
    ),
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="NAME[=OTHER][:KIND]",
        autocompletion=columns,
        help="Compare this column; OTHER is its name in B. KIND: name, text, code, number, date, "
        "category, phone or "
        "address. Then :order=dmy, mdy or ymd of dates, :region=US of phones, :latin=yes for "
        "letters of other scripts; "
        "for points also :points=N, :penalty=N, :unit=N. phone, address and latin need the extra "
        "contacts. "
        "Default: all columns that A and B have, but for row numbers.",
        show_default=False,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="NAME",
        help="Do not compare this column.",
        show_default=False,
        autocompletion=columns,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="[NAME=]VALUE",
        help="This value is missing, in one column or in all (=VALUE if it has an equals sign), "
        "besides those that are "
        "recognised by form and frequency, such as N/A, 9999999999, 1900-01-01. none: recognise "
        "no others.",
        show_default=False,
    ),
]
Block = Annotated[
    list[str] | None,
    typer.Option(
        "--block",
        metavar="RULE",
        help="Compare records that agree: key:NAME+NAME, sort:NAME:window=5, "
        "lsh:NAME:threshold=0.5. "
        "nearest, nearest:NAME: each record and the 10 with the nearest texts. all: compare all "
        "pairs, which misses "
        "none and suits up to some 5,000 records: a million pairs (1,000 x 1,000) "
        "take about 5 s and 60 MB; at most 2**27. Default: chosen by the values.",
        show_default=False,
    ),
]
MaxBlock = Annotated[
    int,
    typer.Option(help="Most pairs of a block of --block; larger blocks are left out and shown."),
]
ScoringOption = Annotated[
    Scoring,
    typer.Option(
        help="weights: likelihood ratios, estimated without labels. points: those of --field."
    ),
]
LeastScore = Annotated[
    float | None,
    typer.Option(
        help="Least probability of a link (0.5), or least points (three quarters).",
        show_default=False,
    ),
]
SynonymsFile = Annotated[
    str | None,
    typer.Option("--synonyms", metavar="FILE", help="CSV of related words, one group a line."),
]
Nicknames = Annotated[
    bool,
    typer.Option(
        "--nicknames", help="Also use the nicknames of the package nicknames (extra contacts)."
    ),
]
HeldOut = Annotated[
    str | None,
    typer.Option(
        "--hold-out",
        metavar="NAME[:KIND]",
        help="Do not compare this column; estimate true matches by it.",
    ),
]
Rates = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help=f"The rate of true matches by score, with --hold-out: {TABLES}."
    ),
]
Explain = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="ID ID",
        help="Also print why these two records were linked or not: of A and of B, or both of A.",
        show_default=False,
    ),
]
Review = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Also write the links and pairs nearest to the threshold, for lshfast label: "
        f"{TABLES}.",
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="Pairs that people marked same or different, which decides them: a file of --review "
        "with answers, or one "
        "of lshfast label. May be repeated.",
        show_default=False,
    ),
]
Merged = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Also write one list of all records, a row for each entity, with the ids and all "
        f"columns: {TABLES}.",
    ),
]
KeepRecord = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Which of several records of an entity --merged has: most-complete (default), "
        "newest:COLUMN or first.",
        show_default=False,
    ),
]
OutputDelimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What is between the cells of outputs named .csv; Excel wants ';' where the comma is "
        "the decimal sign.",
        show_default=False,
    ),
]
Bom = Annotated[
    bool,
    typer.Option(
        "--bom",
        help="Begin CSV and TSV outputs with a mark by which Excel sees that they are UTF-8.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Also print the fields, the weights, and what each blocking rule brought.",
    ),
]
ReviewPairs = Annotated[
    int, typer.Option(metavar="N", help="Most links, and most other pairs, of --review.")
]
ClustersOfNew = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The records of A are new: add them to the groups of the records of B, which this "
        "file names; .parquet.",
    ),
]
Plot = Annotated[
    str | None, typer.Option(metavar="FILE", help="The same as a plot: .png, .svg, .pdf.")
]


@records_app.command(no_args_is_help=True)
def match(
    a: TableA,
    b: TableB,
    output: Links,
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    output_delimiter: OutputDelimiter = None,
    bom: Bom = False,
    id_column: IdOption = None,
    id_column_b: Annotated[
        str | None,
        typer.Option(help="The same in B, if it has another name there.", autocompletion=columns),
    ] = None,
    field: Fields = None,
    ignore: Ignore = None,
    missing: Missing = None,
    block: Block = None,
    max_block: MaxBlock = MAX_BLOCK,
    scoring: ScoringOption = "weights",
    threshold: LeastScore = None,
    assign: Annotated[
        Assignment | None,
        typer.Option(
            help="How many links a record of A and of B may have; by default as the scores show."
        ),
    ] = None,
    synonyms: SynonymsFile = None,
    nicknames: Nicknames = False,
    hold_out: HeldOut = None,
    rates: Rates = None,
    plot: Plot = None,
    review: Review = None,
    review_pairs: ReviewPairs = REVIEWED,
    labels: Labels = None,
    merged: Merged = None,
    keep_record: KeepRecord = None,
    clusters: ClustersOfNew = None,
    changes: ChangesOption = None,
    html: Html = None,
    html_texts: HtmlTexts = True,
    explain: Explain = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    encoding_b: Annotated[
        str | None,
        typer.Option(help="The encoding of B, if it is another one.", show_default=False),
    ] = None,
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    max_columns: MaxColumns = MAX_COLUMNS,
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    seed: SeedOption = 1,
    overwrite: Overwrite = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Link the records of two tables.

    Each link has its score and the scores of its fields. The table after the run has the counts,
    other thresholds, and some doubtful pairs; with --verbose also how columns were compared, the
    weights, and the blocking rules.
    """
    with one_line_errors():
        from lshfast._engine.cluster_file import cluster_output
        from lshfast.records.job import RecordInputs, RecordOutputs

        inputs = RecordInputs(
            a,
            b,
            id_column,
            id_column_b,
            glob,
            on_error,
            encoding,
            format,
            max_row_bytes,
            delimiter,
            max_columns,
            labels=labels or [],
            encoding_b=encoding_b,
        )
        table = TableStyle(inputs, defuse_formulas, output_delimiter, bom)
        outputs = RecordOutputs(
            links=table.output(output, output_format),
            rates=table.output(rates),
            plot=plot,
            overwrite=overwrite,
            review=table.output(review, defuse=True),
            page=page_output(html, html_texts),
            reviewed=review_pairs,
            clusters=cluster_output(clusters, table.output(changes)),
            merged=table.output(merged),
            keep_record=keep_record,
        )
        options = _options(
            field,
            ignore,
            block,
            max_block,
            scoring,
            threshold,
            assign,
            (synonyms, nicknames),
            hold_out,
            seed,
            threads,
            missing,
        )
        _link(inputs, outputs, options, explain, quiet, verbose)


@records_app.command(no_args_is_help=True)
def dedup(
    a: TableA,
    output: Links,
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    output_delimiter: OutputDelimiter = None,
    bom: Bom = False,
    groups: Annotated[
        str | None,
        typer.Option(metavar="FILE", help=f"Also write the group of each record: {TABLES}."),
    ] = None,
    id_column: IdOption = None,
    field: Fields = None,
    ignore: Ignore = None,
    missing: Missing = None,
    block: Block = None,
    max_block: MaxBlock = MAX_BLOCK,
    scoring: ScoringOption = "weights",
    threshold: LeastScore = None,
    one_to_one: Annotated[
        bool, typer.Option("--one-to-one", help="A record has at most one duplicate.")
    ] = False,
    synonyms: SynonymsFile = None,
    nicknames: Nicknames = False,
    hold_out: HeldOut = None,
    rates: Rates = None,
    plot: Plot = None,
    review: Review = None,
    review_pairs: ReviewPairs = REVIEWED,
    labels: Labels = None,
    merged: Merged = None,
    keep_record: KeepRecord = None,
    clusters: ClustersOption = None,
    changes: ChangesOption = None,
    html: Html = None,
    html_texts: HtmlTexts = True,
    explain: Explain = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    max_columns: MaxColumns = MAX_COLUMNS,
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    seed: SeedOption = 1,
    overwrite: Overwrite = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Link the records of one table that are the same.

    Writes the links, as match does, and with --groups the group of each record: records that links
    connect, unless the scores of the other pairs among them contradict.
    """
    with one_line_errors():
        from lshfast._engine.cluster_file import cluster_output
        from lshfast.records.job import RecordInputs, RecordOutputs

        inputs = RecordInputs(
            a,
            None,
            id_column,
            None,
            glob,
            on_error,
            encoding,
            format,
            max_row_bytes,
            delimiter,
            max_columns,
            labels=labels or [],
        )
        table = TableStyle(inputs, defuse_formulas, output_delimiter, bom)
        outputs = RecordOutputs(
            links=table.output(output, output_format),
            groups=table.output(groups),
            rates=table.output(rates),
            plot=plot,
            overwrite=overwrite,
            review=table.output(review, defuse=True),
            page=page_output(html, html_texts),
            reviewed=review_pairs,
            clusters=cluster_output(clusters, table.output(changes)),
            merged=table.output(merged),
            keep_record=keep_record,
        )
        assign: Assignment | None = "one-to-one" if one_to_one else "many-to-many"
        options = _options(
            field,
            ignore,
            block,
            max_block,
            scoring,
            threshold,
            assign,
            (synonyms, nicknames),
            hold_out,
            seed,
            threads,
            missing,
        )
        _link(inputs, outputs, options, explain, quiet, verbose)


class TableStyle(NamedTuple):
    """The options of all tables that a command writes."""

    inputs: RecordInputs
    defuse: bool
    delimiter: str | None
    bom: bool

    def output(
        self, path: str | None, kind: OutputFormat | None = None, defuse: bool = False
    ) -> Output | None:
        """Return an output with its options, None for none."""
        from lshfast._engine.inputs import Inputs, output_of

        source = Inputs([self.inputs.a], glob=self.inputs.glob, format=self.inputs.format)
        output = output_of(path, source, kind, defuse or self.defuse)
        return None if output is None else output.styled(self.delimiter, self.bom)


def _options(
    fields: list[str] | None,
    ignore: list[str] | None,
    rules: list[str] | None,
    max_block: int,
    scoring: Scoring,
    threshold: float | None,
    assign: Assignment | None,
    synonyms: tuple[str | None, bool],
    hold_out: str | None,
    seed: Any,
    threads: int | None,
    missing: list[str] | None,
) -> LinkOptions:
    from lshfast.records import LinkOptions, parse_rule
    from lshfast.records.job import read_synonyms

    return LinkOptions(
        fields=fields or None,
        ignore=ignore or [],
        rules=[parse_rule(rule, max_block) for rule in rules] if rules else None,
        scoring=scoring,
        threshold=threshold,
        assign=assign,
        synonyms=read_synonyms(*synonyms) if any(synonyms) else None,
        held_out=hold_out,
        seed=seed,
        threads=threads,
        missing=missing or None,
    )


def _link(
    inputs: RecordInputs,
    outputs: RecordOutputs,
    options: LinkOptions,
    explain: tuple[str, str] | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Link the records of files, and print the tables of the run on standard error."""
    from lshfast.records.job import link_files

    with Watch(quiet, outputs.links) as watch:
        result, account = link_files(inputs, outputs, options, watch, explain)
    if verbose and not quiet:
        show(result.describe() + "\n", sys.stderr)
    if not quiet:
        if result.rates is not None:
            show(f"{result.rates}\n", sys.stderr)
        show(result.overview(width_of(sys.stderr)) + "\n", sys.stderr)
    finish(account, quiet, None if verbose else account.counts())
    for text in result.summary.warnings:
        show(f"warning: {visible(text)}", sys.stderr)
    if explain is not None:
        show(result.explain_pair(*explain), sys.stderr)
