"""The notes of a verify task for the page: counts and some rows, of bounded size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
from lshfast._engine.parts.task_files import TaskWriter
from lshfast._engine.parts.task_reader import TaskFile
from lshfast.stages.stage_plan import StagePlan


def noted(
    rows: Int64Array,
    kept_rows: Int64Array,
    similarity: Float64Array,
    keys: Sequence[str | int],
    are_rows: bool = False,
) -> dict[str, Any]:
    """Return what a verify task notes of its removed rows and of its groups, as values of JSON.

    Parameters
    ----------
    rows, kept_rows : ndarray of int64, shape (m,)
        The removed rows, in any order, and the rows that are kept instead; negative numbers stand
        for entries of an index, and those below -1 also for earlier rows (`number_of_earlier`).
    similarity : ndarray of float64, shape (m,)
    keys : sequence of str or int
        The keys of what is kept instead.
    are_rows : bool, default False
        Whether negative numbers stand for earlier rows.

    Returns
    -------
    dict
        - similarities: as in `Evidence`;
        - group_sizes: [size, groups of this size], ascending; rows that were removed for an entry
          of an index are in none;
        - least, whole_range: [row, kept row, similarity] of rows for examples; the kept row is -1
          for an entry of an index, and the number of an earlier row;
        - entries: [row, key of the entry] of these examples;
        - largest: [size, first row, rows as in least] of the largest groups of three or more rows.
    """

    entries: list[tuple[int, str]] = []
    least_kept = kept_rows.min(initial=-1) if are_rows else -1

    def pairs(places: Int64Array) -> list[tuple[int, int, float]]:
        columns = (
            rows[places].tolist(),
            np.maximum(kept_rows[places], least_kept).tolist(),
            similarity[places].tolist(),
        )
        of_entries = places[kept_rows[places] < 0].tolist()
        entries.extend((int(rows[place]), str(keys[place])) for place in of_entries)
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
    first_removed = rows[order[starts]]
    is_entry = keepers < 0
    first = np.where(is_entry, first_removed, np.minimum(keepers, first_removed))
    sizes = removed + ~is_entry
    counted_sizes = sizes[(sizes > 1) & ~is_entry]
    largest = np.lexsort((first, -sizes))[:LARGE_GROUPS]
    notes = {
        "similarities": counts_of(similarity).tolist(),
        "group_sizes": sorted(Counter(counted_sizes.tolist()).items()),
        "least": pairs(least),
        "whole_range": pairs(whole_range),
        "largest": [
            (
                int(sizes[group]),
                int(first[group]),
                pairs(order[starts[group] + places_in_group(removed[group])]),
            )
            for group in largest[sizes[largest] > 2].tolist()
        ],
    }
    return notes | {"entries": entries}


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
