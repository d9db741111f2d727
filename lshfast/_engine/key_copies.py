"""Rows with equal exact keys: all but one are removed before rows are compared.

A row that was removed by its key is compared with no other row, so a key can only remove rows that
have the same key. It names what is kept instead of the row that its key prefers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.join.copies import equal_rows
from lshfast.join.groups import Groups, best_copies, preferred, smallest

# Returns values of some rows, of which greater ones are preferred; None to prefer the first row.
PreferenceOf: TypeAlias = Callable[[Int64Array], npt.ArrayLike | None]

# The similarity of a row that was removed by its key, as of a copy.
SIMILARITY_OF_COPIES = 1.0


@dataclass(frozen=True)
class KeyCopies:
    """Rows that are removed by their exact keys.

    Attributes
    ----------
    rows : ndarray of int64, shape (m,)
        Ascending.
    preferred_rows : ndarray of int64, shape (m,)
        For each, the preferred row with the same key.
    """

    rows: Int64Array
    preferred_rows: Int64Array

    def flags(self, n: int) -> BoolArray:
        """Return for each of n rows whether it was removed by its key."""
        is_removed = np.zeros(n, np.bool_)
        is_removed[self.rows] = True
        return is_removed

    def fill_in(self, groups: Groups, value_of_copies: float) -> None:
        """Put the rows, each a group before, into the groups of the preferred rows."""
        groups.keeper[self.rows] = groups.keeper[self.preferred_rows]
        groups.similarity[self.rows] = value_of_copies
        groups.labels[self.rows] = groups.labels[self.preferred_rows]
        groups.labels[:] = smallest(groups.labels)

    def fill_in_keys(self, keys: list[Any]) -> None:
        """Give the rows the keys of the earlier entries of the preferred rows."""
        for row, preferred_row in self._preferred_by_row().items():
            keys[row] = keys[preferred_row]

    def filled_in(self, texts: Sequence[str | None]) -> Sequence[str | None]:
        """Return the texts of earlier rows, the rows having those of the preferred rows."""
        return TextsOfPreferred(texts, self._preferred_by_row())

    def _preferred_by_row(self) -> dict[int, int]:
        """Return the preferred row of each row."""
        return dict(zip(self.rows.tolist(), self.preferred_rows.tolist(), strict=True))


@dataclass(frozen=True)
class TextsOfPreferred(Sequence["str | None"]):
    """Texts of all rows, of which some have those of other rows."""

    texts: Sequence[str | None]
    preferred_by_row: Mapping[int, int]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, row: Any) -> Any:
        number = range(len(self.texts))[row]
        return self.texts[self.preferred_by_row.get(number, number)]


def find_key_copies(prints: UInt64Array, preference_of: PreferenceOf) -> KeyCopies:
    """Return the rows that an equal key removes.

    Parameters
    ----------
    prints : ndarray of uint64, shape (n, 3)
        See `ExactKeys.prints`.
    preference_of : callable
        Called with the rows whose key another row has, ascending, if there are any.
    """
    first = equal_rows(prints)
    members = np.flatnonzero(np.bincount(first, minlength=len(first))[first] > 1)
    if not len(members):
        return KeyCopies(members, members)
    order = preferred(len(members), preference_of(members))
    places = np.searchsorted(members, first[members])
    best, _ = best_copies(order, places)
    preferred_rows = members[best[places]]
    is_removed = preferred_rows != members
    return KeyCopies(members[is_removed], preferred_rows[is_removed])


def preference_of_values(n: int, values: npt.ArrayLike) -> PreferenceOf:
    """Return the preference of rows by one value for each of n rows; greater ones come first."""

    def preference_of(rows: Int64Array) -> Int64Array:
        ranks = np.empty(n, np.int64)
        ranks[preferred(n, values)] = int64_range(n, 0, -1)
        return ranks[rows]

    return preference_of
