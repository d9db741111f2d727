"""Options that several commands share."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lshfast._cli.completion import columns
from lshfast._common.choices import (
    Format,
    Grouping,
    ItemMeasure,
    Kind,
    OnDuplicate,
    OnError,
    OutputFormat,
    PairMeasure,
    Scheme,
    Unit,
    Verify,
)
from lshfast._common.visible import without_secrets
from lshfast._engine.declaration import Option, Options
from lshfast._engine.options import OPTIONS, parse_seed
from lshfast._engine.options import TABLES as TABLES

if TYPE_CHECKING:
    from lshfast._engine.pages import PageOutput

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        help=".jsonl, .csv, .tsv, .txt (also .gz, .zst, .bz2, .xz), .parquet, .arrow, .feather, "
        "folders, 'patterns*', "
        "URLs, - (stdin).",
        show_default=False,
    ),
]


def help_of(name: str) -> str:
    """Return the help of an option of a deduplication."""
    return OPTIONS[name].help


Column = Annotated[str, typer.Option(help=help_of("column"), autocompletion=columns)]
IdColumn = Annotated[str | None, typer.Option(help=help_of("id_column"), autocompletion=columns)]
Glob = Annotated[str | None, typer.Option(help=help_of("glob"), show_default=False)]
Encoding = Annotated[str, typer.Option(help=help_of("encoding"))]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help=help_of("format"), show_default=False)
]
DelimiterOption = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="CHARACTER", help=help_of("delimiter"), show_default=False),
]
MaxRowBytes = Annotated[int, typer.Option(help=help_of("max_row_bytes"))]
MaxColumns = Annotated[int, typer.Option(help=help_of("max_columns"))]
Threshold = Annotated[float, typer.Option(help="Least similarity, in (0, 1].")]
ThresholdOrDefault = Annotated[
    float | None, typer.Option(help=help_of("threshold"), show_default=False)
]
KindOption = Annotated[Kind | None, typer.Option("--as", help=help_of("kind"), show_default=False)]
Radius = Annotated[float | None, typer.Option(help=help_of("radius"), show_default=False)]
UnitOption = Annotated[Unit, typer.Option(help=help_of("unit"))]
Size = Annotated[int | None, typer.Option(help=help_of("size"), show_default=False)]
StopWords = Annotated[
    str | None, typer.Option(metavar="LANGUAGE", help=help_of("stop_words"), show_default=False)
]
NumPerm = Annotated[int, typer.Option(help=help_of("num_perm"))]
SchemeOption = Annotated[Scheme, typer.Option(help=help_of("scheme"))]
Recall = Annotated[
    float, typer.Option(help="Probability that a pair at the threshold is found, in (0, 1).")
]
RecallOrDefault = Annotated[float | None, typer.Option(help=help_of("recall"), show_default=False)]
BandsOption = Annotated[int | None, typer.Option(help=help_of("bands"))]
RowsPerBand = Annotated[int | None, typer.Option(help=help_of("rows_per_band"))]
VerifyOption = Annotated[Verify, typer.Option(help=help_of("verify"))]
ExactOption = Annotated[bool | None, typer.Option("--exact/--no-exact", help=help_of("exact"))]
MeasureOption = Annotated[
    PairMeasure,
    typer.Option(
        help="jaccard; or containment: how much of the shorter text the longer one contains."
    ),
]
TextMeasureOption = Annotated[
    PairMeasure | None, typer.Option(help=help_of("measure"), show_default=False)
]
ItemMeasureOption = Annotated[
    ItemMeasure | None, typer.Option(help=help_of("measure"), show_default=False)
]
IgnoreCommon = Annotated[float | None, typer.Option(metavar="SHARE", help=help_of("ignore_common"))]
MaxCandidates = Annotated[int | None, typer.Option(metavar="N", help=help_of("max_candidates"))]
Top = Annotated[int | None, typer.Option(metavar="N", help=help_of("top"))]
Most = Annotated[float | None, typer.Option(metavar="SIMILARITY", help=help_of("most"))]
By = Annotated[
    str | None, typer.Option(metavar="COLUMN", help=help_of("by"), autocompletion=columns)
]
MaxRemoved = Annotated[float | None, typer.Option(metavar="SHARE", help=help_of("max_removed"))]
GroupsOption = Annotated[Grouping, typer.Option(help=help_of("groups"))]
KeepOption = Annotated[str, typer.Option(metavar="RULE", help=help_of("keep"))]
AnnotateOption = Annotated[bool, typer.Option("--annotate", help=help_of("annotate"))]
OnErrorOption = Annotated[OnError, typer.Option(help=help_of("on_error"))]
OutputFormatOption = Annotated[
    OutputFormat | None,
    typer.Option("--output-format", help=help_of("output_format"), show_default=False),
]
DefuseOption = Annotated[bool, typer.Option("--defuse-formulas", help=help_of("defuse_formulas"))]
Threads = Annotated[int | None, typer.Option(help=help_of("threads"), show_default=False)]
SeedOption = Annotated[
    Any, typer.Option(parser=parse_seed, metavar="N|random", help=help_of("seed"))
]
Html = Annotated[str | None, typer.Option(metavar="FILE", help=help_of("html"))]
HtmlTexts = Annotated[
    bool, typer.Option("--html-texts/--html-no-texts", help=help_of("html_texts"))
]
HtmlColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help=help_of("html_column"), autocompletion=columns)
]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help=help_of("memory"), show_default=False)
]
Work = Annotated[str | None, typer.Option(metavar="DIR", help=help_of("work"))]
Resume = Annotated[bool, typer.Option("--resume", help=help_of("resume"))]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The Spark cluster, such as local[4]; with --engine spark."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help=help_of("overwrite"))]
OnDuplicateOption = Annotated[OnDuplicate, typer.Option(help=help_of("on_duplicate"))]
ClustersOption = Annotated[str | None, typer.Option(metavar="FILE", help=help_of("clusters"))]
ChangesOption = Annotated[str | None, typer.Option(metavar="FILE", help=help_of("changes"))]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no progress and no closing table.")
]


def given(context: typer.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given on the command line; the others have their defaults."""
    sources = {name: context.get_parameter_source(name) for name in options}
    return {
        name: options[name]
        for name, source in sources.items()
        if source and source.name == "COMMANDLINE"
    }


QUIET = Option(
    "quiet", False, "Print no progress and no closing table.", bool, letter="q", daily=True
)


def page_of(options: Options) -> PageOutput | None:
    """Return the page that is wanted, with the command that repeats this run."""
    return page_output(options.html, options.html_texts, options.html_column)


def page_output(path: str | None, texts: bool, column: str | None = None) -> PageOutput | None:
    """Return the page that is wanted, with the command that repeats this run."""
    if path is None:
        return None
    from lshfast._engine.pages import PageOutput

    return PageOutput(path, texts, command_line(sys.argv), column)


def command_line(arguments: list[str]) -> str:
    """Return the arguments of this process as a command for a shell, without the secrets of
    URLs.
    """
    return shlex.join(["lshfast", *map(without_secrets, arguments[1:])])
