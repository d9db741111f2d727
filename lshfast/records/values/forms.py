"""The normal forms of the values of a field by its kind; those of dates depend on the column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.types import Float64Array
from lshfast.records.tables.fields import Field
from lshfast.records.values.ages import AgeForm, age_form, age_forms
from lshfast.records.values.dates import DateForm, date_forms, day_of, days_of
from lshfast.records.values.phones import EXTRA, phone_form, regions_of
from lshfast.records.values.strings import (
    NumberForm,
    are_plain,
    normal_forms,
    number_forms,
    number_in,
)

# What follows begins with another digit, so a value of zeros and a letter is read once, not once
# for each zero.
_ZEROS = re.compile(r"^0+(?=(?:[1-9][0-9]*|0)$)", re.MULTILINE)
Reader: TypeAlias = Callable[[list[str]], list[str]]


def latin_texts(texts: Sequence[str]) -> list[str]:
    """Return strings with their letters and digits in ASCII, by anyascii.

    Raises
    ------
    ImportError
        If anyascii is not installed.

    Examples
    --------
    >>> from lshfast.records.values.forms import latin_texts
    >>> latin_texts(["Иванов", "Παπαδόπουλος"])
    ['Ivanov', 'Papadopoylos']
    """
    transliterated = optional("anyascii", EXTRA).anyascii
    return [text if text.isascii() else str(transliterated(text)) for text in texts]


def readers_of(
    field: Field, columns: Sequence[Sequence[str]]
) -> list[tuple[Reader, str]]:
    """Return for each table a function that gives normal forms, and a note on its decisions.

    Parameters
    ----------
    field : Field
        With its kind.
    columns : sequence of sequences of str
        The distinct values of each table; for ages, each value as often as it occurs. Tables with
        equal readers have the same object.
    """
    forms: Iterable[tuple[Any, str]] = [(None, "")] * len(columns)
    if field.kind == "date":
        forms = date_forms(columns, field.order)
    elif field.kind == "age":
        forms = age_forms(columns, field.order)
    elif field.kind == "phone":
        forms = regions_of(columns, field.region)
    elif field.kind == "number":
        forms = number_forms(columns)
    return [(_reader(str(field.kind), form), note) for form, note in forms]


@cache
def _reader(kind: str, form: Any) -> Reader:
    """Return the function that gives normal forms of a kind; for equal forms, the same object."""
    if form is None and kind != "phone":
        return _code_forms if kind == "code" else normal_forms
    readers: dict[str, Callable[..., list[str]]] = {
        "date": _date_forms,
        "age": _age_forms,
        "phone": _phone_forms,
        "number": _number_forms,
    }
    return partial(readers[kind], form=form)


def _date_forms(texts: list[str], form: DateForm) -> list[str]:
    compact = [_compact(text) for text in texts]
    forms = []
    for text, date_of_text, day in zip(
        texts, compact, days_of(compact).tolist(), strict=True
    ):
        number = day if date_of_text else day_of(text, form)
        if not number:
            forms.append("")
        elif date_of_text:
            forms.append(date_of_text)
        else:
            forms.append(date.fromordinal(number).strftime("%Y%m%d"))
    return forms


def _age_forms(texts: list[str], form: AgeForm) -> list[str]:
    return [age_form(text, form) for text in texts]


def _phone_forms(texts: list[str], form: str | None) -> list[str]:
    return [phone_form(text, form) for text in texts]


def _compact(text: str) -> str:
    """Return YYYYMMDD of a date written so, or as YYYY-MM-DD with or without a time; else ""."""
    is_dashed = len(text) >= 10 and text[4] == text[7] == "-"
    if is_dashed and (len(text) == 10 or text[10] in "T "):
        text = text[:4] + text[5:7] + text[8:10]
    return text if len(text) == 8 and text.isascii() and text.isdigit() else ""


def _number_forms(texts: list[str], form: NumberForm) -> list[str]:
    if not form.comma and are_plain(texts):  # in a third of the time
        return [repr(float(text) + 0.0) for text in texts]
    numbers = (number_in(text, form) for text in texts)
    return ["" if number is None else repr(number + 0.0) for number in numbers]


def _code_forms(texts: list[str]) -> list[str]:
    """Return codes without spaces, and numbers without the leading zeros that tables lose."""
    forms = normal_forms(texts)
    lines = "\n".join(forms)
    if " " in lines:
        forms = [form.replace(" ", "") for form in forms]
    if "\n0" not in lines and not lines.startswith("0"):
        return forms
    if forms is texts:
        return _ZEROS.sub("", lines).split("\n")
    return [
        _ZEROS.sub("", form) if text.strip().isdigit() else form
        for text, form in zip(texts, forms, strict=True)
    ]


def numbers_of(field: Field, forms: Sequence[str]) -> Float64Array | None:
    """Return the numbers of normal forms, days for dates; None for other kinds."""
    if field.kind in ("number", "age"):
        return np.array(list(map(float, forms)), np.float64)
    if field.kind == "date":
        return days_of(forms).astype(np.float64)
    return None
