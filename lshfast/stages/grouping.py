"""The stage group: the components of all links are divided into parts that fit into memory.

What it takes does not depend on the number of rows: links are contracted in files, and rows are
sorted in files twice. Sorted by component, then by the hashes of their texts, equal texts are next
to each other, so that the most preferred of them is chosen, and what a component takes is known at
its end. Then components are numbered by part, and rows are sorted by their numbers again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from lshfast._common.rows import parts_of_rows, run_begins
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._engine.account.short_texts import sample_for
from lshfast._engine.budget import obtainable
from lshfast._engine.marks import RowMarks
from lshfast._engine.parts.part_numbers import PartNumbers
from lshfast._io import DataError
from lshfast._io.advice import option_for
from lshfast._io.files import kind_of
from lshfast.join.external.components import components_of_links
from lshfast.join.external.record_spool import PIECE_RECORDS, RecordSpool
from lshfast.join.external.sorted_runs import SortedRuns
from lshfast.stages.joining import records_of
from lshfast.stages.ordering import Preferences, check_kinds, ranks_of_preferences
from lshfast.stages.sketching import (
    OF_CORPUS,
    restored_corpus,
    rows_of_sketch,
    sorted_runs,
)
from lshfast.stages.stage_plan import ROW_BITS, StagePlan
from lshfast.stages.task_files import RANGE_BYTES, TaskWriter, figures_of, writing
from lshfast.stages.task_reader import TaskFile
from lshfast.stages.value_counts import add_totals

# What a row takes in its part if its text is not read: its numbers, and its key.
KEY_BYTES = 200

# The words of a row that is sorted by component. The rows with equal bytes of a component follow
# each other, the preferred one first. Their first hash is enough for that order: if another text
# has it, copies are compared that need not be. The first word is the label of the component and, in
# the bits that this leaves, the beginning of the hash, so that few first words are equal.
LABEL = 0
FIRST_HASH = 1
PREFERENCE = 2
ROW = 3
SECOND_HASH = 4
LENGTH = 5
COMPONENT_WORDS = 6

# The words of a row that is sorted by its number: it, the chosen row, its part, its preference.
ROW_WORDS = 4

# Rows of a range: 41 bytes each.
RANGE_ROWS = RANGE_BYTES // 48


class Totals(NamedTuple):
    """The memory that all rows take in their parts, and the bytes of the longest text read."""

    cost: int
    longest: int


def group(plan: StagePlan, task: int) -> None:
    """Find the components of all links, and divide them into parts that fit into memory."""
    with (
        writing(plan, "group", task) as writer,
        tempfile.TemporaryDirectory(
            prefix="lshfast-", ignore_cleanup_errors=True
        ) as folder,
    ):
        of_shards = [figures_of(plan, "sketch", shard) for shard in range(plan.shards)]
        first_row = np.concatenate(
            [[0], np.cumsum([shard["rows"] for shard in of_shards], dtype=np.int64)]
        )
        id_type = _checked_ids(plan, first_row, [shard["ids"] for shard in of_shards])
        kinds = [shard["orders"] for shard in of_shards]
        check_kinds(plan, kinds)
        labels = RecordSpool(os.path.join(folder, "labels"), 2)
        for members, members_labels in components_of_links(
            _links(plan, first_row),
            int(first_row[-1]),
            obtainable(plan.budget.work(0)),
        ):
            labels.add(members, members_labels)
        preferences = Preferences(plan, first_row, kinds, labels, folder)
        components = RecordSpool(os.path.join(folder, "components"), 2)
        rows = RecordSpool(os.path.join(folder, "rows"), 3)
        with sorted_runs(plan, COMPONENT_WORDS) as by_component:
            _add_rows(plan, first_row, labels, preferences, by_component)
            batches = by_component.merged(plan.budget.work(0) // 2)
            totals = _add_components(
                batches,
                _label_bits(first_row),
                plan.budget.row_bytes,
                components,
                rows,
            )
        memory = plan.budget.work(0, totals.longest)
        numbers = PartNumbers(min(memory, -(-totals.cost // plan.tasks)))
        with sorted_runs(plan, ROW_WORDS) as by_row:
            _number_rows(components, rows, numbers, by_row)
            batches = by_row.merged(plan.budget.work(0) // 2)
            _write_rows(plan, first_row, batches, numbers, writer)
        add_totals(writer, plan)
        of_parts = [count for shard in of_shards for count in shard["rows_of_files"]]
        of_files = np.zeros(len(plan.content["files"]), np.int64)
        np.add.at(of_files, plan.files_of_parts(), np.array(of_parts, np.int64))
        writer.figures = {
            "rows": int(first_row[-1]),
            "first_row": first_row.tolist(),
            "first_of_files": [0, *np.cumsum(of_files).tolist()],
            "ids": id_type,
            "bounds": _bounds(numbers.costs(), plan.tasks),
            "part_memory": memory,
        }


def _links(
    plan: StagePlan, first_row: Int64Array
) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield the links of all join tasks, with the numbers of rows in the run."""
    counts = np.diff(first_row)
    for task in range(plan.tasks):
        with TaskFile(plan, "join", task) as file:
            for pairs in _pieces(_pairs_of(file), PIECE_RECORDS):
                shards = (pairs >> np.uint64(ROW_BITS)).astype(np.int64)
                local = (pairs & np.uint64((1 << ROW_BITS) - 1)).astype(np.int64)
                if (shards >= plan.shards).any() or (
                    local >= counts[np.minimum(shards, plan.shards - 1)]
                ).any():
                    raise file.fault("it has links of rows that are not there")
                numbers = first_row[shards] + local
                yield (
                    np.ascontiguousarray(numbers[:, 0]),
                    np.ascontiguousarray(numbers[:, 1]),
                )


