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
    >>> from lshfast.store.keys import as_column
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
                raise TypeError(f"keys[{place}] is a {type(key).__name__}, which cannot be hashed") from None
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
        whole = int(real)
    except (ValueError, OverflowError):  # a NaN or an infinity
        return None
    return whole if whole == key and INT64_RANGE[0] <= whole <= INT64_RANGE[1] else None


def duplicate(column: Column, place: int) -> ValueError:
    """Make the error that names a key which is there already."""
    return ValueError(
        f"keys[{place}] = {listed(column[place : place + 1])[0]!r} is in the index already, or twice in the batch "
        "(on_duplicate='replace' or 'skip' allows that)"
    )


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


class KeyTable:
    """Which row a key has, and which key a row has, for keys of any kind: a dict and a list.

    Examples
    --------
    >>> import numpy as np
    >>> from lshfast.store.keys import KeyTable
    >>> table = KeyTable()
    >>> table.add(["a", "b"], np.array([0, 4]))
    >>> table.find(["b", "c"]).tolist(), table.take(np.array([0]))
    ([4, -1], ['a'])
    """

    def __init__(self) -> None:
        self._rows: dict[Any, int] = {}
        self._keys: list[Any] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """An estimate: the dict and the list, not the keys themselves."""
        return self._rows.__sizeof__() + self._keys.__sizeof__()

    def find(self, keys: Column) -> Int64Array:
        """Return the row of each key, -1 where it has none: int64 (n,)."""
        return np.fromiter((self._rows.get(key, -1) for key in listed(keys)), np.int64, len(keys))

    def add(self, keys: Column, rows: Int64Array) -> None:
        """Give keys, which must be new and different, these rows, which must be free: all of them or none."""
        longest, before = int(rows.max(initial=-1)) + 1, len(self._rows)
        self._keys.extend([None] * (longest - len(self._keys)))
        try:
            for key, row in zip(listed(keys), rows.tolist(), strict=True):
                self._rows[key] = row
                self._keys[row] = key
        except BaseException:  # of a key's own methods, say
            while len(self._rows) > before:
                self._rows.popitem()
            for row in rows.tolist():
                self._keys[row] = None
            raise

    def drop(self, rows: Int64Array) -> None:
        """Forget the keys of these rows; those that came last without asking them anything."""
        doomed = set(rows.tolist())
        while doomed and self._rows and next(reversed(self._rows.values())) in doomed:
            row = self._rows.popitem()[1]
            self._keys[row] = None
            doomed.remove(row)
        for row in doomed:
            self._rows.pop(self._keys[row], None)
            self._keys[row] = None

    def reserve(self, rows: int) -> None:
        """Have room for the keys of so many rows."""
        self._keys.extend([None] * (rows - len(self._keys)))

    def move(self, old: Int64Array, new: Int64Array) -> None:
        """Give the keys of rows to others, which there is room for and which have none."""
        for before, after in zip(old.tolist(), new.tolist(), strict=True):
            key = self._keys[before]
            self._keys[before], self._keys[after], self._rows[key] = None, key, after

    def take(self, rows: Int64Array) -> Column:
        """Return the keys of these rows, as `as_column` would."""
        found = [self._keys[row] for row in rows.tolist()]
        return np.array(found, np.int64) if found and all(_fits(key) for key in found) else found


def _fits(key: Any) -> bool:
    return type(key) is int and INT64_RANGE[0] <= key <= INT64_RANGE[1]
