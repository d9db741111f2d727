"""The share of rows that share a bucket with a row of other content, estimated from some of them.

A row and its partner are rarely both in a sample, so the partners that a sampled row meets there
are a thinned count of those that it has. The distribution of the true counts is estimated by
maximum likelihood from these.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._engine.marks import RowMarks

# The sample has so many times the square root of all rows: the partners that meet in it grow with
# its square. If one row in ten has a partner, about 200 pairs meet.
OF_ROOT = 64

# A sample of which fewer rows would meet a partner, if each had one, tells nothing.
LEAST_MEETING = 32

# The matches of a row in the sample are capped here.
MOST_MET = 8

# From so much of all rows on, the sample is counted as if it were all.
NEARLY_ALL = 0.9

# Steps of the estimate, at least; where few partners meet, the likelihood needs more of them.
STEPS = 2000
MOST_STEPS = 50_000

# Large numbers of partners for which probabilities are computed; those between them count like the
# next larger one.
GRID = 300


class Sample(NamedTuple):
    """Some rows.

    Attributes
    ----------
    keys : ndarray of uint64, shape (n, b)
        Their bucket keys.
    marks : RowMarks
    places : ndarray of int64, shape (n,)
        Numbers from 1 of the places of the inputs where the rows are. The sample has all rows of a
        place. Places with consecutive numbers are next to each other, and others are far apart: of
        the partners that a row has there, the sample has the same share as of all rows.
    inner : ndarray of bool, shape (n,)
        Whether the sample has the rows on both sides of a row, as far as its place and the ones
        next to it reach.
    """

    keys: UInt64Array
    marks: RowMarks
    places: Int64Array
    inner: BoolArray


class Sharing(NamedTuple):
    """The shares of all rows and of their bytes, in [0, 1]. Of equal texts, only the first one can
    be such a row.
    """

    rows: float = 0.0
    nbytes: float = 0.0


def rows_wanted(rows: int) -> int:
    """Return how many of these rows a sample needs."""
    return min(rows, round(OF_ROOT * sqrt(rows)))


def sharing(sample: Sample, rows: int) -> Sharing | None:
    """Estimate which share of so many rows share a bucket with another one; None if the sample is
    too small to tell.
    """
    n = len(sample.keys)
    texts = np.flatnonzero(~sample.marks.empty)
    if not len(texts):
        return Sharing()
    marks = sample.marks[texts]
    places = sample.places[texts]
    inner = sample.inner[texts]
    sizes = marks.nbytes
    copy_of = marks.first()
    total = max(1, int(sample.marks.nbytes.sum()))
    near_copies, far_copies = _met(copy_of[:, None].astype(np.uint64), places)
    near, far = _met(sample.keys[texts], places)
    # those with other content
    near = near - near_copies
    far = far - far_copies
    seen = (near > 0) | (far > 0)
    if n > NEARLY_ALL * rows:
        seen &= copy_of == np.arange(len(texts), dtype=np.int64)
        return Sharing(int(seen.sum()) / n, int(sizes[seen].sum()) / total)
    counted = inner if inner.any() else np.ones(len(texts), np.bool_)
    beyond = n - float(
        _with_neighbors(np.bincount(sample.places))[places[counted]].mean()
    )
    part = beyond / (rows - n + beyond)
    if n * part < LEAST_MEETING:
        return None
    with_partners, _ = _partners(near[counted], far[counted], part)
    _, first_copies = _partners(near_copies[counted], far_copies[counted], part)
    share = with_partners * first_copies * len(texts) / n
    longer = float(sizes[seen].mean()) * n / total if seen.any() else 1.0
    return Sharing(share, min(1.0, share * longer))


def _met(keys: UInt64Array, places: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return how many others are in the fullest bucket of each row: in its place and the next ones,
    and elsewhere.
    """
    near = np.zeros(len(keys), np.int64)
    far = np.zeros(len(keys), np.int64)
    width = int(places.max(initial=0)) + 2
    for band in range(keys.shape[1]):
        _, bucket, sizes = np.unique(
            keys[:, band], return_inverse=True, return_counts=True
        )
        cells, own, counts = np.unique(
            bucket * width + places, return_inverse=True, return_counts=True
        )
        adjacent = np.diff(cells) == 1
        around = counts.copy()
        around[1:] += counts[:-1] * adjacent
        around[:-1] += counts[1:] * adjacent
        np.maximum(near, around[own] - 1, out=near)
        np.maximum(far, sizes[bucket] - around[own], out=far)
    return near, far


def _with_neighbors(counts: Int64Array) -> Int64Array:
    """Return the sums of each count and the ones next to it."""
    return np.asarray(np.convolve(counts, np.ones(3, np.int64), "same"), np.int64)


def _partners(near: Int64Array, far: Int64Array, part: float) -> tuple[float, float]:
    """Return the share of rows with partners, and the mean of 1 / (1 + partners), from those that
    rows meet.

    Partners near a row are all met. Of those elsewhere, a part is met.
    """
    alone = near == 0
    others = float(alone.mean())
    among = float((1 / (1 + near[~alone])).sum()) / len(near)
    some, mean = _elsewhere(far[alone], part)
    return 1 - others + others * some, among + others * mean


def _elsewhere(met: Int64Array, part: float) -> tuple[float, float]:
    """Return the share of rows that have a partner, and the mean of 1 / (1 + partners), if a part
    of them is met.

    Small numbers of partners are taken to be more frequent than larger ones: their distribution is
    a mixture of uniform ones from 1 to each bound, beside the rows without partners
    (expectation-maximization).
    """
    if not met.any():
        return 0.0, 1.0
    frequency = np.bincount(np.minimum(met, MOST_MET), minlength=MOST_MET + 1) / len(
        met
    )
    most = MOST_MET * MOST_MET
    grid = np.geomspace(most, most / part, GRID).astype(np.int64)
    partners = np.union1d(np.arange(1, most, dtype=np.int64), grid)
    meets = np.empty((MOST_MET + 1, len(partners)))
    meets[0] = (1 - part) ** partners
    for count in range(1, MOST_MET):
        meets[count] = (
            meets[count - 1]
            * np.maximum(0, partners - count + 1)
            / count
            * part
            / (1 - part)
        )
    meets[MOST_MET] = np.maximum(0.0, 1 - meets[:MOST_MET].sum(axis=0))
    many = np.diff(partners, prepend=0)

    def uniform(values: Float64Array) -> Float64Array:
        """Return the means of values from 1 to each number of partners."""
        return np.asarray(
            np.cumsum(values * many, axis=-1, dtype=np.float64) / partners
        )

    chances = np.hstack([np.eye(MOST_MET + 1, 1), uniform(meets)])
    weights = np.full(chances.shape[1], 1 / chances.shape[1], np.float64)
    for _ in range(min(MOST_STEPS, max(STEPS, round(4 / part)))):
        weights *= (
            frequency / np.maximum(chances @ weights, np.finfo(np.float64).tiny)
        ) @ chances
    # A row with partners meets a part of one at least.
    some = min(float(1 - weights[0]), float(met.mean()) / part)
    shared = weights[1:] / max(weights[1:].sum(), np.finfo(np.float64).tiny)
    return some, 1 - some + some * float(shared @ uniform(1 / (1 + partners)))
