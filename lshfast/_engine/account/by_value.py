"""The numbers of rows read and removed for each value of a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.display import Figure, counted, figure
from lshfast._common.types import BoolArray, Int64Array
from lshfast._common.value_codes import MISSING, OTHER, ValueCodes
from lshfast._common.visible import name_of, visible

# The most values in `RemovedBy`, and in a table; the rows of the others are summed.
MOST_LISTED = 1000
MOST_SHOWN = 20

# Rows that are counted at a time.
ROWS_AT_ONCE = 1 << 22

# The most characters of a value in a table.
SHOWN_CHARACTERS = 60


class ValueRows(NamedTuple):
    """Rows with one value of a column.

    Attributes
    ----------
    value : str or None
        None if the value is missing: null or empty.
    read, removed : int
        Numbers of good rows, and of removed rows.
    """

    value: str | None
    read: int
    removed: int

    @property
    def share(self) -> float:
        """The share that was removed, in [0, 1]."""
        return self.removed / max(self.read, 1)

    @property
    def name(self) -> str:
        """The value as it is shown."""
        return name_of(self.value)


class OtherRows(NamedTuple):
    """Rows with values that are not listed: how many values there are at least, and their rows."""

    values: int
    read: int
    removed: int


@dataclass(frozen=True)
class RemovedBy:
    """Hold how many rows of each value of a column were read and removed.

    Attributes
    ----------
    column : str
    values : tuple of ValueRows
        Those with most removed rows first; at most 1,000.
    others : OtherRows or None
        The sum of all others.

    Examples
    --------
    >>> import lshfast
    >>> by = lshfast.dedup(
    ...     ["a b c", "a b c!", "d e"], size=2, by=["web", "web", "books"]
    ... ).summary.by
    >>> by.values
    (ValueRows(value='web', read=2, removed=1), ValueRows(value='books', read=1, removed=0))
    """

    column: str
    values: tuple[ValueRows, ...]
    others: OtherRows | None = None

    def figures(self) -> Iterator[Figure]:
        """Yield the lines of a table: the values with most removed rows, and the others' sum."""
        yield figure(visible(f"by {self.column}"[:SHOWN_CHARACTERS]))
        for name, rows_read, removed in self.shown():
            share = f"{removed / max(rows_read, 1):.1%}"
            if len(name) > SHOWN_CHARACTERS:
                name = f"{name[: SHOWN_CHARACTERS - 1]}…"
            note = f"removed of {rows_read:,} read, {share}: {visible(name)}"
            yield figure("", removed, note)

    def shown(self) -> Iterator[tuple[str, int, int]]:
        """Yield name, rows read and rows removed of the first values, then of all others."""
        for row_counts in self.values[:MOST_SHOWN]:
            yield row_counts.name, row_counts.read, row_counts.removed
        unshown_values = self.values[MOST_SHOWN:]
        unlisted_rows = self.others or OtherRows(0, 0, 0)
        number = len(unshown_values) + unlisted_rows.values
        if number:
            rows_read = unlisted_rows.read
            rows_read += sum(row_counts.read for row_counts in unshown_values)
            removed = unlisted_rows.removed
            removed += sum(row_counts.removed for row_counts in unshown_values)
            yield counted(number, "other value"), rows_read, removed


@dataclass(frozen=True)
class CountsByValue:
    """Rows read and removed of each distinguished value.

    Attributes
    ----------
    column : str
    values : sequence of str or None
    rows_read, removed : ndarray of int64
    other_read, other_removed : int
        Of all other values.
    """

    column: str
    values: Sequence[str | None]
    read: Int64Array
    removed: Int64Array
    other_read: int = 0
    other_removed: int = 0

    @classmethod
    def of(cls, by: ValueCodes, keep: BoolArray) -> CountsByValue:
        """Count the rows of each value; `keep` says which rows are kept."""
        return cls.of_codes(by.column, by.names, by.codes, keep)

    @classmethod
    def of_codes(
        cls,
        column: str,
        names: Sequence[str],
        codes: npt.NDArray[np.int32],
        keep: BoolArray,
    ) -> CountsByValue:
        """Count the rows of each value, given its codes; see `ValueCodes`."""
        rows_read, removed = np.zeros((2, len(names) + 2), np.int64)
        for start in range(0, len(codes), ROWS_AT_ONCE):
            places = codes[start : start + ROWS_AT_ONCE] - OTHER
            removed_places = places[~keep[start : start + ROWS_AT_ONCE]]
            rows_read += np.bincount(places, minlength=len(rows_read))
            removed += np.bincount(removed_places, minlength=len(rows_read))
        return cls.of_totals(column, names, rows_read, removed)

    @classmethod
    def of_totals(
        cls,
        column: str,
        names: Sequence[str],
        rows_read: Int64Array,
        removed: Int64Array,
    ) -> CountsByValue:
        """Return counts from totals of OTHER, MISSING and each name, in the order of codes."""
        missing = MISSING - OTHER
        return cls(
            column,
            [None, *names],
            rows_read[missing:],
            removed[missing:],
            int(rows_read[0]),
            int(removed[0]),
        )

    def order(self, mask: BoolArray | None = None) -> list[int]:
        """Return the places of at most MOST_LISTED values with rows: most removed rows first."""
        places = np.flatnonzero(self.read > 0 if mask is None else mask)
        places = places[np.lexsort((-self.read[places], -self.removed[places]))]
        if len(places) > MOST_LISTED:  # with all that are equal to the last one
            last = places[MOST_LISTED - 1]
            ahead = self.removed[places] > self.removed[last]
            equal = self.removed[places] == self.removed[last]
            equal &= self.read[places] >= self.read[last]
            places = places[ahead | equal]
        return nsmallest(MOST_LISTED, map(int, places), key=self._rank)

    def _rank(self, place: int) -> tuple[int, int, str]:
        return (
            -int(self.removed[place]),
            -int(self.read[place]),
            self.values[place] or "",
        )

    def rows(self, place: int) -> ValueRows:
        """Return the numbers of a value."""
        return ValueRows(
            self.values[place], int(self.read[place]), int(self.removed[place])
        )

    def summary(self) -> RemovedBy:
        """Return the numbers of the values with most removed rows, and the sum of the others."""
        listed_values = tuple(map(self.rows, self.order()))
        number = int((self.read > 0).sum()) - len(listed_values) + (self.other_read > 0)
        if not number:
            return RemovedBy(self.column, listed_values)
        other_read = int(self.read.sum()) + self.other_read
        other_read -= sum(row_counts.read for row_counts in listed_values)
        other_removed = int(self.removed.sum()) + self.other_removed
        other_removed -= sum(row_counts.removed for row_counts in listed_values)
        return RemovedBy(
            self.column, listed_values, OtherRows(number, other_read, other_removed)
        )
