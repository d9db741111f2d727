"""The commands of ``lshfast stage``: they convert options to arguments and contain no other
logic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lshfast._cli.console import account_table, show
from lshfast._cli.errors import Commands, one_line_errors
from lshfast._cli.options import (
    AnnotateOption,
    BandsOption,
    By,
    Column,
    DefuseOption,
    DelimiterOption,
    Encoding,
    ExactOption,
    FormatOption,
    Glob,
    GroupsOption,
    Html,
    HtmlTexts,
    IdColumn,
    IgnoreCommon,
    KeepOption,
    MaxColumns,
    MaxRemoved,
    MaxRowBytes,
    Most,
    NumPerm,
    OutputFormatOption,
    Overwrite,
    Quiet,
    RecallOrDefault,
    RowsPerBand,
    SchemeOption,
    SeedOption,
    Size,
    StopWords,
    TextMeasureOption,
    ThresholdOrDefault,
    Top,
    UnitOption,
    VerifyOption,
    page_output,
)
from lshfast._common.choices import MAX_COLUMNS, MAX_ROW_BYTES

if TYPE_CHECKING:
    from lshfast.stages import StageName

stage_app: typer.Typer = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run dedup as tasks of separate processes.",
)

WorkFolderArgument = Annotated[
    str, typer.Argument(metavar="WORK", help="The folder of the plan.", show_default=False)
]
TaskOption = Annotated[
    str,
    typer.Option(
        metavar="N|all", help="The number of the task, from 0; all: those that are not done."
    ),
]

# What the tasks of each stage do.
DOES = {
    "count": "Find shingles that may be common.",
    "recount": "Count shingles that may be common.",
    "sketch": "Make bucket keys of the texts of a shard.",
    "band": "Sort the bucket keys of a shard.",
    "join": "Link rows that share a bucket.",
    "group": "Divide the linked rows into parts; one task.",
    "collect": "Read the texts of a shard to be compared.",
    "verify": "Find the rows of some parts to be removed.",
    "apply": "Write the rows of a shard that are kept.",
}


@stage_app.command(no_args_is_help=True)
def plan(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="JSONL, CSV, TSV (also .gz, .zst, .bz2, .xz) or Parquet that every task can "
            "open: files, folders, "
            "'patterns*', URLs.",
            show_default=False,
        ),
    ],
    work: Annotated[
        str, typer.Option(metavar="DIR", help="New folder for the plan and the files of the tasks.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="New folder for the rows that stay, a file a shard: kept, kept.jsonl.gz.",
        ),
    ],
    shards: Annotated[
        int | None,
        typer.Option(
            help="Portions of whole input files; default: a gigabyte each.", show_default=False
        ),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option(
            help="Tasks of join and of verify; default: as many as shards.", show_default=False
        ),
    ] = None,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory that a task may take, like 4G.")
    ] = "2G",
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Also write the similar pairs, a table for each task of verify."
        ),
    ] = None,
    removed: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Also write key, kept_key and similarity of removed rows."
        ),
    ] = None,
    rejected: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Skip bad rows, and write them here; by default they are errors."
        ),
    ] = None,
    column: Column = "text",
    id_column: IdColumn = None,
    glob: Glob = None,
    encoding: Encoding = "utf-8",
    format: FormatOption = None,
    max_row_bytes: MaxRowBytes = MAX_ROW_BYTES,
    delimiter: DelimiterOption = None,
    max_columns: MaxColumns = MAX_COLUMNS,
    output_format: OutputFormatOption = None,
    defuse_formulas: DefuseOption = False,
    threshold: ThresholdOrDefault = None,
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
    measure: TextMeasureOption = None,
    ignore_common: IgnoreCommon = None,
    top: Top = None,
    most: Most = None,
    groups: GroupsOption = "star",
    keep: KeepOption = "first",
    by: By = None,
    max_removed: MaxRemoved = None,
    annotate: AnnotateOption = False,
    threads: Annotated[int, typer.Option(help="Threads of a task.")] = 1,
    seed: SeedOption = 1,
    quiet: Quiet = False,
) -> None:
    """Plan a run.

    The plan is in the folder WORK, where the tasks of the other commands find it.
    """
    with one_line_errors():
        from lshfast import stages

        stages.plan(
            inputs,
            work,
            output,
            shards=shards,
            tasks=tasks,
            memory=memory,
            pairs=pairs,
            removed=removed,
            rejected=rejected,
            column=column,
            id_column=id_column,
            glob=glob,
            encoding=encoding,
            format=format,
            max_row_bytes=max_row_bytes,
            delimiter=delimiter,
            max_columns=max_columns,
            output_format=output_format,
            defuse_formulas=defuse_formulas,
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
            exact=exact,
            groups=groups,
            measure=measure,
            ignore_common=ignore_common,
            top=top,
            most=most,
            keep=keep,
            by=by,
            max_removed=max_removed,
            annotate=annotate,
            threads=threads,
            seed=seed,
        )
        if not quiet:
            _show_tasks(work)


def _show_tasks(work: str) -> None:
    """Print the number of tasks of each stage that has any, and how many are done."""
    from lshfast import stages

    found = stages.status(work)
    lines = [f"{'stage':<10}{'tasks':>8}{'done':>8}  not done"]
    for stage, count in found.tasks.items():
        if not count:
            continue
        done = set(found.done[stage])
        left = [number for number in range(count) if number not in done]
        named = ("all" if len(left) == count else ranges(left)) if left else ""
        lines.append(f"{stage:<10}{count:>8}{len(done):>8}  {named}".rstrip())
    show("\n".join(lines), sys.stdout)
    if found.summary is not None:
        show("\n" + account_table(found.summary), sys.stdout)


def ranges(numbers: list[int]) -> str:
    """Return ascending numbers as Slurm's --array takes them, like 0-3,7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


@stage_app.command(no_args_is_help=True)
def status(
    work: WorkFolderArgument,
    html: Html = None,
    html_texts: HtmlTexts = True,
    overwrite: Overwrite = False,
) -> None:
    """Show which tasks are done.

    Once all tasks of verify are done, also the figures of the run; --html then writes a page that
    shows what it found.
    """
    with one_line_errors():
        from lshfast import stages

        page = page_output(html, html_texts)
        if page is not None:
            stages.write_page(
                work, page.path, texts=page.texts, command=page.command, overwrite=overwrite
            )
        _show_tasks(work)


def _task_command(stage: StageName) -> Callable[..., None]:
    def command(work: WorkFolderArgument, task: TaskOption = "all", quiet: Quiet = False) -> None:
        with one_line_errors():
            from lshfast import stages

            numbers = range(stages.tasks(work, stage)) if task == "all" else [_number(task)]
            for number in numbers:
                ran = stages.run(work, stage, number)
                if not quiet:
                    print(f"{stage} {number}: {'done' if ran else 'done already'}", file=sys.stderr)

    command.__doc__ = DOES[stage]
    return command


def _number(task: str) -> int:
    if not (task.isascii() and task.isdigit()):
        raise ValueError(f"task must be a number or all, not {task!r}")
    return int(task)


_stages: Any = DOES
for _stage in _stages:
    stage_app.command(name=_stage, no_args_is_help=True)(_task_command(_stage))
