"""JSON by the standard library, which raises MemoryError; faster parsers end the process.

What is refused is left to `json_records.json_object`, which accepts more and reports reasons.
"""

from __future__ import annotations

import datetime
import json
import re
import uuid
from collections.abc import Callable
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # an escape of half a character
_PAIR = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)  # of both halves
_SMALL = re.compile(r"(\d)(?:\.(\d+))?e-05")  # these are written without an exponent
_SAFE_DIGITS = 18  # fewer than those of 2**63
_LEAST = -(1 << 63)
_BEYOND = 1 << 64
_TIMES = (datetime.datetime, datetime.date, datetime.time)


def loads(data: bytes | bytearray | memoryview) -> Any:
    """Parse JSON in UTF-8; integers beyond 64 bits become doubles.

    Raises
    ------
    ValueError
        If the data are not valid, or hold NaN, an infinity or half of a character.

    Examples
    --------
    >>> loads(b'{"text": "a", "n": [1, 18446744073709551616]}')
    {'text': 'a', 'n': [1, 1.8446744073709552e+19]}
    """
    if _HALF.search(data) and _HALF.search(_PAIR.sub(b"", data)):
        raise ValueError("a surrogate")
    text = str(data, "utf-8")
    try:
        # Many integers, as in sets, are checked faster afterwards than one by one.
        if "." not in text:
            value = _PLAIN.decode(text)
            if not _is_wide(value):
                return value
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def dumps(value: Any) -> str:
    """Return a value as JSON without spaces.

    NaN and infinities become null; times are as in ISO 8601, and a decimal has all its digits.

    Raises
    ------
    TypeError
        If JSON in UTF-8 cannot hold the value.

    Examples
    --------
    >>> dumps({"text": "é", "v": [0.5, 1e-7, float("nan")], "n": None})
    '{"text":"é","v":[0.5,1e-7,null],"n":null}'
    """
    try:
        text = _encoded(value)
        text.encode()
    except UnicodeEncodeError:
        raise TypeError("str is not valid UTF-8: surrogates not allowed") from None
    except UnicodeDecodeError as error:
        raise TypeError(str(error)) from None
    except RecursionError:
        raise TypeError("nested too deep") from None
    return text


def _encoded(value: Any) -> str:
    encode = _ENCODERS.get(type(value))
    if encode is not None:
        return encode(value)
    for kind, encode in _ENCODERS.items():  # of a class derived from it
        if kind not in _TIMES and isinstance(value, kind):
            return encode(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _array(values: list[Any] | tuple[Any, ...]) -> str:
    if set(map(type, values)) == {float}:  # a vector
        return f"[{_numbers(','.join(map(repr, values)))}]"
    return f"[{','.join(map(_encoded, values))}]"


def _object(record: dict[Any, Any]) -> str:
    if not all(isinstance(name, str) for name in record):
        raise TypeError("Dict key must be str")
    members = [
        f"{encode_basestring(name)}:{_encoded(value)}" for name, value in record.items()
    ]
    return "{" + ",".join(members) + "}"


def _numbers(text: str) -> str:
    """Return floats by their `repr` as JSON: no zeros before exponents, null if not finite."""
    if "n" in text:  # inf or nan
        text = (
            text.replace("-inf", "null").replace("inf", "null").replace("nan", "null")
        )
    if "e-05" in text:
        text = _SMALL.sub(r"0.0000\1\2", text)
    return text.replace("e-0", "e-")


def _time(value: Any) -> str:
    """Return a time; its offset from UTC is in whole minutes, as RFC 3339 has it."""
    if isinstance(value, datetime.time) and value.tzinfo is not None:
        raise TypeError("datetime.time must not have tzinfo set")
    offset = value.utcoffset() if isinstance(value, datetime.datetime) else None
    if offset is None or not offset.seconds % 60:
        return f'"{value.isoformat()}"'
    minutes = datetime.timedelta(minutes=round(offset.total_seconds() / 60))
    return f'"{value.replace(tzinfo=datetime.timezone(minutes)).isoformat()}"'


def _whole(value: int) -> str:
    if not _LEAST <= value < _BEYOND:
        raise TypeError("Integer exceeds 64-bit range")
    return int.__repr__(value)


_ENCODERS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    bool: lambda value: "true" if value else "false",
    int: _whole,
    float: lambda value: _numbers(float.__repr__(value)),
    type(None): lambda _: "null",
    list: _array,
    tuple: _array,
    dict: _object,
    bytes: lambda value: encode_basestring(value.decode()),
    Decimal: str,
    uuid.UUID: lambda value: f'"{value}"',
    **dict.fromkeys(_TIMES, _time),
}


def _rounded(digits: str) -> int | float:
    """Return an integer; beyond 64 bits a double, or ValueError if it is too large."""
    value = int(digits)
    if len(digits) <= _SAFE_DIGITS or _LEAST <= value < _BEYOND:
        return value
    if abs(rounded := float(digits)) == float("inf"):
        raise ValueError("an integer beyond doubles")
    return rounded


def _is_wide(value: Any) -> bool:
    """Return whether a value may hold an integer beyond 64 bits, at any depth."""
    values = [value]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += value.values()
        elif isinstance(value, list):
            try:
                if value and not _LEAST <= min(value) <= max(value) < _BEYOND:
                    return True
            except TypeError:  # not numbers alone
                values += value
        elif isinstance(value, int) and not _LEAST <= value < _BEYOND:
            return True
    return False


def _refuse(name: str) -> Any:
    raise ValueError(name)


_PLAIN = json.JSONDecoder(parse_constant=_refuse)
_DECODER = json.JSONDecoder(parse_int=_rounded, parse_constant=_refuse)
