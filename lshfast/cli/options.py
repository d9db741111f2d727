"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lshfast.common.stop_words import LANGUAGES
from lshfast.index.stores.values import OnDuplicate
from lshfast.join.jaccard import PairMeasure
from lshfast.pipeline.plan import Verify
from lshfast.readers import OutputFormat
from lshfast.readers.files import Format, OnError
from lshfast.shingling import Unit
from lshfast.sketch.minhash import Scheme

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        help=".jsonl, .csv, .tsv, .txt (also .gz, .zst, .bz2, .xz), .parquet, .arrow, .feather, folders, 'patterns*', "
        "URLs, - (stdin).",
        show_default=False,
    ),
]
TABLES = ".csv, .tsv, .jsonl (also .gz, .zst, .bz2, .xz), .parquet, - (stdout)"
Column = Annotated[str, typer.Option(help="Column of the texts; a.b is b inside a.")]
IdColumn = Annotated[str | None, typer.Option(help="Column of the ids; without it a row is FILE:LINE.")]
Glob = Annotated[
    str | None,
    typer.Option(help="Files of a folder to read; by default data files, or else .txt.", show_default=False),
]
Encoding = Annotated[str, typer.Option(help="Encoding of JSONL, CSV, TSV and texts, any that Python knows.")]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format", help="What the inputs are, whatever their names say; lines: one text a line.", show_default=False
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="What separates the cells of CSV and TSV, or tab; by default detected in each file.",
        show_default=False,
    ),
]
MaxRowBytes = Annotated[int, typer.Option(help="Most bytes of a row of JSONL, CSV or TSV, or of a text.")]
MaxColumns = Annotated[int, typer.Option(help="Most columns of a CSV, TSV or Parquet output of rows of JSONL.")]
Threshold = Annotated[float, typer.Option(help="Least similarity, in (0, 1].")]
UnitOption = Annotated[Unit, typer.Option(help="What shingles are made of.")]
Size = Annotated[
    int | None,
    typer.Option(help="Words or characters per shingle, 1 to 256; 5, or 3 for stopword.", show_default=False),
]
LanguageOption = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="LANGUAGE",
        help=f"Stop words of --unit stopword: {', '.join(LANGUAGES)}. Default: english.",
        show_default=False,
    ),
]
NumPerm = Annotated[int, typer.Option(help="Slots per signature, 1 to 65536.")]
SchemeOption = Annotated[Scheme, typer.Option(help="MinHash scheme.")]
Recall = Annotated[float, typer.Option(help="Probability that a pair at the threshold is found, in (0, 1).")]
BandsOption = Annotated[int | None, typer.Option(help="Bands, instead of --recall; with --rows.")]
RowsOption = Annotated[int | None, typer.Option(help="Rows per band; with --bands.")]
VerifyOption = Annotated[Verify, typer.Option(help="How candidates are verified.")]
ExactOption = Annotated[
    bool | None,
    typer.Option(
        "--exact/--no-exact",
        help="Find every similar pair, by an exact join instead of bands. The default with --measure containment.",
    ),
]
MeasureOption = Annotated[
    PairMeasure, typer.Option(help="jaccard; or containment: how much of the shorter text the longer one contains.")
]
OnErrorOption = Annotated[
    OnError,
    typer.Option(help="On a bad row: stop, or skip it and write it to OUT.rejects.jsonl; with -o -, to stderr."),
]
OutputFormatOption = Annotated[
    OutputFormat | None,
    typer.Option("--output-format", help="What OUT is, whatever its name says; for -, as INPUT.", show_default=False),
]
DefuseOption = Annotated[
    bool, typer.Option("--defuse-formulas", help="Write ' before cells of CSV and TSV that spreadsheets would run.")
]
Threads = Annotated[int | None, typer.Option(help="Default: the CPUs this process may use.", show_default=False)]


def parse_seed(value: object) -> int | str:
    """Return a seed as an int if possible, else as a str, which is checked with the other options."""
    try:
        return int(str(value))
    except ValueError:
        return str(value)


SeedOption = Annotated[
    Any, typer.Option(parser=parse_seed, metavar="N|random", help="0 to 2**64 - 1, or random: drawn for the run.")
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Memory that the run may take, like 4G; the rest is in files.", show_default=False
    ),
]
Work = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="New folder for these files, with --memory; removed at the end."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder of --work.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace outputs that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no closing table.")]
OnDuplicateOption = Annotated[
    OnDuplicate, typer.Option(help="On a key that the index has: stop, take the new row, or keep the old.")
]


def given(context: typer.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given on the command line; the others have their defaults."""
    sources = {name: context.get_parameter_source(name) for name in options}
    return {name: options[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"}
