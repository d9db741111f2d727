"""Points of near-neighbour search: their checks, and their words in the rows of an index."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int, check_number
from lshfast._common.image_hashes import ImageHash
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import Float64Array, UInt64Array
from lshfast.families.packed import codes_of
from lshfast.families.points import SparsePoints, dense_points
from lshfast.index.keys import lists_of
from lshfast.index.measure import Measure
from lshfast.kernels.distances import distances

FormatMetric: TypeAlias = Literal["angle", "euclidean", "manhattan", "hamming"]
METRICS: tuple[FormatMetric, ...] = ("angle", "euclidean", "manhattan", "hamming")

# The measures of the words, where their name is not the metric: for angles, 1 - the cosine.
MEASURES = {"angle": "cosine"}

# Coordinates of points of float64 have at most this magnitude, and directions at least its inverse,
# so that neither squares nor products of sums of squares leave the range of a double.
MOST_COORDINATE = 1e75


@dataclass(frozen=True)
class PointFormat:
    """The form of the points of an index from outside, and in words.

    Parameters
    ----------
    metric : {"angle", "euclidean", "manhattan", "hamming"}
    dim : int
        Coordinates of a point; with "hamming", bits.
    dtype : {"float32", "float64"}
        Type of the coordinates that are stored; not used with "hamming".
    nonzeros : int or None
        The most coordinates of a sparse point that are not zero; None for dense points.
    image_hash : ImageHash, optional
        Of "hamming", the hash of images that the codes are known to be. Indexes of NearNeighbors do
        not store it.
    """

    metric: str
    dim: int
    dtype: str
    nonzeros: int | None
    image_hash: ImageHash | None = None

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(
                f"metric must be one of {', '.join(METRICS)}, not {self.metric!r}"
            )
        if self.dtype not in ("float32", "float64"):
            raise ValueError(
                f"dtype must be 'float32' or 'float64', not {self.dtype!r}"
            )
        object.__setattr__(self, "dim", check_int("dim", self.dim, 1, 2**31 - 1))
        if self.nonzeros is not None:
            if self.metric == "hamming":
                raise ValueError(
                    "nonzeros is for vectors, not for the metric 'hamming'"
                )
            object.__setattr__(
                self, "nonzeros", check_int("nonzeros", self.nonzeros, 1, self.dim)
            )

    @cached_property
    def measure(self) -> Measure:
        """The measure of the words."""
        if self.metric == "hamming":
            return Measure("hamming", "bits", self.dim)
        name = MEASURES.get(self.metric, self.metric)
        if self.nonzeros is not None:
            return Measure(name, "sparse" + self.dtype[5:], self.nonzeros)
        return Measure(name, self.dtype, self.dim)

    @property
    def most_coordinate(self) -> float:
        """The greatest magnitude of a coordinate."""
        if self.dtype == "float64":
            return MOST_COORDINATE
        return float(np.finfo(np.float32).max)

    @property
    def least_squares(self) -> float:
        """The least sum of the squares of the coordinates of a point with a direction."""
        if self.dtype == "float64":
            return MOST_COORDINATE**-2
        return float(np.finfo(np.float64).tiny)

    @property
    def longest(self) -> float:
        """The largest distance that is possible."""
        return {"angle": np.pi, "hamming": float(self.dim)}.get(self.metric, np.inf)

    # ---- distances ----

    def distances(self, values: npt.ArrayLike) -> Float64Array:
        """Return the distances that values of the measure stand for."""
        if self.metric == "angle":
            return np.asarray(2 * np.arcsin(np.sqrt(np.asarray(values) / 2)))
        return np.asarray(np.sqrt(values) if self.metric == "euclidean" else values)

    def value_at(self, distance: float) -> float:
        """Return the largest value of the measure whose distance is at most this one."""
        value = np.float64(distance)
        most = np.float64(np.finfo(np.float64).max)
        if self.metric == "angle":
            value = 2 * np.sin(np.minimum(value, np.pi) / 2) ** 2
            most = np.float64(2)
        elif self.metric == "euclidean":
            with np.errstate(over="ignore"):
                value = np.minimum(value * value, most)
        while value < most and self.distances(np.nextafter(value, np.inf)) <= distance:
            value = np.nextafter(value, np.inf)
        while self.distances(value) > distance:
            value = np.nextafter(value, 0.0)
        return float(value)

    def value_at_cosine(self, cosine: float) -> float:
        """Return the largest value v of the measure of angles with 1 - v >= cosine."""
        # By bisection of the bits: near 0 there are many more doubles than differences from 1.
        low = 0
        high = int(np.float64(2).view(np.int64))
        while low < high:
            middle = (low + high + 1) // 2
            if 1 - float(np.int64(middle).view(np.float64)) >= cosine:
                low = middle
            else:
                high = middle - 1
        return float(np.int64(low).view(np.float64))

    # ---- points ----

    def check(self, items: Any, name: str = "points") -> tuple[Any, UInt64Array, bool]:
        """Check points from outside.

        Returns
        -------
        points
            n items of the family.
        words : ndarray of uint64, shape (n, measure.words)
        single : bool
            Whether one point was given, not a batch.
        """
        if self.metric == "hamming":
            codes = codes_of(items, self.dim, name)
            rows = codes.reshape(-1, self.measure.words)
            return rows, rows, codes.ndim == 1
        checked = dense_points(items, self.dim, name)
        single = False
        if not isinstance(checked, SparsePoints) and len(checked) == 1:
            array = np.asarray(items)
            single = (
                array.ndim == 1 and array.dtype != object
            )  # not a column of one list
        if self.nonzeros is None:
            points: Any = self._as_dense(checked, name)
            return points, self._words_of_dense(points, name), single
        points = self._as_sparse(checked, name)
        return points, self._words_of_sparse(points, self.nonzeros, name), single

    def points_of(self, words: UInt64Array) -> Any:
        """Return the points that are stored as these words."""
        if self.metric == "hamming":
            return words
        words = words[:, self._norms :]
        if self.nonzeros is None:
            return np.ascontiguousarray(words.view(self.dtype)[:, : self.dim])
        half = -(-self.nonzeros // 2)
        counts = np.minimum(words[:, 0], np.uint64(self.nonzeros)).astype(np.int64)
        is_used = int64_range(self.nonzeros) < counts[:, np.newaxis]
        column_words = np.ascontiguousarray(words[:, 1 : 1 + half]).view(np.uint32)
        value_words = np.ascontiguousarray(words[:, 1 + half :]).view(self.dtype)
        columns = column_words[:, : self.nonzeros][is_used].astype(np.int64)
        values = value_words[:, : self.nonzeros][is_used]
        offsets = offsets_of(counts)
        return SparsePoints(offsets, columns, values, self.dim)

    @property
    def _norms(self) -> int:
        return int(self.metric == "angle")

    def _as_dense(self, points: Any, name: str) -> npt.NDArray[Any]:
        dense = points.dense() if isinstance(points, SparsePoints) else points
        return self._rounded(
            dense,
            name,
            lambda place: f"row {place // self.dim}, column {place % self.dim}",
        )

    def _as_sparse(self, points: Any, name: str) -> SparsePoints:
        """Return points whose columns ascend in each row and occur once, without zeros."""
        if not isinstance(points, SparsePoints):
            rows, columns = np.nonzero(points)
            values = points[rows, columns]
            n = len(points)
        else:
            first, last = points.offsets[[0, -1]]
            n = len(points)
            counts = np.diff(points.offsets)
            rows = lists_of(points.offsets)
            columns = points.columns[first:last]
            places, inverse = np.unique(
                rows * np.int64(self.dim) + columns, return_inverse=True
            )
            values = np.zeros(len(places), points.values.dtype)
            with np.errstate(over="ignore"):
                np.add.at(values, inverse.reshape(-1), points.values[first:last])
            rows = places // self.dim
            columns = places % self.dim
            rows = rows[values != 0]
            columns = columns[values != 0]
            values = values[values != 0]
        values = self._rounded(
            values, name, lambda place: f"row {rows[place]}, column {columns[place]}"
        )
        counts = np.bincount(rows, minlength=n)
        if counts.max(initial=0) > (self.nonzeros or 0):
            row = int(np.argmax(counts > (self.nonzeros or 0)))
            raise ValueError(
                f"{name} must have at most {self.nonzeros} nonzeros in a row, and row {row} has "
                f"{counts[row]}"
            )
        offsets = offsets_of(counts)
        return SparsePoints(offsets, columns.astype(np.int64), values, self.dim)

    def _rounded(
        self, values: npt.NDArray[Any], name: str, name_of_place: Callable[[int], str]
    ) -> npt.NDArray[Any]:
        """Return the values with the stored type, or raise an error for too large ones."""
        with np.errstate(over="ignore"):
            rounded = values.astype(self.dtype, copy=False)
        most = self.most_coordinate
        is_large = np.abs(rounded) > most
        if is_large.any():
            place_of_value = int(np.argmax(is_large.reshape(-1)))
            raise ValueError(
                f"{name} must be in -{most:g}..{most:g}, and {name_of_place(place_of_value)} is "
                f"{values.reshape(-1)[place_of_value]}"
            )
        return rounded

    def _words_of_dense(self, points: npt.NDArray[Any], name: str) -> UInt64Array:
        words = np.empty((len(points), self.measure.words), np.uint64)
        words[:, -1:] = 0
        start = words.itemsize // points.itemsize * self._norms
        words.view(self.dtype)[:, start : start + self.dim] = points
        return self._with_norms(words, name)

    def _words_of_sparse(
        self, points: SparsePoints, nonzeros: int, name: str
    ) -> UInt64Array:
        words = np.zeros((len(points), self.measure.words), np.uint64)
        counts = np.diff(points.offsets)
        half = -(-nonzeros // 2)
        start = 1 + self._norms
        rows = lists_of(points.offsets)
        places = int64_range(len(rows)) - np.repeat(points.offsets[:-1], counts)
        words[:, start - 1] = counts
        words.view(np.uint32)[rows, 2 * start + places] = points.columns
        first_value = 8 // points.values.itemsize * (start + half)
        words.view(self.dtype)[rows, first_value + places] = points.values
        return self._with_norms(words, name)

    def _with_norms(self, words: UInt64Array, name: str) -> UInt64Array:
        """Write the sums of squares; raise an error for a point without direction."""
        if self.metric != "angle":
            return words
        measure = Measure("euclidean", self.measure.layout, self.measure.dim)
        norms = np.empty(len(words))
        origin = np.zeros((1, measure.words), np.uint64)
        distances(origin, np.ascontiguousarray(words[:, 1:]), *measure.kernel, norms)
        is_small = norms < self.least_squares
        if is_small.any():
            row = int(np.argmax(is_small))
            if norms[row] == 0:
                raise ValueError(
                    f"{name} must have a direction, and row {row} is a zero vector"
                )
            raise ValueError(
                f"{name} must have a length of at least {1 / MOST_COORDINATE:g}, unlike row {row}"
            )
        words[:, 0] = norms.view(np.uint64)
        return words


def check_radius(
    name: str, radius: float, points: PointFormat, least: float = 0.0
) -> float:
    """Return a radius as a float, or raise an error that names its range."""
    value = check_number(name, radius)
    if not least <= value <= points.longest or value == np.inf:
        end = "" if points.longest == np.inf else f" and at most {points.longest:g}"
        raise ValueError(
            f"{name} must be a finite number of at least {least:g}{end}, not {radius}"
        )
    return value


def angle_of(cosine: float) -> float:
    """Return the angle in radians of a cosine, or raise an error that names its range."""
    value = check_number("threshold", cosine)
    if not -1 <= value < 1:
        raise ValueError(
            f"threshold must be a cosine of at least -1 and below 1, not {cosine}"
        )
    return math.acos(value)
