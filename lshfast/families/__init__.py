"""Families of locality-sensitive hash functions, one for each distance, and their amplification."""

from lshfast.families.amplification import Amplified
from lshfast.families.family import NO_VALUE, Family, Sensitivity, family_of
from lshfast.families.lines import CauchyLines, GaussianLines

__all__ = ["NO_VALUE", "Amplified", "CauchyLines", "Family", "GaussianLines", "Sensitivity", "family_of"]
