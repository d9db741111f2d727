"""Exact search of packed codes by Hamming distance: an index, all pairs, and deduplication."""

from lshfast.index.hamming.dedup import CodeDedup, CodeRemoval, dedup_codes
from lshfast.index.hamming.hamming_index import HammingIndex
from lshfast.index.hamming.join import CodePairs, hamming_pairs
from lshfast.index.hamming.matches import HammingMatch, HammingMatches
from lshfast.index.hamming.plan import HammingPlan

__all__ = [
    "CodeDedup",
    "CodePairs",
    "CodeRemoval",
    "HammingIndex",
    "HammingMatch",
    "HammingMatches",
    "HammingPlan",
    "dedup_codes",
    "hamming_pairs",
]
