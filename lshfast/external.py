"""Candidates in a given amount of memory: sorted files that are merged, or map and reduce functions
for an engine.

>>> import numpy as np, tempfile
>>> from lshfast.external import external_candidates
>>> keys = np.array([[1, 5], [2, 5], [1, 6]], np.uint64)
>>> with tempfile.TemporaryDirectory() as folder:
...     i, j = external_candidates(keys, folder, memory=64 << 20)
>>> i.tolist(), j.tolist()
([0, 0], [1, 2])
"""

from lshfast.join.external import ExternalJoin, SortedRuns, contract_links, external_candidates
from lshfast.join.map_reduce import Buckets, Comparisons, map_buckets, reduce_buckets

__all__ = [
    "Buckets",
    "Comparisons",
    "ExternalJoin",
    "SortedRuns",
    "contract_links",
    "external_candidates",
    "map_buckets",
    "reduce_buckets",
]
