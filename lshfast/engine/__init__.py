"""What a run is, whoever runs it: options, plan, rows, parts, groups and account."""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.engine.crowds import CrowdWarning
    from lshfast.engine.report import DedupResult, Removal, Summary
    from lshfast.engine.short_texts import Recommendation, ShortTextsWarning, recommend

__all__ = [
    "CrowdWarning",
    "DedupResult",
    "Recommendation",
    "Removal",
    "ShortTextsWarning",
    "Summary",
    "recommend",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "crowds": "CrowdWarning",
            "report": "DedupResult Removal Summary",
            "short_texts": "Recommendation ShortTextsWarning recommend",
        },
    )
