"""Telephone numbers as E.164 writes them, by phonenumbers, a port of Google's libphonenumber."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from lshfast._common.extras import optional
from lshfast._common.rows import evenly_spaced
from lshfast.records.values.strings import normal_form

EXTRA = "contacts"
SAMPLE = 50  # numbers by which a region is guessed
LEAST_VALID = 0.5  # least part of these numbers that are valid in the region
MARGIN = 0.1  # by which it must be better than the next one, in parts of the numbers
INTERNATIONAL = "001"  # of country codes that belong to no region
_GROUPS = re.compile(r"\d+")
MOST_CHARACTERS = 250  # of a number, as in phonenumbers


class PhoneRegion(NamedTuple):
    """The region of the numbers of a column that have no country code.

    Attributes
    ----------
    region : str or None
        Two letters of ISO 3166-1; None if it is not known.
    note : str
        How it was found.
    """

    region: str | None
    note: str


def check_region(region: Any) -> str:
    """Return a region of two capital letters, or raise TypeError or ValueError."""
    if not isinstance(region, str):
        raise TypeError(f"region must be two letters such as 'US', not {region!r}")
    if not (
        len(region) == 2 and region.isascii() and region.isalpha() and region.isupper()
    ):
        raise ValueError(
            f"region must be two capital letters such as 'US', not {region!r}"
        )
    return region


def regions_of(
    columns: Sequence[Sequence[str]], region: str | None = None
) -> list[PhoneRegion]:
    """Return the region of each table: the given one, or the one that its numbers suit best.

    It is the region in which most numbers without a country code are valid, and grouped as they are
    written there. Digits without groups suit several regions. Then the country codes of other
    numbers decide, or the region of the other table, or none is chosen.

    Parameters
    ----------
    columns : sequence of sequences of str
        The distinct values of each table.
    region : str, optional

    Raises
    ------
    ImportError
        If phonenumbers is not installed.
    ValueError
        If there are no telephone numbers in the given region.
    """
    phones = optional("phonenumbers", EXTRA)
    if region is not None:
        if region not in phones.SUPPORTED_REGIONS:
            raise ValueError(
                f"region must be a country that has telephone numbers, not {region!r}"
            )
        return [PhoneRegion(region, f"region {region}")] * len(columns)
    international = (
        text for texts in columns for text in texts if not _is_national(text)
    )
    codes = Counter(map(_country_code, international))
    del codes[None]
    samples = [_sample(texts) for texts in columns]
    best_regions = [_best_region(sample, codes) for sample in samples]
    decided = next(filter(None, best_regions), None)
    regions = []
    for sample, best in zip(samples, best_regions, strict=True):
        note = (
            "of no region, so numbers without a country code stay as they are; region=XX "
            "gives one"
        )
        if not sample:
            note = ""
        elif best is not None:
            share = f"{_fits(sample, best)[0]:.0%}"
            note = f"region {best}: {share} of numbers without a country code are valid there"
        elif decided is not None and _fits(sample, decided)[0] >= LEAST_VALID:
            best = decided
            note = f"region {best}, as in the other table"
        regions.append(PhoneRegion(best, note))
    return regions


def _sample(texts: Sequence[str]) -> list[str]:
    """Return some of the numbers without a country code, at equal distances in their order."""
    national = sorted(set(filter(_is_national, texts)))
    return [national[place] for place in evenly_spaced(len(national), SAMPLE)]


def _best_region(sample: Sequence[str], codes: Counter[int | None]) -> str | None:
    """Return the region that numbers suit clearly best; `codes` counts other country codes."""
    if not sample:
        return None
    total = max(1, codes.total())
    ratings: list[tuple[float, float, str]] = []
    # One region for each country code, such as US for 1, which numbers of Canada have, too.
    region_codes = optional("phonenumbers", EXTRA).COUNTRY_CODE_TO_REGION_CODE
    for code, (region, *_) in region_codes.items():
        if region != INTERNATIONAL:
            valid, grouped = _fits(sample, region)
            rating = valid + grouped + codes[code] / total
            ratings.append((rating, valid, region))
    ratings.sort(key=lambda rating: (-rating[0], rating[2]))
    (best, valid, region), (second, _, _) = ratings[:2]
    return region if valid >= LEAST_VALID and best >= second + MARGIN else None


def _is_national(text: str) -> bool:
    has_digit = any(map(str.isdigit, text[:MOST_CHARACTERS]))
    return has_digit and not text.lstrip().startswith("+")


def _parsed(text: str, region: str | None) -> Any:
    phones = optional("phonenumbers", EXTRA)
    if len(text) > MOST_CHARACTERS:
        return None
    try:
        return phones.parse(text, region)
    except phones.NumberParseException:
        return None


def _fits(sample: Sequence[str], region: str) -> tuple[float, float]:
    """Return the shares of numbers that are valid in a region, and grouped as it writes them."""
    phones = optional("phonenumbers", EXTRA)
    valid = grouped = 0
    for text in sample:
        number = _parsed(text, region)
        if number is not None and phones.is_valid_number(number):
            form = phones.format_number(number, phones.PhoneNumberFormat.NATIONAL)
            groups = _GROUPS.findall(form)
            valid += 1
            grouped += len(groups) > 1 and groups == _GROUPS.findall(text)
    return valid / len(sample), grouped / len(sample)


def _country_code(text: str) -> int | None:
    number = _parsed(text, None)
    return None if number is None else int(number.country_code)


def phone_form(text: str, region: str | None) -> str:
    """Return a telephone number with its country code, such as +12125550123, without extension.

    What cannot be read as a number, or has no country code in a column without region, is in lower
    case and without spaces and punctuation; it is empty if there is no letter and no digit.

    Examples
    --------
    >>> from lshfast.records.values.phones import phone_form
    >>> (
    ...     phone_form("(212) 555-0123 ext. 9", "US"),
    ...     phone_form("+44 20 7946 0018", "US"),
    ...     phone_form("n/a", "US"),
    ... )
    ('+12125550123', '+442079460018', 'na')
    """
    number = _parsed(text, region)
    if number is None:
        return normal_form(text).replace(" ", "")
    phones = optional("phonenumbers", EXTRA)
    return str(phones.format_number(number, phones.PhoneNumberFormat.E164))
