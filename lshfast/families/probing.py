"""The interface of families with multi-probe: the buckets most likely to hold neighbours of a
query.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.types import Float64Array, UInt64Array
from lshfast.families.family import Family, Items
from lshfast.kernels import probes as kernels

MAX_PROBES = 2**20
MAX_PROBED_ROWS = 2**12

# Bands that are simulated: the standard error of a probability is below 0.003.
SIMULATED_BANDS = 2**15
# Costs of alternatives that are in memory at once while bands are simulated, and ranks of the
# choices of bands.
SIMULATED_COSTS = 2**21
SIMULATED_CHOICES = 2**20


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
        """Compute the probability that one of the first `probes` buckets of a band holds an item at
        these distances.

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
        others: Float64Array,
        rows: int,
        probes: int,
        random: np.random.Generator,
    ) -> ProbeCurves:
        """Simulate bands of functions that are chosen from those given.

        Parameters
        ----------
        alternatives : ndarray of float64, shape (m, ranks)
            For each of m functions, the costs of the alternatives to the value of the query,
            ascending from 0.
        others : ndarray of float64, shape (g, m)
            For each of g distances, the cost of the value that the other item has under the
            function.
        rows, probes : int
        random : numpy Generator
        """
        functions, ranks = alternatives.shape
        counts = np.zeros((len(others), probes + 1), np.int64)
        step = max(1, min(SIMULATED_BANDS, SIMULATED_COSTS // (rows * ranks + probes)))
        for start in range(0, SIMULATED_BANDS, step):
            chosen = random.integers(0, functions, (min(step, SIMULATED_BANDS - start), rows))
            cheapest = kernels.cheapest(alternatives[chosen], probes)
            for count, costs in zip(counts, others, strict=True):
                # Sums in another order differ in the last bits.
                cost = costs[chosen].sum(axis=1) * (1 - 1e-12)
                count += np.bincount((cheapest < cost[:, None]).sum(axis=1), minlength=probes + 1)
        found = np.cumsum(counts, axis=1, dtype=np.int64)[:, :probes] / SIMULATED_BANDS
        collisions = (others == 0).mean(axis=1)
        order = np.argsort(collisions, kind="stable")
        return cls(collisions[order], found[order], rows)

    def probability(self, collision_probability: Float64Array, probes: int) -> Float64Array:
        """Return the probabilities for some probes at distances with these collision probabilities
        under one function.

        The root of the probability is interpolated, which is the collision probability itself for
        one probe.
        """
        roots = self.found[:, probes - 1] ** (1 / self.rows)
        return np.asarray(np.interp(collision_probability, self.collisions, roots) ** self.rows)


def found_by_probes(
    costs: Float64Array, chances: Float64Array, rows: int, probes: int
) -> Float64Array:
    """Return the probabilities that another item is in the first 1, 2, .., `probes` buckets of a
    band, (g, probes).

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
    found = np.zeros((len(chances), probes))
    step = max(1, SIMULATED_CHOICES // (rows * probes))
    for start in range(0, len(costs), step):
        some = states[start : start + step]
        chosen = np.zeros((len(some), probes, rows), np.uint32)
        there = np.isfinite(kernels.cheapest(costs[some], probes, chosen))
        # Few functions of a bucket have another value than the query.
        position, probe, row = np.nonzero(chosen)
        state = some[position, row]
        rank = chosen[position, probe, row]
        for total, log, move in zip(found, logs[:, :, 0], moves, strict=True):
            change = np.bincount(position * probes + probe, move[state, rank], there.size).reshape(
                there.shape
            )
            total += (np.exp(log[some].sum(axis=1, keepdims=True) + change) * there).sum(axis=0)
    return np.minimum(np.cumsum(found, axis=1, dtype=np.float64) / len(costs), 1)
