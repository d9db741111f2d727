"""Ages, or years of birth, in one table and dates of birth in the other: both become one of them.

The time when ages were written down is not known. It is estimated from the distributions: the
deciles of the dates and of the ages add up to that time, if both tables have about the same people.
So equal ages are near ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Literal, NamedTuple

import numpy as np

from lshfast.records.choices import DateOrder
from lshfast.records.values.dates import (
    FIRST_YEAR,
    LAST_YEAR,
    DateForm,
    date_forms,
    day_of,
)

OLDEST = 120  # years
MOST_DATES = 0.5  # least part of the values of a table that are dates, if it has dates
DECILES = np.linspace(0.1, 0.9, 9)
SAMPLE = 5000  # dates that estimate when ages were written down
_WHOLE = re.compile(r"\s*([0-9]{1,4})(\.0+)?\s*")


class AgeForm(NamedTuple):
    """How the values of a column are read.

    Attributes
    ----------
    written : {"dates", "ages", "years"}
    dates : DateForm
        Of dates.
    today : float or None
        The year at which dates give ages, with its fraction; None if dates give years.
    """

    written: Literal["dates", "ages", "years"]
    dates: DateForm
    today: float | None


def whole_number(text: str) -> int | None:
    """Return the number of up to four digits in a string, else None."""
    match = _WHOLE.fullmatch(text)
    return None if match is None else int(match[1])


def written_as(texts: Sequence[str]) -> Literal["dates", "ages", "years"] | None:
    """Return what most of some values are; None for other values.

    Examples
    --------
    >>> (
    ...     written_as(["1984-05-02", "2.3.1990"]),
    ...     written_as(["40", "7"]),
    ...     written_as(["1984", "1990"]),
    ... )
    ('dates', 'ages', 'years')
    """
    count = max(1, len(texts))
    numbers = [number for text in texts if (number := whole_number(text)) is not None]
    if sum(number <= OLDEST for number in numbers) > MOST_DATES * count:
        return "ages"
    if (
        sum(FIRST_YEAR <= number <= LAST_YEAR for number in numbers)
        > MOST_DATES * count
    ):
        return "years"
    dates = sum(day_of(text) is not None for text in texts)
    return "dates" if dates > MOST_DATES * count else None


def age_forms(
    columns: Sequence[Sequence[str]], order: DateOrder | None = None
) -> list[tuple[AgeForm, str]]:
    """Decide how the values of each table are read, and describe it.

    Parameters
    ----------
    columns : sequence of sequences of str
        The values of each table, each as often as it occurs.
    order : {"dmy", "mdy", "ymd"}, optional
        The order of day, month and year in dates.
    """
    samples = [texts[:: max(1, len(texts) // SAMPLE)] for texts in columns]
    kinds = [written_as(texts) or "ages" for texts in samples]
    forms = date_forms([list(dict.fromkeys(texts)) for texts in columns], order)
    today = _estimated_today(samples, kinds, [form for form, _ in forms])
    result = []
    for kind, (form, note) in zip(kinds, forms, strict=True):
        if kind == "dates":
            meaning = "years of birth"
            if today is not None:
                meaning = f"ages in {today:.1f}, estimated from both tables"
            note = f"{note}; {meaning}" if note else meaning
        else:
            note = f"read as {kind}"
        result.append((AgeForm(kind, form, today), note))
    return result


def _estimated_today(
    samples: Sequence[Sequence[str]], kinds: Sequence[str], forms: Sequence[DateForm]
) -> float | None:
    """Return the year at which dates of birth give the ages; None without dates or ages."""
    births = []
    ages = []
    for texts, kind, form in zip(samples, kinds, forms, strict=True):
        if kind == "dates":
            days = [day_of(text, form) for text in texts]
            births += [_year_of(day) for day in days if day is not None]
        elif kind == "ages":
            numbers = map(whole_number, texts)
            ages += [
                number + 0.5
                for number in numbers
                if number is not None and number <= OLDEST
            ]
    if not births or not ages:
        return None
    return float(np.median(np.quantile(births, DECILES) + np.quantile(ages, DECILES)))


def _year_of(day: int) -> float:
    """Return a day as a year with its fraction."""
    moment = date.fromordinal(day)
    return moment.year + (moment.timetuple().tm_yday - 1) / 366


def age_form(text: str, form: AgeForm) -> str:
    """Return an age, or a year, as digits; an empty string for another value."""
    if form.written == "dates":
        day = day_of(text, form.dates)
        if day is None:
            return ""
        if form.today is None:
            years = date.fromordinal(day).year
        else:
            years = int(np.floor(form.today - _year_of(day)))
        return str(years) if years >= 0 else ""
    number = whole_number(text)
    if number is None:
        return ""
    is_right = (
        number <= OLDEST
        if form.written == "ages"
        else FIRST_YEAR <= number <= LAST_YEAR
    )
    return str(number) if is_right else ""
