"""`TreeEntries`: the entries of LSHForest and LSHEnsemble, which are keys, signatures and sorted
trees over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_number
from lshfast._common.errors import FormatError
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.index.keys import Column, as_column, listed, take
from lshfast.index.search_plan import UInt32Array, choose_steps
from lshfast.index.stores.values import OnDuplicate, places_to_insert
from lshfast.kernels.gate import Gate
from lshfast.kernels.keys import KeyTable
from lshfast.kernels.trees import MOST_LEVELS, MOST_ROWS, Run, Snapshot, large_empty, slot_marks
from lshfast.sketch.minhash import EMPTY, MinHasher, Scheme, check_signatures

UInt8Array: TypeAlias = npt.NDArray[np.uint8]

# The most unsorted rows. They are compared with every query; further rows are sorted into a run.
UNSORTED_ROWS = 256

# Two runs are merged if the longer one is less than RATIO times as long as the shorter one. The
# number of runs is then at most the logarithm of the rows to the base RATIO, and so is, up to a
# small factor, the number of times that a row is written.
RATIO = 8


def check_recall(recall: float) -> float:
    """Return the recall as a float, or raise an error that names the range."""
    recall = check_number("recall", recall)
    if not 0 < recall < 1:
        raise ValueError(f"recall must be in (0, 1), not {recall}")
    return recall


@dataclass(frozen=True)
class TreeRows:
    """The signature, marks, state and size of each row; rows may be unused."""

    signatures: UInt64Array
    marks: UInt64Array
    live: UInt8Array  # 1 if the row has an entry
    sizes: Int64Array

    def __len__(self) -> int:
        return len(self.live)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.signatures.nbytes + self.marks.nbytes + self.live.nbytes + self.sizes.nbytes

    def taken(self, rows: Int64Array, length: int) -> TreeRows:
        """Return `length` rows; the first ones are copies of `rows`."""

        def copy(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            made = large_empty((length, *array.shape[1:]), array.dtype)
            np.take(array, rows, axis=0, out=made[: len(rows)])
            return made

        live = np.zeros(length, np.uint8)
        live[: len(rows)] = self.live[rows]
        return TreeRows(copy(self.signatures), copy(self.marks), live, copy(self.sizes))


@dataclass(frozen=True)
class Order:
    """The runs of each group, and the rows that are in no run."""

    groups: list[list[Run]]
    edges: Int64Array  # the greatest sizes of all groups but the last
    uppers: Int64Array  # the greatest size in each group so far
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
        # The key of each row if all keys are ints, else None.
        self._names: Int64Array | None = np.empty(0, np.int64)
        none = np.empty((0, self._slots), np.uint64)
        self._rows = TreeRows(none, slot_marks(none), np.empty(0, np.uint8), np.empty(0, np.int64))
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
        return self._keys.take(rows) if self._names is None else np.asarray(self._names[rows])

    def rows(self) -> Int64Array:
        """Return all rows that have entries, ascending."""
        return np.flatnonzero(self._rows.live).astype(np.int64, copy=False)

    def columns(self, rows: Int64Array) -> list[UInt64Array]:
        """Return the signatures of some rows and, in an ensemble, the sizes of their sets; they may
        be views.
        """
        chosen = slice(len(rows)) if len(rows) and rows[-1] == len(rows) - 1 else rows
        signatures = self._rows.signatures[chosen]
        sizes = self._rows.sizes[chosen]
        return [signatures, sizes.view(np.uint64).reshape(-1, 1)] if self._singles else [signatures]

    def figures(self) -> dict[str, int]:
        """Return figures by name; sizes are in bytes. Those of keys that are not ints are without
        the key objects.
        """
        order = self._order
        return {
            "partitions": len(order.groups),
            "runs": len(order.runs),
            "unsorted rows": len(order.unsorted),
            "removed rows": self._dead,
            "signature bytes": self._rows.nbytes,
            "tree bytes": sum(run.nbytes for run in order.runs),
            "key bytes": self._keys.nbytes + (0 if self._names is None else self._names.nbytes),
        }

    def unsound(self) -> str:
        """Return what does not agree with the rows that have entries, "" if all does."""
        live = self._rows.live
        order = self._order
        found = np.concatenate(
            [np.array([*order.unsorted], np.int64), *(run.members for run in order.runs)]
        )
        filled = np.flatnonzero((live == 1) & (self._rows.signatures[:, 0] != EMPTY))
        same = np.array_equal(np.sort(found[live[found] == 1]), filled)
        return "" if same else "trees: they do not hold each entry once"

    def view(self) -> SearchView:
        """Return the state that a search uses."""
        view = self._view
        if view is None:
            held = self._rows
            order = self._order
            groups = len(self._order.groups)
            levels = min(self._slots // self._trees, MOST_LEVELS)
            crowds = (
                sum((np.maximum(run.crowds - 1, 0) for run in order.runs), np.zeros(levels))
                / groups
            )
            rounded = np.rint(2 * np.log2(1 + crowds)).astype(np.int64).tolist()
            runs = -(-len(order.runs) // groups)
            steps = choose_steps(
                self._slots, self._trees, self._recall, tuple(rounded), runs, self._singles
            )
            arrays = held.signatures, held.marks, held.live, held.sizes
            unsorted = [*order.unsorted]
            singles = self._singles
            snapshot = Snapshot(
                *arrays, self._trees, order.groups, unsorted, steps, self._spare, singles
            )
            view = self._view = SearchView(snapshot, steps, order.uppers)
        return view

    # For writers:

    def insert(
        self, keys: Column, signatures: UInt64Array, sizes: Int64Array, on_duplicate: OnDuplicate
    ) -> int:
        """Insert entries, all or none, and return the number of new or replaced entries."""
        with self._writer.writing():
            known = self._keys.find(keys)
            places = places_to_insert(keys, known, on_duplicate)
            if len(places) == 0:
                return 0
            if len(places) < len(keys):
                keys = take(keys, places)
                signatures = signatures[places]
                sizes = sizes[places]
                known = known[places]
            rows = self._reserve(len(places))
            held = self._rows
            names = self._names
            ints = isinstance(keys, np.ndarray)
            held.signatures[rows], held.marks[rows], held.sizes[rows] = (
                signatures,
                slot_marks(signatures),
                sizes,
            )
            if ints and names is None and len(self) == 0:
                names = np.empty(len(held), np.int64)
            if ints and names is not None:
                names[rows] = keys
            filled = rows[signatures[:, 0] != EMPTY]
            change = self._with(filled)
            with self.gate.writing():
                self._names = names if ints else None
                again = int(np.count_nonzero(rows < self._used))
                del self._free[len(self._free) - again :]
                self._used += len(rows) - again
                if change is not None:
                    self._put(*change)
                elif len(filled):
                    self._order.unsorted.update(dict.fromkeys(filled.tolist()))
                    self._view = None
                # If an interrupt comes before this call, no search returns the new rows. If it
                # comes after the call, the replaced rows stay unused.
                self._keys.put(keys, rows, known, held.live)
                self._free_rows(known[known >= 0])
            self._tidy()
        return len(places)

    def remove(self, keys: Column) -> None:
        """Remove the entries of some keys, all or none."""
        with self._writer.writing():
            known = self._keys.find(keys)
            if (known < 0).any():
                raise KeyError(listed(take(keys, np.flatnonzero(known < 0)[:1]))[0])
            rows = np.unique(known)
            with self.gate.writing():
                self._view = None
                self._keys.drop(rows, self._rows.live)
                self._free_rows(rows)
            self._tidy()

    def _reserve(self, n: int) -> Int64Array:
        """Return n free rows, and allocate memory for them."""
        again = min(n, len(self._free))
        end = self._used + n - again
        if end > MOST_ROWS:
            raise OverflowError(f"at most {MOST_ROWS} entries can be held, not {end}")
        if end > len(self._rows):
            length = min(max(end, len(self._rows) * 3 // 2), MOST_ROWS)
            held = self._rows.taken(np.arange(self._used, dtype=np.int64), length)
            names = self._names
            if names is not None:
                names = np.concatenate(
                    [names[: self._used], np.zeros(length - self._used, np.int64)]
                )
            # One call, so no signal handler runs in between.
            vars(self).update(_rows=held, _names=names)
        fresh = np.arange(self._used, end, dtype=np.int64)
        return np.concatenate([np.array(self._free[len(self._free) - again :], np.int64), fresh])

    def _put(self, order: Order, freed: list[int]) -> None:
        self._order = order
        self._view = None
        self._free += freed
        self._dead -= len(freed)

    def _free_rows(self, rows: Int64Array) -> None:
        """Free rows whose entries were removed; rows in a run can be used again after the run is
        merged.
        """
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
        """Return a new order that includes some rows, none of them empty, and the dead rows that it
        leaves out.

        Return None if there are so few unsorted rows that they need not be sorted.
        """
        now = self._order
        if len(now.unsorted) + len(rows) <= UNSORTED_ROWS:
            return None
        live = self._rows.live.copy()
        live[rows] = 1
        rows = np.concatenate([np.array([*now.unsorted], np.int64), rows])
        sizes = self._rows.sizes[rows]
        group_of = np.searchsorted(now.edges, sizes)
        if self._partitions > 1:
            held = np.array([sum(map(len, group)) for group in now.groups], np.int64)
            balanced = self._balanced(rows, live, held + np.bincount(group_of, minlength=len(held)))
            if balanced is not None:
                return balanced
        groups = [*now.groups]
        uppers = now.uppers.copy()
        freed = list[int]()
        for group in np.unique(group_of).tolist():
            own = group_of == group
            uppers[group] = max(uppers[group], sizes[own].max())
            runs = [*groups[group], self._run(self._rows, rows[own])]
            runs.sort(key=len, reverse=True)
            for i in range(len(runs) - 1, 0, -1):
                if len(runs[i - 1]) < RATIO * len(runs[i]):
                    runs[i - 1 : i + 1] = [_merged(runs[i - 1], runs[i], live, freed)]
            groups[group] = runs
        return Order(groups, now.edges, uppers, {}), freed

    def _balanced(
        self, rows: Int64Array, live: UInt8Array, counts: Int64Array
    ) -> tuple[Order, list[int]] | None:
        """Return an order with new groups of about the same size, which include some rows, and the
        dead rows left out.

        `counts` is the number of rows of each old group with the new rows. Return None if these
        numbers differ little, or the edges of the groups would not change.
        """
        total = counts.sum()
        wanted = _groups_of(int(counts.sum()), self._partitions)
        self._joined += len(rows)
        if counts.max() * wanted <= 2 * total or self._joined * wanted < total:
            return None
        self._joined = 0
        rows = np.concatenate([*(run.members for run in self._order.runs), rows])
        stay = live[rows] == 1
        edges = _edges(self._rows.sizes[rows[stay]], self._partitions)
        if np.array_equal(edges, self._order.edges):
            return None
        return self._sorted(self._rows, rows[stay], edges), rows[~stay].tolist()

    def _sorted(self, held: TreeRows, rows: Int64Array, edges: Int64Array) -> Order:
        """Return an order that contains only some rows, with one run per group."""
        sizes = held.sizes[rows]
        group_of = np.searchsorted(edges, sizes)
        members = [rows[group_of == group] for group in range(len(edges) + 1)]
        uppers = np.array([held.sizes[own].max(initial=0) for own in members], np.int64)
        groups = [[self._run(held, own)] if len(own) else [] for own in members]
        return Order(groups, edges, uppers, {})

    def _run(self, held: TreeRows, rows: Int64Array) -> Run:
        return Run.build(held.signatures, rows, self._trees, self._singles)

    def _tidy(self) -> None:
        """Release the memory of removed entries if there are many of them."""
        n = max(len(self), UNSORTED_ROWS)
        sparse = len(self._rows) > 4 * n
        dead = self._dead > max(n // 4, UNSORTED_ROWS)
        if sparse or dead:
            with suppress(MemoryError):  # then nothing changes
                if sparse:
                    self._shrink()
                else:
                    self._merge_all()

    def _merge_all(self) -> None:
        """Merge the runs of each group into one run without dead rows."""
        now = self._order
        freed = list[int]()
        groups = []
        nothing = self._run(self._rows, np.empty(0, np.int64))
        for runs in now.groups:
            merged = nothing
            for run in reversed(runs):
                merged = _merged(run, merged, self._rows.live, freed)
            groups.append([merged] if len(merged) else [])
        with self.gate.writing():
            self._put(Order(groups, now.edges, now.uppers, now.unsorted), freed)

    def _shrink(self) -> None:
        """Number the rows in use from 0, in arrays of the least possible length."""
        rows = np.flatnonzero(self._rows.live)
        keys = KeyTable()
        held = self._rows.taken(rows, len(rows))
        numbers = np.arange(len(rows), dtype=np.int64)
        keys.add(self.names(rows), numbers)
        filled = numbers[held.signatures[:, 0] != EMPTY]
        edges = _edges(held.sizes[filled], self._partitions)
        few = len(filled) <= UNSORTED_ROWS
        order = self._sorted(held, filled[: 0 if few else None], edges)
        order = Order(
            order.groups, edges, order.uppers, dict.fromkeys(filled.tolist() if few else [])
        )
        with self.gate.writing():
            names = None if self._names is None else self._names[rows]
            # one call, so no signal handler runs in between
            vars(self).update(
                _names=names,
                _rows=held,
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
    """Return the number of groups for n rows: at most `partitions`, and each with at least
    UNSORTED_ROWS rows.
    """
    return min(partitions, max(n // UNSORTED_ROWS, 1))


def _edges(sizes: Int64Array, partitions: int) -> Int64Array:
    """Return the greatest sizes of all groups but the last, so that all groups have about the same
    number of rows.
    """
    ordered = np.sort(sizes)
    groups = _groups_of(len(sizes), partitions)
    edges = np.unique(ordered[np.arange(1, groups, dtype=np.int64) * len(ordered) // groups - 1])
    return np.asarray(edges[edges < ordered[-1:]])


def as_batch(keys: Any, signatures: npt.ArrayLike, hasher: MinHasher) -> tuple[Column, UInt64Array]:
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
    named = scheme.rstrip(b"\0").decode("ascii", "replace")
    if named not in get_args(Scheme) or not 1 <= trees <= num_perm <= 65536 or not 0 < recall < 1:
        raise FormatError(
            f"header: {num_perm} slots of scheme {named!r}, {trees} trees, recall {recall}"
        )
    return {"num_perm": num_perm, "trees": trees, "seed": seed, "recall": recall, "scheme": named}
