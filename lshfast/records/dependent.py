"""Columns that follow from other columns of the same record, as a full name from a given name and a
surname.

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

from lshfast._common.types import Int64Array
from lshfast._common.visible import visible
from lshfast.records.tables import RecordTable, as_text, plain_value
from lshfast.records.values import normal_forms

SAMPLE_ROWS = 2000  # of each table
LEAST_VALUES = 20  # distinct values of a column in the sample; fewer say too little
COVERED = 0.75  # least part of the words that are also in the other columns, beyond chance
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
        return visible(f"{self.name}: follows from {', '.join(self.sources)}; not counted")


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
    >>> from lshfast.records.tables import RecordTable
    >>> given = [f"given{n}" for n in range(40)]
    >>> surname = [f"surname{n % 37}" for n in range(40)]
    >>> full = [f"{second.title()}, {first}" for first, second in zip(given, surname)]
    >>> table = RecordTable({"full name": full, "given": given, "surname": surname})
    >>> [str(found) for found in dependent_fields([table], table.names)]
    ['full name: follows from given, surname; not counted']
    """
    samples = [_words(table, names, seed) for table in tables]
    sizes = [
        float(np.mean([len(own) for sample in samples for own in sample[name] if own] or [0]))
        for name in names
    ]
    found: dict[str, DependentField] = {}
    for place in sorted(range(len(names)), key=lambda p: (-sizes[p], -p)):
        shorter = [
            p for p in range(len(names)) if (sizes[p], p) < (sizes[place], place) and sizes[p]
        ]
        sources = _sources(samples, names[place], [names[p] for p in shorter])
        if sources:
            found[names[place]] = DependentField(
                names[place], tuple(name for name in names if name in sources)
            )
    return [found[name] for name in names if name in found]


def _words(table: RecordTable, names: Sequence[str], seed: int) -> dict[str, Words]:
    """Return the words of some rows of each column."""
    rows: Int64Array = np.arange(len(table), dtype=np.int64)
    if len(rows) > SAMPLE_ROWS:
        rows = np.sort(
            np.random.default_rng([seed, 5]).choice(len(rows), SAMPLE_ROWS, replace=False)
        )
    found = {}
    for name in names:
        column = table.column(name)
        if hasattr(column, "to_pylist"):  # an array of pyarrow
            some = column.take(rows).to_pylist()
        else:
            some = [plain_value(column[row]) for row in rows.tolist()]
        texts = normal_forms([as_text(value) for value in some])
        found[name] = [_distinct_words(text) for text in texts]
    return found


def _distinct_words(text: str) -> frozenset[str]:
    """Return the words of a normal form, without the zeros that they begin with."""
    words = text.split()[:MOST_WORDS]
    return frozenset(word.lstrip("0") or "0" for word in words) if "0" in text else frozenset(words)


def _sources(samples: Sequence[dict[str, Words]], name: str, others: Sequence[str]) -> set[str]:
    """Return the columns that contain the words of a column in all tables that have its values;
    none if they do not.
    """
    sources: set[str] = set()
    for sample in samples:
        places = list({own: row for row, own in enumerate(sample[name]) if own}.values())
        if not places:
            continue
        if len(places) < LEAST_VALUES:
            return set()
        found = _covering(sample, name, others, places)
        if not found:
            return set()
        sources |= found
    return sources


def _covering(
    sample: dict[str, Words], name: str, others: Sequence[str], places: list[int]
) -> set[str]:
    """Choose columns greedily, the one that adds most words, and return them if they contain nearly
    all words.

    The words of the next record say how many would be found by chance.
    """
    own = [sample[name][row] for row in places]
    following = places[1:] + places[:1]
    left = own
    by_chance = own
    total = sum(map(len, own))
    chosen: set[str] = set()
    while True:
        gains = {
            other: sum(
                len(words & sample[other][row]) for words, row in zip(left, places, strict=True)
            )
            for other in others
            if other not in chosen
        }
        best = max(gains, key=lambda other: gains[other], default=None)
        if best is None or gains[best] < LEAST_PART * total:
            break
        chosen.add(best)
        left = [words - sample[best][row] for words, row in zip(left, places, strict=True)]
        by_chance = [
            words - sample[best][row] for words, row in zip(by_chance, following, strict=True)
        ]
    missed = sum(map(len, left))
    missed_by_chance = sum(map(len, by_chance))
    return chosen if missed <= (1 - COVERED) * missed_by_chance and missed_by_chance else set()
