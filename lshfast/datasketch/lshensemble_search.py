"""The search of MinHashLSHEnsemble: how many slots must be equal, and the trees that find sets.

datasketch returns a set of Jaccard similarity s to the query if one of b bands of r slots is equal,
which has the probability 1 - (1 - s**r)**b. The number of equal slots is a better criterion.
Consider all rules that return a set at the threshold with at least that probability. Among these, a
minimum number of equal slots finds the most sets above the threshold and the fewest sets below it
(Lehmann and Romano, Testing Statistical Hypotheses, theorem 3.4.1). Therefore recall and precision
of this rule are at least as high as datasketch's, for any data.

At high thresholds datasketch loses most of the recall. A second rule therefore also returns a set
whose estimated containment is about the threshold or more, if it can be distinguished from sets
that contain half as much. This rule can reduce the precision if many sets contain slightly less
than the threshold.
"""

from __future__ import annotations

from functools import lru_cache
from math import lgamma

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.index.search_plan import choose_steps
from lshfast.kernels.trees import Run, Snapshot, slot_marks

# The fraction of the sets with enough equal slots that searches find.
RECALL = 0.999

# The number of similarities for which numbers of equal slots are tabulated: the midpoints of equal
# parts of [0, 1].
CELLS = 1 << 12

# The second rule: the number of standard errors by which the equal slots may be below the number
# expected at the threshold, and the probability with which a set that contains half as much has
# that many equal slots. With sets of 10 to 2,000 elements and queries of 100 at threshold 0.9,
# recall is 0.67 at precision 0.58; the first rule alone has 0.25 and 0.72, datasketch 0.22 and
# 0.23. With 1.6 standard errors the precision over real texts at threshold 0.95 is below that of
# datasketch.
SLACK = 0.8
DOUBT = 1e-3


class Search:
    """Sorted trees over the rows of an ensemble, one group for each partition; immutable.

    Parameters
    ----------
    rows : ndarray of uint64, shape (n, k)
        No row begins with EMPTY.
    sizes : ndarray of int64, shape (n,)
    uppers : ndarray of int64, shape (p,)
        The greatest size of each partition, ascending.
    """

    def __init__(
        self, rows: UInt64Array, sizes: Int64Array, uppers: Int64Array
    ) -> None:
        n, self._k = rows.shape
        trees = max(self._k // 4, 1)
        self._sizes = sizes
        self._uppers = uppers
        self._parts = np.searchsorted(uppers, sizes)
        runs = []
        for part in range(len(uppers)):
            members = np.flatnonzero(self._parts == part)
            runs.append(Run.build(rows, members, trees, True))
        total = np.zeros(len(runs[0].crowds))
        for run in runs:
            total += np.maximum(run.crowds - 1, 0)
        crowds = total / len(runs)
        rounded = np.rint(2 * np.log2(1 + crowds)).astype(np.int64).tolist()
        steps = choose_steps(self._k, trees, RECALL, tuple(rounded), 1, True)
        self._enough = -steps[:, 2].astype(np.int64)
        groups = [[run] for run in runs]
        live = np.ones(n, np.uint8)
        # If a set and a query have one element each, the kernel's containment depends only on the
        # equal slots.
        ones = np.ones(n, np.int64)
        self._snapshot = Snapshot(
            rows, slot_marks(rows), live, ones, trees, groups, [], steps, [], True
        )

    def query(
        self,
        row: UInt64Array,
        size: int,
        threshold: float,
        xqs: Float64Array,
        cutoffs: Int64Array,
    ) -> tuple[Int64Array, Float64Array]:
        """Return the numbers of the sets found and their containments, the most likely first.

        Parameters
        ----------
        row : ndarray of uint64, shape (k,)
        size : int
        threshold : float
        xqs : ndarray of float64, shape (c,)
        cutoffs : ndarray of int64, shape (c, CELLS)
            The number of equal slots required for each ratio of sizes and each similarity.
        """
        k = self._k
        least_common = threshold * size
        ratio_numbers = np.minimum(
            np.searchsorted(xqs, self._uppers / size), len(xqs) - 1
        )
        least = cutoffs[ratio_numbers, _cells(self._uppers, size, least_common)]
        counts = np.minimum(
            np.searchsorted(self._enough, -least) + 1, len(self._enough)
        )
        counts[self._uppers < least_common * (1 - 1e-12)] = 0
        fewest = int(least.min())
        reached = 2 * fewest / (k + fewest) * (1 - 1e-12)
        one = np.ones(1, np.int64)
        searched = counts.astype(np.uint32)[None]
        _, numbers, shares = self._snapshot.within(row[None], one, searched, reached)
        equal = np.rint(k * shares / (2 - shares))
        sizes = self._sizes[numbers]
        ratios = ratio_numbers[self._parts[numbers]]
        enough = equal >= cutoffs[ratios, _cells(sizes, size, least_common)]
        enough &= sizes >= least_common * (1 - 1e-12)
        numbers = numbers[enough]
        equal = equal[enough]
        sizes = sizes[enough]
        greatest = np.minimum(sizes / size, 1)
        containments = np.minimum(
            equal * (size + sizes) / ((k + equal) * size), greatest
        )
        order = np.lexsort((numbers, -containments))
        return numbers[order], containments[order]


def _cells(sizes: Int64Array, size: int, common: float) -> Int64Array:
    """Return the cells of the similarities of sets with `common` elements of the query."""
    similarity: Float64Array = common / np.maximum(sizes + (size - common), common)
    return np.asarray(np.minimum(similarity * CELLS, CELLS - 1), np.int64)


@lru_cache(16)
def cutoffs_of(
    params: tuple[tuple[int, int], ...], num_perm: int
) -> npt.NDArray[np.int64]:
    """Return the numbers of equal slots required: int64 (len(params), CELLS), in 1..num_perm.

    Parameters
    ----------
    params : tuple of (int, int)
        Bands and rows (b, r).
    num_perm : int
    """
    s = (int64_range(CELLS) + 0.5) / CELLS
    b, r = (
        np.array(column, np.float64)[:, None] for column in zip(*params, strict=True)
    )
    probability = -np.expm1(b * np.log1p(-(s**r)))
    as_often = _most_equal(s, probability, num_perm)
    distinguishable = (
        _most_equal(s / (2 + s), np.full((1, CELLS), DOUBT, np.float64), num_perm) + 1
    )
    expected = np.ceil(s * num_perm - SLACK * np.sqrt(s * (1 - s) * num_perm))
    cutoffs: npt.NDArray[np.int64] = np.minimum(
        as_often, np.maximum(distinguishable, expected)
    ).astype(np.int64)
    cutoffs.flags.writeable = False  # it is cached
    return cutoffs


def _most_equal(
    s: Float64Array, probability: Float64Array, num_perm: int
) -> Int64Array:
    """Return the greatest number of slots that are equal with at least a probability.

    It is at least 1.

    Parameters
    ----------
    s : ndarray of float64, shape (c,)
        The probability that a slot is equal.
    probability : ndarray of float64, shape (p, c)
    num_perm : int
    """
    tail = np.zeros_like(s)
    most = np.ones(probability.shape, np.int64)
    log_s = np.log(s)
    log_other = np.log1p(-s)
    ways = lgamma(num_perm + 1)
    for equal in range(num_perm, 1, -1):
        log_ways = ways - lgamma(equal + 1) - lgamma(num_perm - equal + 1)
        tail += np.exp(log_ways + equal * log_s + (num_perm - equal) * log_other)
        np.copyto(most, equal, where=(most == 1) & (tail * (1 + 1e-9) >= probability))
    return most
