"""The work of Python workers in a search for shared passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lshfast._common.rows import int64_range, run_begins
from lshfast._common.types import Int64Array
from lshfast._engine.clock import Clock
from lshfast.kernels.text import HashKey, Texts
from lshfast.passages.plan import PassagePlan
from lshfast.passages.run import find_against, find_within, hold_texts
from lshfast.passages.sampling import Samples, make_sampler, sample_pieces
from lshfast.passages.search import HeldTexts
from lshfast.passages.spans import SPAN, Spans
from lshfast.spark.binary_columns import binary_lists, lists_of_binary
from lshfast.spark.set_tasks import BATCH_PAIRS, SetTask
from lshfast.spark.tasks import Batch, Table, naming_text
from lshfast.spark.workers import NULL_ID, WorkerTask, pa, prepared_once

# The columns of a passage after the ids: those of `lshfast.passages.SharedPassages.spans`.
PLACES = tuple(name for name in SPAN.names or () if name not in ("i", "j"))

# What distinguishes the keys of rows that have a passage twice from those of samples.
_TWICE = np.int64(0x5851F42D4C957F2D)


def passages_schema(kind_i: str, kind_j: str) -> str:
    """Return the schema of passages, with the types of the ids."""
    places = ", ".join(f"{name} long" for name in PLACES)
    return f"id_i {kind_i}, id_j {kind_j}, {places}"


def _batches(spans: Spans, ids_i: Any, ids_j: Any) -> Iterator[Batch]:
    """Yield passages with the ids of their rows."""
    for at in range(0, len(spans), BATCH_PAIRS):
        part = spans[at : at + BATCH_PAIRS]
        columns = {
            "id_i": ids_i.take(pa.array(np.ascontiguousarray(part["i"]))),
            "id_j": ids_j.take(pa.array(np.ascontiguousarray(part["j"]))),
        }
        columns |= {name: pa.array(np.ascontiguousarray(part[name])) for name in PLACES}
        yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class AgainstTask(WorkerTask):
    """Find the passages that texts share with other texts, which each worker holds.

    Input: id, text. Output: the passages. `other_texts` is a table of id and text, and `search` a
    number that no other search has.
    """

    plan: PassagePlan
    other_texts: Table
    search: int

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        ids_j = self.other_texts.column("id").combine_chunks()
        texts_of_search = prepared_once(self.search, self._held_texts)
        for batch in batches:
            ids_i = batch.column("id")
            if ids_i.null_count:
                raise ValueError(NULL_ID)
            with naming_text(ids_i):
                found = find_against(
                    [Texts(batch.column("text"))],
                    texts_of_search,
                    self.plan,
                    Clock(),
                )
            yield from _batches(found.spans, ids_i, ids_j)

    def _held_texts(self) -> HeldTexts:
        texts = Texts(self.other_texts.column("text"))
        return hold_texts([texts], self.plan, Clock())


@dataclass(frozen=True)
class SampleTask(WorkerTask):
    """Sample texts.

    Input: id, text, node. Output: id, node, and

    - keys: the different samples of the text, 8 bytes each; texts that share a passage have one in
      common;
    - repeats: whether the text has a sample twice.
    """

    plan: PassagePlan
    numbers: tuple[int, int, int, int]

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        sampler = make_sampler(self.plan, HashKey(*self.numbers))
        for batch in batches:
            at = 0
            with naming_text(batch.column("id")):
                for samples in sample_pieces(
                    [Texts(batch.column("text"))], sampler, _samples_alone, 1
                ):
                    part = batch.slice(at, len(samples.counts))
                    at += part.num_rows
                    columns = {name: part.column(name) for name in ("id", "node")}
                    columns |= _sample_columns(samples)
                    yield pa.RecordBatch.from_pydict(columns)


def _samples_alone(_: Texts, samples: Samples) -> Samples:
    return samples


def _sample_columns(samples: Samples) -> dict[str, Any]:
    """Return the different samples of each row, and whether it has one twice."""
    n = len(samples.counts)
    row = np.repeat(int64_range(n), samples.per_row)
    order = np.lexsort((samples.hashes, row))
    row = row[order]
    hashes = samples.hashes[order]
    is_first = run_begins(row, hashes)
    counts = np.bincount(row[is_first], minlength=n)
    repeats = np.bincount(row[~is_first], minlength=n) > 0
    return {
        "keys": binary_lists(hashes[is_first], counts),
        "repeats": pa.array(repeats),
    }


def sample_records(batch: Batch) -> tuple[Int64Array, Int64Array]:
    """Return the keys of sampled rows, and the node of each; see `SampleTask`.

    A row with a sample twice has a key in common with a node that is no row, so it is in a
    component of two or more even if it shares no passage with another row.
    """
    keys, counts = lists_of_binary(batch.column("keys"), np.int64)
    nodes = batch.column("node").to_numpy()
    is_repeating = batch.column("repeats").to_numpy(zero_copy_only=False)
    repeating = nodes[is_repeating]
    return (
        np.concatenate([keys, repeating ^ _TWICE, repeating ^ _TWICE]),
        np.concatenate([np.repeat(nodes, counts), repeating, ~repeating]),
    )


@dataclass(frozen=True)
class SampleRecordTask(WorkerTask):
    """Make one record for each different sample of each row.

    Input: node, keys, repeats. Output: key, node, as of `sample_records`.
    """

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            key, node = sample_records(batch)
            yield pa.RecordBatch.from_pydict(
                {"key": pa.array(key), "node": pa.array(node)}
            )


@dataclass(frozen=True)
class PassageTask(SetTask):
    """Find the passages that the texts of each set share.

    Input: as for `SetTask`. Output: the passages.
    """

    plan: PassagePlan

    def _found(self, table: Table) -> Iterator[Batch]:
        ids = table.column("id").combine_chunks()
        with naming_text(ids):
            found = find_within([Texts(table.column("text"))], self.plan, Clock())
        yield from _batches(found.spans, ids, ids)
