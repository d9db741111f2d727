"""The commands of ``lshfast web``: they convert options to arguments and contain no other logic."""

from __future__ import annotations

from typing import Annotated

import typer

from lshfast._cli.completion import columns
from lshfast._cli.console import Watch, finish
from lshfast._cli.errors import Commands, memory_advice, one_line_errors
from lshfast._cli.options import (
    TABLES,
    DefuseOption,
    DelimiterOption,
    Encoding,
    FormatOption,
    Glob,
    Html,
    HtmlTexts,
    MaxRowBytes,
    OnErrorOption,
    OutputFormatOption,
    Overwrite,
    Quiet,
    Recall,
    SeedOption,
    Threads,
    page_output,
)
from lshfast._common.choices import MAX_ROW_BYTES

web_app: typer.Typer = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Find mirror hosts, contract link graphs.",
)

KINDS = (
    ".txt, .csv, .tsv, .jsonl (also .gz, .zst, .bz2, .xz), .parquet, .arrow, folders, "
    "'patterns*', - (stdin)."
)
SourceColumn = Annotated[
    str, typer.Option(help="Column of the nodes that link, in tables.", autocompletion=columns)
]
TargetColumn = Annotated[
    str, typer.Option(help="Column of the nodes that are linked to.", autocompletion=columns)
]


@web_app.command(no_args_is_help=True)
def mirrors(
    urls: Annotated[
        list[str],
        typer.Argument(
            metavar="URLS", help=f"One URL a line, or a table: {KINDS}", show_default=False
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help=f"The mirrors and the hosts they mirror: {TABLES}.",
        ),
    ],
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    column: Annotated[
        str, typer.Option(help="Column of the URLs, in tables.", autocompletion=columns)
    ] = "url",
    content_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the pages or their checksums; in .txt, any name: the second word of a "
            "line.",
            autocompletion=columns,
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Least similarity of the paths of two hosts, in (0, 1].")
    ] = 0.5,
    min_paths: Annotated[int, typer.Option(help="Hosts with fewer paths are not compared.")] = 3,
    num_perm: Annotated[
        int | None,
        typer.Option(
            help="Slots per signature, 1 to 65536; by default 128, or as many as --recall needs.",
            show_default=False,
        ),
    ] = None,
    recall: Recall = 0.95,
    html: Html = None,
    html_texts: HtmlTexts = True,
    seed: SeedOption = 1,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find hosts that mirror another host.

    Compares the paths of the URLs and, with --content-column, the contents of the pages that both
    hosts have.
    """
    with one_line_errors():
        from lshfast._engine.inputs import Inputs, output_of
        from lshfast.web.job import mirrors_of_files
        from lshfast.web.mirrors import mirror_plan

        plan = mirror_plan(
            threshold=threshold,
            min_paths=min_paths,
            num_perm=num_perm,
            recall=recall,
            seed=seed,
            threads=threads,
        )
        source = Inputs(
            urls, column, content_column, glob, on_error, encoding, format, max_row_bytes, delimiter
        )
        with memory_advice(source), Watch(quiet, output) as watch:
            table = output_of(output, source, output_format, defuse_formulas)
            page = page_output(html, html_texts)
            _, summary = mirrors_of_files(
                source, table, plan, page=page, overwrite=overwrite, progress=watch
            )
        finish(summary, quiet)


@web_app.command(no_args_is_help=True)
def contract(
    edges: Annotated[
        list[str],
        typer.Argument(
            metavar="EDGES", help=f"Two nodes a line, or a table: {KINDS}", show_default=False
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help=f"The links that are left, source and target: {TABLES}.",
        ),
    ],
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Also write the merged nodes: node, merged_into, as OUT."
        ),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Pairs of nodes known to be the same, as EDGES; repeatable."
        ),
    ] = None,
    source_column: SourceColumn = "source",
    target_column: TargetColumn = "target",
    threshold: Annotated[
        float, typer.Option(help="Least similarity of two link sets, in (0, 1].")
    ] = 0.9,
    min_links: Annotated[int, typer.Option(help="Nodes with fewer links are not compared.")] = 1,
    max_block: Annotated[
        int | None,
        typer.Option(
            help="Most pairs of a block, the link sets that share a link; larger blocks are left "
            "out and counted.",
            show_default=False,
        ),
    ] = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    on_error: OnErrorOption = "stop",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Merge nodes with near-equal links.

    Merges go on until no two nodes with near-equal link sets are left.
    """
    with one_line_errors():
        from lshfast._engine.inputs import Inputs, output_of
        from lshfast.web.job import contract_files

        source = Inputs(
            edges,
            source_column,
            target_column,
            glob,
            on_error,
            encoding,
            format,
            max_row_bytes,
            delimiter,
        )
        with memory_advice(source), Watch(quiet, output) as watch:
            summary = contract_files(
                source,
                output_of(output, source, output_format, defuse_formulas),
                labels=output_of(labels, source, None, defuse_formulas),
                same=same or (),
                threshold=threshold,
                min_links=min_links,
                max_block=max_block,
                overwrite=overwrite,
                progress=watch,
            )
        finish(summary, quiet)
