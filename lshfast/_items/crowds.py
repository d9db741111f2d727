"""Cells in which rows are compared that share buckets with too many other rows.

A cell holds rows that are near to one pivot, a row drawn at random, as in a forest of random trees
(Bernhardsson's Annoy) with several children for each node. Near rows are mostly in the same cell of
one of several trees, and cells are as small as wanted, whatever the rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from lshfast._common.rows import evenly_spaced, int64_range, parts_of_rows
from lshfast._common.threads import ordered_map
from lshfast._common.types import (
    BoolArray,
    Float64Array,
    Int32Array,
    Int64Array,
    UInt64Array,
)
from lshfast._items.held_points import HeldItems

# Trees of cells. Of the pairs with a cosine of .952 among 20,000 vectors just below the threshold
# of .95, with 2,000 candidates each, 4, 8 and 16 trees find .47, .57 and .75; of those with a
# cosine of .99 they find .87, .96 and .99.
TREES = 16

# Children of a node, each the rows that are nearest to one pivot.
PIVOTS = 8

# Bands in which the rows of buckets are counted, if there are more.
COUNTED_BANDS = 32

# Values that are computed at once.
PIECE_VALUES = 1 << 20


@dataclass(frozen=True)
class Crowd:
    """The rows of a run that share buckets with too many others, and their cells.

    Attributes
    ----------
    members : ndarray of bool, shape (n,)
        Which of all rows these are.
    cells : ndarray of int32, shape (TREES, n)
        The cell of each of them in each tree.
    most : int
        Others, counted in each bucket, with which a row is compared in its buckets.
    """

    members: BoolArray
    cells: Int32Array
    most: int

    @property
    def trees(self) -> int:
        """The number of trees."""
        return len(self.cells)

    def keys(self, tree: int, rows: Int64Array) -> UInt64Array:
        """Return the cells of rows of the crowd in a tree, as keys of buckets."""
        return np.asarray(self.cells[tree][rows].astype(np.uint64))

    def count_in_cells(
        self, other_rows: Int64Array, rows: Int64Array, threads: int
    ) -> Float64Array:
        """Count for each row the other rows in its cells; the lists may overlap."""
        return count_others(self.keys, self.trees, other_rows, rows, threads)


KeysOf: TypeAlias = Callable[[int, Int64Array], UInt64Array]


def find_crowd(
    points: HeldItems,
    rows: Int64Array,
    keys: KeysOf,
    bands: int,
    most: int,
    seed: int,
    threads: int,
) -> Crowd | None:
    """Return the rows with over `most` other rows in their buckets, counted in each, or None."""
    crowd = rows[count_others(keys, bands, rows, rows, threads) > most]
    if not len(crowd):
        return None
    members = np.zeros(len(points), np.bool_)
    members[crowd] = True
    cells = np.full((TREES, len(points)), -1, np.int32)
    plant = partial(_cells, points, crowd, max(2, most // TREES))
    for tree, cells_of_tree in enumerate(
        ordered_map(plant, np.random.SeedSequence(seed).spawn(TREES), threads)
    ):
        cells[tree, crowd] = cells_of_tree
    return Crowd(members, cells, most)


def count_others(
    keys: KeysOf,
    bands: int,
    left_rows: Int64Array,
    right_rows: Int64Array,
    threads: int,
) -> Float64Array:
    """Count, over the buckets of each row of `right`, the other rows that are in `left`.

    Of many bands, COUNTED_BANDS are counted for all.
    """
    counted_bands = evenly_spaced(bands, COUNTED_BANDS).tolist()
    itself = np.isin(right_rows, left_rows)

    def count(band: int) -> Int64Array:
        in_left = np.sort(keys(band, left_rows))
        of_right = keys(band, right_rows)
        low, high = (
            np.searchsorted(in_left, of_right, side=side) for side in ("left", "right")
        )
        return np.asarray(high - low - itself)

    other_counts = np.zeros(len(right_rows))
    for counts in ordered_map(count, counted_bands, threads):
        other_counts += counts
    return other_counts * (bands / len(counted_bands))


def _cells(
    points: HeldItems, rows: Int64Array, size: int, seed: np.random.SeedSequence
) -> Int32Array:
    """Return the cell of each row in a tree of which no cell has more than `size` rows."""
    rng = np.random.default_rng(seed)
    cells = np.zeros(len(rows), np.int64)
    # A node from which most rows of its parent were not divided, as where one pivot is near to all
    # others.
    undivided = np.zeros(1, np.bool_)
    while True:
        counts = np.bincount(cells)
        large = np.flatnonzero(counts > size)
        if not len(large):
            return cells.astype(np.int32)
        nodes = np.full(len(counts), -1, np.int64)
        nodes[large] = int64_range(len(large))
        members = np.flatnonzero(nodes[cells] >= 0)
        members = members[np.argsort(nodes[cells[members]], kind="stable")]
        children = _children(
            points, rows, members, counts[large], undivided[large], rng
        )
        node_of = np.repeat(int64_range(len(large)), counts[large])
        # Cells that are small enough keep their numbers; children have the numbers after them.
        cells[members] = len(counts) + PIVOTS * node_of + children
        cell_numbers, cells, sizes = np.unique(
            cells, return_inverse=True, return_counts=True
        )
        cells = cells.reshape(-1)
        parents = (cell_numbers - len(counts)) // PIVOTS
        is_child = cell_numbers >= len(counts)
        undivided = np.zeros(len(cell_numbers), np.bool_)
        undivided[is_child] = 2 * sizes[is_child] > counts[large[parents[is_child]]]


def _children(
    points: HeldItems,
    rows: Int64Array,
    members: Int64Array,
    counts: Int64Array,
    undivided: BoolArray,
    rng: np.random.Generator,
) -> Int64Array:
    """Return the child of each member of some nodes, which are one after the other."""
    starts = np.cumsum(counts, dtype=np.int64) - counts
    drawn = starts[:, np.newaxis] + rng.integers(
        0, counts[:, np.newaxis], (len(counts), PIVOTS)
    )
    pivots = rows[members[drawn]]
    values = np.stack(
        [
            _values(points, rows[members], np.repeat(pivots[:, at], counts))
            for at in range(PIVOTS)
        ]
    )
    children = np.argmin(values, axis=0).astype(np.int64)
    halved = np.repeat(undivided, counts)
    if halved.any():
        node_of = np.repeat(int64_range(len(counts)), counts)
        order = np.lexsort((values[0] - values[1], node_of))
        rank = np.empty(len(members), np.int64)
        rank[order] = int64_range(len(members)) - np.repeat(starts, counts)
        second = 2 * rank >= np.repeat(counts, counts)
        children[halved] = second[halved]
    return np.asarray(children)


def _values(
    points: HeldItems, left_rows: Int64Array, right_rows: Int64Array
) -> Float64Array:
    """Return the values of many pairs of rows."""
    pairs = right_rows.astype(np.uint64) << np.uint64(32) | left_rows.astype(np.uint64)
    parts = [
        points.values(pairs[part]) for part in parts_of_rows(len(pairs), PIECE_VALUES)
    ]
    return np.concatenate([np.empty(0), *parts])
