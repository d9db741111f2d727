"""Token sets to signatures."""

from lshfast.sketch.minhash import MinHasher

__all__ = ["MinHasher"]
