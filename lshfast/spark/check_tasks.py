"""The work of Python workers in a check: equal rows, and rows that are near to a sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.rows import int64_range
from lshfast._common.run_key import RunKey
from lshfast._common.threads import pieces
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


@dataclass(frozen=True)
class NearTask(WorkerTask):
    """Find the rows that are near to a row of a sample, by an exact join.

    Input: id, text. Output: place, in the sample, and id, for each pair. The rows of the sample are
    near to themselves. `check` is a number that no other check has.
    """

    plan: Plan
    sample: Table
    least: float
    check: int

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        pa = optional("pyarrow", "spark")
        if not len(self.sample):
            return
        sampled_rows, join = prepared_once(self.check, self._join)
        # A row of a batch is none of the numbers of the sample, which the join leaves out.
        first = len(self.sample)
        for batch in batches:
            texts = Texts(batch.column("text"))
            for rows in pieces(texts.lengths, PIECE_BYTES):
                column = ShingledTexts(texts.take(rows), self.plan.shingles)
                numbers = int64_range(first, first + len(column))
                place, row, _ = join.near(
                    numbers, column.tokens(sampled_rows.key.tokens)
                )
                ids = batch.column("id").take(pa.array(row - first + rows.start))
                yield pa.RecordBatch.from_pydict({"place": pa.array(place), "id": ids})

    def _join(self) -> tuple[KeyedRows, SampleJoin]:
        """Return the sample and its join."""
        texts = Texts(self.sample.column("text"))
        rows = KeyedRows(ShingledTexts(texts, self.plan.shingles), RunKey.draw())
        numbers = np.arange(len(texts), dtype=np.int64)
        return rows, SampleJoin(rows, numbers, self.least, 1)
