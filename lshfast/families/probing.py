"""The interface of families with multi-probe, which name the most promising buckets of a query."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int
from lshfast._common.types import Float64Array, UInt64Array
from lshfast.families.family import Family, Items, check_bands
from lshfast.kernels import probes as kernels

MAX_PROBES = 2**20
MAX_PROBED_ROWS = 2**12

# Bands that are simulated: the standard error of a probability is below 0.003.
SIMULATED_BANDS = 2**15
# While bands are simulated: the costs of alternatives in memory at once, and the ranks of the
# choices of bands.
SIMULATED_COSTS = 2**21
SIMULATED_CHOICES = 2**20


def check_probes(bands: int, rows_per_band: int, probes: int) -> tuple[int, int, int]:
    """Return the checked numbers of bands, of rows of a band, and of buckets that are probed."""
    rows_per_band = check_int("rows_per_band", rows_per_band, 1, MAX_PROBED_ROWS)
    bands, rows_per_band = check_bands(bands, rows_per_band)
    return bands, rows_per_band, check_int("probes", probes, 1, MAX_PROBES)


def probability_of_probes(
    p: Float64Array,
    rows_per_band: int,
    probes: int,
    bits: int,
    curves: Callable[[int, int], ProbeCurves],
) -> Float64Array:
    """Return `probe_probability`, from the probability of one function whose values have `bits`.

    `curves` simulates a number of rows and of probes.
    """
    _, rows_per_band, probes = check_probes(1, rows_per_band, probes)
    if probes == 1:
        return np.asarray(p**rows_per_band)
    bits_of_band = rows_per_band * bits
    if bits_of_band <= 20 and probes >= 1 << bits_of_band:
        return np.ones_like(p)
    simulated_probes = 1 << (probes - 1).bit_length()
    return curves(rows_per_band, simulated_probes).probability(p, probes)


class Probing(Family[Items]):
    """Base class of families that can name the most promising buckets of an item, best first.

    An index that looks up several buckets a band needs fewer bands for the same recall, and so less
    memory.

    See Also
    --------
    lshfast.families.Family : Base class of families.
    lshfast.families.probe_success : Probability that the first buckets hold a near item.
    """

    @abstractmethod
    def probe(
        self,
        items: Items,
        bands: int,
        rows_per_band: int,
        probes: int,
        *,
        threads: int | None = None,
    ) -> UInt64Array:
        """Compute the values of the `probes` most promising buckets of each band, best first.

        Parameters
        ----------
        items
            n items of the family.
        bands, rows_per_band : int
            At least 1, as for `buckets`.
        probes : int
            At least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, bands, probes)
            `[..., 0]` equals `buckets(items, bands, rows_per_band)`. The values of a band are
            distinct, except for `NO_VALUE`, which stands at the end where a band has fewer than
            `probes` buckets.
        """

    @abstractmethod
    def probe_probability(
        self, distance: npt.ArrayLike, rows_per_band: int, probes: int
    ) -> Float64Array:
        """Compute the probability that the first `probes` buckets of a band hold an item.

        Parameters
        ----------
        distance : array_like of float
            Distances between the item that is probed and another one.
        rows_per_band, probes : int
            At least 1, as for `probe`.

        Returns
        -------
        ndarray of float64, with the shape of `distance`
            Exact, or simulated with a standard error below 0.003.
        """


@dataclass(frozen=True, eq=False)
class ProbeCurves:
    """Simulated probabilities that another item is in one of the cheapest buckets of a band.

    Attributes
    ----------
    collisions : ndarray of float64, shape (g,)
        Shares of the simulated functions under which two items collide, at g distances; they
        ascend.
    found : ndarray of float64, shape (g, probes)
        The probabilities for 1, 2, .. probes at these distances.
    rows : int
    """

    collisions: Float64Array
    found: Float64Array
    rows: int

    @classmethod
    def simulate(
        cls,
        alternatives: Float64Array,
        other_costs: Float64Array,
        rows: int,
        probes: int,
        random: np.random.Generator,
    ) -> ProbeCurves:
        """Simulate bands of functions that are drawn from the given functions.

        Parameters
        ----------
        alternatives : ndarray of float64, shape (m, ranks)
            For each of m functions, the costs of the alternatives to the value of the query,
            ascending from 0.
        other_costs : ndarray of float64, shape (g, m)
            For each of g distances, the cost of the value that the other item has under the
            function.
        rows, probes : int
        random : numpy Generator
        """
        functions, ranks = alternatives.shape
        counts = np.zeros((len(other_costs), probes + 1), np.int64)
        step = max(1, min(SIMULATED_BANDS, SIMULATED_COSTS // (rows * ranks + probes)))
        for start in range(0, SIMULATED_BANDS, step):
            bands = min(step, SIMULATED_BANDS - start)
            functions_of_bands = random.integers(0, functions, (bands, rows))
            cheapest = kernels.cheapest(alternatives[functions_of_bands], probes)
            for count, costs in zip(counts, other_costs, strict=True):
                # Sums in another order differ in the last bits.
                cost = costs[functions_of_bands].sum(axis=1) * (1 - 1e-12)
                cheaper_buckets = (cheapest < cost[:, None]).sum(axis=1)
                count += np.bincount(cheaper_buckets, minlength=probes + 1)
        found_shares = (
            np.cumsum(counts, axis=1, dtype=np.int64)[:, :probes] / SIMULATED_BANDS
        )
        collisions = (other_costs == 0).mean(axis=1)
        order = np.argsort(collisions, kind="stable")
        return cls(collisions[order], found_shares[order], rows)

    def probability(
        self, collision_probability: Float64Array, probes: int
    ) -> Float64Array:
        """Return the probabilities for `probes` buckets at these collision probabilities.

        The root of the probability is interpolated, which is the collision probability itself for
        one probe.
        """
        roots = self.found[:, probes - 1] ** (1 / self.rows)
        return np.asarray(
            np.interp(collision_probability, self.collisions, roots) ** self.rows
        )


def found_by_probes(
    costs: Float64Array, chances: Float64Array, rows: int, probes: int
) -> Float64Array:
    """Return the probabilities that the first 1, .., `probes` buckets hold an item, (g, probes).

    The query is averaged over m states under each function, which are equally likely. The other
    item is averaged exactly, so few bands are enough.

    Parameters
    ----------
    costs : ndarray of float64, shape (m, ranks)
        For each state, the costs of the alternatives to the value of the query, ascending from 0;
        inf for none.
    chances : ndarray of float64, shape (g, m, ranks)
        For each of g distances, the probability that the other item has the value of each
        alternative.
    rows, probes : int
    """
    generator = np.random.Generator(np.random.PCG64(1))
    states = np.stack([generator.permutation(len(costs)) for _ in range(rows)], axis=1)
    logs = np.log(np.maximum(chances, 1e-300))
    moves = logs - logs[:, :, :1]
    probabilities = np.zeros((len(chances), probes))
    step = max(1, SIMULATED_CHOICES // (rows * probes))
    for start in range(0, len(costs), step):
        band_states = states[start : start + step]
        ranks = np.zeros((len(band_states), probes, rows), np.uint32)
        has_bucket = np.isfinite(kernels.cheapest(costs[band_states], probes, ranks))
        # Few functions of a bucket have another value than the query.
        position, probe, row = np.nonzero(ranks)
        state = band_states[position, row]
        rank = ranks[position, probe, row]
        bucket = position * probes + probe
        for total, log, move in zip(probabilities, logs[:, :, 0], moves, strict=True):
            change = np.bincount(bucket, move[state, rank], has_bucket.size)
            first_bucket = log[band_states].sum(axis=1, keepdims=True)
            chance = np.exp(first_bucket + change.reshape(has_bucket.shape))
            total += (chance * has_bucket).sum(axis=0)
    return np.minimum(
        np.cumsum(probabilities, axis=1, dtype=np.float64) / len(costs), 1
    )
