"""Codes of decimal digits only: read as numbers if they cannot be hexadecimal, else warned of."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

# Fewer digits say nothing: of 30 hexadecimal digits at random, none is from a to f with a
# probability of 1e-6. Leading zeros do not count.
LEAST_DIGITS = 30

# A text of more digits is no code: 4,096 bits are 1,234 digits.
MOST_DIGITS = 1234

ADVICE = (
    "all codes are texts of decimal digits, and were read as hexadecimal; for decimal numbers, "
    "give integers: a number "
    "of JSONL, a uint64 of Parquet or .npy, or an int or uint64 of Python"
)

# What errors say of a code that may be a decimal number.
NOTE = (
    "; texts are read as decimal numbers if different lengths and at least "
    f"{LEAST_DIGITS} digits without letters show it; else give integers"
)
_DECIMAL = re.compile(r"-?[0-9]+")
_HEXADECIMAL = re.compile(r"(0[xX])?[0-9a-fA-F]+")


def note_on_decimal(code: object) -> str:
    """Return the note on decimal numbers if a code is a text that may be one, or ""."""
    return NOTE if isinstance(code, str) and _DECIMAL.fullmatch(code) else ""


def are_decimal(codes: Sequence[object], bits: int | None = None) -> bool:
    """Return whether texts of codes are decimal numbers and cannot be hexadecimal.

    They have at least LEAST_DIGITS digits, none of them from a to f, and a minus sign or different
    lengths, where hexadecimal codes have one length, or more digits than `bits` have. What is no
    code at all does not count.

    Examples
    --------
    >>> are_decimal(["8723641234567812", "17236412345678123456"])
    True
    >>> are_decimal(["8723641234567812", "1723641234567812"])
    False
    >>> are_decimal(["18723641234567812", "11723641234567812"], bits=64)
    True
    """
    texts = [code for code in codes if isinstance(code, str)]
    numbers = [text for text in texts if _DECIMAL.fullmatch(text)]
    if len(numbers) < len(texts) and any(
        _HEXADECIMAL.fullmatch(text) and not _DECIMAL.fullmatch(text) for text in texts
    ):
        return False
    digits = sum(len(number.lstrip("-0")) for number in numbers)
    if digits < LEAST_DIGITS:
        return False
    lengths = set(map(len, numbers))
    is_signed = any(number.startswith("-") for number in numbers)
    is_long = bits is not None and max(lengths) > -(-bits // 4)
    return is_signed or is_long or len(lengths) > 1


def decimal_number(code: Any) -> Any:
    """Return a decimal text as a number, a negative one of 64 bits as databases hold it.

    Other codes are returned as they are.

    Examples
    --------
    >>> decimal_number("15"), decimal_number("-1") == 2**64 - 1, decimal_number("f")
    (15, True, 'f')
    """
    if (
        not isinstance(code, str)
        or len(code) > MOST_DIGITS
        or not _DECIMAL.fullmatch(code)
    ):
        return code
    number = int(code)
    return number + (1 << 64) if -(1 << 63) <= number < 0 else number


class DecimalCodesWarning(UserWarning):
    """All codes that were given as texts have decimal digits only, so they may be decimal numbers.

    Texts of codes are read as hexadecimal digits. Functions and indexes that take codes warn with
    it if there are at least 30 digits, of which none is from a to f. Give decimal numbers as
    integers.

    See Also
    --------
    lshfast.dedup_codes : Remove near-duplicates from codes.

    Examples
    --------
    >>> import warnings
    >>> import lshfast
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = lshfast.dedup_codes(["8723641234567812", "8723641234567813"], 3)
    >>> caught[0].category.__name__
    'DecimalCodesWarning'
    """


class DecimalDigits:
    """Whether all codes that were read so far are texts of decimal digits."""

    def __init__(self) -> None:
        self._only = True
        self._digits = 0

    def add(self, codes: Sequence[object]) -> None:
        """Add codes that were read, in any form."""
        self._only = self._only and all(
            isinstance(code, str) and code.isdecimal() for code in codes
        )
        if self._only:
            self._digits += sum(len(str(code).lstrip("0")) for code in codes)

    @property
    def advice(self) -> str:
        """What may be meant otherwise, or ""."""
        return ADVICE if self._only and self._digits >= LEAST_DIGITS else ""


def warn_of_decimal_codes(advice: str) -> None:
    """Warn the first caller outside of this package, unless the advice is empty."""
    if not advice:
        return
    level = 2
    frame = sys._getframe(1)
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] == "lshfast"
    ):
        frame = frame.f_back
        level += 1
    warnings.warn(advice, DecimalCodesWarning, stacklevel=level)
