"""The command ``lshfast genomes``: what it takes, and what it runs."""

from __future__ import annotations

from lshfast._engine.options.command import (
    QUIET,
    Argument,
    Command,
    Console,
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
    Option("k", 31, "Letters of a k-mer, 1 to 64.", int, daily=True),
    Option(
        "scaled",
        None,
        "Keep about one in N k-mers, as sourmash does (default: 1000).",
        int,
        metavar="N",
        daily=True,
    ),
    Option(
        "bottom",
        None,
        "Keep the N smallest hashes instead, as Mash does.",
        int,
        metavar="N",
        daily=True,
    ),
    Option("records", False, "Compare records, not whole files.", bool, daily=True),
    Option("ani", None, "The least ANI of a pair (default: 0.95).", float, daily=True),
    Option(
        "jaccard", None, "The least Jaccard similarity, instead.", float, daily=True
    ),
    Option(
        "containment",
        None,
        "The least share of the smaller sketch, instead.",
        float,
        daily=True,
    ),
    Option(
        "against",
        None,
        "Compare with these files, as INPUT, not with each other; may be repeated.",
        list[str],
        metavar="FILE",
        daily=True,
    ),
    Option(
        "save_sketches",
        None,
        "Write the sketches of INPUT for sourmash: .sig, .sig.gz.",
        metavar="FILE",
        daily=True,
    ),
    *options_named("html"),
    Option("glob", None, "Files of a folder to read, such as '*.fa.gz'.", daily=True),
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
    from lshfast._engine.inputs import Inputs, output_of
    from lshfast.genomes.job import GenomeInputs, compare_genomes
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
    with console.watching(options.output) as watch:
        summary = compare_genomes(
            source,
            output_of(
                options.output, tables, options.output_format, options.defuse_formulas
            ),
            against=options.against or (),
            page=console.page(options),
            progress=watch,
            **options.picked(
                (
                    "save_sketches",
                    "ani",
                    "jaccard",
                    "containment",
                    "threads",
                    "overwrite",
                )
            ),
        )
    console.finish(summary)


COMMANDS = (Command("genomes", match_genomes, GENOMES_OPTIONS, (GENOMES,)),)
