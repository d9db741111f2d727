"""The stage group: the rows that share buckets are divided into parts that fit into memory.

What it takes does not depend on the number of rows, if they are too many for the memory of a task:
links are then contracted in files, and rows are sorted in files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import numpy as np

from lshfast._common.private_files import TemporaryFolder
from lshfast._common.rows import offsets_of, parts_of_rows
from lshfast._common.types import Int64Array, UInt64Array
from lshfast._engine.account.short_texts import sample_for
from lshfast._engine.budget import obtainable
from lshfast._engine.parts.key_columns import KINDS_OF_INTEGERS, UNSIGNED_IDS
from lshfast._engine.parts.task_files import (
    RANGE_BYTES,
    TaskWriter,
    figures_of,
    writing,
)
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._io import DataError
from lshfast._io.advice import option_for
from lshfast._io.files import kind_of
from lshfast.join.external.components import components_of_links
from lshfast.join.external.record_spool import PIECE_RECORDS, RecordSpool, pieces_of
from lshfast.stages.joining import records_of
from lshfast.stages.ordering import Preferences, check_kinds, ranks_of_preferences
from lshfast.stages.row_parts import (
    ROW_WORDS,
    Division,
    Members,
    divided_rows,
)
from lshfast.stages.sketching import (
    OF_CORPUS,
    check_elements,
    lines_before_shards,
    restored_corpus,
    rows_of_sketch,
    sorted_runs,
)
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.value_counts import add_totals

# Rows of a range: 41 bytes each.
RANGE_ROWS = RANGE_BYTES // 48


def group(plan: StagePlan, task: int) -> None:
    """Find the components of all links, and divide them into parts that fit into memory."""
    with (
        writing(plan, "group", task) as writer,
        TemporaryFolder() as folder,
    ):
        of_shards = [figures_of(plan, "sketch", shard) for shard in range(plan.shards)]
        first_row = offsets_of([shard["rows"] for shard in of_shards])
        new = plan.new_shards
        ids = [shard["ids"] for shard in of_shards]
        id_type = _checked_ids(plan, first_row, ids[:new])
        type_of_earlier = _type_of_ids(plan, ids[new:], new)
        elements = [shard["elements"] for shard in of_shards]
        check_elements(plan, elements[:new], 0)
        check_elements(plan, elements[new:], new)
        kinds = [shard["orders"] for shard in of_shards]
        check_kinds(plan, kinds)
        labels = _labels(plan, first_row, folder)
        preferences = Preferences(plan, first_row, kinds, labels, folder)
        members = _members(plan, first_row, labels, preferences)
        with divided_rows(plan, members, len(labels), folder) as division:
            _write_rows(plan, first_row, division, writer)
        if plan.by is not None and not add_totals(writer, plan):
            _check_column(plan, plan.by)
        of_parts = [count for shard in of_shards for count in shard["rows_of_files"]]
        of_files = np.zeros(len(plan.content["files"]), np.int64)
        np.add.at(of_files, plan.files_of_parts(), np.array(of_parts, np.int64))
        lines_of_last_files = [shard["lines_of_last_file"] for shard in of_shards]
        writer.figures = {
            "rows": int(first_row[new]),
            "first_row": first_row.tolist(),
            "lines_before": lines_before_shards(plan, lines_of_last_files[:-1]),
            "first_of_files": [0, *np.cumsum(of_files, dtype=np.int64).tolist()],
            "ids": id_type,
            "earlier_ids": type_of_earlier,
            "bounds": _bounds(division.numbers.costs(), plan.tasks),
            "part_memory": division.memory,
        }


def _labels(plan: StagePlan, first_row: Int64Array, folder: str) -> RecordSpool:
    """Return the rows that share buckets, ascending, and the smallest row of each component."""
    labels = RecordSpool(os.path.join(folder, "labels"), 2)
    memory = obtainable(plan.budget.work(0))
    rows = int(first_row[-1])
    for linked_rows, labels_of_rows in components_of_links(
        _links(plan, rows), rows, memory
    ):
        for part in parts_of_rows(len(linked_rows), PIECE_RECORDS):
            labels.add(linked_rows[part], labels_of_rows[part])
    return labels


def _links(plan: StagePlan, rows: int) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield the links of all join tasks, between the rows of the run."""
    for task in range(plan.tasks):
        with TaskFile(plan, "join", task) as file:
            for pairs in pieces_of(_pairs_of(file), PIECE_RECORDS):
                if (pairs >= rows).any():
                    raise file.fault("it has links of rows that are not there")
                ends = np.ascontiguousarray(pairs.T).view(np.int64)
                yield ends[0], ends[1]


def _pairs_of(file: TaskFile) -> Iterator[UInt64Array]:
    """Yield the links in the file of a join task, (m, 2)."""
    return (records_of(file, part["links"]) for part in file.ranges(0))


def _members(
    plan: StagePlan,
    first_row: Int64Array,
    labels: RecordSpool,
    preferences: Preferences,
) -> Iterator[Members]:
    """Yield the rows that have labels, ascending, with what their sketches say of their texts.

    Earlier rows are numbered last, so a component has a new row if its label is the number of one.
    Other components are left out. Each earlier row counts as a text of its own.
    """
    reader = labels.reader()
    new_rows = np.uint64(first_row[plan.new_shards])
    for shard in range(plan.shards):
        for row, portion, _ in rows_of_sketch(plan, shard):
            begin = int(first_row[shard]) + row
            labelled = reader.until(begin + len(portion))
            labelled = labelled[labelled[:, 1] < new_rows]
            if len(labelled):
                rows = np.ascontiguousarray(labelled[:, 0]).view(np.int64)
                marks = portion[rows - begin]
                if shard >= plan.new_shards:
                    marks.words[:, -1] = labelled[:, 0]
                yield Members(
                    labelled[:, 0],
                    labelled[:, 1],
                    preferences.of(shard, rows),
                    marks,
                )


