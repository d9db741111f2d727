"""The keys of entries: batches of keys as columns, and checks of keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from numbers import Number
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from lshfast._common.arrow_columns import objects_of
from lshfast._common.checks import INT64_RANGE
from lshfast._common.choices import Kind
from lshfast._common.rows import int64_range
from lshfast._common.types import BoolArray, Int64Array

# A batch of keys: an int64 or uint64 array if all are ints of 64 bits, otherwise a list.
IntegerArray: TypeAlias = npt.NDArray[np.integer[Any]]
Column: TypeAlias = IntegerArray | list[Any]

# The kinds of integer keys, by the ranges of their keys. Keys in 0..2**63 - 1 have the same 8 bytes
# in both, so that an index without others changes its kind without a change of its rows.
INTEGERS = {"int": INT64_RANGE, "uint": (0, 2**64 - 1)}
INTEGER_DTYPES: dict[str, npt.DTypeLike] = {"int": np.int64, "uint": np.uint64}

KIND_NAMES = {"int": "ints of 64 bits", "uint": "ints of 64 bits", "str": "strs"}
RANGES = "ints must be all in -2**63..2**63 - 1 or all in 0..2**64 - 1"


def is_batch(keys: Any) -> bool:
    """Return whether this is a batch of keys (a list, range, array or column), not one key."""
    return (
        isinstance(keys, (list, range, np.ndarray))
        or hasattr(keys, "to_pylist")
        or hasattr(keys, "to_list")
    )


def column_for(keys: Any, single: bool) -> Column:
    """Return the keys of items; a single item may have one key or a batch of one key."""
    return as_column([keys] if single and not is_batch(keys) else keys)


def as_column(keys: Iterable[Any]) -> Column:
    """Return a batch of keys as an array if all are ints of 64 bits, otherwise as a list.

    The array is int64, or uint64 if a key is above 2**63 - 1 and none is negative.

    Parameters
    ----------
    keys : iterable
        Hashable keys, in a list, a range, a numpy array, a column of pyarrow, pandas or polars, or
        another iterable.

    Raises
    ------
    TypeError
        If a key is None or NaN, or cannot be hashed, or the batch is a str or bytes.
    ValueError
        If an array does not have one dimension.

    Examples
    --------
    >>> from lshfast.index.keys import as_column
    >>> as_column([3, 5])
    array([3, 5])
    >>> as_column([3, 2**64 - 1])
    array([                   3, 18446744073709551615], dtype=uint64)
    >>> as_column(["a", 5])
    ['a', 5]
    """
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise TypeError(f"keys must be a batch of keys, not one {type(keys).__name__}")
    if isinstance(keys, np.ndarray):
        if keys.ndim != 1:
            raise ValueError(f"keys must have one dimension, not shape {keys.shape}")
        kind = keys.dtype.kind
        if kind == "i" or (kind == "u" and keys.max(initial=0) <= INT64_RANGE[1]):
            return np.ascontiguousarray(keys, np.int64)
        if kind == "u":
            return np.ascontiguousarray(keys, np.uint64)
    column = objects_of(keys, "keys")
    kinds = set(map(type, column))
    if kinds and all(map(_is_integer, kinds)):
        try:
            return np.array(column, np.int64)
        except OverflowError:
            return _large_integers([int(key) for key in column])
    if kinds != {str}:
        _make_plain(column)
    return column


def _is_integer(kind: type) -> bool:
    return issubclass(kind, (int, np.integer)) and kind is not bool


def _large_integers(column: list[int]) -> Column:
    """Return ints of which one is no int64."""
    least, greatest = INTEGERS["uint"]
    if min(column) < least or max(column) > greatest:
        return column
    return np.array(column, np.uint64)


def _make_plain(column: list[Any]) -> None:
    """Replace subclasses of str and integers of numpy; refuse objects that are no keys."""
    for place, key in enumerate(column):
        if key is None or (isinstance(key, (float, np.floating)) and key != key):
            raise TypeError(f"keys[{place}] is {key}, which cannot be a key")
        try:
            hash(key)
        except TypeError:
            raise TypeError(
                f"keys[{place}] is of type {type(key).__name__}, which cannot be hashed"
            ) from None
        if isinstance(key, str):
            column[place] = str.__str__(key)  # for subclasses of str, such as np.str_
        elif isinstance(key, np.integer):
            column[place] = int(key)


def kind_of(column: Column) -> str:
    """Return the kind of a column's keys: "int", "uint", "str", or "object" for all others."""
    if isinstance(column, np.ndarray):
        return "uint" if column.dtype == np.uint64 else "int"
    return "str" if all(type(key) is str for key in column) else "object"


