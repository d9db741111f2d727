"""Exact search of packed codes by Hamming distance and Tanimoto similarity: indexes, all pairs, and
deduplication.
"""

from lshfast.index.hamming.dedup import CodeDedup, CodeRemoval, dedup_codes
from lshfast.index.hamming.hamming_index import HammingIndex
from lshfast.index.hamming.join import CodePairs, hamming_pairs
from lshfast.index.hamming.matches import HammingMatch, HammingMatches
from lshfast.index.hamming.plan import HammingPlan
from lshfast.index.hamming.similar import tanimoto_pairs
from lshfast.index.hamming.tanimoto_index import TanimotoIndex

__all__ = [
    "CodeDedup",
    "CodePairs",
    "CodeRemoval",
    "HammingIndex",
    "HammingMatch",
    "HammingMatches",
    "HammingPlan",
    "TanimotoIndex",
    "dedup_codes",
    "hamming_pairs",
    "tanimoto_pairs",
]