def _pairs_of(file: TaskFile) -> Iterator[UInt64Array]:
    """Yield the links in the file of a join task, (m, 2)."""
    return (records_of(file, part["links"]) for part in file.ranges(0))


def _add_rows(
    plan: StagePlan,
    first_row: Int64Array,
    labels: RecordSpool,
    preferences: Preferences,
    by_component: SortedRuns,
) -> None:
    """Add the rows that have labels, with the marks of their texts."""
    reader = labels.reader()
    label_bits = _label_bits(first_row)
    for shard in range(plan.shards):
        for row, portion, _ in rows_of_sketch(plan, shard):
            begin = int(first_row[shard]) + row
            members = reader.until(begin + len(portion))
            if len(members):
                numbers = members[:, 0].view(np.int64)
                words = portion.words[numbers - begin]
                records = np.empty((len(members), COMPONENT_WORDS), np.uint64)
                records[:, LABEL] = members[:, 1] << np.uint64(64 - label_bits)
                records[:, LABEL] |= words[:, 1] >> np.uint64(label_bits)
                records[:, FIRST_HASH] = words[:, 1]
                records[:, PREFERENCE] = preferences.of(shard, numbers)
                records[:, ROW] = members[:, 0]
                records[:, SECOND_HASH] = words[:, 2]
                records[:, LENGTH] = words[:, 0]
                by_component.add(records)


def _label_bits(first_row: Int64Array) -> int:
    """Return the bits of the number of a row."""
    return max(1, int(first_row[-1]).bit_length())


def _add_components(
    batches: Iterable[UInt64Array],
    label_bits: int,
    row_bytes: int,
    components: RecordSpool,
    rows: RecordSpool,
) -> Totals:
    """Choose the preferred of equal texts; add rows and what components take, in their order.

    Parameters
    ----------
    batches : iterable of ndarray of uint64, shape (m, COMPONENT_WORDS)
        Sorted.
    label_bits : int
        The bits of a label.
    row_bytes : int
        What a row takes in its part beside its text.
    components : RecordSpool
        Gets what each component takes, and 1 if it has several texts, which are compared.
    rows : RecordSpool
        Gets (row, chosen row, preference). The chosen row is twice its number, and 1 more if the
        row is the first one of its component.
    """
    costs = _ComponentCosts(row_bytes, components)
    last_record = np.empty((0, COMPONENT_WORDS), np.uint64)
    last_chosen = np.empty(0, np.uint64)
    for piece in _pieces(batches, PIECE_RECORDS):
        records = np.concatenate([last_record, piece])
        begins_text = run_begins(
            *(records[:, word] for word in (LABEL, FIRST_HASH, SECOND_HASH, LENGTH))
        )
        labels = records[:, LABEL] >> np.uint64(64 - label_bits)
        begins_component = run_begins(labels)[len(last_record) :]
        chosen_of_texts = records[begins_text, ROW]
        chosen_of_texts[: len(last_chosen)] = last_chosen
        chosen = chosen_of_texts[np.cumsum(begins_text) - 1][len(last_record) :]
        rows.add(
            piece[:, ROW],
            chosen * np.uint64(2) + begins_component,
            piece[:, PREFERENCE],
        )
        lengths = RowMarks(piece[:, LENGTH:]).nbytes
        costs.add(begins_component, chosen == piece[:, ROW], lengths)
        last_record = records[-1:]
        last_chosen = chosen[-1:]
    return costs.finished()


