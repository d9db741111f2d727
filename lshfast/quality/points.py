"""What a run over weighted sets, vectors or codes finds and misses, from a sample of the rows.

Rows are drawn with known probabilities: most of those that a plan with other random functions finds
near to another row, and some of the others. Each is compared exactly with all rows. As no
probability is 0, the estimates are unbiased whatever that plan misses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np

from lshfast._common.choices import ItemMeasure
from lshfast._common.display import Figure, figure
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._engine.account.display import bound_name, empty_note
from lshfast._engine.clock import Clock
from lshfast._engine.points import PointRows
from lshfast._items.bucket_join import BucketJoin
from lshfast._items.buckets import PointBuckets
from lshfast._items.held_points import release
from lshfast._items.measures import PointPlan, is_distance
from lshfast.index.neighbors.points import PointFormat
from lshfast.join.copies import equal_rows
from lshfast.kernels import distances as kernels
from lshfast.kernels import hamming as code_kernels
from lshfast.quality.checked_rows import CheckedRows, count_of, range_of, share_range
from lshfast.quality.intervals import Estimate, share_of, total_of, variance_of

# The share of the sample that is drawn from rows that the other plan finds near to no other one.
UNIFORM = 0.2

# The most coordinates that are multiplied, or subtracted one by one, and the rows that are compared
# at once.
MOST_PRODUCTS = 1 << 39
MOST_STEPS = 1 << 36
CHUNK_ROWS = 1 << 13

# Single precision may be off by so much for each coordinate: pairs beyond the bound by less are
# computed exactly.
SLACK = 4e-7

# Steps from the bound to equal points by which recall is shown.
STEPS = 4


@dataclass(frozen=True)
class NearBin:
    """The pairs between two similarities or distances, and the share of them that is found.

    Attributes
    ----------
    low, high : float
    pairs, recall : Estimate

    See Also
    --------
    lshfast.quality.PointCheck : The result for weighted sets, vectors and codes.
    lshfast.quality.SimilarityBin : The pairs between two similarities.
    """

    low: float
    high: float
    pairs: Estimate
    recall: Estimate


@dataclass(frozen=True, repr=False, kw_only=True)
class PointCheck(CheckedRows):
    """What a run over weighted sets, vectors or codes finds and misses, estimated from a sample.

    Attributes
    ----------
    accepted : int
        read = accepted + rejected.
    copies, empty : int
        Exact copies of earlier rows, which every run finds; rows without a point. All other figures
        are of the rest.
    sampled : int
        Rows that were compared with all others.
    complete : bool
        Whether these are all rows; then all figures are exact.
    measure : str
    bound : float
        The threshold or the radius.
    bands, rows_per_band : int
        What the run was planned with; 0 if it finds all pairs.
    promised : float
        The recall that the plan promises for pairs at the bound.
    pairs : Estimate
        Pairs within the bound.
    near_rows : Estimate
        Rows that have at least one other row within the bound.
    recall : Estimate
        The share of the pairs that the plan finds; nan without pairs.
    by_nearness : tuple of NearBin
        From the bound to equal points.

    See Also
    --------
    lshfast.check : Estimate what a run finds and misses, from a sample.
    lshfast.quality.CheckResult : The result for texts and sets.
    """

    measure: ItemMeasure
    bound: float
    bands: int
    rows_per_band: int
    promised: float
    pairs: Estimate
    near_rows: Estimate
    recall: Estimate
    by_nearness: tuple[NearBin, ...]

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table."""
        note = empty_note(self.empty, self.measure, self.items)
        yield from self.rows_figures(note, "all")
        yield figure(
            "pairs",
            count_of(self.pairs),
            f"within the {bound_name(self.measure)}, {self.bound:g}",
            range_of(self.pairs),
        )
        yield figure("rows", count_of(self.near_rows), "with such a pair")
        if isnan(self.recall.value):
            yield figure("recall", "unknown", "no pair within the bound was seen")
        elif not self.bands:
            yield figure(
                "recall", f"{self.recall.value:.4f}", "every similar pair is found"
            )
        else:
            plan = (
                f"{self.bands} x {self.rows_per_band} bands promise {self.promised:.4f} at the "
                "bound"
            )
            yield figure(
                "recall", f"{self.recall.value:.4f}", share_range(self.recall), plan
            )
        for one in self.by_nearness:
            if one.pairs.value and self.bands:
                between = f"of the pairs from {one.low:.4g} to {one.high:.4g}"
                yield figure(
                    "",
                    f"{one.recall.value:.4f}",
                    between,
                    share_range(one.recall),
                    f"{count_of(one.pairs)} pairs",
                )


