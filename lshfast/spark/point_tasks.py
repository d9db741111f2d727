"""The work of Python workers over vectors: words, bucket keys, near codes, groups and pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lshfast._common.private_files import TemporaryFolder
from lshfast._common.rows import int64_range
from lshfast._common.threads import thread_count
from lshfast._common.types import AnyArray, Int64Array, UInt64Array
from lshfast._engine.account.findings import Findings
from lshfast._engine.clock import Clock
from lshfast._engine.earlier_texts import EarlierRowsOf
from lshfast._engine.kinds.kind import Request
from lshfast._engine.points import marks_of_points, pairs_of_part, run_points
from lshfast._items.bucket_join import BucketJoin
from lshfast._items.buckets import (
    SCREEN_BITS,
    BucketPlan,
    PointBuckets,
    compute_buckets,
    sampled_places,
)
from lshfast._items.held_points import HeldPoints
from lshfast._items.items import PointBatch, PointReader
from lshfast._items.measures import PointPlan
from lshfast.banding.bands import Bands
from lshfast.index.measure import Measure
from lshfast.index.neighbors.points import PointFormat
from lshfast.sketch.minhash import EMPTY
from lshfast.spark.binary_columns import array_of_binary, binary_column, signed
from lshfast.spark.exact_keys import KeyColumn
from lshfast.spark.set_tasks import EngineTask, PairTask
from lshfast.spark.tasks import (
    Batch,
    ContentKey,
    Table,
    edges_of,
    hash_keys,
    returned_columns,
)
from lshfast.spark.workers import WorkerTask, pa

# Odd numbers that make one key of the bits of a bucket and its band. Buckets with equal keys are
# compared together, which connects no rows whose codes are not near.
BITS_FACTOR = np.uint64(0x9E3779B97F4A7C15)
BAND_FACTOR = np.uint64(0xD1B54A32D192ED03)

# Records whose buckets are compared at once, 0.1 GB with the copies. A bucket of more records is
# not compared: its rows are connected.
ROOM = 1 << 18

SCREEN = Measure("hamming", "bits", SCREEN_BITS)


def read_points(reader: PointReader, batch: Batch) -> PointBatch:
    """Return the vectors of a batch; the first bad one raises ValueError with its id."""
    points, bad = reader.read(batch.column("text"))
    if bad:
        row = min(bad)
        key = batch.column("id")[row].as_py()
        raise ValueError(f"the vector with id {key!r} cannot be used: {bad[row]}")
    return points


def points_of_table(reader: PointReader, table: Table) -> Iterator[PointBatch]:
    """Yield the vectors of the chunks of a table, which may be in a file and are not joined."""
    for chunk in table.column("text").chunks:
        yield reader.read(chunk)[0]


@contextmanager
def folder_for(table: Table, spool_bytes: int) -> Iterator[str | None]:
    """Make a folder for the vectors of a table of more than `spool_bytes`; None for others."""
    if table.nbytes <= spool_bytes:
        yield None
        return
    with TemporaryFolder() as folder:
        yield folder


@dataclass(frozen=True)
class MarkTask(WorkerTask):
    """Compute the keyed hashes by which equal vectors are recognized.

    Input: id, text, and optional further columns. Output: `returned_columns`, and

    - low, high: the hashes of the words of the vector under two secret keys;
    - length: the bytes of the words;
    - width: the number of coordinates; null for a row without a vector, and for vectors of zeros.
    """

    plan: PointPlan
    key: ContentKey
    exact_key: KeyColumn | None = None

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        reader = PointReader(self.plan.kind, self.plan.measure)
        for batch in batches:
            points = read_points(reader, batch)
            marks = np.zeros((len(points), 2), np.uint64)
            marks[~points.missing] = marks_of_points(points.words, hash_keys(self.key))
            width = 0 if reader.format is None else reader.format.dim
            lengths = np.where(points.missing, 0, 8 * points.words.shape[1])
            columns = returned_columns(batch, self.key, self.exact_key)
            columns |= {
                "low": pa.array(signed(marks[:, 0])),
                "high": pa.array(signed(marks[:, 1])),
                "length": pa.array(lengths, pa.int64()),
                "width": pa.array(
                    np.full(len(points), width, np.int64),
                    pa.int64(),
                    mask=points.missing,
                ),
            }
            yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class SampledPairsTask(WorkerTask):
    """Compute the distances of random pairs of rows, as a run on one machine draws them.

    Input: place, text: the sampled rows in one partition, with their places among the n different
    rows. Output: distance, in the order of the pairs.
    """

    plan: PointPlan
    format: PointFormat
    n: int

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        reader = PointReader(self.plan.kind, self.plan.measure, self.format)
        places = [np.empty(0, np.int64)]
        words = [np.empty((0, self.format.measure.words), np.uint64)]
        for batch in batches:
            places.append(batch.column("place").to_numpy())
            words.append(reader.read(batch.column("text"))[0].words)
        order = np.argsort(np.concatenate(places))
        left, right = (
            np.searchsorted(np.concatenate(places)[order], end).astype(np.uint64)
            for end in sampled_places(self.n, self.plan.seed)
        )
        points = HeldPoints(np.concatenate(words)[order], self.format.measure)
        values = points.values(right << np.uint64(32) | left)
        distances = pa.array(self.format.distances(values))
        yield pa.RecordBatch.from_pydict({"distance": distances})


@dataclass(frozen=True)
class KeyTask(WorkerTask):
    """Compute the bucket keys of vectors, and the codes that screen candidates.

    Input: id, text. Output for each row with a vector: id; node, the hash `low` of `MarkTask`;
    keys, those of all bands, 8 bytes each; codes.
    """

    plan: PointPlan
    format: PointFormat
    buckets: BucketPlan
    key: ContentKey

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        reader = PointReader(self.plan.kind, self.plan.measure, self.format)
        for batch in batches:
            points = read_points(reader, batch)
            marks = marks_of_points(points.words, hash_keys(self.key))
            buckets = compute_buckets(
                points.words, self.format, self.plan, self.buckets
            )
            yield pa.RecordBatch.from_pydict(
                {
                    "id": batch.column("id").filter(pa.array(~points.missing)),
                    "node": pa.array(signed(marks[:, 0])),
                    "keys": binary_column(_keys_of(buckets, len(points.words))),
                    "codes": binary_column(buckets.codes),
                }
            )


def _keys_of(buckets: PointBuckets, n: int) -> UInt64Array:
    """Return keys of n points in all bands, (n, bands), which differ from band to band."""
    rows = int64_range(n)
    keys = np.empty((n, buckets.bands.bands), np.uint64)
    for band in range(buckets.bands.bands):
        band_number = np.array([band], np.uint64)
        keys[:, band] = buckets.keys(band, rows) * BITS_FACTOR
        keys[:, band] ^= band_number * BAND_FACTOR
    keys[keys == EMPTY] = 0  # which would stand for no key
    return keys


@dataclass(frozen=True)
class NearCodesTask(WorkerTask):
    """Connect the rows of each bucket whose codes differ in at most `most` bits.

    Input: key, node, codes, sorted by key. Output: u, v as for `ChainTask`: no more edges than
    connect the rows. A bucket of more than `room` records is connected without comparison.
    """

    most: int
    room: int = ROOM

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        held_records = list[_Records]()
        crowded_key: int | None = None
        for batch in batches:
            held_records.append(_Records.of(batch))
            if sum(map(len, held_records)) < self.room:
                continue
            records = _Records.joined(held_records)
            last = int(np.searchsorted(records.keys, records.keys[-1]))
            yield self._edges(records.of_places(slice(0, last)), crowded_key)
            records = records.of_places(slice(last, None))
            if len(records) >= self.room:
                crowded_key = int(records.keys[0])
                yield edges_of(records.nodes[:-1], records.nodes[1:])
                records = records.of_places(slice(-1, None))
            held_records = [records]
        if held_records:
            yield self._edges(_Records.joined(held_records), crowded_key)

    def _edges(self, records: _Records, crowded_key: int | None) -> Batch:
        """Return the edges of complete buckets, of which the first may be a crowded one's rest."""
        rest = 0
        if crowded_key is not None:
            rest = int(np.searchsorted(records.keys, crowded_key, "right"))
        crowded_nodes = records.nodes[:rest]
        compared = records.of_places(slice(rest, None))
        left, right = self._near(compared)
        return edges_of(
            np.concatenate([crowded_nodes[:-1], compared.nodes[left]]),
            np.concatenate([crowded_nodes[1:], compared.nodes[right]]),
        )

    def _near(self, records: _Records) -> tuple[Int64Array, Int64Array]:
        """Return pairs of records that connect the near ones of each bucket."""
        codes = np.ascontiguousarray(records.codes)
        # One key of the join stands for no bucket, so the buckets are numbered.
        is_next = records.keys[1:] != records.keys[:-1]
        numbers = np.append(0, np.cumsum(is_next, dtype=np.int64)).astype(np.uint64)
        return _near_rows(numbers[:, None], codes, self.most, 1)


