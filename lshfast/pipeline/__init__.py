"""Deduplication of texts, sets and tokens in memory: plans, runs, and results."""

from lshfast.pipeline.api import dedup, pairs
from lshfast.pipeline.report import DedupResult, Removal, Summary
from lshfast.pipeline.short_texts import Recommendation, ShortTextsWarning, recommend

__all__ = [
    "DedupResult",
    "Recommendation",
    "Removal",
    "ShortTextsWarning",
    "Summary",
    "dedup",
    "pairs",
    "recommend",
]
