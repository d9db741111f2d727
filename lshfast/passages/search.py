"""The search for matches: within some texts, and of a stream of texts with held ones.

Texts meet in their samples. Where few of them share a sample, all pairs are extended. Otherwise its
windows are compared, and a window with too many occurrences is paired with the first of them only.
passages.md defines the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from lshfast._common.progress import Progress
from lshfast._common.rows import run_begins
from lshfast._common.threads import ordered_map, pieces
from lshfast._common.types import BoolArray, Int64Array, RecordArray
from lshfast.kernels import bands, passages
from lshfast.kernels.text import Texts
from lshfast.passages.groups import HashGroups
from lshfast.passages.plan import PassagePlan
from lshfast.passages.sampling import Sampler, Samples, make_sampler, sample_all
from lshfast.passages.units import UnitTexts, hash_words, make_vocabulary, number_units
from lshfast.passages.windows import Runs, WindowGroups

# Windows of crowded samples that are grouped at a time, unless one sample has more: 100 MB.
MOST_WINDOWS = 1 << 21

# The largest table by which samples are looked up before they are searched for, as a power of two;
# its bytes.
MOST_FILTER_BITS = 26

Matches = RecordArray  # of lshfast.kernels.passages.MATCH


class Seeds(NamedTuple):
    """Pairs of places whose shingles are equal, and the windows of the second one's sample."""

    x: Int64Array
    y: Int64Array
    low: Int64Array
    high: Int64Array


class RowRuns(NamedTuple):
    """Runs of units: `units` units of text `rows`, from its unit `start` on; each int64 (n,)."""

    rows: Int64Array
    start: Int64Array
    units: Int64Array


class RowMatches(NamedTuple):
    """Matches by text: `units` units from unit `x_unit` of text `x`, and `y_unit` of `y`."""

    x: Int64Array
    x_unit: Int64Array
    y: Int64Array
    y_unit: Int64Array
    units: Int64Array


class MatchesWithin(NamedTuple):
    """The matches of texts with each other, and where their common runs are.

    `first_runs` are the first places of common runs, and `later_runs` all others; both are empty if
    the plan has no `more_than`.
    """

    matches: RowMatches
    first_runs: RowRuns
    later_runs: RowRuns


_NONE = np.zeros(0, np.int64)
NO_RUNS = RowRuns(_NONE, _NONE, _NONE)


def search_within(
    texts: Texts,
    samples: Samples,
    plan: PassagePlan,
    progress: Progress | None = None,
    word_bits: int | None = None,
) -> MatchesWithin:
    """Return the matches of texts with the same texts, and their common runs.

    The first text of a match is the earlier one, or the same.

    With `word_bits`, words are compared by hashes of this number of bits. Then a match may have
    different words with equal hashes; the caller compares them.
    """
    rows, samples = samples.select(_are_shared(samples))
    compared = texts.take(rows)
    if word_bits is None:
        column = number_units(
            plan.normalized(compared), samples.counts, make_vocabulary(plan), True
        )
    else:
        column = hash_words(compared, samples.counts, word_bits)
    places = column.place(samples.places, samples.per_row)
    low, high = samples.windows(places)
    groups = HashGroups(samples.hashes)
    group, rank = groups.of_items()
    crowded = _are_crowded(groups, plan)
    counts = np.where(crowded[group], 0, rank)
    seeds = (
        Seeds(places[i], places[j], low[j], high[j])
        for i, j in groups.pairs(group, counts)
    )
    total = int(counts.sum())
    parts = [
        _extend(
            column,
            column,
            seeds,
            plan,
            threads=plan.threads,
            total=total,
            progress=progress,
        )
    ]
    runs = [Runs(_NONE, _NONE, _NONE)]
    for members in _crowded_members(groups, crowded, high - low + 1):
        windows = WindowGroups(
            column, low[members], high[members], plan.length, plan.most_copies or 0
        )
        group, rank = windows.rare.of_items()
        parts.append(
            _extend(
                column,
                column,
                _window_seeds(windows, windows.places, group, rank),
                plan,
            )
        )
        runs.append(windows.later_runs())
    matches = _with_covers(column, column, parts, runs, plan)
    matches_by_row = _by_row(matches, column, rows, column, rows)
    if plan.more_than is None:
        return MatchesWithin(matches_by_row, NO_RUNS, NO_RUNS)
    x, y, counts = (np.concatenate(part) for part in zip(*runs, strict=True))
    units = counts + plan.length - 1
    return MatchesWithin(
        matches_by_row,
        _runs_by_row(column, rows, x, units),
        _runs_by_row(column, rows, y, units),
    )


