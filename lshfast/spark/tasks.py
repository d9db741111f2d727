"""The work of a cluster's Python workers: Arrow batches in and out, in bounded memory.

An object of each class is sent to the workers with the plan of the run and its secret keys. pyarrow
is imported by the methods, because arguments are checked without it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range, run_begins, runs_of
from lshfast._common.run_key import P
from lshfast._common.threads import pieces
from lshfast._common.types import Int64Array
from lshfast._common.visible import printable
from lshfast._engine.against import Earlier, EarlierRows
from lshfast._engine.clock import Clock
from lshfast._engine.indexes.run_indexes import Indexes
from lshfast._engine.marks import MarkedRows
from lshfast._engine.plan import Plan
from lshfast._engine.preference import TIE_SEED
from lshfast._engine.sketching import Sketched, sketched
from lshfast.kernels import sets
from lshfast.kernels.text import HashKey, TextError, Texts
from lshfast.shingling import PIECE_BYTES
from lshfast.sketch.minhash import EMPTY
from lshfast.spark.binary_columns import (
    SIGN_BIT,
    array_of_binary,
    binary_column,
    signed,
)
from lshfast.spark.exact_keys import KEY, TIE, KeyColumn
from lshfast.spark.workers import WorkerTask, pa
from lshfast.tokens import TokenSets

# A pyarrow.RecordBatch, and a pyarrow.Table.
Batch: TypeAlias = Any
Table: TypeAlias = Any

# Complete sets of rows are passed to the engine as soon as they have so many bytes.
BATCH_BYTES = 32 << 20


# The columns with the keys of earlier rows, and with numbers that identify these rows.
EARLIER = "earlier key"
EARLIER_ID = "earlier row"


# The column with the similarity to an entry of an index.
ENTRY_SIMILARITY = "similarity to an entry"

# A bucket with more rows than this is not screened: its rows stay in one set.
CROWD_ROWS = 512


# Numbers that hash the bytes of a text, from which `HashKey` is made on the worker.
ContentKey = tuple[int, int]


def draw_content_key() -> ContentKey:
    """Draw a secret key for the two hashes by which equal texts are recognized."""
    return 1 + secrets.randbelow(P - 1), 1 + secrets.randbelow(P - 1)


def hash_keys(key: ContentKey) -> tuple[HashKey, HashKey]:
    """Return the keys by which equal items are recognized."""
    one, other = key
    return HashKey(one, 1, 1, 0), HashKey(other, 1, 1, 0)


def returned_columns(
    batch: Batch, key: ContentKey, exact_key: KeyColumn | None
) -> dict[str, Any]:
    """Return the columns of a batch except the texts, and hashes in place of exact keys."""
    columns = {
        name: batch.column(name)
        for name in batch.schema.names
        if name not in ("text", KEY)
    }
    if exact_key is not None:
        columns |= exact_key.hashes(batch, hash_keys(key))
    return columns


@contextmanager
def naming_text(ids: Any, argument: str = "") -> Iterator[None]:
    """Raise ValueError with the id of a text that cannot be used; `ids` are those of the texts.

    The error begins with `argument`.
    """
    try:
        yield
    except TextError as error:
        raise ValueError(
            f"{argument}the text with id {ids[error.row].as_py()!r} {error.reason}"
        ) from None


def distinct_tokens(
    batch: Batch, plan: Plan, key: HashKey
) -> Iterator[tuple[Batch, TokenSets]]:
    """Yield pieces of a batch with the different tokens of each text, hashed by a secret key."""
    texts = Texts(batch.column("text"))
    for rows in pieces(texts.lengths, PIECE_BYTES):
        part = batch.slice(rows.start, rows.stop - rows.start)
        with naming_text(part.column("id")):
            token_sets = plan.shingles.tokens_of(texts.take(rows), key).distinct()
        yield part, token_sets


@dataclass(frozen=True)
class CountTask(WorkerTask):
    """Count in how many texts each shingle occurs.

    Input: id, text. Output: token and texts, several times for a shingle; the number of all texts
    has no token.
    """

    plan: Plan
    numbers: tuple[int, int, int, int]

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        key = HashKey(*self.numbers)
        for batch in batches:
            for _, token_sets in distinct_tokens(batch, self.plan, key):
                tokens, counts = np.unique(token_sets.tokens, return_counts=True)
                token = pa.concat_arrays(
                    [pa.array(signed(tokens)), pa.nulls(1, pa.int64())]
                )
                yield pa.RecordBatch.from_pydict(
                    {
                        "token": token,
                        "texts": pa.array(
                            np.append(counts, len(token_sets)), pa.int64()
                        ),
                    }
                )


@dataclass(frozen=True)
class EntriesTask:
    """Find the rows that are similar to an entry of an index, which every worker opens.

    Attributes
    ----------
    path : str
        Of the index.
    state : list
        That of the index when the run began.
    type_of_keys : str
        As Spark writes it in a schema.
    """

    path: str
    state: list[Any]
    type_of_keys: str

    @property
    def schema(self) -> str:
        """The columns of `columns`."""
        return f"`{EARLIER}` {self.type_of_keys}, `{ENTRY_SIMILARITY}` double"

    @contextmanager
    def opened(self, plan: Plan) -> Iterator[EarlierRows]:
        """Open the index; raise ValueError if it has changed since the run began."""
        indexes = Indexes(self.path)
        if indexes.state() != self.state:
            raise ValueError(
                f"{printable(self.path)}: this index is not the one with which the run began"
            )
        with indexes.opened(plan) as index:
            assert index is not None
            yield EarlierRows(index, plan)

    def columns(self, earlier: Earlier, n: int) -> dict[str, Any]:
        """Return the columns of n rows with the keys of entries, and the similarities to them."""
        keys = earlier.columns(n)["earlier"]
        similarity = np.zeros(n, np.float64)
        similarity[earlier.rows] = earlier.similarity
        is_removed = np.zeros(n, np.bool_)
        is_removed[earlier.rows] = True
        kind = pa.string() if self.type_of_keys == "string" else pa.int64()
        return {
            EARLIER: pa.array(keys, kind),
            ENTRY_SIMILARITY: pa.array(similarity, mask=~is_removed),
        }


@dataclass(frozen=True)
class SketchTask(WorkerTask):
    """Compute the bucket keys of texts, and a keyed hash of their bytes.

    Input: id, text, and optional further columns. Output: `returned_columns`, and

    - low, high: the hashes of the text under two secret keys;
    - length: its bytes;
    - keys: the bucket keys of all bands, 8 bytes each; null for a row without shingles, or one
      that is similar to an entry;
    - codes: the lowest 8 bits of each slot, with `codes`;
    - the column TIE, with `ties`;
    - the columns of `EntriesTask`, with `entries`.
    """

    plan: Plan
    key: ContentKey
    codes: bool = False
    ties: bool = False
    exact_key: KeyColumn | None = None
    # The column of the ids that errors name, and what they begin with.
    named_by: str = "id"
    named_as: str = ""
    entries: EntriesTask | None = None

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        if self.entries is None:
            yield from self._sketched(batches, None)
            return
        with self.entries.opened(self.plan) as earlier_rows:
            yield from self._sketched(batches, earlier_rows)

    def _sketched(
        self, batches: Iterator[Batch], earlier_rows: EarlierRows | None
    ) -> Iterator[Batch]:
        columns_of = partial(self._columns, earlier_rows=earlier_rows)
        for batch in batches:
            at = 0
            with naming_text(batch.column(self.named_by), self.named_as):
                for arrays in sketched(
                    [Texts(batch.column("text"))], self.plan, Clock(), columns_of
                ):
                    part = batch.slice(at, len(arrays["length"]))
                    columns = returned_columns(part, self.key, self.exact_key)
                    yield pa.RecordBatch.from_pydict(columns | arrays)
                    at += part.num_rows

    def _columns(
        self, piece: Sketched, earlier_rows: EarlierRows | None
    ) -> dict[str, Any]:
        """Return the columns of some rows that were sketched."""
        marks, keys = MarkedRows.of(piece, self.plan, hash_keys(self.key))
        is_alone = marks.empty
        of_entries: dict[str, Any] = {}
        if earlier_rows is not None and self.entries is not None:
            earlier = earlier_rows.take_from(keys, piece.signatures)
            is_alone = is_alone.copy()
            is_alone[earlier.rows] = True
            of_entries = self.entries.columns(earlier, len(keys))
        columns: dict[str, Any] = {
            "low": signed(marks.words[:, 1]),
            "high": signed(marks.words[:, 2]),
            "length": marks.nbytes,
            "keys": binary_column(keys, is_alone),
            **of_entries,
        }
        if self.codes:
            columns["codes"] = binary_column(piece.signatures.astype(np.uint8))
        if self.ties:
            # In the order of unsigned integers.
            columns[TIE] = signed(piece.column.hashes(TIE_SEED) ^ SIGN_BIT)
        return columns


@dataclass(frozen=True)
class RecordTask(WorkerTask):
    """Make one record for each band of each row.

    Input: node, keys, and optionally codes. Output: key, node, and codes.
    """

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            keys = array_of_binary(batch.column("keys"), np.uint64)
            rows_of_records, bands = np.nonzero(keys != EMPTY)
            columns: dict[str, Any] = {
                "key": signed(keys[rows_of_records, bands]),
                "node": batch.column("node").to_numpy()[rows_of_records],
            }
            if "codes" in batch.schema.names:
                columns["codes"] = batch.column("codes").take(pa.array(rows_of_records))
            yield pa.RecordBatch.from_pydict(columns)


def edges_of(first_nodes: npt.NDArray[Any], second_nodes: npt.NDArray[Any]) -> Batch:
    """Return edges as a batch, each once and without loops; the larger node is in column u."""
    low = np.minimum(first_nodes, second_nodes)
    high = np.maximum(first_nodes, second_nodes)
    order = np.lexsort((low, high))
    low = low[order]
    high = high[order]
    is_kept = (low != high) & run_begins(low, high)
    return pa.RecordBatch.from_pydict({"u": high[is_kept], "v": low[is_kept]})


@dataclass(frozen=True)
class ChainTask(WorkerTask):
    """Connect the rows of each bucket by edges between neighbours.

    Input: key, node, sorted by key. Output: u, v, with u > v. Only the last row of a batch is in
    memory when the next one is read, so a bucket may have any number of rows.
    """

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        last = np.empty((2, 0), np.int64)
        for batch in batches:
            key, node = np.concatenate(
                [
                    last,
                    [batch.column("key").to_numpy(), batch.column("node").to_numpy()],
                ],
                axis=1,
            )
            same = key[1:] == key[:-1]
            yield edges_of(node[:-1][same], node[1:][same])
            last = np.stack([key[-1:], node[-1:]])


@dataclass(frozen=True)
class ScreenTask(WorkerTask):
    """Connect the rows of each bucket whose signatures have enough equal slots.

    Input: key, node, codes, sorted by key. Output: u, v as for `ChainTask`. Codes hold 8 bits of
    each slot, so rows with `least` equal slots have at least as many equal codes: no similar pair
    is separated. The rows of a bucket of more than `most` rows are connected without comparison, so
    only the rows of a batch and `most` more are in memory.
    """

    least: int
    most: int = CROWD_ROWS

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        # the rows of the last bucket; of a crowded one, the last row
        last_rows = None
        crowded = False
        for batch in batches:
            codes = array_of_binary(batch.column("codes"), np.uint8)
            rows = [
                batch.column("key").to_numpy(),
                batch.column("node").to_numpy(),
                codes,
            ]
            if last_rows is not None:
                rows = [
                    np.concatenate(pair) for pair in zip(last_rows, rows, strict=True)
                ]
            key, node, codes = rows
            if not len(node):
                continue
            starts, stops = runs_of(key)
            edges = [np.empty((2, 0), np.int64)]
            for start, stop in zip(
                starts[:-1].tolist(), stops[:-1].tolist(), strict=True
            ):
                if stop - start > 1:
                    edges.append(
                        self._connected(
                            node[start:stop], codes[start:stop], crowded and not start
                        )
                    )
            last = int(starts[-1])
            crowded = (crowded and not last) or len(node) - last > self.most
            if crowded:
                edges.append(np.stack([node[last:-1], node[last + 1 :]]))
                last = len(node) - 1
            last_rows = [column[last:].copy() for column in rows]
            yield edges_of(*np.concatenate(edges, axis=1))
        if last_rows is not None and not crowded:
            yield edges_of(*self._connected(last_rows[1], last_rows[2], False))

    def _connected(
        self, nodes: Int64Array, codes: npt.NDArray[np.uint8], crowded: bool
    ) -> Int64Array:
        """Return edges (2, m) between rows of a crowded bucket; else between equal codes."""
        if crowded or len(nodes) > self.most:
            return np.stack([nodes[:-1], nodes[1:]])
        equal = [
            np.flatnonzero((codes[row + 1 :] == codes[row]).sum(axis=1) >= self.least)
            for row in range(len(codes))
        ]
        i = np.repeat(
            int64_range(len(codes)),
            [len(equal_rows) for equal_rows in equal],
        )
        j = np.concatenate(equal).astype(np.int64) + i + 1
        return np.stack([nodes, nodes[sets.components(i, j, len(nodes))]])
