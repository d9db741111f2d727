"""Keys as pickles: writing the bytes of a key on a server, and reading them without running code."""

from __future__ import annotations

import datetime
import io
import pickle
import re
import sys
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

# The protocols with which datasketch has written keys (the defaults of Python 3.14, of 3.8 to 3.13, and of earlier
# versions), without this interpreter's default.
OTHER_PROTOCOLS = tuple(protocol for protocol in (5, 4, 3) if protocol != pickle.DEFAULT_PROTOCOL)


class _Maker:
    """Replaces a class or function that a pickle names: it can be called, but not changed."""

    __slots__ = ("_make",)

    _make: Callable[..., Any]

    def __init__(self, make: Callable[..., Any]) -> None:
        object.__setattr__(self, "_make", make)

    def __call__(self, *arguments: Any) -> Any:
        return self._make(*arguments)

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError("a stored key would change how keys are read")

    def __setstate__(self, state: Any) -> None:
        raise ValueError("a stored key would change how keys are read")


class _Sealed(type):
    """The type of classes that a pickle cannot change."""

    def __setattr__(cls, name: str, value: Any) -> None:
        raise ValueError("a stored key would change how keys are read")


class _UUID(metaclass=_Sealed):
    """Replaces the class UUID in a pickle: makes a UUID without a number, which the pickle then sets."""

    def __new__(cls) -> Any:
        return object.__new__(uuid.UUID)


class _PlainType:
    """The dtype of a numpy scalar: a number, or a text or bytes of fixed length. A pickle sets its byte order."""

    __slots__ = ("kind", "order", "size")

    kind: str
    order: Literal["<", ">", "|", "="]
    size: int

    def __init__(self, name: Any, align: Any = False, copy: Any = False) -> None:
        known = isinstance(name, str) and re.fullmatch("b1|[iu][1248]|f[248]|c(?:8|16)|[SU][0-9]{1,9}", name)
        if not known:
            raise ValueError(f"a stored key is a numpy scalar of dtype {name!r}, {NOT_READ}")
        put = partial(object.__setattr__, self)
        put("kind", name[0])
        put("order", "=")
        put("size", int(name[1:]) * (4 if name[0] == "U" else 1))

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError("a stored key would change how keys are read")

    def __setstate__(self, state: Any) -> None:
        """Set the byte order from a dtype's state, which must not have fields, shapes or names."""
        known = isinstance(state, tuple) and len(state) == 8 and state[2:5] == (None,) * 3
        if not known or state[1] not in ("<", ">", "|", "="):
            raise ValueError(f"a stored key is a numpy scalar of a dtype of several parts, {NOT_READ}")
        object.__setattr__(self, "order", state[1])


def _scalar(kind: Any, data: Any) -> Any:
    """Return the numpy scalar of a dtype with these bytes."""
    if not isinstance(kind, _PlainType) or not isinstance(data, bytes) or len(data) != kind.size:
        raise ValueError("a stored key is a numpy scalar whose bytes do not fit its dtype")
    if kind.kind == "S":
        return np.bytes_(data.rstrip(b"\0"))
    if kind.kind == "U":
        big = kind.order == ">" or (kind.order != "<" and sys.byteorder == "big")
        return np.str_(data.decode("utf-32-be" if big else "utf-32-le", "surrogatepass").rstrip("\0"))
    return np.frombuffer(data, np.dtype(f"{kind.kind}{kind.size}").newbyteorder(kind.order))[0]


def _fraction(first: Any, second: Any = 1) -> Fraction:
    """Return a fraction of two ints or of their text; other texts may denote numbers with very many digits."""
    if isinstance(first, str) and second == 1 and re.fullmatch("-?[0-9]{1,4000}(?:/[0-9]{1,4000})?", first):
        numerator, _, denominator = first.partition("/")
        first, second = int(numerator), int(denominator or 1)
    if type(first) is not int or type(second) is not int:
        raise ValueError("a stored key is a fraction, but not of two ints")
    return Fraction(first, second)


def _moment(kind: type[Any], *arguments: Any) -> Any:
    """Return a date or time. Its bytes may be out of range, so `replace` checks the ranges."""
    return kind(*arguments).replace()


NOT_READ = 'which is not read from a server; storage_config may say "loads": pickle.loads where the server is trusted'

