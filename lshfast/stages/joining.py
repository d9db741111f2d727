"""The stages join and group: link rows that share buckets, and divide components into parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._engine.account.short_texts import sample_for
from lshfast._engine.budget import obtainable
from lshfast._engine.marks import WIDTH, RowMarks
from lshfast._engine.parts.components import compared_copies, divide
from lshfast._io import DataError
from lshfast._io.advice import option_for
from lshfast._io.files import kind_of
from lshfast.join.external.components import components_of_links, links, spanning_links
from lshfast.stages.ordering import check_kinds, ranks_of_rows
from lshfast.stages.sketching import (
    OF_CORPUS,
    key_bounds,
    restored_corpus,
    rows_of_sketch,
    sorted_runs,
)
from lshfast.stages.stage_plan import ROW_BITS, StagePlan
from lshfast.stages.task_files import figures_of, writing
from lshfast.stages.task_reader import TaskFile
from lshfast.stages.value_counts import add_totals

# What a row takes in its part if its text is not read: its numbers, and its key.
KEY_BYTES = 200


def join(plan: StagePlan, task: int) -> None:
    """Link the rows that share a bucket, for the buckets whose keys are in the range of a task."""
    low, high = key_bounds(plan.tasks)[task : task + 2]
    edge_count = 0
    with sorted_runs(plan) as runs, writing(plan, "join", task) as writer:
        for shard in range(plan.shards):
            with TaskFile(plan, "band", shard) as file:
                for part in file.ranges(task):
                    records = _records_of(file, part["records"])
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


def _records_of(file: TaskFile, words: UInt64Array) -> UInt64Array:
    """Return pairs of words as an array (m, 2)."""
    if len(words) % 2:
        raise file.fault("it has half of a record")
    return words.reshape(-1, 2)


def group(plan: StagePlan, task: int) -> None:
    """Find the components of all links, and divide them into parts that fit into memory."""
    with writing(plan, "group", task) as writer:
        of_shards = [figures_of(plan, "sketch", shard) for shard in range(plan.shards)]
        first_row = np.concatenate(
            [[0], np.cumsum([shard["rows"] for shard in of_shards], dtype=np.int64)]
        )
        id_type = _checked_ids(plan, first_row, [shard["ids"] for shard in of_shards])
        kinds = [shard["orders"] for shard in of_shards]
        check_kinds(plan, kinds)
        rows = int(first_row[-1])
        members, labels = components_of_links(
            _links(plan, first_row), rows, obtainable(plan.budget.work(0))
        )
        ranks = np.empty(0, np.int64)
        if plan.order_column is not None:
            ranks = ranks_of_rows(plan, first_row, kinds, members)
        parts = _parts_of(plan, first_row, members, labels, ranks)
        del labels
        sample = sample_for(rows, plan.engine)
        for shard in range(plan.shards):
            low, high = np.searchsorted(members, first_row[shard : shard + 2])
            begin, end = np.searchsorted(sample, first_row[shard : shard + 2])
            writer.add(
                shard,
                rows=members[low:high],
                parts=parts.numbers[low:high],
                chosen=parts.chosen[low:high],
                ranks=ranks[low:high],
                sampled=sample[begin:end],
                read=parts.read[low:high].view(np.uint8),
            )
        add_totals(writer, plan)
        of_files = [count for shard in of_shards for count in shard["rows_of_files"]]
        writer.figures = {
            "rows": rows,
            "first_row": first_row.tolist(),
            "first_of_files": [0, *np.cumsum(of_files, dtype=np.int64).tolist()],
            "ids": id_type,
            "bounds": parts.bounds,
            "part_memory": parts.memory,
        }


def _links(
    plan: StagePlan, first_row: Int64Array
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield the links of all join tasks, with the numbers of rows in the run."""
    counts = np.diff(first_row)
    for task in range(plan.tasks):
        with TaskFile(plan, "join", task) as file:
            for part in file.ranges(0):
                pairs = _records_of(file, part["links"])
                shards = (pairs >> np.uint64(ROW_BITS)).astype(np.int64)
                local = (pairs & np.uint64((1 << ROW_BITS) - 1)).astype(np.int64)
                if (shards >= plan.shards).any() or (
                    local >= counts[np.minimum(shards, plan.shards - 1)]
                ).any():
                    raise file.fault("it has links of rows that are not there")
                numbers = first_row[shards] + local
                yield (
                    np.ascontiguousarray(numbers[:, 0]),
                    np.ascontiguousarray(numbers[:, 1]),
                )


