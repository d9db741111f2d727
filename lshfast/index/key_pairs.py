"""`KeyPairs`: the pairs of similar entries of an index, and the search for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from lshfast.common.types import Float64Array
from lshfast.index.keys import as_column, listed, take
from lshfast.index.stores.base import Column, Store


@dataclass(frozen=True)
class KeyPairs:
    """Pairs of keys and their similarities, as columns; iteration yields tuples (left, right, similarity).

    Attributes
    ----------
    left, right : ndarray of int64, shape (n,), or list
    similarity : ndarray of float64, shape (n,)
        Estimated similarities, in [0, 1].
    """

    left: Column
    right: Column
    similarity: Float64Array

    def __len__(self) -> int:
        return len(self.similarity)

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        return zip(listed(self.left), listed(self.right), self.similarity.tolist(), strict=True)


def find_pairs(store: Store, least: int, compared: int, threads: int) -> KeyPairs:
    """Find the pairs of entries that are candidates of each other, with at least `least` of `compared` equal slots."""
    held = cache(lambda: _Places(key for keys in store.all_keys() for key in listed(keys)))
    parts: list[tuple[list[Any], list[Any], list[float]]] = []
    for keys, signatures in store.items():
        found = store.query(signatures, least=least, threads=threads)
        assert found.agreements is not None
        query = np.repeat(np.arange(len(keys), dtype=np.int64), np.diff(found.offsets))
        if isinstance(keys, np.ndarray) and isinstance(found.keys, np.ndarray):
            stay = np.flatnonzero(keys[query] < found.keys)
        else:
            left, right = listed(take(keys, query)), listed(found.keys)
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


class _Places(dict[Any, int]):
    """The position of each key in the order of iteration; keys that are not in it are numbered when looked up."""

    def __init__(self, keys: Iterable[Any]) -> None:
        super().__init__((key, place) for place, key in enumerate(keys))

    def __missing__(self, key: Any) -> int:
        return self.setdefault(key, len(self))


def _before(a: Any, b: Any, held: Callable[[], dict[Any, int]]) -> bool:
    """Return whether a comes before b: by comparison, or by position if the keys cannot be compared."""
    with suppress(TypeError):
        if a < b or b < a:
            return bool(a < b)
    return held()[a] < held()[b]
