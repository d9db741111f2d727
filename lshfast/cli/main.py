"""The commands: they convert options to arguments and contain no other logic."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lshfast import __version__
from lshfast.cli.console import Watch, banding, closing_table, counted, curve_table, memory_table, show
from lshfast.cli.errors import Commands, memory_advice, one_line_errors
from lshfast.cli.index import index_app
from lshfast.cli.options import (
    TABLES,
    BandsOption,
    Column,
    Encoding,
    ExactOption,
    FormatOption,
    Glob,
    IdColumn,
    MaxRowBytes,
    NumPerm,
    OnDuplicateOption,
    OnErrorOption,
    Overwrite,
    Paths,
    Quiet,
    Recall,
    RowsOption,
    SchemeOption,
    SeedOption,
    Size,
    Threads,
    Threshold,
    UnitOption,
    VerifyOption,
    given,
)
from lshfast.families.plots import plot_curve
from lshfast.jobs.dedup import Outputs, measure, peak_memory, recommend_for, run_files
from lshfast.jobs.demo import standard_library
from lshfast.jobs.index import Indexes, plan_against
from lshfast.jobs.inputs import Inputs
from lshfast.pipeline.api import dedup as dedup_texts
from lshfast.pipeline.plan import Grouping, make_plan
from lshfast.pipeline.report import DedupResult
from lshfast.readers.files import MAX_ROW_BYTES

app: typer.Typer = typer.Typer(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Find and remove near-duplicate texts, exactly verified.",
)

app.add_typer(index_app, name="index")


def finish(result: DedupResult, quiet: bool, removing: bool = True) -> None:
    rejected = result.summary.rejected
    if not quiet:
        show(closing_table(result, peak_memory(), removing), sys.stderr)
    elif rejected:
        print(f"lshfast: {counted(rejected, 'row')} rejected", file=sys.stderr)


@app.command(no_args_is_help=True)
def dedup(
    context: typer.Context,
    inputs: Paths,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Rows that stay: .jsonl, .csv, .tsv (also .gz, .zst, .bz2, .xz), .parquet.",
        ),
    ] = None,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    threshold: Threshold = 0.8,
    unit: UnitOption = "word",
    size: Size = 5,
    num_perm: NumPerm = 128,
    scheme: SchemeOption = "fast",
    recall: Recall = 0.95,
    bands: BandsOption = None,
    rows: RowsOption = None,
    verify: VerifyOption = "exact",
    exact: ExactOption = False,
    groups: Annotated[
        Grouping, typer.Option(help="star: each removed row is similar to the kept one; components: chains.")
    ] = "star",
    keep: Annotated[
        str, typer.Option(metavar="RULE", help="first, last, longest, shortest, max:COLUMN or min:COLUMN.")
    ] = "first",
    annotate: Annotated[
        bool, typer.Option("--annotate", help="Write all rows, with duplicate_of and similarity.")
    ] = False,
    pairs: Annotated[
        str | None, typer.Option(metavar="FILE", help=f"Also write the similar pairs to FILE: {TABLES}.")
    ] = None,
    removed: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also write key, kept_key and similarity of removed rows, as --pairs does."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="INDEX", help="Also remove rows similar to an entry of this index.")
    ] = None,
    save_index: Annotated[
        str | None,
        typer.Option(metavar="INDEX", help="Add the rows that stay to the index in this file, or to a new one."),
    ] = None,
    on_duplicate: OnDuplicateOption = "error",
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    seed: SeedOption = 1,
    overwrite: Overwrite = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Find everything, write nothing.")] = False,
    quiet: Quiet = False,
) -> None:
    """Remove near-duplicate rows.

    Writes the rows that stay to OUT. The closing table accounts for every row; --removed names each removed row, the
    row kept in its place, and their similarity.
    """
    with one_line_errors():
        if output is None and not dry_run:
            raise ValueError("an output is needed: -o FILE (or --dry-run)")
        options: dict[str, Any] = dict(
            threshold=threshold, unit=unit, size=size, num_perm=num_perm, scheme=scheme, recall=recall,
            bands=bands, rows=rows, seed=seed,
        )  # fmt: skip
        others: dict[str, Any] = dict(verify=verify, groups=groups, threads=threads, exact=exact)
        plan = plan_against(against, given(context, options), **others) if against else make_plan(**options, **others)
        outputs = Outputs(overwrite=overwrite) if dry_run else Outputs(output, pairs, removed, annotate, overwrite)
        indexes = Indexes(against, save_index, on_duplicate, dry_run)
        source = Inputs(inputs, column, id_column, glob, on_error, encoding, format, max_row_bytes)
        with memory_advice(source, plan), Watch(quiet) as watch:
            result = run_files(source, outputs, plan, keep=keep, indexes=indexes, progress=watch)
        finish(result, quiet)


@app.command(name="pairs", no_args_is_help=True)
def pairs_command(
    inputs: Paths,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="OUT", help=f"key_i, key_j, similarity: {TABLES}."),
    ],
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    threshold: Threshold = 0.8,
    unit: UnitOption = "word",
    size: Size = 5,
    num_perm: NumPerm = 128,
    scheme: SchemeOption = "fast",
    recall: Recall = 0.95,
    bands: BandsOption = None,
    rows: RowsOption = None,
    verify: VerifyOption = "exact",
    exact: ExactOption = False,
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    seed: SeedOption = 1,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the pairs of similar rows.

    An exact copy is paired with the first row of that text only.
    """
    with one_line_errors():
        plan = make_plan(
            threshold=threshold, unit=unit, size=size, num_perm=num_perm, scheme=scheme, recall=recall,
            bands=bands, rows=rows, verify=verify, threads=threads, seed=seed, exact=exact,
        )  # fmt: skip
        source = Inputs(inputs, column, id_column, glob, on_error, encoding, format, max_row_bytes)
        with memory_advice(source, plan), Watch(quiet) as watch:
            result = run_files(source, Outputs(pairs=output, overwrite=overwrite), plan, progress=watch)
        finish(result, quiet, removing=False)


