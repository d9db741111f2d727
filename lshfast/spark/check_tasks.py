"""The work of Python workers in a check: equal rows, and rows that are near to a sample.

If many rows are near to many of the sample, as in a crowd of similar rows, a task returns the pairs
of the first rows of the sample only, so the number of its pairs has a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._common.run_key import RunKey
from lshfast._common.threads import pieces
from lshfast._common.types import Int64Array
from lshfast._engine.columns import KeyedRows, ShingledTexts
from lshfast._engine.plan import Plan
from lshfast.kernels import sets
from lshfast.kernels.text import HashKey, Texts
from lshfast.quality.near_pairs import SampleJoin
from lshfast.shingling import PIECE_BYTES
from lshfast.spark.binary_columns import signed
from lshfast.spark.tasks import Batch, Table, distinct_tokens
from lshfast.spark.workers import WorkerTask, pa, prepared_once
from lshfast.tokens import TokenSets


@dataclass(frozen=True)
class PrintTask(WorkerTask):
    """Compute fingerprints of the token sets of texts.

    Input: id, text. Output: id, and low and high: the fingerprint under secret keys; null for a
    text without shingles.
    """

    plan: Plan
    numbers: tuple[int, int, int, int]
    fingerprints: tuple[int, int]

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        key = HashKey(*self.numbers)
        for batch in batches:
            for part, tokens in distinct_tokens(batch, self.plan, key):
                prints = sets.fingerprints(
                    tokens.offsets, tokens.tokens, self.fingerprints
                )
                is_empty = tokens.counts == 0
                columns = {
                    name: pa.array(signed(prints[:, number]), mask=is_empty)
                    for number, name in ((1, "low"), (2, "high"))
                }
                yield pa.RecordBatch.from_pydict({"id": part.column("id")} | columns)


class NearLimits(NamedTuple):
    """What a task finds at most before it leaves out the last rows of the sample.

    Attributes
    ----------
    pairs : int
        The pairs with the first rows of the sample.
    places : int
        The first rows of the sample, which are used even if they are in more pairs.
    rows : int
        The rows near to these first ones. If there are more, no pairs are used.
    """

    pairs: int
    places: int
    rows: int


class FirstPlaces:
    """The join of the first rows of a sample, of which more pairs leave fewer.

    Attributes
    ----------
    limit : int
        The number of these rows.
    """

    def __init__(self, join: SampleJoin, size: int, limits: NearLimits) -> None:
        self._join = copy(join)  # other tasks begin with all rows
        self._joined = size
        self._limits = limits
        self._least = min(limits.places, size)
        self._pairs = np.zeros(size, np.int64)
        self._rows = 0
        self.limit = size

    def near(
        self, rows: Int64Array, tokens: TokenSets
    ) -> Iterator[tuple[Int64Array, Int64Array]]:
        """Yield the pairs with some rows: places, rows."""
        for place, row, _ in self._join.near_in_parts(rows, tokens):
            is_used = place < self.limit
            place = place[is_used]
            row = row[is_used]
            self._count(place, row)
            yield place, row
            if not self.limit:
                return

    def _count(self, place: Int64Array, row: Int64Array) -> None:
        """Count all pairs of some rows, and lower the limit if there are too many."""
        self._pairs += np.bincount(place, minlength=len(self._pairs))
        self._rows += len(np.unique(row[place < self._least]))
        sums = np.cumsum(self._pairs, dtype=np.int64)
        fitting = int(np.searchsorted(sums, self._limits.pairs, side="right"))
        self.limit = min(self.limit, max(fitting, self._least))
        if self._rows > self._limits.rows:
            self.limit = 0
        elif 2 * self.limit <= self._joined:
            self._joined = self.limit
            self._join.keep_first(self._joined)


@dataclass(frozen=True)
class NearTask(WorkerTask):
    """Find the rows that are near to a row of a sample, by an exact join.

    Input: id, text. Output: place, in the sample, and id, for each pair. The rows of the sample are
    near to themselves. If there are more pairs than `limits` allow, one row has no id: pairs from
    its place on are not complete. `check` is a number that no other check has.
    """

    plan: Plan
    sample: Table
    least: float
    limits: NearLimits
    check: int

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        if not len(self.sample):
            return
        sampled_rows, join = prepared_once(self.check, self._join)
        size = len(self.sample)
        places = FirstPlaces(join, size, self.limits)
        for batch in batches:
            texts = Texts(batch.column("text"))
            for rows in pieces(texts.lengths, PIECE_BYTES):
                if not places.limit:
                    break
                column = ShingledTexts(texts.take(rows), self.plan.shingles)
                # None of these is a row of the sample, which the join would leave out.
                numbers = int64_range(size, size + len(column))
                tokens = column.tokens(sampled_rows.key.tokens)
                for place, row in places.near(numbers, tokens):
                    ids = batch.column("id").take(pa.array(row - size + rows.start))
                    yield pa.RecordBatch.from_pydict(
                        {"place": pa.array(place), "id": ids}
                    )
        if places.limit < size:
            no_id = pa.nulls(1, batch.column("id").type)
            yield pa.RecordBatch.from_pydict(
                {"place": pa.array([places.limit]), "id": no_id}
            )

    def _join(self) -> tuple[KeyedRows, SampleJoin]:
        """Return the sample and its join."""
        texts = Texts(self.sample.column("text"))
        rows = KeyedRows(ShingledTexts(texts, self.plan.shingles), RunKey.draw())
        return rows, SampleJoin(rows, int64_range(len(texts)), self.least, 1)
