"""Marks of people: pairs of records that are marked the same or different bind the links of a run.

A pair that is marked the same is a link, whatever its score is and whether a rule brought it. A
pair that is marked different is no link, and its records are in different groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from lshfast._common.errors import DataError
from lshfast._common.types import BoolArray, Float64Array, Int64Array, UInt64Array
from lshfast.kernels.sets import components
from lshfast.records.choices import Assignment
from lshfast.records.tables.distinct_values import as_text, is_missing
from lshfast.records.tables.record_table import PairIds, RecordTable, plain_value

Answer: TypeAlias = Literal["same", "different", "unsure"]

ANSWERS: Mapping[str, Answer] = {
    "same": "same",
    "different": "different",
    "unsure": "unsure",
}
COLUMNS = "id_a", "id_b", "answer"


class MarkedPair(NamedTuple):
    """Two ids and a person's answer; `place` says where it stands, such as ``review.csv:7``."""

    id_a: Any
    id_b: Any
    answer: Answer
    place: str


@dataclass(frozen=True, eq=False)
class PairLabels:
    """Pairs of rows that are marked, each once, sorted by (i, j).

    Attributes
    ----------
    i, j : ndarray of int64, shape (n,)
        The rows of the two tables. Within one table, i < j.
    same : ndarray of bool, shape (n,)
        Whether a pair is marked the same; otherwise it is marked different.

    See Also
    --------
    lshfast.records.match_records : Its argument `labels` has the marks of people.
    """

    i: Int64Array
    j: Int64Array
    same: BoolArray

    def __len__(self) -> int:
        return len(self.i)

    def pairs(self, same: bool) -> tuple[Int64Array, Int64Array]:
        """Return the rows of the pairs that are marked so."""
        is_marked_so = self.same == same
        return self.i[is_marked_so], self.j[is_marked_so]

    def places(self, width: int) -> UInt64Array:
        """Return the places i * width + j of the pairs, ascending."""
        return self.i.astype(np.uint64) * np.uint64(width) + self.j.astype(np.uint64)

    def answer(self, rows: tuple[int, int]) -> Answer | None:
        """Return the mark of a pair of rows, None without a mark."""
        place = np.flatnonzero((self.i == rows[0]) & (self.j == rows[1]))
        if not len(place):
            return None
        return "same" if self.same[place[0]] else "different"

    def mark(self, i: Int64Array, j: Int64Array) -> BoolArray:
        """Return whether each pair has a mark."""
        width = 1 + max(int(rows.max(initial=0)) for rows in (j, self.j))
        return np.isin(i * width + j, self.i * width + self.j)

    def leave_open(
        self, i: Int64Array, j: Int64Array, assign: Assignment, single: bool
    ) -> BoolArray:
        """Return whether an assignment may choose each pair.

        It may not if the pair has a mark, or if a record of it that may have one link is marked the
        same as another.
        """
        same_i, same_j = self.pairs(True)
        if single:
            same_i = same_j = np.concatenate([same_i, same_j])
        is_bound = self.mark(i, j)
        if assign in ("one-to-one", "many-to-one"):
            is_bound |= np.isin(i, same_i)
        if assign in ("one-to-one", "one-to-many"):
            is_bound |= np.isin(j, same_j)
        return ~is_bound

    def bind_groups(
        self, groups: Int64Array, i: Int64Array, j: Int64Array, scores: Float64Array
    ) -> Int64Array:
        """Return groups of one table that agree with the marks.

        Groups that a pair marked the same connects become one. A group that has a pair marked
        different is made again from its links, the best first, without those that would join such a
        pair.

        Parameters
        ----------
        groups : ndarray of int64, shape (n,)
            The smallest row of the group of each row.
        i, j, scores : ndarray, shape (links,)
            The links, those that are marked the same too.
        """
        same_i, same_j = self.pairs(True)
        apart_i, apart_j = self.pairs(False)
        rows = np.arange(len(groups), dtype=np.int64)
        first = np.concatenate([rows, same_i])
        second = np.concatenate([groups, same_j])
        bound = components(first, second, len(groups))
        contradicted = np.unique(bound[apart_i[bound[apart_i] == bound[apart_j]]])
        if not len(contradicted):
            return bound
        inside = np.isin(bound, contradicted)
        links = np.flatnonzero(inside[i] & (bound[i] == bound[j]))
        marked = self.mark(i[links], j[links])
        links = links[np.lexsort((-scores[links], ~marked))]
        joins = zip(i[links].tolist(), j[links].tolist(), strict=True)
        enemies = zip(apart_i.tolist(), apart_j.tolist(), strict=True)
        for row, group in _joined(rows[inside].tolist(), joins, enemies):
            bound[row] = group
        return bound


NO_LABELS = PairLabels(
    np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_)
)


def _joined(
    rows: Sequence[int],
    joins: Iterator[tuple[int, int]],
    enemies: Iterator[tuple[int, int]],
) -> Iterator[tuple[int, int]]:
    """Yield each row with the first row of its group, after joins that put no enemies together."""
    group_of = {row: row for row in rows}
    members = {row: [row] for row in rows}
    enemies_of = defaultdict[int, set[int]](set)
    for row, enemy in enemies:
        enemies_of[row].add(enemy)
        enemies_of[enemy].add(row)
    for row, other in joins:
        first, second = sorted((group_of[row], group_of[other]))
        if first == second or any(
            group_of.get(enemy) == second for enemy in enemies_of[first]
        ):
            continue
        enemies_of[first] |= enemies_of.pop(second, set())
        members[first] += members[second]
        group_of.update(dict.fromkeys(members.pop(second), first))
    return iter(group_of.items())


