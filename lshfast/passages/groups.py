"""Equal hashes in groups, and the pairs of members of a group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lshfast._common.rows import int64_range, runs_of
from lshfast._common.threads import pieces
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.kernels import bands

# Pairs that are compared at a time: 64 MB of them.
MOST_PAIRS = 1 << 20


class ItemGroups:
    """Items in groups.

    Attributes
    ----------
    first, sizes : int64 (g,)
        Where the members of each group begin in `members`, and how many there are.
    members : int64 (n,)
        The items by group.
    """

    first: Int64Array
    sizes: Int64Array
    members: Int64Array

    def __init__(self, sizes: Int64Array, members: Int64Array) -> None:
        self.first = np.cumsum(sizes, dtype=np.int64) - sizes
        self.sizes = sizes
        self.members = members

    def of_items(self) -> tuple[Int64Array, Int64Array]:
        """Return the group of each item, and its number among the members of the group."""
        n = len(self.members)
        group = np.empty(n, np.int64)
        rank = np.empty(n, np.int64)
        group[self.members] = np.repeat(int64_range(len(self.sizes)), self.sizes)
        rank[self.members] = int64_range(n) - np.repeat(self.first, self.sizes)
        return group, rank

    def pairs(
        self, group: Int64Array, counts: Int64Array
    ) -> Iterator[tuple[Int64Array, Int64Array]]:
        """Yield pairs (member, i): for each i, the first counts[i] members of group[i].

        At most `MOST_PAIRS` are yielded at a time.

        The pairs of one i are together, and may be more.
        """
        for part in pieces(counts, MOST_PAIRS):
            times = counts[part]
            item = np.repeat(int64_range(part.start, part.stop), times)
            starts = np.cumsum(times, dtype=np.int64) - times
            rank = int64_range(len(item)) - np.repeat(starts, times)
            if len(item):
                yield self.members[self.first[group[item]] + rank], item

    def all_pairs(self, group: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return pairs (member, i): for each i, all members of group[i]."""
        times = self.sizes[group]
        members = self.members[spread(self.first[group], times)]
        return members, np.repeat(int64_range(len(group)), times)


class HashGroups(ItemGroups):
    """Items in groups of equal hashes; the members of a group ascend.

    Attributes
    ----------
    hashes : uint64 (g,)
        The hash of each group, ascending.
    """

    hashes: UInt64Array

    def __init__(self, hashes: UInt64Array) -> None:
        members = bands.order(hashes)
        ordered = hashes[members]
        first, ends = runs_of(ordered)
        super().__init__(ends - first, members)
        self.hashes = ordered[first]

    def find(self, hashes: UInt64Array) -> Int64Array:
        """Return the group of each of some hashes, -1 if there is none."""
        if not len(self.hashes):
            return np.full(len(hashes), -1, np.int64)
        group: Int64Array = np.searchsorted(self.hashes, hashes).astype(np.int64)
        group[group == len(self.hashes)] = 0
        group[self.hashes[group] != hashes] = -1
        return group


def spread(first: Int64Array, counts: Int64Array) -> Int64Array:
    """Return the numbers first[i], first[i] + 1, ..., counts[i] of them for each i."""
    ends = np.cumsum(counts, dtype=np.int64)
    shift: Int64Array = np.repeat(first - (ends - counts), counts)
    return shift + int64_range(len(shift))
