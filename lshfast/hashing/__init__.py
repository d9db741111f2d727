"""Hash functions with proven guarantees, perfect hashing, min-wise permutations and Gaussian numbers."""

from lshfast.hashing.functions import HashFunction, PolynomialHash, StronglyUniversal, WeaklyUniversal
from lshfast.hashing.gaussians import box_muller, gaussian_vectors, sphere_points
from lshfast.hashing.minwise import HalvingFamily, LinearPermutation, linear_first_probability
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
    "sphere_points",
]