def _are_shared(samples: Samples) -> BoolArray:
    """Return which samples occur more than once."""
    groups = HashGroups(samples.hashes)
    are_shared = np.zeros(len(samples.hashes), np.bool_)
    are_shared[groups.members[np.repeat(groups.sizes > 1, groups.sizes)]] = True
    return are_shared


def _are_crowded(groups: HashGroups, plan: PassagePlan) -> BoolArray:
    """Return which groups have more samples than `most_copies`, if the plan limits them."""
    if plan.most_copies is None:
        return np.zeros(len(groups.sizes), np.bool_)
    return groups.sizes > plan.most_copies


def _runs_by_row(
    column: UnitTexts, rows: Int64Array, places: Int64Array, units: Int64Array
) -> RowRuns:
    """Return runs of units by text, given the place of the first unit of each."""
    row, start = column.rows_of(places)
    return RowRuns(rows[row], start, units)


def _crowded_members(
    groups: HashGroups, crowded: BoolArray, windows: Int64Array
) -> Iterator[Int64Array]:
    """Yield the members of crowded groups, of some groups at a time, ascending."""
    numbers = np.flatnonzero(crowded)
    members = groups.members[np.repeat(crowded, groups.sizes)]
    ends = np.cumsum(groups.sizes[numbers], dtype=np.int64)
    costs = np.diff(
        np.cumsum(windows[members], dtype=np.int64)[ends - 1], prepend=np.int64(0)
    )
    for part in pieces(costs, MOST_WINDOWS):
        first = 0 if part.start == 0 else int(ends[part.start - 1])
        yield np.sort(members[first : int(ends[part.stop - 1])])


def _window_seeds(
    windows: WindowGroups, y: Int64Array, group: Int64Array, counts: Int64Array
) -> Iterator[Seeds]:
    """Yield each of some windows with the first counts[i] windows of its group."""
    for i, j in windows.rare.pairs(group, counts):
        yield Seeds(windows.places[i], y[j], y[j], y[j])


