"""The work of a cluster's Python workers: Arrow batches in and out, in bounded memory.

An object of each class is sent to the workers with the plan of the run and its secret keys. pyarrow
is imported by the methods, because arguments are checked without it.
"""

from __future__ import annotations

import mmap
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range
from lshfast._common.run_key import P
from lshfast._common.threads import pieces
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._common.visible import printable
from lshfast._engine.account.findings import Findings
from lshfast._engine.against import Earlier, EarlierRows
from lshfast._engine.clock import Clock
from lshfast._engine.earlier_texts import MOST_SIMILAR_ROWS, EarlierRowsOf
from lshfast._engine.indexes.run_indexes import Indexes
from lshfast._engine.kinds.kind import Request
from lshfast._engine.marks import MarkedRows
from lshfast._engine.pairs.listed import PairArray, listed
from lshfast._engine.pairs.similar import SimilarPairs
from lshfast._engine.parts.components import EarlierOfPart
from lshfast._engine.plan import Plan
from lshfast._engine.preference import TIE_SEED
from lshfast._engine.run import run_part
from lshfast._engine.sketching import Sketched, sketch_rows, sketched
from lshfast.join.copies import copy_pairs
from lshfast.kernels import sets
from lshfast.kernels.text import HashKey, TextError, Texts
from lshfast.shingling import PIECE_BYTES
from lshfast.sketch.minhash import EMPTY
from lshfast.spark.exact_keys import KEY, TIE, KeyColumn
from lshfast.spark.workers import WorkerTask, pa
from lshfast.tokens import TokenSets

# A pyarrow.RecordBatch, and a pyarrow.Table.
Batch: TypeAlias = Any
Table: TypeAlias = Any

# Complete sets of rows are passed to the engine as soon as they have so many bytes.
BATCH_BYTES = 32 << 20

# Texts of one set are moved from memory to a file on the disk of the worker when they have more
# bytes than this.
SPOOL_BYTES = 256 << 20

# Pairs in an output batch.
BATCH_PAIRS = 1 << 16

# The columns with the keys of earlier rows, and with numbers that identify these rows.
EARLIER = "earlier key"
EARLIER_ID = "earlier row"

# The column with the similarity to an entry of an index.
ENTRY_SIMILARITY = "similarity to an entry"

# A bucket with more rows than this is not screened: its rows stay in one set.
CROWD_ROWS = 512

# The bit by which int64 and uint64 are in other orders.
SIGN_BIT = np.uint64(1 << 63)

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


def signed(numbers: UInt64Array) -> Int64Array:
    """Return the same bits as int64, because Spark has no unsigned integers."""
    return np.ascontiguousarray(numbers).view(np.int64)


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


def binary_column(rows: npt.NDArray[Any], nulls: BoolArray | None = None) -> Any:
    """Return the bytes of each row of an array as an Arrow column."""
    width = rows.shape[1] * rows.itemsize
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(width)
    valid = (
        None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    )
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(rows))]
    return pa.Array.from_buffers(pa.binary(), len(rows), buffers)


def _buffers_of(
    column: Any, kind: npt.DTypeLike
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Return the ends of binary values, that before the first one too, and all bytes as values."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[
        column.offset : column.offset + len(column) + 1
    ]
    return ends, np.frombuffer(column.buffers()[2] or b"", kind)


def array_of_binary(column: Any, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an Arrow column of binary values of one length, without nulls, as rows."""
    ends, values = _buffers_of(column, kind)
    if not len(column):
        return values[:0].reshape(0, 1)
    return values.reshape(-1, (ends[1] - ends[0]) // values.itemsize)[
        ends[0] // (ends[1] - ends[0]) :
    ][: len(column)]


def binary_lists(values: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Any:
    """Return the bytes of consecutive values as an Arrow column, so many values a row."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts * values.itemsize, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.binary(), len(counts), buffers)


def lists_of_binary(
    column: Any, kind: npt.DTypeLike
) -> tuple[npt.NDArray[Any], Int64Array]:
    """Return the values in an Arrow column of `binary_lists`, and how many each row has."""
    ends, values = _buffers_of(column, kind)
    places = ends.astype(np.int64) // values.itemsize
    if not len(column):
        return values[:0], places[:0]
    return values[places[0] : places[-1]], np.diff(places)


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
    is_kept = low != high
    is_kept[1:] &= (low[1:] != low[:-1]) | (high[1:] != high[:-1])
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
            starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
            stops = np.append(starts[1:], len(node))
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
