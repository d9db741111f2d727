"""All similar pairs in ascending order, a batch at a time: memory grows with the rows, not with the pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lshfast.common.types import Int64Array, UInt64Array
from lshfast.join.banded import number_buckets
from lshfast.join.group_pairs import Comparison
from lshfast.join.groups import first_copies
from lshfast.join.jaccard import Rows, as_pairs, estimate, least_agreement, verify
from lshfast.kernels import grouping as kernels

# Candidates that are verified at once. Where there are no more, each row's tokens are made once.
BATCH_PAIRS = 1 << 21


class AllPairs:
    """The similar pairs of different rows that share a bucket.

    Parameters
    ----------
    rows : TokenSets, or what makes them for chosen rows
    signatures : ndarray of uint64, shape (n, k)
    keys : ndarray of uint64, shape (n, b)
        Bucket keys of the signatures.
    comparison : Comparison
        Its `chains` means nothing here.
    copies : ndarray of int64, shape (n,), optional
        Each row's first copy; the other copies are left out.
    """

    def __init__(
        self,
        rows: Rows,
        signatures: UInt64Array,
        keys: UInt64Array,
        comparison: Comparison,
        copies: Int64Array | None = None,
    ) -> None:
        self._rows, self._signatures, self._comparison = rows, signatures, comparison
        first = first_copies(len(keys), copies)
        members = np.flatnonzero(first == np.arange(len(keys), dtype=np.int64)).astype(np.int64)
        buckets, counts = number_buckets(keys, members, comparison.threads)
        meeting = np.flatnonzero((buckets >= 0).any(axis=1))
        self._candidates = kernels.RowPairs(
            np.ascontiguousarray(buckets[meeting]), counts, signatures, members[meeting], self._least()
        )

    def _least(self) -> int:
        """Return how many slots of a candidate must agree."""
        k, comparison = self._signatures.shape[1], self._comparison
        if comparison.exact:
            return least_agreement(k, comparison.threshold)
        return next(slots for slots in range(k + 1) if slots / k >= comparison.threshold)

    @property
    def candidates(self) -> int:
        """How many pairs that share a bucket were met so far."""
        return self._candidates.met

    @property
    def done(self) -> bool:
        """Whether there are no more candidates."""
        return self._candidates.done

    def next_candidates(self) -> tuple[Int64Array, Int64Array]:
        """Return the next candidates (i, j) that agree in enough slots, sorted; fewer than a batch only at the end."""
        return self._candidates.batch(BATCH_PAIRS)

    def verified(
        self, i: Int64Array, j: Int64Array, progress: Callable[[int, int], None] | None = None
    ) -> npt.NDArray[np.void]:
        """Return those of the candidates that are similar, a structured array of i, j, similarity."""
        if not self._comparison.exact:
            return as_pairs(i, j, estimate(self._signatures, i, j))
        threshold, threads = self._comparison.threshold, self._comparison.threads
        return verify(self._rows, i, j, threshold, threads=threads, progress=progress)
