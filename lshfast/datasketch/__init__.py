"""The names of datasketch 2.0: code written for datasketch keeps working after changing one import.

>>> import lshfast.datasketch as datasketch
>>> sketch = datasketch.MinHash(num_perm=64)
>>> sketch.update(b"a token")
>>> round(sketch.count())
1
"""

from __future__ import annotations

from lshfast.datasketch.aio import AsyncMinHashLSH
from lshfast.datasketch.b_bit_minhash import bBitMinHash
from lshfast.datasketch.hashfunc import sha1_hash32, sha1_hash64
from lshfast.datasketch.hnsw import HNSW
from lshfast.datasketch.hyperloglog import HyperLogLog, HyperLogLogPlusPlus
from lshfast.datasketch.lean_minhash import LeanMinHash
from lshfast.datasketch.lsh import MinHashLSH
from lshfast.datasketch.lsh_bloom import MinHashLSHBloom
from lshfast.datasketch.lshensemble import MinHashLSHEnsemble
from lshfast.datasketch.lshforest import MinHashLSHForest
from lshfast.datasketch.minhash import MinHash
from lshfast.datasketch.weighted_minhash import WeightedMinHash, WeightedMinHashGenerator

# The version of datasketch whose names these are.
__version__ = "2.0.0"

WeightedMinHashLSH = MinHashLSH
WeightedMinHashLSHForest = MinHashLSHForest

__all__ = [
    "HNSW",
    "AsyncMinHashLSH",
    "HyperLogLog",
    "HyperLogLogPlusPlus",
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHBloom",
    "MinHashLSHEnsemble",
    "MinHashLSHForest",
    "WeightedMinHash",
    "WeightedMinHashGenerator",
    "WeightedMinHashLSH",
    "WeightedMinHashLSHForest",
    "bBitMinHash",
    "sha1_hash32",
    "sha1_hash64",
]
