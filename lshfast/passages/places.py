"""All places of passages: runs of units are found by the hashes of their windows, and compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lshfast._common.rows import int64_range, parts_of_rows, runs_of
from lshfast._common.types import Int64Array, RecordArray, UInt64Array
from lshfast.kernels import passages
from lshfast.kernels.text import Texts
from lshfast.passages.groups import HashGroups
from lshfast.passages.pairs import crowds_of
from lshfast.passages.plan import PassagePlan
from lshfast.passages.spans import Spans
from lshfast.passages.units import (
    UnitTexts,
    bounds_of,
    draw_multiplier,
    make_vocabulary,
    number_units,
)
from lshfast.passages.windows import HASHED_WINDOWS, are_equal_runs, window_hashes

# A place of a passage: the number of the passage, a span with its text, the text (row), the first
# word or character and their number, and its characters and bytes.
PLACE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "passage",
            "span",
            "row",
            "unit",
            "units",
            "start",
            "end",
            "start_byte",
            "end_byte",
        )
    ]
)

Places = RecordArray


class _PlacesOfPassage(NamedTuple):
    """A passage: a span with its text, its units, and its places in all units of the texts."""

    span: int
    units: int
    places: Int64Array


def all_places(
    spans: Spans, texts: Texts, counts: Int64Array, plan: PassagePlan
) -> Places:
    """Return all places of the passages that texts share with each other, by passage and place.

    `counts` are the units of the texts. Passages are numbered from the one with most places on; of
    equally many, the longest is first.
    """
    if not len(spans):
        return np.empty(0, PLACE)
    # Each place of a passage is in a span.
    rows = np.unique(np.concatenate([spans["i"], spans["j"]]))
    compared = plan.normalized(texts.take(rows))
    column = number_units(compared, counts[rows], make_vocabulary(plan), True)
    _, first_spans = np.unique(crowds_of(spans, within=True).numbers, return_index=True)
    starts = column.starts[np.searchsorted(rows, spans["i"][first_spans])]
    firsts = starts + spans["i_unit"][first_spans]
    passages = sorted(
        _places_of(
            column, first_spans, firsts, spans["units"][first_spans], plan.length
        ),
        key=lambda one: (-len(one.places), -one.units, int(one.places[0])),
    )
    sizes = np.array([len(one.places) for one in passages], np.int64)
    place_rows, first_units = column.rows_of(
        np.concatenate([one.places for one in passages])
    )
    places = np.zeros(len(place_rows), PLACE)
    places["passage"] = np.repeat(int64_range(len(passages)), sizes)
    places["span"] = np.repeat(
        np.array([one.span for one in passages], np.int64), sizes
    )
    places["units"] = np.repeat(
        np.array([one.units for one in passages], np.int64), sizes
    )
    places["row"] = rows[place_rows]
    places["unit"] = first_units
    last_units = first_units + places["units"] - 1
    bounds = bounds_of(
        texts,
        np.concatenate([places["row"], places["row"]]),
        np.concatenate([first_units, last_units]),
        plan,
    )
    begins, ends = bounds[: len(places)], bounds[len(places) :]
    places["start"] = begins[:, 2]
    places["start_byte"] = begins[:, 0]
    places["end"] = ends[:, 3]
    places["end_byte"] = ends[:, 1]
    return places


def _places_of(
    column: UnitTexts,
    spans: Int64Array,
    firsts: Int64Array,
    lengths: Int64Array,
    length: int,
) -> Iterator[_PlacesOfPassage]:
    """Yield the places of the runs of `lengths` units at `firsts`, of equal runs once."""
    multiplier = draw_multiplier()
    ones = np.ones(len(firsts), np.int64)
    first_windows = HashGroups(
        window_hashes(column.units, firsts, ones, length, multiplier)
    )
    group_of_run = first_windows.of_items()[0]
    places = [np.empty(0, np.int64)]
    groups = [np.empty(0, np.int64)]
    windows = len(column.units) - length + 1
    for part in parts_of_rows(windows, HASHED_WINDOWS):
        size = np.array([part.stop - part.start], np.int64)
        start = np.array([part.start], np.int64)
        group = first_windows.find(
            window_hashes(column.units, start, size, length, multiplier)
        )
        is_found = np.flatnonzero(group >= 0)
        places.append(is_found + part.start)
        groups.append(group[is_found])
    all_groups = np.concatenate(groups)
    order = np.argsort(all_groups, kind="stable")
    all_places = np.concatenate(places)[order]
    sizes = np.bincount(all_groups, minlength=len(first_windows.sizes))
    ends = np.cumsum(sizes, dtype=np.int64)
    named_passages = set[tuple[int, int]]()
    # Candidates are hashed once for all passages with equal first windows and lengths: 4,000
    # passages that begin with the same words take 0.5 s instead of 15 s.
    order = np.lexsort((lengths, group_of_run))
    for start, stop in zip(*runs_of(group_of_run[order], lengths[order]), strict=True):
        number = group_of_run[order[start]]
        units = int(lengths[order[start]])
        candidates = all_places[ends[number] - sizes[number] : ends[number]]
        runs = _runs_by_hash(column, candidates, units, multiplier)
        for passage in order[start:stop].tolist():
            first = int(firsts[passage])
            equal_places = _equal_runs(column, first, units, runs, multiplier)
            name = units, int(equal_places[0])
            if name not in named_passages:
                named_passages.add(name)
                yield _PlacesOfPassage(int(spans[passage]), units, equal_places)


class _RunsByHash(NamedTuple):
    """The places of runs of units by the hash of the run, then ascending, and the hashes."""

    places: Int64Array
    hashes: UInt64Array


def _runs_by_hash(
    column: UnitTexts, candidates: Int64Array, length: int, multiplier: int
) -> _RunsByHash:
    """Return the runs of `length` units at the candidates, which are ascending."""
    units = column.units
    places = candidates[candidates + length <= len(units)]
    ones = np.ones(len(places), np.int64)
    hashes = window_hashes(units, places, ones, length, multiplier)
    order = np.argsort(hashes, kind="stable")
    return _RunsByHash(places[order], hashes[order])


def _equal_runs(
    column: UnitTexts, first: int, length: int, runs: _RunsByHash, multiplier: int
) -> Int64Array:
    """Return the places, ascending, at which the run of units at `first` is too."""
    units = column.units
    place = np.array([first], np.int64)
    hash_of_run = window_hashes(units, place, np.ones(1, np.int64), length, multiplier)[
        0
    ]
    low = np.searchsorted(runs.hashes, hash_of_run)
    high = np.searchsorted(runs.hashes, hash_of_run, side="right")
    places = runs.places[low:high]
    lengths = np.full(len(places), length, np.int64)
    if are_equal_runs(column, column, places[:-1], places[1:], lengths[1:]):
        return places
    of_run = np.full(len(places), first, np.int64)
    is_equal = passages.are_equal(units, units, of_run, places, lengths)
    return np.asarray(places[is_equal], np.int64)
