"""A run over weighted sets, vectors or codes: read them, find similar ones by buckets or
completely, and group them.

The rows are held as words of the kernels' measure, once. A row without a value is without a point:
it is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from lshfast._common.choices import plural
from lshfast._common.growing import GrowingArray
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._engine.account.crowds import Limited
from lshfast._engine.account.findings import Findings, ReadRows, named_pairs
from lshfast._engine.account.report import DedupResult
from lshfast._engine.against import NOTHING_EARLIER, Earlier
from lshfast._engine.clock import Clock
from lshfast._engine.key_copies import (
    KeyCopies,
    PreferenceOf,
    find_key_copies,
    preference_of_values,
)
from lshfast._engine.kinds.kind import ItemsInMemory, Request
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
    BucketPlan,
    PointBuckets,
    choose_buckets,
    choose_set_buckets,
    compute_buckets,
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
from lshfast.join.copies import equal_rows, with_copies
from lshfast.join.groups import (
    Groups,
    by_preference,
    component_groups,
    preferred,
    star_groups,
)
from lshfast.join.pair_arrays import (
    PAIR,
    as_pairs,
    joined_pairs,
    sort_pairs,
    sorted_pairs,
)
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

    def result(
        self, clock: Clock, rows: ReadRows, indexed: int | None = None
    ) -> DedupResult:
        """Return the result of the run; see `Findings.result`."""
        return self.found.result(self.plan, clock, rows, indexed)


def run_points(
    batches: Iterable[PointBatch], plan: PointPlan, clock: Clock, request: Request
) -> PointRun:
    """Find the groups of points, and all similar pairs if they are requested."""
    with clock.stage("read"):
        rows = PointRows.of(batches, request.format_of, request.folder)
    clock.add("read", 0, rows.words.nbytes)
    keep = request.keep() if callable(request.keep) else request.keep
    key_copies: KeyCopies | None = None
    is_compared = np.ones(len(rows), np.bool_)
    if request.exact_keys is not None:
        with clock.stage("match", 0):
            preference = _preference_of_all(keep, rows)
            key_copies = find_key_copies(request.exact_keys(), preference)
            is_compared[np.isin(rows.numbers, key_copies.rows)] = False
    earlier: Earlier | None = None
    if request.against is not None:
        with clock.stage("earlier"):
            earlier = NOTHING_EARLIER
            if len(rows):
                earlier = request.against.earlier(rows, plan).among(is_compared)
            is_compared[earlier.rows] = False
    run = _Run(rows, plan, clock, request, is_compared)
    similar_pairs: PairArray | None = None
    if request.similar is not None:
        similar_pairs = renumbered(run.every_pair(), rows.numbers)
        request.similar([similar_pairs])
    groups, pairs = run.groups(_preference(keep, rows))
    if similar_pairs is None:
        similar_pairs = renumbered(pairs, rows.numbers)
    if earlier is not None:
        earlier = replace(earlier, rows=rows.numbers[earlier.rows])
    value_of_copies = float(not is_distance(plan.measure))
    findings = Findings.of(
        rows.groups_of_all(groups, value_of_copies),
        named_pairs(similar_pairs, plan.measure),
        rows.copies_of_all(run.copies),
        earlier,
        key_copies,
        pairs_found=len(similar_pairs),
        candidates=run.compared,
        empty=rows.n - len(rows),
        value_of_copies=value_of_copies,
    )
    if plan.max_candidates is not None:
        findings = replace(
            findings, limited=int(run.limited.sum()), left_out=run.left_out
        )
    return PointRun(findings, run.plan, rows)


def _preference(
    keep: str | npt.ArrayLike | None, rows: PointRows
) -> npt.ArrayLike | None:
    """Return values of the rows with a point, of which greater ones are kept first."""
    if keep is None:
        return None
    if isinstance(keep, str) and keep in ("longest", "shortest"):
        if rows.offsets is None:
            return None
        sets = HeldSets(rows.offsets, rows.words)
        return preference_by_length(
            sets.lengths if keep == "longest" else -sets.lengths, sets.hashes
        )
    if isinstance(keep, str):
        return None if keep == "first" else int64_range(len(rows))
    values = np.empty(rows.n, np.int64)
    values[preferred(rows.n, keep)] = int64_range(rows.n, 0, -1)
    return values[rows.numbers]


def _preference_of_all(
    keep: str | npt.ArrayLike | None, rows: PointRows
) -> PreferenceOf:
    """Return the preference of all rows; a row without a point has no length."""
    if keep is None or (isinstance(keep, str) and keep == "first"):
        return lambda members: None
    if not isinstance(keep, str):
        return preference_of_values(rows.n, keep)
    if keep == "last":
        return lambda members: members
    of_points = _preference(keep, rows)
    if of_points is None:
        return lambda members: None
    values = np.full(rows.n, -1 if keep == "longest" else len(rows), np.int64)
    values[rows.numbers] = of_points
    return lambda members: values[members]


def pairs_of_points(
    items: ItemsInMemory, copies: Literal["first", "all"], progress: Progress | None
) -> tuple[PairArray, Limited | None]:
    """Return the similar pairs of points that are listed, sorted, with their values.

    Also return the rows that had more candidates than the plan allows, if it limits them.
    """
    plan = items.plan
    rows = PointRows.of([items.batch], lambda: items.format)
    run = _Run(rows, plan, Clock(), Request(progress=progress))
    pairs = renumbered(run.every_pair(copies), rows.numbers)
    if plan.max_candidates is None:
        return pairs, None
    return pairs, Limited(plan.max_candidates, int(run.limited.sum()), run.left_out)


def pairs_of_part(
    batches: Iterable[PointBatch],
    plan: PointPlan,
    format: PointFormat,
    buckets: BucketPlan,
    folder: str | None = None,
) -> tuple[PairArray, int]:
    """Return the listed pairs of some of the rows of a run, and how many pairs were compared.

    `buckets` are chosen for all rows. The points are held in memory, or in a file of `folder`.
    """
    rows = PointRows.of(batches, lambda: format, folder)
    run = _Run(rows, plan, Clock(), Request(buckets=buckets))
    return renumbered(run.every_pair(), rows.numbers), run.compared


@dataclass(frozen=True)
class PointRows:
    """The rows of a run that have a point, numbered without the others.

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
        format_of: Callable[[], PointFormat | None] | None,
        folder: str | None = None,
    ) -> PointRows:
        """Return the rows of all batches, in memory or in a file of a folder."""
        path = None if folder is None else os.path.join(folder, POINTS)
        keys = draw_hash_key(), draw_hash_key()
        holders = list[GrowingArray | PointFile]()
        missing = GrowingArray(np.bool_)
        marks = GrowingArray(np.uint64, 2)
        counts = GrowingArray(np.int64)
        sets = False
        for batch in batches:
            missing.extend(batch.missing)
            if len(batch.words):  # the width of the words is not known before
                if not holders:
                    holders.append(holder(path, batch.words.shape[1]))
                holders[0].extend(batch.words)
                marks.extend(marks_of_points(batch.words, keys, batch.counts))
            if batch.counts is not None:
                sets = True
                counts.extend(batch.counts)
        words = holders[0].finished() if holders else np.zeros((0, 1), np.uint64)
        numbers = np.flatnonzero(~missing.rows())
        offsets = offsets_of(counts.rows()) if sets else None
        format = None if format_of is None else format_of()
        return cls(words, numbers, len(missing), marks.finished(), format, offsets)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def held(self) -> HeldItems:
        """What measures pairs of the rows, of which there is at least one."""
        if self.offsets is not None:
            return HeldSets(self.offsets, self.words)
        assert self.format is not None
        return HeldPoints(self.words, self.format.measure)

    def buckets(
        self,
        plan: PointPlan,
        rows: Int64Array,
        bucket_plan: BucketPlan | None = None,
    ) -> PointBuckets:
        """Choose, if there is no plan, and compute the buckets; some rows are to be compared."""
        if self.offsets is not None:
            return choose_set_buckets(HeldSets(self.offsets, self.words), plan, rows)
        assert self.format is not None
        if bucket_plan is not None:
            return compute_buckets(self.words, self.format, plan, bucket_plan)
        return choose_buckets(self.words, self.format, plan, rows)

    def groups_of_all(self, groups: Groups, value: float) -> Groups:
        """Return groups of the rows with a point as groups of all rows; the others are kept."""
        keeper = int64_range(self.n)
        labels = int64_range(self.n)
        similarity = np.full(self.n, value, np.float64)
        keeper[self.numbers] = self.numbers[groups.keeper]
        labels[self.numbers] = self.numbers[groups.labels]
        similarity[self.numbers] = groups.similarity
        return Groups(keeper, similarity, labels)

    def copies_of_all(self, copies: Int64Array) -> Int64Array:
        """Return the first copies of rows with a point among all rows; the others are no copies."""
        first_copies = int64_range(self.n)
        first_copies[self.numbers] = self.numbers[copies]
        return first_copies

    def values(self, i: Int64Array, j: Int64Array) -> Float64Array:
        """Return the values of pairs of rows; see `HeldItems`."""
        return self.held.values(
            j.astype(np.uint64) << np.uint64(32) | i.astype(np.uint64)
        )


