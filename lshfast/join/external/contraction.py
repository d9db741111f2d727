"""Connected components of links that do not fit into memory.

The links are contracted by the alternating small-star and large-star operations of R. Kiveris, S.
Lattanzi, V. Mirrokni, V. Rastogi, S. Vassilvitskii, "Connected Components in MapReduce and Beyond",
SoCC 2014, as passes over sorted files. Two additions make the passes few. Links that are in memory
together are replaced by stars before they are written. A node that has smaller neighbours only is
removed by its small-star, with the neighbour whose label it will have. Once the links fit into
memory, labels are handed down to the removed nodes, in the reverse order.

No operation increases the sum of the ends of all links. A round leaves it as it was only if all
links are stars around their smallest nodes, and removes these. So the rounds come to an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lshfast._common.checks import check_int
from lshfast._common.rows import int64_range, parts_of_rows, run_begins, runs_of
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.join.external.sorted_runs import LEAST_MEMORY, SortedRuns
from lshfast.kernels import runs as kernels
from lshfast.kernels.sets import Components

# The part of the memory for merges; the rest is for records.
MERGE_SHARE = 1 / 4

# Bytes for each record of a buffer: two buffers, the scratch of their sorts, half a link with its
# ends, and the number, label, size and mark of a node.
BUFFER_RECORD_BYTES = 112

# Links are written if their contraction leaves more than this part of them.
MOST_LEFT = 0.5

LEAST_CONTRACTION = int(LEAST_MEMORY / MERGE_SHARE)

# Records that are processed at once outside of kernels, so that they stay in the cache.
PIECE_RECORDS = 1 << 13


def contract_links(
    links: Iterable[tuple[Int64Array, Int64Array]], folder: str, name: str, memory: int
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield the smallest node of the connected component of each node, in bounded memory.

    This takes as long as sorting all links a few times. No file is written if the links or their
    nodes fit into memory.

    Parameters
    ----------
    links : iterable of tuple (u, v) of ndarray of int64, shape (m,)
        The two ends of links, from 0, in any order; links may be repeated.
    folder : str
        An existing folder, in which no file has a name that begins with `name`. Files take up to 64
        bytes for each link and 32 bytes for each node. They are removed at the end, also after an
        error.
    name : str
    memory : int
        Bytes that arrays take, at least 2**21.

    Yields
    ------
    node : ndarray of int64, shape (m,)
        Each node that occurs in a link, once, in ascending order over all arrays.
    label : ndarray of int64, shape (m,)
        The smallest node of its component.

    Raises
    ------
    ValueError
        If an end is below 0.
    OSError
        If a file cannot be written, for example because the disk is full; the message names it.
    FormatError
        If a file was changed or damaged after it was written.

    See Also
    --------
    lshfast.component_groups : Group pairs by connected components.

    References
    ----------
    R. Kiveris et al., "Connected Components in MapReduce and Beyond", SoCC 2014.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from lshfast.join import contract_links
    >>> links = [(np.array([1, 7]), np.array([4, 9])), (np.array([4]), np.array([30]))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = list(contract_links(links, folder, "links", 1 << 22))
    >>> [
    ...     pair
    ...     for nodes, labels in found
    ...     for pair in zip(nodes.tolist(), labels.tolist())
    ... ]
    [(1, 1), (4, 1), (7, 7), (9, 7), (30, 1)]
    """
    memory = check_int("memory", memory, LEAST_CONTRACTION)
    merges = int(memory * MERGE_SHARE)
    with StarContraction(
        folder, name, (memory - merges) // BUFFER_RECORD_BYTES, merges
    ) as contraction:
        yield from contraction.run(links)


