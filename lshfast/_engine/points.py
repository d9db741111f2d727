"""A run over weighted sets, vectors or codes: read them, find similar ones by buckets or
completely, and group them.

The rows are held as words of the kernels' measure, once. A row without a value is without a point:
it is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lshfast._common.choices import plural
from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._engine.account.crowds import Limited
from lshfast._engine.account.findings import Findings
from lshfast._engine.account.report import DedupResult
from lshfast._engine.against import NOTHING_EARLIER, Earlier
from lshfast._engine.clock import Clock
from lshfast._engine.pairs.listed import (
    PairArray,
    listed,
    lists_copies,
    not_above,
    renumbered,
)
from lshfast._engine.preference import preference_by_length
from lshfast._items.bucket_join import BucketJoin
from lshfast._items.buckets import (
    PointBuckets,
    choose_buckets,
    choose_set_buckets,
    crowded_codes,
    one_bucket,
)
from lshfast._items.held_points import (
    HeldItems,
    HeldPoints,
    HeldSets,
    PointFile,
    holder,
)
from lshfast._items.items import PointBatch
from lshfast._items.measures import PointPlan, is_distance
from lshfast.index.hamming import dedup_codes, hamming_pairs, tanimoto_pairs
from lshfast.index.neighbors.points import PointFormat
from lshfast.join.banded import equal_rows
from lshfast.join.copies import with_copies
from lshfast.join.group_pairs import by_preference, sorted_pairs
from lshfast.join.groups import Groups, component_groups, preferred, star_groups
from lshfast.join.jaccard import PAIR, as_pairs, joined_pairs, sort_pairs
from lshfast.kernels.hamming import similarities
from lshfast.kernels.text import HashKey, Texts, tokens_of_texts

# The file of the points, if they are not in memory.
POINTS = "points.bin"


@dataclass(frozen=True)
class PointRun:
    """What was found among the rows of a run, its plan with the bands, and the rows."""

    found: Findings
    plan: PointPlan
    rows: PointRows

    # A page shows no points.
    column: None = None

    def result(self, clock: Clock, **known: Any) -> DedupResult:
        """Return the result of the run; `known` is what `Findings.result` takes besides."""
        return self.found.result(self.plan, clock, **known)


def run_points(
    batches: Iterable[PointBatch],
    format_of: Callable[[], PointFormat | None],
    plan: PointPlan,
    clock: Clock,
    *,
    keep: str | npt.ArrayLike | Callable[[], Int64Array] = "first",
    similar: Callable[[Iterable[PairArray]], object] | None = None,
    folder: str | None = None,
    memory: int | None = None,
    earlier: Callable[[PointRows, PointPlan], Earlier] | None = None,
    progress: Progress | None = None,
) -> PointRun:
    """Find the groups of points, and all similar pairs if they are wanted.

    Parameters
    ----------
    batches : iterable of PointBatch
    format_of : callable
        Returns the format of the words, once all batches have been read; None for weighted sets,
        and if no row has a point.
    plan : PointPlan
    clock : Clock
    keep : str, array_like of shape (n,), or callable
        "first" or "last", or a value for each row; a callable returns the values, once all batches
        have been read.
    similar : callable, optional
        Called with the similar pairs that are listed, in batches.
    folder : str, optional
        A folder where the points are held in a file; by default they are in memory.
    memory : int, optional
        Bytes that the process may take; ValueError is raised if the rows need more.
    earlier : callable, optional
        Returns the rows that are removed for an entry of an index, given all rows with a point, of
        which there is one, and the plan. They are compared with no other rows.
    progress : callable, optional
    """
    with clock.stage("read"):
        rows = PointRows.of(batches, format_of, folder)
    clock.add("read", 0, rows.words.nbytes)
    values = keep() if callable(keep) else keep
    before: Earlier | None = None
    if earlier is not None:
        with clock.stage("earlier"):
            before = earlier(rows, plan) if len(rows) else NOTHING_EARLIER
    run = _Run(rows, plan, clock, progress, memory, before)
    pairs: PairArray | None = None
    if similar is not None:
        pairs = renumbered(run.every_pair(), rows.numbers)
        similar([pairs])
    groups, forming = run.groups(_preference(values, rows))
    listing = renumbered(forming, rows.numbers) if pairs is None else pairs
    found = Findings.of(
        rows.groups_of_all(groups, float(not is_distance(plan.measure))),
        listing,
        rows.copies_of_all(run.copies),
        None if before is None else replace(before, rows=rows.numbers[before.rows]),
        pairs_found=len(listing),
        candidates=run.compared,
        empty=rows.n - len(rows),
    )
    if plan.max_candidates is not None:
        found = replace(found, limited=int(run.limited.sum()), left_out=run.left_out)
    return PointRun(found, run.plan, rows)


def _preference(keep: str | npt.ArrayLike, rows: PointRows) -> npt.ArrayLike | None:
    """Return values of the rows with a point, of which greater ones are kept first."""
    if isinstance(keep, str) and keep in ("longest", "shortest"):
        if rows.offsets is None:
            return None
        sets = HeldSets(rows.offsets, rows.words)
        return preference_by_length(
            sets.lengths if keep == "longest" else -sets.lengths, sets.hashes
        )
    if isinstance(keep, str):
        return None if keep == "first" else np.arange(len(rows), dtype=np.int64)
    values = np.empty(rows.n, np.int64)
    values[preferred(rows.n, keep)] = np.arange(rows.n, 0, -1, dtype=np.int64)
    return values[rows.numbers]


def pairs_of_points(
    batches: Iterable[PointBatch],
    format_of: Callable[[], PointFormat | None],
    plan: PointPlan,
    clock: Clock,
    *,
    copies: Literal["first", "all"] = "first",
    progress: Progress | None = None,
) -> tuple[PairArray, Limited | None]:
    """Return the similar pairs of points that are listed, sorted, with their similarities or
    distances.

    Also return the rows that had more candidates than the plan allows, if it limits them.
    """
    rows = PointRows.of(batches, format_of)
    run = _Run(rows, plan, clock, progress)
    found = renumbered(run.every_pair(copies), rows.numbers)
    if plan.max_candidates is None:
        return found, None
    return found, Limited(plan.max_candidates, int(run.limited.sum()), run.left_out)


@dataclass(frozen=True)
class PointRows:
    """The rows of a run that have a point, under numbers of their own, so that rows without one
    take no memory.

    Attributes
    ----------
    words : ndarray of uint64, shape (m, words)
        Of weighted sets, the elements.
    numbers : ndarray of int64, shape (m,)
        Their numbers among all rows.
    n : int
        All rows.
    marks : ndarray of uint64, shape (m, 2)
        Two hashes of the words, under secret keys.
    offsets : ndarray of int64, shape (m + 1,), or None
        Of weighted sets, where the elements of each row begin.
    """

    words: UInt64Array
    numbers: Int64Array
    n: int
    marks: UInt64Array
    format: PointFormat | None
    offsets: Int64Array | None = None

    @classmethod
    def of(
        cls,
        batches: Iterable[PointBatch],
        format_of: Callable[[], PointFormat | None],
        folder: str | None = None,
    ) -> PointRows:
        path = None if folder is None else os.path.join(folder, POINTS)
        keys = draw_hash_key(), draw_hash_key()
        held = list[GrowingArray | PointFile]()
        missing = GrowingArray(np.bool_)
        marks = GrowingArray(np.uint64, 2)
        counts = GrowingArray(np.int64)
        sets = False
        for batch in batches:
            missing.extend(batch.missing)
            if len(batch.words):  # the width of the words is not known before
                if not held:
                    held.append(holder(path, batch.words.shape[1]))
                held[0].extend(batch.words)
                marks.extend(_marks(batch.words, keys, batch.counts))
            if batch.counts is not None:
                sets = True
                counts.extend(batch.counts)
        words = held[0].finished() if held else np.zeros((0, 1), np.uint64)
        numbers = np.flatnonzero(~missing.rows())
        offsets = (
            np.concatenate([[0], np.cumsum(counts.rows(), dtype=np.int64)])
            if sets
            else None
        )
        return cls(words, numbers, len(missing), marks.finished(), format_of(), offsets)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def held(self) -> HeldItems:
        """What measures pairs of the rows, of which there is at least one."""
        if self.offsets is not None:
            return HeldSets(self.offsets, self.words)
        assert self.format is not None
        return HeldPoints(self.words, self.format.measure)

    def buckets(self, plan: PointPlan, rows: Int64Array) -> PointBuckets:
        """Choose and compute the buckets of the rows, of which some are to be compared."""
        if self.offsets is not None:
            return choose_set_buckets(HeldSets(self.offsets, self.words), plan, rows)
        assert self.format is not None
        return choose_buckets(self.words, self.format, plan, rows)

    def groups_of_all(self, groups: Groups, value: float) -> Groups:
        """Return groups of the rows with a point as groups of all rows; the others are kept, with
        this similarity.
        """
        keeper = np.arange(self.n, dtype=np.int64)
        labels = np.arange(self.n, dtype=np.int64)
        similarity = np.full(self.n, value, np.float64)
        keeper[self.numbers] = self.numbers[groups.keeper]
        labels[self.numbers] = self.numbers[groups.labels]
        similarity[self.numbers] = groups.similarity
        return Groups(keeper, similarity, labels)

    def copies_of_all(self, copies: Int64Array) -> Int64Array:
        """Return the first copy of each row with a point as that of all rows; a row without one is
        never a copy.
        """
        every = np.arange(self.n, dtype=np.int64)
        every[self.numbers] = self.numbers[copies]
        return every

    def values(self, left: Int64Array, right: Int64Array) -> Float64Array:
        """Return the values of pairs of rows; see `HeldItems`."""
        return self.held.values(
            right.astype(np.uint64) << np.uint64(32) | left.astype(np.uint64)
        )


def _marks(
    words: UInt64Array, keys: tuple[HashKey, HashKey], counts: Int64Array | None
) -> UInt64Array:
    """Return two hashes of the words of each row: uint64 (n, 2); of weighted sets, given the number
    of elements.
    """
    n, width = words.shape
    ends = np.arange(n + 1, dtype=np.int64)
    if counts is not None:
        ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    rows = Texts.of_buffer(
        np.ascontiguousarray(words).reshape(-1).view(np.uint8), 8 * width * ends
    )
    return np.stack([tokens_of_texts(rows, key) for key in keys], axis=1).astype(
        np.uint64
    )


class _Run:
    """The stages of a run after reading.

    Within it, the similarity of a pair is 1 - its value, so that it is 1 for copies and greater for
    nearer points; of weighted sets, it is the negative of the value.
    """

    plan: PointPlan
    copies: Int64Array
    compared: int
    limited: BoolArray
    left_out: int

    def __init__(
        self,
        rows: PointRows,
        plan: PointPlan,
        clock: Clock,
        progress: Progress | None,
        memory: int | None = None,
        earlier: Earlier | None = None,
    ) -> None:
        self._rows = rows
        self.plan = plan
        self._clock = clock
        self._progress = progress
        self.compared = self.left_out = 0
        self.limited = np.zeros(len(rows), np.bool_)
        with clock.stage("match", rows.words.nbytes):
            if earlier is not None:
                rows.marks[earlier.rows, 0] = (
                    0  # copies of such a row are removed for the same entry
                )
            self.copies = equal_rows(rows.marks)
            different = self.copies == np.arange(len(rows), dtype=np.int64)
            if earlier is not None:
                different[earlier.rows] = False
            self._different = np.flatnonzero(different)
            self._memory = memory
            self._check_memory()
            self._buckets = self._choose()

    def _check_memory(self) -> None:
        """Raise ValueError if the rows need more memory than the process may take."""
        n = len(self._rows)
        needed = self.plan.memory_for(
            n, -(-self._rows.words.size // max(1, n)), self.plan.kind == "code"
        )
        if self._memory is not None and needed > self._memory:
            raise ValueError(
                f"memory must be at least {needed:,} bytes for {n:,} {plural(self.plan.kind)}, "
                f"not {self._memory:,}; "
                "fewer threads need less"
            )

    def _choose(self) -> PointBuckets | None:
        """Return the buckets of the points; None if codes are compared completely, by blocks of
        bits.
        """
        format = self._rows.format
        if not len(self._rows):
            return None
        if self.plan.kind == "code" and self.plan.complete:
            assert format is not None
            components = (
                self.plan.groups == "components" and self.plan.measure == "hamming"
            )
            return (
                crowded_codes(self._rows.words, format, self.plan, self._different)
                if components
                else None
            )
        if self.plan.complete:
            return one_bucket(len(self._rows))
        buckets = self._rows.buckets(self.plan, self._different)
        buckets = buckets.limited(self._rows.held, self.plan, self._different)
        self.plan = replace(self.plan, bands=buckets.bands, reached=buckets.recall)
        self._check_memory()
        return buckets

    def _join(self, order: Int64Array, buckets: PointBuckets) -> BucketJoin:
        return BucketJoin(
            self._rows.held,
            order,
            self.plan.value_of(self._rows.format),
            buckets,
            self.plan.threads,
            self._progress,
        )

    def _add_counts(self, join: BucketJoin) -> None:
        """Add what a join that has ended has counted."""
        self.compared += join.compared
        self.left_out += join.left_out
        self.limited[join.limited] = True

    # ---- all pairs ----

    def every_pair(self, copies: Literal["first", "all"] = "first") -> PairArray:
        """Return all similar pairs that are listed, sorted, with their similarities or
        distances.
        """
        with self._clock.stage("verify"):
            found = joined_pairs(listed(self._similar(), self.plan))
            sort_pairs(found)
            if copies == "all" or lists_copies(self.plan):
                found = not_above(with_copies(found, self.copies, copies), self.plan)
            return self._reported(found)

    def _similar(self) -> Iterator[PairArray]:
        """Yield the similar pairs of different rows, not sorted."""
        order = self._different
        if not len(self._rows):
            return
        if self.plan.measure == "tanimoto":
            alike = tanimoto_pairs(
                self._rows.words[order], self.plan.bound, threads=self.plan.threads
            )
            yield as_pairs(order[alike.left], order[alike.right], alike.similarity)
            self.compared += len(alike)
            return
        if self._buckets is None:
            near = hamming_pairs(
                self._rows.words[order], int(self.plan.bound), threads=self.plan.threads
            )
            yield as_pairs(order[near.left], order[near.right], 1.0 - near.distance)
            self.compared += len(near)
            return
        join = self._join(order, self._buckets)
        for meeting in join.pairs():
            yield self._closeness(join.rows_of(meeting))
        self._add_counts(join)

    # ---- groups ----

    def groups(self, preference: npt.ArrayLike | None) -> tuple[Groups, PairArray]:
        """Return the groups, and the similar pairs from which they were formed, sorted, with their
        values.
        """
        n = len(self._rows)
        with self._clock.stage("verify"):
            similar = self._forming(preference)
        with self._clock.stage("group"):
            make = star_groups if self.plan.groups == "star" else component_groups
            groups = make(n, similar, copies=self.copies, preference=preference)
            removed = np.flatnonzero(groups.keeper != np.arange(n, dtype=np.int64))
            keepers = groups.keeper[removed]
            same = self.copies[removed] == self.copies[keepers]
            values = np.where(
                same,
                float(not is_distance(self.plan.measure)),
                self._values(removed, keepers),
            )
            similarity = np.full(
                n, float(not is_distance(self.plan.measure)), np.float64
            )
            similarity[removed] = values
            return replace(groups, similarity=similarity), self._reported(
                with_copies(similar, self.copies)
            )

    def _forming(self, preference: npt.ArrayLike | None) -> PairArray:
        """Return similar pairs of different rows that determine the groups."""
        n = len(self._rows)
        if not n:
            return np.empty(0, PAIR)
        order = by_preference(self._different, n, self.copies, preference)
        if self._buckets is not None:
            join = self._join(order, self._buckets)
            found = join.stars() if self.plan.groups == "star" else join.forest()
            self._add_counts(join)
            return self._closeness(join.rows_of(found))
        if self.plan.groups == "components" or self.plan.measure == "tanimoto":
            found_pairs = joined_pairs(self._similar())
            sort_pairs(found_pairs)
            return found_pairs
        kept = dedup_codes(
            self._rows.words[order], int(self.plan.bound), threads=self.plan.threads
        )
        removed = np.flatnonzero(~kept.keep)
        self.compared += len(removed)
        return sorted_pairs(
            order[kept.keeper[removed]],
            order[removed],
            np.float64(1) - kept.distance[removed],
        )

    # ---- values ----

    def _values(self, left: Int64Array, right: Int64Array) -> Float64Array:
        """Return the similarities or distances of pairs of rows that are reported, which
        are exact.
        """
        rows = self._rows
        if not len(rows):
            return np.zeros(len(left))
        if self.plan.measure == "tanimoto":
            pairs = right.astype(np.uint64) << np.uint64(32) | left.astype(np.uint64)
            return similarities(rows.words, rows.words, pairs)
        return self.plan.reported(rows.format, rows.values(left, right))

    def _reported(self, pairs: PairArray) -> PairArray:
        """Return pairs with the similarities or distances that are reported, which are exact."""
        if is_distance(self.plan.measure):
            pairs = pairs.copy()
            pairs["similarity"] = self._values(pairs["i"], pairs["j"])
        return pairs

    def _closeness(self, pairs: PairArray) -> PairArray:
        """Replace the values of pairs by similarities."""
        pairs["similarity"] = (0 if self.plan.kind == "weighted" else 1) - pairs[
            "similarity"
        ]
        return pairs
