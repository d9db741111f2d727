"""The user's keys: batches of them as columns, and the table that says which row a key has."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import Any, TypeAlias

import numpy as np

from lshfast.tokens import INT64_RANGE, Int64Array

# A batch of keys: int64 where all are ints of 64 bits, else a list.
Column: TypeAlias = Int64Array | list[Any]


def is_batch(keys: Any) -> bool:
    """Tell whether this is a batch of keys rather than one key: a list, range, array or column."""
    return isinstance(keys, (list, range, np.ndarray)) or hasattr(keys, "to_pylist") or hasattr(keys, "to_list")


def as_column(keys: Iterable[Any]) -> Column:
    """Return a batch of keys as an int64 array where all are ints of 64 bits, else as a list.

    Parameters
    ----------
    keys : iterable
        Hashable keys: a list, range, numpy array, pyarrow or pandas or polars column, ...

    Raises
    ------
    TypeError
        If a key is None or a NaN, or cannot be hashed, or the batch is itself a str or bytes.

    Examples
    --------
    >>> from lshfast.index.keys import as_column
    >>> as_column([3, 5])
    array([3, 5])
    >>> as_column(["a", 5])
    ['a', 5]
    """
    if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
        raise TypeError(f"keys must be a batch of keys, not one {type(keys).__name__}")
    if isinstance(keys, np.ndarray):
        if keys.ndim != 1:
            raise ValueError(f"keys must have one dimension, not shape {keys.shape}")
        if keys.dtype.kind == "i" or (keys.dtype.kind == "u" and keys.max(initial=0) <= INT64_RANGE[1]):
            return np.ascontiguousarray(keys, np.int64)
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow; polars and pandas; numpy
        if hasattr(keys, method):
            keys = getattr(keys, method)()
            break
    column = list(keys)
    kinds = set(map(type, column))
    if kinds and all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        try:
            return np.array(column, np.int64)
        except OverflowError:  # beyond 64 bits
            return [int(key) for key in column]
    if kinds != {str}:
        for place, key in enumerate(column):
            if key is None or (isinstance(key, (float, np.floating)) and key != key):
                raise TypeError(f"keys[{place}] is {key}, which is no key")
            try:
                hash(key)
            except TypeError:
                raise TypeError(f"keys[{place}] is of type {type(key).__name__}, which cannot be hashed") from None
            if isinstance(key, str):
                column[place] = str.__str__(key)  # of a class of its own, such as numpy's
            elif isinstance(key, np.integer):
                column[place] = int(key)
    return column


def kind_of(column: Column) -> str:
    """Return what a column's keys are: "int", "str", or "object" for all others and mixtures."""
    if isinstance(column, np.ndarray):
        return "int"
    return "str" if all(type(key) is str for key in column) else "object"


def check_utf8(column: Column) -> None:
    """Raise ValueError where a str of a column has a lone surrogate, and so no UTF-8."""
    for key in column if isinstance(column, list) else ():
        if isinstance(key, str) and not key.isascii():
            try:
                key.encode()
            except UnicodeEncodeError:
                raise ValueError(f"{key!r} has a lone surrogate and no UTF-8") from None


def equal_int(key: Any) -> int | None:
    """Return the int of 64 bits that a number equals in Python (True and 1.0 equal 1), None if there is none."""
    if not isinstance(key, (Number, np.bool_)):
        return None
    real: Any = getattr(key, "real", key)
    try:
        if not INT64_RANGE[0] <= real <= INT64_RANGE[1]:  # first: int(Decimal("1E+1000000")) takes 40 s
            return None
        whole = int(real)
    except (TypeError, ValueError, ArithmeticError):  # no order, or a NaN
        return None
    return whole if whole == key else None


class DuplicateKeyError(ValueError):
    """Raised when a key is inserted that has an entry already, or that comes twice in its batch.

    Attributes
    ----------
    key : object
        The key.
    position : int
        Its place in the batch, counted from 0; of several such keys, the first one's.

    Examples
    --------
    >>> import lshfast, numpy as np
    >>> index = lshfast.LSHIndex(num_perm=4, bands=2, rows=2)
    >>> try:
    ...     index.insert(["a", "b", "a"], np.ones((3, 4), np.uint64))
    ... except lshfast.DuplicateKeyError as error:
    ...     print(error.key, error.position)
    a 2
    """

    def __init__(self, key: Any, position: int) -> None:
        super().__init__(key, position)
        self.key, self.position = key, position

    def __str__(self) -> str:
        return (
            f"keys[{self.position}] = {self.key!r} is in the index already, or twice in the batch "
            "(on_duplicate='replace' or 'skip' allows that)"
        )


def duplicate(column: Column, place: int) -> DuplicateKeyError:
    """Make the error for the key at this place."""
    return DuplicateKeyError(listed(column[place : place + 1])[0], place)


def take(column: Column, places: Int64Array) -> Column:
    """Return the keys at these places."""
    if isinstance(column, np.ndarray):
        return np.asarray(column[places])
    return [column[place] for place in places.tolist()]


def listed(column: Any) -> list[Any]:
    """Return the keys of a column as Python objects."""
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def concatenate(columns: list[Column]) -> Column:
    """Return several columns as one."""
    if columns and all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    joined: list[Any] = []
    for column in columns:
        joined.extend(listed(column))
    return joined
