"""Runs against an index of earlier rows: rows removed for earlier entries, and rows inserted into the index.

An earlier entry takes precedence over every new row under every `keep` policy, because an earlier run has kept it. The
index stores only the signature of its text, so the similarity to it is an estimate. A row that was removed for an
earlier entry is not compared with other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast.common.types import Float64Array, Int64Array, UInt64Array
from lshfast.engine.plan import Plan
from lshfast.index.keys import as_column
from lshfast.join.groups import Groups

if TYPE_CHECKING:
    from lshfast.index.lsh_index import LSHIndex

# Rows per query. It limits the memory of the answers.
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Earlier:
    """The rows that are removed for an earlier entry, the key of the entry, and the estimated similarity to it."""

    rows: Int64Array
    keys: list[Any]
    similarity: Float64Array

    def fill_in(self, groups: Groups) -> None:
        """Put the rows, each a group of its own before, into groups of rows that were removed for the same entry."""
        first: dict[Any, int] = {}
        groups.keeper[self.rows] = -1
        groups.similarity[self.rows] = self.similarity
        for row, key in zip(self.rows.tolist(), self.keys, strict=True):
            groups.labels[row] = first.setdefault(key, row)

    def column(self, n: int) -> list[Any]:
        """Return for each of n rows the key of its earlier entry, or None if it was not removed for one."""
        column: list[Any] = [None] * n
        for row, key in zip(self.rows.tolist(), self.keys, strict=True):
            column[row] = key
        return column


NOTHING_EARLIER = Earlier(np.empty(0, np.int64), [], np.empty(0, np.float64))


def find_earlier(index: LSHIndex, signatures: UInt64Array, plan: Plan) -> Earlier:
    """Return the rows that are similar to an entry, each with its most similar entry; the smallest key breaks ties.

    A row is similar if the estimate is at least the threshold. With verify="none", every candidate is similar.
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
    """Insert rows of a run into an index under their keys, and return the number of new or replaced entries.

    Raises
    ------
    TypeError, ValueError
        If the index does not support a key, or contains it and `on_duplicate` is "error"; then nothing is inserted.
    """
    column = as_column([keys[row] for row in rows.tolist()])
    known = index.store.contains(column)
    if known.any() and index.on_duplicate == "error":
        row = int(rows[known.argmax()])
        raise ValueError(
            f"keys[{row}] = {keys[row]!r} is in the index already: use an index with on_duplicate='replace' or "
            "'skip' to allow this"
        )
    return index.insert(column, signatures[rows])
