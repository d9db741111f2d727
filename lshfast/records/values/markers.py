"""Values that stand for a missing one, such as "N/A", 9999999999 and 1900-01-01.

Records whose values are missing do not agree. Three things show what a table writes instead of
nothing: its form, such as the word "unknown" or ten equal digits; how much more often it occurs
than other values of its column; and whether its records differ in what distinguishes records. A
word that may also be a name, such as Null, counts as missing only if its letters are written unlike
the rest of the column, if it is far more frequent than any other value, or if another column of the
tables has it as a marker.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import evenly_spaced
from lshfast._common.types import Int64Array
from lshfast.records.values.dates import days_of
from lshfast.records.values.marker_words import (
    DOUBTFUL_WORDS,
    FIRST_WORDS,
    LETTERS,
    MARKER_WORDS,
    SURE_WORDS,
    USUAL_WORDS,
)
from lshfast.records.values.strings import normal_form

# Distinct values of which those of one row are looked at, too; they agree with no other row.
MOST_SINGLE = 20_000

# A doubtful form is a marker if it occurs at least FEWEST times, and more than FAR times as often
# as any other value.
FEWEST = 3
FAR = 3

# Characters of a marker that is a word or several.
LONGEST = 40

# Doubtful words are markers if a smaller share of the other rows is written like them, or if at
# least the second share of the other rows has a digit.
RARE_SHAPE = 0.05
DIGITS = 0.5

# The first word of a value, and the characters that may be around all words.
_FIRST = re.compile(r"[^\W\d_]+")
_ENDS = "—–…• \t\n()[]{}<>#!?.*-_/\\'\"=:;,"

# A character that a name does not have.
_DECORATION = re.compile(r"[^\w\s]|_")

# Equal or consecutive digits that no number is likely to have.
SURE_DIGITS = 6
_ORDERS = "01234567890123456789", "98765432109876543210"

# Median of the digits of a column in which zeros alone are a marker.
LONG_NUMBERS = 5

# Other values from which a range or a length is known.
FEWEST_OTHERS = 5

# The part of the other dates or numbers at each end of their range that does not count.
TAIL = 0.005

# Between a first day of a calendar and the earliest or latest other dates, in years.
YEARS_APART = 10

# Days that programs store for no date: the first ones of calendars and of their clocks, and the
# last ones.
_CALENDARS = """
16000101 16010101 17000101 17530101 18000101 18581117 18991230 18991231 19000101 19000102 19010101
19040101 19111111 19700101 19800101 20000101 20991231 22220222 22991231
"""

# Years and days that are no dates, as they are written.
_NO_YEARS = frozenset(["0000", "0001", "1111", "9999"])
_NO_DAYS = frozenset(
    ["00000000", "000000", "00010101", "11111111", "99991231", "99999999"]
)
_DIGITS = re.compile(r"[0-9]+")

# Numbers of nines, such as 999 and 999.99.
NINES = [float("9" * count) for count in range(2, 16)]
NINES += [float("9" * count + ".99") for count in range(2, 10)]


class MarkedWords(NamedTuple):
    """Words of a column that count as missing, and those that do if another column has them."""

    sure: npt.NDArray[np.bool_]
    doubtful: Int64Array


def marked_words(
    texts: Sequence[str], counts: npt.NDArray[Any], elsewhere: Collection[str] = ()
) -> MarkedWords:
    """Return which distinct values of a column are words, or signs, for a missing value.

    Parameters
    ----------
    texts : sequence of str
    counts : ndarray of int, shape (texts,)
        The rows that have each value.
    elsewhere : collection of str
        Values that are markers in other columns.
    """
    marked = np.zeros(len(texts), bool)
    doubtful = []
    repeated = _repeated(counts)
    for place, word in _words_of([texts[place] for place in repeated], repeated):
        text = texts[place]
        marked[place] = _is_marker(word, text, elsewhere)
        if not marked[place] and (word in LETTERS or word in DOUBTFUL_WORDS):
            doubtful.append(place)
    open_places = np.array(doubtful, np.int64)
    if len(open_places):
        decided = _unlike_others(texts, counts, marked, open_places)
        marked[open_places[decided]] = True
        open_places = open_places[~decided]
    return MarkedWords(marked, open_places)


def _is_marker(word: str, text: str, elsewhere: Collection[str]) -> bool:
    """Return whether a value is a marker whatever the other values of its column are."""
    if word in LETTERS:
        return "/" in text or text.lstrip()[0].islower()
    if word in DOUBTFUL_WORDS:
        is_decorated = _DECORATION.search(text) is not None
        return text == "NaN" or text.strip() in elsewhere or is_decorated
    return word in SURE_WORDS or word == "?" or _all_known(word)


def _repeated(counts: npt.NDArray[Any]) -> list[int]:
    """Return the places of all values, or of very many those of several rows."""
    if len(counts) <= MOST_SINGLE:
        return list(range(len(counts)))
    return np.flatnonzero(counts > 1).tolist()


def _words_of(texts: Sequence[str], places: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield the places of values that may be markers, and their normal forms; "?" for signs only.

    Single words are looked up as they are; of other values, the first word decides whether a normal
    form is made.
    """
    small = "\n".join(texts).lower().split("\n")
    if len(small) != len(texts):
        small = [text.lower() for text in texts]
    for place, text in zip(places, small, strict=True):
        if text.isalpha():
            if text in FIRST_WORDS:
                yield place, FIRST_WORDS[text]
        elif len(text) <= LONGEST:
            bare = text.strip(_ENDS)
            first = _FIRST.match(bare)
            if first is not None and first[0] in FIRST_WORDS:
                yield place, normal_form(bare)
            elif not bare and text.strip():
                yield place, "?"


