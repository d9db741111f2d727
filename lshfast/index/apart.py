"""Answers that are apart from their query: at most as similar as a bound, or at least as distant.

They are close, but no copies. An answer begins with the nearest entries, so the entries that are
too near are its first ones.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lshfast._common.rows import int64_range, offsets_of
from lshfast._common.types import BoolArray, Int64Array, UInt64Array
from lshfast.index.key_pairs import Pairs
from lshfast.index.keys import concatenate, take
from lshfast.index.matches import AnswerLists
from lshfast.tokens import places_of_rows

Lists = TypeVar("Lists", bound=AnswerLists[Any])

APairs = TypeVar("APairs", bound=Pairs[Any])

# Returns which values, similarities or distances, are those of entries that are apart.
IsApart: TypeAlias = Callable[[npt.NDArray[Any]], BoolArray]

# The most answers that a search for further entries returns, unless one query has more.
MOST_ANSWERS = 1 << 20


def similar_at_most(most: float | None) -> IsApart | None:
    """Return which similarities are at most this; None without a bound."""
    return None if most is None else lambda values: values <= most


def distant_at_least(least: float | None) -> IsApart | None:
    """Return which distances are at least this; None without a bound."""
    return None if least is None else lambda values: values >= least


def answers_apart(answers: Lists, is_apart: IsApart | None) -> Lists:
    """Return the answers without the entries that are too near."""
    if is_apart is None or answers.values is None:
        return answers
    marks = is_apart(answers.values)
    if marks.all():
        return answers
    counts_before = offsets_of(marks)
    remaining = copy.copy(answers)
    remaining.offsets = counts_before[answers.offsets]
    remaining.keys = take(answers.keys, np.flatnonzero(marks))
    remaining.values = answers.values[marks]
    return remaining


def nearest_apart(
    search: Callable[[UInt64Array, int], Lists],
    queries: UInt64Array,
    k: int,
    entries: int,
    is_apart: IsApart | None,
) -> Lists:
    """Return the first k entries that are apart from each query; all are, if `is_apart` is None.

    ``search(queries, k)`` returns the first k entries for some of the queries. The index has this
    many entries.
    """
    answers = search(queries, k)
    if is_apart is None:
        return answers
    counts = np.diff(answers.offsets)
    remaining = answers_apart(answers, is_apart)
    # A query that has all entries that a search finds has no further ones.
    is_open = (counts >= k) & (np.diff(remaining.offsets) < counts)
    count = k
    while is_open.any() and count < entries:
        count = min(2 * count, entries)
        open_queries = np.flatnonzero(is_open)
        step = max(1, MOST_ANSWERS // count)
        parts = [remaining]
        for start in range(0, len(open_queries), step):
            piece = open_queries[start : start + step]
            answers = search(queries[piece], count)
            part = _first(answers_apart(answers, is_apart), k)
            is_open[piece] = (np.diff(answers.offsets) >= count) & (
                np.diff(part.offsets) < k
            )
            parts.append(part)
        m = len(queries)
        numbers = int64_range(m)
        numbers[open_queries] = m + int64_range(len(open_queries))
        remaining = answers_of(_joined(parts), numbers)
    return remaining


def pairs_apart(pairs: APairs, is_apart: IsApart | None) -> APairs:
    """Return the pairs of entries that are apart."""
    if is_apart is None:
        return pairs
    left_keys, right_keys, values = vars(pairs).values()
    places = np.flatnonzero(is_apart(values))
    make: Callable[..., APairs] = type(pairs)
    return make(take(left_keys, places), take(right_keys, places), values[places])


def _first(answers: Lists, k: int) -> Lists:
    """Return the first k entries of each answer."""
    counts = np.diff(answers.offsets)
    if counts.max(initial=0) <= k:
        return answers
    shortened = copy.copy(answers)
    starts = answers.offsets[:-1]
    kept_counts = np.minimum(counts, k)
    shortened.offsets = offsets_of(kept_counts)
    places = int64_range(shortened.offsets[-1])
    places += np.repeat(starts - shortened.offsets[:-1], kept_counts)
    shortened.keys = take(answers.keys, places)
    shortened.values = None if answers.values is None else answers.values[places]
    return shortened


def _joined(parts: list[Lists]) -> Lists:
    """Return the answers of several parts, one after the other."""
    all_answers = copy.copy(parts[-1])
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    all_answers.offsets = offsets_of(counts)
    all_answers.keys = concatenate([part.keys for part in parts])
    all_answers.values = np.concatenate([np.asarray(part.values) for part in parts])
    for name in all_answers._of_queries:
        setattr(
            all_answers, name, np.concatenate([getattr(part, name) for part in parts])
        )
    return all_answers


def answers_of(answers: Lists, queries: Int64Array) -> Lists:
    """Return the answers to some queries."""
    selection = copy.copy(answers)
    selection.offsets, places = places_of_rows(answers.offsets, queries)
    selection.keys = take(answers.keys, places)
    selection.values = None if answers.values is None else answers.values[places]
    for name in selection._of_queries:
        setattr(selection, name, getattr(answers, name)[queries])
    return selection
