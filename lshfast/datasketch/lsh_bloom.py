"""datasketch's name of the module `lshfast.datasketch.bloom`."""

from lshfast.datasketch.bloom import MinHashLSHBloom

__all__ = ["MinHashLSHBloom"]
