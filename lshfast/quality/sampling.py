"""The sample: each row is drawn with a known probability, higher if it meets many others.

In a corpus with few duplicates, hardly any row of a uniform sample has a similar one. So a banding
that finds nearly every pair at the threshold, and many below it, tells about how many rows each row
meets. The probability of a row grows with the square root of this number: rows with many neighbours
tell more, and take more time to compare. No probability is 0, so the estimates are unbiased
whatever that banding misses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lshfast._common.threads import ordered_map
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.banding.bands import Bands
from lshfast.banding.scurve import scurve
from lshfast.kernels import bands as kernels

# The banding that tells which rows meet: its recall this far below the threshold is at least
# REACH_RECALL if there are slots enough, and it has at most MOST_BANDS.
REACH = 0.15
REACH_RECALL = 0.99
MOST_BANDS = 24

# Bands whose keys are computed at once, as many as the kernels compute together, and rows at a
# time.
BANDS_AT_ONCE = 16
ROWS_AT_ONCE = 2048

# The least share of the sample that is drawn uniformly from all rows.
UNIFORM = 0.2

# Rows that meet more than CROWD others may have CROWD_PAIRS pairs with the sample in all, or those
# of LEAST_CROWD of these rows.
CROWD = 64
CROWD_PAIRS = 2_000_000
LEAST_CROWD = 64


@dataclass(frozen=True)
class RowSample:
    """The rows that were drawn.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Ascending.
    rates : ndarray of float64, shape (n,)
        The probability of each row of the corpus to be drawn; 0 for rows that are not compared at
        all: copies of earlier rows, and rows without shingles.
    unit : float
        What a pair of two rows without other neighbours counts if one of them is drawn.
    complete : bool
        Whether all rows that are compared were drawn.
    """

    rows: Int64Array
    rates: Float64Array
    unit: float
    complete: bool


def meeting_bands(threshold: float, slots: int) -> Bands:
    """Return the bands of the most rows that find nearly all pairs somewhat below a threshold."""
    low = max(threshold - REACH, threshold / 2)
    for rows in range(min(16, slots), 1, -1):
        number = min(MOST_BANDS, slots // rows)
        if scurve(low, number, rows) >= REACH_RECALL:
            return Bands(number, rows)
    return Bands(min(MOST_BANDS, slots), 1)


def degrees(
    signatures: UInt64Array, members: Int64Array, threshold: float, threads: int
) -> Float64Array:
    """Estimate how many others each member meets, float64 (m,).

    The others in the buckets of a row are counted in each band, and divided by how many bands a
    pair at the threshold shares on average.
    """
    choice = meeting_bands(threshold, signatures.shape[1])
    n = len(signatures)
    total = np.zeros(len(members), np.float64)
    for first in range(0, choice.bands, BANDS_AT_ONCE):
        bands = Bands(min(BANDS_AT_ONCE, choice.bands - first), choice.rows_per_band)
        slots = slice(
            first * bands.rows_per_band, first * bands.rows_per_band + bands.slots
        )
        keys = np.empty((n, bands.bands), np.uint64)

        def fill(
            start: int,
            slots: slice = slots,
            bands: Bands = bands,
            keys: UInt64Array = keys,
        ) -> None:
            rows = slice(start, start + ROWS_AT_ONCE)
            row_slots = np.ascontiguousarray(signatures[rows, slots])
            kernels.band_keys(row_slots, bands.bands, bands.rows_per_band, keys[rows])

        def others_of(
            band: int, keys: UInt64Array = keys
        ) -> tuple[Int64Array, Int64Array]:
            """Return which members are in a bucket with others, and how many others."""
            buckets = np.full((len(members), 1), -1, np.int32)
            count = kernels.number_buckets(
                np.ascontiguousarray(keys[:, band : band + 1]), 0, members, buckets
            )
            rows_of_buckets = np.flatnonzero(buckets[:, 0] >= 0)
            number = buckets[rows_of_buckets, 0]
            return rows_of_buckets, np.bincount(number, minlength=count)[number] - 1

        for _ in ordered_map(fill, range(0, n, ROWS_AT_ONCE), threads):
            pass
        for rows_of_buckets, counts in ordered_map(
            others_of, range(bands.bands), threads
        ):
            total[rows_of_buckets] += counts
    return total / (choice.bands * threshold**choice.rows_per_band)


def draw(
    n: int, members: Int64Array, row_degrees: Float64Array, sample_size: int, seed: int
) -> RowSample:
    """Draw about `sample_size` members independently, with probabilities by the rows they meet."""
    rates = np.zeros(n, np.float64)
    if len(members) <= sample_size:
        rates[members] = 1.0
        return RowSample(members, rates, 1.0, True)
    roots = np.sqrt(row_degrees)
    single_rows = len(members) - int(np.count_nonzero(roots))
    share_of_singles = (sample_size - len(members) + single_rows) / max(1, single_rows)
    base = max(UNIFORM * sample_size / len(members), share_of_singles)
    factor = _factor(roots[roots > 0], base, sample_size, len(members))
    member_rates = _with_fewer_of_crowds(
        np.minimum(1.0, base + factor * roots), row_degrees, base
    )
    rates[members] = member_rates
    drawn = (
        np.random.default_rng([seed, len(members)]).random(len(members)) < member_rates
    )
    pair = min(1.0, base + factor * np.sqrt(0.5))
    return RowSample(
        members[drawn], rates, 1 / (2 * pair), bool((member_rates == 1).all())
    )


def _with_fewer_of_crowds(
    rates: Float64Array, row_degrees: Float64Array, base: float
) -> Float64Array:
    """Return the rates, lowered for rows that meet so many others that comparing takes long."""
    crowd = np.flatnonzero(row_degrees > CROWD)
    crowd_rates = rates[crowd]
    cost = float((crowd_rates * row_degrees[crowd]).sum())
    if cost > CROWD_PAIRS:
        least = LEAST_CROWD / float(crowd_rates.sum())
        factor = min(1.0, max(CROWD_PAIRS / cost, least))
        rates[crowd] = np.maximum(crowd_rates * factor, base * 1e-3)
    return rates


def _factor(roots: Float64Array, base: float, sample_size: int, n: int) -> float:
    """Return the factor of the roots above 0 by which the rates of n rows sum to `sample_size`."""
    wanted_of_these = sample_size - base * (n - len(roots))
    if not len(roots) or wanted_of_these >= len(roots):
        return 1 / float(roots.min()) if len(roots) else 0.0
    low = 0.0
    high = 1 / float(roots.min())
    for _ in range(40):
        middle = (low + high) / 2
        if float(np.minimum(1, base + middle * roots).sum()) < wanted_of_these:
            low = middle
        else:
            high = middle
    return high
