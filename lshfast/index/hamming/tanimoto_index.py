"""TanimotoIndex: exact search of packed codes by Tanimoto similarity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int, check_most
from lshfast._common.choices import ItemMeasure
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.threads import thread_count
from lshfast._common.types import AnyShape, Float64Array, Matrix, UInt64Array
from lshfast.index.apart import IsApart, pairs_apart, similar_at_most
from lshfast.index.entry_file import EntryFile
from lshfast.index.hamming.code_index import CodeIndex
from lshfast.index.hamming.hits import rows_of
from lshfast.index.hamming.plan import MAX_BITS
from lshfast.index.hamming.rows import PIECE_QUERIES, CodeRows
from lshfast.index.hamming.similar import (
    CountedSegment,
    check_least_similarity,
    counted_segment,
    pairs_similar,
    ranker,
    searcher,
)
from lshfast.index.key_pairs import KeyPairs
from lshfast.index.matches import Match, Matches, in_pieces
from lshfast.index.stores.values import OnDuplicate, check_on_duplicate
from lshfast.kernels.hamming import MAX_ROWS, ones, similarities


class TanimotoIndex(CodeIndex[float, Match, Matches[Match]]):
    """Search packed codes exactly by Tanimoto similarity.

    It is the Jaccard similarity of their sets of ones.

    An entry is a key and a code, such as a molecule and its fingerprint. The similarity of two
    codes is the number of bits that are one in both, divided by the number of those that are one in
    either. It is 0 for two codes without ones; such a code is never found.

    Parameters
    ----------
    bits : int, default 2048
        Bits of a code, in 1..4096. A code is ceil(bits / 64) uint64 words, the lowest bit first;
        bits that are left over are zeros.
    threshold : float, default 0.7
        The least similarity by default of `within` and `pairs`, above 0 and at most 1. Other
        thresholds take other times, and are exact too.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        As for `HammingIndex`.

    Attributes
    ----------
    bits : int
    threshold : float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.tanimoto_pairs : Find all pairs of codes by Tanimoto similarity.
    lshfast.HammingIndex : An exact index of binary codes.

    Notes
    -----
    Codes are ordered by their numbers of ones. Codes with a and b ones are similar by t only if a
    is between t b and b / t, so a query reads only these. The codes are not copied; the order takes
    6 bytes per entry.

    Keys, duplicates, threads and memory are as for `HammingIndex`. Entries of the same similarity
    are in the order of their insertion; a replaced entry counts as inserted again. Up to 8,192 new
    codes are not yet ordered, and all of them are compared with each query.

    References
    ----------
    S. J. Swamidass, P. Baldi, "Bounds and Algorithms for Fast Exact Searches of Chemical
    Fingerprints in Linear and Sublinear Time", J. Chem. Inf. Model. 47, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import TanimotoIndex
    >>> index = TanimotoIndex(64)
    >>> index.insert(
    ...     ["a", "b", "c"], np.array([[0b1111], [0b0111], [0b1111_0000]], np.uint64)
    ... )
    3
    >>> index.within(np.array([0b1110], np.uint64), 0.5)
    [Match(key='a', similarity=0.75), Match(key='b', similarity=0.5)]
    >>> index.query(np.array([0b1110], np.uint64), k=1)
    [Match(key='a', similarity=0.75)]
    >>> list(index.pairs(0.7))
    [('a', 'b', 0.75)]
    """

    bits: int
    threshold: float
    _entries: CodeRows[CountedSegment]
    _bound = "threshold"

    def __init__(
        self,
        bits: int = 2048,
        *,
        threshold: float = 0.7,
        on_duplicate: OnDuplicate = "error",
    ) -> None:
        self.bits = check_int("bits", bits, 1, MAX_BITS)
        self.threshold = check_least_similarity(threshold)
        self.on_duplicate: OnDuplicate = check_on_duplicate(on_duplicate)
        self._entries = CodeRows(self.bits, counted_segment)

    # ---- queries ----

    @overload
    def within(
        self,
        codes: AnyShape[np.uint64],
        threshold: float | None = None,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def within(
        self,
        codes: Matrix[np.uint64],
        threshold: float | None = None,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> Matches[Match]: ...
    @overload
    def within(
        self,
        codes: npt.ArrayLike,
        threshold: float | None = None,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    def within(
        self,
        codes: npt.ArrayLike,
        threshold: float | None = None,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> list[Match] | Matches[Match]:
        """Find all entries with a least similarity to one code, or to each of m codes.

        Parameters
        ----------
        codes : array_like
            One code or m codes, as for `insert`.
        threshold : float, optional
            The least similarity, above 0 and at most 1; by default, as for the index.
        most : float, optional
            The greatest similarity, from the threshold to 1, of codes that are close, but no
            copies.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        list of Match, or Matches of m such lists
            (key, similarity), the most similar first.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or shape, or is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import TanimotoIndex
        >>> index = TanimotoIndex(64)
        >>> index.insert(["a", "b"], np.array([[7], [8]], np.uint64))
        2
        >>> index.within(np.array([[6], [0]], np.uint64), 0.6)
        Matches(2 queries, 1 matches)
        """
        return self._all_within(codes, threshold, most, threads)

    @overload
    def query(
        self,
        codes: AnyShape[np.uint64],
        k: int = 10,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def query(
        self,
        codes: Matrix[np.uint64],
        k: int = 10,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> Matches[Match]: ...
    @overload
    def query(
        self,
        codes: npt.ArrayLike,
        k: int = 10,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> Any: ...
    def query(
        self,
        codes: npt.ArrayLike,
        k: int = 10,
        *,
        most: float | None = None,
        threads: int | None = None,
    ) -> list[Match] | Matches[Match]:
        """Find the k most similar entries for one code, or for each of m codes.

        Parameters
        ----------
        codes : array_like
            One code or m codes, as for `insert`.
        k : int, default 10
            Entries to return per code, at least 1. If fewer have a similarity above 0, these are
            returned.
        most : float, optional
            Return only entries with at most this similarity, in [0, 1]: codes that are close, but
            no copies. `k` counts these only.
        threads : int, optional
            As for `within`.

        Returns
        -------
        list of Match, or Matches of m such lists
            (key, similarity), the most similar first; of equally similar entries, those inserted
            first.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or shape, or is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import TanimotoIndex
        >>> index = TanimotoIndex(64)
        >>> index.insert(["a", "b", "c"], np.array([[7], [8], [14]], np.uint64))
        3
        >>> index.query(np.array([14], np.uint64), k=1)
        [Match(key='c', similarity=1.0)]
        >>> index.query(np.array([14], np.uint64), k=2, most=0.99)
        [Match(key='a', similarity=0.5), Match(key='b', similarity=0.3333333333333333)]
        """
        return self._first(codes, k, self._apart(most, 0.0), threads)

    def _apart(self, limit: float | None, bound: float) -> IsApart | None:
        return similar_at_most(check_most(limit, bound))

    @property
    def measures(self) -> tuple[ItemMeasure, ...]:
        """The measure of a query."""
        return ("tanimoto",)

    @classmethod
    def _bound_from(cls, bound: float) -> float:
        return bound

    def _checked(self, bound: float) -> float:
        return check_least_similarity(bound)

    def _within(
        self, queries: UInt64Array, bound: float, threads: int
    ) -> Matches[Match]:
        return self._found(
            queries, searcher(self._entries.view(), bound), PIECE_QUERIES, threads
        )

    def _nearest(
        self, queries: UInt64Array, k: int, piece: int, threads: int
    ) -> Matches[Match]:
        return self._found(queries, ranker(self._entries.view(), k), piece, threads)

    def _found(
        self,
        queries: UInt64Array,
        search: Callable[[UInt64Array], tuple[UInt64Array, Float64Array]],
        piece: int,
        threads: int,
    ) -> Matches[Match]:
        """Return the results of `search` for pieces of the queries, ordered by numbers of ones."""
        order = np.argsort(ones(queries), kind="stable").astype(np.int64, copy=False)
        parts = in_pieces(search, queries[order], piece, threads)
        places, rows = rows_of(np.concatenate([pairs for pairs, _ in parts]))
        starts = piece * int64_range(len(parts))
        first = np.repeat(starts, [len(pairs) for pairs, _ in parts])
        query = order[first + places]
        back = np.argsort(query, kind="stable")
        offsets = np.searchsorted(query[back], int64_range(len(queries) + 1))
        similarity = np.concatenate([similarity for _, similarity in parts])[back]
        return Matches(
            offsets.astype(np.int64, copy=False),
            self._entries.names(rows[back]),
            similarity,
        )

    def pairs(
        self,
        threshold: float | None = None,
        *,
        most: float | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> KeyPairs:
        """Find all pairs of entries with a least similarity.

        Parameters
        ----------
        threshold : float, optional
            The least similarity, above 0 and at most 1; by default, as for the index.
        most : float, optional
            The greatest similarity, from the threshold to 1, of codes that are close, but no
            copies.
        threads : int, optional
            As for `within`.
        progress : callable, optional
            Called from time to time with ("pairs", steps done, steps in total).

        Returns
        -------
        KeyPairs
            Keys, `left` inserted before `right`, and their similarities, in the order of insertion.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import TanimotoIndex
        >>> index = TanimotoIndex(64)
        >>> index.insert(["a", "b", "c"], np.array([[7], [8], [6]], np.uint64))
        3
        >>> list(index.pairs(0.6))
        [('a', 'c', 0.6666666666666666)]
        """
        bound = self._bound_or(threshold)
        is_apart = self._apart(most, bound)
        threads = thread_count(threads)
        left_keys, right_keys, codes, row_pairs = self._pairs(
            lambda codes: pairs_similar(codes, bound, threads, progress)
        )
        pairs = KeyPairs(left_keys, right_keys, similarities(codes, codes, row_pairs))
        return pairs_apart(pairs, is_apart)

    def describe(self, threshold: float | None = None) -> str:
        """Describe the search with a least similarity: a line for each segment, then the rest.

        Parameters
        ----------
        threshold : float, optional
            Above 0 and at most 1; by default, as for the index.

        Returns
        -------
        str

        Raises
        ------
        TypeError, ValueError
            If `threshold` has the wrong type or is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import TanimotoIndex
        >>> index, rng = TanimotoIndex(256), np.random.default_rng(1)
        >>> index.insert(
        ...     range(100_000), rng.integers(0, 2**64, (100_000, 4), np.uint64)
        ... )
        100000
        >>> print(index.describe(0.95))
        order of 100,000 codes of 256 bits: about 43,701 are compared with a query for a similarity
        of 0.95; 0.6 MB
        """
        bound = self._bound_or(threshold)
        with self._entries.gate.reading():
            view = self._entries.view()
            lines = [
                f"order of {part.end - part.first:,} codes of {self.bits} bits: about "
                f"{part.read(bound):,.0f} are "
                f"compared with a query for a similarity of {bound}; {part.nbytes / 1e6:,.1f} MB"
                for part in view.segments
            ]
            if view.used > view.tail or not lines:
                lines.append(
                    f"scan of {view.used - view.tail:,} codes of {self.bits} bits"
                )
        return "\n".join(lines)

    # ---- files ----

    _file = EntryFile(
        b"LSHFTAN\0",
        "Id",
        "a Tanimoto index of lshfast",
        ("codes",),
        MAX_ROWS - 1,
        noted=True,
    )
