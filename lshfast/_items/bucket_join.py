"""Similar points by buckets: candidates share a bucket, are screened by codes, and verified by
exact distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.threads import ordered_map
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast._items.crowds import Crowd, KeysOf, count_others
from lshfast._items.held_points import HeldItems
from lshfast._items.split_buckets import (
    SortedRows,
    SplitBuckets,
    are_in,
    crowded_buckets,
    of_buckets,
)
from lshfast.join.group_pairs import sorted_pairs
from lshfast.join.groups import star_groups
from lshfast.join.jaccard import as_pairs
from lshfast.kernels import bands as band_kernels
from lshfast.kernels import sets as set_kernels
from lshfast.kernels.meetings import LEAST_ROOM, Meetings

Int32Array = npt.NDArray[np.int32]

LOW32 = np.uint64(2**32 - 1)

CANDIDATE_BYTES = 1 << 25  # of the points of candidates that are verified at once
BATCHES = 8  # a batch has at most this share of all points


@dataclass(frozen=True)
class JoinSizes:
    """How much is done at once.

    Attributes
    ----------
    candidates : int
        Candidates that are verified at once, at most.
    first_batch, least_batch : int
        Points that are compared with those kept before them in one batch: the first batch, and the
        smallest one.
    part : int
        Points of a crowd that one thread compares at a time with all points before them.
    pairs : int or None
        Similar pairs of a batch for each of its points, above which the batch is halved. By default
        half of `least_batch`, at least 1: the smallest batch never has so many.
    """

    candidates: int = 1 << 16
    first_batch: int = 1 << 12
    least_batch: int = 256
    part: int = 1 << 11
    pairs: int | None = None

    @property
    def most_pairs(self) -> int:
        """The number that `pairs` stands for."""
        return self.pairs or max(1, self.least_batch // 2)


SIZES = JoinSizes()


class _TooManyError(Exception):
    """A batch has more similar pairs than are held."""


@dataclass(frozen=True)
class Meeting:
    """Similar pairs: the numbers of the rows, left < right, and the values of the measure."""

    left: Int32Array
    right: Int32Array
    value: Float64Array

    def __len__(self) -> int:
        return len(self.left)

    @classmethod
    def none(cls) -> Meeting:
        """Return no pairs."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))

    @classmethod
    def joined(cls, parts: Sequence[Meeting]) -> Meeting:
        """Return the pairs of several, at least one."""
        left, right = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("left", "right")
        )
        return cls(left, right, np.concatenate([part.value for part in parts]))

    def of(self, chosen: npt.NDArray[Any]) -> Meeting:
        """Return some of the pairs."""
        return Meeting(self.left[chosen], self.right[chosen], self.value[chosen])

    def different(self) -> Meeting:
        """Return the pairs without repetitions, sorted."""
        order = np.lexsort((self.right, self.left))
        new = (np.diff(self.left[order], prepend=-1) != 0) | (
            np.diff(self.right[order], prepend=-1) != 0
        )
        return self.of(order[new])


@dataclass(frozen=True)
class _Search:
    """Rows that are compared with others: those of their buckets in a band, or all if the band is
    None.
    """

    band: int | None
    rows: Int32Array