def _all_known(word: str) -> bool:
    """Return whether all words are markers or usual beside them, as in "test user"."""
    words = word.split()
    if len(words) < 2 or len(words) > 4 or words[0] not in MARKER_WORDS:
        return False
    are_usual = all(part in MARKER_WORDS or part in USUAL_WORDS for part in words)
    return are_usual and any(len(part) > 1 for part in words)


def _unlike_others(
    texts: Sequence[str],
    counts: npt.NDArray[Any],
    marked: npt.NDArray[np.bool_],
    places: Int64Array,
) -> npt.NDArray[np.bool_]:
    """Return which doubtful words are written unlike other values, or are far more frequent."""
    is_other = ~marked
    is_other[places] = False
    other_places = np.flatnonzero(is_other)
    rows = counts[other_places]
    if not len(other_places) or not rows.sum():
        return np.ones(len(places), bool)
    if len(other_places) > 5000:
        order = np.argsort(-rows, kind="stable")[:5000]
        other_places = other_places[order]
        rows = rows[order]
    weights = rows / rows.sum()
    most = int(rows.max())
    has_digit = np.fromiter(
        (any(map(str.isdigit, texts[place])) for place in other_places.tolist()),
        bool,
        len(other_places),
    )
    if has_digit @ weights >= DIGITS:
        return np.ones(len(places), bool)
    shapes = np.array(
        [_shape(texts[place]) for place in other_places.tolist()], np.int64
    )
    decided = np.zeros(len(places), bool)
    for at, place in enumerate(places.tolist()):
        count = int(counts[place])
        alike = (shapes == _shape(texts[place])) @ weights
        is_unlike = bool(alike < RARE_SHAPE and len(other_places) >= FEWEST)
        decided[at] = is_unlike or (count >= FEWEST and count > FAR * most)
    return decided


def _shape(text: str) -> int:
    """Return a number for the case of the letters: lower, upper, capitalised, or other."""
    if text.islower():
        return 1
    if text.isupper():
        return 2
    return 3 if text[:1].isupper() else 4


