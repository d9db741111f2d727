"""The interface of families with multi-probe: the buckets most likely to hold neighbours of a query."""

from __future__ import annotations

from abc import abstractmethod

import numpy.typing as npt

from lshfast.common.types import Float64Array, UInt64Array
from lshfast.families.family import Family, Items


class Probing(Family[Items]):
    """Base class of families that can name the most promising buckets of an item, best first.

    An index that looks up several buckets a band needs fewer bands for the same recall, and so less memory.
    """

    @abstractmethod
    def probe(self, items: Items, bands: int, rows: int, probes: int, *, threads: int | None = None) -> UInt64Array:
        """Return the values of the `probes` most promising buckets of each band, best first.

        Parameters
        ----------
        items
            n items of the family.
        bands, rows : int
            At least 1, as for `buckets`.
        probes : int
            At least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, bands, probes)
            `[..., 0]` equals `buckets(items, bands, rows)`. The values of a band are distinct, except for `NO_VALUE`,
            which stands at the end where a band has fewer than `probes` buckets.
        """

    @abstractmethod
    def probe_probability(self, distance: npt.ArrayLike, rows: int, probes: int) -> Float64Array:
        """Return the probability that one of the first `probes` buckets of a band holds an item at these distances.

        Parameters
        ----------
        distance : array_like of float
            Distances between the item that is probed and another one.
        rows, probes : int
            At least 1, as for `probe`.

        Returns
        -------
        ndarray of float64, with the shape of `distance`
            Exact, or accurate to 0.005 where it is simulated.
        """
