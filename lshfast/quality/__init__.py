"""The quality of a run, measured on a sample: recall, precision, and what other parameters would do.

docs/how-to/check.md explains how rows are sampled, and why the estimates are right.
"""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.quality.api import check
    from lshfast.quality.intervals import Estimate
    from lshfast.quality.points import NearBin, PointCheck
    from lshfast.quality.result import Alternative, CheckResult, Example, SimilarityBin

__all__ = ["Alternative", "CheckResult", "Estimate", "Example", "NearBin", "PointCheck", "SimilarityBin", "check"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "api": "check",
            "intervals": "Estimate",
            "points": "NearBin PointCheck",
            "result": "Alternative CheckResult Example SimilarityBin",
        },
    )
