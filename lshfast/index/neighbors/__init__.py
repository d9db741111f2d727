"""Near-neighbour search with a promised recall: the index, its plan, and its answers."""

from lshfast.index.neighbors.answers import Neighbor, NeighborLists, NeighborPairs, NeighborStats
from lshfast.index.neighbors.near_neighbors import NearNeighbors
from lshfast.index.neighbors.plan import NeighborsPlan

__all__ = ["NearNeighbors", "Neighbor", "NeighborLists", "NeighborPairs", "NeighborStats", "NeighborsPlan"]
