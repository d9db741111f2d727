"""Sketching: token sets, weighted sets and vectors to signatures, codes and registers.

Files:

- minhash.py, one_permutation.py, bits.py: MinHash; signatures for estimates only; small signatures.
- weighted.py: weighted sets, and their signatures.
- cardinality.py, sizes.py: distinct tokens from registers; sizes of sets from signatures.
- codes.py, simhash.py, signs.py: codes; codes of token sets and of vectors.
- sketcher.py, arrays.py, compare.py: the base class of sketchers; arrays that record their
  sketcher; comparison of one row with many.

>>> from lshfast import MinHasher, TokenSets
>>> hasher = MinHasher(num_perm=256)
>>> signatures = hasher.sketch(TokenSets.from_sets([range(0, 80), range(20, 100)]))
>>> bool(abs(hasher.similarity(signatures[0], signatures[1]) - 0.6) < 0.1)
True

`MinHasher` and `WeightedMinHasher` estimate similarities of sets, `SimHasher` and `SignSketcher`
angles, `DistinctCounter` numbers of different items; `BBits` and `OnePermutation` are smaller or
faster signatures.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.sketch.bits import BBits
    from lshfast.sketch.cardinality import DistinctCounter, registers_from_bytes
    from lshfast.sketch.minhash import MinHasher
    from lshfast.sketch.one_permutation import OnePermutation
    from lshfast.sketch.signs import SignSketcher
    from lshfast.sketch.simhash import SimHasher
    from lshfast.sketch.sizes import (
        Overlap,
        estimate_overlap,
        estimate_sizes,
        size_error,
    )
    from lshfast.sketch.weighted import (
        WeightedMinHasher,
        WeightedSets,
        sketch_multisets,
    )

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

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "bits": "BBits",
            "cardinality": "DistinctCounter registers_from_bytes",
            "minhash": "MinHasher",
            "one_permutation": "OnePermutation",
            "signs": "SignSketcher",
            "simhash": "SimHasher",
            "sizes": "Overlap estimate_overlap estimate_sizes size_error",
            "weighted": "WeightedMinHasher WeightedSets sketch_multisets",
        },
    )
