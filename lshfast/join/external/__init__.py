"""The join of bands in bounded memory, by sorted files."""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.join.external.contraction import contract_links
    from lshfast.join.external.external_join import ExternalJoin, external_candidates
    from lshfast.join.external.sorted_runs import SortedRuns

__all__ = ["ExternalJoin", "SortedRuns", "contract_links", "external_candidates"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "contraction": "contract_links",
            "external_join": "ExternalJoin external_candidates",
            "sorted_runs": "SortedRuns",
        },
    )