def near_nodes(table: Table, most: int) -> tuple[Int64Array, Int64Array]:
    """Return pairs of nodes that connect those with a bucket in common and near codes.

    The table has node, keys and codes of all rows, as of `KeyTask`.
    """
    nodes = table.column("node").to_numpy()
    filled = [batch for batch in table.to_batches() if batch.num_rows]

    def words(name: str) -> UInt64Array:
        parts = [array_of_binary(batch.column(name), np.uint64) for batch in filled]
        return np.concatenate(parts or [np.empty((0, 1), np.uint64)])

    left, right = _near_rows(words("keys"), words("codes"), most, None)
    return nodes[left], nodes[right]


def _near_rows(
    keys: UInt64Array, codes: UInt64Array, most: int, threads: int | None
) -> tuple[Int64Array, Int64Array]:
    """Return pairs of rows that connect those with a key in common and near codes.

    `keys` are (n, bands), and `codes` (n, words).
    """
    buckets = PointBuckets(
        Bands(keys.shape[1], 1), 1.0, lambda band, rows: keys[rows, band], codes, most
    )
    rows = int64_range(len(codes))
    points = HeldPoints(codes, SCREEN)
    join = BucketJoin(points, rows, most, buckets, thread_count(threads))
    pairs = join.rows_of(join.forest())
    return pairs["i"], pairs["j"]


