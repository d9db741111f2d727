"""Indexes over signatures: `LSHIndex`, `LSHForest` and `LSHEnsemble`, and the stores of their entries."""

from lshfast.index.ensemble import LSHEnsemble
from lshfast.index.forest import LSHForest
from lshfast.index.lsh_index import IndexStats, KeyPairs, LSHIndex
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
