"""Near-neighbour search with a promised recall: the index, its plan, and its answers.

Files:

- near_neighbors.py, answers.py: the index, and its answers.
- plan.py, codes.py, planner.py, families.py: the plan by tables and by codes, with its
  probabilities; its choice; the families of a metric.
- points.py, bounds.py: points as payload words; the metrics and the bound of an index.
- samples.py, few_neighbors.py: samples of points; the warning that the radius is too small.
- search.py, scan.py, equal_queries.py: the searches of an index, for checked points; exact search;
  equal queries of a batch.
"""

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
