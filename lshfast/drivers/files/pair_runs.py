"""All similar pairs of a run in parts, as sorted files: a file for each part, and one for the pairs of copies.

A record is the two rows of a pair, 32 bits each, and the bits of the similarity.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from lshfast.common.types import Float64Array, Int64Array
from lshfast.engine.listed_pairs import PairArray
from lshfast.join.copies import copy_pairs
from lshfast.join.external.run_file import RECORD_BYTES, write_run
from lshfast.join.external.sorted_runs import SortedRuns, merge_runs, most_files
from lshfast.join.jaccard import as_pairs

MOST_ROWS = 1 << 32

# The memory for the pairs of a part that are sorted, and as much again for sorting them.
BUFFER_BYTES = 8 << 20


class PairRuns:
    """Write the similar pairs of one part to one sorted file. Use it as a context manager.

    Parameters
    ----------
    folder, name : str
        The file is NAME.run in the folder.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self.name: str = f"{name}.run"
        records = BUFFER_BYTES // RECORD_BYTES
        self._runs = SortedRuns(folder, name, np.empty((records, 2), np.uint64), np.empty((records, 2), np.uint64))

    def __enter__(self) -> PairRuns:
        return self

    def __exit__(self, *_: object) -> None:
        self._runs.close()

    def add(self, i: Int64Array, j: Int64Array, similarity: Float64Array) -> None:
        """Add pairs in any order; the smaller row of a pair may be the second."""
        records = np.empty((len(i), 2), np.uint64)
        records[:, 0] = np.minimum(i, j).astype(np.uint64) << np.uint64(32) | np.maximum(i, j).astype(np.uint64)
        records[:, 1] = np.ascontiguousarray(similarity, np.float64).view(np.uint64)
        self._runs.add(records)

    def finish(self) -> None:
        """Write the file."""
        write_run(os.path.join(self._folder, self.name), self._runs.merged(2 * BUFFER_BYTES))


def write_copies(folder: str, name: str, first: Int64Array) -> str:
    """Write the pair of each copy with its first copy to a sorted file, and return the file's name."""
    pairs = copy_pairs(first)
    with PairRuns(folder, name) as runs:
        for at in range(0, len(pairs), BUFFER_BYTES // RECORD_BYTES):
            part = pairs[at : at + BUFFER_BYTES // RECORD_BYTES]
            runs.add(part["i"], part["j"], part["similarity"])
        runs.finish()
    return runs.name


def merged_pairs(folder: str, names: Sequence[str], memory: int) -> Iterator[PairArray]:
    """Yield the pairs of all files, sorted by (i, j). The files stay."""
    paths, made = deque(os.path.join(folder, name) for name in names), set[str]()
    while len(paths) > most_files(memory):
        merged = os.path.join(folder, f"pairs-merged-{len(made)}.run")
        some = [paths.popleft() for _ in range(most_files(memory))]
        write_run(merged, merge_runs(some, memory))
        paths.append(merged)
        for path in made.intersection(some):
            os.unlink(path)
        made.add(merged)
    for records in merge_runs(paths, memory):
        i = (records[:, 0] >> np.uint64(32)).astype(np.int64)
        j = (records[:, 0] & np.uint64(MOST_ROWS - 1)).astype(np.int64)
        yield as_pairs(i, j, records[:, 1].copy().view(np.float64))
