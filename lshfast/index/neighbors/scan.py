"""Exact search: the nearest of all entries of a store, in any bucket."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from lshfast._common.rows import offsets_of
from lshfast._common.types import UInt64Array
from lshfast.index.keys import as_column, listed
from lshfast.index.measure import Measure
from lshfast.index.stores.base import Store
from lshfast.index.stores.searching import search_entries
from lshfast.index.stores.values import Neighbors, Parameters, SearchRequest


def scan(
    store: Store,
    parameters: Parameters,
    measure: Measure,
    points: UInt64Array,
    k: int,
    threads: int,
) -> Neighbors:
    """Return the k nearest of all entries to each of m points, uint64 (m, payload).

    Each batch of entries is searched as one bucket, so the kernels and the distances are the same.
    """
    single_bucket = replace(parameters, num_perm=1, bands=1)
    buckets = np.zeros((len(points), 1, 1), np.uint64)
    request = SearchRequest(buckets, points, measure, k, None, None, threads)
    best: list[list[tuple[float, int, Any]]] = [[] for _ in range(len(points))]
    examined = 0
    for keys, rows in store.items():
        entries = rows[:, parameters.num_perm - 1 :].copy()
        entries[:, 0] = 0
        answers = search_entries(single_bucket, keys, entries, request)
        distances = answers.distances.tolist()
        names = listed(answers.keys)
        for query, (start, stop) in enumerate(pairwise(answers.offsets.tolist())):
            # Equally near entries are in the order of their keys within a batch, and of the batches
            # otherwise.
            candidates = [
                (distances[i], examined + i - start, names[i])
                for i in range(start, stop)
            ]
            best[query] = _nearest(best[query] + candidates, k)
        examined += len(keys)
    offsets = offsets_of([len(entries_of_query) for entries_of_query in best])
    flat = [entry for entries_of_query in best for entry in entries_of_query]
    keys = as_column([key for _, _, key in flat])
    return Neighbors(
        offsets,
        keys,
        np.array([value for value, _, _ in flat], np.float64),
        np.full(len(points), examined, np.int64),
    )


def _nearest(
    entries: list[tuple[float, int, Any]], k: int
) -> list[tuple[float, int, Any]]:
    try:
        return sorted(entries, key=lambda entry: (entry[0], entry[2]))[:k]
    except TypeError:  # keys that cannot be compared
        return sorted(entries, key=lambda entry: entry[:2])[:k]
