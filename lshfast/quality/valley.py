"""Whether a histogram of similarities has a clear valley between texts and changed copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lshfast._common.types import Float64Array
from lshfast.quality.intervals import Estimate

# At a clear valley, pairs are at most this share of those on both sides, and the intervals do not
# overlap.
DEPTH = 0.5


def valley(edges: Float64Array, counts: Sequence[Estimate]) -> float | None:
    """Return the similarity at the bottom of a clear valley, or None if there is none.

    A bin is in a valley if on each side there is a bin with at least twice as many pairs, beyond
    what chance explains. Of several, the one with the fewest pairs is chosen, and of a flat bottom
    the middle.
    """
    deep = []
    for at, here in enumerate(counts):
        before = counts[:at]
        after = counts[at + 1 :]
        if all(any(_higher(other, here) for other in side) for side in (before, after)):
            deep.append(at)
    if not deep:
        return None
    least = min(counts[at].value for at in deep)
    bottom = [at for at in deep if counts[at].value <= least]
    middle = bottom[len(bottom) // 2]
    return float(np.round((edges[middle] + edges[middle + 1]) / 2, 2))


def _higher(other: Estimate, here: Estimate) -> bool:
    return here.value <= DEPTH * other.value and here.high < other.low
