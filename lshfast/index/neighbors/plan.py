"""`NeighborsPlan`: the family, bands, rows and probes of near-neighbour search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int
from lshfast._common.display import bands_and_rows, counted
from lshfast._common.types import Float64Array, UInt64Array
from lshfast.families.coordinates import CoordinateCells
from lshfast.families.family import Family
from lshfast.families.probing import Probing
from lshfast.index.neighbors.points import PointFormat, angle_of, check_radius

if TYPE_CHECKING:
    from lshfast._io.pages.drawing import Drawing

# Bytes of an entry for each bucket, its value and its place in the table; and for the key and its
# place.
BUCKET_BYTES = 8 + 12
KEY_BYTES = 24

# The angles of equal thresholds differ by less in all mathematical libraries.
ROUNDING = 1e-7


@dataclass(frozen=True)
class NeighborsPlan(Family[Any]):
    """The plan of an index of near neighbours; it is stored with the entries.

    As a family of hash functions, it has groups of `rows_per_band` functions of `base`.

    Attributes
    ----------
    metric : {"angle", "euclidean", "manhattan", "hamming"}
        "angle" also for "cosine", whose entries are found by their angles.
    dim, dtype, nonzeros
        As for `NearNeighbors`.
    base : Family
        Family of the hash functions.
    bands, rows_per_band, probes : int
        Tables, functions of a table, and buckets that a query searches in each table.
    radius : float
        Distance at which `recall` is promised; with "angle", in radians.
    threshold : float or None
        With "cosine", the least cosine, as given to `NearNeighbors` or chosen by a sample; `radius`
        is its angle.
    recall : float
        Probability with which a query finds an entry at distance `radius`. Nearer entries are found
        with a higher probability.
    n : int
        Number of entries that the plan is for.
    c : float or None
        Approximation factor of `near` that the rows were chosen for.
    candidates : float
        Expected number of entries whose distance a query computes, if it has a neighbor at no
        distance of the sample.
    work : float
        Rough time of a query, in nanoseconds, by which the plan was chosen.

    See Also
    --------
    lshfast.NearNeighbors : An index of points or sets that finds near neighbours.
    lshfast.families.plan_work : Choose bands for a recall at the least work.
    """

    name: ClassVar[str] = "near-neighbors"
    stored_names: ClassVar[Mapping[str, str]] = {"rows_per_band": "rows"}
    stored_values: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "metric": {"angle": "cosine"}
    }

    metric: str
    dim: int
    dtype: str
    nonzeros: int | None
    base: Family[Any]
    bands: int
    rows_per_band: int
    probes: int
    radius: float
    recall: float
    n: int
    c: float | None
    candidates: float
    work: float
    threshold: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Family):
            raise TypeError(f"base must be a Family, not {self.base!r}")
        for name in ("bands", "rows_per_band", "probes", "n"):
            object.__setattr__(
                self, name, check_int(name, getattr(self, name), 1, 2**62)
            )
        check_radius("radius", self.radius, self.points)
        if (
            self.threshold is not None
            and abs(self.radius - angle_of(self.threshold)) > ROUNDING
        ):
            raise ValueError(
                f"radius must be the angle of threshold {self.threshold}, not {self.radius}"
            )

    @property
    def points(self) -> PointFormat:
        """The format of the points."""
        return PointFormat(self.metric, self.dim, self.dtype, self.nonzeros)

    @property
    def entry_bytes(self) -> int:
        """Bytes of an entry in memory, without objects of keys other than ints and strs."""
        return entry_bytes_of(self.bands, self.points)

    @property
    def slots(self) -> int:
        """Words of a row before its point."""
        return self.bands

    @property
    def searched(self) -> int:
        """Buckets that a query searches: bands * probes."""
        return self.bands * self.probes

    def hash(
        self, items: Any, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        return self.base.buckets(items, count, self.rows_per_band, threads=threads)

    def row_slots(self, items: Any, *, threads: int | None = None) -> UInt64Array:
        """Return the words of rows before their points, uint64 (n, slots)."""
        return self.hash(items, self.bands, threads=threads)

    def distance(self, a: Any, b: Any) -> Float64Array:
        return self.base.distance(a, b)

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        return np.asarray(
            self.base.collision_probability(distance) ** self.rows_per_band
        )

    def probe(self, items: Any, threads: int | None = None) -> UInt64Array:
        """Return the buckets that queries search, uint64 (m, bands, probes)."""
        if self.probes == 1 or not isinstance(self.base, Probing):
            return self.hash(items, self.bands, threads=threads)[:, :, np.newaxis]
        return self.base.probe(
            items, self.bands, self.rows_per_band, self.probes, threads=threads
        )

    def recall_at(self, distance: npt.ArrayLike) -> Float64Array:
        """Return the probability that a query finds an entry at these distances or angles."""
        meeting = probabilities_of_meeting(
            self.base, distance, self.rows_per_band, self.probes
        )
        return found_in(meeting, self.bands)

    def success(self, mode: str) -> float:
        """Return the least probability with which `near` succeeds in theory.

        The plan must be for the c of `near`.

        On average, at most one entry from beyond c * radius is in a searched bucket. By Markov's
        inequality, there are fewer than 2 L of them with a probability of 1/2, for L buckets, and
        fewer than 3 L with 2/3. An entry within the radius is in none of the buckets with a
        probability of 1 - recall.

        Parameters
        ----------
        mode : {"first", "closest"}

        Examples
        --------
        >>> import math
        >>> from lshfast import NearNeighbors
        >>> index = NearNeighbors(
        ...     "hamming", radius=2, dim=64, n=1000, recall=1 - 1 / math.e, c=2
        ... )
        >>> (
        ...     index.plan.success("first") >= 1 / 2 - 1 / math.e,
        ...     index.plan.success("closest") >= 2 / 3 - 1 / math.e,
        ... )
        (True, True)
        """
        return max(0.0, self.recall - (1 / 2 if mode == "first" else 1 / 3))

    def expected_candidates(self, distances: npt.ArrayLike) -> float:
        """Return the expected candidates of a query if n entries are at such distances."""
        if self.probes == 1:
            meeting = usual_probability(self.base, distances) ** self.rows_per_band
        else:
            meeting = probabilities_of_meeting(
                self.base, distances, self.rows_per_band, self.probes
            )
        return self.n * float(np.mean(found_in(meeting, self.bands)))

    def plot(self) -> Drawing:
        """Draw the probability that a query finds an entry over its distance.

        The radius is marked.

        Returns
        -------
        Drawing
            A notebook shows it; ``save("recall.svg")`` writes it.

        Raises
        ------
        ImportError
            If jinja2 is not installed (``pip install "lshfast[cli]"``); matplotlib is not needed.

        Examples
        --------
        >>> from lshfast import NearNeighbors
        >>> NearNeighbors("hamming", radius=4, dim=64, n=1000).plan.plot()
        <Drawing: Recall by distance: 0.9545 at the radius, 4>
        """
        from lshfast._io.pages.drawing import Drawing, Panel
        from lshfast._io.pages.svg import HEIGHT, histogram

        shown_radius = max(3.0, 1.2 * (self.c or 0)) * self.radius or 1.0
        longest = min(self.points.longest, shown_radius)
        distances = np.linspace(0, longest, 101)
        curve = list(
            zip(distances.tolist(), self.recall_at(distances).tolist(), strict=True)
        )
        title = f"Recall by distance: {self.recall:.4f} at the radius, {self.radius:g}"
        picture = histogram(
            [],
            title,
            axis=(0.0, longest),
            x_label="distance",
            curve=curve,
            mark=self.radius,
        )
        return Drawing([Panel(title, picture, HEIGHT)])

    @property
    def title(self) -> str:
        """The metric, the bound and the entries, as the first line of the description."""
        unit = "bits" if self.metric == "hamming" else "dimensions"
        bound = f"{self.metric}, {self.dim} {unit}, radius {self.radius:g}"
        if self.threshold is not None:
            bound = (
                f"cosine, {self.dim} {unit}, threshold {self.threshold:g}, which is "
                f"{self.radius:g} radians"
            )
        elif self.metric == "angle":
            bound += " radians"
        factor = "" if self.c is None else f", c {self.c:g}"
        return f"{bound}{factor}, for {self.n:,} entries"

    def __str__(self) -> str:
        points = self.points
        size = self.entry_bytes
        half = float(self.recall_at(self.radius / 2))
        searched = f"{counted(self.probes, 'bucket')} in each"
        return "\n".join(
            [
                self.title,
                f"  family      {self.base!r}",
                f"  tables      {bands_and_rows(self.bands, self.rows_per_band)}; a query "
                f"searches {searched}",
                f"  recall      {self.recall:.4f} at the radius, {half:.4f} at half of it",
                f"  candidates  about {self.candidates:,.0f} a query, of "
                f"{8 * points.measure.words:,} bytes each",
                f"  work        about {self.work / 1e6:.2g} ms a query",
                f"  memory      {size:,} bytes an entry, {self.n * size / 1e6:,.1f} MB in all",
            ]
        )


def entry_bytes_of(bands: int, points: PointFormat) -> int:
    return bands * BUCKET_BYTES + 8 * points.measure.words + KEY_BYTES


def probabilities_of_meeting(
    family: Family[Any], distance: npt.ArrayLike, rows: int, probes: int
) -> Float64Array:
    """Return the probability that a query searches the bucket of an entry in one band.

    Later buckets are less likely than the first one. This bounds the errors of a simulation.
    """
    first = family.collision_probability(distance) ** rows
    if probes == 1 or not isinstance(family, Probing):
        return np.asarray(first)
    meeting = family.probe_probability(distance, rows, probes)
    return np.asarray(np.clip(meeting, first, np.minimum(probes * first, 1)))


def usual_probability(family: Family[Any], distance: npt.ArrayLike) -> Float64Array:
    """Return the collision probabilities of usual points; those of a family may be lower bounds."""
    if isinstance(family, CoordinateCells):
        return family.normal_probability(distance)
    return family.collision_probability(distance)


def found_in(meeting: Float64Array, bands: int) -> Float64Array:
    """Return the probability of meeting in at least one of the bands."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(bands * np.log1p(-np.minimum(meeting, 1))))
