"""The share of rows that share a bucket with a row of other content, estimated from some of them.

A row and its partner are rarely both in a sample, so the partners that a sampled row meets there
are a thinned count of those that it has. The distribution of the true counts is estimated by
maximum likelihood from these.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._engine.marks import RowMarks

# The rows of a sample, as a multiple of the square root of all rows: the partners that meet in it
# grow with its square. If one row in ten has a partner, about 200 pairs meet.
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
    """The shares of rows and of their bytes in [0, 1]; of equal texts, the first one counts."""

    rows: float = 0.0
    nbytes: float = 0.0


def rows_wanted(rows: int) -> int:
    """Return how many of these rows a sample needs."""
    return min(rows, round(OF_ROOT * sqrt(rows)))


def sharing(sample: Sample, rows: int) -> Sharing | None:
    """Estimate the share of rows that share a bucket; None if the sample is too small."""
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
    neighbors, strangers = _met(sample.keys[texts], places)
    # Copies are no neighbours and no strangers.
    neighbors = neighbors - near_copies
    strangers = strangers - far_copies
    meets_others = (neighbors > 0) | (strangers > 0)
    if n > NEARLY_ALL * rows:
        meets_others &= copy_of == int64_range(len(texts))
        return Sharing(
            int(meets_others.sum()) / n, int(sizes[meets_others].sum()) / total
        )
    counted = inner if inner.any() else np.ones(len(texts), np.bool_)
    beyond = n - float(
        _with_neighbors(np.bincount(sample.places))[places[counted]].mean()
    )
    part = beyond / (rows - n + beyond)
    if n * part < LEAST_MEETING:
        return None
    with_partners, _ = _partners(neighbors[counted], strangers[counted], part)
    _, first_copies = _partners(near_copies[counted], far_copies[counted], part)
    share = with_partners * first_copies * len(texts) / n
    longer = (
        float(sizes[meets_others].mean()) * n / total if meets_others.any() else 1.0
    )
    return Sharing(share, min(1.0, share * longer))


def _met(keys: UInt64Array, places: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the other rows in the fullest bucket of each row: near its place, and elsewhere."""
    neighbors = np.zeros(len(keys), np.int64)
    strangers = np.zeros(len(keys), np.int64)
    width = int(places.max(initial=0)) + 2
    for band in range(keys.shape[1]):
        _, bucket, sizes = np.unique(
            keys[:, band], return_inverse=True, return_counts=True
        )
        cells, cell, counts = np.unique(
            bucket * width + places, return_inverse=True, return_counts=True
        )
        adjacent = np.diff(cells) == 1
        around = counts.copy()
        around[1:] += counts[:-1] * adjacent
        around[:-1] += counts[1:] * adjacent
        np.maximum(neighbors, around[cell] - 1, out=neighbors)
        np.maximum(strangers, sizes[bucket] - around[cell], out=strangers)
    return neighbors, strangers


def _with_neighbors(counts: Int64Array) -> Int64Array:
    """Return the sums of each count and the ones next to it."""
    return np.asarray(np.convolve(counts, np.ones(3, np.int64), "same"), np.int64)


def _partners(
    neighbors: Int64Array, strangers: Int64Array, part: float
) -> tuple[float, float]:
    """Return the share of rows with partners, and the mean of 1 / (1 + partners).

    Partners near a row are all met. Of those elsewhere, a part is met.
    """
    is_alone = neighbors == 0
    share_alone = float(is_alone.mean())
    among = float((1 / (1 + neighbors[~is_alone])).sum()) / len(neighbors)
    share_elsewhere, mean = _elsewhere(strangers[is_alone], part)
    return 1 - share_alone + share_alone * share_elsewhere, among + share_alone * mean


def _elsewhere(counts: Int64Array, part: float) -> tuple[float, float]:
    """Return the values of `_partners` if only a part of the partners is met.

    Small numbers of partners are taken to be more frequent than larger ones: their distribution is
    a mixture of uniform ones from 1 to each bound, beside the rows without partners
    (expectation-maximization).
    """
    if not counts.any():
        return 0.0, 1.0
    frequency = np.bincount(np.minimum(counts, MOST_MET), minlength=MOST_MET + 1) / len(
        counts
    )
    most = MOST_MET * MOST_MET
    grid = np.geomspace(most, most / part, GRID).astype(np.int64)
    partners = np.union1d(int64_range(1, most), grid)
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
    share = min(float(1 - weights[0]), float(counts.mean()) / part)
    shared = weights[1:] / max(weights[1:].sum(), np.finfo(np.float64).tiny)
    return share, 1 - share + share * float(shared @ uniform(1 / (1 + partners)))
