"""The interface between an index and its store of keys, signatures, and bands over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from lshfast._common.checks import check_int, check_number
from lshfast._common.progress import Progress
from lshfast._common.types import (
    BoolArray,
    Float64Array,
    Int64Array,
    UInt8Array,
    UInt64Array,
)
from lshfast.index.keys import Column, as_column, listed
from lshfast.index.measure import measure_of
from lshfast.index.stores.searching import search_all_codes, search_candidates
from lshfast.index.stores.values import (
    CodesRequest,
    Found,
    Limit,
    Neighbors,
    OnDuplicate,
    Parameters,
    PointAnswer,
    SearchRequest,
)
from lshfast.kernels.tables_codes import CodeSearcher

# The greatest number of nearest entries of a query.
MOST_NEAREST = 2**62


class Store(ABC):
    """Base class of stores, which hold entries (keys and signatures) and the bands that find them.

    A candidate of a query is an entry that equals it in all rows of at least one band. The
    signature of an empty set, all ones, is stored, and is never a candidate.

    Attributes
    ----------
    parameters : Parameters or None
        Parameters of the entries; None until `bind` is called.
    scans : bool
        Whether `search_codes` scans the entries where they are, without a copy of them.
    """

    parameters: Parameters | None
    scans: ClassVar[bool] = False

    @property
    @abstractmethod
    def kind(self) -> str | None:
        """Kind of the keys: "int", "uint", "str" or "object"; None without keys.

        "uint" is for integers of which one may be above 2**63 - 1 and none is negative, and
        "object" also for an unknown kind.
        """

    @abstractmethod
    def bind(self, parameters: Parameters) -> None:
        """Store the parameters, or compare them with those that are stored.

        Raises
        ------
        ValueError
            If they differ from the stored ones; the error names the parameter.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of entries."""

    @abstractmethod
    def contains(self, keys: Column) -> BoolArray:
        """Return which keys have an entry, bool (n,)."""

    @abstractmethod
    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        on_duplicate: OnDuplicate,
        *,
        copy: bool = True,
    ) -> int:
        """Store entries, all of the batch or none.

        Parameters
        ----------
        keys : Column
            n keys.
        signatures : ndarray of uint64, shape (n, num_perm)
        on_duplicate : {"error", "replace", "skip"}
            What to do if a key is stored already, or twice in the batch: raise an error, store the
            last signature, or keep the first one.
        copy : bool
            False if the signatures will never change, so that the store need not copy them.

        Returns
        -------
        int
            Number of entries that are new or replaced.

        Raises
        ------
        DuplicateKeyError
            If a key is a duplicate and `on_duplicate` is "error"; the error names the first one.
            Nothing is inserted.
        """

    def check_keys(self, keys: Column) -> None:  # noqa: B027 (most stores accept all keys)
        """Raise TypeError if keys like these cannot be added."""

    @abstractmethod
    def remove(self, keys: Column) -> None:
        """Remove the entries of some keys; a key may be repeated.

        Raises
        ------
        KeyError
            With the first key that has no entry; nothing is removed.
        """

    @abstractmethod
    def query(
        self,
        signatures: UInt64Array,
        *,
        least: int | None,
        threads: int,
        most: int | None = None,
    ) -> Found:
        """Find the candidates of each query.

        Parameters
        ----------
        signatures : ndarray of uint64, shape (m, num_perm)
        least : int or None
            Omit candidates with fewer equal slots; None returns all candidates without counting
            equal slots.
        threads : int
            At least 1; the result does not depend on it.
        most : int, optional
            With `least`: only so many candidates, those with the most equal slots, are wanted. A
            store may return more.
        """

    def search(
        self,
        buckets: UInt64Array,
        points: UInt64Array,
        *,
        most: int | None = None,
        within: float | None = None,
        limit: Limit | None = None,
        threads: int = 1,
    ) -> Neighbors:
        """Find the entries that share a bucket with each of m queries, and their distances to it.

        Each entry that shares a bucket is examined once: its distance is computed by the `measure`
        of the parameters, from its payload and the payload of the query.

        Parameters
        ----------
        buckets : ndarray of uint64, shape (m, bands, probes)
            The values of the buckets that are searched in each band, the most promising first; all
            ones for none. The first buckets of all bands are searched before the second ones.
        points : ndarray of uint64, shape (m, payload)
        most : int, optional
            The largest number of nearest entries to return; at least 1.
        within : float, optional
            Return only entries at this distance or less.
        limit : Limit, optional
            End the examination of a query early. Which entries are examined then depends on the
            store.
        threads : int
            At least 1; the result does not depend on it.
        """
        p = self._searched(points, len(buckets))
        has_shape = (
            buckets.ndim == 3 and buckets.shape[1] == p.bands and buckets.shape[2] > 0
        )
        if not has_shape or buckets.dtype != np.uint64:
            raise ValueError(
                f"buckets must be uint64 (m, {p.bands}, probes), not {buckets.dtype} "
                f"{buckets.shape}"
            )
        most, within = _ends(most, within)
        buckets = np.ascontiguousarray(buckets)
        points = np.ascontiguousarray(points)
        measure = measure_of(p.measure)
        request = SearchRequest(buckets, points, measure, most, within, limit, threads)
        return self._search(request)

    def search_codes(
        self,
        codes: UInt64Array,
        points: UInt64Array,
        levels: tuple[UInt8Array, Float64Array],
        *,
        most: int | None = None,
        within: float | None = None,
        limit: Limit | None = None,
        threads: int = 1,
    ) -> Neighbors:
        """Find the entries whose codes are near those of m queries, and their distances to it.

        Parameters
        ----------
        codes : ndarray of uint64, shape (m, num_perm)
        levels : (near, enough)
            The levels that are examined, as for `lshfast.kernels.tables.search_codes`.
        points, most, within, limit, threads
            As for `search`.
        """
        p = self._searched(points, len(codes))
        if (
            not p.head
            or codes.shape != (len(codes), p.num_perm)
            or codes.dtype != np.uint64
        ):
            raise ValueError(
                f"codes must be uint64 (m, {p.num_perm}) of an index of codes, not {codes.shape}"
            )
        most, within = _ends(most, within)
        codes = np.ascontiguousarray(codes)
        points = np.ascontiguousarray(points)
        measure = measure_of(p.measure)
        request = CodesRequest(
            codes, points, *levels, measure, most, within, limit, threads
        )
        return self._search_codes(request)

    def search_point(
        self,
        searcher: CodeSearcher,
        point: Any,
        most: int | None = None,
        within: float | None = None,
    ) -> PointAnswer | None:
        """Return what `search_codes` finds for one point, or None.

        Then call `search_codes`, which also finds the error of a point that is not valid.
        """
        return None

    def _searched(self, points: UInt64Array, m: int) -> Parameters:
        """Return the parameters, or raise ValueError if the points do not fit m queries."""
        p = self.parameters
        if p is None or not p.measure or not p.apart:
            raise ValueError(
                "the parameters of the store name no measure: its rows have no distances"
            )
        if points.shape != (m, p.payload) or points.dtype != np.uint64:
            raise ValueError(
                f"points must be uint64 {m, p.payload}, not {points.dtype} {points.shape}"
            )
        return p

    def _search_codes(self, search: CodesRequest) -> Neighbors:
        """Run `search_codes` with checked arguments; by default, entries are copied to memory."""
        assert self.parameters is not None
        return search_all_codes(self.items, self.parameters, search)

    def _search(self, search: SearchRequest) -> Neighbors:
        """Run `search` with checked arguments."""
        assert self.parameters is not None
        return search_candidates(self.query, self.entries_of, self.parameters, search)

    def entries_of(self, keys: Column) -> tuple[Column, UInt64Array]:
        """Return the keys that have an entry, and their signatures."""
        requested_keys = set(listed(keys))
        present_keys = []
        present_rows = []
        for batch_keys, batch_rows in self.items():
            for key, row in zip(listed(batch_keys), batch_rows, strict=True):
                if key in requested_keys:
                    present_keys.append(key)
                    present_rows.append(row)
        assert self.parameters is not None
        rows = np.array(present_rows, np.uint64).reshape(-1, self.parameters.words)
        return as_column(present_keys), rows

    @abstractmethod
    def items(self) -> Iterator[tuple[Column, UInt64Array]]:
        """Yield all entries, in batches of keys and signatures."""

    @abstractmethod
    def stats(self) -> dict[str, int]:
        """Return figures of the store, by name."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections; afterwards, only this method may be called."""

    def insert_one(
        self, key: Any, signature: UInt64Array, on_duplicate: OnDuplicate
    ) -> int:
        """Store one entry, with a signature (num_perm,)."""
        return self.insert(as_column([key]), signature[np.newaxis], on_duplicate)

    def insert_plain(self, key: Any, signature: Any) -> bool:
        """Return whether this stored a new entry at once; otherwise call `insert_one`."""
        return False

    def contains_one(self, key: Any) -> bool:
        """Return whether a key has an entry."""
        return bool(self.contains(as_column([key]))[0])

    def remove_one(self, key: Any) -> None:
        """Remove the entry of one key, as `remove` does."""
        self.remove(as_column([key]))

    def query_one(
        self, signature: UInt64Array, least: int | None
    ) -> tuple[list[Any], list[int] | None]:
        """Return the keys of the candidates of one signature, and numbers of equal slots."""
        matches = self.query(signature[np.newaxis], least=least, threads=1)
        return listed(
            matches.keys
        ), None if matches.agreements is None else matches.agreements.tolist()

    def query_plain(self, signature: Any) -> list[Any] | None:
        """Return the keys of the candidates in order, or None; then call `query_one`."""
        return None

    def all_keys(self) -> Iterator[Column]:
        """Yield all keys, in batches."""
        for keys, _ in self.items():
            yield keys

    def bucket_sizes(self) -> tuple[Int64Array, int, float]:
        """Return the numbers of buckets by size, the largest size, and the sum of squares.

        The sizes are 1, 2-3, 4-7, ... rows. A store that cannot count them without reading all
        entries returns zeros.
        """
        return np.zeros(32, np.int64), 0, 0.0

    def commit(self, progress: Progress | None = None) -> None:  # noqa: B027 (most stores write immediately)
        """Make all changes persistent."""

    def compact(self, progress: Progress | None = None) -> None:  # noqa: B027
        """Release the space of removed entries."""

    def verify(self) -> None:  # noqa: B027
        """Check all stored data.

        Raises
        ------
        lshfast.FormatError
            If something is damaged; the error names it.
        """

    def abandon(self) -> None:
        """Close without a commit."""
        self.close()


def _ends(most: int | None, within: float | None) -> tuple[int | None, float | None]:
    """Check the limits that end a search."""
    if most is not None:
        most = check_int("most", most, 1, MOST_NEAREST)
    if within is not None and np.isnan(check_number("within", within)):
        raise ValueError("within must be a number, not NaN")
    return most, within
