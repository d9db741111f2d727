"""Exact search of packed codes by Hamming distance and Tanimoto similarity.

Files:

- hamming_index.py, segments.py, matches.py: HammingIndex, blocks over its rows, and its answers.
- tanimoto_index.py, similar.py: TanimotoIndex, segments by numbers of ones, and similar pairs.
- code_index.py, rows.py, hits.py: the base class of both, their entries, and the fields of hits.
- plan.py: the choice of a scan or blocks.
- join.py, sampled.py, dedup.py: all pairs; tables of sampled bits; greedy keepers.
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
