"""TokenSets: rows of tokens in CSR layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import checked_column, objects_of
from lshfast._common.checks import INT64_RANGE, array_of, check_seed_number
from lshfast._common.elements import words_of_array, words_of_integers
from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import Int64Array, UInt64Array
from lshfast.kernels import sets, text


class TokenSets:
    """Store rows of 64-bit tokens; row i is ``tokens[offsets[i]:offsets[i + 1]]``.

    A row represents the set of its tokens. It may contain a token several times, and it may be
    empty. The object is immutable and can be shared between threads: both arrays are read-only
    views. Aligned arrays of the right dtype are not copied, so later writes to the original arrays
    are visible here. Pass copies if you will change them.

    Parameters
    ----------
    offsets : array_like of int64, shape (n + 1,)
        Start of each row, then the end of the last one. Non-decreasing, in 0..m.
    tokens : array_like of uint64, shape (m,)
        Tokens of all rows. They need not be hashes: every scheme mixes them first.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    tokens : ndarray of uint64, shape (m,)

    Raises
    ------
    TypeError
        If an array does not contain integers.
    ValueError
        If an array does not have one dimension, a token is negative or above 2**64 - 1, or the
        offsets decrease or exceed the number of tokens.

    See Also
    --------
    lshfast.shingle : Convert texts to sets of shingles.
    lshfast.WeightedSets : Sets whose elements have weights.
    lshfast.MinHasher : Compute MinHash signatures of sets.

    Examples
    --------
    >>> from lshfast import TokenSets
    >>> sets = TokenSets.from_sets([["the", "cat"], ["the", "dog", "the"], []])
    >>> len(sets), sets.counts.tolist()
    (3, [2, 3, 0])
    >>> sets.distinct().counts.tolist()
    [2, 2, 0]
    """

    __slots__ = ("offsets", "tokens")

    offsets: Int64Array
    tokens: UInt64Array

    def __init__(self, offsets: npt.ArrayLike, tokens: npt.ArrayLike) -> None:
        object.__setattr__(self, "offsets", _integers(offsets, np.int64, "offsets"))
        object.__setattr__(self, "tokens", _integers(tokens, np.uint64, "tokens"))
        if len(self.offsets) < 1:
            raise ValueError("offsets must hold at least one number: n + 1 for n rows")
        falls = np.flatnonzero(np.diff(self.offsets) < 0)
        if len(falls):
            row = int(falls[0])
            raise ValueError(
                f"offsets fall from {self.offsets[row]} to {self.offsets[row + 1]} at row {row}"
            )
        if self.offsets[0] < 0 or self.offsets[-1] > len(self.tokens):
            raise ValueError(
                f"offsets must be in 0..{len(self.tokens)}, not {self.offsets[0]}.."
                f"{self.offsets[-1]}: there are {len(self.tokens)} tokens"
            )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("TokenSets is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("TokenSets is immutable")

    def __reduce__(self) -> tuple[type[TokenSets], tuple[Int64Array, UInt64Array]]:
        return TokenSets, (self.offsets, self.tokens)

    @classmethod
    def from_sets(
        cls, rows: Iterable[Iterable[str | bytes | int]], *, seed: int = 1
    ) -> TokenSets:
        """Hash rows of strings, bytes or integers into tokens.

        Parameters
        ----------
        rows : iterable of iterables
            Each row yields elements: str (hashed as UTF-8), bytes, or int in -2**63..2**64 - 1.
            Integer arrays of numpy are read without a Python object for each element.
        seed : int, default 1
            Seed of the hash, in 0..2**64 - 1. Only sets with the same seed can be compared. For a
            secret seed, draw one number, ``MinHasher(seed="random").seed``, and pass it both here
            and to the sketcher.

        Returns
        -------
        TokenSets
            Row i holds the tokens of the elements of row i, in order, repeats included.

        Raises
        ------
        TypeError
            If an element has another type, or a row is a str or bytes.
        ValueError
            If an integer or the seed is out of range, or a str has a lone surrogate.

        Examples
        --------
        >>> from lshfast import TokenSets
        >>> TokenSets.from_sets([{1, 2, 3}, {"a", b"a"}]).counts.tolist()
        [3, 2]
        """
        seed = check_seed_number(seed)
        if not (hasattr(rows, "__iter__") or hasattr(rows, "__getitem__")):
            raise TypeError(f"rows must be an iterable of rows, not {rows!r}")
        return hash_rows(rows, seed)

    @classmethod
    def from_columns(
        cls, groups: Iterable[Any], items: Iterable[str | bytes | int], *, seed: int = 1
    ) -> tuple[list[Any], TokenSets]:
        """Collect the items of each group, from a table with a group and an item in each row.

        Groups are, for example, customers, and items are what they bought. The rows of a group need
        not be next to each other.

        Parameters
        ----------
        groups : iterable of hashable objects, n
            A list, a numpy array, or a column of pandas, polars or Arrow. Values that are equal are
            one group.
        items : iterable of str, bytes or int, n
            The item of each row, as for `from_sets`.
        seed : int, default 1
            As for `from_sets`.

        Returns
        -------
        list
            The groups, in the order of their first rows.
        TokenSets
            Row i holds the tokens of the items of group i, in the order of the table, repeats
            included.

        Raises
        ------
        TypeError
            If a group or an item is missing (None or NaN), a group cannot be hashed, or an item has
            another type.
        ValueError
            If the columns differ in length, an integer or the seed is out of range, or a str has a
            lone surrogate.

        Examples
        --------
        >>> from lshfast import TokenSets, exact
        >>> customers, baskets = TokenSets.from_columns(
        ...     ["ann", "bob", "ann", "bob"], ["milk", "tea", "tea", "milk"]
        ... )
        >>> customers, exact.pairs(baskets, threshold=0.1).tolist()
        (['ann', 'bob'], [(0, 1, 1.0)])
        """
        seed = check_seed_number(seed)
        names = _column(groups, "groups")
        if (
            isinstance(items, np.ndarray)
            and items.dtype.kind in "iu"
            and items.ndim == 1
        ):
            tokens = text.tokens_of_integers(words_of_array(items), seed)
        else:
            elements = _column(items, "items")
            tokens = _tokens_of(elements, int64_range(len(elements) + 1), seed, 0)
        if len(names) != len(tokens):
            raise ValueError(
                f"groups and items must have the same length, not {len(names)} and {len(tokens)}"
            )
        numbers: dict[Any, int] = {}
        try:
            row_numbers = (numbers.setdefault(name, len(numbers)) for name in names)
            rows = np.fromiter(row_numbers, np.int64, len(names))
        except TypeError as error:
            raise TypeError(f"groups must be hashable: {error}") from None
        offsets = offsets_of(np.bincount(rows, minlength=len(numbers)))
        return list(numbers), TokenSets(
            offsets, tokens[np.argsort(rows, kind="stable")]
        )

    @property
    def counts(self) -> Int64Array:
        """Number of tokens of each row, repeats included: int64 (n,)."""
        return np.diff(self.offsets)

    @property
    def sizes(self) -> Int64Array:
        """Size of each row in memory, in tokens: equal to `counts`, int64 (n,)."""
        return self.counts

    @property
    def nbytes(self) -> int:
        """Size of both arrays together, in bytes."""
        return self.offsets.nbytes + self.tokens.nbytes

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> UInt64Array:
        """Return the tokens of one row: a read-only view, uint64 (m,)."""
        if not hasattr(row, "__index__"):
            raise TypeError(f"row must be an int, not {row!r}")
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} is out of range: there are {len(self)} rows")
        row %= len(self)
        return self.tokens[self.offsets[row] : self.offsets[row + 1]]

    def __repr__(self) -> str:
        return (
            f"TokenSets({len(self)} rows, {self.offsets[-1] - self.offsets[0]} tokens)"
        )

    def take(self, rows: npt.ArrayLike) -> TokenSets:
        """Copy some of the rows into new TokenSets.

        Parameters
        ----------
        rows : array_like of integers, shape (m,), or of bool, shape (n,)
            Row numbers in -n..n - 1, in any order, or a mask that selects rows.

        Returns
        -------
        TokenSets
            The selected rows, in the order of `rows`.

        Raises
        ------
        TypeError
            If `rows` contains neither integers nor bools.
        ValueError
            If `rows` does not have one dimension.
        IndexError
            If a row number is out of range, or the mask does not have n elements.

        Examples
        --------
        >>> from lshfast import TokenSets
        >>> sets = TokenSets([0, 1, 3], [7, 8, 9])
        >>> sets.take([1, 0]).tokens.tolist(), sets.take([True, False]).tokens.tolist()
        ([8, 9, 7], [7])
        """
        selection = array_of(rows, "rows")
        if selection.ndim != 1:
            raise ValueError(f"rows must have one dimension, not {selection.ndim}")
        if len(selection) and selection.dtype.kind not in "iub":
            raise TypeError(f"rows must be integers or bools, not {selection.dtype}")
        if selection.dtype == bool and len(selection) not in (0, len(self)):
            raise IndexError(
                f"rows must have a bool for each of {len(self)} rows, not {len(selection)}"
            )
        numbers = int64_range(len(self))[selection if len(selection) else slice(0)]
        offsets, places = places_of_rows(self.offsets, numbers)
        return TokenSets(offsets, self.tokens[places])

    def distinct(self) -> TokenSets:
        """Remove repeated tokens from each row; the order of first occurrence is kept.

        Returns
        -------
        TokenSets

        Examples
        --------
        >>> from lshfast import TokenSets
        >>> TokenSets([0, 3, 4], [7, 8, 7, 9]).distinct().tokens.tolist()
        [7, 8, 9]
        """
        return TokenSets(*sets.distinct(self.offsets, self.tokens))

    @staticmethod
    def concatenate(parts: Iterable[TokenSets]) -> TokenSets:
        """Join the rows of several TokenSets, in order.

        Parameters
        ----------
        parts : iterable of TokenSets

        Returns
        -------
        TokenSets

        Raises
        ------
        TypeError
            If `parts` is not an iterable, or an element is not a TokenSets.

        Examples
        --------
        >>> from lshfast import TokenSets
        >>> TokenSets.concatenate(
        ...     [TokenSets([0, 1], [7]), TokenSets([0, 2], [8, 9])]
        ... ).counts.tolist()
        [1, 2]
        """
        if not hasattr(parts, "__iter__"):
            raise TypeError(
                f"parts must be an iterable of TokenSets, not {type(parts).__name__}"
            )
        parts = list(parts)
        for number, part in enumerate(parts):
            if not isinstance(part, TokenSets):
                raise TypeError(
                    f"parts[{number}] must be TokenSets, not {type(part).__name__}"
                )
        if not parts:
            return TokenSets(np.zeros(1, np.int64), np.zeros(0, np.uint64))
        lengths = [int(part.offsets[-1] - part.offsets[0]) for part in parts]
        starts = np.cumsum([0, *lengths], dtype=np.int64)
        offsets = [
            part.offsets[1:] - part.offsets[0] + start
            for part, start in zip(parts, starts, strict=False)
        ]
        tokens = [part.tokens[part.offsets[0] : part.offsets[-1]] for part in parts]
        return TokenSets(
            np.concatenate([[0], *offsets]).astype(np.int64), np.concatenate(tokens)
        )


def places_of_rows(
    offsets: Int64Array, rows: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Return the offsets of selected rows, and the places of their elements."""
    starts = offsets[:-1][rows]
    counts = offsets[1:][rows] - starts
    new_offsets = offsets_of(counts)
    return new_offsets, int64_range(new_offsets[-1]) + np.repeat(
        starts - new_offsets[:-1], counts
    )


