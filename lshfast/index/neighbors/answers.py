"""Answers of near-neighbour search: keys and distances, the nearest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from lshfast._common.display import Figure
from lshfast._common.types import Float64Array, Int64Array
from lshfast.index.index_stats import IndexStats
from lshfast.index.key_pairs import Pairs
from lshfast.index.keys import Column
from lshfast.index.matches import AnswerLists


class Neighbor(NamedTuple):
    """One entry in the answer to a query.

    Attributes
    ----------
    key : object
    distance : float
        Exact distance of the entry to the query. With "angle", the angle in radians, in [0, pi];
        with "cosine", 1 - the cosine, in [0, 2]; with "euclidean", the Euclidean distance (not its
        square); with "manhattan", the sum of the absolute differences; with "hamming", the number
        of different bits.

    See Also
    --------
    lshfast.index.NeighborLists : The answers to many queries.
    lshfast.index.Match : One entry of an answer, with its similarity.

    Examples
    --------
    >>> from lshfast.index import Neighbor
    >>> Neighbor("a", 0.25)
    Neighbor(key='a', distance=0.25)
    """

    key: Any
    distance: float


class NeighborLists(AnswerLists[Neighbor]):
    """Answers as lists of `Neighbor`, the nearest first; see `AnswerLists`.

    Parameters
    ----------
    offsets, keys
        As for `AnswerLists`.
    distance : ndarray of float64, shape (n,)
    examined : ndarray of int64, shape (m,)
        Number of entries whose distance was computed for each query.

    See Also
    --------
    lshfast.NearNeighbors : An index of points or sets that finds near neighbours.
    lshfast.index.Neighbor : One entry of an answer, with its distance.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.index import NeighborLists
    >>> lists = NeighborLists(
    ...     np.array([0, 2, 2]), ["a", "b"], np.array([0.1, 0.5]), np.array([7, 3])
    ... )
    >>> len(lists), lists[0], lists[1]
    (2, [Neighbor(key='a', distance=0.1), Neighbor(key='b', distance=0.5)], [])
    """

    __slots__ = ("examined",)

    examined: Int64Array
    _element = Neighbor
    _noun = "neighbors"
    _of_queries = ("examined",)

    def __init__(
        self,
        offsets: Int64Array,
        keys: Column,
        distance: Float64Array,
        examined: Int64Array,
    ) -> None:
        super().__init__(offsets, keys, distance)
        self.examined = examined

    @property
    def distance(self) -> Float64Array:
        """The distances of all answers, concatenated."""
        return cast(Float64Array, self.values)


@dataclass(frozen=True)
class NeighborPairs(Pairs[float]):
    """Pairs of keys and their distances as columns; iteration yields (left, right, distance).

    Attributes
    ----------
    left, right : ndarray of int64 or uint64, shape (n,), or list
    distance : ndarray of float64, shape (n,)

    See Also
    --------
    lshfast.NearNeighbors : An index of points or sets that finds near neighbours.
    lshfast.index.KeyPairs : Pairs of keys with similarities.
    """

    distance: Float64Array


@dataclass(frozen=True, repr=False)
class NeighborStats(IndexStats):
    """The figures of a `NearNeighbors` index; figures of buckets are for probes = 1.

    Attributes
    ----------
    probes : int
        Buckets that a query searches in each table.

    See Also
    --------
    lshfast.NearNeighbors : An index of points or sets that finds near neighbours.
    lshfast.index.IndexStats : The figures of an index of signatures.
    """

    probes: int

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of the table."""
        yield Figure(
            "probes", f"{self.probes:,}", "buckets of each table that a query searches"
        )
        yield from super().figures()
