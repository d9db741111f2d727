"""Windows of a shortest passage's length in groups of equal ones, for crowded samples.

A sample is crowded if it occurs more often than `most_copies`. Most of its occurrences are in
copies of one text, so they are first grouped by all units of their windows: by contexts. Then the
windows of one sample of each context are grouped. Both groups are made by hashes under a secret
key, and then compared. Windows that overlap are hashed and compared together, so the time depends
on the units of the texts, and not on the units of all windows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lshfast._common.threads import pieces
from lshfast._common.types import BoolArray, Int64Array, UInt32Array, UInt64Array
from lshfast.kernels import bands, passages
from lshfast.passages.groups import HashGroups, ItemGroups, spread
from lshfast.passages.units import UnitTexts, draw_multiplier

# Windows of samples that are hashed at a time to group contexts: 16 MB of hashes.
HASHED_WINDOWS = 1 << 21

# Odd multipliers, which distinguish the parts of a context.
_LAST = np.uint64(0x9E3779B97F4A7C15)
_COUNT = np.uint64(0xD1B54A32D192ED03)


class Runs(NamedTuple):
    """Pairs of equal windows: x[i] + t and y[i] + t, for t < counts[i]."""

    x: Int64Array
    y: Int64Array
    counts: Int64Array


class WindowGroups:
    """The windows of some samples of texts, in groups of equal ones.

    Parameters
    ----------
    texts : UnitTexts
    low, high : int64 (n,)
        The first and the last window of each sample, ascending.
    length : int
        Units of a window.
    most_copies : int
        A group of more windows is common, any other one is rare.

    Attributes
    ----------
    common : bool (g,)
    first_places : int64 (g,)
        The place of the first window of each group.
    places : int64 (m,)
        The places of all windows in rare groups, ascending.
    rare : ItemGroups
        The rare groups of `places`; common groups have no members.
    """

    common: BoolArray
    first_places: Int64Array
    places: Int64Array
    rare: ItemGroups

    def __init__(
        self,
        texts: UnitTexts,
        low: Int64Array,
        high: Int64Array,
        length: int,
        most_copies: int,
    ) -> None:
        self._texts = texts
        self._length = length
        self._low = low
        self._contexts = _equal_contexts(texts, low, high, length)
        # One of each context: the first.
        samples = np.sort(self._contexts.members[self._contexts.first])
        context = self._contexts.of_items()[0][samples]
        counts = high[samples] - low[samples] + 1
        self._windows = spread(low[samples], counts)
        self._sample = np.repeat(samples, counts)
        self._context = np.repeat(context, counts)
        self._group_windows(low[samples], counts)
        weights = self._contexts.sizes[self._context]
        totals = np.zeros(len(self._groups.sizes), np.int64)
        np.add.at(totals, self._group, weights)
        self.common = totals > most_copies
        self.first_places = self._windows[self._groups.members[self._groups.first]]
        self.places, group = self._expanded(~self.common)
        order = bands.order(self.places.astype(np.uint64))
        self.places = self.places[order]
        group = group[order]
        sizes = np.bincount(group, minlength=len(totals))
        self.rare = ItemGroups(sizes, bands.order(group.astype(np.uint64)))

    def _group_windows(self, first: Int64Array, counts: Int64Array) -> None:
        units = self._texts.units
        while True:
            self._multiplier = draw_multiplier()
            hashes = window_hashes(units, first, counts, self._length, self._multiplier)
            self._groups = HashGroups(hashes)
            earlier, later = (
                self._windows[items] for items in _neighbours(self._groups)
            )
            lengths = np.full(len(later), self._length, np.int64)
            if are_equal_runs(self._texts, self._texts, earlier, later, lengths):
                self._group = self._groups.of_items()[0]
                return

    def _expanded(self, selected: BoolArray) -> tuple[Int64Array, Int64Array]:
        """Return the places of all windows in the wanted groups, and their groups."""
        windows = np.flatnonzero(selected[self._group])
        sample, window = self._contexts.all_pairs(self._context[windows])
        window = windows[window]
        shifts = self._low[sample] - self._low[self._sample[window]]
        return self._windows[window] + shifts, self._group[window]

    def places_of(self, selected: BoolArray) -> Int64Array:
        """Return the places of all windows in the wanted groups."""
        return self._expanded(selected)[0]

    def later_runs(self) -> Runs:
        """Return the common windows, except for the first of each group, with that first one."""
        windows = np.flatnonzero(self.common[self._group])
        y = self._windows[windows]
        sample = self._sample[windows]
        first = _begin_runs(self.first_places[self._group[windows]], y, sample)
        counts = np.append(first[1:], len(windows))[: len(first)] - first
        y = y[first]
        sample = sample[first]
        context = self._context[windows[first]]
        x = self.first_places[self._group[windows[first]]]
        copy, run = self._contexts.all_pairs(context)
        y = y[run] + self._low[copy] - self._low[sample[run]]
        later = x[run] != y
        return Runs(x[run][later], y[later], counts[run][later])

    def find(
        self, texts: UnitTexts, low: Int64Array, high: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """Return places and groups of the windows low[i]..high[i] of other texts that are found."""
        counts = high - low + 1
        places = spread(low, counts)
        hashes = window_hashes(texts.units, low, counts, self._length, self._multiplier)
        group = self._groups.find(hashes)
        is_group = group >= 0
        places = places[is_group]
        group = group[is_group]
        lengths = np.full(len(places), self._length, np.int64)
        same = HashGroups(group.astype(np.uint64))  # places that met one group
        earlier, later = _neighbours(same)
        heads = same.members[same.first]
        first_places = self.first_places[group]
        # Otherwise some hashes collide.
        within = are_equal_runs(
            texts, texts, places[earlier], places[later], lengths[later]
        )
        heads_equal = within and are_equal_runs(
            self._texts, texts, first_places[heads], places[heads], lengths[heads]
        )
        if not heads_equal:
            units = self._texts.units
            equal = passages.are_equal(
                units, texts.units, first_places, places, lengths
            )
            places = places[equal]
            group = group[equal]
        return places, group

    def runs(self, places: Int64Array, group: Int64Array) -> Runs:
        """Return windows of other texts in common groups with the first of their group."""
        x = self.first_places[group]
        first = _begin_runs(x, places, np.zeros(len(x), np.int64))
        return Runs(
            x[first], places[first], np.append(first[1:], len(x))[: len(first)] - first
        )


def _equal_contexts(
    texts: UnitTexts, low: Int64Array, high: Int64Array, length: int
) -> HashGroups:
    """Group samples whose windows have equal units.

    The first and the last window have all units of a sample.
    """
    counts = high - low + 1
    while True:
        multiplier = draw_multiplier()
        hashes = np.empty(len(low), np.uint64)
        for part in pieces(counts, HASHED_WINDOWS):
            hashes_of_part = window_hashes(
                texts.units, low[part], counts[part], length, multiplier
            )
            ends = np.cumsum(counts[part], dtype=np.int64)
            hashes[part] = (
                hashes_of_part[ends - counts[part]]
                + hashes_of_part[ends - 1] * _LAST
                + counts[part].astype(np.uint64) * _COUNT
            )
        groups = HashGroups(hashes)
        earlier, later = _neighbours(groups)
        if np.array_equal(counts[earlier], counts[later]) and are_equal_runs(
            texts, texts, low[earlier], low[later], counts[later] + length - 1
        ):
            return groups


def window_hashes(
    units: UInt32Array,
    first: Int64Array,
    counts: Int64Array,
    length: int,
    multiplier: int,
) -> UInt64Array:
    """Return the hashes of counts[i] > 0 windows from first[i] on.

    Consecutive windows cost one step each.
    """
    starts = np.flatnonzero(
        np.append(True, first[1:] != first[:-1] + counts[:-1])[: len(first)]
    )
    if len(starts):
        first = first[starts]
        counts = np.add.reduceat(counts, starts)
    return passages.hash_windows(units, first, counts, length, multiplier)


def _neighbours(groups: HashGroups) -> tuple[Int64Array, Int64Array]:
    """Return pairs of members of a group: each but the first, and the one before it."""
    later = np.ones(len(groups.members), np.bool_)
    later[groups.first] = False
    places = np.flatnonzero(later)
    return groups.members[places - 1], groups.members[places]


def are_equal_runs(
    a: UnitTexts, b: UnitTexts, x: Int64Array, y: Int64Array, lengths: Int64Array
) -> bool:
    """Return whether all ranges of lengths[i] units at x[i] and y[i] are equal.

    Overlapping ranges are compared once.
    """
    if not len(x):
        return True
    _, distance = np.unique(y - x, return_inverse=True)
    # Ranges of different distances are apart.
    begins = distance.reshape(-1) * (len(b.units) + 1) + y
    order = bands.order(begins.astype(np.uint64))
    reach = np.maximum.accumulate((begins + lengths)[order])
    starts = np.flatnonzero(np.append(True, begins[order][1:] > reach[:-1]))
    joined_lengths = (
        reach[np.append(starts[1:], len(order)) - 1] - begins[order[starts]]
    )
    first = order[starts]
    return bool(
        passages.are_equal(a.units, b.units, x[first], y[first], joined_lengths).all()
    )


def _begin_runs(x: Int64Array, y: Int64Array, kind: Int64Array) -> Int64Array:
    """Return where pairs begin a run: they are not those before plus one, or of another kind."""
    new = np.ones(len(x), np.bool_)
    new[1:] = (x[1:] != x[:-1] + 1) | (y[1:] != y[:-1] + 1) | (kind[1:] != kind[:-1])
    return np.flatnonzero(new).astype(np.int64)
