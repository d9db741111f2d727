"""Find candidates by bucket keys, verify them as pairs, and form groups from pairs; find identical items."""

from typing import TYPE_CHECKING

from lshfast.common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.join.banded import candidates, find_copies
    from lshfast.join.groups import component_groups, star_groups
    from lshfast.join.identical import count_distinct, find_identical, find_identical_in_batches
    from lshfast.join.item_filter import ItemFilter
    from lshfast.join.jaccard import PAIR, verify

__all__ = [
    "PAIR",
    "ItemFilter",
    "candidates",
    "component_groups",
    "count_distinct",
    "find_copies",
    "find_identical",
    "find_identical_in_batches",
    "star_groups",
    "verify",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "banded": "candidates find_copies",
            "groups": "component_groups star_groups",
            "identical": "count_distinct find_identical find_identical_in_batches",
            "item_filter": "ItemFilter",
            "jaccard": "PAIR verify",
        },
    )
