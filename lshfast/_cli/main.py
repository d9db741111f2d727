"""The commands: they convert options to arguments and contain no other logic."""

from __future__ import annotations

import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

import typer

from lshfast._cli.check import check_command
from lshfast._cli.completion import columns
from lshfast._cli.console import (
    Watch,
    finish,
    forecast_table,
    memory_table,
    plan_table,
    show,
    table_lines,
)
from lshfast._cli.errors import memory_advice, one_line_errors, resume_advice
from lshfast._cli.explain import explain_command
from lshfast._cli.fingerprints import fingerprints_app
from lshfast._cli.genomes import genomes_command
from lshfast._cli.images import images_command
from lshfast._cli.index import index_app
from lshfast._cli.label import label_command
from lshfast._cli.options import (
    TABLES,
    AnnotateOption,
    BandsOption,
    By,
    ChangesOption,
    ClustersOption,
    Column,
    DefuseOption,
    DelimiterOption,
    Encoding,
    ExactOption,
    FormatOption,
    Glob,
    GroupsOption,
    Html,
    HtmlColumn,
    HtmlTexts,
    IdColumn,
    IgnoreCommon,
    ItemMeasureOption,
    KeepOption,
    KindOption,
    Master,
    MaxCandidates,
    MaxColumns,
    MaxRemoved,
    MaxRowBytes,
    Memory,
    Most,
    NumPerm,
    OnDuplicateOption,
    OnErrorOption,
    OutputFormatOption,
    Overwrite,
    Paths,
    Quiet,
    Radius,
    RecallOrDefault,
    Resume,
    RowsPerBand,
    SchemeOption,
    SeedOption,
    Size,
    StopWords,
    Threads,
    Threshold,
    ThresholdOrDefault,
    Top,
    UnitOption,
    VerifyOption,
    Work,
    given,
    help_of,
    page_output,
)
from lshfast._cli.overview import Overview
from lshfast._cli.passages import passages_command
from lshfast._cli.records import records_app
from lshfast._cli.stage import stage_app
from lshfast._cli.web import web_app
from lshfast._common.choices import MAX_COLUMNS, MAX_ROW_BYTES, DemoData, plural
from lshfast._common.display import counted
from lshfast._common.version import VERSION
from lshfast._engine.libraries import LIBRARIES, library_defaults
from lshfast._engine.options import OPTIONS, refuse

app: typer.Typer = typer.Typer(
    cls=Overview,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Find and remove near-duplicate texts, exactly verified.",
    epilog="lshfast COMMAND -h lists the options of a command. lshfast demo needs no data.",
)

app.add_typer(index_app, name="index")
app.add_typer(records_app, name="records")
app.add_typer(web_app, name="web")
app.add_typer(fingerprints_app, name="fingerprints")
app.add_typer(stage_app, name="stage")


def app_for(arguments: list[str]) -> typer.Typer:
    """Return the application, with only the command or group that the arguments name: typer
    prepares all there are.
    """
    first = arguments[0] if arguments else ""
    commands = [
        info
        for info in app.registered_commands
        if first == (info.name or getattr(info.callback, "__name__", ""))
    ]
    groups = [info for info in app.registered_groups if first == info.name]
    if not commands + groups:
        return app
    one = copy(app)
    one.registered_commands = commands
    one.registered_groups = groups
    return one


Engine: TypeAlias = Literal["local", "spark"]


