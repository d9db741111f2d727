"""Answers to queries: keys and similarities, the most similar first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import neg
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.threads import ordered_map
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.index.keys import Column, IntegerArray, concatenate, take
from lshfast.kernels.matches import order_matches

_FIRST_BIT = np.int64(-(2**63))


class Match(NamedTuple):
    """One entry in the answer to a query.

    Attributes
    ----------
    key : object
    similarity : float
        Estimated similarity of the entry to the query, in [0, 1]; from an `LSHEnsemble`, the
        estimated containment.

    See Also
    --------
    lshfast.index.Matches : The answers to many queries.
    lshfast.index.Neighbor : One entry of an answer, with its distance.

    Examples
    --------
    >>> from lshfast import LSHIndex
    >>> index = LSHIndex(shingles="word:2")
    >>> index.insert(["a"], ["the cat sat on the mat"])
    1
    >>> index.query("The cat sat on the mat!", k=1)
    [Match(key='a', similarity=1.0)]
    """

    key: Any
    similarity: float


# The type of the elements of an answer: `Match`, or keys if no similarity was requested.
Answer = TypeVar("Answer")

# The answers to a piece of the queries.
Part = TypeVar("Part")

Values = TypeVar("Values", Int64Array, Float64Array)


class AnswerLists(Generic[Answer]):
    """Hold the answers to m queries as arrays.

    The keys of answer i are ``keys[offsets[i] : offsets[i + 1]]``.

    ``len(answers)`` is m. ``answers[i]``, with i in -m..m - 1, is answer i as a list; iteration
    yields the same lists.

    Parameters
    ----------
    offsets : ndarray of int64, shape (m + 1,)
        Start of each answer, then the end of the last one. The first is 0.
    keys : ndarray of int64 or uint64, shape (n,), or list
        Keys of all answers, concatenated.
    values : ndarray, shape (n,), or None
        Their similarities or distances; with None, an answer is a list of keys.
    """

    __slots__ = ("keys", "offsets", "values")

    offsets: Int64Array
    keys: Column
    values: npt.NDArray[Any] | None
    # Makes an element of a key and its value.
    _element: ClassVar[Callable[..., Any]]
    _noun: ClassVar[str] = "matches"
    # Names of arrays with an element for each query.
    _of_queries: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, offsets: Int64Array, keys: Column, values: npt.NDArray[Any] | None
    ) -> None:
        self.offsets = offsets
        self.keys = keys
        self.values = values

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> list[Answer]:
        """Return one answer."""
        if not -len(self) <= query < len(self):
            raise IndexError(
                f"query {query} is out of range: there are {len(self)} queries"
            )
        query %= len(self)
        return self._between(int(self.offsets[query]), int(self.offsets[query + 1]))

    def __iter__(self) -> Iterator[list[Answer]]:
        bounds = self.offsets.tolist()
        return map(self._between, bounds[:-1], bounds[1:])

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)} queries, {len(self.keys)} {self._noun})"
        )

    def _between(self, low: int, high: int) -> list[Any]:
        part = self.keys[low:high]
        keys = part.tolist() if isinstance(part, np.ndarray) else part
        if self.values is None:
            return keys
        return list(map(self._element, keys, self.values[low:high].tolist()))


class Matches(AnswerLists[Answer]):
    """Answers as lists of `Match`, or of keys if no similarity was requested; see `AnswerLists`.

    For type checkers, the type is ``Matches[Match]`` or ``Matches[Any]``.

    Parameters
    ----------
    offsets, keys
        As for `AnswerLists`.
    similarity : ndarray of float64, shape (n,), or None
        Similarities in [0, 1]; None if they were not requested.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures that finds similar sets.
    lshfast.index.Match : One entry of an answer, with its similarity.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.index.matches import Matches
    >>> matches = Matches(np.array([0, 2, 2]), ["a", "b"], np.array([0.75, 0.5]))
    >>> len(matches), matches[0], matches[1]
    (2, [Match(key='a', similarity=0.75), Match(key='b', similarity=0.5)], [])
    >>> Matches(np.array([0, 2]), np.array([17, 19]), None)[0]
    [17, 19]
    """

    __slots__ = ()

    _element = Match

    def __init__(
        self, offsets: Int64Array, keys: Column, similarity: Float64Array | None
    ) -> None:
        super().__init__(offsets, keys, similarity)

    @property
    def similarity(self) -> Float64Array | None:
        """The similarities of all answers, concatenated."""
        return self.values


def in_pieces(
    search: Callable[[UInt64Array], Part],
    queries: UInt64Array,
    piece: int,
    threads: int,
) -> list[Part]:
    """Return the answers to queries in pieces of this number of them, at least one piece."""
    if len(queries) <= piece:
        return [search(queries)]
    starts = range(0, len(queries), piece)
    parts = ordered_map(lambda at: search(queries[at : at + piece]), starts, threads)
    return list(parts)


def joined_answers(
    parts: list[tuple[Int64Array, Column, Values]],
) -> tuple[Int64Array, Column, Values]:
    """Return the answers (offsets, keys, values) to several batches of queries as one."""
    counts = np.concatenate([np.diff(offsets) for offsets, _, _ in parts])
    keys = concatenate([keys for _, keys, _ in parts])
    values: Any = np.concatenate([values for _, _, values in parts])
    return offsets_of(counts), keys, values


def best_first(
    offsets: Int64Array,
    keys: Column,
    scores: Int64Array | Float64Array | None,
    k: int | None = None,
) -> tuple[Int64Array, Column, Int64Array | Float64Array | None]:
    """Sort the matches of each query by (score descending, key), and keep the first k.

    If keys of a query cannot be compared, keys with equal scores stay in the given order.

    Parameters
    ----------
    offsets : ndarray of int64, shape (m + 1,)
        Start of the matches of each query, then the end of the last one. The first is 0.
    keys : ndarray of int64 or uint64, shape (n,), or list
    scores : ndarray of int64 or float64, shape (n,), or None
        Numbers of equal slots, or similarities that are not negative. With None, matches are sorted
        by key.
    k : int, optional
        At least 1.

    Returns
    -------
    offsets, keys, scores
        The sorted matches. These may be the same objects as the arguments if they were sorted
        already.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.index.matches import best_first
    >>> offsets, scores = (
    ...     np.array([0, 3, 4], np.int64),
    ...     np.array([5, 9, 5, 1], np.int64),
    ... )
    >>> offsets, keys, scores = best_first(offsets, ["c", "b", "a", "x"], scores, k=2)
    >>> offsets.tolist(), keys, scores.tolist()
    ([0, 2, 3], ['b', 'a', 'x'], [9, 5, 1])
    """
    counts = np.diff(offsets)
    if counts.max(initial=0) <= 1:
        return offsets, keys, scores
    if isinstance(keys, np.ndarray):
        keys = keys.copy()
        ranks = np.zeros(len(keys), np.int64) if scores is None else scores.copy()
        # The bits of non-negative doubles, as integers, have the order of the doubles.
        limit = k if k is not None and counts.max() > k else None
        order_integers(np.ascontiguousarray(offsets), keys, ranks.view(np.int64), limit)
        scores = None if scores is None else ranks
    else:
        order = _python_order(
            offsets, keys, None if scores is None else (-scores).tolist()
        )
        keys = take(keys, order)
        scores = None if scores is None else scores[order]
    if k is not None and counts.max() > k:
        ranks_in_query = int64_range(len(keys)) - np.repeat(offsets[:-1], counts)
        places = np.flatnonzero(ranks_in_query < k)
        offsets = offsets_of(np.minimum(counts, k))
        keys = take(keys, places)
        scores = None if scores is None else scores[places]
    return offsets, keys, scores


def order_integers(
    offsets: Int64Array,
    keys: IntegerArray,
    ranks: Int64Array,
    limit: int | None,
) -> None:
    """Sort integer keys as `order_matches` does, in place."""
    integers = keys.view(np.int64)
    if keys.dtype == np.uint64:
        integers ^= (
            _FIRST_BIT  # so that unsigned integers have the order of signed ones
        )
    order_matches(offsets, integers, ranks, limit)
    if keys.dtype == np.uint64:
        integers ^= _FIRST_BIT


def nearest_first(
    offsets: Int64Array, keys: Column, distances: Float64Array, k: int | None = None
) -> tuple[Int64Array, Column, Float64Array]:
    """Sort the neighbors of each query by (distance, key), and keep the first k of each.

    Parameters
    ----------
    offsets, keys, k
        As for `best_first`.
    distances : ndarray of float64, shape (n,)
        Not negative.

    Returns
    -------
    offsets, keys, distances

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.index.matches import nearest_first
    >>> offsets, keys, distances = nearest_first(
    ...     np.array([0, 3]), ["c", "b", "a"], np.array([0.5, 0.1, 0.5]), k=2
    ... )
    >>> offsets.tolist(), keys, distances.tolist()
    ([0, 2], ['b', 'a'], [0.1, 0.5])
    """
    # The bits of doubles that are not negative have the order of the doubles, and their complements
    # the reverse order.
    offsets, keys, ranks = best_first(offsets, keys, ~distances.view(np.int64), k)
    assert ranks is not None
    return offsets, keys, (~ranks.view(np.int64)).view(np.float64)


def in_order(keys: list[Any]) -> list[Any]:
    """Return the keys in ascending order, or in the given order if they cannot be compared."""
    if len(keys) < 2:
        return keys
    try:
        return sorted(keys)
    except TypeError:
        return keys


def best_of(
    keys: list[Any], counts: list[int], slots: int, k: int | None
) -> list[Match]:
    """Return the first k matches of one query in the order of `best_first`.

    `counts` are numbers of equal slots.
    """
    if len(keys) > 1:
        kinds = set(map(type, keys))
        if kinds == {int} or kinds == {str}:
            order = sorted(zip(map(neg, counts), keys, strict=True))
            return [Match(key, -count / slots) for count, key in order[:k]]
        rank = {key: place for place, key in enumerate(in_order(keys))}
        places = sorted(range(len(keys)), key=lambda i: (-counts[i], rank[keys[i]]))
        keys = [keys[i] for i in places]
        counts = [counts[i] for i in places]
    return [
        Match(key, count / slots)
        for key, count in zip(keys[:k], counts[:k], strict=True)
    ]


def _python_order(
    offsets: Int64Array, keys: list[Any], ranks: list[Any] | None
) -> Int64Array:
    """Return the order by (rank, key) within each query, with keys compared by Python."""
    order = int64_range(len(keys))
    for query in np.flatnonzero(np.diff(offsets) > 1).tolist():
        places_of_query = slice(int(offsets[query]), int(offsets[query + 1]))
        places = list(range(places_of_query.start, places_of_query.stop))
        with suppress(TypeError):  # keys that cannot be compared
            places = sorted(places, key=keys.__getitem__)
        if ranks is not None:
            places.sort(key=ranks.__getitem__)
        order[places_of_query] = places
    return order
