"""HNSW: datasketch's graph index of points, for any distance function.

The graphs are described by Malkov and Yashunin, "Efficient and robust approximate nearest neighbor
search using Hierarchical Navigable Small World graphs" (arXiv 1603.09320). Calls of the distance
function take most of the time. Links therefore keep the distances of their nodes, and the distance
from a new or queried point to another is computed once. A change is planned completely before
anything is stored, because the distance function may raise an error.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush, heappushpop
from itertools import islice
from typing import Any

import numpy as np

from lshfast.datasketch.minhash import check_least

# A node is also linked to the nearest candidates that are not chosen, up to this fraction of its
# links. Among 1,500 MinHashes and 1,500 uniform vectors, recall with ef 10 is 0.84 and 0.81;
# without them it is 0.81 and 0.80.
EXTRA = 1 / 16

# The attributes that equal indexes have in common, besides the points and the random number
# generator.
COMPARED = (
    "_distance_func",
    "_m",
    "_m0",
    "_ef_construction",
    "_reversed",
    "_numbers",
    "_removed",
    "_layers",
    "_made",
    "_level",
)


class Links(dict[int, float]):
    """The neighbours of a node and their distances; not changed once they are in a layer.

    Attributes
    ----------
    settled : int
        None of the first `settled` neighbours is closer to another of them than to the node.
    """

    settled = 0


Layer = dict[int, Links]


class Distances(dict[int, float]):
    """The distances of nodes from one point, computed when they are first read.

    Parameters
    ----------
    index : HNSW
    point : object
        The point of a query or of a new node.
    node : int, default -1
        The number of the new node, which is not in the index yet.
    """

    def __init__(self, index: HNSW, point: Any = None, node: int = -1) -> None:
        self.function: Callable[[Any, Any], float] = index._distance_func
        self._points = index._points
        self._keys = index._keys
        self.point: Any = point
        self._node = node

    def __missing__(self, node: int) -> float:
        distance = self[node] = float(self.function(self.point, self._points[node]))
        if distance != distance:
            raise self.nan(node)
        return distance

    def between(self, first: int, second: int) -> float:
        """Return the distance of two nodes."""
        if first == self._node:
            return self[second]
        if second == self._node:
            return self[first]
        distance = float(self.function(self._points[first], self._points[second]))
        if distance != distance:
            raise self.nan(first)
        return distance

    def links_of(self, node: int, layer: Layer) -> dict[int, float]:
        """Return known distances of a node."""
        return self if node == self._node else layer[node]

    def nan(self, node: int) -> ValueError:
        """Return the error of a distance of NaN to a node."""
        return ValueError(
            f"distance_func returned NaN for the point of key {self._keys[node]!r}"
        )


class HNSW(MutableMapping[Hashable, Any]):
    """Find the nearest points to a query under any distance function, like ``datasketch.HNSW``.

    The index is a mapping from keys to points. Each point is linked to near points, and a query
    follows the links.

    Parameters
    ----------
    distance_func : callable
        Takes two points and returns their distance, a number. A query calls it with the query's
        point first. It must return the same distance if the points are exchanged.
    m : int, default 16
        At least 2. A point has up to `m` links in each layer except the lowest.
    ef_construction : int, default 200
        At least 1: the number of near points among which the links of a new point are chosen.
    m0 : int, optional
        At least 1: the links of a point in the lowest layer, which contains all points. The default
        is ``2 * m``.
    seed : int, optional
        Of the random layers of points. By default each index has other layers.
    reversed_edges : bool, default False
        Whether to record which points link to a point. This makes ``remove(key, hard=True)``
        faster, because it need not search all points, and takes more memory.

    See Also
    --------
    lshfast.NearNeighbors : An index of points or sets that finds near neighbours.
    lshfast.datasketch.MinHashLSHForest : Find the k most similar sketches.

    Notes
    -----
    Results are approximate. A greater `ef` of a query finds more of the nearest points and computes
    more distances.

    If the distance function raises an error, the index stays as it was. A distance of NaN raises
    ValueError. At most half of the links of a point go to points at distance 0, so that copies of a
    point remain linked to other points.

    Any number of threads may query an index while no thread changes it.

    Examples
    --------
    >>> from lshfast.datasketch import HNSW
    >>> index = HNSW(lambda x, y: abs(x - y), seed=1)
    >>> index.update({"a": 1.0, "b": 4.0, "c": 9.0})
    >>> index.query(3.0, k=2)
    [('b', 1.0), ('a', 2.0)]
    >>> index.remove("b")
    >>> index.query(3.0, k=2), "b" in index, len(index)
    ([('a', 2.0), ('c', 6.0)], False, 2)
    """

    def __init__(
        self,
        distance_func: Callable[[Any, Any], float],
        m: int = 16,
        ef_construction: int = 200,
        m0: int | None = None,
        seed: int | None = None,
        reversed_edges: bool = False,
    ) -> None:
        if not callable(distance_func):
            raise TypeError(f"distance_func must be callable, not {distance_func!r}")
        self._distance_func = distance_func
        self._m = check_least(m, "m", 2)
        self._m0 = 2 * self._m if m0 is None else check_least(m0, "m0")
        self._ef_construction = check_least(ef_construction, "ef_construction")
        self._random = np.random.default_rng(seed)
        self._reversed = bool(reversed_edges)
        self.clear()

    def clear(self) -> None:
        """Remove all points. The random number generator is not reset."""
        # The nodes of all keys, in the order of their insertion.
        self._numbers: dict[Hashable, int] = {}
        self._keys: dict[int, Hashable] = {}
        self._points: dict[int, Any] = {}
        # Nodes that are in the graphs, but no longer in the index.
        self._removed: set[int] = set()
        self._layers: list[Layer] = []  # the lowest first
        # With reversed_edges: the nodes that link to a node.
        self._sources: list[dict[int, set[int]]] = []
        self._made = 0
        self._level = self._draw_level()  # of the next new key

    def _draw_level(self) -> int:
        return int(-math.log(1 - self._random.random()) / math.log(self._m))

    # ---- the mapping ----

    def __len__(self) -> int:
        return len(self._numbers) - len(self._removed)

    def __contains__(self, key: object) -> bool:
        node = self._numbers.get(key)
        return node is not None and node not in self._removed

    def __iter__(self) -> Iterator[Hashable]:
        return (key for key, node in self._numbers.items() if node not in self._removed)

    def __getitem__(self, key: Hashable) -> Any:
        if key not in self:
            raise KeyError(key)
        return self._points[self._numbers[key]]

    def __setitem__(self, key: Hashable, value: Any) -> None:
        self.insert(key, value)

    def __delitem__(self, key: Hashable) -> None:
        self.remove(key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HNSW):
            return NotImplemented
        return (
            all(getattr(self, name) == getattr(other, name) for name in COMPARED)
            and self._random.bit_generator.state == other._random.bit_generator.state
            and all(
                _equal(point, other._points[node])
                for node, point in self._points.items()
            )
        )

    def keys(self) -> Iterator[Hashable]:  # type: ignore[override]
        """Return an iterator over the keys, in the order in which they were first inserted."""
        return iter(self)

    def values(self) -> Iterator[Any]:  # type: ignore[override]
        """Return an iterator over the points."""
        return (point for _, point in self.items())

    def items(self) -> Iterator[tuple[Hashable, Any]]:  # type: ignore[override]
        """Return an iterator over pairs (key, point)."""
        return (
            (key, self._points[node])
            for key, node in self._numbers.items()
            if node not in self._removed
        )

    def reversed(self) -> Iterator[Hashable]:
        """Return an iterator over the keys, the last inserted first."""
        return (key for key in reversed(self._numbers) if key in self)

    def setdefault(self, key: Hashable, default: Any) -> Any:  # type: ignore[override]
        """Return the point of a key; insert `default` first if the key is new.

        A default of None raises ValueError.
        """
        if default is None:
            raise ValueError("Default value cannot be None.")
        if key not in self:
            self.insert(key, default)
        return self[key]

    def pop(self, key: Hashable, default: Any = None, hard: bool = False) -> Any:
        """Remove a key as `remove` does and return its point.

        A missing key gives `default`, or KeyError if that is None.
        """
        if key not in self and default is not None:
            return default
        point = self[key]
        self.remove(key, hard=hard)
        return point

    def popitem(self, last: bool = True, hard: bool = False) -> tuple[Hashable, Any]:
        """Remove the last key, or the first, as `remove` does; return (key, point).

        An empty index raises KeyError.
        """
        for key in self.reversed() if last else self:
            return key, self.pop(key, hard=hard)
        raise KeyError("popitem(): index is empty")

    def update(self, other: Mapping[Hashable, Any]) -> None:  # type: ignore[override]
        """Insert all keys and points of a mapping; after an error the earlier ones remain."""
        super().update(other)

    def merge(self, other: HNSW) -> HNSW:
        """Return a copy of the index, updated with all points of another."""
        union = self.copy()
        union.update(other)
        return union

    def copy(self) -> HNSW:
        """Return an index with the same graphs and the same points, which are not copied."""
        index = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(
                index, name, value.copy() if isinstance(value, dict | set) else value
            )
        index._random = copy.deepcopy(self._random)
        index._layers = [layer.copy() for layer in self._layers]
        index._sources = [
            {node: linking_nodes.copy() for node, linking_nodes in sources.items()}
            for sources in self._sources
        ]
        return index

    __copy__ = copy

    # ---- queries ----

    @property
    def _entry_point(self) -> int | None:
        """A node of the highest layer; None if the index is empty."""
        return next(iter(self._layers[-1])) if self._layers else None

    def query(
        self, query_point: Any, k: int | None = None, ef: int | None = None
    ) -> list[tuple[Hashable, float]]:
        """Return the nearest points that are found.

        Parameters
        ----------
        query_point : object
        k : int, optional
            The number of results, at least 0; `ef` by default. If there are fewer points, all are
            returned.
        ef : int, optional
            At least 1: the number of near points that the search keeps. The default is
            `ef_construction`. If it is less than `k`, it is `k`.

        Returns
        -------
        list of (key, float)
            Keys and distances, the nearest first.

        Raises
        ------
        ValueError
            If the index is empty, a distance is NaN, or an argument is out of range.
        """
        count = self._ef_construction if ef is None else check_least(ef, "ef")
        if k is not None:
            count = max(count, check_least(k, "k", 0))
        if self._entry_point is None:
            raise ValueError("the index is empty: there is no entry point for a query")
        distances = Distances(self, query_point)
        start = [self._entry_point]
        for number in range(len(self._layers) - 1, 0, -1):
            start = self._walk(distances, start, number, 1, frozenset())
        nearest = self._walk(distances, start, 0, count, self._removed)
        return [(self._keys[node], distances[node]) for node in nearest[:k]]

    def _walk(
        self,
        distances: Distances,
        start: list[int],
        layer_number: int,
        ef: int,
        hidden: AbstractSet[int],
    ) -> list[int]:
        """Return the nearest `ef` nodes found in a layer that are not hidden: algorithm 2."""
        # The walk also passes up to `2 * ef` nodes that are as far as the farthest one found,
        # because estimated distances are often equal: with ef 10, this raises the recall of 1,500
        # MinHashes from 0.78 to 0.84. If the links do not lead to all nodes of the lowest layer,
        # the walk goes on from others until it has `ef`.
        layer = self._layers[layer_number]
        known_distance = distances.get
        points = self._points
        function = distances.function
        point = distances.point
        seen_nodes: set[int] = set()
        candidates: list[tuple[float, int]] = []
        # The farthest first: distances are negated.
        nearest: list[tuple[float, int]] = []
        farthest = math.nan  # until there are `ef` nodes, none is farther
        missing = ef
        ties = 2 * ef
        nodes = start
        unreached_nodes = _unreached_nodes(layer, seen_nodes, hidden)
        while nodes:
            seen_nodes.update(nodes)
            for node in nodes:
                distance = known_distance(node)
                if distance is None:
                    distance = distances[node] = float(function(point, points[node]))
                    if distance != distance:
                        raise distances.nan(node)
                if distance >= farthest:
                    if distance > farthest or not ties:
                        continue
                    ties -= 1
                heappush(candidates, (distance, node))
                if node in hidden:
                    continue
                if missing:
                    heappush(nearest, (-distance, node))
                    missing -= 1
                else:
                    heappushpop(nearest, (-distance, node))
                if not missing:
                    farthest = -nearest[0][0]
            nodes = _unseen_neighbours(layer, candidates, farthest, seen_nodes)
            if missing and not nodes and layer_number == 0:
                nodes = list(islice(unreached_nodes, 1))
        return [node for _, node in sorted(nearest, reverse=True)]

    # ---- changes ----

    def insert(
        self,
        key: Hashable,
        new_point: Any,
        ef: int | None = None,
        level: int | None = None,
    ) -> None:
        """Insert a point, or replace the point of a key.

        Parameters
        ----------
        key : hashable
        new_point : object
        ef : int, optional
            At least 1; replaces `ef_construction`.
        level : int, optional
            At least 0: the highest layer of the point, random by default. A key that is replaced
            keeps its layers.

        Raises
        ------
        TypeError
            If the key is not hashable.
        ValueError
            If a distance is NaN, or an argument is out of range. Then nothing changes.
        """
        ef = self._ef_construction if ef is None else check_least(ef, "ef")
        old = self._numbers.get(key)
        top = self._level if level is None else check_least(level, "level", 0)
        deleted = set()
        if old is not None:
            deleted.add(old)
            top = sum(old in layer for layer in self._layers) - 1
        node = self._made
        changes: list[Layer] = [{} for _ in range(max(top + 1, len(self._layers)))]
        distances = Distances(self, new_point, node)
        self._plan_removal(deleted, ef, distances, changes)
        self._plan_links(node, top, ef, deleted, distances, changes)
        self._made += 1
        self._numbers[key] = node
        self._keys[node], self._points[node] = key, new_point
        self._store(changes, deleted)
        if old is None and level is None:
            self._level = self._draw_level()

    def _plan_links(
        self,
        node: int,
        top: int,
        ef: int,
        deleted: set[int],
        distances: Distances,
        changes: list[Layer],
    ) -> None:
        """Add to `changes` the links from and to a new node: algorithm 1 of the paper."""
        hidden = self._removed | deleted if deleted else self._removed
        start = [] if self._entry_point is None else [self._entry_point]
        for layer_number in range(len(changes) - 1, -1, -1):
            if layer_number >= len(self._layers):
                changes[layer_number][node] = Links()
                continue
            if layer_number > top:
                start = self._walk(distances, start, layer_number, 1, frozenset())
                continue
            nearest = self._walk(distances, start, layer_number, ef, hidden)
            start = nearest or start
            links = self._select(
                [(distances[other], other) for other in nearest],
                layer_number,
                distances,
            )
            changes[layer_number][node] = links
            self._plan_sources(node, links, layer_number, distances, changes)

    def _plan_sources(
        self,
        node: int,
        new: Links,
        layer_number: int,
        distances: Distances,
        changes: list[Layer],
    ) -> None:
        """Link the new neighbours of a node to it; drop the worst of their links if too many."""
        for other, distance in new.items():
            links = changes[layer_number].get(other, self._layers[layer_number][other])
            linked = Links(links)
            linked[node] = distance
            linked.settled = links.settled
            if len(linked) > (self._m if layer_number else self._m0):
                settled = set(list(links)[: links.settled])
                linked = self._select(
                    sorted((d, n) for n, d in linked.items()),
                    layer_number,
                    distances,
                    settled,
                )
            changes[layer_number][other] = linked

    def _select(
        self,
        candidates: list[tuple[float, int]],
        layer_number: int,
        distances: Distances,
        settled: AbstractSet[int] = frozenset(),
    ) -> Links:
        """Choose candidates to which no chosen one is closer than the node, and a few others.

        Pairs of `settled` candidates are not compared. This is algorithm 4 of the paper.
        """
        most = self._m if layer_number else self._m0
        layer = self._layers[layer_number]
        between = distances.between
        selection = Links()
        rejected = []
        copies = 0
        for distance, node in candidates:
            if len(selection) == most:
                break
            copies += distance == 0
            if distance == 0 and copies > max(most // 2, 1):
                continue
            links = distances.links_of(node, layer)
            for other in (
                selection
                if node not in settled
                else [other for other in selection if other not in settled]
            ):
                mutual_distance = links.get(other)
                if mutual_distance is None:
                    mutual_distance = between(node, other)
                if mutual_distance < distance:
                    rejected.append((node, distance))
                    break
            else:
                selection[node] = distance
        selection.settled = len(selection)
        selection.update(
            rejected[: min(math.ceil(EXTRA * most), most - len(selection))]
        )
        return selection

    def remove(self, key: Hashable, hard: bool = False, ef: int | None = None) -> None:
        """Remove a key.

        Parameters
        ----------
        key : hashable
        hard : bool, default False
            If False, the point stays in the graphs, where searches may pass it, until `clean` or a
            hard removal. A hard removal deletes the point and gives new links to the points that
            were linked to it.
        ef : int, optional
            At least 1: the number of points among which a hard removal chooses these links;
            `ef_construction` by default.

        Raises
        ------
        KeyError
            If there is no such key. The second soft removal of a key does nothing.
        """
        node = self._numbers[key]
        if hard:
            self._delete({node}, ef)
        else:
            self._removed.add(node)
        if not len(self):
            self.clear()

    def clean(self, ef: int | None = None) -> None:
        """Delete the points that were removed, as hard removals do, but faster.

        Parameters
        ----------
        ef : int, optional
            See `remove`.
        """
        self._delete(set(self._removed), ef)

    def _delete(self, deleted: set[int], ef: int | None) -> None:
        changes: list[Layer] = [{} for _ in self._layers]
        ef = self._ef_construction if ef is None else check_least(ef, "ef")
        self._plan_removal(deleted, ef, Distances(self), changes)
        for node in deleted:
            del self._numbers[self._keys[node]]
        self._store(changes, deleted)

    def _plan_removal(
        self, deleted: set[int], ef: int, distances: Distances, changes: list[Layer]
    ) -> None:
        """Add to `changes` the links of the nodes that are linked to nodes that will be deleted.

        Such a node chooses among its other links and the nodes to which the deleted nodes lead.
        """
        for layer_number, layer in enumerate(self._layers if deleted else ()):
            for node in self._linking_nodes(layer_number, deleted):
                links = changes[layer_number].get(node, layer[node])
                settled = set(list(links)[: links.settled]) - deleted
                candidates = self._candidates(
                    node, links, layer, deleted, ef, distances
                )
                selection = self._select(candidates, layer_number, distances, settled)
                changes[layer_number][node] = selection
                new_links = Links(
                    {n: d for n, d in selection.items() if n not in links}
                )
                self._plan_sources(node, new_links, layer_number, distances, changes)

    def _linking_nodes(self, layer_number: int, deleted: set[int]) -> list[int]:
        """Return the other nodes of a layer that are linked to nodes that will be deleted."""
        if self._reversed:
            sources = (self._sources[layer_number].get(node, ()) for node in deleted)
            return sorted(set().union(*sources) - deleted)
        nodes = []
        for node, links in self._layers[layer_number].items():
            if node not in deleted and not deleted.isdisjoint(links):
                nodes.append(node)
        return nodes

    def _candidates(
        self,
        node: int,
        links: Links,
        layer: Layer,
        deleted: set[int],
        ef: int,
        distances: Distances,
    ) -> list[tuple[float, int]]:
        """Return the remaining neighbours of a node, and nodes to which deleted neighbours lead."""
        candidates = {
            other: distance for other, distance in links.items() if other not in deleted
        }
        passed = [other for other in links if other in deleted]
        seen_nodes = set(passed)
        for neighbour in passed:  # grows
            if len(candidates) >= ef:
                break
            for other in layer[neighbour]:
                if other in deleted:
                    if other not in seen_nodes:
                        seen_nodes.add(other)
                        passed.append(other)
                elif (
                    other != node
                    and other not in candidates
                    and other not in self._removed
                ):
                    candidates[other] = distances.between(node, other)
        return sorted((distance, other) for other, distance in candidates.items())

    def _store(self, changes: list[Layer], deleted: set[int]) -> None:
        """Store planned links, and delete nodes."""
        self._layers += [{} for _ in changes[len(self._layers) :]]
        if self._reversed:
            self._store_sources(changes, deleted)
        for layer, change in zip(self._layers, changes, strict=True):
            layer.update(change)
            for node in deleted:
                layer.pop(node, None)
        for node in deleted:
            del self._keys[node], self._points[node]
        self._removed -= deleted
        while self._layers and not self._layers[-1]:
            self._layers.pop()

    def _store_sources(self, changes: list[Layer], deleted: set[int]) -> None:
        self._sources += [{} for _ in changes[len(self._sources) :]]
        for sources, layer, change in zip(
            self._sources, self._layers, changes, strict=False
        ):
            for node in deleted & layer.keys():
                change[node] = Links()
            for node, links in change.items():
                for lost in layer.get(node, links).keys() - links.keys():
                    sources[lost].discard(node)
                for new in links:
                    sources.setdefault(new, set()).add(node)
            for node in deleted:
                sources.pop(node, None)


def _unseen_neighbours(
    layer: Layer,
    candidates: list[tuple[float, int]],
    farthest: float,
    seen_nodes: set[int],
) -> list[int]:
    """Return the unseen neighbours of the nearest candidate that has any; remove nearer ones."""
    while candidates:
        distance, node = heappop(candidates)
        if distance > farthest:
            candidates.clear()
            break
        nodes = [other for other in layer[node] if other not in seen_nodes]
        if nodes:
            return nodes
    return []


def _unreached_nodes(
    layer: Layer, seen_nodes: AbstractSet[int], hidden: AbstractSet[int]
) -> Iterator[int]:
    return (node for node in layer if node not in seen_nodes and node not in hidden)


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    return bool(first == second)
