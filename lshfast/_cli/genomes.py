"""The command ``lshfast genomes``: it converts options to arguments and contains no other logic."""

from __future__ import annotations

from typing import Annotated

import typer

from lshfast._cli.console import Watch, finish
from lshfast._cli.errors import one_line_errors
from lshfast._cli.options import (
    TABLES,
    DefuseOption,
    Html,
    OnErrorOption,
    OutputFormatOption,
    Overwrite,
    Quiet,
    Threads,
    page_output,
)


def genomes_command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="FASTA or FASTQ (also .gz, .bz2, .xz, .zst), patterns, folders with --glob; "
            ".sig, .zip of sourmash.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="OUT", help=f"The pairs, with their similarities: {TABLES}."
        ),
    ],
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    k: Annotated[int, typer.Option("-k", help="Letters of a k-mer, 1 to 64.")] = 31,
    scaled: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Keep about one in N k-mers, as sourmash does (default: 1000).",
            show_default=False,
        ),
    ] = None,
    bottom: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Keep the N smallest hashes instead, as Mash does.",
            show_default=False,
        ),
    ] = None,
    records: Annotated[
        bool, typer.Option("--records", help="Compare records, not whole files.")
    ] = False,
    ani: Annotated[
        float | None,
        typer.Option(help="The least ANI of a pair (default: 0.95).", show_default=False),
    ] = None,
    jaccard: Annotated[
        float | None,
        typer.Option(help="The least Jaccard similarity, instead.", show_default=False),
    ] = None,
    containment: Annotated[
        float | None,
        typer.Option(help="The least share of the smaller sketch, instead.", show_default=False),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Compare with these files, as INPUT, not with each other; may be repeated.",
        ),
    ] = None,
    save_sketches: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the sketches of INPUT for sourmash: .sig, .sig.gz."
        ),
    ] = None,
    html: Html = None,
    glob: Annotated[
        str | None,
        typer.Option(help="Files of a folder to read, such as '*.fa.gz'.", show_default=False),
    ] = None,
    max_unpacked: Annotated[
        str, typer.Option(metavar="SIZE", help="The most that a file may unpack to.")
    ] = "16G",
    max_signature: Annotated[
        str, typer.Option(metavar="SIZE", help="The most bytes of one unpacked signature file.")
    ] = "256M",
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find the pairs of similar genomes.

    Genomes are files or records, and are compared by samples of their k-mers. Writes what both
    samples have in common, their Jaccard similarity and containments, and the average nucleotide
    identity (ANI) with an interval of 95 %.
    """
    with one_line_errors():
        from lshfast._common.checks import check_int
        from lshfast._engine.inputs import Inputs, output_of
        from lshfast.genomes.job import GenomeInputs, compare_genomes
        from lshfast.genomes.sketches import MOST_BOTTOM, Sampling

        if scaled is not None and bottom is not None:
            raise ValueError("only one of --scaled and --bottom may be given")
        least = 0 if bottom is None else check_int("--bottom", bottom, 1, MOST_BOTTOM)
        source = GenomeInputs(
            inputs,
            Sampling(k, 1000 if scaled is None else scaled, least),
            records,
            glob,
            on_error,
            max_unpacked,
            max_signature,
        )
        with Watch(quiet, output) as watch:
            summary = compare_genomes(
                source,
                output_of(output, Inputs(inputs, format="text"), output_format, defuse_formulas),
                against=against or (),
                save_sketches=save_sketches,
                ani=ani,
                jaccard=jaccard,
                containment=containment,
                page=page_output(html, True),
                threads=threads,
                overwrite=overwrite,
                progress=watch,
            )
        finish(summary, quiet)
