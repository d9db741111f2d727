"""MinHash as the textbooks draw it: strings, characteristic matrices and written-out permutations.

Here nothing is hashed, so that every number printed in a course can be recomputed by hand.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

Row = TypeVar("Row", bound=Hashable)
NO_VALUE = math.inf


def shingle_bag(text: str, size: int) -> list[str]:
    """Return the character shingles of a text in order, with repetitions."""
    return [text[start : start + size] for start in range(len(text) - size + 1)]


def shingle_set(text: str, size: int) -> set[str]:
    """Return the different character shingles of a text."""
    return set(shingle_bag(text, size))


def columns_of(matrix: Sequence[str]) -> list[set[int]]:
    """Return the sets that are the columns of a 0-1 matrix, its rows given as strings."""
    width = len(matrix[0])
    return [
        {row for row, bits in enumerate(matrix) if bits[c] == "1"} for c in range(width)
    ]


def minhash_by_order(
    columns: Iterable[AbstractSet[Row]], order: Sequence[Row]
) -> list[Row]:
    """Return for each column the first of its rows in a permuted order of all rows."""
    return [next(row for row in order if row in column) for column in columns]


def minhash_by_rank(
    columns: Iterable[AbstractSet[int]], rank: Sequence[int]
) -> list[int]:
    """Return for each column the least rank of its rows."""
    return [min(rank[row] for row in column) for column in columns]


def row_algorithm(
    columns: Sequence[AbstractSet[int]],
    hashes: Sequence[Callable[[int], int]],
    rows: Iterable[int],
) -> Mapping[int, list[tuple[float, ...]]]:
    """Return the trace: after each row, the signature of each column, one value per hash function.

    A row is hashed once by every function, and lowers the values of the columns that have it.
    """
    signatures: list[tuple[float, ...]] = [(NO_VALUE,) * len(hashes) for _ in columns]
    trace = {}
    for row in rows:
        values = [h(row) for h in hashes]
        for c, column in enumerate(columns):
            if row in column:
                signatures[c] = tuple(map(min, signatures[c], values))
        trace[row] = list(signatures)
    return trace
