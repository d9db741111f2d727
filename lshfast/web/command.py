"""The commands of ``lshfast web``: what they take, and what they run."""

from __future__ import annotations

from dataclasses import replace

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

INPUT_KINDS = (
    ".txt, .csv, .tsv, .jsonl (also .gz, .zst, .bz2, .xz), .parquet, .arrow, folders, "
    "'patterns*', - (stdin)."
)
URLS = Argument("urls", "URLS", f"One URL a line, or a table: {INPUT_KINDS}")
EDGES = Argument("edges", "EDGES", f"Two nodes a line, or a table: {INPUT_KINDS}")
MIRRORS_OPTIONS = (
    output_option(f"The mirrors and the hosts they mirror: {TABLES}."),
    *options_named("output_format", "defuse_formulas"),
    Option(
        "column", "url", "Column of the URLs, in tables.", names_column=True, daily=True
    ),
    Option(
        "content_column",
        None,
        "Column of the pages or their checksums; in .txt, any name: the second word of a line.",
        names_column=True,
        daily=True,
    ),
    Option(
        "threshold",
        0.5,
        "Least similarity of the paths of two hosts, in (0, 1].",
        float,
        daily=True,
    ),
    Option("min_paths", 3, "Hosts with fewer paths are not compared.", int, daily=True),
    Option(
        "num_perm",
        None,
        "Slots per signature, 1 to 65536; by default 128, or as many as --recall needs.",
        int,
    ),
    replace(
        OPTIONS["recall"],
        default=0.95,
        help="Probability that a pair at the threshold is found, in (0, 1).",
    ),
    *options_named("html", "html_texts", "seed"),
    *READING,
    *options_named("on_error", "threads", "overwrite"),
    QUIET,
)
CONTRACT_OPTIONS = (
    output_option(f"The links that are left, source and target: {TABLES}."),
    *options_named("output_format", "defuse_formulas"),
    Option(
        "labels",
        None,
        "Also write the merged nodes: node, merged_into, as OUT.",
        metavar="FILE",
        daily=True,
    ),
    Option(
        "same",
        None,
        "Pairs of nodes known to be the same, as EDGES; repeatable.",
        list[str],
        metavar="FILE",
        daily=True,
    ),
    Option(
        "source_column",
        "source",
        "Column of the nodes that link, in tables.",
        names_column=True,
        daily=True,
    ),
    Option(
        "target_column",
        "target",
        "Column of the nodes that are linked to.",
        names_column=True,
        daily=True,
    ),
    Option(
        "threshold",
        0.9,
        "Least similarity of two link sets, in (0, 1].",
        float,
        daily=True,
    ),
    Option("min_links", 1, "Nodes with fewer links are not compared.", int, daily=True),
    Option(
        "max_block",
        None,
        "Most pairs of a block, the link sets that share a link; larger blocks are left out and "
        "counted.",
        int,
    ),
    *READING,
    *options_named("on_error", "overwrite"),
    QUIET,
)


def mirrors(options: Options, console: Console) -> None:
    """Find hosts that mirror another host.

    Compares the paths of the URLs and, with --content-column, the contents of the pages that both
    hosts have.
    """
    from lshfast._engine.inputs import Inputs, output_of
    from lshfast.web.job import mirrors_of_files
    from lshfast.web.mirrors import mirror_plan

    plan = mirror_plan(
        **options.picked(
            ("threshold", "min_paths", "num_perm", "recall", "seed", "threads")
        )
    )
    source = Inputs.of(options.urls, options.with_(id_column=options.content_column))
    with console.watching(options.output, source) as watch:
        table = output_of(
            options.output, source, options.output_format, options.defuse_formulas
        )
        _, summary = mirrors_of_files(
            source,
            table,
            plan,
            page=console.page(options),
            overwrite=options.overwrite,
            progress=watch,
        )
    console.finish(summary)


def contract(options: Options, console: Console) -> None:
    """Merge nodes with near-equal links.

    Merges go on until no two nodes with near-equal link sets are left.
    """
    from lshfast._engine.inputs import Inputs, output_of
    from lshfast.web.job import contract_files

    of_nodes = {"column": options.source_column, "id_column": options.target_column}
    source = Inputs.of(options.edges, options.with_(**of_nodes))
    with console.watching(options.output, source) as watch:
        summary = contract_files(
            source,
            output_of(
                options.output, source, options.output_format, options.defuse_formulas
            ),
            labels=output_of(options.labels, source, None, options.defuse_formulas),
            same=options.same or (),
            progress=watch,
            **options.picked(("threshold", "min_links", "max_block", "overwrite")),
        )
    console.finish(summary)


COMMANDS = (
    CommandGroup(
        "web",
        "Find mirror hosts, contract link graphs.",
        (
            Command("mirrors", mirrors, MIRRORS_OPTIONS, (URLS,)),
            Command("contract", contract, CONTRACT_OPTIONS, (EDGES,)),
        ),
    ),
)
