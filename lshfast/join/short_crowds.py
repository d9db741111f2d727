"""Short rows that would be a crowd: they are joined before they are sketched.

A crowd of short rows is placed by an exact join of all its rows (short_rows.py), and most rows of tiny texts are in no
similar pair. If a sample shows that nearly all rows are going to be in a crowd, only rows in similar pairs are sketched.
The pairs are those that the walk would find.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lshfast.banding.bands import Bands
from lshfast.common.types import Int64Array, UInt64Array
from lshfast.join.banded import number_buckets
from lshfast.join.group_pairs import CROWD, Comparison, by_preference, sorted_pairs
from lshfast.join.jaccard import verify
from lshfast.join.set_ranks import Collection
from lshfast.join.short_rows import similar_rows
from lshfast.kernels import grouping as kernels
from lshfast.kernels.bands import sorted_numbers

# Rows of the sample, and how many times as many rows there are at least.
SAMPLE_ROWS = 1024
LEAST_SHARE = 8


def meet_many(keys: UInt64Array, copies: Int64Array, n: int) -> bool:
    """Return whether n rows meet so many others on average that they are a crowd, by the keys of a sample of them."""
    rows = np.arange(len(keys), dtype=np.int64)
    rows = rows[copies == rows]
    buckets, counts = number_buckets(keys, rows, 1)
    needed = CROWD * len(keys) * len(keys) // (2 * n) + 1
    pairs = kernels.RowPairs(buckets, counts, np.empty((len(keys), 1), np.uint64), rows, 0)
    return len(pairs.batch(needed)[0]) == needed


def pairs_of_short_crowd(
    collection: Collection,
    sketch: Callable[[Int64Array], UInt64Array],
    bands: Bands,
    comparison: Comparison,
    *,
    preference: npt.ArrayLike | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[npt.NDArray[np.void], int] | None:
    """Return what `pairs_for_groups` returns; None if there are so many similar pairs that it should be called.

    Parameters
    ----------
    collection : Collection
        The rows as sets of tokens; they are compared by Jaccard similarity.
    sketch : callable
        Returns the signatures of some rows, uint64 (m, k).
    bands : Bands
    comparison : Comparison
        `exact` is true, and the measure is "jaccard".
    preference
        As for `pairs_for_groups`.
    progress : callable, optional
        Called with (rows done, rows).
    """
    threads = comparison.threads
    found = similar_rows(collection, comparison.threshold, comparison.measure, threads, progress)
    if found is None:
        return None
    similar, compared = found
    walked, similar = _placed(similar, len(collection.sets), collection.copies, preference)
    signatures = sketch(walked)
    least = comparison.least_slots(signatures.shape[1])
    pairs = kernels.find_banded_pairs(similar, signatures, bands.bands, bands.rows, least, comparison.chains)
    i, j = (walked[places] for places in _ends(pairs))
    return sorted_pairs(i, j, verify(collection.sets, i, j, 0.0, threads=threads)["similarity"]), compared


def _placed(
    similar: UInt64Array, n: int, copies: Int64Array, preference: npt.ArrayLike | None
) -> tuple[Int64Array, UInt64Array]:
    """Return the rows in similar pairs in order of preference, and the pairs of their places, sorted."""
    ends = _ends(similar)
    paired = np.zeros(n, np.bool_)
    for rows in ends:
        paired[rows] = True
    walked = by_preference(np.flatnonzero(paired), n, copies, preference)
    places = np.empty(n, np.uint64)
    places[walked] = np.arange(len(walked), dtype=np.uint64)
    left, right = (places[rows] for rows in ends)
    return walked, sorted_numbers(np.maximum(left, right) << np.uint64(32) | np.minimum(left, right))


def _ends(pairs: UInt64Array) -> tuple[Int64Array, Int64Array]:
    """Return the two rows of pairs that are numbers."""
    return (pairs & np.uint64(2**32 - 1)).astype(np.int64), (pairs >> np.uint64(32)).astype(np.int64)