def hash_rows(
    rows: Iterable[Iterable[str | bytes | int]],
    key: int | text.HashKey,
    first_row: int = 0,
) -> TokenSets:
    """Hash rows of elements with a seed or a key; errors count rows from `first_row`."""
    if not isinstance(rows, (list, tuple)):
        checked_column(rows, "rows")
    rows = rows if isinstance(rows, (list, tuple)) else list(rows)
    are_builtin = set(map(type, rows)) <= {list, tuple, set, frozenset}
    row_lists: Sequence[Any] = rows
    if not are_builtin:
        row_lists = [_row(row, number) for number, row in enumerate(rows, first_row)]
    offsets = offsets_of(list(map(len, row_lists)))
    if not are_builtin:
        arrays = [
            words_of_array(row) for row in row_lists if isinstance(row, np.ndarray)
        ]
        if len(arrays) == len(row_lists):
            words = np.concatenate(arrays)
            return TokenSets(offsets, text.tokens_of_integers(words, key))
    elements = list(chain.from_iterable(row_lists))
    return TokenSets(offsets, _tokens_of(elements, offsets, key, first_row))


def _integers(
    values: npt.ArrayLike, dtype: type[np.int64] | type[np.uint64], name: str
) -> npt.NDArray[Any]:
    """Return a read-only view of integers; its memory may still be written through other arrays."""
    array = values if type(values) is np.ndarray else array_of(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    if len(array) == 0:
        array = np.empty(0, dtype)
    if (
        dtype is np.uint64
        and array.dtype.kind in "fO"
        and isinstance(values, (list, tuple))
    ):
        array = _words(values, array, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    if dtype is np.uint64 and array.dtype.kind == "i" and array.min(initial=0) < 0:
        raise ValueError(f"{name} must be at least 0, not {array.min()}")
    array = np.ascontiguousarray(array, dtype)
    view = array.view() if array.flags.aligned else array.copy()
    view.flags.writeable = False
    return view


def _words(
    values: Sequence[Any], array: npt.NDArray[Any], name: str
) -> npt.NDArray[Any]:
    """Return ints as uint64; numpy makes an array of floats from ints on both sides of 2**63."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            return array
    for value in values:
        if not 0 <= value < 2**64:
            raise ValueError(f"{name} must be in 0..2**64 - 1, not {value}")
    return np.array(values, np.uint64)


def _column(values: Iterable[Any], name: str) -> list[Any]:
    """Return a column of any library as a list of Python objects, none of which is missing."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a column of values, not {values!r}")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {values.ndim}")
    column = objects_of(values, name)
    for place, value in enumerate(column):
        is_nan = isinstance(value, float) and value != value
        if value is None or is_nan or type(value).__name__ == "NAType":
            raise TypeError(
                f"{name}[{place}] is {value}; leave out rows with missing values"
            )
    return column


def _row(
    row: Iterable[str | bytes | int], number: int
) -> Sequence[str | bytes | int] | npt.NDArray[Any]:
    if isinstance(row, (str, bytes)):
        kind = type(row).__name__
        raise TypeError(
            f"rows[{number}] is of type {kind}, not an iterable of tokens; for texts use "
            "lshfast.shingle"
        )
    if isinstance(row, np.ndarray) and row.dtype.kind in "iu" and row.ndim == 1:
        return row
    if not isinstance(row, (list, tuple, set, frozenset)):
        checked_column(row, f"rows[{number}]")
    try:
        return list(row)
    except TypeError:
        raise TypeError(
            f"rows[{number}] is of type {type(row).__name__}, not an iterable of tokens"
        ) from None


def _are_words(numbers: Sequence[int]) -> bool:
    """Return whether all of at least one integer are in -2**63..2**64 - 1."""
    return INT64_RANGE[0] <= min(numbers) and max(numbers) < 2**64


def _tokens_of(
    elements: list[Any], offsets: Int64Array, key: int | text.HashKey, first_row: int
) -> UInt64Array:
    """Return the tokens of elements of one type, or of several."""

    def row_of(place: int) -> int:
        return first_row + int(np.searchsorted(offsets, place, side="right")) - 1

    kinds = set(map(type, elements))
    if kinds == {int} and _are_words(elements):
        return text.tokens_of_integers(words_of_integers(elements), key)
    if kinds <= {str, bytes}:
        try:
            return text.tokens_of_texts(text.Texts(elements), key)
        except text.TextError as error:
            reason = error.reason
            raise ValueError(f"rows[{row_of(error.row)}]: {reason}") from None
    if not kinds <= {str, bytes, int}:
        _check_types(elements, row_of)
    return _tokens_of_several_types(elements, row_of, key)


def _check_types(elements: list[Any], row_of: Callable[[int], int]) -> None:
    for place, element in enumerate(elements):
        if not isinstance(element, (str, bytes, int, np.integer)):
            kind = type(element).__name__
            raise TypeError(
                f"rows[{row_of(place)}] holds an element of type {kind}; tokens are str, bytes or "
                "int"
            )


def _tokens_of_several_types(
    elements: list[Any], row_of: Callable[[int], int], key: int | text.HashKey
) -> UInt64Array:
    strings = np.fromiter(
        (isinstance(e, (str, bytes)) for e in elements), bool, len(elements)
    )
    tokens = np.empty(len(elements), np.uint64)
    try:
        texts = text.Texts(
            [element for element in elements if isinstance(element, (str, bytes))]
        )
    except text.TextError as error:
        row = row_of(int(np.flatnonzero(strings)[error.row]))
        raise ValueError(f"rows[{row}]: {error.reason}") from None
    tokens[strings] = text.tokens_of_texts(texts, key)
    numbers = [
        int(element) for element in elements if not isinstance(element, (str, bytes))
    ]
    for place, number in enumerate(numbers):
        if not _are_words([number]):
            row = row_of(int(np.flatnonzero(~strings)[place]))
            raise ValueError(
                f"rows[{row}] holds {number}; integers must be in -2**63..2**64 - 1"
            )
    tokens[~strings] = text.tokens_of_integers(words_of_integers(numbers), key)
    return tokens
