"""The commands of ``lshfast index``: they convert options to arguments and contain no other
logic.
"""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from lshfast._cli.console import (
    MatchPrinter,
    Watch,
    account_table,
    finish,
    index_table,
    reject_line,
    say,
    show,
    warnings_as_lines,
)
from lshfast._cli.errors import Commands, memory_advice, one_line_errors
from lshfast._cli.options import (
    TABLES,
    BandsOption,
    Column,
    DefuseOption,
    DelimiterOption,
    Encoding,
    FormatOption,
    Glob,
    IdColumn,
    ItemMeasureOption,
    KindOption,
    MaxRowBytes,
    NumPerm,
    OnDuplicateOption,
    OnErrorOption,
    OutputFormatOption,
    Overwrite,
    Paths,
    Quiet,
    Radius,
    RecallOrDefault,
    RowsPerBand,
    SchemeOption,
    SeedOption,
    Size,
    StopWords,
    Threads,
    ThresholdOrDefault,
    UnitOption,
)
from lshfast._common.atomic_files import printable
from lshfast._common.choices import MAX_ROW_BYTES, ItemMeasure, Kind
from lshfast._common.display import counted

index_app: typer.Typer = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Index rows, and look up others.",
)

KindOfIndex = Annotated[
    Kind | None,
    typer.Option("--as", help="What the items are; default: as the index.", show_default=False),
]
IndexFile = Annotated[
    str, typer.Argument(metavar="FILE.lsh", help="The index.", show_default=False)
]


@index_app.command(no_args_is_help=True)
def build(
    inputs: Paths,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE.lsh", help="The index to write.")
    ],
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    kind: KindOption = None,
    threshold: ThresholdOrDefault = None,
    radius: Radius = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="N",
            help="Vectors, instead of --threshold or --radius: a bound within which 95 % of the "
            "rows have N others, "
            "for index query -k N.",
            show_default=False,
        ),
    ] = None,
    measure: ItemMeasureOption = None,
    unit: UnitOption = "word",
    size: Size = None,
    stop_words: StopWords = None,
    num_perm: NumPerm = 128,
    scheme: SchemeOption = "fast",
    recall: RecallOrDefault = None,
    bands: BandsOption = None,
    rows_per_band: RowsPerBand = None,
    on_error: OnErrorOption = "stop",
    on_duplicate: OnDuplicateOption = "error",
    threads: Threads = None,
    seed: SeedOption = 1,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Make an index of all rows.

    An entry is the signature of a text or set, weighted or not, or a vector or code, under the
    row's id, or under FILE:LINE without --id-column.
    """
    with one_line_errors():
        from lshfast._engine.index_files import build_index, plan_of_build
        from lshfast._engine.inputs import Inputs

        options = dict(
            threshold=threshold,
            unit=unit,
            size=size,
            stop_words=stop_words,
            num_perm=num_perm,
            scheme=scheme,
            recall=recall,
            bands=bands,
            rows_per_band=rows_per_band,
            seed=seed,
            measure=measure,
        )
        source = Inputs(
            inputs,
            column,
            id_column,
            glob,
            on_error,
            encoding,
            format,
            max_row_bytes,
            delimiter,
            kind=kind,
        )
        plan = plan_of_build(source, options, {"threads": threads}, radius, k)
        with memory_advice(source, plan), Watch(quiet) as watch:
            summary = build_index(
                source,
                output,
                plan,
                k=k,
                on_duplicate=on_duplicate,
                overwrite=overwrite,
                progress=watch,
            )
        finish(summary, quiet)


@index_app.command(no_args_is_help=True)
def add(
    index: IndexFile,
    inputs: Paths,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    kind: KindOfIndex = None,
    on_error: OnErrorOption = "stop",
    on_duplicate: OnDuplicateOption = "error",
    threads: Threads = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE.lsh.rejects.jsonl.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Add all rows to an index.

    The index determines what they are: texts and their shingles, sets, vectors or codes.
    """
    with one_line_errors():
        from lshfast._engine.index_files import add_to_index
        from lshfast._engine.inputs import Inputs

        source = Inputs(
            inputs,
            column,
            id_column,
            glob,
            on_error,
            encoding,
            format,
            max_row_bytes,
            delimiter,
            kind=kind,
        )
        with memory_advice(source), Watch(quiet) as watch:
            summary = add_to_index(
                index,
                source,
                on_duplicate=on_duplicate,
                overwrite=overwrite,
                threads=threads,
                progress=watch,
            )
        finish(summary, quiet)


