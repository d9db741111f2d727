"""Values that stand in another column than theirs, such as a year at the end of a title.

A record without a year then has more words that years are made of in its other columns than a
record with one; if years are just missing, it has as many.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lshfast._common.types import Int64Array
from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.content import LONGEST, sampled_rows, values_of

SAMPLED_ROWS = 1000  # of each table
FEWEST_ROWS = 30  # with a value, and without
# Of the words of a value, that rows without one have more of in other columns than rows with one:
# 0 where values are missing; nearly all where they stand elsewhere, less the words that are rare.
LEAST_MOVED = 0.3
# In wide tables, many words are in other columns by chance.
STANDARD_ERRORS = 3
MOST_FIELDS = 24  # that are judged: those without values in most rows
SHOWN_NAMES = 3

WORD = re.compile(r"[^\W\d_]+|\d+")


def fields_elsewhere(fields: Sequence[CodedField], seed: int) -> list[str]:
    """Return the names of the fields whose values often stand in other columns of a table."""
    names: dict[str, None] = {}
    for side in range(len(fields[0].table_codes)):
        judged = sometimes_missing(fields, side)
        if not judged:
            continue
        rows = sampled_rows(len(fields[0].codes[side]), SAMPLED_ROWS, [seed, 9])
        columns = [values_of(field, side, rows) for field in fields]
        words = WordPlaces.of(columns)
        for number in judged:
            if words.are_moved(number):
                names[fields[number].field.name] = None
    return [*names]


def elsewhere_text(names: Sequence[str]) -> str:
    """Return a warning of fields whose values often stand in other columns."""
    more = len(names) - SHOWN_NAMES
    fields = ", ".join(map(repr, names[:SHOWN_NAMES])) + f" and {more} more" * (
        more > 0
    )
    return (
        f"rows without a value often have its words in another column ({fields}), so the columns "
        "say less than whole records do: put values into their columns, and check some links"
    )


def sometimes_missing(fields: Sequence[CodedField], side: int) -> list[int]:
    """Return the fields of which enough rows of a table have a value and enough have none."""
    missing = {
        number: int((field.codes[side] < 0).sum())
        for number, field in enumerate(fields)
    }
    most = len(fields[0].codes[side]) - FEWEST_ROWS
    judged = [number for number in missing if FEWEST_ROWS <= missing[number] <= most]
    return sorted(sorted(judged, key=missing.__getitem__, reverse=True)[:MOST_FIELDS])


def words_of(value: str) -> frozenset[str]:
    """Return the words of a value, and the lengths of its numbers as zeros.

    Examples
    --------
    >>> sorted(words_of("sigmod record 1998"))
    ['0000', 'record', 'sigmod']
    """
    words = WORD.findall(value[:LONGEST])
    return frozenset("0" * len(word) if word.isdigit() else word for word in words)


@dataclass(frozen=True)
class WordPlaces:
    """The words of some rows of a table, and the columns where they are.

    Attributes
    ----------
    rows : int
        The number of rows.
    words : int
        The number of different words.
    by_column : list of Int64Array
        Each word of a row of a column, without repetitions, as row * words + word.
    of_rows, columns : Int64Array
        Each word of a row in any column, in the same form, and in how many columns it is.
    """

    rows: int
    words: int
    by_column: list[Int64Array]
    of_rows: Int64Array
    columns: Int64Array

    @classmethod
    def of(cls, columns: Sequence[Sequence[str]]) -> WordPlaces:
        """Return the places of the words of all values, given by column."""
        numbers: dict[str, int] = {}
        rows: list[list[int]] = []
        words: list[list[int]] = []
        for values in columns:
            rows_of_words: list[int] = []
            words_of_rows: list[int] = []
            for row, value in enumerate(values):
                for word in words_of(value):
                    rows_of_words.append(row)
                    words_of_rows.append(numbers.setdefault(word, len(numbers)))
            rows.append(rows_of_words)
            words.append(words_of_rows)
        by_column = [
            np.asarray(row, np.int64) * len(numbers) + np.asarray(word, np.int64)
            for row, word in zip(rows, words, strict=True)
        ]
        of_rows, counts = np.unique(np.concatenate(by_column), return_counts=True)
        return cls(len(columns[0]), len(numbers), by_column, of_rows, counts)

    def are_moved(self, number: int) -> bool:
        """Return whether rows without a value of a column have its words in other columns."""
        own_words = self.by_column[number]
        is_known = np.zeros(self.words, bool)
        is_known[own_words % self.words] = True
        in_others = self.columns.copy()
        in_others[np.searchsorted(self.of_rows, own_words)] -= 1
        is_elsewhere = is_known[self.of_rows % self.words] & (in_others > 0)
        rows = self.of_rows[is_elsewhere] // self.words
        counts = np.bincount(rows, minlength=self.rows)
        sizes = np.bincount(own_words // self.words, minlength=self.rows)
        with_value = counts[sizes > 0]
        without = counts[sizes == 0]
        if min(len(with_value), len(without)) < FEWEST_ROWS:
            return False
        moved = float(np.mean(without) - np.mean(with_value))
        error = math.hypot(
            *(np.std(sample) / len(sample) ** 0.5 for sample in (with_value, without))
        )
        words_in_value = float(np.mean(sizes[sizes > 0]))
        return moved - STANDARD_ERRORS * error >= LEAST_MOVED * words_in_value
