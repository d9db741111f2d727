"""`KeyPairs`: the pairs of similar entries of an index, and the search for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np

from lshfast._common.rows import offsets_of
from lshfast._common.types import Float64Array
from lshfast.index.keys import (
    Column,
    IntegerArray,
    as_column,
    concatenate,
    listed,
    lists_of,
    take,
)
from lshfast.index.matches import AnswerLists
from lshfast.index.stores.base import Store

Value = TypeVar("Value")


@dataclass(frozen=True)
class Pairs(Generic[Value]):
    """Pairs as columns, to which a subclass adds values; iteration yields (left, right, value)."""

    left: Column
    right: Column

    def __len__(self) -> int:
        return len(self.left)

    def __iter__(self) -> Iterator[tuple[Any, Any, Value]]:
        left_keys, right_keys, values = vars(self).values()
        return zip(listed(left_keys), listed(right_keys), values.tolist(), strict=True)


@dataclass(frozen=True)
class KeyPairs(Pairs[float]):
    """Pairs of keys and their similarities as columns; iteration yields tuples of three.

    Attributes
    ----------
    left, right : ndarray of int64 or uint64, shape (n,), or list
    similarity : ndarray of float64, shape (n,)
        Estimated similarities, in [0, 1].

    See Also
    --------
    lshfast.LSHIndex : An index of signatures that finds similar sets.
    lshfast.index.NeighborPairs : Pairs of keys with distances.
    """

    similarity: Float64Array


def find_pairs(store: Store, least: int, compared: int, threads: int) -> KeyPairs:
    """Find the pairs of entries that are candidates, with at least `least` equal slots.

    Their similarity is the number of equal slots divided by `compared`.
    """
    positions = cache(
        lambda: _Places(key for keys in store.all_keys() for key in listed(keys))
    )
    all_pairs: list[tuple[Any, Any, float]] = []
    for keys, signatures in store.items():
        matches = store.query(signatures, least=least, threads=threads)
        assert matches.agreements is not None
        queries = lists_of(matches.offsets)
        columns = _alike(keys, matches.keys)
        if columns is not None:
            places = np.flatnonzero(columns[0][queries] < columns[1])
        else:
            key_of_query = listed(take(keys, queries))
            key_of_match = listed(matches.keys)
            places = np.flatnonzero(
                [
                    _before(a, b, positions)
                    for a, b in zip(key_of_query, key_of_match, strict=True)
                ]
            )
        left_keys = listed(take(keys, queries[places]))
        right_keys = listed(take(matches.keys, places))
        similarity = (matches.agreements[places] / compared).tolist()
        all_pairs += zip(left_keys, right_keys, similarity, strict=True)
    try:
        all_pairs.sort(key=lambda pair: pair[:2])
    except TypeError:
        all_pairs.sort(key=lambda pair: (positions()[pair[0]], positions()[pair[1]]))
    return KeyPairs(
        as_column([pair[0] for pair in all_pairs]),
        as_column([pair[1] for pair in all_pairs]),
        np.array([pair[2] for pair in all_pairs], np.float64),
    )


def pairs_with_others(
    keys: Column, answers: AnswerLists[Any], k: int | None = None
) -> tuple[Column, Column, Float64Array]:
    """Return pairs (left, right, value) of queries and their answers, without the keys themselves.

    With k, they are the first k of each answer.
    """
    queries = lists_of(answers.offsets)
    left_keys = take(keys, queries)
    right_keys = answers.keys
    columns = _alike(left_keys, right_keys)
    if columns is not None:
        differs = columns[0] != columns[1]
    else:
        both_keys = zip(listed(left_keys), listed(right_keys), strict=True)
        differs = np.fromiter((a != b for a, b in both_keys), np.bool_, len(queries))
    if k is not None:
        counts_before = offsets_of(differs)
        differs &= counts_before[:-1] - counts_before[answers.offsets[queries]] < k
    places = np.flatnonzero(differs)
    return (
        take(left_keys, places),
        take(right_keys, places),
        np.asarray(answers.values)[places],
    )


def joined_batches(
    batches: list[tuple[Column, Column, Float64Array]],
) -> tuple[Column, Column, Float64Array]:
    """Return the pairs (left, right, value) of several batches, one after the other."""
    return (
        concatenate([left_keys for left_keys, _, _ in batches]),
        concatenate([right_keys for _, right_keys, _ in batches]),
        np.concatenate([np.empty(0), *(values for _, _, values in batches)]),
    )


def pairs_once(
    batches: list[tuple[Column, Column, Float64Array]],
) -> tuple[Column, Column, Float64Array]:
    """Return the pairs (left, right, value) of several batches, sorted, once, and of two keys.

    The lesser key of a pair is first, or the one that occurs first if keys cannot be compared.
    """
    left_keys, right_keys, values = joined_batches(batches)
    columns = _alike(left_keys, right_keys)
    if columns is not None:
        names: Column = np.unique(np.concatenate(columns))
        a = np.searchsorted(names, columns[0])
        b = np.searchsorted(names, columns[1])
    else:
        left_keys = listed(left_keys)
        right_keys = listed(right_keys)
        keys = list(dict.fromkeys([*left_keys, *right_keys]))
        with suppress(TypeError):
            keys.sort()
        ranks = {key: rank for rank, key in enumerate(keys)}
        a = np.fromiter((ranks[key] for key in left_keys), np.int64, len(left_keys))
        b = np.fromiter((ranks[key] for key in right_keys), np.int64, len(right_keys))
        names = keys
    first = np.minimum(a, b)
    second = np.maximum(a, b)
    _, places = np.unique(first * np.int64(len(names)) + second, return_index=True)
    places = places[first[places] < second[places]]
    return take(names, first[places]), take(names, second[places]), values[places]


def _alike(left: Column, right: Column) -> tuple[IntegerArray, IntegerArray] | None:
    """Return two columns as integers of one dtype, which numpy compares exactly, or None."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        both = concatenate([left, right])
        if isinstance(both, np.ndarray):
            return both[: len(left)], both[len(left) :]
    return None


class _Places(dict[Any, int]):
    """The position of each key in the order of iteration; new keys are numbered when looked up."""

    def __init__(self, keys: Iterable[Any]) -> None:
        super().__init__((key, place) for place, key in enumerate(keys))

    def __missing__(self, key: Any) -> int:
        return self.setdefault(key, len(self))


def _before(a: Any, b: Any, positions: Callable[[], dict[Any, int]]) -> bool:
    """Return whether a comes before b: by comparison, or else by position."""
    with suppress(TypeError):
        if a < b or b < a:
            return bool(a < b)
    return positions()[a] < positions()[b]
