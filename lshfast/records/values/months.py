"""Names of months in the languages of the stop words, and dates that are written with them.

The table is part of the package: the locale of the interpreter decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from lshfast.records.values.strings import normal_form

# By language, the names of the twelve months; forms of one month, such as the genitive, are
# separated by a slash.
_NAMES: Mapping[str, str] = {
    "danish": "januar februar marts april maj juni juli august september oktober november december",
    "dutch": "januari februari maart/mrt april mei juni juli augustus september oktober november "
    "december",
    "english": "january february march april may june july august september october november "
    "december",
    "french": "janvier février mars avril mai juin juillet août septembre octobre novembre "
    "décembre",
    "german": "januar/jänner/jaenner februar/feber märz/maerz/mrz april mai juni/juno juli/julei "
    "august september "
    "oktober november dezember",
    "italian": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre "
    "novembre dicembre",
    "norwegian": "januar februar mars april mai juni juli august september oktober november "
    "desember",
    "polish": "styczeń/stycznia luty/lutego marzec/marca kwiecień/kwietnia maj/maja "
    "czerwiec/czerwca lipiec/lipca "
    "sierpień/sierpnia wrzesień/września październik/października listopad/listopada "
    "grudzień/grudnia",
    "portuguese": "janeiro fevereiro março abril maio junho julho agosto setembro outubro "
    "novembro dezembro",
    "russian": "январь/января февраль/февраля март/марта апрель/апреля май/мая июнь/июня "
    "июль/июля август/августа "
    "сентябрь/сентября октябрь/октября ноябрь/ноября декабрь/декабря",
    "spanish": "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre "
    "noviembre diciembre",
    "swedish": "januari februari mars april maj juni juli augusti september oktober november "
    "december",
}
LEAST_LETTERS = 3  # of an abbreviation
# Words beside the numbers and the month: articles, the endings of ordinal numbers, and words for
# year.
_FILLER_TEXT = (
    "of the th st nd rd de del d den le el il o em er re e º ª г года год r roku"
)
_FILLERS = frozenset(_FILLER_TEXT.split())
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"[0-9]+")
_TIME = re.compile(r"(?:[T,\s]|\bat\b)\s*\d{1,2}:\d{2}.*$", re.IGNORECASE)
_SHAPE = re.compile(r"[\w\s.,/'’ºª°-]+")
MOST_CHARACTERS = 60  # of a date
MOST_WORDS = 6


class NamedDate(NamedTuple):
    """A date with the name of a month.

    Attributes
    ----------
    first, second : str
        The numbers, in their order.
    month : int
        In 1..12.
    """

    first: str
    second: str
    month: int

    @property
    def is_short(self) -> bool:
        """Whether the year has two digits."""
        return max(len(self.first), len(self.second)) < 3

    @property
    def year_first(self) -> bool:
        """Whether the year comes first: the longer number, or of short ones the one above 31."""
        if not self.is_short:
            return len(self.first) > 2
        return int(self.first) > 31 or int(self.first) == 0


@lru_cache(maxsize=4096)
def month_named(word: str) -> int | None:
    """Return the number of a month by its name or its first letters (at least three), or None.

    Examples
    --------
    >>> (
    ...     month_named("Sept"),
    ...     month_named("août"),
    ...     month_named("января"),
    ...     month_named("jui"),
    ...     month_named("Smith"),
    ... )
    (9, 8, 1, None, None)
    """
    form = normal_form(word)
    months = {month for name, month in _months() if name == form}
    if not months and len(form) >= LEAST_LETTERS:
        months = {month for name, month in _months() if name.startswith(form)}
    return months.pop() if len(months) == 1 else None


@cache
def _months() -> list[tuple[str, int]]:
    """Return the normal forms of all names, and their months."""
    return [
        (normal_form(name), month)
        for names in _NAMES.values()
        for month, forms in enumerate(names.split(), 1)
        for name in forms.split("/")
    ]


def named_date(text: str) -> NamedDate | None:
    """Return the parts of a date such as "Sep 19, 1965" or "19. September 1965"; else None.

    It has two numbers, of which one may be a year, and one month. Day of the week, articles,
    endings of ordinal numbers and a time of day are passed over.

    Examples
    --------
    >>> (
    ...     named_date("Sunday, September 19th, 1965"),
    ...     named_date("19-SEP-65").is_short,
    ...     named_date("19 Main St 65"),
    ... )
    (NamedDate(first='19', second='1965', month=9), True, None)
    """
    if len(text) > MOST_CHARACTERS:
        return None
    if ":" in text:
        text = _TIME.sub("", text)
    numbers = _NUMBER.findall(text)
    if len(numbers) != 2:
        return None
    words = _WORD.findall(text)
    if not 1 <= len(words) <= MOST_WORDS or _SHAPE.fullmatch(text) is None:
        return None
    months = []
    other_words = []
    for word in words:
        month = month_named(word)
        if month is not None:
            months.append(month)
        elif word.casefold() not in _FILLERS:
            other_words.append(word)
    shorter, longer = sorted(map(len, numbers))
    if (
        len(months) != 1
        or shorter > 2
        or longer not in (1, 2, 4)
        or len(other_words) > 1
    ):
        return None
    # A day of the week is before the date.
    if other_words and not text.lstrip().startswith(other_words[0]):
        return None
    return NamedDate(numbers[0], numbers[1], months[0])
