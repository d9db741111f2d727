"""The part of each row that shares a bucket, and the row that is compared in its place.

Of the rows with equal bytes, which are all in one component, only the preferred one is compared.
What a component takes in its part is then known, and parts have as many components as fit.

Rows that do not fit into memory are sorted in files twice. Sorted by component, then by the hashes
of their texts, equal texts are next to each other, and what a component takes is known at its end.
Then its part is known, and rows are sorted by their numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from lshfast._common.rows import int64_range, run_begins
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast._engine.budget import obtainable
from lshfast._engine.marks import RowMarks
from lshfast._engine.parts.components import compared_copies
from lshfast._engine.parts.part_numbers import PartNumbers
from lshfast.join.external.record_spool import PIECE_RECORDS, RecordSpool, pieces_of
from lshfast.join.external.sorted_runs import SortedRuns
from lshfast.stages.ordering import ranks_of_preferences
from lshfast.stages.sketching import sorted_runs
from lshfast.stages.stage_plan import StagePlan

# What a row takes in its part if its text is not read: its numbers, and its key.
KEY_BYTES = 200

# What a row takes here while all are in memory.
MEMORY_BYTES = 160

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

# A label has 48 bits of its word, and the beginning of the hash 16.
LABEL_SHIFT = np.uint64(16)
HASH_SHIFT = np.uint64(48)

# The words of a row that is sorted by its number: it, the chosen row, its part, its preference.
ROW_WORDS = 4


class Members(NamedTuple):
    """Rows that share buckets with others, ascending.

    Attributes
    ----------
    rows : ndarray of uint64, shape (m,)
        Their numbers in the run.
    labels : ndarray of uint64, shape (m,)
        The smallest row of the component of each.
    preferences : ndarray of uint64, shape (m,)
        Rows with smaller ones are preferred, and of equal ones the first.
    marks : RowMarks
    """

    rows: UInt64Array
    labels: UInt64Array
    preferences: UInt64Array
    marks: RowMarks


class Division(NamedTuple):
    """Rows with their parts.

    Attributes
    ----------
    batches : iterable of ndarray of uint64, shape (m, ROW_WORDS)
        The row, ascending over all batches; the row that is compared in its place; twice the
        provisional number of its part, and 1 more if its text is read again; its preference.
    numbers : PartNumbers
    memory : int
        What a part may take; one of a single component may need more.
    """

    batches: Iterable[UInt64Array]
    numbers: PartNumbers
    memory: int


class _Totals(NamedTuple):
    """The memory that all rows take in their parts, and the bytes of the longest text read."""

    cost: int
    longest: int


@contextmanager
def divided_rows(
    plan: StagePlan, members: Iterable[Members], count: int, folder: str
) -> Iterator[Division]:
    """Yield `count` rows with their parts; they are sorted in files if they exceed the memory.

    The folder gets files of names that begin with "rows".
    """
    if MEMORY_BYTES * count <= obtainable(plan.budget.work(0)):
        yield _in_memory(plan, list(members))
        return
    components = RecordSpool(os.path.join(folder, "rows-components"), 2)
    rows = RecordSpool(os.path.join(folder, "rows"), 3)
    merge_memory = plan.budget.work(0) // 2
    with sorted_runs(plan, COMPONENT_WORDS) as by_component:
        for portion in members:
            by_component.add(_by_component(portion))
        batches = by_component.merged(merge_memory)
        totals = _add_components(batches, plan.budget.row_bytes, components, rows)
    memory, numbers = _parts(plan, totals)
    with sorted_runs(plan, ROW_WORDS) as by_row:
        _number_rows(components, rows, numbers, by_row)
        yield Division(by_row.merged(merge_memory), numbers, memory)


def _parts(plan: StagePlan, totals: _Totals) -> tuple[int, PartNumbers]:
    """Return what a part may take, and empty parts: one for each verify task at least."""
    memory = plan.budget.work(0, totals.longest)
    return memory, PartNumbers(min(memory, -(-totals.cost // plan.tasks)))


def _costs(
    rows: Int64Array, texts: Int64Array, nbytes: Int64Array, row_bytes: int
) -> tuple[Int64Array, BoolArray]:
    """Return what components take, and whether they have several texts, which are compared.

    `rows`, `texts` and `nbytes` are their rows, different texts, and the bytes of these.
    """
    is_compared = texts > 1
    return (
        KEY_BYTES * rows + np.where(is_compared, nbytes + texts * row_bytes, 0),
        is_compared,
    )


def _in_memory(plan: StagePlan, portions: list[Members]) -> Division:
    """Divide rows that fit into memory."""
    none = np.empty(0, np.uint64)
    rows = np.concatenate([none, *(portion.rows for portion in portions)])
    labels = np.concatenate([none, *(portion.labels for portion in portions)])
    preferences = np.concatenate([none, *(portion.preferences for portion in portions)])
    marks = RowMarks.concatenated([portion.marks for portion in portions])
    portions.clear()
    ranks = ranks_of_preferences(preferences) if plan.ranks else None
    compared = compared_copies(marks.first(), plan.keep, ranks)
    is_text = compared == int64_range(len(rows))
    lengths = np.where(is_text, marks.nbytes, 0)
    smallest, component = np.unique(labels, return_inverse=True)
    count = len(smallest)
    costs, is_compared = _costs(
        np.bincount(component, minlength=count),
        np.bincount(component[is_text], minlength=count),
        np.bincount(component, weights=lengths, minlength=count).astype(np.int64),
        plan.budget.row_bytes,
    )
    is_read = is_text & is_compared[component]
    longest = int(lengths[is_read].max(initial=0))
    memory, numbers = _parts(plan, _Totals(int(costs.sum()), longest))
    part_words = (2 * numbers.of(costs)[component] + is_read).view(np.uint64)
    batch = np.stack([rows, rows[compared], part_words, preferences], axis=1)
    return Division([batch], numbers, memory)


def _by_component(members: Members) -> UInt64Array:
    """Return the records of rows that are sorted by component."""
    words = members.marks.words
    records = np.empty((len(words), COMPONENT_WORDS), np.uint64)
    records[:, LABEL] = members.labels << LABEL_SHIFT
    records[:, LABEL] |= words[:, 1] >> HASH_SHIFT
    records[:, FIRST_HASH] = words[:, 1]
    records[:, PREFERENCE] = members.preferences
    records[:, ROW] = members.rows
    records[:, SECOND_HASH] = words[:, 2]
    records[:, LENGTH] = words[:, 0]
    return records


def _add_components(
    batches: Iterable[UInt64Array],
    row_bytes: int,
    components: RecordSpool,
    rows: RecordSpool,
) -> _Totals:
    """Choose the preferred of equal texts; add rows and what components take, in their order.

    Parameters
    ----------
    batches : iterable of ndarray of uint64, shape (m, COMPONENT_WORDS)
        Sorted.
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
    for piece in pieces_of(batches, PIECE_RECORDS):
        records = np.concatenate([last_record, piece])
        begins_text = run_begins(
            *(records[:, word] for word in (LABEL, FIRST_HASH, SECOND_HASH, LENGTH))
        )
        labels = records[:, LABEL] >> LABEL_SHIFT
        begins_component = run_begins(labels)[len(last_record) :]
        chosen_of_texts = records[begins_text, ROW]
        chosen_of_texts[: len(last_chosen)] = last_chosen
        chosen = chosen_of_texts[np.cumsum(begins_text, dtype=np.int64) - 1][
            len(last_record) :
        ]
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

    def finished(self) -> _Totals:
        """Return the totals; all rows have come."""
        self._close(self._open)
        return _Totals(self._cost, self._longest)

    def _close(self, of_components: Int64Array) -> None:
        rows, texts, nbytes, longest = of_components[:, of_components[0] > 0]
        costs, is_compared = _costs(rows, texts, nbytes, self._row_bytes)
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
