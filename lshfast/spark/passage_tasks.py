"""The work of Python workers in a search for shared passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.types import Int64Array
from lshfast._engine.clock import Clock
from lshfast.kernels.text import HashKey, Texts
from lshfast.passages.plan import PassagePlan
from lshfast.passages.run import find_against, find_within, hold_texts
from lshfast.passages.sampling import Samples, make_sampler, sample_pieces
from lshfast.passages.search import HeldTexts
from lshfast.passages.spans import SPAN, Spans
from lshfast.spark.tasks import (
    BATCH_PAIRS,
    Batch,
    SetTask,
    Table,
    naming_text,
    signed,
)
from lshfast.spark.workers import NULL_ID, WorkerTask, prepared_once

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
    pa = optional("pyarrow", "spark")
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
    """Make a record for each different sample of each text.

    Input: id, text, node. Output: key, node. Texts that share a passage have a key in common. A
    text that has a sample twice has a key in common with a node that is no text.
    """

    plan: PassagePlan
    numbers: tuple[int, int, int, int]

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        sampler = make_sampler(self.plan, HashKey(*self.numbers))
        for batch in batches:
            nodes = batch.column("node").to_numpy()
            with naming_text(batch.column("id")):
                for samples in sample_pieces(
                    [Texts(batch.column("text"))], sampler, _samples_alone, 1
                ):
                    yield _records(samples, nodes[: len(samples.counts)])
                    nodes = nodes[len(samples.counts) :]


def _samples_alone(_: Texts, samples: Samples) -> Samples:
    return samples


def _records(samples: Samples, nodes: Int64Array) -> Batch:
    """Return the different samples of each row with its node, and those of rows with equal ones."""
    pa = optional("pyarrow", "spark")
    node = np.repeat(nodes, samples.per_row)
    hashes = signed(samples.hashes)
    order = np.lexsort((hashes, node))
    node = node[order]
    hashes = hashes[order]
    again = np.zeros(len(node), np.bool_)
    again[1:] = (node[1:] == node[:-1]) & (hashes[1:] == hashes[:-1])
    repeating = np.unique(node[again])
    key = np.concatenate([hashes[~again], repeating ^ _TWICE, repeating ^ _TWICE])
    node = np.concatenate([node[~again], repeating, ~repeating])
    return pa.RecordBatch.from_pydict({"key": pa.array(key), "node": pa.array(node)})


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
