"""A run held against an index of earlier rows: who is removed for an earlier entry, and who joins the index.

An earlier entry wins over every new row, whatever the policy: it was kept in its day. Of its text only the signature is
left, so that the similarity to it is an estimate. A row that is removed for it keeps no other row in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lshfast.index.keys import as_column
from lshfast.index.lsh_index import LSHIndex
from lshfast.join.groups import Groups
from lshfast.pipeline.plan import Plan
from lshfast.tokens import Float64Array, Int64Array, UInt64Array

# Looked up, or inserted, at once: what bounds the memory for their answers.
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Earlier:
    """The rows of a run that are removed for an earlier entry: its key, and their estimated similarity to it."""

    rows: Int64Array
    keys: list[Any]
    similarity: Float64Array

    def fill_in(self, groups: Groups) -> None:
        """Take the rows from the groups among themselves, where they stand alone, into those of the entries."""
        first: dict[Any, int] = {}
        groups.keeper[self.rows] = -1
        groups.similarity[self.rows] = self.similarity
        for row, key in zip(self.rows.tolist(), self.keys, strict=True):
            groups.labels[row] = first.setdefault(key, row)

    def column(self, n: int) -> list[Any]:
        """Return the key of each of n rows, None where it was not removed for an earlier entry."""
        column: list[Any] = [None] * n
        for row, key in zip(self.rows.tolist(), self.keys, strict=True):
            column[row] = key
        return column


NOTHING_EARLIER = Earlier(np.empty(0, np.int64), [], np.empty(0, np.float64))


def find_earlier(index: LSHIndex, signatures: UInt64Array, plan: Plan) -> Earlier:
    """Return the rows that are similar to an entry, each with the most similar one, the least key among equals.

    A row is similar if the estimate reaches the threshold; where the plan verifies nothing, every candidate is.
    """
    least = 0.0 if plan.verify == "none" else plan.threshold
    rows, keys, similarity = [NOTHING_EARLIER.rows], [], [NOTHING_EARLIER.similarity]
    for start in range(0, len(signatures), BATCH_ROWS):
        best = index.query(signatures[start : start + BATCH_ROWS], k=1, threshold=least, threads=plan.threads)
        rows.append(np.flatnonzero(np.diff(best.offsets)) + start)
        keys += best.keys.tolist() if isinstance(best.keys, np.ndarray) else best.keys
        similarity.append(best.similarity)
    return Earlier(np.concatenate(rows), keys, np.concatenate(similarity))


def insert_rows(index: LSHIndex, keys: Sequence[Any], rows: Int64Array, signatures: UInt64Array) -> int:
    """Insert rows of a run into an index, under their keys, and return how many entries are new or replaced.

    Raises
    ------
    TypeError, ValueError
        If the index cannot take a key, or has it and duplicates are errors; then nothing was inserted.
    """
    column = as_column([keys[row] for row in rows.tolist()])
    known = index.store.contains(column)
    if known.any() and index.on_duplicate == "error":
        row = int(rows[known.argmax()])
        raise ValueError(f"keys[{row}] = {keys[row]!r} is in the index already: on_duplicate of the index allows that")
    return index.insert(column, signatures[rows])
