"""The normal forms of the values of a field, by its kind. Dates and telephones are read by what their column is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from lshfast.common.extras import optional
from lshfast.common.types import Float64Array
from lshfast.records.dates import DateForm, date_forms, day_of, days_of
from lshfast.records.fields import Field
from lshfast.records.phones import EXTRA, phone_form, regions_of
from lshfast.records.values import normal_forms, number_in

Reader: TypeAlias = Callable[[list[str]], list[str]]


def latin_texts(texts: Sequence[str]) -> list[str]:
    """Return strings with their letters and digits in ASCII, by anyascii.

    Raises
    ------
    ImportError
        If anyascii is not installed.

    Examples
    --------
    >>> from lshfast.records.forms import latin_texts
    >>> latin_texts(["Иванов", "Παπαδόπουλος"])
    ['Ivanov', 'Papadopoylos']
    """
    transliterated = optional("anyascii", EXTRA).anyascii
    return [text if text.isascii() else str(transliterated(text)) for text in texts]


def readers_of(field: Field, columns: Sequence[Sequence[str]]) -> list[tuple[Reader, str]]:
    """Return for each table how its strings become normal forms, and a note on what was decided by its values.

    Parameters
    ----------
    field : Field
        With its kind.
    columns : sequence of sequences of str
        The distinct values of each table. Tables with equal readers have the same object.
    """
    if field.kind == "date":
        return [(_date_reader(form), note) for form, note in date_forms(columns, field.order)]
    if field.kind == "phone":
        return [(_phone_reader(own.region), own.note) for own in regions_of(columns, field.region)]
    reader = {"number": _number_forms, "code": _code_forms}.get(field.kind or "", normal_forms)
    return [(reader, "")] * len(columns)


@cache
def _date_reader(form: DateForm) -> Reader:
    return partial(_date_forms, form=form)


@cache
def _phone_reader(region: str | None) -> Reader:
    return partial(_phone_forms, region=region)


def _date_forms(texts: list[str], form: DateForm) -> list[str]:
    compact = [text if len(text) == 8 and text.isascii() and text.isdigit() else "" for text in texts]
    forms = [text if day else "" for text, day in zip(compact, days_of(compact).tolist(), strict=True)]
    for place, text in enumerate(compact):
        if not text and (day := day_of(texts[place], form)) is not None:
            forms[place] = date.fromordinal(day).strftime("%Y%m%d")
    return forms


def _phone_forms(texts: list[str], region: str | None) -> list[str]:
    return [phone_form(text, region) for text in texts]


def _number_forms(texts: list[str]) -> list[str]:
    return ["" if number is None else repr(number + 0.0) for number in map(number_in, texts)]


def _code_forms(texts: list[str]) -> list[str]:
    forms = normal_forms(texts)
    return [form.replace(" ", "") for form in forms] if " " in "".join(forms) else forms


def numbers_of(field: Field, forms: Sequence[str]) -> Float64Array | None:
    """Return the numbers of normal forms, which are days for dates; None for a kind without numbers."""
    if field.kind == "number":
        return np.array(list(map(float, forms)), np.float64)
    if field.kind == "date":
        return days_of(forms).astype(np.float64)
    return None
