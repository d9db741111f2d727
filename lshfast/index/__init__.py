"""Indexes over signatures and points: `LSHIndex`, `LSHForest`, `LSHEnsemble` and `NearNeighbors`, and their stores."""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.index import hamming as hamming
    from lshfast.index.ensemble import LSHEnsemble
    from lshfast.index.forest import LSHForest
    from lshfast.index.index_stats import IndexStats
    from lshfast.index.key_pairs import KeyPairs
    from lshfast.index.keys import DuplicateKeyError
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.index.matches import Match, Matches
    from lshfast.index.neighbors import (
        NearNeighbors,
        Neighbor,
        NeighborLists,
        NeighborPairs,
        NeighborsPlan,
        NeighborStats,
    )

__all__ = [
    "DuplicateKeyError",
    "IndexStats",
    "KeyPairs",
    "LSHEnsemble",
    "LSHForest",
    "LSHIndex",
    "Match",
    "Matches",
    "NearNeighbors",
    "Neighbor",
    "NeighborLists",
    "NeighborPairs",
    "NeighborStats",
    "NeighborsPlan",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "ensemble": "LSHEnsemble",
            "forest": "LSHForest",
            "index_stats": "IndexStats",
            "key_pairs": "KeyPairs",
            "keys": "DuplicateKeyError",
            "lsh_index": "LSHIndex",
            "matches": "Match Matches",
            ".": "hamming",
            "neighbors": "NearNeighbors Neighbor NeighborLists NeighborPairs NeighborsPlan NeighborStats",
        },
    )
