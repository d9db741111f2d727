"""Banding, S-curves, and the indexes over signatures."""

from lshfast.lsh.bands import Bands, choose_bands
from lshfast.lsh.ensemble import LSHEnsemble
from lshfast.lsh.forest import LSHForest
from lshfast.lsh.index import IndexStats, KeyPairs, LSHIndex
from lshfast.lsh.matches import Match, Matches

__all__ = [
    "Bands",
    "IndexStats",
    "KeyPairs",
    "LSHEnsemble",
    "LSHForest",
    "LSHIndex",
    "Match",
    "Matches",
    "choose_bands",
]
