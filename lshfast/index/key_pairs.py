"""`KeyPairs`: the pairs of similar entries of an index, and the search for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np

from lshfast._common.types import Float64Array
from lshfast.index.keys import Column, as_column, concatenate, listed, take
from lshfast.index.matches import AnswerLists
from lshfast.index.stores.base import Store

Value = TypeVar("Value")


@dataclass(frozen=True)
class Pairs(Generic[Value]):
    """Pairs, as columns; iteration yields tuples (left, right, value). A subclass adds the column
    of values.
    """

    left: Column
    right: Column

    def __len__(self) -> int:
        return len(self.left)

    def __iter__(self) -> Iterator[tuple[Any, Any, Value]]:
        left, right, values = vars(self).values()
        return zip(listed(left), listed(right), values.tolist(), strict=True)


@dataclass(frozen=True)
class KeyPairs(Pairs[float]):
    """Pairs of keys and their similarities, as columns; iteration yields tuples (left, right,
    similarity).

    Attributes
    ----------
    left, right : ndarray of int64, shape (n,), or list
    similarity : ndarray of float64, shape (n,)
        Estimated similarities, in [0, 1].

    See Also
    --------
    lshfast.LSHIndex : An index of signatures that finds similar sets.
    lshfast.index.NeighborPairs : Pairs of keys with distances.
    """

    similarity: Float64Array


def find_pairs(store: Store, least: int, compared: int, threads: int) -> KeyPairs:
    """Find the pairs of entries that are candidates of each other, with at least `least` of
    `compared` equal slots.
    """
    held = cache(lambda: _Places(key for keys in store.all_keys() for key in listed(keys)))
    parts: list[tuple[list[Any], list[Any], list[float]]] = []
    for keys, signatures in store.items():
        found = store.query(signatures, least=least, threads=threads)
        assert found.agreements is not None
        query = np.repeat(np.arange(len(keys), dtype=np.int64), np.diff(found.offsets))
        if isinstance(keys, np.ndarray) and isinstance(found.keys, np.ndarray):
            stay = np.flatnonzero(keys[query] < found.keys)
        else:
            left = listed(take(keys, query))
            right = listed(found.keys)
            stay = np.flatnonzero([_before(a, b, held) for a, b in zip(left, right, strict=True)])
        similarity = (found.agreements[stay] / compared).tolist()
        parts.append((listed(take(keys, query[stay])), listed(take(found.keys, stay)), similarity))
    joined = [pair for part in parts for pair in zip(*part, strict=True)]
    try:
        joined.sort(key=lambda pair: pair[:2])
    except TypeError:
        joined.sort(key=lambda pair: (held()[pair[0]], held()[pair[1]]))
    return KeyPairs(
        as_column([pair[0] for pair in joined]),
        as_column([pair[1] for pair in joined]),
        np.array([pair[2] for pair in joined], np.float64),
    )


def pairs_with_others(
    keys: Column, found: AnswerLists[Any], k: int | None = None
) -> tuple[Column, Column, Float64Array]:
    """Return pairs (left, right, value) of the queries of some keys and their answers, but for the
    keys themselves.

    With k, they are the first k of each answer.
    """
    query = np.repeat(np.arange(len(keys), dtype=np.int64), np.diff(found.offsets))
    left = take(keys, query)
    right = found.keys
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        stay = left != right
    else:
        stay = np.fromiter(
            (a != b for a, b in zip(listed(left), listed(right), strict=True)), np.bool_, len(query)
        )
    if k is not None:
        before = np.concatenate([[0], np.cumsum(stay, dtype=np.int64)])
        stay &= before[:-1] - before[found.offsets[query]] < k
    places = np.flatnonzero(stay)
    return take(left, places), take(right, places), np.asarray(found.values)[places]


def pairs_once(
    found: list[tuple[Column, Column, Float64Array]],
) -> tuple[Column, Column, Float64Array]:
    """Return the pairs (left, right, value) of several batches, sorted and once; pairs of one key
    are left out.

    The lesser key of a pair is first, or the one that occurs first if keys cannot be compared.
    """
    left = concatenate([batch[0] for batch in found])
    right = concatenate([batch[1] for batch in found])
    values = np.concatenate([np.empty(0), *(batch[2] for batch in found)])
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        names: Column = np.unique(np.concatenate([left, right]))
        a = np.searchsorted(names, left)
        b = np.searchsorted(names, right)
    else:
        left = listed(left)
        right = listed(right)
        keys = list(dict.fromkeys([*left, *right]))
        with suppress(TypeError):
            keys.sort()
        ranks = {key: rank for rank, key in enumerate(keys)}
        a = np.fromiter((ranks[key] for key in left), np.int64, len(left))
        b = np.fromiter((ranks[key] for key in right), np.int64, len(right))
        names = keys
    first = np.minimum(a, b)
    second = np.maximum(a, b)
    _, places = np.unique(first * np.int64(len(names)) + second, return_index=True)
    places = places[first[places] < second[places]]
    return take(names, first[places]), take(names, second[places]), values[places]


class _Places(dict[Any, int]):
    """The position of each key in the order of iteration; keys that are not in it are numbered when
    looked up.
    """

    def __init__(self, keys: Iterable[Any]) -> None:
        super().__init__((key, place) for place, key in enumerate(keys))

    def __missing__(self, key: Any) -> int:
        return self.setdefault(key, len(self))


def _before(a: Any, b: Any, held: Callable[[], dict[Any, int]]) -> bool:
    """Return whether a comes before b: by comparison, or by position if the keys cannot be
    compared.
    """
    with suppress(TypeError):
        if a < b or b < a:
            return bool(a < b)
    return held()[a] < held()[b]
