"""Dates in strings, and the order of day, month and year in a column.

A date such as 03/04/2021 is read in the order of most dates of its column: one value alone does not
show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from lshfast._common.types import Int64Array
from lshfast.records.choices import DateOrder
from lshfast.records.values.months import NamedDate, named_date

_SEPARATED = re.compile(r"(\d{1,4})([-/. ])(\d{1,2})([-/. ])(\d{1,4})([T ].*)?")
# Three numbers with dots that may be a version.
_DOUBTFUL = re.compile(
    r"\d\.\d{1,2}\.\d{1,2}|\d\d\.\d\.\d{1,2}|\d\d\.\d\d\.\d", re.ASCII
)
_WHOLE_YEAR = re.compile(r"\s*(\d{4}|\d{1,2}[-/. ]\d{1,2}[-/. ]\d{4})")
_COMPACT = re.compile(r"(\d{8})(T\d{4,6}.*)?")
# A date outside of these years is taken for a typing error.
FIRST_YEAR = 1600
LAST_YEAR = 2399
# The latest year of two digits, as in POSIX, unless LEAST_YEARS dates have years of four digits:
# then the year that the part TYPED of them does not exceed, since the others are typing errors.
LATEST = 2068
LEAST_YEARS = 20
TYPED = 0.999
# What the digits of a year stand for.
THOUSANDS = np.array([1000, 100, 10, 1], np.int64)
# Least part of the dates of a table with years of two digits; fewer are typing errors.
SHORT_YEARS = 0.1
# Least part of the values such as 1.2.73 that are dates, if they are no versions.
DOTTED = 0.9
PLACES: dict[DateOrder, tuple[int, int, int]] = {
    "dmy": (2, 1, 0),
    "mdy": (2, 0, 1),
    "ymd": (0, 1, 2),
}
NAMES: dict[DateOrder, str] = {
    "dmy": "day, month, year",
    "mdy": "month, day, year",
    "ymd": "year, month, day",
}
OTHERS: dict[DateOrder, tuple[DateOrder, ...]] = {
    "dmy": ("dmy", "mdy"),
    "mdy": ("mdy", "dmy"),
    "ymd": ("ymd",),
}


class DateForm(NamedTuple):
    """How the dates of a column are read.

    Attributes
    ----------
    order : {"dmy", "mdy", "ymd"}
        The order of day, month and year, of dates that do not begin with a year of four digits.
    strict : bool
        Whether a date in another order is none. Otherwise, 02/29/2024 is read in a column of days
        before months, too.
    latest : int
        The latest year that is written with two digits; the earliest is 99 years before.
    short : bool
        Whether dates with years of two digits are read.
    dotted : bool
        Whether such dates with dots may have days and months of one digit, such as 1.2.73.
    """

    order: DateOrder = "dmy"
    strict: bool = False
    latest: int = LATEST
    short: bool = True
    dotted: bool = False


_DEFAULT = DateForm()


def day_of(text: str, form: DateForm = _DEFAULT) -> int | None:
    """Return the day of a date as a number (1 is 0001-01-01), or None if it is not a date.

    Dates are YYYYMMDD, a day and a year with the name of a month (`named_date`), or three numbers
    with ``-``, ``/``, ``.`` or a space between them: year, month and day if the first has four
    digits, otherwise in the order of `form`, or with day and month exchanged if there is no such
    day and month. Years of two digits need twice the same separator, which is no space, and two
    digits of the day and month if it is a dot, unless `form.dotted`. A time of day after the date
    is ignored. Years are in 1600..2399.

    Examples
    --------
    >>> day_of("2024-02-29") == day_of("29/02/2024") == day_of("20240229") == day_of(
    ...     "2/29/2024"
    ... ) == day_of("29-2-24")
    True
    >>> day_of("3/4/2021", DateForm("mdy")) == day_of("2021-03-04")
    True
    >>> day_of("2023-02-29") is None
    True
    """
    text = text.strip()
    numbers = _numbers(text, form.dotted)
    if numbers is None:
        if _COMPACT.fullmatch(text) and text.isascii():
            return _day(int(text[:4]), int(text[4:6]), int(text[6:8]))
        parts = named_date(text)
        if parts is None or (parts.is_short and not form.short):
            return None
        return _named_day(parts, form.latest)
    if len(numbers[0]) == 4:
        return _in_order(numbers, "ymd", form.latest)
    if len(numbers[2]) < 4 and not form.short:
        return None
    for order in (form.order,) if form.strict else OTHERS[form.order]:
        day = _in_order(numbers, order, form.latest)
        if day is not None:
            return day
    return None


def digits_of(forms: Sequence[str]) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the years, months and days of strings of eight digits, YYYYMMDD; 0 for empty strings.

    Examples
    --------
    >>> [part.tolist() for part in digits_of(["20240229", "19991231"])]
    [[2024, 1999], [2, 12], [29, 31]]
    """
    characters = "".join([form or "0" * 8 for form in forms]).encode("ascii")
    digits = np.frombuffer(characters, np.uint8).reshape(-1, 8).astype(np.int64) - ord(
        "0"
    )
    year, month, day = np.split(digits, [4, 6], axis=1)
    return year @ THOUSANDS, month @ THOUSANDS[2:], day @ THOUSANDS[2:]


