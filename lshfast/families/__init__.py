"""Families of locality-sensitive hash functions, one for each distance, and their amplification."""

from lshfast.families.amplification import Amplified
from lshfast.families.bits import BitSampling, Covering
from lshfast.families.codes import BitCodes, BitFamily
from lshfast.families.cross_polytope import CrossPolytope
from lshfast.families.family import NO_VALUE, Family, Sensitivity, family_of
from lshfast.families.grid import GridSquares
from lshfast.families.lines import CauchyLines, GaussianLines
from lshfast.families.plane import PlaneLines
from lshfast.families.probing import Probing
from lshfast.families.sets import MinHashFamily, SimHashFamily, WeightedMinHashFamily
from lshfast.families.unary import UnaryBits
from lshfast.families.vectors import Hyperplanes, SignVectors

__all__ = [
    "NO_VALUE",
    "Amplified",
    "BitCodes",
    "BitFamily",
    "BitSampling",
    "CauchyLines",
    "Covering",
    "CrossPolytope",
    "Family",
    "GaussianLines",
    "GridSquares",
    "Hyperplanes",
    "MinHashFamily",
    "PlaneLines",
    "Probing",
    "Sensitivity",
    "SignVectors",
    "SimHashFamily",
    "UnaryBits",
    "WeightedMinHashFamily",
    "family_of",
]
