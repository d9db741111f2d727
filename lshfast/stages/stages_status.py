"""What of a run in stages is done, and its figures at the end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from lshfast._common.progress import Progress
from lshfast._engine.account.earlier import EarlierFigures
from lshfast._engine.account.findings import summary_of
from lshfast._engine.account.normal_forms import FormCounts
from lshfast._engine.account.report import Summary
from lshfast._engine.account.short_texts import Lengths, advice_of
from lshfast._engine.clock import Stage
from lshfast._engine.parts.task_files import figures_of
from lshfast.stages.counting import engine_of
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.task_order import STAGES, StageName, is_done, tasks_of
from lshfast.stages.value_counts import counts_of

# Seconds between two looks at the tasks that are not done.
WATCH_PAUSE = 2.0

EVERY_TASK = slice(None)


@dataclass(frozen=True)
class StagesStatus:
    """What of a run is done.

    Attributes
    ----------
    tasks : dict of str to int
        The number of tasks of each stage.
    done : dict of str to list of int
        The tasks of each stage that are done, ascending.
    summary : Summary or None
        The figures of the run, once all tasks of the stage verify are done. Its stages are those of
        the run; their seconds, and `seconds`, are sums over all tasks that are done.

    See Also
    --------
    lshfast.stages.status : Say what of a run is done.
    lshfast.stages.write_page : Write a page about a run.
    """

    tasks: dict[StageName, int]
    done: dict[StageName, list[int]]
    summary: Summary | None


def status_of(plan: StagePlan) -> StagesStatus:
    """Return what of a run is done; see `lshfast.stages.status`."""
    numbers = {stage: tasks_of(plan, stage) for stage in STAGES}
    done_tasks = {
        stage: [task for task in range(number) if is_done(plan, stage, task)]
        for stage, number in numbers.items()
    }
    over = all(
        len(done_tasks[stage]) == numbers[stage] for stage in STAGES if stage != "apply"
    )
    return StagesStatus(
        numbers, done_tasks, _summary(plan, done_tasks) if over else None
    )


def watch_tasks(
    plan: StagePlan, progress: Progress, pause: float = WATCH_PAUSE
) -> None:
    """Report the tasks that are done, until all are: (stage, done tasks, tasks)."""
    counts = {stage: tasks_of(plan, stage) for stage in STAGES}
    left = {stage: list(range(count)) for stage, count in counts.items() if count}
    while left:
        stage = next(iter(left))
        left[stage] = [task for task in left[stage] if not is_done(plan, stage, task)]
        progress(stage, counts[stage] - len(left[stage]), counts[stage])
        if left[stage]:
            time.sleep(pause)
        else:
            del left[stage]


def _summary(plan: StagePlan, done_tasks: dict[StageName, list[int]]) -> Summary:
    figures = {
        stage: [figures_of(plan, stage, task) for task in tasks]
        for stage, tasks in done_tasks.items()
    }

    def total(stage: StageName, name: str, tasks: slice = EVERY_TASK) -> Any:
        return sum(of_task[name] for of_task in figures[stage][tasks])

    by = counts_of(plan)
    new = slice(plan.new_shards)
    rows = total("sketch", "rows", new)
    rejected = total("sketch", "rejected", new)
    removed = total("verify", "removed")
    earlier = total("verify", "earlier")
    nbytes = total("sketch", "nbytes")
    seconds = {stage: float(total(stage, "seconds")) for stage in STAGES}
    return summary_of(
        engine_of(plan),
        {stage: Stage(seconds[stage], nbytes) for stage in STAGES if done_tasks[stage]},
        sum(seconds.values()),
        read=rows + rejected,
        kept=rows - removed,
        removed=removed,
        rejected=rejected,
        empty=total("sketch", "empty", new),
        copies=total("verify", "copies"),
        candidates=total("verify", "candidates"),
        pairs=total("verify", "pairs"),
        groups=total("verify", "groups"),
        earlier=earlier,
        earlier_texts=_figures_of_earlier(plan, figures["sketch"][plan.new_shards :]),
        largest_group=max(
            [
                min(rows - earlier, 1),
                *(of_task["largest"] for of_task in figures["verify"]),
            ]
        ),
        delimiters={
            name: delimiter
            for shard in figures["sketch"][new]
            for name, delimiter in shard["delimiters"].items()
        },
        unread=plan.content.get("left_out", {}),
        advice=_advice(plan, figures["collect"]),
        by=None if by is None else by.summary(),
    )


def _figures_of_earlier(
    plan: StagePlan, of_shards: list[dict[str, Any]]
) -> EarlierFigures | None:
    """Return the figures of the earlier rows that were read; None if there are no such files."""
    if not plan.earlier_shards:
        return None
    return EarlierFigures(
        plan.engine.verify,
        sum(shard["rows"] for shard in of_shards),
        sum(shard["rejected"] for shard in of_shards),
    )


def _advice(plan: StagePlan, of_shards: list[dict[str, Any]]) -> str:
    def joined(name: str, kind: type) -> Any:
        return np.sort(
            [length for shard in of_shards for length in shard[name]]
        ).astype(kind)

    lengths = Lengths(
        joined("words", np.int64),
        joined("symbols", np.int64),
        joined("characters", np.int64),
        joined("symbol_shares", np.float64),
        FormCounts(
            sum(shard["forms"][0] for shard in of_shards),
            sum(shard["forms"][1] for shard in of_shards),
        ),
    )
    return advice_of(lengths, plan.engine)
