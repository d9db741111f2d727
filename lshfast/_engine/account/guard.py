"""The guard against runs that remove more rows than expected: a limit on shares of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from lshfast._common.errors import Excess, TooManyRemovedError
from lshfast._common.value_codes import MISSING, ValueCodes
from lshfast._engine.account.by_value import CountsByValue
from lshfast._engine.account.report import DedupResult

# Values with fewer rows are not compared with the limit: one template removes most rows of a small
# value.
LEAST_ROWS = 20

# Values whose largest groups are looked up, and groups of each.
MOST_EXAMPLES = 5
MOST_GROUPS = 3

# Returns (key of the kept row, rows removed for it) of the largest groups: of all rows (None), or
# of those with the value at a place of `CountsByValue`.
GroupsOf: TypeAlias = Callable[[int | None], list[tuple[Any, int]]]


def check_max_removed(limit: float | None) -> None:
    """Raise ValueError if a limit is not in (0, 1]."""
    if limit is not None and not 0 < limit <= 1:
        raise ValueError(f"max_removed must be in (0, 1], not {limit!r}")


def check_removed(
    limit: float | None,
    rows_read: int,
    removed: int,
    counts: CountsByValue | None,
    groups_of: GroupsOf,
) -> None:
    """Raise `TooManyRemovedError` if the removed share of all rows, or of a value, is too high.

    Parameters
    ----------
    limit : float or None
        In (0, 1]; None for no limit.
    rows_read, removed : int
        Good rows, and removed rows.
    counts : CountsByValue or None
        The rows of each value. Values with fewer than LEAST_ROWS rows, and those without
        counts of their own, are not compared.
    groups_of : callable
        See `GroupsOf`.
    """
    if limit is None:
        return
    excesses = []
    if removed > 0 and removed / rows_read > limit:
        excesses.append(Excess(None, None, rows_read, removed, tuple(groups_of(None))))
    if counts is not None:
        large = counts.read >= LEAST_ROWS
        places = counts.order(
            large & (counts.removed / np.maximum(counts.read, 1) > limit)
        )
        for number, place in enumerate(places):
            value, rows_of_value, removed_of_value = counts.rows(place)
            groups = tuple(groups_of(place)) if number < MOST_EXAMPLES else ()
            excesses.append(
                Excess(counts.column, value, rows_of_value, removed_of_value, groups)
            )
    if excesses:
        raise TooManyRemovedError(limit, tuple(excesses))


def check_result(
    limit: float | None, result: DedupResult, by: ValueCodes | None
) -> None:
    """Check the result of a run; `by` has the values of its rows."""
    if limit is None:
        return
    codes = None if by is None else by.codes
    is_removed = ~result.keep

    def groups_of(place: int | None) -> list[tuple[Any, int]]:
        rows = is_removed
        if place is not None and codes is not None:
            rows = is_removed & (codes == place + MISSING)
        _, first, sizes = np.unique(
            result.labels[rows], return_index=True, return_counts=True
        )
        places = np.flatnonzero(rows)[first]
        largest = np.argsort(-sizes, kind="stable")[:MOST_GROUPS].tolist()
        return [(result.kept_key(int(places[i])), int(sizes[i])) for i in largest]

    counts = None if by is None else CountsByValue.of(by, result.keep)
    check_removed(limit, len(result), int(is_removed.sum()), counts, groups_of)
