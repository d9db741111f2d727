"""The values of two records beside each other, and the columns in which tables of pairs have them.

Reviews, labels, explanations, pages and the terminal show a pair by these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lshfast._io.pages.differences import Counting, Differences, compare
from lshfast.records.tables.distinct_values import as_text, is_missing
from lshfast.records.tables.fields import Field

# What counts in the normal form of values; see `normal_form`.
IN_NORMAL_FORM = Counting(
    case=False, accents=False, punctuation=False, white_space=False
)


class FieldPair(NamedTuple):
    """The values of two records in a field, as strings; None for a missing one."""

    name: str
    left: str | None
    right: str | None

    @property
    def equal(self) -> bool:
        """Whether both are the same string."""
        return self.left == self.right

    @property
    def missing(self) -> bool:
        """Whether neither record has a value."""
        return self.left is None and self.right is None

    def cut(self, most: int) -> FieldPair:
        """Return the beginnings of both values, of at most so many characters."""
        return FieldPair(
            self.name, *(None if text is None else text[:most] for text in self[1:])
        )

    @property
    def differences(self) -> Differences:
        """The spans of both values; what their normal form is without is not marked."""
        return compare(self.left or "", self.right or "", IN_NORMAL_FORM)


class PairColumns(NamedTuple):
    """The name of a field, and the two columns that have its values in a table of pairs."""

    name: str
    left: str
    right: str


def columns_of_field(field: Field) -> PairColumns:
    """Return the columns of a field: ``a.given`` and ``b.given``, or ``b.given=name``.

    The latter is for another column in b. These names differ, as names of fields do, also if two
    fields have one column of b.

    Examples
    --------
    >>> from lshfast.records import Field
    >>> columns_of_field(Field("given", "name"))
    PairColumns(name='given=name', left='a.given', right='b.given=name')
    """
    other = field.column_of(1)
    name = field.name
    if other != name or "=" in other:
        name = f"{name}={other}"
    return PairColumns(name, f"a.{field.name}", f"b.{name}")


def columns_of_pairs(columns: Iterable[str]) -> list[PairColumns]:
    """Return the columns of the fields in a table of pairs, without those that have no counterpart.

    Examples
    --------
    >>> [
    ...     pair.name
    ...     for pair in columns_of_pairs(
    ...         ["id_a", "a.given", "b.given=name", "a.surname", "b.surname=name"]
    ...     )
    ... ]
    ['given=name', 'surname=name']
    """
    names = list(columns)
    unused = [name for name in names if name.startswith("b.")]
    pairs = []
    for place, left in enumerate(names):
        if not left.startswith("a."):
            continue
        # The next column is its counterpart if nothing was moved.
        for right in (*names[place + 1 : place + 2], *unused):
            if right in unused and _belongs(left[2:], right[2:]):
                unused.remove(right)
                pairs.append(PairColumns(right[2:], left, right))
                break
    return pairs


def _belongs(field: str, right: str) -> bool:
    return right == field or right.startswith(f"{field}=")


def text_of(value: Any) -> str | None:
    """Return a value as a string, None for a missing one."""
    return None if is_missing(value) else as_text(value)


def field_pairs(
    columns: Sequence[PairColumns], table: Any, row: int
) -> list[FieldPair]:
    """Return the fields of a row of a table of pairs that are not missing in both records."""
    pairs = []
    for name, left, right in columns:
        pair = FieldPair(name, text_of(table[left][row]), text_of(table[right][row]))
        if not pair.missing:
            pairs.append(pair)
    return pairs