@app.command()
def tune(
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="INPUT", help="As for dedup.", show_default=False)
    ] = None,
    column: Column = "text",
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    threshold: Threshold = 0.8,
    num_perm: NumPerm = 128,
    recall: Recall = 0.95,
    bands: BandsOption = None,
    rows: RowsOption = None,
    threads: Threads = None,
    documents: Annotated[int | None, typer.Option(help="Number of texts, without INPUT.")] = None,
    mean_bytes: Annotated[int, typer.Option(help="Mean bytes of a text, with --documents.")] = 5000,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the S-curve: .png, .svg, .pdf.")] = None,
) -> None:
    """Show the recall and the memory of a run.

    Nothing is compared: recall follows from the options, and memory from the size of INPUT. With INPUT, shingles and a
    threshold are recommended for texts of this length.
    """
    with one_line_errors():
        plan = make_plan(threshold=threshold, num_perm=num_perm, recall=recall, bands=bands, rows=rows, threads=threads)
        if (documents is not None and documents < 0) or mean_bytes < 0:
            raise ValueError(f"documents and mean_bytes must not be negative, not {documents} and {mean_bytes}")
        size = None if documents is None else (documents, documents * mean_bytes)
        source = Inputs(inputs or [], column, None, glob, "stop", encoding, format, max_row_bytes)
        if inputs:
            size = measure(source)
        if plot is not None:
            plot_curve(plan.bands, threshold=plan.threshold, path=plot)
        show(f"{banding(plan)}: {plan.bands.slots} of {counted(num_perm, 'slot')}", sys.stdout)
        found = f"recall at the threshold {threshold:g}: {plan.recall:.4f}"
        show(f"{found}; half of the pairs found at {plan.bands.half_point:.4f}\n", sys.stdout)
        print(curve_table(plan))
        if size is not None:
            print(f"\n{memory_table(plan, *size)}")
        better = recommend_for(source) if inputs else None
        if better is not None:
            options = f"--unit {better.unit} --size {better.size} --threshold {better.threshold:g}"
            print(f"\nrecommended for texts of this length: {options}")


@app.command()
def demo(threshold: Threshold = 0.5, threads: Threads = None, quiet: Quiet = False) -> None:
    """Deduplicate Python's standard library."""
    with one_line_errors():
        plan = make_plan(threshold=threshold, threads=threads)
        names, texts = standard_library()
        count = counted(len(texts), "source file")
        show(f"{count} of this Python's standard library, word 5-grams, threshold {threshold:g}\n", sys.stdout)
        result = dedup_texts(texts, threshold=plan.threshold, keys=names, threads=plan.threads)
        length = dict(zip(names, map(len, texts), strict=True))
        shown = sorted(result.removed, key=lambda removal: -length[removal.key])
        for removal in shown[:25]:
            print(f"{removal.similarity:.3f}  {removal.key}  is like  {removal.kept_key}")
        if len(shown) > 25:
            print(f"... and {len(shown) - 25:,} more")
        print()
        finish(result, quiet)


def version(wanted: bool) -> None:
    if wanted:
        print(f"lshfast {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Find and remove near-duplicate texts, exactly verified."""
