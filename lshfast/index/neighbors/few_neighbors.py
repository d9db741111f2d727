"""The warning that queries miss nearest entries, since the radius is too small for k."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lshfast._common.threads import thread_count
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.index.neighbors.answers import NeighborLists
from lshfast.index.neighbors.plan import NeighborsPlan
from lshfast.index.neighbors.search import NeighborSearch
from lshfast.tokens import places_of_rows

# The recall is measured if at least FEWEST_QUERIES queries, and SHARE of all, have fewer than k
# answers in the radius.
FEWEST_QUERIES = 10
SHARE = 0.05

# With k = 1, a query asks whether there is a near entry, and "none" is an answer. An index with
# fewer than this multiple of k entries does not warn: its queries ask for most of its entries.
ENTRIES_PER_NEIGHBOR = 2

# The last queries, whose recall is measured, and the most distances that this may take: about a
# second.
MEASURED_QUERIES = 256
MOST_DISTANCES = 1 << 22

# The share of the measured queries whose k nearest entries are within the radius that the warning
# names.
INSIDE = 0.95

# The recall is not measured if, by the plan, the queries miss at most this share of the misses that
# the promise allows: the recall of a single index differs from the recall of its plan.
CLEAR_MISSES = 0.5

# Distances at which the recall of a plan is computed, to estimate the recall of answers.
CURVE_POINTS = 65


class FewNeighborsWarning(UserWarning):
    """Queries miss some of their k nearest entries, because the radius is too small for k.

    `NearNeighbors.query` warns with it, once for each index. The recall is promised within the
    radius of the index only: entries beyond it are found less often, although a query may have k
    answers. The warning names a radius that is large enough for most queries. There is none if the
    queries find the promised share of their nearest entries.

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


class Answered(NamedTuple):
    """Queries, uint64 (m, words), and the distances of their k answers, float64 (m, k).

    The distances of missing answers are infinite.
    """

    words: UInt64Array
    distances: Float64Array


@dataclass
class NeighborCounts:
    """The queries with k so far, and the queries with fewer than k answers in the radius.

    The counts end with the warning.
    """

    k: int = 0
    queries: int = 0
    outside: int = 0
    wait_until: int = 0
    done: bool = False
    # Words, offsets and distances; without offsets, those of one query.
    recent: deque[tuple[UInt64Array, Int64Array | None, Float64Array]] = field(
        default_factory=lambda: deque(maxlen=MEASURED_QUERIES)
    )

    def are_outside(
        self,
        words: UInt64Array,
        answers: NeighborLists,
        k: int,
        limit: float,
        entries: Callable[[], int],
    ) -> bool:
        """Count queries; return whether many have fewer than k answers within `limit`."""
        if not len(words) or not self.are_for(k):
            return False
        offsets = answers.offsets
        distances = answers.distance
        count = len(offsets) - 1
        complete = np.diff(offsets) == k
        inside = int(np.count_nonzero(distances[offsets[1:][complete] - 1] <= limit))
        if count > MEASURED_QUERIES:
            sampled_queries = np.linspace(0, count - 1, MEASURED_QUERIES).astype(
                np.int64
            )
            offsets, places = places_of_rows(offsets, sampled_queries)
            words = words[sampled_queries]
            distances = distances[places]
        self.recent.append((words, offsets, distances))
        return self._add(count, inside, entries)

    def is_outside(
        self,
        words: UInt64Array,
        distances: Float64Array,
        limit: float,
        entries: Callable[[], int],
    ) -> bool:
        """Count one query, as `are_outside` does; the counts are for its k."""
        count = len(distances)
        self.recent.append((words, None, distances))
        inside = count == self.k and bool(distances[-1] <= limit)
        return self._add(1, int(inside), entries)

    def are_for(self, k: int) -> bool:
        """Return whether queries with k are counted; the counts begin again if k has changed."""
        if self.done or k == 1:
            return False
        if k != self.k:
            self.k = k
            self.queries = 0
            self.outside = 0
            self.wait_until = 0
            self.recent.clear()
        return True

    def _add(self, queries: int, inside: int, entries: Callable[[], int]) -> bool:
        self.queries += queries
        self.outside += queries - inside
        fewest = max(FEWEST_QUERIES, SHARE * self.queries)
        if self.queries < self.wait_until or self.outside < fewest:
            return False
        return entries() >= ENTRIES_PER_NEIGHBOR * self.k

    def answered(self) -> Answered:
        """Return the last queries, and the distances of their answers."""
        rows = []
        for _, offsets, distances in self.recent:
            bounds = [0, len(distances)] if offsets is None else offsets.tolist()
            for start, stop in pairwise(bounds):
                row = np.full(self.k, np.inf)
                row[: stop - start] = distances[start:stop]
                rows.append(row)
        words = np.concatenate([words for words, _, _ in self.recent])
        distances = np.array(rows, np.float64)
        return Answered(words[-MEASURED_QUERIES:], distances[-MEASURED_QUERIES:])

    def wait(self) -> None:
        """Count anew, and measure the recall again after as many queries as so far."""
        self.wait_until = self.queries
        self.queries = 0
        self.outside = 0

    def advice(self, plan: NeighborsPlan, measured: MeasuredRecall | None) -> str:
        """Return the warning; `measured` is None if nearest entries are not known."""
        bound = f"radius {plan.radius:.4g}"
        if plan.threshold is not None:
            bound = f"threshold {plan.threshold:.4g}"
        remedy = "Pass a larger radius, or a sample of points and k, to NearNeighbors"
        recall = ""
        if measured is not None:
            radius = measured.radius
            argument = f"radius={_rounded_up(radius):g}"
            if plan.threshold is not None:
                argument = f"threshold={-_rounded_up(-math.cos(radius)):g}"
            count = len(measured.recalls)
            share = f"{INSIDE:.0%} of {count} queries"
            remedy = f"With {argument}, {share} have k entries within the bound"
            mean = f"{measured.recalls.mean():.0%}"
            recall = f"{count} queries found {mean} of their k nearest entries: "
        return (
            f"{self.outside} of {self.queries} queries found fewer than k={self.k} entries within "
            f"the {bound}. {recall}the recall of {plan.recall:.4g} is promised within it only, and "
            f"entries beyond it are found less often or not at all. {remedy}. index.scan(queries, "
            "k) finds the k nearest at any distance, by computing all distances"
        )