def check_spark(context: typer.Context, output: str | None) -> None:
    """Raise ValueError for what a command with --engine spark cannot do."""
    refuse("spark", given(context, dict.fromkeys(OPTIONS)), context.command.name or "")
    if output == "-":
        raise ValueError("--engine spark writes folders, not to standard output (-)")


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
            help="Rows that stay: .jsonl, .csv, .tsv (also .gz, .zst, .bz2, .xz), .parquet, - "
            "(stdout).",
        ),
    ] = None,
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    max_columns: MaxColumns = MAX_COLUMNS,
    kind: KindOption = None,
    group_by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help=help_of("group_by"), autocompletion=columns)
    ] = None,
    item: Annotated[
        str | None, typer.Option(metavar="COLUMN", help=help_of("item"), autocompletion=columns)
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help=help_of("weight"), autocompletion=columns)
    ] = None,
    threshold: ThresholdOrDefault = None,
    radius: Radius = None,
    unit: UnitOption = "word",
    size: Size = None,
    stop_words: StopWords = None,
    num_perm: NumPerm = 128,
    scheme: SchemeOption = "fast",
    recall: RecallOrDefault = None,
    bands: BandsOption = None,
    rows_per_band: RowsPerBand = None,
    verify: VerifyOption = "exact",
    exact: ExactOption = None,
    measure: ItemMeasureOption = None,
    ignore_common: IgnoreCommon = None,
    max_candidates: MaxCandidates = None,
    groups: GroupsOption = "star",
    keep: KeepOption = "first",
    by: By = None,
    max_removed: MaxRemoved = None,
    annotate: AnnotateOption = False,
    pairs: Annotated[str | None, typer.Option(metavar="FILE", help=help_of("pairs"))] = None,
    top: Top = None,
    most: Most = None,
    removed: Annotated[str | None, typer.Option(metavar="FILE", help=help_of("removed"))] = None,
    html: Html = None,
    html_texts: HtmlTexts = True,
    html_column: HtmlColumn = None,
    split: Annotated[
        Literal["paragraph"] | None, typer.Option(help=help_of("split"), show_default=False)
    ] = None,
    against: Annotated[str | None, typer.Option(metavar="INDEX", help=help_of("against"))] = None,
    save_index: Annotated[
        str | None, typer.Option(metavar="INDEX", help=help_of("save_index"))
    ] = None,
    on_duplicate: OnDuplicateOption = "error",
    clusters: ClustersOption = None,
    changes: ChangesOption = None,
    on_error: OnErrorOption = "stop",
    memory: Memory = None,
    work: Work = None,
    resume: Resume = False,
    threads: Threads = None,
    seed: SeedOption = 1,
    overwrite: Overwrite = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=help_of("dry_run"))] = False,
    engine: Annotated[
        Engine,
        typer.Option(
            help="spark: run on Spark; OUT and --removed are folders, .parquet or .jsonl."
        ),
    ] = "local",
    master: Master = None,
    quiet: Quiet = False,
) -> None:
    """Remove near-duplicate rows.

    Writes the rows that stay to OUT. The closing table accounts for every row; --removed names each
    removed row, the row kept in its place, and their similarity.
    """
    with one_line_errors():
        from lshfast._engine.cluster_file import cluster_output
        from lshfast._engine.executors.local.cap import cap_of
        from lshfast._engine.executors.local.outputs import Outputs
        from lshfast._engine.executors.local.run import run_files
        from lshfast._engine.indexes import Indexes, plan_of_items
        from lshfast._engine.inputs import Inputs, output_of
        from lshfast._engine.listed_pairs import check_listing

        if output is None and clusters is None and not dry_run:
            raise ValueError("an output is needed: -o FILE (or --dry-run)")
        check_listing(pairs, top, most)
        options: dict[str, Any] = dict(
            threshold=threshold,
            unit=unit,
            size=size,
            stop_words=stop_words,
            num_perm=num_perm,
            scheme=scheme,
            recall=recall,
            bands=bands,
            rows_per_band=rows_per_band,
            seed=seed,
        )
        others: dict[str, Any] = dict(
            verify=verify, exact=exact, groups=groups, measure=measure, ignore_common=ignore_common
        )
        if engine == "spark":
            from lshfast.spark.files import SparkOutputs
            from lshfast.spark.files import run_files as run_on_spark

            check_spark(context, output)
            folders = SparkOutputs(output, removed, overwrite, page=page_output(html, html_texts))
            if dry_run:
                folders = SparkOutputs(overwrite=overwrite)
            summary = run_on_spark(
                inputs,
                folders,
                column=column,
                id_column=id_column,
                keep=keep,
                by=by,
                max_removed=max_removed,
                master=master,
                **options,
                **others,
            )
            finish(summary, quiet)
            return
        if master is not None:
            raise ValueError("--master is an option of --engine spark")
        others |= dict(threads=threads, top=top, most=most)
        indexes = Indexes(against, save_index, on_duplicate, dry_run)
        source = Inputs(
            inputs,
            column,
            id_column,
            glob,
            on_error,
            encoding,
            format,
            max_row_bytes,
            delimiter,
            max_columns,
            by,
            kind,
            group_by,
            item,
            weight,
        )
        outside = dict(
            radius=radius,
            against=against,
            save_index=save_index,
            on_duplicate=on_duplicate,
            memory=memory,
            resume=resume,
            max_candidates=max_candidates,
        )
        outside |= dict(split=split)
        plan = plan_of_items(
            source, given(context, options) if against else options, others, outside
        )
        outputs = Outputs(
            output_of(output, source, output_format, defuse_formulas),
            output_of(pairs, source, None, defuse_formulas),
            output_of(removed, source, None, defuse_formulas),
            annotate,
            overwrite,
            page_output(html, html_texts, html_column),
            max_removed,
            cluster_output(clusters, output_of(changes, source, None, defuse_formulas)),
        )
        if dry_run:
            outputs = outputs.dry
        if split:
            from lshfast._engine.paragraphs import run_paragraphs
            from lshfast._engine.plan import Plan

            assert isinstance(plan, Plan)  # split is refused for other kinds
            with memory_advice(source, plan), Watch(quiet, output) as watch:
                paragraphs = run_paragraphs(
                    source,
                    outputs,
                    plan,
                    keep=keep,
                    indexes=indexes,
                    cap=cap_of(memory, work, resume),
                    progress=watch,
                )
            finish(paragraphs, quiet)
            return
        with resume_advice(work), memory_advice(source, plan), Watch(quiet, output) as watch:
            result = run_files(
                source,
                outputs,
                plan,
                keep=keep,
                indexes=indexes,
                cap=cap_of(memory, work, resume),
                progress=watch,
            )
        finish(result.summary, quiet)


