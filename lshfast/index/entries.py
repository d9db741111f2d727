"""`TreeEntries`: keys and signatures of LSHForest and LSHEnsemble, and sorted trees over them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.errors import FormatError
from lshfast._common.rows import int64_range
from lshfast._common.types import Int64Array, UInt8Array, UInt32Array, UInt64Array
from lshfast.index.keys import (
    INTEGER_DTYPES,
    INTEGERS,
    Column,
    IntegerArray,
    as_column,
    check_present,
    is_either,
    joint_kind,
    kind_of,
    take,
)
from lshfast.index.search_plan import choose_steps
from lshfast.index.stores.values import OnDuplicate, places_to_insert
from lshfast.kernels.gate import Gate
from lshfast.kernels.keys import KeyTable
from lshfast.kernels.trees import (
    MOST_LEVELS,
    MOST_ROWS,
    Run,
    Snapshot,
    large_empty,
    slot_marks,
)
from lshfast.sketch.minhash import EMPTY, MinHasher, Scheme, check_signatures

# The most unsorted rows. They are compared with every query; further rows are sorted into a run.
UNSORTED_ROWS = 256

# Two runs are merged if the longer one is less than RATIO times as long as the shorter one. The
# number of runs is then at most the logarithm of the rows to the base RATIO, and so is, up to a
# small factor, the number of times that a row is written.
RATIO = 8


@dataclass(frozen=True)
class TreeRows:
    """The signature, marks, state and size of each row; rows may be unused."""

    signatures: UInt64Array
    marks: UInt64Array
    # 1 if the row has an entry.
    live: UInt8Array
    sizes: Int64Array

    def __len__(self) -> int:
        return len(self.live)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return (
            self.signatures.nbytes
            + self.marks.nbytes
            + self.live.nbytes
            + self.sizes.nbytes
        )

    def taken(self, rows: Int64Array, length: int) -> TreeRows:
        """Return `length` rows; the first ones are copies of `rows`."""

        def copy(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            selection = large_empty((length, *array.shape[1:]), array.dtype)
            np.take(array, rows, axis=0, out=selection[: len(rows)])
            return selection

        live = np.zeros(length, np.uint8)
        live[: len(rows)] = self.live[rows]
        return TreeRows(copy(self.signatures), copy(self.marks), live, copy(self.sizes))


@dataclass(frozen=True)
class Order:
    """The runs of each group, and the rows that are in no run."""

    groups: list[list[Run]]
    # The greatest sizes of all groups but the last.
    edges: Int64Array
    # The greatest size in each group so far.
    uppers: Int64Array
    unsorted: dict[int, None]

    @property
    def runs(self) -> list[Run]:
        """The runs of all groups."""
        return [run for group in self.groups for run in group]


@dataclass(frozen=True)
class SearchView:
    """The state of the entries that a search uses."""

    snapshot: Snapshot
    steps: UInt32Array
    uppers: Int64Array


class TreeEntries:
    """Keys and signatures, and sorted trees over them in groups by size.

    `gate` is a read-write lock. Readers hold `gate.reading()` from the call of `view` until they
    have the names of the rows that they found. Only one writer runs at a time. It sorts and merges
    while readers run, and holds `gate.writing()` only while it replaces the old state.

    Parameters
    ----------
    hasher : MinHasher
    trees : int
    recall : float
    partitions : int
        The most groups; all have about the same number of entries.
    singles : bool
        Whether each slot that is not the first of a tree has a tree of one slot.
    """

    gate: Gate

    def __init__(
        self,
        hasher: MinHasher,
        trees: int,
        recall: float,
        partitions: int = 1,
        singles: bool = False,
    ) -> None:
        self.gate = Gate()
        self._singles = singles
        self._slots = hasher.num_perm
        self._trees = trees
        self._recall = recall
        self._partitions = partitions
        # Without readers. With a Lock, a forked child would wait for a writer of its parent.
        self._writer = Gate()
        self._keys = KeyTable()
        # The key of each row if all keys are ints of one kind, else None.
        self._names: IntegerArray | None = np.empty(0, np.int64)
        no_signatures = np.empty((0, self._slots), np.uint64)
        self._rows = TreeRows(
            no_signatures,
            slot_marks(no_signatures),
            np.empty(0, np.uint8),
            np.empty(0, np.int64),
        )
        self._used = 0  # rows from here on have never been used
        self._free: list[int] = []
        self._order = Order([[]], np.empty(0, np.int64), np.zeros(1, np.int64), {})
        self._dead = 0  # rows in runs whose entries were removed
        self._joined = 0  # rows that were added to runs since the edges were chosen
        self._view: SearchView | None = None
        self._spare: list[Any] = []

    def __len__(self) -> int:
        return len(self._keys)

    # For readers, within gate.reading():

    def find(self, keys: Column) -> Int64Array:
        """Return the row of each key, -1 where it has none."""
        return self._keys.find(keys)

    def names(self, rows: Int64Array) -> Column:
        """Return the keys of some rows."""
        return (
            self._keys.take(rows)
            if self._names is None
            else np.asarray(self._names[rows])
        )

    def rows(self) -> Int64Array:
        """Return all rows that have entries, ascending."""
        return np.flatnonzero(self._rows.live).astype(np.int64, copy=False)

    def columns(self, rows: Int64Array) -> list[UInt64Array]:
        """Return signatures and, in an ensemble, sizes of sets; they may be views."""
        selection = (
            slice(len(rows)) if len(rows) and rows[-1] == len(rows) - 1 else rows
        )
        signatures = self._rows.signatures[selection]
        sizes = self._rows.sizes[selection]
        if not self._singles:
            return [signatures]
        return [signatures, sizes.view(np.uint64).reshape(-1, 1)]

    def figures(self) -> dict[str, int]:
        """Return figures by name; sizes are in bytes, without key objects."""
        order = self._order
        name_bytes = 0 if self._names is None else self._names.nbytes
        return {
            "partitions": len(order.groups),
            "runs": len(order.runs),
            "unsorted rows": len(order.unsorted),
            "removed rows": self._dead,
            "signature bytes": self._rows.nbytes,
            "tree bytes": sum(run.nbytes for run in order.runs),
            "key bytes": self._keys.nbytes + name_bytes,
        }

    def unsound(self) -> str:
        """Return a description of the first disagreement with the live rows, or ""."""
        live = self._rows.live
        order = self._order
        unsorted = np.array([*order.unsorted], np.int64)
        ordered_rows = np.concatenate([unsorted, *(run.members for run in order.runs)])
        filled = np.flatnonzero((live == 1) & (self._rows.signatures[:, 0] != EMPTY))
        agrees = np.array_equal(np.sort(ordered_rows[live[ordered_rows] == 1]), filled)
        return "" if agrees else "trees: they do not hold each entry once"

    def view(self) -> SearchView:
        """Return the state that a search uses."""
        view = self._view
        if view is None:
            rows = self._rows
            order = self._order
            groups = len(self._order.groups)
            levels = min(self._slots // self._trees, MOST_LEVELS)
            crowds = np.zeros(levels)
            for run in order.runs:
                crowds += np.maximum(run.crowds - 1, 0)
            rounded = (
                np.rint(2 * np.log2(1 + crowds / groups)).astype(np.int64).tolist()
            )
            runs = -(-len(order.runs) // groups)
            steps = choose_steps(
                self._slots,
                self._trees,
                self._recall,
                tuple(rounded),
                runs,
                self._singles,
            )
            snapshot = Snapshot(
                rows.signatures,
                rows.marks,
                rows.live,
                rows.sizes,
                self._trees,
                order.groups,
                [*order.unsorted],
                steps,
                self._spare,
                self._singles,
            )
            view = self._view = SearchView(snapshot, steps, order.uppers)
        return view

    # For writers:

    def insert(
        self,
        keys: Column,
        signatures: UInt64Array,
        sizes: Int64Array,
        on_duplicate: OnDuplicate,
    ) -> int:
        """Insert entries, all or none, and return the number of new or replaced entries."""
        with self._writer.writing():
            old_rows = self._keys.find(keys)
            places = places_to_insert(keys, old_rows, on_duplicate)
            if len(places) == 0:
                return 0
            if len(places) < len(keys):
                keys = take(keys, places)
                signatures = signatures[places]
                sizes = sizes[places]
                old_rows = old_rows[places]
            rows = self._reserve(len(places))
            tree_rows = self._rows
            names = self._names
            tree_rows.signatures[rows] = signatures
            tree_rows.marks[rows] = slot_marks(signatures)
            tree_rows.sizes[rows] = sizes
            if isinstance(keys, np.ndarray) and names is None and len(self) == 0:
                names = np.empty(len(tree_rows), keys.dtype)
            names = None if names is None else self._names_with(names, keys)
            if names is not None:
                names[rows] = keys
            filled = rows[signatures[:, 0] != EMPTY]
            change = self._with(filled)
            with self.gate.writing():
                self._names = names
                reused_count = int(np.count_nonzero(rows < self._used))
                del self._free[len(self._free) - reused_count :]
                self._used += len(rows) - reused_count
                if change is not None:
                    self._put(*change)
                elif len(filled):
                    self._order.unsorted.update(dict.fromkeys(filled.tolist()))
                    self._view = None
                # If an interrupt comes before this call, no search returns the new rows. If it
                # comes after the call, the replaced rows stay unused.
                self._keys.put(keys, rows, old_rows, tree_rows.live)
                self._free_rows(old_rows[old_rows >= 0])
            self._tidy()
        return len(places)

    def remove(self, keys: Column) -> None:
        """Remove the entries of some keys, all or none."""
        with self._writer.writing():
            found_rows = self._keys.find(keys)
            check_present(keys, found_rows)
            rows = np.unique(found_rows)
            with self.gate.writing():
                self._view = None
                self._keys.drop(rows, self._rows.live)
                self._free_rows(rows)
            self._tidy()

    def _names_with(self, names: IntegerArray, keys: Column) -> IntegerArray | None:
        """Return names in a kind of integers that others can have, too; None without one."""
        kind = joint_kind(
            keys,
            kind_of(names),
            lambda joint: joint == kind_of(names) or is_either(names[self.rows()]),
        )
        return names.view(INTEGER_DTYPES[kind]) if kind in INTEGERS else None

    def _reserve(self, n: int) -> Int64Array:
        """Return n free rows, and allocate memory for them."""
        reused_count = min(n, len(self._free))
        end = self._used + n - reused_count
        if end > MOST_ROWS:
            raise OverflowError(f"at most {MOST_ROWS} entries can be held, not {end}")
        if end > len(self._rows):
            length = min(max(end, len(self._rows) * 3 // 2), MOST_ROWS)
            tree_rows = self._rows.taken(int64_range(self._used), length)
            names = self._names
            if names is not None:
                unused_names = np.zeros(length - self._used, names.dtype)
                names = np.concatenate([names[: self._used], unused_names])
            # One call, so no signal handler runs in between.
            vars(self).update(_rows=tree_rows, _names=names)
        new_rows = int64_range(self._used, end)
        return np.concatenate(
            [np.array(self._free[len(self._free) - reused_count :], np.int64), new_rows]
        )

    def _put(self, order: Order, freed: list[int]) -> None:
        self._order = order
        self._view = None
        self._free += freed
        self._dead -= len(freed)

    def _free_rows(self, rows: Int64Array) -> None:
        """Free rows of removed entries; rows in a run can be used again after its merge."""
        empty = self._rows.signatures[rows, 0] == EMPTY
        unsorted = self._order.unsorted
        free = [
            row
            for row, out in zip(rows.tolist(), empty.tolist(), strict=True)
            if out or row in unsorted
        ]
        for row in free:
            self._order.unsorted.pop(row, None)
        self._free += free
        self._dead += len(rows) - len(free)
        self._view = None

    def _with(self, rows: Int64Array) -> tuple[Order, list[int]] | None:
        """Return a new order with some more rows, and the dead rows that it leaves out.

        Return None if few rows are unsorted, so that they need not be sorted. The new rows are not
        empty.
        """
        order = self._order
        if len(order.unsorted) + len(rows) <= UNSORTED_ROWS:
            return None
        live = self._rows.live.copy()
        live[rows] = 1
        rows = np.concatenate([np.array([*order.unsorted], np.int64), rows])
        sizes = self._rows.sizes[rows]
        group_of = np.searchsorted(order.edges, sizes)
        if self._partitions > 1:
            group_sizes = np.array(
                [sum(map(len, group)) for group in order.groups], np.int64
            )
            new_sizes = np.bincount(group_of, minlength=len(group_sizes))
            balanced = self._balanced(rows, live, group_sizes + new_sizes)
            if balanced is not None:
                return balanced
        groups = [*order.groups]
        uppers = order.uppers.copy()
        freed = list[int]()
        for group in np.unique(group_of).tolist():
            in_group = group_of == group
            uppers[group] = max(uppers[group], sizes[in_group].max())
            runs = [*groups[group], self._run(self._rows, rows[in_group])]
            runs.sort(key=len, reverse=True)
            for i in range(len(runs) - 1, 0, -1):
                if len(runs[i - 1]) < RATIO * len(runs[i]):
                    runs[i - 1 : i + 1] = [_merged(runs[i - 1], runs[i], live, freed)]
            groups[group] = runs
        return Order(groups, order.edges, uppers, {}), freed

    def _balanced(
        self, rows: Int64Array, live: UInt8Array, counts: Int64Array
    ) -> tuple[Order, list[int]] | None:
        """Return an order with new groups of about one size, and the dead rows left out.

        `counts` is the number of rows of each old group with the new rows. Return None if these
        numbers differ little, or the edges of the groups would not change.
        """
        total = counts.sum()
        group_count = _groups_of(int(total), self._partitions)
        self._joined += len(rows)
        if (
            counts.max() * group_count <= 2 * total
            or self._joined * group_count < total
        ):
            return None
        self._joined = 0
        rows = np.concatenate([*(run.members for run in self._order.runs), rows])
        is_live = live[rows] == 1
        edges = _edges(self._rows.sizes[rows[is_live]], self._partitions)
        if np.array_equal(edges, self._order.edges):
            return None
        return self._sorted(self._rows, rows[is_live], edges), rows[~is_live].tolist()

    def _sorted(
        self, tree_rows: TreeRows, rows: Int64Array, edges: Int64Array
    ) -> Order:
        """Return an order that contains only some rows, with one run per group."""
        sizes = tree_rows.sizes[rows]
        group_of = np.searchsorted(edges, sizes)
        members = [rows[group_of == group] for group in range(len(edges) + 1)]
        uppers = np.array(
            [
                tree_rows.sizes[rows_of_group].max(initial=0)
                for rows_of_group in members
            ],
            np.int64,
        )
        groups = [
            [self._run(tree_rows, rows_of_group)] if len(rows_of_group) else []
            for rows_of_group in members
        ]
        return Order(groups, edges, uppers, {})

    def _run(self, tree_rows: TreeRows, rows: Int64Array) -> Run:
        return Run.build(tree_rows.signatures, rows, self._trees, self._singles)

    def _tidy(self) -> None:
        """Release the memory of removed entries if there are many of them."""
        n = max(len(self), UNSORTED_ROWS)
        sparse = len(self._rows) > 4 * n
        many_dead = self._dead > max(n // 4, UNSORTED_ROWS)
        if sparse or many_dead:
            with suppress(MemoryError):  # then nothing changes
                if sparse:
                    self._shrink()
                else:
                    self._merge_all()

    def _merge_all(self) -> None:
        """Merge the runs of each group into one run without dead rows."""
        order = self._order
        freed = list[int]()
        groups = []
        nothing = self._run(self._rows, np.empty(0, np.int64))
        for runs in order.groups:
            merged = nothing
            for run in reversed(runs):
                merged = _merged(run, merged, self._rows.live, freed)
            groups.append([merged] if len(merged) else [])
        with self.gate.writing():
            self._put(Order(groups, order.edges, order.uppers, order.unsorted), freed)

    def _shrink(self) -> None:
        """Number the rows in use from 0, in arrays of the least possible length."""
        rows = np.flatnonzero(self._rows.live)
        keys = KeyTable()
        tree_rows = self._rows.taken(rows, len(rows))
        numbers = int64_range(len(rows))
        keys.add(self.names(rows), numbers)
        filled = numbers[tree_rows.signatures[:, 0] != EMPTY]
        edges = _edges(tree_rows.sizes[filled], self._partitions)
        is_unsorted = len(filled) <= UNSORTED_ROWS
        sorted_rows = filled[:0] if is_unsorted else filled
        unsorted = dict.fromkeys(filled.tolist() if is_unsorted else [])
        order = self._sorted(tree_rows, sorted_rows, edges)
        order = Order(order.groups, edges, order.uppers, unsorted)
        with self.gate.writing():
            names = None if self._names is None else self._names[rows]
            # One call, so no signal handler runs in between.
            vars(self).update(
                _names=names,
                _rows=tree_rows,
                _keys=keys,
                _used=len(rows),
                _free=[],
                _dead=0,
                _order=order,
                _view=None,
            )


def _merged(a: Run, b: Run, live: UInt8Array, freed: list[int]) -> Run:
    """Merge two runs, and append the rows that are left out to `freed`."""
    rows = np.concatenate([a.members, b.members])
    freed += rows[live[rows] == 0].tolist()
    return Run.merge(a, b, live)


def _groups_of(n: int, partitions: int) -> int:
    """Return the number of groups for n rows, each with at least UNSORTED_ROWS rows."""
    return min(partitions, max(n // UNSORTED_ROWS, 1))


def _edges(sizes: Int64Array, partitions: int) -> Int64Array:
    """Return the greatest sizes of all groups but the last; all have about as many rows."""
    ordered = np.sort(sizes)
    groups = _groups_of(len(sizes), partitions)
    ends = int64_range(1, groups) * len(ordered) // groups
    edges = np.unique(ordered[ends - 1])
    return np.asarray(edges[edges < ordered[-1:]])


def as_batch(
    keys: Any, signatures: npt.ArrayLike, hasher: MinHasher
) -> tuple[Column, UInt64Array]:
    """Return one key and its signature, or several of them, as a batch."""
    array = check_signatures(signatures, hasher)
    column = as_column([keys] if array.ndim == 1 else keys)
    array = array.reshape(-1, hasher.num_perm)
    if len(column) != len(array):
        raise ValueError(
            f"there must be a key for each signature, not {len(column)} for {len(array)}"
        )
    return column, array


# The fields of a file: num_perm, trees, seed, recall and scheme.
TREE_FIELDS = "IIQd16s"


def tree_fields(hasher: MinHasher, trees: int, recall: float) -> tuple[Any, ...]:
    """Return the fields of a file."""
    return hasher.num_perm, trees, hasher.seed, recall, hasher.scheme.encode("ascii")


def tree_widths(*fields: Any) -> list[int]:
    """Check the fields of a file, and return the words of a signature."""
    tree_arguments(fields)
    return [fields[0]]


def tree_arguments(fields: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a file as arguments, or raise FormatError."""
    num_perm, trees, seed, recall, scheme = fields[:5]
    scheme_name = scheme.rstrip(b"\0").decode("ascii", "replace")
    sizes_fit = 1 <= trees <= num_perm <= 65536
    if scheme_name not in get_args(Scheme) or not sizes_fit or not 0 < recall < 1:
        raise FormatError(
            f"header: {num_perm} slots of scheme {scheme_name!r}, {trees} trees, recall {recall}"
        )
    return {
        "num_perm": num_perm,
        "trees": trees,
        "seed": seed,
        "recall": recall,
        "scheme": scheme_name,
    }
