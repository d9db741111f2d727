"""The quality of a run from a sample: recall, precision, and effects of other parameters.

>>> from lshfast.quality import check, edges_from, threshold_of
>>> words = "the cat sat on the mat and saw the dog that lay there in the warm sun all day".split()
>>> check(
...     [" ".join(words), " ".join(words[:-1]), "a bird"], threshold=0.8, size=2
... ).recall
Estimate(value=1.0, low=1.0, high=1.0)

>>> similarity = [0.86, 0.87, 0.91, 0.93, 0.97, 0.99]
>>> same = [False, False, True, True, True, True]
>>> threshold_of(similarity, same, edges_from(0.85), [400, 90, 80]).threshold
0.9

`threshold_of` chooses a threshold from labelled pairs: precision and recall by threshold, with
intervals. docs/how-to/check.md explains how rows are sampled, and why the estimates are right.
``lshfast check`` is the command.

Files:

- api.py, run.py, result.py: `check`; its stages; its result.
- checked_rows.py: what all results have, and their figures as JSON.
- sampling.py, near_pairs.py, candidates.py: which rows are drawn; their pairs with all rows;
  candidates that are not similar.
- estimates.py, intervals.py, valley.py, excerpts.py: estimates of pairs, rows and recall; their
  intervals; a threshold in the histogram; pairs as examples.
- checks.py, other_shingles.py: what is compared of each kind of items, in memory and in files; the
  pairs by other shingles.
- points.py: the check of vectors and codes.
- labels.py, label_sheet.py, label_job.py: a threshold from labels; the file of labels; the job that
  asks for labels.
- label_command.py, label_screen.py: what the command asks of pairs of texts; what it shows.
- check_command.py, job.py, page.py: the command and its options; its job; the page of a check.
"""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.quality.api import check
    from lshfast.quality.intervals import Estimate
    from lshfast.quality.labels import (
        Interval,
        ThresholdEstimate,
        edges_from,
        threshold_of,
    )
    from lshfast.quality.points import NearBin, PointCheck
    from lshfast.quality.result import Alternative, CheckResult, Example, SimilarityBin

__all__ = [
    "Alternative",
    "CheckResult",
    "Estimate",
    "Example",
    "Interval",
    "NearBin",
    "PointCheck",
    "SimilarityBin",
    "ThresholdEstimate",
    "check",
    "edges_from",
    "threshold_of",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "api": "check",
            "intervals": "Estimate",
            "labels": "Interval ThresholdEstimate edges_from threshold_of",
            "points": "NearBin PointCheck",
            "result": "Alternative CheckResult Example SimilarityBin",
        },
    )