class _ComponentCosts:
    """What components take, whose rows come in any number at a time.

    Parameters
    ----------
    row_bytes : int
        What a row takes that is compared, beside its text.
    components : RecordSpool
        Gets (bytes, whether the component has several texts) for each component.
    """

    def __init__(self, row_bytes: int, components: RecordSpool) -> None:
        self._row_bytes = row_bytes
        self._components = components
        self._cost = 0
        self._longest = 0
        # Rows, texts, and bytes of all texts and of the longest one, of the last component.
        self._open = np.zeros((4, 1), np.int64)

    def add(self, begins: BoolArray, is_text: BoolArray, lengths: Int64Array) -> None:
        """Add rows: whether each begins a component, and a text, and the bytes of its text."""
        component = np.cumsum(begins, dtype=np.int64)
        of_components = np.zeros((4, int(component[-1]) + 1), np.int64)
        of_components[:, :1] = self._open
        rows, texts, nbytes, longest = of_components
        text_bytes = np.where(is_text, lengths, 0)
        starts = np.flatnonzero(run_begins(component))
        numbers = component[starts]
        rows[numbers] += np.diff(starts, append=len(component))
        texts[numbers] += np.add.reduceat(is_text, starts, dtype=np.int64)
        nbytes[numbers] += np.add.reduceat(text_bytes, starts)
        of_portion = np.maximum.reduceat(text_bytes, starts)
        longest[numbers] = np.maximum(longest[numbers], of_portion)
        self._close(of_components[:, :-1])
        self._open = of_components[:, -1:]

    def finished(self) -> Totals:
        """Return the totals; all rows have come."""
        self._close(self._open)
        return Totals(self._cost, self._longest)

    def _close(self, of_components: Int64Array) -> None:
        rows, texts, nbytes, longest = of_components[:, of_components[0] > 0]
        is_compared = texts > 1
        costs = KEY_BYTES * rows
        costs += np.where(is_compared, nbytes + texts * self._row_bytes, 0)
        self._components.add(costs, is_compared.astype(np.int64))
        self._cost += int(costs.sum())
        self._longest = max(self._longest, int(longest[is_compared].max(initial=0)))


def _number_rows(
    components: RecordSpool,
    rows: RecordSpool,
    numbers: PartNumbers,
    by_row: SortedRuns,
) -> None:
    """Add (row, chosen row, part, preference); see `_add_components` for the first two arguments.

    A part is twice its provisional number, and 1 more if the text of the row is read again.
    """
    reader = components.reader()
    last_part = np.empty(0, np.int64)
    last_is_compared = np.empty(0, np.uint64)
    for piece in rows.pieces():
        begins = piece[:, 1] % np.uint64(2)
        chosen = piece[:, 1] // np.uint64(2)
        begun = reader.take(int(begins.sum()))
        parts = np.concatenate([last_part, numbers.of(begun[:, 0].view(np.int64))])
        is_compared = np.concatenate([last_is_compared, begun[:, 1]])
        component = np.cumsum(begins, dtype=np.int64) - 1 + len(last_part)
        is_read = (chosen == piece[:, 0]) & (is_compared[component] > 0)
        part_words = (2 * parts[component] + is_read).view(np.uint64)
        by_row.add(np.stack([piece[:, 0], chosen, part_words, piece[:, 2]], axis=1))
        last_part = parts[-1:]
        last_is_compared = is_compared[-1:]


