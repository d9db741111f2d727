"""Matching of fingerprints, given as minutiae.

Files:

- matching.py: prints as squares of a grid, and the matcher.
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

__all__ = ["MATCH", "FingerprintGrid", "FingerprintMatcher", "Rates", "best_functions"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {"matching": "MATCH FingerprintGrid FingerprintMatcher Rates best_functions"},
    )