def days_of(forms: Sequence[str]) -> Int64Array:
    """Return the days of strings YYYYMMDD as `day_of` numbers them; 0 for those that are not dates.

    Examples
    --------
    >>> days_of(["20240229", "20230229"]).tolist() == [day_of("29/02/2024"), 0]
    True
    """
    year, month, day = digits_of(forms)
    months = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    is_date = (month >= 1) & (month <= 12) & (day >= 1)
    is_date &= days.astype("datetime64[M]") == months
    is_date &= (year >= FIRST_YEAR) & (year <= LAST_YEAR)
    return np.where(is_date, days.astype(np.int64) + date(1970, 1, 1).toordinal(), 0)


def has_whole_year(text: str) -> bool:
    """Return whether a date has a year of four digits, or the name of a month."""
    return _WHOLE_YEAR.match(text) is not None or named_date(text) is not None


def _numbers(text: str, dotted: bool) -> tuple[str, str, str] | None:
    """Return the three numbers of a date, of which one may be a year, or None."""
    match = _SEPARATED.fullmatch(text)
    if match is None or not text.isascii():
        return None
    first, separator, second, other_separator, third, _ = match.groups()
    if len(first) == 4 or len(third) == 4:
        return first, second, third
    is_short = max(len(first), len(third)) <= 2
    if not is_short or separator != other_separator or separator == " ":
        return None
    if separator == "." and len(first + second + third) < 6 and not dotted:
        return None
    return first, second, third


def _in_order(numbers: Sequence[str], order: DateOrder, latest: int) -> int | None:
    year, month, day = (numbers[place] for place in PLACES[order])
    if len(day) > 2 or len(year) not in (2, 4):
        return None
    return _day(_whole_year(year, latest), int(month), int(day))


def _named_day(parts: NamedDate, latest: int) -> int | None:
    """Return the day of a date with the name of a month."""
    day, year = parts.first, parts.second
    if parts.year_first:
        day, year = year, day
    return _day(_whole_year(year, latest), parts.month, int(day))


def _whole_year(year: str, latest: int) -> int:
    """Return a year of two or four digits as a number."""
    number = int(year)
    return latest - (latest - number) % 100 if len(year) <= 2 else number


def _day(year: int, month: int, day: int) -> int | None:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return None
    try:
        return date(year, month, day).toordinal()
    except ValueError:
        return None