@dataclass(frozen=True)
class _Records:
    """Records of buckets, sorted by key: int64 (m,), int64 (m,), uint64 (m, words)."""

    keys: Int64Array
    nodes: Int64Array
    codes: UInt64Array

    @classmethod
    def of(cls, batch: Batch) -> _Records:
        """Return the records of a batch of Arrow."""
        codes = array_of_binary(batch.column("codes"), np.uint64)
        return cls(
            batch.column("key").to_numpy(), batch.column("node").to_numpy(), codes
        )

    @classmethod
    def joined(cls, parts: list[_Records]) -> _Records:
        """Return the records of at least one part."""
        filled = [part for part in parts if len(part)] or parts[:1]

        def column(name: str) -> AnyArray:
            return np.concatenate([getattr(part, name) for part in filled])

        return cls(column("keys"), column("nodes"), column("codes"))

    def __len__(self) -> int:
        return len(self.keys)

    def of_places(self, places: slice) -> _Records:
        """Return some of the records."""
        return _Records(self.keys[places], self.nodes[places], self.codes[places])


@dataclass(frozen=True)
class PointGroupTask(EngineTask):
    """Find the groups in sets of vectors with the engine of one machine."""

    plan: PointPlan  # type: ignore[assignment]
    format: PointFormat = field(kw_only=True)
    buckets: BucketPlan = field(kw_only=True)

    def _findings(
        self, table: Table, keep: Any, earlier: EarlierRowsOf | None
    ) -> Findings:
        reader = PointReader(self.plan.kind, self.plan.measure, self.format)
        points = points_of_table(reader, table)
        with folder_for(table, self.spool_bytes) as folder:
            request = Request(
                keep=keep,
                against=earlier,
                format_of=lambda: self.format,
                folder=folder,
                buckets=self.buckets,
            )
            return run_points(points, self.plan, Clock(), request).found


@dataclass(frozen=True)
class PointPairTask(PairTask):
    """Find all similar pairs in sets of vectors."""

    plan: PointPlan  # type: ignore[assignment]
    format: PointFormat = field(kw_only=True)
    buckets: BucketPlan = field(kw_only=True)

    def _found(self, table: Table) -> Iterator[Batch]:
        reader = PointReader(self.plan.kind, self.plan.measure, self.format)
        points = points_of_table(reader, table)
        with folder_for(table, self.spool_bytes) as folder:
            pairs, compared = pairs_of_part(
                points, self.plan, self.format, self.buckets, folder
            )
        ids = table.column("id").combine_chunks()
        yield from self._batches(ids, pairs, copy=False)
        yield self._figures(ids.type, compared)