@app.command(name="pairs", no_args_is_help=True)
def pairs_command(
    context: typer.Context,
    inputs: Paths,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="OUT", help=f"key_i, key_j, similarity: {TABLES}."),
    ],
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    kind: KindOption = None,
    threshold: ThresholdOrDefault = None,
    radius: Radius = None,
    unit: UnitOption = "word",
    size: Size = None,
    stop_words: StopWords = None,
    num_perm: NumPerm = 128,
    scheme: SchemeOption = "fast",
    recall: RecallOrDefault = None,
    bands: BandsOption = None,
    rows_per_band: RowsPerBand = None,
    verify: VerifyOption = "exact",
    exact: ExactOption = None,
    measure: ItemMeasureOption = None,
    ignore_common: IgnoreCommon = None,
    max_candidates: MaxCandidates = None,
    top: Top = None,
    most: Most = None,
    html: Html = None,
    html_texts: HtmlTexts = True,
    html_column: HtmlColumn = None,
    on_error: OnErrorOption = "stop",
    memory: Memory = None,
    work: Work = None,
    resume: Resume = False,
    threads: Threads = None,
    seed: SeedOption = 1,
    overwrite: Overwrite = False,
    engine: Annotated[
        Engine, typer.Option(help="spark: run on Spark; OUT is a folder, .parquet or .jsonl.")
    ] = "local",
    master: Master = None,
    quiet: Quiet = False,
) -> None:
    """Write the pairs of similar rows.

    An exact copy is paired with the first row of that text only.
    """
    with one_line_errors():
        from lshfast._engine.executors.local.cap import cap_of
        from lshfast._engine.executors.local.outputs import Outputs
        from lshfast._engine.executors.local.run import run_files
        from lshfast._engine.indexes import plan_of_items
        from lshfast._engine.inputs import Inputs, output_of

        options: dict[str, Any] = dict(
            threshold=threshold,
            unit=unit,
            size=size,
            stop_words=stop_words,
            num_perm=num_perm,
            scheme=scheme,
            recall=recall,
            bands=bands,
            rows_per_band=rows_per_band,
            verify=verify,
            seed=seed,
            measure=measure,
            ignore_common=ignore_common,
            top=top,
            most=most,
        )
        if engine == "spark":
            from lshfast.spark.files import run_pairs as pairs_on_spark

            check_spark(context, output)
            summary = pairs_on_spark(
                inputs,
                output,
                column=column,
                id_column=id_column,
                master=master,
                overwrite=overwrite,
                page=page_output(html, html_texts),
                exact=exact,
                **options,
            )
            finish(summary, quiet, summary.figures(removing=False))
            return
        if master is not None:
            raise ValueError("--master is an option of --engine spark")
        source = Inputs(
            inputs,
            column,
            id_column,
            glob,
            on_error,
            encoding,
            format,
            max_row_bytes,
            delimiter,
            kind=kind,
        )
        outside = dict(radius=radius, memory=memory, resume=resume, max_candidates=max_candidates)
        plan = plan_of_items(source, options, dict(threads=threads, exact=exact), outside)
        with resume_advice(work), memory_advice(source, plan), Watch(quiet, output) as watch:
            cap = cap_of(memory, work, resume)
            page = page_output(html, html_texts, html_column)
            listed = output_of(output, source, output_format, defuse_formulas)
            outputs = Outputs(pairs=listed, overwrite=overwrite, page=page)
            result = run_files(source, outputs, plan, cap=cap, progress=watch)
        finish(result.summary, quiet, result.summary.figures(removing=False))