class MeasuredRecall(NamedTuple):
    """The shares of the k nearest entries that queries found, and a sufficient radius."""

    recalls: Float64Array
    radius: float

    @classmethod
    def of(cls, answers: Float64Array, nearest: Float64Array) -> MeasuredRecall:
        """Compare distances of answers and of the k nearest entries, (m, k), ascending."""
        recalls = np.mean(answers <= nearest[:, -1:], axis=1)
        return cls(recalls, float(np.quantile(nearest[:, -1], INSIDE)))

    def is_low(self, promised: float) -> bool:
        """Return whether the mean recall is below the promise, by more than its standard error."""
        error = float(self.recalls.std()) / math.sqrt(len(self.recalls))
        return float(self.recalls.mean()) + error < promised


def advice_of(counts: NeighborCounts, search: NeighborSearch, promised: float) -> str:
    """Return the text of the warning, "" if the last queries keep the promise; count anew."""
    answered = counts.answered()
    distances = search.distances_of_format(answered.distances)
    advice = ""
    if not is_clearly_kept(promised, search.plan, distances):
        measured = measured_recall(answered.words, distances, search)
        if measured is None:
            is_low = bool(np.isinf(distances[:, -1]).mean() >= SHARE)
        else:
            is_beyond = measured.radius > search.plan.radius
            is_low = is_beyond and measured.is_low(promised)
        if is_low:
            advice = counts.advice(search.plan, measured)
    counts.done = bool(advice)
    counts.wait()
    return advice


def measured_recall(
    words: UInt64Array, distances: Float64Array, search: NeighborSearch
) -> MeasuredRecall | None:
    """Compare the answers to the last queries with all entries; None if these cannot be read.

    Also None if a query has fewer than k entries, or there are too many entries.
    """
    count, k = distances.shape
    last_count = measured_queries(len(search.store), count)
    if last_count == 0 or not search.store.scans:
        return None
    first = count - last_count
    nearest = search.nearest_of_all(words[first:], k, thread_count(None)).distance
    if len(nearest) != last_count * k:
        return None
    nearest = search.distances_of_format(nearest).reshape(last_count, k)
    return MeasuredRecall.of(distances[first:], nearest)


def is_clearly_kept(
    promised: float, plan: NeighborsPlan, distances: Float64Array
) -> bool:
    """Return whether queries with answers at these distances keep the promise by the plan.

    Missing answers are at infinity.
    """
    # The i-th nearest entry is not farther away than the i-th answer, so it is found at least as
    # often.
    finite_distances = distances[np.isfinite(distances)]
    if not len(finite_distances):
        return False
    curve = np.linspace(0, float(finite_distances.max()), CURVE_POINTS)
    recall = (
        float(np.interp(finite_distances, curve, plan.recall_at(curve)).sum())
        / distances.size
    )
    return 1 - recall <= CLEAR_MISSES * (1 - promised)


def measured_queries(entries: int, queries: int) -> int:
    """Return the number of queries whose nearest entries are computed; 0 for too many entries."""
    return min(queries, MOST_DISTANCES // max(1, entries))


def _rounded_up(number: float) -> float:
    """Return a number with three significant digits that is not below it."""
    if number == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(number))) - 2)
    return math.ceil(number / unit) * unit
