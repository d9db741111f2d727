"""The values of records: normal forms of strings, and numbers in strings.

Values are compared after these functions, each of which is applied once to a distinct value.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

# Characters of ASCII in a normal form: capital letters become small, apostrophes vanish, other
# punctuation is a space.
_ASCII = {code: " " for code in range(128) if not chr(code).isalnum()} | {
    ord("'"): None,
    ord("`"): None,
}
_ASCII_LINES = {code: form for code, form in _ASCII.items() if code != ord("\n")}
# Marks of Latin, Greek and Cyrillic letters, and apostrophes.
_NO_LETTERS = re.compile("[\u0300-\u036f'\u2018\u2019\u02bc`]")
_PLAIN = r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?"
_PLAIN_NUMBER = re.compile(_PLAIN)
_PLAIN_NUMBERS = re.compile(rf"(?:{_PLAIN}\n)*{_PLAIN}")
_NUMBER = re.compile(r"[+-]?(\d{1,3}([,'’ ]\d{3})+|\d+)?(\.\d*)?([eE][+-]?\d{1,3})?")
_COMMA_NUMBER = re.compile(
    r"[+-]?(\d{1,3}([.'’ ]\d{3})+|\d+)?(,\d*)?([eE][+-]?\d{1,3})?"
)
# Spaces that stand between thousands.
_SPACES = {ord(space): " " for space in "\t\u00a0\u2009\u202f"}
_THOUSANDS = {ord(mark): None for mark in ",.'’ "}
_CURRENCY = "$€£¥₹ \t\u00a0%"
NUMBER_SAMPLE = 2000  # numbers of a column that decide its decimal sign
# In values of more than `LONG` characters, further marks in a row are dropped: the Stream-Safe Text
# Format of Unicode (UAX #15) has 30 at most, and words of any language have fewer.
# Such values are compared in linear time: names by their first LONG characters, others by at most
# LONG edits, and without synonyms. Records of adversaries may have values of megabytes.
LONG = 1000
MOST_MARKS = 30
# Code points that all versions assign.
_OLD = re.compile("[\0-\u0377\u0400-\u052f\u1e00-\u1eff\u4e00-\u9fef]*")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def normal_form(text: str) -> str:
    """Return a string in lower case without accents and punctuation, its words by single spaces.

    Accents are removed from Latin, Greek and Cyrillic letters only: in other scripts, marks are
    letters.

    Examples
    --------
    >>> normal_form("  O'Brien-Müller, ZOË ")
    'obrien muller zoe'
    """
    if text.isascii():
        return " ".join(text.lower().translate(_ASCII).split())
    patterns = _patterns(_ASTRAL.search(text) is not None)
    if len(text) > LONG:
        text = patterns.marks.sub(r"\1", text)
    if not _OLD.fullmatch(text) and patterns.later.search(text):
        pieces = patterns.later.split(text)  # every second one is of later letters
        pieces[::2] = map(_folded, pieces[::2])
        pieces[1::2] = (piece.translate(patterns.later_forms) for piece in pieces[1::2])
        plain = "".join(pieces)
    else:
        plain = _folded(text)
    return " ".join(patterns.others.sub(" ", plain).split())


def _folded(text: str) -> str:
    """Return a text in one form of Unicode, with small letters and without accents.

    Folding comes after the decomposition, and is decomposed again, so that all forms are equal.
    """
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    plain = _NO_LETTERS.sub("", unicodedata.normalize("NFKD", decomposed))
    return plain if plain.isascii() else unicodedata.normalize("NFC", plain)


class _Patterns(NamedTuple):
    """Patterns of letters of later Unicode versions, of what is no word, and of many marks."""

    later: re.Pattern[str]
    later_forms: dict[int, str]
    others: re.Pattern[str]
    marks: re.Pattern[str]


@cache
def _patterns(is_astral: bool) -> _Patterns:
    """Return the patterns of the pinned Unicode, for texts with code points above U+FFFF or not.

    Without them, classes have a table instead of a list of ranges, which takes a tenth of the time.
    """
    from lshfast.records.values import unicode_forms

    last = 0x10FFFF if is_astral else 0xFFFF
    forms = {}
    for pair in unicode_forms.LATER_FORMS.split():
        code, _, letters = pair.partition(":")
        forms[int(code, 16)] = "".join(
            chr(int(letter, 16)) for letter in letters.split(",")
        )
    marks = _class_of(unicode_forms.MARKS, last)
    # Of ideographs of compatibility.
    astral = "" if is_astral else "\U00010000-\U0010ffff"
    return _Patterns(
        re.compile(f"([{_class_of(unicode_forms.LATER, last)}]+)"),
        forms,
        re.compile(f"[^{_class_of(unicode_forms.WORDS, last)}{astral}]+"),
        re.compile(f"([{marks}]{{{MOST_MARKS}}})[{marks}]+"),
    )


def _class_of(ranges: str, last: int) -> str:
    """Return ranges of code points, those that begin by `last`, as a class of a pattern."""
    parts = []
    for part in ranges.split():
        codes = [int(code, 16) for code in part.split("-")]
        if codes[0] <= last:
            parts.append("-".join(f"\\U{min(code, last):08x}" for code in codes))
    return "".join(parts)


def normal_forms(texts: list[str]) -> list[str]:
    """Return the normal forms of strings; those of ASCII strings are computed at once."""
    lines = "\n".join(texts)
    if not lines.isascii() or lines.count("\n") != len(texts) - 1:
        return [normal_form(text) for text in texts]
    form = lines.lower().translate(_ASCII_LINES)
    while "  " in form:
        form = form.replace("  ", " ")
    form = form.replace(" \n", "\n").replace("\n ", "\n").strip(" ")
    return texts if form == lines else form.split("\n")


class NumberForm(NamedTuple):
    """How the numbers of a column are read.

    Attributes
    ----------
    comma : bool
        Whether the decimal sign is a comma. It decides values such as 1,234 and 1.234, which can be
        read both ways.
    grouped : bool
        Whether 1 234 and 1.234.567 are numbers, without decimals. Telephones are written so, too.
    """

    comma: bool = False
    grouped: bool = True


def number_in(text: str, form: NumberForm = NumberForm()) -> float | None:  # noqa: B008 # an immutable value
    """Return the number in a string, else None.

    It may have a currency sign, a comma or a point as decimal sign, and the other one, spaces or
    apostrophes between thousands.

    Examples
    --------
    >>> (
    ...     number_in("$1,299.50"),
    ...     number_in("1.299,50 €"),
    ...     number_in("12 km"),
    ...     number_in("nan"),
    ... )
    (1299.5, 1299.5, None, None)
    >>> number_in("1,234"), number_in("1,234", NumberForm(comma=True))
    (1234.0, 1.234)
    """
    if not form.comma and _PLAIN_NUMBER.fullmatch(text):
        return _finite(text)
    text = text.strip(_CURRENCY)
    if not any(map(str.isdigit, text)):
        return None
    if not text.isascii():
        text = text.translate(_SPACES)
    for comma in (form.comma, not form.comma):
        match = (_COMMA_NUMBER if comma else _NUMBER).fullmatch(text)
        if match is None:
            continue
        # Telephones have spaces and points between groups, too.
        is_grouped = match[2] is not None and match[2][0] not in ",'’"
        if form.grouped or not is_grouped or match[3]:
            return _finite(_with_point(match[0], comma))
    return None


def are_plain(texts: Sequence[str]) -> bool:
    """Return whether all strings are digits with at most a sign and a point."""
    lines = "\n".join(texts)
    is_one_each = lines.count("\n") == len(texts) - 1
    return is_one_each and _PLAIN_NUMBERS.fullmatch(lines) is not None


def _with_point(number: str, comma: bool) -> str:
    """Return a number without marks between thousands and with a point as decimal sign."""
    mark = "," if comma else "."
    integer, point, decimals = number.partition(mark)
    return integer.translate(_THOUSANDS) + point.replace(mark, ".") + decimals


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:  # no digit before the exponent
        return None
    return value if math.isfinite(value) else None


def number_forms(columns: Sequence[Sequence[str]]) -> list[tuple[NumberForm, str]]:
    """Decide the decimal sign of the numbers of each table, and say it if it is a comma.

    Values that can be read in one way only decide it: 12,5 and 1.234,56, or 12.5 and 1,234.56. If
    there are none in a table, it has the sign of the other table, if this is known; otherwise a
    point.

    Examples
    --------
    >>> [
    ...     (form.comma, note)
    ...     for form, note in number_forms([["12,5", "1.234"], ["12.5"]])
    ... ]
    [(True, 'read with a comma as decimal sign'), (False, '')]
    """
    has_commas = [_has_commas(texts) for texts in columns]
    decided = [comma for comma in has_commas if comma is not None]
    forms = []
    for comma in has_commas:
        is_comma = comma if comma is not None else bool(decided and decided[0])
        note = "read with a comma as decimal sign" if is_comma else ""
        if is_comma and comma is None:
            note += ", as in the other table"
        forms.append((NumberForm(is_comma), note))
    return forms


def _has_commas(texts: Sequence[str]) -> bool | None:
    """Return whether most unambiguous numbers have a decimal comma; None if undecided."""
    marked = [text for text in texts if "," in text or "." in text]
    step = max(1, len(marked) // NUMBER_SAMPLE)
    commas = points = 0
    for text in marked[::step]:
        plain = text.strip(_CURRENCY).translate(_SPACES)
        with_point = _NUMBER.fullmatch(plain) is not None
        with_comma = _COMMA_NUMBER.fullmatch(plain) is not None
        commas += with_comma > with_point
        points += with_point > with_comma
    return None if commas == points else commas > points
