"""Hexadecimal codes as lists of hashes write them: with 0x, or with the name of the hash."""

from __future__ import annotations

import re
from typing import get_args

from lshfast._common.choices import ImageHashKind

_NAMES = "|".join(get_args(ImageHashKind))
_MARKED = re.compile(
    rf"\s*(?:(?:{_NAMES})[\s:,]\s*)?(?:0x)?([0-9a-f]+)\s*", re.IGNORECASE
)


def hex_digits(code: str) -> str:
    """Return the digits of a code without what may be around them; other texts as they are.

    Examples
    --------
    >>> (
    ...     hex_digits("pdq f8f8"),
    ...     hex_digits("0xF8f8"),
    ...     hex_digits("f8f8"),
    ...     hex_digits("md5 f8"),
    ... )
    ('f8f8', 'F8f8', 'f8f8', 'md5 f8')
    """
    if code.isalnum() and code[1:2] not in ("x", "X"):
        return code
    match = _MARKED.fullmatch(code)
    return match[1] if match else code
