"""Keys as pickles: writing the bytes of a key, and reading them without running code."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

from lshfast.datasketch.key_reader import read_key

# The protocols with which datasketch has written keys (the defaults of Python 3.14, of 3.8 to 3.13,
# and of earlier versions), without this interpreter's default.
OTHER_PROTOCOLS = tuple(
    protocol for protocol in (5, 4, 3) if protocol != pickle.DEFAULT_PROTOCOL
)


def plain_loads(data: bytes) -> Any:
    """Return the key in a pickle from a server.

    The key is a number, a text, bytes, None, a date or time, a UUID, a numpy scalar of a number,
    text or bytes, or a tuple or frozenset of these. It has at most 1,024 values, 100 levels of
    tuples and frozensets, and integers of 4,300 digits.

    Raises
    ------
    FormatError
        If it has another type, which is created by code named in the bytes or which can change; if
        it is larger; or if the bytes are not a pickle. The message shows the first bytes.

    Examples
    --------
    >>> import pickle
    >>> from lshfast.datasketch.key_pickles import plain_loads
    >>> plain_loads(pickle.dumps(("a", 1)))
    ('a', 1)
    """
    return read_key(data)


def dumps(key: Any) -> bytes:
    """Return a key as datasketch stores it: pickled with this interpreter's default protocol.

    Keys are found by these bytes. Two equal tuples can have different pickles, because a pickle
    records which members are the same object. They are then two keys, as in datasketch.
    """
    return pickle.dumps(key)


def spellings_of(key: Any, pickled: bool) -> tuple[bytes, ...]:
    """Return the forms in which a key may be stored on a server, the form of new entries first.

    Keys that are not pickled must be bytes; other keys have no form.
    """
    if pickled:
        return dumps(key), *other_pickles(key)
    return (key,) if isinstance(key, bytes) else ()


def storable(key: Any, pickled: bool) -> tuple[bytes, ...]:
    """Return `spellings_of`, or raise TypeError if a key has none."""
    spellings = spellings_of(key, pickled)
    if not spellings:
        raise TypeError(
            f"with prepickle=False, keys on Redis must be bytes, not {type(key).__name__} "
            f"({key!r}); encode them, or use prepickle=True"
        )
    return spellings


def other_pickles(key: Any) -> tuple[bytes, ...]:
    """Return the pickles of a key with the other protocols that datasketch may have used.

    Examples
    --------
    >>> from lshfast.datasketch.key_pickles import dumps, other_pickles
    >>> dumps("a") in other_pickles("a"), len(other_pickles("a"))
    (False, 2)
    """
    pickles: list[bytes] = []
    for protocol in OTHER_PROTOCOLS:
        # Protocol 3 has no nested classes.
        try:
            data = pickle.dumps(key, protocol)
        except (
            pickle.PicklingError,
            AttributeError,
            TypeError,
        ):
            continue
        pickles.append(data)
    return tuple(pickles)


def given_scores(
    scored: Iterable[tuple[bytes, float]], loads: Callable[[bytes], Any]
) -> list[tuple[Any, float]]:
    """Return the keys of pickles, each once, with the greatest score of its pickles."""
    pickles_and_scores = list(scored)
    keys_and_scores = [(loads(data), score) for data, score in pickles_and_scores]
    if len({protocol_of(data) for data, _ in pickles_and_scores}) < 2:
        return keys_and_scores
    best: dict[bytes, tuple[Any, float]] = {}
    for key, score in keys_and_scores:
        default_pickle = dumps(key)
        best[default_pickle] = (
            key,
            max(score, best.get(default_pickle, (key, 0.0))[1]),
        )
    return list(best.values())


def given_keys(stored: Iterable[bytes], loads: Callable[[bytes], Any]) -> list[Any]:
    """Return the keys of pickles, each once."""
    return [key for key, _ in given_scores(((data, 0.0) for data in stored), loads)]


def protocol_of(data: bytes) -> int:
    """Return the protocol number in a pickle."""
    return data[1] if data[:1] == b"\x80" and len(data) > 1 else 0
