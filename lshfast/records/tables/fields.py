"""The fields that are compared: their columns in the two tables, and the kind of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lshfast._common.checks import check_bool, check_number
from lshfast.kernels import bands
from lshfast.records.choices import DateOrder
from lshfast.records.comparison.full_names import SEVERAL_WORDS, are_full_names
from lshfast.records.values.ages import written_as
from lshfast.records.values.dates import date_forms, day_of, has_whole_year
from lshfast.records.values.phones import check_region
from lshfast.records.values.strings import NumberForm, normal_forms, number_in

Kind: TypeAlias = Literal[
    "name", "text", "code", "number", "date", "category", "age", "phone", "address"
]

KIND_SAMPLE = 5000  # distinct values by which a kind is guessed, the most frequent ones
# Least part of the rows that are dates or numbers, or have one of the values of a category.
MOST_PARSED = 0.9
WHOLE_YEARS = 0.1  # least part of the rows of dates with a year of four digits
FEW_VALUES = 100  # of a category, at most; also at most the square root of the rows
CODE_WORDS = 4.0  # most words on average of values that are mostly digits and so codes
UNGROUPED = NumberForm(grouped=False)
MAIL_SAMPLE = 100  # values that are looked at
_DIGIT = re.compile(r"\d")
_MAIL_ADDRESS = re.compile(r"\S@[^\s@]+\.[^\s@]")
_FIELD = re.compile(
    r"(?P<name>[^=:]+)(=(?P<other>[^=:]+))?(:(?P<kind>[^=:]+))?(?P<options>(:[^=:]+=[^=:]+)*)"
)

PARSED: Mapping[str, Callable[[str], Any]] = {
    "points": float,
    "penalty": float,
    "unit": float,
    "region": str,
    "order": str,
    "latin": {"yes": True, "no": False}.__getitem__,
}


@dataclass(frozen=True)
class Field:
    """A field of the records: the columns to compare, and how.

    Parameters
    ----------
    name : str
        Name of the column in the first table.
    other : str, optional
        Name of the column in the second table, if it has another name there.
    kind : str, optional
        How values are compared: "name", "text", "code", "number", "date", "category", "age",
        "phone" or "address"; by default it is guessed from them, as any but phone and address.
        Values are equal if their normal forms are: in lower case, without accents and punctuation.
        Other values are compared

        - name: by their Jaro-Winkler similarity, and as nicknames; for names and other short
          strings. Full names are compared word by word, in any order, and the least similar words
          decide; an initial is near its name,
        - text: by their words and character trigrams, of which rare ones weigh more: the mean of
          the two cosines; for titles, addresses and lists of names,
        - code: by typing errors (insertion, deletion, replacement, exchange of neighbours); for
          numbers of documents, telephones and houses, and postcodes,
        - number: by the difference relative to the greater one, or by the difference of numbers
          that are crowded, such as coordinates; for prices and other amounts,
        - date: by typing errors of its digits, and by the difference in days,
        - category: not at all; for a few values such as states,
        - age: by the difference in years; for ages, or years of birth, in one table and dates of
          birth in the other,
        - phone: as codes, after numbers are written with their country codes and without extensions
          (E.164); it needs phonenumbers,
        - address: as several fields, such as ``home.street`` for a field ``home``, which share its
          points: number, street, unit, city, state and zip; for addresses of the United States. It
          needs usaddress.
    points : float, default 100
        The weight of the field if records are scored by points, above 0.
    penalty : float, default 1
        Points that one edit costs if records are scored by points; d edits cost d**2 times as many.
        At least 0.
    unit : float, optional
        The difference of numbers, or of dates in days, that counts as one edit if records are
        scored by points, above 0.
        The default is 1 for dates; for numbers, it is one per cent of the greater one.
    region : str, optional
        The country of telephone numbers that have no country code, as two letters of ISO 3166-1,
        for the kind phone. By default it is guessed for each table: the one in which most of its
        numbers are valid.
    order : {"dmy", "mdy", "ymd"}, optional
        The order of day, month and year, for the kind date; dates in another order are missing
        then. Dates that begin with a year of four digits are read in any case. By default, each
        table has the order in which most of its dates can be read.
    latin : bool, default False
        Whether letters of other scripts are written in Latin ones first; it needs anyascii.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or value.

    See Also
    --------
    lshfast.records.match_records : Link the records of two tables.
    lshfast.records.Synonyms : Words that count as nearly equal.

    Examples
    --------
    >>> from lshfast.records import Field
    >>> Field("surname", "last_name", "name").column_of(1)
    'last_name'
    >>> field = Field.parse("born=birthday:date:order=dmy")
    >>> field.other, field.kind, field.order
    ('birthday', 'date', 'dmy')
    """

    name: str
    other: str | None = None
    kind: Kind | None = None
    points: float = 100.0
    penalty: float = 1.0
    unit: float | None = None
    region: str | None = None
    order: DateOrder | None = None
    latin: bool = False

    def __post_init__(self) -> None:
        for what, value in (("name", self.name), ("other", self.column_of(1))):
            if not isinstance(value, str):
                raise TypeError(f"{what} must be the name of a column, not {value!r}")
        self._check_choice("kind", get_args(Kind))
        self._check_choice("order", get_args(DateOrder))
        self._check_number("points", above=True)
        self._check_number("penalty", above=False)
        if self.unit is not None:
            self._check_number("unit", above=True)
        check_bool("latin", self.latin)
        if self.region is not None:
            check_region(self.region)
        self._check_kind("region", ["phone"])
        self._check_kind("order", ["date", "age"])

    def _check_choice(self, what: str, choices: Sequence[str]) -> None:
        """Raise ValueError unless an attribute is None or one of some choices."""
        value = getattr(self, what)
        if value is not None and value not in choices:
            raise ValueError(
                f"{what} must be one of {', '.join(choices)}, not {value!r}"
            )

    def _check_number(self, what: str, above: bool) -> None:
        """Raise an error unless an attribute is finite and above 0, or at least 0."""
        value = getattr(self, what)
        number = check_number(what, value)
        is_in_range = number > 0 if above else number >= 0
        if not is_in_range or number == float("inf"):
            limit = "above" if above else "at least"
            raise ValueError(f"{what} must be {limit} 0 and finite, not {value}")
        object.__setattr__(self, what, number)

    def _check_kind(self, what: str, kinds: Sequence[Kind]) -> None:
        """Raise ValueError if an attribute is given and does not belong to the kind."""
        if getattr(self, what) is not None and self.kind not in kinds:
            raise ValueError(
                f"{what} belongs to the kind {kinds[0]}, not to {self.kind or 'a guessed one'}"
            )

    @classmethod
    def parse(cls, text: str) -> Field:
        """Return the field of a string: ``NAME[=OTHER][:KIND][:OPTION=VALUE]...``.

        The options are points, penalty, unit, region, order, and latin, which is yes or no.
        """
        match = _FIELD.fullmatch(text)
        if match is None:
            raise ValueError(
                f"field must be NAME[=OTHER][:KIND][:OPTION=VALUE]..., not {text!r}"
            )
        options: dict[str, Any] = {}
        for option in match["options"].split(":")[1:]:
            name, _, value = option.partition("=")
            if name not in PARSED:
                raise ValueError(
                    f"field {text!r}: no option {name!r}; options are: {', '.join(PARSED)}"
                )
            try:
                options[name] = PARSED[name](value)
            except (ValueError, KeyError):
                allowed = "yes or no" if name == "latin" else "a number"
                raise ValueError(
                    f"field {text!r}: {name} must be {allowed}, not {value!r}"
                ) from None
        return cls(match["name"], match["other"], match["kind"], **options)  # type: ignore[arg-type] # checked there

    @property
    def notation(self) -> str:
        """The field as `parse` reads it, without points."""
        options = {
            "region": self.region,
            "order": self.order,
            "latin": "yes" if self.latin else None,
        }
        parts = [f"{self.name}={self.other}" if self.other else self.name]
        if self.kind:
            parts.append(self.kind)
        parts += [f"{name}={value}" for name, value in options.items() if value]
        return ":".join(parts)

    def column_of(self, table: int) -> str:
        """Return the name of the column in the first (0) or the second table (1)."""
        return self.name if table == 0 or self.other is None else self.other


def as_field(field: Any) -> Field:
    """Return a Field, or the field of a string; raise TypeError for anything else."""
    if isinstance(field, str):
        return Field.parse(field)
    if not isinstance(field, Field):
        raise TypeError(
            f"fields must be Field objects or strings, not {type(field).__name__}"
        )
    return field


def checked_fields(fields: Iterable[Any]) -> list[Field]:
    """Return a list of fields with different names, or raise an error."""
    if isinstance(fields, (str, Field)):
        raise TypeError("fields must be a list of fields, not one field")
    checked = [as_field(field) for field in fields]
    names = [field.name for field in checked]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"fields name the column {name!r} twice")
    return checked


def kind_by_dates(
    tables: Sequence[tuple[Sequence[str], npt.NDArray[np.integer[Any]]]],
) -> Kind | None:
    """Return the kind of a field with dates in one of two tables only; None for other fields.

    It is an age if the other table has ages or years, and otherwise a date, so that the run warns
    of values that are no dates.
    """
    samples = [
        [values[place] for place in _most_frequent(counts, FEW_VALUES)]
        for values, counts in tables
    ]
    sides = [written_as(sample) for sample in samples]
    if len(sides) < 2 or sides.count("dates") != 1 or not all(samples):
        return None
    place = sides.index("dates")
    if guess_kind(*tables[place]) != "date":
        return None
    return "date" if sides[1 - place] is None else "age"


def _most_frequent(counts: npt.NDArray[np.integer[Any]], most: int) -> list[int]:
    """Return the places of the most frequent values."""
    fewest_last = (counts.max(initial=0) - counts).astype(np.uint64)
    places: list[int] = bands.order(fewest_last)[:most].tolist()
    return places


def guess_kind(values: Sequence[str], counts: npt.NDArray[np.integer[Any]]) -> Kind:
    """Guess the kind of a column from its distinct values, none of them empty, and their rows.

    The most frequent values decide: dates and numbers with typing errors are rare.
    """
    places = _most_frequent(counts, KIND_SAMPLE)
    sample = [values[place] for place in places]
    weights = counts[places] / max(1, counts[places].sum())

    def share(amounts: Iterable[float]) -> float:
        return float(np.fromiter(amounts, float, len(sample)) @ weights)

    if share(map(bool, map(_DIGIT.search, sample))) >= MOST_PARSED:
        if _are_dates(sample, share):
            return "date"
        is_number = [number_in(value, UNGROUPED) is not None for value in sample]
        numbers = map(str.strip, compress(sample, is_number))
        if share(is_number) >= MOST_PARSED and not all(map(str.isdigit, numbers)):
            return "number"
    forms = normal_forms(sample)
    words = share(form.count(" ") + 1 for form in forms)
    letters = share(map(len, forms))
    digits = (0 if form.isalpha() else sum(map(str.isdigit, form)) for form in forms)
    if words <= CODE_WORDS and share(digits) > 0.5 * letters:
        return "code"
    rows = int(counts.sum())
    if words > SEVERAL_WORDS:
        return "name" if are_full_names(sample, weights, len(values) / rows) else "text"
    covered = np.cumsum(np.sort(counts)[::-1], dtype=np.int64)
    covering = int(np.searchsorted(covered, MOST_PARSED * rows)) + 1
    return "category" if covering <= min(FEW_VALUES, rows**0.5) else "name"


def _are_dates(
    sample: Sequence[str], share: Callable[[Iterable[float]], float]
) -> bool:
    """Return whether most rows have dates; without whole years, some are versions or parts."""
    form = date_forms([sample])[0][0]
    if share(map(has_whole_year, sample)) < WHOLE_YEARS:
        return False
    return share(day_of(value, form) is not None for value in sample) >= MOST_PARSED


def are_mail_addresses(values: Sequence[str]) -> bool:
    """Return whether most values are e-mail addresses, with or without ``mailto:`` or a name."""
    sample = values[:: max(1, len(values) // MAIL_SAMPLE)]
    count = sum(_MAIL_ADDRESS.search(value) is not None for value in sample)
    return 2 * count > len(sample)
