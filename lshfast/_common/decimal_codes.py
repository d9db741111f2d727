"""Codes of decimal digits only, which are read as hexadecimal but probably decimal."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence

# Fewer digits say nothing: of 30 hexadecimal digits at random, none is from a to f with a
# probability of 1e-6. Leading zeros do not count.
LEAST_DIGITS = 30

ADVICE = (
    "all codes are texts of decimal digits, and were read as hexadecimal; for decimal numbers, "
    "give integers: a number "
    "of JSONL, a uint64 of Parquet or .npy, or an int or uint64 of Python"
)


# What errors say of a code that may be a decimal number.
NOTE = "; decimal numbers are codes as integers, such as numbers of JSONL, and not as texts"
_DECIMAL = re.compile(r"-?[0-9]+")


def note_on_decimal(code: object) -> str:
    """Return the note on decimal numbers if a code is a text that may be one, or ""."""
    return NOTE if isinstance(code, str) and _DECIMAL.fullmatch(code) else ""


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
