"""Fields with the same content in a record, such as a full name and its parts, or an e-mail.

If two records agree in one of them, they often agree in the other as well, whether they match or
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lshfast._common.types import Int64Array
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
    edges = set()
    for side in (0, 1):
        most = min(SAMPLED_ROWS, max(FEWEST_ROWS, MOST_SAMPLED_VALUES // len(fields)))
        rows = sampled_rows(len(fields[0].codes[side]), most, [seed, 8])
        columns = [values_of(field, side, rows) for field in fields]
        for (f, first), (g, second) in combinations(enumerate(columns), 2):
            if not may_share(fields[f], fields[g]):
                continue
            pairs = [both for both in zip(first, second, strict=True) if all(both)]
            if len(pairs) < FEWEST_ROWS:
                continue
            shared = sum(share_word(value, other) for value, other in pairs)
            second_values = [other for _, other in pairs]
            shifted = second_values[1:] + second_values[:1]
            by_chance = sum(
                share_word(value, other)
                for (value, _), other in zip(pairs, shifted, strict=True)
            )
            if shared - by_chance >= LEAST_SHARED * len(pairs):
                edges.add((f, g))
    return edges


def may_share(first: CodedField, second: CodedField) -> bool:
    """Return whether one of two fields may be made of the other.

    Categories, such as given names of which there are few, are looked for in e-mail addresses only:
    the town in the name of a hotel says something of its own.
    """
    return (
        "category" not in (first.kind, second.kind)
        or first.are_mail_addresses
        or second.are_mail_addresses
    )


def sampled_rows(size: int, most: int, seed: Sequence[int]) -> Int64Array:
    """Return some rows of a table, ascending."""
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


def share_word(first: str, second: str) -> bool:
    """Return whether a word of one value is in the other.

    Examples
    --------
    >>> (
    ...     share_word("ann lee", "annlee@example.com"),
    ...     share_word("ann lee", "x@example.com"),
    ... )
    (True, False)
    """
    return _has_word_of(second, first) or _has_word_of(first, second)


def _has_word_of(value: str, other: str) -> bool:
    """Return whether a word of another value is in a value."""
    return any(word in value for word in other.split() if len(word) >= SHORTEST_WORD)