def _write_rows(
    plan: StagePlan,
    first_row: Int64Array,
    division: Division,
    writer: TaskWriter,
) -> None:
    """Write the rows of each shard, in ranges that need not be held together."""
    sample = sample_for(int(first_row[plan.new_shards]), plan.engine)
    last_shard = -1
    for shard, piece in _by_shard(division.batches, first_row):
        begin, end = np.searchsorted(sample, first_row[shard : shard + 2])
        part_words = piece[:, 2].view(np.int64)
        writer.add(
            shard,
            rows=piece[:, 0].view(np.int64),
            parts=division.numbers.final(part_words // 2),
            chosen=piece[:, 1].view(np.int64),
            ranks=ranks_of_preferences(piece[: len(piece) if plan.ranks else 0, 3]),
            sampled=sample[begin:end] if shard > last_shard else sample[:0],
            read=(part_words % 2).astype(np.uint8),
        )
        last_shard = shard


def _by_shard(
    batches: Iterable[UInt64Array], first_row: Int64Array
) -> Iterator[tuple[int, UInt64Array]]:
    """Yield portions of sorted rows with their shards; each shard is there at least once."""
    shard = 0
    for piece in pieces_of(batches, RANGE_ROWS):
        while int(piece[-1, 0]) >= first_row[shard + 1]:
            count = int(np.searchsorted(piece[:, 0], np.uint64(first_row[shard + 1])))
            yield shard, piece[:count]
            piece = piece[count:]
            shard += 1
        yield shard, piece
    for later_shard in range(shard, len(first_row) - 1):
        yield later_shard, np.empty((0, ROW_WORDS), np.uint64)


def _bounds(costs: Int64Array, tasks: int) -> list[int]:
    """Return the first part of each verify task, and the number of parts.

    A part belongs to the task in whose share of the costs its middle is.
    """
    ends = np.cumsum(costs, dtype=np.float64)
    total = ends[-1] if len(ends) else 0.0
    middles = ends - np.diff(ends, prepend=0) / 2
    shares = np.arange(tasks + 1, dtype=np.float64) * total / tasks
    return [*np.searchsorted(middles, shares[:-1]).tolist(), len(ends)]


def _checked_ids(
    plan: StagePlan, first_row: Int64Array, types: list[str | None]
) -> str | None:
    """Return the type of the ids of new rows; DataError if two are equal or of other types."""
    if plan.content["id_column"] is None:
        return None
    first_type = _type_of_ids(plan, types, 0)
    with sorted_runs(plan) as runs:
        for shard in range(plan.new_shards):
            runs.add(_id_marks(plan, shard, first_row))
        last = np.empty((0, 2), np.uint64)
        for batch in runs.merged(plan.budget.work(0) // 2):
            marks = np.concatenate([last, batch])
            again = np.flatnonzero((marks[1:] == marks[:-1]).all(axis=1))
            if len(again):
                raise _id_taken(plan, first_row, marks[again[0]])
            last = marks[-1:].copy()
    return first_type


def _type_of_ids(
    plan: StagePlan, types: list[str | None], first_shard: int
) -> str | None:
    """Return the type of the ids of shards from one on; DataError if there are different ones."""
    if set(types) - {None} == KINDS_OF_INTEGERS.keys():  # integers of both types
        return UNSIGNED_IDS
    first_type = next(
        (shard_type for shard_type in types if shard_type is not None), None
    )
    for shard, shard_type in enumerate(types, first_shard):
        if shard_type not in (first_type, None):
            corpus = restored_corpus(plan, shard, False)
            identity = corpus.key(0)
            raise corpus.fault(
                0, f"id {identity!r} is {kind_of(identity)}, the ids before it are not"
            )
    return first_type


def _id_marks(plan: StagePlan, shard: int, first_row: Int64Array) -> UInt64Array:
    """Return the keyed hashes (m, 2) of the ids of a shard."""
    with TaskFile(plan, "sketch", shard) as file:
        marks: UInt64Array = file.only(OF_CORPUS)["id_marks"]
        if len(marks) != 2 * (first_row[shard + 1] - first_row[shard]):
            raise file.fault("it has not one id for each row")
        return marks.reshape(-1, 2)


def _check_column(plan: StagePlan, column: str) -> None:
    """Raise DataError if no row of any shard has a column."""
    first_corpus = None
    for shard in range(plan.new_shards):
        corpus = restored_corpus(plan, shard)
        if corpus.accepted:
            if not corpus.lacks(column):
                return
            first_corpus = first_corpus or corpus
    if first_corpus is not None:
        first_corpus.check_in_rows(column)


def _id_taken(plan: StagePlan, first_row: Int64Array, mark: UInt64Array) -> DataError:
    """Return the error of an id with this mark that several rows have."""
    places: list[tuple[int, int]] = []
    for shard in range(plan.new_shards):
        rows_of_id = np.flatnonzero(
            (_id_marks(plan, shard, first_row) == mark).all(axis=1)
        )
        places += [(shard, row) for row in rows_of_id.tolist()]
    (by, before), (at, row) = places[:2]
    name, line = restored_corpus(plan, by, False).place(before)
    corpus = restored_corpus(plan, at, False)
    reason = f"id {corpus.key(row)!r} is taken by {name}:{line}"
    return corpus.fault(row, f"{reason}; {option_for(reason, corpus.layout)}")
