"""Answers to queries by Hamming distance: keys and distances, the nearest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from lshfast.common.types import Int64Array
from lshfast.index.hamming.plan import Method
from lshfast.index.keys import listed
from lshfast.index.stores.base import Column


class HammingMatch(NamedTuple):
    """One entry in the answer to a query.

    Attributes
    ----------
    key : object
    distance : int
        Number of bits in which the code of the entry differs from the query.
    """

    key: Any
    distance: int


class HammingMatches:
    """Hold the answers to m queries as arrays; the keys of answer i are ``keys[offsets[i]:offsets[i + 1]]``.

    ``len(matches)`` is m. ``matches[i]``, with i in -m..m - 1, is answer i as a list of `HammingMatch`. Iteration
    yields the same lists.

    Attributes
    ----------
    offsets : ndarray of int64, shape (m + 1,)
    keys : ndarray of int64, shape (n,), or list
    distance : ndarray of int64, shape (n,)
    method : {"scan", "blocks"}
        How the codes were searched: "scan" if all were compared with each query.
    """

    __slots__ = ("distance", "keys", "method", "offsets")

    offsets: Int64Array
    keys: Column
    distance: Int64Array
    method: Method

    def __init__(self, offsets: Int64Array, keys: Column, distance: Int64Array, method: Method) -> None:
        self.offsets, self.keys, self.distance, self.method = offsets, keys, distance, method

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> list[HammingMatch]:
        """Return one answer."""
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} is out of range: there are {len(self)} queries")
        low, high = self.offsets[query % len(self) : query % len(self) + 2].tolist()
        return list(map(HammingMatch, listed(self.keys[low:high]), self.distance[low:high].tolist()))

    def __iter__(self) -> Iterator[list[HammingMatch]]:
        return map(self.__getitem__, range(len(self)))

    def __repr__(self) -> str:
        return f"HammingMatches({len(self)} queries, {len(self.keys)} matches, method={self.method!r})"