def marked_digits(
    kind: str, texts: Sequence[str], counts: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Return which distinct codes, telephones or dates are digits for a missing one, by their form.

    Parameters
    ----------
    kind : str
    texts : sequence of str
    counts : ndarray of int, shape (texts,)
        The rows that have each value.
    """
    if kind == "date":
        return _marked_dates(texts, counts)
    marked = np.zeros(len(texts), bool)
    suspects = _regular_numbers(texts, counts) if kind in ("code", "phone") else {}
    if not suspects:
        return marked
    is_other = np.ones(len(texts), bool)
    is_other[[*suspects]] = False
    other_places = np.flatnonzero(is_other)
    most = int(counts[other_places].max(initial=0))
    length = _usual_digits(texts, other_places)
    for place, digits in suspects.items():
        count = int(counts[place])
        is_zero = set(digits) == {"0"} and length >= LONG_NUMBERS
        is_far = (
            count >= FEWEST and count > FAR * most and len(digits) > 1 and length > 0
        )
        is_long = len(digits) >= SURE_DIGITS and not 0 < length < LONG_NUMBERS
        marked[place] = is_zero or is_far or is_long
    return marked


def _marked_dates(
    texts: Sequence[str], counts: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Return which dates have no possible year or day."""
    marked = np.zeros(len(texts), bool)
    for place in _repeated(counts):
        numbers = _DIGITS.findall(texts[place])
        if numbers:
            is_no_date = len(numbers) >= 3 and _is_no_year(numbers)
            marked[place] = numbers[0] in _NO_DAYS or is_no_date
    return marked


def _regular_numbers(texts: Sequence[str], counts: npt.NDArray[Any]) -> dict[int, str]:
    """Return the places and digits of numbers whose digits are equal or consecutive."""
    suspects = {}
    for place in _repeated(counts):
        text = texts[place]
        digits = text if text.isdigit() else "".join(filter(str.isdigit, text))
        if not digits:
            continue
        are_equal = digits.count(digits[0]) == len(digits)
        is_regular = are_equal or any(digits in order for order in _ORDERS)
        if is_regular and not any(map(str.isalpha, text)):
            suspects[place] = digits
    return suspects


def _usual_digits(texts: Sequence[str], places: Int64Array) -> float:
    """Return the median number of digits of a sample of values; 0 if there are too few."""
    sample = evenly_spaced(len(places), 1000)
    lengths = [sum(map(str.isdigit, texts[place])) for place in places[sample].tolist()]
    return float(np.median(lengths)) if len(lengths) >= FEWEST_OTHERS else 0.0


def _is_no_year(numbers: Sequence[str]) -> bool:
    return numbers[0] in _NO_YEARS or numbers[2] in _NO_YEARS


def marked_numbers(
    kind: str, numbers: npt.NDArray[np.float64], counts: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Return which distinct numbers, or days of dates, stand for a missing one.

    Parameters
    ----------
    kind : {"number", "date"}
    numbers : ndarray of float64, shape (n,)
    counts : ndarray of int, shape (n,)
        The rows that have each of them.
    """
    if kind == "date":
        suspected = np.isin(numbers, days_of(_CALENDARS.split()))
    else:
        suspected = np.isin(np.abs(numbers), NINES) | np.isin(numbers, [0.0, -1.0])
    marked = np.zeros(len(numbers), bool)
    if not suspected.any() or int((~suspected).sum()) < FEWEST_OTHERS:
        return marked
    low, high = np.quantile(numbers[~suspected], [TAIL, 1 - TAIL])
    most = int(counts[~suspected].max())
    is_far = (counts >= FEWEST) & (counts > FAR * most)
    is_outside = (numbers < low) | (numbers > high)
    if kind == "date":
        days = 365 * YEARS_APART
        is_distant = (numbers < low - days) | (numbers > high + days)
        return np.asarray(suspected & (is_distant | is_far))
    return np.asarray(suspected & is_outside & is_far)
