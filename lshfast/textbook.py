"""The definitions of the textbook: minhash by permutations, buckets, and sets as strings.

Everything here is small, exact and slow. It gives the numbers of J. Leskovec, A. Rajaraman and J.
D. Ullman, "Mining of Massive Datasets", chapter 3, and of lectures. `MinHasher`, `Bands` and
`lshfast.exact` do the same for data; docs/textbook_numbers.tsv lists which call gives which number.
A column is a set of rows. A slot without a value is None.

>>> from lshfast import textbook
>>> textbook.minhash([set("ad"), set("c"), set("bde"), set("acd")], "beadc")
['a', 'c', 'b', 'a']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations
from math import ceil, comb, floor
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from lshfast._common.checks import check_int

Row = TypeVar("Row", bound=Hashable)
Slot: TypeAlias = int | None
Bucket: TypeAlias = tuple[str | int, ...]

# The advice of errors about signatures for sets.
OF_SETS = "lshfast.distances.jaccard_similarity compares sets"


# Minhash by permutations (sections 3.3.2 to 3.3.4)


def columns_of(matrix: Iterable[Sequence[int | str]]) -> list[set[int]]:
    """Return the sets that are the columns of a characteristic matrix.

    Parameters
    ----------
    matrix : iterable of str or of sequences of int
        Its rows, of zeros and ones, all of one length. Rows are numbered from 0.

    Raises
    ------
    ValueError
        If rows are not of one length or hold anything else.

    See Also
    --------
    lshfast.textbook.minhash : Minhashes as rows of a matrix.

    Examples
    --------
    >>> columns_of(["0110", "0011", "1000"])
    [{2}, {0}, {0, 1}, {1}]
    """
    rows = [[str(cell) for cell in row] for row in matrix]
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"row {number} has {len(row)} columns, row 0 has {len(rows[0])}"
            )
        if not set(row) <= {"0", "1"}:
            raise ValueError(
                f"row {number} must be of zeros and ones, not {''.join(row)!r}"
            )
    width = len(rows[0]) if rows else 0
    columns: list[set[int]] = [set() for _ in range(width)]
    for number, row in enumerate(rows):
        for column, cell in zip(columns, row, strict=True):
            if cell == "1":
                column.add(number)
    return columns


def minhash(
    columns: Iterable[AbstractSet[Row]],
    order: Sequence[Row],
    *,
    first: int | None = None,
) -> list[Row | None]:
    """Return the minhash of each column as a row: its first row in a permuted order.

    Parameters
    ----------
    columns : iterable of sets
    order : sequence
        All rows that a column may have, each once.
    first : int, optional
        Look at this number of rows only, in 1..len(order), the first ones of the order. The default
        is all.

    Returns
    -------
    list
        A row for each column. None if none of its rows was met: in an empty column, or because of
        `first`.

    Raises
    ------
    TypeError, ValueError
        If `first` has the wrong type or is out of range, or the order repeats or lacks a row.

    See Also
    --------
    lshfast.textbook.minhash_ranks : Minhashes as ranks.
    lshfast.textbook.minhash_groups : Signatures from groups of rows.
    lshfast.MinHasher : Compute MinHash signatures of token sets.

    Examples
    --------
    >>> minhash([set("ad"), set("c"), set("bde")], "beadc", first=3)
    ['a', None, 'b']
    """
    if len(set(order)) != len(order):
        raise ValueError(f"order must have each row once, not {order!r}")
    rows = order if first is None else order[: check_int("first", first, 1, len(order))]
    return [
        next((row for row in rows if row in column), None)
        for column in _sets(columns, order)
    ]


def minhash_ranks(
    columns: Iterable[AbstractSet[Any]], ranks: Sequence[int] | Mapping[Any, int]
) -> list[Slot]:
    """Return the minhash of each column as a rank: the least rank of its rows.

    Parameters
    ----------
    columns : iterable of sets
    ranks : sequence or mapping of int
        The rank of each row in the permuted order. In a sequence, rows are numbered from 0.

    Returns
    -------
    list of int or None
        None for an empty column.

    Raises
    ------
    ValueError
        If two rows have one rank, or a column has a row without a rank.

    See Also
    --------
    lshfast.textbook.minhash : Minhashes as rows of a matrix.
    lshfast.textbook.similarity : Estimate the similarity from signatures.
    lshfast.textbook.trace : Signatures row by row.

    Examples
    --------
    >>> minhash_ranks(columns_of(["0110", "0011", "1000"]), (3, 1, 2))
    [2, 3, 1, 1]
    """
    of_row = dict(ranks if isinstance(ranks, Mapping) else enumerate(ranks))
    if len(set(of_row.values())) != len(of_row):
        raise ValueError(f"ranks must be different, not {ranks}")
    return [
        min((of_row[row] for row in column), default=None)
        for column in _sets(columns, of_row)
    ]


def minhash_groups(
    columns: Iterable[AbstractSet[int]], ranks: Sequence[int], rows: int
) -> list[list[Slot]]:
    """Return the signature matrix of one permutation, whose groups of rows give one slot each.

    Parameters
    ----------
    columns : iterable of sets of int
        Rows are numbered from 0 to rows - 1. Group g has the rows g m to g m + m - 1.
    ranks : sequence of int
        The ranks of the m rows of a group.
    rows : int
        A multiple of m. The result has rows / m slots for each column, None for a column without a
        row in the group.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range, two ranks are equal, or a column has
        another row.

    See Also
    --------
    lshfast.textbook.minhash_ranks : Minhashes as ranks.
    lshfast.sketch.OnePermutation : Signatures from one permutation.

    Examples
    --------
    >>> minhash_groups([{4, 5, 6}, {3, 4, 5}], (1, 2, 3, 4), 8)
    [[None, 4], [1, 1]]
    """
    m = len(ranks)
    if not m or check_int("rows", rows, 1) % m:
        raise ValueError(
            f"rows must be a multiple of {m}, the number of ranks, not {rows}"
        )
    sets = _sets(columns, range(rows))
    return [
        minhash_ranks(
            [{row % m for row in column if row // m == group} for column in sets], ranks
        )
        for group in range(rows // m)
    ]


def similarity(a: Iterable[Hashable], b: Iterable[Hashable]) -> Fraction:
    """Return the estimate of the Jaccard similarity from two signatures: the share of equal slots.

    A value and None are unequal. A slot that is None in both counts neither as equal nor as
    unequal. The result is 0 if no slot counts. Slots may be rows or ranks; the result is the same.

    Parameters
    ----------
    a, b : sequence of hashable objects
        The slots of two signatures, in the order of the hash functions.

    Raises
    ------
    TypeError
        If `a` or `b` is not a sequence of slots, such as a set:
        `lshfast.distances.jaccard_similarity` compares sets.
    ValueError
        If one has more slots than the other.

    See Also
    --------
    lshfast.distances.jaccard_similarity : The Jaccard similarity of sets.
    lshfast.textbook.minhash_ranks : Minhashes as ranks.
    lshfast.textbook.collisions : Count the permutations with equal minhashes.

    Examples
    --------
    >>> (
    ...     similarity([3, 2, 1], [1, 2, 5]),
    ...     similarity([3, None, None, 2], [3, None, 4, 1]),
    ... )
    (Fraction(1, 3), Fraction(1, 3))
    """
    a = _slots(a, "a")
    b = _slots(b, "b")
    if len(a) != len(b):
        raise ValueError(
            f"a and b must have equal numbers of slots, not {len(a)} and {len(b)}; {OF_SETS}"
        )
    pairs = [pair for pair in zip(a, b, strict=True) if pair != (None, None)]
    return Fraction(sum(x == y for x, y in pairs), len(pairs) or 1)


def _slots(signature: Any, name: str) -> list[Any]:
    """Return the slots of a signature; the TypeError for others names the function for sets."""
    unordered = isinstance(signature, (AbstractSet, Mapping, str, bytes))
    if unordered or not isinstance(signature, Iterable):
        raise TypeError(
            f"{name} must be a signature, a sequence of slots, not {type(signature).__name__}; "
            f"{OF_SETS}"
        )
    slots = list(signature)
    for slot in slots:
        if not isinstance(slot, Hashable):
            raise TypeError(
                f"{name} must be one signature, whose slots are single values, not "
                f"{type(slot).__name__}; {OF_SETS}"
            )
    return slots


def collisions(a: AbstractSet[Row], b: AbstractSet[Row], rows: Iterable[Row]) -> int:
    """Count the permutations of n rows, of all n!, under which two sets have the same minhash.

    With i rows in both sets and u in at least one, there are comb(n, u) (n - u)! i (u - 1)! of
    them: i / u of n!.

    Raises
    ------
    ValueError
        If there are more than 8 rows, or a set has another row.

    See Also
    --------
    lshfast.textbook.minhash : Minhashes as rows of a matrix.
    lshfast.textbook.similarity : Estimate the similarity from signatures.

    Examples
    --------
    >>> collisions({0, 1, 2}, {1, 2, 3}, range(5))
    60
    """
    different_rows = set(rows)
    check_int("the number of rows", len(different_rows), 0, 8)
    return sum(
        similarity(*([row] for row in minhash([a, b], order))) == 1
        for order in permutations(different_rows)
    )


# Minhash by functions, row by row (section 3.3.5)


class Step(NamedTuple):
    """The state of the algorithm after a row; prints as the signature matrix, with ∞ for None.

    `values` are the ones of the functions of the row. `signatures` has for each function a slot for
    each column.

    See Also
    --------
    lshfast.textbook.trace : Signatures row by row.
    """

    row: int
    values: tuple[int, ...]
    signatures: tuple[tuple[Slot, ...], ...]

    def __str__(self) -> str:
        lines = [
            [f"h{i + 1}", *map(str, slots)] for i, slots in enumerate(self.signatures)
        ]
        table = [["", *(f"S{c + 1}" for c in range(len(self.signatures[0])))], *lines]
        width = max(len(cell) for line in table for cell in line if cell != "None")
        return "\n".join(
            "  ".join(cell.replace("None", "∞").rjust(width) for cell in line)
            for line in table
        )


def trace(
    columns: Iterable[AbstractSet[int]],
    functions: Iterable[Callable[[int], int]],
    rows: Iterable[int],
) -> list[Step]:
    """Compute signatures row by row, and return the state after each row.

    Each function hashes a row once. The value lowers the slots of the columns that have the row.

    Parameters
    ----------
    columns : iterable of sets of int
    functions : iterable of callables
        Functions of the number of a row, one for each slot.
    rows : iterable of int
        All rows, in the order in which they are read.

    Raises
    ------
    ValueError
        If there is no function, one is not callable, or a column has a row that is not among the
        rows.

    See Also
    --------
    lshfast.textbook.Step : The state after a row.
    lshfast.textbook.minhash_ranks : Minhashes as ranks.

    Examples
    --------
    >>> steps = trace(
    ...     [{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}],
    ...     [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5],
    ...     range(5),
    ... )
    >>> print(steps[1])
        S1  S2  S3  S4
    h1   1   ∞   2   1
    h2   1   ∞   4   1
    """
    functions = list(functions)
    rows = list(rows)
    if not functions or not all(map(callable, functions)):
        raise ValueError(
            f"functions must be one or more functions of a row, not {functions}"
        )
    sets = _sets(columns, rows)
    slots: list[list[Slot]] = [[None] * len(sets) for _ in functions]
    steps = []
    for row in rows:
        values = tuple(h(row) for h in functions)
        for function_slots, value in zip(slots, values, strict=True):
            for c, column in enumerate(sets):
                if row in column:
                    slot = function_slots[c]
                    function_slots[c] = value if slot is None else min(slot, value)
        steps.append(Step(row, values, tuple(map(tuple, slots))))
    return steps


# Buckets and candidates (sections 3.4.1 and 3.7.4)


def axis_buckets(points: Iterable[Sequence[float]], width: float) -> list[list[Bucket]]:
    """Return the buckets of points on the axes, of equal width from 0 on.

    Parameters
    ----------
    points : iterable of sequences of numbers
        Finite. A float stands for the decimal that it prints as, also as the width, which must be
        above 0.
    width : float

    Returns
    -------
    list of list of (int, int)
        For each point and axis the numbers of the axis and of the bucket.

    Raises
    ------
    ValueError
        If the width or a coordinate is not a finite number, or the width is not above 0.

    See Also
    --------
    lshfast.textbook.candidates : Pairs of items that meet in a bucket.
    lshfast.families.PlaneLines : Lines in the plane.

    Examples
    --------
    >>> candidates(axis_buckets([(1, 2, 3), (0, 2, 4), (4, 3, 2)], width=1))
    [(0, 1)]
    """
    cell = _exact("width must be a finite number", width)
    if not cell > 0:
        raise ValueError(f"width must be above 0, not {width}")
    return [
        [
            (axis, floor(_exact("points must be finite", x) / cell))
            for axis, x in enumerate(row)
        ]
        for row in points
    ]


def candidates(
    stored: Iterable[Iterable[Hashable]],
    searched: Iterable[Iterable[Hashable]] | None = None,
) -> list[tuple[int, int]]:
    """Return the pairs of items that meet in a bucket, numbered from 0 and sorted.

    Parameters
    ----------
    stored, searched : iterable of iterables
        For each item the buckets in which it is stored, and those in which the items similar to it
        are searched. By default, these are the same.

    Raises
    ------
    ValueError
        If one argument has more items than the other.

    See Also
    --------
    lshfast.textbook.axis_buckets : Buckets of points on the axes.
    lshfast.candidates : Find the pairs that share a bucket.

    Examples
    --------
    >>> candidates([[(1, 3, 0)], [(0, 2, 1)], [(0, 1, 3)], [(0, 2, 1)], [(2, 2, 1)]])
    [(1, 3)]
    """
    stored_sets = [set(buckets) for buckets in stored]
    searched_sets = (
        stored_sets if searched is None else [set(buckets) for buckets in searched]
    )
    if len(stored_sets) != len(searched_sets):
        raise ValueError(
            f"stored and searched must have equal numbers of items, not {len(stored_sets)} and "
            f"{len(searched_sets)}"
        )
    pairs = []
    for i, j in combinations(range(len(stored_sets)), 2):
        if stored_sets[i] & searched_sets[j] or stored_sets[j] & searched_sets[i]:
            pairs.append((i, j))
    return pairs


# Sets as strings (section 3.9)


def string_of(elements: Iterable[str], order: Iterable[str]) -> str:
    """Return a set of symbols as a string: each symbol once, in the order of the universe.

    Raises
    ------
    ValueError
        If the order lacks a symbol.

    See Also
    --------
    lshfast.textbook.rarest_first : The order of symbols.
    lshfast.textbook.StringIndex : An index of strings.

    Examples
    --------
    >>> string_of("dab", "abcd"), string_of("dab", rarest_first(["dab", "ab", "bd"]))
    ('abd', 'adb')
    """
    universe = list(order)
    return "".join(sorted(*_sets([elements], universe), key=universe.index))


def rarest_first(sets: Iterable[Iterable[str]]) -> list[str]:
    """Return all symbols of some sets by the number of sets that have them, then by value.

    See Also
    --------
    lshfast.textbook.string_of : A set as a string of symbols.
    """
    counts = Counter(symbol for elements in sets for symbol in set(elements))
    return sorted(counts, key=lambda symbol: (counts[symbol], symbol))


@dataclass(frozen=True)
class StringIndex:
    """The buckets of an index that finds the strings of similar sets.

    The arithmetic is exact. In doubles, the prefix of 5 symbols for J = .8 is too short, so that
    pairs are lost.

    Parameters
    ----------
    threshold : Fraction, str or float
        Least Jaccard similarity J, in (0, 1]. A float stands for the decimal that it prints as.
    by : {"length", "prefix", "position", "suffix"}, default "suffix"
        A bucket is named by the length of a string (3.9.3); or by a symbol of its prefix (3.9.4),
        and the position of the symbol (3.9.5), and the number of symbols behind it (3.9.6).

    Raises
    ------
    ValueError
        If an argument is out of range.

    See Also
    --------
    lshfast.textbook.string_of : A set as a string of symbols.
    lshfast.exact.PrefixIndex : An index that finds all sets of a least similarity.

    Examples
    --------
    >>> index = StringIndex(0.9, "position")
    >>> index.stored("acdefghijk"), index.searched("acdefghijk")
    ([('a', 1), ('c', 2)], [('a', 1), ('a', 2), ('c', 1)])
    """

    threshold: Fraction | float | str
    by: Literal["length", "prefix", "position", "suffix"] = "suffix"

    def __post_init__(self) -> None:
        if self.by not in ("length", "prefix", "position", "suffix"):
            raise ValueError(
                f"by must be 'length', 'prefix', 'position' or 'suffix', not {self.by!r}"
            )
        if not 0 < self._least <= 1:
            raise ValueError(
                f"threshold must be a number in (0, 1], not {self.threshold!r}"
            )

    @cached_property
    def _least(self) -> Fraction:
        return _exact("threshold must be a number in (0, 1]", self.threshold)

    def lengths(self, length: int) -> range:
        """Return the lengths L' of strings that can be similar to L: J L <= L' <= L / J."""
        return range(ceil(self._least * length), floor(length / self._least) + 1)

    def prefix(self, length: int) -> int:
        """Return the length of the prefix of a string of length L: floor((1 - J) L) + 1."""
        return floor((1 - self._least) * length) + 1

    def positions(self, length: int, i: int) -> range:
        """Return the positions j of the symbol at position i in strings similar to this."""
        last = floor((length * (1 - self._least) - i + 1 + self._least) / self._least)
        return range(1, max(0, last) + 1)

    def stored(self, string: str) -> list[Bucket]:
        """Return the buckets of a string: (length,), (x,), (x, i) or (x, i, suffix length)."""
        if self.by == "length":
            return [(len(string),)]
        size = {"prefix": 1, "position": 2, "suffix": 3}[self.by]
        prefix = string[: self.prefix(len(string))]
        full_buckets = [(x, i, len(string) - i) for i, x in enumerate(prefix, 1)]
        return [bucket[:size] for bucket in full_buckets]

    def searched(self, string: str) -> list[Bucket]:
        """Return the buckets in which strings similar to this one are searched."""
        length = len(string)
        if self.by == "length":
            return [(other,) for other in self.lengths(length)]
        if self.by == "prefix":
            return self.stored(string)
        prefix = list(enumerate(string[: self.prefix(length)], 1))
        if self.by == "position":
            return [(x, j) for i, x in prefix for j in self.positions(length, i)]
        most = self.lengths(length).stop
        buckets: list[Bucket] = []
        for i, x in prefix:
            for q in range(most):
                buckets += [
                    (x, j, q) for j in range(1, most) if self._meet(length, i, j, q)
                ]
        return buckets

    def _meet(self, length: int, i: int, j: int, q: int) -> bool:
        """Return whether strings can be similar that first meet at positions i and j.

        The strings have p and q symbols after these positions.
        """
        p = length - i
        if p >= q:
            return q + 1 >= self._least * (length + j - 1)
        return p + 1 >= self._least * (i + j - 1 + q)

    def meeting_probability(self, length: int, symbols: int) -> Fraction:
        """Return the probability that two random sets of one size share a position bucket.

        The symbol at position i is number k of the universe in C(k - 1, i - 1) C(u - k, L - i) of
        C(u, L) cases.

        Parameters
        ----------
        length, symbols : int
            L, the size of the sets, with a prefix of at most 2 symbols; and u, the size of the
            universe, at least L.

        Examples
        --------
        >>> round(float(StringIndex(0.9).meeting_probability(9, 100)), 7)
        0.0496381
        """
        symbols = check_int("symbols", symbols, 1)
        length = check_int("length", length, 1, symbols)
        indexed = range(1, self.prefix(length) + 1)
        check_int("the length of the prefix", len(indexed), 1, 2)
        ways = {
            i: [
                comb(k, i - 1) * comb(symbols - 1 - k, length - i)
                for k in range(symbols)
            ]
            for i in indexed
        }
        meeting_positions = [
            (i, j) for i in indexed for j in self.positions(length, i) if j in indexed
        ]
        total = sum(
            x * y
            for i, j in meeting_positions
            for x, y in zip(ways[i], ways[j], strict=True)
        )
        # Only pairs at (2, 2) can also meet in a second bucket, the one of (1, 1).
        if (2, 2) in meeting_positions:
            total -= sum(
                k * comb(symbols - 1 - k, length - 2) ** 2 for k in range(symbols)
            )
        return Fraction(total, comb(symbols, length) ** 2)


class Sizes(NamedTuple):
    """Bytes of signatures, bytes of tables, pairs of documents, and days to compare all pairs.

    See Also
    --------
    lshfast.textbook.sizes : The sizes of an exercise.
    """

    signatures: int
    tables: int
    pairs: int
    days: float


def sizes(
    documents: int,
    slots: int = 0,
    tables: int = 0,
    *,
    slot_bytes: int = 4,
    entry_bytes: int = 12,
) -> Sizes:
    """Return the sizes of an exercise on similar documents, at a microsecond for each pair.

    Parameters
    ----------
    documents, slots, tables, slot_bytes, entry_bytes : int
        Numbers of documents, slots of a signature and tables; bytes of a slot and of a table's
        entry. At least 0.

    See Also
    --------
    lshfast.textbook.Sizes : The sizes as a tuple.

    Examples
    --------
    >>> sizes(1_000_000, slots=250)._replace(days=5.787)
    Sizes(signatures=1000000000, tables=0, pairs=499999500000, days=5.787)
    """
    arguments = {
        "documents": documents,
        "slots": slots,
        "tables": tables,
        "slot_bytes": slot_bytes,
        "entry_bytes": entry_bytes,
    }
    for name, value in arguments.items():
        check_int(name, value, 0)
    pairs = comb(documents, 2)
    signature_bytes = documents * slots * slot_bytes
    table_bytes = documents * tables * entry_bytes
    return Sizes(signature_bytes, table_bytes, pairs, pairs / 86_400_000_000)


def _exact(rule: str, value: Fraction | float | str) -> Fraction:
    try:
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{rule}, not {value!r}") from None


def _sets(
    columns: Iterable[Iterable[Row]], rows: Iterable[Row]
) -> list[frozenset[Row]]:
    different_rows = set(rows)
    try:
        sets = [frozenset(column) for column in columns]
    except TypeError:
        raise TypeError(f"columns must be sets of rows, not {columns!r}") from None
    for number, column in enumerate(sets):
        if unknown_rows := column - different_rows:
            raise ValueError(
                f"column {number} has rows that are not among the given ones: "
                f"{sorted(map(repr, unknown_rows))}"
            )
    return sets