def is_either(column: Column) -> bool:
    """Return whether all keys are integers in 0..2**63 - 1, which are keys of both kinds."""
    return isinstance(column, np.ndarray) and not bool(_is_large(column).any())


def converted(column: Column, kind: str) -> Column | None:
    """Return a column as one of a kind; None if it has a key that this kind cannot have."""
    if kind_of(column) == kind:
        return column
    if kind in INTEGERS and isinstance(column, np.ndarray) and is_either(column):
        return column.view(INTEGER_DTYPES[kind])
    return None


def matched(column: Column, kind: str) -> tuple[Column, BoolArray]:
    """Return keys of a kind for a column, and which of them equal those of the column.

    In Python, 1 and 1.0 are equal.
    """
    if kind in INTEGERS:
        return matched_integers(column, kind)
    texts = [key if type(key) is str else None for key in listed(column)]
    is_key = np.array([text is not None for text in texts], np.bool_)
    return [text or "" for text in texts], is_key


def matched_integers(column: Column, kind: str) -> tuple[IntegerArray, BoolArray]:
    """Do what `matched` does for a kind of integers."""
    if isinstance(column, np.ndarray):
        if kind_of(column) == kind:
            return column, np.ones(len(column), np.bool_)
        return column.view(INTEGER_DTYPES[kind]), ~_is_large(column)
    integers = [equal_int(key, kind) for key in column]
    is_key = np.array([number is not None for number in integers], np.bool_)
    return np.array([number or 0 for number in integers], INTEGER_DTYPES[kind]), is_key


def _is_large(column: IntegerArray) -> BoolArray:
    """Return which integers have their first bit set: negative ones, or those above 2**63 - 1."""
    return np.asarray(column.view(np.int64) < 0)


def joint_kind(keys: Column, kind: str, fits: Callable[[str], bool]) -> str:
    """Return the kind of integers that stored keys can have with others, or "object" if none.

    `kind` is the kind of the stored keys, and `fits` returns whether they are keys of another one.
    """
    for joint in dict.fromkeys([kind, *INTEGERS]):
        if converted(keys, joint) is not None and fits(joint):
            return joint
    return "object"


def sample(column: Column) -> Column:
    """Return a few keys of a column that can be stored where all of its keys can."""
    if isinstance(column, np.ndarray):
        return column[[column.argmin(), column.argmax()]] if len(column) else column
    return column[:1] if kind_of(column) == "str" else column


def refusal(keys: Column, stored_kind: str | None) -> TypeError:
    """Return the error for keys that cannot be in one file with keys of a kind."""
    if stored_kind is None:
        return TypeError(
            "the keys of an index in a file or in LMDB must be all ints of 64 bits, or all strs; "
            f"{RANGES}"
        )
    are_ints = all(type(key) is int for key in listed(keys))
    reason = "not all given keys have this type"
    if are_ints and stored_kind in INTEGERS:
        reason = f"with the given keys, {RANGES}"
    return TypeError(f"the keys of this index are {KIND_NAMES[stored_kind]}; {reason}")


def check_utf8(column: Column) -> None:
    """Raise ValueError if a str of a column has a lone surrogate, which UTF-8 cannot encode."""
    for key in column if isinstance(column, list) else ():
        if isinstance(key, str) and not key.isascii():
            try:
                key.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"{key!r} has a lone surrogate and cannot be encoded in UTF-8"
                ) from None


def equal_int(key: Any, kind: str) -> int | None:
    """Return the int of a kind that equals a number in Python, such as 1 for True, or None."""
    if not isinstance(key, (Number, np.bool_)):
        return None
    real: Any = getattr(key, "real", key)
    if isinstance(real, np.floating):
        real = real.item()  # Python compares floats with ints exactly
    try:
        # Before int(), as int(Decimal("1E+1000000")) takes 40 s.
        if not INTEGERS[kind][0] <= real <= INTEGERS[kind][1]:
            return None
        number = int(real)
    except (TypeError, ValueError, ArithmeticError):  # not comparable, or a NaN
        return None
    # Long doubles of numpy are compared with limits that are rounded to them.
    is_in_range = INTEGERS[kind][0] <= number <= INTEGERS[kind][1]
    return number if is_in_range and number == key else None