# The types of keys on a server, besides those with pickle opcodes, and the functions that create them, which a pickle
# cannot change.
KINDS: dict[tuple[str, str], Any] = {
    ("builtins", "complex"): complex,
    ("builtins", "frozenset"): frozenset,
    ("datetime", "date"): _Maker(partial(_moment, datetime.date)),
    ("datetime", "datetime"): _Maker(partial(_moment, datetime.datetime)),
    ("datetime", "time"): _Maker(partial(_moment, datetime.time)),
    ("datetime", "timedelta"): _Maker(datetime.timedelta),
    ("datetime", "timezone"): _Maker(datetime.timezone),
    ("decimal", "Decimal"): _Maker(Decimal),
    ("fractions", "Fraction"): _Maker(_fraction),
    ("numpy", "dtype"): _Maker(_PlainType),
    ("numpy._core.multiarray", "scalar"): _Maker(_scalar),
    ("numpy.core.multiarray", "scalar"): _Maker(_scalar),
    ("uuid", "UUID"): _UUID,
}


class _Plain(pickle.Unpickler):
    """Read pickles of data: of the names in a pickle, only the constructors of the known types are called."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KINDS:
            raise ValueError(f"a stored key is a {module}.{name}, {NOT_READ}")
        return KINDS[module, name]


def plain_loads(data: bytes) -> Any:
    """Return the key in a pickle from a server.

    The key is a number, a text, bytes, None, a date or time, a UUID, a numpy scalar of a number, text or bytes, or a
    tuple or frozenset of these.

    Raises
    ------
    ValueError
        If it has another type: creating it would run code named in the bytes, or read memory of other objects.

    Examples
    --------
    >>> import pickle
    >>> from lshfast.datasketch.key_pickles import plain_loads
    >>> plain_loads(pickle.dumps(("a", 1)))
    ('a', 1)
    """
    found = _Plain(io.BytesIO(data)).load()
    if isinstance(found, (type, _Maker, _PlainType)):
        raise ValueError(f"a stored key is a class, a function or a dtype, {NOT_READ}")
    return found


def dumps(key: Any) -> bytes:
    """Return a key as datasketch stores it: pickled with this interpreter's default protocol.

    Keys are found by these bytes. Two equal tuples can have different pickles, because a pickle records which members
    are the same object. They are then two keys, as in datasketch.
    """
    return pickle.dumps(key)


def check_bytes(key: Any) -> bytes:
    """Return a key that is stored on a server without pickling; raise an error unless it is bytes."""
    if not isinstance(key, bytes):
        raise TypeError(
            f"with prepickle=False, keys on Redis must be bytes, not {type(key).__name__} ({key!r}); "
            "encode them, or use prepickle=True"
        )
    return key


def other_pickles(key: Any) -> tuple[bytes, ...]:
    """Return the other pickles with which datasketch may have stored a key on another version of Python.

    Examples
    --------
    >>> from lshfast.datasketch.key_pickles import dumps, other_pickles
    >>> dumps("a") in other_pickles("a"), len(other_pickles("a"))
    (False, 2)
    """
    found: list[bytes] = []
    for protocol in OTHER_PROTOCOLS:
        try:
            data = pickle.dumps(key, protocol)
        except (pickle.PicklingError, AttributeError, TypeError):  # protocol 3 has no nested classes
            continue
        found.append(data)
    return tuple(found)


def given_scores(scored: Iterable[tuple[bytes, float]], loads: Callable[[bytes], Any]) -> list[tuple[Any, float]]:
    """Return the keys of pickles, each once, with the greatest score of its pickles."""
    stored = list(scored)
    given = [(loads(data), score) for data, score in stored]
    if len({protocol_of(data) for data, _ in stored}) < 2:
        return given
    best: dict[bytes, tuple[Any, float]] = {}
    for key, score in given:
        usual = dumps(key)
        best[usual] = (key, max(score, best.get(usual, (key, 0.0))[1]))
    return list(best.values())


def given_keys(stored: Iterable[bytes], loads: Callable[[bytes], Any]) -> list[Any]:
    """Return the keys of pickles, each once."""
    return [key for key, _ in given_scores(((data, 0.0) for data in stored), loads)]


def protocol_of(data: bytes) -> int:
    """Return the protocol number in a pickle."""
    return data[1] if data[:1] == b"\x80" and len(data) > 1 else 0
