"""Equal points in a batch of queries: each is searched once, and its answer is repeated.

An author of points can make n equal ones. If all are queries, n searches would each read n entries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.index.apart import answers_of
from lshfast.index.neighbors.answers import NeighborLists
from lshfast.kernels.text import Texts, tokens_of_texts


@dataclass(frozen=True)
class EqualQueries:
    """The groups of equal points in a batch.

    Attributes
    ----------
    first : ndarray of int64, shape (m,)
        The first point of each group, ascending.
    group : ndarray of int64, shape (n,)
        The number of the group of each point.
    """

    first: Int64Array
    group: Int64Array

    def repeat(self, answers: NeighborLists) -> NeighborLists:
        """Return the answers to all points, given those to the first ones of the groups."""
        return answers_of(answers, self.group)


def find_equal_queries(words: UInt64Array) -> EqualQueries | None:
    """Group equal points, uint64 (n, words); None if there are none."""
    n, width = words.shape
    if n < 2:
        return None
    ends = 8 * width * np.arange(n + 1, dtype=np.int64)
    texts = Texts.of_buffer(
        np.ascontiguousarray(words).reshape(-1).view(np.uint8), ends
    )
    hashes = tokens_of_texts(texts, draw_hash_key())
    _, places, numbers = np.unique(hashes, return_index=True, return_inverse=True)
    if len(places) == n:
        return None
    order = np.argsort(places)
    first = places[order]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=np.int64)
    group = rank[numbers.reshape(-1)]
    # Different points with equal hashes: never seen, and then all points are searched.
    return (
        EqualQueries(first, group)
        if np.array_equal(words[first[group]], words)
        else None
    )
