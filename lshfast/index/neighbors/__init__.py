"""Near-neighbour search with a promised recall: the index, its plan, and its answers."""

from typing import TYPE_CHECKING

from lshfast._common.lazy import lazy_names

if TYPE_CHECKING:
    from lshfast.index.neighbors.answers import (
        Neighbor,
        NeighborLists,
        NeighborPairs,
        NeighborStats,
    )
    from lshfast.index.neighbors.few_neighbors import FewNeighborsWarning
    from lshfast.index.neighbors.near_neighbors import NearNeighbors
    from lshfast.index.neighbors.plan import NeighborsPlan

__all__ = [
    "FewNeighborsWarning",
    "NearNeighbors",
    "Neighbor",
    "NeighborLists",
    "NeighborPairs",
    "NeighborStats",
    "NeighborsPlan",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "answers": "Neighbor NeighborLists NeighborPairs NeighborStats",
            "few_neighbors": "FewNeighborsWarning",
            "near_neighbors": "NearNeighbors",
            "plan": "NeighborsPlan",
        },
    )
