"""The number of similar pairs in each band of similarity, and a random sample of each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lshfast._common.mixing import mix64
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast._engine.pairs.listed import PairArray
from lshfast.join.pair_arrays import PAIR

# Bands are from one multiple of 1 / BANDS to the next.
BANDS = 20

# Pairs of a band that are held.
SAMPLE_PAIRS = 500


def edges_from(least: float) -> Float64Array:
    """Return the ends of the bands from a similarity to 1: the multiples of 1 / BANDS between.

    See Also
    --------
    lshfast.quality.threshold_of : Estimate precision and recall of thresholds from labels.

    Examples
    --------
    >>> from lshfast._engine.pages.pair_sample import edges_from
    >>> edges_from(0.82).tolist()
    [0.82, 0.85, 0.9, 0.95, 1.0]
    """
    inner = [
        number / BANDS for number in range(1, BANDS) if number / BANDS > least + 1e-9
    ]
    return np.array([least, *inner, 1.0], np.float64)


def band_of(similarity: npt.ArrayLike, edges: Float64Array) -> Int64Array:
    """Return the numbers of the bands of similarities; the last band holds 1."""
    bands = np.searchsorted(edges, np.asarray(similarity, np.float64), side="right") - 1
    return np.clip(bands, 0, len(edges) - 2).astype(np.int64)


class PairSample:
    """The numbers of pairs by bands of similarity, and some pairs of each band, drawn at random.

    The pairs of a band are ordered by a hash of their rows, and the first ones are the sample:
    which pairs they are does not depend on the batches that the pairs come in.

    Parameters
    ----------
    edges : ndarray of float64, shape (bands + 1,)
    seed : int
    most : int
        The pairs of a band that are held.

    Attributes
    ----------
    counts : ndarray of int64, shape (bands,)
    """

    def __init__(
        self, edges: Float64Array, seed: int, most: int = SAMPLE_PAIRS
    ) -> None:
        self._edges = edges
        self._seed = seed
        self._most = most
        bands = len(edges) - 1
        self.counts: Int64Array = np.zeros(bands, np.int64)
        self._held = [np.empty(0, PAIR) for _ in range(bands)]

    def add(self, pairs: PairArray) -> None:
        """Count pairs, and take some of them into the sample."""
        bands = band_of(pairs["similarity"], self._edges)
        self.counts += np.bincount(bands, minlength=len(self.counts))
        for band in np.unique(bands).tolist():
            band_pairs = np.concatenate([self._held[band], pairs[bands == band]])
            hashes = _hashes(band_pairs, self._seed)
            if len(band_pairs) > self._most:  # sorting all of them takes longer
                first = hashes <= np.partition(hashes, self._most - 1)[self._most - 1]
                band_pairs = band_pairs[first]
                hashes = hashes[first]
            order = np.lexsort((band_pairs["j"], band_pairs["i"], hashes))
            self._held[band] = band_pairs[order[: self._most]]

    def pairs(self) -> list[PairArray]:
        """Return the sample of each band, in random order."""
        return self._held


def _hashes(pairs: PairArray, seed: int) -> UInt64Array:
    """Return hashes of the rows of pairs."""
    rows = np.asarray(pairs["i"], np.uint64), np.asarray(pairs["j"], np.uint64)
    return _mixed(_mixed(rows[0] + np.uint64(seed)) ^ rows[1])


def _mixed(words: UInt64Array) -> UInt64Array:
    """Return words after a step of splitmix64 (Steele, Lea and Flood 2014)."""
    return mix64(words + np.uint64(0x9E3779B97F4A7C15))
