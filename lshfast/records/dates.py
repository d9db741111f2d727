"""Dates in strings, and the order of day, month and year in a column.

A date such as 03/04/2021 is read in the order that most dates of its column have: one value alone
does not tell it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from lshfast._common.types import Int64Array
from lshfast.records.choices import DateOrder
from lshfast.records.months import NamedDate, named_date

_SEPARATED = re.compile(r"(\d{1,4})([-/. ])(\d{1,2})([-/. ])(\d{1,4})([T ].*)?")
_WHOLE_YEAR = re.compile(r"\s*(\d{4}|\d{1,2}[-/. ]\d{1,2}[-/. ]\d{4})")
_COMPACT = re.compile(r"(\d{8})(T\d{4,6}.*)?")
# a date outside is taken for a typing error
FIRST_YEAR = 1600
LAST_YEAR = 2399
# The latest year of two digits, as in POSIX, if the dates with four digits do not tell.
LATEST = 2068
# dates with four digits that tell it, and the part of them that are no typing errors
LEAST_YEARS = 20
TYPED = 0.999
THOUSANDS = np.array([1000, 100, 10, 1], np.int64)  # what the digits of a year stand for
# Least part of the dates of a table with years of two digits; fewer are typing errors.
SHORT_YEARS = 0.1
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
    """

    order: DateOrder = "dmy"
    strict: bool = False
    latest: int = LATEST
    short: bool = True


_DEFAULT = DateForm()


def day_of(text: str, form: DateForm = _DEFAULT) -> int | None:
    """Return the day of a date as a number (1 is 1 January of the year 1), or None if the string is
    not a date.

    Dates are YYYYMMDD, a day and a year with the name of a month (`named_date`), or three numbers
    with ``-``, ``/``, ``.`` or a space between them: year, month and day if the first has four
    digits, otherwise in the order of `form`, or with day and month exchanged if there is no such
    day and month. Years of two digits need twice the same separator, which is no space, and two
    digits of the day and month if it is a dot. A time of day after the date is ignored. Years are
    in 1600..2399.

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
    numbers = _numbers(text)
    if numbers is None:
        if _COMPACT.fullmatch(text) and text.isascii():
            return _day(int(text[:4]), int(text[4:6]), int(text[6:8]))
        named = named_date(text)
        return (
            None
            if named is None or (named.is_short and not form.short)
            else _named_day(named, form.latest)
        )
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
    joined = "".join([form or "0" * 8 for form in forms]).encode("ascii")
    digits = np.frombuffer(joined, np.uint8).reshape(-1, 8).astype(np.int64) - ord("0")
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
    good = (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("datetime64[M]") == months)
    good &= (year >= FIRST_YEAR) & (year <= LAST_YEAR)
    return np.where(good, days.astype(np.int64) + date(1970, 1, 1).toordinal(), 0)


def has_whole_year(text: str) -> bool:
    """Return whether a date has a year of four digits, or the name of a month."""
    return _WHOLE_YEAR.match(text) is not None or named_date(text) is not None


def _numbers(text: str) -> tuple[str, str, str] | None:
    """Return the three numbers of a date, of which one may be a year, or None."""
    found = _SEPARATED.fullmatch(text)
    if found is None or not text.isascii():
        return None
    first = found[1]
    second = found[3]
    third = found[5]
    if len(first) == 4 or len(third) == 4:
        return first, second, third
    short = max(len(first), len(third)) > 2 or found[2] != found[4] or found[2] == " "
    return (
        None
        if short or (found[2] == "." and len(first + second + third) < 6)
        else (first, second, third)
    )


def _in_order(numbers: Sequence[str], order: DateOrder, latest: int) -> int | None:
    year, month, day = (numbers[place] for place in PLACES[order])
    if len(day) > 2 or len(year) not in (2, 4):
        return None
    return _day(_whole_year(year, latest), int(month), int(day))


def _named_day(named: NamedDate, latest: int) -> int | None:
    """Return the day of a date with the name of a month."""
    day = named.first
    year = named.second
    if named.year_first:
        day, year = year, day
    return _day(_whole_year(year, latest), named.month, int(day))


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


class _Evidence(NamedTuple):
    """What the dates of a column say: how many can be read in each order, and the orders with the
    most of them.
    """

    counts: dict[DateOrder, int]
    best: list[DateOrder]


def date_forms(
    columns: Sequence[Iterable[str]], order: DateOrder | None = None
) -> list[tuple[DateForm, str]]:
    """Decide how the dates of a field are read in each table, and say it.

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
    listed = [[text.strip() for text in texts] for texts in columns]
    read: list[list[tuple[str, str, str]]] = []
    named: list[list[NamedDate]] = []
    for texts in listed:
        numbers = [None if text.isdigit() else _numbers(text) for text in texts]
        read.append([own for own in numbers if own is not None])
        others = [
            text
            for text, own in zip(texts, numbers, strict=True)
            if own is None and not text.isdigit()
        ]
        named.append([own for own in map(named_date, others) if own is not None])
    written = [*(own[place] for part in read for own in part for place in (0, 2))]
    written += [number for part in named for own in part for number in (own.first, own.second)]
    years = [int(number) for number in written if len(number) == 4]
    latest = sorted(years)[round(TYPED * (len(years) - 1))] if len(years) >= LEAST_YEARS else LATEST
    short = []
    for texts, part, names in zip(listed, read, named, strict=True):
        count = sum(map(_is_short, part)) + sum(own.is_short for own in names)
        dates = (
            len(part) + len(names) + sum(_COMPACT.fullmatch(text) is not None for text in texts)
            if count
            else 1
        )
        short.append(count >= SHORT_YEARS * max(1, dates))
    open_dates = [
        [own for own in part if len(own[0]) != 4 and (known or not _is_short(own))]
        for part, known in zip(read, short, strict=True)
    ]
    evidence = [_evidence(part, latest) for part in open_dates]
    known = [own.best[0] for own in evidence if len(own.best) == 1]
    found = []
    for part, names, (counts, best), two_digits in zip(
        open_dates, named, evidence, short, strict=True
    ):
        chosen = order or (known[0] if known and known[0] in best else best[0])
        note = ""
        if part:
            note = f"read as {NAMES[chosen]}"
            if order is None and len(best) > 1 and counts[best[0]]:
                why = (
                    "as in the other table"
                    if known and known[0] in best
                    else "which no date decides"
                )
                note += (
                    f", {why}; order={' or '.join(own for own in best if own != chosen)} "
                    "reads it otherwise"
                )
        if two_digits and (part or names):
            note += f"{'; ' if note else ''}years of two digits are {latest - 99} to {latest}"
        found.append((DateForm(chosen, order is not None, latest, two_digits), note))
    return found


def _is_short(numbers: Sequence[str]) -> bool:
    return len(numbers[0]) < 4 and len(numbers[2]) < 4


def _evidence(dates: Sequence[Sequence[str]], latest: int) -> _Evidence:
    counts = {
        order: sum(_in_order(numbers, order, latest) is not None for numbers in dates)
        for order in PLACES
    }
    most = max(counts.values())
    return _Evidence(counts, [order for order in PLACES if counts[order] == most])
