"""lshfast: locality-sensitive hashing, exact and fast.

Everything that can be imported from `lshfast`, `lshfast.datasketch`, `lshfast.distances`, `lshfast.estimators`,
`lshfast.exact`, `lshfast.external`, `lshfast.families`, `lshfast.fingerprints`, `lshfast.hashing`, `lshfast.kernels`,
`lshfast.passages`, `lshfast.records`, `lshfast.spark`, `lshfast.stages`, `lshfast.textbook` and `lshfast.web` and is a
documented function or class is public; all other modules are internal and may change.

>>> import lshfast
>>> lshfast.dedup(["a rose is a rose", "A rose is a rose!", "is it?"], size=2).keep.tolist()
[True, False, True]
"""

from typing import TYPE_CHECKING

from lshfast import startup  # noqa: F401  before all others: see there
from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast import datasketch as datasketch
    from lshfast import distances as distances
    from lshfast import estimators as estimators
    from lshfast import exact as exact
    from lshfast import external as external
    from lshfast import families as families
    from lshfast import fingerprints as fingerprints
    from lshfast import hashing as hashing
    from lshfast import kernels as kernels
    from lshfast import passages as passages
    from lshfast import records as records
    from lshfast import spark as spark
    from lshfast import stages as stages
    from lshfast import textbook as textbook
    from lshfast import web as web
    from lshfast.banding import Bands, choose_bands
    from lshfast.common.errors import FormatError
    from lshfast.datasketch import (
        HNSW,
        AsyncMinHashLSH,
        HyperLogLog,
        HyperLogLogPlusPlus,
        LeanMinHash,
        MinHash,
        MinHashLSH,
        MinHashLSHBloom,
        MinHashLSHEnsemble,
        MinHashLSHForest,
        WeightedMinHash,
        WeightedMinHashGenerator,
        WeightedMinHashLSH,
        WeightedMinHashLSHForest,
        bBitMinHash,
    )
    from lshfast.index import (
        LSHEnsemble,
        LSHForest,
        LSHIndex,
        Match,
        Matches,
        NearNeighbors,
        Neighbor,
        NeighborLists,
        NeighborPairs,
        NeighborsPlan,
        NeighborStats,
    )
    from lshfast.index.hamming import (
        CodeDedup,
        CodePairs,
        CodeRemoval,
        HammingIndex,
        HammingMatch,
        HammingMatches,
        HammingPlan,
        dedup_codes,
        hamming_pairs,
    )
    from lshfast.index.keys import DuplicateKeyError
    from lshfast.index.stores.lmdb import LmdbStore
    from lshfast.index.stores.redis import RedisStore
    from lshfast.jobs import dedup_files
    from lshfast.join import (
        PAIR,
        ItemFilter,
        candidates,
        component_groups,
        count_distinct,
        find_copies,
        find_identical,
        find_identical_in_batches,
        star_groups,
        verify,
    )
    from lshfast.kernels.text import TextError
    from lshfast.pipeline import (
        DedupResult,
        Recommendation,
        Removal,
        ShortTextsWarning,
        Summary,
        dedup,
        pairs,
        recommend,
    )
    from lshfast.readers import DataError
    from lshfast.shingling import expected_occurrences, shingle
    from lshfast.sketch import (
        BBits,
        DistinctCounter,
        MinHasher,
        OnePermutation,
        SignSketcher,
        SimHasher,
        WeightedMinHasher,
        WeightedSets,
        estimate_overlap,
        estimate_sizes,
        sketch_multisets,
    )
    from lshfast.tokens import TokenSets

__version__ = "0.1.0"

__all__ = [
    "HNSW",
    "PAIR",
    "AsyncMinHashLSH",
    "BBits",
    "Bands",
    "CodeDedup",
    "CodePairs",
    "CodeRemoval",
    "DataError",
    "DedupResult",
    "DistinctCounter",
    "DuplicateKeyError",
    "FormatError",
    "HammingIndex",
    "HammingMatch",
    "HammingMatches",
    "HammingPlan",
    "HyperLogLog",
    "HyperLogLogPlusPlus",
    "ItemFilter",
    "LSHEnsemble",
    "LSHForest",
    "LSHIndex",
    "LeanMinHash",
    "LmdbStore",
    "Match",
    "Matches",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHBloom",
    "MinHashLSHEnsemble",
    "MinHashLSHForest",
    "MinHasher",
    "NearNeighbors",
    "Neighbor",
    "NeighborLists",
    "NeighborPairs",
    "NeighborStats",
    "NeighborsPlan",
    "OnePermutation",
    "Recommendation",
    "RedisStore",
    "Removal",
    "ShortTextsWarning",
    "SignSketcher",
    "SimHasher",
    "Summary",
    "TextError",
    "TokenSets",
    "WeightedMinHash",
    "WeightedMinHashGenerator",
    "WeightedMinHashLSH",
    "WeightedMinHashLSHForest",
    "WeightedMinHasher",
    "WeightedSets",
    "bBitMinHash",
    "candidates",
    "choose_bands",
    "component_groups",
    "count_distinct",
    "dedup",
    "dedup_codes",
    "dedup_files",
    "estimate_overlap",
    "estimate_sizes",
    "expected_occurrences",
    "find_copies",
    "find_identical",
    "find_identical_in_batches",
    "hamming_pairs",
    "pairs",
    "recommend",
    "shingle",
    "sketch_multisets",
    "star_groups",
    "verify",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "banding": "Bands choose_bands",
            "common.errors": "FormatError",
            "datasketch": "AsyncMinHashLSH HNSW HyperLogLog HyperLogLogPlusPlus LeanMinHash MinHash MinHashLSH "
            "MinHashLSHBloom MinHashLSHEnsemble MinHashLSHForest WeightedMinHash WeightedMinHashGenerator "
            "WeightedMinHashLSH WeightedMinHashLSHForest bBitMinHash",
            "index": "LSHEnsemble LSHForest LSHIndex Match Matches NearNeighbors Neighbor NeighborLists NeighborPairs "
            "NeighborsPlan NeighborStats",
            "index.hamming": "CodeDedup CodePairs CodeRemoval HammingIndex HammingMatch HammingMatches HammingPlan "
            "dedup_codes hamming_pairs",
            "index.keys": "DuplicateKeyError",
            "index.stores.lmdb": "LmdbStore",
            "index.stores.redis": "RedisStore",
            "jobs": "dedup_files",
            "join": "PAIR ItemFilter candidates component_groups count_distinct find_copies find_identical "
            "find_identical_in_batches star_groups verify",
            "kernels.text": "TextError",
            "pipeline": "DedupResult Recommendation Removal ShortTextsWarning Summary dedup pairs recommend",
            "readers": "DataError",
            "shingling": "expected_occurrences shingle",
            "sketch": "BBits DistinctCounter MinHasher OnePermutation SignSketcher SimHasher WeightedMinHasher "
            "WeightedSets estimate_overlap estimate_sizes sketch_multisets",
            "tokens": "TokenSets",
            ".": "banding common datasketch distances estimators exact external families fingerprints hashing index "
            "jobs join kernels passages pipeline readers records shingling sketch spark stages textbook tokens web",
        },
    )
