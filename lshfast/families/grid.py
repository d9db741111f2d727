"""The family of fingerprints on a grid, whose functions say yes or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import SEED, SeedField, check_int, check_number, numbers_of
from lshfast._common.rows import int64_range
from lshfast._common.threads import for_each_piece
from lshfast._common.types import Float64Array, Int64Array, UInt64Array
from lshfast.families.draws import draw, scaled
from lshfast.families.family import NO_VALUE, Family
from lshfast.families.set_distances import jaccard
from lshfast.sketch.sketcher import check_token_sets
from lshfast.tokens import TokenSets

SQUARES = 45  # domain
MAX_GRID = 2**24
MAX_SQUARES = 2**10

# Squares in one piece of work: their bytes stay in the cache.
PIECE_STEPS = 2**19


@dataclass(frozen=True)
class GridSquares(Family[TokenSets]):
    """Grid squares: sets of squares collide under a function if both have all of its squares.

    A fingerprint is the set of the squares of a grid that have a minutia. A function is a few
    squares, drawn independently. Its value is 0 if the item has all of them, and otherwise the item
    has no value: two items without a value do not collide. So there is one bucket a function, and
    items that lack a square are in none.

    The distance is the share of the squares of the grid that not both items have, d = 1 - |A & B| /
    grid; the collision probability is (1 - d)**squares. It is not a metric: an item has a distance
    above 0 to itself, unless it has all squares. In the model of the text, a square has a minutia
    with probability `minutia`. If one print of a finger has a minutia in a square, another print of
    it has one with probability `match`. The expected distances of two prints are `same` = 1 -
    minutia * match for one finger, and `different` = 1 - minutia**2 for two.

    Parameters
    ----------
    grid : int
        Squares of the grid, in 1..2**24; items are sets of numbers in 0..grid - 1.
    squares : int, default 3
        Squares of a function, in 1..1,024.
    minutia, match : float, default 0.2 and 0.8
        Probabilities of the model, in [0, 1]. They do not change the values.
    seed : int or "random", default 1
        In 0..2**64 - 1. With "random", the operating system draws the number; the attribute `seed`
        holds it.

    Attributes
    ----------
    same, different : float
        The expected distance of two prints of one finger, and of two fingers.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    See Also
    --------
    lshfast.fingerprints.FingerprintGrid : Lay a grid over a fingerprint.
    lshfast.fingerprints.FingerprintMatcher : Decide which fingerprints match.

    References
    ----------
    J. Leskovec, A. Rajaraman, J. D. Ullman, "Mining of Massive Datasets", section 3.8.5.

    Examples
    --------
    >>> from lshfast.families import GridSquares
    >>> family = GridSquares(grid=400)
    >>> family.collision_probability([family.same, family.different]).round(6).tolist()
    [0.004096, 6.4e-05]
    >>> family.or_(1024).collision_probability([family.same, family.different]).round(
    ...     5
    ... ).tolist()
    [0.98505, 0.06344]
    """

    name: ClassVar[str] = "grid-squares"

    grid: int
    squares: int = 3
    minutia: float = 0.2
    match: float = 0.8
    seed: SeedField = SEED

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", check_int("grid", self.grid, 1, MAX_GRID))
        object.__setattr__(
            self, "squares", check_int("squares", self.squares, 1, MAX_SQUARES)
        )
        for name in ("minutia", "match"):
            probability = check_number(name, getattr(self, name))
            if not 0 <= probability <= 1:
                raise ValueError(f"{name} must be in [0, 1], not {probability}")
            object.__setattr__(self, name, probability)

    @property
    def max_distance(self) -> float:
        """The largest distance: 1."""
        return 1.0

    @property
    def same(self) -> float:
        """The expected distance of two prints of one finger."""
        return 1 - self.minutia * self.match

    @property
    def different(self) -> float:
        """The expected distance of prints of two fingers."""
        return 1 - self.minutia**2

    def functions(self, count: int) -> Int64Array:
        """Return the squares of the first functions, int64 (count, squares), in 0..grid - 1."""
        count = check_int("count", count, 1)
        words = draw(self.seed, SQUARES, count * self.squares)
        return scaled(words, self.grid).astype(np.int64).reshape(count, self.squares)

    def hash(
        self, items: TokenSets, count: int, *, threads: int | None = None
    ) -> UInt64Array:
        """Compute the values of sets of squares under the first `count` functions.

        Parameters
        ----------
        items : TokenSets
            n sets of tokens in 0..grid - 1, the numbers of squares; made by ``TokenSets(offsets,
            squares)``.
        count : int
            Number of functions, at least 1.
        threads : int, optional
            At least 1. The default is the number of CPUs that this process may use. The result does
            not depend on it.

        Returns
        -------
        ndarray of uint64, shape (n, count)
            0 where an item has all squares of a function, `NO_VALUE` elsewhere.

        Raises
        ------
        TypeError
            If the items are not TokenSets.
        ValueError
            If a token or an argument is out of range.
        """
        self._check(items, "items")
        count = check_int("count", count, 1)
        functions = self.functions(count)
        # Squares that no function has share the last column, so that rows are as long as the
        # functions need.
        used_squares, columns = np.unique(functions, return_inverse=True)
        columns = columns.reshape(functions.shape)
        column_of = np.full(self.grid, len(used_squares), np.int32)
        column_of[used_squares] = np.arange(len(used_squares), dtype=np.int32)
        values = np.empty((len(items), count), np.uint64)

        def work(rows: slice) -> None:
            offsets = items.offsets[rows.start : rows.stop + 1]
            present = np.zeros((rows.stop - rows.start, len(used_squares) + 1), bool)
            item = np.repeat(int64_range(len(present)), np.diff(offsets))
            squares = items.tokens[offsets[0] : offsets[-1]].astype(np.int64)
            present[item, column_of[squares]] = True
            has_all = present[:, columns[:, 0]]
            for place in range(1, self.squares):
                has_all &= present[:, columns[:, place]]
            values[rows] = np.where(has_all, np.uint64(0), NO_VALUE)

        costs = items.counts + len(used_squares) + count * self.squares
        for_each_piece(work, costs, PIECE_STEPS, threads)
        return values

    def distance(self, a: TokenSets, b: TokenSets) -> Float64Array:
        """Compute the share of the squares that not both items of a pair have.

        Parameters
        ----------
        a, b : TokenSets
            n sets of squares each; one of them may be a single set.

        Returns
        -------
        ndarray of float64, shape (n,)
            In [0, 1].

        Raises
        ------
        TypeError, ValueError
            As for `hash`, or if the numbers of sets differ.
        """
        self._check(a, "a")
        self._check(b, "b")
        similarity = jaccard(a, b)
        sizes = a.distinct().counts + b.distinct().counts
        return np.asarray(
            1 - np.rint(similarity / (1 + similarity) * sizes) / self.grid
        )

    def collision_probability(self, distance: npt.ArrayLike) -> Float64Array:
        """Compute (1 - d)**squares.

        Parameters
        ----------
        distance : array_like of float
            Distances d, in [0, 1].

        Returns
        -------
        ndarray of float64, with the shape of `distance`
        """
        distances = numbers_of(distance, "distance", 0, self.max_distance)
        return np.asarray((1 - distances) ** self.squares)

    def _check(self, items: Any, name: str) -> None:
        check_token_sets(items)
        first = items.offsets[0]
        last = items.offsets[-1]
        wrong = np.flatnonzero(items.tokens[first:last] >= self.grid)
        if len(wrong):
            place = int(first + wrong[0])
            row = int(np.searchsorted(items.offsets, place, side="right")) - 1
            raise ValueError(
                f"{name} must be squares in 0..{self.grid - 1}, and row {row} has "
                f"{items.tokens[place]}"
            )
