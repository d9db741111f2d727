"""What a run over weighted sets, vectors or codes, and an index of them, will do: plans, recall by
distance, memory.

Nothing is compared but random pairs of a sample, by whose distances bands are chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int
from lshfast._common.choices import singular
from lshfast._common.display import counted
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import Float64Array
from lshfast._engine.account.display import SIMILARITY_NAMES, bound_name
from lshfast._engine.budget import bytes_of_values
from lshfast._engine.indexes.points import GROWTH, new_point_index
from lshfast._engine.indexes.weighted import NUM_PERM, bands_of_new
from lshfast._engine.inputs import SAMPLE_BYTES, Inputs
from lshfast._items.buckets import (
    BucketPlan,
    SampledSets,
    plan_buckets,
    plan_set_buckets,
    sampled_distances,
)
from lshfast._items.held_points import HeldSets
from lshfast._items.items import METRICS, PointBatch
from lshfast._items.measures import PointPlan, is_distance
from lshfast._items.weighted import ELEMENT_WORDS
from lshfast.banding.bands import Bands
from lshfast.families.family import Family
from lshfast.index.hamming.plan import MAX_BITS, HammingPlan, choose_blocks
from lshfast.index.measure import MOST_WORDS
from lshfast.index.neighbors import NearNeighbors
from lshfast.index.neighbors.plan import KEY_BYTES, NeighborsPlan
from lshfast.index.neighbors.points import PointFormat
from lshfast.kernels.hamming import ones

# Coordinates or bits, if the user gives neither INPUT nor --dim.
DIMS = {"vector": 768, "hamming": 64, "tanimoto": 2048}

# Random pairs whose distances are assumed without INPUT.
PAIRS = 1000

# Elements of a weighted set, and the similarity of random pairs of them, if there is no INPUT.
ELEMENTS = 100
ASSUMED_SIMILARITY = 0.1

# Where recall is shown: similarities, distances of vectors as multiples of the radius, and bits of
# codes.
SIMILARITIES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99, 1.0)
MULTIPLES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
BITS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)

# Bytes of an entry in the table of a band, for an index of signatures.
TABLE_BYTES = 12

# The share of random pairs that are nearer, for the note on them.
NEAREST = 0.001


@dataclass(frozen=True)
class PointForecast:
    """What a run over points, and an index of them, will do.

    Attributes
    ----------
    plan : PointPlan
    format : PointFormat or None
        None for weighted sets.
    words : int
        Words of a row in memory; of weighted sets in the mean.
    rows : int or None
        About how many there are; None if that is not known, and 1,000,000 are assumed.
    buckets : BucketPlan or None
        Of `dedup` and `pairs`; None if they find all pairs, or if distances decide and there is no
        sample.
    index : NeighborsPlan, HammingPlan, Bands or None
        Of an index: of weighted sets, the bands of their signatures; None for Tanimoto similarity,
        and if no bands keep the promise.
    shares : ndarray of float64, shape (dim + 1,)
        The share of the codes with each number of ones, for Tanimoto similarity.
    measured : ndarray of float64, shape (pairs,)
        Distances of random pairs of a sample; none without one.
    values : int
        Bytes for the values of `by`.
    advice : str
        What may be meant otherwise by the rows of the sample, or "".
    """

    plan: PointPlan
    format: PointFormat | None
    words: int
    rows: int | None
    buckets: BucketPlan | None
    index: NeighborsPlan | HammingPlan | Bands | None
    shares: Float64Array
    measured: Float64Array
    values: int = 0
    advice: str = ""

    @property
    def count(self) -> int:
        """The rows that figures are for."""
        return 10**6 if self.rows is None else self.rows

    def lines(self) -> list[str]:
        """Return all figures as lines of text."""
        plan = self.plan
        name = SIMILARITY_NAMES[self.plan.measure]
        measure = plan.measure if plan.kind == "vector" else plan.measure.capitalize()
        side = "most" if is_distance(plan.measure) else "least"
        bound = f"{measure} {name} at {side} {plan.bound:g}"
        about = "for" if self.rows is None else "about"
        head = [f"{about} {self._items()}; {bound}"]
        if len(self.measured) and plan.measure != "tanimoto":
            values = np.sort(plan.of_distances(self.measured))
            values = values if is_distance(plan.measure) else values[::-1]
            near_value = values[int(NEAREST * len(values))]
            middle = values[len(values) // 2]
            nearest = f"{near_value:.4g} (the nearest of 1,000)"
            head.append(f"random pairs: {name} {middle:.4g} (median), {nearest}")
        elif self.format is None:
            head.append(
                f"random pairs: {name} {ASSUMED_SIMILARITY:g} (assumed; INPUT shows it)"
            )
        if self.advice:
            head.append(f"note: {self.advice}")
        return [
            *head,
            "",
            *self._runs(),
            "",
            *self._of_index(),
            "",
            *self._table(),
            "",
            *self._memory(),
        ]

    def _items(self) -> str:
        """Return how many rows there are, and of which size."""
        if self.format is None:
            size = f"about {counted(round(self.words / ELEMENT_WORDS), 'element')}"
        else:
            unit = "bits" if self.plan.kind == "code" else self.format.dtype
            size = f"{self.format.dim:,} {unit}"
        return f"{counted(self.count, singular(self.plan.kind))} of {size}"

    def _runs(self) -> list[str]:
        """Return how `dedup` and `pairs` search."""
        if self.plan.complete:
            return ["dedup, pairs: every similar pair is found"]
        if self.buckets is None:
            return ["dedup, pairs: the distances of rows decide, which INPUT shows"]
        bands = self.buckets.bands
        recall = self.buckets.probability(self.plan.distance_of(self.format))
        shape = (
            f"{counted(bands.bands, 'band')} of {counted(bands.rows_per_band, 'row')}, "
            f"{self.buckets.family.name}"
        )
        return [
            f"dedup, pairs: {shape}",
            f"recall at the {bound_name(self.plan.measure)} {self.plan.bound:g}: {recall:.4f}",
        ]

    def _of_index(self) -> list[str]:
        """Return how an index searches."""
        if isinstance(self.index, Bands):
            rows = counted(self.index.rows_per_band, "row")
            bands = f"{counted(self.index.bands, 'band')} of {rows}"
            return [
                f"index: {bands}, {self.index.slots} of {NUM_PERM} slots, which estimate the "
                "similarity"
            ]
        if self.format is None:
            return [
                f"index: {NUM_PERM} slots do not reach the recall {self.plan.recall:g} at this "
                "threshold"
            ]
        if self.index is None:
            compared = (
                f"a query is compared with about {self._compared(self.plan.bound):,.0f}"
            )
            return [f"index: codes in the order of their ones; {compared}"]
        room = (
            f", with room for {GROWTH} times the rows"
            if isinstance(self.index, NeighborsPlan)
            else ""
        )
        return f"index{room}: {self.index}".split("\n")

    def _compared(self, value: float) -> float:
        """Return how many codes a query is compared with."""
        if self.index is None:
            return self.count * share_read(self.shares, value)
        assert self.format is not None
        return choose_blocks(self.count, self.format.dim, int(value)).candidates

    def _table(self) -> list[str]:
        """Return the pairs that are found or compared, by similarity or distance."""
        plan = self.plan
        name = SIMILARITY_NAMES[plan.measure]
        if self.plan.complete and self.plan.kind == "code":
            lines = [f"{name:>10}{'compared with a query':>25}"]
            return lines + [
                f"{value:>10.4g}{self._compared(value):>25,.0f}{self._mark(value)}"
                for value in self._steps()
            ]
        lines = [f"{name:>10}{'one hash':>11}{'dedup':>10}{'index':>10}"]
        for value in self._steps():
            distance = replace(plan, bound=value).distance_of(self.format)
            run = (
                ""
                if self.buckets is None
                else f"{self.buckets.probability(distance):.4f}"
            )
            index = "1.0000" if self.format is not None else ""
            if isinstance(self.index, NeighborsPlan):
                index = f"{float(self.index.recall_at(distance)):.4f}"
            elif isinstance(self.index, Bands):
                index = f"{float(self.index.probability(value)):.4f}"
            one = self._family.collision_probability(distance)
            lines.append(
                f"{value:>10.4g}{float(one):>11.4f}{run:>10}{index:>10}{self._mark(value)}"
            )
        return lines

    @property
    def _family(self) -> Family[Any]:
        """The family of the index, or else of `dedup`."""
        if isinstance(self.index, NeighborsPlan):
            return self.index.base
        assert self.buckets is not None
        return self.buckets.family

    def _steps(self) -> list[float]:
        """Return similarities or distances, with the bound."""
        bound = self.plan.bound
        if not is_distance(self.plan.measure):
            return sorted({*SIMILARITIES, bound})
        assert self.format is not None
        if self.plan.kind == "code":
            return sorted(
                {*(float(bits) for bits in BITS if bits <= self.format.dim), bound}
            )
        return sorted(
            {min(multiple * bound, self.format.longest) for multiple in MULTIPLES}
        )

    def _mark(self, value: float) -> str:
        return (
            f"  <- {bound_name(self.plan.measure)}" if value == self.plan.bound else ""
        )

    def _memory(self) -> list[str]:
        """Return the memory of a run and of an index."""
        words = self.words
        plan = self.plan
        if self.buckets is not None:
            plan = replace(plan, bands=self.buckets.bands)
        entry = (
            self.index.entry_bytes
            if isinstance(self.index, NeighborsPlan)
            else 8 * words + KEY_BYTES
        )
        index_bytes = self.index.memory if isinstance(self.index, HammingPlan) else 0
        parts = dict[str, int]()
        if plan.complete or plan.bands is not None:
            parts["dedup"] = plan.memory_for(self.count, words, True) + self.values
        if plan.bands is not None and plan.kind != "code":
            parts["dedup --memory"] = (
                plan.memory_for(self.count, words, False) + self.values
            )
        if isinstance(self.index, Bands):
            entry = 8 * NUM_PERM + TABLE_BYTES * self.index.bands + KEY_BYTES
        if self.format is not None or self.index is not None:
            parts["an index"] = self.count * entry + index_bytes
        lines = [
            f"{name:>22}{nbytes / 1e6:>12,.0f} MB" for name, nbytes in parts.items()
        ]
        return ["memory, about", *lines]


def forecast_points(
    inputs: Inputs | None,
    plan: PointPlan,
    rows: int | None = None,
    dim: int | None = None,
) -> PointForecast:
    """Estimate a run over points by a sample of the inputs, or by their number.

    Points are vectors, codes or weighted sets.

    Parameters
    ----------
    inputs : Inputs, optional
    plan : PointPlan
    rows : int, optional
        Without inputs, the number of rows.
    dim : int, optional
        Without inputs, the coordinates of vectors or the bits of codes.

    Raises
    ------
    ValueError
        If an option is out of range, no bands keep the promise, or the inputs have no point.
    """
    if plan.kind == "weighted":
        return _forecast_sets(inputs, plan, rows)
    values = 0
    advice = ""
    if inputs is None:
        most = MAX_BITS if plan.kind == "code" else 2 * (MOST_WORDS - 1)
        assumed = DIMS["vector" if plan.kind == "vector" else plan.measure]
        dim = assumed if dim is None else check_int("dim", dim, 1, most)
        format = PointFormat(
            METRICS.get(plan.measure, plan.measure), dim, "float32", None
        )
        measured = np.empty(0)
        distances = assumed_distances(format)
    else:
        first, reader, rows, values = _sample(inputs, plan, batch_bytes=SAMPLE_BYTES)
        format = reader.format
        words = first.words
        advice = reader.advice
        measured = sampled_distances(words, format, int64_range(len(words)), plan.seed)
        distances = measured if len(measured) else assumed_distances(format)
    count = 10**6 if rows is None else rows
    shares = np.empty(0)
    buckets = (
        plan_buckets(format, plan, count, distances)
        if len(distances) and not plan.complete
        else None
    )
    if plan.kind == "vector":
        index: Any = cast(
            NearNeighbors, new_point_index("", plan, "error").new(format, plan, count)
        ).plan
    elif plan.measure == "hamming":
        index = choose_blocks(count, format.dim, int(plan.distance_of(format)))
    else:
        index = None
        shares = shares_of_ones(format.dim, None if inputs is None else ones(words))
    return PointForecast(
        plan,
        format,
        format.measure.words,
        rows,
        buckets,
        index,
        shares,
        measured,
        values,
        advice,
    )


def _forecast_sets(
    inputs: Inputs | None, plan: PointPlan, rows: int | None
) -> PointForecast:
    """Estimate a run over weighted sets; see `forecast_points`."""
    values = 0
    words = ELEMENT_WORDS * ELEMENTS
    measured = np.empty(0)
    sample = SampledSets.assumed(np.array([1 - ASSUMED_SIMILARITY], np.float64))
    if inputs is not None:
        first, _, rows, values = _sample(inputs, plan)
        counts: Any = first.counts
        sets = HeldSets(offsets_of(counts), first.words)
        words = sets.row_words
        drawn = SampledSets.of(sets, int64_range(len(sets)), plan)
        measured = drawn.distances
        sample = drawn if len(measured) else sample
    buckets = (
        None
        if plan.complete
        else plan_set_buckets(plan, 10**6 if rows is None else rows, sample)
    )
    return PointForecast(
        plan,
        None,
        words,
        rows,
        buckets,
        bands_of_new(plan),
        np.empty(0),
        measured,
        values,
    )


def _sample(
    inputs: Inputs, plan: PointPlan, **options: Any
) -> tuple[PointBatch, Any, int, int]:
    """Return the first rows, their reader, the estimated number of rows, and bytes for `by`."""
    corpus, reader = replace(inputs, id_column=None).open_kind(plan, **options)
    first: Any = next(corpus.batches(), None)
    if first is None or not len(first.texts.words):
        raise ValueError(
            f"there is no {singular(plan.kind)} at the beginning of the inputs"
        )
    rows = round(len(first.texts) * corpus.total_bytes / max(1, first.source_bytes))
    return first.texts, reader, rows, bytes_of_values(corpus.by, rows)


def assumed_distances(format: PointFormat) -> Float64Array:
    """Return the angles or bits between independent random points; none for other metrics."""
    normal = NormalDist()
    steps = np.array(
        [normal.inv_cdf((place + 0.5) / PAIRS) for place in range(PAIRS)], np.float64
    )
    if format.metric == "angle":
        return np.arccos(np.clip(steps / math.sqrt(format.dim), -1, 1))
    if format.metric == "hamming":
        return np.clip(
            np.rint(format.dim / 2 + steps * math.sqrt(format.dim) / 2), 0, format.dim
        )
    return np.empty(0)


def shares_of_ones(bits: int, counts: npt.NDArray[Any] | None = None) -> Float64Array:
    """Return the share of codes with each number of ones, (bits + 1,); by default random codes."""
    if counts is not None:
        return np.bincount(counts, minlength=bits + 1) / len(counts)
    logs = [
        math.lgamma(bits + 1) - math.lgamma(k + 1) - math.lgamma(bits - k + 1)
        for k in range(bits + 1)
    ]
    return np.exp(np.array(logs) - bits * math.log(2))


def share_read(shares: Float64Array, similarity: float) -> float:
    """Return the share of codes whose numbers of ones allow this similarity to a query.

    Examples
    --------
    >>> (
    ...     share_read(np.array([0, 0.5, 0.5]), 0.6),
    ...     share_read(np.array([0, 0.5, 0.5]), 0.5),
    ... )
    (0.5, 1.0)
    """
    numbers = int64_range(len(shares))
    below = np.concatenate([[0], np.cumsum(shares, dtype=np.float64)])
    low = np.ceil(numbers * similarity - 1e-9).astype(np.int64)
    high = np.minimum(np.floor(numbers / similarity + 1e-9), len(shares) - 1).astype(
        np.int64
    )
    return float(shares @ (below[high + 1] - below[low]))
