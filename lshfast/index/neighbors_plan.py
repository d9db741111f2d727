"""`NeighborsPlan`: the family, bands, rows and probes of near-neighbour search, and the choice with the least work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast.common.checks import check_int, check_number
from lshfast.common.types import Float64Array, UInt64Array
from lshfast.families.family import Family
from lshfast.families.probing import Probing
from lshfast.index.neighbors_points import PointFormat, check_radius

# The tables that the planner considers, and the factors by which the buckets of a band may be multiplied.
MOST_BANDS = 512
MOST_ROWS = 64
PROBES = (1, 2, 4, 8, 16, 32, 64, 128)

# Nanoseconds of a bucket that is looked up, and of a candidate: for it, and for each byte of its point.
LOOKUP_NS = 60.0
CANDIDATE_NS = 60.0
BYTE_NS = 0.1

# Bytes of an entry for each bucket, its value and its place in the table; and for the key and its place.
BUCKET_BYTES = 8 + 12
KEY_BYTES = 24

# Plans whose work differs by less than this factor count as equal: the one with the fewest tables is chosen.
EQUAL_WORK = 1.1

# The factor between the radius and the distance of all other points if the user gives no sample of distances.
FAR = 2.0


@dataclass(frozen=True)
class NeighborsPlan(Family[Any]):
    """What an index of near neighbours consists of, and what to expect of it; it is stored with the entries.

    As a family of hash functions, it has groups of `rows` functions of `base`.

    Attributes
    ----------
    metric, dim, dtype, nonzeros
        As given to `NearNeighbors`.
    base : Family
        Family of the hash functions.
    bands, rows, probes : int
        Tables, functions of a table, and buckets that a query searches in each table.
    radius : float
        Distance at which `recall` is promised.
    recall : float
        Probability with which a query finds an entry at distance `radius`. Nearer ones are found with a higher one.
    n : int
        Number of entries that the plan is for.
    c : float or None
        Approximation factor of `near` that the rows were chosen for.
    candidates : float
        Expected number of entries whose distance a query computes, if it has a neighbor at no distance of the sample.
    work : float
        Rough time of a query, in nanoseconds, by which the plan was chosen.
    """

    name: ClassVar[str] = "near-neighbors"

    metric: str
    dim: int
    dtype: str
    nonzeros: int | None
    base: Family[Any]
    bands: int
    rows: int
    probes: int
    radius: float
    recall: float
    n: int
    c: float | None
    candidates: float
    work: float

    def __post_init__(self) -> None:
        if not isinstance(self.base, Family):
            raise TypeError(f"base must be a Family, not {self.base!r}")
        for name in ("bands", "rows", "probes", "n"):
            object.__setattr__(self, name, check_int(name, getattr(self, name), 1))
        check_radius("radius", self.radius, self.points)

    @property
    def points(self) -> PointFormat:
        """The format of the points."""
        return PointFormat(self.metric, self.dim, self.dtype, self.nonzeros)

    @property
    def entry_bytes(self) -> int:
        """Bytes that an entry needs in memory, without the objects of keys that are neither ints nor strs."""
        return _entry_bytes(self.bands, self.points)

    @property
    def searched(self) -> int:
        """Buckets that a query searches: bands * probes."""
        return self.bands * self.probes

    def hash(self, items: Any, count: int, *, threads: int | None = None) -> UInt64Array:
        return self.base.buckets(items, count, self.rows, threads=threads)

    def distance(self, a: Any, b: Any) -> Float64Array:
        return self.base.distance(a, b)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        return np.asarray(self.base.collision_probability(distance) ** self.rows)

    def probe(self, items: Any, threads: int | None = None) -> UInt64Array:
        """Return the buckets that queries search, uint64 (m, bands, probes)."""
        if self.probes == 1 or not isinstance(self.base, Probing):
            return self.hash(items, self.bands, threads=threads)[:, :, np.newaxis]
        return self.base.probe(items, self.bands, self.rows, self.probes, threads=threads)

    def recall_at(self, distance: npt.ArrayLike) -> Float64Array:
        """Return the probability that a query finds an entry at these distances."""
        return _found(_meets(self.base, distance, self.rows, self.probes), self.bands)

    def expected_candidates(self, distances: npt.ArrayLike) -> float:
        """Return the expected number of entries that a query examines, if n are at distances like these."""
        return self.n * float(np.mean(self.recall_at(distances)))

    def __str__(self) -> str:
        points, size = self.points, self.entry_bytes
        near = "" if self.c is None else f", c {self.c:g}"
        half = float(self.recall_at(self.radius / 2))
        return "\n".join(
            [
                f"{self.metric}, {self.dim} {'bits' if self.metric == 'hamming' else 'dimensions'}, radius "
                f"{self.radius:g}{near}, for {self.n:,} entries",
                f"  family      {self.base!r}",
                f"  tables      {self.bands} bands of {self.rows} rows; a query searches {self.probes} buckets in each",
                f"  recall      {self.recall:.4f} at the radius, {half:.4f} at half of it",
                f"  candidates  about {self.candidates:,.0f} a query, of {8 * points.measure.words:,} bytes each",
                f"  work        about {self.work / 1e6:.2g} ms a query",
                f"  memory      {size:,} bytes an entry, {self.n * size / 1e6:,.1f} MB in all",
            ]
        )


def plan_neighbors(
    points: PointFormat,
    families: Iterable[Family[Any]],
    radius: float,
    recall: float,
    n: int,
    *,
    c: float | None = None,
    sample: npt.ArrayLike | None = None,
    memory: int | None = None,
    bands: int | None = None,
    rows: int | None = None,
    probes: int | None = None,
) -> NeighborsPlan:
    """Choose family, bands, rows and probes for the least expected work of a query.

    Parameters
    ----------
    points : PointFormat
    families : iterable of Family
        The families to choose from.
    radius : float
        At least 0.
    recall : float
        Least probability, in (0, 1), of finding an entry at distance `radius`.
    n : int
        Expected number of entries.
    c : float, optional
        Above 1. Then at most one entry is expected in a bucket from beyond c * radius, as `near` needs it.
    sample : array_like of float, optional
        Distances between queries and entries. By default, all are `FAR` times the radius, or c times.
    memory : int, optional
        The most bytes of n entries.
    bands, rows, probes : int, optional
        These instead of a choice.

    Raises
    ------
    ValueError
        If an argument is out of range, or no plan keeps the promise within the memory.
    """
    radius, n = check_radius("radius", radius, points), check_int("n", n, 1)
    recall = check_number("recall", recall)
    if not 0 < recall < 1:
        raise ValueError(f"recall must be in (0, 1), not {recall}")
    if c is not None and not 1 < check_number("c", c) < np.inf:
        raise ValueError(f"c must be a finite number above 1, not {c}")
    most = MOST_BANDS if memory is None else _bands_within(check_int("memory", memory, 1), n, points)
    fixed = {"bands": bands, "rows": rows, "probes": probes}
    for name, value in fixed.items():
        if value is not None:
            check_int(name, value, 1, {"bands": 2**15, "rows": 2**10, "probes": 2**16}[name])
    far = min((c or FAR) * radius, points.longest)
    distances, shares = _binned(np.array([far]) if sample is None else check_sample(sample, points))
    plans = [
        plan
        for family in families
        for plan in _plans(points, family, radius, recall, n, c, distances, shares, most, fixed)
    ]
    if not plans:
        raise ValueError(
            f"no plan of at most {most} tables finds entries at radius {radius:g} with probability {recall:g}"
            f"{'' if memory is None else f' in {memory:,} bytes'}: allow more memory, or a lower recall"
        )
    least = min(plan.work for plan in plans)
    return min((plan for plan in plans if plan.work <= EQUAL_WORK * least), key=lambda plan: (plan.bands, plan.work))


def check_sample(sample: npt.ArrayLike, points: PointFormat) -> Float64Array:
    """Return a sample of distances, or raise an error that names its range."""
    array = np.asarray(sample, np.float64).reshape(-1)
    if not len(array) or not ((array >= 0) & (array <= points.longest) & (array < np.inf)).all():
        raise ValueError(f"sample must be at least one distance, and all in [0, {points.longest:g}]")
    return array


def _binned(distances: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return up to 64 distances and their shares; the smallest have bins of their own, as they count most."""
    ordered = np.sort(distances)
    if len(ordered) <= 64:
        return ordered, np.full(len(ordered), 1 / len(ordered))
    edges = np.unique(np.rint(np.geomspace(1, len(ordered), 64)).astype(np.int64))
    counts = np.diff(np.concatenate([[0], edges]))
    sums = np.add.reduceat(ordered, np.concatenate([[0], edges[:-1]]))
    return sums / counts, counts / len(ordered)


