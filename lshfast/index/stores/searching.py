"""The search of neighbors in stores without tables: candidates are copied to memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from lshfast._common.types import UInt64Array
from lshfast.index.keys import Column, as_column, kind_of, listed
from lshfast.index.stores.segment import empty_segment
from lshfast.index.stores.segments import Segments
from lshfast.index.stores.values import (
    CodesRequest,
    Found,
    Neighbors,
    Parameters,
    SearchRequest,
)


def search_candidates(
    query: Callable[..., Found],
    entries_of: Callable[[Column], tuple[Column, UInt64Array]],
    parameters: Parameters,
    search: SearchRequest,
) -> Neighbors:
    """Search the candidates of a store by its methods `query` and `entries_of`.

    The candidates of all queries are copied to tables in memory, so the kernels and the answers are
    the same.
    """
    m, _, probes = search.buckets.shape
    rows = np.zeros((m, probes, parameters.words), np.uint64)
    rows[:, :, : parameters.num_perm] = search.buckets.transpose(0, 2, 1)
    matches = query(rows.reshape(m * probes, -1), least=None, threads=search.threads)
    keys, entries = entries_of(as_column(dict.fromkeys(listed(matches.keys))))
    return search_entries(parameters, keys, entries, search)


def search_all_codes(
    items: Callable[[], Iterable[tuple[Column, UInt64Array]]],
    parameters: Parameters,
    search: CodesRequest,
) -> Neighbors:
    """Search the codes of a store that only yields entries, by tables in memory."""
    batches = list(items())
    keys = as_column([key for batch_keys, _ in batches for key in listed(batch_keys)])
    rows = np.concatenate(
        [np.empty((0, parameters.words), np.uint64), *(rows for _, rows in batches)]
    )
    return _in_memory(parameters, keys, rows).search_codes(search)


def search_entries(
    parameters: Parameters, keys: Column, entries: UInt64Array, search: SearchRequest
) -> Neighbors:
    """Search entries, which may contain others than the candidates; no key may be there twice."""
    return _in_memory(parameters, keys, entries).search(search)


def _in_memory(parameters: Parameters, keys: Column, entries: UInt64Array) -> Segments:
    segment = empty_segment(parameters, kind_of(keys))
    if len(keys):
        segment.tables.write(segment.admit(keys)[0], entries)
    return Segments(parameters, growing=segment)