def _write_rows(
    plan: StagePlan,
    first_row: Int64Array,
    batches: Iterable[UInt64Array],
    numbers: PartNumbers,
    writer: TaskWriter,
) -> None:
    """Write the rows of each shard, in ranges that need not be held together."""
    sample = sample_for(int(first_row[-1]), plan.engine)
    last_shard = -1
    for shard, piece in _by_shard(batches, first_row):
        begin, end = np.searchsorted(sample, first_row[shard : shard + 2])
        part_words = piece[:, 2].view(np.int64)
        writer.add(
            shard,
            rows=piece[:, 0].view(np.int64),
            parts=numbers.final(part_words // 2),
            chosen=piece[:, 1].view(np.int64),
            ranks=ranks_of_preferences(piece[: len(piece) if plan.ranks else 0, 3]),
            sampled=sample[begin:end] if shard > last_shard else sample[:0],
            read=(part_words % 2).astype(np.uint8),
        )
        last_shard = shard


def _by_shard(
    batches: Iterable[UInt64Array], first_row: Int64Array
) -> Iterator[tuple[int, UInt64Array]]:
    """Yield portions of sorted rows with their shards; each shard is there at least once."""
    shard = 0
    for piece in _pieces(batches, RANGE_ROWS):
        while int(piece[-1, 0]) >= first_row[shard + 1]:
            count = int(np.searchsorted(piece[:, 0], np.uint64(first_row[shard + 1])))
            yield shard, piece[:count]
            piece = piece[count:]
            shard += 1
        yield shard, piece
    for later_shard in range(shard, len(first_row) - 1):
        yield later_shard, np.empty((0, ROW_WORDS), np.uint64)


def _pieces(batches: Iterable[UInt64Array], count: int) -> Iterator[UInt64Array]:
    """Yield arrays of at most `count` records."""
    return (
        batch[part] for batch in batches for part in parts_of_rows(len(batch), count)
    )


def _bounds(costs: Int64Array, tasks: int) -> list[int]:
    """Return the first part of each verify task, and the number of parts.

    A part belongs to the task in whose share of the costs its middle is.
    """
    ends = np.cumsum(costs, dtype=np.float64)
    total = ends[-1] if len(ends) else 0.0
    middles = ends - np.diff(ends, prepend=0) / 2
    shares = np.arange(tasks + 1, dtype=np.float64) * total / tasks
    return [*np.searchsorted(middles, shares[:-1]).tolist(), len(ends)]


def _checked_ids(
    plan: StagePlan, first_row: Int64Array, types: list[str | None]
) -> str | None:
    """Return the type of the ids; DataError if two are equal or of different types."""
    if plan.content["id_column"] is None:
        return None
    first_type = next(
        (shard_type for shard_type in types if shard_type is not None), None
    )
    for shard, shard_type in enumerate(types):
        if shard_type not in (first_type, None):
            corpus = restored_corpus(plan, shard, False)
            identity = corpus.key(0)
            raise corpus.fault(
                0, f"id {identity!r} is {kind_of(identity)}, the ids before it are not"
            )
    with sorted_runs(plan) as runs:
        for shard in range(plan.shards):
            runs.add(_id_marks(plan, shard, first_row))
        last = np.empty((0, 2), np.uint64)
        for batch in runs.merged(plan.budget.work(0) // 2):
            marks = np.concatenate([last, batch])
            again = np.flatnonzero((marks[1:] == marks[:-1]).all(axis=1))
            if len(again):
                raise _id_taken(plan, first_row, marks[again[0]])
            last = marks[-1:].copy()
    return first_type


def _id_marks(plan: StagePlan, shard: int, first_row: Int64Array) -> UInt64Array:
    """Return the keyed hashes (m, 2) of the ids of a shard."""
    with TaskFile(plan, "sketch", shard) as file:
        marks: UInt64Array = file.only(OF_CORPUS)["id_marks"]
        if len(marks) != 2 * (first_row[shard + 1] - first_row[shard]):
            raise file.fault("it has not one id for each row")
        return marks.reshape(-1, 2)


def _id_taken(plan: StagePlan, first_row: Int64Array, mark: UInt64Array) -> DataError:
    """Return the error of an id with this mark that several rows have."""
    places: list[tuple[int, int]] = []
    for shard in range(plan.shards):
        rows_of_id = np.flatnonzero(
            (_id_marks(plan, shard, first_row) == mark).all(axis=1)
        )
        places += [(shard, row) for row in rows_of_id.tolist()]
    (by, before), (at, row) = places[:2]
    name, line = restored_corpus(plan, by, False).place(before)
    corpus = restored_corpus(plan, at, False)
    reason = f"id {corpus.key(row)!r} is taken by {name}:{line}"
    return corpus.fault(row, f"{reason}; {option_for(reason)}")
