"""MinHash as textbooks draw it: characteristic matrices, written-out permutations, and the algorithm row by row.

Everything here is small, exact and slow, with the numbers of a course; `MinHasher` is for data. A column is a set of
rows. A slot without a value is None, and prints as ∞.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import NamedTuple, TypeAlias, TypeVar

Item = TypeVar("Item")
Row = TypeVar("Row", bound=Hashable)
Slot: TypeAlias = int | None


def columns_of(matrix: Iterable[Sequence[int | str]]) -> list[set[int]]:
    """Return the sets that are the columns of a characteristic matrix.

    Parameters
    ----------
    matrix : iterable of str or of sequences of int
        Its rows, of zeros and ones, all of one length. Rows are numbered from 0.

    Raises
    ------
    TypeError
        If the matrix or a row cannot be iterated over.
    ValueError
        If rows are not of one length or hold anything else.

    Examples
    --------
    >>> columns_of(["0110", "0011", "1000"])
    [{2}, {0}, {0, 1}, {1}]
    """
    rows = [list(map(str, _listed(row, f"row {number}"))) for number, row in enumerate(_listed(matrix, "matrix"))]
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"row {number} has {len(row)} columns, row 0 has {len(rows[0])}")
        if not set(row) <= {"0", "1"}:
            raise ValueError(f"row {number} must be of zeros and ones, not {''.join(row)!r}")
    return [{number for number, row in enumerate(rows) if row[c] == "1"} for c in range(len(rows[0]) if rows else 0)]


def by_order(
    columns: Iterable[AbstractSet[Row]], order: Sequence[Row], *, first: int | None = None
) -> list[Row | None]:
    """Return for each column the first of its rows in a permuted order of the rows.

    Parameters
    ----------
    columns : iterable of sets
    order : sequence
        All rows that a column may have, each once.
    first : int, optional
        Look at so many rows of the order and no further; at all by default.

    Returns
    -------
    list
        A row for each column, None where none of its rows was met: in an empty column, or because of `first`.

    Raises
    ------
    TypeError
        If an argument is of another kind.
    ValueError
        If the order repeats or lacks a row.

    Examples
    --------
    >>> columns = [set("ad"), set("c"), set("bde"), set("acd")]
    >>> by_order(columns, "beadc")
    ['a', 'c', 'b', 'a']
    >>> by_order(columns, "beadc", first=3)
    ['a', None, 'b', 'a']
    """
    held, order, known = _sets(columns), _listed(order, "order"), _set_of(order, "order")
    if len(known) != len(order):
        raise ValueError(f"order must have each row once, not {order!r}")
    for number, column in enumerate(held):
        if lacking := column - known:
            raise ValueError(f"column {number} has rows that are not in the order: {sorted(map(repr, lacking))}")
    if isinstance(first, bool) or not (first is None or hasattr(first, "__index__")):
        raise TypeError(f"first must be an int or None, not {first!r}")
    if first is not None and not 1 <= first <= len(order):
        raise ValueError(f"first must be in 1..{len(order)}, the number of rows, not {first}")
    met = order[:first]
    return [next((row for row in met if row in column), None) for column in held]


def by_ranks(columns: Iterable[AbstractSet[int]], ranks: Sequence[int], *, first: int | None = None) -> list[Slot]:
    """Return for each column the least rank of its rows.

    Parameters
    ----------
    columns : iterable of sets of int
        Rows are numbered from 0.
    ranks : sequence of int
        What a permutation makes of rows 0, 1, ...: the numbers from 0 on, or from 1 on, each once.
    first : int, optional
        Look at the rows of the first so many ranks and no further; at all by default.

    Returns
    -------
    list of int or None
        None where a column has none of these rows.

    Raises
    ------
    TypeError
        If an argument is of another kind.
    ValueError
        If the ranks are no permutation, or a column has a row that has no rank.

    Examples
    --------
    >>> columns = columns_of(["0110", "0011", "1000", "0101", "0001", "1100", "0010"])
    >>> by_ranks(columns, (6, 3, 1, 7, 2, 5, 4))
    [1, 5, 3, 2]
    """
    ranks = _ints(ranks, "ranks")
    lowest = min(ranks, default=0)
    if lowest not in (0, 1) or sorted(ranks) != list(range(lowest, lowest + len(ranks))):
        raise ValueError(f"ranks must be 0..n - 1 or 1..n, each once, not {tuple(ranks)}")
    order = [row for _, row in sorted(zip(ranks, range(len(ranks)), strict=True))]
    return [None if row is None else ranks[row] for row in by_order(columns, order, first=first)]


def by_groups(columns: Iterable[AbstractSet[int]], ranks: Sequence[int], rows: int) -> list[list[Slot]]:
    """Return the signatures of one permutation: rows are cut into groups, and each group gives one slot.

    Parameters
    ----------
    columns : iterable of sets of int
        Rows are numbered from 0 to rows - 1; group g has the rows g m to g m + m - 1.
    ranks : sequence of int
        A permutation of the m rows of a group: the numbers from 0 on, or from 1 on, each once.
    rows : int
        Rows of all groups, k: a multiple of m.

    Returns
    -------
    list of list of int or None
        For each of the k / m groups what `by_ranks` gives, None for a column without a row in it.

    Raises
    ------
    TypeError
        If an argument is of another kind.
    ValueError
        If the ranks are no permutation, k is no multiple of m, or a column has a row outside 0..k - 1.

    Examples
    --------
    >>> slots = by_groups([{4, 5, 6}, {3, 4, 5}], (1, 2, 3, 4), 8)
    >>> slots
    [[None, 4], [1, 1]]
    >>> similarity(*zip(*slots))
    Fraction(1, 2)
    """
    held, ranks = _sets(columns), _ints(ranks, "ranks")
    m, (rows,) = len(ranks), _ints([rows], "rows")
    if m < 1 or rows < m or rows % m:
        raise ValueError(f"rows must be a multiple of {m}, the number of ranks, not {rows}")
    for number, column in enumerate(held):
        if outside := [row for row in column if row not in range(rows)]:
            raise ValueError(f"column {number} has rows outside 0..{rows - 1}: {sorted(outside, key=repr)}")
    return [
        by_ranks([{row - start for row in column if start <= row < start + m} for column in held], ranks)
        for start in range(0, rows, m)
    ]


def similarity(a: Iterable[Hashable], b: Iterable[Hashable]) -> Fraction:
    """Return the share of equal slots of two signatures, that is, of two columns of a signature matrix.

    Two slots with a value are compared; a value and none are unequal; where neither has one, the slot counts neither as
    equal nor as unequal. 0 if no slot counts.

    Raises
    ------
    TypeError
        If a signature cannot be iterated over.
    ValueError
        If one has more slots than the other.

    Examples
    --------
    >>> similarity([3, 2, 1], [1, 2, 5]), similarity([3, None, None, 2], [3, None, 4, 1])
    (Fraction(1, 3), Fraction(1, 3))
    """
    a, b = _listed(a, "a"), _listed(b, "b")
    if len(a) != len(b):
        raise ValueError(f"a and b must have as many slots as each other, not {len(a)} and {len(b)}")
    pairs = [pair for pair in zip(a, b, strict=True) if pair != (None, None)]
    return Fraction(sum(x == y for x, y in pairs), len(pairs) or 1)


@dataclass(frozen=True)
class Linear:
    """The function x → (a x + b) mod p, which is a permutation of 0..p - 1 if a and p have no common factor.

    Examples
    --------
    >>> h = Linear(3, 1, 5)
    >>> print(h, [h(x) for x in range(5)])
    3x + 1 mod 5 [1, 4, 2, 0, 3]
    """

    a: int
    b: int
    p: int

    def __post_init__(self) -> None:
        for name in ("a", "b", "p"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} must be an int, not {value!r}")
        if self.p < 1:
            raise ValueError(f"p must be at least 1, not {self.p}")

    def __call__(self, x: int) -> int:
        return (self.a * x + self.b) % self.p

    def __str__(self) -> str:
        x = "x" if self.a == 1 else f"{self.a}x"
        b = f" {'+' if self.b > 0 else '-'} {abs(self.b)}" if self.b else ""
        return f"{x}{b} mod {self.p}"


class Step(NamedTuple):
    """The state of the algorithm after a row: the values of the row, and the signature matrix.

    Attributes
    ----------
    row : int
    values : tuple of int
        What each function makes of the row.
    signatures : tuple of tuples of int or None
        A tuple a function, with a slot a column.
    """

    row: int
    values: tuple[int, ...]
    signatures: tuple[tuple[Slot, ...], ...]

    def __str__(self) -> str:
        """Print the signature matrix as a textbook does, a line a function."""
        head = ["", *(f"S{c + 1}" for c in range(len(self.signatures[0])))]
        return _table([head, *([f"h{i + 1}", *map(_shown, slots)] for i, slots in enumerate(self.signatures))])


@dataclass(frozen=True)
class Trace:
    """The steps of the algorithm that computes signatures row by row; prints as the tables of a textbook.

    Attributes
    ----------
    columns : tuple of frozensets of int
    functions : tuple of Linear
    steps : tuple of Step
        One a row, in the order in which the rows came.
    """

    columns: tuple[frozenset[int], ...]
    functions: tuple[Linear, ...]
    steps: tuple[Step, ...]

    @property
    def signatures(self) -> tuple[tuple[Slot, ...], ...]:
        """The signature matrix after all rows: a tuple a function, with a slot a column."""
        return self.steps[-1].signatures if self.steps else ((None,) * len(self.columns),) * len(self.functions)

    def signature(self, column: int) -> tuple[Slot, ...]:
        """Return the signature of one column, numbered from 0."""
        return tuple(slots[column] for slots in self.signatures)

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __str__(self) -> str:
        """Print the rows with the values of the functions, then the signature matrix after each row."""
        head = ["row", *(f"S{c + 1}" for c in range(len(self.columns))), *map(str, self.functions)]
        lines = [
            [str(step.row), *(str(int(step.row in column)) for column in self.columns), *map(str, step.values)]
            for step in self.steps
        ]
        return "\n\n".join([_table([head, *lines]), *(f"after row {step.row}\n{step}" for step in self.steps)])


def trace(columns: Iterable[AbstractSet[int]], functions: Iterable[Linear], rows: Iterable[int]) -> Trace:
    """Compute signatures row by row, and keep the state after each row.

    A row is hashed once by each function, and lowers the slots of the columns that have it.

    Parameters
    ----------
    columns : iterable of sets of int
    functions : iterable of Linear
        One a slot, at least one.
    rows : iterable of int
        All rows, in the order in which they are read.

    Returns
    -------
    Trace

    Raises
    ------
    TypeError
        If an argument is of another kind.
    ValueError
        If there is no function, or a column has a row that is not among the rows.

    Examples
    --------
    >>> found = trace([{0, 2}, {1}], [Linear(1, 1, 3), Linear(2, 0, 3)], range(3))
    >>> print(found)
    row  S1  S2  x + 1 mod 3  2x mod 3
      0   1   0            1         0
      1   0   1            2         2
      2   1   0            0         1
    <BLANKLINE>
    after row 0
        S1  S2
    h1   1   ∞
    h2   0   ∞
    <BLANKLINE>
    after row 1
        S1  S2
    h1   1   2
    h2   0   2
    <BLANKLINE>
    after row 2
        S1  S2
    h1   0   2
    h2   0   2
    >>> found.signature(0)
    (0, 0)
    """
    held, functions, rows = tuple(_sets(columns)), tuple(_listed(functions, "functions")), _ints(rows, "rows")
    for number, h in enumerate(functions):
        if not callable(h):
            raise TypeError(f"functions[{number}] must be a function of a row, such as Linear, not {h!r}")
    if not functions:
        raise ValueError("there must be at least one function: a signature has a slot for each")
    for number, column in enumerate(held):
        if lacking := column - set(rows):
            raise ValueError(f"column {number} has rows that are not among the rows: {sorted(lacking, key=repr)}")
    slots: list[list[Slot]] = [[None] * len(held) for _ in functions]
    steps = []
    for row in rows:
        values = tuple(h(row) for h in functions)
        for own, value in zip(slots, values, strict=True):
            for c, column in enumerate(held):
                if row in column:
                    own[c] = _lesser(own[c], value)
        steps.append(Step(row, values, tuple(map(tuple, slots))))
    return Trace(held, functions, tuple(steps))


def _listed(values: Iterable[Item], name: str) -> list[Item]:
    if not (hasattr(values, "__iter__") or hasattr(values, "__getitem__")):
        raise TypeError(f"{name} must be something to iterate over, not {values!r}")
    return list(values)


def _set_of(values: Iterable[Row], name: str) -> frozenset[Row]:
    try:
        return frozenset(_listed(values, name))
    except TypeError:
        raise TypeError(f"{name} must be of rows that can be in a set, not {values!r}") from None


def _sets(columns: Iterable[Iterable[Row]]) -> list[frozenset[Row]]:
    return [_set_of(column, f"column {number}") for number, column in enumerate(_listed(columns, "columns"))]


def _ints(values: Iterable[int], name: str) -> list[int]:
    held = _listed(values, name)
    for value in held:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} must be ints, not {value!r}")
    return [index(value) for value in held]


def _lesser(slot: Slot, value: int) -> int:
    return value if slot is None else min(slot, value)


def _shown(slot: Slot) -> str:
    return "∞" if slot is None else str(slot)


def _table(lines: list[list[str]]) -> str:
    """Set lines of cells in columns, each as wide as its widest cell."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)
