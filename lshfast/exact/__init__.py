"""Exact search among sets: `pairs` and `join` find all similar pairs, and `PrefixIndex` all sets
similar to a query.

>>> from lshfast import exact
>>> exact.pairs([{1, 2, 3, 4}, {2, 3, 4}, {5}], threshold=0.7).tolist()
[(0, 1, 0.75)]
"""

from lshfast.exact.prefix_index import PrefixIndex
from lshfast.join.exact_join import JoinResult, join, pairs
from lshfast.join.thresholds import Measure, Threshold

__all__ = ["JoinResult", "Measure", "PrefixIndex", "Threshold", "join", "pairs"]
