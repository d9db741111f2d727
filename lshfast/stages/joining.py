"""The stage join: rows that share a bucket are linked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lshfast._common.rows import parts_of_rows
from lshfast._common.types import UInt64Array
from lshfast._engine.budget import obtainable
from lshfast._engine.parts.task_files import RANGE_BYTES, writing
from lshfast._engine.parts.task_reader import TaskFile
from lshfast.join.external.components import links_of_runs, spanning_links
from lshfast.join.external.run_file import RECORD_BYTES
from lshfast.stages.sketching import KeyRange, bucket_runs, key_ranges
from lshfast.stages.stage_plan import StagePlan

# A union-find has all rows of the run. It takes 20 ns for each of them and saves 180 ns for each
# link, and a fifth of the records have links if a third of the rows have near copies. So a task
# with few records of many rows does without it.
MOST_ROWS_A_RECORD = 2


def join(plan: StagePlan, task: int) -> None:
    """Link the rows that share a bucket, for the buckets whose keys are in the ranges of a task."""
    numbered_ranges = [
        (number, key_range)
        for number, key_range in enumerate(
            key_ranges(plan.engine.bands.bands, plan.tasks)
        )
        if key_range.task == task
    ]
    record_count = 0
    edge_count = 0
    with (
        bucket_runs(plan, len(numbered_ranges)) as runs,
        writing(plan, "join", task) as writer,
    ):
        first_row = 0
        for shard in range(plan.shards):
            with TaskFile(plan, "band", shard) as file:
                for place, (number, key_range) in enumerate(numbered_ranges):
                    for records in _records_in_range(file, number, key_range):
                        records[:, 1] += np.uint64(first_row)
                        runs.add_records(place, records)
                        record_count += len(records)
                first_row += file.rows
        runs.settle()
        memory = plan.budget.work(0)
        links = links_of_runs(runs, memory // 2)
        is_worthwhile = first_row <= MOST_ROWS_A_RECORD * record_count
        union_memory = obtainable(memory // 4) if is_worthwhile else 0
        for forest in spanning_links(links, first_row, union_memory):
            for portion in parts_of_rows(len(forest), RANGE_BYTES // RECORD_BYTES):
                writer.add(0, links=forest[portion])
            edge_count += len(forest)
        writer.figures = {"links": edge_count}


def _records_in_range(
    file: TaskFile, number: int, key_range: KeyRange
) -> Iterator[UInt64Array]:
    """Yield the records of a shard, with the rows of the shard, in a range of keys."""
    for part in file.ranges(number):
        records = records_of(file, part["records"])
        keys = records[:, 0]
        is_outside = (keys < key_range.first) | (keys > key_range.last)
        if is_outside.any() or (records[:, 1] >= file.rows).any():
            raise file.fault("it has records of another shard or task")
        yield records


def records_of(file: TaskFile, words: UInt64Array) -> UInt64Array:
    """Return pairs of words as an array (m, 2)."""
    if len(words) % 2:
        raise file.fault("it has half of a record")
    return words.reshape(-1, 2)