def marks_of_points(
    words: UInt64Array,
    keys: tuple[HashKey, HashKey],
    counts: Int64Array | None = None,
) -> UInt64Array:
    """Return two hashes of the words of each row: uint64 (n, 2); sets have `counts` words."""
    n, width = words.shape
    ends = int64_range(n + 1)
    if counts is not None:
        ends = offsets_of(counts)
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
        request: Request,
        is_compared: BoolArray | None = None,
    ) -> None:
        self._rows = rows
        self.plan = plan
        self._clock = clock
        self._progress = request.progress
        self.compared = 0
        self.left_out = 0
        self.limited = np.zeros(len(rows), np.bool_)
        with clock.stage("match", rows.words.nbytes):
            if is_compared is not None:
                # A row that is removed already is a copy of none.
                rows.marks[~is_compared, 0] = 0
            self.copies = equal_rows(rows.marks)
            different = self.copies == int64_range(len(rows))
            if is_compared is not None:
                different &= is_compared
            self._different = np.flatnonzero(different)
            self._memory = request.memory
            self._check_memory()
            self._buckets = self._choose(request.buckets)

    def _check_memory(self) -> None:
        """Raise ValueError if the rows need more memory than the process may take."""
        if self._memory is None:
            return
        n = len(self._rows)
        row_words = -(-self._rows.words.size // max(1, n))
        needed = self.plan.memory_for(n, row_words, self.plan.kind == "code")
        if needed > self._memory:
            raise ValueError(
                f"memory must be at least {needed:,} bytes for {n:,} {plural(self.plan.kind)}, "
                f"not {self._memory:,}; fewer threads need less"
            )

    def _choose(self, bucket_plan: BucketPlan | None) -> PointBuckets | None:
        """Return the buckets of the points; None if codes are compared completely."""
        plan = self.plan
        rows = self._rows
        if not len(rows):
            return None
        if plan.kind == "code" and plan.complete:
            if plan.groups != "components" or plan.measure != "hamming":
                return None
            assert rows.format is not None
            return crowded_codes(rows.words, rows.format, plan, self._different)
        if plan.complete:
            return one_bucket(len(rows))
        buckets = rows.buckets(plan, self._different, bucket_plan)
        buckets = buckets.limited(rows.held, plan, self._different)
        self.plan = replace(plan, bands=buckets.bands, reached=buckets.recall)
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
        """Return all similar pairs that are listed, sorted, with their values."""
        with self._clock.stage("verify"):
            pairs = joined_pairs(listed(self._similar(), self.plan))
            sort_pairs(pairs)
            if copies == "all" or lists_copies(self.plan):
                pairs = not_above(with_copies(pairs, self.copies, copies), self.plan)
            return self._reported(pairs)

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
            pairs = hamming_pairs(
                self._rows.words[order], int(self.plan.bound), threads=self.plan.threads
            )
            yield as_pairs(order[pairs.left], order[pairs.right], 1.0 - pairs.distance)
            self.compared += len(pairs)
            return
        join = self._join(order, self._buckets)
        for meeting in join.pairs():
            yield self._closeness(join.rows_of(meeting))
        self._add_counts(join)

    # ---- groups ----

    def groups(self, preference: npt.ArrayLike | None) -> tuple[Groups, PairArray]:
        """Return the groups, and the similar pairs that formed them, sorted, with their values."""
        n = len(self._rows)
        with self._clock.stage("verify"):
            similar = self._forming(preference)
        with self._clock.stage("group"):
            form = star_groups if self.plan.groups == "star" else component_groups
            groups = form(n, similar, copies=self.copies, preference=preference)
            removed = np.flatnonzero(groups.keeper != int64_range(n))
            keepers = groups.keeper[removed]
            are_copies = self.copies[removed] == self.copies[keepers]
            value_of_copies = float(not is_distance(self.plan.measure))
            similarity = np.full(n, value_of_copies, np.float64)
            similarity[removed] = np.where(
                are_copies, value_of_copies, self._values(removed, keepers)
            )
            pairs = self._reported(with_copies(similar, self.copies))
            return replace(groups, similarity=similarity), pairs

    def _forming(self, preference: npt.ArrayLike | None) -> PairArray:
        """Return similar pairs of different rows that determine the groups."""
        n = len(self._rows)
        if not n:
            return np.empty(0, PAIR)
        order = by_preference(self._different, self.copies, preference)
        if self._buckets is not None:
            join = self._join(order, self._buckets)
            pairs = join.stars() if self.plan.groups == "star" else join.forest()
            self._add_counts(join)
            return self._closeness(join.rows_of(pairs))
        if self.plan.groups == "components" or self.plan.measure == "tanimoto":
            similar_pairs = joined_pairs(self._similar())
            sort_pairs(similar_pairs)
            return similar_pairs
        stars = dedup_codes(
            self._rows.words[order], int(self.plan.bound), threads=self.plan.threads
        )
        removed = np.flatnonzero(~stars.keep)
        self.compared += len(removed)
        return sorted_pairs(
            order[stars.keeper[removed]],
            order[removed],
            np.float64(1) - stars.distance[removed],
        )

    # ---- values ----

    def _values(self, i: Int64Array, j: Int64Array) -> Float64Array:
        """Return the exact similarities or distances of pairs that are reported."""
        rows = self._rows
        if not len(rows):
            return np.zeros(len(i))
        if self.plan.measure == "tanimoto":
            pairs = j.astype(np.uint64) << np.uint64(32) | i.astype(np.uint64)
            return similarities(rows.words, rows.words, pairs)
        return self.plan.reported(rows.format, rows.values(i, j))

    def _reported(self, pairs: PairArray) -> PairArray:
        """Return pairs with the similarities or distances that are reported, which are exact."""
        if is_distance(self.plan.measure):
            pairs = pairs.copy()
            pairs["similarity"] = self._values(pairs["i"], pairs["j"])
        return pairs

    def _closeness(self, pairs: PairArray) -> PairArray:
        """Replace the values of pairs by similarities."""
        greatest = 0 if self.plan.kind == "weighted" else 1
        pairs["similarity"] = greatest - pairs["similarity"]
        return pairs
