"""datasketch's name of the module `lshfast.datasketch.forest`."""

from lshfast.datasketch.forest import MinHashLSHForest

__all__ = ["MinHashLSHForest"]
