"""The commands of ``lshfast stage``: what they take, and what they run."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Literal

from lshfast._engine.options.command import (
    QUIET,
    Argument,
    Command,
    CommandGroup,
    Console,
    Run,
    daily_option,
    options_named,
)
from lshfast._engine.options.declaration import Options
from lshfast._engine.options.rules import taken_by_verb

if TYPE_CHECKING:
    from lshfast._common.progress import Progress
    from lshfast.stages import StageName

WORK = Argument("work", "WORK", "The folder of the plan.", str)
TASK = daily_option(
    "task",
    "all",
    "The number of the task, from 0; all: those that are not done.",
    metavar="N|all",
)

# What the tasks of each stage do.
DOES: dict[StageName, str] = {
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


PLAN_INPUTS = Argument(
    "inputs",
    "INPUT",
    "Files that every task can open, folders, 'patterns*', URLs.",
)
# The options that mean a folder, or a task.
OF_TASKS = {
    option.name: option
    for option in (
        daily_option(
            "work",
            None,
            "New folder for the plan and the files of the tasks.",
            metavar="DIR",
            required=True,
        ),
        daily_option(
            "output",
            None,
            "New folder for the rows that stay, a file a shard: kept, kept.jsonl.gz.",
            letter="o",
            metavar="DIR",
            required=True,
        ),
        daily_option(
            "shards",
            None,
            "Portions of the input files; default: a gigabyte each.",
            int,
        ),
        daily_option(
            "tasks",
            None,
            "Tasks of join and of verify; default: as many as shards.",
            int,
        ),
        daily_option(
            "memory", "2G", "Memory that a task may take, like 4G.", metavar="SIZE"
        ),
        daily_option(
            "pairs",
            None,
            "Also write the similar pairs, a table for each task of verify.",
            metavar="DIR",
        ),
        daily_option(
            "removed",
            None,
            "Also write key, kept_key and similarity of removed rows.",
            metavar="DIR",
        ),
        daily_option(
            "rejected",
            None,
            "Skip bad rows, and write them here; by default they are errors.",
            metavar="DIR",
        ),
        daily_option("threads", 1, "Threads of a task.", int),
    )
}
PLAN_OPTIONS = [
    *OF_TASKS.values(),
    *(
        option
        for option in taken_by_verb("dedup", "stages")
        if option.name not in OF_TASKS
    ),
]


def plan(options: Options, console: Console) -> None:
    """Plan a run.

    The plan is in the folder WORK, where the tasks of the other commands find it.
    """
    from lshfast import stages

    names = [
        option.name for option in PLAN_OPTIONS if option.name not in ("work", "output")
    ]
    stages.plan(options.inputs, options.work, options.output, **options.picked(names))
    if not options.quiet:
        _show_tasks(options.work, console)


def _show_tasks(work: str, console: Console) -> None:
    """Print the number of tasks of each stage that has any, and how many are done."""
    from lshfast import stages
    from lshfast.stages.slurm import ranges

    task_status = stages.status(work)
    lines = [f"{'stage':<10}{'tasks':>8}{'done':>8}  not done"]
    for stage, count in task_status.tasks.items():
        if not count:
            continue
        tasks_done = set(task_status.done[stage])
        open_tasks = [number for number in range(count) if number not in tasks_done]
        task_names = (
            ("all" if len(open_tasks) == count else ranges(open_tasks))
            if open_tasks
            else ""
        )
        lines.append(
            f"{stage:<10}{count:>8}{len(tasks_done):>8}  {task_names}".rstrip()
        )
    console.show("\n".join(lines))
    if task_status.summary is not None:
        console.show("")
        console.report(task_status.summary)


WATCH = daily_option(
    "watch",
    False,
    "Show the progress of the tasks until all are done.",
    bool,
)
STATUS_OPTIONS = (WATCH, *options_named("html", "html_texts", "overwrite"))


def _progress_of(watch: Progress) -> Progress:
    """Return a report of tasks that are done, which names them so."""
    return lambda stage, done, total: watch(f"tasks of {stage}", done, total)


def status(options: Options, console: Console) -> None:
    """Show which tasks are done.

    Once all tasks of verify are done, also the figures of the run; --html then writes a page that
    shows what it found.
    """
    from lshfast import stages

    if options.watch:
        with console.watching() as watch:
            stages.watch(options.work, _progress_of(watch))
    page = console.page(options)
    if page is not None:
        stages.write_page(
            options.work,
            page.path,
            texts=page.texts,
            command=page.command,
            overwrite=options.overwrite,
        )
    _show_tasks(options.work, console)


RUN_OPTIONS = (
    daily_option(
        "executor",
        "processes",
        "Where the tasks run.",
        Literal["processes", "inline", "slurm", "ray", "dask"],
    ),
    daily_option(
        "workers",
        None,
        "Processes of --executor processes; default: the CPUs.",
        int,
    ),
    daily_option(
        "retries",
        2,
        "How often a task that fails is repeated.",
        int,
    ),
    daily_option(
        "address",
        None,
        "The Ray cluster or Dask scheduler.",
    ),
    daily_option(
        "sbatch",
        "",
        "Arguments of sbatch, like '--partition=long --time=60'.",
        metavar="ARGS",
    ),
)


def run(options: Options, console: Console) -> None:
    """Run all tasks that are not done.

    Tasks that fail are repeated. After an interruption, run it again: what is done is not repeated.
    At the end, the figures of the run are shown.
    """
    from lshfast import stages

    with console.watching() as watch:
        summary = stages.run_all(
            options.work,
            executor=options.executor,
            workers=options.workers,
            address=options.address,
            sbatch=_words(options.sbatch),
            retries=options.retries,
            progress=_progress_of(watch),
        )
    console.finish(summary)


def _words(arguments: str) -> list[str]:
    """Return the arguments of sbatch, divided as a shell divides them."""
    try:
        return shlex.split(arguments)
    except ValueError as error:
        raise ValueError(f"sbatch: {arguments!r} has no end: {error}") from None


def _tasks_of(stage: StageName) -> Run:
    """Return what runs tasks of a stage."""

    def run(options: Options, _: Console) -> None:
        from lshfast import stages

        if options.task == "all":
            numbers = list(range(stages.tasks(options.work, stage)))
        else:
            numbers = [_number(options.task)]
        for number in numbers:
            ran = stages.run(options.work, stage, number)
            if not options.quiet:
                print(
                    f"{stage} {number}: {'done' if ran else 'done already'}",
                    file=sys.stderr,
                )

    return run


def _number(task: str) -> int:
    if not (task.isascii() and task.isdigit()):
        raise ValueError(f"task must be a number or all, not {task!r}")
    return int(task)


COMMANDS = (
    CommandGroup(
        "stage",
        "Run dedup as tasks of separate processes.",
        (
            Command(
                "plan",
                plan,
                (*PLAN_OPTIONS, QUIET),
                (PLAN_INPUTS,),
                examples=(
                    "lshfast stage plan crawl/ --work work -o kept/",
                    "lshfast stage plan crawl/ --work work -o kept/ --shards 64 --tasks 16",
                    "lshfast stage plan crawl/ --work work -o kept/ --removed removed/",
                ),
            ),
            Command(
                "run",
                run,
                (*RUN_OPTIONS, QUIET),
                (WORK,),
                examples=(
                    "lshfast stage run work",
                    "lshfast stage run work --workers 4",
                    "lshfast stage run work --executor slurm",
                ),
            ),
            Command("status", status, STATUS_OPTIONS, (WORK,)),
            *(
                Command(stage, _tasks_of(stage), (TASK, QUIET), (WORK,), does)
                for stage, does in DOES.items()
            ),
        ),
    ),
)
