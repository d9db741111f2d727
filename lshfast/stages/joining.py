"""The stage join: rows that share a bucket are linked."""

from __future__ import annotations

import numpy as np

from lshfast._common.types import UInt64Array
from lshfast._engine.parts.task_files import writing
from lshfast._engine.parts.task_reader import TaskFile
from lshfast.join.external.components import links, spanning_links
from lshfast.stages.sketching import key_bounds, sorted_runs
from lshfast.stages.stage_plan import ROW_BITS, StagePlan


def join(plan: StagePlan, task: int) -> None:
    """Link the rows that share a bucket, for the buckets whose keys are in the range of a task."""
    low, high = key_bounds(plan.tasks)[task : task + 2]
    edge_count = 0
    with sorted_runs(plan) as runs, writing(plan, "join", task) as writer:
        for shard in range(plan.shards):
            with TaskFile(plan, "band", shard) as file:
                for part in file.ranges(task):
                    records = records_of(file, part["records"])
                    local = records[:, 1] - np.uint64(shard << ROW_BITS)
                    if (
                        (records[:, 0] < low).any()
                        or (records[:, 0] > high).any()
                        or (local >= file.rows).any()
                    ):
                        raise file.fault("it has records of another shard or task")
                    runs.add(records)
        for forest in spanning_links(links(runs.merged(plan.budget.work(0) // 2))):
            writer.add(0, links=forest)
            edge_count += len(forest)
        writer.figures = {"links": edge_count}


def records_of(file: TaskFile, words: UInt64Array) -> UInt64Array:
    """Return pairs of words as an array (m, 2)."""
    if len(words) % 2:
        raise file.fault("it has half of a record")
    return words.reshape(-1, 2)
