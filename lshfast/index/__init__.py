"""Indexes over signatures: `LSHIndex`, `LSHForest` and `LSHEnsemble`, and the stores of their entries."""

from lshfast.index.ensemble import LSHEnsemble
from lshfast.index.forest import LSHForest
from lshfast.index.index_stats import IndexStats
from lshfast.index.key_pairs import KeyPairs
from lshfast.index.lsh_index import LSHIndex
from lshfast.index.matches import Match, Matches

__all__ = [
    "IndexStats",
    "KeyPairs",
    "LSHEnsemble",
    "LSHForest",
    "LSHIndex",
    "Match",
    "Matches",
]
