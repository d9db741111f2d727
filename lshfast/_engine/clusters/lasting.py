"""Groups whose ids last from run to run: new groups get ids from earlier groups' members.

A group keeps the oldest id that it can claim. The earlier id of some rows is claimed by the group
that now has the first-seen of these rows. So an id stays where its oldest member is, groups that
are connected get the older id, and a group that falls apart keeps its id in one part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.display import Figure, counted, figure
from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Int64Array
from lshfast.kernels.sets import components

Change: TypeAlias = Literal["new", "joined", "merged", "split", "removed"]

CHANGES: tuple[Change, ...] = get_args(Change)

UNCHANGED = -1
NEW, JOINED, MERGED, SPLIT, REMOVED = range(len(CHANGES))

# Rows of the table of changes that are Python objects at a time.
ROWS_AT_ONCE = 1 << 16

_NONE = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """The groups that all runs up to now have led to.

    Attributes
    ----------
    keys : list of int or list of str
        The rows, in the order in which they were first seen.
    ids : ndarray of int64, shape (n,)
        The id of the group of each row, in 1..next_id - 1.
    first_seen : ndarray of int64, shape (n,)
        The number of the run in which each row was first seen, in 1..runs, ascending.
    runs : int
        The number of the last run; 0 if there was none.
    next_id : int
        The next id that is given. No id is given twice.
    """

    keys: list[Any] = field(default_factory=list)
    ids: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    first_seen: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    runs: int = 0
    next_id: int = 1


@dataclass(frozen=True)
class ClusterFigures:
    """The changes of a run to groups with lasting ids.

    Attributes
    ----------
    run : int
        The number of the run, from 1.
    rows, clusters : int
        Rows and groups after the run; a row that is similar to no other is a group.
    new, joined, merged, split, removed : int
        Rows of each kind of change; see `update_clusters`.

    Examples
    --------
    >>> figures = ClusterFigures(2, 5, 3, new=1, joined=2)
    >>> figures.note
    'of 5 rows in run 2; 1 row new, 2 joined'
    """

    run: int
    rows: int
    clusters: int
    new: int = 0
    joined: int = 0
    merged: int = 0
    split: int = 0
    removed: int = 0

    @property
    def note(self) -> str:
        """The rows, and those that changed, in words."""
        changed = [
            (name, getattr(self, name)) for name in CHANGES if getattr(self, name)
        ]
        shown = [f"{number:,} {name}" for name, number in changed]
        shown[:1] = [f"{counted(number, 'row')} {name}" for name, number in changed[:1]]
        return (
            f"of {counted(self.rows, 'row')} in run {self.run}; "
            f"{', '.join(shown) or 'nothing changed'}"
        )

    def figures(self) -> Iterator[Figure]:
        """Yield the line of a table."""
        yield figure("clusters", self.clusters, self.note)


@dataclass(frozen=True, eq=False)
class ClusterUpdate:
    """The groups after a run, and what has changed.

    Attributes
    ----------
    table : ClusterTable
        The groups after the run.
    keys : list
        All rows, those that are not there any more included, in the order in which they were first
        seen.
    ids, old_ids : ndarray of int64, shape (m,)
        The id of the group of each of these rows after and before the run; 0 for none.
    change : ndarray of int8, shape (m,)
        The place in CHANGES of what happened to each row, or UNCHANGED.
    """

    table: ClusterTable
    keys: list[Any]
    ids: Int64Array
    old_ids: Int64Array
    change: npt.NDArray[np.int8]

    @property
    def figures(self) -> ClusterFigures:
        """The numbers of rows and groups."""
        numbers = np.bincount(
            self.change - UNCHANGED, minlength=len(CHANGES) + 1
        ).tolist()[1:]
        table = self.table
        return ClusterFigures(
            table.runs, len(table.keys), len(np.unique(table.ids)), *numbers
        )

    def changes(self, at_once: int = ROWS_AT_ONCE) -> Iterator[dict[str, list[Any]]]:
        """Yield the table of changes (id, change, old_id and key) in parts; the first may be empty.

        The rows are in the order in which they were first seen, `at_once` in each part. Ids that do
        not exist are None.
        """
        rows = np.flatnonzero(self.change != UNCHANGED)
        for start in range(0, max(1, len(rows)), at_once):
            part = rows[start : start + at_once]
            yield {
                "id": [number or None for number in self.ids[part].tolist()],
                "change": [CHANGES[code] for code in self.change[part].tolist()],
                "old_id": [number or None for number in self.old_ids[part].tolist()],
                "key": [self.keys[row] for row in part.tolist()],
            }


def update_clusters(
    earlier: ClusterTable,
    keys: Sequence[Any],
    labels: Int64Array,
    links: tuple[Int64Array, Sequence[Any]] | None = None,
) -> ClusterUpdate:
    """Give the groups of a run the ids of the groups that earlier runs found.

    Parameters
    ----------
    earlier : ClusterTable
        The groups of all earlier runs.
    keys : sequence of int or of str, length n
        The rows of this run, each once, of the type of the earlier ones.
    labels : ndarray of int64, shape (n,)
        The smallest row of the group of each row.
    links : tuple of ndarray of int64, shape (m,), and sequence of length m, optional
        Rows of this run, and for each the key of an earlier row of its group. Without it, the rows
        of this run are all rows that there are: earlier rows that are not among them are removed,
        and the groups are those of this run. With it, the rows are new ones: the earlier rows and
        their groups stay, and rows join them by these links. A row whose key an earlier row has is
        this row. An earlier row that no run has recorded is recorded before the rows of this run.

    Returns
    -------
    ClusterUpdate
        A row is "new" in a group without earlier rows, "joined" in a group with an earlier row. An
        earlier row is "merged" if its group got an older id because the two are connected, "split"
        if the group with its old id is another one now, and "removed" if it is not there any more.

    Examples
    --------
    >>> import numpy as np
    >>> first = update_clusters(ClusterTable(), ["a", "b", "c"], np.array([0, 0, 2]))
    >>> first.table.ids.tolist()
    [1, 1, 2]

    The row d connects the two groups. Then a is removed, and what is left falls apart.

    >>> second = update_clusters(
    ...     first.table, ["a", "b", "c", "d"], np.array([0, 0, 0, 0])
    ... )
    >>> second.table.ids.tolist(), next(second.changes())["change"]
    ([1, 1, 1, 1], ['merged', 'joined'])
    >>> third = update_clusters(second.table, ["b", "c", "d"], np.array([0, 1, 1]))
    >>> third.table.ids.tolist(), next(third.changes())["change"]
    ([1, 3, 3], ['removed', 'split', 'split'])
    """
    names = list(earlier.keys)
    place = {key: node for node, key in enumerate(names)}
    earlier_count = len(names)
    rows, entries = (np.empty(0, np.int64), []) if links is None else links
    nodes = np.empty(len(entries) + len(keys), np.int64)
    for at, key in enumerate(chain(entries, keys)):
        nodes[at] = node = place.setdefault(key, len(names))
        if node == len(names):
            names.append(key)
    linked_nodes = nodes[: len(entries)]
    row_nodes = nodes[len(entries) :]
    edges = [(row_nodes, row_nodes[labels]), (row_nodes[rows], linked_nodes)]
    present = np.ones(len(names), np.bool_)
    if links is None:
        present[:earlier_count] = False
        present[row_nodes] = True
    else:
        edges.append((int64_range(earlier_count), _first_of_each(earlier.ids)))
    first_ends, second_ends = (
        np.concatenate(ends) for ends in zip(*edges, strict=True)
    )
    groups = components(first_ends, second_ends, len(names))
    return _named(earlier, names, groups, present)


def _named(
    earlier: ClusterTable, names: list[Any], groups: Int64Array, present: BoolArray
) -> ClusterUpdate:
    """Give ids to groups; `groups` has the first-seen row of each row, present or not."""
    n = len(names)
    earlier_count = len(earlier.keys)
    old = np.zeros(n, np.int64)
    old[:earlier_count] = earlier.ids
    present_rows = np.flatnonzero(present & (old > 0))
    claimed, first = np.unique(old[present_rows], return_index=True)
    claimants = groups[present_rows[first]]
    best = np.full(n, _NONE, np.int64)
    np.minimum.at(best, claimants, claimed)
    unnamed = np.flatnonzero(present & (groups == int64_range(n)) & (best == _NONE))
    best[unnamed] = earlier.next_id + int64_range(len(unnamed))
    ids = np.where(present, best[groups], 0)

    change = np.full(n, UNCHANGED, np.int8)
    moved_rows = np.flatnonzero(present & (old > 0) & (old != ids))
    to = claimants[np.searchsorted(claimed, old[moved_rows])]
    change[moved_rows] = np.where(to == groups[moved_rows], MERGED, SPLIT)
    change[(old > 0) & ~present] = REMOVED
    has_earlier = np.zeros(n, np.bool_)
    has_earlier[groups[present_rows]] = True
    new_rows = np.flatnonzero(old == 0)
    change[new_rows] = np.where(has_earlier[groups[new_rows]], JOINED, NEW)

    run = earlier.runs + 1
    first_seen = np.full(n, run, np.int64)
    first_seen[:earlier_count] = earlier.first_seen
    stay = np.flatnonzero(present)
    present_names = names if len(stay) == n else [names[node] for node in stay.tolist()]
    table = ClusterTable(
        present_names, ids[stay], first_seen[stay], run, earlier.next_id + len(unnamed)
    )
    return ClusterUpdate(table, names, ids, old, change)


def _first_of_each(values: Int64Array) -> Int64Array:
    """Return for each value the place where it is first."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], np.int64)
