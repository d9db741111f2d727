"""datasketch's name of the module `lshfast.datasketch.weighted`."""

from lshfast.datasketch.weighted import WeightedMinHash, WeightedMinHashGenerator

__all__ = ["WeightedMinHash", "WeightedMinHashGenerator"]
