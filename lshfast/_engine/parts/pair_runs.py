"""All similar pairs of a run in parts: a sorted file for each part, and one for copies.

A record is the two rows of a pair, 32 bits each, and the bits of the similarity.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast._engine.pairs.listed import PairArray
from lshfast.join.copies import copy_pairs
from lshfast.join.external.run_file import RECORD_BYTES, write_run
from lshfast.join.external.sorted_runs import SortedRuns, merge_runs, most_files
from lshfast.join.pair_arrays import as_pairs

MOST_ROWS = 1 << 32

# The memory for the pairs of a part that are sorted, and as much again for sorting them.
BUFFER_BYTES = 8 << 20


class PairRuns:
    """Write the similar pairs of one part to one sorted file. Use it as a context manager.

    Parameters
    ----------
    folder, name : str
        The file is NAME.run in the folder.

    Attributes
    ----------
    added : int
        The number of pairs.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self.name: str = f"{name}.run"
        self.added: int = 0
        records = BUFFER_BYTES // RECORD_BYTES
        self._runs = SortedRuns(
            folder,
            name,
            np.empty((records, 2), np.uint64),
            np.empty((records, 2), np.uint64),
        )

    def __enter__(self) -> PairRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self._runs.close()

    def add(self, i: Int64Array, j: Int64Array, similarity: Float64Array) -> None:
        """Add pairs in any order; the smaller row of a pair may be the second."""
        self._runs.add(_records_of(np.minimum(i, j), np.maximum(i, j), similarity))
        self.added += len(i)

    def add_all(self, batches: Iterable[PairArray]) -> None:
        """Add batches of pairs."""
        for pairs in batches:
            self.add(pairs["i"], pairs["j"], pairs["similarity"])

    def add_copies(self, first: Int64Array) -> None:
        """Add the pair of each copy with its first copy, given the first copies of all rows."""
        pairs = copy_pairs(first)
        step = BUFFER_BYTES // RECORD_BYTES
        self.add_all(pairs[at : at + step] for at in range(0, len(pairs), step))

    def finish(self) -> None:
        """Write the file."""
        write_run(
            os.path.join(self._folder, self.name), self._runs.merged(2 * BUFFER_BYTES)
        )


def write_copies(folder: str, name: str, first: Int64Array) -> str:
    """Write the pairs of copies with their first copies to a sorted file; return its name."""
    with PairRuns(folder, name) as runs:
        runs.add_copies(first)
        runs.finish()
    return runs.name


def merged_pairs(folder: str, names: Sequence[str], memory: int) -> Iterator[PairArray]:
    """Yield the pairs of all files, sorted by (i, j). The files stay."""
    paths = deque(os.path.join(folder, name) for name in names)
    temporary_paths = set[str]()
    while len(paths) > most_files(memory):
        merged = os.path.join(folder, f"pairs-merged-{len(temporary_paths)}.run")
        group = [paths.popleft() for _ in range(most_files(memory))]
        write_run(merged, merge_runs(group, memory))
        paths.append(merged)
        for path in temporary_paths.intersection(group):
            os.unlink(path)
        temporary_paths.add(merged)
    for records in merge_runs(paths, memory):
        yield _pairs_of(records)


def renumber(folder: str, name: str, numbers: Int64Array) -> None:
    """Replace the rows of a file by other numbers, which ascend with the rows."""
    path = os.path.join(folder, name)
    renumbered = f"{path}.renumbered"
    batches = map(_pairs_of, merge_runs([path], BUFFER_BYTES))
    write_run(
        renumbered,
        (
            _records_of(numbers[pairs["i"]], numbers[pairs["j"]], pairs["similarity"])
            for pairs in batches
        ),
    )
    os.replace(renumbered, path)


def _records_of(i: Int64Array, j: Int64Array, similarity: Float64Array) -> UInt64Array:
    """Return pairs (i < j) as records."""
    records = np.empty((len(i), 2), np.uint64)
    records[:, 0] = i.astype(np.uint64) << np.uint64(32) | j.astype(np.uint64)
    records[:, 1] = np.ascontiguousarray(similarity, np.float64).view(np.uint64)
    return records


def _pairs_of(records: UInt64Array) -> PairArray:
    """Return records as pairs."""
    i = (records[:, 0] >> np.uint64(32)).astype(np.int64)
    j = (records[:, 0] & np.uint64(MOST_ROWS - 1)).astype(np.int64)
    return as_pairs(i, j, records[:, 1].copy().view(np.float64))