class BucketJoin:
    """Points in the order of preference, with their buckets.

    Parameters
    ----------
    points : HeldItems
    order : ndarray of int64, shape (m,)
        The rows of different points, the most preferred first. All other members take and give
        places in this order.
    value : float
        The largest value of a similar pair.
    keys : callable
        Returns the bucket keys of some rows in a band, given the band and the rows: uint64 (k,).
    bands : int
    codes : ndarray of uint64, shape (n, c)
        Codes that differ in at most `most` bits are those of candidates; c may be 0.
    most, threads : int
    sizes : JoinSizes, default SIZES
    crowded : bool, default False
        Whether all points are compared as those of one bucket. The pairs are still those that share
        a bucket.
    crowd : Crowd, optional
        Rows that are compared with each other in its cells, where they have too many candidates.

    Attributes
    ----------
    compared : int
        Pairs that were compared.
    limited : ndarray of int64
        The rows that were not compared with all rows of their buckets, because there are too many.
    left_out : int
        About the number of comparisons that are left out for them, in each bucket.
    """

    compared: int
    left_out: int

    def __init__(
        self,
        points: HeldItems,
        order: Int64Array,
        value: float,
        keys: KeysOf,
        bands: int,
        codes: UInt64Array,
        most: int,
        threads: int,
        progress: Progress | None = None,
        sizes: JoinSizes = SIZES,
        crowded: bool = False,
        crowd: Crowd | None = None,
    ) -> None:
        self._sizes = sizes
        self._points = points
        self._order = order
        self._value = value
        self._keys = keys
        self._bands = bands
        self._rare = points.rare_elements(value)
        self._codes = np.ascontiguousarray(codes[order])
        self._most = most
        self._threads = threads
        self._progress = progress
        self._crowded = crowded
        self._crowd = crowd
        self._members = np.zeros(len(order), np.bool_) if crowd is None else crowd.members[order]
        # Which rows are compared with members in cells.
        self._in_cells = np.zeros(len(order), np.bool_)
        self._limited = np.zeros(len(order), np.bool_)
        self.left_out = 0
        self._room = max(
            2 * LEAST_ROOM,
            min(sizes.candidates, CANDIDATE_BYTES // (16 * max(1, points.row_words))),
        )
        self.compared = 0

    def __len__(self) -> int:
        return len(self._order)

    @property
    def limited(self) -> Int64Array:
        return self._order[self._limited]

    # ---- all pairs ----

    def pairs(self) -> Iterator[Meeting]:
        """Yield all similar pairs, each once."""
        self._limit_members()
        rows = np.arange(len(self), dtype=np.int32)
        for band, meeting in self._among_bands(rows):
            if band is None:
                yield meeting
                continue
            new = np.ones(len(meeting.left), np.bool_)
            left = self._order[meeting.left]
            right = self._order[meeting.right]
            for earlier in self._bands_before(band):
                new &= self._keys_in(earlier, left) != self._keys_in(earlier, right)
            yield meeting.of(new)

    # ---- groups ----

    def stars(self) -> Meeting:
        """Return a pair for each row that is similar to a kept row before it: with the most
        preferred of these.

        Rows are taken in batches. A batch is compared with the rows kept before it, and what is
        left of it with itself, so that a crowd of n similar rows takes n comparisons, and not n²/2.
        """
        n = len(self)
        sizes = self._sizes
        keeper = np.arange(n, dtype=np.int32)
        value = np.zeros(n)
        kept = GrowingArray(np.int32)
        done = 0
        size = sizes.first_batch
        while done < n:
            batch = np.arange(done, min(n, done + size), dtype=np.int32)
            self._compare_with_kept(kept.rows(), batch, keeper, value)
            while len(batch):
                if self._crowd is not None:
                    self._settle(batch[keeper[batch] == batch], keeper, value)
                    break
                left = batch[keeper[batch] == batch]
                try:
                    found = self._among(left, sizes.most_pairs * max(len(left), sizes.least_batch))
                except _TooManyError:
                    batch = batch[: max(sizes.least_batch, len(batch) // 2)]
                    continue
                keeper[found.right] = found.left
                value[found.right] = found.value
                break
            kept.extend(batch[keeper[batch] == batch])
            halved = done + size > done + len(batch) and done + len(batch) < n
            done += len(batch)
            size = (
                max(sizes.least_batch, len(batch))
                if halved
                else min(2 * size, max(sizes.first_batch, n // BATCHES))
            )
            if self._progress:
                self._progress("verify", done, n)
        removed = np.flatnonzero(keeper != np.arange(n, dtype=np.int32)).astype(np.int32)
        return Meeting(keeper[removed], removed, value[removed])

    def _compare_with_kept(
        self, kept: Int32Array, batch: Int32Array, keeper: Int32Array, value: Float64Array
    ) -> None:
        """Write the first of the kept rows that is similar to each row of the batch, in place of
        its keeper.

        Rows are compared in 1, 2, 4... bands at a time, whatever the number of threads, and in the
        next ones with rows before their keeper only.
        """
        if len(kept):
            self._limit(kept, batch)
        searches = self._searches(batch)
        done = 0
        while len(kept) and done < len(searches):
            some = searches if self._crowded else searches[done : 2 * done + 1]
            done += len(some)
            first_of = partial(self._first_of, kept, batch, keeper[batch])
            for parts, compared in ordered_map(first_of, some, self._threads):
                self.compared += compared
                for found in parts:
                    new = found.of(found.left < keeper[found.right])
                    keeper[new.right] = new.left
                    value[new.right] = new.value

    def _settle(self, rows: Int32Array, keeper: Int32Array, value: Float64Array) -> None:
        """Write the keepers of rows among them, where some are in a crowd.

        If they have too many candidates or similar pairs among them, the second half is compared
        with what is kept of the first. Rows that had too many among those kept before are compared
        in cells.
        """
        assert self._crowd is not None
        least = self._sizes.least_batch
        members = rows[self._members[rows]]
        others = self._count(members, members)
        if len(rows) <= least or not (others[~self._in_cells[members]] > self._crowd.most).any():
            try:
                found = self._among(rows, self._sizes.most_pairs * max(len(rows), least))
            except _TooManyError:
                pass
            else:
                keeper[found.right] = found.left
                value[found.right] = found.value
                self.left_out += self._left_out(members, members, others) // 2
                return
        first = rows[: len(rows) // 2]
        second = rows[len(rows) // 2 :]
        self._settle(first, keeper, value)
        self._compare_with_kept(first[keeper[first] == first], second, keeper, value)
        self._settle(second[keeper[second] == second], keeper, value)

    def _first_of(
        self, kept: Int32Array, batch: Int32Array, keepers: Int32Array, search: _Search
    ) -> tuple[list[Meeting], int]:
        """Return, of the rows of a search, pairs with ever earlier similar kept rows, and how many
        were compared.
        """
        limits = np.empty(len(self), np.int32)
        firsts = list[Meeting]()
        compared = 0
        limits[batch] = keepers
        for found, count in self._meetings(search.band, kept, search.rows, limits, None):
            compared += count
            if not len(found):
                continue
            order = np.lexsort((found.left, found.right))
            new = found.of(order[np.diff(found.right[order], prepend=-1) != 0])
            new = new.of(new.left < limits[new.right])
            limits[new.right] = new.left
            firsts.append(new)
        return firsts, compared

    def _among(self, rows: Int32Array, most: int) -> Meeting:
        """Return the star of each of these rows that is similar to one of them; too many pairs
        raise an error.
        """
        found = Meeting.none()
        waiting = [Meeting.none()]
        room = most
        for _, meeting in self._among_bands(rows, most):
            waiting.append(meeting)
            room -= len(meeting)
            if room <= 0:
                found = Meeting.joined([found, *waiting]).different()
                waiting = [Meeting.none()]
                room = most
                if len(found) > most:
                    raise _TooManyError
        found = Meeting.joined([found, *waiting]).different()
        left = np.searchsorted(rows, found.left)
        right = np.searchsorted(rows, found.right)
        groups = star_groups(len(rows), as_pairs(left, right, found.value))
        removed = np.flatnonzero(groups.keeper != np.arange(len(rows), dtype=np.int64))
        return Meeting(rows[groups.keeper[removed]], rows[removed], groups.similarity[removed])

    def forest(self) -> Meeting:
        """Return similar pairs that connect the rows of each component, no more than it takes."""
        self._limit_members()
        n = len(self)
        rows = np.arange(n, dtype=np.int32)
        labels = np.arange(n, dtype=np.int32)
        chosen = [Meeting.none()]
        # Bands are compared one after the other, while the labels change, so that what is joined is
        # not compared.
        for band in self._every_band:
            for found, compared in self._meetings(band, rows, rows, rows, labels):
                self.compared += compared
                new = _spanning(found, labels)
                if len(new):
                    joined = set_kernels.components(
                        new.left.astype(np.int64), new.right.astype(np.int64), n
                    )
                    labels[:] = joined[labels]
                    chosen.append(new)
        return Meeting.joined(chosen)

    def rows_of(self, found: Meeting) -> npt.NDArray[np.void]:
        """Return pairs of places in the order as sorted pairs of rows, whose similarity is the
        value of the measure.
        """
        return sorted_pairs(self._order[found.left], self._order[found.right], found.value)

    # ---- crowds ----

    def _count(self, left: Int32Array, right: Int32Array) -> Float64Array:
        """Return for each row of `right` how many others of `left` are in its buckets, counted in
        each.
        """
        return count_others(
            self._keys, self._bands, self._order[left], self._order[right], self._threads
        )

    def _limit(self, left: Int32Array, right: Int32Array) -> None:
        """Choose which rows of `right` are compared with members of the crowd among `left` in
        cells, from now on.
        """
        if self._crowd is None:
            return
        left = left[self._members[left]]
        right = right[self._members[right]]
        others = self._count(left, right)
        self._compare_in_cells(right[others > self._crowd.most])
        self.left_out += self._left_out(left, right, others)

    def _limit_members(self) -> None:
        """Compare members of the crowd with each other in cells."""
        if self._crowd is None:
            return
        members = np.flatnonzero(self._members).astype(np.int32)
        self._compare_in_cells(members)
        self.left_out += self._left_out(members, members, self._count(members, members)) // 2

    def _compare_in_cells(self, rows: Int32Array) -> None:
        self._in_cells[rows] = self._limited[rows] = True

    def _left_out(self, left: Int32Array, right: Int32Array, others: Float64Array) -> int:
        """Return about how many comparisons cells leave out, given how many others are in the
        buckets of each row.
        """
        assert self._crowd is not None
        chosen = self._in_cells[right]
        in_cells = self._crowd.count_in_cells(
            self._order[left], self._order[right[chosen]], self._threads
        )
        return max(0, round(float(others[chosen].sum() - in_cells.sum())))

    # ---- the work ----

    @property
    def _every_band(self) -> range:
        """The bands, and after them the trees of the crowd."""
        return range(self._bands + (0 if self._crowd is None else self._crowd.trees))

    def _bands_before(self, band: int) -> range:
        """The bands before one in which its pairs were compared; those of two rows of a crowd are
        the trees.
        """
        return range(0 if band < self._bands else self._bands, band)

    def _keys_in(self, band: int, rows: Int64Array) -> UInt64Array:
        """Return the bucket keys of some rows in a band, or their cells in a tree."""
        if band < self._bands:
            return self._keys(band, rows)
        assert self._crowd is not None
        return self._crowd.keys(band - self._bands, rows)

    def _searches(self, rows: Int32Array) -> list[_Search]:
        """Return the searches that find the similar pairs of rows: one for each band, or parts of a
        crowd.
        """
        if not self._crowded:
            return [_Search(band, rows) for band in self._every_band]
        size = self._sizes.part
        return [_Search(None, rows[at : at + size]) for at in range(0, len(rows), size)]

    def _among_bands(
        self, rows: Int32Array, most: int | None = None
    ) -> Iterator[tuple[int | None, Meeting]]:
        """Yield (band, similar pairs) of rows, each row with those before it; of a crowd, band is
        None.
        """
        searches = self._searches(rows)
        among = partial(self._found_by, rows, most)
        for search, (parts, compared) in zip(
            searches, ordered_map(among, searches, self._threads), strict=True
        ):
            self.compared += compared
            for found in parts:
                yield search.band, found

    def _found_by(
        self, rows: Int32Array, most: int | None, search: _Search
    ) -> tuple[list[Meeting], int]:
        """Return the similar pairs of a search among rows, and how many were compared."""
        numbers = np.arange(len(self), dtype=np.int32)
        parts = list[Meeting]()
        compared = 0
        total = 0
        for found, count in self._meetings(search.band, rows, search.rows, numbers, None):
            compared += count
            total += len(found)
            if most is not None and total > most:
                raise _TooManyError
            if len(found):
                parts.append(found)
        return _joined_parts(parts, self._room), compared

    def _meetings(
        self,
        band: int | None,
        left: Int32Array,
        right: Int32Array,
        limits: Int32Array,
        labels: Int32Array | None,
    ) -> Iterator[tuple[Meeting, int]]:
        """Yield similar pairs of two lists of rows in a band, or in any band, and how many were
        compared for them.

        A row of `right` is paired with those of `left` below its limit, and with another label.
        Limits and labels may change between two of them.
        """
        for left_rows, right_rows in self._sides(band, left, right):
            if len(left_rows) and len(right_rows):
                yield from self._met(band, left_rows, right_rows, limits, labels)

    def _sides(
        self, band: int | None, left: Int32Array, right: Int32Array
    ) -> Iterator[tuple[Int32Array, Int32Array]]:
        """Yield the rows of two lists that are compared in a band, or in the cells of a tree."""
        if self._crowd is None or band is None:
            yield left, right
            return
        members = left[self._members[left]]
        others = left[~self._members[left]]
        in_cells = right[self._in_cells[right]]
        in_buckets = right[~self._in_cells[right]]
        if band >= self._bands:
            yield members, in_cells
            return
        yield others, right
        yield members, in_buckets

    def _met(
        self,
        band: int | None,
        left: Int32Array,
        right: Int32Array,
        limits: Int32Array,
        labels: Int32Array | None,
    ) -> Iterator[tuple[Meeting, int]]:
        """Yield what `_meetings` does, whether rows are in a crowd or not."""
        sorted_left = self._sorted(band, left)
        sorted_right = sorted_left if right is left else self._sorted(band, right)
        if self._rare is None:
            yield from self._compared(band, sorted_left, sorted_right, limits, labels)
            return
        crowded = crowded_buckets(sorted_left, sorted_right, self._rare, self._order)
        if not len(crowded):
            yield from self._compared(band, sorted_left, sorted_right, limits, labels)
            return
        sides = sorted_left, sorted_right
        others = [of_buckets(side, ~are_in(side[0], crowded)) for side in sides]
        yield from self._compared(band, others[0], others[1], limits, labels)
        left_crowd = of_buckets(sorted_left, are_in(sorted_left[0], crowded))
        right_crowd = (
            left_crowd
            if right is left
            else of_buckets(sorted_right, are_in(sorted_right[0], crowded))
        )
        yield from self._looked_up(band, left_crowd, right_crowd, limits, labels)

    def _looked_up(
        self,
        band: int | None,
        left: SortedRows,
        right: SortedRows,
        limits: Int32Array,
        labels: Int32Array | None,
    ) -> Iterator[tuple[Meeting, int]]:
        """Yield what `_meetings` does for rows of crowded buckets, which rare elements split where
        that helps.
        """
        assert self._rare is not None
        lefts = self._blocks(left)
        rights = lefts if left is right else self._blocks(right)
        for right_side, left_side in product(rights, lefts):
            buckets = SplitBuckets(left_side, right_side, self._rare, self._order)
            for pairs in buckets.pairs(limits, labels):
                for start in range(0, len(pairs), self._room):
                    part = pairs[start : start + self._room]
                    yield self._verified(part), len(part)
            rest = [
                of_buckets(side, ~are_in(side[0], buckets.split))
                for side in (left_side, right_side)
            ]
            yield from self._compared(band, rest[0], rest[1], limits, labels)

    def _blocks(self, side: SortedRows) -> list[SortedRows]:
        """Return the rows of a side in parts whose rare elements are in memory at once."""
        assert self._rare is not None
        return [of_buckets(side, block) for block in self._rare.blocks(self._order[side[1]])]

    def _compared(
        self,
        band: int | None,
        left: SortedRows,
        right: SortedRows,
        limits: Int32Array,
        labels: Int32Array | None,
    ) -> Iterator[tuple[Meeting, int]]:
        """Yield what `_meetings` does for sorted rows, each of which is compared with all rows of
        its bucket.
        """
        points, measure = self._points.points or (None, None)
        meetings = Meetings(
            *left,
            *right,
            self._codes,
            self._most,
            limits,
            labels,
            points,
            measure,
            self._order,
            self._value,
        )
        out = np.empty(self._room, np.uint64)
        screened = 0
        while not meetings.done:
            pairs = out[: meetings.find(out)]
            found = self._verified(pairs)
            compared = len(pairs) + meetings.screened - screened
            yield found if band is not None else self._sharing(found), compared
            screened = meetings.screened

    def _sorted(self, band: int | None, rows: Int32Array) -> tuple[UInt64Array, Int32Array]:
        if band is None:
            return np.zeros(len(rows), np.uint64), rows
        keys = self._keys_in(band, self._order[rows])
        order = band_kernels.order(keys.copy())
        return keys[order], rows[order]

    def _verified(self, pairs: UInt64Array) -> Meeting:
        if not len(pairs):
            return Meeting.none()
        left = (pairs & LOW32).astype(np.int32)
        right = (pairs >> np.uint64(32)).astype(np.int32)
        rows = self._order[right].astype(np.uint64) << np.uint64(32) | self._order[left].astype(
            np.uint64
        )
        values = self._points.values(rows)
        near = values <= self._value
        return Meeting(left[near], right[near], values[near])

    def _sharing(self, found: Meeting) -> Meeting:
        """Return the pairs that share a bucket of a band."""
        left = self._order[found.left]
        right = self._order[found.right]
        shared = np.zeros(len(found), np.bool_)
        rest = np.arange(len(found), dtype=np.int64)
        for band in range(self._bands):
            if not len(rest):
                break
            equal = self._keys(band, left[rest]) == self._keys(band, right[rest])
            shared[rest[equal]] = True
            rest = rest[~equal]
        return found.of(shared)


def _joined_parts(parts: list[Meeting], least: int) -> list[Meeting]:
    """Return the pairs of many parts in parts of at least so many, but for the last one."""
    joined = list[Meeting]()
    waiting = list[Meeting]()
    count = 0
    for part in parts:
        waiting.append(part)
        count += len(part)
        if count >= least:
            joined.append(Meeting.joined(waiting))
            waiting = []
            count = 0
    if waiting:
        joined.append(Meeting.joined(waiting))
    return joined


def _spanning(found: Meeting, labels: Int32Array) -> Meeting:
    """Return the first of the pairs of each two components, without pairs of one component."""
    left = labels[found.left].astype(np.uint64)
    right = labels[found.right].astype(np.uint64)
    low = np.minimum(left, right)
    high = np.maximum(left, right)
    _, first = np.unique(low << np.uint64(32) | high, return_index=True)
    first = first[low[first] != high[first]]
    return found.of(first)
