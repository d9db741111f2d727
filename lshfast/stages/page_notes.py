"""The notes of a verify task for the page: counts and some rows, of bounded size."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from lshfast._common.types import Float64Array, Int64Array
from lshfast._engine.pages.evidence import (
    LARGE_GROUPS,
    LEAST,
    columns_of,
    counts_of,
    places_in_group,
)
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.task_files import TaskWriter
from lshfast.stages.task_reader import TaskFile


def noted(
    rows: Int64Array, kept_rows: Int64Array, similarity: Float64Array
) -> dict[str, Any]:
    """Return what a verify task notes of its removed rows and of its groups, as values of JSON.

    Parameters
    ----------
    rows, kept : ndarray of int64, shape (m,)
        The removed rows, in any order, and the rows that are kept instead.
    similarity : ndarray of float64, shape (m,)

    Returns
    -------
    dict
        - similarities: as in `Evidence`;
        - group_sizes: [size, groups of this size], ascending;
        - least, whole_range: [row, kept row, similarity] of rows for examples;
        - largest: [size, first row, rows as in least] of the largest groups of three or more rows.
    """

    def pairs(places: Int64Array) -> list[tuple[int, int, float]]:
        columns = (
            rows[places].tolist(),
            kept_rows[places].tolist(),
            similarity[places].tolist(),
        )
        return list(zip(*columns, strict=True))

    order = np.lexsort((rows, similarity))
    _, first = np.unique(kept_rows[order], return_index=True)
    least = order[np.sort(first)][:LEAST]  # of each group the least similar row
    by_row = np.argsort(rows)
    _, first = np.unique(columns_of(similarity[by_row]), return_index=True)
    whole_range = by_row[first]
    order = np.lexsort((rows, kept_rows))
    keepers, starts, removed = np.unique(
        kept_rows[order], return_index=True, return_counts=True
    )
    first = np.minimum(keepers, rows[order[starts]])
    largest = np.lexsort((first, -removed))[:LARGE_GROUPS]
    return {
        "similarities": counts_of(similarity).tolist(),
        "group_sizes": sorted(Counter((removed + 1).tolist()).items()),
        "least": pairs(least),
        "whole_range": pairs(whole_range),
        "largest": [
            (
                int(removed[group]) + 1,
                int(first[group]),
                pairs(order[starts[group] + places_in_group(removed[group])]),
            )
            for group in largest[removed[largest] > 1].tolist()
        ],
    }


def add_removed_of_files(
    writer: TaskWriter, plan: StagePlan, first_of_files: list[int], rows: Int64Array
) -> None:
    """Write the number of removed rows of each input file, given each file's first row."""
    files = np.searchsorted(first_of_files, rows, side="right") - 1
    numbers, counts = np.unique(files, return_counts=True)
    writer.add(_number(plan), rows=np.stack([numbers, counts], axis=1))


def removed_of_files(plan: StagePlan, files: int) -> Int64Array:
    """Return how many rows of each input file were removed, after all tasks of verify."""
    removed = np.zeros(files, np.int64)
    for task in range(plan.tasks):
        with TaskFile(plan, "verify", task) as file:
            counts = file.only(_number(plan))["rows"]
            if (
                len(counts) % 2
                or (counts[::2] < 0).any()
                or (counts[::2] >= files).any()
            ):
                raise file.fault("it has counts of files that are not there")
            removed[counts[::2]] += counts[1::2]
    return removed


def _number(plan: StagePlan) -> int:
    """Return the number of the range with counts of files: after shards and values."""
    return plan.shards + 1
