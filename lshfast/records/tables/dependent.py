"""Columns that follow from other columns of the same record, such as a full name from its parts.

Fields are scored as if they were independent, so such a column would count the same agreement
twice. A column follows from others if its words are nearly always among theirs, and each of them
has fewer words: what remains is the finer account of the record. A column that is contained in one
longer column does not follow from it: a brand that also stands in a title says which word of it is
the brand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lshfast._common.visible import visible
from lshfast.records.tables.content import sampled_rows
from lshfast.records.tables.distinct_values import as_text
from lshfast.records.tables.record_table import RecordTable, values_at
from lshfast.records.values.strings import normal_forms

SAMPLE_ROWS = 2000  # of each table
LEAST_VALUES = 20  # distinct values of a column in the sample; fewer say too little
# Least part of the words that are also in the other columns, beyond chance.
COVERED = 0.75
LEAST_PART = 0.05  # of the words, which a further column must add
MOST_WORDS = 100  # of a value that are looked at

Words = list[frozenset[str]]


@dataclass(frozen=True)
class DependentField:
    """A column that is not scored.

    Attributes
    ----------
    name : str
    sources : tuple of str
        The columns that it follows from.
    """

    name: str
    sources: tuple[str, ...]

    def __str__(self) -> str:
        return visible(
            f"{self.name}: follows from {', '.join(self.sources)}; not counted"
        )


def dependent_fields(
    tables: Sequence[RecordTable], names: Sequence[str], seed: int = 1
) -> list[DependentField]:
    """Return the columns that follow from others in each of the tables.

    Parameters
    ----------
    tables : sequence of RecordTable
    names : sequence of str
        Columns of all tables.
    seed : int
        It chooses the rows that are looked at.

    Returns
    -------
    list of DependentField
        In the order of the names. No source is dependent itself.

    Examples
    --------
    >>> from lshfast.records.tables.record_table import RecordTable
    >>> given = [f"given{n}" for n in range(40)]
    >>> surname = [f"surname{n % 37}" for n in range(40)]
    >>> full = [f"{second.title()}, {first}" for first, second in zip(given, surname)]
    >>> table = RecordTable({"full name": full, "given": given, "surname": surname})
    >>> [str(found) for found in dependent_fields([table], table.names)]
    ['full name: follows from given, surname; not counted']
    """
    samples = [_words(table, names, seed) for table in tables]
    sizes = [_mean_words(samples, name) for name in names]
    places = range(len(names))
    dependent: dict[str, DependentField] = {}
    for place in sorted(places, key=lambda place: (-sizes[place], -place)):
        name = names[place]
        shorter = [
            names[other]
            for other in places
            if sizes[other] and (sizes[other], other) < (sizes[place], place)
        ]
        sources = _sources(samples, name, shorter)
        if sources:
            ordered = tuple(source for source in names if source in sources)
            dependent[name] = DependentField(name, ordered)
    return [dependent[name] for name in names if name in dependent]


def _mean_words(samples: Sequence[dict[str, Words]], name: str) -> float:
    """Return the mean number of words of the values of a column, 0 without any."""
    counts = [len(words) for sample in samples for words in sample[name] if words]
    return float(np.mean(counts)) if counts else 0.0


def _words(table: RecordTable, names: Sequence[str], seed: int) -> dict[str, Words]:
    """Return the words of some rows of each column."""
    rows = sampled_rows(len(table), SAMPLE_ROWS, [seed, 5])
    words_of_columns = {}
    for name in names:
        values = values_at(table.column(name), rows)
        texts = normal_forms(list(map(as_text, values)))
        words_of_columns[name] = [_distinct_words(text) for text in texts]
    return words_of_columns


def _distinct_words(text: str) -> frozenset[str]:
    """Return the words of a normal form, without the zeros that they begin with."""
    words = text.split()[:MOST_WORDS]
    if "0" in text:
        words = [word.lstrip("0") or "0" for word in words]
    return frozenset(words)


def _sources(
    samples: Sequence[dict[str, Words]], name: str, columns: Sequence[str]
) -> set[str]:
    """Return the columns that contain the words of a column in all tables with its values."""
    sources: set[str] = set()
    for sample in samples:
        places = list(
            {words: row for row, words in enumerate(sample[name]) if words}.values()
        )
        if not places:
            continue
        if len(places) < LEAST_VALUES:
            return set()
        covering = _covering(sample, name, columns, places)
        if not covering:
            return set()
        sources |= covering
    return sources


def _covering(
    sample: dict[str, Words], name: str, columns: Sequence[str], places: list[int]
) -> set[str]:
    """Return columns, chosen greedily, that contain nearly all words of a column; or none.

    The words of the next record say how many words are in them by chance.
    """
    words = [sample[name][row] for row in places]
    following = places[1:] + places[:1]
    missing = words
    missing_by_chance = words
    least_gain = LEAST_PART * sum(map(len, words))
    sources: set[str] = set()
    while True:
        gains = {
            other: _common_words(missing, sample[other], places)
            for other in columns
            if other not in sources
        }
        best = max(gains, key=lambda other: gains[other], default=None)
        if best is None or gains[best] < least_gain:
            break
        sources.add(best)
        missing = _words_left(missing, sample[best], places)
        missing_by_chance = _words_left(missing_by_chance, sample[best], following)
    by_chance = sum(map(len, missing_by_chance))
    are_covered = sum(map(len, missing)) <= (1 - COVERED) * by_chance
    return sources if are_covered and by_chance else set()


def _common_words(values: Words, column: Words, rows: Sequence[int]) -> int:
    """Return how many words of values are also in some rows of a column."""
    return sum(
        len(words & column[row]) for words, row in zip(values, rows, strict=True)
    )


def _words_left(values: Words, column: Words, rows: Sequence[int]) -> Words:
    """Return the words of values that are not in some rows of a column."""
    return [words - column[row] for words, row in zip(values, rows, strict=True)]
