"""What every index does, and what an index of points also does for a run: two protocols."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lshfast._common.choices import ItemMeasure, Kind
from lshfast._common.progress import Progress
from lshfast._common.types import BoolArray, UInt64Array
from lshfast.index.stores.values import OnDuplicate

if TYPE_CHECKING:
    from lshfast.index.apart import IsApart
    from lshfast.index.key_pairs import Pairs
    from lshfast.index.keys import Column
    from lshfast.index.matches import AnswerLists
    from lshfast.index.neighbors.points import PointFormat


class Index(Protocol):
    """What every index does: the type of a function that takes any of them.

    The bounds of `query` and `pairs` have one name each: ``k`` is a number of entries,
    ``threshold`` a least and ``most`` a greatest similarity, ``radius`` a greatest and ``least`` a
    least distance. An index takes those that suit it.

    Attributes
    ----------
    on_duplicate : {"error", "replace", "skip"}
        The action of `insert` for a key that is in the index, or twice in a batch.
    holds : {"set", "weighted", "vector", "code"}
        What the entries are: sets, or texts as sets of shingles; weighted sets; vectors; or codes.
    key_kind : {"int", "str", "object"} or None
        The type of the keys; None without keys, "object" if it is not known.
    nbytes : int
        Memory or disk space of the index, in bytes.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures, in memory or in a file.
    lshfast.NearNeighbors : An index of points.
    lshfast.HammingIndex : An exact index of binary codes.
    lshfast.exact.PrefixIndex : An exact index of sets.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast import HammingIndex, NearNeighbors
    >>> from lshfast.index import Index
    >>> def key_of_nearest(index: Index, item):
    ...     matches = index.query(item, k=1)
    ...     return matches[0].key if matches else None
    >>> codes = HammingIndex()
    >>> codes.insert(["a", "b"], np.array([[7], [8]], np.uint64))
    2
    >>> points = NearNeighbors("euclidean", radius=2, dim=2, n=2)
    >>> points.insert([10, 11], [[0, 0], [1, 1]])
    2
    >>> (
    ...     key_of_nearest(codes, np.array([6], np.uint64)),
    ...     key_of_nearest(points, [1, 1.5]),
    ... )
    ('a', 11)
    """

    @property
    def on_duplicate(self) -> OnDuplicate: ...
    @property
    def holds(self) -> Kind: ...
    @property
    def key_kind(self) -> str | None: ...
    @property
    def nbytes(self) -> int: ...

    def __len__(self) -> int: ...
    def __contains__(self, key: Any, /) -> bool: ...
    def __iter__(self) -> Iterator[Any]: ...

    def insert(self, keys: Any, items: Any, /, *args: Any, **kwargs: Any) -> int:
        """Insert one entry or a batch, and return the number of new or replaced entries."""

    def remove(self, keys: Any) -> None:
        """Remove one entry or a batch; KeyError names a key without an entry."""

    def contains(self, keys: Any) -> BoolArray:
        """Return which of a batch of keys have an entry, bool (n,)."""

    def query(self, items: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Find the entries near to one item, or to each of a batch."""

    def pairs(self, *args: Any, **kwargs: Any) -> Pairs[Any]:
        """Find the pairs of near entries."""

    def describe(self) -> str:
        """Return how the index searches, as text."""

    def stats(self) -> Any:
        """Return the figures of the index."""

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the index to a file; the class method `open` reads it."""

    def verify(self) -> None:
        """Check that everything agrees; FormatError names what is damaged."""


@dataclass(frozen=True)
class PointsToIndex:
    """What a new index of points is made for.

    Attributes
    ----------
    format : PointFormat
    bound : float
        The greatest distance of the format, or for "tanimoto" the least similarity.
    recall : float
        Probability, in (0, 1), that an entry at the bound is found, if the index is not exact.
    entries : int
        The expected number of entries.
    seed : int
    sample : ndarray of uint64, shape (m, words), optional
        Points like the entries, by which the index is planned.
    on_duplicate : {"error", "replace", "skip"}
    """

    format: PointFormat
    bound: float
    recall: float
    entries: int
    seed: int
    sample: UInt64Array | None
    on_duplicate: OnDuplicate


class IndexOfPoints(Index, Protocol):
    """What an index of vectors or codes also does for runs over files and for the command line.

    Attributes
    ----------
    point_format : PointFormat
        The format of the entries.
    measures : tuple of str
        The measures of a query, the default first.
    """

    @property
    def point_format(self) -> PointFormat: ...
    @property
    def measures(self) -> tuple[ItemMeasure, ...]: ...

    @classmethod
    def made_for(cls, points: PointsToIndex, /) -> IndexOfPoints:
        """Return an empty index for points."""

    def insert_points(self, keys: Column, points: Any, threads: int) -> int:
        """Insert a batch of entries, and return the number of new or replaced entries."""

    def about(self) -> str:
        """Return what the index is, and how it searches, as lines of text."""

    def bound_by(self, measure: ItemMeasure) -> float:
        """Return the bound of the index, by one of its measures."""

    def recall_at(self, distance: float) -> float:
        """Return the probability that an entry at a distance of the format is found."""

    def check_promise(self, distance: float) -> None:
        """Raise ValueError if the index promises no entries at a distance of the format."""

    def search_bound(
        self, points: Any, measure: ItemMeasure, bound: float, threads: int
    ) -> AnswerLists[Any]:
        """Return the entries within a bound by a measure, and perhaps some a little beyond it.

        Their values are distances of the format, or for "tanimoto" similarities.
        """

    def search_nearest(
        self,
        points: Any,
        k: int,
        is_apart: IsApart | None,
        unbounded: bool,
        threads: int,
    ) -> AnswerLists[Any]:
        """Return the k nearest entries, of those that are apart.

        If the search is unbounded, the index may warn that it misses some.
        """

    def write_back(self, path: str, *, progress: Progress | None = None) -> None:
        """Write the changes to the file from which the index was opened."""

    def compact(self, *, progress: Progress | None = None) -> None:
        """Rewrite this file without removed entries."""
