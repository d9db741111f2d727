"""Indexes over signatures and points: `LSHIndex`, `LSHForest`, `LSHEnsemble` and `NearNeighbors`,
and their stores.

All of them take insertions and removals at any time, and are saved to files that several processes
can open.

>>> from lshfast import LSHIndex, MinHasher, TokenSets
>>> signatures = MinHasher().sketch(
...     TokenSets.from_sets([range(0, 100), range(5, 100), range(1000, 1100)])
... )
>>> index = LSHIndex(threshold=0.7)
>>> index.insert(["a", "b", "c"], signatures)
3
>>> index.query(signatures[0])
['a', 'b']

`LSHIndex` finds what is similar by at least a threshold, `LSHForest` the k most similar,
`LSHEnsemble` the sets that contain a query, and `NearNeighbors` the nearest points by angle or
distance. `lshfast.HammingIndex` and `lshfast.TanimotoIndex` search packed codes.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

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
        FewNeighborsWarning,
        NearNeighbors,
        Neighbor,
        NeighborLists,
        NeighborPairs,
        NeighborsPlan,
        NeighborStats,
    )

__all__ = [
    "DuplicateKeyError",
    "FewNeighborsWarning",
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
            "neighbors": "FewNeighborsWarning NearNeighbors Neighbor NeighborLists NeighborPairs "
            "NeighborsPlan "
            "NeighborStats",
        },
    )
