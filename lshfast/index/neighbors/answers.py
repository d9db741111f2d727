"""Answers of near-neighbour search: keys and distances, the nearest first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lshfast.common.types import Float64Array, Int64Array
from lshfast.index.keys import concatenate, listed, take
from lshfast.index.stores.base import Column


class Neighbor(NamedTuple):
    """One entry in the answer to a query.

    Attributes
    ----------
    key : object
    distance : float
        Exact distance of the entry to the query: the angle in radians, the Euclidean or Manhattan distance, or the
        number of different bits.

    Examples
    --------
    >>> from lshfast import Neighbor
    >>> Neighbor("a", 0.25)
    Neighbor(key='a', distance=0.25)
    """

    key: Any
    distance: float


class NeighborLists:
    """Hold the answers to m queries as arrays; the keys of answer i are ``keys[offsets[i]:offsets[i + 1]]``.

    ``len(lists)`` is m. ``lists[i]``, with i in -m..m - 1, is answer i as a list of `Neighbor`, the nearest first;
    iteration yields the same lists.

    Parameters
    ----------
    offsets : ndarray of int64, shape (m + 1,)
        Start of each answer, then the end of the last one. The first is 0.
    keys : ndarray of int64, shape (n,), or list
        Keys of all answers, concatenated.
    distances : ndarray of float64, shape (n,)
        Their distances.
    examined : ndarray of int64, shape (m,)
        Number of entries whose distance was computed for each query.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import NeighborLists
    >>> lists = NeighborLists(np.array([0, 2, 2]), ["a", "b"], np.array([0.1, 0.5]), np.array([7, 3]))
    >>> len(lists), lists[0], lists[1]
    (2, [Neighbor(key='a', distance=0.1), Neighbor(key='b', distance=0.5)], [])
    """

    __slots__ = ("distances", "examined", "keys", "offsets")

    offsets: Int64Array
    keys: Column
    distances: Float64Array
    examined: Int64Array

    def __init__(self, offsets: Int64Array, keys: Column, distances: Float64Array, examined: Int64Array) -> None:
        self.offsets = offsets
        self.keys = keys
        self.distances = distances
        self.examined = examined

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> list[Neighbor]:
        """Return one answer."""
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} is out of range: there are {len(self)} queries")
        query %= len(self)
        return self._between(int(self.offsets[query]), int(self.offsets[query + 1]))

    def __iter__(self) -> Iterator[list[Neighbor]]:
        bounds = self.offsets.tolist()
        return map(self._between, bounds[:-1], bounds[1:])

    def __repr__(self) -> str:
        return f"NeighborLists({len(self)} queries, {len(self.keys)} neighbors)"

    def _between(self, low: int, high: int) -> list[Neighbor]:
        return list(map(Neighbor, listed(self.keys[low:high]), self.distances[low:high].tolist()))


@dataclass(frozen=True)
class NeighborPairs:
    """Pairs of keys and their distances, as columns; iteration yields tuples (left, right, distance).

    Attributes
    ----------
    left, right : ndarray of int64, shape (n,), or list
    distance : ndarray of float64, shape (n,)
    """

    left: Column
    right: Column
    distance: Float64Array

    def __len__(self) -> int:
        return len(self.distance)

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        return zip(listed(self.left), listed(self.right), self.distance.tolist(), strict=True)


@dataclass(frozen=True)
class NeighborStats:
    """The figures of a `NearNeighbors` index.

    Attributes
    ----------
    entries : int
    bands, rows, probes : int
        Tables, functions of a band, and buckets that a query searches in each table.
    bucket_sizes : dict of int to int
        For each power of two p, the number of buckets, in all bands, with at least p and less than 2 p entries; empty
        if the store cannot count them.
    largest_bucket : int
        Entries in the largest bucket.
    expected_candidates : float
        Mean number of other entries in the buckets of an entry, with probes = 1; an entry in several of these buckets
        counts several times.
    nbytes : int
        Memory or disk space of the index, in bytes.
    store : dict of str to int
        Figures of the store; sizes are in bytes.
    """

    entries: int
    bands: int
    rows: int
    probes: int
    bucket_sizes: dict[int, int]
    largest_bucket: int
    expected_candidates: float
    nbytes: int
    store: dict[str, int]


def pairs_once(found: list[tuple[Column, Column, Float64Array]]) -> NeighborPairs:
    """Return the pairs (left, right, distance) of several batches, sorted and once; pairs of one key are left out.

    The lesser key of a pair is first, or the one that occurs first if keys cannot be compared.
    """
    left, right = concatenate([batch[0] for batch in found]), concatenate([batch[1] for batch in found])
    distance = np.concatenate([np.empty(0), *(batch[2] for batch in found)])
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        names: Column = np.unique(np.concatenate([left, right]))
        a, b = np.searchsorted(names, left), np.searchsorted(names, right)
    else:
        left, right = listed(left), listed(right)
        keys = list(dict.fromkeys([*left, *right]))
        with suppress(TypeError):
            keys.sort()
        ranks = {key: rank for rank, key in enumerate(keys)}
        a = np.fromiter((ranks[key] for key in left), np.int64, len(left))
        b = np.fromiter((ranks[key] for key in right), np.int64, len(right))
        names = keys
    first, second = np.minimum(a, b), np.maximum(a, b)
    _, places = np.unique(first * np.int64(len(names)) + second, return_index=True)
    places = places[first[places] < second[places]]
    return NeighborPairs(take(names, first[places]), take(names, second[places]), distance[places])
