"""Hash functions with proven guarantees, perfect maps, permutations and Gaussian numbers.

>>> from lshfast.hashing import PerfectMap
>>> ages = PerfectMap([2**63, 5, 17], [31, 62, 45])
>>> ages[5], 18 in ages
(62, False)

`PolynomialHash` is k-independent, `MultiplyShift` is universal and takes one multiplication, and
`MixedTabulation` spreads keys of any structure. `LinearPermutation`, `HalvingFamily` and
`RestrictedFamily` are families of permutations for minhash.

Files:

- functions.py, words.py, keys.py: functions of prime fields and of words; checks of keys.
- perfect.py: perfect maps.
- minwise.py, restricted.py: min-wise families; families for sets of a few elements.
- permutation_draws.py: draws from them, and their random bits.
- gaussians.py: Gaussian numbers.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.hashing.functions import (
        HashFunction,
        PolynomialHash,
        StronglyUniversal,
        WeaklyUniversal,
    )
    from lshfast.hashing.gaussians import box_muller, gaussian_vectors, sphere_points
    from lshfast.hashing.minwise import (
        HalvingFamily,
        LinearPermutation,
        linear_first_probability,
        linear_first_range,
        minwise_error,
    )
    from lshfast.hashing.perfect import PerfectMap, PerfectStats
    from lshfast.hashing.permutation_draws import PermutationDraw
    from lshfast.hashing.restricted import RestrictedFamily
    from lshfast.hashing.words import MixedTabulation, MultiplyAddShift, MultiplyShift

__all__ = [
    "HalvingFamily",
    "HashFunction",
    "LinearPermutation",
    "MixedTabulation",
    "MultiplyAddShift",
    "MultiplyShift",
    "PerfectMap",
    "PerfectStats",
    "PermutationDraw",
    "PolynomialHash",
    "RestrictedFamily",
    "StronglyUniversal",
    "WeaklyUniversal",
    "box_muller",
    "gaussian_vectors",
    "linear_first_probability",
    "linear_first_range",
    "minwise_error",
    "sphere_points",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "functions": "HashFunction PolynomialHash StronglyUniversal WeaklyUniversal",
            "gaussians": "box_muller gaussian_vectors sphere_points",
            "minwise": "HalvingFamily LinearPermutation linear_first_probability "
            "linear_first_range minwise_error",
            "perfect": "PerfectMap PerfectStats",
            "permutation_draws": "PermutationDraw",
            "restricted": "RestrictedFamily",
            "words": "MixedTabulation MultiplyAddShift MultiplyShift",
        },
    )
