"""Random draws, errors and tables that the generators of labelled data sets share."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TypeVar

Table = dict[str, list[str]]
Record = dict[str, str]
Labelled = tuple[int, Record]  # the entity and its record
Linked = tuple[Table, Table | None, list[tuple[int, int]] | list[int]]

NEAR = {
    "a": "sqe", "b": "vn", "c": "xvs", "d": "sf", "e": "wra", "f": "dg", "g": "fh", "h": "gj", "i": "uoy", "j": "hk",
    "k": "jlc", "l": "k1i", "m": "n", "n": "mb", "o": "ip0", "p": "o", "q": "wa", "r": "et", "s": "adz", "t": "ry",
    "u": "iy", "v": "bc", "w": "eq", "x": "zc", "y": "tui", "z": "xs",
}  # fmt: skip

T = TypeVar("T")


@lru_cache
def cumulated(count: int, power: float) -> tuple[float, ...]:
    return tuple(accumulate((place + 1) ** -power for place in range(count)))


class Draws(random.Random):
    """Random numbers with draws from lists, and errors of texts."""

    def skewed(self, values: Sequence[T], power: float = 0.8) -> T:
        """Draw a value, with frequencies of Zipf's law in the order of the list."""
        return self.choices(values, cum_weights=cumulated(len(values), power))[0]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def typo(self, value: str) -> str:
        """Return a value with one typing error: a letter inserted, lost, replaced, doubled or exchanged."""
        if not value:
            return value
        at, kind = self.randrange(len(value)), self.randrange(5)
        letter = value[at]
        if letter.isdigit():
            other = self.choice("0123456789")
        else:
            other = self.choice(NEAR.get(letter.lower(), "aeiou"))
            other = other.upper() if letter.isupper() else other
        if kind == 0 and not letter.isdigit():
            return value[:at] + letter + value[at:]
        if kind == 1 and len(value) > 2 and not letter.isdigit():
            return value[:at] + value[at + 1 :]
        if kind == 2 and at + 1 < len(value):
            return value[:at] + value[at + 1] + letter + value[at + 2 :]
        return value[:at] + other + value[at + 1 :]

    def typos(self, value: str, probability: float) -> str:
        """Return a value with a typing error with this probability, and with a second one more rarely."""
        if self.chance(probability):
            value = self.typo(value)
            if self.chance(0.25):
                value = self.typo(value)
        return value

    def thinned(self, words: Sequence[str], dropped: float) -> list[str]:
        """Return words without some, but at least one."""
        return [word for word in words if not self.chance(dropped)] or [
            self.choice(words)
        ]


def table_of(
    records: Sequence[Record], columns: Sequence[str], id_column: str = "id"
) -> Table:
    """Return records as columns, with row numbers as ids. A value that a record does not have is missing."""
    table = {id_column: [str(row) for row in range(len(records))]}
    return table | {
        name: [record.get(name, "") for record in records] for name in columns
    }


def two_tables(
    rng: Draws,
    a: list[Labelled],
    b: list[Labelled],
    columns: tuple[list[str], list[str]],
) -> Linked:
    """Shuffle the records of both tables; return the tables and the rows of equal entities."""
    rng.shuffle(a)
    rng.shuffle(b)
    places: dict[int, list[int]] = defaultdict(list)
    for row, (entity, _) in enumerate(a):
        places[entity].append(row)
    pairs = [(i, j) for j, (entity, _) in enumerate(b) for i in places.get(entity, ())]
    first, second = (
        table_of([record for _, record in side], names)
        for side, names in zip((a, b), columns, strict=True)
    )
    return first, second, pairs


def one_table(rng: Draws, records: list[Labelled], columns: list[str]) -> Linked:
    """Shuffle the records; return the table and the entity of each row."""
    rng.shuffle(records)
    return (
        table_of([record for _, record in records], columns),
        None,
        [entity for entity, _ in records],
    )
