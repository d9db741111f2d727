"""The values of records: normal forms of strings, and numbers in strings.

Values are compared after these functions, which are applied once to each distinct value of a column.
"""

from __future__ import annotations

import math
import re
import unicodedata

# Characters of ASCII in a normal form: capital letters become small, apostrophes vanish, other punctuation is a space.
_ASCII = {code: " " for code in range(128) if not chr(code).isalnum()} | {ord("'"): None, ord("`"): None}
_ASCII_LINES = {code: form for code, form in _ASCII.items() if code != ord("\n")}
# Marks of Latin, Greek and Cyrillic letters, and apostrophes.
_NO_LETTERS = re.compile("[\u0300-\u036f'\u2018\u2019\u02bc`]")
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?([eE][+-]?\d{1,3})?")
_CURRENCY = "$€£¥₹ \t\u00a0%"
# In values of more than `LONG` characters, further marks in a row are dropped: the Stream-Safe Text Format of Unicode
# (UAX #15) has 30 at most, and words of any language have fewer.
LONG, MOST_MARKS = 1000, 30


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
    form = joined.lower().translate(_ASCII_LINES)
    while "  " in form:
        form = form.replace("  ", " ")
    form = form.replace(" \n", "\n").replace("\n ", "\n").strip(" ")
    return texts if form == joined else form.split("\n")


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