def _plans(
    points: PointFormat,
    family: Family[Any],
    radius: float,
    recall: float,
    n: int,
    c: float | None,
    distances: Float64Array,
    shares: Float64Array,
    most: int,
    fixed: dict[str, int | None],
) -> Iterator[NeighborsPlan]:
    """Yield the plans with this family that keep the promise."""
    near = float(family.collision_probability(radius))
    others = family.collision_probability(distances)
    far = None if c is None else float(family.collision_probability(min(c * radius, points.longest)))
    least = math.inf
    for probes in PROBES if fixed["probes"] is None else (fixed["probes"],):
        if probes > 1 and not isinstance(family, Probing):
            continue
        for rows in range(1, MOST_ROWS + 1) if fixed["rows"] is None else (fixed["rows"],):
            # The bounds of bands and work cost little; the probabilities of probes are simulated.
            bands = fixed["bands"] or _bands_for(min(1.0, probes * near**rows), recall)
            if bands > most and fixed["bands"] is None:
                break
            if fixed["rows"] is None and far is not None and n * far**rows > 1:
                continue
            candidates = n * float(shares @ _found(others**rows, bands))
            if _work(family, points, bands, rows, probes, candidates) > least:
                continue
            met = float(_meets(family, [radius], rows, probes)[0])
            bands = fixed["bands"] or _bands_for(met, recall)
            if bands > most and fixed["bands"] is None:
                break
            candidates = n * float(shares @ _found(_meets(family, distances, rows, probes), bands))
            work = _work(family, points, bands, rows, probes, candidates)
            least = min(least, EQUAL_WORK * work)
            found = float(_found(np.array([met]), bands)[0])
            yield NeighborsPlan(
                points.metric, points.dim, points.dtype, points.nonzeros, family, bands, rows, probes, radius, found,
                n, c, candidates, work,
            )  # fmt: skip


