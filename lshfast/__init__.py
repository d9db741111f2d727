"""Locality-sensitive hashing: find and remove near-duplicates, search for similar items, and link
records.

By default, whatever is removed was verified: its exact similarity with what is kept in its place
reaches the threshold.

The main job in four lines:

>>> import lshfast
>>> texts = ["a rose is a rose", "A rose is a rose!", "is it?"]
>>> result = lshfast.dedup(texts, size=2)
>>> [texts[row] for row in result.keep.nonzero()[0]]
['a rose is a rose', 'is it?']

Why a text is removed, and the figures of the run:

>>> result.removed
[Removal(key=1, kept_key=0, similarity=1.0)]
>>> result.summary.read, result.summary.kept
(3, 2)

Where to go next:

- `dedup_files` does the same for files, `dedup_paragraphs` for paragraphs, lines or sentences of
  their rows, `pairs` finds all similar pairs, and `check` measures what is found and missed.
- `LSHIndex`, `LSHForest`, `LSHEnsemble`, `NearNeighbors` and `HammingIndex` search.
- lshfast.records links records, lshfast.images finds images that look alike, lshfast.genomes
  similar genomes, and lshfast.passages the passages that texts share.
- lshfast.datasketch has the classes of datasketch. lshfast.hf, lshfast.duckdb and lshfast.spark
  deduplicate their data sets, and to import lshfast.polars or lshfast.pandas registers `lsh` for
  frames of these.
- `shingle`, `MinHasher`, `choose_bands`, `candidates`, `verify` and `star_groups` are the stages of
  `dedup`.
- ``help(lshfast.dedup)`` explains a function, with examples. ``lshfast --help`` lists the commands.

Public is what is documented and can be imported from `lshfast`, or from its modules
`lshfast.datasketch`, `lshfast.distances`, `lshfast.duckdb`, `lshfast.estimators`, `lshfast.exact`,
`lshfast.families`, `lshfast.fingerprints`, `lshfast.genomes`, `lshfast.hashing`, `lshfast.hf`,
`lshfast.images`, `lshfast.index`, `lshfast.join`, `lshfast.kernels`, `lshfast.passages`,
`lshfast.quality`, `lshfast.records`, `lshfast.shingling`, `lshfast.sketch`, `lshfast.spark`,
`lshfast.stages`, `lshfast.textbook` and `lshfast.web`; names that begin with an underscore are
internal and may change.
"""

from typing import TYPE_CHECKING

from lshfast._common import startup  # noqa: F401  before all others: see there
from lshfast._common.lazy import lazy_names
from lshfast._common.version import VERSION as __version__  # noqa: F401

if TYPE_CHECKING:
    from lshfast import datasketch as datasketch
    from lshfast import distances as distances
    from lshfast import duckdb as duckdb
    from lshfast import estimators as estimators
    from lshfast import exact as exact
    from lshfast import families as families
    from lshfast import fingerprints as fingerprints
    from lshfast import genomes as genomes
    from lshfast import hashing as hashing
    from lshfast import hf as hf
    from lshfast import images as images
    from lshfast import index as index
    from lshfast import join as join
    from lshfast import kernels as kernels
    from lshfast import passages as passages
    from lshfast import quality as quality
    from lshfast import records as records
    from lshfast import shingling as shingling
    from lshfast import sketch as sketch
    from lshfast import spark as spark
    from lshfast import stages as stages
    from lshfast import textbook as textbook
    from lshfast import web as web
    from lshfast._common.decimal_codes import DecimalCodesWarning
    from lshfast._common.errors import Excess as Excess
    from lshfast._common.errors import FormatError
    from lshfast._common.errors import TooManyRemovedError as TooManyRemovedError
    from lshfast._engine import (
        CodeTextsWarning,
        CrowdWarning,
        DedupResult,
        MixedFormsWarning,
        Recommendation,
        Removal,
        ShortTextsWarning,
        Summary,
        recommend,
    )
    from lshfast._engine.account.by_value import RemovedBy as RemovedBy
    from lshfast._engine.account.earlier import EarlierFigures as EarlierFigures
    from lshfast._engine.clusters.lasting import ClusterFigures as ClusterFigures
    from lshfast._engine.executors.local.api import dedup_files, dedup_paragraphs
    from lshfast._engine.executors.memory import dedup, pairs
    from lshfast._engine.libraries import LibraryDefaults, library_defaults
    from lshfast._engine.paragraphs import ParagraphsSummary as ParagraphsSummary
    from lshfast._io import DataError
    from lshfast.banding import Bands, choose_bands
    from lshfast.datasketch import HNSW as HNSW
    from lshfast.datasketch import AsyncMinHashLSH as AsyncMinHashLSH
    from lshfast.datasketch import HyperLogLog as HyperLogLog
    from lshfast.datasketch import HyperLogLogPlusPlus as HyperLogLogPlusPlus
    from lshfast.datasketch import LeanMinHash as LeanMinHash
    from lshfast.datasketch import MinHash as MinHash
    from lshfast.datasketch import MinHashLSH as MinHashLSH
    from lshfast.datasketch import MinHashLSHBloom as MinHashLSHBloom
    from lshfast.datasketch import MinHashLSHEnsemble as MinHashLSHEnsemble
    from lshfast.datasketch import MinHashLSHForest as MinHashLSHForest
    from lshfast.datasketch import WeightedMinHash as WeightedMinHash
    from lshfast.datasketch import WeightedMinHashGenerator as WeightedMinHashGenerator
    from lshfast.datasketch import WeightedMinHashLSH as WeightedMinHashLSH
    from lshfast.datasketch import WeightedMinHashLSHForest as WeightedMinHashLSHForest
    from lshfast.datasketch import bBitMinHash as bBitMinHash
    from lshfast.index import (
        FewNeighborsWarning,
        LSHEnsemble,
        LSHForest,
        LSHIndex,
        NearNeighbors,
    )
    from lshfast.index.hamming import (
        HammingIndex,
        TanimotoIndex,
        dedup_codes,
        hamming_pairs,
        tanimoto_pairs,
    )
    from lshfast.index.stores.lmdb import LmdbStore
    from lshfast.index.stores.redis import RedisStore
    from lshfast.join import (
        candidates,
        component_groups,
        find_copies,
        star_groups,
        verify,
    )
    from lshfast.kernels import get_include
    from lshfast.quality.api import check
    from lshfast.shingling import shingle
    from lshfast.sketch import (
        DistinctCounter,
        MinHasher,
        SimHasher,
        WeightedMinHasher,
        WeightedSets,
    )
    from lshfast.tokens import TokenSets

