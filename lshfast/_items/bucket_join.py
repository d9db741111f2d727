"""Similar points by buckets.

Candidates share a bucket, are screened by codes, and are verified by exact distances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range, parts_of_rows, run_begins
from lshfast._common.threads import ordered_map
from lshfast._common.types import (
    Float64Array,
    Int32Array,
    Int64Array,
    RecordArray,
    UInt64Array,
)
from lshfast._items.buckets import PointBuckets
from lshfast._items.crowds import count_others
from lshfast._items.held_points import HeldItems
from lshfast._items.meetings import Meeting, joined_parts, spanning
from lshfast._items.split_buckets import (
    SortedRows,
    SplitBuckets,
    are_in,
    crowded_buckets,
    of_buckets,
)
from lshfast.join.groups import star_groups
from lshfast.join.pair_arrays import as_pairs, sorted_pairs
from lshfast.kernels import bands as band_kernels
from lshfast.kernels import sets as set_kernels
from lshfast.kernels.meetings import LEAST_ROOM, Meetings

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
        half of `least_batch`, at least 1: the smallest batch never has more.
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
class _Search:
    """Rows that are compared with the rows of their buckets in a band; with all rows for None."""

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
    buckets : PointBuckets
        If they are crowded, all points are compared as if in one bucket; reported pairs still share
        a bucket. The rows of a crowd are compared with each other in its cells.
    threads : int
    progress : callable, optional
    sizes : JoinSizes, default SIZES

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
        buckets: PointBuckets,
        threads: int,
        progress: Progress | None = None,
        sizes: JoinSizes = SIZES,
    ) -> None:
        self._sizes = sizes
        self._points = points
        self._order = order
        self._value = value
        self._keys = buckets.keys
        self._bands = buckets.bands.bands
        self._rare = points.rare_elements(value)
        self._codes = np.ascontiguousarray(buckets.codes[order])
        self._most = buckets.most
        self._threads = threads
        self._progress = progress
        self._crowded = buckets.crowded
        self._crowd = buckets.crowd
        self._members = np.zeros(len(order), np.bool_)
        if self._crowd is not None:
            self._members = self._crowd.members[order]
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
            left_rows = self._order[meeting.left]
            right_rows = self._order[meeting.right]
            for earlier in self._bands_before(band):
                new &= self._keys_in(earlier, left_rows) != self._keys_in(
                    earlier, right_rows
                )
            yield meeting.of(new)

    # ---- groups ----

    def stars(self) -> Meeting:
        """Return each row that is similar to a kept row before it, with the most preferred one.

        Rows of a batch are compared with the rows kept before it, then the rest with each other:
        a crowd of n similar rows takes n comparisons, and not n²/2.
        """
        n = len(self)
        sizes = self._sizes
        keeper = np.arange(n, dtype=np.int32)
        values = np.zeros(n)
        kept_rows = GrowingArray(np.int32)
        start = 0
        size = sizes.first_batch
        while start < n:
            batch = np.arange(start, min(n, start + size), dtype=np.int32)
            self._compare_with_kept(kept_rows.rows(), batch, keeper, values)
            while len(batch):
                if self._crowd is not None:
                    self._settle(batch[keeper[batch] == batch], keeper, values)
                    break
                open_rows = batch[keeper[batch] == batch]
                try:
                    stars = self._among(
                        open_rows,
                        sizes.most_pairs * max(len(open_rows), sizes.least_batch),
                    )
                except _TooManyError:
                    batch = batch[: max(sizes.least_batch, len(batch) // 2)]
                    continue
                keeper[stars.right] = stars.left
                values[stars.right] = stars.value
                break
            kept_rows.extend(batch[keeper[batch] == batch])
            is_halved = len(batch) < size and start + len(batch) < n
            start += len(batch)
            if is_halved:
                size = max(sizes.least_batch, len(batch))
            else:
                size = min(2 * size, max(sizes.first_batch, n // BATCHES))
            if self._progress:
                self._progress("verify", start, n)
        removed = np.flatnonzero(keeper != np.arange(n, dtype=np.int32)).astype(
            np.int32
        )
        return Meeting(keeper[removed], removed, values[removed])

    def _compare_with_kept(
        self,
        kept_rows: Int32Array,
        batch: Int32Array,
        keeper: Int32Array,
        values: Float64Array,
    ) -> None:
        """Set the keeper of each row of the batch to its first similar kept row.

        Rows are compared in 1, 2, 4... bands at a time, for any number of threads; in later bands
        only with rows before their keeper.
        """
        if len(kept_rows):
            self._limit(kept_rows, batch)
        searches = self._searches(batch)
        search_count = 0
        while len(kept_rows) and search_count < len(searches):
            next_searches = (
                searches
                if self._crowded
                else searches[search_count : 2 * search_count + 1]
            )
            search_count += len(next_searches)
            first_of = partial(self._first_of, kept_rows, batch, keeper[batch])
            for parts, compared in ordered_map(first_of, next_searches, self._threads):
                self.compared += compared
                for meeting in parts:
                    new = meeting.of(meeting.left < keeper[meeting.right])
                    keeper[new.right] = new.left
                    values[new.right] = new.value

    def _settle(
        self, rows: Int32Array, keeper: Int32Array, values: Float64Array
    ) -> None:
        """Set the keepers of rows that are similar to each other, where some are in a crowd.

        The rows are halved while they have too many candidates or similar pairs. Rows with too many
        candidates among the kept rows are compared in cells.
        """
        assert self._crowd is not None
        least = self._sizes.least_batch
        members = rows[self._members[rows]]
        other_counts = self._count(members, members)
        if (
            len(rows) <= least
            or not (other_counts[~self._in_cells[members]] > self._crowd.most).any()
        ):
            try:
                stars = self._among(
                    rows, self._sizes.most_pairs * max(len(rows), least)
                )
            except _TooManyError:
                pass
            else:
                keeper[stars.right] = stars.left
                values[stars.right] = stars.value
                self.left_out += self._left_out(members, members, other_counts) // 2
                return
        first = rows[: len(rows) // 2]
        second = rows[len(rows) // 2 :]
        self._settle(first, keeper, values)
        self._compare_with_kept(first[keeper[first] == first], second, keeper, values)
        self._settle(second[keeper[second] == second], keeper, values)

    def _first_of(
        self,
        kept_rows: Int32Array,
        batch: Int32Array,
        keepers: Int32Array,
        search: _Search,
    ) -> tuple[list[Meeting], int]:
        """Return pairs of searched rows with ever earlier kept rows, and the number compared."""
        limits = np.empty(len(self), np.int32)
        firsts = list[Meeting]()
        compared = 0
        limits[batch] = keepers
        for meeting, count in self._meetings(
            search.band, kept_rows, search.rows, limits, None
        ):
            compared += count
            if not len(meeting):
                continue
            order = np.lexsort((meeting.left, meeting.right))
            new = meeting.of(order[run_begins(meeting.right[order])])
            new = new.of(new.left < limits[new.right])
            limits[new.right] = new.left
            firsts.append(new)
        return firsts, compared

    def _among(self, rows: Int32Array, most: int) -> Meeting:
        """Return the stars among these rows; raise `_TooManyError` for more than `most` pairs."""
        similar_pairs = Meeting.none()
        waiting = [Meeting.none()]
        room = most
        for _, meeting in self._among_bands(rows, most):
            waiting.append(meeting)
            room -= len(meeting)
            if room <= 0:
                similar_pairs = Meeting.joined([similar_pairs, *waiting]).different()
                waiting = [Meeting.none()]
                room = most
                if len(similar_pairs) > most:
                    raise _TooManyError
        similar_pairs = Meeting.joined([similar_pairs, *waiting]).different()
        left_places = np.searchsorted(rows, similar_pairs.left)
        right_places = np.searchsorted(rows, similar_pairs.right)
        groups = star_groups(
            len(rows), as_pairs(left_places, right_places, similar_pairs.value)
        )
        removed = np.flatnonzero(groups.keeper != int64_range(len(rows)))
        return Meeting(
            rows[groups.keeper[removed]], rows[removed], groups.similarity[removed]
        )

    def forest(self) -> Meeting:
        """Return similar pairs that connect the rows of each component, no more than it takes."""
        self._limit_members()
        n = len(self)
        rows = np.arange(n, dtype=np.int32)
        labels = np.arange(n, dtype=np.int32)
        forest_pairs = [Meeting.none()]
        # Bands are compared one after the other, while the labels change, so that what is joined is
        # not compared.
        for band in self._every_band:
            for meeting, compared in self._meetings(band, rows, rows, rows, labels):
                self.compared += compared
                new = spanning(meeting, labels)
                if len(new):
                    components = set_kernels.components(
                        new.left.astype(np.int64), new.right.astype(np.int64), n
                    )
                    labels[:] = components[labels]
                    forest_pairs.append(new)
        return Meeting.joined(forest_pairs)

    def rows_of(self, meeting: Meeting) -> RecordArray:
        """Return pairs of places as sorted pairs of rows, with values of the measure."""
        return sorted_pairs(
            self._order[meeting.left], self._order[meeting.right], meeting.value
        )

    # ---- crowds ----

    def _count(self, left_rows: Int32Array, right_rows: Int32Array) -> Float64Array:
        """Count, over the buckets of each right row, the other rows among the left ones."""
        return count_others(
            self._keys,
            self._bands,
            self._order[left_rows],
            self._order[right_rows],
            self._threads,
        )

    def _limit(self, left_rows: Int32Array, right_rows: Int32Array) -> None:
        """Mark the right members that are compared with the left members in cells."""
        if self._crowd is None:
            return
        left_rows = left_rows[self._members[left_rows]]
        right_rows = right_rows[self._members[right_rows]]
        other_counts = self._count(left_rows, right_rows)
        self._compare_in_cells(right_rows[other_counts > self._crowd.most])
        self.left_out += self._left_out(left_rows, right_rows, other_counts)

    def _limit_members(self) -> None:
        """Compare members of the crowd with each other in cells."""
        if self._crowd is None:
            return
        members = np.flatnonzero(self._members).astype(np.int32)
        self._compare_in_cells(members)
        self.left_out += (
            self._left_out(members, members, self._count(members, members)) // 2
        )

    def _compare_in_cells(self, rows: Int32Array) -> None:
        self._in_cells[rows] = self._limited[rows] = True

    def _left_out(
        self, left_rows: Int32Array, right_rows: Int32Array, other_counts: Float64Array
    ) -> int:
        """Estimate the comparisons that cells save, given the other rows in each row's buckets."""
        assert self._crowd is not None
        is_in_cells = self._in_cells[right_rows]
        in_cells = self._crowd.count_in_cells(
            self._order[left_rows], self._order[right_rows[is_in_cells]], self._threads
        )
        return max(0, round(float(other_counts[is_in_cells].sum() - in_cells.sum())))

    # ---- searches ----

    @property
    def _every_band(self) -> range:
        """The bands, and after them the trees of the crowd."""
        return range(self._bands + (0 if self._crowd is None else self._crowd.trees))

    def _bands_before(self, band: int) -> range:
        """Return the bands that compared a pair before this one; for two members, the trees."""
        return range(0 if band < self._bands else self._bands, band)

    def _keys_in(self, band: int, rows: Int64Array) -> UInt64Array:
        """Return the bucket keys of some rows in a band, or their cells in a tree."""
        if band < self._bands:
            return self._keys(band, rows)
        assert self._crowd is not None
        return self._crowd.keys(band - self._bands, rows)

    def _searches(self, rows: Int32Array) -> list[_Search]:
        """Return searches for the similar pairs of rows: one a band, or one a part of a crowd."""
        if not self._crowded:
            return [_Search(band, rows) for band in self._every_band]
        size = self._sizes.part
        return [_Search(None, rows[part]) for part in parts_of_rows(len(rows), size)]

    def _among_bands(
        self, rows: Int32Array, most: int | None = None
    ) -> Iterator[tuple[int | None, Meeting]]:
        """Yield similar pairs among rows, after their band number; None for crowded points."""
        searches = self._searches(rows)
        among = partial(self._found_by, rows, most)
        for search, (parts, compared) in zip(
            searches, ordered_map(among, searches, self._threads), strict=True
        ):
            self.compared += compared
            for meeting in parts:
                yield search.band, meeting

    def _found_by(
        self, rows: Int32Array, most: int | None, search: _Search
    ) -> tuple[list[Meeting], int]:
        """Return the similar pairs of a search among rows, and how many were compared."""
        numbers = np.arange(len(self), dtype=np.int32)
        parts = list[Meeting]()
        compared = 0
        total = 0
        for meeting, count in self._meetings(
            search.band, rows, search.rows, numbers, None
        ):
            compared += count
            total += len(meeting)
            if most is not None and total > most:
                raise _TooManyError
            if len(meeting):
                parts.append(meeting)
        return joined_parts(parts, self._room), compared

    def _meetings(
        self,
        band: int | None,
        first_rows: Int32Array,
        second_rows: Int32Array,
        limits: Int32Array,
        labels: Int32Array | None,
    ) -> Iterator[tuple[Meeting, int]]:
        """Yield similar pairs of two lists in a band (None: any), and the number compared.

        A second row is paired with the first rows below its limit and with another label.
        The caller may change limits and labels between two results.
        """
        for left_rows, right_rows in self._sides(band, first_rows, second_rows):
            if len(left_rows) and len(right_rows):
                yield from self._met(band, left_rows, right_rows, limits, labels)

    def _sides(
        self, band: int | None, left_rows: Int32Array, right_rows: Int32Array
    ) -> Iterator[tuple[Int32Array, Int32Array]]:
        """Yield the rows of two lists that are compared in a band, or in the cells of a tree."""
        if self._crowd is None or band is None:
            yield left_rows, right_rows
            return
        members = left_rows[self._members[left_rows]]
        non_members = left_rows[~self._members[left_rows]]
        in_cells = right_rows[self._in_cells[right_rows]]
        in_buckets = right_rows[~self._in_cells[right_rows]]
        if band >= self._bands:
            yield members, in_cells
            return
        yield non_members, right_rows
        yield members, in_buckets

    def _met(
        self,
        band: int | None,
        left_rows: Int32Array,
        right_rows: Int32Array,
        limits: Int32Array,
        labels: Int32Array | None,
    ) -> Iterator[tuple[Meeting, int]]:
        """Yield the pairs of `_meetings` for two lists of rows that are compared in a band."""
        sorted_left = self._sorted(band, left_rows)
        sorted_right = (
            sorted_left if right_rows is left_rows else self._sorted(band, right_rows)
        )
        if self._rare is None:
            yield from self._compared(band, sorted_left, sorted_right, limits, labels)
            return
        crowded = crowded_buckets(sorted_left, sorted_right, self._rare, self._order)
        if not len(crowded):
            yield from self._compared(band, sorted_left, sorted_right, limits, labels)
            return
        sides = sorted_left, sorted_right
        small_sides = [of_buckets(side, ~are_in(side[0], crowded)) for side in sides]
        yield from self._compared(band, small_sides[0], small_sides[1], limits, labels)
        left_crowd = of_buckets(sorted_left, are_in(sorted_left[0], crowded))
        right_crowd = left_crowd
        if right_rows is not left_rows:
            right_crowd = of_buckets(sorted_right, are_in(sorted_right[0], crowded))
        yield from self._looked_up(band, left_crowd, right_crowd, limits, labels)

    def _looked_up(
        self,
        band: int | None,
        first_rows: SortedRows,
        second_rows: SortedRows,
        limits: Int32Array,
        labels: Int32Array | None,
    ) -> Iterator[tuple[Meeting, int]]:
        """Yield the pairs of `_meetings` for crowded buckets, split by rare elements if useful."""
        assert self._rare is not None
        lefts = self._blocks(first_rows)
        rights = lefts if first_rows is second_rows else self._blocks(second_rows)
        for right_side, left_side in product(rights, lefts):
            buckets = SplitBuckets(left_side, right_side, self._rare, self._order)
            for pairs in buckets.pairs(limits, labels):
                for rows in parts_of_rows(len(pairs), self._room):
                    part = pairs[rows]
                    yield self._verified(part), len(part)
            unsplit_sides = [
                of_buckets(side, ~are_in(side[0], buckets.split))
                for side in (left_side, right_side)
            ]
            yield from self._compared(
                band, unsplit_sides[0], unsplit_sides[1], limits, labels
            )

    def _blocks(self, side: SortedRows) -> list[SortedRows]:
        """Return the rows of a side in parts whose rare elements are in memory at once."""
        assert self._rare is not None
        return [
            of_buckets(side, block) for block in self._rare.blocks(self._order[side[1]])
        ]

    def _compared(
        self,
        band: int | None,
        first_rows: SortedRows,
        second_rows: SortedRows,
        limits: Int32Array,
        labels: Int32Array | None,
    ) -> Iterator[tuple[Meeting, int]]:
        """Yield the pairs of `_meetings` for sorted rows, comparing all rows of a bucket."""
        points, measure = self._points.points or (None, None)
        meetings = Meetings(
            *first_rows,
            *second_rows,
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
            similar_pairs = self._verified(pairs)
            compared = len(pairs) + meetings.screened - screened
            yield (
                similar_pairs if band is not None else self._sharing(similar_pairs),
                compared,
            )
            screened = meetings.screened

    def _sorted(
        self, band: int | None, rows: Int32Array
    ) -> tuple[UInt64Array, Int32Array]:
        if band is None:
            return np.zeros(len(rows), np.uint64), rows
        keys = self._keys_in(band, self._order[rows])
        order = band_kernels.order(keys.copy())
        return keys[order], rows[order]

    def _verified(self, pairs: UInt64Array) -> Meeting:
        if not len(pairs):
            return Meeting.none()
        left_places = (pairs & LOW32).astype(np.int32)
        right_places = (pairs >> np.uint64(32)).astype(np.int32)
        rows = self._order[right_places].astype(np.uint64) << np.uint64(
            32
        ) | self._order[left_places].astype(np.uint64)
        values = self._points.values(rows)
        is_similar = values <= self._value
        return Meeting(
            left_places[is_similar], right_places[is_similar], values[is_similar]
        )

    def _sharing(self, meeting: Meeting) -> Meeting:
        """Return the pairs that share a bucket of a band."""
        left_rows = self._order[meeting.left]
        right_rows = self._order[meeting.right]
        shared = np.zeros(len(meeting), np.bool_)
        open_pairs = int64_range(len(meeting))
        for band in range(self._bands):
            if not len(open_pairs):
                break
            equal = self._keys(band, left_rows[open_pairs]) == self._keys(
                band, right_rows[open_pairs]
            )
            shared[open_pairs[equal]] = True
            open_pairs = open_pairs[~equal]
        return meeting.of(shared)
