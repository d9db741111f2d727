"""The warning that many queries find fewer than k neighbors, since the radius of the index is too small for k."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lshfast.common.types import Float64Array, Int64Array
from lshfast.index.neighbors.plan import NeighborsPlan

# Many queries: at least so many, and this share of all queries with k.
FEWEST_QUERIES = 10
SHARE = 0.1

# With k = 1, a query asks whether there is a near entry, and none is an answer. An index with fewer than this multiple
# of k entries does not warn: k asks for most of its entries.
ENTRIES_PER_NEIGHBOR = 2

# Queries whose k-th nearest entry is computed, and the most distances that this may take: about a second.
MEASURED_QUERIES = 32
MOST_DISTANCES = 1 << 22

# The share of the measured queries whose k nearest entries are within the radius that the warning names.
INSIDE = 0.95


class FewNeighborsWarning(UserWarning):
    """Many queries find fewer than k neighbors, because the radius of the index is too small for k.

    `NearNeighbors.query` warns with it, once for each index. The recall is promised within the radius of the index
    only. The warning names a radius that is large enough for most queries.

    See Also
    --------
    lshfast.NearNeighbors : An index of points or sets that finds near neighbours.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from lshfast import NearNeighbors
    >>> points = np.random.default_rng(1).standard_normal((1000, 16))
    >>> index = NearNeighbors("angle", radius=0.2, dim=16, n=1000)
    >>> index.insert(range(1000), points)
    1000
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = index.query(points[:100], k=10)
    >>> caught[0].category.__name__
    'FewNeighborsWarning'
    """


@dataclass
class NeighborCounts:
    """The queries of an index with k so far, and those that found fewer entries, until there were many."""

    queries: int = 0
    short: int = 0
    done: bool = False

    def are_few(self, offsets: Int64Array, k: int, entries: Callable[[], int]) -> bool:
        """Count queries, and return whether many have found fewer than k of the entries; at most once."""
        if self.done or k == 1:
            return False
        self.queries += len(offsets) - 1
        if offsets[-1] == k * (len(offsets) - 1) or entries() < ENTRIES_PER_NEIGHBOR * k:
            return False
        self.short += int(np.count_nonzero(np.diff(offsets) < k))
        if self.short < max(FEWEST_QUERIES, SHARE * self.queries):
            return False
        self.done = True
        return True

    def advice(self, plan: NeighborsPlan, k: int, distances: Float64Array | None) -> str:
        """Return the warning, or "" if most queries have k entries within the radius, which a recall below 1 misses.

        `distances` are those of the k-th nearest entries of some queries, None if they are not known.
        """
        bound = f"radius {plan.radius:.4g}" if plan.threshold is None else f"threshold {plan.threshold:.4g}"
        remedy = "Pass a larger radius, or a sample of points and k, to NearNeighbors"
        if distances is not None:
            radius = float(np.quantile(distances, INSIDE))
            if radius <= plan.radius:
                return ""
            argument = f"radius={_rounded_up(radius):g}"
            if plan.threshold is not None:
                argument = f"threshold={-_rounded_up(-math.cos(radius)):g}"
            remedy = f"With {argument}, {INSIDE:.0%} of {len(distances)} queries have k entries within the bound"
        return (
            f"{self.short} of {self.queries} queries found fewer than k={k} entries: the recall of "
            f"{plan.recall:.4g} is promised within the {bound} only, and entries beyond it are found less often or not "
            f"at all. {remedy}. index.scan(queries, k) finds the k nearest at any distance, by computing all distances"
        )


def measured_queries(entries: int, queries: int) -> Int64Array:
    """Return the places of the queries whose k-th nearest entry is computed; none if that would take too long."""
    count = min(MEASURED_QUERIES, queries, MOST_DISTANCES // max(1, entries))
    return np.linspace(0, queries - 1, count).astype(np.int64)


def _rounded_up(number: float) -> float:
    """Return a number with three significant digits that is not below it."""
    if number == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(number))) - 2)
    return math.ceil(number / unit) * unit
