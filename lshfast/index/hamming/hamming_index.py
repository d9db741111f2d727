"""HammingIndex: exact radius and nearest-neighbour search of packed codes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_int
from lshfast._common.choices import ItemMeasure
from lshfast._common.progress import Progress
from lshfast._common.rows import offsets_of
from lshfast._common.threads import thread_count
from lshfast._common.types import AnyShape, Int64Array, Matrix, UInt64Array
from lshfast.index.apart import IsApart, distant_at_least, pairs_apart
from lshfast.index.entry_file import EntryFile
from lshfast.index.hamming.code_index import CodeIndex
from lshfast.index.hamming.hits import distance_of, query_of, row_of
from lshfast.index.hamming.join import CodePairs, pairs_within
from lshfast.index.hamming.matches import HammingMatch, HammingMatches
from lshfast.index.hamming.plan import MAX_BITS, Method, scan_of
from lshfast.index.hamming.rows import PIECE_QUERIES, CodeRows
from lshfast.index.hamming.segments import (
    BlockSegment,
    make_segment,
    method_of,
    nearest,
    within,
)
from lshfast.index.keys import listed
from lshfast.index.matches import in_pieces
from lshfast.index.stores.values import OnDuplicate, check_on_duplicate
from lshfast.kernels.hamming import MAX_ROWS, distances


class HammingIndex(CodeIndex[int, HammingMatch, HammingMatches]):
    """Search packed codes exactly by Hamming distance.

    An entry is a key and a code. Few codes are scanned. Many are also sorted by blocks of their
    bits (multi-index hashing), if a search within `radius` is then expected to take less time: a
    query is compared only with codes that have few different bits in some block. The answers are
    the same. If the buckets of a query contain as many codes as a scan reads, the codes are
    scanned, so no codes make a search slower than about two scans.

    Parameters
    ----------
    bits : int, default 64
        Bits of a code, in 1..4096. A code is ceil(bits / 64) uint64 words, the lowest bit first;
        bits that are left over are zeros.
    radius : int, default 3
        The radius that blocks are chosen for, and the default of `within`, in 0..bits. Other radii
        give exact answers too.
    on_duplicate : {"error", "replace", "skip"}, default "error"
        What `insert` does if a key is in the index, or twice in a batch. "error" raises ValueError
        and inserts nothing of the batch. "replace" stores the last code. "skip" keeps the first
        one.

    Attributes
    ----------
    bits, radius : int

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.hamming_pairs : Find all pairs of codes within a Hamming distance.
    lshfast.TanimotoIndex : An exact index of codes by Tanimoto similarity.
    lshfast.dedup_codes : Remove near-duplicates from binary codes.
    lshfast.SimHasher : Compute SimHash codes of sets.

    Notes
    -----
    A key is any hashable object except None and NaN. While all keys are ints of 64 bits, they take
    8 bytes each, and 6 to 12 in a table. A list, range, array or column is a batch of keys; any
    other object is one key. At most 4,294,967,294 entries can be held.

    Entries at the same distance are in the order of their insertion; a replaced entry counts as
    inserted again.

    Any number of threads may query, insert and remove at the same time, without other locks.
    Queries run concurrently and release the GIL. A writer sorts while queries run, and waits for
    them only to replace the old state. Readers see a batch completely or not at all.

    Up to 8,192 new codes are scanned. Then they are sorted, together with segments that are less
    than four times as long, so a code is sorted a few times in all. Memory of removed entries is
    released when they are a quarter of all.

    References
    ----------
    M. Norouzi, A. Punjani, D. J. Fleet, "Fast search in Hamming space with multi-index hashing",
    CVPR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import HammingIndex
    >>> index = HammingIndex(64)
    >>> index.insert(
    ...     ["a", "b", "c"], np.array([[0b1111], [0b0111], [0b1111_0000]], np.uint64)
    ... )
    3
    >>> index.within(np.array([0b0011], np.uint64), 2)
    [HammingMatch(key='b', distance=1), HammingMatch(key='a', distance=2)]
    >>> index.query(np.array([0b0011], np.uint64), k=1)
    [HammingMatch(key='b', distance=1)]
    >>> list(index.pairs(1))
    [('a', 'b', 1)]
    >>> index.remove("b")
    >>> list(index)
    ['a', 'c']
    """

    bits: int
    radius: int
    _entries: CodeRows[BlockSegment]
    _bound = "radius"

    def __init__(
        self, bits: int = 64, *, radius: int = 3, on_duplicate: OnDuplicate = "error"
    ) -> None:
        self.bits = check_int("bits", bits, 1, MAX_BITS)
        self.radius = check_int("radius", radius, 0, self.bits)
        self.on_duplicate: OnDuplicate = check_on_duplicate(on_duplicate)
        self._entries = CodeRows(
            self.bits, partial(make_segment, bits=self.bits, radius=self.radius)
        )

    # ---- queries ----

    @overload
    def within(
        self,
        codes: AnyShape[np.uint64],
        radius: int | None = None,
        *,
        least: int | None = None,
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def within(
        self,
        codes: Matrix[np.uint64],
        radius: int | None = None,
        *,
        least: int | None = None,
        threads: int | None = None,
    ) -> HammingMatches: ...
    @overload
    def within(
        self,
        codes: npt.ArrayLike,
        radius: int | None = None,
        *,
        least: int | None = None,
        threads: int | None = None,
    ) -> Any: ...
    def within(
        self,
        codes: npt.ArrayLike,
        radius: int | None = None,
        *,
        least: int | None = None,
        threads: int | None = None,
    ) -> list[HammingMatch] | HammingMatches:
        """Find all entries within a radius of one code, or of each of m codes.

        Parameters
        ----------
        codes : array_like
            One code or m codes, as for `insert`.
        radius : int, optional
            The greatest distance, in 0..bits; the radius of the index by default.
        least : int, optional
            The least distance, in 0..radius; 1 leaves out equal codes.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        list of HammingMatch, or HammingMatches of m such lists
            (key, distance), the nearest first.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or shape, or is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import HammingIndex
        >>> index = HammingIndex()
        >>> index.insert(["a", "b"], np.array([[7], [8]], np.uint64))
        2
        >>> index.within(np.array([[6], [0]], np.uint64), 1)
        HammingMatches(2 queries, 2 matches, method='scan')
        """
        code = None
        if least is None and (threads is None or thread_count(threads)):
            code = self._plain_code(codes)
        if code is None:
            return self._all_within(codes, radius, least, threads)
        bound = self._bound_or(radius)
        with self._entries.gate.reading():
            view = self._entries.view()
            hits = within(view, self.bits, code[np.newaxis], bound)
            return self._matches(hits)

    @overload
    def query(
        self,
        codes: AnyShape[np.uint64],
        k: int = 10,
        *,
        least: int | None = None,
        threads: int | None = None,
    ) -> Any: ...
    @overload
    def query(
        self,
        codes: Matrix[np.uint64],
        k: int = 10,
        *,
        least: int | None = None,
        threads: int | None = None,
    ) -> HammingMatches: ...
    @overload
    def query(
        self,
        codes: npt.ArrayLike,
        k: int = 10,
        *,
        least: int | None = None,
        threads: int | None = None,
    ) -> Any: ...
    def query(
        self,
        codes: npt.ArrayLike,
        k: int = 10,
        *,
        least: int | None = None,
        threads: int | None = None,
    ) -> list[HammingMatch] | HammingMatches:
        """Find the k nearest entries for one code, or for each of m codes.

        Parameters
        ----------
        codes : array_like
            One code or m codes, as for `insert`.
        k : int, default 10
            Entries to return per code, at least 1. If the index has fewer, all are returned.
        least : int, optional
            Return only entries at this distance or more, in 0..bits: codes that are close, but no
            copies. `k` counts these only.
        threads : int, optional
            As for `within`.

        Returns
        -------
        list of HammingMatch, or HammingMatches of m such lists
            (key, distance), the nearest first; of entries at the same distance, those inserted
            first.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or shape, or is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import HammingIndex
        >>> index = HammingIndex()
        >>> index.insert(["a", "b", "c"], np.array([[7], [8], [6]], np.uint64))
        3
        >>> index.query(np.array([6], np.uint64), k=2)
        [HammingMatch(key='c', distance=0), HammingMatch(key='a', distance=1)]
        >>> index.query(np.array([6], np.uint64), k=2, least=1)
        [HammingMatch(key='a', distance=1), HammingMatch(key='b', distance=3)]
        """
        code = None
        if least is None and (threads is None or thread_count(threads)):
            code = self._plain_code(codes)
        if code is None:
            return self._first(codes, k, self._apart(least, self.bits), threads)
        k = check_int("k", k, 1)
        with self._entries.gate.reading():
            view = self._entries.view()
            most = max(min(k, len(self)), 1)
            by_scan = not view.segments
            _, hits, _ = nearest(view, code[np.newaxis], most, by_scan)
            return self._matches(hits)

    def _matches(self, hits: UInt64Array) -> list[HammingMatch]:
        """Return the answer to one query by its hits; the gate is open for readers."""
        keys = listed(self._entries.names(row_of(hits)))
        return list(map(HammingMatch, keys, distance_of(hits).tolist()))

    def _apart(self, limit: int | None, bound: int) -> IsApart | None:
        if limit is None:
            return None
        return distant_at_least(check_int("least", limit, 0, bound))

    @property
    def measures(self) -> tuple[ItemMeasure, ...]:
        """The measure of a query."""
        return ("hamming",)

    @classmethod
    def _bound_from(cls, bound: float) -> int:
        return int(bound)

    def _checked(self, bound: int) -> int:
        return check_int("radius", bound, 0, self.bits)

    def _within(self, queries: UInt64Array, bound: int, threads: int) -> HammingMatches:
        view = self._entries.view()

        def search(queries: UInt64Array) -> tuple[Int64Array, UInt64Array]:
            hits = within(view, self.bits, queries, bound)
            counts = np.bincount(query_of(hits), minlength=len(queries))
            return counts.astype(np.int64, copy=False), hits

        return self._found(
            queries,
            search,
            PIECE_QUERIES,
            threads,
            lambda: method_of(view, self.bits, bound),
        )

    def _nearest(
        self, queries: UInt64Array, k: int, piece: int, threads: int
    ) -> HammingMatches:
        view = self._entries.view()
        scans = [not view.segments]

        def search(queries: UInt64Array) -> tuple[Int64Array, UInt64Array]:
            counts, hits, scans[0] = nearest(view, queries, k, scans[0])
            return counts, hits

        return self._found(
            queries, search, piece, threads, lambda: "scan" if scans[0] else "blocks"
        )

    def _found(
        self,
        queries: UInt64Array,
        search: Callable[[UInt64Array], tuple[Int64Array, UInt64Array]],
        piece: int,
        threads: int,
        method: Callable[[], Method],
    ) -> HammingMatches:
        """Return the numbers of hits of pieces of the queries, and the hits, by `search`."""
        parts = in_pieces(search, queries, piece, threads)
        hits = np.concatenate([hits for _, hits in parts])
        offsets = offsets_of(np.concatenate([counts for counts, _ in parts]))
        keys = self._entries.names(row_of(hits))
        return HammingMatches(offsets, keys, distance_of(hits), method())

    def pairs(
        self,
        radius: int | None = None,
        *,
        least: int | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> CodePairs:
        """Find all pairs of entries within a radius.

        Parameters
        ----------
        radius : int, optional
            The greatest distance, in 0..bits; the radius of the index by default.
        least : int, optional
            The least distance, in 0..radius; 1 leaves out equal codes.
        threads : int, optional
            As for `within`.
        progress : callable, optional
            Called from time to time with ("pairs", steps done, steps in total).

        Returns
        -------
        CodePairs
            Keys, `left` inserted before `right`, and their distances, in the order of insertion.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import HammingIndex
        >>> index = HammingIndex()
        >>> index.insert(["a", "b", "c"], np.array([[7], [8], [6]], np.uint64))
        3
        >>> list(index.pairs(1))
        [('a', 'c', 1)]
        """
        bound = self._bound_or(radius)
        is_apart = self._apart(least, bound)
        threads = thread_count(threads)
        left_keys, right_keys, codes, row_pairs = self._pairs(
            lambda codes: pairs_within(codes, bound, threads, progress)
        )
        pairs = CodePairs(
            left_keys, right_keys, distances(codes, row_pairs).astype(np.int64)
        )
        return pairs_apart(pairs, is_apart)

    def describe(self, radius: int | None = None) -> str:
        """Describe the search within a radius: one line for each segment, then the scanned rest.

        Parameters
        ----------
        radius : int, optional
            In 0..bits; the radius of the index by default.

        Returns
        -------
        str

        Raises
        ------
        TypeError, ValueError
            If `radius` has the wrong type or is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from lshfast import HammingIndex
        >>> index, rng = HammingIndex(), np.random.default_rng(1)
        >>> index.insert(
        ...     range(100_000), rng.integers(0, 2**64, (100_000, 1), np.uint64)
        ... )
        100000
        >>> print(index.describe())
        blocks of 16, 16, 16, 16 bits: 4 buckets and about 6 of 100,000 codes per query within
        distance 3; 5.8 MB
        >>> print(index.describe(20))
        scan of 100,000 codes of 64 bits
        """
        bound = self._bound_or(radius)
        with self._entries.gate.reading():
            view = self._entries.view()
            plans = [segment.plan(self.bits, bound) for segment in view.segments]
            if view.used > view.tail or not plans:
                plans.append(scan_of(view.used - view.tail, self.bits, bound))
        return "\n".join(map(str, plans))

    # ---- files ----

    _file = EntryFile(
        b"LSHFHAM\0",
        "II",
        "a Hamming index of lshfast",
        ("codes",),
        MAX_ROWS - 1,
        noted=True,
    )
