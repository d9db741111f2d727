"""Which components are compared in one part, given the memory that each takes."""

from __future__ import annotations

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.rows import int64_range, run_begins
from lshfast._common.types import Int64Array


class PartNumbers:
    """Number the parts of components, which come in order, any number of them at a time.

    A component that takes more than half of the memory of a part is a part of its own; these follow
    all others. The costs of the others are divided at multiples of that half, so no part of several
    components exceeds the memory. Of each part, 8 bytes are held.

    Parameters
    ----------
    most : int
        The memory of a part.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._shared_cost = 0
        # Which multiple the last part of several components begins at.
        self._last_multiple = np.empty(0, np.int64)
        self._shared_parts = GrowingArray(np.int64)
        self._large_parts = GrowingArray(np.int64)

    def of(self, costs: Int64Array) -> Int64Array:
        """Return provisional numbers of the parts of the next components; see `final`."""
        is_large = 2 * costs > self._most
        large_costs = costs[is_large]
        numbers = np.empty(len(costs), np.int64)
        numbers[~is_large] = self._shared(costs[~is_large])
        # Provisional numbers of large components are negative.
        numbers[is_large] = -1 - len(self._large_parts) - int64_range(len(large_costs))
        self._large_parts.extend(large_costs)
        return numbers

    def _shared(self, costs: Int64Array) -> Int64Array:
        ends = self._shared_cost + np.cumsum(costs, dtype=np.int64)
        multiples = np.concatenate(
            [self._last_multiple, 2 * (ends - costs) // max(self._most, 2)]
        )
        begins = run_begins(multiples)[len(self._last_multiple) :]
        numbers = len(self._shared_parts) - 1 + np.cumsum(begins, dtype=np.int64)
        self._shared_parts.extend(np.zeros(np.count_nonzero(begins), np.int64))
        np.add.at(self._shared_parts.rows(), numbers, costs)
        self._shared_cost = int(ends[-1]) if len(ends) else self._shared_cost
        self._last_multiple = multiples[-1:]
        return numbers

    def final(self, numbers: Int64Array) -> Int64Array:
        """Return the numbers of parts for provisional ones, when all components have come."""
        return np.where(numbers < 0, len(self._shared_parts) - 1 - numbers, numbers)

    def costs(self) -> Int64Array:
        """Return the memory of each part."""
        return np.concatenate([self._shared_parts.rows(), self._large_parts.rows()])