class _ColumnDates:
    """The dates of a column: of three numbers, and with the name of a month.

    Attributes
    ----------
    years : list of int
        The years of four digits.
    has_short_years : bool
        Whether a good part of all dates have years of two digits.
    ordered : list of tuple of str
        The dates that an order reads: without those that begin with a year of four digits.
    named : list of NamedDate
    dotted : bool
        Whether 1.2.73 is a date, and no version: nearly all such values are dates, and others with
        dots have two digits of the day and month, or a year of four digits.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.dotted = _are_dotted_dates(texts)
        numbers, self.named = _dates_in(texts, self.dotted)
        short = sum(map(_is_short, numbers)) + sum(date.is_short for date in self.named)
        self.has_short_years = False
        if short:
            compact = sum(_COMPACT.fullmatch(text) is not None for text in texts)
            dates = len(numbers) + len(self.named) + compact
            self.has_short_years = short >= SHORT_YEARS * dates
        self.ordered = [
            parts
            for parts in numbers
            if len(parts[0]) != 4 and (self.has_short_years or not _is_short(parts))
        ]
        ends = [end for first, _, last in numbers for end in (first, last)]
        ends += [end for date in self.named for end in (date.first, date.second)]
        self.years = [int(end) for end in ends if len(end) == 4]


def _are_dotted_dates(texts: Sequence[str]) -> bool:
    """Return whether nearly all values such as 1.2.73 are dates, and others surely are."""
    doubtful = [text for text in texts if _DOUBTFUL.fullmatch(text)]
    if not doubtful:
        return False
    if not any("." in text and _numbers(text, dotted=False) for text in texts):
        return False
    form = DateForm(dotted=True)
    dates = sum(day_of(text, form) is not None for text in doubtful)
    return dates >= DOTTED * len(doubtful)


def _dates_in(
    texts: Sequence[str], dotted: bool
) -> tuple[list[tuple[str, str, str]], list[NamedDate]]:
    """Return the dates of three numbers, and those with the name of a month."""
    numbers = []
    named_dates = []
    for text in texts:
        if text.isdigit():
            continue
        parts = _numbers(text, dotted)
        if parts is not None:
            numbers.append(parts)
            continue
        date_with_name = named_date(text)
        if date_with_name is not None:
            named_dates.append(date_with_name)
    return numbers, named_dates


class _Evidence(NamedTuple):
    """How many dates of a column the best orders read, and these orders."""

    most: int
    best: list[DateOrder]


def date_forms(
    columns: Sequence[Iterable[str]], order: DateOrder | None = None
) -> list[tuple[DateForm, str]]:
    """Decide how the dates of a field are read in each table, and describe it.

    Each table has the order in which most of its dates can be read. If several are equal, it is
    that of the other table, if this is known; otherwise days are before months, and both before
    years.

    Parameters
    ----------
    columns : sequence of iterables of str
        The distinct values of each table.
    order : {"dmy", "mdy", "ymd"}, optional
        The order of all tables.

    Returns
    -------
    list of (DateForm, str)
        For each table its form, and a note; the note is empty if all dates begin with a year of
        four digits, or have the name of a month.

    Examples
    --------
    >>> for form, note in date_forms([["03/04/2021", "03/25/2021"], ["2021-03-04"]]):
    ...     print(form.order, repr(note))
    mdy 'read as month, day, year'
    mdy ''
    """
    dates = [_ColumnDates([text.strip() for text in texts]) for texts in columns]
    latest = _latest_year([year for column in dates for year in column.years])
    evidence = [_evidence(column.ordered, latest) for column in dates]
    decided = next((best[0] for _, best in evidence if len(best) == 1), None)
    forms = []
    for column, (most, best) in zip(dates, evidence, strict=True):
        order_read = order or (decided if decided in best else best[0])
        form = DateForm(
            order_read,
            order is not None,
            latest,
            column.has_short_years,
            column.dotted,
        )
        is_open = order is None and most > 0
        alternatives = [other for other in best if is_open and other != order_read]
        forms.append((form, _note(form, column, alternatives, decided in best)))
    return forms


def _latest_year(years: Sequence[int]) -> int:
    """Return the latest year of two digits, from years of four digits."""
    if len(years) < LEAST_YEARS:
        return LATEST
    return sorted(years)[round(TYPED * (len(years) - 1))]


def _note(
    form: DateForm,
    column: _ColumnDates,
    alternatives: Sequence[DateOrder],
    follows: bool,
) -> str:
    """Return how dates are read, and the orders that read as many of them.

    `follows` says whether the order is that of the other table.
    """
    notes = []
    if column.ordered:
        note = f"read as {NAMES[form.order]}"
        if alternatives:
            reason = "as in the other table" if follows else "which no date decides"
            note += f", {reason}; order={' or '.join(alternatives)} reads it otherwise"
        notes.append(note)
    if form.short and (column.ordered or column.named):
        notes.append(f"years of two digits are {form.latest - 99} to {form.latest}")
    return "; ".join(notes)


def _is_short(numbers: Sequence[str]) -> bool:
    return len(numbers[0]) < 4 and len(numbers[2]) < 4


def _evidence(dates: Sequence[Sequence[str]], latest: int) -> _Evidence:
    counts = {
        order: sum(_in_order(numbers, order, latest) is not None for numbers in dates)
        for order in PLACES
    }
    most = max(counts.values())
    return _Evidence(most, [order for order in PLACES if counts[order] == most])
