"""The commands of ``lshfast web``: what they take, and what they run."""

from __future__ import annotations

from dataclasses import replace

from lshfast._common.choices import PairMeasure
from lshfast._engine.options.command import (
    QUIET,
    READING,
    Argument,
    Command,
    CommandGroup,
    Console,
    daily_option,
    file_option,
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
    daily_option("column", "url", "Column of the URLs, in tables.", names_column=True),
    daily_option(
        "content_column",
        None,
        "Column of the pages or their checksums; in .txt, any name: the second word of a line.",
        names_column=True,
    ),
    daily_option(
        "threshold",
        0.5,
        "Least similarity of the paths of two hosts, in (0, 1].",
        float,
    ),
    daily_option(
        "measure",
        "jaccard",
        "Of hosts with a and b paths, o of them on both: jaccard, o / (a + b - o), or containment, "
        "o / min(a, b).",
        PairMeasure,
    ),
    replace(
        OPTIONS["most"],
        help="Greatest similarity of the paths: hosts that are close, but no copies.",
        daily=True,
    ),
    daily_option("min_paths", 3, "Hosts with fewer paths are not compared.", int),
    daily_option(
        "clean_urls",
        False,
        "Compare URLs without numbers of sessions and tracking.",
        bool,
    ),
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
# The options of a plan of a search for mirrors.
PLAN_NAMES = (
    "threshold",
    "measure",
    "most",
    "min_paths",
    "clean_urls",
    "num_perm",
    "recall",
    "seed",
    "threads",
)
CONTRACT_OPTIONS = (
    output_option(f"The links that are left, source and target: {TABLES}."),
    *options_named("output_format", "defuse_formulas"),
    file_option("labels", "Also write the merged nodes: node, merged_into, as OUT."),
    file_option(
        "same",
        "Pairs of nodes known to be the same, as EDGES; repeatable.",
        list[str],
        "input",
    ),
    daily_option(
        "source_column",
        "source",
        "Column of the nodes that link, in tables.",
        names_column=True,
    ),
    daily_option(
        "target_column",
        "target",
        "Column of the nodes that are linked to.",
        names_column=True,
    ),
    daily_option(
        "threshold", 0.9, "Least similarity of two link sets, in (0, 1].", float
    ),
    daily_option("min_links", 1, "Nodes with fewer links are not compared.", int),
    daily_option(
        "size",
        1,
        "Compare sequences of links, by shingles of this many; 1: sets of links.",
        int,
    ),
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
    from lshfast._engine.inputs import Inputs
    from lshfast.web.host_sets import mirror_plan
    from lshfast.web.job import mirrors_of_files

    plan = mirror_plan(**options.picked(PLAN_NAMES))
    source = Inputs.of(options.urls, options.with_(id_column=options.content_column))
    with console.watching(options.output, source) as watch:
        table = source.table(options)
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
    from lshfast._engine.inputs import Inputs
    from lshfast.web.job import contract_files

    of_nodes = {"column": options.source_column, "id_column": options.target_column}
    source = Inputs.of(options.edges, options.with_(**of_nodes))
    with console.watching(options.output, source) as watch:
        summary = contract_files(
            source,
            source.table(options),
            labels=source.table(options, "labels"),
            same=options.same or (),
            progress=watch,
            **options.picked(
                ("threshold", "min_links", "size", "max_block", "overwrite")
            ),
        )
    console.finish(summary)


COMMANDS = (
    CommandGroup(
        "web",
        "Find mirror hosts, contract link graphs.",
        (
            Command(
                "mirrors",
                mirrors,
                MIRRORS_OPTIONS,
                (URLS,),
                examples=(
                    "lshfast web mirrors urls.txt -o mirrors.csv",
                    "lshfast web mirrors urls.txt -o mirrors.csv --html mirrors.html",
                    "lshfast web mirrors crawl.parquet --column url -o mirrors.csv",
                ),
            ),
            Command(
                "contract",
                contract,
                CONTRACT_OPTIONS,
                (EDGES,),
                examples=(
                    "lshfast web contract edges.csv -o contracted.csv --labels merged.csv",
                    "lshfast web contract edges.csv -o contracted.csv --threshold 0.8",
                    "lshfast web contract edges.csv -o contracted.csv --same same.csv",
                ),
            ),
        ),
    ),
)
