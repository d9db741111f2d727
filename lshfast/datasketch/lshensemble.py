"""datasketch's name of the module `lshfast.datasketch.ensemble`."""

from lshfast.datasketch.ensemble import MinHashLSHEnsemble

__all__ = ["MinHashLSHEnsemble"]
