"""Random projections of vectors for families of angles: rotations, or Gaussian numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lshfast._common.threads import for_each_piece
from lshfast._common.types import (
    AnyArray,
    BoolArray,
    Float32Array,
    Int64Array,
    UInt64Array,
)
from lshfast.families.family import NO_VALUE
from lshfast.families.points import (
    Points,
    SparsePoints,
    dense_blocks,
    dense_points,
    refuse_infinite,
    scaled,
)
from lshfast.kernels import projections
from lshfast.kernels import rotations as kernels

MAX_DIM = kernels.MAX_DIM

# Coordinates after rotations that one piece of work computes: some milliseconds.
PIECE_COORDINATES = 2**22
# Coordinates whose factors are kept for the next call, 12 bytes each. The factors of more are drawn
# again.
KEPT_COORDINATES = 2**20

Source = tuple[AnyArray, Int64Array | None, Int64Array | None]


def padded_size(dim: int) -> int:
    """Return the number of coordinates that one rotation gives."""
    parts, block = kernels.shape(dim)
    return parts * block


@dataclass(frozen=True)
class Projection:
    """The random projection of a seed: pseudo-random rotations, or products with Gaussian vectors.

    A rotation gives `padded_size(dim)` coordinates; there are as many as it takes. The methods
    raise ValueError if a coordinate of a point is NaN or infinite.

    Parameters
    ----------
    dim : int
        In 1..`MAX_DIM`.
    seed : int
    structured : bool
        Whether to rotate.
    """

    dim: int
    seed: int
    structured: bool

    def coordinates(
        self, points: Points, count: int, threads: int | None
    ) -> Float32Array:
        """Return the first coordinates of points, float32 (n, count); zeros for zero vectors."""
        out = np.empty((len(points), count), np.float32)
        if self.structured:
            factors = self._factors(count)

            def rotate(rows: slice, source: Source) -> int:
                return kernels.rotate(*source, self.dim, factors, out[rows])

            self._rotate(rotate, points, count, threads)
            return out
        refuse_infinite(points, "items")
        matrix = _gaussians(self.seed, self.dim, count)
        origin = np.zeros(count)

        def project(rows: slice) -> None:
            positions = np.empty((rows.stop - rows.start, count))
            projections.dense(
                scaled(points[rows]), matrix, origin, 1.0, positions, None
            )
            out[rows] = positions

        costs = np.full(len(points), self.dim + count, np.int64)
        for_each_piece(project, costs, PIECE_COORDINATES // 16, threads)
        return out

    def signs(
        self, points: Points, count: int, threads: int | None
    ) -> tuple[UInt64Array, BoolArray]:
        """Return the packed signs of the first coordinates, uint64 (n, words), and zero rows."""
        words = np.empty((len(points), -(-count // 64)), np.uint64)
        zero = np.empty(len(points), np.uint8)
        if not self.structured:
            positive = self.coordinates(points, 64 * words.shape[1], threads) > 0
            positive[:, count:] = False
            octets = np.packbits(positive, axis=1, bitorder="little")
            return octets.view("<u8").astype(np.uint64), zero_rows(points)
        factors = self._factors(count)

        def write_signs(rows: slice, source: Source) -> int:
            return kernels.codes(
                *source, self.dim, factors, count, words[rows], zero[rows]
            )

        self._rotate(write_signs, points, count, threads)
        return words, zero.astype(bool)

    def farthest(
        self, points: Points, outputs: int, count: int, threads: int | None
    ) -> UInt64Array:
        """Return the place of the farthest from 0 of each `outputs` coordinates, uint64 (n, count).

        The place is increased by `outputs` if the coordinate is below 0. Zero vectors have 2**64 -
        1.
        """
        out = np.empty((len(points), count), np.uint64)
        if not self.structured:
            coordinates = self.coordinates(points, outputs * count, threads)
            groups = coordinates.reshape(len(points), count, outputs)
            places = np.abs(groups).argmax(axis=2)
            below = np.take_along_axis(groups, places[..., None], axis=2)[..., 0] < 0
            out[:] = places + outputs * below
            out[zero_rows(points)] = NO_VALUE
            return out
        factors = self._factors(outputs * count)

        def write_farthest(rows: slice, source: Source) -> int:
            return kernels.farthest(*source, self.dim, factors, outputs, out[rows])

        self._rotate(write_farthest, points, outputs * count, threads)
        return out

    def probe(
        self,
        work: Callable[[Float32Array, UInt64Array], None],
        items: Any,
        count: int,
        bands: int,
        probes: int,
        threads: int | None,
    ) -> UInt64Array:
        """Return the buckets of vectors, uint64 (n, bands, probes), from `count` coordinates.

        work(coordinates, buckets) fills them in pieces of rows. The rows of zero vectors become
        `NO_VALUE`.
        """
        points = dense_points(items, self.dim, finite=False)
        out = np.empty((len(points), bands, probes), np.uint64)

        def probe(rows: slice) -> None:
            coordinates = self.coordinates(points[rows], count, 1)
            work(coordinates, out[rows])
            none = ~coordinates.any(axis=1)
            if none.any():
                out[rows][none & zero_rows(points[rows])] = NO_VALUE

        refuse_infinite(points, "items")
        costs = np.full(len(points), count + bands * probes, np.int64)
        for_each_piece(probe, costs, PIECE_COORDINATES // 16, threads)
        return out

    def kept_factors(self, count: int) -> Float32Array | None:
        """Return the factors of the rotations that give `count` coordinates, if they are kept."""
        rotations = -(-count // padded_size(self.dim))
        if not self.structured or rotations * padded_size(self.dim) > KEPT_COORDINATES:
            return None
        return self._factors(count)

    def _factors(self, count: int) -> Float32Array:
        size = padded_size(self.dim)
        rotations = -(-count // size)
        draw = (
            _factors_of
            if rotations * size <= KEPT_COORDINATES
            else _factors_of.__wrapped__
        )
        return draw(self.seed, rotations, self.dim)

    def _rotate(
        self,
        work: Callable[[slice, Source], int],
        points: Points,
        count: int,
        threads: int | None,
    ) -> None:
        """Call work(rows, source) for pieces of rows; it returns the first infinite row or -1."""

        def checked(rows: slice) -> None:
            bad_row = work(rows, _source(points, rows))
            if bad_row >= 0:
                refuse_infinite(points, "items")
                raise ValueError(
                    f"values of equal columns in row {rows.start + bad_row} of items add up to an "
                    "infinity"
                )

        size = padded_size(self.dim)
        costs = np.full(len(points), size * -(-count // size), np.int64)
        for_each_piece(checked, costs, PIECE_COORDINATES, threads)


def zero_rows(points: Points) -> BoolArray:
    """Return which points are zero vectors, bool (n,)."""
    zero = np.empty(len(points), bool)
    for rows, block in dense_blocks(points):
        zero[rows] = ~block.any(axis=1)
    return zero


@lru_cache(maxsize=4)
def _gaussians(seed: int, dim: int, count: int) -> Float32Array:
    matrix = np.empty((dim, count), np.float32)
    projections.draw_lines(seed, False, matrix)
    matrix.flags.writeable = False
    return matrix


@lru_cache(maxsize=32)
def _factors_of(seed: int, rotations: int, dim: int) -> Float32Array:
    factors = kernels.factors(seed, rotations, dim)
    factors.flags.writeable = False
    return factors


def _source(points: Points, rows: slice) -> Source:
    if isinstance(points, SparsePoints):
        return points.values, points.offsets[rows.start : rows.stop + 1], points.columns
    return points[rows].reshape(-1), None, None
