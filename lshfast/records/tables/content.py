"""Fields with the same content in a record, such as a full name and its parts, or an e-mail.

If two records agree in one of them, they often agree in the other as well, whether they match or
not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from lshfast._common.types import BoolArray, Float64Array, Int64Array
from lshfast.records.tables.coded_fields import CodedField

# Rows of each table that are sampled, and their values, so rows of more than 12 fields are fewer.
SAMPLED_ROWS = 400
MOST_SAMPLED_VALUES = 4800
SHORTEST_WORD = 3  # characters
LEAST_SHARED = 0.3  # of the rows, beyond what neighbouring rows share by chance
LONGEST = 200  # characters of a value that are looked at
FEWEST_ROWS = 10


def shared_content(fields: Sequence[CodedField], seed: int) -> set[tuple[int, int]]:
    """Return the pairs of fields of which one often has a word of the other, in their order."""
    may_share = fields_that_may_share(fields)
    is_shared = np.zeros(may_share.shape, bool)
    for side in range(len(fields[0].table_codes)):
        most = min(SAMPLED_ROWS, max(FEWEST_ROWS, MOST_SAMPLED_VALUES // len(fields)))
        rows = sampled_rows(len(fields[0].codes[side]), most, [seed, 8])
        if len(rows) < FEWEST_ROWS:
            continue
        columns = [values_of(field, side, rows) for field in fields]
        records = [SplitRecord.of(values) for values in zip(*columns, strict=True)]
        next_records = [*records[1:], records[0]]
        present = np.array([record.present for record in records], np.float64)
        next_present = np.array([record.present for record in next_records], np.float64)
        shared = shared_words(records, records)
        shared_by_chance = shared_words(records, next_records)
        number = present.T @ present
        number_by_chance = np.maximum(present.T @ next_present, 1.0)
        beyond_chance = shared - number * (shared_by_chance / number_by_chance)
        is_shared |= (number >= FEWEST_ROWS) & (beyond_chance >= LEAST_SHARED * number)
    places = np.argwhere(np.triu(is_shared & may_share, 1)).tolist()
    return {(first, second) for first, second in places}


@dataclass(frozen=True)
class SplitRecord:
    """The values of the fields of a record, and their words.

    Attributes
    ----------
    present : list of bool
        Which fields have a value.
    text : str
        The values, each followed by a line end, which no word has.
    ends : list of int
        The place of each of these line ends.
    words : list of (int, str)
        The number of a field, and each of its words that are long enough.
    """

    present: list[bool]
    text: str
    ends: list[int]
    words: list[tuple[int, str]]

    @classmethod
    def of(cls, values: Sequence[str]) -> SplitRecord:
        """Split the values of a record."""
        ends = [size - 1 for size in accumulate(len(value) + 1 for value in values)]
        words = [
            (field, word)
            for field, value in enumerate(values)
            for word in dict.fromkeys(value.split())
            if len(word) >= SHORTEST_WORD
        ]
        text = "".join(f"{value}\n" for value in values)
        return cls([bool(value) for value in values], text, ends, words)

    def fields_with(self, word: str) -> Iterator[int]:
        """Yield the fields that have a word, or a longer one with this word in it."""
        place = self.text.find(word)
        while place >= 0:
            field = bisect_left(self.ends, place)
            yield field
            place = self.text.find(word, self.ends[field])


def shared_words(
    records: Sequence[SplitRecord], others: Sequence[SplitRecord]
) -> Float64Array:
    """Count for each two fields the records of which one value has a word of the other record's.

    The first field is of `records`, and the second of `others`.
    """
    size = len(records[0].present)
    counts = np.zeros((size, size))
    for record, other in zip(records, others, strict=True):
        pairs = {
            (field, found)
            for field, word in record.words
            for found in other.fields_with(word)
        }
        pairs |= {
            (found, field)
            for field, word in other.words
            for found in record.fields_with(word)
        }
        if pairs:
            counts[tuple(zip(*pairs, strict=True))] += 1
    return counts


def fields_that_may_share(fields: Sequence[CodedField]) -> BoolArray:
    """Return which two fields may be made of each other, (fields, fields).

    Categories, such as given names of which there are few, are looked for in e-mail addresses only:
    the town in the name of a hotel says something of its own.
    """
    no_category = np.array([field.kind != "category" for field in fields], np.bool_)
    are_addresses = np.array([field.are_mail_addresses for field in fields], np.bool_)
    return np.asarray(
        np.logical_and.outer(no_category, no_category)
        | np.logical_or.outer(are_addresses, are_addresses)
    )


def sampled_rows(size: int, most: int, seed: Sequence[int]) -> Int64Array:
    """Return rows of a table, ascending: all, or a random sample of `most`."""
    if size <= most:
        return np.arange(size, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).choice(size, most, replace=False))


def values_of(field: CodedField, side: int, rows: Int64Array) -> list[str]:
    """Return the normal forms of a field in some rows; those of dates and numbers are empty."""
    if field.kind in ("date", "number"):
        return [""] * len(rows)
    return [
        field.values[code][:LONGEST] if code >= 0 else ""
        for code in field.codes[side][rows].tolist()
    ]
