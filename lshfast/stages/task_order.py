"""The stages in order: their tasks, the tasks that these need, and how to run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from lshfast._common.visible import printable
from lshfast._engine.parts.stage_index import data_file, has_index, write_index
from lshfast._engine.parts.task_files import manifest_of
from lshfast.stages.applying import apply
from lshfast.stages.collecting import collect
from lshfast.stages.counting import count, recount
from lshfast.stages.grouping import group
from lshfast.stages.joining import join
from lshfast.stages.sketching import band, sketch
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.verifying import verify

StageName: TypeAlias = Literal[
    "count", "recount", "sketch", "band", "join", "group", "collect", "verify", "apply"
]

STAGES: tuple[StageName, ...] = get_args(StageName)

# The stages that have no tasks unless common shingles are ignored.
COUNTING: tuple[StageName, ...] = ("count", "recount")

_RUN: dict[StageName, Callable[[StagePlan, int], None]] = {
    "count": count,
    "recount": recount,
    "sketch": sketch,
    "band": band,
    "join": join,
    "group": group,
    "collect": collect,
    "verify": verify,
    "apply": apply,
}


class MissingTasksError(ValueError):
    """A task needs others that are not done; the message names them.

    See Also
    --------
    lshfast.stages.run : Run a task.
    lshfast.stages.status : Say what of a run is done.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from lshfast import stages
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.jsonl").write_text('{"text": "a"}\\n')
    >>> stages.plan(folder / "in.jsonl", folder / "work", folder / "kept")
    >>> try:
    ...     stages.run(folder / "work", "join", 0)
    ... except stages.MissingTasksError as error:
    ...     print(str(error).removeprefix(str(folder)))
    /work: join 0 needs tasks that are not done: band 0
    """


# The missing tasks that an error names.
NAMED_TASKS = 10


def tasks_of(plan: StagePlan, stage: StageName) -> int:
    """Return the number of tasks of a stage; raise ValueError if there is no such stage."""
    if stage not in STAGES:
        raise ValueError(f"stage must be one of {', '.join(STAGES)}, not {stage!r}")
    if stage in COUNTING and plan.engine.ignore_common is None:
        return 0
    counts = {"join": plan.tasks, "group": 1, "verify": plan.tasks}
    return counts.get(stage, plan.new_shards if stage == "apply" else plan.shards)


def is_done(plan: StagePlan, stage: StageName, task: int) -> bool:
    """Return whether a task is done; a damaged or foreign manifest raises FormatError."""
    return manifest_of(plan, stage, task) is not None


def run_task(plan: StagePlan, stage: StageName, task: int) -> bool:
    """Run a task unless it is done, and return whether it was run; see `lshfast.stages.run`."""
    if is_done(plan, stage, task):
        return False
    before, numbers = _needed(plan, stage, task)
    missing = _missing(plan, before, numbers)
    if missing:
        task_names = ", ".join(map(str, missing[:NAMED_TASKS]))
        more_tasks = len(missing) - NAMED_TASKS
        raise MissingTasksError(
            f"{printable(plan.work)}: {stage} {task} needs tasks that are not done: "
            f"{before} {task_names}{f' and {more_tasks} more' if more_tasks > 0 else ''}"
        )
    _RUN[stage](plan, task)
    return True


def _missing(plan: StagePlan, stage: StageName, numbers: range) -> list[int]:
    """Return which of some tasks are not done; if all tasks of a stage are, write its index."""
    if not numbers or has_index(plan, stage):
        return []
    files = [data_file(plan, stage, number) for number in numbers]
    done = [file for file in files if file is not None]
    if len(done) == tasks_of(plan, stage):
        write_index(plan, stage, done)
    return [number for number, file in zip(numbers, files, strict=True) if file is None]


def _needed(plan: StagePlan, stage: StageName, task: int) -> tuple[StageName, range]:
    """Return a stage, and the tasks of it that must be done before a task."""
    if stage == STAGES[0]:
        return stage, range(0)
    before = STAGES[STAGES.index(stage) - 1]
    return before, range(task, task + 1) if stage == "band" else range(
        tasks_of(plan, before)
    )