def _meets(family: Family[Any], distance: npt.ArrayLike, rows: int, probes: int) -> Float64Array:
    """Return the probability that a query searches the bucket of an entry in one band.

    Later buckets are less likely than the first one: that bounds what a simulation cannot resolve.
    """
    first = family.collision_probability(distance) ** rows
    if probes == 1 or not isinstance(family, Probing):
        return np.asarray(first)
    met = family.probe_probability(distance, rows, probes)
    return np.asarray(np.clip(met, first, np.minimum(probes * first, 1)))


def _found(met: Float64Array, bands: int) -> Float64Array:
    """Return the probability of meeting in at least one of the bands."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(bands * np.log1p(-np.minimum(met, 1))))


def _bands_for(met: float, recall: float) -> int:
    if met >= 1:
        return 1
    bands = math.log1p(-recall) / math.log1p(-met) if met > 0 else math.inf
    return math.ceil(bands) if bands < 1e9 else 10**9


def _entry_bytes(bands: int, points: PointFormat) -> int:
    return bands * BUCKET_BYTES + 8 * points.measure.words + KEY_BYTES


def _bands_within(memory: int, n: int, points: PointFormat) -> int:
    least = n * _entry_bytes(1, points)
    if memory < least:
        raise ValueError(f"memory must be at least {least:,} bytes for {n:,} entries of this kind, not {memory:,}")
    return int((memory // n - _entry_bytes(0, points)) // BUCKET_BYTES)


def _work(family: Family[Any], points: PointFormat, bands: int, rows: int, probes: int, candidates: float) -> float:
    """Return the rough time of a query, in nanoseconds."""
    hashing = bands * rows * hash_ns(family, points)
    return hashing + bands * probes * LOOKUP_NS + candidates * (CANDIDATE_NS + BYTE_NS * 8 * points.measure.words)


def hash_ns(family: Family[Any], points: PointFormat) -> float:
    """Return the rough time of one hash function of a point, in nanoseconds."""
    return {"bit-sampling": 1.0, "hyperplanes": 5.0, "cross-polytope": 0.5 * points.dim}.get(
        family.name, 0.2 * (points.nonzeros or points.dim)
    )
