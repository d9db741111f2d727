"""Deduplication of texts, sets and tokens in memory: plans, runs, and results."""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
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

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "api": "dedup pairs",
            "report": "DedupResult Removal Summary",
            "short_texts": "Recommendation ShortTextsWarning recommend",
        },
    )
