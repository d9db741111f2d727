"""The base of families of p-stable projections: random lines that are cut into cells."""

from __future__ import annotations

import math
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_int, check_number, numbers_of
from lshfast._common.rows import int64_range, offsets_of, runs_of
from lshfast._common.threads import for_each_piece, thread_count
from lshfast._common.types import AnyArray, Float32Array, Float64Array, UInt64Array
from lshfast.banding import Bands
from lshfast.families.family import check_bands, check_pairs
from lshfast.families.points import (
    Points,
    SparsePoints,
    dense_blocks,
    dense_points,
    refuse_infinite,
)
from lshfast.families.probing import MAX_PROBES, Probing, found_by_probes
from lshfast.kernels import probes as searches
from lshfast.kernels import projections as kernels

# Products of coordinates and lines in a piece of work for a thread, and the rows that kernels
# handle at once.
PIECE_PRODUCTS = 2**26
ROWS_TOGETHER = 96

# The positions in a cell over which probabilities of probes are averaged.
PLACES = 512

# Probabilities of probes that are kept for the next call; more of them are computed again.
KEPT_PROBABILITIES = 2**17

_keeping = threading.Lock()


@dataclass(frozen=True)
class StableLines(Probing[Any]):
    """Base class of the families that project points onto random lines cut into cells of one width.

    A function maps a point x to floor((a · x + b) / width). The components of a have a p-stable
    distribution: a · x - a · y is distributed as the distance of x and y times one such variate. b
    is uniform in [0, width). So the collision probability depends only on the ratio of distance and
    width, in any number of dimensions.
    """

    dim: int
    width: float
    seed: SeedField = SEED
    _drawn: dict[str, Float32Array] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    _cauchy: ClassVar[bool]

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "dim", check_int("dim", self.dim, 1, kernels.MOST_COORDINATES)
        )
        object.__setattr__(self, "width", check_number("width", self.width))
        if not 0 < self.width < math.inf:
            raise ValueError(f"width must be finite and above 0, not {self.width}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.dim, self.width, self.seed)

    @staticmethod
    @abstractmethod
    def _law(ratio: Float64Array) -> Float64Array:
        """Return the collision probabilities at ratios of width to distance."""

    @staticmethod
    @abstractmethod
    def _below(x: Float64Array) -> Float64Array:
        """Return the probability that a variate is below x."""

    @staticmethod
    @abstractmethod
    def _norms(differences: Float64Array) -> Float64Array:
        """Return the norms of rows, (n, dim); infinite if one overflows."""

    def hash(
        self, items: Any, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the cells of points on the first `count` lines.

        Parameters
        ----------
        items : array_like of numbers or CSR matrix, shape (n, dim) or (dim,)
            float32 and float64 are used without a copy. Equal points have equal values, whatever
            the dtype or form.
        count : int
            At least 1. The values under function j do not depend on it.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            Cells 0, -1, 1, -2, 2, … have the values 0, 1, 2, 3, 4, …

        Raises
        ------
        TypeError
            If the coordinates are not integers or floats.
        ValueError
            If the points have a different shape, a coordinate is NaN or infinite, or the number of
            a cell is not in -2**63 + 1..2**63 - 1.
        """
        points = self._points(items)
        count = self._count(count)
        values = np.empty((len(points), count), np.uint64)

        def work(rows: slice) -> None:
            self._project(points, rows, count, None, values[rows])

        self._for_each_piece(work, len(points), count, threads)
        return values

    def buckets(
        self, items: Any, bands: int, rows_per_band: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the buckets: one value for each `rows_per_band` functions.

        Two points share a bucket if they share all of its cells.

        Parameters
        ----------
        items, threads
            As for `hash`.
        bands, rows_per_band : int
            At least 1. Band i has the functions from i * rows_per_band on, of bands * rows_per_band
            functions.

        Returns
        -------
        ndarray of uint64, shape (n, bands)
            With one row, the values that `hash` returns. With several, they are hashed, and
            different ones have equal buckets with a probability of about 2**-64.

        Raises
        ------
        TypeError, ValueError
            As for `hash`.
        """
        bands, rows_per_band = check_bands(bands, rows_per_band)
        points = self._points(items)
        count = self._count(bands * rows_per_band)
        buckets = np.empty((len(points), bands), np.uint64)

        def work(part: slice) -> None:
            values = np.empty((part.stop - part.start, count), np.uint64)
            self._project(points, part, count, None, values)
            if rows_per_band > 1:
                values = Bands(bands, rows_per_band).keys(values)
            buckets[part] = values

        self._for_each_piece(work, len(points), count, threads)
        return buckets

    def probe(
        self,
        items: Any,
        bands: int,
        rows_per_band: int,
        probes: int,
        *,
        threads: int | None = None,
    ) -> UInt64Array:
        """Compute the values of the `probes` most promising buckets of each band, best first.

        A bucket is reached by crossing walls of cells: in each line, one of the two walls of the
        item's cell, or none. The smaller the sum of the squared distances to these walls, the more
        promising is the bucket. So a band has at most 3**rows buckets.

        Parameters
        ----------
        items
            As for `hash`.
        bands, rows_per_band : int
            At least 1, as for `buckets`.
        probes : int
            In 1..1,048,576.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, bands, probes)
            `[..., 0]` equals `buckets(items, bands, rows_per_band)`. `NO_VALUE` where a band has
            fewer buckets.

        Raises
        ------
        TypeError, ValueError
            As for `hash`.

        References
        ----------
        Q. Lv, W. Josephson, Z. Wang, M. Charikar, K. Li, "Multi-Probe LSH: Efficient Indexing for
        High-Dimensional Similarity Search", VLDB 2007.
        """
        bands, rows_per_band = check_bands(bands, rows_per_band)
        points = self._points(items)
        count = self._count(bands * rows_per_band)
        probes = check_int("probes", probes, 1, MAX_PROBES)
        buckets = np.empty((len(points), bands, probes), np.uint64)

        def work(part: slice) -> None:
            positions = np.empty((part.stop - part.start, count))
            self._project(points, part, count, positions, None)
            searches.lines(positions, rows_per_band, buckets[part])

        self._for_each_piece(work, len(points), count, threads)
        return buckets

    def distance(self, a: Any, b: Any) -> Float64Array:
        """Compute the exact distances of pairs of points.

        Parameters
        ----------
        a, b : array_like of numbers or CSR matrix, shape (n, dim) or (dim,)
            One of them may be a single point.

        Returns
        -------
        ndarray of float64, shape (n,)

        Raises
        ------
        TypeError
            If the coordinates are not integers or floats.
        ValueError
            If the points have other shapes, a coordinate is NaN or infinite, or a distance is above
            the largest float64.
        """
        first = dense_points(a, self.dim, "a")
        second = dense_points(b, self.dim, "b")
        distances = np.empty(check_pairs(len(first), len(second)))
        for rows, x, y in _pair_blocks(first, second):
            with np.errstate(over="ignore", under="ignore"):
                distances[rows] = self._norms(np.subtract(x, y, dtype=np.float64))
                # A difference may be out of range while the distance is not.
                for i in np.flatnonzero(np.isinf(distances[rows])).tolist():
                    quarter_x = np.asarray(x[i if len(x) > 1 else 0], np.float64) / 4
                    quarter_y = np.asarray(y[i if len(y) > 1 else 0], np.float64) / 4
                    quarter = self._norms((quarter_x - quarter_y)[None])[0]
                    distances[rows.start + i] = 4 * quarter
        if np.isinf(distances).any():
            pair = int(np.argmax(np.isinf(distances)))
            raise ValueError(
                f"the distance of pair {pair} is above the largest float64"
            )
        return distances

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute the probability that two points are in the same cell of a line.

        Parameters
        ----------
        distance : array_like of float
            At least 0; infinity is allowed.

        Returns
        -------
        ndarray of float64, with the shape of `distance`
            1 at distance 0, and decreasing to 0.

        Raises
        ------
        TypeError
            If the distances are not numbers.
        ValueError
            If one is negative or NaN.
        """
        return self._law(self._ratios(distance))

    def probe_probability(
        self, distance: npt.ArrayLike, rows_per_band: int, probes: int
    ) -> Float64Array:
        """Compute the probability that the first `probes` buckets of a band hold a point.

        The probability is exact for one position of a point in its cells. The result is the average
        of 512 positions, which are evenly spread in each line and combined at random with a fixed
        seed. Its error is below .005.

        Parameters
        ----------
        distance : array_like of float
            At least 0; infinity is allowed.
        rows_per_band : int
            At least 1.
        probes : int
            In 1..1,048,576.

        Returns
        -------
        ndarray of float64, with the shape of `distance`
            Exact for one probe.

        Raises
        ------
        TypeError
            If an argument has the wrong type.
        ValueError
            If a distance is negative or NaN, or `rows_per_band` or `probes` is out of range.
        """
        ratios = self._ratios(distance)
        check_int("rows_per_band", rows_per_band, 1)
        check_int("probes", probes, 1, MAX_PROBES)
        if probes == 1:
            return np.asarray(self._law(ratios) ** rows_per_band)
        probes = min(probes, 3 ** min(rows_per_band, 40))
        rounded = 1 << (probes - 1).bit_length()
        is_kept = ratios.size * rounded <= KEPT_PROBABILITIES
        compute = _found if is_kept else _found.__wrapped__
        flat_ratios = tuple(ratios.ravel().tolist())
        probabilities = compute(type(self), flat_ratios, rows_per_band, rounded)
        return probabilities[:, probes - 1].reshape(ratios.shape).copy()

    @classmethod
    def best_width(
        cls, near: float, far: float, *, far_probability: float = 0.7
    ) -> float:
        """Compute the width with the least rho, the exponent of the work of a search.

        With rho = ln p1 / ln p2, where p1 and p2 are the collision probabilities at the distances
        `near` and `far`, an index of n points needs about n**rho tables.

        Parameters
        ----------
        near, far : float
            Distances, 0 < near < far. Points within `near` are to be found, and points beyond `far`
            are not.
        far_probability : float, default 0.7
            In (0, 1). Only widths with p2 at most this are considered, because a table needs ln n /
            -ln p2 functions.

        Returns
        -------
        float

        Raises
        ------
        TypeError
            If an argument is not a number.
        ValueError
            If an argument is out of range.

        Examples
        --------
        >>> from lshfast.families import GaussianLines
        >>> width = GaussianLines.best_width(1, 2)
        >>> (
        ...     round(width, 2),
        ...     GaussianLines(128, width)
        ...     .collision_probability([1, 2])
        ...     .round(3)
        ...     .tolist(),
        ... )
        (3.77, [0.788, 0.589])
        """
        near = check_number("near", near)
        far = check_number("far", far)
        largest_p2 = check_number("far_probability", far_probability)
        if not 0 < near < far < math.inf:
            raise ValueError(
                f"near and far must be 0 < near < far, and finite, not {near} and {far}"
            )
        if not 0 < largest_p2 < 1:
            raise ValueError(f"far_probability must be in (0, 1), not {largest_p2}")

        def rho(log_ratios: Float64Array) -> Float64Array:
            p1 = cls._law(np.exp(log_ratios) * (far / near))
            p2 = cls._law(np.exp(log_ratios))
            return np.asarray(
                np.where(p2 <= largest_p2, np.log(p1) / np.log(p2), np.inf)
            )

        # The logarithm of width / far is searched. Each round keeps the neighbours of the best of
        # 65 points, a 32nd of the interval.
        low = math.log(1e-3)
        high = math.log(1e6)
        for _ in range(8):
            log_ratios = np.linspace(low, high, 65)
            best = int(np.argmin(rho(log_ratios)))
            low = log_ratios[max(0, best - 1)]
            high = log_ratios[min(64, best + 1)]
        return float(math.exp(log_ratios[best]) * far)

    @staticmethod
    def _count(count: int) -> int:
        return check_int("count", count, 1, kernels.MOST_FUNCTIONS)

    def _ratios(self, distance: npt.ArrayLike) -> Float64Array:
        distances = numbers_of(distance, "distance", 0, math.inf)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(self.width / distances)

    def _points(self, items: Any) -> Points:
        """Return points that may still be infinite; the columns of sparse points rise."""
        points = dense_points(items, self.dim, finite=False)
        if not isinstance(points, SparsePoints):
            return points
        if kernels.rising(points.offsets, points.columns, self.dim):
            return points
        refuse_infinite(points, "items")
        return _sorted_columns(points)

    def _lines(self, count: int) -> Float32Array:
        """Return the lines, float32 (dim, at least count), which are kept for the next call."""
        lines = self._drawn.get("lines")
        if lines is None or lines.shape[1] < count:
            lines = np.empty((self.dim, count), np.float32)
            kernels.draw_lines(self.seed, self._cauchy, lines)
            # A thread that needs fewer lines does not replace more lines.
            with _keeping:
                kept_lines = self._drawn.get("lines")
                if kept_lines is None or kept_lines.shape[1] < count:
                    self._drawn["lines"] = lines
        return lines

    def _project(
        self,
        points: Points,
        rows: slice,
        count: int,
        positions: Float64Array | None,
        values: UInt64Array | None,
    ) -> None:
        """Write the positions of some rows on the lines, and the values of their cells."""
        lines = self._lines(count)
        offsets = kernels.offsets(self.seed, count)
        block = points[rows]
        if isinstance(block, SparsePoints):
            rows_of_block = (block.offsets, block.columns, block.values)
            bad_row = kernels.sparse(
                *rows_of_block, lines, offsets, self.width, positions, values
            )
        else:
            bad_row = kernels.dense(
                block, lines, offsets, self.width, positions, values
            )
        if bad_row >= 0:
            refuse_infinite(points, "items")
            raise ValueError(
                f"row {rows.start + bad_row} of items is too far out for the width {self.width}: "
                "the number of its cell on a line is not in -2**63 + 1..2**63 - 1"
            )

    def _for_each_piece(
        self, work: Callable[[slice], None], n: int, count: int, threads: int | None
    ) -> None:
        threads = thread_count(threads)
        piece_rows = ROWS_TOGETHER * max(
            1, PIECE_PRODUCTS // (self.dim * count * ROWS_TOGETHER)
        )
        if n == 0:
            return
        self._lines(count)
        if n <= piece_rows:
            work(slice(0, n))
        else:
            for_each_piece(work, np.ones(n, np.int64), piece_rows, threads)


def _sorted_columns(points: SparsePoints) -> SparsePoints:
    """Return the points with rising columns, and the sums of the values of equal columns."""
    used_places = slice(*points.offsets[[0, -1]].tolist())
    rows = np.repeat(int64_range(len(points)), np.diff(points.offsets))
    columns = points.columns[used_places]
    order = np.lexsort((columns, rows))
    rows = rows[order]
    columns = columns[order]
    first, _ = runs_of(rows, columns)
    with np.errstate(over="ignore"):
        values = np.add.reduceat(points.values[used_places][order], first)
    counts = np.bincount(rows[first], minlength=len(points))
    offsets = offsets_of(counts)
    return SparsePoints(
        offsets.astype(np.int64),
        np.ascontiguousarray(columns[first]),
        values,
        points.dim,
    )


def _pair_blocks(a: Points, b: Points) -> Iterator[tuple[slice, AnyArray, AnyArray]]:
    """Yield slices of rows with these rows of both; a single point stays one."""
    if len(a) == 1 and len(b) != 1:
        yield from ((rows, x, y) for rows, y, x in _pair_blocks(b, a))
        return
    single = next(dense_blocks(b))[1] if len(b) == 1 else None
    for rows, x in dense_blocks(a):
        y = b[rows] if single is None else single
        yield rows, x, y.dense() if isinstance(y, SparsePoints) else y


@lru_cache(maxsize=256)
def _found(
    family: type[StableLines], ratios: tuple[float, ...], rows: int, probes: int
) -> Float64Array:
    """Return the probabilities that the first 1, .., `probes` buckets hold a point."""
    # The distances of each place in a cell to the walls -1, 0, 1 and 2. The other point is in a
    # cell if it lies between the walls of this cell.
    places = int64_range(PLACES)
    walls = int64_range(-1, 3) - ((places + 0.5) / PLACES)[:, None]
    # The cells of each place by their distance: its own, the nearer neighbour, the farther one.
    in_first_half = (places < PLACES // 2)[:, None]
    order = np.where(in_first_half, [1, 0, 2], [1, 2, 0])
    distances = np.column_stack([np.zeros(PLACES), -walls[:, 1], walls[:, 2]])
    costs = np.sort(distances**2, axis=1)
    chances = np.diff(
        family._below(walls * np.array(ratios, np.float64).reshape(-1, 1, 1)), axis=2
    )
    ordered_chances = np.take_along_axis(chances, order[None], axis=2)
    probabilities = found_by_probes(costs, ordered_chances, rows, probes)
    probabilities.flags.writeable = False
    return probabilities
