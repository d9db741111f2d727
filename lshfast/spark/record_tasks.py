"""The work of Python workers over records: keys of rules, and scores of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lshfast.records.linkage import Linkage
from lshfast.records.tables.record_table import RecordTable
from lshfast.spark.record_model import SEPARATOR, RecordModel
from lshfast.spark.tasks import Batch, Table
from lshfast.spark.workers import WorkerTask, pa

# Pairs whose values are read and compared at once. The values of the sample are prepared for each
# of these parts.
PAIRS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class RecordKeyTask(WorkerTask):
    """Make the keys of records.

    Input: id, and the columns of one side in the struct row, in which a column may be called id,
    too. Output: rule, key, id for each rule of which the record has a key.
    """

    model: RecordModel
    side: int

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            columns = columns_of(batch, "row")
            rows = {
                name: self._row_forms(columns, name) for name in self.model.key_fields
            }
            for number, names in enumerate(self.model.rules):
                parts = zip(*(rows[name] for name in names), strict=True)
                keys = [SEPARATOR.join(part) if all(part) else None for part in parts]
                column = pa.array(keys, pa.string())
                is_key = column.is_valid()
                column = column.filter(is_key)
                yield pa.RecordBatch.from_pydict(
                    {
                        "rule": pa.array(np.full(len(column), number, np.int32)),
                        "key": column,
                        "id": batch.column("id").filter(is_key),
                    }
                )

    def _row_forms(self, columns: dict[str, Any], name: str) -> list[str]:
        """Return the normal form of each row's value, empty if it is missing."""
        field = self.model.key_fields[name]
        column = columns[field.columns[self.side]]
        codes, forms = field.forms(column, self.side)
        forms.append("")  # of the code -1
        return [forms[code] for code in codes.tolist()]


@dataclass(frozen=True)
class ScoreTask(WorkerTask):
    """Score pairs of records.

    Input: id_a, id_b, and the columns of both sides in the structs a and b. Output: id_a, id_b and
    score of the pairs that score enough for a link.
    """

    model: RecordModel

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        waiting = list[Batch]()
        for batch in batches:
            waiting.append(batch)
            if sum(part.num_rows for part in waiting) >= PAIRS_AT_ONCE:
                yield self._scored(pa.Table.from_batches(waiting).combine_chunks())
                waiting = []
        if waiting:
            yield self._scored(pa.Table.from_batches(waiting).combine_chunks())

    def _scored(self, table: Table) -> Batch:
        if not table.num_rows:
            none = pa.array([], pa.float64())
            ids = {name: table.column(name).slice(0, 0) for name in ("id_a", "id_b")}
            return pa.table(ids | {"score": none}).to_batches()[0]
        scorers = self.model.bound((columns_of(table, "a"), columns_of(table, "b")))
        numbers = np.arange(table.num_rows, dtype=np.uint64)
        rows = RecordTable({"row": numbers})
        # Pair k is that of the rows k of both sides.
        places = numbers * np.uint64(len(rows)) + numbers
        index, scores = scorers.above(
            Linkage([rows, rows], {}), places, self.model.least
        )
        order = pa.array(index)
        columns = {
            name: table.column(name).combine_chunks().take(order)
            for name in ("id_a", "id_b")
        }
        return pa.RecordBatch.from_pydict(columns | {"score": pa.array(scores)})


def columns_of(rows: Batch | Table, side: str) -> dict[str, Any]:
    """Return the columns of a struct of a batch, or of a table without chunks."""
    column = rows.column(side)
    if hasattr(column, "chunks"):
        column = column.combine_chunks()
    if hasattr(column, "chunks"):
        column = column.chunk(0)
    names = [column.type.field(place).name for place in range(column.type.num_fields)]
    return dict(zip(names, column.flatten(), strict=True))
