"""The command `lshfast images`: it converts options to arguments and contains no other logic."""

from __future__ import annotations

from typing import Annotated

import typer

from lshfast._cli.console import Watch, finish
from lshfast._cli.errors import memory_advice, one_line_errors
from lshfast._cli.options import (
    TABLES,
    DefuseOption,
    Html,
    OutputFormatOption,
    Overwrite,
    Quiet,
    Threads,
    page_output,
)
from lshfast._common.choices import MAX_PIXELS, ImageHashKind, ImageKeep, OnError


def images_command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Images and folders: JPEG, PNG, GIF, WebP, TIFF, BMP, AVIF, JPEG 2000.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="The copies: path, kept_path, distance, orientation, quality, width, height, "
            f"bytes: {TABLES}.",
        ),
    ] = None,
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    hash: Annotated[
        ImageHashKind, typer.Option(help="pdq has 256 bits; phash and dhash have 64.")
    ] = "pdq",
    radius: Annotated[
        int | None,
        typer.Option(
            help="The most bits in which copies differ: 31 for pdq, 8 for phash, 5 for dhash.",
            show_default=False,
        ),
    ] = None,
    orientations: Annotated[
        bool,
        typer.Option(
            "--orientations", help="Also find copies that are rotated by 90° or mirrored."
        ),
    ] = False,
    keep: Annotated[
        ImageKeep,
        typer.Option(
            help="Which image of a group is kept: most pixels, then most bytes; or the first."
        ),
    ] = "largest",
    without_content: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the images with too little content to be compared, which are kept.",
        ),
    ] = None,
    save_hashes: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the hashes of the images that are kept, for --against."
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Saved hashes: images near one of these are copies. May be repeated.",
        ),
    ] = None,
    html: Html = None,
    html_images: Annotated[
        bool,
        typer.Option("--html-images/--html-no-images", help="Whether the page shows pictures."),
    ] = True,
    max_pixels: Annotated[
        int, typer.Option(help="Most pixels of an image; larger ones are not decoded.")
    ] = MAX_PIXELS,
    on_error: Annotated[
        OnError,
        typer.Option(
            help="What a damaged file does: skip writes it to OUT.rejects.jsonl and continues."
        ),
    ] = "skip",
    threads: Threads = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find images that look alike.

    Writes the copies to OUT, each with the image that is kept in its place. No image is changed or
    deleted.
    """
    with one_line_errors():
        from lshfast._engine.inputs import Inputs, output_of
        from lshfast.images.job import ImageOptions, ImageOutputs, dedup_images, known_inputs

        tables = Inputs(inputs, format="csv")
        outputs = ImageOutputs(
            output_of(output, tables, output_format, defuse_formulas),
            output_of(without_content, tables, None, defuse_formulas),
            output_of(save_hashes, tables),
            overwrite,
            page_output(html, html_images),
        )
        options = ImageOptions(hash, radius, orientations, keep, max_pixels, on_error, threads)
        known = known_inputs(against) if against else None
        with memory_advice(tables), Watch(quiet, output) as watch:
            summary = dedup_images(inputs, outputs, options, against=known, progress=watch)
        finish(summary, quiet)
