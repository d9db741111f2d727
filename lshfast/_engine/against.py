"""Runs against an index of earlier rows: rows removed for its entries, and rows added to it.

An earlier entry takes precedence over every new row under every `keep` policy, because an earlier
run has kept it. The index stores only the signature of its text, so the similarity to it is an
estimate, unless the text is read too: see `earlier_texts`. A row that was removed for an earlier
entry is not compared with other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast._engine.account.earlier import EarlierFigures
from lshfast._engine.plan import Plan
from lshfast.join.groups import Groups
from lshfast.sketch.minhash import EMPTY

if TYPE_CHECKING:
    from lshfast.index.keys import Column
    from lshfast.index.lsh_index import LSHIndex

# Rows per query. It limits the memory of the answers.
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Earlier:
    """Rows removed for an earlier entry, the entry's key, and the similarity to it.

    Without `estimated`, all similarities are estimates. `texts` has for each row of the run the
    text of its entry, or None, and `figures` what was read; both are None in a run that reads no
    earlier texts.
    """

    rows: Int64Array
    keys: list[Any]
    similarity: Float64Array
    estimated: BoolArray | None = None
    texts: Sequence[str | None] | None = None
    figures: EarlierFigures | None = None

    def among(self, is_compared: BoolArray) -> Earlier:
        """Return what is found of some rows, which a flag for each row of the run names."""
        stays = is_compared[self.rows]
        if stays.all():
            return self
        keys = [key for key, is_left in zip(self.keys, stays, strict=True) if is_left]
        estimated = None if self.estimated is None else self.estimated[stays]
        texts = self.texts
        if texts is not None:
            texts = [
                text if is_left else None
                for text, is_left in zip(texts, is_compared.tolist(), strict=True)
            ]
        return replace(
            self,
            rows=self.rows[stays],
            keys=keys,
            similarity=self.similarity[stays],
            estimated=estimated,
            texts=texts,
        )

    def fill_in(self, groups: Groups) -> None:
        """Put the rows, each a group before, into groups of rows removed for the same entry."""
        first: dict[Any, int] = {}
        groups.keeper[self.rows] = -1
        groups.similarity[self.rows] = self.similarity
        for row, key in zip(self.rows.tolist(), self.keys, strict=True):
            groups.labels[row] = first.setdefault(key, row)

    def estimates(self, n: int) -> BoolArray:
        """Return for each of n rows whether it was removed by an estimated similarity."""
        is_estimate = np.zeros(n, np.bool_)
        is_estimate[self.rows] = True if self.estimated is None else self.estimated
        return is_estimate

    def columns(self, n: int) -> dict[str, Any]:
        """Return the attributes of a `DedupResult` of n rows that are about earlier entries."""
        keys: list[Any] = [None] * n
        for row, key in zip(self.rows.tolist(), self.keys, strict=True):
            keys[row] = key
        return {
            "earlier": keys,
            "earlier_texts": self.texts,
            "estimated": self.estimates(n),
        }


NOTHING_EARLIER = Earlier(np.empty(0, np.int64), [], np.empty(0, np.float64))


def find_earlier(index: LSHIndex, signatures: UInt64Array, plan: Plan) -> Earlier:
    """Return the rows similar to an entry, with the most similar one (ties: the smallest key).

    A row is similar if the estimate is at least the threshold. With verify="none", every candidate
    is similar.
    """
    least = 0.0 if plan.verify == "none" else plan.threshold
    rows = [NOTHING_EARLIER.rows]
    keys = []
    similarity = [NOTHING_EARLIER.similarity]
    for start in range(0, len(signatures), BATCH_ROWS):
        best = index.query(
            signatures[start : start + BATCH_ROWS],
            k=1,
            threshold=least,
            threads=plan.threads,
        )
        rows.append(np.flatnonzero(np.diff(best.offsets)) + start)
        keys += best.keys.tolist() if isinstance(best.keys, np.ndarray) else best.keys
        similarity.append(best.similarity)
    return Earlier(np.concatenate(rows), keys, np.concatenate(similarity))


class EarlierRows:
    """The rows of a run that are similar to an entry of an index, found a piece at a time.

    Parameters
    ----------
    index : LSHIndex
    plan : Plan
    """

    def __init__(self, index: LSHIndex, plan: Plan) -> None:
        self._index, self._plan = index, replace(plan, threads=1)
        self._found: list[Earlier] = [NOTHING_EARLIER]
        self._known: dict[Any, Any] = {}

    def take_from(self, keys: UInt64Array, signatures: UInt64Array) -> Earlier:
        """Return the rows of a piece, and empty their bucket keys; threads may call it at once."""
        earlier = find_earlier(self._index, signatures, self._plan)
        keys[earlier.rows] = EMPTY
        return earlier

    def add(self, earlier: Earlier, first_row: int) -> None:
        """Add the rows of a piece that starts at this row; equal keys share memory."""
        keys = [self._known.setdefault(key, key) for key in earlier.keys]
        self._found.append(Earlier(earlier.rows + first_row, keys, earlier.similarity))

    def finished(self) -> Earlier:
        """Return the rows of all pieces."""
        keys = list(chain.from_iterable(part.keys for part in self._found))
        rows, similarity = (
            np.concatenate([getattr(part, name) for part in self._found])
            for name in ("rows", "similarity")
        )
        return Earlier(rows, keys, similarity)


def new_keys(index: LSHIndex, keys: Sequence[Any], rows: Int64Array) -> Column:
    """Return the keys under which rows of a run are inserted into an index.

    Raises
    ------
    TypeError, ValueError
        If the index does not support a key, or contains it and `on_duplicate` is "error".
    """
    from lshfast.index.keys import as_column

    column = as_column([keys[row] for row in rows.tolist()])
    is_present = index.store.contains(column)
    if is_present.any() and index.on_duplicate == "error":
        row = int(rows[is_present.argmax()])
        raise ValueError(
            f"keys[{row}] = {keys[row]!r} is in the index already: use an index with "
            "on_duplicate='replace' or "
            "'skip' to allow this"
        )
    return column
