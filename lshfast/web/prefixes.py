"""Which of many link sets may be similar to a given one, while the sets change.

A set is listed under the rarest of its links: similar sets have one of them in common. If the first
link that two sets have in common is at place i of a set of n and at place j of the other one, their
similarity is at most (n - i) / (n + j). So lists are sorted by place, and a set looks at the
beginning of each list only: links that most sets have are at later places, and cost nothing. (Xiao,
Wang, Lin, Yu, "Efficient similarity joins for near duplicate detection", WWW 2008.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.join.thresholds import Rule

_HALF = np.uint64(32)
_MOST_PLACE = 2**32 - 1


class _Level(NamedTuple):
    """Entries of lists, sorted by their keys: the rank of a link, and its place in the set."""

    keys: UInt64Array
    owners: Int64Array
    versions: Int64Array


def prefix_places(
    sizes: Int64Array, rule: Rule, least: int
) -> tuple[Int64Array, Int64Array]:
    """Return the rows and places of the links under which sets are listed.

    Sets with fewer than `least` links are not listed.
    """
    # A similar set has at least p / (q - p) of the links of a set. So it has one of any links that
    # are one more than the remaining share.
    common = -(-rule.p * sizes // (rule.q - rule.p))
    prefix_sizes = np.where(sizes >= max(least, 1), sizes - common + 1, 0)
    rows = np.repeat(int64_range(len(sizes)), prefix_sizes)
    starts = np.cumsum(prefix_sizes, dtype=np.int64) - prefix_sizes
    places = int64_range(len(rows)) - np.repeat(starts, prefix_sizes)
    return rows, places


class Prefixes:
    """Lists of sets by their rarest links.

    A change of a set adds entries, and its earlier ones no longer count. Entries are in sorted
    levels, each at least twice as long as the next, so an entry is merged and a lookup repeated a
    logarithmic number of times.

    Parameters
    ----------
    n : int
        Sets have the names 0..n - 1.
    rule : Rule
        The similarity.
    least : int
        Sets with fewer links have no entries.
    """

    def __init__(self, n: int, rule: Rule, least: int) -> None:
        self._rule = rule
        self._least = least
        self._versions = np.zeros(n, np.int64)
        self._levels: list[_Level] = []

    def put(self, names: Int64Array, offsets: Int64Array, ranks: Int64Array) -> None:
        """Replace sets by new states; the ranks of their links ascend, the rarest first."""
        self.drop(names)
        rows, places = prefix_places(np.diff(offsets), self._rule, self._least)
        keys = ranks[offsets[rows] + places].astype(np.uint64) << _HALF | places.astype(
            np.uint64
        )
        owners = names[rows]
        level = self._sorted([_Level(keys, owners, self._versions[owners])])
        while self._levels and len(self._levels[-1].keys) < 2 * len(level.keys):
            level = self._sorted([self._levels.pop(), level])
        if len(level.keys):
            self._levels.append(level)

    def drop(self, names: Int64Array) -> None:
        """Forget the entries of some sets."""
        self._versions[names] += 1

    def near(
        self, offsets: Int64Array, ranks: Int64Array, most: int
    ) -> tuple[Int64Array | None, int]:
        """Return all sets that may be similar to one of these, and how many entries were read.

        The names are None if there are more than `most` entries.
        """
        p = self._rule.p
        q = self._rule.q
        rows, places = prefix_places(np.diff(offsets), self._rule, self._least)
        sizes = np.diff(offsets)[rows]
        last = np.minimum((sizes - places) * (q - p) // p - sizes, _MOST_PLACE)
        rows, places, last = (part[last >= 0] for part in (rows, places, last))
        first = ranks[offsets[rows] + places].astype(np.uint64) << _HALF
        names = [np.empty(0, np.int64)]
        count = 0
        for level in self._levels:
            starts = np.searchsorted(level.keys, first)
            stops = np.searchsorted(
                level.keys, first | last.astype(np.uint64), side="right"
            )
            counts = stops - starts
            count += int(counts.sum())
            if count > most:
                return None, count
            shifts = starts - np.cumsum(counts, dtype=np.int64) + counts
            entries = int64_range(counts.sum()) + np.repeat(shifts, counts)
            owners = level.owners[entries]
            names.append(owners[level.versions[entries] == self._versions[owners]])
        return np.unique(np.concatenate(names)), count

    def _sorted(self, levels: list[_Level]) -> _Level:
        """Return the entries of levels that still count, sorted."""
        keys, owners, versions = (
            np.concatenate(parts) for parts in zip(*levels, strict=True)
        )
        order = np.argsort(keys, kind="stable")
        order = order[versions[order] == self._versions[owners[order]]]
        return _Level(keys[order], owners[order], versions[order])
