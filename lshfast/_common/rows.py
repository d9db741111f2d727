"""Rows by number: offsets, parts, samples, runs of equal values, and the inverse of an order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lshfast._common.types import AnyArray, BoolArray, Int64Array

Name = TypeVar("Name")


def int64_range(*bounds: int) -> Int64Array:
    """Return the integers of ``range(*bounds)``, on any platform as int64."""
    return np.arange(*bounds, dtype=np.int64)


def offsets_of(counts: npt.ArrayLike) -> Int64Array:
    """Return where each of the lists of these lengths starts in a concatenation, and its end.

    Examples
    --------
    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def concatenated(parts: Iterable[Int64Array]) -> Int64Array:
    """Return the numbers of all parts, of which there may be none."""
    return np.concatenate([np.empty(0, np.int64), *parts])


def evenly_spaced(size: int, most: int) -> Int64Array:
    """Return the numbers below a size, or `most` of them at equal distances.

    Examples
    --------
    >>> evenly_spaced(3, 5).tolist(), evenly_spaced(9, 3).tolist()
    ([0, 1, 2], [0, 4, 8])
    """
    if size <= most:
        return int64_range(size)
    return np.linspace(0, size - 1, most).astype(np.int64)


def parts_of_rows(count: int, step: int) -> Iterator[slice]:
    """Yield consecutive slices of `step` rows; the last may have fewer.

    Examples
    --------
    >>> list(parts_of_rows(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def names_of(names: Sequence[Name], rows: Int64Array) -> list[Name]:
    """Return the names of some rows."""
    return [names[row] for row in rows.tolist()]


def run_begins(*columns: AnyArray) -> BoolArray:
    """Return where rows differ from the row before in one of the columns; the first row does.

    Examples
    --------
    >>> run_begins(np.array([3, 3, 5, 5]), np.array([1, 1, 1, 2])).tolist()
    [True, False, True, True]
    """
    begins = np.zeros(len(columns[0]), np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def runs_of(*columns: AnyArray) -> tuple[Int64Array, Int64Array]:
    """Return where runs of rows with equal values in all columns start, and where they stop.

    Examples
    --------
    >>> starts, stops = runs_of(np.array([3, 3, 5]))
    >>> starts.tolist(), stops.tolist()
    ([0, 2], [2, 3])
    """
    starts = np.flatnonzero(run_begins(*columns)).astype(np.int64)
    return starts, np.append(starts[1:], len(columns[0]))[: len(starts)]


def inverse(order: AnyArray) -> Int64Array:
    """Return the place of each row in an order of all rows.

    Examples
    --------
    >>> inverse(np.array([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    places = np.empty(len(order), np.int64)
    places[order] = int64_range(len(order))
    return places
