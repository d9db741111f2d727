"""The quality of a run, measured on a sample: recall, precision, and what other parameters would
do.

>>> from lshfast.quality import check
>>> words = "the cat sat on the mat and saw the dog that lay there in the warm sun all day".split()
>>> check([" ".join(words), " ".join(words[:-1]), "a bird"], threshold=0.8, size=2).recall
Estimate(value=1.0, low=1.0, high=1.0)

docs/how-to/check.md explains how rows are sampled, and why the estimates are right. ``lshfast
check`` is the command.
"""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.quality.api import check
    from lshfast.quality.intervals import Estimate
    from lshfast.quality.points import NearBin, PointCheck
    from lshfast.quality.result import Alternative, CheckResult, Example, SimilarityBin

__all__ = [
    "Alternative",
    "CheckResult",
    "Estimate",
    "Example",
    "NearBin",
    "PointCheck",
    "SimilarityBin",
    "check",
]

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
