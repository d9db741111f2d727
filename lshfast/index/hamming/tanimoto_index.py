"""TanimotoIndex: exact search of packed codes by Tanimoto similarity; entries can be added and removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lshfast.common.checks import check_int
from lshfast.common.errors import FormatError
from lshfast.common.progress import Progress
from lshfast.common.threads import ordered_map, thread_count
from lshfast.common.types import AnyShape, Float64Array, Matrix, UInt64Array, Vector
from lshfast.families.packed import codes_of
from lshfast.index.entry_file import EntryFile
from lshfast.index.hamming.code_index import CodeIndex
from lshfast.index.hamming.hits import LOW32
from lshfast.index.hamming.plan import MAX_BITS
from lshfast.index.hamming.rows import PIECE_QUERIES, PIECE_ROWS, CodeRows
from lshfast.index.hamming.similar import (
    CountedSegment,
    check_similarity,
    counted_segment,
    pairs_similar,
    ranker,
    searcher,
)
from lshfast.index.key_pairs import KeyPairs
from lshfast.index.keys import Column, take
from lshfast.index.matches import Match, Matches
from lshfast.index.stores.values import OnDuplicate, check_on_duplicate
from lshfast.kernels.hamming import MAX_ROWS, ones, similarities


class TanimotoIndex(CodeIndex):
    """Search packed codes exactly by Tanimoto similarity, which is the Jaccard similarity of their sets of ones.

    An entry is a key and a code, such as a molecule and its fingerprint. The similarity of two codes is the number of
    bits that are one in both, divided by the number of those that are one in either. It is 0 for two codes without
    ones; such a code is never found.

    Parameters
    ----------
    bits : int, default 2048
        Bits of a code, in 1..4096. A code is ceil(bits / 64) uint64 words, the lowest bit first; bits that are left
        over are zeros.
    similarity : float, default 0.7
        The default of `within` and `pairs`, above 0 and at most 1. Other similarities take other times, and are exact
        too.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        As for `HammingIndex`.

    Attributes
    ----------
    bits : int
    similarity : float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Notes
    -----
    Codes are ordered by their numbers of ones. Codes with a and b ones are similar by t only if a is between t b and
    b / t, so a query reads only these. The codes are not copied; the order takes 6 bytes per entry.

    Keys, duplicates, threads and memory are as for `HammingIndex`. Entries of the same similarity are in the order of
    their insertion; a replaced entry counts as inserted again. Up to 8,192 new codes are not yet ordered, and all of
    them are compared with each query.

    References
    ----------
    S. J. Swamidass, P. Baldi, "Bounds and Algorithms for Fast Exact Searches of Chemical Fingerprints in Linear and
    Sublinear Time", J. Chem. Inf. Model. 47, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import TanimotoIndex
    >>> index = TanimotoIndex(64)
    >>> index.insert(["a", "b", "c"], np.array([[0b1111], [0b0111], [0b1111_0000]], np.uint64))
    3
    >>> index.within(np.array([0b1110], np.uint64), 0.5)
    [Match(key='a', similarity=0.75), Match(key='b', similarity=0.5)]
    >>> index.query(np.array([0b1110], np.uint64), k=1)
    [Match(key='a', similarity=0.75)]
    >>> list(index.pairs(0.7))
    [('a', 'b', 0.75)]
    """

    bits: int
    similarity: float
    _entries: CodeRows[CountedSegment]

    def __init__(self, bits: int = 2048, *, similarity: float = 0.7, on_duplicate: OnDuplicate = "error") -> None:
        self.bits = check_int("bits", bits, 1, MAX_BITS)
        self.similarity = check_similarity(similarity)
        self.on_duplicate: OnDuplicate = check_on_duplicate(on_duplicate)
        self._entries = CodeRows(self.bits, counted_segment)

    # ---- queries ----

    @overload
    def within(
        self, codes: AnyShape[np.uint64], similarity: float | None = None, *, threads: int | None = None
    ) -> Any: ...
    @overload
    def within(
        self, codes: Vector[np.uint64], similarity: float | None = None, *, threads: int | None = None
    ) -> list[Match]: ...
    @overload
    def within(
        self, codes: Matrix[np.uint64], similarity: float | None = None, *, threads: int | None = None
    ) -> Matches[Match]: ...
    @overload
    def within(self, codes: npt.ArrayLike, similarity: float | None = None, *, threads: int | None = None) -> Any: ...
    def within(
        self, codes: npt.ArrayLike, similarity: float | None = None, *, threads: int | None = None
    ) -> list[Match] | Matches[Match]:
        """Find all entries with a least similarity to one code, or to each of m codes.

        Parameters
        ----------
        codes : array_like
            One code or m codes, as for `insert`.
        similarity : float, optional
            The least similarity, above 0 and at most 1; that of the index by default.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does not depend on it.

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
        array = codes_of(codes, self.bits)
        least = self.similarity if similarity is None else check_similarity(similarity)
        threads = thread_count(threads)
        with self._entries.gate.reading():
            return self._answers(array, searcher(self._entries.view(), least), PIECE_QUERIES, threads)

    @overload
    def query(self, codes: AnyShape[np.uint64], k: int = 10, *, threads: int | None = None) -> Any: ...
    @overload
    def query(self, codes: Vector[np.uint64], k: int = 10, *, threads: int | None = None) -> list[Match]: ...
    @overload
    def query(self, codes: Matrix[np.uint64], k: int = 10, *, threads: int | None = None) -> Matches[Match]: ...
    @overload
    def query(self, codes: npt.ArrayLike, k: int = 10, *, threads: int | None = None) -> Any: ...
    def query(self, codes: npt.ArrayLike, k: int = 10, *, threads: int | None = None) -> list[Match] | Matches[Match]:
        """Find the k most similar entries for one code, or for each of m codes.

        Parameters
        ----------
        codes : array_like
            One code or m codes, as for `insert`.
        k : int, default 10
            Entries to return per code, at least 1. There are fewer if fewer have a similarity above 0.
        threads : int, optional
            As for `within`.

        Returns
        -------
        list of Match, or Matches of m such lists
            (key, similarity), the most similar first; of entries of the same similarity, those inserted first.

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
        >>> index.query(np.array([14], np.uint64), k=5)
        [Match(key='a', similarity=0.5), Match(key='b', similarity=0.3333333333333333)]
        """
        array = codes_of(codes, self.bits)
        k, threads = check_int("k", k, 1), thread_count(threads)
        with self._entries.gate.reading():
            most = max(min(k, len(self)), 1)
            piece = max(min(PIECE_QUERIES, PIECE_ROWS // most), 1)
            return self._answers(array, ranker(self._entries.view(), most), piece, threads)

    def _answers(
        self,
        array: UInt64Array,
        search: Callable[[UInt64Array], tuple[UInt64Array, Float64Array]],
        piece: int,
        threads: int,
    ) -> list[Match] | Matches[Match]:
        """Return what `search` finds for pieces of the queries, which are ordered by their numbers of ones."""
        queries = array.reshape(-1, self._entries.words)
        order = np.argsort(ones(queries), kind="stable").astype(np.int64, copy=False)
        starts = range(0, max(len(queries), 1), piece)
        parts = [*ordered_map(lambda at: search(queries[order[at : at + piece]]), starts, threads)]
        query = np.concatenate(
            [
                order[at + (pairs >> np.uint64(32)).astype(np.int64)]
                for at, (pairs, _) in zip(starts, parts, strict=True)
            ]
        )
        back = np.argsort(query, kind="stable")
        offsets = np.searchsorted(query[back], np.arange(len(queries) + 1, dtype=np.int64))
        rows = (np.concatenate([pairs for pairs, _ in parts])[back] & LOW32).astype(np.int64)
        similarity = np.concatenate([similarity for _, similarity in parts])[back]
        answers: Matches[Match] = Matches(offsets.astype(np.int64, copy=False), self._entries.names(rows), similarity)
        return answers[0] if array.ndim == 1 else answers

    def pairs(
        self, similarity: float | None = None, *, threads: int | None = None, progress: Progress | None = None
    ) -> KeyPairs:
        """Find all pairs of entries with a least similarity.

        Parameters
        ----------
        similarity : float, optional
            The least similarity, above 0 and at most 1; that of the index by default.
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
        least = self.similarity if similarity is None else check_similarity(similarity)
        threads = thread_count(threads)
        keys, codes = self.items()
        found = pairs_similar(codes, least, threads, progress)
        left, right = (found >> np.uint64(32)).astype(np.int64), (found & LOW32).astype(np.int64)
        return KeyPairs(take(keys, left), take(keys, right), similarities(codes, codes, found))

    def __repr__(self) -> str:
        return f"TanimotoIndex({len(self):,} entries, bits={self.bits}, similarity={self.similarity})"

    def describe(self, similarity: float | None = None) -> str:
        """Describe how a query with a least similarity searches the codes: a line for each segment, then the rest.

        Parameters
        ----------
        similarity : float, optional
            Above 0 and at most 1; that of the index by default.

        Returns
        -------
        str

        Raises
        ------
        TypeError, ValueError
            If `similarity` has the wrong type or is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import TanimotoIndex
        >>> index, rng = TanimotoIndex(256), np.random.default_rng(1)
        >>> index.insert(range(100_000), rng.integers(0, 2**64, (100_000, 4), np.uint64))
        100000
        >>> print(index.describe(0.95))
        order of 100,000 codes of 256 bits: about 43,701 are compared with a query for a similarity of 0.95; 0.6 MB
        """
        least = self.similarity if similarity is None else check_similarity(similarity)
        with self._entries.gate.reading():
            view = self._entries.view()
            lines = [
                f"order of {part.end - part.first:,} codes of {self.bits} bits: about {part.read(least):,.0f} are "
                f"compared with a query for a similarity of {least}; {part.nbytes / 1e6:,.1f} MB"
                for part in view.segments
            ]
            if view.used > view.tail or not lines:
                lines.append(f"scan of {view.used - view.tail:,} codes of {self.bits} bits")
        return "\n".join(lines)

    # ---- files ----

    _file = EntryFile(b"LSHFTAN\0", "Id", "a Tanimoto index of lshfast", ("codes",), MAX_ROWS - 1)

    def _fields(self) -> Sequence[Any]:
        return self.bits, self.similarity

    @staticmethod
    def _widths(*fields: Any) -> list[int]:
        bits, similarity = fields
        if not 1 <= bits <= MAX_BITS or not 0 < similarity <= 1:
            raise FormatError(f"header: {bits} bits and similarity {similarity} are out of range")
        return [-(-bits // 64)]

    @classmethod
    def _made(cls, fields: Sequence[Any], keys: Column, columns: list[UInt64Array]) -> TanimotoIndex:
        (bits, similarity), (codes,) = fields, columns
        if bits % 64 and (codes[:, -1] >> np.uint64(bits % 64)).any():
            raise FormatError(f"codes: one has bits at {bits} and above")
        index = cls(bits, similarity=similarity)
        index._entries.insert(keys, codes, "error")
        return index
