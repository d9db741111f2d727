"""Sketching: token sets, weighted sets and vectors to signatures, codes and registers."""

from lshfast.sketch.bits import BBits
from lshfast.sketch.cardinality import (
    DistinctCounter,
    Overlap,
    estimate_overlap,
    estimate_sizes,
    registers_from_bytes,
    size_error,
)
from lshfast.sketch.minhash import MinHasher
from lshfast.sketch.one_permutation import OnePermutation
from lshfast.sketch.signs import SignSketcher
from lshfast.sketch.simhash import SimHasher
from lshfast.sketch.weighted import WeightedMinHasher, WeightedSets, sketch_multisets

__all__ = [
    "BBits",
    "DistinctCounter",
    "MinHasher",
    "OnePermutation",
    "Overlap",
    "SignSketcher",
    "SimHasher",
    "WeightedMinHasher",
    "WeightedSets",
    "estimate_overlap",
    "estimate_sizes",
    "registers_from_bytes",
    "size_error",
    "sketch_multisets",
]
