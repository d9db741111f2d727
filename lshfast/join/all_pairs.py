"""All similar pairs in ascending order, in batches, in memory proportional to the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lshfast._common.types import Int64Array, PairArray, UInt64Array
from lshfast.join.banded import number_buckets
from lshfast.join.comparison import Comparison
from lshfast.join.copies import compared_rows, sketches_of
from lshfast.join.jaccard import Rows, verify
from lshfast.join.pair_arrays import as_pairs
from lshfast.join.screening import estimate
from lshfast.kernels import grouping as kernels

# Candidates in one batch. If one batch holds all of them, the tokens of each row are computed once.
BATCH_PAIRS = 1 << 21


class AllPairs:
    """The similar pairs of different rows that share a bucket.

    Parameters
    ----------
    rows : TokenSets, or an object with the interface `Rows`
    signatures : ndarray of uint64, shape (m, k)
    keys : ndarray of uint64, shape (m, b)
        Bucket keys of the signatures.
    comparison : Comparison
        `chains` is not used.
    copies : ndarray of int64, shape (n,), optional
        The first copy of each row. Only first copies are compared.
    sketched : ndarray of int64, shape (m,), optional
        The rows of the signatures, ascending; all n rows by default. The other rows are in no pair.
    """

    def __init__(
        self,
        rows: Rows,
        signatures: UInt64Array,
        keys: UInt64Array,
        comparison: Comparison,
        copies: Int64Array | None = None,
        sketched: Int64Array | None = None,
    ) -> None:
        self._rows = rows
        self._signatures = signatures
        self._comparison = comparison
        self._sketched = sketched
        _, first_rows = compared_rows(len(keys), copies, sketched)
        members = sketches_of(first_rows, sketched)
        buckets, counts = number_buckets(keys, members, comparison.threads)
        meeting = np.flatnonzero((buckets >= 0).any(axis=1))
        self._candidates = kernels.RowPairs(
            np.ascontiguousarray(buckets[meeting]),
            counts,
            signatures,
            members[meeting],
            comparison.least_shared(signatures.shape[1]),
        )

    @property
    def candidates(self) -> int:
        """The number of pairs sharing a bucket that were found so far."""
        return self._candidates.met

    @property
    def done(self) -> bool:
        """Whether there are no more candidates."""
        return self._candidates.done

    def next_candidates(self, most: int | None = None) -> tuple[Int64Array, Int64Array]:
        """Return the next `most` candidates (i, j) with enough equal slots, sorted."""
        most = BATCH_PAIRS if most is None else most
        i, j = self._candidates.batch(most)
        if self._sketched is None:
            return i, j
        return self._sketched[i], self._sketched[j]

    def verified(
        self,
        i: Int64Array,
        j: Int64Array,
        progress: Callable[[int, int], None] | None = None,
    ) -> PairArray:
        """Return the similar pairs among candidates, with fields i, j and similarity."""
        if not self._comparison.exact:
            left, right = (sketches_of(rows, self._sketched) for rows in (i, j))
            return as_pairs(i, j, estimate(self._signatures, left, right))
        comparison = self._comparison
        return verify(
            self._rows,
            i,
            j,
            comparison.threshold,
            measure=comparison.measure,
            threads=comparison.threads,
            progress=progress,
        )