@index_app.command(no_args_is_help=True)
def remove(
    index: IndexFile,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="KEY", help="Keys to remove.", show_default=False)
    ] = None,
    keys_file: Annotated[
        str | None,
        typer.Option("--keys", metavar="FILE", help="Keys, one per line; - is standard input."),
    ] = None,
    on_missing: Annotated[
        Literal["error", "skip"], typer.Option(help="On a key that is not in the index.")
    ] = "error",
    quiet: Quiet = False,
) -> None:
    """Remove entries from an index."""
    with one_line_errors():
        if not keys and keys_file is None:
            raise ValueError("keys are needed: KEY... or --keys FILE")
        from lshfast._engine.index_files import key_lines, remove_keys

        wanted = [*(keys or []), *(key_lines(keys_file) if keys_file else [])]
        removed, left = remove_keys(index, wanted, on_missing)
        if not quiet:
            print(f"{removed:,} removed, {left:,} left", file=sys.stderr)


@index_app.command(no_args_is_help=True)
def query(
    index: IndexFile,
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="INPUT", help="As for dedup.", show_default=False)
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="One text, instead of INPUT; or a set, vector or code, as a cell of CSV has it."
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="N",
            help="Only the N most similar entries of each row. Vectors beyond the index's bound "
            "may be missed.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Least similarity, 0 to 1. Default: that of the index; none with -k."),
    ] = None,
    radius: Annotated[
        float | None,
        typer.Option(help="Greatest distance. Default: that of the index; none with -k."),
    ] = None,
    measure: Annotated[
        ItemMeasure | None,
        typer.Option(
            help="Of an index by cosine: angle. Default: that of the index.", show_default=False
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="OUT", help=f"key, match, similarity or distance: {TABLES}."
        ),
    ] = None,
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    kind: KindOfIndex = None,
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Print the entries similar to each row.

    Columns, separated by tabs: the row's key (not with --text), the entry's key, and the
    similarity, which is estimated for texts and sets, or the distance.
    """
    with one_line_errors():
        from lshfast._engine.index_queries import query_files, query_one
        from lshfast._engine.index_searches import NearQuery
        from lshfast._engine.inputs import Inputs, output_of

        printer = MatchPrinter()
        wanted = NearQuery(k, threshold, radius, measure)
        if bool(inputs) == (text is not None):
            raise ValueError("either INPUT... or --text is needed")
        source = Inputs(
            inputs or [],
            column,
            id_column,
            glob,
            on_error,
            encoding,
            format,
            max_row_bytes,
            delimiter,
            kind=kind,
        )
        table = output_of(output, source, output_format, defuse_formulas)
        if text is not None:
            with warnings_as_lines(quiet):
                keys, values, name = query_one(
                    index, text, wanted, kind=kind, output=table, overwrite=overwrite
                )
            if output is None:
                printer(keys, values, name=name)
                printer.close()
            if not keys and not quiet:
                say(
                    f"lshfast: no match: no entry of {printable(index)} is similar enough to the "
                    "text",
                    sys.stderr,
                )
            return
        with memory_advice(source), warnings_as_lines(quiet), Watch(quiet, output) as watch:
            summary = query_files(
                index,
                source,
                lambda found: printer(*found[:3], name=found.name),
                wanted,
                output=table,
                overwrite=overwrite,
                threads=threads,
                progress=watch,
            )
        printer.close()
        for fault in summary.faults if output is None else ():
            say(reject_line(fault), sys.stderr)
        if not quiet:
            show(account_table(summary), sys.stderr)
            if not summary.matches:
                say(
                    f"lshfast: no match: no entry of {printable(index)} is similar enough to a "
                    "row of INPUT",
                    sys.stderr,
                )


@index_app.command(no_args_is_help=True)
def info(index: IndexFile) -> None:
    """Show the settings and the size of an index.

    For texts and sets, a histogram shows how many entries the buckets hold.
    """
    with one_line_errors():
        from lshfast._engine.index_files import opened_any
        from lshfast._engine.item_indexes import key_kind

        with opened_any(index) as opened:
            show(index_table(index, opened, key_kind(opened)), sys.stdout)


@index_app.command(no_args_is_help=True)
def verify(index: IndexFile) -> None:
    """Check an index for damage.

    Checks all checksums, and that tables and entries match. Exit status 1 if the index is damaged.
    """
    with one_line_errors():
        from lshfast._engine.index_files import verify_index

        entries, nbytes = verify_index(index)
        say(
            f"{printable(index)}: sound, {counted(entries, 'entry', 'entries')}, {nbytes:,} bytes",
            sys.stdout,
        )


@index_app.command(no_args_is_help=True)
def compact(index: IndexFile, quiet: Quiet = False) -> None:
    """Rewrite an index without deleted entries."""
    with one_line_errors():
        from lshfast._engine.index_files import compact_index

        with Watch(quiet) as watch:
            before, after = compact_index(index, watch)
        if not quiet:
            say(f"{printable(index)}: {before:,} bytes before, {after:,} after", sys.stderr)
