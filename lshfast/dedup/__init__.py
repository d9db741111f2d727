"""The main job: texts in, near-duplicates named."""

from lshfast.dedup.jobs import dedup_files
from lshfast.dedup.pipeline import dedup, pairs
from lshfast.dedup.report import DedupResult, Removal, Summary
from lshfast.dedup.short_texts import Recommendation, ShortTextsWarning, recommend

__all__ = [
    "DedupResult",
    "Recommendation",
    "Removal",
    "ShortTextsWarning",
    "Summary",
    "dedup",
    "dedup_files",
    "pairs",
    "recommend",
]
