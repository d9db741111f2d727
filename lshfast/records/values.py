"""The values of records: normal forms of strings, and numbers and dates in strings.

Values are compared after these functions, which are applied once to each distinct value of a column.
"""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import date

# Characters of ASCII in a normal form: capital letters become small, apostrophes vanish, other punctuation is a space.
_ASCII = {code: " " for code in range(128) if not chr(code).isalnum()} | {ord("'"): None, ord("`"): None}
_ASCII_LINES = {code: form for code, form in _ASCII.items() if code != ord("\n")}
_SPACES = re.compile("  +")
# Marks of Latin, Greek and Cyrillic letters, and apostrophes.
_NO_LETTERS = re.compile("[\u0300-\u036f'\u2018\u2019\u02bc`]")
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?([eE][+-]?\d{1,3})?")
_CURRENCY = "$€£¥₹ \t\u00a0%"
_SEPARATED = re.compile(r"(\d{1,4})[-/. ](\d{1,2})[-/. ](\d{1,4})([T ].*)?")
_COMPACT = re.compile(r"\d{8}")
# In values of more than `LONG` characters, further marks in a row are dropped: the Stream-Safe Text Format of Unicode
# (UAX #15) has 30 at most, and words of any language have fewer.
LONG, MOST_MARKS = 1000, 30
FIRST_YEAR, LAST_YEAR = 1600, 2399  # a date outside is taken for a typing error


def normal_form(text: str) -> str:
    """Return a string in lower case, without accents and punctuation, with single spaces between words.

    Accents are removed from Latin, Greek and Cyrillic letters only: in other scripts, marks are letters.

    Examples
    --------
    >>> normal_form("  O'Brien-Müller, ZOË ")
    'obrien muller zoe'
    """
    if text.isascii():
        return " ".join(text.lower().translate(_ASCII).split())
    if len(text) > LONG:
        text = _with_few_marks(text)
    plain = _NO_LETTERS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    plain = unicodedata.normalize("NFC", plain)
    return " ".join("".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in plain).split())


def _with_few_marks(text: str) -> str:
    """Return a text with at most `MOST_MARKS` marks in a row; normalization takes the square of their number."""
    kept, marks = [], 0
    for letter in text:
        marks = marks + 1 if unicodedata.category(letter)[0] == "M" else 0
        if marks <= MOST_MARKS:
            kept.append(letter)
    return "".join(kept)


def normal_forms(texts: list[str]) -> list[str]:
    """Return the normal forms of strings; those of ASCII strings are computed at once."""
    joined = "\n".join(texts)
    if not joined.isascii() or joined.count("\n") != len(texts) - 1:
        return [normal_form(text) for text in texts]
    joined = _SPACES.sub(" ", joined.lower().translate(_ASCII_LINES))
    return joined.replace(" \n", "\n").replace("\n ", "\n").strip(" ").split("\n")


def number_in(text: str) -> float | None:
    """Return the number in a string, which may have a currency sign and commas between thousands; else None.

    Examples
    --------
    >>> number_in("$1,299.50"), number_in("12 km"), number_in("nan")
    (1299.5, None, None)
    """
    text = text.strip(_CURRENCY)
    if not any(map(str.isdigit, text)) or not _NUMBER.fullmatch(text):
        return None
    try:
        value = float(text.replace(",", ""))
    except ValueError:  # no digit before the exponent
        return None
    return value if math.isfinite(value) else None


def day_of(text: str) -> int | None:
    """Return the day of a date as a number (1 is 1 January of the year 1), or None if the string is not a date.

    Dates are YYYYMMDD, or three numbers with ``-``, ``/``, ``.`` or a space between them: year, month and day if the
    first has four digits, otherwise day, month and year, or month, day and year if there is no such day and month.
    A time of day after the date is ignored. Years are in 1600..2399.

    Examples
    --------
    >>> day_of("2024-02-29") == day_of("29/02/2024") == day_of("20240229") == day_of("2/29/2024")
    True
    >>> day_of("2023-02-29") is None
    True
    """
    text = text.strip()
    if not text.isascii():
        return None
    if _COMPACT.fullmatch(text):
        return _day(int(text[:4]), int(text[4:6]), int(text[6:]))
    found = _SEPARATED.fullmatch(text)
    if found is None:
        return None
    first, middle, last = (int(found[i]) for i in (1, 2, 3))
    if len(found[1]) == 4:
        return _day(first, middle, last)
    if len(found[3]) != 4:
        return None
    day = _day(last, middle, first)
    return _day(last, first, middle) if day is None else day


def _day(year: int, month: int, day: int) -> int | None:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return None
    try:
        return date(year, month, day).toordinal()
    except ValueError:
        return None
