"""A run over vectors or codes: read them, find similar ones by buckets or completely, and group them.

The rows are held as words of the kernels' measure, once. A row without a value is without a point: it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from lshfast.common.growing import GrowingArray
from lshfast.common.progress import Progress
from lshfast.common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.engine.account import Findings
from lshfast.engine.listed_pairs import PairArray, listed, lists_copies
from lshfast.engine.sketching import Clock
from lshfast.index.hamming import dedup_codes, hamming_pairs
from lshfast.index.neighbors.points import PointFormat
from lshfast.join.copies import with_copies
from lshfast.join.group_pairs import by_preference, sorted_pairs
from lshfast.join.groups import Groups, component_groups, star_groups
from lshfast.join.identical import find_identical
from lshfast.join.jaccard import PAIR, as_pairs, joined_pairs, sort_pairs
from lshfast.kernels import distances as kernels
from lshfast.kernels.text import Texts
from lshfast.kinds.bucket_join import BucketJoin
from lshfast.kinds.buckets import PointBuckets, choose_buckets, one_bucket
from lshfast.kinds.items import PointBatch
from lshfast.kinds.measures import PointPlan, is_distance


@dataclass(frozen=True)
class PointRun:
    """What was found among the rows of a run, and its plan with the bands."""

    found: Findings
    plan: PointPlan


def run_points(
    batches: Iterable[PointBatch],
    format_of: Callable[[], PointFormat | None],
    plan: PointPlan,
    clock: Clock,
    *,
    keep: str | npt.ArrayLike | Callable[[], Int64Array] = "first",
    similar: Callable[[Iterable[PairArray]], object] | None = None,
    room: int = 0,
    progress: Progress | None = None,
) -> PointRun:
    """Find the groups of points, and all similar pairs if they are wanted.

    Parameters
    ----------
    batches : iterable of PointBatch
    format_of : callable
        Returns the format of the words, once all batches have been read; None if no row has a point.
    plan : PointPlan
    clock : Clock
    keep : str, array_like of shape (n,), or callable
        "first" or "last", or a value for each row; a callable returns the values, once all batches have been read.
    similar : callable, optional
        Called with the similar pairs that are listed, in batches.
    room : int, default 0
        Rows that are expected.
    progress : callable, optional
    """
    with clock.stage("read"):
        rows = _PointRows.of(batches, format_of, room)
    clock.add("read", 0, rows.words.nbytes)
    values = keep() if callable(keep) else keep
    run = _Run(rows, plan, clock, progress)
    pairs: PairArray | None = None
    if similar is not None:
        pairs = run.every_pair()
        similar([pairs])
    groups, forming = run.groups(_preference(values, len(rows)))
    found = Findings.of(
        groups, forming if pairs is None else pairs, run.copies, None,
        pairs_found=len(forming if pairs is None else pairs), candidates=run.compared, empty=int(rows.missing.sum()),
    )  # fmt: skip
    return PointRun(found, run.plan)


def _preference(keep: str | npt.ArrayLike, n: int) -> npt.ArrayLike | None:
    if not isinstance(keep, str):
        return keep
    return None if keep == "first" else np.arange(n, dtype=np.int64)


def pairs_of_points(
    batches: Iterable[PointBatch],
    format_of: Callable[[], PointFormat | None],
    plan: PointPlan,
    clock: Clock,
    *,
    copies: Literal["first", "all"] = "first",
    progress: Progress | None = None,
) -> PairArray:
    """Return the similar pairs of points that are listed, sorted, with their similarities or distances."""
    return _Run(_PointRows.of(batches, format_of, 0), plan, clock, progress).every_pair(copies)


@dataclass(frozen=True)
class _PointRows:
    """All rows of a run."""

    words: UInt64Array
    missing: BoolArray
    format: PointFormat | None

    @classmethod
    def of(cls, batches: Iterable[PointBatch], format_of: Callable[[], PointFormat | None], room: int) -> _PointRows:
        words, missing = list[GrowingArray](), GrowingArray(np.bool_, room=room)
        for batch in batches:
            if not words:
                words.append(GrowingArray(np.uint64, batch.words.shape[1], room=room))
            words[0].extend(batch.words)
            missing.extend(batch.missing)
        return cls(words[0].finished() if words else np.empty((0, 1), np.uint64), missing.finished(), format_of())

    def __len__(self) -> int:
        return len(self.missing)

    def values(self, left: Int64Array, right: Int64Array) -> Float64Array:
        """Return the values of the kernels' measure of pairs of rows."""
        values = np.zeros(len(left))
        if self.format is not None:
            pairs = right.astype(np.uint64) << np.uint64(32) | left.astype(np.uint64)
            kernels.distances_of_pairs(self.words, pairs, *self.format.measure.kernel, values)
        return values

    def copies(self, threads: int) -> Int64Array:
        """Return the first row with the same words as each row; a row without a point is never a copy."""
        n, width = self.words.shape
        rows = Texts.of_buffer(self.words.reshape(-1).view(np.uint8), 8 * width * np.arange(n + 1, dtype=np.int64))
        first = find_identical(rows, method="hash", threads=threads)
        first[self.missing] = np.flatnonzero(self.missing)
        return first