def check_points(
    rows: PointRows,
    plan: PointPlan,
    sample: int,
    clock: Clock,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the figures of a `PointCheck`, without those of all accounts."""
    with clock.stage("sample"):
        copies = equal_rows(rows.marks)
        members = np.flatnonzero(copies == int64_range(len(rows)))
        check = _PointChecker(rows, plan, members)
        rates = check.rates(sample)
        drawn = members[
            np.random.default_rng([plan.seed, len(rows)]).random(len(members)) < rates
        ]
        rates = rates[np.searchsorted(members, drawn)]
    with clock.stage("compare", rows.words.nbytes):
        near_pairs = _Near.of(check, drawn, progress)
    figures = {
        "copies": len(rows) - len(members),
        "empty": rows.n - len(rows),
        "sampled": len(drawn),
        "complete": bool((rates == 1).all()) and len(drawn) == len(members),
        "items": plan.kind,
        "measure": plan.measure,
        "bound": plan.bound,
    }
    return figures | check.figures(near_pairs, rates, bool(figures["complete"]))


@dataclass(frozen=True)
class _Near:
    """The pairs of a sample: the place of the row, the nearness of the other, whether found.

    `nearness` is 0 at the bound and 1 for equal points.
    """

    place: Int64Array
    nearness: Float64Array
    found: BoolArray
    rows: int

    @classmethod
    def of(
        cls, check: _PointChecker, drawn: Int64Array, progress: Progress | None
    ) -> _Near:
        places = [np.empty(0, np.int64)]
        nearness = [np.empty(0)]
        found_parts = [np.empty(0, np.bool_)]
        for count, (place, other, value) in enumerate(check.within(drawn), 1):
            places.append(place)
            nearness.append(value)
            found_parts.append(check.finds(drawn[place], other))
            if progress:
                progress(
                    "verify",
                    min(count * CHUNK_ROWS, len(check.members)),
                    len(check.members),
                )
        return cls(
            np.concatenate(places),
            np.concatenate(nearness),
            np.concatenate(found_parts),
            len(drawn),
        )

    def per_row(self, selected: BoolArray) -> Float64Array:
        """Return how many of the selected pairs each row of the sample has."""
        return np.bincount(self.place[selected], minlength=self.rows).astype(np.float64)


class _PointChecker:
    """The comparison of a sample with all rows that are not copies, `members`."""

    members: Int64Array

    def __init__(self, rows: PointRows, plan: PointPlan, members: Int64Array) -> None:
        self._rows = rows
        self._words = rows.words
        self._plan = plan
        self.members = members
        self._buckets: PointBuckets | None = None
        if len(rows) and not plan.complete:
            self._buckets = rows.buckets(plan, members)

    def rates(self, sample: int) -> Float64Array:
        """Return the probability of each member to be drawn."""
        n = len(self.members)
        format = self._rows.format
        if not n:
            return np.ones(n)
        work = (self._rows.held.row_words if format is None else format.dim) * n
        by_one = format is None or format.metric == "manhattan"
        most = max(1, min(sample, (MOST_STEPS if by_one else MOST_PRODUCTS) // work))
        if n <= most:
            return np.ones(n)
        is_near = np.zeros(n, np.bool_)
        is_near[np.searchsorted(self.members, self._hints())] = True
        rates = np.empty(n)
        for selected, share in ((is_near, 1 - UNIFORM), (~is_near, UNIFORM)):
            rates[selected] = min(1.0, share * most / max(1, int(selected.sum())))
        return rates

    def _hints(self) -> Int64Array:
        """Return rows that another plan finds near to another one."""
        plan = self._plan
        if plan.complete:
            plan = replace(plan, recall=0.95)
        other = self._rows.buckets(
            replace(plan, seed=(plan.seed + 977) % 2**64), self.members
        )
        join = BucketJoin(
            self._rows.held,
            self.members,
            self._plan.value_of(self._rows.format),
            other,
            plan.threads,
        )
        pairs = join.rows_of(join.stars())
        return np.unique(np.concatenate([pairs["i"], pairs["j"]]))

    def within(
        self, drawn: Int64Array
    ) -> Iterator[tuple[Int64Array, Int64Array, Float64Array]]:
        """Yield place in the sample, other row and nearness of each pair within the bound."""
        if not len(self.members):
            return
        format = self._rows.format
        likely = self._likely(drawn)
        for part in parts_of_rows(len(self.members), CHUNK_ROWS):
            rows = self.members[part]
            place, at = likely(rows)
            other = rows[at]
            different = drawn[place] != other
            place = place[different]
            other = other[different]
            values = self._rows.values(drawn[place], other)
            within_bound = values <= self._plan.value_of(format)
            reported = self._plan.reported(format, values[within_bound])
            bound = self._plan.bound
            best = 0.0 if is_distance(self._plan.measure) else 1.0
            nearness = np.ones(len(reported))
            if best != bound:
                nearness = (reported - bound) / (best - bound)
            yield place[within_bound], other[within_bound], nearness

    def _likely(
        self, drawn: Int64Array
    ) -> Callable[[Int64Array], tuple[Int64Array, Int64Array]]:
        """Return a function from rows to the (sample places, places) of possible pairs."""
        plan = self._plan
        format = self._rows.format
        if format is None or format.metric in ("hamming", "manhattan"):
            sample = np.ascontiguousarray(self._words[drawn if format else drawn[:0]])
            limit = plan.value_of(format)

            def values_of(
                number: int, rows: Int64Array, other_words: UInt64Array
            ) -> Float64Array:
                if format is None:
                    return self._rows.values(
                        np.full(len(rows), drawn[number], np.int64), rows
                    )
                values = np.empty(len(rows))
                row = sample[number : number + 1]
                kernels.distances(row, other_words, *format.measure.kernel, values)
                return values

            def one_by_one(rows: Int64Array) -> tuple[Int64Array, Int64Array]:
                other_words = np.ascontiguousarray(
                    self._words[rows if format else rows[:0]]
                )
                place = [rows[:0]]
                at = [rows[:0]]
                for number in range(len(drawn)):
                    at.append(
                        np.flatnonzero(values_of(number, rows, other_words) <= limit)
                    )
                    place.append(np.full(len(at[-1]), number, np.int64))
                return np.concatenate(place), np.concatenate(at)

            return one_by_one
        points, norms = self._single(drawn, format)
        slack = SLACK * (format.dim + 16)

        def by_products(rows: Int64Array) -> tuple[Int64Array, Int64Array]:
            other_points, lengths = self._single(rows, format)
            products = points @ other_points.T
            if format.metric == "angle":
                close = products >= 1 - plan.value_of(format) - slack
            else:
                row_norms = norms[:, np.newaxis]
                scale = row_norms * lengths
                squares = row_norms**2 + lengths**2 - 2 * products * scale
                error = 2 * slack * scale + slack * (row_norms + lengths) ** 2
                close = squares <= plan.value_of(format) + error
            place, at = np.nonzero(close)
            return place.astype(np.int64), at.astype(np.int64)

        return by_products

    def _single(
        self, rows: Int64Array, format: PointFormat
    ) -> tuple[np.ndarray, Float64Array]:
        """Return points of unit length in single precision, and their lengths."""
        points = np.asarray(format.points_of(self._words[rows]), np.float64)
        release(self._words)
        norms = np.sqrt(np.einsum("ij,ij->i", points, points))
        return (points / np.where(norms > 0, norms, 1)[:, np.newaxis]).astype(
            np.float32
        ), norms

    def finds(self, left_rows: Int64Array, right_rows: Int64Array) -> BoolArray:
        """Return which pairs of rows the plan finds: they share a bucket, and pass the screen."""
        buckets = self._buckets
        if buckets is None:
            return np.ones(len(left_rows), np.bool_)
        shares_bucket = np.zeros(len(left_rows), np.bool_)
        for band in range(buckets.bands.bands):
            shares_bucket |= buckets.keys(band, left_rows) == buckets.keys(
                band, right_rows
            )
        if buckets.codes.shape[1]:
            pairs = right_rows.astype(np.uint64) << np.uint64(32) | left_rows.astype(
                np.uint64
            )
            shares_bucket &= (
                code_kernels.distances(buckets.codes, pairs) <= buckets.most
            )
        return shares_bucket

    def figures(
        self, near_pairs: _Near, rates: Float64Array, complete: bool
    ) -> dict[str, object]:
        """Return the estimates. A pair counts half for each of its rows."""
        plan = self._plan
        buckets = self._buckets
        unit = 1 / rates.min(initial=1.0)

        def pairs_of(selected: BoolArray) -> tuple[Estimate, Estimate]:
            row_weights = near_pairs.per_row(selected) / rates / 2
            part = near_pairs.per_row(selected & near_pairs.found) / rates / 2
            variance = variance_of(row_weights, rates)
            pairs = total_of(float(row_weights.sum()), variance, unit, complete)
            count = max(1, int(selected.sum()) // 2)
            return pairs, share_of(part, row_weights, rates, count, complete)

        all_pairs = np.ones(len(near_pairs.place), np.bool_)
        pairs, recall = pairs_of(all_pairs)
        with_pairs = (near_pairs.per_row(all_pairs) > 0) / rates
        variance = variance_of(with_pairs, rates)
        near_rows = total_of(float(with_pairs.sum()), variance, unit, complete)
        best = 0.0 if is_distance(plan.measure) else 1.0
        edges = plan.bound + (best - plan.bound) * np.linspace(0, 1, STEPS + 1)
        steps = np.clip(np.floor(near_pairs.nearness * STEPS), 0, STEPS - 1)
        bins = [
            NearBin(
                float(edges[step]), float(edges[step + 1]), *pairs_of(steps == step)
            )
            for step in range(STEPS)
        ]
        return {
            "bands": 0 if buckets is None else buckets.bands.bands,
            "rows_per_band": 0 if buckets is None else buckets.bands.rows_per_band,
            "promised": 1.0 if buckets is None else buckets.recall,
            "pairs": pairs,
            "near_rows": near_rows,
            "recall": recall,
            "by_nearness": tuple(bins),
        }
