"""Keys by which rows are copies of each other whatever their items, as keyed hashes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from lshfast._common.growing import GrowingArray
from lshfast._common.run_key import draw_hash_key
from lshfast._common.types import UInt64Array
from lshfast._common.value_codes import is_missing_value
from lshfast.kernels.text import HashKey, Texts, two_tokens_of_texts

# What a column begins with whose values are compared as URLs.
OF_URLS = "url:"

# Keys and bytes of keys that wait to be hashed.
PENDING_KEYS = 1 << 12
PENDING_BYTES = 1 << 20

# What the bytes of a key begin with: a value that is compared as it is, or a URL.
_PLAIN = b"\0"
_URL = b"\1"


def column_of_keys(exact_key: str) -> str:
    """Return the column of ``COLUMN`` or ``url:COLUMN``."""
    return exact_key.removeprefix(OF_URLS)


def bytes_of_key(value: Any, is_url: bool) -> bytes | None:
    """Return the bytes by which a key is compared; None if it is missing: null, NaN or empty.

    A string has its UTF-8, and other values that of their text. A URL has its host and path without
    user, usual port, fragment and parts of sessions; what is no URL is compared as it is.

    Examples
    --------
    >>> [bytes_of_key(value, False) for value in ("a", 5.0, True, "", None)]
    [b'\\x00a', b'\\x005', b'\\x00true', None, None]
    >>> bytes_of_key("https://User@A.example:443/b?utm_source=c#d", True)
    b'\\x01a.example\\n/b'
    """
    if is_missing_value(value):
        return None
    if isinstance(value, bytes):
        if not value:
            return None
        data = value
    elif isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
    else:
        data = _text_of(value).encode("utf-8", "surrogatepass")
    if is_url:
        from lshfast._common.urls import compared_parts

        try:
            host, path = compared_parts(data.decode(), clean=True)
        except ValueError:
            return _PLAIN + data
        return _URL + f"{host}\n{path}".encode()
    return _PLAIN + data


def _text_of(value: Any) -> str:
    """Return a value that is no string as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # integers with a missing value are doubles in pandas
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return str(value)


class ExactKeys:
    """The keys of rows, in their order, as hashes.

    Parameters
    ----------
    values : iterable, optional
        The keys of the first rows.
    are_urls : bool, default False
        Whether strings are compared as URLs.
    secret : pair of HashKey, optional
        The keys of the hashes; drawn by default.
    """

    def __init__(
        self,
        values: Iterable[Any] = (),
        *,
        are_urls: bool = False,
        secret: tuple[HashKey, HashKey] | None = None,
    ) -> None:
        self._are_urls = are_urls
        self._secret = secret or (draw_hash_key(), draw_hash_key())
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._prints = GrowingArray(np.uint64, 3)
        for value in values:
            self.add(value)

    @classmethod
    def restored(cls, prints: UInt64Array) -> ExactKeys:
        """Return the keys of all rows, as another object has held them."""
        keys = cls()
        keys._prints.extend(prints.reshape(-1, 3))
        return keys

    def add(self, value: Any) -> None:
        """Add the key of the next row."""
        data = bytes_of_key(value, self._are_urls) or b""
        self._pending.append(data)
        self._pending_bytes += len(data)
        if len(self._pending) == PENDING_KEYS or self._pending_bytes > PENDING_BYTES:
            self._hash()

    @property
    def prints(self) -> UInt64Array:
        """The bytes of each key and two hashes of them: uint64 (n, 3), in place.

        A row without a key has zero bytes. Different keys of n bytes have equal hashes with
        probability at most (n / 2**63)**2, whoever writes them.
        """
        self._hash()
        return self._prints.rows()

    def _hash(self) -> None:
        """Hash the keys that wait."""
        texts = Texts(self._pending)
        prints = np.empty((len(texts), 3), np.uint64)
        prints[:, 0] = texts.lengths
        prints[:, 1:] = two_tokens_of_texts(texts, *self._secret)
        self._prints.extend(prints)
        self._pending = []
        self._pending_bytes = 0
