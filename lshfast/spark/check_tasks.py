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

from lshfast._common.extras import optional
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
from lshfast.spark.tasks import Batch, Table, naming_text, signed
from lshfast.spark.workers import WorkerTask, prepared_once


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
        pa = optional("pyarrow", "spark")
        key = HashKey(*self.numbers)
        for batch in batches:
            texts = Texts(batch.column("text"))
            for rows in pieces(texts.lengths, PIECE_BYTES):
                part = batch.slice(rows.start, rows.stop - rows.start)
                with naming_text(part.column("id")):
                    tokens = self.plan.shingles.tokens_of(
                        texts.take(rows), key
                    ).distinct()
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


class UsedPlaces:
    """The first places of a sample whose pairs a task returns.

    Attributes
    ----------
    limit : int
        The number of these places.
    """

    def __init__(self, size: int, limits: NearLimits) -> None:
        self._limits = limits
        self._first_places = min(limits.places, size)
        self._pairs = np.zeros(size, np.int64)
        self._rows = 0
        self.limit = size

    def add(self, place: Int64Array, row: Int64Array) -> None:
        """Count pairs of rows that have no other pairs."""
        self._pairs += np.bincount(place, minlength=len(self._pairs))
        self._rows += len(np.unique(row[place < self._first_places]))
        sums = np.cumsum(self._pairs)
        fitting = int(np.searchsorted(sums, self._limits.pairs, side="right"))
        self.limit = min(self.limit, max(fitting, self._first_places))
        if self._rows > self._limits.rows:
            self.limit = 0


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
        pa = optional("pyarrow", "spark")
        if not len(self.sample):
            return
        sampled_rows, join = prepared_once(self.check, self._join)
        join = copy(join)  # of which this task may keep the first rows only
        # A row of a batch is none of the numbers of the sample, which the join leaves out.
        first = len(self.sample)
        used = UsedPlaces(first, self.limits)
        joined = first
        for batch in batches:
            texts = Texts(batch.column("text"))
            for rows in pieces(texts.lengths, PIECE_BYTES):
                if not used.limit:
                    break
                column = ShingledTexts(texts.take(rows), self.plan.shingles)
                numbers = int64_range(first, first + len(column))
                tokens = column.tokens(sampled_rows.key.tokens)
                for place, row, _ in join.near_in_parts(numbers, tokens):
                    if not used.limit:
                        break
                    is_used = place < used.limit
                    place = place[is_used]
                    row = row[is_used]
                    used.add(place, row)
                    if 0 < 2 * used.limit <= joined:
                        joined = used.limit
                        join.keep_first(joined)
                    ids = batch.column("id").take(pa.array(row - first + rows.start))
                    yield pa.RecordBatch.from_pydict(
                        {"place": pa.array(place), "id": ids}
                    )
        if used.limit < first:
            no_id = pa.nulls(1, batch.column("id").type)
            yield pa.RecordBatch.from_pydict(
                {"place": pa.array([used.limit]), "id": no_id}
            )

    def _join(self) -> tuple[KeyedRows, SampleJoin]:
        """Return the sample and its join."""
        texts = Texts(self.sample.column("text"))
        rows = KeyedRows(ShingledTexts(texts, self.plan.shingles), RunKey.draw())
        return rows, SampleJoin(rows, int64_range(len(texts)), self.least, 1)
