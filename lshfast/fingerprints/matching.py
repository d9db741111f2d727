"""Matching of fingerprints: sets of grid squares, compared by groups of hash functions.

A function is a few squares of the grid, and says yes to two prints if both have a minutia in all of
them. Prints match if in each group some function says yes. So a print is only looked up in the
buckets of the functions whose squares it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import array_of, check_int, check_number
from lshfast._common.progress import Progress
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.threads import pieces
from lshfast._common.types import (
    BoolArray,
    Float64Array,
    Int64Array,
    RecordArray,
    UInt64Array,
)
from lshfast.families.family import NO_VALUE, Amplified
from lshfast.families.grid import GridSquares
from lshfast.kernels.sets import similarities
from lshfast.sketch.sketcher import check_token_sets
from lshfast.tokens import TokenSets

# The largest number of functions of all groups together.
MAX_FUNCTIONS = 2**24

# Values of functions, and pairs of prints, that are in memory at a time.
PIECE_VALUES = 2**22
PIECE_PAIRS = 2**22

MATCH = np.dtype(
    [("i", np.int64), ("j", np.int64), ("common", np.int64), ("similarity", np.float64)]
)


class Rates(NamedTuple):
    """The expected rates of a matcher.

    Attributes
    ----------
    found : float
        Probability that two prints of one finger match; 1 - found is the rate of false negatives.
    false : float
        Probability that prints of two fingers match, the rate of false positives.

    See Also
    --------
    lshfast.fingerprints.FingerprintMatcher : Decide which fingerprints match.
    lshfast.fingerprints.best_functions : Choose the number of functions of a group.
    """

    found: float
    false: float


@dataclass(frozen=True)
class FingerprintGrid:
    """A grid of squares that is laid over a fingerprint.

    Parameters
    ----------
    square : float
        Side of a square, in the unit of the coordinates; above 0 and finite.
    columns, rows : int
        Squares side by side and on top of each other; at most 2**24 in all.
    border : float, default 0
        A minutia counts for the adjacent squares too if it is at most this far from them, because
        in another print of the finger it may be there. In [0, square / 2].

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.fingerprints.FingerprintMatcher : Decide which fingerprints match.
    lshfast.families.GridSquares : Grid squares of fingerprints.

    Examples
    --------
    >>> from lshfast.fingerprints import FingerprintGrid
    >>> FingerprintGrid(25, columns=16, rows=20).squares_of(
    ...     [0, 399.9, 30], [0, 499, 24]
    ... ).tolist()
    [0, 319, 1]
    >>> FingerprintGrid(25, columns=16, rows=20, border=2).prints(
    ...     [0, 0], [24, 60], [10, 10], count=1
    ... )[0].tolist()
    [0, 1, 2]
    """

    square: float
    columns: int = 20
    rows: int = 20
    border: float = 0

    def __post_init__(self) -> None:
        side = check_number("square", self.square)
        if not 0 < side < np.inf:
            raise ValueError(f"square must be above 0 and finite, not {side}")
        object.__setattr__(self, "square", side)
        object.__setattr__(
            self, "columns", check_int("columns", self.columns, 1, 2**24)
        )
        object.__setattr__(
            self, "rows", check_int("rows", self.rows, 1, 2**24 // self.columns)
        )
        border = check_number("border", self.border)
        if not 0 <= border <= side / 2:
            raise ValueError(
                f"border must be in 0..{side / 2:g}, half of a square, not {border}"
            )
        object.__setattr__(self, "border", border)

    @property
    def size(self) -> int:
        """The number of squares."""
        return self.columns * self.rows

    def contains(self, x: npt.ArrayLike, y: npt.ArrayLike) -> BoolArray:
        """Return which points are on the grid, bool (n,)."""
        x = _numbers(x, "x")
        y = _numbers(y, "y")
        return np.asarray(
            (x >= 0)
            & (x < self.square * self.columns)
            & (y >= 0)
            & (y < self.square * self.rows)
        )

    def squares_of(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Int64Array:
        """Return the squares of points, row by row.

        Parameters
        ----------
        x, y : array_like of float, shape (n,)
            Coordinates, 0 <= x < square * columns and 0 <= y < square * rows.

        Returns
        -------
        ndarray of int64, shape (n,)
            In 0..columns * rows - 1.

        Raises
        ------
        TypeError, ValueError
            If the coordinates are not numbers, or a point is not on the grid.
        """
        x = _numbers(x, "x")
        y = _numbers(y, "y")
        if len(x) != len(y):
            raise ValueError(
                f"x and y must have the same length, not {len(x)} and {len(y)}"
            )
        outside = np.flatnonzero(~self.contains(x, y))
        if len(outside):
            place = int(outside[0])
            width = self.square * self.columns
            height = self.square * self.rows
            raise ValueError(
                f"points must be on the grid, 0 <= x < {width:g} and 0 <= y < {height:g}, not "
                f"({x[place]:g}, {y[place]:g})"
            )
        # The quotient may be rounded up.
        column = np.minimum((x / self.square).astype(np.int64), self.columns - 1)
        row = np.minimum((y / self.square).astype(np.int64), self.rows - 1)
        return row * self.columns + column

    def prints(
        self, owners: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike, count: int
    ) -> TokenSets:
        """Return prints as sets of squares.

        Parameters
        ----------
        owners : array_like of int, shape (n,)
            The print of each minutia, in 0..count - 1.
        x, y : array_like of float, shape (n,)
            Coordinates of the minutiae; see `squares_of`.
        count : int
            Number of prints.

        Returns
        -------
        TokenSets
            One set for each print.
        """
        squares = self._with_adjacent(x, y)
        count = check_int("count", count, 0)
        rows = owners_of(owners, squares.shape[1], count)
        offsets = offsets_of(np.bincount(rows, minlength=count) * len(squares))
        order = np.argsort(rows, kind="stable")
        return TokenSets(
            offsets, squares[:, order].T.reshape(-1).astype(np.uint64)
        ).distinct()

    def _with_adjacent(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Int64Array:
        """Return the squares of points and those within the border of each, int64 (m, n).

        Squares may be repeated.
        """
        squares = self.squares_of(x, y)
        if not self.border:
            return squares[np.newaxis]
        x = _numbers(x, "x")
        y = _numbers(y, "y")
        steps = -self.border, 0.0, self.border

        def numbers_of(axis: Float64Array, count: int) -> list[Int64Array]:
            numbers = [((axis + step) / self.square).astype(np.int64) for step in steps]
            return [np.clip(number, 0, count - 1) for number in numbers]

        columns = numbers_of(x, self.columns)
        rows = numbers_of(y, self.rows)
        return np.stack(
            [row * self.columns + column for row in rows for column in columns]
        )


@dataclass(frozen=True)
class FingerprintMatcher:
    """Decide which fingerprints match: in each of several groups, some function must say yes.

    Parameters
    ----------
    family : GridSquares
        The family of the functions.
    functions : int, default 1024
        Functions of a group, of which one must say yes (OR).
    groups : int, default 2
        Groups, of which each must say yes (AND). There may be 2**24 functions in all.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.fingerprints.FingerprintGrid : Lay a grid over a fingerprint.
    lshfast.fingerprints.best_functions : Choose the number of functions of a group.
    lshfast.families.GridSquares : Grid squares of fingerprints.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.8.5.

    Examples
    --------
    >>> from lshfast.families import GridSquares
    >>> from lshfast.fingerprints import FingerprintMatcher
    >>> FingerprintMatcher(GridSquares(400)).rates()
    Rates(found=0.9703..., false=0.0040...)
    """

    family: GridSquares
    functions: int = 1024
    groups: int = 2
    amplified: Amplified[TokenSets] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.family, GridSquares):
            raise TypeError(f"family must be GridSquares, not {self.family!r}")
        functions = check_int("functions", self.functions, 1, MAX_FUNCTIONS)
        groups = check_int("groups", self.groups, 1, MAX_FUNCTIONS // functions)
        object.__setattr__(self, "functions", functions)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(
            self, "amplified", self.family.or_(self.functions).and_(self.groups)
        )

    def rates(self) -> Rates:
        """Return the expected rates for the family's probabilities `minutia` and `match`."""
        found_rate, false_rate = self.amplified.collision_probability(
            [self.family.same, self.family.different]
        ).tolist()
        return Rates(found_rate, false_rate)

    def match(
        self,
        prints: TokenSets,
        others: TokenSets | None = None,
        *,
        progress: Progress | None = None,
    ) -> RecordArray:
        """Find all pairs of matching prints, in one collection or with a database.

        Parameters
        ----------
        prints : TokenSets
            n sets of squares (see `FingerprintGrid.prints`). One set against a database is the
            many-to-one problem.
        others : TokenSets, optional
            The database. Without it, prints are matched with each other (many-to-many).
        progress : callable, optional
            Called with ("verify", prints done, total).

        Returns
        -------
        ndarray of shape (m,) with fields i, j, common (int64) and similarity (float64)
            Print i matches print j of the database, or of the same collection with i < j; sorted by
            (i, j). `common` is the number of squares that both have, and `similarity` the Jaccard
            similarity of their sets of squares.

        Raises
        ------
        TypeError
            If the prints are not TokenSets.
        ValueError
            If a set has a number that is not a square of the grid.

        Examples
        --------
        >>> from lshfast import TokenSets
        >>> from lshfast.families import GridSquares
        >>> from lshfast.fingerprints import FingerprintMatcher
        >>> matcher = FingerprintMatcher(GridSquares(20, squares=2), functions=500)
        >>> prints = TokenSets.concatenate(
        ...     [
        ...         TokenSets([0, 4], squares)
        ...         for squares in ([1, 5, 9, 13], [1, 5, 9, 17])
        ...     ]
        ... )
        >>> matcher.match(prints).tolist()
        [(0, 1, 3, 0.6)]
        """
        check_token_sets(prints)
        within = others is None
        others = prints if others is None else others
        check_token_sets(others)
        buckets = self._buckets(prints)
        theirs = buckets if within else self._buckets(others)
        database = _by_function(theirs, self.functions * self.groups)
        few, crowded = _divided(buckets, database, len(others))
        sets = prints.distinct()
        if not within:
            sets = TokenSets.concatenate([sets, others.distinct()])
        parts = [np.empty(0, MATCH)]
        prints_done = len(prints) - few.entered - crowded.entered
        for count, i, j in chain(
            [_Met(0, np.empty(0, np.int64), np.empty(0, np.int64))],
            self._meet_few(few, database, len(others), within),
            self._meet_all(crowded, theirs, len(others), within),
        ):
            parts.append(_compared(sets, i, j, 0 if within else len(prints)))
            prints_done += count
            if progress:
                progress("verify", prints_done, len(prints))
        matches = np.concatenate(parts)
        return (
            matches[np.lexsort((matches["j"], matches["i"]))]
            if crowded.entered
            else matches
        )

    def _buckets(self, prints: TokenSets) -> _Buckets:
        """Return the functions whose squares prints have, in the order of the prints."""
        count = self.functions * self.groups
        parts = [_Buckets(np.empty(0, np.int64), np.empty(0, np.int64))]
        for rows in pieces(prints.counts + count, PIECE_VALUES):
            piece = TokenSets(prints.offsets[rows.start : rows.stop + 1], prints.tokens)
            row, function = np.nonzero(self.family.hash(piece, count) != NO_VALUE)
            parts.append(
                _Buckets((row + rows.start).astype(np.int64), function.astype(np.int64))
            )
        return _Buckets(
            *(np.concatenate(column) for column in zip(*parts, strict=True))
        )

    def _meet_few(
        self, buckets: _Buckets, database: _Lists, n: int, within: bool
    ) -> Iterator[_Met]:
        """Yield the pairs of prints, by the buckets that they share with n prints of a database."""
        for piece in _pieces(buckets, database):
            yield _Met(piece.entered, *self._meet(piece, database, n, within))

    def _meet_all(
        self, buckets: _Buckets, database_buckets: _Buckets, n: int, within: bool
    ) -> Iterator[_Met]:
        """Yield the pairs of prints by a comparison with all n prints, by bits of functions."""
        names = np.unique(buckets.prints)
        words = self.groups * -(-self.functions // 64)
        step = max(1, PIECE_VALUES // (64 * words))
        for at in range(0, len(names), step):
            piece_names = names[at : at + step]
            bits = self._bits(buckets, piece_names)
            for first in range(int(piece_names[0]) + 1 if within else 0, n, step):
                other_names = int64_range(first, min(n, first + step))
                database_bits = self._bits(database_buckets, other_names)
                matches = [
                    np.flatnonzero((row & database_bits).any(axis=2).all(axis=1))
                    + first
                    for row in bits
                ]
                i = np.repeat(
                    piece_names, [len(row_matches) for row_matches in matches]
                )
                j = np.concatenate(matches)
                later = (i < j) | (not within)
                yield _Met(0, i[later], j[later])
            yield _Met(len(piece_names), np.empty(0, np.int64), np.empty(0, np.int64))

    def _bits(self, buckets: _Buckets, names: Int64Array) -> UInt64Array:
        """Return which functions have the squares of some prints, bits (n, groups, words).

        `names` are ascending, and all prints with entries between the first and the last of them.
        """
        entries = slice(
            *np.searchsorted(buckets.prints, [names[0], names[-1] + 1]).tolist()
        )
        group, function = np.divmod(buckets.functions[entries], self.functions)
        yes = np.zeros((len(names), self.groups, -(-self.functions // 64) * 64), bool)
        yes[np.searchsorted(names, buckets.prints[entries]), group, function] = True
        return np.packbits(yes, axis=2).view(np.uint64)

    def _meet(
        self, buckets: _Buckets, database: _Lists, n: int, within: bool
    ) -> tuple[Int64Array, Int64Array]:
        """Return the pairs that share a bucket of each group with prints of the database."""
        common_pairs: Int64Array | None = None
        for group in range(self.groups):
            in_group = buckets.functions // self.functions == group
            functions = buckets.functions[in_group]
            rows = buckets.prints[in_group]
            sizes = database.offsets[functions + 1] - database.offsets[functions]
            starts = np.cumsum(sizes, dtype=np.int64) - sizes
            shifts = np.repeat(database.offsets[functions] - starts, sizes)
            places = int64_range(sizes.sum()) + shifts
            i = np.repeat(rows, sizes)
            j = database.prints[places]
            if within:
                later = i < j
                i = i[later]
                j = j[later]
            pairs = np.unique(i * n + j)
            if common_pairs is None:
                common_pairs = pairs
            else:
                common_pairs = np.intersect1d(common_pairs, pairs, assume_unique=True)
        assert common_pairs is not None
        return common_pairs // n, common_pairs % n


def best_functions(family: GridSquares, groups: int = 1, most: int = 2**20) -> int:
    """Return the number of functions of a group with the fewest false results.

    This is the sum of false negatives and false positives.

    Parameters
    ----------
    family : GridSquares
        The family, with the probabilities of its model.
    groups : int, default 1
        In 1..2**24.
    most : int, default 2**20
        The largest number that is considered, in 1..2**24.

    Returns
    -------
    int
        The number n for which (1 - found) + false is least; the smallest of these.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.fingerprints.FingerprintMatcher : Decide which fingerprints match.
    lshfast.fingerprints.Rates : The expected rates of a matcher.

    Examples
    --------
    >>> from lshfast.families import GridSquares
    >>> from lshfast.fingerprints import best_functions
    >>> best_functions(GridSquares(400))
    1030
    """
    groups = check_int("groups", groups, 1, MAX_FUNCTIONS)
    most = check_int("most", most, 1, MAX_FUNCTIONS)
    same, different = family.collision_probability(
        [family.same, family.different]
    ).tolist()
    n = np.arange(1, most + 1, dtype=np.float64)
    with np.errstate(divide="ignore"):
        found_rates, false_rates = (
            -np.expm1(n * np.log1p(-p)) for p in (same, different)
        )
    return int(np.argmin(1 - found_rates**groups + false_rates**groups)) + 1


class _Buckets(NamedTuple):
    """Entries of prints in the buckets of functions, in the order of the prints."""

    prints: Int64Array
    functions: Int64Array

    @property
    def entered(self) -> int:
        """The number of prints with an entry."""
        return int(np.count_nonzero(np.diff(self.prints, prepend=-1)))


class _Met(NamedTuple):
    """Pairs of matching prints; `done` more prints have been compared."""

    done: int
    i: Int64Array
    j: Int64Array


class _Lists(NamedTuple):
    """The prints of each function, ascending, as CSR."""

    offsets: Int64Array
    prints: Int64Array


def _by_function(buckets: _Buckets, count: int) -> _Lists:
    offsets = offsets_of(np.bincount(buckets.functions, minlength=count))
    return _Lists(offsets, buckets.prints[np.argsort(buckets.functions, kind="stable")])


def _compared(sets: TokenSets, i: Int64Array, j: Int64Array, first: int) -> RecordArray:
    """Return pairs with the overlap of their sets; those of j begin with set number `first`."""
    part = np.empty(len(i), MATCH)
    part["i"] = i
    part["j"] = j
    part["similarity"] = similarities(sets.offsets, sets.tokens, i, j + first, 0.0)
    sizes = sets.counts[i] + sets.counts[j + first]
    part["common"] = np.rint(
        part["similarity"] / (1 + part["similarity"]) * sizes
    ).astype(np.int64)
    return part


def _divided(buckets: _Buckets, database: _Lists, n: int) -> tuple[_Buckets, _Buckets]:
    """Return the entries of prints that meet at most n entries of n prints, and the others.

    A print with minutiae in most squares meets each print of the database in hundreds of buckets.
    """
    sizes = np.diff(database.offsets)[buckets.functions]
    crowded = (np.bincount(buckets.prints, sizes) > n)[buckets.prints]
    few = _Buckets(buckets.prints[~crowded], buckets.functions[~crowded])
    many = _Buckets(buckets.prints[crowded], buckets.functions[crowded])
    return few, many


def _pieces(buckets: _Buckets, database: _Lists) -> Iterator[_Buckets]:
    """Yield the entries of some prints, which meet about PIECE_PAIRS entries of the database."""
    if not len(buckets.prints):
        return
    sizes = np.diff(database.offsets)[buckets.functions]
    starts = np.flatnonzero(np.diff(buckets.prints, prepend=-1))
    for part in pieces(np.add.reduceat(sizes, starts), PIECE_PAIRS):
        stop = starts[part.stop] if part.stop < len(starts) else len(buckets.prints)
        entries = slice(starts[part.start], stop)
        yield _Buckets(buckets.prints[entries], buckets.functions[entries])


def owners_of(owners: npt.ArrayLike, points: int, count: int) -> Int64Array:
    """Return the print of each minutia, or raise an error that names the argument."""
    rows = array_of(owners, "owners")
    if len(rows) == 0:
        rows = rows.astype(np.int64)
    if rows.dtype.kind not in "iu":
        raise TypeError(f"owners must be integers, not {rows.dtype}")
    if rows.shape != (points,):
        raise ValueError(
            f"owners must have one number for each of {points} points, not shape {rows.shape}"
        )
    if len(rows) and not 0 <= rows.min() <= rows.max() < count:
        raise ValueError(
            f"owners must be in 0..{count - 1}, not {rows.min()}..{rows.max()}"
        )
    return np.asarray(rows, np.int64)


def _numbers(values: npt.ArrayLike | Sequence[Any], name: str) -> Float64Array:
    array = array_of(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    if len(array) and array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be numbers, not {array.dtype}")
    return array.astype(np.float64)
