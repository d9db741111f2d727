"""PDQ as its authors publish it: a filter, 64 x 64 samples, a cosine transform, its median.

Filter and sampling are linear along each side, so one matrix for each side does both. Of an image
that was reduced while it was decoded, the weights of the pixels in each block are added. Measured
on 144 parts and sizes of two photographs, from 96 to 3840 pixels wide: the hash is pdqhash's of all
pixels, within 2 of 256 bits for lossless files and within 4 for JPEGs; the quality is the same. It
takes 0.3 ms for 384 x 384 pixels, and pdqhash 2.7 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.rows import int64_range
from lshfast._common.types import Float32Array, Float64Array, Int64Array, UInt8Array
from lshfast.images.decoding import REVERSED, SMALL_PIXELS, TRANSPOSING, Decoded

Bits = UInt8Array

# The side, in samples, to which PDQ reduces an image; the coefficients of each side; and the least
# side of an image in pixels. A smaller one has a hash of zeros and no quality.
SIDE = 64
COEFFICIENTS = 16
LEAST_SIDE = 5

# The most pixels in a block for which weights are computed. A longer image has wider blocks,
# because its proportions count.
FINEST = 16


def pdq_hashes(decoded: Decoded, turns: Sequence[int | None]) -> tuple[Bits, int]:
    """Return the bits of an image after each operation of Pillow, (n, 256), and the quality."""
    if min(decoded.width, decoded.height) < LEAST_SIDE:
        return np.zeros((len(turns), COEFFICIENTS**2), np.uint8), 0
    if decoded.width * decoded.height <= SMALL_PIXELS and decoded.blocks == (1, 1):
        return _by_package(decoded.image, turns)
    sampling = _Sampling(decoded)
    hashes = [
        _bits(_transform() @ sampling.samples(turn) @ _transform().T) for turn in turns
    ]
    return np.array(hashes, np.uint8), _quality(sampling.samples(None))


def pdq_quality(decoded: Decoded) -> int:
    """Return PDQ's measure of the content of an image."""
    if min(decoded.width, decoded.height) < LEAST_SIDE:
        return 0
    return _quality(_Sampling(decoded).samples(None))


def _by_package(image: Any, turns: Sequence[int | None]) -> tuple[Bits, int]:
    """Return the hashes of the package, whose rounding decides coefficients that are 0."""
    package = optional("pdqhash", "images")
    turned = [
        np.asarray(
            image.convert("RGB")
            if turn is None
            else image.convert("RGB").transpose(turn)
        )
        for turn in turns
    ]
    hashes = [package.compute(pixels) for pixels in turned]
    return np.array([bits for bits, _ in hashes], np.uint8), int(hashes[0][1])


class _Sampling:
    """The grey values at the centres of 64 x 64 cells after PDQ's filter, for any turn."""

    def __init__(self, decoded: Decoded) -> None:
        self._decoded = decoded
        self._pixels = np.asarray(decoded.image.convert("L"), np.float32)
        self._rows: dict[bool, Float32Array] = {}

    def samples(self, turn: int | None) -> Float64Array:
        """Return the samples of the image after an operation of Pillow, (64, 64)."""
        across, down = (False, False) if turn is None else REVERSED[turn]
        if turn in TRANSPOSING:
            return self._values(down, across).T
        return self._values(across, down)

    def _values(self, across: bool, down: bool) -> Float64Array:
        """Return the samples of the image, mirrored along a side or not."""
        if down not in self._rows:
            self._rows[down] = self._weights(1, down) @ self._pixels
        return (self._rows[down] @ self._weights(0, across).T).astype(np.float64)

    def _weights(self, side: int, mirrored: bool) -> Float32Array:
        """Return the weights along a side, 0 (across) or 1 (down)."""
        decoded = self._decoded
        n = (decoded.width, decoded.height)[side]
        blocks = decoded.image.size[side]
        weights: Float32Array = _block_weights(
            n, decoded.blocks[side], blocks, decoded.reversed[side] != mirrored
        )
        if mirrored:
            weights = weights[:, ::-1]
        return weights


@lru_cache(64)
def _block_weights(n: int, block: int, blocks: int, reversed: bool) -> Float32Array:
    """Return the weight of each block of a side of n pixels in each sample, (64, blocks).

    Of an image that is `reversed`, the first block may have fewer pixels, else the last one.
    """
    if n > FINEST * blocks:
        n = -(-n * FINEST // block)
        block = FINEST
    centers = ((int64_range(SIDE) + 0.5) * n / SIDE).astype(np.int64)
    first, last = _windows(centers, n)
    sizes = last - first
    sample = np.repeat(int64_range(SIDE), sizes)
    # In the windows of all samples.
    shifts = last - np.cumsum(sizes, dtype=np.int64)
    place = int64_range(len(sample)) + np.repeat(shifts, sizes)
    starts, stops = _windows(place, n)
    share = 1 / (np.repeat(sizes, sizes) * (stops - starts))
    begins = _windows(first, n)[0]
    width = int((_windows(last - 1, n)[1] - begins).max()) + 1
    origin = sample * width - begins[sample]
    increases = np.bincount(origin + starts, share, SIDE * width)
    decreases = np.bincount(origin + stops, share, SIDE * width)
    changes = increases - decreases
    weights = np.cumsum(changes.reshape(SIDE, width), axis=1, dtype=np.float64)
    # Beyond the side, weights are 0.
    pixel = np.minimum(begins[:, None] + int64_range(width), n - 1)
    missing = blocks * block - n if reversed else 0
    cell = int64_range(SIDE)[:, None] * blocks + (pixel + missing) // block
    sums = np.bincount(cell.ravel(), weights.ravel(), SIDE * blocks)
    return sums.reshape(SIDE, blocks).astype(np.float32)


def _windows(places: Int64Array, n: int) -> tuple[Any, Any]:
    """Return the bounds of the windows of PDQ's box filter on a side of n pixels."""
    width = (n + 2 * SIDE - 1) // (2 * SIDE)
    ahead = (width + 2) // 2
    return np.maximum(places - (width - ahead), 0), np.minimum(places + ahead, n)


@cache
def _transform() -> Float64Array:
    """Return the rows 1 to 16 of the cosine transform, (16, 64)."""
    frequencies = int64_range(1, COEFFICIENTS + 1)[:, None]
    places = 2 * int64_range(SIDE) + 1
    return np.asarray(
        np.sqrt(2 / SIDE) * np.cos(np.pi / (2 * SIDE) * frequencies * places)
    )


def _bits(coefficients: Float64Array) -> Bits:
    """Return which coefficients are above the lower median, the last one first."""
    values = coefficients.ravel()
    middle = len(values) // 2 - 1
    bits: Bits = (values > np.partition(values, middle)[middle]).astype(np.uint8)
    return bits[::-1]


def _quality(samples: Float64Array) -> int:
    """Return the sum of the differences of neighbours, small ones as 0, in 0..100."""
    total = 0
    for axis in (0, 1):
        steps = np.trunc(np.diff(samples, axis=axis) * 100 / 255)
        total += int(np.abs(steps).sum())
    return min(total // 90, 100)
