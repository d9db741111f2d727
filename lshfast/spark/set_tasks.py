"""Python workers compare the rows of a component: with the engine of one machine, or in pairs."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lshfast._common.rows import int64_range
from lshfast._engine.account.findings import Findings
from lshfast._engine.clock import Clock
from lshfast._engine.earlier_texts import MOST_SIMILAR_ROWS, EarlierRowsOf
from lshfast._engine.kinds.kind import Request
from lshfast._engine.pairs.listed import PairArray, listed
from lshfast._engine.pairs.similar import SimilarPairs
from lshfast._engine.parts.components import EarlierOfPart
from lshfast._engine.plan import Plan
from lshfast._engine.run import run_part
from lshfast._engine.sketching import sketch_rows
from lshfast.join.copies import copy_pairs
from lshfast.kernels.text import Texts
from lshfast.spark.tasks import BATCH_BYTES, EARLIER, EARLIER_ID, Batch, Table
from lshfast.spark.workers import WorkerTask, pa

# Texts of one set are moved from memory to a file on the disk of the worker when they have more
# bytes than this.
SPOOL_BYTES = 256 << 20
# Pairs in an output batch.
BATCH_PAIRS = 1 << 16


@dataclass(frozen=True)
class SetTask(WorkerTask):
    """Answer for sets of rows, one after another or several at once.

    Input: label, id, text, and columns that the answer needs, sorted by label and id. The rows of
    one label are a set; rows of different sets share no bucket, so it does not matter which of them
    are together in a table.
    """

    batch_bytes: int = field(default=BATCH_BYTES, kw_only=True)
    spool_bytes: int = field(default=SPOOL_BYTES, kw_only=True)

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        with closing(HeldRows(self.spool_bytes)) as held_rows:
            for batch in self._needed(batches):
                labels = batch.column("label").to_numpy()
                cut = int(np.searchsorted(labels, labels[-1])) if len(labels) else 0
                for part in (batch.slice(0, cut), batch.slice(cut)):
                    if not part.num_rows:
                        continue
                    if (
                        held_rows.nbytes >= self.batch_bytes
                        and held_rows.label != part.column("label")[0].as_py()
                    ):
                        yield from self._found(held_rows.table())
                        held_rows.close()
                    held_rows.append(part)
            if held_rows.nbytes:
                yield from self._found(held_rows.table())

    def _needed(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the rows without those that do not change the answer."""
        return batches

    def _found(self, table: Table) -> Iterator[Batch]:
        """Yield the answer for complete sets."""
        raise NotImplementedError


