"""One list of the records of a run: a row for each entity, that is, all records that links connect.

A row has the values of one record of each table, so its values belong together. A rule says which
record that is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lshfast._common.types import Float64Array, Int64Array
from lshfast.kernels.sets import components
from lshfast.records.choices import KEEP_RECORD
from lshfast.records.options import LinkOptions
from lshfast.records.results.run_view import Linked
from lshfast.records.tables.coded_fields import CodedField, code_field
from lshfast.records.tables.distinct_values import as_text, is_missing
from lshfast.records.tables.fields import Field
from lshfast.records.tables.record_table import RecordTable, plain_value, values_at
from lshfast.records.values.addresses import PARTS

NO_ROW = -1
# White space is read from its beginning only.
_TIME = re.compile(r"(?:T|(?<!\s)[^\S ]* )\s*(\d\d?:\d\d.*)")


class KeepRule(NamedTuple):
    """Which record of several is kept: `policy` is first, most-complete or newest, by `column`."""

    policy: str
    column: str | None = None

    @classmethod
    def parse(cls, text: str) -> KeepRule:
        """Read a rule from a string; raise ValueError if it is none."""
        if not isinstance(text, str):
            raise TypeError(f"keep_record must be a string, not {text!r}")
        policy, _, column = text.partition(":")
        is_policy = policy in ("first", "most-complete", "newest")
        if not is_policy or bool(column) != (policy == "newest"):
            raise ValueError(
                f"keep_record must be first, {KEEP_RECORD} or newest:COLUMN, not {text!r}"
            )
        return cls(policy, column or None)

    def check(self, tables: Sequence[RecordTable]) -> None:
        """Raise ValueError if no table has the column, or it has neither dates nor numbers."""
        if self.column is None:
            return
        holders = [table for table in tables if self.column in table.columns]
        if not holders:
            tables[0].column(self.column)
        for table in holders:
            _coded_moments(table, self.column)


def merged_columns(result: Linked, keep_record: str) -> dict[str, list[Any]]:
    """Return the merged list as columns; see `LinkResult.merged`."""
    rule = KeepRule.parse(keep_record)
    a, b = result.tables
    rule.check([a] if result.single else [a, b])
    if result.single:
        return _merged_groups(result, a, rule)
    first_of_b = len(a)
    entities = components(result.i, result.j + first_of_b, len(a) + len(b))
    order = np.unique(entities)
    sides = [
        _MergedSide(a, entities[:first_of_b], order, rule),
        _MergedSide(b, entities[first_of_b:], order, rule),
    ]
    columns: dict[str, list[Any]] = {}
    for letter, side in zip("ab", sides, strict=True):
        columns[f"id_{letter}"] = side.ids()
    if result.options.assign != "one-to-one" or any(side.has_several for side in sides):
        for letter, side in zip("ab", sides, strict=True):
            columns[f"ids_{letter}"] = side.all_ids()
    for letter, side in zip("ab", sides, strict=True):
        for name in _own_names(side.table, result.options):
            columns[f"{letter}.{name}"] = side.values(name)
    return columns


def _merged_groups(
    result: Linked, table: RecordTable, rule: KeepRule
) -> dict[str, list[Any]]:
    """Return a row for each group of one table, with the columns under their own names."""
    clusters = result.summary.clusters
    assert clusters is not None
    groups = clusters.labels
    side = _MergedSide(table, groups, np.unique(groups), rule)
    names = _own_names(table, result.options)
    all_ids = side.all_ids()
    extra = {"id": side.ids(), "ids": all_ids, "records": [len(ids) for ids in all_ids]}
    columns: dict[str, list[Any]] = {}
    for name, values in extra.items():
        free_name = name
        while free_name in names:
            free_name += "_"
        columns[free_name] = values
    return columns | {name: side.values(name) for name in names}


def _own_names(table: RecordTable, options: LinkOptions) -> list[str]:
    """Return the columns of a table without ids and without the parts of addresses."""
    added = {
        f"{address.name}.{part}" for address in options.addresses for part in PARTS
    }
    return [name for name in table.names if name not in added]


class _MergedSide:
    """The records of one table in the entities of a list.

    Parameters
    ----------
    table : RecordTable
    entities : ndarray of int64, shape (n,)
        The entity of each record.
    order : ndarray of int64, shape (m,)
        All entities, ascending: the rows of the list.
    rule : KeepRule
    """

    def __init__(
        self,
        table: RecordTable,
        entities: Int64Array,
        order: Int64Array,
        rule: KeepRule,
    ) -> None:
        self.table = table
        place = np.searchsorted(order, entities)
        counts = np.bincount(place, minlength=len(order))
        several = np.flatnonzero(counts[place] > 1)
        self.has_several = bool(len(several))
        # The last key of a sort comes first.
        keys = [np.arange(len(table), dtype=np.int64).astype(np.float64)]
        if self.has_several:
            keys += [-values for values in preferences(table, rule, several)]
        by_entity = np.lexsort([*keys, place])
        starts = np.cumsum(counts, dtype=np.int64) - counts
        self._kept = np.full(len(order), NO_ROW, np.int64)
        self._kept[counts > 0] = by_entity[starts[counts > 0]]
        self._rows = by_entity
        self._starts = starts
        self._counts = counts

    def ids(self) -> list[Any]:
        """Return the id of the record that is kept in each row, None if there is none."""
        return self._chosen(self.table.ids)

    def all_ids(self) -> list[list[Any]]:
        """Return the ids of all records of each row, the kept one first, others in table order."""
        ids = self.table.ids
        lists = []
        for start, count in zip(
            self._starts.tolist(), self._counts.tolist(), strict=True
        ):
            rows = self._rows[start : start + count].tolist()
            lists.append([ids[row] for row in rows[:1] + sorted(rows[1:])])
        return lists

    def values(self, name: str) -> list[Any]:
        """Return the values of a column of the records that are kept."""
        return self._chosen(self.table.column(name))

    def _chosen(self, values: Any) -> list[Any]:
        return [
            None if row == NO_ROW else plain_value(values[row])
            for row in self._kept.tolist()
        ]


def preferences(
    table: RecordTable, rule: KeepRule, rows: Int64Array
) -> list[Float64Array]:
    """Return keys by which records are preferred: greatest value first, most important key last.

    Other rows than these have the same value. The first record is kept if all keys are equal.
    """
    if rule.policy == "first":
        return []
    keys = [_at(rows, len(table), _completeness(table, rows))]
    if rule.column is not None and rule.column in table.columns:
        dates, times = _moments(table, rule.column, rows)
        keys += [_at(rows, len(table), times), _at(rows, len(table), dates)]
    return keys


def _at(rows: Int64Array, size: int, values: Float64Array) -> Float64Array:
    all_values = np.zeros(size, np.float64)
    all_values[rows] = values
    return all_values


def _completeness(table: RecordTable, rows: Int64Array) -> Float64Array:
    """Return how many values records have."""
    present = np.zeros(len(rows), np.float64)
    for name in table.names:
        values = values_at(table.column(name), rows)
        present += [not is_missing(value) for value in values]
    return present


def _moments(
    table: RecordTable, name: str, rows: Int64Array
) -> tuple[Float64Array, Float64Array]:
    """Return dates or numbers of a column (-inf if missing), and the times of day as ranks."""
    coded = _coded_moments(table, name)
    assert coded.numbers is not None
    numbers = np.append(coded.numbers, -np.inf)[coded.codes[0][rows]]
    values = values_at(table.column(name), rows)
    clocks = map(_TIME.search, map(as_text, values))
    texts = [clock[1].zfill(16) if clock else "" for clock in clocks]
    ranks = np.unique(np.array(texts, object), return_inverse=True)[1]
    return numbers, ranks.astype(np.float64)


def _coded_moments(table: RecordTable, name: str) -> CodedField:
    """Return a column read as dates or numbers; ValueError if most values are neither."""
    dates = code_field(Field(name, kind="date"), [table])
    numbers = code_field(Field(name, kind="number"), [table])
    coded = dates if dates.refused[0] <= numbers.refused[0] else numbers
    if coded.refused[0] > (coded.codes[0] >= 0).sum():
        raise ValueError(
            f"{table.name}: column {name!r} has neither dates nor numbers, so it does not say "
            "which record is newest "
            "(--keep-record)"
        )
    return coded
