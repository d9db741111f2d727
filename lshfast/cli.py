"""The command line: options to arguments, errors to one line and an exit status. No logic of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lshfast import __version__
from lshfast.cli_index import index_app
from lshfast.cli_options import (
    BandsOption,
    Column,
    Glob,
    IdColumn,
    NumPerm,
    OnDuplicateOption,
    OnErrorOption,
    Overwrite,
    Paths,
    Quiet,
    Recall,
    RowsOption,
    SchemeOption,
    Seed,
    Size,
    Threads,
    Threshold,
    UnitOption,
    VerifyOption,
    given,
    one_line_errors,
)
from lshfast.console import Watch, closing_table, curve_table, memory_table, plot_curve
from lshfast.dedup.demo import standard_library
from lshfast.dedup.files import Outputs, dedup_files, measure, peak_memory
from lshfast.dedup.index_files import Indexes, plan_against
from lshfast.dedup.inputs import Inputs
from lshfast.dedup.pipeline import dedup as dedup_texts
from lshfast.dedup.plan import Grouping, make_plan
from lshfast.dedup.report import DedupResult

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Find and remove near-duplicate texts, exactly verified.",
)

app.add_typer(index_app, name="index")


def finish(result: DedupResult, quiet: bool, removing: bool = True) -> None:
    rejected = result.summary.rejected
    if not quiet:
        print(closing_table(result, peak_memory(), removing), file=sys.stderr)
    elif rejected:
        print(f"lshfast: {rejected:,} rows rejected", file=sys.stderr)


@app.command(no_args_is_help=True)
def dedup(
    context: typer.Context,
    inputs: Paths,
    output: Annotated[str | None, typer.Option("-o", "--output", help=".jsonl, .csv (.gz, .zst), .parquet.")] = None,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = "**/*.txt",
    threshold: Threshold = 0.8,
    unit: UnitOption = "word",
    size: Size = 5,
    num_perm: NumPerm = 128,
    scheme: SchemeOption = "fast",
    recall: Recall = 0.95,
    bands: BandsOption = None,
    rows: RowsOption = None,
    verify: VerifyOption = "exact",
    groups: Annotated[Grouping, typer.Option(help="Each removed row like the kept one, or chained to it.")] = "star",
    keep: Annotated[str, typer.Option(help="first, last, longest, shortest, max:COLUMN or min:COLUMN.")] = "first",
    annotate: Annotated[bool, typer.Option("--annotate", help="Write all rows, duplicate_of added.")] = False,
    pairs: Annotated[str | None, typer.Option(help="Also write the similar pairs to this file.")] = None,
    removed: Annotated[str | None, typer.Option(help="Also write removed rows and their keepers.")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="INDEX", help="Also remove what is like a text of this index.")
    ] = None,
    save_index: Annotated[
        str | None,
        typer.Option(metavar="INDEX", help="Add the rows that stay to the index, or to a new one, in this file."),
    ] = None,
    on_duplicate: OnDuplicateOption = "error",
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    seed: Seed = 1,
    overwrite: Overwrite = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Find everything, write nothing.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write the rows that are no near-duplicates of another, and account for those that are."""
    with one_line_errors():
        if output is None and not dry_run:
            raise ValueError("an output is needed: -o FILE (or --dry-run)")
        options: dict[str, Any] = dict(
            threshold=threshold, unit=unit, size=size, num_perm=num_perm, scheme=scheme, recall=recall,
            bands=bands, rows=rows, seed=seed,
        )  # fmt: skip
        others: dict[str, Any] = dict(verify=verify, groups=groups, threads=threads)
        plan = plan_against(against, given(context, options), **others) if against else make_plan(**options, **others)
        outputs = Outputs(overwrite=overwrite) if dry_run else Outputs(output, pairs, removed, annotate, overwrite)
        indexes = Indexes(against, save_index, on_duplicate, dry_run)
        with Watch(quiet) as watch:
            result = dedup_files(
                Inputs(inputs, column, id_column, glob, on_error), outputs, plan, keep=keep, indexes=indexes,
                progress=watch,
            )  # fmt: skip
        finish(result, quiet)


@app.command(name="pairs", no_args_is_help=True)
def pairs_command(
    inputs: Paths,
    output: Annotated[str, typer.Option("-o", "--output", help="key_i, key_j, similarity: .csv, .jsonl, .parquet.")],
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = "**/*.txt",
    threshold: Threshold = 0.8,
    unit: UnitOption = "word",
    size: Size = 5,
    num_perm: NumPerm = 128,
    scheme: SchemeOption = "fast",
    recall: Recall = 0.95,
    bands: BandsOption = None,
    rows: RowsOption = None,
    verify: VerifyOption = "exact",
    on_error: OnErrorOption = "stop",
    threads: Threads = None,
    seed: Seed = 1,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write the pairs of similar rows; an exact copy is paired with the first of its kind only."""
    with one_line_errors():
        plan = make_plan(
            threshold=threshold, unit=unit, size=size, num_perm=num_perm, scheme=scheme, recall=recall,
            bands=bands, rows=rows, verify=verify, threads=threads, seed=seed,
        )  # fmt: skip
        with Watch(quiet) as watch:
            result = dedup_files(
                Inputs(inputs, column, id_column, glob, on_error), Outputs(pairs=output, overwrite=overwrite),
                plan, progress=watch,
            )  # fmt: skip
        finish(result, quiet, removing=False)


@app.command()
def tune(
    inputs: Annotated[list[str] | None, typer.Argument(metavar="[INPUT...]", show_default=False)] = None,
    column: Column = "text",
    glob: Glob = "**/*.txt",
    threshold: Threshold = 0.8,
    num_perm: NumPerm = 128,
    recall: Recall = 0.95,
    bands: BandsOption = None,
    rows: RowsOption = None,
    threads: Threads = None,
    documents: Annotated[int | None, typer.Option(help="Texts, where no INPUT tells.")] = None,
    mean_bytes: Annotated[int, typer.Option(help="Bytes a text, with --documents.")] = 5000,
    plot: Annotated[Path | None, typer.Option(help="Draw the S-curve into this file (.png, .svg, .pdf).")] = None,
) -> None:
    """Show what a run will find, and the memory it will take, before running it."""
    with one_line_errors():
        plan = make_plan(threshold=threshold, num_perm=num_perm, recall=recall, bands=bands, rows=rows, threads=threads)
        if (documents is not None and documents < 0) or mean_bytes < 0:
            raise ValueError(f"documents and mean_bytes must not be negative, not {documents} and {mean_bytes}")
        size = None if documents is None else (documents, documents * mean_bytes)
        if inputs:
            size = measure(Inputs(inputs, column, glob=glob))
        if plot is not None:
            plot_curve(plan, str(plot))
        print(f"{plan.bands.bands} bands of {plan.bands.rows} rows: {plan.bands.slots} of {num_perm} slots")
        print(f"recall at the threshold {threshold:g}: {plan.recall:.4f}; half found at {plan.bands.half_point:.4f}\n")
        print(curve_table(plan))
        if size is not None:
            print(f"\n{memory_table(plan, *size)}")


@app.command()
def demo(threshold: Threshold = 0.5, threads: Threads = None, quiet: Quiet = False) -> None:
    """Run the main job on the sources of this Python's own standard library."""
    with one_line_errors():
        plan = make_plan(threshold=threshold, threads=threads)
        names, texts = standard_library()
        print(f"{len(texts):,} source files of this Python's standard library, word 5-grams, threshold {threshold:g}\n")
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
