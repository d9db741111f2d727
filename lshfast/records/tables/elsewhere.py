"""Values that stand in another column than theirs, such as a year at the end of a title.

A record without a year then has more words that years are made of in its other columns than a
record with one; if years are just missing, it has as many.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from lshfast.records.tables.coded_fields import CodedField
from lshfast.records.tables.content import LONGEST, sampled_rows, values_of

SAMPLED_ROWS = 1000  # of each table
FEWEST_ROWS = 30  # with a value, and without
# Of the words of a value, that rows without one have more of in other columns than rows with one:
# 0 where values are missing; nearly all where they stand elsewhere, less the words that are rare.
LEAST_MOVED = 0.3
MOST_FIELDS = 24  # the time grows with their square
SHOWN_NAMES = 3

WORD = re.compile(r"[^\W\d_]+|\d+")
Words = frozenset[str]


def fields_elsewhere(fields: Sequence[CodedField], seed: int) -> list[str]:
    """Return the names of the fields whose values often stand in other columns of a table."""
    names: dict[str, None] = {}
    if len(fields) > MOST_FIELDS:
        return []
    for side in range(len(fields[0].table_codes)):
        if not any(is_sometimes_missing(field, side) for field in fields):
            continue
        rows = sampled_rows(len(fields[0].codes[side]), SAMPLED_ROWS, [seed, 9])
        columns = [
            [words_of(value) for value in values_of(field, side, rows)]
            for field in fields
        ]
        for number, field in enumerate(fields):
            if is_sometimes_missing(field, side) and is_moved(columns, number):
                names[field.field.name] = None
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


def is_sometimes_missing(field: CodedField, side: int) -> bool:
    """Return whether enough rows of a table have a value, and enough have none."""
    present = int((field.codes[side] >= 0).sum())
    return FEWEST_ROWS <= present <= len(field.codes[side]) - FEWEST_ROWS


def words_of(value: str) -> Words:
    """Return the words of a value, and the lengths of its numbers as zeros.

    Examples
    --------
    >>> sorted(words_of("sigmod record 1998"))
    ['0000', 'record', 'sigmod']
    """
    words = WORD.findall(value[:LONGEST])
    return frozenset("0" * len(word) if word.isdigit() else word for word in words)


def is_moved(columns: Sequence[Sequence[Words]], number: int) -> bool:
    """Return whether rows without a value of a column have it in others, from words by column."""
    own = columns[number]
    known_words = frozenset().union(*own)
    counts: dict[bool, list[int]] = {True: [], False: []}
    for row, words in enumerate(own):
        others = [column[row] for column in columns if column is not own]
        counts[bool(words)].append(len(known_words & frozenset().union(*others)))
    with_value, without = counts[True], counts[False]
    if min(len(with_value), len(without)) < FEWEST_ROWS:
        return False
    words_in_value = float(np.mean([len(words) for words in own if words]))
    moved = float(np.mean(without)) - float(np.mean(with_value))
    return moved >= LEAST_MOVED * words_in_value
