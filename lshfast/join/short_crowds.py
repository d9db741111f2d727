"""Crowds of short rows that are joined before they are sketched.

A crowd of short rows is placed by an exact join of all its rows (short_rows.py). If a sample shows
that the rows are a crowd, the join comes first, and only the rows in similar pairs are sketched,
two in five of 100,000 tiny texts. The pairs are those that the walk would find.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range, parts_of_rows
from lshfast._common.types import Int64Array, PairArray, UInt64Array
from lshfast.banding.bands import Bands
from lshfast.join.banded import number_buckets
from lshfast.join.comparison import CROWD, Comparison
from lshfast.join.copies import find_copies
from lshfast.join.group_pairs import by_preference
from lshfast.join.jaccard import verify
from lshfast.join.pair_arrays import PIECE, sorted_pairs
from lshfast.join.set_ranks import Collection
from lshfast.join.short_rows import similar_rows
from lshfast.kernels import grouping as kernels
from lshfast.kernels.bands import sorted_numbers
from lshfast.sketch.minhash import MinHasher
from lshfast.tokens import TokenSets

# The rows of the sample, and the number of rows for each of them below which no sample is taken:
# then the rows take no noticeable time.
SAMPLE_ROWS = 1024
LEAST_SHARE = 8


def are_crowd(
    sample: TokenSets, n: int, hasher: MinHasher, bands: Bands, threshold: float
) -> bool:
    """Return whether a random row shares buckets with more than CROWD dissimilar rows.

    This is estimated from a sample of the n rows.
    """
    signatures = hasher.sketch(sample, threads=1)
    numbers = int64_range(len(sample))
    rows = numbers[find_copies(sample) == numbers]
    buckets, counts = number_buckets(bands.keys(signatures), rows, 1)
    pairs = kernels.RowPairs(
        buckets, counts, signatures, rows, math.ceil(threshold * hasher.num_perm)
    )
    similar = len(pairs.batch(len(sample) ** 2)[0])
    return 2 * (pairs.met - similar) * n > CROWD * len(sample) ** 2


def pairs_of_short_crowd(
    collection: Collection,
    sketch: Callable[[Int64Array], UInt64Array],
    bands: Bands,
    comparison: Comparison,
    *,
    preference: npt.ArrayLike | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[PairArray, int] | None:
    """Return the result of `pairs_for_groups`; None if there are too many similar pairs.

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
    result = similar_rows(collection, comparison, progress)
    if result is None:
        return None
    similar, compared = result
    walked, similar = _placed(similar, collection.copies, preference)
    signatures = sketch(walked)
    least = comparison.least_slots(signatures.shape[1])
    pairs = kernels.find_banded_pairs(
        similar, signatures, bands.bands, bands.rows_per_band, least, comparison.chains
    )
    i, j = (walked[places] for places in _ends(pairs))
    similarity = verify(collection.sets, i, j, 0.0, threads=threads)["similarity"]
    return sorted_pairs(i, j, similarity), compared


def _placed(
    similar: UInt64Array, copies: Int64Array, preference: npt.ArrayLike | None
) -> tuple[Int64Array, UInt64Array]:
    """Return the rows in similar pairs by preference, and the sorted pairs of their places."""
    n = len(copies)
    parts = [similar[part] for part in parts_of_rows(len(similar), PIECE)]
    paired = np.zeros(n, np.bool_)
    for part in parts:
        for rows in _ends(part):
            paired[rows] = True
    paired_rows = by_preference(np.flatnonzero(paired), copies, preference)
    places = np.empty(n, np.uint64)
    places[paired_rows] = np.arange(len(paired_rows), dtype=np.uint64)
    for part in parts:  # in place, in little memory
        left_places, right_places = (places[rows] for rows in _ends(part))
        part[:] = np.maximum(left_places, right_places) << np.uint64(32) | np.minimum(
            left_places, right_places
        )
    return paired_rows, sorted_numbers(similar)


def _ends(pairs: UInt64Array) -> tuple[Int64Array, Int64Array]:
    """Return the two rows of pairs that are numbers."""
    low = pairs & np.uint64(2**32 - 1)
    high = pairs >> np.uint64(32)
    return low.astype(np.int64), high.astype(np.int64)