class StarContraction:
    """The passes of `contract_links`; a context manager, which removes the files.

    Parameters
    ----------
    folder, name : str
    records : int
        The records of a buffer, at least 4; half as many links are contracted in memory.
    memory : int
        Bytes for merges.

    Attributes
    ----------
    rounds : int
        The number of star operations so far; a small-star and a large-star are two.
    """

    def __init__(self, folder: str, name: str, records: int, memory: int) -> None:
        self._folder = folder
        self._name = name
        self._memory = memory
        self.rounds: int = 0
        self._for_links, self._for_nodes, self._scratch, self._ends = np.empty(
            (4, records, 2), np.uint64
        )
        self._links = np.empty((records // 2, 2), np.uint64)
        self._every: list[SortedRuns] = []
        self._stack = ExitStack()

    def __enter__(self) -> StarContraction:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def written(self) -> int:
        """Bytes of records that were written to files so far."""
        return sum(runs.written for runs in self._every)

    def run(
        self, links: Iterable[tuple[Int64Array, Int64Array]]
    ) -> Iterator[tuple[Int64Array, Int64Array]]:
        """Yield nodes and labels as `contract_links` does; call it once."""
        graph = self._new_graph()
        for u, v in links:
            graph.add(*_checked(u, v))
        removed: list[SortedRuns] = []
        while graph.written:
            old_graph = graph
            graph = self._new_graph()
            if self.rounds % 2 == 0:
                removed.append(self._new_runs("removed", self._for_nodes))
                _small_star(old_graph.records(self._memory), graph, removed[-1])
                removed[-1].spill()
            else:
                _large_star(old_graph.records(self._memory), graph)
            old_graph.close()
            self.rounds += 1
        nodes, places = graph.components()
        if removed:
            yield from self._labelled(removed, nodes, nodes[places])
        elif len(nodes):
            yield nodes.view(np.int64), nodes[places].view(np.int64)

    def _new_graph(self) -> _Links:
        return _Links(
            self._new_runs("links", self._for_links),
            self._links,
            self._ends,
            self._scratch,
        )

    def _new_runs(self, kind: str, buffer: UInt64Array) -> SortedRuns:
        """Return empty runs; other runs with the same buffer must be spilled before."""
        runs = SortedRuns(
            self._folder,
            f"{self._name}-{kind}-{len(self._every)}",
            buffer,
            self._scratch,
        )
        self._every.append(runs)
        return self._stack.enter_context(runs)

    def _labelled(
        self, removed: list[SortedRuns], nodes: UInt64Array, labels: UInt64Array
    ) -> Iterator[tuple[Int64Array, Int64Array]]:
        """Yield all nodes and labels: the given ones and the nodes that were removed."""
        target = removed[-1]
        target.add(np.stack([nodes, labels], axis=1))
        for runs, target in pairwise(
            [*removed[::-1], self._new_runs("labels", self._for_nodes)]
        ):
            runs.spill()
            _hand_down(runs.merged(self._memory), target)
            runs.close()
        for records in target.merged(self._memory):
            for piece in _pieces(records):
                yield piece[:, 0].astype(np.int64), piece[:, 1].astype(np.int64)


class _Links:
    """Links: as stars in memory as long as these fit, and then as records in both directions.

    Parameters
    ----------
    runs : SortedRuns
        Gets the records.
    links : ndarray of uint64, shape (m, 2)
        The memory for links.
    ends, scratch : ndarray of uint64, shape (2 * m, 2)
        The memory for their contraction.
    """

    def __init__(
        self,
        runs: SortedRuns,
        links: UInt64Array,
        ends: UInt64Array,
        scratch: UInt64Array,
    ) -> None:
        self._runs = runs
        self._links = links
        self._ends = ends
        self._scratch = scratch
        self._filled = 0
        self.written = False

    def add(self, u: UInt64Array, v: UInt64Array) -> None:
        """Add links."""
        at = 0
        while at < len(u):
            if self._filled == len(self._links):
                self._contract()
                if self._filled > MOST_LEFT * len(self._links):
                    self._write()
            count = min(len(u) - at, len(self._links) - self._filled)
            room = self._links[self._filled : self._filled + count]
            room[:, 0] = u[at : at + count]
            room[:, 1] = v[at : at + count]
            self._filled += count
            at += count

    def records(self, memory: int) -> Iterator[UInt64Array]:
        """Return all links in both directions, sorted; nothing may be added after this."""
        self._contract()
        self._write()
        self._runs.spill()
        return self._runs.merged(memory)

    def close(self) -> None:
        """Remove the files."""
        self._runs.close()

    def components(self) -> tuple[UInt64Array, Int64Array]:
        """Return the sorted nodes of the links, and the place of the smallest of its component."""
        m = self._filled
        ends = self._ends[: 2 * m]
        ends[:m, 0], ends[m:, 0] = self._links[:m].T
        ends[:, 1] = np.arange(2 * m, dtype=np.uint64)
        kernels.sort_records(ends, self._scratch)
        first = run_begins(ends[:, 0])
        nodes = ends[first, 0]
        sorted_numbers, numbers = (
            self._scratch.reshape(-1)[: 4 * m].view(np.int64).reshape(2, -1)
        )
        np.cumsum(first, out=sorted_numbers)
        numbers[ends[:, 1]] = sorted_numbers
        numbers -= 1
        graph = Components(len(nodes))
        graph.join(numbers[:m], numbers[m:])
        return nodes, graph.finished()

    def _contract(self) -> None:
        """Replace the links in memory by links to the smallest node of each component."""
        nodes, labels = self.components()
        sizes = np.bincount(labels, minlength=len(nodes))
        # A node without others is linked with itself, and must not be lost.
        linked = np.flatnonzero((labels != int64_range(len(nodes))) | (sizes == 1))
        self._filled = len(linked)
        self._links[: self._filled, 0] = nodes[linked]
        self._links[: self._filled, 1] = nodes[labels[linked]]

    def _write(self) -> None:
        links = self._links[: self._filled]
        self._runs.add(links)
        self._runs.add(links[:, ::-1])
        self._filled = 0
        self.written = True


class _Neighbours(NamedTuple):
    """Pairs of a node and a neighbour, sorted, each pair once.

    Attributes
    ----------
    node, other : ndarray of uint64, shape (m,)
    least : ndarray of uint64, shape (m,)
        The smallest of the node and all of its neighbours.
    last : ndarray of bool, shape (m,)
        Whether this is the node's largest neighbour.
    """

    node: UInt64Array
    other: UInt64Array
    least: UInt64Array
    last: BoolArray


def _neighbours(batches: Iterable[UInt64Array]) -> Iterator[_Neighbours]:
    """Yield sorted records as neighbours of their first words, in arrays of any size."""
    last_pair = np.empty((0, 2), np.uint64)
    last_least = np.empty(0, np.uint64)
    for batch in batches:
        for piece in _pieces(batch):
            neighbours = _neighbours_of(np.concatenate([last_pair, piece]), last_least)
            # The last node may have more neighbours.
            yield _Neighbours(
                neighbours.node[:-1],
                neighbours.other[:-1],
                neighbours.least[:-1],
                neighbours.last[:-1],
            )
            last_pair = np.stack([neighbours.node[-1:], neighbours.other[-1:]], axis=1)
            last_least = neighbours.least[-1:]
    if len(last_pair):
        yield _neighbours_of(last_pair, last_least)


def _neighbours_of(records: UInt64Array, first_least: UInt64Array) -> _Neighbours:
    """Return records as neighbours; `first_least` is `least` of the first one, if known."""
    node = records[:, 0]
    other = records[:, 1]
    different = run_begins(node, other)
    node = node[different]
    other = other[different]
    starts, stops = runs_of(node)
    least = np.minimum(node[starts], other[starts])
    least[: len(first_least)] = first_least
    last = np.zeros(len(node), np.bool_)
    last[stops - 1] = True
    return _Neighbours(node, other, np.repeat(least, stops - starts), last)


def _small_star(
    records: Iterable[UInt64Array], graph: _Links, removed: SortedRuns
) -> None:
    """Link each node and its smaller neighbours to the smallest of these.

    A node without larger neighbours is removed: (smallest neighbour, node) is added to `removed`.
    """
    for node, other, least, last in _neighbours(records):
        moved = (other < node) & (other != least)
        graph.add(other[moved], least[moved])
        stays = last & (other > node) & (least < node)
        graph.add(node[stays], least[stays])
        goes = last & (other <= node)
        removed.add(np.stack([least[goes], node[goes]], axis=1))


def _large_star(records: Iterable[UInt64Array], graph: _Links) -> None:
    """Link the larger neighbours of each node to the smallest of the node and its neighbours."""
    for node, other, least, _ in _neighbours(records):
        larger = other > node
        graph.add(other[larger], least[larger])


def _hand_down(records: Iterable[UInt64Array], labels: SortedRuns) -> None:
    """Add (node, label) of the nodes of all records to `labels`.

    A record is a node and its label, which is not larger; or a node, and a larger node that gets
    the same label. A node without a label is its own label.
    """
    for node, other, least, last in _neighbours(records):
        larger = other > node
        labels.add(np.stack([other[larger], least[larger]], axis=1))
        labels.add(np.stack([node[last], least[last]], axis=1))


def _checked(u: Int64Array, v: Int64Array) -> tuple[UInt64Array, UInt64Array]:
    """Return the ends of links as words."""
    for ends in (u, v):
        if not isinstance(ends, np.ndarray):
            raise TypeError(_not_links(type(ends).__name__))
        if ends.dtype != np.int64 or ends.ndim != 1 or len(ends) != len(u):
            raise TypeError(_not_links(f"{ends.dtype} {ends.shape}"))
        if len(ends) and ends.min() < 0:
            raise ValueError(f"nodes must be at least 0, not {ends.min()}")
    return u.view(np.uint64), v.view(np.uint64)


def _not_links(description: str) -> str:
    return f"links must be two arrays of int64 of the same length, not {description}"


def _pieces(array: UInt64Array) -> Iterator[UInt64Array]:
    return (array[part] for part in parts_of_rows(len(array), PIECE_RECORDS))
