"""Columns of two tables that have other names and the same values or words.

Of columns with nearly as many values in common, such as a home team and an away team, the names
decide.

They are no fields unless the user says so: the values of a billing address are also those of a
delivery address. But a run that overlooks them is named with what to type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any
from zlib import crc32

import numpy as np

from lshfast._common.extras import optional
from lshfast._common.types import Int64Array
from lshfast._common.visible import visible
from lshfast.records.tables.distinct_values import distinct_texts
from lshfast.records.tables.fields import guess_kind
from lshfast.records.values.strings import normal_forms

MOST_ROWS = 100_000  # of each table that are looked at
MOST_COLUMNS = 40  # of each table that are looked at
MOST_VALUES = 20_000  # different values of a column that are looked at
LONGEST = 200  # characters of a value that are looked at
MOST_CHARACTERS = 1 << 22  # of all columns of a table that are looked at
FEWEST_VALUES = 3  # different values of a column
LEAST_ALIKE = 0.3
LEAST_ALIKE_NAMES = (
    0.8  # similarity (Jaro and Winkler) of names such as "tons" and "tonnage"
)
MORE_BY_NAME = 0.3  # that columns with such names are more alike
WITH_DIGITS = ("code", "number", "date")  # kinds of values that are mostly digits


@dataclass(frozen=True)
class ColumnSample:
    """What some values of a column are.

    Attributes
    ----------
    name : str
    has_digits : bool
        Whether the values are mostly digits.
    values : frozenset of str
        Normal forms without spaces.
    words : dict of str to float
        The part of the values that have each word.
    """

    name: str
    has_digits: bool
    values: frozenset[str]
    words: dict[str, float]

    @classmethod
    def of(
        cls, name: str, column: Any, characters: int = MOST_CHARACTERS
    ) -> ColumnSample | None:
        """Return the sample of a column, with at most so many characters of its values.

        None if the values are no strings, numbers or dates.
        """
        try:
            codes, texts = distinct_texts(
                [column[:: -(-len(column) // MOST_ROWS) or 1]]
            )
        except (TypeError, ValueError):
            return None
        counts = np.bincount(codes[0][codes[0] >= 0], minlength=len(texts))
        places = _places_with_text(texts, characters)
        sample = [texts[place][:LONGEST] for place in places.tolist()]
        kind = guess_kind(sample, counts[places]) if sample else "category"
        forms = normal_forms(sample) if sample else []
        words = Counter(word for form in forms for word in set(form.split()))
        return cls(
            name,
            kind in WITH_DIGITS,
            frozenset(form.replace(" ", "") for form in forms) - {""},
            {word: number / len(forms) for word, number in words.items()},
        )

    def likeness(self, other: ColumnSample) -> float:
        """Return the greater of the shares of values and of words in common, 0 to 1."""
        fewest = min(len(self.values), len(other.values))
        if self.has_digits != other.has_digits or fewest < FEWEST_VALUES:
            return 0.0
        of_values = len(self.values & other.values) / fewest
        common = self.words.keys() & other.words.keys()
        in_both = sum(min(self.words[word], other.words[word]) for word in common)
        least = min(sum(self.words.values()), sum(other.words.values()))
        of_words = in_both / least if least and not self.has_digits else 0.0
        return max(of_values, of_words)

    def likeness_of_name(self, other: ColumnSample) -> float:
        """Return what similar names add to the likeness of two columns."""
        distances = optional("rapidfuzz.distance", "records")
        similarity = distances.JaroWinkler.similarity(
            self.name.casefold(), other.name.casefold()
        )
        return MORE_BY_NAME if similarity >= LEAST_ALIKE_NAMES else 0.0


def _places_with_text(texts: Sequence[str], characters: int) -> Int64Array:
    """Return the places of some strings that are not blank; of many, those with the least hashes.

    Hashes are those of letters and digits, so that two columns keep the same values.
    """
    places = np.flatnonzero([bool(text.strip()) for text in texts])
    sizes = np.array([min(len(text), LONGEST) for text in texts], np.int64)
    if len(places) > MOST_VALUES or sizes[places].sum() > characters:
        hashes = [letters_hash(texts[place][:LONGEST]) for place in places.tolist()]
        places = places[np.argsort(np.array(hashes, np.int64), kind="stable")]
        places = places[:MOST_VALUES]
        places = places[np.cumsum(sizes[places], dtype=np.int64) <= characters]
    return np.sort(places)


def letters_hash(text: str) -> int:
    """Return a hash of the letters and digits of a text, in 32 bits."""
    letters = sorted(filter(str.isalnum, text.casefold()))
    return crc32("".join(letters).encode("utf-8", "surrogatepass"))


def alike_columns(
    first: Iterable[tuple[str, Any]], second: Iterable[tuple[str, Any]]
) -> list[tuple[str, str]]:
    """Return the names of columns of two tables that are alike, each in one pair at most.

    Names that `Field.parse` does not read are left out.

    Parameters
    ----------
    first, second : iterable of (str, column)
        The names and values of the columns of each table.

    Examples
    --------
    >>> alike_columns(
    ...     [("tel", ["12 3", "45 6", "78 9"]), ("town", ["Rome", "Bath", "York"])],
    ...     [("city", ["york", "rome", "bath"]), ("phone", ["123", "456", "789"])],
    ... )
    [('tel', 'phone'), ('town', 'city')]
    """
    samples = [samples_of(columns) for columns in (first, second)]
    likeness = [
        (value + one.likeness_of_name(other), place, other_place)
        for place, one in enumerate(samples[0])
        for other_place, other in enumerate(samples[1])
        if (value := one.likeness(other)) >= LEAST_ALIKE
    ]
    pairs: dict[int, int] = {}
    for _, place, other_place in sorted(likeness, key=_most_alike_first):
        if place not in pairs and other_place not in pairs.values():
            pairs[place] = other_place
    return [
        (samples[0][place].name, samples[1][pairs[place]].name)
        for place in sorted(pairs)
    ]


def samples_of(columns: Iterable[tuple[str, Any]]) -> list[ColumnSample]:
    """Return the samples of the first columns that can be fields."""
    named = [column for column in columns if can_be_typed(column[0])]
    chosen = named[:MOST_COLUMNS]
    characters = MOST_CHARACTERS // max(1, len(chosen))
    samples = (ColumnSample.of(*column, characters) for column in chosen)
    return [sample for sample in samples if sample is not None]


def can_be_typed(name: str) -> bool:
    """Return whether `Field.parse` reads the name of a column, and a terminal shows it."""
    return bool(name) and visible(name) == name and not {"=", ":"}.intersection(name)


def _most_alike_first(candidate: tuple[float, int, int]) -> tuple[float, int, int]:
    value, place, other_place = candidate
    return -value, place, other_place


def fields_to_give(pairs: Sequence[tuple[str, str]]) -> str:
    """Return what to type so that only these columns of two tables are compared.

    Examples
    --------
    >>> fields_to_give([("name", "name"), ("tel", "phone number")])
    "--field name --field 'tel=phone number'"
    """
    fields = [name if name == other else f"{name}={other}" for name, other in pairs]
    return " ".join(f"--field {quote(field)}" for field in fields)
