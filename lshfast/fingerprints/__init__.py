"""Matching of fingerprints, given as minutiae.

Files:

- matching.py: prints as squares of a grid, and the matcher.
- normalization.py: prints with the same place, direction and size.
- command.py, job.py: the command and its options; its job.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.fingerprints.matching import (
        MATCH,
        FingerprintGrid,
        FingerprintMatcher,
        Rates,
        best_functions,
    )
    from lshfast.fingerprints.normalization import normalize_prints

__all__ = [
    "MATCH",
    "FingerprintGrid",
    "FingerprintMatcher",
    "Rates",
    "best_functions",
    "normalize_prints",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "matching": "MATCH FingerprintGrid FingerprintMatcher Rates best_functions",
            "normalization": "normalize_prints",
        },
    )
