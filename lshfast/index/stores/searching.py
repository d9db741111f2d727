"""The search of neighbors in a store that can only answer queries and return entries."""

from __future__ import annotations

import numpy as np

from lshfast.common.types import Float64Array, Int64Array, UInt64Array
from lshfast.index.keys import Column, as_column, concatenate, take
from lshfast.index.measure import Measure, measure_of
from lshfast.index.matches import best_first
from lshfast.index.stores.base import Limit, Neighbors, Store


def search_slowly(
    store: Store,
    buckets: UInt64Array,
    points: UInt64Array,
    most: int | None,
    within: float | None,
    limit: Limit | None,
) -> Neighbors:
    """Do what `Store.search` does: see there."""
    p = store.parameters
    assert p is not None
    measure = measure_of(p.measure)
    m, _, probes = buckets.shape
    parts: list[tuple[Column, Float64Array]] = []
    examined = np.zeros(m, np.int64)
    for query in range(m):
        rows = np.zeros((probes, p.words), np.uint64)
        rows[:, : p.num_perm] = buckets[query].T
        met = list(dict.fromkeys(listed_keys(store, rows)))
        keys, entries = store.entries_of(as_column(met))
        distances = np.array([distance_of(measure, points[query], entry[p.num_perm :]) for entry in entries])
        stay = _examined(distances, within, limit)
        examined[query] = len(stay)
        stay = stay if within is None else stay[distances[stay] <= within]
        parts.append((take(keys, stay), distances[stay]))
    offsets = np.cumsum([0, *(len(distances) for _, distances in parts)], dtype=np.int64)
    distances = np.concatenate([np.empty(0), *(distances for _, distances in parts)])
    return nearest_first(offsets, concatenate([keys for keys, _ in parts]), distances, examined, most)


def listed_keys(store: Store, rows: UInt64Array) -> list[object]:
    found = store.query(rows, least=None, threads=1).keys
    return list(found.tolist() if isinstance(found, np.ndarray) else found)


def _examined(distances: Float64Array, within: float | None, limit: Limit | None) -> Int64Array:
    """Return the places of the rows that are examined."""
    places = np.arange(len(distances), dtype=np.int64)
    if limit is None:
        return places
    if limit.kind == "closest":
        return places[: limit.count]
    far = distances > (np.inf if within is None else within)
    ends = np.flatnonzero(~far | (np.cumsum(far) == limit.count))
    return places[: int(ends[0]) + 1] if len(ends) else places


def nearest_first(
    offsets: Int64Array, keys: Column, distances: Float64Array, examined: Int64Array, most: int | None
) -> Neighbors:
    """Return neighbors in their order, the first `most` of each query."""
    # The bits of non-negative doubles have the order of the doubles, and the complement reverses it.
    ranks = ~distances.view(np.int64)
    offsets, keys, ranks = best_first(offsets, keys, ranks, most)  # type: ignore[assignment]
    return Neighbors(offsets, keys, (~ranks).view(np.float64), examined)


def distance_of(measure: Measure, a: UInt64Array, b: UInt64Array) -> float:
    """Return the distance of two points."""
    if measure.name == "hamming":
        return float(np.unpackbits((a ^ b).view(np.uint8)).sum())
    x, y = (point.view(measure.dtype)[: measure.dim].astype(np.float64) for point in (a, b))
    if measure.name == "cosine":
        return float(np.arccos(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1, 1)))
    return float(np.abs(x - y).sum() if measure.name == "manhattan" else np.sqrt(((x - y) ** 2).sum()))
