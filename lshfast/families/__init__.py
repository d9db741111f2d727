"""Families of locality-sensitive hash functions, one for each distance, and their amplification."""

from lshfast.families.amplification import Amplified
from lshfast.families.bits import BitSampling, Covering
from lshfast.families.codes import BitCodes, BitFamily
from lshfast.families.family import NO_VALUE, Family, Sensitivity, family_of
from lshfast.families.grid import GridSquares
from lshfast.families.lines import CauchyLines, GaussianLines
from lshfast.families.plane import PlaneLines
from lshfast.families.sets import MinHashFamily, SimHashFamily, WeightedMinHashFamily
from lshfast.families.unary import UnaryBits

__all__ = [
    "NO_VALUE",
    "Amplified",
    "BitCodes",
    "BitFamily",
    "BitSampling",
    "CauchyLines",
    "Covering",
    "Family",
    "GaussianLines",
    "GridSquares",
    "MinHashFamily",
    "PlaneLines",
    "Sensitivity",
    "SimHashFamily",
    "UnaryBits",
    "WeightedMinHashFamily",
    "family_of",
]
