"""A join of texts with chosen ids, before which the other texts are dropped.

They are dropped where they are read, so only the chosen texts are shuffled. Few ids are sent to all
executors. More of them are represented by a Bloom filter, whose segments are filled by tasks
and looked up by a broadcast join, so texts do not pass through Python. All bits of a row are in one
segment (F. Putze, P. Sanders, J. Singler, "Cache-, hash- and space-efficient Bloom filters", 2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.rows import int64_range
from lshfast._common.types import UInt64Array
from lshfast.spark.binary_columns import signed
from lshfast.spark.sql import F
from lshfast.spark.tasks import Batch
from lshfast.spark.workers import WorkerTask

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Bits of the filter for each row, and those of them that a row sets. Of the rows that are not in
# the filter, 1.2 % pass.
BITS_OF_ROW = 10
PLACES = 4

# A segment has 2**15 bits, so that one hash of 64 bits has four places in it.
PLACE_BITS = 15
SEGMENT_BITS = 1 << PLACE_BITS
SEGMENT_WORDS = SEGMENT_BITS // 64

# The columns of the filter, beside those of a run.
SEGMENT = "segment of the filter"
PLACES_OF_ROW = "places of the row"
WORDS = "words of the filter"


@dataclass(frozen=True)
class JoinLimits:
    """From how many rows a join uses a filter, and the most bytes that a filter has."""

    broadcast_rows: int
    filter_bytes: int


def join_by_id(
    rows: DataFrame, chosen: DataFrame, number: int, limits: JoinLimits, how: str
) -> DataFrame:
    """Join rows with at most `number` chosen ids and their columns ("inner" or "left_semi")."""
    if number <= limits.broadcast_rows:
        return rows.join(F.broadcast(chosen), "id", how)
    segments = min(
        -(-number * BITS_OF_ROW // SEGMENT_BITS),
        limits.filter_bytes * 8 // SEGMENT_BITS,
    )
    return _filtered(rows, chosen, max(1, segments)).join(chosen, "id", how)


def _filtered(rows: DataFrame, chosen: DataFrame, segments: int) -> DataFrame:
    """Return the rows that may have one of the chosen ids."""
    hashes = (
        F.pmod(F.xxhash64("id"), F.lit(segments)).cast("long").alias(SEGMENT),
        F.xxhash64("id", F.lit(1)).alias(PLACES_OF_ROW),
    )
    row_filter = (
        chosen.select(*hashes)
        .repartition(SEGMENT)
        .mapInArrow(SegmentTask(), f"`{SEGMENT}` long, `{WORDS}` array<long>")
    )
    return (
        rows.select("*", *hashes)
        .join(F.broadcast(row_filter), SEGMENT)
        .where(_has_all_bits())
        .select(*rows.columns)
    )


def _has_all_bits() -> Column:
    """Return whether the bits of a row are set in its segment."""
    condition = F.lit(True)
    for number in range(PLACES):
        shifted = F.shiftrightunsigned(PLACES_OF_ROW, number * PLACE_BITS)
        place = shifted.bitwiseAND(F.lit(SEGMENT_BITS - 1)).cast("int")
        word = F.col(WORDS)[F.shiftright(place, 6)]
        condition = condition & (F.getbit(word, place.bitwiseAND(F.lit(63))) == 1)
    return condition


@dataclass(frozen=True)
class SegmentTask(WorkerTask):
    """Set the bits of rows in the segments of a filter.

    Input: the segment of each row, and its places; all rows of a segment are in one task. Output:
    each segment, once, and its words. The segments of the task are in memory.
    """

    def __call__(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        pa = optional("pyarrow", "spark")
        segments: dict[int, UInt64Array] = {}
        for batch in batches:
            segment_of_row = batch.column(0).to_numpy()
            order = np.argsort(segment_of_row, kind="stable")
            places = batch.column(1).to_numpy()[order].view(np.uint64)
            numbers, first = np.unique(segment_of_row[order], return_index=True)
            for number, part in zip(
                numbers.tolist(), np.split(places, first[1:]), strict=True
            ):
                words = segments.setdefault(number, np.zeros(SEGMENT_WORDS, np.uint64))
                _set_bits(words, part)
        if not segments:
            return
        table: dict[str, Any] = {
            SEGMENT: pa.array(list(segments), pa.int64()),
            WORDS: pa.ListArray.from_arrays(
                pa.array(
                    int64_range(len(segments) + 1) * SEGMENT_WORDS,
                    pa.int32(),
                ),
                pa.array(signed(np.concatenate(list(segments.values())))),
            ),
        }
        yield pa.RecordBatch.from_pydict(table)


def _set_bits(words: UInt64Array, places_of_rows: UInt64Array) -> None:
    """Set the bits of some rows in the words of their segment."""
    shifts = (int64_range(PLACES) * PLACE_BITS).astype(np.uint64)
    places = (places_of_rows[:, None] >> shifts) & np.uint64(SEGMENT_BITS - 1)
    bits = np.uint64(1) << (places & np.uint64(63))
    np.bitwise_or.at(words, (places >> np.uint64(6)).astype(np.int64), bits)