@dataclass(frozen=True)
class RowsOfParts:
    """Where rows that share buckets go.

    Attributes
    ----------
    numbers : ndarray of int64, shape (m,)
        The part of each row.
    chosen : ndarray of int64, shape (m,)
        The row with the same bytes that is preferred; numbers in the run.
    read : ndarray of bool, shape (m,)
        Whether the text is read again: that of a row that is chosen, and whose component has
        another one.
    bounds : list of int
        The first part of each verify task, and the number of parts.
    memory : int
        What a part may take; one of a single component may need more.
    """

    numbers: Int64Array
    chosen: Int64Array
    read: BoolArray
    bounds: list[int]
    memory: int


def _parts_of(
    plan: StagePlan,
    first_row: Int64Array,
    members: Int64Array,
    labels: Int64Array,
    ranks: Int64Array,
) -> RowsOfParts:
    """Divide rows with these labels into parts, and the parts among the verify tasks.

    `ranks` has values by which rows are preferred, if it depends on a column.
    """
    words = np.empty((len(members), WIDTH), np.uint64)
    for shard in range(plan.shards):
        for row, portion, _ in rows_of_sketch(plan, shard):
            begin = int(first_row[shard]) + row
            low, high = np.searchsorted(members, [begin, begin + len(portion)])
            words[low:high] = portion.words[members[low:high] - begin]
    marks = RowMarks(words)
    nbytes = marks.nbytes
    first = marks.first()
    places = np.arange(len(members), dtype=np.int64)
    del words, marks
    compared_rows = compared_copies(
        first, plan.keep, None if plan.order_column is None else ranks
    )
    _, component = np.unique(labels, return_inverse=True)
    texts = np.bincount(component[compared_rows == places], minlength=1)
    is_read = (compared_rows == places) & (texts[component] > 1)
    costs = KEY_BYTES + np.where(is_read, nbytes + plan.budget.row_bytes, 0)
    total = int(costs.sum())
    memory = plan.budget.work(0, int(nbytes[is_read].max(initial=0)))
    numbers = divide(component, costs, min(memory, -(-total // plan.tasks))).astype(
        np.int64
    )
    ends = (
        np.cumsum(np.bincount(numbers, weights=costs), dtype=np.float64)
        if len(numbers)
        else np.empty(0)
    )
    # A part belongs to the task in whose share of the costs its middle is.
    middles = ends - np.diff(ends, prepend=0) / 2
    shares = np.arange(plan.tasks + 1, dtype=np.float64) * total / plan.tasks
    bounds = [*np.searchsorted(middles, shares[:-1]).tolist(), len(ends)]
    return RowsOfParts(numbers, members[compared_rows], is_read, bounds, memory)


def _checked_ids(
    plan: StagePlan, first_row: Int64Array, types: list[str | None]
) -> str | None:
    """Return the type of the ids; DataError if two are equal or of different types."""
    if plan.content["id_column"] is None:
        return None
    first_type = next(
        (shard_type for shard_type in types if shard_type is not None), None
    )
    for shard, shard_type in enumerate(types):
        if shard_type not in (first_type, None):
            corpus = restored_corpus(plan, shard, False)
            identity = corpus.key(0)
            raise corpus.fault(
                0, f"id {identity!r} is {kind_of(identity)}, the ids before it are not"
            )
    with sorted_runs(plan) as runs:
        for shard in range(plan.shards):
            runs.add(_id_marks(plan, shard, first_row))
        last = np.empty((0, 2), np.uint64)
        for batch in runs.merged(plan.budget.work(0) // 2):
            marks = np.concatenate([last, batch])
            again = np.flatnonzero((marks[1:] == marks[:-1]).all(axis=1))
            if len(again):
                raise _id_taken(plan, first_row, marks[again[0]])
            last = marks[-1:].copy()
    return first_type


def _id_marks(plan: StagePlan, shard: int, first_row: Int64Array) -> UInt64Array:
    """Return the keyed hashes (m, 2) of the ids of a shard."""
    with TaskFile(plan, "sketch", shard) as file:
        marks: UInt64Array = file.only(OF_CORPUS)["id_marks"]
        if len(marks) != 2 * (first_row[shard + 1] - first_row[shard]):
            raise file.fault("it has not one id for each row")
        return marks.reshape(-1, 2)


def _id_taken(plan: StagePlan, first_row: Int64Array, mark: UInt64Array) -> DataError:
    """Return the error of an id with this mark that several rows have."""
    places: list[tuple[int, int]] = []
    for shard in range(plan.shards):
        rows_of_id = np.flatnonzero(
            (_id_marks(plan, shard, first_row) == mark).all(axis=1)
        )
        places += [(shard, row) for row in rows_of_id.tolist()]
    (by, before), (at, row) = places[:2]
    name, line = restored_corpus(plan, by, False).place(before)
    corpus = restored_corpus(plan, at, False)
    reason = f"id {corpus.key(row)!r} is taken by {name}:{line}"
    return corpus.fault(row, f"{reason}; {option_for(reason)}")
