"""Contraction of a link graph: nodes with nearly equal link sets become one node.

A merge makes the link sets of the nodes that link there more similar, so merges go on ("cascaded
collapse"). A round compares only the nodes whose links have changed with those that may be similar
to them, which `Prefixes` finds; if that is most of the graph, it compares all. Both find the same
merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of, check_int
from lshfast._common.display import Figure, Shown, counted
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range
from lshfast._common.types import AnyArray, Int64Array
from lshfast.join.thresholds import Threshold, rule_of
from lshfast.kernels.sets import components
from lshfast.web.link_graphs import SequenceGraph, SetGraph

MAX_NODES = 2**31
MOST_SIZE = 256


@dataclass(frozen=True, repr=False)
class Contraction(Shown):
    """The result of `contract`.

    Attributes
    ----------
    labels : ndarray of int64, shape (n,)
        For each node, the smallest node of its class.
    source, target : ndarray of int64, shape (m,)
        The links between classes, named by their smallest nodes; sorted, each once, without links
        of a class to itself.
    rounds : int
        Rounds with at least one merge.
    left_out : ndarray of int64, shape (l,)
        With `max_block`: the nodes, in ascending order, that are among the rarest links of a set
        and whose blocks were left out. They are named by their classes at the time.
    partly_compared : ndarray of int64, shape (c,)
        The classes, in ascending order, that have one of these nodes among their rarest links, and
        may be similar to another class that they were not compared with. Empty if nothing was left
        out.

    See Also
    --------
    lshfast.web.contract : Merge the nodes of a link graph.
    """

    labels: Int64Array
    source: Int64Array
    target: Int64Array
    rounds: int
    left_out: Int64Array
    partly_compared: Int64Array

    def _shown(self) -> tuple[str, Iterable[Figure], str]:
        figures = [
            Figure("kept", f"{self.kept:,}", "nodes"),
            Figure("merged", f"{self.removed:,}", "nodes, into others"),
            Figure("links", f"{len(self.source):,}", "between classes"),
            Figure("rounds", f"{self.rounds:,}", "with merges"),
        ]
        if len(self.left_out):
            figures.append(
                Figure(
                    "left out",
                    f"{len(self.left_out):,}",
                    "linked nodes, above max_block",
                )
            )
            figures.append(
                Figure(
                    "partly compared",
                    f"{len(self.partly_compared):,}",
                    "classes that are left",
                )
            )
        return f"Contraction of {counted(len(self.labels), 'node')}", figures, ""

    @property
    def kept(self) -> int:
        """The number of classes."""
        return int((self.labels == int64_range(len(self.labels))).sum())

    @property
    def removed(self) -> int:
        """The number of nodes that are merged into another one."""
        return len(self.labels) - self.kept


def contract(
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    *,
    threshold: Threshold = 0.9,
    nodes: int | None = None,
    same: npt.ArrayLike | None = None,
    min_links: int = 1,
    size: int = 1,
    max_block: int | None = None,
    progress: Progress | None = None,
) -> Contraction:
    """Merge nodes of a link graph whose link sets are nearly equal, until none are left.

    The link set of a class of nodes is the set of the other classes that its members link to; at
    first, each node is a class. In a round, the classes with at least `min_links` links are
    considered in the order of their smallest nodes. Each one is merged into the first class before
    it that was not itself merged in this round, and whose link set, as it was at the start of the
    round, has a Jaccard similarity of at least `threshold` to its own. Rounds are repeated until
    one merges nothing. So the result does not depend on the order of the links, and no two classes
    with enough links have similar link sets at the end. A class without links is never merged.

    With `size` above 1, the order of links counts: the links of each node, in the given order and
    as classes, are a sequence, in which links to the own class are left out and equal neighbours
    count once. Its shingles are each `size` links that follow each other, or all links if they are
    fewer. The set of a class has the shingles of its members. All else is the same.

    Memory is about 100 bytes per link and 50 bytes per node, also of numbers without links.
    Similarities are exact; nothing is drawn at random.

    Parameters
    ----------
    source, target : array_like of int, shape (m,)
        Links from source[i] to target[i], numbers of nodes in 0..nodes - 1. Repeated links count
        once, and links of a node to itself not at all.
    threshold : float, Fraction or (p, q), default 0.9
        In (0, 1]. A fraction p / q is exact.
    nodes : int, optional
        Number of nodes, at most 2**31. The default is the largest number of a node plus 1.
    same : array_like of int, shape (k, 2), optional
        Pairs of nodes that are known to be the same, such as pages with equal contents. They are
        merged first.
    min_links : int, default 1
        Least number of links of a class that is compared. With 2, pages that only link to their
        home page stay. With `size` above 1, the least number of shingles.
    size : int, default 1
        Links of a shingle, in 1..256. With 1, link sets are compared.
    max_block : int, optional
        The most pairs of a block, at least 1. A block is the different link sets with a link to the
        same node, among those that a round compares. Larger blocks are left out: sets that share no
        rare link but those of larger blocks are not compared, so similar classes may be left.
        `left_out` and `partly_compared` of the result say which. All merges are of similar sets. By
        default, nothing is left out. `size` must be 1.
    progress : callable, optional
        Called with ("merge", merged nodes, None) after each round.

    Returns
    -------
    Contraction

    Raises
    ------
    TypeError
        If nodes are not integers.
    ValueError
        If a node or an argument is out of range, or the arrays have other shapes.

    See Also
    --------
    lshfast.web.find_mirrors : Find hosts that mirror another host.

    References
    ----------
    A. Z. Broder, "Locally similar web subgraphs": contraction of a crawl, repeated until it is
    stable. Leaders are found by prefixes: S. Chaudhuri, V. Ganti, R. Kaushik, "A primitive operator
    for similarity joins in data cleaning", ICDE 2006.

    Examples
    --------
    Nodes 0 and 1 link to 2 and 3. These are merged, because both link to 4, and then 0 and 1 are
    merged too:

    >>> from lshfast.web import contract
    >>> found = contract([0, 1, 2, 3], [2, 3, 4, 4])
    >>> found.labels.tolist(), found.rounds
    ([0, 0, 2, 2, 4], 2)
    >>> list(zip(found.source.tolist(), found.target.tolist()))
    [(0, 2), (2, 4)]

    Nodes 0 and 1 link to the same nodes in another order:

    >>> links = [0, 0, 0, 1, 1, 1], [2, 3, 4, 4, 3, 2]
    >>> contract(*links).removed, contract(*links, size=2).removed
    (1, 0)
    """
    rule = rule_of("jaccard", threshold)
    links = _nodes_of(source, "source"), _nodes_of(target, "target")
    if len(links[0]) != len(links[1]):
        raise ValueError(
            f"source and target must have the same length, not {len(links[0])} and {len(links[1])}"
        )
    pairs = _pairs_of(same)
    largest = max(
        (int(part.max()) for part in (*links, pairs.ravel()) if part.size), default=-1
    )
    n = largest + 1 if nodes is None else check_int("nodes", nodes, 0, MAX_NODES)
    if largest >= n:
        raise ValueError(f"nodes must be in 0..{n - 1}, not {largest}")
    if n > MAX_NODES:
        raise ValueError(f"nodes must be in 0..{MAX_NODES - 1}, not {largest}")
    sources, targets = np.ascontiguousarray(pairs.T)
    min_links = check_int("min_links", min_links, 1)
    size = check_int("size", size, 1, MOST_SIZE)
    if max_block is not None:
        max_block = check_int("max_block", max_block, 1)
        if size > 1:
            raise ValueError("max_block is for link sets: size must be 1")
    classes = components(sources, targets, n)
    if size == 1:
        graph = SetGraph(*links, classes, rule, min_links, max_block)
    else:
        graph = SequenceGraph(*links, classes, rule, min_links, size)
    rounds = merged = 0
    changed: Int64Array | None = None  # all
    while len(merges := graph.merges(changed)):
        rounds += 1
        merged += len(merges)
        changed = graph.merge(merges)
        if progress:
            progress("merge", merged, None)
    graph.compact()
    is_class = graph.now == int64_range(n)
    left_out = np.flatnonzero(graph.left_out)
    partly_compared = np.flatnonzero(graph.partly_compared & is_class)
    return Contraction(graph.now, *graph.links(), rounds, left_out, partly_compared)


def _nodes_of(values: Any, name: str) -> Int64Array:
    """Return numbers of nodes as int64, or raise an error that names the argument."""
    array = array_of(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    return _integers(array, name)


def _integers(array: AnyArray, name: str) -> Int64Array:
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    for value in (array.min(), array.max()):
        if not 0 <= value < MAX_NODES:
            raise ValueError(f"{name} must be in 0..{MAX_NODES - 1}, not {value}")
    return np.ascontiguousarray(array, np.int64)


def _pairs_of(same: npt.ArrayLike | Sequence[Any] | None) -> Int64Array:
    if same is None:
        return np.empty((0, 2), np.int64)
    array = array_of(same, "same")
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"same must be pairs of nodes, of shape (k, 2), not {array.shape}"
        )
    return _integers(array, "same")
