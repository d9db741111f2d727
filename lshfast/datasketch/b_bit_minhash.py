"""datasketch's name of the module `lshfast.datasketch.b_bit`."""

from lshfast.datasketch.b_bit import bBitMinHash

__all__ = ["bBitMinHash"]