class KeyedEntries(ABC):
    """Base class of all indexes: entries are removed by their keys."""

    @abstractmethod
    def _remove(self, keys: Column) -> None:
        """Remove the entries of some keys, all or none; KeyError names the first unknown key."""

    def _remove_one(self, key: Any) -> None:
        self._remove(as_column([key]))

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys."""

    @abstractmethod
    def __contains__(self, key: Any) -> bool:
        """Return whether a key has an entry."""

    @property
    def holds(self) -> Kind:
        """What the entries are: "set", also for texts, "weighted", "vector" or "code"."""
        return "set"

    @property
    def key_kind(self) -> str | None:
        """Type of the keys: "int", "uint", "str" or "object"; None without keys."""
        column = as_column(iter(self))
        return kind_of(column) if len(column) else None

    def contains(self, keys: Any) -> BoolArray:
        """Return which of a batch of keys have an entry.

        Parameters
        ----------
        keys : batch of n hashable objects

        Returns
        -------
        ndarray of bool, shape (n,)

        Raises
        ------
        TypeError
            If an object cannot be a key.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(shingles="word:2")
        >>> index.insert(["a"], ["the cat sat on the mat"])
        1
        >>> index.contains(["a", "b"])
        array([ True, False])
        """
        column = as_column(keys)
        return np.fromiter(
            (key in self for key in listed(column)), np.bool_, len(column)
        )

    def remove(self, keys: Any) -> None:
        """Remove one entry, or a batch of entries: all of them, or none if an error is raised.

        Parameters
        ----------
        keys : hashable, or a batch of hashable objects

        Raises
        ------
        KeyError
            With the first key that is not in the index.
        TypeError
            If an object cannot be a key.

        Examples
        --------
        >>> from lshfast import LSHIndex
        >>> index = LSHIndex(shingles="word:2")
        >>> index.insert(["a", "b"], ["the cat sat on the mat", "a dog is not a cat"])
        2
        >>> index.remove("a")
        >>> list(index)
        ['b']
        """
        if is_batch(keys):
            self._remove(as_column(keys))
        else:
            self._remove_one(keys)


class DuplicateKeyError(ValueError):
    """A key that is inserted has an entry already, or occurs twice in its batch.

    Attributes
    ----------
    key : object
        The key.
    position : int
        Its place in the batch, counted from 0; the place of the first such key.

    See Also
    --------
    lshfast.LSHIndex : An index of signatures that finds similar sets.
    lshfast.NearNeighbors : An index of points or sets that finds near neighbours.

    Examples
    --------
    >>> import lshfast, numpy as np
    >>> index = lshfast.LSHIndex(num_perm=4, bands=2, rows_per_band=2)
    >>> try:
    ...     index.insert(["a", "b", "a"], np.ones((3, 4), np.uint64))
    ... except lshfast.index.DuplicateKeyError as error:
    ...     print(error.key, error.position)
    a 2
    """

    def __init__(self, key: Any, position: int) -> None:
        super().__init__(key, position)
        self.key: Any = key
        self.position: int = position

    def __str__(self) -> str:
        return (
            f"keys[{self.position}] = {self.key!r} is in the index already, or twice in the batch "
            "(on_duplicate='replace' or 'skip' allows that)"
        )


def duplicate(column: Column, place: int) -> DuplicateKeyError:
    """Return the error that names a duplicate key."""
    return DuplicateKeyError(listed(column[place : place + 1])[0], place)


def take(column: Column, places: Int64Array) -> Column:
    """Return the keys at some positions of a column."""
    if isinstance(column, np.ndarray):
        return np.asarray(column[places])
    return [column[place] for place in places.tolist()]


def listed(column: Any) -> list[Any]:
    """Return the keys of a column as Python objects."""
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def check_present(keys: Column, rows: Int64Array) -> None:
    """Raise KeyError with the first key whose row is negative, as it has no entry."""
    if (rows < 0).any():
        raise KeyError(listed(take(keys, np.flatnonzero(rows < 0)[:1]))[0])


def lists_of(offsets: Int64Array) -> Int64Array:
    """Return the number of the list of each element of a concatenation."""
    return np.repeat(int64_range(len(offsets) - 1), np.diff(offsets))


def concatenate(columns: list[Column]) -> Column:
    """Return several columns as one: an array if all are arrays and one dtype has all integers."""
    if columns and all(isinstance(column, np.ndarray) for column in columns):
        kinds = set(map(kind_of, columns))
        for kind in kinds if len(kinds) == 1 else ("uint", "int"):
            arrays = [converted(column, kind) for column in columns]
            if not any(array is None for array in arrays):
                return np.concatenate(cast("list[IntegerArray]", arrays))
    all_keys: list[Any] = []
    for column in columns:
        all_keys.extend(listed(column))
    return all_keys