@dataclass(frozen=True)
class EngineTask(SetTask):
    """Find the near-duplicates in sets of rows with the engine of one machine.

    Input: as for `SetTask`, and value if rows are kept by values. Output: id, kept and similarity
    of each removed row, and one row without id for each table, with the numbers of candidates,
    pairs and copies.

    In a run against earlier rows, these have no id but the columns EARLIER and EARLIER_ID, and
    follow the other rows of their set. A row that is removed for an earlier one has no `kept`, and
    these columns of that one.
    """

    plan: Plan
    keep: str | None  # None: by the column `value`

    def _needed(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the rows, at most MOST_SIMILAR_ROWS of the earlier ones with one key and text.

        These have one EARLIER_ID, and are neighbours.
        """
        last: tuple[Any, ...] = ()
        copies = 0
        for batch in batches:
            if EARLIER_ID not in batch.schema.names or not batch.num_rows:
                yield batch
                continue
            numbers = batch.column(EARLIER_ID)
            is_new = numbers.is_null().to_numpy(zero_copy_only=False)
            rows = numbers.fill_null(0).to_numpy()
            labels = batch.column("label").to_numpy()
            differs = (rows[1:] != rows[:-1]) | (labels[1:] != labels[:-1])
            differs |= is_new[1:] | is_new[:-1]
            starts = np.flatnonzero(np.concatenate([[True], differs]))
            ranks = np.arange(len(rows), dtype=np.int64) - np.repeat(
                starts, np.diff(np.append(starts, len(rows)))
            )
            if (labels[0], rows[0], is_new[0]) == last:
                ranks[: starts[1] if len(starts) > 1 else len(rows)] += copies
            last = (labels[-1], rows[-1], is_new[-1])
            copies = int(ranks[-1]) + 1
            yield batch.filter(pa.array(is_new | (ranks < MOST_SIMILAR_ROWS)))

    def _found(self, table: Table) -> Iterator[Batch]:
        earlier = None
        earlier_rows = None
        if EARLIER in table.schema.names:
            table, earlier_rows = new_and_earlier(table)
            if not table.num_rows:
                return
            if earlier_rows.num_rows:
                texts = Texts(earlier_rows.column("text"))
                numbers = int64_range(len(texts))
                earlier = EarlierOfPart(texts, numbers).as_read()
        keep: Any = self.keep
        if keep is None:
            keep = table.column("value").to_pylist()
        findings = self._findings(table, keep, earlier)
        groups = findings.groups
        removed = np.flatnonzero(~findings.kept)
        keepers = groups.keeper[removed]
        is_earlier = keepers < 0
        ids = table.column("id")
        columns = {
            "id": after_null(ids, pa.array(removed)),
            "kept": after_null(ids, pa.array(keepers, mask=is_earlier)),
            "similarity": pa.array(np.concatenate([[0.0], groups.similarity[removed]])),
        }
        figures = {
            "candidates": findings.candidates,
            "pairs": findings.pairs_found,
            "copies": findings.copies,
        }
        columns |= {
            name: pa.array(np.append(value, np.zeros(len(removed), np.int64)))
            for name, value in figures.items()
        }
        if earlier_rows is not None:
            places = np.zeros(len(removed), np.int64)
            if findings.earlier is not None:
                places[is_earlier] = findings.earlier.keys
            taken = pa.array(places, mask=~is_earlier)
            for name in (EARLIER, EARLIER_ID):
                columns[name] = after_null(earlier_rows.column(name), taken)
        yield pa.table(columns).combine_chunks().to_batches()[0]

    def _findings(
        self, table: Table, keep: Any, earlier: EarlierRowsOf | None
    ) -> Findings:
        """Return what was found among the rows of a table."""
        texts = Texts(table.column("text"))
        request = Request(keep=keep, against=earlier)
        return run_part([texts], self.plan, Clock(), request).found


def after_null(column: Any, places: Any) -> Any:
    """Return a null, and the values of a column of a table at some places, null for null."""
    values = column.take(places)
    return pa.chunked_array([pa.nulls(1, column.type), *values.chunks])


def new_and_earlier(table: Table) -> tuple[Table, Table]:
    """Return the rows of some sets with an id, and those without, which are last in each set.

    Those of the last set, which may be large and in a file, are not copied.
    """
    labels = table.column("label").to_numpy()
    begin = int(np.searchsorted(labels, labels[-1]))
    others = table.slice(0, begin)
    last = table.slice(begin)
    new = last.num_rows - last.column("id").null_count
    has_id = others.column("id").is_valid()
    has_none = others.column("id").is_null()
    return (
        pa.concat_tables([others.filter(has_id), last.slice(0, new)]),
        pa.concat_tables([others.filter(has_none), last.slice(new)]),
    )


@dataclass(frozen=True)
class PairTask(SetTask):
    """Find all similar pairs in sets of rows, in batches of bounded memory.

    Input: as for `SetTask`. Output: id_i and id_j with id_i < id_j, similarity, and copy: whether
    the row id_j is a copy of the row id_i. A copy is in no other pair, and id_i is the first row
    with its tokens. One row without ids for each table has the number of candidates, which is 0 in
    the others.
    """

    plan: Plan
    batch_pairs: int = field(default=BATCH_PAIRS, kw_only=True)

    def _found(self, table: Table) -> Iterator[Batch]:
        sketches = sketch_rows([Texts(table.column("text"))], self.plan, Clock())
        similar_pairs = SimilarPairs(sketches, self.plan, Clock())
        ids = table.column("id").combine_chunks()
        for pairs in listed(similar_pairs.of_different_rows(), self.plan):
            yield from self._batches(ids, pairs, copy=False)
        yield from self._batches(ids, copy_pairs(sketches.copies), copy=True)
        yield self._figures(ids.type, similar_pairs.candidates)

    def _figures(self, type_of_ids: Any, candidates: int) -> Batch:
        """Return the row with the number of candidates."""
        none = pa.nulls(1, type_of_ids)
        figures = {
            "copy": pa.array([False]),
            "candidates": pa.array([candidates], pa.int64()),
        }
        return pa.RecordBatch.from_pydict(
            {"id_i": none, "id_j": none, "similarity": pa.array([0.0])} | figures
        )

    def _batches(self, ids: Any, pairs: PairArray, copy: bool) -> Iterator[Batch]:
        """Yield pairs of rows with their ids."""
        for at in range(0, len(pairs), self.batch_pairs):
            part = pairs[at : at + self.batch_pairs]
            columns = {f"id_{end}": ids.take(pa.array(part[end])) for end in ("i", "j")}
            columns["similarity"] = pa.array(part["similarity"])
            columns["copy"] = pa.array(np.full(len(part), copy, np.bool_))
            columns["candidates"] = pa.array(np.zeros(len(part), np.int64))
            yield pa.RecordBatch.from_pydict(columns)


class HeldRows:
    """Rows that wait for the end of their set, in memory, or above `spool_bytes` in a file."""

    nbytes: int
    label: int | None

    def __init__(self, spool_bytes: int) -> None:
        self._spool_bytes = spool_bytes
        self._file: Any = None
        self._writer: Any = None
        self._batches: list[Batch] = []
        self.close()

    def append(self, batch: Batch) -> None:
        """Add rows; the last of them determines `label`."""
        self._batches.append(batch)
        self._in_memory += batch.nbytes
        self.nbytes += batch.nbytes
        self.label = batch.column("label")[-1].as_py()
        if self._in_memory > self._spool_bytes:
            self._spool()

    def _spool(self) -> None:
        if self._writer is None:
            # It has no name, so nothing is left if the worker is killed.
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            self._writer = pa.ipc.new_file(self._file, self._batches[0].schema)
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._batches = []
        self._in_memory = 0

    def table(self) -> Table:
        """Return all rows; rows in the file are mapped, so the system can drop their pages."""
        if self._writer is None:
            return pa.Table.from_batches(self._batches)
        self._spool()
        self._writer.close()
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()

    def close(self) -> None:
        """Forget all rows, and close the file, which deletes it."""
        if self._file is not None:
            self._file.close()
        self._file = self._writer = self.label = None
        self._batches = []
        self._in_memory = self.nbytes = 0
