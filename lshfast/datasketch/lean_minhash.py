"""datasketch's name of the module `lshfast.datasketch.lean`."""

from lshfast.datasketch.lean import LeanMinHash

__all__ = ["LeanMinHash"]
