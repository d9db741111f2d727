"""The commands `lshfast dedup` and `lshfast pairs`, on this machine and on Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lshfast._cli.errors import resume_advice
from lshfast._engine.options.command import QUIET, Command, Console, output_option
from lshfast._engine.options.declaration import Options
from lshfast._engine.options.declared import ENGINE, MASTER, OPTIONS, TABLES
from lshfast._engine.options.rules import of_group, refuse, taken_by_verb

if TYPE_CHECKING:
    from lshfast._engine.account.report import DedupResult
    from lshfast._engine.executors.local.job import FileJob

DEDUP_OPTIONS = (
    output_option(
        "Rows that stay: .jsonl, .csv, .tsv (also .gz, .zst, .bz2, .xz), .parquet, - (stdout).",
        required=False,
    ),
    *taken_by_verb("dedup"),
    ENGINE,
    MASTER,
    QUIET,
)
PAIRS_OPTIONS = (
    output_option(f"key_i, key_j, similarity: {TABLES}."),
    *taken_by_verb("pairs"),
    replace(ENGINE, help="spark: run on Spark; OUT is a folder, .parquet or .jsonl."),
    MASTER,
    QUIET,
)


def dedup(options: Options, console: Console) -> None:
    """Remove near-duplicate rows.

    Writes the rows that stay to OUT. The closing table accounts for every row; --removed names each
    removed row, the row kept in its place, and their similarity.
    """
    if options.output is None and options.clusters is None and not options.dry_run:
        raise ValueError("an output is needed: -o FILE (or --dry-run)")
    if options.engine == "spark":
        _dedup_on_spark(options, console)
        return
    _refuse_master(options)
    from lshfast._engine.executors.local.job import FileJob

    job = FileJob.of_rows(options.inputs, options, console.page(options))
    if options.split:
        with console.watching(options.output, job.source, job.plan) as watch:
            paragraphs = job.run_paragraphs(options.split, watch)
        console.finish(paragraphs)
        return
    console.finish(_run(job, options, console).summary)


def pairs(options: Options, console: Console) -> None:
    """Write the pairs of similar rows.

    An exact copy is paired with the first row of that text only.
    """
    if options.engine == "spark":
        _pairs_on_spark(options, console)
        return
    _refuse_master(options)
    from lshfast._engine.executors.local.job import FileJob

    job = FileJob.of_pairs(options.inputs, options, console.page(options))
    summary = _run(job, options, console).summary
    console.finish(summary, summary.figures(removing=False))


def _run(job: FileJob, options: Options, console: Console) -> DedupResult:
    """Run a job whose progress the console shows."""
    with (
        resume_advice(options.work),
        console.watching(options.output, job.source, job.plan) as watch,
    ):
        return job.run(watch)


# The options of a plan that Spark takes.
SPARK_PLAN = [name for name in of_group("plan") if "spark" in OPTIONS[name].drivers]


def _dedup_on_spark(options: Options, console: Console) -> None:
    from lshfast.spark.file_outputs import SparkOutputs
    from lshfast.spark.files import run_files

    _check_spark(options, "dedup")
    folders = SparkOutputs(
        options.output, options.removed, options.overwrite, page=console.page(options)
    )
    if options.dry_run:
        folders = SparkOutputs(overwrite=options.overwrite)
    names = [name for name in SPARK_PLAN if name not in ("top", "most")]
    summary = run_files(
        options.inputs,
        folders,
        **options.picked(
            (
                "column",
                "id_column",
                "keep",
                "by",
                "exact_key",
                "against",
                "against_column",
                "against_id_column",
                "max_removed",
                "master",
                *names,
            )
        ),
    )
    console.finish(summary)


def _pairs_on_spark(options: Options, console: Console) -> None:
    from lshfast.spark.files import run_pairs

    _check_spark(options, "pairs")
    names = [name for name in SPARK_PLAN if name != "groups"]
    summary = run_pairs(
        options.inputs,
        options.output,
        page=console.page(options),
        **options.picked(("column", "id_column", "master", "overwrite", *names)),
    )
    console.finish(summary, summary.figures(removing=False))


def _check_spark(options: Options, command: str) -> None:
    """Raise ValueError for what a command with --engine spark cannot do."""
    refuse("spark", [name for name in OPTIONS if name in options.given], command)
    if options.output == "-":
        raise ValueError("--engine spark writes folders, not to standard output (-)")


def _refuse_master(options: Options) -> None:
    if options.master is not None:
        raise ValueError("--master is an option of --engine spark")


COMMANDS = (
    Command(
        "dedup",
        dedup,
        DEDUP_OPTIONS,
        examples=(
            "lshfast dedup crawl.jsonl.zst -o kept.jsonl.zst --html report.html",
            "lshfast dedup february.jsonl --against january.jsonl -o new.jsonl",
            "lshfast dedup vectors.npy --threshold 0.97 -o kept.parquet --memory 4G",
        ),
    ),
    Command(
        "pairs",
        pairs,
        PAIRS_OPTIONS,
        examples=(
            "lshfast pairs crawl.jsonl -o pairs.parquet",
            "lshfast pairs photos.csv --column hash --as code --radius 6 -o pairs.csv",
            "lshfast pairs titles.csv --unit char --threshold 0.6 --top 5 -o pairs.csv",
        ),
    ),
)
