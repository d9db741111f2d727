"""Indexes over signatures, points and codes, to which entries can be added and removed.

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

`LSHIndex` finds entries that are similar by at least a threshold, `LSHForest` the k most similar,
`LSHEnsemble` the sets that contain a query, and `NearNeighbors` the nearest points by angle or
distance. `lshfast.HammingIndex` and `lshfast.TanimotoIndex` search packed codes.

Files:

- lsh_index.py, forest.py, ensemble.py: the three indexes of signatures.
- protocol.py: `Index`, what every index does, and what one of points does for runs.
- matches.py, key_pairs.py: answers, and pairs of keys.
- apart.py: answers that are close, but no copies.
- keys.py: columns of keys, and entries that are removed by them.
- entries.py, search_plan.py: the entries of a forest and an ensemble; the order and end of their
  searches.
- stored.py: the base class of indexes whose entries are in a store.
- memory_index.py, entry_file.py: the base class of indexes that are read into memory as a whole,
  and their files.
- shard_build.py, shards/: an index in a folder of shards; how tasks build it.
- index_file.py: opens the file of an index of any class.
- family_rows.py, measure.py: the rows of a family's items; distances of payloads.
- index_stats.py: the figures of an index.
- neighbors/, hamming/, stores/: NearNeighbors; indexes of codes; where entries are kept.
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
    from lshfast.index.protocol import Index
    from lshfast.index.shard_build import ShardBuild
    from lshfast.index.shards.range_store import RangeStore
    from lshfast.index.shards.store import ShardStore

__all__ = [
    "DuplicateKeyError",
    "FewNeighborsWarning",
    "Index",
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
    "RangeStore",
    "ShardBuild",
    "ShardStore",
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
            "protocol": "Index",
            "shard_build": "ShardBuild",
            "shards.range_store": "RangeStore",
            "shards.store": "ShardStore",
        },
    )
