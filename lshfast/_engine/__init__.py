"""What a run is, whoever runs it: options, plan, rows, parts, groups and account."""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast._engine.crowds import CrowdWarning
    from lshfast._engine.report import DedupResult, Removal, Summary
    from lshfast._engine.short_texts import Recommendation, ShortTextsWarning, recommend

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
