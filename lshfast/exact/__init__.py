"""Exact search among sets: all similar pairs, and all sets that are similar to a query.

`pairs` and `join` find the pairs. `PrefixIndex` is an index that finds the sets.

>>> from lshfast import exact
>>> exact.pairs([{1, 2, 3, 4}, {2, 3, 4}, {5}], threshold=0.7).tolist()
[(0, 1, 0.75)]

Files:

- prefix_index.py, prefix_file.py: `PrefixIndex`, and its file.

The exact joins are in lshfast/join/exact_join.py.
"""

from lshfast.exact.prefix_index import PrefixIndex
from lshfast.join.exact_join import JoinResult, join, pairs
from lshfast.join.thresholds import Measure, Threshold

__all__ = ["JoinResult", "Measure", "PrefixIndex", "Threshold", "join", "pairs"]
