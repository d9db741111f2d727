"""The share of rows that share a bucket with a row of other content, estimated from some of them.

A row and its partner are rarely both in a sample, so the partners that a sampled row meets there are a thinned count of
those that it has. The distribution of the true counts is estimated by maximum likelihood from these.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from lshfast.common.types import BoolArray, Float64Array, Int64Array, UInt64Array

# The sample has so many times the square root of all rows: the partners that meet in it grow with its square. If one
# row in ten has a partner, about 200 pairs meet.
OF_ROOT = 64

# A row that meets so many others in the sample counts like one that meets more.
MOST_MET = 8

# From so much of all rows on, the sample is counted as if it were all.
NEARLY_ALL = 0.9

# Steps of the estimate. It is a little smoother than the maximum of the likelihood, to which more steps would lead.
STEPS = 2000


class Sharing(NamedTuple):
    """The shares of the rows and of their bytes, in [0, 1]."""

    rows: float = 0.0
    nbytes: float = 0.0


def rows_wanted(rows: int) -> int:
    """Return how many of these rows a sample needs."""
    return min(rows, round(OF_ROOT * sqrt(rows)))


def sharing(keys: UInt64Array, nbytes: Int64Array, places: Int64Array, inner: BoolArray, rows: int) -> Sharing:
    """Estimate the share of rows that share a bucket with another one.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n, b)
        Bucket keys of sampled rows with different contents.
    nbytes : ndarray of int64, shape (n,)
        The bytes of their texts.
    places : ndarray of int64, shape (n,)
        Numbers from 1 of the places of the inputs where the rows are. The sample has all rows of a place. Places with
        consecutive numbers are next to each other, and others are far apart: of the partners that a row has there, the
        sample has the same share as of all rows.
    inner : ndarray of bool, shape (n,)
        Whether the sample has the rows on both sides of a row, as far as its place and the ones next to it reach.
    rows : int
        All rows.
    """
    near, far = _met(keys, places)
    seen = (near > 0) | (far > 0)
    if not seen.any():
        return Sharing()
    everything = len(keys) > NEARLY_ALL * rows
    counted = np.ones(len(keys), np.bool_) if everything or not inner.any() else inner
    share = float(seen[counted].mean())
    beyond = len(keys) - float(_beside(np.bincount(places))[places[counted]].mean())
    if beyond > 0 and not everything:
        share = float((near[counted] > 0).mean())
        part = beyond / (rows - len(keys) + beyond)
        share += (1 - share) * _with_partners(far[counted & (near == 0)], part)
    return Sharing(share, min(1.0, share * float(nbytes[seen].mean() / max(1.0, nbytes.mean()))))


def _met(keys: UInt64Array, places: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return how many others are in the fullest bucket of each row: in its own place and beside it, and elsewhere."""
    near, far, width = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64), int(places.max(initial=0)) + 2
    for band in range(keys.shape[1]):
        _, bucket, sizes = np.unique(keys[:, band], return_inverse=True, return_counts=True)
        cells, own, counts = np.unique(bucket * width + places, return_inverse=True, return_counts=True)
        adjacent = np.diff(cells) == 1
        beside = counts.copy()
        beside[1:] += counts[:-1] * adjacent
        beside[:-1] += counts[1:] * adjacent
        np.maximum(near, beside[own] - 1, out=near)
        np.maximum(far, sizes[bucket] - beside[own], out=far)
    return near, far


def _beside(counts: Int64Array) -> Int64Array:
    """Return the sums of each count and the ones next to it."""
    return np.asarray(np.convolve(counts, np.ones(3, np.int64), "same"), np.int64)


def _with_partners(met: Int64Array, part: float) -> float:
    """Return the share of rows that have a partner, from how many of them each row meets in a part of all rows.

    Small numbers of partners are taken to be more frequent than larger ones: their distribution is a mixture of uniform
    ones from 1 to each bound, beside the rows without partners (expectation-maximization).
    """
    frequency = np.bincount(np.minimum(met, MOST_MET), minlength=MOST_MET + 1) / max(1, len(met))
    partners = np.arange(1, round(MOST_MET * MOST_MET / part) + 1, dtype=np.int64)
    meets = np.empty((MOST_MET + 1, len(partners)))
    meets[0] = (1 - part) ** partners
    for count in range(1, MOST_MET):
        meets[count] = meets[count - 1] * np.maximum(0, partners - count + 1) / count * part / (1 - part)
    meets[MOST_MET] = np.maximum(0.0, 1 - meets[:MOST_MET].sum(axis=0))
    bounds = np.unique(np.geomspace(1, len(partners), 2 * len(partners).bit_length()).astype(np.int64))
    uniform = np.cumsum(meets, axis=1)[:, bounds - 1] / bounds
    none: Float64Array = np.eye(MOST_MET + 1, 1)
    chances = np.hstack([none, uniform])
    weights = np.full(chances.shape[1], 1 / chances.shape[1])
    for _ in range(STEPS):
        weights *= (frequency / np.maximum(chances @ weights, np.finfo(np.float64).tiny)) @ chances
    return float(1 - weights[0])
