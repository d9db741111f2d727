"""The partitions by size of datasketch's ensemble (Zhu, Nargesian, Pu and Miller 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["optimal_partitions"]


def optimal_partitions(
    sizes: npt.ArrayLike, counts: npt.ArrayLike, num_part: int
) -> list[tuple[Any, Any]]:
    """Return the partitions by size that cause the fewest false positives.

    A partition with the greatest size u is searched as if all its sets had that size, which causes
    about ``(u - x) / u`` false positives for a set of x elements. The partitions minimise their
    sum.

    Parameters
    ----------
    sizes : array_like of int, shape (n,)
        All distinct sizes in ascending order, at least 1.
    counts : array_like of int, shape (n,)
        The number of sets of each size.
    num_part : int
        The number of partitions; there are never more than sizes.

    Returns
    -------
    list of (lower, upper)
        The smallest and the greatest size of each partition, in ascending order.

    Raises
    ------
    ValueError
        If sizes and counts differ in length.

    Examples
    --------
    >>> [
    ...     (int(lower), int(upper))
    ...     for lower, upper in optimal_partitions([1, 2, 50, 60], [5, 5, 5, 5], 2)
    ... ]
    [(1, 2), (50, 60)]
    """
    size = np.asarray(sizes)
    count = np.asarray(counts, np.float64)
    n = len(size)
    if len(count) != n:
        raise ValueError(
            f"there must be a count for each size, not {len(count)} for {n}"
        )
    if num_part < 2 or n < 2:
        return [(size[0], size[-1])] if n else []
    if num_part >= n:
        return [(one, one) for one in size]
    # The number of smaller sets, and the sum of their sizes.
    below = np.concatenate([[0], np.cumsum(count, dtype=np.float64)])
    total = np.concatenate([[0], np.cumsum(count * size, dtype=np.float64)])

    def costs(upper: int) -> npt.NDArray[np.float64]:
        """Return the cost of the partition from each size up to `upper`."""
        starts = slice(0, upper + 1)
        cost: npt.NDArray[np.float64] = (below[upper + 1] - below[starts]) - (
            total[upper + 1] - total[starts]
        ) / size[upper]
        return cost

    # Of all sizes up to each, in one partition.
    best = np.array([costs(upper)[0] for upper in range(n)], np.float64)
    starts = np.zeros((num_part, n), np.int64)
    for part in range(1, num_part):
        before = best
        best = best.copy()
        for upper in range(part, n):
            cost = costs(upper)[part:] + before[part - 1 : upper]
            place = int(np.argmin(cost))
            best[upper] = cost[place]
            starts[part, upper] = part + place
    partitions = []
    upper = n - 1
    for part in range(num_part - 1, -1, -1):
        start = int(starts[part, upper])
        partitions.append((size[start], size[upper]))
        upper = start - 1
    return partitions[::-1]
