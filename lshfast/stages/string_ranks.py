"""The order of the strings by which rows are kept, of any number of rows in the memory of a task.

Strings are sorted in files by their first bytes; those that are equal so far and have more bytes
are sorted by the next ones, or in memory if what is left of them fits: equal strings may be long.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from lshfast._common.rows import int64_range, run_begins
from lshfast._common.types import BoolArray, Int64Array, UInt8Array, UInt64Array
from lshfast._engine.budget import obtainable
from lshfast.join.external.record_spool import PIECE_RECORDS, RecordSpool, pieces_of
from lshfast.join.external.records import WORD_BYTES
from lshfast.stages.sketching import sorted_runs
from lshfast.stages.stage_plan import StagePlan

# Words of a string that are compared at a time: dates fit into them.
WORDS = 4
STRING_BYTES = WORDS * WORD_BYTES

# The words of a record: its rank so far, a part of its string, how many bytes this has (more than
# STRING_BYTES if others follow), and its row.
RANK = 0
ENDING = 1 + WORDS
ROW = 2 + WORDS
RECORD_WORDS = 3 + WORDS

# Rows whose strings are read at a time.
PORTION_ROWS = 1 << 14

# What a row takes beside its string while strings are sorted in memory: a tuple, and its values.
MEMORY_BYTES = 256


class Strings(NamedTuple):
    """Strings of UTF-8 as data[ends[i]:ends[i + 1]]; their order is that of their characters."""

    data: UInt8Array
    ends: Int64Array


class _Portion(NamedTuple):
    """Rows of a shard with their ranks so far (m, 2), the strings of the shard, and their rows."""

    ranked_rows: UInt64Array
    strings: Strings
    local: Int64Array


def ranked_strings(
    plan: StagePlan,
    first_row: Int64Array,
    strings_of: Callable[[int], Strings],
    rows: RecordSpool,
    folder: str,
) -> RecordSpool:
    """Return the rank of the string of each row among all rows; equal strings have equal ranks.

    Parameters
    ----------
    plan : StagePlan
    first_row : ndarray of int64, shape (shards + 1,)
    strings_of : callable
        Returns the strings of all rows of a shard.
    rows : RecordSpool
        Has rows as first words, ascending; earlier rows are left out.
    folder : str
        Gets files whose names begin with "strings".

    Returns
    -------
    RecordSpool
        Has (row, rank), in the order of rows.
    """

    def new_spool(name: str) -> RecordSpool:
        return RecordSpool(os.path.join(folder, f"strings-{name}"), 2)

    ranks = new_spool("ranks")
    ties = new_spool("all")
    for piece in rows.pieces():
        # Earlier rows have no strings.
        new_rows = piece[piece[:, 0] < np.uint64(first_row[plan.new_shards]), 0]
        ties.add(new_rows, np.zeros(len(new_rows), np.uint64))
    depth = 0
    while len(ties):
        if depth and _rank_in_memory(
            _portions(plan, first_row, strings_of, ties),
            depth,
            obtainable(plan.budget.work(0) // 4),
            ranks,
        ):
            break
        new_ties = new_spool(f"equal-{depth}")
        with sorted_runs(plan, RECORD_WORDS) as runs:
            for portion in _portions(plan, first_row, strings_of, ties):
                runs.add(_records(portion, depth))
            _rank(runs.merged(plan.budget.work(0) // 2), ranks, new_ties)
        depth += STRING_BYTES
        ties = _by_row(plan, new_ties, new_spool(f"sorted-{depth}"))
    return _by_row(plan, ranks, new_spool("sorted-ranks"))


def _portions(
    plan: StagePlan,
    first_row: Int64Array,
    strings_of: Callable[[int], Strings],
    ties: RecordSpool,
) -> Iterator[_Portion]:
    """Yield the rows of `ties`, which ascend, with the strings of their shards."""
    reader = ties.reader()
    for shard in range(plan.shards):
        ties_of_shard = reader.until(int(first_row[shard + 1]))
        if len(ties_of_shard):
            strings = strings_of(shard)
            for ranked_rows in pieces_of([ties_of_shard], PORTION_ROWS):
                local = ranked_rows[:, 0].astype(np.int64) - first_row[shard]
                yield _Portion(ranked_rows, strings, local)


def _rank_in_memory(
    portions: Iterable[_Portion], depth: int, memory: int, ranks: RecordSpool
) -> bool:
    """Add the ranks of rows by their strings from byte `depth` on, if these fit into memory.

    Returns whether they do. Rows of equal rank so far have strings that are equal up to there.
    """
    endings: list[tuple[int, bytes, int]] = []
    for ranked_rows, strings, local in portions:
        starts = strings.ends[local] + depth
        ends = strings.ends[local + 1]
        memory -= int((ends - starts).sum()) + MEMORY_BYTES * len(local)
        if memory < 0:
            return False
        for (row, rank), start, end in zip(
            ranked_rows.tolist(), starts.tolist(), ends.tolist(), strict=True
        ):
            endings.append((rank, strings.data[start:end].tobytes(), row))
    endings.sort()
    ordered_rows = np.array([row for *_, row in endings], np.uint64)
    new_ranks: list[int] = []
    for rank, of_rank in groupby(endings, key=itemgetter(0)):
        first = len(new_ranks)
        for _, of_string in groupby(of_rank, key=itemgetter(1)):
            new_rank = rank + len(new_ranks) - first
            new_ranks += [new_rank for _ in of_string]
    ranks.add(ordered_rows, np.array(new_ranks, np.uint64))
    return True


def _by_row(plan: StagePlan, records: RecordSpool, target: RecordSpool) -> RecordSpool:
    """Add records to `target`, sorted by row, and return it."""
    with sorted_runs(plan) as runs:
        for piece in records.pieces():
            runs.add(piece)
        for batch in runs.merged(plan.budget.work(0) // 2):
            target.add(*batch.T)
    return target


def _records(portion: _Portion, depth: int) -> UInt64Array:
    """Return the records of rows with their ranks so far, from byte `depth` of their strings on."""
    ranked_rows, strings, local = portion
    starts = strings.ends[local] + depth
    lengths = strings.ends[local + 1] - starts
    columns = int64_range(STRING_BYTES)
    is_inside = columns < lengths[:, None]
    string_bytes = np.zeros(is_inside.shape, np.uint8)
    string_bytes[is_inside] = strings.data[(starts[:, None] + columns)[is_inside]]
    records = np.empty((len(local), RECORD_WORDS), np.uint64)
    records[:, RANK] = ranked_rows[:, 1]
    records[:, RANK + 1 : ENDING] = string_bytes.view(">u8")
    records[:, ENDING] = np.minimum(lengths, STRING_BYTES + 1)
    records[:, ROW] = ranked_rows[:, 0]
    return records


def _rank(
    batches: Iterable[UInt64Array], ranks: RecordSpool, ties: RecordSpool
) -> None:
    """Add the ranks of sorted records to `ranks`, or to `ties` if further bytes are compared."""
    end = np.full((1, RECORD_WORDS), np.iinfo(np.uint64).max, np.uint64)
    last = np.empty((0, RECORD_WORDS), np.uint64)
    place = 0
    rank_start = 0
    string_start = 0
    for piece in pieces_of(chain(batches, [end]), PIECE_RECORDS):
        # Whether the last record is equal to the next one is not known before that comes.
        records = np.concatenate([last, piece])
        places = int64_range(place, place + len(records))
        begins_rank = run_begins(records[:, RANK])
        begins_string = run_begins(*records[:, :ROW].T)
        if len(last):
            begins_rank[0] = rank_start == place
            begins_string[0] = string_start == place
        rank_starts = _starts(begins_rank, places, rank_start)
        string_starts = _starts(begins_string, places, string_start)
        is_several = ~begins_string[:-1] | ~begins_string[1:]
        is_tied = is_several & (records[:-1, ENDING] > STRING_BYTES)
        new_ranks = records[:, RANK] + (string_starts - rank_starts).astype(np.uint64)
        ties.add(records[:-1, ROW][is_tied], new_ranks[:-1][is_tied])
        ranks.add(records[:-1, ROW][~is_tied], new_ranks[:-1][~is_tied])
        place = int(places[-1])
        rank_start = int(rank_starts[-1])
        string_start = int(string_starts[-1])
        last = records[-1:]


def _starts(begins: BoolArray, places: Int64Array, before: int) -> Int64Array:
    """Return where the run of each record begins; `before` is where that of the first one does."""
    return np.maximum.accumulate(np.where(begins, places, before))