__all__ = [
    "Bands",
    "CodeTextsWarning",
    "CrowdWarning",
    "DataError",
    "DecimalCodesWarning",
    "DedupResult",
    "DistinctCounter",
    "FewNeighborsWarning",
    "FormatError",
    "HammingIndex",
    "LSHEnsemble",
    "LSHForest",
    "LSHIndex",
    "LibraryDefaults",
    "LmdbStore",
    "MinHasher",
    "MixedFormsWarning",
    "NearNeighbors",
    "Recommendation",
    "RedisStore",
    "Removal",
    "ShortTextsWarning",
    "SimHasher",
    "Summary",
    "TanimotoIndex",
    "TokenSets",
    "WeightedMinHasher",
    "WeightedSets",
    "candidates",
    "check",
    "choose_bands",
    "component_groups",
    "dedup",
    "dedup_codes",
    "dedup_files",
    "dedup_paragraphs",
    "find_copies",
    "get_include",
    "hamming_pairs",
    "library_defaults",
    "pairs",
    "recommend",
    "shingle",
    "star_groups",
    "tanimoto_pairs",
    "verify",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "banding": "Bands choose_bands",
            "_common.decimal_codes": "DecimalCodesWarning",
            "_common.errors": "Excess FormatError TooManyRemovedError",
            "_engine.executors.local.api": "dedup_files dedup_paragraphs",
            "_engine.executors.memory": "dedup pairs",
            "_engine.libraries": "LibraryDefaults library_defaults",
            "_engine": "CodeTextsWarning CrowdWarning DedupResult MixedFormsWarning Recommendation "
            "Removal ShortTextsWarning Summary recommend",
            "index": "FewNeighborsWarning LSHEnsemble LSHForest LSHIndex NearNeighbors",
            "index.hamming": "HammingIndex TanimotoIndex dedup_codes hamming_pairs tanimoto_pairs",
            "index.stores.lmdb": "LmdbStore",
            "index.stores.redis": "RedisStore",
            "join": "candidates component_groups find_copies star_groups verify",
            "kernels": "get_include",
            "quality.api": "check",
            "_io": "DataError",
            "shingling": "shingle",
            "sketch": "DistinctCounter MinHasher SimHasher WeightedMinHasher WeightedSets",
            "tokens": "TokenSets",
            ".": "datasketch distances duckdb estimators exact families fingerprints "
            "genomes hashing hf "
            "images index join kernels passages quality records shingling sketch spark "
            "stages textbook web",
            # What results and errors hold.
            "_engine.account.by_value": "RemovedBy",
            "_engine.account.earlier": "EarlierFigures",
            "_engine.clusters.lasting": "ClusterFigures",
            "_engine.paragraphs": "ParagraphsSummary",
            # Their home is lshfast.datasketch.
            "datasketch": "AsyncMinHashLSH HNSW HyperLogLog HyperLogLogPlusPlus LeanMinHash "
            "MinHash MinHashLSH "
            "MinHashLSHBloom MinHashLSHEnsemble MinHashLSHForest WeightedMinHash "
            "WeightedMinHashGenerator "
            "WeightedMinHashLSH WeightedMinHashLSHForest bBitMinHash",
        },
    )
