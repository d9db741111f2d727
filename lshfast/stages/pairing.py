"""The similar pairs of a verify task: sorted files of its parts, merged into one table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from lshfast._common.rows import concatenated, int64_range
from lshfast._common.types import Int64Array
from lshfast._engine.account.display import SIMILARITY_NAMES
from lshfast._engine.pairs.tables import write_pairs
from lshfast._engine.parts.pair_runs import MOST_ROWS, PairRuns, merged_pairs, renumber
from lshfast._io.string_file import StringFile
from lshfast.stages.stage_plan import StagePlan


class TaskPairs:
    """The similar pairs of the parts of a task, and the keys of their rows, in files of a folder.

    Parameters
    ----------
    folder : str
        An empty folder.
    kind : str
        Arrow's name for the type of the keys, "int64", "uint64" or "string".
    """

    def __init__(self, folder: str, kind: str) -> None:
        self._folder = folder
        self._kind = kind
        self._keys = StringFile(os.path.join(folder, "keys.strings"))
        self._rows: list[Int64Array] = []  # of each part, ascending
        # The place of the key of each row, in the order of the rows.
        self._order = np.empty(0, np.int64)

    @contextmanager
    def part(self, rows: Int64Array, keys: Sequence[str | int]) -> Iterator[PairRuns]:
        """Yield what takes the pairs of a part, whose rows are numbered by their places."""
        with PairRuns(self._folder, _name(len(self._rows))) as runs:
            yield runs
            runs.finish()
        self._rows.append(rows)
        for key in keys:
            self._keys.append(str(key))

    def write(self, path: str, plan: StagePlan, memory: int) -> None:
        """Write the pairs of all parts as one table, sorted by (i, j), in this memory."""
        rows = concatenated(self._rows)
        if len(rows) > MOST_ROWS:
            raise ValueError(
                f"a task with pairs is for at most {MOST_ROWS} rows, not {len(rows)}: more tasks "
                "are needed"
            )
        self._order = np.argsort(rows, kind="stable")
        rank = np.empty(len(rows), np.int64)
        rank[self._order] = int64_range(len(rows))
        names = [f"{_name(number)}.run" for number in range(len(self._rows))]
        at = 0
        for name, rows_of_part in zip(names, self._rows, strict=True):
            if len(rows_of_part) < len(rows):
                renumber(self._folder, name, rank[at : at + len(rows_of_part)])
            at += len(rows_of_part)
        batches = merged_pairs(self._folder, names, memory) if names else ()
        name = SIMILARITY_NAMES[plan.engine.measure]
        write_pairs(
            path,
            batches,
            self,
            name,
            True,
            {"key_i": self._kind, "key_j": self._kind, name: "double"},
        )

    def keys_of(self, rows: Int64Array) -> list[str | int]:
        """Return the keys of some rows, which are numbered over all parts."""
        keys = self._keys.take(self._order[rows])
        return list(keys) if self._kind == "string" else list(map(int, keys))

    def key_bytes(self, rows: Int64Array) -> Int64Array:
        """Return the bytes that are read for the keys of some rows."""
        return self._keys.lengths(self._order[rows])


def _name(number: int) -> str:
    return f"pairs-{number}"
