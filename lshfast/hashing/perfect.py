"""`PerfectMap`, a static map from 64-bit keys, by perfect hashing with two levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import Seed, check_seed
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.hashing.keys import words_of
from lshfast.kernels import hashing as kernels

# Domains of random numbers.
FIRST = 65
SECOND = 66
BETA = 4


@dataclass(frozen=True)
class PerfectStats:
    """What a `PerfectMap` drew and took.

    Attributes
    ----------
    first_draws : int
        First functions that were drawn: 2 at most in expectation.
    squares : int
        The sum of b**2 over the buckets of b keys: at most 4 n, and at most 2 n - 1 in expectation
        before a redraw.
    second_draws : tuple of int
        How many buckets of two or more keys took a second function at the first draw, at the second
        one and so on. A draw fails with probability at most 1/4.
    cells : int
        Cells of the second level: at most 2 `squares`, so 8 n.
    nbytes : int
        Bytes of memory.

    See Also
    --------
    lshfast.hashing.PerfectMap : A static map of 64-bit keys.
    """

    first_draws: int
    squares: int
    second_draws: tuple[int, ...]
    cells: int
    nbytes: int


class PerfectMap:
    """A static map from 64-bit keys to 64-bit values, where a lookup reads at most two places.

    This is the scheme of Fredman, Komlos and Szemeredi. A function f of a strongly universal family
    (that of `MultiplyAddShift`, of keys mixed by a bijection) maps n keys to n buckets. It is drawn
    anew until the sum of the squares of the sizes b of the buckets is at most 4 n; the sum is at
    most 2 n - 1 in expectation, so at most 2 draws are needed in expectation. A bucket of b >= 2
    keys has 2 b (b - 1) cells, and a second function, drawn anew until no keys of the bucket
    collide; they do with probability at most 1/4. So the expected time is linear, and there are at
    most 8 n cells. With typical f there are 2.4 n cells of 16 bytes, and the map takes 46 bytes a
    key.

    Lookups are the same whatever was drawn. The bounds hold for keys that were fixed before the
    functions were drawn. By default the operating system draws the seed, so nobody can choose keys
    that make the construction slow.

    Threads may share a map.

    Parameters
    ----------
    keys : array_like of integers, shape (n,)
        In 0..2**64 - 1, all different; n is below 2**30. The map keeps no reference to them.
    values : array_like of integers, shape (n,), optional
        In 0..2**64 - 1. The default is 0..n - 1, the positions of the keys.
    seed : int or "random", default "random"
        In 0..2**64 - 1. With a number, the construction can be repeated exactly.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If two keys are equal, there are too many, there is not a value for each, or an integer is
        out of range.

    See Also
    --------
    lshfast.hashing.PerfectStats : What a map drew and took.

    References
    ----------
    M. L. Fredman, J. Komlos, E. Szemeredi, "Storing a Sparse Table with O(1) Worst Case Access
    Time", J. ACM 31, 1984.

    Examples
    --------
    >>> from lshfast.hashing import PerfectMap
    >>> ages = PerfectMap([2**63, 5, 17], [31, 62, 45])
    >>> ages[5], ages.get([17, 18, 2**63], default=0).tolist(), 18 in ages
    (62, [45, 0, 31], False)
    >>> PerfectMap([2**63, 5, 17]).positions([17, 18]).tolist()
    [2, -1]
    >>> PerfectMap([7, 8, 7])
    Traceback (most recent call last):
        ...
    ValueError: keys must be different, and 7 is at positions 0 and 2
    """

    __slots__ = ("_arrays", "_count", "_given", "_seed", "_stats")

    def __init__(
        self,
        keys: npt.ArrayLike,
        values: npt.ArrayLike | None = None,
        *,
        seed: Seed = "random",
    ) -> None:
        self._seed = check_seed(seed)
        words = words_of(keys)
        self._count = n = len(words)
        self._given = values is not None
        value_words = (
            np.arange(n, dtype=np.uint64)
            if values is None
            else words_of(values, "values")
        )
        if len(value_words) != n:
            raise ValueError(
                f"values must have {n} elements, as keys has, not {len(value_words)}"
            )
        if n > kernels.MOST_KEYS:
            raise ValueError(f"keys must be at most {kernels.MOST_KEYS}, not {n}")
        self._arrays: (
            tuple[UInt64Array, UInt64Array, UInt64Array, UInt64Array] | None
        ) = None
        self._stats = PerfectStats(0, 0, (), 0, 0)
        if n:
            self._build(words, value_words)

    def _build(self, keys: UInt64Array, values: UInt64Array) -> None:
        n = len(keys)
        draws = 0
        while True:
            first = kernels.words(self._seed, FIRST, 4 * draws, 4)
            drawn = kernels.words(
                self._seed,
                SECOND,
                4 * draws * kernels.SECOND_DRAWS,
                4 * kernels.SECOND_DRAWS,
            )
            second = drawn.reshape(-1, 4)
            squares, directory, cells, taken = kernels.build(
                keys, values, first, second, BETA * n
            )
            draws += 1
            if (
                squares is not None
                and directory is not None
                and cells is not None
                and taken is not None
            ):
                break
            _refuse_equal(keys)
        used = np.flatnonzero(taken)
        counts = taken[: used[-1] + 1].tolist() if len(used) else []
        arrays = first, second, directory, cells
        self._arrays = arrays
        self._stats = PerfectStats(
            draws,
            squares,
            tuple(counts),
            len(cells),
            sum(array.nbytes for array in arrays),
        )

    def get(self, keys: npt.ArrayLike, default: int = 0) -> UInt64Array:
        """Return the values of keys, and `default` for those that the map does not have.

        Parameters
        ----------
        keys : array_like of integers, shape (m,)
            In 0..2**64 - 1.
        default : int, default 0
            In 0..2**64 - 1.

        Returns
        -------
        ndarray of uint64, shape (m,)

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or is out of range.
        """
        return self._look_up(words_of(keys), int(words_of([default], "default")[0]))[0]

    def contains(self, keys: npt.ArrayLike) -> BoolArray:
        """Return whether the map has each key.

        Parameters
        ----------
        keys : array_like of integers, shape (m,)
            In 0..2**64 - 1.

        Returns
        -------
        ndarray of bool, shape (m,)

        Raises
        ------
        TypeError, ValueError
            If the keys are not integers, or one is out of range.
        """
        return self._look_up(words_of(keys), 0)[1]

    def positions(self, keys: npt.ArrayLike) -> Int64Array:
        """Return the positions of keys in the array the map was made from, -1 for other keys.

        Parameters
        ----------
        keys : array_like of integers, shape (m,)
            In 0..2**64 - 1.

        Returns
        -------
        ndarray of int64, shape (m,)

        Raises
        ------
        TypeError, ValueError
            If the map has values in place of positions, the keys are not integers, or one is out of
            range.
        """
        if self._given:
            raise ValueError("the map has values, not positions: use get")
        return self._look_up(words_of(keys), 2**64 - 1)[0].view(np.int64)

    def __getitem__(self, key: int) -> int:
        """Return the value of one key, or raise KeyError."""
        values, is_key = self._look_up(words_of([key], "key"), 0)
        if not is_key[0]:
            raise KeyError(key)
        return int(values[0])

    def __contains__(self, key: object) -> bool:
        if (
            isinstance(key, bool)
            or not isinstance(key, (int, np.integer))
            or not 0 <= key < 2**64
        ):
            return False
        return bool(self.contains([int(key)])[0])

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"PerfectMap({self._count} keys, {self._stats.cells} cells)"

    @property
    def stats(self) -> PerfectStats:
        """What was drawn, and the memory."""
        return self._stats

    @property
    def seed(self) -> int:
        """The seed of the functions."""
        return self._seed

    def _look_up(
        self, keys: UInt64Array, default: int
    ) -> tuple[UInt64Array, BoolArray]:
        values = np.full(len(keys), np.uint64(default), np.uint64)
        is_key = np.zeros(len(keys), np.uint8)
        if self._arrays is not None:
            kernels.look_up(keys, *self._arrays, values, is_key)
        return values, is_key.view(np.bool_)

    def __reduce__(self) -> Any:
        raise TypeError(
            "a PerfectMap cannot be pickled: save its keys and values, and make it again"
        )


def _refuse_equal(keys: UInt64Array) -> None:
    """Raise ValueError that names the first two equal keys, if there are any."""
    order = np.argsort(keys, kind="stable")
    repeats = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
    if len(repeats):
        at = repeats[np.argmin(order[repeats + 1])]
        i, j = order[at : at + 2].tolist()
        raise ValueError(
            f"keys must be different, and {keys[i]} is at positions {i} and {j}"
        )
