"""Choose the family, bands and rows with the least cost at the promised recall."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.rows import parts_of_rows
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._items.crowds import Crowd, KeysOf, find_crowd
from lshfast._items.held_points import HeldItems, HeldPoints, HeldSets, release
from lshfast._items.measures import PointPlan
from lshfast.banding.bands import Bands
from lshfast.families.codes import BitFamily
from lshfast.families.family import Family
from lshfast.families.sets import WeightedMinHashFamily
from lshfast.families.vectors import Hyperplanes
from lshfast.index.neighbors.families import families_of
from lshfast.index.neighbors.plan import usual_probability
from lshfast.index.neighbors.planner import MISSES
from lshfast.index.neighbors.points import PointFormat
from lshfast.join.comparison import CROWD
from lshfast.kernels.sketch import MAX_NUM_PERM

# Bits of the codes that screen candidates for angles, and the share of all misses that the screen
# may cause.
SCREEN_BITS = 256
SCREEN_MISSES = 0.1

# Random pairs whose distances estimate the number of candidates.
SAMPLE_PAIRS = 1 << 15

# Similar pairs of codes for each row, above which the components of all codes are found without a
# list of the pairs.
LISTED_PAIRS = 64

# The most rows and bands that are tried; and nanoseconds of a row in a band, of a bit or a slot of
# its key, and of a pair that is screened or verified.
MOST_ROWS = 63
MOST_BANDS = 4096
ENTRY_NS = 90.0
BIT_NS = 1.0
SLOT_NS = 20.0
SCREENED_NS = 2.0
VERIFIED_NS = 150.0

# Near pairs of the sample whose rare elements are looked up; the other near pairs repeat these.
LOOKED_UP_PAIRS = 1 << 11

# Fewer weighted sets than this are compared within seconds in any case.
LEAST_CROWD = 1024

# Points are crowded if a random pair with near codes shares at least this many buckets on average.
# A pair of a crowd takes 8 ns if all rows are in one bucket, and 16 ns in each of many small ones.
CROWDED = 0.5
ANGLES = 256  # angles for which the probability of near codes is computed

# Points whose buckets are computed at once, if they are copied for it.
PIECE_POINTS = 1 << 16


_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


@dataclass(frozen=True)
class PointBuckets:
    """The buckets of n points.

    Attributes
    ----------
    bands : Bands
    recall : float
        Probability that a pair at the bound shares a bucket and passes the screen.
    keys : callable
        Returns the bucket keys of some rows in a band, given the band and the rows: uint64 (m,).
    codes : ndarray of uint64, shape (n, words)
        Codes of candidates differ in at most `most` bits; words may be 0.
    most : int
    crowded : bool
        Whether random pairs share buckets and have near codes so often that comparing all pairs
        once takes less time.
    crowd : Crowd or None
        Rows with more candidates than a run may have.
    """

    bands: Bands
    recall: float
    keys: KeysOf
    codes: UInt64Array
    most: int
    crowded: bool = False
    crowd: Crowd | None = None

    def limited(
        self, points: HeldItems, plan: PointPlan, rows: Int64Array
    ) -> PointBuckets:
        """Return the buckets with the crowd among some rows, if the plan limits candidates."""
        if plan.max_candidates is None:
            return self
        crowd = find_crowd(
            points,
            rows,
            self.keys,
            self.bands.bands,
            plan.max_candidates,
            plan.seed,
            plan.threads,
        )
        return self if crowd is None else replace(self, crowd=crowd, crowded=False)


def one_bucket(n: int) -> PointBuckets:
    """Return a single bucket with n points, by which all pairs are compared."""
    no_codes = np.empty((n, 0), np.uint64)
    return PointBuckets(
        Bands(1, 1), 1.0, lambda _, rows: np.zeros(len(rows), np.uint64), no_codes, 0
    )


def crowded_codes(
    codes: UInt64Array, format: PointFormat, plan: PointPlan, rows: Int64Array
) -> PointBuckets | None:
    """Return one bucket of all codes if the list of similar pairs would be long, or else None."""
    near_share = (
        np.count_nonzero(
            sampled_distances(codes, format, rows, plan.seed) <= plan.bound
        )
        / SAMPLE_PAIRS
    )
    if near_share * len(rows) / 2 <= LISTED_PAIRS:
        return None
    return replace(one_bucket(len(codes)), codes=codes, most=int(plan.bound))


@dataclass(frozen=True)
class BucketPlan:
    """The family and the bands of a join, before any bucket is computed.

    Attributes
    ----------
    family : Family
    bands : Bands
    most : int
        Bits in which the codes of candidates may differ; for vectors and angles, of SCREEN_BITS
        signs.
    screened : bool
        Whether candidates are screened by such signs, which may miss some pairs.
    """

    family: Family[Any]
    bands: Bands
    most: int
    screened: bool

    def probability(self, distance: float) -> float:
        """Return the probability that a pair at a distance is found."""
        shared_band = (
            float(self.family.collision_probability(distance))
            ** self.bands.rows_per_band
        )
        return self._passing(distance) * (1 - (1 - shared_band) ** self.bands.bands)

    def _passing(self, distance: float) -> float:
        """Return the probability that the codes of a pair at a distance are near."""
        return 1 - _missed(distance / math.pi, self.most) if self.screened else 1.0

    def is_crowded(self, distances: Float64Array) -> bool:
        """Return whether pairs at these distances are crowded: see `PointBuckets`."""
        if not self.screened or not len(distances):
            return False
        shared_band = (
            np.minimum(usual_probability(self.family, distances), 1.0)
            ** self.bands.rows_per_band
        )
        shared = self.bands.bands * shared_band
        if shared.mean() < CROWDED:
            return False
        angles, places = np.unique(
            np.ceil(distances * (ANGLES / math.pi)), return_inverse=True
        )
        passing = np.array(
            [self._passing(angle * math.pi / ANGLES) for angle in angles], np.float64
        )
        return bool((shared * passing[places.reshape(-1)]).mean() >= CROWDED)


@dataclass(frozen=True)
class CostedPlan:
    """A plan, and its expected time in nanoseconds."""

    cost: float
    plan: BucketPlan


def plan_buckets(
    format: PointFormat, plan: PointPlan, n: int, distances: Float64Array
) -> BucketPlan:
    """Choose the buckets of n points, given the distances of random pairs of them."""
    distance = plan.distance_of(format)
    misses = 1 - plan.recall
    most = 0
    angles = format.metric == "angle"
    bits = format.metric == "hamming"
    if angles:
        most = _screen_bits(distance / math.pi, misses * SCREEN_MISSES)
        misses *= 1 - SCREEN_MISSES
        families: Iterable[Family[Any]] = [Hyperplanes(format.dim, plan.seed)]
    else:
        most = int(plan.bound) if bits else 0
        families = [
            family
            for group in families_of(format, max(distance, 1e-300), plan.seed)
            for family in group
        ]
    costs = _Costs(SCREENED_NS if angles or bits else VERIFIED_NS)
    _, family, bands = _cheapest(families, distance, misses, n, distances, costs)
    return BucketPlan(family, bands, most, angles)


def choose_buckets(
    points: UInt64Array, format: PointFormat, plan: PointPlan, rows: Int64Array
) -> PointBuckets:
    """Choose and compute the buckets of points, (n, words); `rows` are those to be compared."""
    distances = sampled_distances(points, format, rows, plan.seed)
    bucket_plan = plan_buckets(format, plan, len(rows), distances)
    buckets = compute_buckets(points, format, plan, bucket_plan)
    crowded = format.nonzeros is None and bucket_plan.is_crowded(distances)
    return replace(buckets, crowded=crowded)


def compute_buckets(
    points: UInt64Array, format: PointFormat, plan: PointPlan, bucket_plan: BucketPlan
) -> PointBuckets:
    """Compute the buckets of points, (n, words), that a plan has chosen."""
    family = bucket_plan.family
    bands = bucket_plan.bands
    codes = np.empty((len(points), 0), np.uint64)
    if bucket_plan.screened:
        # Another seed, so that the screen is independent of the buckets.
        codes = _computed(
            Hyperplanes(format.dim, (plan.seed + 1) % 2**64),
            points,
            format,
            SCREEN_BITS,
            plan.threads,
        )
    elif format.metric == "hamming":
        codes = points
    count = bands.bands * bands.rows_per_band
    if isinstance(family, BitFamily):
        words = _computed(family, points, format, count, plan.threads)
        keys: KeysOf = partial(_bits_of_band, words, bands.rows_per_band)
    else:
        keys_of_bands = np.empty((bands.bands, len(points)), np.uint64)
        for piece in _pieces(points):
            piece_points = format.points_of(points[piece])
            keys_of_bands[:, piece] = family.buckets(
                piece_points, bands.bands, bands.rows_per_band, threads=plan.threads
            ).T
        keys = partial(_keys_of_band, keys_of_bands)
    return PointBuckets(
        bands,
        bucket_plan.probability(plan.distance_of(format)),
        keys,
        codes,
        bucket_plan.most,
    )


@dataclass(frozen=True)
class SampledSets:
    """Random pairs of weighted sets.

    Attributes
    ----------
    distances : ndarray of float64, shape (m,)
    are_shared : callable
        Returns for some of the pairs, given their numbers, whether they have a rare element in
        common.
    """

    distances: Float64Array
    are_shared: Callable[[Int64Array], BoolArray]

    @classmethod
    def of(cls, sets: HeldSets, rows: Int64Array, plan: PointPlan) -> SampledSets:
        """Draw pairs of some rows."""
        pairs = sampled_pairs(rows, plan.seed)
        left_rows = (pairs & _LOW).astype(np.int64)
        right_rows = (pairs >> _HALF).astype(np.int64)

        def are_shared(numbers: Int64Array) -> BoolArray:
            return sets.rare_elements(-plan.bound).are_shared(
                left_rows[numbers], right_rows[numbers]
            )

        return cls(1 + sets.values(pairs), are_shared)

    @classmethod
    def assumed(cls, distances: Float64Array) -> SampledSets:
        """Return pairs with these distances that have rare elements in common."""
        return cls(distances, lambda chosen: np.ones(len(chosen), np.bool_))


def plan_set_buckets(plan: PointPlan, n: int, sample: SampledSets) -> BucketPlan:
    """Choose the buckets of n weighted sets.

    Where rows are looked up by rare elements (see `BucketJoin`), pairs without a common one cost
    nothing. If there are many of them, fewer and larger buckets take less than half of the time.
    """
    usual = _cheapest_of_sets(plan, n, sample.distances)
    if n < LEAST_CROWD:
        return usual.plan
    near_pairs = np.flatnonzero(sample.distances <= 1 - plan.bound / 2)
    if n / 2 * len(near_pairs) <= CROWD * len(sample.distances):
        return usual.plan
    distances = sample.distances.copy()
    are_shared = np.resize(
        sample.are_shared(near_pairs[:LOOKED_UP_PAIRS]), len(near_pairs)
    )
    distances[near_pairs[~are_shared]] = 1.0
    looked_up = _cheapest_of_sets(plan, n, distances)
    return looked_up.plan if 2 * looked_up.cost < usual.cost else usual.plan


def _cheapest_of_sets(plan: PointPlan, n: int, distances: Float64Array) -> CostedPlan:
    cost, family, bands = _cheapest(
        [WeightedMinHashFamily(seed=plan.seed)],
        plan.distance_of(None),
        1 - plan.recall,
        n,
        distances,
        _Costs(VERIFIED_NS, SLOT_NS, MAX_NUM_PERM),
    )
    return CostedPlan(cost, BucketPlan(family, bands, 0, False))


def choose_set_buckets(
    sets: HeldSets, plan: PointPlan, rows: Int64Array
) -> PointBuckets:
    """Choose and compute the buckets of weighted sets; `rows` are those to be compared."""
    bucket_plan = plan_set_buckets(plan, len(rows), SampledSets.of(sets, rows, plan))
    family = bucket_plan.family
    bands = bucket_plan.bands
    keys = np.empty((bands.bands, len(sets)), np.uint64)
    for piece, piece_sets in sets.weighted(8 * bands.slots):
        keys[:, piece] = family.buckets(
            piece_sets, bands.bands, bands.rows_per_band, threads=plan.threads
        ).T
    no_codes = np.empty((len(sets), 0), np.uint64)
    return PointBuckets(
        bands,
        bucket_plan.probability(plan.distance_of(None)),
        partial(_keys_of_band, keys),
        no_codes,
        0,
    )


def _computed(
    family: BitFamily[Any],
    points: UInt64Array,
    format: PointFormat,
    count: int,
    threads: int,
) -> UInt64Array:
    """Return the packed bits of points under a family; points of vectors are copied in pieces."""
    words = np.empty((len(points), -(-count // 64)), np.uint64)
    for piece in _pieces(points):
        words[piece] = family.codes(
            format.points_of(points[piece]), count, threads=threads
        ).words
    return words


def _bits_of_band(
    words: UInt64Array, width: int, band: int, rows: Int64Array
) -> UInt64Array:
    """Return the `width` packed bits of rows in a band as numbers, as `BitFamily.buckets` does."""
    word, shift = divmod(band * width, 64)
    bits = words[rows, word] >> np.uint64(shift)
    if shift + width > 64:
        bits |= words[rows, word + 1] << np.uint64(64 - shift)
    return np.asarray(bits & np.uint64(2**width - 1))


def _keys_of_band(keys: UInt64Array, band: int, rows: Int64Array) -> UInt64Array:
    return np.asarray(keys[band][rows])


def _pieces(points: UInt64Array) -> Iterator[slice]:
    """Yield the rows of points in pieces; what was read of a file is released after each."""
    for part in parts_of_rows(len(points), PIECE_POINTS):
        yield part
        release(points)


def sampled_distances(
    points: UInt64Array, format: PointFormat, rows: Int64Array, seed: int
) -> Float64Array:
    """Return the distances of random pairs of the rows."""
    return format.distances(
        _sampled_values(HeldPoints(points, format.measure), rows, seed)
    )


def _sampled_values(points: HeldItems, rows: Int64Array, seed: int) -> Float64Array:
    """Return the values of random pairs of the rows."""
    return points.values(sampled_pairs(rows, seed)) if len(rows) > 1 else np.empty(0)


def sampled_pairs(rows: Int64Array, seed: int) -> UInt64Array:
    """Return random pairs of the rows, right << 32 | left."""
    left_places, right_places = sampled_places(len(rows), seed)
    return np.asarray(
        rows[right_places].astype(np.uint64) << _HALF
        | rows[left_places].astype(np.uint64)
    )


def sampled_places(n: int, seed: int) -> tuple[Int64Array, Int64Array]:
    """Return the places of both rows of each random pair of n rows."""
    if n < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rng = np.random.default_rng(seed)
    left_places = rng.integers(0, n, SAMPLE_PAIRS)
    right_places = (left_places + rng.integers(1, n, SAMPLE_PAIRS)) % n
    return left_places, right_places


class _Costs(NamedTuple):
    """Nanoseconds of a pair and of a hash value, and the most hash values of a point."""

    pair_ns: float
    slot_ns: float = BIT_NS
    most_slots: int = MOST_BANDS * MOST_ROWS


def _cheapest(
    families: Iterable[Family[Any]],
    distance: float,
    misses: float,
    n: int,
    sample: Float64Array,
    costs: _Costs,
) -> tuple[float, Family[Any], Bands]:
    """Return the least expected time in nanoseconds, and the family and the bands that have it."""
    best: tuple[float, Family[Any], Bands] | None = None
    for family in families:
        bound_probability = float(family.collision_probability(distance))
        allowed = misses * MISSES.get(family.name, 1.0)
        sample_probability: Float64Array | None = None
        for rows in range(1, MOST_ROWS + 1):
            band_probability = bound_probability**rows
            if band_probability < 1e-9:
                break
            bands = (
                1
                if band_probability >= 1 - 1e-12
                else math.ceil(math.log(allowed) / math.log1p(-band_probability))
            )
            if bands > MOST_BANDS or bands * rows > costs.most_slots:
                break
            entries_ns = n * (ENTRY_NS + rows * costs.slot_ns)
            if best is not None and bands * entries_ns >= best[0]:
                continue  # whatever the share of pairs is, which takes longest to compute
            if sample_probability is None:
                sample_probability = np.minimum(usual_probability(family, sample), 1.0)
            sharing = (
                float(np.mean(sample_probability**rows))
                if len(sample_probability)
                else 0.0
            )
            cost = bands * (entries_ns + n * n / 2 * sharing * costs.pair_ns)
            if best is None or cost < best[0]:
                best = cost, family, Bands(bands, rows)
    if best is None:
        raise ValueError(
            f"no bands find pairs at distance {distance:g} with probability {1 - misses:g}: "
            "points at this distance "
            "hardly ever share a bucket; take a smaller radius, a lower recall, or exact=True "
            "(--exact)"
        )
    return best


def _screen_bits(share: float, misses: float) -> int:
    """Return the least bound on differing bits that a pair exceeds with at most `misses`."""
    most = int(share * SCREEN_BITS)
    while _missed(share, most) > misses:
        most += 1
    return most


def _missed(share: float, most: int) -> float:
    """Return the probability that over `most` of SCREEN_BITS bits differ, each with `share`."""
    if share <= 0:
        return 0.0
    if share >= 1:
        return float(most < SCREEN_BITS)
    logs = [
        math.lgamma(SCREEN_BITS + 1)
        - math.lgamma(k + 1)
        - math.lgamma(SCREEN_BITS - k + 1)
        + k * math.log(share)
        + (SCREEN_BITS - k) * math.log1p(-share)
        for k in range(most + 1, SCREEN_BITS + 1)
    ]
    return math.fsum(map(math.exp, logs))