app.command(name="explain", no_args_is_help=True)(explain_command)
app.command(name="check", no_args_is_help=True)(check_command)
app.command(name="label", no_args_is_help=True)(label_command)
app.command(name="passages", no_args_is_help=True)(passages_command)
app.command(name="genomes", no_args_is_help=True)(genomes_command)
app.command(name="images", no_args_is_help=True)(images_command)


@app.command()
def tune(
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="INPUT", help="As for dedup.", show_default=False)
    ] = None,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    kind: KindOption = None,
    unit: UnitOption = "word",
    size: Size = None,
    threshold: ThresholdOrDefault = None,
    radius: Radius = None,
    num_perm: NumPerm = 128,
    recall: RecallOrDefault = None,
    bands: BandsOption = None,
    rows_per_band: RowsPerBand = None,
    exact: ExactOption = None,
    measure: ItemMeasureOption = None,
    by: By = None,
    memory: Memory = None,
    threads: Threads = None,
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="Number of rows, without INPUT.")
    ] = None,
    mean_bytes: Annotated[
        int, typer.Option(help="Mean bytes of a text or set, with --rows.")
    ] = 5000,
    dim: Annotated[
        int | None,
        typer.Option(metavar="N", help="Coordinates of a vector or bits of a code, without INPUT."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the S-curve in FILE, which is replaced: .png, .svg, .pdf."
        ),
    ] = None,
    like: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIBRARY",
            help="Also show what the defaults of a library find; repeatable: "
            f"{', '.join(LIBRARIES)}.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show the recall and the memory of a run.

    Nothing is compared: recall follows from the options, and memory from the size of INPUT. With
    INPUT, shingles and a threshold are recommended for texts of this length. With --memory, also
    what a run within it takes. For vectors and codes, also the plan of an index; for these and
    weighted sets, with INPUT also how near random rows are. With --like, also what the default
    settings of other libraries find, at each similarity of their own shingles.
    """
    with one_line_errors():
        from lshfast._engine.any_plan import plan_for
        from lshfast._engine.budget import bytes_of_values
        from lshfast._engine.display import input_figures
        from lshfast._engine.executors.local.cap import cap_of
        from lshfast._engine.executors.local.run import recommend_for
        from lshfast._engine.inputs import Inputs, input_notes, measure_inputs
        from lshfast._engine.plan import check_bands_only
        from lshfast._engine.short_texts import threshold_for
        from lshfast._items.measures import PointPlan

        source = Inputs(
            inputs or [],
            column,
            id_column,
            glob,
            "stop",
            encoding,
            format,
            max_row_bytes,
            delimiter,
            by=by,
            kind=kind,
        )
        known = source.kind_of_items() if inputs else kind or "text"
        plan = plan_for(
            known,
            dict(
                threshold=threshold,
                unit=unit,
                size=size,
                num_perm=num_perm,
                recall=recall,
                bands=bands,
                rows_per_band=rows_per_band,
                threads=threads,
                exact=exact,
                measure=measure,
                radius=radius,
            ),
        )
        cap = cap_of(memory, None, False)
        if cap is not None and not inputs:
            raise ValueError("memory needs INPUT, of which a run is estimated")
        if cap is not None and "-" in (inputs or []):
            raise ValueError(
                "memory needs INPUT that can be read several times, not standard input"
            )
        for name, value in (("rows", rows), ("dim", dim)):
            if value is not None and inputs:
                raise ValueError(f"{name} is for a plan without INPUT, and INPUT is given")
        if by is not None and not inputs:
            raise ValueError("by needs INPUT, whose values are counted")
        if (rows is not None and rows < 0) or mean_bytes < 0:
            raise ValueError(
                f"rows and mean_bytes must not be negative, not {rows} and {mean_bytes}"
            )
        libraries = [library_defaults(name) for name in dict.fromkeys(like or [])]
        if isinstance(plan, PointPlan):
            from lshfast._engine.forecasts.points import forecast_points

            if dim is not None and plan.kind == "weighted":
                raise ValueError("dim is for vectors and codes, not for weighted sets")
            table = "the table shows what is found at each similarity or distance"
            for name, given, instead in (
                ("memory", memory, "the table shows what a run needs with and without --memory"),
                (
                    "plot",
                    plot,
                    "index.plan.plot() of a NearNeighbors draws its recall"
                    if known == "vector"
                    else table,
                ),
                ("like", like or None, table),
            ):
                if given is not None:
                    raise ValueError(
                        f"{name} is for texts and sets, not for {plural(known)}: {instead}"
                    )
            show(
                "\n".join(forecast_points(source if inputs else None, plan, rows, dim).lines()),
                sys.stdout,
            )
            if inputs:
                print(
                    "\nlshfast check, with these options, counts the similar pairs and what share "
                    "of them is found"
                )
            return
        if dim is not None:
            raise ValueError(f"dim is for vectors and codes, not for {plural(known)}")
        plan = replace(plan, sets=known == "set")
        if plan.exact and not plan.exact_by_default:
            for name, given in (("plot", plot), ("like", like or None)):
                if given is not None:
                    raise ValueError(
                        f"{name} shows what bands find, and an exact join has none: leave out "
                        "--exact"
                    )
        if cap is not None:
            check_bands_only(plan, "cap", "tune")
        if plot is not None:
            from lshfast._common.checks import check_plot

            check_plot(plot, svg_needs_it=False)
        amount = None if rows is None else (rows, rows * mean_bytes)
        corpus = source.sample(plan) if inputs else None
        values = 0
        if corpus is not None:
            amount = measure_inputs(corpus)
            values = bytes_of_values(corpus.by, amount[0])
        if plot is not None and plot.suffix.lower() == ".svg":
            from lshfast._engine.dedup_page import drawing_of_plan

            drawing_of_plan(plan, libraries).save(plot, overwrite=True)
        elif plot is not None:
            from lshfast.families.plots import plot_curve

            others = {f"{library.name} {library.version}": library.banding for library in libraries}
            plot_curve(plan.bands, threshold=plan.equal_jaccard, path=plot, others=others)
        show(plan_table(plan, libraries), sys.stdout)
        if amount is not None:
            held = corpus is None or corpus.held
            print(f"\n{memory_table(plan, *amount, held=held, values=values)}")
        if cap is not None:
            from lshfast._engine.forecasts.texts import forecast

            expected = forecast(source, plan, cap.memory)
            table = (
                "there are no texts"
                if expected is None
                else forecast_table(expected, cap.memory, plan.threads)
            )
            print(f"\n{table}")
        if corpus is not None:
            reading = input_notes(corpus)
            other = table_lines(
                input_figures(reading["delimiters"], reading["unread"], reading["lines"])
            )
            if other:
                print("\n" + "\n".join(other))
        better = recommend_for(corpus) if corpus is not None and not plan.sets else None
        if better is not None:
            least = threshold_for(plan.measure, better)
            options = f"--unit {better.unit} --size {better.size} --threshold {least:g}"
            print(f"\nrecommended for texts of this length: {options}")


@app.command()
def demo(
    context: typer.Context,
    data: Annotated[
        DemoData | None,
        typer.Argument(
            metavar="DATA",
            help="The data set: " + ", ".join(get_args(DemoData)) + ".",
            show_default=False,
        ),
    ] = None,
    threshold: Threshold = 0.5,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Write a small data set to try commands on.

    DATA is written into a new folder of that name, and a command to begin with is printed. Without
    DATA, near-duplicates among the sources of Python's standard library are shown.
    """
    with one_line_errors():
        if data is not None:
            for option in given(
                context, {"threshold": threshold, "threads": threads, "quiet": quiet}
            ):
                raise ValueError(f"--{option} is for the demo without DATA")
            from lshfast._cli.demo_data import write_data

            print(write_data(data, Path(data)))
            return
        from lshfast._cli.demo import standard_library
        from lshfast._engine.executors.memory import dedup as dedup_texts
        from lshfast._engine.plan import make_plan

        plan = make_plan(threshold=threshold, threads=threads)
        names, texts = standard_library()
        count = counted(len(texts), "source file")
        show(
            f"{count} of this Python's standard library, word 5-grams, threshold {threshold:g}\n",
            sys.stdout,
        )
        result = dedup_texts(texts, threshold=plan.threshold, keys=names, threads=plan.threads)
        length = dict(zip(names, map(len, texts), strict=True))
        shown = sorted(result.removed, key=lambda removal: -length[removal.key])
        for removal in shown[:25]:
            print(f"{removal.similarity:.3f}  {removal.key}  is like  {removal.kept_key}")
        if len(shown) > 25:
            print(f"... and {len(shown) - 25:,} more")
        print()
        finish(result.summary, quiet)


def version(wanted: bool) -> None:
    if wanted:
        print(f"lshfast {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find and remove near-duplicate texts, exactly verified."""