class _Run:
    """The stages of a run after reading.

    Within it, the similarity of a pair is 1 - the value of the kernels' measure, so that it is 1 for copies and greater
    for nearer points.
    """

    plan: PointPlan
    copies: Int64Array
    compared: int

    def __init__(self, rows: _PointRows, plan: PointPlan, clock: Clock, progress: Progress | None) -> None:
        self._rows, self.plan, self._clock, self._progress = rows, plan, clock, progress
        self.compared = 0
        with clock.stage("match", rows.words.nbytes):
            self.copies = rows.copies(plan.threads)
            different = self.copies == np.arange(len(rows), dtype=np.int64)
            self._different = np.flatnonzero(different & ~rows.missing)
            self._buckets = self._choose()

    def _choose(self) -> PointBuckets | None:
        """Return the buckets of the points; None if codes are compared completely, by blocks of bits."""
        format = self._rows.format
        if format is None or (self.plan.kind == "code" and self.plan.complete):
            return None
        if self.plan.complete:
            return one_bucket(self._rows.words)
        buckets = choose_buckets(self._rows.words, format, self.plan, self._different)
        self.plan = replace(self.plan, bands=buckets.bands, reached=buckets.recall)
        return buckets

    def _join(self, order: Int64Array, buckets: PointBuckets, format: PointFormat) -> BucketJoin:
        return BucketJoin(
            self._rows.words, order, format.measure, self.plan.value_of(format), buckets.keys, buckets.codes,
            buckets.most, self.plan.threads, self._progress,
        )  # fmt: skip

    # ---- all pairs ----

    def every_pair(self, copies: Literal["first", "all"] = "first") -> PairArray:
        """Return all similar pairs that are listed, sorted, with their similarities or distances."""
        with self._clock.stage("verify"):
            found = joined_pairs(listed(self._similar(), self.plan))
            sort_pairs(found)
            if lists_copies(self.plan):
                found = with_copies(found, self.copies, copies)
            return self._reported(found)

    def _similar(self) -> Iterator[PairArray]:
        """Yield the similar pairs of different rows, not sorted."""
        format, order = self._rows.format, self._different
        if format is None:
            return
        if self._buckets is None:
            near = hamming_pairs(self._rows.words[order], int(self.plan.bound), threads=self.plan.threads)
            yield as_pairs(order[near.left], order[near.right], 1.0 - near.distance)
            self.compared += len(near)
            return
        join = self._join(order, self._buckets, format)
        for meeting in join.pairs():
            yield _closeness(join.rows_of(meeting))
        self.compared += join.compared

    # ---- groups ----

    def groups(self, preference: npt.ArrayLike | None) -> tuple[Groups, PairArray]:
        """Return the groups, and the similar pairs from which they were formed, sorted, with their values."""
        n = len(self._rows)
        with self._clock.stage("verify"):
            similar = self._forming(preference)
        with self._clock.stage("group"):
            make = star_groups if self.plan.groups == "star" else component_groups
            groups = make(n, similar, copies=self.copies, preference=preference)
            removed = np.flatnonzero(groups.keeper != np.arange(n, dtype=np.int64))
            keepers = groups.keeper[removed]
            same = self.copies[removed] == self.copies[keepers]
            values = self._report(np.where(same, 0.0, self._rows.values(removed, keepers)))
            similarity = np.full(n, float(not is_distance(self.plan.measure)), np.float64)
            similarity[removed] = values
            return replace(groups, similarity=similarity), self._reported(with_copies(similar, self.copies))

    def _forming(self, preference: npt.ArrayLike | None) -> PairArray:
        """Return similar pairs of different rows that determine the groups."""
        format, n = self._rows.format, len(self._rows)
        if format is None:
            return np.empty(0, PAIR)
        order = by_preference(self._different, n, self.copies, preference)
        if self._buckets is not None:
            join = self._join(order, self._buckets, format)
            found = join.stars() if self.plan.groups == "star" else join.forest()
            self.compared += join.compared
            return _closeness(join.rows_of(found))
        if self.plan.groups == "components":
            found_pairs = joined_pairs(self._similar())
            sort_pairs(found_pairs)
            return found_pairs
        kept = dedup_codes(self._rows.words[order], int(self.plan.bound), threads=self.plan.threads)
        removed = np.flatnonzero(~kept.keep)
        self.compared += len(removed)
        return sorted_pairs(order[kept.keeper[removed]], order[removed], np.float64(1) - kept.distance[removed])

    # ---- values ----

    def _report(self, values: Float64Array) -> Float64Array:
        format = self._rows.format
        return values if format is None else self.plan.reported(format, values)

    def _reported(self, pairs: PairArray) -> PairArray:
        """Return pairs with the similarities or distances that are reported, which are exact."""
        if is_distance(self.plan.measure):
            pairs = pairs.copy()
            pairs["similarity"] = self._report(self._rows.values(pairs["i"], pairs["j"]))
        return pairs


def _closeness(pairs: PairArray) -> PairArray:
    """Replace the values of the measure in pairs by 1 - value."""
    pairs["similarity"] = 1 - pairs["similarity"]
    return pairs
