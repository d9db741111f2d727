"""The account by the values of a column, over all shards, and the guard that uses it.

Each sketch task writes the values of its rows. The group task numbers the values of all shards, and
counts the rows of each. Collect tasks write the numbers of the values beside the rows that are
compared, so that each verify task can count what it removes. The tasks of apply, and the status,
add these counts up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import Int64Array
from lshfast._common.value_codes import MISSING, OTHER, ValueCodes
from lshfast._engine.account.by_value import CountsByValue
from lshfast._engine.account.guard import MOST_GROUPS, check_removed
from lshfast._engine.parts.key_columns import packed_texts
from lshfast._engine.parts.task_files import TaskWriter, figures_of
from lshfast._engine.parts.task_reader import Arrays, TaskFile
from lshfast.kernels.text import Texts
from lshfast.stages.stage_plan import StagePlan

# The number of the range of a sketch file with the values of its rows.
OF_VALUES = 3

# Values of which a verify task writes the largest groups, for the message of the guard.
GROUPED_VALUES = 100


def add_values(writer: TaskWriter, by: ValueCodes | None) -> None:
    """Write the values of the rows of a shard, if they are wanted."""
    if by is not None:
        lengths, data = packed_texts(by.names)
        codes = by.codes.astype(np.int64)
        writer.add(OF_VALUES, codes=codes, name_lengths=lengths, names=data)


def _names_of(file: TaskFile, arrays: Arrays) -> Iterator[str]:
    """Yield the names of the values in a range."""
    lengths = arrays["name_lengths"]
    data = arrays["names"]
    if (lengths < 0).any() or int(lengths.sum()) != len(data):
        raise file.fault("its values have other lengths")
    texts = Texts.of_buffer(data, offsets_of(lengths))
    try:
        for place in range(len(texts)):
            yield texts[place].decode()
    except ValueError as error:
        raise file.fault(f"its values are damaged: {error}") from None


def _checked(file: TaskFile, codes: Int64Array, values: int) -> Int64Array:
    """Return codes, if they are numbers of values."""
    if (codes < OTHER).any() or (codes >= values).any():
        raise file.fault(
            f"it has numbers of values that are not in {OTHER}..{values - 1}"
        )
    return codes


def _values_of(
    plan: StagePlan, shard: int, number_of: Any
) -> tuple[Int64Array, Int64Array]:
    """Return the codes of a shard's rows, and the numbers of OTHER, MISSING and its values."""
    with TaskFile(plan, "sketch", shard) as file:
        arrays = file.only(OF_VALUES)
        numbers = [OTHER, MISSING]
        numbers += map(number_of, _names_of(file, arrays))
        codes = _checked(file, arrays["codes"], len(numbers) + OTHER)
        if len(codes) != file.rows:
            raise file.fault("it has not one value for each row")
    return codes, np.array(numbers, np.int64)


def add_totals(writer: TaskWriter, plan: StagePlan) -> bool:
    """Number the values of all shards, and write them with their numbers of rows.

    Return whether a row has a value.
    """
    assert plan.by is not None
    values = ValueCodes(plan.by)
    totals = np.zeros(2, np.int64)
    for shard in range(plan.new_shards):
        codes, numbers = _values_of(plan, shard, values.code_of)
        totals = np.concatenate(
            [totals, np.zeros(len(values.names) + 2 - len(totals), np.int64)]
        )
        totals += np.bincount(numbers[codes - OTHER] - OTHER, minlength=len(totals))
    lengths, data = packed_texts(values.names)
    writer.add(plan.shards, counts=totals, name_lengths=lengths, names=data)
    return bool(values.names)


def _totals(plan: StagePlan) -> tuple[list[str], Int64Array]:
    """Return the values of all shards, and the rows of OTHER, MISSING and each value."""
    with TaskFile(plan, "group", 0) as file:
        arrays = file.only(plan.shards)
        names = list(_names_of(file, arrays))
        if len(arrays["counts"]) != len(names) + 2:
            raise file.fault("it has not one number for each value")
    return names, arrays["counts"]


def codes_of_rows(plan: StagePlan, shard: int, rows: Int64Array) -> Int64Array:
    """Return the numbers of the values of some rows of a shard; an empty array without `by`."""
    if plan.by is None:
        return np.empty(0, np.int64)
    if shard >= plan.new_shards:  # earlier rows are not counted
        return np.full(len(rows), MISSING, np.int64)
    number_of = {name: number for number, name in enumerate(_totals(plan)[0])}
    codes, numbers = _values_of(plan, shard, lambda name: number_of.get(name, OTHER))
    return numbers[codes[rows] - OTHER]


def add_removed(writer: TaskWriter, plan: StagePlan, codes: Int64Array) -> None:
    """Write the number of removed rows of each value; `codes` has the removed rows' values."""
    if plan.by is not None:
        values, counts = np.unique(codes, return_counts=True)
        writer.add(plan.shards, codes=values, counts=counts.astype(np.int64))


def counts_of(plan: StagePlan) -> CountsByValue | None:
    """Return the counts by value after all tasks of verify; None without a column."""
    if plan.by is None:
        return None
    names, rows_read = _totals(plan)
    removed = np.zeros_like(rows_read)
    for task in range(plan.tasks):
        with TaskFile(plan, "verify", task) as file:
            arrays = file.only(plan.shards)
            file.check_lengths(arrays, "codes", "counts")
            removed[_checked(file, arrays["codes"], len(names)) - OTHER] += arrays[
                "counts"
            ]
    return CountsByValue.of_totals(plan.by, names, rows_read, removed)


def check_plan(plan: StagePlan) -> None:
    """Raise `TooManyRemovedError` if the verify tasks remove more than the plan allows."""
    if plan.max_removed is None:
        return
    figures = [figures_of(plan, "verify", task) for task in range(plan.tasks)]
    counts = counts_of(plan)

    def groups_of(place: int | None) -> list[tuple[Any, int]]:
        code = None if place is None else place + MISSING
        groups = [
            (key, size)
            for of_task in figures
            for value, key, size in of_task["largest_groups"]
            if value == code
        ]
        return sorted(groups, key=lambda one: -one[1])[:MOST_GROUPS]

    removed = sum(of_task["removed"] for of_task in figures)
    check_removed(
        plan.max_removed,
        figures_of(plan, "group", 0)["rows"],
        removed,
        counts,
        groups_of,
    )


def largest_groups(
    keepers: Int64Array, codes: Int64Array, keys: list[str | int]
) -> list[list[Any]]:
    """Return [code, key, size] of the largest groups of some values; code None for all rows.

    Parameters
    ----------
    kept : ndarray of int64, shape (m,)
        The rows that are kept instead of some removed rows.
    codes : ndarray of int64, shape (m,) or (0,)
        The codes of the removed rows.
    keys : list of str or int
        The keys of the kept rows.
    """
    groups = _largest(None, keepers, int64_range(len(keepers)), keys)
    order = np.argsort(codes, kind="stable")
    values, starts, counts = np.unique(
        codes[order], return_index=True, return_counts=True
    )
    for place in np.argsort(-counts, kind="stable")[:GROUPED_VALUES].tolist():
        rows = order[starts[place] : starts[place] + counts[place]]
        groups += _largest(int(values[place]), keepers, rows, keys)
    return groups


def _largest(
    code: int | None, keepers: Int64Array, rows: Int64Array, keys: list[str | int]
) -> list[list[Any]]:
    _, first, sizes = np.unique(keepers[rows], return_index=True, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[:MOST_GROUPS].tolist()
    return [[code, keys[rows[first[place]]], int(sizes[place])] for place in largest]
