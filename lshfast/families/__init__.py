"""Families of locality-sensitive hash functions, one for each distance, and their amplification."""

from lshfast.families.amplification import Amplified
from lshfast.families.codes import BitCodes, BitFamily
from lshfast.families.family import NO_VALUE, Family, Sensitivity, family_of
from lshfast.families.lines import CauchyLines, GaussianLines
from lshfast.families.sets import MinHashFamily, SimHashFamily, WeightedMinHashFamily

__all__ = [
    "NO_VALUE",
    "Amplified",
    "BitCodes",
    "BitFamily",
    "CauchyLines",
    "Family",
    "GaussianLines",
    "MinHashFamily",
    "Sensitivity",
    "SimHashFamily",
    "WeightedMinHashFamily",
    "family_of",
]
