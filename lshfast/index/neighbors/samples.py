"""A sample of points: its distances, its radius for k neighbors, and the recall for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of, check_int
from lshfast._common.threads import thread_count
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.families.family import Family
from lshfast.families.points import SparsePoints
from lshfast.index.neighbors.bounds import Bound
from lshfast.index.neighbors.codes import CodesPlan
from lshfast.index.neighbors.plan import NeighborsPlan
from lshfast.index.neighbors.planner import PlanRequest, plan_neighbors
from lshfast.index.neighbors.points import PointFormat
from lshfast.index.stores.searching import search_entries
from lshfast.index.stores.values import Parameters, SearchRequest

# Points whose neighbors choose the radius, and the share of them with all neighbors within it.
RADIUS_POINTS = 256
RADIUS_SHARE = 0.95

# The points for whose distances the plan is made, and the points among them whose distances are
# computed.
PLAN_POINTS = 1024
PLAN_QUERIES = 32

# The pairs by which the functions of an index are checked; the points from which they are drawn;
# and the neighbors of a point of which one gives the direction of its pair, if fewer are within the
# radius. With fewer pairs than LEAST_PAIRS, nothing is checked.
CHECKED_PAIRS = 1024
CHECKED_POINTS = 2048
DIRECTIONS = 10
LEAST_PAIRS = 64

# Plans that are tried, each with this share of the misses of the one before.
MOST_PLANS = 10
FEWER_MISSES = 0.7

# The largest radius of angles, since no plan finds opposite vectors; and the least one of other
# distances, as a share of the largest coordinate, since far smaller cells could not be numbered.
LARGEST_ANGLE = 0.75 * np.pi
LEAST_RADIUS = 2.0**-40


class PointPairs(NamedTuple):
    """Points, points at the radius from them, and the number of neighbors within the radius."""

    left: Any
    right: Any
    neighbors: Int64Array


class Nearest(NamedTuple):
    """The nearest other points, int64, and their distances, float64, (m, count) each."""

    places: Int64Array
    distances: Float64Array


@dataclass(frozen=True, eq=False)
class PointSample:
    """Points like the entries of an index.

    Parameters
    ----------
    format : PointFormat
    words : ndarray of uint64, shape (m, format.measure.words)
    seed : int
        It decides which of the points stand for all.
    """

    format: PointFormat
    words: UInt64Array
    seed: int

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def order(self) -> Int64Array:
        """The places of the points in random order."""
        return np.random.default_rng(self.seed).permutation(len(self))

    @cached_property
    def distances(self) -> Float64Array:
        """Distances between some of the points, for the plan."""
        places = self.order[:PLAN_POINTS]
        nearest = self.nearest_others(places[:PLAN_QUERIES], places, len(places) - 1)
        return nearest.distances.reshape(-1)

    def radius_for(self, k: int, n: int) -> float:
        """Return a distance within which most of the points have k of n entries."""
        rank = max(1, math.ceil(k * len(self) / n))
        if rank >= len(self):
            raise ValueError(
                f"a radius for k={k} of n={n:,} entries needs the {rank} nearest other points of "
                f"each point of the sample, which has {len(self)}: pass a larger sample, or a "
                "radius"
            )
        nearest = self.nearest_others(self.order[:RADIUS_POINTS], self.order, rank)
        return self.usable_radius(
            float(np.quantile(nearest.distances[:, -1], RADIUS_SHARE))
        )

    def usable_radius(self, radius: float) -> float:
        """Return the radius, or the nearest one that an index can have."""
        radius = max(radius, float(np.finfo(np.float32).eps))
        if self.format.metric == "angle":
            return min(radius, LARGEST_ANGLE)
        if self.format.metric == "hamming":
            return max(radius, 1.0)
        points = self.format.points_of(self.words)
        values = points.values if isinstance(points, SparsePoints) else points
        return max(radius, LEAST_RADIUS * float(np.abs(values).max(initial=0)))

    def nearest_others(
        self, queries: Int64Array, places: Int64Array, count: int
    ) -> Nearest:
        """Return the nearest other points at `places` for each query, which is one of them."""
        measure = self.format.measure
        parameters = Parameters(
            1,
            1,
            1,
            "",
            0,
            None,
            family="sample",
            payload=measure.words,
            measure=measure.text,
        )
        entries = np.zeros((len(places), 1 + measure.words), np.uint64)
        entries[:, 1:] = self.words[places]
        buckets = np.zeros((len(queries), 1, 1), np.uint64)
        request = SearchRequest(
            buckets,
            self.words[queries],
            measure,
            count + 1,
            None,
            None,
            thread_count(None),
        )
        answers = search_entries(parameters, places, entries, request)
        neighbors = np.asarray(answers.keys, np.int64).reshape(len(queries), count + 1)
        distances = self.format.distances(answers.distances).reshape(neighbors.shape)
        is_other = without_own(neighbors, queries)
        shape = (len(queries), count)
        return Nearest(
            neighbors[is_other].reshape(shape), distances[is_other].reshape(shape)
        )

    def pairs_at(self, radius: float) -> PointPairs | None:
        """Return pairs of points at the radius, in the directions of neighbors, or None.

        None stands for too few pairs.
        """
        # A point between two sparse ones may have too many nonzeros.
        if self.format.nonzeros is not None:
            return None
        places = self.order[:CHECKED_POINTS]
        queries = places[:CHECKED_PAIRS]
        nearest = self.nearest_others(queries, places, len(places) - 1)
        within = np.count_nonzero(nearest.distances <= radius, axis=1)
        # The farther half of the neighbors within the radius: their directions may differ from the
        # directions of the nearest ones.
        is_apart = nearest.distances > 0
        first = np.maximum(is_apart.argmax(axis=1), within // 2)
        last = np.minimum(
            np.maximum(within, first + DIRECTIONS), nearest.places.shape[1]
        )
        rng = np.random.default_rng(self.seed)
        column = rng.integers(first, last)
        rows = np.flatnonzero(is_apart.any(axis=1))
        if len(rows) < LEAST_PAIRS:
            return None
        left_points = self.format.points_of(self.words[queries[rows]])
        towards = self.format.points_of(self.words[nearest.places[rows, column[rows]]])
        right, planted = points_towards(self.format, left_points, towards, radius, rng)
        if np.count_nonzero(planted) < LEAST_PAIRS:
            return None
        right = np.ascontiguousarray(right[planted].astype(left_points.dtype))
        return PointPairs(left_points[planted], right, within[rows[planted]])


def without_own(neighbors: Int64Array, queries: Int64Array) -> BoolArray:
    """Return which neighbors to keep for each query: all but itself, or else but the last."""
    is_other: BoolArray = neighbors != queries[:, np.newaxis]
    is_other[is_other.all(axis=1), -1] = False
    return is_other


def points_towards(
    format: PointFormat,
    start_points: Any,
    towards: Any,
    radius: float,
    rng: np.random.Generator,
) -> tuple[npt.NDArray[Any], BoolArray]:
    """Return a point at the radius on the way to another one, and whether there is one."""
    if format.metric == "hamming":
        return _codes_towards(format, start_points, towards, radius, rng)
    start = start_points.astype(np.float64)
    end = towards.astype(np.float64)
    if format.metric == "angle":
        lengths = np.linalg.norm(start, axis=1, keepdims=True)
        start /= lengths
        end /= np.linalg.norm(end, axis=1, keepdims=True)
        step = end - start * (start * end).sum(axis=1, keepdims=True)
        size = np.linalg.norm(step, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            right = lengths * (start * np.cos(radius) + step / size * np.sin(radius))
    else:
        step = end - start
        order = 1 if format.metric == "manhattan" else 2
        size = np.linalg.norm(step, ord=order, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            right = start + step / size * radius
    return right, np.isfinite(right).all(axis=1)


def _codes_towards(
    format: PointFormat,
    start_codes: UInt64Array,
    towards: UInt64Array,
    radius: float,
    rng: np.random.Generator,
) -> tuple[UInt64Array, BoolArray]:
    bits = np.unpackbits(
        (start_codes ^ towards).view(np.uint8), axis=1, bitorder="little"
    )
    # The bits that differ are changed first, in random order, and then others.
    chances = rng.random(bits.shape) - bits
    chances[:, format.dim :] = 1
    changed = np.argsort(chances, axis=1)[:, : int(radius)]
    flips = np.zeros_like(bits)
    np.put_along_axis(flips, changed, 1, axis=1)
    changes = np.packbits(flips, axis=1, bitorder="little").view(np.uint64)
    return start_codes ^ changes, np.ones(len(start_codes), np.bool_)


def share_found(plan: NeighborsPlan, pairs: PointPairs) -> float:
    """Return the share of pairs that a query finds by the functions of a plan.

    It is the lesser of two shares: of the points, and of their neighbors.
    """
    # Most neighbors may be in one dense place.
    slots = plan.row_slots(pairs.right)
    if isinstance(plan, CodesPlan):
        differing = np.unpackbits(
            (plan.row_slots(pairs.left) ^ slots).view(np.uint8), axis=1
        )
        is_near = differing[:, : plan.head_bits].sum(axis=1) <= plan.near[-1]
        is_found = is_near & (differing.sum(axis=1) <= plan.reach)
    else:
        is_found = (plan.probe(pairs.left) == slots[:, :, np.newaxis]).any(axis=(1, 2))
    neighbors = pairs.neighbors.sum()
    neighbor_share = float(pairs.neighbors @ is_found / neighbors) if neighbors else 1.0
    return min(float(np.mean(is_found)), neighbor_share)


def plan_for_sample(
    request: PlanRequest, families: Sequence[Sequence[Family[Any]]], sample: PointSample
) -> NeighborsPlan:
    """Return the cheapest plan whose functions often enough find the pairs of a sample.

    It is planned for fewer and fewer misses, until this is so.
    """
    plan = plan_neighbors(request, families)
    pairs = sample.pairs_at(request.radius)
    if pairs is None or request.bands is not None:
        return plan
    recall = request.recall
    for _ in range(MOST_PLANS):
        if share_found(plan, pairs) >= request.recall:
            break
        recall = 1 - (1 - recall) * FEWER_MISSES
        plan = plan_neighbors(replace(request, recall=recall), families)
    return plan


def sample_of(format: PointFormat, sample: Any, seed: int) -> Any:
    """Return a `PointSample` of points, which are checked, or distances or None as they are."""
    if sample is None:
        return None
    is_matrix = hasattr(sample, "indptr") or hasattr(sample, "tocsr")
    is_sparse = is_matrix or isinstance(sample, SparsePoints)
    if not is_sparse and array_of(sample, "sample").ndim < 2:
        return sample
    words = format.check(sample, "sample")[1]
    if len(words) < 2:
        raise ValueError(f"sample must have at least 2 points, not {len(words)}")
    return PointSample(format, words, seed)


def bound_for_neighbors(sample: Any, n: int, k: int | None, by_cosine: bool) -> Bound:
    """Return the bound of a sample for k neighbors; ValueError without a sample or k."""
    argument = "threshold" if by_cosine else "radius"
    if k is None or not isinstance(sample, PointSample):
        raise ValueError(
            f"{argument} is needed: pass one, or a sample of points (m, dim) and k, the number of "
            "neighbors that it is chosen for"
        )
    radius = sample.radius_for(check_int("k", k, 1), check_int("n", n, 1, 2**62))
    if not by_cosine:
        return Bound(radius, None)
    threshold = max(-1.0, math.cos(radius))
    return Bound(math.acos(threshold), threshold)
