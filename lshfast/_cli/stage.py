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
from lshfast._cli.generated import add_command
from lshfast._cli.options import (
    QUIET,
    Html,
    HtmlTexts,
    Overwrite,
    Quiet,
    page_output,
)
from lshfast._engine.declaration import Option, Options
from lshfast._engine.option_rules import taken_by_verb

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


PLAN_INPUTS = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        help="JSONL, CSV, TSV (also .gz, .zst, .bz2, .xz) or Parquet that every task can open: "
        "files, folders, 'patterns*', URLs.",
        show_default=False,
    ),
]
# The options that mean a folder, or a task.
OF_TASKS = {
    option.name: option
    for option in (
        Option(
            "work",
            None,
            "New folder for the plan and the files of the tasks.",
            metavar="DIR",
            required=True,
            daily=True,
        ),
        Option(
            "output",
            None,
            "New folder for the rows that stay, a file a shard: kept, kept.jsonl.gz.",
            letter="o",
            metavar="DIR",
            required=True,
            daily=True,
        ),
        Option(
            "shards",
            None,
            "Portions of whole input files; default: a gigabyte each.",
            int,
            daily=True,
        ),
        Option(
            "tasks",
            None,
            "Tasks of join and of verify; default: as many as shards.",
            int,
            daily=True,
        ),
        Option("memory", "2G", "Memory that a task may take, like 4G.", metavar="SIZE", daily=True),
        Option(
            "pairs",
            None,
            "Also write the similar pairs, a table for each task of verify.",
            metavar="DIR",
            daily=True,
        ),
        Option(
            "removed",
            None,
            "Also write key, kept_key and similarity of removed rows.",
            metavar="DIR",
            daily=True,
        ),
        Option(
            "rejected",
            None,
            "Skip bad rows, and write them here; by default they are errors.",
            metavar="DIR",
            daily=True,
        ),
        Option("threads", 1, "Threads of a task.", int, daily=True),
    )
}
PLAN_OPTIONS = [
    *OF_TASKS.values(),
    *(option for option in taken_by_verb("dedup", "stages") if option.name not in OF_TASKS),
]


def plan(options: Options) -> None:
    """Plan a run.

    The plan is in the folder WORK, where the tasks of the other commands find it.
    """
    from lshfast import stages

    names = [option.name for option in PLAN_OPTIONS if option.name not in ("work", "output")]
    stages.plan(options.inputs, options.work, options.output, **options.picked(names))
    if not options.quiet:
        _show_tasks(options.work)


add_command(stage_app, "plan", plan, [*PLAN_OPTIONS, QUIET], inputs=PLAN_INPUTS)


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
