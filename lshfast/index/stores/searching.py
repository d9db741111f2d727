"""The search of neighbors in stores that have no tables: their candidates are copied to tables in memory."""

from __future__ import annotations

import numpy as np

from lshfast.common.types import UInt64Array
from lshfast.index.keys import Column, as_column, kind_of, listed
from lshfast.index.stores.base import Neighbors, Parameters, SearchRequest, Store
from lshfast.index.stores.segment import empty_segment
from lshfast.index.stores.segments import Segments


def search_candidates(store: Store, parameters: Parameters, search: SearchRequest) -> Neighbors:
    """Search the candidates of a store that can only answer queries and return entries.

    The candidates of all queries are copied to tables in memory, so the kernels and the answers are the same.
    """
    m, _, probes = search.buckets.shape
    rows = np.zeros((m, probes, parameters.words), np.uint64)
    rows[:, :, : parameters.num_perm] = search.buckets.transpose(0, 2, 1)
    found = store.query(rows.reshape(m * probes, -1), least=None, threads=search.threads)
    keys, entries = store.entries_of(as_column(dict.fromkeys(listed(found.keys))))
    return search_entries(parameters, keys, entries, search)


def search_entries(parameters: Parameters, keys: Column, entries: UInt64Array, search: SearchRequest) -> Neighbors:
    """Search entries, which may contain others than the candidates; no key may be there twice."""
    segment = empty_segment(parameters, kind_of(keys))
    segments = Segments(parameters, growing=segment)
    if len(keys):
        segment.tables.write(segment.admit(keys)[0], entries)
    return segments.search(search)
