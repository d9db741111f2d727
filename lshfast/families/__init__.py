"""Families of locality-sensitive hash functions, one for each distance, and their amplification."""

from lshfast.families.amplification import Amplified
from lshfast.families.cascade import Cascade
from lshfast.families.family import NO_VALUE, Family, Sensitivity, family_of

__all__ = ["NO_VALUE", "Amplified", "Cascade", "Family", "Sensitivity", "family_of"]