class HeldTexts:
    """Texts that are kept in memory, and searched for the passages of others.

    `find` may be called by several threads at once.
    """

    texts: Texts
    counts: Int64Array
    sampler: Sampler

    def __init__(self, batches: Iterable[Texts], plan: PassagePlan) -> None:
        self.sampler = make_sampler(plan)
        texts, samples = sample_all(batches, self.sampler, plan.threads)
        self.texts = texts
        self.counts = samples.counts
        self._plan = plan
        self._rows, samples = samples.select(np.ones(len(samples.hashes), np.bool_))
        self._vocabulary = make_vocabulary(plan)
        self._column = number_units(
            plan.normalized(texts.take(self._rows)),
            samples.counts,
            self._vocabulary,
            True,
        )
        self._places = self._column.place(samples.places, samples.per_row)
        self._groups = groups = HashGroups(samples.hashes)
        self._crowded = _are_crowded(groups, plan)
        members = np.sort(groups.members[np.repeat(self._crowded, groups.sizes)])
        low, high = samples.windows(self._places)
        self._windows = WindowGroups(
            self._column,
            low[members],
            high[members],
            plan.length,
            plan.most_copies or 0,
        )
        bits = min(MOST_FILTER_BITS, max(3, (8 * len(groups.hashes)).bit_length()))
        self._shift = np.uint64(64 - bits)
        self._filter = np.zeros(1 << bits, np.bool_)
        self._filter[groups.hashes >> self._shift] = True

    def find(self, texts: Texts, samples: Samples) -> tuple[RowMatches, Int64Array]:
        """Search for the passages of some texts.

        Returns
        -------
        RowMatches
            Their first texts are held ones.
        windows : int64 (m,)
            The groups of common windows that were met: not all their places are in matches (see
            `windows_of`).
        """
        maybe = np.flatnonzero(self._filter[samples.hashes >> self._shift])
        group = np.full(len(samples.hashes), -1, np.int64)
        group[maybe] = self._groups.find(samples.hashes[maybe])
        is_found = group >= 0
        group = group[is_found]
        rows, samples = samples.select(is_found)
        compared = self._plan.normalized(texts.take(rows))
        column = number_units(compared, samples.counts, self._vocabulary, False)
        places = column.place(samples.places, samples.per_row)
        low, high = samples.windows(places)
        counts = np.where(self._crowded[group], 0, self._groups.sizes[group])
        pairs = self._groups.pairs(group, counts)
        seeds = (Seeds(self._places[i], places[j], low[j], high[j]) for i, j in pairs)
        few_matches = _extend(self._column, column, seeds, self._plan)
        crowded = self._crowded[group]
        matches, runs, windows = self._find_crowded(column, low[crowded], high[crowded])
        matches = _with_covers(
            self._column, column, [few_matches, matches], [runs], self._plan
        )
        return _by_row(matches, self._column, self._rows, column, rows), windows

    def _find_crowded(
        self, column: UnitTexts, low: Int64Array, high: Int64Array
    ) -> tuple[Matches, Runs, Int64Array]:
        windows = self._windows
        places, group = windows.find(column, low, high)
        seeds = _window_seeds(windows, places, group, windows.rare.sizes[group])
        matches = _extend(self._column, column, seeds, self._plan)
        common = windows.common[group]
        return (
            matches,
            windows.runs(places[common], group[common]),
            np.unique(group[common]),
        )

    @property
    def window_groups(self) -> int:
        """Return the number of groups of windows of crowded samples."""
        return len(self._windows.common)

    def windows_of(self, groups: BoolArray) -> tuple[Int64Array, Int64Array]:
        """Return the text and the first unit of each window of the groups that were met."""
        rows, units = self._column.rows_of(self._windows.places_of(groups))
        return self._rows[rows], units


def _extend(
    a: UnitTexts,
    b: UnitTexts,
    seeds: Iterable[Seeds],
    plan: PassagePlan,
    *,
    threads: int = 1,
    total: int = 0,
    progress: Progress | None = None,
) -> Matches:
    """Return the maximal matches of seeds, of which there are `total`."""

    def extend_part(part: Seeds) -> tuple[int, Matches]:
        order = bands.order((part.y - part.x + len(a.units)).astype(np.uint64))
        x, y, low, high = (column[order] for column in part)
        matches = passages.extend(
            a.units, b.units, x, y, low, high, plan.size, plan.length
        )
        return len(order), matches

    parts = [np.empty(0, passages.MATCH)]
    seed_count = 0
    for count, matches in ordered_map(extend_part, seeds, threads):
        parts.append(matches)
        seed_count += count
        if progress:
            progress("compare", seed_count, total)
    return np.concatenate(parts)


def _with_covers(
    a: UnitTexts,
    b: UnitTexts,
    parts: Iterable[Matches],
    runs: Iterable[Runs],
    plan: PassagePlan,
) -> Matches:
    """Return the matches of all parts once each, and after them those that cover the runs."""
    matches = np.concatenate(list(parts))
    matches = matches[np.lexsort((matches["x"], matches["y"]))]
    matches = matches[run_begins(matches["x"], matches["y"])]
    x, y, counts = (np.concatenate(column) for column in zip(*runs, strict=True))
    order = bands.order(y.astype(np.uint64))
    ends = matches["y"] + matches["length"]
    covers = passages.cover(
        a.units,
        b.units,
        x[order],
        y[order],
        counts[order],
        matches["y"],
        ends,
        plan.length,
    )
    return np.concatenate([matches, covers])


def _by_row(
    matches: Matches, a: UnitTexts, a_rows: Int64Array, b: UnitTexts, b_rows: Int64Array
) -> RowMatches:
    x, x_unit = a.rows_of(matches["x"])
    y, y_unit = b.rows_of(matches["y"])
    return RowMatches(a_rows[x], x_unit, b_rows[y], y_unit, matches["length"].copy())
