"""The stages sketch and band: texts become sorted records of bucket keys for the joins."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.private_files import TemporaryFolder
from lshfast._common.rows import parts_of_rows
from lshfast._common.threads import quick_switches
from lshfast._common.types import UInt64Array
from lshfast._engine.budget import obtainable
from lshfast._engine.clock import Clock
from lshfast._engine.inputs import faults_of, text_batches
from lshfast._engine.marks import WIDTH, RowMarks
from lshfast._engine.parts.earlier_columns import add_earlier
from lshfast._engine.parts.key_columns import UNSIGNED_IDS
from lshfast._engine.parts.sketched_rows import sketched_rows
from lshfast._engine.parts.task_files import (
    RANGE_BYTES,
    TaskWriter,
    figures_of,
    writing,
)
from lshfast._engine.parts.task_reader import TaskFile
from lshfast._io import Corpus, Reject
from lshfast.join.external.bucket_runs import BucketRuns
from lshfast.join.external.records import sorting_bytes
from lshfast.join.external.run_file import BLOCK_RECORDS, RECORD_BYTES
from lshfast.join.external.sorted_runs import SortedRuns
from lshfast.kernels.text import Texts, two_tokens_of_texts
from lshfast.stages.counting import engine_of
from lshfast.stages.earlier import earlier_rows
from lshfast.stages.stage_plan import StagePlan
from lshfast.stages.value_counts import add_values

# The numbers of the ranges of a sketch file: rows, what the corpus has recorded of all of them, and
# their order values.
OF_ROWS = 0
OF_CORPUS = 1
OF_ORDERS = 2


def sketch(plan: StagePlan, shard: int) -> None:
    """Read the texts of a shard; write what later tasks need of each row, except the text."""
    engine = engine_of(plan)
    secret = plan.keys
    reader = engine.reader()
    corpus = plan.corpus(shard, reader=reader)
    rows = empty = nbytes = 0
    with earlier_rows(plan) as removed, writing(plan, "sketch", shard) as writer:
        with faults_of(corpus), quick_switches():
            texts = text_batches(corpus)
            for marks, keys in sketched_rows(texts, engine, secret, Clock(), removed):
                writer.add(OF_ROWS, prints=marks.words, keys=keys)
                rows += len(marks)
                nbytes += int(marks.nbytes.sum())
                empty += int(marks.empty.sum())
        arrays, values = corpus.state()
        ids = corpus.ids
        id_marks = np.empty(0, np.uint64)
        if ids is not None:
            id_marks = two_tokens_of_texts(
                Texts([str(identity) for identity in ids]), *secret
            )
        for name in ("orders", "by"):  # they have ranges of their own
            values.pop(name, None)
        state = np.frombuffer(json.dumps(values).encode(), np.uint8)
        writer.add(
            OF_CORPUS,
            lines=arrays["lines"],
            starts=arrays["starts"],
            id_marks=id_marks,
            values=state,
        )
        writer.figures = {
            "orders": _add_orders(writer, corpus.order),
            "elements": None if reader is None else reader.elements,
            "rows": rows,
            "rows_of_files": np.diff(arrays["starts"], append=rows).tolist(),
            "lines_of_last_file": corpus.lines_of_last_file,
            "rejected": len(corpus.rejected),
            "empty": empty,
            "nbytes": nbytes,
            "delimiters": corpus.delimiters,
            "ids": None if not ids else _type_of_ids(corpus, ids[0]),
        }
        add_values(writer, corpus.by)
        if removed is not None:
            add_earlier(writer, removed.finished())


def _type_of_ids(corpus: Corpus, first_id: str | int) -> str:
    """Return the name of the type of the ids of a shard, of which this is one."""
    return UNSIGNED_IDS if corpus.has_unsigned_ids else type(first_id).__name__


def _add_orders(
    writer: TaskWriter, orders: npt.NDArray[Any] | Sequence[str] | None
) -> str | None:
    """Write the order values of a shard, if there are any, and return their kind.

    Numbers are 64-bit integers or doubles; of strings, the lengths are written, and their bytes.
    """
    if orders is None or not len(orders):
        return None
    if isinstance(orders, np.ndarray):
        writer.add(OF_ORDERS, orders=orders.view(np.uint64))
        return "int" if orders.dtype.kind == "i" else "float"
    strings = [value.encode(errors="surrogatepass") for value in orders]
    lengths = np.fromiter(map(len, strings), np.uint64, len(strings))
    writer.add(
        OF_ORDERS, orders=lengths, values=np.frombuffer(b"".join(strings), np.uint8)
    )
    return "str"


def restored_corpus(
    plan: StagePlan,
    shard: int,
    checked: bool = True,
    lines_before: int | None = None,
) -> Corpus:
    """Return the corpus of a shard as its sketch task left it; optionally check its files.

    `lines_before` are the lines of its first file that are in earlier shards. The task group
    records them; before its end, the manifests of earlier shards are opened for them.

    Raises
    ------
    FormatError
        If the sketch file is damaged.
    """
    if lines_before is None:
        lines_of_last_files = [
            figures_of(plan, "sketch", number)["lines_of_last_file"]
            for number in range(shard)
        ]
        lines_before = lines_before_shards(plan, lines_of_last_files)[shard]
    corpus = plan.corpus(shard, checked, lines_before)
    with TaskFile(plan, "sketch", shard) as file:
        arrays = file.only(OF_CORPUS)
        lines = arrays["lines"]
        starts = arrays["starts"]
        try:
            values = json.loads(arrays["values"].tobytes())
            ids = values["ids"]
            _ = [Reject(*reject) for reject in values["rejected"]]
        except (ValueError, KeyError, TypeError) as error:
            raise file.fault(f"its ids or rejected rows are damaged: {error}") from None
        bounds = np.append(starts, len(lines))
        if (
            len(starts) != len(corpus.files)
            or bounds[0] != 0
            or (np.diff(bounds) < 0).any()
        ):
            raise file.fault("its rows do not belong to the files of the shard")
        if type(ids) is not list or len(ids) != (
            len(lines) if corpus.layout.id_column is not None else 0
        ):
            raise file.fault("it has not one id for each row")
        rising = np.diff(lines) > 0
        rising[bounds[(bounds > 0) & (bounds < len(lines))] - 1] = (
            True  # from one file to the next
        )
        if len(lines) != file.rows or (lines < 0).any() or not rising.all():
            raise file.fault("it has not one line for each row")
    corpus.restore(
        {"lines": lines, "starts": starts, "orders": np.empty(0, np.int64)}, values
    )
    return corpus


def lines_before_shards(plan: StagePlan, lines_of_last_files: list[int]) -> list[int]:
    """Return the lines of the first file of each shard that are in earlier shards.

    Given are the lines that each of the first shards has of its last file. The answer has one shard
    more.
    """
    lines_before = [0]
    for shard, lines in enumerate(lines_of_last_files):
        if not plan.begins_inside(shard + 1):
            lines_before.append(0)
        elif len(plan.content["shards"][shard]) > 1:  # the file begins in it
            lines_before.append(lines)
        else:
            lines_before.append(lines_before[shard] + lines)
    return lines_before


def check_elements(plan: StagePlan, types: list[str | None], first_shard: int) -> None:
    """Raise DataError if the sets of some shards have strings, and of others integers.

    `types` has "str", "int" or None of each shard from `first_shard` on.
    """
    first = next((name for name in types if name is not None), None)
    for shard, name in enumerate(types, first_shard):
        if name not in (None, first):
            corpus = restored_corpus(plan, shard, False)
            reason = "sets from here on have integers, and those before it strings"
            if name == "str":
                reason = "sets from here on have strings, and those before it integers"
            raise corpus.fault(0, reason)


def rows_of_sketch(
    plan: StagePlan, shard: int
) -> Iterator[tuple[int, RowMarks, UInt64Array]]:
    """Yield the first row, the marks and the keys (m, b) of portions of the rows of a shard."""
    row = 0
    bands = plan.engine.bands.bands
    with TaskFile(plan, "sketch", shard) as file:
        for portion in file.ranges(OF_ROWS):
            rows = len(portion["prints"]) // WIDTH
            if (
                len(portion["prints"]) != WIDTH * rows
                or len(portion["keys"]) != rows * bands
            ):
                raise file.fault("its columns have different numbers of rows")
            yield (
                row,
                RowMarks(portion["prints"].reshape(rows, WIDTH)),
                portion["keys"].reshape(rows, bands),
            )
            row += rows
        if row != file.rows:
            raise file.fault(f"it has {row} rows, not {file.rows}")


def band(plan: StagePlan, shard: int) -> None:
    """Sort the records (mixed key, row) of each band of a shard, in the ranges of join tasks."""
    ranges = key_ranges(plan.engine.bands.bands, plan.tasks)
    with (
        bucket_runs(plan, plan.engine.bands.bands) as runs,
        writing(plan, "band", shard) as writer,
    ):
        for _, _, keys in rows_of_sketch(plan, shard):
            runs.add(keys)
        runs.settle()
        memory = plan.budget.work(0) // 2
        for number, records in _records_by_range(runs, ranges, memory):
            for part in parts_of_rows(len(records), RANGE_BYTES // RECORD_BYTES):
                writer.add(number, records=records[part])
        writer.figures = {"rows": runs.n}


def _records_by_range(
    runs: BucketRuns, ranges: Sequence[KeyRange], memory: int
) -> Iterator[tuple[int, UInt64Array]]:
    """Yield numbers of ranges, ascending, and sorted records in each; remove the records."""
    first_number = 0
    for band_number in range(len(runs)):
        last_keys = [each.last for each in ranges if each.band == band_number]
        bounds = np.array(last_keys, np.uint64)
        for batch in runs.records(band_number, memory):
            ends = np.searchsorted(batch[:, 0], bounds, side="right").tolist()
            for place, (low, high) in enumerate(pairwise([0, *ends])):
                yield first_number + place, batch[low:high]
        first_number += len(last_keys)
        runs.forget(band_number)


class KeyRange(NamedTuple):
    """The bucket keys of a band, from the first to the last one, that a join task has."""

    band: int
    first: int
    last: int
    task: int


def key_ranges(bands: int, tasks: int) -> list[KeyRange]:
    """Divide the keys of all bands, one band after another, equally among the join tasks."""
    key_count = bands << 64
    bounds = {band << 64 for band in range(bands + 1)}
    bounds.update(-(-task * key_count // tasks) for task in range(tasks))
    return [
        KeyRange(
            begin >> 64,
            begin % (1 << 64),
            (end - 1) % (1 << 64),
            begin * tasks // key_count,
        )
        for begin, end in pairwise(sorted(bounds))
    ]


@contextmanager
def bucket_runs(plan: StagePlan, bands: int) -> Iterator[BucketRuns]:
    """Yield the room for records of bands, as `sorted_runs` does."""
    least = (bands + 1) * BLOCK_RECORDS * RECORD_BYTES
    memory = max(least, obtainable(plan.budget.work(0) // 2))
    with (
        TemporaryFolder() as folder,
        BucketRuns(folder, bands, memory) as runs,
    ):
        yield runs


@contextmanager
def sorted_runs(plan: StagePlan, words: int = 2) -> Iterator[SortedRuns]:
    """Yield the room to sort records; above half of a task's memory they go to temporary files."""
    of_record = 2 * RECORD_BYTES * words // 2 + sorting_bytes(words)
    records = max(BLOCK_RECORDS, obtainable(plan.budget.work(0) // 2) // of_record)
    with TemporaryFolder() as folder:
        buffer, scratch = np.empty((2, records, words), np.uint64)
        with SortedRuns(folder, "records", buffer, scratch) as runs:
            del buffer, scratch
            yield runs
