"""Similar points by buckets: candidates share a bucket, are screened by codes, and verified by exact distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from lshfast.common.growing import GrowingArray
from lshfast.common.progress import Progress
from lshfast.common.threads import ordered_map
from lshfast.common.types import Float64Array, Int64Array, UInt64Array
from lshfast.index.measure import Measure
from lshfast.join.group_pairs import sorted_pairs
from lshfast.join.groups import star_groups
from lshfast.join.jaccard import as_pairs
from lshfast.kernels import bands as band_kernels
from lshfast.kernels import distances as kernels
from lshfast.kernels import sets as set_kernels
from lshfast.kernels.meetings import LEAST_ROOM, Meetings
from lshfast.kinds.buckets import KeysOf
from lshfast.kinds.held_points import release

Int32Array = npt.NDArray[np.int32]

LOW32 = np.uint64(2**32 - 1)

# Candidates that are verified at once, at most, and the bytes of their points.
CANDIDATES = 1 << 16
CANDIDATE_BYTES = 1 << 25

# Points that are compared with those kept before them in one batch: the first batch, and the share of all points that a
# batch has at most.
FIRST_BATCH = 1 << 12
BATCHES = 8

# Similar pairs of a batch for each of its points, above which the batch is halved, and the smallest batch.
MOST_PAIRS = 64
LEAST_BATCH = 256


class _TooManyError(Exception):
    """A batch has more similar pairs than are held."""


@dataclass(frozen=True)
class Meeting:
    """Similar pairs: the numbers of the rows, left < right, and the values of the measure."""

    left: Int32Array
    right: Int32Array
    value: Float64Array


class BucketJoin:
    """Points in the order of preference, with their buckets.

    Parameters
    ----------
    points : ndarray of uint64, shape (n, words)
        The points, as words of the measure.
    order : ndarray of int64, shape (m,)
        The rows of different points, the most preferred first. All other members take and give places in this order.
    measure : Measure
    value : float
        The largest value of the measure of a similar pair.
    keys : callable
        Returns the bucket keys of some rows in a band, given the band and the rows: uint64 (k,).
    bands : int
    codes : ndarray of uint64, shape (n, c)
        Codes that differ in at most `most` bits are those of candidates; c may be 0.
    most, threads : int
    """

    compared: int

    def __init__(
        self,
        points: UInt64Array,
        order: Int64Array,
        measure: Measure,
        value: float,
        keys: KeysOf,
        bands: int,
        codes: UInt64Array,
        most: int,
        threads: int,
        progress: Progress | None = None,
    ) -> None:
        self._points, self._order, self._measure, self._value = points, order, measure, value
        self._keys, self._bands = keys, bands
        self._codes, self._most = np.ascontiguousarray(codes[order]), most
        self._threads, self._progress = threads, progress
        self._room = max(2 * LEAST_ROOM, min(CANDIDATES, CANDIDATE_BYTES // (16 * max(1, points.shape[1]))))
        self.compared = 0

    def __len__(self) -> int:
        return len(self._order)

    # ---- all pairs ----

    def pairs(self) -> Iterator[Meeting]:
        """Yield all similar pairs, each once."""
        rows = np.arange(len(self), dtype=np.int32)
        for band, meeting in self._between(rows, None, rows):
            new = np.ones(len(meeting.left), np.bool_)
            left, right = self._order[meeting.left], self._order[meeting.right]
            for earlier in range(band):
                new &= self._keys(earlier, left) != self._keys(earlier, right)
            yield Meeting(meeting.left[new], meeting.right[new], meeting.value[new])

    # ---- groups ----

    def stars(self) -> Meeting:
        """Return a pair for each row that is similar to a kept row before it: with the most preferred of these.

        Rows are taken in batches. A batch is compared with the rows kept before it, and what is left of it with itself,
        so that a crowd of n similar rows takes n comparisons, and not n²/2.
        """
        n = len(self)
        keeper, value = np.arange(n, dtype=np.int32), np.zeros(n)
        kept, done, size = GrowingArray(np.int32), 0, FIRST_BATCH
        while done < n:
            batch = np.arange(done, min(n, done + size), dtype=np.int32)
            for _, found in self._between(kept.rows(), batch, keeper):
                _prefer(found, keeper, value)
            while len(batch):
                left = batch[keeper[batch] == batch]
                try:
                    found = self._among(left, keeper, MOST_PAIRS * max(len(left), LEAST_BATCH))
                except _TooManyError:
                    batch = batch[: max(LEAST_BATCH, len(batch) // 2)]
                    continue
                _prefer(found, keeper, value)
                break
            kept.extend(batch[keeper[batch] == batch])
            halved = done + size > done + len(batch) and done + len(batch) < n
            done += len(batch)
            size = max(LEAST_BATCH, len(batch)) if halved else max(FIRST_BATCH, min(2 * size, n // BATCHES))
            if self._progress:
                self._progress("verify", done, n)
        removed = np.flatnonzero(keeper != np.arange(n, dtype=np.int32)).astype(np.int32)
        return Meeting(keeper[removed], removed, value[removed])

    def _among(self, rows: Int32Array, limits: Int32Array, most: int) -> Meeting:
        """Return the star of each of these rows that is similar to one of them; too many pairs raise an error."""
        parts, total = [], 0
        for _, meeting in self._between(rows, None, limits, most=most):
            parts.append(meeting)
            total += len(meeting.left)
            if total > 4 * most:
                raise _TooManyError
        if not total:
            return Meeting(rows[:0], rows[:0], np.empty(0))
        left, right = (np.concatenate([getattr(part, name) for part in parts]) for name in ("left", "right"))
        value = np.concatenate([part.value for part in parts])
        places = np.searchsorted(rows, left), np.searchsorted(rows, right)
        groups = star_groups(len(rows), as_pairs(*places, value))
        removed = np.flatnonzero(groups.keeper != np.arange(len(rows), dtype=np.int64))
        return Meeting(rows[groups.keeper[removed]], rows[removed], groups.similarity[removed])

    def forest(self) -> Meeting:
        """Return similar pairs that connect the rows of each component, no more than it takes."""
        n = len(self)
        rows, labels = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
        chosen = []
        for _, found in self._between(rows, None, rows, labels):
            new = _spanning(found, labels)
            if len(new.left):
                joined = set_kernels.components(new.left.astype(np.int64), new.right.astype(np.int64), n)
                labels[:] = joined[labels]
                chosen.append(new)
        left, right = (np.concatenate([rows[:0], *(getattr(part, name) for part in chosen)]) for name in _SIDES)
        return Meeting(left, right, np.concatenate([np.empty(0), *(part.value for part in chosen)]))

    def rows_of(self, found: Meeting) -> npt.NDArray[np.void]:
        """Return pairs of places in the order as sorted pairs of rows, whose similarity is the value of the measure."""
        return sorted_pairs(self._order[found.left], self._order[found.right], found.value)

    # ---- the work ----

    def _between(
        self,
        left: Int32Array,
        right: Int32Array | None,
        limits: Int32Array,
        labels: Int32Array | None = None,
        most: int | None = None,
    ) -> Iterator[tuple[int, Meeting]]:
        """Yield (band, similar pairs) of rows of two lists, or of one with itself.

        A row of `right` is paired with those of `left` below its limit, and with another label. Limits and labels may
        change between two of them: what they rule out then is yielded or not.
        """
        if not len(left) or (right is not None and not len(right)):
            return
        of_band = partial(self._of_band, left, right, limits, labels, most)
        # With labels, a band is read while they change: one after the other, so that what is joined is not compared.
        bands = range(self._bands)
        if labels is not None:
            for band in bands:
                for found in self._meetings(band, left, right, limits, labels, None):
                    yield band, found
            return
        for band, parts in zip(bands, ordered_map(of_band, bands, self._threads), strict=True):
            for found in parts:
                yield band, found

    def _of_band(
        self,
        left: Int32Array,
        right: Int32Array | None,
        limits: Int32Array,
        labels: Int32Array | None,
        most: int | None,
        band: int,
    ) -> list[Meeting]:
        return list(self._meetings(band, left, right, limits, labels, most))

    def _meetings(
        self,
        band: int,
        left: Int32Array,
        right: Int32Array | None,
        limits: Int32Array,
        labels: Int32Array | None,
        most: int | None,
    ) -> Iterator[Meeting]:
        sorted_left = self._sorted(band, left)
        sorted_right = sorted_left if right is None else self._sorted(band, right)
        meetings = Meetings(*sorted_left, *sorted_right, self._codes, self._most, limits, labels)
        out, total = np.empty(self._room, np.uint64), 0
        while not meetings.done:
            found = self._verified(out[: meetings.find(out)])
            total += len(found.left)
            if most is not None and total > most:
                raise _TooManyError
            if len(found.left):
                yield found

    def _sorted(self, band: int, rows: Int32Array) -> tuple[UInt64Array, Int32Array]:
        keys = self._keys(band, self._order[rows])
        order = band_kernels.order(keys.copy())
        return keys[order], rows[order]

    def _verified(self, pairs: UInt64Array) -> Meeting:
        left, right = (pairs & LOW32).astype(np.int32), (pairs >> np.uint64(32)).astype(np.int32)
        rows = self._order[right].astype(np.uint64) << np.uint64(32) | self._order[left].astype(np.uint64)
        values = np.empty(len(pairs))
        kernels.distances_of_pairs(self._points, rows, *self._measure.kernel, values)
        release(self._points)
        self.compared += len(pairs)
        near = values <= self._value
        return Meeting(left[near], right[near], values[near])


_SIDES = "left", "right"


def _prefer(found: Meeting, keeper: Int32Array, value: Float64Array) -> None:
    """Let the keeper of each right row be the left row, where that is preferred to the one it has."""
    better = np.flatnonzero(found.left < keeper[found.right])
    better = better[np.argsort(-found.left[better], kind="stable")]  # of several, the last one stays
    keeper[found.right[better]] = found.left[better]
    value[found.right[better]] = found.value[better]


def _spanning(found: Meeting, labels: Int32Array) -> Meeting:
    """Return the first of the pairs of each two components, without pairs of one component."""
    left, right = labels[found.left].astype(np.uint64), labels[found.right].astype(np.uint64)
    low, high = np.minimum(left, right), np.maximum(left, right)
    _, first = np.unique(low << np.uint64(32) | high, return_index=True)
    first = first[low[first] != high[first]]
    return Meeting(found.left[first], found.right[first], found.value[first])
