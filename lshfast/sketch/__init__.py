"""Token sets to signatures and codes."""

from lshfast.sketch.bits import BBits
from lshfast.sketch.minhash import MinHasher
from lshfast.sketch.one_permutation import OnePermutation
from lshfast.sketch.simhash import SignSketcher, SimHasher

__all__ = ["BBits", "MinHasher", "OnePermutation", "SignSketcher", "SimHasher"]
