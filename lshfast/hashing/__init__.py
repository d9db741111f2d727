"""Hash functions with proven guarantees, perfect hashing, min-wise permutations and Gaussian numbers."""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.hashing.functions import HashFunction, PolynomialHash, StronglyUniversal, WeaklyUniversal
    from lshfast.hashing.gaussians import box_muller, gaussian_vectors, sphere_points
    from lshfast.hashing.minwise import (
        HalvingFamily,
        LinearPermutation,
        linear_first_probability,
        linear_first_range,
        minwise_error,
    )
    from lshfast.hashing.perfect import PerfectMap, PerfectStats
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
    "PolynomialHash",
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
            "minwise": "HalvingFamily LinearPermutation linear_first_probability linear_first_range minwise_error",
            "perfect": "PerfectMap PerfectStats",
            "words": "MixedTabulation MultiplyAddShift MultiplyShift",
        },
    )
