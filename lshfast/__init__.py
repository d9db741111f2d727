"""lshfast: locality-sensitive hashing, exact and fast.

Everything that can be imported from `lshfast`, `lshfast.datasketch`, `lshfast.distances`, `lshfast.estimators`,
`lshfast.exact`, `lshfast.families`, `lshfast.hashing` and `lshfast.kernels` and is a documented function or class is
public; all other modules are internal and may change.

>>> import lshfast
>>> lshfast.dedup(["a rose is a rose", "A rose is a rose!", "is it?"], size=2).keep.tolist()
[True, False, True]
"""

from lshfast import startup  # noqa: F401, I001  before all others: see there
import lshfast.exact
import lshfast.families  # noqa: F401  so that users need not import these two
from lshfast.banding import Bands, choose_bands
from lshfast.common.errors import FormatError
from lshfast.datasketch import (
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
from lshfast.datasketch.advice import no_attribute
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
from lshfast.join import PAIR, candidates, component_groups, find_copies, star_groups, verify
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
from lshfast.shingling import shingle
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
    "dedup",
    "dedup_codes",
    "dedup_files",
    "estimate_overlap",
    "estimate_sizes",
    "find_copies",
    "hamming_pairs",
    "pairs",
    "recommend",
    "shingle",
    "sketch_multisets",
    "star_groups",
    "verify",
]


def __getattr__(name: str) -> object:
    raise no_attribute(__name__, name)