def marked_pairs(
    source: Any, name: str = "labels", places: Sequence[str] | None = None
) -> tuple[MarkedPair, ...]:
    """Return the pairs of a table that have an answer.

    Parameters
    ----------
    source : table, or sequence of (id_a, id_b, answer)
        A table has the columns of `LinkResult.review`, of which id_a, id_b and answer are read.
        White space around an answer and its case do not count; rows without one are left out.
    name : str
        What errors call it.
    places : sequence of str, optional
        What errors call its rows.

    Raises
    ------
    TypeError
        If it is no table.
    DataError
        If a column is missing, or an answer is another word. The message names the row.
    """
    if source is None:
        return ()
    if _is_list_of_tuples(source):
        if all(isinstance(row, MarkedPair) for row in source):
            return tuple(source)
        if any(len(row) != len(COLUMNS) for row in source):
            raise TypeError(f"{name} must be tuples of {', '.join(COLUMNS)}")
        source = dict(zip(COLUMNS, map(list, zip(*source, strict=True)), strict=True))
    table = source
    if not isinstance(source, RecordTable):
        table = RecordTable(source, name=name)
    if not len(table) and not table.columns:
        return ()
    marks = []
    for row, (id_a, id_b, answer) in enumerate(_rows_of_labels(table, name)):
        place = f"{name}: row {row + 1}" if places is None else places[row]
        if as_text(answer).strip():
            marks.append(_mark_of(id_a, id_b, answer, place))
    return tuple(marks)


def _rows_of_labels(table: RecordTable, name: str) -> Iterator[tuple[Any, Any, Any]]:
    """Return the ids and the answer of each row; raise DataError if a column is missing."""
    for column in COLUMNS:
        if column not in table.columns:
            raise DataError(
                name,
                None,
                f"no column {column!r}: labels have the columns {', '.join(COLUMNS)}",
            )
    ids_a, ids_b, answers = (
        map(plain_value, table.column(column)) for column in COLUMNS
    )
    return zip(ids_a, ids_b, answers, strict=True)


def _mark_of(id_a: Any, id_b: Any, answer: Any, place: str) -> MarkedPair:
    """Return the mark of a row that has an answer, or raise DataError."""
    mark = ANSWERS.get(as_text(answer).strip().lower())
    if mark is None:
        raise DataError(
            place,
            None,
            f"the answer must be same, different, unsure or empty, not {answer!r}",
        )
    for column, value in (("id_a", id_a), ("id_b", id_b)):
        if is_missing(value):
            raise DataError(place, None, f"{column} is missing")
    return MarkedPair(id_a, id_b, mark, place)


def _is_list_of_tuples(source: Any) -> bool:
    if not isinstance(source, Sequence) or not len(source):
        return False
    return all(isinstance(row, tuple) for row in source)


def labels_of(marks: Sequence[MarkedPair], tables: Sequence[RecordTable]) -> PairLabels:
    """Return the marked pairs as rows of two tables, or of one.

    Raises
    ------
    DataError
        If no record has an id, both ids are one record, or marks contradict: a pair is marked in
        both ways, or pairs that are marked the same connect records that are marked different. The
        message names the row.
    """
    decided = [mark for mark in marks if mark.answer != "unsure"]
    if not decided:
        return NO_LABELS
    ids = PairIds(tables)
    mark_of: dict[tuple[int, int], MarkedPair] = {}
    for mark in decided:
        try:
            rows = ids.rows_of(mark.id_a, mark.id_b)
        except ValueError as error:
            raise DataError(mark.place, None, str(error)) from None
        before = mark_of.setdefault(rows, mark)
        if before.answer != mark.answer:
            raise DataError(
                mark.place,
                None,
                f"{_named(mark)} are marked {mark.answer}, but {before.answer} in {before.place}",
            )
    pairs = sorted(mark_of)
    rows_of_pairs = np.array(pairs, np.int64).reshape(-1, 2)
    same = np.array([mark_of[pair].answer == "same" for pair in pairs], np.bool_)
    labels = PairLabels(rows_of_pairs[:, 0].copy(), rows_of_pairs[:, 1].copy(), same)
    first_of_b = 0 if len(tables) == 1 else len(tables[0])
    _check_consistent(labels, mark_of, first_of_b, sum(map(len, tables)))
    return labels


def _check_consistent(
    labels: PairLabels,
    mark_of: Mapping[tuple[int, int], MarkedPair],
    first_of_b: int,
    records: int,
) -> None:
    """Raise DataError if pairs marked the same connect records that are marked different."""
    same_i, same_j = labels.pairs(True)
    groups = components(same_i, same_j + first_of_b, records)
    apart_i, apart_j = labels.pairs(False)
    wrong = np.flatnonzero(groups[apart_i] == groups[apart_j + first_of_b])
    if len(wrong):
        mark = mark_of[int(apart_i[wrong[0]]), int(apart_j[wrong[0]])]
        raise DataError(
            mark.place,
            None,
            f"{_named(mark)} are marked different, but pairs that are marked same connect them",
        )


def _named(mark: MarkedPair) -> str:
    return f"{mark.id_a!r} and {mark.id_b!r}"
