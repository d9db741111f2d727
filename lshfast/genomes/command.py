"""The command ``lshfast genomes``: what it takes, and what it runs."""

from __future__ import annotations

from lshfast._engine.options.command import (
    QUIET,
    Argument,
    Command,
    Console,
    daily_option,
    file_option,
    options_named,
    output_option,
)
from lshfast._engine.options.declaration import Option, Options
from lshfast._engine.options.declared import TABLES

GENOMES = Argument(
    "inputs",
    "INPUT",
    "FASTA or FASTQ (also .gz, .bz2, .xz, .zst), patterns, folders with --glob; .sig, .zip of "
    "sourmash.",
)
GENOMES_OPTIONS = (
    output_option(f"The pairs, with their similarities: {TABLES}."),
    *options_named("output_format", "defuse_formulas"),
    daily_option("k", 31, "Letters of a k-mer, 1 to 64.", int),
    daily_option(
        "scaled",
        None,
        "Keep about one in N k-mers, as sourmash does (default: 1000).",
        int,
        metavar="N",
    ),
    daily_option(
        "bottom",
        None,
        "Keep the N smallest hashes instead, as Mash does.",
        int,
        metavar="N",
    ),
    daily_option("records", False, "Compare records, not whole files.", bool),
    daily_option("ani", None, "The least ANI of a pair (default: 0.95).", float),
    daily_option("jaccard", None, "The least Jaccard similarity, instead.", float),
    daily_option(
        "containment", None, "The least share of the smaller sketch, instead.", float
    ),
    file_option(
        "against",
        "Compare with these files, as INPUT, not with each other; may be repeated.",
        list[str],
        group="input",
    ),
    file_option(
        "save_sketches", "Write the sketches of INPUT for sourmash: .sig, .sig.gz."
    ),
    *options_named("html"),
    daily_option(
        "glob",
        None,
        "Files of a folder to read: '*.fa.gz'; '**/*.fa.gz' for its folders too.",
    ),
    Option(
        "max_unpacked", "16G", "The most that a file may unpack to.", metavar="SIZE"
    ),
    Option(
        "max_signature",
        "256M",
        "The most bytes of one unpacked signature file.",
        metavar="SIZE",
    ),
    *options_named("on_error", "threads", "overwrite"),
    QUIET,
)


def match_genomes(options: Options, console: Console) -> None:
    """Find the pairs of similar genomes.

    Genomes are files or records, and are compared by samples of their k-mers. Writes what both
    samples have in common, their Jaccard similarity and containments, and the average nucleotide
    identity (ANI) with an interval of 95 %.
    """
    from lshfast._common.checks import check_int
    from lshfast._engine.inputs import Inputs
    from lshfast.genomes.job import GenomeInputs, GenomeOutputs, compare_genomes
    from lshfast.genomes.search import Thresholds
    from lshfast.genomes.sketches import MOST_BOTTOM, Sampling

    if options.scaled is not None and options.bottom is not None:
        raise ValueError("only one of --scaled and --bottom may be given")
    bottom = 0
    if options.bottom is not None:
        bottom = check_int("--bottom", options.bottom, 1, MOST_BOTTOM)
    scaled = 1000 if options.scaled is None else options.scaled
    source = GenomeInputs(
        options.inputs,
        Sampling(options.k, scaled, bottom),
        options.records,
        options.glob,
        options.on_error,
        options.max_unpacked,
        options.max_signature,
    )
    tables = Inputs(options.inputs, format="text")
    table = tables.table(options)
    page = console.page(options)
    with console.watching(options.output) as watch:
        summary = compare_genomes(
            source,
            GenomeOutputs(table, options.save_sketches, options.overwrite, page),
            Thresholds(options.ani, options.jaccard, options.containment),
            against=options.against or (),
            threads=options.threads,
            progress=watch,
        )
    console.finish(summary)


COMMANDS = (
    Command(
        "genomes",
        match_genomes,
        GENOMES_OPTIONS,
        (GENOMES,),
        examples=(
            "lshfast genomes *.fa.gz -o pairs.csv --html genomes.html",
            "lshfast genomes unknown.fa --against 'known/*.fa' --ani 0.9 -o pairs.csv",
            "lshfast genomes viruses.fa --records --scaled 10 -o pairs.csv",
        ),
    ),
)
