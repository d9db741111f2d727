"""The names of datasketch 2.0: code written for datasketch keeps working after changing one import.

>>> import lshfast.datasketch as datasketch
>>> sketch = datasketch.MinHash(num_perm=64)
>>> sketch.update(b"a token")
>>> round(sketch.count())
1

Files:

- minhash.py, lean_minhash.py, b_bit_minhash.py, weighted_minhash.py, hyperloglog.py,
  hyperloglog_const.py, lsh.py, lsh_bloom.py, lshforest.py, lshensemble.py, hnsw.py, storage.py:
  datasketch's classes, in modules of its names.
- aio/: AsyncMinHashLSH and its storages. experimental.py: an error that names its location.
- schemes.py, hashfunc.py, slots.py: hash values; hash functions; sketches as rows of an index.
- lsh_parameters.py: the bands of a MinHashLSH.
- entries.py, memory_entries.py, redis_entries.py: where a MinHashLSH keeps its entries: the
  interface, and storages; a MemoryStore, and views of it as storages; Redis.
- lshensemble_partition.py, lshensemble_search.py, lshensemble_stored.py: the partitions of an
  ensemble; which sets it returns; its sets on Redis.
- redis_storage.py, redis_commands.py: storages on Redis, and their commands.
- key_pickles.py, key_reader.py: keys as bytes; a reader of pickled keys that runs no code.
- convert.py: conversion of datasketch's objects.
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
from lshfast.datasketch.weighted_minhash import (
    WeightedMinHash,
    WeightedMinHashGenerator,
)

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
