"""What is linked, the pairs of records that rules choose, and the interface of the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from lshfast._common.types import Int64Array, UInt64Array
from lshfast._common.visible import visible
from lshfast.records.candidates.record_texts import RecordTexts, WrittenTexts
from lshfast.records.tables.coded_fields import CodedField, as_written, part_changed
from lshfast.records.tables.record_table import RecordTable

# Of the values of a column, which are not in normal form, for texts as they are written.
LEAST_CHANGED = 0.01


@dataclass(frozen=True)
class SkippedBlock:
    """A block that was left out because it would bring too many pairs: its key, and its pairs."""

    key: str
    pairs: int


@dataclass(frozen=True)
class RulePairs:
    """The pairs of a rule.

    Attributes
    ----------
    places : ndarray of uint64
        The place i * n + j of each pair (i, j) in a matrix of pairs with n columns, ascending, each
        once.
    skipped, skipped_pairs : int
        The blocks that were left out because of the cap, and the pairs in them.
    largest_skipped : list of SkippedBlock
        The largest of these blocks.
    """

    places: UInt64Array
    skipped: int = 0
    skipped_pairs: int = 0
    largest_skipped: tuple[SkippedBlock, ...] = ()


@dataclass(frozen=True)
class Linkage:
    """What is linked: two tables, or one with itself, and the fields by their names."""

    tables: Sequence[RecordTable]
    fields: Mapping[str, CodedField]
    seed: int = 1
    threads: int = 1

    @property
    def a(self) -> RecordTable:
        """The first table."""
        return self.tables[0]

    @property
    def b(self) -> RecordTable | None:
        """The second table; None for one table."""
        return None if self.single else self.tables[1]

    @property
    def single(self) -> bool:
        """Whether the records of one table are linked with each other."""
        return len(self.tables) == 1

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of the two tables; of one table, twice its rows."""
        return len(self.tables[0]), len(self.tables[-1])

    @property
    def rows(self) -> int:
        """Rows of both tables, or of the one table."""
        return sum(map(len, self.tables))

    @property
    def all_pairs(self) -> int:
        """Number of pairs without blocking."""
        first, second = self.sizes
        return first * (first - 1) // 2 if self.single else first * second

    @cached_property
    def record_texts(self) -> RecordTexts:
        """The records as texts."""
        return RecordTexts(list(self.fields.values()), self.single, self.threads)

    @cached_property
    def written_texts(self) -> WrittenTexts | None:
        """The records of two tables as they are written; None if nearly all are in normal form."""
        written_fields = []
        is_changed = False
        for field in self.fields.values():
            written_field = as_written(field, self.tables)
            written_fields.append(written_field)
            is_changed |= part_changed(written_field, field) >= LEAST_CHANGED
        return WrittenTexts(written_fields, self.threads) if is_changed else None

    def field(self, name: str) -> CodedField:
        """Return a field by the name of its column in the first table."""
        if name not in self.fields:
            raise ValueError(
                f"no field {name!r} to block by; fields are: {visible(', '.join(self.fields))}"
            )
        return self.fields[name]

    def rows_of(self, places: UInt64Array) -> tuple[Int64Array, Int64Array]:
        """Return the rows i and j of pairs."""
        i, j = np.divmod(places, np.uint64(max(1, self.sizes[1])))
        return i.astype(np.int64), j.astype(np.int64)


class BlockingRule(Protocol):
    """A rule that says which pairs are compared."""

    @property
    def name(self) -> str:
        """The rule as the command line writes it."""

    def pairs(self, linkage: Linkage) -> RulePairs:
        """Return the pairs of two tables, or the pairs (i, j) with i < j of one."""
