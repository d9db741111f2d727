"""Search of codes by Tanimoto similarity: segments ordered by numbers of ones, and pairs.

The similarity of two codes is the number of ones that they have in common, divided by the number of
bits that are one in either. Codes with a and b ones are similar by t only if a is in t b .. b / t.
So only these are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_number
from lshfast._common.progress import Progress
from lshfast._common.threads import ordered_map, thread_count
from lshfast._common.types import Float64Array, UInt64Array
from lshfast.families.packed import codes_of
from lshfast.index.hamming.hits import LOW32, query_of, rows_of
from lshfast.index.hamming.rows import CodeView
from lshfast.index.key_pairs import KeyPairs
from lshfast.kernels import hamming as kernels

# Codes whose pairs are searched at a time.
PIECE_QUERIES = 512

# Codes of a segment that stand for queries, where it is described.
SAMPLE = 1024


@dataclass(frozen=True)
class CountedSegment:
    """Consecutive rows, and their order by numbers of ones."""

    first: int
    end: int
    counted: kernels.Counted

    @property
    def nbytes(self) -> int:
        """Bytes of the order."""
        return self.counted.nbytes

    def move(self, codes: UInt64Array) -> None:
        """Refer to a copy of the codes from now on."""
        self.counted.move(codes)

    def read(self, least: float) -> float:
        """Return the mean number of codes that a query is compared with.

        The query has as many ones as one of them.
        """
        ones = self.counted.ones.astype(np.float64)
        queries = ones[:: -(-len(ones) // SAMPLE)]
        reads = np.searchsorted(ones, queries / least, "right") - np.searchsorted(
            ones, queries * least, "left"
        )
        return float(reads.mean())


def counted_segment(codes: UInt64Array, first: int) -> CountedSegment:
    """Return a segment over codes."""
    return CountedSegment(
        first, first + len(codes), kernels.Counted(codes, ordered=True)
    )


def _parts(view: CodeView[CountedSegment]) -> list[CountedSegment]:
    """Return the segments, and the rows after them as one without an order."""
    unsorted = kernels.Counted(view.codes[view.tail : view.used], ordered=False)
    return [*view.segments, CountedSegment(view.tail, view.used, unsorted)]


def searcher(
    view: CodeView[CountedSegment], least: float
) -> Callable[[UInt64Array], tuple[UInt64Array, Float64Array]]:
    """Return a function of queries that returns the rows with at least this similarity to them.

    It returns (query << 32 | row, similarity): the queries ascend, and of each the most similar
    rows come first.
    """
    parts = _parts(view)

    def search(queries: UInt64Array) -> tuple[UInt64Array, Float64Array]:
        hits_of_parts = [
            part.counted.within(
                queries, least, view.alive(part.first, part.end), part.first
            )
            for part in parts
        ]
        hits = np.concatenate(hits_of_parts)
        pairs = query_of(hits).astype(np.uint64) << np.uint64(32) | hits & LOW32
        similarity = kernels.similarities(view.codes, queries, pairs)
        order = np.lexsort((pairs & LOW32, -similarity, pairs >> np.uint64(32)))
        return pairs[order], similarity[order]

    return search


def ranker(
    view: CodeView[CountedSegment], k: int
) -> Callable[[UInt64Array], tuple[UInt64Array, Float64Array]]:
    """Return a function that returns the k most similar rows of queries, as for `searcher`."""
    parts = _parts(view)

    def search(queries: UInt64Array) -> tuple[UInt64Array, Float64Array]:
        best = kernels.Best(len(queries), k)
        for part in parts:
            best.similar(
                part.counted, queries, view.alive(part.first, part.end), part.first
            )
        counts, hits = best.hits()
        query = np.repeat(np.arange(len(queries), dtype=np.uint64), counts)
        pairs = query << np.uint64(32) | hits & LOW32
        return pairs, kernels.similarities(view.codes, queries, pairs)

    return search


def check_least_similarity(threshold: float) -> float:
    """Return a least similarity, or raise an error: it must be above 0 and at most 1."""
    value = check_number("threshold", threshold)
    if not 0 < value <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1, not {threshold}")
    return value


def tanimoto_pairs(
    codes: npt.ArrayLike,
    threshold: float,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> KeyPairs:
    """Find all pairs of codes whose Tanimoto similarity is at least a threshold.

    The answer is exact. The codes are ordered by their numbers of ones, and only pairs whose
    numbers allow the similarity are compared.

    Parameters
    ----------
    codes : array_like
        n codes of up to 4,096 bits, in a form of `dedup_codes`.
    threshold : float
        The least similarity, above 0 and at most 1.
    threads : int, optional
        At least 1. The default is the number of CPUs that this process may use. The result does not
        depend on it.
    progress : callable, optional
        Called from time to time with ("pairs", steps done, steps in total).

    Returns
    -------
    KeyPairs
        Rows left < right, sorted by (left, right), and their similarities. Codes without ones are
        in no pair.

    Raises
    ------
    TypeError
        If the codes have another form, or an argument has the wrong type.
    ValueError
        If an argument has the wrong shape or is out of range.

    Warns
    -----
    DecimalCodesWarning
        If all codes are texts of decimal digits, which are read as hexadecimal.

    See Also
    --------
    lshfast.TanimotoIndex : An exact index of codes by Tanimoto similarity.
    lshfast.hamming_pairs : Find all pairs of codes within a Hamming distance.

    Notes
    -----
    The similarity is the number of bits that are one in both codes, divided by the number of those
    that are one in either, as a float64. A pair is found if this number is not less than
    `threshold`.

    The time is proportional to the number of pairs whose numbers of ones allow the similarity. The
    codes are copied. The pairs are in memory, at least 40 bytes each.

    References
    ----------
    S. J. Swamidass, P. Baldi, "Bounds and Algorithms for Fast Exact Searches of Chemical
    Fingerprints in Linear and Sublinear Time", J. Chem. Inf. Model. 47, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import tanimoto_pairs
    >>> codes = np.array([0b1111, 0b0111, 0b1100_0000, 0], np.uint64)
    >>> list(tanimoto_pairs(codes, 0.7))
    [(0, 1, 0.75)]
    """
    array = codes_of(codes, None)
    least = check_least_similarity(threshold)
    row_pairs = pairs_similar(array, least, thread_count(threads), progress)
    left_rows, right_rows = rows_of(row_pairs)
    return KeyPairs(
        left_rows, right_rows, kernels.similarities(array, array, row_pairs)
    )


def pairs_similar(
    codes: UInt64Array,
    least: float,
    threads: int,
    progress: Progress | None = None,
    piece: int = PIECE_QUERIES,
) -> UInt64Array:
    """Return the pairs with a similarity of at least `least`: lower row << 32 | greater, sorted.

    `piece` codes are compared with the others at a time.
    """
    if len(codes) >= kernels.MAX_ROWS:
        raise OverflowError(
            f"there can be at most {kernels.MAX_ROWS - 1} codes, not {len(codes)}"
        )
    counts = kernels.ones(codes)
    order = np.argsort(counts, kind="stable")[np.count_nonzero(counts == 0) :]
    ordered = codes[order]
    counts = counts[order]

    def search(start: int) -> UInt64Array:
        end = min(start + piece, len(ordered))
        last = int(np.searchsorted(counts, counts[end - 1] / least + 1, "right"))
        counted = kernels.Counted(ordered[start:last], ordered=False)
        hits = counted.within(ordered[start:end], least)
        query = query_of(hits)
        other = (hits & LOW32).astype(np.int64)
        later = other > query
        a = order[start + query[later]].astype(np.uint64)
        b = order[start + other[later]].astype(np.uint64)
        return np.minimum(a, b) << np.uint64(32) | np.maximum(a, b)

    parts_of_pairs = [np.empty(0, np.uint64)]
    starts = range(0, len(ordered), piece)
    for parts_done, part in enumerate(ordered_map(search, starts, threads), 1):
        parts_of_pairs.append(part)
        if progress:
            progress("pairs", parts_done, len(starts))
    return np.sort(np.concatenate(parts_of_pairs))
