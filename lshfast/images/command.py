"""The command ``lshfast images``: what it takes, and what it runs."""

from __future__ import annotations

from dataclasses import replace

from lshfast._common.choices import MAX_PIXELS, ImageHashKind, ImageKeep
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
from lshfast._engine.options.declared import OPTIONS, TABLES

IMAGES = Argument(
    "inputs",
    "INPUT",
    "Images and folders: JPEG, PNG, GIF, WebP, TIFF, BMP, AVIF, HEIC, JPEG 2000.",
)
IMAGES_OPTIONS = (
    output_option(
        "The copies: path, kept_path, distance, orientation, quality, width, height, bytes: "
        f"{TABLES}.",
        required=False,
    ),
    *options_named("output_format", "defuse_formulas"),
    daily_option(
        "hash", "pdq", "pdq has 256 bits; phash and dhash have 64.", ImageHashKind
    ),
    daily_option(
        "radius",
        None,
        "The most bits in which copies differ: 31 for pdq, 8 for phash, 5 for dhash.",
        int,
    ),
    daily_option(
        "orientations",
        False,
        "Also find copies that are rotated by 90° or mirrored.",
        bool,
    ),
    daily_option(
        "keep",
        "largest",
        "Which image of a group is kept: most pixels, then colour, then most bytes; or the first.",
        ImageKeep,
    ),
    Option(
        "without_content",
        None,
        "Write the images with too little content to be compared, which are kept.",
        metavar="FILE",
    ),
    file_option(
        "save_hashes", "Write the hashes of the images that are kept, for --against."
    ),
    file_option(
        "against",
        "Saved hashes: images near one of these are copies. May be repeated.",
        list[str],
        group="input",
    ),
    *options_named("html"),
    Option(
        "html_images",
        True,
        "Whether the page shows pictures.",
        bool,
        negative="--html-no-images",
    ),
    Option(
        "max_pixels",
        MAX_PIXELS,
        "Most pixels of an image; larger ones are not decoded.",
        int,
    ),
    replace(
        OPTIONS["on_error"],
        default="skip",
        help="What a damaged file does: skip writes it to OUT.rejects.jsonl and continues.",
    ),
    *options_named("threads", "overwrite"),
    QUIET,
)


def find_copies(options: Options, console: Console) -> None:
    """Find images that look alike.

    Writes the copies to OUT, each with the image that is kept in its place. No image is changed or
    deleted.
    """
    from lshfast._engine.inputs import Inputs, output_of
    from lshfast.images.job import (
        ImageOptions,
        ImageOutputs,
        dedup_images,
        known_inputs,
    )

    tables = Inputs(options.inputs, format="csv")
    outputs = ImageOutputs(
        tables.table(options),
        tables.table(options, "without_content"),
        output_of(options.save_hashes, tables),
        options.overwrite,
        console.page(options.with_(html_texts=options.html_images)),
    )
    how = ImageOptions(
        **options.picked(
            (
                "hash",
                "radius",
                "orientations",
                "keep",
                "max_pixels",
                "on_error",
                "threads",
            )
        )
    )
    known_images = known_inputs(options.against) if options.against else None
    with console.watching(options.output, tables) as watch:
        summary = dedup_images(
            options.inputs, outputs, how, against=known_images, progress=watch
        )
    console.finish(summary)


COMMANDS = (
    Command(
        "images",
        find_copies,
        IMAGES_OPTIONS,
        (IMAGES,),
        examples=(
            "lshfast images photos/ -o copies.csv --html gallery.html",
            "lshfast images photos/ -o copies.csv --orientations",
            "lshfast images new/ -o copies.csv --against known.parquet",
        ),
    ),
)
