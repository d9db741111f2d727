"""The stages of a check: sketch all rows, draw some, join them with all, and estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast._engine.account.short_texts import advice_for
from lshfast._engine.clock import Clock
from lshfast._engine.columns import Column, KeyedRows, ShingledTexts
from lshfast._engine.common_shingles import ignoring_common
from lshfast._engine.plan import Plan
from lshfast._engine.sketching import SketchedRows, sketch_rows
from lshfast.banding.bands import Bands, choose_bands
from lshfast.kernels.text import Texts
from lshfast.quality.candidates import SIDE, Far, Sides, far_candidates
from lshfast.quality.estimates import Measured, measured, rows_with_pairs
from lshfast.quality.excerpts import Chosen, examples_of
from lshfast.quality.intervals import Estimate, share_of, total_of, variance_of
from lshfast.quality.near_pairs import Near, SampleJoin, Tally, finder
from lshfast.quality.other_shingles import OTHER_ROWS, OtherJoin, other_joins
from lshfast.quality.result import Alternative, Example, SimilarityBin
from lshfast.quality.sampling import RowSample, degrees, draw
from lshfast.quality.valley import valley
from lshfast.shingling import Shingles

# Near pairs are those down to this far below the threshold, and in bins of this width.
BELOW = 0.3
WIDTH = 0.025

# Other recalls, and other thresholds relative to that of the plan.
RECALLS = (0.8, 0.9, 0.95, 0.99, 0.999)
SHIFTS = (-0.2, -0.1, 0.0, 0.1)

# Sets smaller than this have few different similarities, so gaps between them mean nothing.
LEAST_SIZE = 40


@dataclass(frozen=True)
class CheckOptions:
    """What is measured besides the recall of a plan.

    Attributes
    ----------
    sample : int
        About how many rows are compared with all.
    recall : float
        The recall by which the bands of other thresholds are chosen.
    examples : int
        Pairs that are shown, for each step of similarities of .05; 0 for none.
    key_of : callable
        Returns the key of a row.
    held_bytes : int
        Texts of inputs of at most this size are held in memory, and those of larger ones are read
        again if they can be.
    """

    sample: int = 4000
    recall: float = 0.95
    examples: int = 0
    key_of: Callable[[int], Any] = field(default=int)
    held_bytes: int = 1 << 29


class RowNumbers(NamedTuple):
    """How many rows were read, are without shingles, and are compared."""

    read: int
    empty: int
    different: int


@dataclass(frozen=True)
class DrawnRows:
    """Rows that were drawn of more rows.

    The rows that are compared are the sample, all rows that are near to one of it, and further rows
    that were drawn. None of them is a copy, or has no shingles.

    Attributes
    ----------
    sample, among : ndarray of int64
        The rows of two independent draws, in each of which all rows had one probability.
    rate, among_rate : float
        These probabilities.
    numbers : RowNumbers
        Those of all rows.
    """

    sample: Int64Array
    among: Int64Array
    rate: float
    among_rate: float
    numbers: RowNumbers

    def samples(self, n: int) -> tuple[RowSample, RowSample]:
        """Return both draws as samples of the n rows that are compared."""
        return (
            _uniform_sample(self.sample, self.rate, n),
            _uniform_sample(self.among, self.among_rate, n),
        )


def _uniform_sample(rows: Int64Array, rate: float, n: int) -> RowSample:
    return RowSample(rows, np.full(n, rate, np.float64), 1 / (2 * rate), rate == 1)


class _Choice(NamedTuple):
    """Parameters that are compared with those of the plan."""

    name: str
    threshold: float
    bands: Bands


def check_rows(
    batches: Iterable[Texts | Column],
    plan: Plan,
    options: CheckOptions,
    clock: Clock,
    progress: Progress | None = None,
    drawn: DrawnRows | None = None,
) -> dict[str, Any]:
    """Return the figures of a `CheckResult`, without those of all accounts.

    With `drawn`, the rows are those that were drawn, and the figures are those of all rows.
    """
    if plan.ignore_common is not None:
        batches, plan = ignoring_common(batches, plan, clock, progress)
    sketches = sketch_rows(batches, plan, clock, progress)
    return _Check(sketches, plan, options, clock, drawn).figures(progress)


class _Check:
    """A check of rows that have been sketched."""

    def __init__(
        self,
        sketches: SketchedRows,
        plan: Plan,
        options: CheckOptions,
        clock: Clock,
        drawn: DrawnRows | None,
    ) -> None:
        self._sketches = sketches
        self._plan = plan
        self._options = options
        self._clock = clock
        n = len(sketches)
        seed = plan.hasher.seed
        first = sketches.copies == int64_range(n)
        self._members = np.flatnonzero(first & ~sketches.empty).astype(np.int64)
        self._rng = np.random.default_rng([seed, n, 1])
        if drawn is not None:
            self._numbers = drawn.numbers
            self._sample, self._among = drawn.samples(n)
            self._uniform = drawn.among
        else:
            empty = int(sketches.empty.sum())
            self._numbers = RowNumbers(n, empty, len(self._members))
            with clock.stage("sample"):
                self._sample, self._among = self._drawn(seed)
            self._uniform = self._members
        self._choices = _choices(plan, options.recall)
        self._plans = list(
            dict.fromkeys([plan.bands, *(choice.bands for choice in self._choices)])
        )

    def _drawn(self, seed: int) -> tuple[RowSample, RowSample]:
        """Draw the sample, and the rows that are compared with it by other shingles."""
        n = len(self._sketches)
        sample_size = self._options.sample
        row_degrees = np.zeros(len(self._members))
        if len(self._members) > sample_size:
            row_degrees = degrees(
                self._sketches.signatures,
                self._members,
                self._plan.threshold,
                self._plan.threads,
            )
        other_rows = max(OTHER_ROWS, sample_size)
        return (
            draw(n, self._members, row_degrees, sample_size, seed),
            draw(n, self._members, row_degrees, other_rows, seed + 1),
        )

    def figures(self, progress: Progress | None) -> dict[str, Any]:
        """Join the sample with all rows, and return the figures."""
        numbers = self._numbers
        plan = self._plan
        sample = self._sample
        with self._clock.stage("compare"):
            edges = edges_of(plan.threshold)
            tally = Tally(sample, edges, self._plans)
            joins = self._others()
            excerpts = Chosen(self._options.examples, plan.threshold, sample, self._rng)
            if len(sample.rows):
                for pairs in self._near(float(edges[0]), joins, progress):
                    tally.add(pairs)
                    excerpts.add(pairs)
            far = self._far(float(edges[0]))
        estimates = self._of(tally, plan.threshold, plan.bands)
        candidates, precision = self._precision(tally, far, plan.threshold, plan.bands)
        rows, row_recall = rows_with_pairs(
            tally, sample, slice(tally.bin_at(plan.threshold), None)
        )
        histogram = self._bins(tally, range(len(edges) - 1))
        return {
            "copies": numbers.read - numbers.empty - numbers.different,
            "empty": numbers.empty,
            "sampled": len(sample.rows),
            "complete": sample.complete,
            "items": plan.kind,
            "threshold": plan.threshold,
            "unit": plan.shingles.unit,
            "size": plan.shingles.size,
            "bands": plan.bands.bands,
            "rows_per_band": plan.bands.rows_per_band,
            "recall": estimates.recall,
            "promised": estimates.promised,
            "pairs": estimates.pairs,
            "near_rows": rows,
            "row_recall": row_recall,
            "precision": 1.0,
            "unverified_precision": precision,
            "candidates": candidates,
            "by_similarity": self._bins(
                tally, range(tally.bin_at(plan.threshold), len(edges) - 1), 2
            ),
            "histogram": histogram,
            "suggested_threshold": self._valley(tally),
            "alternatives": (
                *self._alternatives(tally, far),
                *self._of_other_shingles(joins),
            ),
            "examples": self._examples(excerpts),
            "advice": advice_for(self._sketches.rows.column, plan),
        }

    def _near(
        self, least: float, joins: Sequence[OtherJoin], progress: Progress | None
    ) -> Iterator[Near]:
        """Yield the pairs of the sample with all rows by pieces; add those of other shingles."""
        sketches = self._sketches
        plan = self._plan
        sample = self._sample
        join = SampleJoin(sketches.rows, sample.rows, least, plan.threads)
        find = finder(sketches.signatures, self._plans)

        def work(rows: Int64Array) -> tuple[int, Near, list[Near]]:
            column = _held(sketches.rows.column.take(rows))
            place, row, similarity = join.near(
                rows, column.tokens(sketches.rows.key.tokens)
            )
            pairs = Near(place, row, similarity, find(sample.rows[place], row))
            by_others = [other.near(column, rows) for other in joins]
            return len(rows), pairs, by_others

        rows_done = 0
        for count, pairs, by_others in sketches.rows.in_pieces(
            work, self._members, plan.threads
        ):
            for other, other_pairs in zip(joins, by_others, strict=True):
                other.tally.add(other_pairs)
            yield pairs
            rows_done += count
            if progress:
                progress("verify", rows_done, len(self._members))

    def _others(self) -> list[OtherJoin]:
        """Prepare the joins by other shingles; none for sets, and for rows without pairs."""
        plan = self._plan
        rows = self._sketches.rows
        has_pairs = len(self._uniform) >= 2 and len(self._sample.rows)
        if not isinstance(rows.column, ShingledTexts) or not has_pairs:
            return []
        rng = np.random.default_rng([plan.hasher.seed, len(self._sketches), 2])
        return other_joins(rows, plan, self._sample, self._among, rng)

    def _far(self, limit: float) -> list[Far]:
        """Estimate the candidates of each plan below the limit of near pairs."""
        sketches = self._sketches
        rng = self._rng
        if len(self._uniform) < 2:
            return [Far()] * len(self._plans)
        different = self._numbers.different
        sides = Sides.draw(self._uniform, different, rng)
        keys = (
            sketches.keys
            if len(sides.many) == len(sketches)
            else sketches.keys[sides.many]
        )
        first = far_candidates(
            sides, sketches.keys[sides.few], keys, sketches.rows, limit, rng
        )
        sides = self._sides = Sides.draw(self._uniform, different, rng, SIDE, SIDE)
        few = sketches.signatures[sides.few]
        many = sketches.signatures[sides.many]
        other_bands = [
            far_candidates(
                sides, bands.keys(few), bands.keys(many), sketches.rows, limit, rng
            )
            for bands in self._plans[1:]
        ]
        return [first, *other_bands]

    def _of(self, tally: Tally, threshold: float, bands: Bands) -> Measured:
        first = tally.bin_at(threshold)
        number = self._plans.index(bands)
        return measured(tally, self._sample, slice(first, None), number)

    def _candidates(self, tally: Tally, far: Sequence[Far], bands: Bands) -> float:
        """Return the candidates of a plan, for each row."""
        number = self._plans.index(bands)
        near_pairs = float(tally.found[:, :, number].sum())
        return (near_pairs + far[number].pairs) / max(1, self._numbers.different)

    def _precision(
        self, tally: Tally, far: Sequence[Far], threshold: float, bands: Bands
    ) -> tuple[float, Estimate]:
        """Return the candidates for each row, and the share of them at or above the threshold."""
        number = self._plans.index(bands)
        sample = self._sample
        rates = sample.rates[sample.rows]
        near_counts = tally.found[:, :, number].sum(axis=1)
        right = tally.found[:, tally.bin_at(threshold) :, number].sum(axis=1)
        share = share_of(
            right, near_counts, rates, int(tally.seen.sum()), sample.complete
        )
        near_total = float(near_counts.sum())
        far_pairs = far[number]
        variance = far_pairs.pairs * far_pairs.scale
        far_total = total_of(
            far_pairs.pairs, variance, far_pairs.scale, far_pairs.complete
        )

        def among(part: float, far_count: float) -> float:
            total = near_total + far_count
            return part * near_total / total if total else nan

        value = among(share.value, far_total.value)
        low = among(share.low, far_total.high)
        high = among(share.high, far_total.low)
        if isnan(share.value):  # no near candidate was seen
            is_known = far_pairs.complete and sample.complete and far_pairs.pairs
            value = 0.0 if far_pairs.pairs else nan
            low = 0.0
            high = 0.0 if is_known else 1.0
        return self._candidates(tally, far, bands), Estimate(value, low, high)

    def _bins(
        self, tally: Tally, bins: range, step: int = 1
    ) -> tuple[SimilarityBin, ...]:
        similarity_bins = []
        for at in range(bins.start, bins.stop, step):
            end = min(at + step, bins.stop)
            estimates = measured(tally, self._sample, slice(at, end))
            low = float(tally.edges[at])
            high = min(1.0, float(tally.edges[end]))
            similarity_bins.append(SimilarityBin(low, high, *estimates))
        return tuple(similarity_bins)

    def _valley(self, tally: Tally) -> float | None:
        """Return the threshold that a valley of the histogram suggests."""
        sample = self._sample
        if not len(sample.rows):
            return None
        paired_rows = sample.rows[tally.weights.sum(axis=1) > 0]
        if not len(paired_rows):
            return None
        some_rows = paired_rows[:: 1 + len(paired_rows) // 256]
        if np.median(self._sketches.rows.take(some_rows).counts) < LEAST_SIZE:
            return None
        rates = sample.rates[sample.rows]
        counts = []
        edges = tally.edges[::2]
        for at in range(0, len(tally.edges) - 1, 2):
            row_weights = tally.weights[:, at : at + 2].sum(axis=1)
            total = float(row_weights.sum())
            variance = max(total, variance_of(row_weights, rates))
            counts.append(total_of(total, variance, sample.unit, False))
        return valley(
            np.append(edges, 1.0) if len(edges) == len(counts) else edges, counts
        )

    def _alternatives(self, tally: Tally, far: Sequence[Far]) -> Iterator[Alternative]:
        for name, threshold, bands in self._choices:
            estimates = self._of(tally, threshold, bands)
            yield self._alternative(
                name,
                self._plan.shingles,
                threshold,
                bands,
                estimates,
                estimates.recall,
                self._candidates(tally, far, bands),
            )

    def _alternative(
        self,
        name: str,
        shingles: Shingles,
        threshold: float,
        bands: Bands,
        estimates: Measured,
        recall: Estimate | None,
        candidates: float,
        compared_rows: int | None = None,
    ) -> Alternative:
        return Alternative(
            name,
            shingles.unit,
            shingles.size,
            threshold,
            bands.bands,
            bands.rows_per_band,
            estimates.pairs,
            recall,
            estimates.promised,
            candidates,
            8 * bands.bands * self._numbers.read,
            compared_rows,
        )

    def _of_other_shingles(self, joins: Sequence[OtherJoin]) -> Iterator[Alternative]:
        plan = self._plan
        sample = self._sample
        rng = self._rng
        for other in joins:
            weights = other.tally.weights[:, 0]
            by_row = other.tally.by_row
            assert by_row is not None
            among = other.among
            unit = sample.unit if among.complete else 2 * sample.unit * among.unit
            total = float(weights.sum())
            expected = other.tally.promised(slice(None))
            variance = variance_of(weights, sample.rates[sample.rows])
            variance += variance_of(by_row, among.rates)
            pairs = total_of(total, variance, unit, sample.complete and among.complete)
            sides = self._sides
            few = plan.bands.keys(_sketched(other.rows, sides.few, plan))
            many = plan.bands.keys(_sketched(other.rows, sides.many, plan))
            far = far_candidates(sides, few, many, other.rows, plan.threshold, rng)
            yield self._alternative(
                f"{other.shingles.unit} {other.shingles.size}",
                other.shingles,
                plan.threshold,
                plan.bands,
                Measured(pairs, pairs, expected / total if total else nan),
                None,
                (expected + far.pairs) / self._numbers.different,
                len(among.rows) if other.is_reduced else None,
            )

    def _examples(self, excerpts: Chosen) -> tuple[Example, ...]:
        return examples_of(
            excerpts.pairs(), self._sketches.rows.column, self._options.key_of
        )


def edges_of(threshold: float) -> Float64Array:
    """Return the limits of bins of similarities, in steps from the threshold."""
    steps = int(min(BELOW, threshold / 2) / WIDTH + 1e-9)
    below = [round(threshold - step * WIDTH, 6) for step in range(steps, 0, -1)]
    steps_above = round((1 - threshold) / WIDTH)
    above = [round(threshold + step * WIDTH, 6) for step in range(1, steps_above + 1)]
    inner = [edge for edge in above if edge < 1 - WIDTH / 4]
    return np.array([*below, threshold, *inner, np.nextafter(1, 2)], np.float64)


def _choices(plan: Plan, recall: float) -> list[_Choice]:
    """Return the other recalls and thresholds that the slots of the plan allow."""
    alternatives = [(f"recall {value:g}", plan.threshold, value) for value in RECALLS]
    edges = edges_of(plan.threshold)
    for shift in SHIFTS:
        threshold = plan.threshold if shift == 0 else round(plan.threshold + shift, 6)
        if shift and edges[0] <= threshold < 1 - WIDTH / 4:
            alternatives.append((f"threshold {threshold:g}", threshold, recall))
    choices = []
    for name, threshold, value in alternatives:
        try:
            bands = choose_bands(threshold, plan.hasher.num_perm, recall=value)
        except ValueError:
            continue  # out of reach of the slots
        choices.append(_Choice(name, threshold, bands))
    return choices


def _held(column: Column) -> Column:
    """Return rows whose texts are in memory."""
    if isinstance(column, ShingledTexts) and not isinstance(column.texts, Texts):
        return replace(column, texts=column.texts.take(slice(None)))
    return column


def _sketched(rows: KeyedRows, row_numbers: Int64Array, plan: Plan) -> UInt64Array:
    """Return the signatures of some rows."""

    def work(part: Int64Array) -> UInt64Array:
        return plan.hasher.sketch(
            rows.column.take(part).tokens(plan.hasher.seed), threads=1
        )

    return np.concatenate(list(rows.in_pieces(work, row_numbers, plan.threads)))
