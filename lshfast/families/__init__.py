"""Families of locality-sensitive hash functions, one for each distance, and their amplification."""

from lshfast.families.amplification import Amplified
from lshfast.families.codes import BitCodes, BitFamily
from lshfast.families.cross_polytope import CrossPolytope
from lshfast.families.family import NO_VALUE, Family, Sensitivity, family_of
from lshfast.families.lines import CauchyLines, GaussianLines
from lshfast.families.probing import Probing
from lshfast.families.sets import MinHashFamily, SimHashFamily, WeightedMinHashFamily
from lshfast.families.vectors import Hyperplanes, SignVectors

__all__ = [
    "NO_VALUE",
    "Amplified",
    "BitCodes",
    "BitFamily",
    "CauchyLines",
    "CrossPolytope",
    "Family",
    "GaussianLines",
    "Hyperplanes",
    "MinHashFamily",
    "Probing",
    "Sensitivity",
    "SignVectors",
    "SimHashFamily",
    "WeightedMinHashFamily",
    "family_of",
]
