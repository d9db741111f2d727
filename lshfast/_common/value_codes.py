"""Codes of the values of a column, one for each row, in bounded memory."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from lshfast._common.types import Int32Array

# The most values with a code each, the most bytes of their texts, and the most characters of
# one.
MOST_VALUES = 1 << 20
MOST_BYTES = 16 << 20
MOST_CHARACTERS = 200

# The codes of rows without a value, and of rows whose value has no code of its own.
MISSING = -1
OTHER = -2


def is_missing_value(value: Any) -> bool:
    """Return whether a value is null, NaN, NA of pandas, or an empty string."""
    return (
        value is None
        or type(value).__name__ == "NAType"
        or bool(value == "")
        or bool(value != value)
    )


def text_of_value(value: Any) -> str | None:
    """Return a value as text of at most MOST_CHARACTERS; None if it is missing: null, NaN or empty.

    Examples
    --------
    >>> [text_of_value(value) for value in ("en", 5, True, "", None, float("nan"))]
    ['en', '5', 'true', None, None, None]
    """
    if is_missing_value(value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    elif isinstance(value, (dict, list)):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)[:MOST_CHARACTERS]
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class ValueCodes:
    """The values of a column, in the order of the rows.

    Attributes
    ----------
    column : str
        Its name.
    names : list of str
        The different values, as `text_of_value` gives them, in the order in which they occurred.
        Values that occur first when there are `most_values`, or `most_bytes` of text, are not among
        them.
    """

    column: str
    names: list[str]

    def __init__(
        self,
        column: str,
        values: Iterable[Any] = (),
        *,
        most_values: int = MOST_VALUES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.column = column
        self.names = []
        self._most_values = most_values
        self._most_bytes = most_bytes
        self._codes = array("i")
        self._code_of: dict[str | None, int] = {None: MISSING}
        self._nbytes = 0
        for value in values:
            self.add(value)

    @classmethod
    def restored(cls, column: str, names: list[str], codes: Int32Array) -> ValueCodes:
        """Return the values of all rows, as another object has held them."""
        value_codes = cls(column)
        value_codes.names = names
        value_codes._codes.frombytes(codes.astype(np.int32).tobytes())
        return value_codes

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def codes(self) -> Int32Array:
        """The code of each row, in place: add no row while it is in use.

        A code is a place in `names`, MISSING or OTHER.
        """
        return np.frombuffer(self._codes, np.int32)

    def add(self, value: Any) -> None:
        """Add the value of the next row."""
        self._codes.append(self.code_of(value))

    def code_of(self, value: Any) -> int:
        """Return the code of a value, which may be a new one."""
        text = text_of_value(value)
        code = self._code_of.get(text)
        return self._new(text or "") if code is None else code

    def close(self) -> None:
        """Release the data that is only needed to add more rows."""
        self._code_of.clear()

    def _new(self, text: str) -> int:
        """Return the code of a value that has none."""
        size = len(text.encode())
        if (
            len(self.names) == self._most_values
            or self._nbytes + size > self._most_bytes
        ):
            return OTHER
        self._nbytes += size
        self._code_of[text] = len(self.names)
        self.names.append(text)
        return len(self.names) - 1
