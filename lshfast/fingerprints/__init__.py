"""Matching of fingerprints, given as minutiae.

`matching` has the matcher, `job` the work of the command over files.
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
