"""Rows that are removed for an entry of an index of earlier rows, or for an earlier row.

The sketch task of a shard finds those of entries, the collect task divides them among the verify
tasks by their entries, and these add them to the rows that they remove. Earlier rows that are read
are the rows of the last shards; they are compared in the parts of the rows that share buckets with
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from lshfast._common.types import Float64Array, Int64Array
from lshfast._engine.against import EarlierRows
from lshfast._engine.indexes.run_indexes import Indexes
from lshfast._engine.parts.earlier_columns import earlier_of
from lshfast._engine.parts.key_columns import key_columns, keys_of
from lshfast._engine.parts.task_files import TaskWriter
from lshfast._engine.parts.task_reader import TaskFile
from lshfast.kernels.checksum import checksum
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.value_counts import codes_of_rows


class RowsOfEntries(NamedTuple):
    """Rows that are removed for entries of an index.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
    keys : list of str or int
        The keys of the entries.
    similarity : ndarray of float64, shape (m,)
    entries : ndarray of int64, shape (m,)
        A negative number for each entry, which stands for the row that is kept instead.
    codes : ndarray of int64, shape (m,) or (0,)
        The values by which rows are counted, if they are.
    """

    rows: Int64Array
    keys: list[str | int]
    similarity: Float64Array
    entries: Int64Array
    codes: Int64Array


def number_of_earlier(rows: Int64Array) -> Int64Array:
    """Return the numbers below -1 that stand for earlier rows, and the rows for these numbers."""
    return -2 - rows


@contextmanager
def earlier_rows(plan: StagePlan) -> Iterator[EarlierRows | None]:
    """Open the index of earlier rows, and yield what finds the rows similar to an entry of it.

    Raises
    ------
    ValueError
        If the index has changed since the plan was made.
    """
    if plan.against is None:
        yield None
        return
    indexes = Indexes(plan.against)
    if indexes.state() != plan.content["index_state"]:
        raise ValueError(
            f"{plan.against}: this index has changed since the plan of this run was made"
        )
    with indexes.opened(plan.engine) as index:
        assert index is not None
        yield EarlierRows(index, plan.engine)


def divide_earlier(
    writer: TaskWriter, plan: StagePlan, shard: int, first_row: int, parts: int
) -> None:
    """Write the rows of a shard removed for entries after its parts, one range a verify task."""
    if plan.against is None:
        return
    with TaskFile(plan, "sketch", shard) as file:
        earlier = earlier_of(file, file.rows, plan.content["index_keys"])
    codes = codes_of_rows(plan, shard, earlier.rows)
    checksums = [checksum(str(key).encode()) for key in earlier.keys]
    tasks = np.array([number % plan.tasks for number in checksums], np.int64)
    for task in range(plan.tasks):
        places = np.flatnonzero(tasks == task)
        writer.add(
            parts + task,
            rows=earlier.rows[places] + first_row,
            similarity=earlier.similarity[places],
            **({"codes": codes[places]} if plan.codes else {}),
            **key_columns([earlier.keys[place] for place in places.tolist()]),
        )


def rows_of_entries(
    plan: StagePlan, task: int, parts: int, first_row: list[int]
) -> RowsOfEntries:
    """Return the rows of all shards whose entries belong to a verify task."""
    rows = [np.empty(0, np.int64)]
    similarity = [np.empty(0, np.float64)]
    codes = [np.empty(0, np.int64)]
    keys: list[str | int] = []
    number = parts + task
    for shard in range(plan.shards if plan.against is not None else 0):
        with TaskFile(plan, "collect", shard, number, number + 1) as file:
            arrays = file.only(number)
            rows_of_shard = arrays["rows"]
            file.check_rows(rows_of_shard, *first_row[shard : shard + 2])
            file.check_lengths(arrays, "rows", "similarity", *plan.codes)
            rows.append(rows_of_shard)
            similarity.append(arrays["similarity"])
            codes += [arrays[name] for name in plan.codes]
            keys += keys_of(
                file, arrays, len(rows_of_shard), plan.content["index_keys"]
            )
    number_of = {key: -1 - place for place, key in enumerate(dict.fromkeys(keys))}
    return RowsOfEntries(
        np.concatenate(rows),
        keys,
        np.concatenate(similarity),
        np.array([number_of[key] for key in keys], np.int64),
        np.concatenate(codes),
    )
